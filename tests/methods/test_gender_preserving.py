"""Gender-preserving debiasing, whole, on real vectors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from quick_cases import first_quick

from wordbias import Attribute, Embedding
from wordbias.errors import WordbiasError
from wordbias.methods.fitted import Chain, Fitted
from wordbias.methods.gender_preserving import fit, remarks, remove_checkpoints
from wordbias.methods.gender_preserving.networks import TanhReach, tanh_reach
from wordbias.methods.storage import Origin, load_chain, save_chain
from wordbias.methods.transform import turns
from wordbias.results import Row
from wordbias.wordlists import Templates

pytest.importorskip("torch", reason="the extra `torch` is not installed")

from wordbias.methods.gender_preserving.training import Debiasing

FEW: dict[str, Any] = {"pretrain_epochs": 2, "classifier_epochs": 2, "epochs": 1}
STAGES = ("before", "after")


@pytest.fixture(scope="module")
def fitted(sample: Embedding) -> Fitted:
    return fit(sample, **FEW)


@pytest.fixture(scope="module")
def small(sample: Embedding) -> Embedding:
    """The most frequent words and those that are looked up, on unit length."""
    part = sample.subset([*sample.words[:1500], *_listed()])
    return part.with_vectors(part.vectors / np.linalg.norm(part.vectors, axis=1, keepdims=True))


def _listed() -> list[str]:
    gender = Attribute.load()
    words = [word for pair in (*gender.pairs, *gender.equalise) for word in pair]
    return words + [word for side in Templates.load().stereotypes for word in side]


def _rows(fitted: Fitted, measure: str, **details: Any) -> list[Row]:
    return [
        row
        for row in fitted.found
        if row.measure == measure and details.items() <= row.to_dict().items()
    ]


def _value(fitted: Fitted, measure: str, **details: Any) -> float:
    (row,) = _rows(fitted, measure, **details)
    assert row.value is not None
    return float(row.value)


def test_every_word_is_mapped(sample: Embedding, fitted: Fitted) -> None:
    debiased = fitted(sample)
    step: Any = fitted.steps[0]
    assert len(fitted.steps) == 1
    assert debiased.words == sample.words
    assert debiased.vectors.shape == sample.vectors.shape
    assert (np.abs(debiased.vectors) < 1).all()
    assert turns(sample.vectors, debiased.vectors)
    x, weight = sample.vectors[:100], np.abs(step.weight)
    eps = float(np.finfo(np.float32).eps)
    # two float32 sums of d + 1 terms each, in any order, and two tanh
    slack = 2 * (sample.dim + 2) * eps * (np.abs(x) @ weight + np.abs(step.bias)) + 4 * eps
    assert (np.abs(debiased.vectors[:100] - step(x)) <= slack).all()
    assert not fitted.exempt
    assert not len(fitted.replaced)


def test_rows_report_the_fit(fitted: Fitted) -> None:
    assert {row.subject for row in fitted.found} == {"sample"}
    phases = [(row.value, row.details.get("group")) for row in _rows(fitted, "epochs")]
    assert phases == [(2, None), (2, "female"), (2, "male"), (1, None)]
    assert {row.details["set"] for row in _rows(fitted, "training-words")} == {
        "pairs",
        "stereotypes",
        "neutral",
    }
    for stage in STAGES:
        assert 0 < _value(fitted, "reconstruction-loss", stage=stage, n=21_791 // 5) < 1
        for part in ("train", "held-out"):
            (row,) = _rows(fitted, "stereotype-projection", stage=stage, set=part)
            assert row.value is not None
            assert row.value > 0
            assert 0 < row.details["cosine"] <= 1
        for group in ("female", "male"):
            assert 0 <= _value(fitted, "classifier-accuracy", stage=stage, group=group) <= 1


def test_rows_and_settings_are_plain(fitted: Fitted) -> None:
    rows = json.loads(json.dumps([row.to_dict() for row in fitted.found]))
    assert rows == [row.to_dict() for row in fitted.found]
    expected = {
        "stereotypes": None,
        "neutral": None,
        "pretrain_epochs": 2,
        "classifier_epochs": 2,
        "epochs": 1,
        "weight": 1e-4,
        "device": None,
        "as_published": False,
        "seed": 0,
    }
    assert json.loads(json.dumps(dict(fitted.settings))) == expected


def test_it_is_stored(sample: Embedding, fitted: Fitted, tmp_path: Path) -> None:
    save_chain(tmp_path / "gp", Chain((fitted,)), Origin.of(sample))
    loaded = load_chain(tmp_path / "gp")[0].parts[0]
    np.testing.assert_array_equal(loaded(sample).vectors, fitted(sample).vectors)
    assert loaded.found == fitted.found
    assert loaded.warnings == fitted.warnings


def test_the_reach_of_tanh_by_definition(sample: Embedding, fitted: Fitted) -> None:
    x = np.abs(sample.vectors.astype(float)).ravel()
    outside = x[x >= 1]
    scale = x.max() / 0.99
    assert _value(fitted, "outside-tanh", scale=scale) == len(outside) / len(x)
    assert _value(fitted, "unreachable-share", scale=scale) == 0
    assert not any("cannot be reconstructed" in warning for warning in fitted.warnings)


def test_as_published_vectors_are_not_scaled(sample: Embedding) -> None:
    part = sample.subset([*sample.words[:1500], *_listed()])
    trained = fit(part, as_published=True, **FEW)
    x = np.abs(part.vectors.astype(float))
    lost = (np.maximum(x - 1, 0) ** 2).sum() / (x**2).sum()
    assert lost > 0.01
    assert _value(trained, "unreachable-share", scale=1.0) == pytest.approx(lost, rel=1e-9)
    assert f"{lost:.1%} of all squared length cannot be reconstructed" in trained.warnings[0]


@pytest.mark.slow
def test_the_unit_of_the_vectors_plays_no_part(small: Embedding) -> None:
    """Where they are scaled; by a power of two, so that nothing is rounded."""
    larger, even_larger = (_like(small, factor * small.vectors) for factor in (4, 64))
    trained, other = fit(larger, **FEW), fit(even_larger, **FEW)
    np.testing.assert_array_equal(trained(larger).vectors, other(even_larger).vectors)
    losses = [_value(run, "reconstruction-loss", stage="after") for run in (trained, other)]
    assert losses[1] == pytest.approx(16**2 * losses[0], rel=1e-12)


@pytest.mark.slow
def test_more_pretraining_reconstructs_better(small: Embedding) -> None:
    few, more = (fit(small, **{**FEW, "pretrain_epochs": epochs}) for epochs in (2, 20))
    losses = [_value(run, "reconstruction-loss", stage="before") for run in (few, more)]
    assert losses[1] < losses[0]


@pytest.mark.parametrize("seed", first_quick([0, 1, 2]))
def test_stereotypes_come_off_the_difference(small: Embedding, seed: int) -> None:
    """By small steps; a large weight drives the training anywhere, on each machine elsewhere."""
    trained = fit(small, weight=0.01, seed=seed, **{**FEW, "epochs": 3})
    for part in ("train", "held-out"):
        before, after = (
            _value(trained, "stereotype-projection", set=part, stage=stage) for stage in STAGES
        )
        assert after < before


@pytest.mark.slow
def test_the_same_seed_gives_the_same_map(small: Embedding) -> None:
    step, same, other = (fit(small, seed=seed, **FEW).steps[0] for seed in (0, 0, 1))
    np.testing.assert_array_equal(step.weight, same.weight)  # type: ignore[attr-defined]
    assert (step.weight != other.weight).any()  # type: ignore[attr-defined]


def test_as_published(small: Embedding) -> None:
    trained = fit(small, as_published=True, **FEW)
    assert [row.value for row in _rows(trained, "epochs")] == [1, 1, 1, 1]
    assert trained.settings["as_published"] is True


@pytest.mark.slow
def test_words_of_ones_own(small: Embedding, tmp_path: Path) -> None:
    stereotypes = ["doctor", "lawyer", "teacher", "soldier", "no-such-word"]
    file = tmp_path / "stereotypes.txt"
    file.write_text("\n".join(stereotypes), encoding="utf-8")
    listed, read = (fit(small, stereotypes=given, **FEW) for given in (stereotypes, file))
    np.testing.assert_array_equal(listed.steps[0].weight, read.steps[0].weight)  # type: ignore[attr-defined]
    (row,) = _rows(listed, "training-words", set="stereotypes")
    assert (row.value, row.details["missing"]) == (4, ["no-such-word"])
    assert json.dumps(dict(listed.settings)) != json.dumps(dict(read.settings))
    assert listed.settings["stereotypes"] == stereotypes
    assert read.settings["stereotypes"] == str(file)


@pytest.mark.slow
def test_another_attribute(sample: Embedding) -> None:
    pairs = (("young", "old"), ("younger", "older"), ("youngest", "oldest"), ("youth", "age"))
    age = Attribute("age", ("young", "old"), (("young",), ("old",)), pairs, direction=pairs[0])
    trained = fit(sample.subset([*sample.words[:3000], "youngest", "oldest"]), age, **FEW)
    assert _value(trained, "training-words", set="stereotypes") == 84
    for group in ("young", "old"):
        assert _rows(trained, "classifier-accuracy", group=group)


@pytest.mark.slow
def test_an_interrupted_fit_goes_on(
    small: Embedding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "checkpoint"

    def pressed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Debiasing, "losses", pressed)
        with pytest.raises(KeyboardInterrupt):
            fit(small, checkpoint=path, **FEW)
    assert path.is_file()
    with pytest.raises(WordbiasError, match="its epochs is 1, not 2; remove it"):
        fit(small, checkpoint=path, **{**FEW, "epochs": 2})
    gone_on, whole = fit(small, checkpoint=str(path), **FEW), fit(small, **FEW)
    np.testing.assert_array_equal(gone_on.steps[0].weight, whole.steps[0].weight)  # type: ignore[attr-defined]
    assert gone_on.found == whole.found
    assert gone_on.settings == whole.settings
    assert path.is_file()
    remove_checkpoints([whole])
    assert path.is_file()
    remove_checkpoints([gone_on])
    remove_checkpoints([gone_on])
    assert not path.exists()


# Bad input


def test_an_unknown_device_is_refused_before_training(small: Embedding) -> None:
    with pytest.raises(WordbiasError, match="device 'tpu9'"):
        fit(small, device="tpu9")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"pretrain_epochs": 0}, "pretrain_epochs: expected at least 1, got 0"),
        ({"classifier_epochs": -1}, "classifier_epochs: expected at least 1, got -1"),
        ({"epochs": 0}, "epochs: expected at least 1, got 0"),
        ({"pretrain_epochs": 1, "as_published": True}, "pretrain_epochs: expected at least 2"),
        ({"classifier_epochs": 1, "as_published": True}, "one of them is not run"),
        ({"weight": 0.0}, "weight: expected a positive number, got 0.0"),
        ({"weight": float("nan")}, "weight: expected a positive number, got nan"),
        ({"seed": -1}, "seed: expected a number from 0 on, got -1"),
    ],
)
def test_settings_that_make_no_sense(small: Embedding, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(WordbiasError, match=said):
        fit(small, **settings)


def test_no_embedding() -> None:
    with pytest.raises(WordbiasError, match="expected an Embedding, got ndarray"):
        fit(np.eye(3))  # type: ignore[arg-type]


def _like(embedding: Embedding, vectors: Any) -> Embedding:
    return embedding.with_vectors(vectors, "odd")


def test_constant_vectors(small: Embedding) -> None:
    constant = np.full(small.vectors.shape, 0.1)
    chosen = {"stereotypes": ["doctor", "lawyer", "teacher", "soldier"]}
    with pytest.raises(WordbiasError, match="she − he"):
        fit(_like(small, constant), **FEW)
    chosen["neutral"] = ["river", "city", "book", "water"]
    with pytest.raises(WordbiasError, match=r"odd: the mean difference of \d+ pairs is zero"):
        fit(_like(small, constant), **chosen, **FEW)


def test_pairs_whose_differences_cancel(small: Embedding) -> None:
    gender = Attribute.load()
    pairs = [*gender.pairs, *gender.equalise]
    unique = [
        pair for i, pair in enumerate(pairs) if not {*pair} & {w for p in pairs[:i] for w in p}
    ]
    mirrored = Attribute(
        "gender", gender.groups, gender.members, tuple(unique[:6]), direction=unique[0]
    )
    vectors = small.vectors.copy()
    step = np.zeros(small.dim, np.float32)
    step[0] = 0.5
    for i, pair in enumerate(unique[:6]):
        for sign, word in zip((1, -1), pair, strict=True):
            vectors[small.index[word]] = sign * (-1) ** i * step
    with pytest.raises(WordbiasError, match="the mean difference of 6 pairs is zero"):
        fit(_like(small, vectors), mirrored, **FEW)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_vector_that_is_not_finite(small: Embedding, value: float) -> None:
    vectors = small.vectors.copy()
    vectors[1234, 5] = value
    with pytest.raises(WordbiasError, match=f"odd: the vector of {small.words[1234]!r} is not fin"):
        fit(_like(small, vectors), **FEW)


def test_zero_vectors(small: Embedding) -> None:
    with pytest.raises(WordbiasError, match="odd: every vector is zero"):
        fit(_like(small, np.zeros(small.vectors.shape)), **FEW)


def test_as_published_vectors_beyond_the_decoder_are_refused(small: Embedding) -> None:
    refusal = (
        r"odd: \d+% of the values lie outside \(−1, 1\).*length one, or do not train as published"
    )
    with pytest.raises(WordbiasError, match=refusal):
        fit(_like(small, 30 * small.vectors), as_published=True, **FEW)


@pytest.mark.parametrize("published", [False, True])
def test_a_vector_that_strays(small: Embedding, published: bool) -> None:
    vectors = small.vectors.copy()
    vectors[77, 5] = -1e30
    refusal = f"odd: the vector of {small.words[77]!r} has the value 1e\\+30, .*leave the word out"
    with pytest.raises(WordbiasError, match=refusal):
        fit(_like(small, vectors), as_published=published, **FEW)


def test_the_scale() -> None:
    inside, outside = (
        tanh_reach(Embedding(["a", "b"], [[0.5, -0.9 * size], [0.1, 0.2]])) for size in (1, 3)
    )
    assert inside.scale() == 1
    assert 2.7 / outside.scale() == pytest.approx(0.99, rel=1e-6)
    assert outside.scale(as_published=True) == 1


def test_values_of_one_are_outside() -> None:
    reach = tanh_reach(Embedding(["a", "b"], [[1.0, 0.5], [-0.5, -0.5]]))
    assert reach == TanhReach(1.0, 0.25, 0.0)


def test_stereotypes_that_did_not_move_give_a_warning() -> None:
    def row(stage: str, part: str, value: float) -> Row:
        return Row("x", "stereotype-projection", value, {"stage": stage, "set": part})

    rows = [row("before", "train", 2.0), row("after", "train", 1.0)]
    rows += [row("before", "held-out", 1.0), row("after", "held-out", 1.5)]
    notes = list(remarks(TanhReach(0.5, 0.0, 0.0), 1.0, rows))
    assert notes == ["stereotype-projection (held-out) did not fall: 1 → 1.5"]
