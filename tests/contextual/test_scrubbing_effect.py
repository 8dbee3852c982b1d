"""Removals fitted layer by layer: what they do to a model, to its states, and to bad input."""

from __future__ import annotations

import copy
import csv
import gzip
import os
import tempfile
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from labelled_texts import DEPTH, THREE, TWO, WORDS, decoder, encoder, marking, tokenizer
from tiny_decoders import build_decoder, byte_tokenizer, word_tokenizer
from tiny_encoders import build

from wordbias.contextual import scrubbing
from wordbias.contextual.scrubbing import (
    explained,
    explained_by_chance,
    scrub,
    scrub_pairs,
)
from wordbias.errors import WordbiasError
from wordbias.methods.leace import erase
from wordbias.methods.transform import Projection
from wordbias.models.adapters import Adapter
from wordbias.models.hooks import recording
from wordbias.models.sentence_pairs import SentencePair
from wordbias.models.sites import Site, locate_layer, sites
from wordbias.moments import Moments, mapped

torch = pytest.importorskip("torch")

EXACT = 1e-9
"""Share of the length of a vector that rounding in float64 may leave of a difference of means."""


def inputs_of(reader: Any, texts: list[str]) -> tuple[dict[str, Any], Any]:
    """Return the texts as one batch, padded on the right, and the mask of their tokens."""
    ids = [reader(text)["input_ids"] for text in texts]
    width = max(map(len, ids))
    padded = torch.tensor([row + [0] * (width - len(row)) for row in ids])
    mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in ids])
    return {"input_ids": padded, "attention_mask": mask}, mask.bool()


def left_at(
    model: Any, reader: Any, adapter: Adapter, texts: list[str], labels: list[str]
) -> dict[Site, tuple[Any, Any]]:
    """Return the vectors of all tokens at the sites of an adapter, which is on, and their labels.

    They are those of one ordinary forward pass.
    """
    inputs, mask = inputs_of(reader, texts)
    every = np.repeat(labels, mask.sum(1).numpy())
    with torch.no_grad(), adapter.on(model), recording(model, list(adapter.steps)) as values:
        model(**inputs)
    by_site = {}
    for site, x in values.items():
        rows = x if x.ndim == 2 else x[mask]
        by_site[site] = rows.double().numpy(), np.array(labels) if x.ndim == 2 else every
    return by_site


def gap(rows: Any, labels: Any) -> float:
    """Return the largest difference of the means of two classes in a coordinate."""
    means = np.array([rows[labels == label].mean(0) for label in sorted(set(labels))])
    return float(np.ptp(means, axis=0).max())


def r_squared(rows: Any, labels: Any) -> float:
    """Return R² of a fresh least-squares classifier, of all one-hot columns together."""
    x = np.column_stack([rows, np.ones(len(rows))])
    y = (labels[:, None] == np.unique(labels)).astype(float)
    rest = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
    return float(1 - (rest**2).sum() / ((y - y.mean(0)) ** 2).sum())


# With all removals on


@pytest.mark.parametrize("given_sites", ["tokens@all", "input@1,attention-output@all,mlp-output@2"])
@pytest.mark.parametrize("family", ["gpt2", "llama", "gemma3_text", "phi"])
def test_no_layer_tells_the_classes_apart(family: str, given_sites: str) -> None:
    """With all on, in one ordinary forward pass, no linear classifier of the tokens does."""
    model = decoder(family)
    wanted = sites(given_sites, DEPTH)
    adapter = scrub(model, tokenizer(), *THREE, wanted=wanted, batch=8)
    for site, (rows, labels) in left_at(model, tokenizer(), adapter, *THREE).items():
        assert gap(rows, labels) <= EXACT * np.abs(rows).max(), site
        assert abs(r_squared(rows, labels)) <= EXACT, site
    plain = scrub(model, tokenizer(), *THREE, wanted=wanted, batch=8, sequential=False)
    later = left_at(model, tokenizer(), plain, *THREE)
    ends = list(later.values())
    assert gap(*ends[0]) <= EXACT * np.abs(ends[0][0]).max()  # the first has none before it
    assert any(r_squared(*end) > 1e-4 for end in ends[1:])  # later ones are of other vectors


