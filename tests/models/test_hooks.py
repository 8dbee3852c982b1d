"""Interventions: what theorems say must be so in every family, and that nothing stays behind."""

from __future__ import annotations

from collections import Counter, namedtuple
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_encoders import FAMILIES, LAYERS, build

from wordbias.errors import WordbiasError
from wordbias.methods.leace import Erasure
from wordbias.methods.transform import Projection
from wordbias.models.families import PARTS, layer_count
from wordbias.models.hooks import Intervention, applied, changing, of_heads, recording
from wordbias.models.sites import Place, Site, sites
from wordbias.subspace import Subspace

torch = pytest.importorskip("torch")

HEADS, SIZE = 4, 4
WIDTH = HEADS * SIZE
PLACES = sites("sentence,cls@1,cls@2,cls@-1,tokens@1,tokens@-1,tokens@-2,attention@1,attention@2")
EPS = float(np.finfo(np.float32).eps)


def orthonormal(k: int, d: int, seed: int) -> Subspace:
    rng = np.random.default_rng(seed)
    q = np.linalg.qr(rng.normal(size=(d, k)))[0].T
    return Subspace(q, rng.uniform(0.2, 0.9, k))


def subspace_for(site: Site, seed: int = 0) -> Subspace:
    if site.kind in PARTS:
        return of_heads([orthonormal(1, SIZE, seed + head) for head in range(HEADS)])
    return orthonormal(2, WIDTH, seed)


def run(model: Any, inputs: dict[str, Any]) -> Any:
    with torch.no_grad():
        return model(**inputs, output_hidden_states=True)


def observed(model: Any, inputs: dict[str, Any], *applying: Intervention) -> dict[Site, Any]:
    """Return what passes at every place."""
    with applied(model, applying), recording(model, PLACES) as seen:
        run(model, inputs)
        return dict(seen)


def hooks_of(model: Any) -> Counter[str]:
    counts: Counter[str] = Counter()
    for name, module in model.named_modules():
        counts[name] += len(module._forward_hooks) + len(module._forward_pre_hooks)
    return +counts


def bound(x: Any) -> float:
    """What rounding in float32 can leave of a component of the rows of `x`."""
    return 4 * x.shape[-1] * EPS * float(x.norm(dim=-1).max())


def test_a_hard_intervention_leaves_nothing_along_the_directions(
    classifier: Any, inputs: dict[str, Any]
) -> None:
    plain = observed(classifier, inputs)
    for site in PLACES:
        subspace = subspace_for(site)
        x = observed(classifier, inputs, Intervention(site, subspace, True))[site]
        assert float(subspace.like(x).coordinates(plain[site]).abs().max()) > 0.1, site
        assert float(subspace.like(x).coordinates(x).abs().max()) <= bound(x), site


@pytest.mark.each_once("hard")
@pytest.mark.parametrize("hard", [True, False])
def test_what_passes_on_is_what_misp_and_mhd_make_of_it(
    classifier: Any, inputs: dict[str, Any], hard: bool
) -> None:
    """With hard weights MHD, with its own ones MISP, on numpy, apart from the model."""
    plain = observed(classifier, inputs)
    for site in PLACES:
        subspace = subspace_for(site)
        states = observed(classifier, inputs, Intervention(site, subspace, hard))[site]
        expected = Projection(subspace, hard)(plain[site].double().numpy())
        np.testing.assert_allclose(states.numpy(), expected, rtol=0, atol=bound(states))


def test_hidden_states_below_are_what_they_were(classifier: Any, inputs: dict[str, Any]) -> None:
    n = layer_count(classifier)
    before = run(classifier, inputs)
    for place in PLACES:
        site = place.within(classifier)
        with applied(classifier, [Intervention(site, subspace_for(site), True)]):
            after = run(classifier, inputs)
        own = n + 1 if site.layer is None else site.layer
        pairs = list(zip(before.hidden_states, after.hidden_states, strict=True))
        assert [torch.equal(a, b) for a, b in pairs] == [i < own for i in range(n + 1)], site
        assert not torch.equal(before.logits, after.logits), site


