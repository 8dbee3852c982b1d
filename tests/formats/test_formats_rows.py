"""Rows of vectors: every format gives the same rows and columns, and what is no rows is refused."""

from __future__ import annotations

import gzip
import os
import pickle
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from quick_cases import examples
from safetensors.numpy import save_file

from wordbias.columns import Column
from wordbias.errors import WordbiasError
from wordbias.formats.rows import Rows, is_rows, open_rows
from wordbias.models.representations import Representations, save_representations
from wordbias.text_files import set_longest_line

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

N, DIM = 700, 5
X = np.random.default_rng(0).normal(size=(N, DIM)).astype(np.float32)
LABELS = ["f", "m", None, "m"] * (N // 4)
Make = Callable[[Path], Path]


def lists(x: NDArray[Any], form: str = "list") -> Any:
    """Return rows as an array of lists."""
    flat = pa.array(x.reshape(-1))
    if form == "fixed":
        return pa.FixedSizeListArray.from_arrays(flat, x.shape[1])
    array_type, ints = (pa.LargeListArray, "i8") if form == "large" else (pa.ListArray, "i4")
    return array_type.from_arrays(pa.array(np.arange(len(x) + 1, dtype=ints) * x.shape[1]), flat)


def table(form: str = "list", x: NDArray[Any] = X) -> Any:
    """Return rows and a column of labels as a table of pyarrow."""
    return pa.table({"label": pa.array(LABELS[: len(x)], pa.string()), "vec": lists(x, form)})


def parquet(path: Path) -> Path:
    pq.write_table(table(), path / "a.parquet", row_group_size=300)
    return path / "a.parquet"


def wide_parquet(path: Path) -> Path:
    columns = {"label": pa.array(LABELS), **{f"e{i}": X[:, i] for i in range(DIM)}}
    pq.write_table(pa.table(columns), path / "wide.parquet")
    return path / "wide.parquet"


def arrow(path: Path) -> Path:
    with pa.ipc.new_file(str(path / "a.arrow"), table().schema) as file:
        file.write_table(table("list"), 256)
    return path / "a.arrow"


def stream(path: Path) -> Path:
    with pa.ipc.new_stream(str(path / "a.arrows"), table("fixed").schema) as file:
        file.write_table(table("fixed"), 256)
    return path / "a.arrows"


def feather(path: Path) -> Path:
    pytest.importorskip("pyarrow.feather").write_feather(table("large"), path / "a.feather")
    return path / "a.feather"


def npz(path: Path) -> Path:
    cells = np.array([label or "" for label in LABELS])
    np.savez_compressed(path / "a.npz", vec=X, label=cells, other=np.arange(3))
    return path / "a.npz"


def representations(path: Path) -> Path:
    column = Column.of(label or "" for label in LABELS)
    save_representations(Representations(X[None], (6,), {"label": column}), path / "a.st")
    return path / "a.st"


def csv(path: Path) -> Path:
    head = ",".join(["label", *(f"{i}" for i in range(DIM))])
    lines = [
        ",".join([label or "", *map(repr, x.tolist())]) for label, x in zip(LABELS, X, strict=True)
    ]
    (path / "a.csv").write_text("\n".join([head, *lines]) + "\n")
    return path / "a.csv"


def tsv(path: Path) -> Path:
    lines = [f"{label or ''}\t{x.tolist()}" for label, x in zip(LABELS, X, strict=True)]
    with gzip.open(path / "a.tsv.gz", "wt") as file:
        file.write("\n".join(["label\tvec", *lines]) + "\n")
    return path / "a.tsv.gz"


FORMATS = (parquet, wide_parquet, arrow, stream, feather, npz, representations, csv, tsv)


def same(rows: Rows) -> None:
    """Check that rows are those of `X` and `LABELS`, in one piece and in several."""
    assert (rows.n, rows.dim, rows.columns) == (N, DIM, ("label",))
    np.testing.assert_allclose(rows.vectors(), X, rtol=1e-7)
    blocks = list(rows.blocks(["label"], rows=99))
    assert all(0 < len(block.vectors) <= 99 for block in blocks)
    assert [block.start for block in blocks] == np.cumsum(
        [0, *(len(block.vectors) for block in blocks[:-1])]
    ).tolist()
    np.testing.assert_allclose(np.concatenate([b.vectors for b in blocks]), X, rtol=1e-7)
    cells = [cell for block in blocks for cell in block.columns["label"]]
    assert [cell or None for cell in cells] == LABELS
    assert rows.cells("label") == [label or "" for label in LABELS]
    places = [N - 1, 0, 301, 300]
    np.testing.assert_allclose(rows.take(places), X[places], rtol=1e-7)


@pytest.mark.parametrize("make", FORMATS, ids=lambda make: make.__name__)
def test_every_format_gives_the_same_rows(tmp_path: Path, make: Make) -> None:
    path = make(tmp_path)
    assert is_rows(path)
    rows = open_rows(path)
    same(rows)
    assert rows.name in ("a", "wide")
    assert rows.path == str(path)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f2", "<f4", ">f4", "<f8"])
def test_arrays_keep_their_type(tmp_path: Path, dtype: str, order: Any) -> None:
    np.save(tmp_path / "a.npy", np.array(X, dtype, order=order))
    np.savez(tmp_path / "a.npz", x=np.array(X, dtype, order=order))
    for name in ("a.npy", "a.npz"):
        rows = open_rows(tmp_path / name)
        (shard,) = rows.shards
        assert (shard.n, shard.dtype, shard.path) == (N, np.dtype(dtype), str(tmp_path / name))
        computed = np.float64 if dtype.endswith("8") else np.float32
        (block,) = rows.blocks()
        assert block.vectors.dtype == computed
        np.testing.assert_array_equal(block.vectors, X.astype(dtype))
        np.testing.assert_array_equal(rows.take([5, 3]), X.astype(dtype)[[5, 3]])


def test_what_is_in_memory(tmp_path: Path) -> None:
    columns = {"label": LABELS, "vec": list(X)}
    reps = Representations(X[None], (0,), {"label": Column.of(x or "" for x in LABELS)})
    for source in (table(), table("fixed"), columns, reps):
        same(open_rows(source))
    pandas = pytest.importorskip("pandas")
    same(open_rows(pandas.DataFrame(columns)))
    wide = pandas.DataFrame(X, columns=[f"x_{i:03}" for i in range(DIM)])
    wide["label"] = LABELS
    same(open_rows(wide))
    rows = open_rows(X)
    assert (rows.n, rows.columns, rows.path, rows.shards[0].kind) == (N, (), "", "memory")
    np.testing.assert_array_equal(rows.take([3]), X[[3]])


def test_shards_in_a_folder_are_one_by_name(tmp_path: Path) -> None:
    """Also one without rows, as engines write; files that begin with . or _ are no shards."""
    for name, part in (("b", table().slice(300)), ("a", table().slice(0, 300))):
        pq.write_table(part, tmp_path / f"{name}.parquet")
    pq.write_table(table().slice(0, 0), tmp_path / "0.parquet")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".crc").touch()
    rows = open_rows(tmp_path)
    same(rows)
    assert [shard.n for shard in rows.shards] == [0, 300, 400]


