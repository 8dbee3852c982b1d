"""The study: cached rows, means over seeds, correlations; the wrong weightings."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from wordbias import Embedding, __version__
from wordbias.errors import WordbiasError
from wordbias.measures.word_lists import redraws
from wordbias.methods.misp import fit
from wordbias.nli.pairs import Pairs
from wordbias.nli.study import (
    Plan,
    cached_rows,
    correlations_with_error,
    intrinsic_rows,
    mean_errors,
    over_seeds,
    random_draws,
    redrawn_lists,
    with_permuted_weights,
)
from wordbias.results import Row
from wordbias.wordlists import Attribute


def _error(subject: str, value: float, seed: int, **details: object) -> Row:
    about = {"set": "explicit", "setting": "nouns", "neutral": 0, "better": "lower", **details}
    return Row(subject, "mab-error", value, {**about, "seed": seed})


def test_rows_are_averaged_over_seeds() -> None:
    rows = [_error("a", 0.1, 0), _error("a", 0.3, 1), _error("b", 0.5, 0)]
    rows.append(_error("a", 0.9, 0, setting="pronouns"))
    mean, other, pronouns = sorted(
        over_seeds(rows), key=lambda row: (row.details["setting"], row.subject)
    )
    assert mean.value == pytest.approx(0.2)
    assert (mean.details["seeds"], mean.details["spread"]) == (2, pytest.approx(np.sqrt(0.02)))
    assert (other.value, other.details["seeds"], other.details["spread"]) == (0.5, 1, None)
    assert pronouns.value == 0.9
    assert mean_errors([*rows, *over_seeds(rows)]) == {"a": mean.value, "b": 0.5}


def test_error_is_correlated_with_every_measure() -> None:
    e = {"a": 0.1, "b": 0.4, "c": 0.2, "d": 0.9}
    rows = over_seeds([_error(name, value, 0) for name, value in e.items()])
    rows += [Row(name, "direct-bias", 2 * value + 1, {}) for name, value in e.items()]
    rows += [Row(name, "gipe", -value, {"setting": "θ=0.03"}) for name, value in e.items()]
    rows += [Row(name, "midb", None, {}) for name in e]
    rows += [Row(name, "sembias-none", value, {"set": "all"}) for name, value in e.items()]
    rows += [Row(name, "sembias-none", -value, {"set": "last 40"}) for name, value in e.items()]
    rows += [Row(name, "snli-accuracy", 0.7, {"set": "dev"}) for name in e]
    rows += [Row(name, "weat", value, {"set": "weat6"}) for name, value in e.items()]
    rows += [Row(name, "weat", -value, {"set": "weat7"}) for name, value in e.items()]
    found = {row.details["x"]: row for row in correlations_with_error(rows)}
    sembias = {"sembias-none (all)", "sembias-none (last 40)"}
    weat = {"weat (weat6)", "weat (weat7)"}
    assert set(found) == {"direct-bias", "gipe (θ=0.03)", "midb"} | sembias | weat
    assert found["weat (weat6)"].value == pytest.approx(1)
    assert found["weat (weat7)"].value == pytest.approx(-1)
    assert found["sembias-none (all)"].value == pytest.approx(1)
    assert found["sembias-none (last 40)"].value == pytest.approx(-1)
    assert found["direct-bias"].value == pytest.approx(1)
    assert found["gipe (θ=0.03)"].value == pytest.approx(-1)
    assert found["midb"].value is None
    assert "0 embeddings have both" in found["midb"].details["reason"]
    assert {row.measure for row in intrinsic_rows(rows)} == {
        "direct-bias", "gipe", "midb", "sembias-none", "weat",
    }  # fmt: skip


def test_cached_rows_are_not_made_again(tmp_path: Path) -> None:
    made = []

    def make() -> list[Row]:
        made.append(1)
        return [Row("a", "x", 0.1 + 0.2, {"set": "s", "n": 3}), Row("a", "y", None, {})]

    path = tmp_path / "folder" / "rows.json"
    first = cached_rows(path, {"seed": 0}, make)
    again = cached_rows(path, {"seed": 0}, make)
    assert [row.to_dict() for row in again] == [row.to_dict() for row in first]
    assert len(made) == 1
    cached_rows(path, {"seed": 1}, make)
    assert len(made) == 2
    assert json.loads(path.read_text())["about"] == {"seed": 1, "wordbias": __version__}


def test_the_wrong_weightings_are_all_orders_but_the_right_one() -> None:
    sample = Embedding.sample()
    made = with_permuted_weights([sample])
    names = {"".join(order) for order in permutations("1234")} - {"1234"}
    assert {one.name for one in made[1:]} == {f"sample.perm-{name}" for name in names}
    subspace = fit(sample).subspace
    swapped = next(one for one in made if one.name == "sample.perm-2134")
    expected = subspace.with_weights(subspace.weights[[1, 0, 2, 3]])
    x = sample.vectors[:50].astype(float)
    np.testing.assert_allclose(swapped.vectors[:50], expected.remove(x), atol=1e-5)


@pytest.mark.parametrize("center", [False, True])
def test_random_draws_remove_the_fitted_weights_along_other_directions(center: bool) -> None:
    sample, age = Embedding.sample(), Attribute.load("age")
    fitted = fit(sample, age, center=center).subspace
    made = random_draws(sample, 2, age, center=center)
    assert [one.name for one in made] == ["sample.null-0", "sample.null-1"]
    assert made[0].info is None
    removed = [sample.vectors.astype(float) - one.vectors for one in made]
    for rows in removed:
        assert np.linalg.matrix_rank(rows, tol=1e-3) == fitted.dims
    # what is removed of x along g is a <g, x>: the traces of the two maps are the sums of weights
    maps = [np.linalg.lstsq(sample.vectors.astype(float), rows, rcond=None)[0] for rows in removed]
    for one in maps:
        found = np.sort(np.linalg.eigvalsh((one + one.T) / 2))[::-1][: fitted.dims]
        np.testing.assert_allclose(found, np.sort(fitted.weights)[::-1], atol=1e-5)
    assert np.abs(maps[0] - maps[1]).max() > 0.01


@pytest.mark.parametrize("center", [False, True])
def test_redrawn_lists_are_misp_of_lists_with_the_drawn_words(center: bool) -> None:
    """A word that is drawn twice is two words of the same vector."""
    sample, gender = Embedding.sample(), Attribute.load()
    made = redrawn_lists(sample, 2, gender, center=center)
    assert [one.name for one in made] == ["sample.misp-lists-0", "sample.misp-lists-1"]
    assert made[0].info is None
    for one, drawn in zip(made, redraws(gender, 2), strict=True):
        words, vectors, members = list(sample.words), [sample.vectors], []
        for names, places in zip(gender.members, drawn.words, strict=True):
            found = [names[i].lower() for i in places]
            members.append(tuple(f"{name}.{len(words) + i}" for i, name in enumerate(found)))
            vectors.append(sample.take(found))
            words += members[-1]
        lists = replace(gender, members=tuple(members))
        copied = Embedding(words, np.concatenate(vectors), "copied")
        expected = fit(copied, lists, center=center)(sample)
        np.testing.assert_allclose(one.vectors, expected.vectors, atol=1e-5)
        assert np.abs(one.vectors - fit(sample, center=center)(sample).vectors).max() > 0.01


def test_words_that_are_missing_are_not_redrawn() -> None:
    sample, few = Embedding.sample(), Embedding(["she", "he"], np.eye(2), "few")
    gone = {name.lower() for name in Attribute.load().members[0][:30]}
    lacking = sample.subset([word for word in sample.words if word not in gone])
    (one,) = redrawn_lists(lacking, 1)
    assert one.words == lacking.words
    with pytest.raises(WordbiasError, match="few: "):
        redrawn_lists(few, 1)


def test_a_redraw_of_too_few_words_is_named() -> None:
    three = Attribute.load({"a": ["he", "man", "boy"], "b": ["she", "woman", "girl"]})
    with pytest.raises(
        WordbiasError, match=r"^--seed-lists: MISP cannot be fitted to redraw \d .* give more"
    ):
        redrawn_lists(Embedding.sample(), 20, three)


def test_wrong_weightings_are_of_the_groups_given() -> None:
    sample, age = Embedding.sample(), Attribute.load("age")
    swapped = with_permuted_weights([sample], age)[-1]
    expected = fit(sample, age, weights=f"perm:{swapped.name[-4:]}")(sample)
    np.testing.assert_array_equal(swapped.vectors, expected.vectors)


def test_embeddings_must_go_together(tmp_path: Path) -> None:
    none = Pairs([], [], np.zeros(0, np.int64))
    data = {"train": none, "dev": none}
    one, two = (Embedding(["a"], np.ones((1, d)), f"e{d}") for d in (2, 3))
    with pytest.raises(WordbiasError, match="embeddings of one dimension, found e2 2, e3 3"):
        Plan([one, two], data, tmp_path)
    with pytest.raises(WordbiasError, match="the same name"):
        Plan([one, one], data, tmp_path)
    with pytest.raises(WordbiasError, match="the same name"):
        Plan([one, one.renamed("e2.null")], data, tmp_path, null=[one.renamed("e2.null-0")])


def test_rows_of_another_version_are_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, made = tmp_path / "rows.json", []

    def make() -> list[Row]:
        made.append(1)
        return [Row("a", "b", 1.0, {})]

    cached_rows(path, {"seed": 0}, make)
    monkeypatch.setattr("wordbias.nli.study.__version__", "0.0.9")
    cached_rows(path, {"seed": 0}, make)
    cached_rows(path, {"seed": 0}, make)
    assert len(made) == 2
