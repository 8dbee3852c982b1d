"""Rows of vectors as people hold them: frames, columns, lists, datasets, splits, folders."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordbias as wb

pytestmark = pytest.mark.usefixtures("short_probes")

N, D = 120, 5
RNG = np.random.default_rng(8)
Y = np.array(["f", "m"])[np.arange(N) % 2]
X = (RNG.normal(size=(N, D)) + 3 * (Y == "f")[:, None]).astype(np.float32)
LEACE = wb.LEACE().fit(X, Y)
MAPPED = LEACE(X)


def objects() -> Any:
    """Return an array of objects with a vector for each row, as pandas holds a column."""
    vectors = np.empty(N, object)
    vectors[:] = list(X)
    return vectors


def frame(**columns: Any) -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"vector": list(X), "gender": Y, **columns})


def column() -> Any:
    return frame()["vector"]


def matrix_frame() -> Any:
    return pytest.importorskip("pandas").DataFrame(X)


def table() -> Any:
    pa = pytest.importorskip("pyarrow")
    return pa.table({"vector": list(X), "gender": Y})


def polars_frame() -> Any:
    polars = pytest.importorskip("polars")
    return polars.DataFrame({"vector": X.tolist(), "gender": Y.tolist()}).cast(
        {"vector": polars.List(polars.Float32)}
    )


def dataset() -> Any:
    datasets = pytest.importorskip("datasets")
    return datasets.Dataset(table())


def vectors_of(made: Any) -> Any:
    """Return the vectors of an array, or of the first column of a table."""
    if isinstance(made, np.ndarray):
        return made
    if getattr(made, "shape", ()) == (N, D):
        return made.to_numpy()
    cells = made["vector"]
    return np.array(cells.to_pylist() if hasattr(cells, "to_pylist") else list(map(list, cells)))


@pytest.fixture(scope="module")
def expected(short_probes: None) -> Any:
    """The rows without their labels, by the map that is fitted to the array."""
    return wb.erase(X, Y).transform(X)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [objects, column, X.tolist, table, frame, polars_frame, dataset])
def test_erase_is_the_same_of_all_that_holds_the_rows(
    rows: Callable[[], Any], expected: Any
) -> None:
    """Whatever holds the rows, held-out rows and their fit are those of the array."""
    assert wb.erase(rows(), Y).transform(X) == pytest.approx(expected, abs=1e-6)


@pytest.mark.slow
def test_an_array_of_objects_may_hold_numbers(expected: Any) -> None:
    assert wb.erase(X.astype(object), Y).transform(X) == pytest.approx(expected, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [dataset, table, frame, polars_frame])
def test_a_column_of_a_table_has_the_labels(rows: Callable[[], Any]) -> None:
    assert "gender (f, m)" in wb.erase(rows(), "gender").report.heading[0]


@pytest.mark.slow
def test_a_named_column_of_labels_gives_its_name_to_the_report() -> None:
    labels = frame()["gender"]
    assert {row.details["concept"] for row in wb.erase(X, labels).report["linear-probe"]} == {
        "gender"
    }
    labels.name = None
    assert "leace of label (f, m)" in wb.erase(X, labels).report.heading[0]


def test_rows_without_a_vector_are_refused() -> None:
    rows = objects()
    rows[6] = X[6, :3]
    with pytest.raises(wb.WordbiasError, match=r"vectors: row 7 is .*expected vectors of one len"):
        wb.erase(rows, Y)
    rows[6] = None
    with pytest.raises(wb.WordbiasError, match=r"vectors: row 7 is None; expected vectors of one"):
        wb.erase(rows, Y)
    with pytest.raises(wb.WordbiasError, match=r"vectors: row 7 is \[1\.0\]; expected vectors of"):
        wb.erase([*X[:6].tolist(), [1.0], *X[7:].tolist()], Y)
    with pytest.raises(wb.WordbiasError, match="vectors: expected numbers, found the text 'x'"):
        wb.erase(np.full((N, 2), "x", object), Y)


@pytest.mark.parametrize(
    "rows", [frame, table, polars_frame, matrix_frame, lambda: {"vector": X, "gender": Y}]
)
def test_apply_returns_the_same_kind_with_the_bytes_of_a_call(rows: Callable[[], Any]) -> None:
    given = rows()
    mapped = wb.apply(LEACE, given)
    assert type(mapped) is type(given)
    vectors = vectors_of(mapped)
    assert vectors.astype(np.float32).tobytes() == MAPPED.tobytes()
    assert list(mapped) == list(given) if isinstance(mapped, dict) else mapped.shape == given.shape
    assert vectors_of(given).astype(np.float32).tobytes() == X.tobytes()


@pytest.mark.parametrize("rows", [objects, column])
def test_apply_returns_an_array_of_vectors_in_a_column(rows: Callable[[], Any]) -> None:
    mapped: Any = wb.apply(LEACE, rows())
    assert mapped.tobytes() == MAPPED.tobytes()


def test_apply_takes_lists_and_still_takes_words() -> None:
    mapped: Any = wb.apply(LEACE, X.tolist())
    assert mapped == pytest.approx(MAPPED, abs=1e-6)
    words = [f"w{i}" for i in range(N)]
    pandas = pytest.importorskip("pandas")
    on_words = wb.apply(LEACE, pandas.DataFrame(X, index=words))
    assert isinstance(on_words, wb.Embedding)
    assert list(on_words.words) == words
    assert isinstance(wb.apply(LEACE, dict(zip(words, X, strict=True))), wb.Embedding)
    assert isinstance(wb.apply(LEACE, (words, X)), wb.Embedding)


@pytest.mark.slow
def test_apply_takes_columns_beside_lists_of_any_length() -> None:
    tokens = [["a"] * (1 + i % 3) for i in range(N)]
    mapped: Any = wb.apply(LEACE, {"tokens": tokens, "vector": X})
    assert mapped["vector"].tobytes() == MAPPED.tobytes()
    assert mapped["tokens"] == tokens
    assert "gender (f, m)" in wb.erase(frame(tokens=tokens), "gender").report.heading[0]
    with pytest.raises(wb.WordbiasError):
        wb.apply(LEACE, {"vector": 1})


def test_datasets_are_mapped_by_their_own_map() -> None:
    for call in (lambda: wb.apply(LEACE, dataset()), lambda: LEACE(dataset())):
        with pytest.raises(wb.WordbiasError, match=r"dataset\.map\(method\.on\(\), batched=True\)"):
            call()
    clean = dataset().map(LEACE.on(), batched=True)
    assert np.array(clean["vector"][:], np.float32).tobytes() == MAPPED.tobytes()
    datasets = pytest.importorskip("datasets")
    splits = datasets.DatasetDict(train=dataset(), test=dataset())
    with pytest.raises(wb.WordbiasError, match="expected one dataset, got several, train, test; c"):
        wb.erase(splits, "gender")


@pytest.mark.parametrize(
    ("batch", "remedy"),
    [
        (polars_frame, r"got polars.*; give its to_arrow\(\)"),
        (X.tolist, r"got builtins\.list; give an array: numpy\.stack"),
        (column, r"Series; give an array: numpy\.stack"),
        (lambda: X[0], r"got \(5,\); give one vector as x\[None\]"),
    ],
)
def test_a_batch_of_another_kind_has_a_remedy(batch: Callable[[], Any], remedy: str) -> None:
    with pytest.raises(wb.WordbiasError, match=remedy):
        LEACE(batch())


@pytest.mark.parametrize("rows", [frame, column, table])
def test_estimators_say_how_tables_are_mapped_and_fitted(rows: Callable[[], Any]) -> None:
    with pytest.raises(wb.WordbiasError, match=r"vectors in its cells; map a table by calling"):
        LEACE.transform(rows())
    with pytest.raises(wb.WordbiasError, match=r"fit with erase\(table, labels\)"):
        wb.LEACE().fit(rows(), Y)


def test_estimators_count_missing_labels() -> None:
    labels = [None, *Y[1:].tolist()]
    with pytest.raises(wb.WordbiasError, match="1 of 120 labels are missing, the first that of ro"):
        wb.LEACE().fit(X, labels)


def test_output_is_for_files(tmp_path: Path) -> None:
    with pytest.raises(wb.WordbiasError, match="map those in memory with what is returned"):
        wb.erase(frame(), "gender", output=tmp_path / "x.parquet")
    assert not list(tmp_path.iterdir())


def probed(*rows: Any, **given: Any) -> list[float | None]:
    return [row.value for row in wb.probe(*rows, seed=1, epochs=2, **given).rows]


@pytest.fixture(scope="module")
def of_array() -> list[float | None]:
    return probed(X, Y)


@pytest.mark.parametrize("rows", [frame, table, polars_frame, dataset])
def test_probe_takes_tables(rows: Callable[[], Any], of_array: list[float | None]) -> None:
    assert probed(rows(), "gender") == pytest.approx(of_array)


def test_probe_takes_columns_and_chooses_among_several(of_array: list[float | None]) -> None:
    assert probed(column(), Y) == pytest.approx(of_array)
    two = frame(title=list(X[::-1].copy()))
    with pytest.raises(wb.WordbiasError, match=r"holds 2 columns of vectors, vector, title"):
        wb.probe(two, "gender", seed=1)
    assert probed(two, "gender", array="vector") == pytest.approx(of_array)


def test_probe_of_a_file_without_some_labels_does_not_name_encode(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    pa = pytest.importorskip("pyarrow")
    labels = pa.array([None, *Y[1:].tolist()])
    path = tmp_path / "x.parquet"
    parquet.write_table(table().set_column(1, "gender", labels), path)
    with pytest.raises(
        wb.WordbiasError, match=r"1 of 120 rows have no gender, the .* 1; leave them"
    ):
        wb.probe(path, "gender")


@pytest.mark.parametrize("cell", ["[ 0.1 -0.2\n 0.3]", "[0.1 ... 0.3]", "[np.float32(0.1), 0.2]"])
def test_arrays_as_numpy_prints_them_are_refused_with_a_remedy(tmp_path: Path, cell: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f'vector,gender\n"{cell}",f\n"{cell}",m\n')
    with pytest.raises(
        wb.WordbiasError, match=r"'vector' holds arrays as numpy prints them.*Parqu"
    ):
        wb.erase(path, "gender")


def test_folders_of_models_are_named_as_such(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(wb.WordbiasError, match=r"is the folder of a model, not of rows.*encode"):
        wb.erase(tmp_path, "gender")
    with pytest.raises(wb.WordbiasError, match="is a model, whose vectors are of texts"):
        wb.probe(tmp_path, "gender")
    with pytest.raises(wb.WordbiasError, match="is the folder of a model, which has no vectors of"):
        wb.misp(tmp_path)