def test_only_position_zero_is_changed_at_cls(classifier: Any, inputs: dict[str, Any]) -> None:
    before = run(classifier, inputs).hidden_states[2]
    with applied(classifier, [Intervention(Site("cls", 2), orthonormal(1, WIDTH, 0), True)]):
        after = run(classifier, inputs).hidden_states[2]
    assert torch.equal(before[:, 1:], after[:, 1:])
    assert not torch.equal(before[:, 0], after[:, 0])


def test_interventions_at_one_site_follow_each_other(
    classifier: Any, inputs: dict[str, Any]
) -> None:
    first, second = orthonormal(2, WIDTH, 1), orthonormal(2, WIDTH, 2)
    plain = observed(classifier, inputs)
    for site in sites("tokens@-2,sentence"):
        steps = [Intervention(site, first, True), Intervention(site, second, True)]
        states = observed(classifier, inputs, *steps)[site]
        expected = second.remove(first.remove(plain[site].double().numpy(), True), True)
        np.testing.assert_allclose(states.numpy(), expected, rtol=0, atol=bound(states))


def test_of_blocks_inside_each_other_the_inner_one_comes_first(inputs: dict[str, Any]) -> None:
    model = build("bert")
    outer, inner = (
        Intervention(Site("tokens", 2), orthonormal(2, WIDTH, seed), True) for seed in (1, 2)
    )
    with applied(model, [inner, outer]):
        expected = run(model, inputs).logits
    with applied(model, [outer]), applied(model, [inner]):
        assert torch.equal(run(model, inputs).logits, expected)
    with applied(model, [outer, inner]):
        assert not torch.equal(run(model, inputs).logits, expected)


def test_a_loop_over_layers_written_out_gives_the_same(inputs: dict[str, Any]) -> None:
    """BERT's layers one by one, with the projections done between them by hand."""
    model = build("bert")
    tokens, cls, sentence = (orthonormal(2, WIDTH, seed) for seed in (1, 2, 3))
    value = orthonormal(1, SIZE, 4)
    every_head = of_heads([value] * HEADS)
    with applied(
        model,
        [
            Intervention(Site("value", 2), every_head, True),
            Intervention(Site("tokens", 2), tokens),
            Intervention(Site("cls", 3), cls, True),
            Intervention(Site("sentence"), sentence),
        ],
    ):
        logits = run(model, inputs).logits
    with torch.no_grad():
        h = model.bert.embeddings(input_ids=inputs["input_ids"])
        mask = (1.0 - inputs["attention_mask"])[:, None, None] * torch.finfo(torch.float32).min
        h = model.bert.encoder.layer[0](h, mask)
        linear = model.bert.encoder.layer[1].attention.self.value
        keep = torch.eye(SIZE) - torch.tensor(value.basis.T @ value.basis).float()
        weight, bias = linear.weight.clone(), linear.bias.clone()
        linear.weight.copy_((keep @ weight.view(HEADS, SIZE, WIDTH)).view(WIDTH, WIDTH))
        linear.bias.copy_((bias.view(HEADS, SIZE) @ keep).view(WIDTH))
        h = model.bert.encoder.layer[1](h, mask)
        g, a = torch.tensor(tokens.basis).float(), torch.tensor(tokens.weights).float()
        h = h - torch.einsum("bti,i,id->btd", torch.einsum("btd,id->bti", h, g), a, g)
        h = model.bert.encoder.layer[2](h, mask)[:, 0]
        g = torch.tensor(cls.basis).float()
        h = h - h @ g.T @ g
        h = model.bert.pooler.dense(h).tanh()
        g, a = torch.tensor(sentence.basis).float(), torch.tensor(sentence.weights).float()
        h = h - (h @ g.T * a) @ g
        expected = model.classifier(h)
    torch.testing.assert_close(logits, expected, rtol=0, atol=1e-4)


def test_everything_is_taken_off_again(classifier: Any, inputs: dict[str, Any]) -> None:
    before = run(classifier, inputs)
    hooks = hooks_of(classifier)
    with applied(classifier, [Intervention(site, subspace_for(site)) for site in PLACES]):
        assert hooks_of(classifier) != hooks
        changed = run(classifier, inputs)
    after = run(classifier, inputs)
    assert hooks_of(classifier) == hooks
    assert torch.equal(before.logits, after.logits)
    assert not torch.equal(before.logits, changed.logits)


