"""The one reader of columns: the same cells from every source, and errors with their place."""

from __future__ import annotations

import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordbias.columns import Column, choose_column, open_table, read
from wordbias.errors import WordbiasError
from wordbias.text_files import read_text

CELLS = {"text": ["She left.", 'He "ran", twice.'], "label": ["f", "m"], "n": ["1", "2"]}


def _csv(path: Path) -> Path:
    path.write_text('text,label,n\nShe left.,f,1\n\n"He ""ran"", twice.",m,2\n')
    return path


def _tsv(path: Path) -> Path:
    path.write_text('\ufefftext\tlabel\tn\r\nShe left.\tf\t1\r\nHe "ran", twice.\tm\t2\r\n')
    return path


def _jsonl(path: Path) -> Path:
    rows = [dict(zip(CELLS, row, strict=True)) for row in zip(*CELLS.values(), strict=True)]
    for row in rows:
        row["n"] = int(row["n"])  # type: ignore[assignment]
    path.write_text("\n\n".join(json.dumps({**row, "tokens": ["a"]}) for row in rows))
    return path


def _packed(path: Path) -> Path:
    packed = path.with_name("p.csv.xz")
    packed.write_bytes(lzma.compress(_csv(path).read_bytes()))
    return packed


def _parquet(path: Path) -> Path:
    table = pytest.importorskip("pyarrow").table({**CELLS, "n": [1, 2], "v": [[1.0], [2.0]]})
    pytest.importorskip("pyarrow.parquet").write_table(table, path)
    return path


def _frame(path: Path) -> Any:
    return pytest.importorskip("pandas").DataFrame({**CELLS, "n": [1, 2]}, index=[5, 5])


def _arrow(path: Path) -> Any:
    return pytest.importorskip("pyarrow").table({**CELLS, "n": [1, 2], "v": [[1.0], [2.0]]})


def _dataset(path: Path) -> Any:
    datasets = pytest.importorskip("datasets")
    names = datasets.ClassLabel(names=["m", "f"])
    features = {"text": datasets.Value("string"), "label": names, "n": datasets.Value("int64")}
    table = {**CELLS, "label": [1, 0], "n": [1, 2]}
    return datasets.Dataset.from_dict(table, features=datasets.Features(features))


def _mapping(path: Path) -> Any:
    return {**CELLS, "n": np.array([1, 2])}


SOURCES: dict[str, Callable[[Path], Any]] = {
    "a.csv": _csv, "a.tsv": _tsv, "a.jsonl": _jsonl, "q.csv": _packed, "a.parquet": _parquet,
    "frame": _frame, "arrow": _arrow, "dataset": _dataset, "mapping": _mapping,
}  # fmt: skip


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_gives_the_same_cells(tmp_path: Path, name: str) -> None:
    source = SOURCES[name](tmp_path / name)
    table = read(source, ["n", "text", "label"])
    assert table.cells == {name: CELLS[name] for name in ("n", "text", "label")}
    rows = list(open_table(source).lines)
    assert not {"v", "tokens"} & rows[0].cells.keys()
    lines = [[line.cells[column] for column in CELLS] for line in rows]
    assert lines == [list(row) for row in zip(*CELLS.values(), strict=True)]
    assert table.column("label").values == ("f", "m")


def test_a_text_that_was_read_is_a_source(tmp_path: Path) -> None:
    assert read(read_text(_csv(tmp_path / "a.csv")), ["n"]).cells == {"n": ["1", "2"]}


def test_columns_have_several_names_and_may_be_missing(tmp_path: Path) -> None:
    path = _csv(tmp_path / "a.csv")
    columns = {"class": ("gender", "LABEL"), "number": ("n",), "stem": ("te*",), "group": ("g",)}
    table = read(path, columns, optional=["group"])
    assert table.cells == {"class": ["f", "m"], "number": ["1", "2"], "stem": CELLS["text"]}
    with pytest.raises(WordbiasError, match="line 1: has no columns 'g', 'x' or 'y'; it has text,"):
        read(path, {"a": ("g",), "b": ("x", "y"), "n": ("n",)})
    path.write_text("a,b,a\n1,2,3\n")
    with pytest.raises(WordbiasError, match="expected one column, found 'a' and 'a'; leave one"):
        read(path, ["a"])
    assert read(path, ["b"]).cells == {"b": ["2"]}  # other columns may have any name