@pytest.mark.parametrize("family", ["bert", "deberta-v2", "modernbert", "xlm-roberta-xl"])
def test_no_layer_of_an_encoder_does(family: str) -> None:
    model = encoder(family)
    adapter = scrub(model, marking(), *TWO, wanted=sites("cls@2,tokens@all", DEPTH))
    for site, (rows, labels) in left_at(model, marking(), adapter, *TWO).items():
        if site.kind == "cls":
            continue  # the removal at all tokens behind it changes it once more
        assert gap(rows, labels) <= EXACT * np.abs(rows).max(), site
        assert abs(r_squared(rows, labels)) <= EXACT, site


@pytest.mark.parametrize("family", ["llama", "gpt_neox", "gemma3_text"])
def test_what_is_added_up_has_equal_means_in_the_whole_stream(family: str) -> None:
    """Removals at all summands, which fold into weights, are removals at every layer's output."""
    model = decoder(family)
    wanted = sites("input@1,attention-output@all,mlp-output@all", DEPTH)
    adapter = scrub(model, tokenizer(), *TWO, wanted=wanted)
    inputs, mask = inputs_of(tokenizer(), TWO.texts)
    every = np.repeat(TWO.labels, mask.sum(1).numpy())
    stream = [Site("input", 2), Site("input", 3), Site("tokens", 2)]
    with torch.no_grad(), adapter.on(model), recording(model, stream) as values:
        model(**inputs)
    for site, x in values.items():
        assert gap(x[mask].numpy(), every) <= EXACT * float(x.abs().max()), site
    for site in stream:
        with pytest.raises(WordbiasError, match=f"site {site}: its vectors are the sum of those"):
            scrub(model, tokenizer(), *TWO, wanted=[*wanted, site])


@pytest.mark.parametrize("method", ["hard", "mhd", "misp"])
def test_other_methods_make_projections(method: str) -> None:
    """Fitted like rows of any origin; Hard makes the means equal, and so leaves nothing linear."""
    model, hard = decoder("qwen2"), method == "hard"
    adapter = scrub(model, tokenizer(), *TWO, method=method, settings={} if hard else {"dims": 2})
    left = left_at(model, tokenizer(), adapter, *TWO)
    for site, step in adapter.steps.items():
        assert isinstance(step, Projection)
        assert (step.subspace.dims, step.hard) == (1 if hard else 2, method != "misp")
        rows, labels = left[site]
        basis, about = step.subspace.basis, adapter.facts["sites"][str(site)]
        if step.hard:
            assert np.abs(rows @ basis.T).max() <= EXACT * np.abs(rows).max(), site
        if hard:
            assert gap(rows, labels) <= EXACT * np.abs(rows).max(), site
            assert about["before"] > about["after"] == 0


@pytest.mark.parametrize("cache", [True, False])
def test_it_is_on_while_texts_are_generated(cache: bool) -> None:
    """Each new token has the most likely id of an ordinary pass over the text so far."""
    model = decoder("llama")
    adapter = scrub(model, tokenizer(), *TWO)
    ids = torch.tensor([tokenizer()(TWO.texts[0])["input_ids"]])
    with adapter.on(model), torch.no_grad():
        generated = model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=6,
            do_sample=False,
            use_cache=cache,
            pad_token_id=0,
        )
        for n in range(ids.shape[1], generated.shape[1]):
            assert int(model(generated[:, :n]).logits[0, -1].argmax()) == int(generated[0, n])


# How it is computed


def steps_of(adapter: Adapter) -> dict[Site, list[Any]]:
    parts = ("left", "right", "bias")
    return {site: [getattr(step, part) for part in parts] for site, step in adapter.steps.items()}