def test_of_several_columns_of_vectors_one_is_named(tmp_path: Path) -> None:
    both = table().append_column("other", lists(2 * X))
    both = both.append_column("e1", pa.array(X[:, 0])).append_column("e2", pa.array(X[:, 1]))
    pq.write_table(both, tmp_path / "a.parquet")
    with pytest.raises(
        WordbiasError, match=r"holds 3 columns of vectors, vec, other, e1; .*--array"
    ):
        open_rows(tmp_path / "a.parquet")
    rows = open_rows(tmp_path / "a.parquet", array="other")
    np.testing.assert_array_equal(rows.vectors(), 2 * X)
    assert rows.columns == ("label", "vec", "e1", "e2")
    np.testing.assert_array_equal(open_rows(tmp_path / "a.parquet", array="e1").vectors(), X[:, :2])
    with pytest.raises(WordbiasError, match=r"named 'q'; .*its columns: label, vec, other, e1, e2"):
        open_rows(tmp_path / "a.parquet", array="q")
    np.savez(tmp_path / "a.npz", one=X, two=2 * X, words=np.array(["a"]))
    with pytest.raises(WordbiasError, match=r"holds 2 arrays of vectors, one, two; choose"):
        open_rows(tmp_path / "a.npz")
    np.testing.assert_array_equal(open_rows(tmp_path / "a.npz", array="two").vectors(), 2 * X)
    save_file({"one": X, "two": 2 * X}, tmp_path / "a.safetensors")
    np.testing.assert_array_equal(open_rows(tmp_path / "a.safetensors", array="two").take([1]),
                                  2 * X[[1]])  # fmt: skip


