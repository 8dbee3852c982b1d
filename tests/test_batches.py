"""A row has the same bytes in whatever batch it comes, and a batch stays of its kind."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import warnings
from collections import UserDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import wordbias as wb
from wordbias.batches import ROWS, BatchMap, map_rows
from wordbias.calls import WordbiasWarning
from wordbias.devices import blas_threads, set_threads
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.methods.fitted import Chain, Fitted
from wordbias.methods.gender_preserving.networks import TanhEncoder
from wordbias.methods.gn_glove import LastCoordinate
from wordbias.methods.leace import Erasure
from wordbias.methods.storage import Origin, save_chain
from wordbias.methods.transform import GradedRotation, Linear, Normalise, Projection, Shift
from wordbias.subspace import Subspace

Rows = NDArray[Any]
WIDE = 35
TYPES = (np.float16, np.float32, np.float64)


@cache
def words() -> Rows:
    """Return real vectors, 100 values each, of which one is zero."""
    x = Embedding.sample().vectors[:700].copy()
    x[300] = 0
    return x


def _basis(k: int) -> Rows:
    """Return directions in which none of these words lies."""
    return np.linalg.qr(Embedding.sample().vectors[-k:].astype(float).T)[0].T


@cache
def steps() -> dict[str, Callable[[Rows], Rows]]:
    """Return every kind of step, with one direction and with many."""
    x = words().astype(float)
    kinds: dict[str, Callable[[Rows], Rows]] = {
        "shift": Shift(x[0]),
        "linear": Linear(x[:100]),
        "normalise": Normalise(),
        "graded rotation": GradedRotation(x[0], x[1]),
        "last coordinate": LastCoordinate(True, 100),
        "tanh encoder": TanhEncoder(x[:9].T, x[0, :9]),
    }
    for k in (1, 2, WIDE):
        kinds[f"soft projection {k}"] = Projection(Subspace(_basis(k), np.full(k, 0.3)))
        kinds[f"projection {k}"] = Projection(Subspace(_basis(k), np.ones(k)), hard=True)
        kinds[f"erasure {k}"] = Erasure(x[:k].T, _basis(k), x.mean(0))
    both = (kinds["projection 1"], Normalise())
    kinds["fitted"] = Fitted("hard", both)  # type: ignore[arg-type]
    kinds["chain"] = Chain((kinds["fitted"], Fitted("misp", (kinds["projection 2"],))))  # type: ignore[arg-type]
    return kinds


@pytest.mark.parametrize("name", steps())
@given(st.data())
@settings(max_examples=8)
def test_a_row_has_the_same_bytes_in_every_batch(name: str, data: st.DataObject) -> None:
    x = words().astype(data.draw(st.sampled_from(TYPES)))
    whole = map_rows(steps()[name], x)
    order = np.random.default_rng(data.draw(st.integers(0, 99))).permutation(len(x))
    ends = sorted(data.draw(st.sets(st.integers(1, len(x) - 1), max_size=5)))
    split = [map_rows(steps()[name], x[part]) for part in np.split(order, ends)]
    assert np.concatenate(split).tobytes() == whole[order].tobytes()
    index = data.draw(st.integers(0, len(x) - 1))
    assert map_rows(steps()[name], x[index : index + 1]).tobytes() == whole[index].tobytes()


@pytest.mark.parametrize("dim", [3, 100, 300, 301, 384, 768])
@pytest.mark.parametrize("k", [1, 2, 8, WIDE])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dimensions_and_directions_of_any_number(dim: int, k: int, dtype: type) -> None:
    """Products have edges that depend on both."""
    k = min(k, dim)
    x = (np.resize(words(), (600, dim)) + np.arange(600)[:, None] / 7).astype(dtype)
    basis = np.linalg.qr(x[:k].astype(float).T)[0].T
    for step in (
        Projection(Subspace(basis, np.full(k, 0.5))),
        Erasure(x[:k].T, basis, x.mean(0)),
    ):
        whole = map_rows(step, x)
        rows = np.random.default_rng(0).permutation(600)
        split = [map_rows(step, x[part]) for part in np.split(rows, [1, 90, 480])]
        assert np.concatenate(split).tobytes() == whole[rows].tobytes()


@pytest.mark.parametrize("name", ["erasure 35", "linear", "fitted"])
def test_threads_of_blas_and_of_python_do_not_matter(name: str) -> None:
    x = words()
    expected = map_rows(steps()[name], x).tobytes()
    set_threads(4)
    with blas_threads(4), ThreadPoolExecutor(4) as pool:
        mapped = [*pool.map(lambda _: map_rows(steps()[name], x).tobytes(), range(12))]
        assert mapped == [expected] * 12
        from threadpoolctl import threadpool_info

        blas = [
            library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
        ]
    assert set(blas) != {1}, "the last call restores the number of threads"


@pytest.mark.parametrize("k", [1, 2, WIDE])
def test_where_directions_lie_in_memory_does_not_matter(k: int) -> None:
    """Each process that unpickles a method puts them elsewhere, at a multiple of 16 bytes."""
    x, basis = words().astype(float), np.ascontiguousarray(_basis(k))
    expected = map_rows(lambda rows: rows - (rows @ basis.T) @ basis, x).tobytes()
    for offset in range(0, 16, 2):
        moved = np.zeros(basis.size + 16)[offset:][: basis.size].reshape(basis.shape)
        moved[:] = basis
        mapped = map_rows(lambda rows, m=moved: rows - (rows @ m.T) @ m, x)
        assert mapped.tobytes() == expected


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_fork_while_rows_are_mapped_can_map_rows() -> None:
    x = words()[:3]
    expected = map_rows(steps()["erasure 1"], x).tobytes()

    def forking(block: Rows) -> Rows:
        child = os.fork()
        if not child:
            same = map_rows(steps()["erasure 1"], x).tobytes() == expected
            os._exit(0 if same else 1)
        assert os.waitpid(child, 0)[1] == 0
        return block

    map_rows(forking, x)


@pytest.mark.parametrize("name", steps())
def test_the_values_are_those_of_the_steps(name: str) -> None:
    """Computed in float64, and rounded once for float32, twice for float16."""
    x = words()
    expected = steps()[name](x.astype(float))
    np.testing.assert_allclose(map_rows(steps()[name], x.astype(float)), expected, atol=1e-12)
    single = map_rows(steps()[name], x)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, rtol=2**-23, atol=1e-12)
    half = x.astype(np.float16)
    from_half = map_rows(steps()[name], half)
    assert from_half.dtype == np.float16
    from_single = map_rows(steps()[name], half.astype(np.float32)).astype(np.float16)
    assert from_half.tobytes() == from_single.tobytes()


@pytest.mark.parametrize("n", [0, 1, ROWS - 1, ROWS, ROWS + 1])
def test_any_number_of_rows_has_that_number(n: int) -> None:
    x = words()[:n]
    mapped = map_rows(steps()["projection 1"], x)
    assert (mapped.shape, mapped.dtype) == ((n, 100), np.float32)
    assert map_rows(steps()["last coordinate"], x).shape == (n, 99)


def test_the_rows_are_not_changed_and_may_lie_anyhow() -> None:
    x = words()
    x.flags.writeable = False
    expected = map_rows(steps()["erasure 2"], x)
    odd = np.asfortranarray(np.repeat(x, 2, axis=0))[::2]
    before = odd.copy()
    assert map_rows(steps()["erasure 2"], odd).tobytes() == expected.tobytes()
    np.testing.assert_array_equal(odd, before)
    same = map_rows(lambda rows: rows, x)
    assert not np.shares_memory(same, x)
    np.testing.assert_array_equal(same, x)
    swapped = map_rows(steps()["erasure 2"], x.astype(">f4"))
    assert swapped.dtype == np.dtype(">f4")
    np.testing.assert_array_equal(swapped, expected)


@pytest.mark.parametrize(
    ("x", "said"),
    [
        (np.zeros(100), r"expected rows of shape \(n, d\), got \(100,\)"),
        (np.zeros((2, 100), np.int8), "expected values of float16, float32, float64, got int8"),
        (np.zeros((2, 100), complex), "got complex128"),
        (np.zeros((2, 99)), r"expected rows of 100 values, got shape \(256, 1, 99\)"),
    ],
)
def test_rows_of_another_shape_or_type_are_refused(x: Rows, said: str) -> None:
    with pytest.raises(WordbiasError, match=said):
        map_rows(Linear(2 * np.eye(100)), x)


# batches of every kind


@cache
def leace() -> Any:
    """Return LEACE of the words that lean to she and to he."""
    embedding = Embedding.sample()
    x = embedding.vectors[:2000]
    return wb.LEACE().fit(x, x @ (embedding["she"] - embedding["he"]) > 0)


def _expected(x: Rows) -> Rows:
    return map_rows(leace().fitted_, x)


def _pyarrow() -> Any:
    pytest.importorskip("pyarrow")
    import pyarrow

    return pyarrow


def _pandas() -> Any:
    return pytest.importorskip("pandas")


@pytest.mark.parametrize("dtype", TYPES)
def test_an_array_becomes_an_array_of_its_type(dtype: type) -> None:
    x = words().astype(dtype)
    before = x.copy()
    mapped = leace()(x)
    assert mapped.dtype == dtype
    assert mapped.tobytes() == _expected(x).tobytes()
    np.testing.assert_array_equal(x, before)
    tolerance = {"atol": 1e-6} if dtype != np.float16 else {"atol": 2e-3, "rtol": 1e-3}
    np.testing.assert_allclose(mapped, leace().transform(x.astype(float)), **tolerance)


def _list_types(pa: Any) -> dict[str, Any]:
    single = pa.float32()
    return {
        "list": pa.list_(single),
        "large list": pa.large_list(single),
        "fixed list": pa.list_(single, 100),
        "named values": pa.list_(pa.field("element", single, nullable=False)),
        "half": pa.list_(pa.float16()),
        "double": pa.list_(pa.float64(), 100),
        "tensor": pa.fixed_shape_tensor(single, [100]),
    }


KINDS = ("list", "large list", "fixed list", "named values", "half", "double", "tensor")


def _column(x: Rows, name: str) -> Any:
    pa = _pyarrow()
    kind = _list_types(pa)[name]
    storage = getattr(kind, "storage_type", kind)
    values = pa.array(x.astype(storage.value_type.to_pandas_dtype()).reshape(-1))
    if pa.types.is_fixed_size_list(storage):
        lists = pa.FixedSizeListArray.from_arrays(values, type=storage)
    else:
        array_type = pa.LargeListArray if pa.types.is_large_list(storage) else pa.ListArray
        lists = array_type.from_arrays(range(0, x.size + 1, x.shape[1]), values, type=storage)
    return lists if storage is kind else pa.ExtensionArray.from_storage(kind, lists)


def _table(x: Rows, name: str = "list") -> Any:
    """Return a table with a column of vectors between others, a score and metadata."""
    pa = _pyarrow()
    column = _column(x, name)
    schema = pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False, metadata={"unit": "row"}),
            pa.field("embedding", column.type, metadata={"model": "glove"}),
            pa.field("token ids", pa.list_(pa.int32())),
            pa.field("score", pa.float32()),
        ],
        metadata={"made by": "a test"},
    )
    n = len(x)
    others = [pa.array(range(n)), pa.array([[i] for i in range(n)], pa.list_(pa.int32()))]
    scores = pa.array(np.arange(n, dtype=np.float32))
    return pa.table([others[0], column, others[1], scores], schema=schema)


def _vectors(table: Any, n: int) -> Rows:
    """Return the bytes of a column of lists as rows."""
    column = table.column("embedding")
    chunks = getattr(column, "chunks", [column])
    flat = [getattr(chunk, "storage", chunk).flatten().to_numpy() for chunk in chunks]
    return np.concatenate(flat).reshape(n, -1)


@pytest.mark.parametrize("name", KINDS)
def test_a_table_keeps_its_schema_and_its_other_columns(name: str) -> None:
    table = _table(words()[:300], name)
    x = _vectors(table, 300)
    before = table.to_pydict()
    for clean in (leace(), leace().on("embedding")):
        cleaned = clean(table)
        assert type(cleaned) is type(table)
        assert cleaned.schema.equals(table.schema, check_metadata=True)
        assert _vectors(cleaned, 300).tobytes() == _expected(x).tobytes()
        for other in ("id", "token ids", "score"):
            assert cleaned.column(other).equals(table.column(other))
    assert table.to_pydict() == before
    cleaned.validate(full=True)


@pytest.mark.parametrize("name", KINDS)
def test_chunks_slices_and_record_batches_make_no_difference(name: str) -> None:
    pa = _pyarrow()
    table = _table(words()[:300], name)
    expected = _vectors(leace()(table), 300)
    sliced = pa.concat_tables([table[:7], table[7:7], table[7:290], table[290:]])
    assert sliced.column("embedding").num_chunks > 1
    assert _vectors(leace()(sliced), 300).tobytes() == expected.tobytes()
    assert _vectors(leace()(table[31:99]), 68).tobytes() == expected[31:99].tobytes()
    (batch,) = table.combine_chunks().to_batches()
    cleaned = leace()(batch[31:99])
    assert isinstance(cleaned, pa.RecordBatch)
    assert cleaned.schema.equals(table.schema, check_metadata=True)
    assert _vectors(cleaned, 68).tobytes() == expected[31:99].tobytes()
    empty = leace()(batch[:0])
    assert empty.num_rows == 0
    assert empty.schema.equals(table.schema, check_metadata=True)
    assert leace()(table[:0]).schema.equals(table.schema, check_metadata=True)


@pytest.mark.parametrize("first", [0, 1])
def test_columns_that_count_up_are_the_vectors(first: int) -> None:
    pa, pandas = _pyarrow(), _pandas()
    x = words()[:40]
    names = [f"dim_{i}" for i in range(first, first + 100)]
    columns = {"id": np.arange(40), **dict(zip(names, x.T, strict=True)), "score": x[:, 0]}
    table = pa.table({name: np.ascontiguousarray(column) for name, column in columns.items()})
    expected = _expected(x)
    for batch in (table, table.to_batches()[0], table.to_pandas(), columns):
        for clean in (leace(), leace().on(names[0])):
            cleaned = clean(batch)
            values = np.stack([np.asarray(cleaned[name]) for name in names], axis=1)
            assert values.tobytes() == expected.tobytes()
            np.testing.assert_array_equal(np.asarray(cleaned["score"]), x[:, 0])
    assert leace()(table).schema.equals(table.schema, check_metadata=True)
    numbered = pandas.DataFrame(x, columns=range(100))
    numbered["text"] = "a"
    cleaned = leace()(numbered)
    assert cleaned.columns.tolist() == numbered.columns.tolist()
    assert (cleaned.dtypes == numbered.dtypes).all()
    assert cleaned[list(range(100))].to_numpy().tobytes() == expected.tobytes()


def _frames(x: Rows) -> dict[str, Any]:
    """Return data frames with the vectors as pandas users have them."""
    pandas = _pandas()
    about: dict[str, Any] = {"text": [f"text {i}" for i in range(len(x))]}
    index = pandas.Index(np.arange(len(x)) // 2, name="person")
    frames = {
        "arrays": pandas.DataFrame({**about, "embedding": list(x)}, index),
        "lists": pandas.DataFrame({**about, "embedding": x.tolist()}, index),
    }
    arrow = _table(x).to_pandas(types_mapper=pandas.ArrowDtype)
    frames["arrow"] = arrow.drop(columns="score")
    return frames


@pytest.mark.parametrize("kind", ["arrays", "lists", "arrow"])
def test_a_data_frame_keeps_its_index_and_the_kind_of_its_vectors(kind: str) -> None:
    pandas = _pandas()
    x = words()[:50]
    frame = _frames(x)[kind]
    before = frame.copy(deep=True)
    for clean in (leace(), leace().on("embedding")):
        cleaned = clean(frame)
        assert cleaned.index.equals(frame.index)
        assert cleaned.index.names == frame.index.names
        assert (cleaned.dtypes == frame.dtypes).all()
        values = cleaned["embedding"].tolist()
        assert {type(vector) for vector in values} == {type(frame["embedding"].iloc[0])}
        if kind == "arrays":
            assert {vector.dtype for vector in values} == {np.dtype(np.float32)}
        # floats of Python are those of float32 before they are rounded
        assert np.array(values, np.float32).tobytes() == _expected(x).tobytes()
        others = [name for name in frame.columns if name != "embedding"]
        pandas.testing.assert_frame_equal(cleaned[others], frame[others])
    pandas.testing.assert_frame_equal(frame, before)
    assert leace()(frame[:0]).equals(frame[:0])


def test_a_mapping_keeps_the_kind_of_its_columns() -> None:
    x = words()[:50]
    objects = np.empty(50, object)
    for i, row in enumerate(x):
        objects[i] = row
    ids = list(range(50))
    for column in (x, list(x), x.tolist(), objects, tuple(x)):
        for kind in (dict, UserDict):
            batch = kind({"id": ids, "embedding": column, "text": ["a"] * 50})
            for clean in (leace(), leace().on("embedding")):
                cleaned = clean(batch)
                assert type(cleaned) is kind
                assert list(cleaned) == list(batch)
                assert cleaned["id"] is ids
                assert batch["embedding"] is column
                new = cleaned["embedding"]
                assert type(new) is (list if isinstance(column, tuple) else type(column))
                assert type(new[0]) is type(column[0])
                assert np.array(list(new), np.float32).tobytes() == _expected(x).tobytes()
    assert leace()({"id": [], "embedding": []}) == {"id": [], "embedding": []}
    assert leace().on("embedding")({"embedding": []}) == {"embedding": []}
    assert leace()({}) == {}


def test_columns_that_are_not_named_are_not_decoded() -> None:
    class Lazy(UserDict):  # type: ignore[type-arg]
        def __getitem__(self, name: str) -> Any:
            assert name != "picture"
            return super().__getitem__(name)

    x = words()[:3]
    cleaned = leace().on("embedding")(Lazy({"picture": 1, "embedding": x}))
    assert cleaned["embedding"].tobytes() == _expected(x).tobytes()


@given(st.data())
@settings(max_examples=15)
def test_every_kind_of_batch_in_any_split_gives_the_same_bytes(data: st.DataObject) -> None:
    x = words()[:300]
    expected = _expected(x)
    order = np.random.default_rng(data.draw(st.integers(0, 99))).permutation(len(x))
    for part in np.split(order, sorted(data.draw(st.sets(st.integers(1, 299), max_size=4)))):
        rows, wanted = x[part], expected[part].tobytes()
        kind = data.draw(st.sampled_from(["array", "table", "frame", "lists", "objects"]))
        if kind == "array":
            assert leace()(rows).tobytes() == wanted
        elif kind == "table":
            name = data.draw(st.sampled_from(["list", "large list", "fixed list", "tensor"]))
            assert _vectors(leace()(_table(rows, name)), len(rows)).tobytes() == wanted
        else:
            batch = {"v": rows.tolist() if kind == "lists" else list(rows)}
            batch = _pandas().DataFrame(batch) if kind == "frame" else batch
            vectors = np.array(list(leace()(batch)["v"]), np.float32)
            assert vectors.tobytes() == wanted


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("form", [None, "arrow", "numpy", "pandas"])
def test_datasets_give_the_same_bytes_in_every_format(
    form: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path)
    x = words()[:250]
    features = datasets.Features(
        {"id": datasets.Value("int64"), "embedding": datasets.List(datasets.Value("float32"))}
    )
    dataset = datasets.Dataset.from_dict({"id": range(250), "embedding": x}, features)
    cleaned = dataset.with_format(form).map(leace(), batched=True, batch_size=99)
    assert cleaned.features == features
    table = cleaned.with_format("arrow")[:]
    assert table.column("id").to_pylist() == list(range(250))
    assert _vectors(table, 250).tobytes() == _expected(x).tobytes()


# what is refused


def _with(**columns: Any) -> dict[str, Any]:
    return {"id": [1, 2], **columns}


X = np.zeros((2, 100), np.float32)
TWO = ("a", "b")


@pytest.mark.parametrize(
    ("batch", "array", "said"),
    [
        (
            X[:, :99],
            None,
            "its vectors have 99 dimensions; leace was fitted on 2000 rows, with 100",
        ),
        (X.astype(np.int8), None, "expected values of float16, float32, float64, got int8"),
        (X[0], None, r"expected rows of shape \(n, d\), got \(100,\)"),
        (
            np.full_like(X, np.nan),
            None,
            "the batch: row 1: value 1 is nan; expected finite numbers",
        ),
        (
            X.tolist(),
            None,
            "the batch: expected an array of shape .* a mapping of columns, got builtins",
        ),
        (_with(a=X, b=X), None, "2 columns of vectors, a, b; choose with array=NAME"),
        (_with(), None, "holds no column of vectors .* its columns: id"),
        (_with(a=X), "b", "no column of vectors is named 'b'; those of vectors are a"),
        (_with(a=X), "id", "no column of vectors is named 'id'"),
        (_with(a=X, text=TWO), "text", "no column of vectors is named 'text'"),
        ({"a": []}, "b", "no column of vectors is named 'b'"),
        (_with(a=[X[0], None]), None, "row 2 has no vector, but None; .* leave the row out"),
        (_with(a=[X[0].tolist(), [None] * 100]), None, r"row 2 has no vector, but \[None"),
        (_with(a=[X[0], X[0, :9]]), None, "row 2 has 9 values, but the first row 100"),
        (_with(a=[X[0], X]), None, "row 2 has no vector, but array"),
        (_with(a=[[0.5] * 99] * 2), None, "its vectors have 99 dimensions"),
        (
            _with(d0=X[:, 0], d1=X[:, 0].astype(float)),
            None,
            "are float32, float64; give them one type",
        ),
    ],
)
def test_other_batches_are_refused_in_one_line(batch: Any, array: str | None, said: str) -> None:
    with pytest.raises(WordbiasError, match=said) as caught:
        leace().on(array)(batch)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([[0.5] * 100, None], r"row 2 has no vector \(null\)"),
        ([[0.5] * 100, [0.5] * 99 + [None]], "row 2: value 100 is missing"),
        ([[0.5] * 100, [0.5] * 99], "row 2 has 99 values, but the first row 100"),
        ([[0.5] * 99] * 2, "its vectors have 99 dimensions"),
        ([[0.5] * 100, [float("inf")] * 100], "row 2: value 1 is inf"),
    ],
)
def test_missing_and_wrong_vectors_of_arrow_are_refused(values: Any, said: str) -> None:
    pa = _pyarrow()
    table = pa.table({"v": pa.array(values, pa.list_(pa.float32()))})
    for batch in (table, table.to_batches()[0], table.to_pandas(types_mapper=_pandas().ArrowDtype)):
        with pytest.raises(WordbiasError, match=said):
            leace()(batch)


def test_half_precision_that_overflows_is_refused() -> None:
    x = np.full((2, 100), 6e4, np.float16)
    double = BatchMap("double", (Linear(2 * np.eye(100)),), 100, "rows")
    with pytest.raises(WordbiasError, match="the method gives values beyond float16"):
        double(x)
    assert (double(x.astype(np.float32)) == 1.2e5 // 32 * 32).all()


def test_two_columns_of_one_name_are_refused() -> None:
    pa = _pyarrow()
    column = pa.array(X.tolist(), pa.list_(pa.float32()))
    table = pa.table([column, column], names=["v", "v"])
    for batch in (table, table.to_batches()[0]):
        with pytest.raises(WordbiasError, match="two columns are named 'v'"):
            leace().on("v")(batch)
    frame = _pandas().DataFrame({"v": list(X), "w": list(X)})
    frame.columns = ["v", "v"]
    with pytest.raises(WordbiasError, match="two columns are named 'v'"):
        leace().on("v")(frame)


def test_methods_of_words_say_what_rows_do_not_name() -> None:
    sample = Embedding.sample()
    with pytest.warns(WordbiasWarning, match="Hard leaves out .* words .* mapped alike"):
        clean = wb.Hard().fit(sample).on()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert clean(words()).shape == words().shape
    replaced = wb.RAN(words=["nurse"], iterations=1).fit(sample)
    for call in (replaced.on, lambda: replaced(words())):
        with pytest.raises(WordbiasError, match="RAN only gives single words new vectors"):
            call()


# saved and sent


def test_a_loaded_method_and_a_chain_of_methods_map_as_those_in_memory(tmp_path: Path) -> None:
    x = words()
    leace().save(tmp_path / "leace.safetensors")
    loaded = wb.load(tmp_path / "leace.safetensors")
    assert loaded(x).tobytes() == leace()(x).tobytes()
    wb.debias(None, "misp,oscar", save_transform=tmp_path / "two.safetensors")
    two = wb.load(tmp_path / "two.safetensors")
    first, other = (method for _, method in two.steps)
    steps = Chain((first.fitted_, other.fitted_))
    assert two(x).tobytes() == map_rows(steps, x).tobytes()
    assert two.on("v")({"v": x})["v"].tobytes() == two(x).tobytes()
    np.testing.assert_allclose(two(x), two.transform(x), atol=1e-5)


@pytest.mark.parametrize("dim", [768, 4096])
def test_a_method_of_rows_is_small(dim: int, tmp_path: Path) -> None:
    """Eight bytes for each value of a direction: 35 of 4,096 values are 1.15 MB."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, dim))
    steps = {
        "leace": Erasure(rows[:1].T, rows[1:2], rows[2]),
        "inlp": Projection(Subspace(np.linalg.qr(rows[:WIDE].T)[0].T, np.ones(WIDE)), hard=True),
    }
    for name, values in (("leace", 3 * dim), ("inlp", WIDE * (dim + 1))):
        chain = Chain((Fitted(name, (steps[name],)),))
        origin = Origin("60 rows", "", 60, dim, (), np.zeros((0, dim)))
        save_chain(tmp_path / "method.safetensors", chain, origin)
        method: Any = wb.load(tmp_path / "method.safetensors")
        sizes = [
            (tmp_path / "method.safetensors").stat().st_size,
            *(len(pickle.dumps(cleaner)) for cleaner in (method, method.on("embedding"))),
        ]
        assert max(sizes) < 8 * values + 4096
        assert max(sizes) < 1e6 or (name, dim) == ("inlp", 4096)
        x = rng.normal(size=(3, dim)).astype(np.float32)
        sent = pickle.loads(pickle.dumps(method.on("embedding")))
        assert sent({"embedding": x})["embedding"].tobytes() == method(x).tobytes()


def test_a_worker_loads_numpy_alone(tmp_path: Path) -> None:
    clean = leace().on("embedding")
    (tmp_path / "clean").write_bytes(pickle.dumps(clean))
    np.save(tmp_path / "x.npy", words())
    code = """
import pickle, sys
clean = pickle.load(open("clean", "rb"))
import numpy
x = numpy.load("x.npy")
open("out", "wb").write(clean(x).tobytes())
print(sorted({"sklearn", "scipy", "torch", "transformers", "pandas", "pyarrow"} & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
    assert (tmp_path / "out").read_bytes() == clean(words()).tobytes()
    assert pickle.dumps(clean) == pickle.dumps(clean), "datasets know a function by its pickle"
    assert repr(clean) == "<BatchMap leace: vectors of the column 'embedding' of 100 values>"