@pytest.mark.parametrize("family", ["mistral", "phi3", "gpt2"])
def test_padding_never_counts(family: str) -> None:
    """A text by itself has none."""
    model, wanted = decoder(family), sites("input@1,attention-output@2,tokens@all", DEPTH)
    alone = scrub(model, tokenizer(), *TWO, wanted=wanted, batch=1)
    for batch in (5, 64):
        together = scrub(model, tokenizer(), *TWO, wanted=wanted, batch=batch)
        for site, step in alone.steps.items():
            x = np.eye(16) * np.abs(step.bias).max()
            expected, actual = step(x), together.steps[site](x)
            assert np.abs(actual - expected).max() <= 1e-7 * np.abs(expected).max(), site


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a folder for all temporary ones."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_states_in_a_file_are_those_in_memory(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = build_decoder("qwen3", 40, num_hidden_layers=3).to(torch.bfloat16)
    held = scrub(model, tokenizer(), *TWO)
    calls = []
    from_file = torch.from_file
    monkeypatch.setattr(torch, "from_file", lambda *a, **k: calls.append(a) or from_file(*a, **k))
    monkeypatch.setattr(scrubbing, "IN_MEMORY", 0)
    stored = scrub(model, tokenizer(), *TWO)
    assert len(calls) == 1
    for site, arrays in steps_of(held).items():
        for a, b in zip(arrays, steps_of(stored)[site], strict=True):
            np.testing.assert_array_equal(a, b)
    assert not list(temporary.glob("wordbias-*"))


def test_a_disk_that_is_too_small(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scrubbing, "IN_MEMORY", 0)
    monkeypatch.setattr(scrubbing.shutil, "disk_usage", lambda _: type("", (), {"free": 5})())
    with pytest.raises(WordbiasError, match=r"take 0\.0 GB there, and 0\.0 GB are free; give few"):
        scrub(decoder("llama"), tokenizer(), *TWO)
    assert not list(temporary.glob("wordbias-*"))