def test_a_header_may_be_missing(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    for text in ("first\tsecond\na\tb\n", "a\tb\n", "second\tother\tfirst\nb\tx\ta\n"):
        path.write_text(text)
        table = read(path, ["first", "second"], unnamed=["first", "second"])
        assert table.cells == {"first": ["a"], "second": ["b"]}
        assert table.where(0) == f"{path}: line {2 if 'first' in text else 1}"


def test_bad_rows_are_refused_or_dropped_with_their_place(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('a,b\n1,2\n"3\n3",\n4\n5,null\n6,7\n')
    with pytest.raises(WordbiasError, match=r"a\.csv: line 4: has no 'b'; mend it, or drop such"):
        read(path, ["a", "b"], skip_bad=False)
    with pytest.raises(WordbiasError, match=r"line 4: has no 'b'; mend it$"):
        read(path, ["a", "b"])
    table = read(path, ["a", "b"], skip_bad=True)
    assert table.cells == {"a": ["1", "6"], "b": ["2", "7"]}
    assert (table.dropped, table.problem) == (3, "line 4: has no 'b'")
    assert [where for where, _ in table.rows()] == [f"{path}: line 2", f"{path}: line 7"]
    path.write_text("a,b\n,\n1,\n")
    assert read(path, ["a", "b"], blank=["b"]).cells == {"a": ["1"], "b": [""]}
    missing = {"a": ["x", None], "b": [1.5, float("nan")]}
    with pytest.raises(WordbiasError, match="the table: row 2: has no 'a'"):
        read(missing, ["a", "b"])


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"a": [1], "b": [1, 2]}, "expected columns of one length, found a 1, b 2"),
        ({"a": "x", "b": [1]}, "column 'a': expected a list of values"),
        ({"a": np.ones((2, 1)), "b": [1]}, r"column 'a': expected one .* the shape \(2, 1\)"),
        ({"b": [1]}, "has no column 'a'; it has b"),
        ([1], "expected a file, or a dictionary or frame of columns; got list"),
        ("no such file", "there is no file 'no such file'; a text stands in a list"),
        ("words.txt", "words.txt: expected a file with columns: .csv, .tsv or .jsonl"),
        ("none.csv", "none.csv: cannot be read: No such file"),
    ],
)
def test_what_is_no_table_is_refused(source: Any, message: str) -> None:
    with pytest.raises(WordbiasError, match=message):
        read(source, ["a", "b"] if isinstance(source, dict) else ["a"])


def test_splits_of_a_data_set_are_no_table() -> None:
    split = _dataset(Path())
    with pytest.raises(WordbiasError, match="expected one data set, got train, test; name one"):
        read({"train": split, "test": split}, ["text"])


def test_the_column_of_texts_is_chosen_by_name_number_or_custom() -> None:
    names = ["id", "sentence", "text"]
    assert choose_column("t", names, None) == "text"
    assert choose_column("t", names, "2") == "sentence"
    assert choose_column("t", ["only"], None) == "only"
    with pytest.raises(WordbiasError, match=r"t: has no column '4'; it has id, sentence, text"):
        choose_column("t", names, "4")
    with pytest.raises(WordbiasError, match=r"which column holds the texts.* one of a, b with --t"):
        choose_column("t", ["a", "b"], None)
    with pytest.raises(WordbiasError, match=r"which column holds the texts.* one of only with --t"):
        choose_column("t", ["only"], None, only=False)


def test_a_column_numbers_its_values() -> None:
    column = Column.of(["b", None, 1, "b", float("nan")])
    assert column.values == ("", "1", "b")
    assert column.cells() == ["b", "", "1", "b", ""]


def test_a_file_may_be_read_from_a_pipe_of_bytes_that_are_packed(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv.gz"
    path.write_bytes(gzip.compress(b"a\tb\n1\t2\n")[:-3])
    with pytest.raises(WordbiasError, match=r"a\.tsv\.gz: cannot be read: .*; fetch it again"):
        read(path, ["a"])
