"""Rows written again: only the vectors change, in every format, and a folder is resumed."""

from __future__ import annotations

import errno
import gzip
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from safetensors.numpy import save_file

from wordbias import devices, rewriting
from wordbias.columns import Column
from wordbias.errors import Interrupted, WordbiasError
from wordbias.formats.rows import arrow, open_rows, source
from wordbias.formats.rows.source import Floats
from wordbias.models.representations import (
    Representations,
    load_representations,
    save_representations,
)
from wordbias.rewriting import rewrite_rows

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

RNG = np.random.default_rng(1)
N, DIM = 700, 6
X = RNG.normal(size=(N, DIM)).astype(np.float32)


def twice(x: Floats) -> Floats:
    """Double rows, which is exact in every type."""
    assert x.dtype in (np.float32, np.float64)
    return x * 2


def lists(x: NDArray[Any], kind: Any) -> Any:
    """Return rows as an array of a type of lists."""
    flat = pa.array(x.reshape(-1), kind.value_type)
    if pa.types.is_fixed_size_list(kind):
        return pa.FixedSizeListArray.from_arrays(flat, type=kind)
    large = pa.types.is_large_list(kind)
    offsets = pa.array(np.arange(len(x) + 1, dtype="i8" if large else "i4") * x.shape[1])
    return (pa.LargeListArray if large else pa.ListArray).from_arrays(offsets, flat, type=kind)


def others(n: int) -> dict[str, Any]:
    """Return columns of many types, with missing values."""
    words = pa.array([None if i % 5 == 0 else f"w{i % 7}" for i in range(n)], pa.string())
    times = pa.array([None if i % 3 == 0 else i * 10**6 for i in range(n)], pa.int64())
    return {
        "id": pa.array(range(n), pa.uint32()),
        "label": words.dictionary_encode(),
        "large": words.cast(pa.large_string()),
        "day": times.cast(pa.timestamp("us", tz="Europe/Zurich")),
        "tags": pa.array([["a", None], None, ["b"]] * n, pa.list_(pa.string())).slice(0, n),
        "about": pa.array([{"p": 0.5, "q": None}] * n, pa.struct({"p": "f8", "q": "i4"})),
        "odd": pa.array([b"\x00\xff"] * n),
    }


def schema_of(about: Any) -> str:
    """Return the schema of Parquet itself, with the names within lists."""
    return str(about.schema).partition("\n")[2]


@settings(max_examples=15)
@given(
    st.sampled_from(["list", "large", "fixed"]),
    st.sampled_from([pa.float16(), pa.float32(), pa.float64()]),
    st.integers(20, 250),
    st.integers(1, 200),
    st.sampled_from(["NONE", "snappy", "zstd", "gzip"]),
    st.sampled_from(["item", "element", "value"]),
    st.booleans(),
    st.booleans(),
)
def test_a_parquet_file_differs_in_its_vectors_only(
    tmp_path_factory: pytest.TempPathFactory,
    form: str,
    value: Any,
    group: int,
    n: int,
    compression: str,
    item: str,
    stored: bool,
    statistics: bool,
) -> None:
    """Table, schema with its metadata, row groups, compression and other settings are the same."""
    folder = tmp_path_factory.mktemp("p")
    field = pa.field(item, value)
    kind = {"list": pa.list_(field), "large": pa.large_list(field), "fixed": pa.list_(field, DIM)}
    x = X[:n].astype(value.to_pandas_dtype())
    columns = {**others(n), "vec": lists(x, kind[form]), "last": pa.array([True] * n)}
    table = pa.table(columns).replace_schema_metadata({"huggingface": '{"a": 1}', "pandas": "{}"})
    pq.write_table(
        table, folder / "a.parquet", row_group_size=group, compression=compression,
        store_schema=stored, write_statistics=statistics, use_dictionary=["label", "large"],
        use_compliant_nested_type=item != "item", write_page_index=statistics,
    )  # fmt: skip
    written = rewrite_rows(
        open_rows(folder / "a.parquet"), folder / "b.parquet", twice, fingerprint=""
    )
    assert (written.rows, written.skipped, written.files) == (n, 0, (str(folder / "b.parquet"),))
    before, after = (pq.ParquetFile(folder / name) for name in ("a.parquet", "b.parquet"))
    original, other = before.read(), after.read()
    assert other.schema.equals(original.schema, check_metadata=True)
    assert other.drop_columns(["vec"]).equals(original.drop_columns(["vec"]))
    expected = pq.ParquetFile(folder / "a.parquet").read().column("vec").to_pylist()
    assert other.column("vec").to_pylist() == [[2 * v for v in row] for row in expected]
    about, rewritten = before.metadata, after.metadata
    assert rewritten.metadata == about.metadata
    assert schema_of(rewritten) == schema_of(about)
    assert rewritten.num_row_groups == about.num_row_groups
    for i in range(about.num_row_groups):
        assert rewritten.row_group(i).num_rows == about.row_group(i).num_rows
        for j in range(about.num_columns):
            a, b = about.row_group(i).column(j), rewritten.row_group(i).column(j)
            assert (a.compression, a.is_stats_set, a.has_offset_index) == (
                b.compression, b.is_stats_set, b.has_offset_index
            )  # fmt: skip
            if not a.path_in_schema.startswith("vec"):
                assert a.encodings == b.encodings