def test_a_disk_that_fills_up_meanwhile(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mapped file without room ends the process, so the room is taken first."""
    if not hasattr(os, "posix_fallocate"):
        pytest.skip("this system reserves no room for a file")

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(scrubbing, "IN_MEMORY", 0)
    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(WordbiasError, match=r"the hidden states of all tokens take 0\.0 GB there"):
        scrub(decoder("llama"), tokenizer(), *TWO)
    assert not list(temporary.glob("wordbias-*"))


@pytest.mark.skipif(os.name == "nt", reason="Windows deletes no open file")
def test_a_process_that_is_killed_leaves_no_states(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file has no name while it is used."""
    monkeypatch.setattr(scrubbing, "IN_MEMORY", 0)
    fit, names = scrubbing.fit_moments, []

    def seen(*given: Any, **named: Any) -> Any:
        names.append([path.name for path in temporary.glob("wordbias-*/*")])
        return fit(*given, **named)

    monkeypatch.setattr(scrubbing, "fit_moments", seen)
    scrub(decoder("llama"), tokenizer(), *TWO)
    assert names == [[]] * DEPTH


def calls_of_layers(model: Any, **options: Any) -> list[int]:
    """Return how often the MLP of each layer is called by a fit, for each batch."""
    counts = [0] * DEPTH
    handles = []
    for number in range(1, DEPTH + 1):
        mlp = locate_layer(model, Site("tokens", number)).module.mlp

        def count(*_: Any, number: int = number) -> None:
            counts[number - 1] += 1

        handles.append(mlp.register_forward_hook(count))
    scrub(model, tokenizer(), *TWO, batch=len(TWO.texts), **options)
    for handle in handles:
        handle.remove()
    return counts


@pytest.mark.parametrize("sequential", [True, False])
def test_each_layer_is_computed_once(sequential: bool) -> None:
    """And those behind the last site never: at an input not even the layer itself."""
    model, how = decoder("llama"), {"sequential": sequential}
    assert calls_of_layers(model, **how) == [1, 1, 1]
    assert calls_of_layers(model, wanted=sites("tokens@2"), **how) == [1, 1, 0]
    assert calls_of_layers(model, wanted=sites("tokens@1"), **how) == [1, 0, 0]
    assert calls_of_layers(model, wanted=sites("input@3"), **how) == [1, 1, 0]
    assert calls_of_layers(model, wanted=sites("input@2,input@3"), **how) == [1, 1, 0]
    assert calls_of_layers(model, wanted=sites("input@1"), **how) == [1, 0, 0]


@pytest.mark.slow
def test_a_compiled_model() -> None:
    model = build_decoder("llama", len(WORDS) + 2, num_hidden_layers=2)
    ids = torch.arange(6)[None]
    adapter = scrub(model, tokenizer(), *TWO)
    with torch.no_grad(), adapter.on(model):
        logits = torch.compile(model, backend="eager")(input_ids=ids).logits
        assert torch.equal(logits, model(input_ids=ids).logits)


# The model afterwards


def state_of(model: Any) -> list[Any]:
    """Return all that a fit could leave behind in a model."""
    state: list[Any] = []
    for name, module in model.named_modules():
        hooks = (module._forward_hooks, module._forward_pre_hooks)
        state.append((name, module.training, "forward" in vars(module), *map(len, hooks)))
    state += [(name, parameter.requires_grad) for name, parameter in model.named_parameters()]
    return state


@pytest.mark.parametrize("error", [None, KeyboardInterrupt, RuntimeError, WordbiasError])
@pytest.mark.parametrize("family", ["llama", "bert"])
def test_the_model_is_as_it_was(
    family: str,
    error: type[BaseException] | None,
    temporary: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also if Ctrl-C or an error comes in the middle of a layer."""
    monkeypatch.setattr(scrubbing, "IN_MEMORY", 0)
    decodes = family == "llama"
    reader = tokenizer() if decodes else marking()
    if decodes:
        model = build_decoder(family, len(WORDS) + 2, num_hidden_layers=3)
    else:
        model = build(family, "Model", vocabulary=len(WORDS) + 5, hidden_dropout_prob=0.5)
    next(model.parameters()).requires_grad_(False)
    model.train()
    layer = locate_layer(model, Site("tokens", 2)).module
    layer.eval()  # one part that does not train
    calls = 0

    def disturb(*_: Any) -> None:
        nonlocal calls
        calls += 1
        if error is not None and calls == 6:
            raise error("disturbed")

    layer.register_forward_hook(disturb)
    before, weights = state_of(model), copy.deepcopy(model.state_dict())
    if error is None:
        scrub(model, reader, *TWO, batch=9)
        assert calls > 6
    else:
        with pytest.raises(error):
            scrub(model, reader, *TWO, batch=9)
    assert state_of(model) == before
    for name, x in model.state_dict().items():
        assert torch.equal(x, weights[name]), name
    assert not torch.is_inference_mode_enabled()
    assert not list(temporary.glob("wordbias-*"))
    scrub(model, reader, *TWO)  # nothing is in the way of another one


def test_a_layer_whose_forward_was_replaced() -> None:
    """As accelerate does; it is called, and is there afterwards."""
    model = build_decoder("llama", len(WORDS) + 2, num_hidden_layers=3)
    expected = scrub(model, tokenizer(), *TWO)
    layer, calls = model.model.layers[1], []

    def counted(*args: Any, **named: Any) -> Any:
        calls.append(1)
        return type(layer).forward(layer, *args, **named)

    layer.forward = counted
    adapter = scrub(model, tokenizer(), *TWO, batch=len(TWO.texts))
    assert vars(layer)["forward"] is counted
    assert len(calls) == 1
    assert adapter.fingerprint == expected.fingerprint


def test_ctrl_c_before_the_first_layer(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the states are prepared, the mode of the model is already another."""

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    model = build_decoder("llama", len(WORDS) + 2)
    model.train()
    before = state_of(model)
    monkeypatch.setattr(scrubbing, "progress", interrupted)
    with pytest.raises(KeyboardInterrupt):
        scrub(model, tokenizer(), *TWO)
    assert state_of(model) == before
    assert not torch.is_inference_mode_enabled()


# Precision


@pytest.mark.parametrize("family", ["llama", "gemma3_text"])
@pytest.mark.parametrize("precision", ["bfloat16", "float16", "float32"])
def test_half_precision(family: str, precision: str) -> None:
    """Rounding a vector to the model's type leaves as much of the difference as it is coarse."""
    kind = getattr(torch, precision)
    model = build_decoder(family, len(WORDS) + 2, num_hidden_layers=3).to(kind)
    adapter = scrub(model, tokenizer(), *TWO, batch=len(TWO.texts))
    for site, (rows, labels) in left_at(model, tokenizer(), adapter, *TWO).items():
        assert gap(rows, labels) <= torch.finfo(kind).eps * np.abs(rows).max(), site


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_coordinate_that_is_ten_thousand_times_larger(precision: str) -> None:
    """As of Llama's BOS token: the means of the other coordinates still become equal.

    Each to what rounding leaves of that coordinate by itself, not of the length of the vectors.
    """
    kind = getattr(torch, precision)
    model = build_decoder("llama", len(WORDS) + 2, num_hidden_layers=3).to(kind)
    with torch.no_grad():
        model.model.embed_tokens.weight[tokenizer().bos_token_id, 5] = 1e4
    adapter = scrub(model, tokenizer(), *TWO, batch=len(TWO.texts))
    for site, (rows, labels) in left_at(model, tokenizer(), adapter, *TWO).items():
        if site.layer == DEPTH:
            continue  # behind the norm nothing is large
        assert np.abs(rows[:, 5]).max() > 1e3
        for column in rows.T:
            apart = gap(column[:, None], labels)
            assert apart <= 64 * torch.finfo(kind).eps * np.abs(column).max(), site


def test_biographies_of_women_and_men(shared_data: Path) -> None:
    """Real texts, in float32, whose bytes a decoder with random weights reads."""
    with gzip.open(shared_data / "bios" / "bios_surgeon_nurse.tsv.gz", "rt", encoding="utf-8") as f:
        rows = [row for _, row in zip(range(40), csv.DictReader(f, delimiter="\t"), strict=False)]
    texts, labels = [row["text"][:200] for row in rows], [row["gender"] for row in rows]
    reader = byte_tokenizer()
    model = build_decoder("llama", len(reader), num_hidden_layers=3, max_position_embeddings=1024)
    adapter = scrub(model, reader, texts, labels, batch=len(texts))
    shares = [adapter.facts["sites"][str(site)] for site in adapter.steps]
    assert all(share["before"] > 1e-3 and share["after"] == 0 for share in shares)
    assert shares[0]["vectors"] == sum(len(text.encode()) for text in texts)
    for site, (rows_there, every) in left_at(model, reader, adapter, texts, labels).items():
        eps = torch.finfo(torch.float32).eps
        assert gap(rows_there, every) <= 64 * eps * np.abs(rows_there).max(), site


# Figures of a fit


@given(seed=st.integers(0, 10_000), classes=st.integers(2, 4))
def test_figures_of_random_rows(seed: int, classes: int) -> None:
    """The share explained is R² of least squares, and moments go through a map as the rows do."""
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(classes), rng.integers(0, classes, 40)])
    x = rng.normal(size=(len(codes), 5)) + 0.3 * codes[:, None] * rng.normal(size=5)
    names = [f"{number}" for number in range(classes)]
    moments = Moments.of_codes(x, codes, names)
    step = erase([moments])
    direct = Moments.of_codes(step(x), codes, names)
    through = mapped(moments, step)
    np.testing.assert_allclose(through.means, direct.means, atol=1e-9)
    np.testing.assert_allclose(through.within, direct.within, atol=1e-9 * np.abs(x).max() ** 2)
    assert explained(through) == 0
    share = explained(moments)
    # of centred one-hot columns, in coordinates in which they are uncorrelated
    y = np.eye(classes)[codes]
    y = np.linalg.svd(y - y.mean(0), full_matrices=False)[0][:, : classes - 1]
    centred = x - x.mean(0)
    fit = centred @ np.linalg.lstsq(centred, y, rcond=None)[0]
    assert share == pytest.approx((fit**2).sum() / (classes - 1), rel=1e-9)
    if classes == 2:
        assert share == pytest.approx(r_squared(x, codes), rel=1e-9)
    wider = Moments.of_codes(np.hstack([x, x[:, :2], np.ones((len(x), 1))]), codes, names)
    assert explained(wider) == pytest.approx(share, rel=1e-9)  # a covariance with a kernel