def test_also_after_an_exception(classifier: Any, inputs: dict[str, Any]) -> None:
    plain = run(classifier, inputs).logits
    hooks = hooks_of(classifier)
    wanted = [Intervention(site, subspace_for(site), True) for site in PLACES]
    with pytest.raises(KeyboardInterrupt), applied(classifier, wanted):
        raise KeyboardInterrupt
    assert hooks_of(classifier) == hooks
    with pytest.raises(Exception, match=r".+"), applied(classifier, wanted):
        classifier(input_ids=inputs["input_ids"] + 10_000)
    assert hooks_of(classifier) == hooks
    assert torch.equal(run(classifier, inputs).logits, plain)


def test_a_pass_that_fails_half_way_does_not_shift_the_count_of_shared_layers(
    inputs: dict[str, Any],
) -> None:
    model = build("albert")
    with applied(model, [Intervention(Site("tokens", 2), orthonormal(1, WIDTH, 0), True)]):
        expected = run(model, inputs).logits
        calls = []

        def fail(*_: Any) -> None:
            calls.append(1)
            if len(calls) == 2:
                raise RuntimeError("in the middle")

        layer = model.albert.encoder.albert_layer_groups[0].albert_layers[0]
        handle = layer.register_forward_hook(fail)
        with pytest.raises(RuntimeError, match="in the middle"):
            run(model, inputs)
        handle.remove()
        assert torch.equal(run(model, inputs).logits, expected)


def test_nothing_is_applied_if_one_does_not_fit(classifier: Any) -> None:
    hooks = hooks_of(classifier)
    good = Intervention(Site("cls", 1), orthonormal(1, WIDTH, 0))
    narrow = Intervention(Site("tokens", 1), orthonormal(1, 5, 0))
    with (
        pytest.raises(WordbiasError, match=r"has vectors of 16 values there, the subspace is of 5"),
        applied(classifier, [good, narrow]),
    ):
        pass
    far = Intervention(Site("cls", 9), orthonormal(1, WIDTH, 0))
    with pytest.raises(WordbiasError, match="layers 1 to 3"), applied(classifier, [good, far]):
        pass
    assert hooks_of(classifier) == hooks


@pytest.mark.parametrize("family", FAMILIES)
def test_half_precision_leaves_no_more_than_rounding_the_result(
    family: str, inputs: dict[str, Any]
) -> None:
    """Rounding values to bfloat16 moves each by 2^-8 of itself at most, so ⟨g, x⟩ by 2^-8 |x|."""
    model = build(family).to(torch.bfloat16)
    for site in PLACES:
        subspace = subspace_for(site)
        x = observed(model, inputs, Intervention(site, subspace, True))[site]
        assert x.dtype == torch.bfloat16
        wide = x.float()
        left = subspace.like(wide).coordinates(wide).abs().max()
        assert float(left) <= 2**-8 * float(wide.norm(dim=-1).max()) * (1 + 2**-8) + bound(wide), (
            site
        )


def test_gradients_flow_after_a_pass_in_inference_mode(inputs: dict[str, Any]) -> None:
    model = build("bert")
    with applied(model, [Intervention(site, subspace_for(site), True) for site in PLACES]):
        with torch.inference_mode():
            model(**inputs)
        model(**inputs).logits.sum().backward()
    g = torch.tensor(subspace_for(Site("sentence")).basis).float()
    gradient = model.classifier.weight.grad
    assert float((gradient @ g.T).abs().max()) <= bound(gradient)


Pair = namedtuple("Pair", ["hidden", "weights"])


class Kinds(torch.nn.Module):  # type: ignore[misc, name-defined]
    """Put out a tensor, a tuple or a named tuple."""

    def __init__(self, make: Any) -> None:
        super().__init__()
        self.make = make
        self.kept: Any = None

    def forward(self, x: Any) -> Any:
        self.kept = x
        return self.make(x)


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(
    "make", [lambda x: x, lambda x: (x,), lambda x: (x, None, 3), lambda x: Pair(x, "w")]
)
def test_outputs_keep_their_kind_and_inputs_their_values(make: Any, first: bool) -> None:
    module = Kinds(make)
    x = torch.arange(24.0).reshape(2, 3, 4)
    place = Place(Site("cls", 1), module, 4, first=first)
    with changing([(place, lambda y: y + 1)]):
        out = module(x)
    assert torch.equal(module.kept, torch.arange(24.0).reshape(2, 3, 4))
    assert type(out) is type(make(x))
    hidden = out[0] if isinstance(out, tuple) else out
    expected = x.clone()
    expected[:, 0 if first else slice(None)] += 1
    assert torch.equal(hidden, expected)
    if isinstance(out, tuple):
        assert out[1:] == make(x)[1:]