def test_a_file_of_another_writer_keeps_its_form(tmp_path: Path) -> None:
    """Ids of fields as of Iceberg, times as of Spark, values split as streams of bytes."""
    ids = {b"PARQUET:field_id": b"7"}
    schema = pa.schema(
        [
            pa.field("when", pa.timestamp("ns"), metadata=ids),
            pa.field("vec", pa.list_(pa.float32()), metadata={b"PARQUET:field_id": b"8"}),
        ]
    )
    whens = pa.array([i * 10**9 for i in range(N)], pa.timestamp("ns"))
    table = pa.table([whens, lists(X, pa.list_(pa.float32()))], schema=schema)
    path = tmp_path / "a.parquet"
    pq.write_table(
        table, path, use_deprecated_int96_timestamps=True, version="1.0", use_dictionary=False,
        column_encoding={"vec.list.element": "BYTE_STREAM_SPLIT"},
        sorting_columns=[pq.SortingColumn(0)],
    )  # fmt: skip
    rewrite_rows(open_rows(path), tmp_path / "b.parquet", twice, fingerprint="")
    before, after = (pq.ParquetFile(tmp_path / name) for name in ("a.parquet", "b.parquet"))
    assert schema_of(after.metadata) == schema_of(before.metadata)
    assert after.metadata.format_version == before.metadata.format_version
    original, other = before.metadata.row_group(0), after.metadata.row_group(0)
    assert original.column(0).physical_type == other.column(0).physical_type == "INT96"
    assert original.column(1).encodings == other.column(1).encodings
    assert "BYTE_STREAM_SPLIT" in other.column(1).encodings
    assert original.sorting_columns == other.sorting_columns
    assert after.schema_arrow.equals(before.schema_arrow, check_metadata=True)
    assert after.read().column("when").equals(before.read().column("when"))