@given(seed=st.integers(0, 10_000), dim=st.integers(1, 7), classes=st.integers(2, 3))
def test_the_share_of_random_labels_is_the_mean_over_all_their_orders(
    seed: int, dim: int, classes: int
) -> None:
    """Of n vectors in general position it is d / (n − 1), whatever the sizes of the classes."""
    rng = np.random.default_rng(seed)
    codes = np.sort(np.concatenate([np.arange(classes), rng.integers(0, classes, 6 - classes)]))
    x, names = rng.normal(size=(6, dim)), [f"{number}" for number in range(classes)]
    orders = sorted(set(permutations(codes.tolist())))
    shares = [explained(Moments.of_codes(x, np.array(order), names)) for order in orders]
    assert np.mean(shares) == pytest.approx(explained_by_chance(6, dim), rel=1e-6)


# Texts and labels


def test_labels_of_any_type_name_the_classes() -> None:
    model = decoder("llama")
    numbers = [int(label[-1]) for label in TWO.labels]
    expected = scrub(model, tokenizer(), *TWO)
    adapter = scrub(model, tokenizer(), TWO.texts, numbers, source="bios", name="gender")
    assert adapter.facts["classes"] == {"0": 18, "1": 18}
    assert (adapter.facts["source"], adapter.facts["labels"]) == ("bios", "gender")
    for site, arrays in steps_of(expected).items():
        for a, b in zip(arrays, steps_of(adapter)[site], strict=True):
            np.testing.assert_array_equal(a, b)


