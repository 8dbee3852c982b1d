"""Texts of files: every format, every choice of columns and rows, every file that is none."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from wordbias import WordbiasError
from wordbias.formats.tables import kind_of
from wordbias.models.texts import DISTINCT, Choice, load_texts

Write = Callable[..., Path]
BIOS = (
    "split\tgender\ttext\n"
    "train\tF\tShe is a nurse.\n"
    "test\tM\tHe is a nurse.\n"
    "\n"
    'test\tF\t"Surgeon", she said\n'
)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def call(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return call


def refused(path: Path, choice: Choice | None = None) -> str:
    with pytest.raises(WordbiasError) as caught:
        load_texts(path, choice)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message.removeprefix(f"{path}: ")


def test_tabbed_text_has_columns_and_no_quotes(write: Write) -> None:
    texts = load_texts(write("bios.tsv", BIOS))
    assert texts.texts == ["She is a nurse.", "He is a nurse.", '"Surgeon", she said']
    assert texts.lines == [2, 3, 5]
    assert texts.spans is None
    assert {name: column.cells() for name, column in texts.columns.items()} == {
        "split": ["train", "test", "test"],
        "gender": ["F", "M", "F"],
    }
    assert (texts.dropped, texts.left_out) == (0, ())


def test_plain_text_is_one_text_a_line_and_an_empty_line_is_one(write: Write) -> None:
    texts = load_texts(write("a.txt", "one\ttab\r\n\n three \nlast"))
    assert texts.texts == ["one\ttab", "", " three ", "last"]
    assert texts.lines == [1, 2, 3, 4]
    assert texts.columns == {}


def test_csv_has_quotes_and_texts_of_several_lines(write: Write) -> None:
    rows = [["text", "n"], ['a "b", c', "1"], ["two\nlines", "2"], ["", "1"]]
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    texts = load_texts(write("a.csv", out.getvalue()))
    assert texts.texts == [text for text, _ in rows[1:]]
    assert texts.lines == [2, 4, 5]
    assert texts.columns["n"].cells() == ["1", "2", "1"]


def test_jsonl_has_objects_whose_lists_are_left_out(write: Write) -> None:
    lines = [
        {"text": "a\nb", "n": 1, "ok": True, "none": None, "list": [1]},
        {"text": "", "n": 2.5, "more": "x"},
    ]
    texts = load_texts(write("a.jsonl", "\n\n".join(map(json.dumps, lines))))
    assert texts.texts == ["a\nb", ""]
    assert {name: column.cells() for name, column in texts.columns.items()} == {
        "n": ["1", "2.5"],
        "ok": ["true", ""],
        "none": ["null", ""],
        "more": ["", "x"],
    }


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\r\n\t\ufeff")),
        min_size=1,
    )
)
def test_every_format_gives_back_its_texts(write: Write, texts: list[str]) -> None:
    first = next((text for text in texts if text.strip()), "")
    assume("\0" not in first[:2])  # plain text that begins so is refused as UTF-16 or zeros
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL).writerows([["text"], *([text] for text in texts)])
    files = {
        "a.txt": "".join(f"{text}\n" for text in texts),
        "a.tsv": "text\tn\n" + "".join(f"{text}\t1\n" for text in texts),
        "a.csv": out.getvalue(),
        "a.jsonl": "".join(json.dumps({"text": text}) + "\n" for text in texts),
    }
    hashes = set()
    for name, content in files.items():
        loaded = load_texts(write(name, content))
        assert loaded.texts == texts
        hashes.add(loaded.sha256())
    assert len(hashes) == 1  # of the texts, whatever the file


def test_parquet_has_columns_of_any_type(tmp_path: Path) -> None:
    """Lists are left out, numbers are texts, and a missing text is refused with its row."""
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {"id": [1, 2, 3], "text": ["a", "b", None], "v": [[1.0]] * 3, "g": ["f", None, "m"]}
    path = tmp_path / "t.parquet"
    parquet.write_table(pyarrow.table(columns), path)
    with pytest.raises(WordbiasError, match=r"t\.parquet: row 3: has null as 'text'"):
        load_texts(path)
    texts = load_texts(path, Choice(skip_bad=True))
    assert (texts.texts, texts.lines, texts.dropped) == (["a", "b"], [1, 2], 1)
    assert {name: column.cells() for name, column in texts.columns.items()} == {
        "id": ["1", "2"], "g": ["f", ""]
    }  # fmt: skip


@pytest.mark.parametrize(("suffix", "pack"), [("gz", gzip), ("bz2", bz2), ("xz", lzma)])
def test_compressed_files_are_read(write: Write, suffix: str, pack: Any) -> None:
    path = write(f"a.b.TSV.{suffix}", pack.compress(BIOS.encode()))
    assert load_texts(path).texts[1] == "He is a nurse."
    path.write_bytes(path.read_bytes()[:-9])
    assert refused(path).startswith("cannot be read: ")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.tsv", "tsv"),
        ("a.CSV.gz", "csv"),
        ("a.ndjson", "jsonl"),
        ("a", "plain"),
        (".gz", "plain"),
    ],
)
def test_the_suffix_says_the_format(name: str, kind: str) -> None:
    assert kind_of(Path("x.csv") / f"a.{name}") == kind


def test_a_byte_order_mark_is_no_text(write: Write) -> None:
    assert load_texts(write("a.tsv", b"\xef\xbb\xbf" + BIOS.encode())).columns["split"].values
    assert load_texts(write("a.txt", b"\xef\xbb\xbfx")).texts == ["x"]


@pytest.mark.parametrize(
    ("header", "column", "expected"),
    [
        ("text\tsentence", None, "a"),
        ("x\tsentence", None, "b"),
        ("x\ty", "y", "b"),
        ("x\ty", "1", "a"),
        ("2\t1", "1", "b"),
    ],
)
def test_the_column_of_the_texts_is_found_or_named(
    write: Write, header: str, column: str | None, expected: str
) -> None:
    texts = load_texts(write("a.tsv", f"{header}\na\tb\n"), Choice(text=column))
    assert texts.texts == [expected]


def test_the_only_column_holds_the_texts(write: Write) -> None:
    assert load_texts(write("a.csv", "bio\na\n")).texts == ["a"]


def test_rows_are_chosen_by_value_and_number(write: Write) -> None:
    path = write("bios.tsv", BIOS)
    assert load_texts(path, Choice(where={"split": ("test",)})).lines == [3, 5]
    assert load_texts(path, Choice(where={"split": ("test", "train")}, limit=2)).lines == [2, 3]
    both = Choice(where={"split": ("test",), "gender": ("F",)})
    assert load_texts(path, both).lines == [5]
    nobody = Choice(where={"split": ("dev", "x"), "gender": ("F",)})
    assert refused(path, nobody) == "holds no text where split is dev or x and gender is F"


def test_rows_behind_the_limit_are_not_read(write: Write) -> None:
    path = write("a.tsv", "text\na\nb\tb\n")
    assert load_texts(path, Choice(limit=1)).texts == ["a"]


def test_a_column_of_many_values_is_stored_where_it_is_named(write: Write) -> None:
    lines = "".join(f"t\t{i}\t{i % DISTINCT}\n" for i in range(DISTINCT + 1))
    path = write("a.tsv", "text\tid\tgroup\n" + lines)
    texts = load_texts(path)
    assert list(texts.columns) == ["group"]
    assert texts.left_out == ("id",)
    with_id = load_texts(path, Choice(keep=("id",)))
    assert list(with_id.columns) == ["id"]
    assert with_id.left_out == ()
    assert load_texts(path, Choice(keep=())).columns == {}


def test_words_and_spans_are_found(write: Write) -> None:
    path = write("a.tsv", "text\tword\ta\tb\nThe Nurse\tnurse\t0\t3\nA man\tman\t2\t5\n")
    assert load_texts(path, Choice(word="word")).spans == [(4, 9), (2, 5)]
    assert load_texts(path, Choice(span=("a", "b"))).spans == [(0, 3), (2, 5)]
    hashes = {
        load_texts(path, choice).sha256()
        for choice in (Choice(), Choice(word="word"), Choice(span=("a", "b")))
    }
    assert len(hashes) == 3


@pytest.mark.parametrize(
    ("row", "choice", "message"),
    [
        ("a man\twoman\t0\t1", Choice(word="word"), "the word 'woman' is not in its text"),
        ("a man\t\t0\t1", Choice(word="word"), "the word '' is not in its text"),
        ("a man\tman\t0\tx", Choice(span=("a", "b")), "expected two whole numbers as a span"),
        ("a man\tman\t0\t6", Choice(span=("a", "b")), "span 0 to 6 is not in its text of 5"),
        ("a man\tman\t2\t2", Choice(span=("a", "b")), "span 2 to 2 is not in its text"),
        ("a man\tman\t-1\t2", Choice(span=("a", "b")), "expected two whole numbers"),
        ("a man\tman\t0", Choice(), "expected 4 columns, found 3"),
    ],
)
def test_rows_that_cannot_be_used_are_refused_or_dropped_and_counted(
    write: Write, row: str, choice: Choice, message: str
) -> None:
    path = write("a.tsv", f"text\tword\ta\tb\nman\tman\t0\t3\n{row}\nA man\tman\t2\t5\n")
    refusal = refused(path, choice)
    assert refusal.startswith(f"line 3: {message}")
    assert refusal.endswith("; mend it, or drop such rows with --skip-bad")
    texts = load_texts(path, Choice(**{**vars(choice), "skip_bad": True}))
    assert texts.texts == ["man", "A man"]
    assert (texts.dropped, texts.problem.startswith(f"line 3: {message}")) == (1, True)


@pytest.mark.parametrize("first", ['{"text": "a man", "word": "man"}\n', ""])
@pytest.mark.parametrize("column", ["text", "word"])
def test_a_null_value_is_no_text(write: Write, first: str, column: str) -> None:
    row = json.dumps({"text": "a man", "word": "man", column: None})
    path = write("a.jsonl", f'{first}{row}\n{{"text": "man", "word": "man"}}\n')
    refusal = refused(path, Choice(word="word"))
    assert refusal.startswith(f"line {1 + bool(first)}: has null as '{column}', which is no text")
    texts = load_texts(path, Choice(word="word", skip_bad=True))
    assert texts.texts == ["a man", "man"][not first :]
    assert texts.dropped == 1


def test_a_file_without_a_good_row_is_refused(write: Write) -> None:
    path = write("a.tsv", "text\na\tb\nc\td\n")
    refusal = refused(path, Choice(skip_bad=True))
    assert refusal == (
        "holds no text; 2 rows cannot be used, the first: line 2: expected 1 columns, found 2"
    )


def test_texts_can_be_dropped_later(write: Write) -> None:
    texts = load_texts(write("bios.tsv", BIOS), Choice(span=None))
    assert texts.without({}, False) is texts
    less = texts.without({1: "is bad"}, True)
    assert (less.texts, less.lines) == ([texts.texts[0], texts.texts[2]], [2, 5])
    assert less.columns["gender"].values == ("F",)
    assert (less.dropped, less.problem) == (1, "line 3: is bad")
    with pytest.raises(WordbiasError, match="line 3: is bad; mend it, or drop"):
        texts.without({1: "is bad"}, False)
    with pytest.raises(WordbiasError, match=r"line 2: all are bad; mend it$"):
        texts.without(dict.fromkeys(range(3), "all are bad"), True)


@pytest.mark.parametrize(
    ("name", "content", "choice", "message"),
    [
        ("a.txt", "", Choice(), "holds no text"),
        ("a.tsv", "text\n", Choice(), "holds no text"),
        ("a.tsv", "a\tb\n1\t2\n", Choice(), "which column holds the texts? Name one of a, b with"),
        ("a.tsv", "a\tb\n1\t2\n", Choice(text="c"), "has no column 'c'; it has a, b"),
        ("a.tsv", "a\tb\n1\t2\n", Choice(text="3"), "has no column '3'; it has a, b"),
        ("a.tsv", "text\n1\n", Choice(keep=("c",)), "has no column 'c'; it has text"),
        ("a.tsv", "text\n1\n", Choice(where={"c": ("1",)}), "has no column 'c'"),
        ("a.tsv", "text\n1\n", Choice(word="c"), "has no column 'c'"),
        ("a.tsv", "text\n1\n", Choice(span=("text", "c")), "has no column 'c'"),
        ("a.tsv", "a\ta\n1\t2\n", Choice(), "line 1: expected a header, a name of its own"),
        ("a.tsv", "a\t\n1\t2\n", Choice(), "line 1: expected a header, a name of its own"),
        ("a.txt", "x\n", Choice(text="a"), "is plain text, which has no columns"),
        ("a.txt", "x\n", Choice(word="a"), "is plain text, which has no columns"),
        ("a.csv", 'text\n"a\n', Choice(), "line 2: is no CSV: "),
        ("a.csv", 'text\n"a"b\n', Choice(), "line 2: is no CSV: "),
        ("a.jsonl", "[1]\n", Choice(), "line 1: expected a JSON object"),
        ("a.jsonl", '{"text": "a"}\n{"text"\n', Choice(), "line 2: expected a JSON object"),
        ("a.jsonl", '{"text": "a"}\n{"n": 1}\n', Choice(), "line 2: has no 'text'"),
        ("a.txt", b"good\nna\xefve\n", Choice(), r"line 2: byte 3 is not UTF-8 (b'\xef')"),
        ("a.csv", b"text\ngood\n\xff\n", Choice(), "line 3: byte 1 is not UTF-8"),
        ("a.txt", b"\xff\xfeh\x00i\x00", Choice(), "line 1: byte 1 is not UTF-8"),
    ],
)
def test_damaged_files_of_texts_are_refused(
    write: Write, name: str, content: str | bytes, choice: Choice, message: str
) -> None:
    assert refused(write(name, content), choice).startswith(message)


def test_missing_files_are_refused(tmp_path: Path) -> None:
    assert refused(tmp_path / "gone.tsv") == "cannot be read: No such file or directory"
    assert refused(tmp_path) == "cannot be read: Is a directory"


def test_real_biographies_are_read(shared_data: Path) -> None:
    bios = load_texts(shared_data / "bios" / "bios_surgeon_nurse.tsv.gz")
    assert len(bios) == 6_387
    assert bios.columns["profession"].values == ("nurse", "surgeon")
    assert bios.columns["gender"].values == ("F", "M")
    assert all(bios.texts)


def test_a_cell_larger_than_csv_allows_says_what_does(write: Write) -> None:
    long = "he " * 50_000
    refusal = refused(write("a.csv", f"text,n\n{long},1\n"))
    assert refusal.startswith("line 2: has a cell of more than 131,072 characters")
    assert load_texts(write("a.tsv", f"text\tn\n{long}\t1\n")).texts == [long]


@pytest.mark.parametrize("row", ['{"text": "a\\ud800"}', '{"text": "a", "\\udfff": 1}'])
def test_half_a_character_is_a_bad_row(write: Write, row: str) -> None:
    good = '{"text": "\\ud83d\\ude00"}'
    path = write("a.jsonl", f"{good}\n{row}\n")
    assert refused(path).startswith("line 2: an escape stands for half a character")
    texts = load_texts(path, Choice(skip_bad=True))
    assert (texts.texts, texts.dropped) == (["\U0001f600"], 1)
