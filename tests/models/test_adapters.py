"""Adapters: what a setting becomes, the file, and models that they are not for."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file
from tiny_encoders import LAYERS, build

from wordbias import models
from wordbias.errors import WordbiasError
from wordbias.methods.leace import Erasure
from wordbias.methods.transform import Projection
from wordbias.models.adapters import Adapter, load_adapter, read_adapter
from wordbias.models.families import PARTS
from wordbias.models.fingerprint import Fingerprint
from wordbias.models.hooks import Intervention, applied, of_heads
from wordbias.models.settings import Settings, all_settings
from wordbias.models.sites import Site
from wordbias.subspace import Subspace

torch = pytest.importorskip("torch")


def subspace(k: int, d: int, seed: int) -> Subspace:
    rng = np.random.default_rng(seed)
    weights = -np.sort(-rng.uniform(0.1, 0.9, k))
    return Subspace(np.linalg.qr(rng.normal(size=(d, k)))[0].T, weights)


def adapter_for(model: Any) -> Adapter:
    heads = {
        Site(part, LAYERS - 1): of_heads([subspace(1, 4, 4 * i + h) for h in range(4)])
        for i, part in enumerate(PARTS)
    }
    others = [Site("tokens", LAYERS - 1), Site("cls", LAYERS), Site("sentence")]
    whole = {site: subspace(2, 16, 20 + i) for i, site in enumerate(others)}
    facts = {"source": "a test", "pairs": 3}
    return Adapter({**heads, **whole}, Fingerprint.of(model), subspace(1, 16, 30), facts)


@pytest.fixture(scope="module")
def model() -> Any:
    return build("bert")


@pytest.fixture
def stored(model: Any, tmp_path: Path) -> Path:
    path = tmp_path / "one.adapter"
    adapter_for(model).save(path)
    return path


@pytest.mark.parametrize("setting", all_settings(), ids=str)
def test_a_setting_is_what_its_numbers_say(model: Any, setting: Settings) -> None:
    adapter = adapter_for(model)
    by_site = {it.site: it for it in adapter.interventions(setting)}
    expected = {Site("sentence"): (1, setting.np)}
    if setting.n12 is not None:
        expected[Site("cls", LAYERS)] = (1 + (setting.c12 or 0), setting.n12)
    if setting.n11 is not None:
        expected[Site("tokens", LAYERS - 1)] = (1 + (setting.c11 or 0), setting.n11)
    if setting.attention:
        expected |= {Site(part, LAYERS - 1): (4, 0) for part in PARTS}
    assert {site: (it.what.dims, int(not it.hard)) for site, it in by_site.items()} == expected
    for site, it in by_site.items():
        np.testing.assert_array_equal(
            it.what.basis, adapter.subspaces[site].basis[: len(it.what.basis)]
        )
    assert adapter.interventions(str(setting))[0].site == adapter.interventions(setting)[0].site


def test_equation_5_with_every_number(model: Any) -> None:
    """h − v₀ⁿ⟨h,g₀⟩g₀ − c v₁ⁿ⟨h,g₁⟩g₁, written out."""
    adapter = adapter_for(model)
    g, v = (
        adapter.subspaces[Site("cls", LAYERS)].basis,
        adapter.subspaces[Site("cls", LAYERS)].weights,
    )
    h = np.random.default_rng(1).normal(size=16)
    for n in (0, 1):
        for c in (0, 1):
            it = next(
                it
                for it in adapter.interventions(Settings(n12=n, c12=c, np=0))
                if it.site.kind == "cls"
            )
            expected = h - v[0] ** n * (h @ g[0]) * g[0] - c * v[1] ** n * (h @ g[1]) * g[1]
            np.testing.assert_allclose(it.what.remove(h, it.hard), expected, atol=1e-12)


def test_the_baseline_is_hard_and_at_the_sentence(model: Any) -> None:
    adapter = adapter_for(model)
    [removal] = adapter.interventions("sent-debias")
    assert (removal.site, removal.what, removal.hard) == (
        Site("sentence"),
        adapter.sent_debias,
        True,
    )


def test_sites_of_ones_own(model: Any) -> None:
    adapter = adapter_for(model)
    removals = adapter.interventions("cls@-1,attention@2,sentence")
    assert [str(it.site) for it in removals] == ["query@2", "key@2", "value@2", "cls@3", "sentence"]
    assert [it.what.dims for it in removals] == [4, 4, 4, 1, 1]
    assert all(it.hard for it in removals)
    assert [str(it.site) for it in adapter.interventions("sentence")] == ["sentence"]


def test_a_file_reads_back(model: Any, stored: Path) -> None:
    adapter, loaded = adapter_for(model), load_adapter(model, stored)
    assert models.load_adapter is load_adapter
    assert loaded.fingerprint == adapter.fingerprint
    assert loaded.facts == adapter.facts
    assert list(loaded.subspaces) == list(adapter.subspaces)
    for site, space in adapter.subspaces.items():
        np.testing.assert_array_equal(loaded.subspaces[site].basis, space.basis)
        np.testing.assert_array_equal(loaded.subspaces[site].weights, space.weights)
    assert loaded.sent_debias is not None
    assert adapter.sent_debias is not None
    np.testing.assert_array_equal(loaded.sent_debias.basis, adapter.sent_debias.basis)
    with applied(model, loaded.interventions("attn-11111")):
        pass


def test_without_a_baseline(model: Any, tmp_path: Path) -> None:
    replace(adapter_for(model), sent_debias=None).save(tmp_path / "a")
    with pytest.raises(WordbiasError, match="sent-debias: not in this adapter; fit it with"):
        load_adapter(model, tmp_path / "a").interventions("sent-debias")


def test_equal_adapters_are_equal_files(model: Any, stored: Path, tmp_path: Path) -> None:
    adapter_for(model).save(tmp_path / "two")
    assert (tmp_path / "two").read_bytes() == stored.read_bytes()


def test_an_adapter_goes_with_the_model_in_another_precision(model: Any, stored: Path) -> None:
    half = build("bert").to(torch.bfloat16)
    assert Fingerprint.of(half) == Fingerprint.of(model)
    assert load_adapter(half, stored).subspaces


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        (("roberta",), "a BertForSequenceClassification for a RobertaForSequenceClassification"),
        (("bert", "NextSentencePrediction"), "for a BertForNextSentencePrediction"),
        (("bert", "SequenceClassification", 1), "other weights in the same shape"),
    ],
)
def test_an_adapter_of_another_model(stored: Path, other: tuple[Any, ...], difference: str) -> None:
    wrong = build(*other)
    with pytest.raises(WordbiasError, match=f"was fitted on another model .*{difference}") as error:
        load_adapter(wrong, stored)
    assert "insist with force=True" in str(error.value)
    assert load_adapter(wrong, stored, force=True).subspaces


def test_an_adapter_of_a_deeper_model(model: Any, stored: Path) -> None:
    shallow = build("bert", num_hidden_layers=2)
    with pytest.raises(WordbiasError, match="3 layers for 2"):
        load_adapter(shallow, stored)
    forced = load_adapter(shallow, stored, force=True)
    with (
        pytest.raises(WordbiasError, match="cls@3: BertForSequenceClassification has the layers 1"),
        applied(shallow, forced.interventions("L12-000")),
    ):
        pass


@pytest.mark.slow
def test_one_changed_weight_is_another_model(model: Any) -> None:
    for name, _ in model.named_parameters():
        changed = build("bert")
        with torch.no_grad():
            dict(changed.named_parameters())[name].view(-1)[0] += 1
        assert Fingerprint.of(changed).weights != Fingerprint.of(model).weights, name


def test_sites_and_components_that_were_not_fitted(model: Any) -> None:
    adapter = adapter_for(model)
    few = replace(adapter, subspaces={Site("cls", LAYERS): subspace(1, 16, 0)})
    with pytest.raises(WordbiasError, match=r"site sentence: not in this adapter, which has cls@3"):
        few.interventions("SENT-0")
    with pytest.raises(
        WordbiasError, match="2 components needed, 1 fitted; fit more, mhd-pairs:dims=N"
    ):
        few.intervention(Site("cls", LAYERS), 2)
    flat = replace(adapter, fingerprint=replace(adapter.fingerprint, layers=1))
    with pytest.raises(WordbiasError, match="the model has one layer, it needs two"):
        flat.interventions("L11-00000")
    with pytest.raises(WordbiasError, match="expected SENT-p"):
        adapter.interventions("L13-0")


def test_files_that_are_no_adapter(tmp_path: Path, stored: Path) -> None:
    with pytest.raises(WordbiasError, match=r"nowhere: cannot be read as an adapter"):
        read_adapter(tmp_path / "nowhere")
    (tmp_path / "text").write_text("no tensors here, at all")
    with pytest.raises(WordbiasError, match="text: cannot be read as an adapter"):
        read_adapter(tmp_path / "text")
    save_file({"basis": np.eye(2)}, tmp_path / "plain")
    with pytest.raises(
        WordbiasError, match=r"plain: .* basis, but no adapter; make one with: wordbias proj"
    ):
        read_adapter(tmp_path / "plain")
    cut = tmp_path / "cut"
    cut.write_bytes(stored.read_bytes()[:-100])
    with pytest.raises(WordbiasError, match="cut: cannot be read as an adapter"):
        read_adapter(cut)


@pytest.mark.parametrize(
    ("about", "tensors"),
    [
        ("{", {}),
        (json.dumps({"model": {}, "facts": {}}), {}),
        (json.dumps({"facts": {}}), {"cls@1.basis": np.eye(2)}),
        (
            json.dumps({"model": {}, "facts": {}}),
            {"cls@1.basis": np.ones((1, 2)), "cls@1.weights": np.ones(1)},
        ),
    ],
)
def test_damaged_adapters(tmp_path: Path, about: str, tensors: dict[str, Any]) -> None:
    path = tmp_path / "bad"
    filler = tensors or {"x": np.zeros(1)}
    save_file(filler, path, {"wordbias adapter 1": about})
    with pytest.raises(
        WordbiasError, match=r"bad: holds a damaged adapter: .*; make one with: wordbias proj"
    ):
        read_adapter(path)


def test_saving_leaves_nothing_half_written(model: Any, tmp_path: Path) -> None:
    with pytest.raises(WordbiasError, match="does not exist"):
        adapter_for(model).save(tmp_path / "no" / "where")
    assert list(tmp_path.iterdir()) == []


def test_interventions_say_what_they_are() -> None:
    assert str(Intervention(Site("cls", 3), subspace(2, 16, 0), True)) == "cls@3: 2 of 16, hard"
    assert str(Intervention(Site("sentence"), subspace(1, 16, 0))).endswith("by its weights")


def test_public_names() -> None:
    for name in models.__all__:
        assert getattr(models, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        models.nothing  # noqa: B018


def of_labels(model: Any) -> Adapter:
    """Return an adapter with removals that were fitted to labels, of both kinds."""
    rng = np.random.default_rng(5)
    affine = Erasure(rng.normal(size=(16, 2)), rng.normal(size=(2, 16)), rng.normal(size=16))
    steps: dict[Site, Projection | Erasure] = {
        Site("tokens", 1): affine,
        Site("tokens", 2): Projection(subspace(2, 16, 1), hard=False),
        Site("tokens", LAYERS): Projection(subspace(3, 16, 2), hard=True),
    }
    facts = {"labels": "gender", "method": "leace"}
    return Adapter({}, Fingerprint.of(model), facts=facts, chosen="tokens@1,tokens@2", steps=steps)


def test_removals_of_labels_are_stored_and_applied_whole(model: Any, tmp_path: Path) -> None:
    adapter = of_labels(model)
    adapter.save(tmp_path / "one")
    loaded = load_adapter(model, tmp_path / "one")
    assert loaded.chosen == adapter.chosen
    assert loaded.sites == tuple(adapter.steps)
    for name in (None, "tokens@-1", "tokens@2,tokens@3"):
        before, after = adapter.interventions(name), loaded.interventions(name)
        assert [it.site for it in after] == [it.site for it in before]
        assert [it.content for it in after] == [it.content for it in before]
        assert list(map(str, after)) == list(map(str, before))
    assert list(map(str, loaded.interventions("tokens@1,tokens@2,tokens@3"))) == [
        "tokens@1: 2 of 16, by an affine map",
        "tokens@2: 2 of 16, by its weights",
        "tokens@3: 3 of 16, hard",
    ]
    with pytest.raises(WordbiasError, match=r"cls@3: not in this adapter, which has tokens@1, tok"):
        loaded.interventions("cls@3")
    with pytest.raises(WordbiasError, match=r"no setting is chosen: .* such as tokens@3"):
        replace(loaded, chosen=None).interventions()
    assert loaded.settings == ()
    with loaded.on(model):
        pass


def test_earlier_versions_do_not_read_removals_of_labels(model: Any, tmp_path: Path) -> None:
    """They would leave them out: the kind of the file is another one."""
    of_labels(model).save(tmp_path / "labels")
    adapter_for(model).save(tmp_path / "pairs")
    with safe_open(tmp_path / "labels", "numpy") as file:
        assert set(file.metadata()) == {"wordbias adapter 2"}
    with safe_open(tmp_path / "pairs", "numpy") as file:
        assert set(file.metadata()) == {"wordbias adapter 1"}


@pytest.mark.parametrize(
    "steps", [{"tokens@1": {"kind": "linear"}}, {"tokens@1": {"kind": "erasure"}}, {"x": {}}, [1]]
)
def test_damaged_removals_of_labels(model: Any, tmp_path: Path, steps: Any) -> None:
    about = {"model": Fingerprint.of(model).to_dict(), "facts": {}, "steps": steps}
    save_file({"x": np.zeros(1)}, tmp_path / "bad", {"wordbias adapter 2": json.dumps(about)})
    with pytest.raises(WordbiasError, match=r"bad: holds a damaged adapter: .*; make one"):
        read_adapter(tmp_path / "bad")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"left": np.full((1, 1), np.nan)}, "'left' holds values that are not finite numbers"),
        ({"bias": np.full(1, np.inf)}, "'bias' holds values that are not finite numbers"),
        ({"facts": None}, "its facts are None"),
        ({"facts": []}, r"its facts are \[\]"),
        ({"steps": {}}, "holds no removal"),
    ],
)
def test_damaged_values_of_removals(
    model: Any, tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    """Else they would be taken for damage of the model, after it was measured without them."""
    arrays = {"left": np.ones((1, 1)), "right": np.ones((1, 1)), "bias": np.zeros(1)}
    steps = {"tokens@1": {"kind": "erasure"}}
    about = {"model": Fingerprint.of(model).to_dict(), "facts": {}, "steps": steps}
    about |= {name: value for name, value in change.items() if name in about}
    arrays |= {name: value for name, value in change.items() if name in arrays}
    tensors = {f"tokens@1.{name}": value for name, value in arrays.items()}
    save_file(tensors, tmp_path / "bad", {"wordbias adapter 2": json.dumps(about)})
    with pytest.raises(WordbiasError, match=f"bad: holds a damaged adapter: .*{said}; make one"):
        read_adapter(tmp_path / "bad")