def test_columns_that_count_up_are_written_again(tmp_path: Path) -> None:
    wide = {"a": [1, None] * (N // 2), **{f"e{i}": X[:, i] for i in range(DIM)}, "z": ["q"] * N}
    pq.write_table(pa.table(wide), tmp_path / "a.parquet", row_group_size=256)
    rewrite_rows(open_rows(tmp_path / "a.parquet"), tmp_path / "b.parquet", twice, fingerprint="")
    rewritten, before = pq.read_table(tmp_path / "b.parquet"), pq.read_table(tmp_path / "a.parquet")
    assert rewritten.schema.equals(before.schema, check_metadata=True)
    for i in range(DIM):
        np.testing.assert_array_equal(rewritten.column(f"e{i}").to_numpy(), 2 * X[:, i])
    assert rewritten.select(["a", "z"]).equals(before.select(["a", "z"]))


def test_large_row_groups_are_split_evenly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 700 rows, where 300 are allowed, in steps of 256 rows."""
    monkeypatch.setattr(arrow, "LARGEST", 300 * DIM * 4)
    monkeypatch.setattr(arrow, "BLOCK", 1)
    pq.write_table(pa.table({"v": lists(X, pa.list_(pa.float32()))}), tmp_path / "a.parquet")
    rewrite_rows(open_rows(tmp_path / "a.parquet"), tmp_path / "b.parquet", twice, fingerprint="")
    about = pq.ParquetFile(tmp_path / "b.parquet").metadata
    sizes = [about.row_group(i).num_rows for i in range(about.num_row_groups)]
    assert sizes == [256, 256, 188]
    np.testing.assert_array_equal(open_rows(tmp_path / "b.parquet").vectors(), 2 * X)


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
@pytest.mark.parametrize("suffix", ["arrow", "arrows"])
def test_arrow_files_keep_batches_compression_and_metadata(
    tmp_path: Path, suffix: str, compression: str | None
) -> None:
    table = pa.table({**others(N), "vec": lists(X.astype("f8"), pa.list_(pa.float64(), DIM))})
    table = table.replace_schema_metadata({"a": "b"})
    open_writer = pa.ipc.new_file if suffix == "arrow" else pa.ipc.new_stream
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with open_writer(str(tmp_path / f"a.{suffix}"), table.schema, options=options) as file:
        for i, batch in enumerate(table.to_batches(300)):
            file.write_batch(batch, {"number": str(i)})
    output = tmp_path / f"b.{suffix}"
    rewrite_rows(open_rows(tmp_path / f"a.{suffix}"), output, twice, fingerprint="")
    opened = pa.ipc.open_file if suffix == "arrow" else pa.ipc.open_stream
    rewritten = opened(str(output)).read_all()
    assert rewritten.schema.equals(table.schema, check_metadata=True)
    assert rewritten.drop_columns(["vec"]).equals(table.drop_columns(["vec"]))
    assert [len(chunk) for chunk in rewritten.column("vec").chunks] == [300, 300, 100]
    np.testing.assert_array_equal(open_rows(output).vectors(), 2 * X.astype("f8"))
    numbers = [about["number"] for _, about in arrow._read(opened(str(output)))]
    assert numbers == [b"0", b"1", b"2"]
    kind = "arrow" if suffix == "arrow" else "arrow stream"
    assert arrow._codec(str(output), kind) == compression


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f2", "<f4", ">f4", "<f8"])
def test_arrays_keep_type_order_and_neighbours(tmp_path: Path, dtype: str, order: Any) -> None:
    x = np.array(X, dtype, order=order)
    expected = (x.astype(np.float64) * 2).astype(dtype)
    np.save(tmp_path / "a.npy", x)
    rewrite_rows(open_rows(tmp_path / "a.npy"), tmp_path / "b.npy", twice, fingerprint="")
    np.save(tmp_path / "c.npy", np.array(expected, order=order))
    assert (tmp_path / "b.npy").read_bytes() == (tmp_path / "c.npy").read_bytes()
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "a.npz", first=np.arange(3), x=x, label=np.array(["é"] * N))
        rewrite_rows(open_rows(tmp_path / "a.npz"), tmp_path / "b.npz", twice, fingerprint="")
        with np.load(tmp_path / "b.npz") as archive:
            assert archive.files == ["first", "x", "label"]
            np.testing.assert_array_equal(archive["x"], expected)
            assert archive["x"].dtype == x.dtype
            assert archive["label"].tolist() == ["é"] * N
        assert (tmp_path / "b.npz").stat().st_size < 1.2 * (tmp_path / "a.npz").stat().st_size


def test_other_tensors_and_representations_are_kept(tmp_path: Path) -> None:
    tensors = {"a": np.arange(5), "emb": X, "z": np.ones((2, 2, 2))}
    save_file(tensors, tmp_path / "a.safetensors", {"model": "q"})
    output = tmp_path / "b.safetensors"
    rewrite_rows(open_rows(tmp_path / "a.safetensors"), output, twice, fingerprint="")
    save_file({**tensors, "emb": 2 * X}, tmp_path / "c.safetensors", {"model": "q"})
    assert output.read_bytes() == (tmp_path / "c.safetensors").read_bytes()
    column = Column.of(["f", "m"] * (N // 2))
    save_representations(Representations(X[None], (6,), {"g": column}, {"model": "q"}),
                         tmp_path / "a.st")  # fmt: skip
    rewrite_rows(open_rows(tmp_path / "a.st"), tmp_path / "b.st", twice, fingerprint="")
    loaded = load_representations(tmp_path / "b.st")
    np.testing.assert_array_equal(loaded[6], 2 * X)
    assert (loaded.about, loaded.layers) == ({"model": "q"}, (6,))
    assert loaded.column("g").cells() == column.cells()


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_text_keeps_every_byte_but_the_numbers(tmp_path: Path, mark: bytes, end: str) -> None:
    text = 'id,note,e0,e1,z\n1,"a ""q"", b",0.5,1.25,"x"\n02,"q",-3,1e-3,y\n'.replace("\n", end)
    (tmp_path / "a.csv").write_bytes(mark + text.encode())
    rewrite_rows(open_rows(tmp_path / "a.csv"), tmp_path / "b.csv", twice, fingerprint="")
    expected = text.replace("0.5,1.25", "1.0,2.5").replace("-3,1e-3", "-6.0,0.002")
    assert (tmp_path / "b.csv").read_bytes() == mark + expected.encode()


def test_each_line_of_text_keeps_its_end(tmp_path: Path) -> None:
    """Also within a cell in quotes, and of a last line that has none."""
    text = b'note,e0,e1\r\n"two\r\nlines",1.5,2\n"two\nmore",1,2\r\nc,1,2'
    (tmp_path / "a.csv").write_bytes(text)
    rewrite_rows(open_rows(tmp_path / "a.csv"), tmp_path / "b.csv", twice, fingerprint="")
    expected = text.replace(b"1.5,2", b"3.0,4.0").replace(b"1,2", b"2.0,4.0")
    assert (tmp_path / "b.csv").read_bytes() == expected
    (tmp_path / "a.tsv").write_bytes(b"e0\te1\r\n1\t2\n1\t2")
    rewrite_rows(open_rows(tmp_path / "a.tsv"), tmp_path / "b.tsv", twice, fingerprint="")
    assert (tmp_path / "b.tsv").read_bytes() == b"e0\te1\r\n2.0\t4.0\n2.0\t4.0"


def test_lists_in_text_and_compressed_text(tmp_path: Path) -> None:
    """A cell of two lines is one, and more than nine digits are float64."""
    text = 'v,note\n"[0.1, 0.25]","two\nlines"\n"[0.123456789012, -0.0]",b\n'
    with gzip.open(tmp_path / "a.csv.gz", "wt") as file:
        file.write(text)
    rewrite_rows(open_rows(tmp_path / "a.csv.gz"), tmp_path / "b.csv.gz", twice, fingerprint="")
    with gzip.open(tmp_path / "b.csv.gz", "rt") as file:
        rewritten = file.read()
    assert rewritten == 'v,note\n"[0.2,0.5]","two\nlines"\n"[0.246913578024,-0.0]",b\n'
    (tmp_path / "a.tsv").write_text('v\tnote\n[0.1, 0.25]\ta "q"\n[1, 2]\t\n')
    rewrite_rows(open_rows(tmp_path / "a.tsv"), tmp_path / "b.tsv", twice, fingerprint="")
    assert (tmp_path / "b.tsv").read_text() == 'v\tnote\n[0.2,0.5]\ta "q"\n[2.0,4.0]\t\n'


def test_threads_give_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "BLOCK", 1 << 12)
    monkeypatch.setattr(arrow, "BLOCK", 1 << 12)
    x = RNG.normal(size=(5000, 8)).astype("f4")
    table = pa.table({"v": lists(x, pa.list_(pa.float32())), "i": range(5000)})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=1100)
    np.save(tmp_path / "a.npy", x)
    for suffix in ("parquet", "npy"):
        files = []
        for count in (1, 3):
            devices.set_threads(count)
            files.append(tmp_path / f"{count}.{suffix}")
            rewrite_rows(open_rows(tmp_path / f"a.{suffix}"), files[-1], twice, fingerprint="")
        assert files[0].read_bytes() == files[1].read_bytes()
        np.testing.assert_array_equal(open_rows(files[0]).vectors(), 2 * x)


# Folders


def shards(folder: Path, count: int = 3) -> list[Path]:
    """Write shards of an array."""
    folder.mkdir(exist_ok=True)
    files = [folder / f"{i}.npy" for i in range(count)]
    for i, file in enumerate(files):
        np.save(file, X[i * 100 : (i + 1) * 100])
    return files


@pytest.mark.slow
def test_a_folder_is_written_side_by_side_and_resumed(tmp_path: Path) -> None:
    files = shards(tmp_path / "in")
    rows, output = open_rows(tmp_path / "in"), tmp_path / "out"
    written = rewrite_rows(rows, output, twice, fingerprint="m", jobs=2)
    assert (written.rows, written.skipped) == (300, 0)
    assert written.files == tuple(str(output / file.name) for file in files)
    alone = rewrite_rows(rows, tmp_path / "alone", twice, fingerprint="m")
    for shard, other in zip(written.files, alone.files, strict=True):
        assert Path(shard).read_bytes() == Path(other).read_bytes()
    np.testing.assert_array_equal(open_rows(output).vectors(), 2 * X[:300])
    stamps = [os.stat(file).st_mtime_ns for file in written.files]
    resumed = rewrite_rows(rows, output, twice, fingerprint="m", jobs=2)
    assert (resumed.rows, resumed.skipped) == (0, 3)
    assert [os.stat(file).st_mtime_ns for file in written.files] == stamps
    shards(tmp_path / "in", 5)  # the first three are touched, with the content they had
    (output / "2.npy").unlink()
    for file in files[:2]:
        os.utime(file, ns=(0, json.loads(_line(output, file.name))["input"][2]))
    more = rewrite_rows(open_rows(tmp_path / "in"), output, twice, fingerprint="m")
    assert (more.rows, more.skipped) == (300, 2)
    np.testing.assert_array_equal(open_rows(output).vectors(), 2 * X[:500])


def _line(output: Path, name: str) -> str:
    lines = (output / rewriting._DONE).read_text().splitlines()
    return next(line for line in lines if f'"{name}"' in line)


def test_a_shard_that_changed_is_written_again(tmp_path: Path) -> None:
    files = shards(tmp_path / "in")
    rewrite_rows(open_rows(tmp_path / "in"), tmp_path / "out", twice, fingerprint="m")
    np.save(files[1], X[500:550])
    (tmp_path / "out" / "2.npy").write_bytes(b"")
    written = rewrite_rows(open_rows(tmp_path / "in"), tmp_path / "out", twice, fingerprint="m")
    assert (written.rows, written.skipped) == (150, 1)
    expected = np.concatenate([X[:100], X[500:550], X[200:300]])
    np.testing.assert_array_equal(open_rows(tmp_path / "out").vectors(), 2 * expected)


def test_an_interrupted_folder_goes_on(tmp_path: Path) -> None:
    """What was complete stays, nothing is half-written, and the message says where it stands."""
    shards(tmp_path / "in")
    calls = 0

    def interrupted(x: Floats) -> Floats:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise KeyboardInterrupt
        return x * 2

    rows, output = open_rows(tmp_path / "in"), tmp_path / "out"
    with pytest.raises(Interrupted, match="resumes from out: 1 of 3 shards are there"):
        rewrite_rows(rows, output, interrupted, fingerprint="m")
    assert sorted(path.name for path in output.iterdir()) == [rewriting._DONE, "0.npy"]
    resumed = rewrite_rows(rows, output, twice, fingerprint="m")
    assert (resumed.rows, resumed.skipped) == (200, 1)
    np.testing.assert_array_equal(open_rows(output).vectors(), 2 * X[:300])


def test_a_killed_call_between_a_shard_and_its_record_goes_on(tmp_path: Path) -> None:
    shards(tmp_path / "in")
    output = tmp_path / "out"
    rewrite_rows(open_rows(tmp_path / "in"), output, twice, fingerprint="m")
    record = output / rewriting._DONE
    record.write_text("".join(record.read_text().splitlines(True)[:-1]))
    resumed = rewrite_rows(open_rows(tmp_path / "in"), output, twice, fingerprint="m")
    assert (resumed.rows, resumed.skipped) == (100, 2)


def test_what_a_killed_call_left_unfinished_is_removed(tmp_path: Path) -> None:
    """Where a file has a hidden name while it is written, and where a line was cut off."""
    shards(tmp_path / "in")
    rows, output = open_rows(tmp_path / "in"), tmp_path / "out"
    output.mkdir()
    (output / f".{rewriting._DONE}.123.part").write_bytes(b"{")
    rewrite_rows(rows, output, twice, fingerprint="m")
    expected = {file.name: file.read_bytes() for file in output.glob("*.npy")}
    record = output / rewriting._DONE
    whole = record.read_bytes()
    record.write_bytes(whole[:-9])
    (output / ".2.npy.123.part").write_bytes(b"half")
    resumed = rewrite_rows(rows, output, twice, fingerprint="m")
    assert (resumed.rows, resumed.skipped) == (100, 2)
    assert record.read_bytes().splitlines()[:2] == whole.splitlines()[:2]
    names = sorted(path.name for path in output.iterdir())
    assert names == [rewriting._DONE, *sorted(expected)]
    assert {file.name: file.read_bytes() for file in output.glob("*.npy")} == expected
    assert rewrite_rows(rows, output, twice, fingerprint="m").skipped == 3


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    shards(tmp_path / "in")
    rows, output = open_rows(tmp_path / "in"), tmp_path / "out"
    output.mkdir()
    (output / "0.npy").write_text("mine")
    with pytest.raises(WordbiasError, match=r"out: holds other files .*, such as 0\.npy; name"):
        rewrite_rows(rows, output, twice, fingerprint="m")
    assert (output / "0.npy").read_text() == "mine"
    done = tmp_path / "done"
    rewrite_rows(rows, done, twice, fingerprint="m")
    before = {path.name: path.read_bytes() for path in done.iterdir()}
    with pytest.raises(
        WordbiasError,
        match="another method or array: its method is '",
    ):
        rewrite_rows(rows, done, twice, fingerprint="other")
    assert {path.name: path.read_bytes() for path in done.iterdir()} == before
    (done / "notes.txt").write_text("mine")
    with pytest.raises(WordbiasError, match=r"done: holds other files .*, such as notes\.txt"):
        rewrite_rows(rows, done, twice, fingerprint="m")
    (done / "notes.txt").unlink()
    (done / rewriting._DONE).write_text("[]")
    with pytest.raises(WordbiasError, match=r"holds no results of this version .*; name a new"):
        rewrite_rows(rows, done, twice, fingerprint="m")


# What is refused


def test_outputs_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shards(tmp_path / "in")
    np.save(tmp_path / "a.npy", X)
    single, folder = open_rows(tmp_path / "a.npy"), open_rows(tmp_path / "in")
    for rows, output, message in (
        (single, tmp_path / "a.npy", "is both VECTORS and -o"),
        (folder, tmp_path / "in", "is both VECTORS and -o"),
        (folder, tmp_path / "in" / "out", "is inside of"),
        (folder, tmp_path / "a.npy", "is a file; name a folder"),
        (single, tmp_path / "b.parquet", "rows keep their format, npy"),
        (single, tmp_path / "b.csv", "rows keep their format, npy"),
        (single, tmp_path / "in", "is a folder; name the file to write"),
        (single, tmp_path / "no" / "b.npy", "the folder .* does not exist"),
        (open_rows(X), tmp_path / "b.npy", "what is in memory is returned"),
    ):
        with pytest.raises(WordbiasError, match=message):
            rewrite_rows(rows, output, twice, fingerprint="")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.npy", "in"]


@pytest.mark.parametrize("suffix", ["npy", "npz", "parquet", "arrow", "csv", "safetensors"])
def test_a_full_disk_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    table = pa.table({"v": lists(X, pa.list_(pa.float32()))})
    np.save(tmp_path / "a.npy", X)
    np.savez(tmp_path / "a.npz", x=X)
    save_file({"x": X}, tmp_path / "a.safetensors")
    lines = "\n".join(f"{x[0]},{x[1]}" for x in X.tolist())
    (tmp_path / "a.csv").write_text(f"e0,e1\n{lines}\n")
    pq.write_table(table, tmp_path / "a.parquet")
    with pa.ipc.new_file(str(tmp_path / "a.arrow"), table.schema) as file:
        file.write_table(table)
    old = tmp_path / f"b.{suffix}"
    old.write_bytes(b"old")

    class Full:
        def __init__(self, file: Any) -> None:
            self.file, self.written = file, 0
            self.closed = False

        def write(self, data: Any) -> int:
            self.written += len(memoryview(data).cast("B"))
            if self.written > 1000:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return len(memoryview(data).cast("B"))

        def flush(self) -> None:
            pass

        def seekable(self) -> bool:
            return False

    real = rewriting.replacing

    @rewriting.contextmanager
    def full(path: Any) -> Any:
        with real(path) as file:
            yield Full(file)

    monkeypatch.setattr(rewriting, "replacing", full)
    with pytest.raises(WordbiasError, match=rf"b\.{suffix}: could not be written: No space left"):
        rewrite_rows(open_rows(tmp_path / f"a.{suffix}"), old, twice, fingerprint="")
    assert old.read_bytes() == b"old"
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_a_map_that_breaks_rows_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", X.astype("f2"))
    rows = open_rows(tmp_path / "a.npy")
    with pytest.raises(WordbiasError, match=r"a\.npy: the method maps rows of 6 values to shape"):
        rewrite_rows(rows, tmp_path / "b.npy", lambda x: x[:, 1:], fingerprint="")
    with pytest.raises(
        WordbiasError, match="rows 1 to 700: the method gives values beyond float16"
    ):
        rewrite_rows(rows, tmp_path / "b.npy", lambda x: x * 1e6, fingerprint="")
    assert not (tmp_path / "b.npy").exists()
    bad = X.copy()
    bad[77, 3] = np.nan
    np.save(tmp_path / "a.npy", bad)
    with pytest.raises(WordbiasError, match=r"a\.npy: row 78: value 4 is nan"):
        rewrite_rows(open_rows(tmp_path / "a.npy"), tmp_path / "b.npy", twice, fingerprint="")
    assert not (tmp_path / "b.npy").exists()
