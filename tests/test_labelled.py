"""`Labelled`: classes, missing labels, splits, balanced draws and moments through every door."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wordbias as wb
from wordbias import WordbiasError
from wordbias.columns import Column
from wordbias.formats.rows import Rows, open_rows
from wordbias.labelled import Labelled
from wordbias.splits import DEV, TEST, TRAIN, Folds, parts_of

N = 300
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 4)).astype(np.float32)
Y = np.where(X[:, 0] > 0, "f", "m")
Z = np.where(np.arange(N) % 4 == 0, "p", "q")


# classes


def test_classes_of_text_are_sorted_and_those_of_numbers_by_size() -> None:
    assert Labelled.of(X[:6], [*"bacbac"]).label.classes == ("a", "b", "c")
    numbers = [10, 9, 10, 9, 100, 100]
    assert Labelled.of(X[:6], numbers).label.classes == ("9", "10", "100")
    assert Labelled.of(X[:6], Column.of(numbers)).label.classes == ("10", "100", "9")
    unsorted = Column(np.array([2, 0, 2, 0], np.int32), ("z", "unused", "a"))
    label = Labelled.of(X[:4], unsorted).label
    assert (label.classes, label.codes.tolist()) == (("a", "z"), [0, 1, 0, 1])


def test_a_row_that_lacks_one_of_several_labels_has_none() -> None:
    gaps = ["", None, float("nan"), *Y[3:]]
    lost = [*Z[:-1], " "]
    labelled = Labelled.of(X).with_labels({"y": Column.of(gaps), "z": Column.of(lost)}, "drop")
    assert np.flatnonzero(~labelled.there).tolist() == [0, 1, 2, N - 1]
    for label in labelled.labels.values():
        assert np.flatnonzero(label.codes < 0).tolist() == [0, 1, 2, N - 1]
    assert labelled.labels["y"].cells(np.arange(3, N - 1)).tolist() == Y[3:-1].tolist()
    assert labelled.split(0.2, 0)[[0, 1, 2, N - 1]].tolist() == [0] * 4
    with pytest.raises(WordbiasError, match="v: 3 of 300 rows have no y, the first is row 1; mend"):
        Labelled.of(X, name="v").with_labels({"y": gaps}, remedy="mend it")
    texts = Labelled(None, N, name="t.tsv", kind="text", lines=range(2, N + 2))
    with pytest.raises(WordbiasError, match="1 of 300 texts have no z, the first is line 301"):
        texts.with_labels({"z": Column.of(lost)})


# columns of options


def test_an_option_names_columns_files_and_values(tmp_path: Path) -> None:
    rows = Labelled(None, N, name="v", columns={"gender": Column.of(Y), "job": Column.of(Z)})
    (tmp_path / "g.txt").write_text("\n".join(Y))

    def names(given: Any) -> dict[str, list[str]]:
        return {name: column.cells() for name, column in rows.several("--labels", given).items()}

    both = {"gender": Y.tolist(), "job": Z.tolist()}
    assert names("gender,job") == names(["gender", "job"]) == both
    assert names({"gender": Y, "job": "job"}) == both
    assert names(str(tmp_path / "g.txt")) == {"g": Y.tolist()}
    assert names(Y) == {"label": Y.tolist()}
    for wrong, message in (
        ("sex", "--labels 'sex': neither a column of v .it has gender, job. nor a file"),
        (Y[:3], "v: 300 rows, but 3 values of --labels; give one for each row"),
        (X, r"--labels: expected .* a value for each row of v, got ndarray of shape \(300, 4\)"),
        (3, "--labels: expected .* got int"),
    ):
        with pytest.raises(WordbiasError, match=message):
            rows.column("--labels", wrong)


def test_parts_are_named_in_many_ways() -> None:
    cells = ["Train", "dev", "test", "", "validation", "held-out", "training"]
    parts = parts_of("--split", Column.of(cells)).tolist()
    assert parts == [TRAIN, DEV, TEST, 0, DEV, TEST, TRAIN]
    with pytest.raises(WordbiasError, match="--split: 'rest' is not train, dev or test"):
        parts_of("--split", Column.of([*cells, "rest"]))


# parts of the rows


def test_the_held_out_part_has_its_share_of_each_class() -> None:
    y = np.where(np.arange(N) % 10 == 0, "rare", Y)
    labelled = Labelled.of(X, y)
    part = labelled.split(0.2, 0)
    for name in np.unique(y):
        inside = part[y == name]
        assert (inside == TEST).sum() == round(0.2 * len(inside))
        assert (inside == 0).sum() == 0
    assert np.array_equal(part, labelled.split(0.2, 0))
    assert not np.array_equal(part, labelled.split(0.2, 1))


def test_combinations_of_labels_have_their_share_each() -> None:
    part = Labelled.of(X, {"y": Y, "z": Z}).split(0.25, 0)
    for a in "fm":
        for b in "pq":
            inside = part[(a == Y) & (b == Z)]
            assert (inside == TEST).sum() == np.round(0.25 * len(inside))


@given(st.integers(0, 99), st.integers(2, 40))
def test_units_are_on_one_side(seed: int, count: int) -> None:
    units = Column.of(f"{i % count}" for i in range(N))
    part = Labelled.of(X, Y).split(0.2, seed, units=units)
    assert all(len({*part[units.codes == code].tolist()}) == 1 for code in range(count))
    assert {*part.tolist()} == {TRAIN, TEST}


# moments


@pytest.mark.parametrize("unit", [False, True])
def test_moments_are_the_same_streamed_in_memory_and_of_shards(
    unit: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, part in enumerate(np.split(X, [7, 8, 150])):
        np.save(tmp_path / f"{number}.npy", part)
    blocks = Rows.blocks
    monkeypatch.setattr(Rows, "blocks", lambda self: blocks(self, rows=11))
    among = np.arange(N) % 5 > 0
    expected = wb.Moments.of(X[among], Y[among], unit=unit)
    for source in (X, open_rows(X), open_rows(tmp_path)):
        labelled = Labelled.of(source, {"y": Y, "z": Z})
        by_y, by_z = labelled.moments(unit=unit, among=among)
        assert (by_y.classes, by_z.n) == (expected.classes, expected.n)
        for attribute in ("counts", "means", "within"):
            values, wanted = getattr(by_y, attribute), getattr(expected, attribute)
            np.testing.assert_allclose(
                values, wanted, rtol=1e-12, atol=1e-12 * np.abs(wanted).max()
            )
        folds = Folds.of(N, 3, None)
        parts = labelled.moments_of_folds(folds, among, unit=unit)
        assert [number for number, _ in parts] == [1, 2, 3]
        whole = sum(first for _, (first, _) in parts)
        assert isinstance(whole, wb.Moments)
        np.testing.assert_allclose(whole.means, expected.means, atol=1e-12)
        assert np.array_equal(folds.numbers > 0, among)


def test_rows_of_files_are_read_for_a_probe_when_they_are_asked_for(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    streamed = Labelled.of(open_rows(tmp_path / "x.npy"), Y)
    np.testing.assert_array_equal(streamed.vectors, X[None])
    assert streamed.scaled(*streamed.spread()).vectors.std() == pytest.approx(1, abs=1e-3)
    with pytest.raises(TypeError, match="texts: has no vectors yet"):
        _ = Labelled(None, N, name="texts").vectors