def test_texts_of_one_token_and_texts_that_repeat() -> None:
    """A tokenizer without BOS gives texts of one token, and every text counts as often as given."""
    reader, model = word_tokenizer(" ".join(WORDS)), decoder("gpt2")
    texts, labels = WORDS + TWO.texts, [str(i % 2) for i in range(len(WORDS))] + TWO.labels
    labels = [label[-1] for label in labels]
    once = scrub(model, reader, texts, labels)
    twice = scrub(model, reader, texts * 2, labels * 2)
    at = Site("tokens", 2)
    about = [adapter.facts["sites"][str(at)]["vectors"] for adapter in (once, twice)]
    assert about == [len(" ".join(texts).split()), 2 * len(" ".join(texts).split())]
    for site, (rows, every) in left_at(model, reader, once, texts, labels).items():
        assert gap(rows, every) <= EXACT * np.abs(rows).max(), site
    for site, (rows, every) in left_at(model, reader, twice, texts, labels).items():
        assert gap(rows, every) <= EXACT * np.abs(rows).max(), site


def test_texts_that_are_too_long_are_cut_and_counted() -> None:
    reader = word_tokenizer(" ".join(WORDS), front=True, model_max_length=6)
    adapter = scrub(decoder("llama"), reader, *TWO)
    lengths = [len(text.split()) + 1 for text in TWO.texts]
    assert adapter.facts["cut"] == sum(length > 6 for length in lengths) > 0
    about = adapter.facts["sites"]["tokens@1"]
    assert about["vectors"] == sum(min(length, 6) for length in lengths)