def test_a_tensor_type_of_arrow_is_a_list(tmp_path: Path) -> None:
    """As Hugging Face datasets and Ray store vectors."""
    kind = pa.fixed_shape_tensor(pa.float32(), [DIM])
    tensors = pa.ExtensionArray.from_storage(kind, lists(X, "fixed"))
    pq.write_table(pa.table({"label": LABELS, "vec": tensors}), tmp_path / "a.parquet")
    same(open_rows(tmp_path / "a.parquet"))


@pytest.mark.parametrize("name", ["words.txt", "words.tsv", "words.csv"])
def test_words_and_vectors_are_no_rows(tmp_path: Path, name: str) -> None:
    separator = {".txt": " ", ".tsv": "\t", ".csv": ","}[Path(name).suffix]
    lines = [separator.join([f"w{i}", *map(str, x)]) for i, x in enumerate(X[:9].tolist())]
    (tmp_path / name).write_text("\n".join(lines))
    assert not is_rows(tmp_path / name)
    (tmp_path / name).write_text(lines[0].replace("0.", "7."))
    assert not is_rows(tmp_path / name)
    (tmp_path / name).write_text(separator.join(["of", "3", "4", "5"]) + "\n")
    assert not is_rows(tmp_path / name)
    (tmp_path / name).write_text("3 2\n" + lines[0])  # as word2vec begins
    assert not is_rows(tmp_path / name)
    assert not is_rows(tmp_path / "none")


# What is refused


def _rows(values: list[Any]) -> Any:
    return pa.table({"label": ["a"] * len(values), "vec": pa.array(values, pa.list_(pa.float32()))})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[1.0, 2.0], [1.0]], r"row 2 has 1 values, but the first row 2"),
        ([[1.0, 2.0], None], r"row 2 has no vector \(null\)"),
        ([[1.0, 2.0], [1.0, None]], r"row 2: value 2 is missing \(null\)"),
        ([[1.0, 2.0], [1.0, float("nan")]], r"row 2: value 2 is nan; expected finite"),
        ([[1.0, 2.0], [float("-inf"), 1.0]], r"row 2: value 1 is -inf"),
        ([None, [1.0, 2.0]], r"row 1 has no vector \(null\)"),
        ([[], [1.0]], r"row 1 has an empty vector"),
        ([], r"holds no rows"),
    ],
)
@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_rows_that_cannot_be_used(
    tmp_path: Path, form: str, values: list[Any], message: str
) -> None:
    arrow_table = _rows(values)
    path = tmp_path / f"a.{form}"
    if form == "parquet":
        pq.write_table(arrow_table, path)
    else:
        with pa.ipc.new_file(str(path), arrow_table.schema) as file:
            file.write_table(arrow_table)
    with pytest.raises(WordbiasError, match=rf"a\.{form}: {message}"):
        open_rows(path).vectors()