@given(st.integers(1, 5), st.integers(2, 6), st.booleans(), st.integers(0, 99))
def test_heads_in_one_subspace_are_heads_one_by_one(
    heads: int, size: int, hard: bool, seed: int
) -> None:
    parts = [orthonormal(1, size, seed + i) for i in range(heads)]
    x = np.random.default_rng(seed).normal(size=(3, heads * size))
    expected = [
        part.remove(block, hard)
        for part, block in zip(parts, np.split(x, heads, axis=1), strict=True)
    ]
    rest = of_heads(parts).remove(x, hard)
    np.testing.assert_allclose(rest, np.concatenate(expected, axis=1), atol=1e-12)


def test_albert_is_changed_at_the_layer_that_is_meant_only(inputs: dict[str, Any]) -> None:
    """The same module is called three times; two passes must count alike."""
    model = build("albert")
    for layer in range(1, LAYERS + 1):
        with applied(model, [Intervention(Site("cls", layer), orthonormal(1, WIDTH, 0), True)]):
            first = run(model, inputs)
            second = run(model, inputs)
        plain = run(model, inputs).hidden_states
        same = [torch.equal(a, b) for a, b in zip(plain, first.hidden_states, strict=True)]
        assert same == [True] * layer + [False] * (LAYERS + 1 - layer)
        assert torch.equal(first.logits, second.logits)


def test_albert_with_several_groups(inputs: dict[str, Any]) -> None:
    model = build("albert", num_hidden_groups=2, num_hidden_layers=4)
    for layer in range(1, 5):
        with applied(model, [Intervention(Site("tokens", layer), orthonormal(1, WIDTH, 0), True)]):
            changed = run(model, inputs).hidden_states
        plain = run(model, inputs).hidden_states
        same = [torch.equal(a, b) for a, b in zip(plain, changed, strict=True)]
        assert same == [True] * layer + [False] * (5 - layer)


def erasure(k: int, d: int, seed: int) -> Erasure:
    rng = np.random.default_rng(seed)
    return Erasure(rng.normal(size=(d, k)) / d, rng.normal(size=(k, d)), rng.normal(size=d))


@pytest.mark.parametrize("site", PLACES, ids=str)
def test_an_affine_map_is_applied_where_the_site_is(inputs: dict[str, Any], site: Site) -> None:
    model = build("bert")
    removal = Intervention(site, erasure(2, WIDTH, 1))
    with recording(model, [site]) as values:
        run(model, inputs)
        before = values[site].double().numpy()
    mapped = observed(model, inputs, removal)[site].double().numpy()
    np.testing.assert_allclose(mapped, removal.what(before), rtol=0, atol=1e-5)
    assert removal.removes
    assert str(removal) == f"{site}: 2 of 16, by an affine map"


def test_an_affine_map_is_computed_in_float32_from_half_precision() -> None:
    eraser = erasure(2, WIDTH, 1)
    x = torch.randn(3, 5, WIDTH, generator=torch.Generator().manual_seed(0)).to(torch.bfloat16)
    mapped = Intervention(Site("tokens", 1), eraser).removal()(x)
    exact = torch.tensor(eraser(x.double().numpy()))
    assert mapped.dtype == torch.bfloat16
    # rounded once, at the end
    assert float(((mapped.double() - exact).abs() / exact.abs()).max()) <= 2**-8 + 1e-5


def test_an_affine_map_that_does_nothing_removes_nothing() -> None:
    none = Erasure(np.zeros((4, 1)), np.ones((1, 4)), np.ones(4))
    assert not Intervention(Site("tokens", 1), none).removes
    with (
        pytest.raises(WordbiasError, match="vectors of 16 values there, the map is of 4"),
        applied(build("bert"), [Intervention(Site("tokens", 1), erasure(1, 4, 0))]),
    ):
        pass