N = len(TWO.texts)
BAD: list[tuple[dict[str, Any], str]] = [
    ({"labels": TWO.labels[:-1]}, "texts: 36 texts, but 35 values of label; give one for each"),
    (
        {"labels": [None, *TWO.labels[1:]]},
        "1 of 36 texts have no label, the first is text 1",
    ),
    (
        {"labels": [*TWO.labels[:-2], "", float("nan")]},
        "2 of 36 .* is text 35; leave those",
    ),
    (
        {"labels": ["x"] * N},
        "texts: label needs two classes at least; all are 'x'",
    ),
    ({"texts": [], "labels": []}, "label needs two classes at least; no text has one"),
    ({"tokens": "word"}, "tokens word: compares the sentences of a pair; give pairs, or --tokens"),
    ({"tokens": "first"}, "tokens 'first': expected one of all, last, mean, word"),
    ({"method": "inlp"}, "method 'inlp': expected one of leace, hard, mhd, misp"),
    ({"wanted": []}, "no site is named; name some with --sites, such as tokens@all"),
    ({"wanted": sites("tokens@4")}, "site tokens@4: LlamaForCausalLM has the layers 1 to 3"),
    ({"wanted": sites("cls@1")}, "site cls@1: LlamaForCausalLM is a decoder; it has input@L"),
    ({"wanted": sites("query@1")}, "site query@1: removals are fitted to labels at input@L, atten"),
    (
        {"wanted": sites("tokens@1,input@2")},
        "sites tokens@1 and input@2: are the same vectors, and the first leaves the second",
    ),
    (
        {"wanted": sites("input@1,attention-output@1,mlp-output@1,tokens@1")},
        "site tokens@1: its vectors are the sum of those at input@1, attention-output@1, mlp-out",
    ),
    (
        {"texts": ["a0 a1 a2"] * N},
        "site tokens@1: the classes of 144 vectors do not differ in their means",
    ),
]


@pytest.mark.parametrize(("bad", "message"), BAD)
def test_bad_input(bad: dict[str, Any], message: str) -> None:
    given = {"texts": TWO.texts, "labels": TWO.labels, **bad}
    with pytest.raises(WordbiasError, match=message):
        scrub(decoder("llama"), tokenizer(), **given)


def test_a_text_without_tokens() -> None:
    reader = word_tokenizer(" ".join(WORDS))
    with pytest.raises(WordbiasError, match="text 3: has no token to read; leave it out"):
        scrub(decoder("llama"), reader, ["a0", "b0 b1", " ", "b0"], ["x", "y", "x", "y"])


def test_pairs_of_which_too_few_are_left() -> None:
    pairs = [SentencePair("a0 a1", "b0 b1 b2"), SentencePair("a0", "b0")]
    with pytest.raises(WordbiasError, match="usable pairs of sentences: 1, at least two are need"):
        scrub_pairs(decoder("llama"), tokenizer(), pairs, tokens="word")


def test_layers_that_share_their_weights() -> None:
    with pytest.raises(WordbiasError, match="AlbertModel: its layers share their weights"):
        scrub(encoder("albert"), marking(), *TWO)


def test_weights_that_are_no_numbers() -> None:
    model = build_decoder("llama", len(WORDS) + 2, num_hidden_layers=3)
    with torch.no_grad():
        model.model.layers[1].mlp.down_proj.weight[3, 4] = float("nan")
    with pytest.raises(WordbiasError, match="site tokens@2: the model puts out no numbers; its we"):
        scrub(model, tokenizer(), *TWO)


def test_a_model_with_interventions() -> None:
    model = decoder("llama")
    adapter = scrub(model, tokenizer(), *TWO)
    with adapter.on(model), pytest.raises(WordbiasError, match="interventions are applied to it"):
        scrub(model, tokenizer(), *TWO)