def test_an_open_quotation_mark_does_not_hold_the_whole_file(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('label,e0,e1\n"a,1,2\n' + "b,1,2\n" * 100)
    set_longest_line(200)
    try:
        with pytest.raises(WordbiasError, match=r"a\.csv: line 2: is over 200 bytes long"):
            open_rows(tmp_path / "a.csv")
    finally:
        set_longest_line(None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("label,e0,e1\na,1,2\nb,1\n", r"line 3: expected 3 columns, found 2"),
        ("label,e0,e1\na,1,2\nb,1,x\n", r"line 3: expected a number, found 'x'"),
        ("label,e0,e1\na,1,2\nb,1,\n", r"line 3: expected a number, found ''"),
        ("label,e0,e1\na,1,2\nb,1,nan\n", r"row 2: value 2 is nan"),
        ("label,e0,e1\na,1,2\nb,1,1e999\n", r"row 2: value 2 is inf"),
        ('label,v\na,"[1,2]"\nb,"[1]"\n', r"line 3: has 1 values, but the first row 2"),
        ('label,v\na,"[1,2]"\nb,"[1,[2]]"\n', r"line 3: expected a number"),
        ('label,e0,e1\na,1,2\n"b,1,2\n', r"line 3: the file ends within quotation marks"),
        ('label,e0,e1\na"b"c,1,2\n', r"line 2: is no CSV: a quotation mark within a cell"),
        ("label,e0,e1\n", r"holds no rows"),
        ("label,x,y\na,1,2\n", r"holds no column of vectors .*its columns: label, x, y"),
        ("label,,e1\na,1,2\n", r"line 1: expected a name for each column"),
        ("e0,e1,e0\n1,2,3\n", r"two columns are named 'e0'"),
    ],
)
def test_csv_that_cannot_be_used(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(WordbiasError, match=rf"a\.csv: {message}"):
        open_rows(tmp_path / "a.csv").vectors()


def test_arrays_that_cannot_be_used(tmp_path: Path) -> None:
    objects = np.array([print] * 3, object)
    np.save(tmp_path / "o.npy", objects)
    np.savez(tmp_path / "o.npz", x=X, label=np.array(LABELS, object))
    np.save(tmp_path / "i.npy", np.ones((3, 2), int))
    np.save(tmp_path / "l.npy", np.ones((2, 3, 4)))
    np.save(tmp_path / "e.npy", np.ones((0, 4)))
    np.save(tmp_path / "one.npy", np.ones(4))
    (tmp_path / "pickle.npy").write_bytes(b"\x93NUMPY" + pickle.dumps(objects))
    cut = (tmp_path / "l.npy").read_bytes()[:-8]
    (tmp_path / "cut.npy").write_bytes(cut)
    for name, message in {
        "o.npy": "holds Python objects, which are never loaded",
        "i.npy": "the array holds int64; expected vectors of float16, float32 or float64",
        "l.npy": r".*vectors of 2 layers; expected those of one, as of: wordbias encode --layers",
        "e.npy": "holds no rows",
        "one.npy": r"the array has the shape \(4,\); expected \(vectors, dimensions\)",
        "pickle.npy": "cannot be read as an array",
        "cut.npy": "cannot be read as an array",
        "none.npy": "there is no such file",
    }.items():
        with pytest.raises(WordbiasError, match=rf"{name}: {message}"):
            open_rows(tmp_path / name).vectors()
    rows = open_rows(tmp_path / "o.npz")
    assert rows.columns == ("label",)
    with pytest.raises(WordbiasError, match="holds Python objects, which are never loaded"):
        rows.cells("label")
    with pytest.raises(WordbiasError, match="--array is for files"):
        open_rows(X, array="x")


def test_a_claimed_size_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """An array of 64 TB in a file of a few bytes."""
    header = str({"descr": "<f4", "fortran_order": False, "shape": (1 << 40, 16)}).encode()
    data = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", data)
    with pytest.raises(WordbiasError, match="is said to have the shape"):
        open_rows(tmp_path / "a.npz")


@pytest.mark.parametrize("make", [parquet, arrow, stream, npz], ids=lambda make: make.__name__)
def test_a_damaged_file_is_refused(tmp_path: Path, make: Make) -> None:
    path = make(tmp_path)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(WordbiasError, match=rf"{path.name}: .*(write it again|damaged)"):
        open_rows(path).vectors()


@settings(max_examples=examples(60))
@given(st.data())
def test_any_damage_is_a_clear_error(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Bytes that are cut off or others give rows or one error, and never end the process."""
    folder = tmp_path_factory.mktemp("damaged")
    path = data.draw(st.sampled_from(FORMATS))(folder)
    content = bytearray(path.read_bytes())
    # headers are at the beginning or the end
    place = st.one_of(
        st.integers(0, min(600, len(content) - 1)),
        st.integers(max(0, len(content) - 900), len(content) - 1),
        st.integers(0, len(content) - 1),
    )
    for at, value in data.draw(st.lists(st.tuples(place, st.integers(0, 255)), max_size=5)):
        content[at] = value
    del content[data.draw(st.one_of(st.just(len(content)), place)) :]
    path.write_bytes(content)
    message = path.name
    try:
        rows = open_rows(path)
        rows.vectors()
        for name in rows.columns:
            rows.cells(name)
    except WordbiasError as error:
        message = str(error)
    assert path.name in message
    assert len(message.splitlines()) == 1


def test_shards_of_several_forms_are_refused(tmp_path: Path) -> None:
    def refused(other: Any, message: str) -> None:
        pq.write_table(table(), tmp_path / "a.parquet")
        pq.write_table(other, tmp_path / "b.parquet")
        with pytest.raises(WordbiasError, match=rf"b\.parquet: {message}, unlike a\.parquet"):
            open_rows(tmp_path)

    refused(table(x=X[:, :3]), "has vectors of 3 values, not 5")
    refused(table(x=X.astype(float)), "has vectors of float64, not float32")
    refused(table("fixed"), "has 'vec' as fixed_size_list.*, not list.*")
    refused(table().drop_columns(["label"]), "has no column 'label'")
    refused(table().append_column("z", pa.array(LABELS)), "has a column 'z' more")
    refused(table().select(["vec", "label"]), "has its columns in another order")
    (tmp_path / "b.parquet").unlink()
    np.save(tmp_path / "b.npy", X)
    with pytest.raises(WordbiasError, match=r"b\.npy: is npy, not parquet"):
        open_rows(tmp_path)
    (tmp_path / "b.npy").write_text("a word 0.1 0.2\n")
    with pytest.raises(WordbiasError, match=r"b\.npy: holds no rows of vectors"):
        open_rows(tmp_path)
    (tmp_path / "b.npy").unlink()
    (tmp_path / "c").mkdir()
    with pytest.raises(WordbiasError, match=r"c: is a folder; expected files of vectors"):
        open_rows(tmp_path)
    with pytest.raises(WordbiasError, match="holds no files of vectors"):
        open_rows(tmp_path / "c")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
def test_a_pipe_among_shards_is_refused_rather_than_waited_for(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", X)
    os.mkfifo(tmp_path / "b.npy")
    with pytest.raises(WordbiasError, match=r"b\.npy: is no regular file; move it out of"):
        open_rows(tmp_path)


def test_what_is_asked_and_not_there(tmp_path: Path) -> None:
    rows = open_rows(parquet(tmp_path))
    with pytest.raises(WordbiasError, match="no column 'gender'; it holds label"):
        rows.cells("gender")
    with pytest.raises(WordbiasError, match="no column 'gender'; it holds label"):
        next(rows.blocks(["gender"]))
    with pytest.raises(WordbiasError, match=r"holds 700 rows, not 701"):
        rows.take([700])
    pq.write_table(pa.table({"label": LABELS}), tmp_path / "b.parquet")
    with pytest.raises(WordbiasError, match=r"b\.parquet: holds no column of vectors .*: label"):
        open_rows(tmp_path / "b.parquet")
    with pytest.raises(WordbiasError, match="expected vectors of one length, and none missing"):
        open_rows({"vec": [[1.0, 2.0], [1.0]]})


def test_without_pyarrow_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, other = parquet(tmp_path), csv(tmp_path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(WordbiasError, match=r"pip install \"wordbias\[parquet\]\""):
        open_rows(path)
    same(open_rows(other))


def test_tensors_of_torch(tmp_path: Path) -> None:
    """Labels as torch counts them are a column; bfloat16, which numpy lacks, is named."""
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file as save_torch

    tensors = {"vec": torch.from_numpy(X), "label": torch.arange(N)}
    save_torch(tensors, tmp_path / "a.safetensors")
    rows = open_rows(tmp_path / "a.safetensors")
    assert rows.columns == ("label",)
    assert rows.cells("label") == [str(i) for i in range(N)]
    save_torch({"vec": torch.from_numpy(X).bfloat16()}, tmp_path / "b.safetensors")
    with pytest.raises(WordbiasError, match=r"numpy lacks the type of vec: write them as float32"):
        open_rows(tmp_path / "b.safetensors")
