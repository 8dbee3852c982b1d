"""Records: what is not rewritten is written as it was read, whatever form the file has."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from quick_cases import examples

from wordbias.errors import WordbiasError
from wordbias.outcomes.records import RecordFile
from wordbias.outcomes.rewrite import Tally, TextStage, rewrite
from wordbias.outcomes.scrub import Scrubber

CELLS = st.text(alphabet="ahe ,\"'\u00e9\t.", max_size=12)
SLOW = settings(
    max_examples=examples(60),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
)


def scrubbed(path: Path, out: Path, **options: object) -> TextStage:
    file = RecordFile.open(path, **options)  # type: ignore[arg-type]
    stage = TextStage(Scrubber(), file, Tally("scrub"))
    rewrite(file, str(out), [stage])
    return stage


def kept(path: Path, out: Path) -> int:
    return rewrite(RecordFile.open(path), str(out), [])


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", ["", "\n", "\n\n"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
@pytest.mark.parametrize(
    ("suffix", "lines"),
    [
        (".txt", ["one he", "", "two \t her", "  "]),
        (".tsv", ["id\ttext", '1\the said "no', "", "2\t", '"3"\t  x  ']),
        (".csv", ["id, text ,z", '1,"he, ""so""",', '"2",a b,"x"', "", 'a"b,c d"e,']),
        (
            ".jsonl",
            ['{"text": "he", "b":[1, 2.50 ,{"a":null}]}', "", ' {"x":1,"text" : "\\u00e9"} '],
        ),
    ],
)
def test_a_file_of_which_nothing_changes_is_the_same_file(
    tmp_path: Path, suffix: str, lines: list[str], end: str, last: str, bom: str
) -> None:
    path, out = tmp_path / f"in{suffix}", tmp_path / f"out{suffix}"
    data = (bom + "\n".join(lines) + last).replace("\n", end).encode()
    path.write_bytes(data)
    kept(path, out)
    assert out.read_bytes() == data


@SLOW
@given(rows=st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=6), quoting=st.sampled_from([0, 1]))
def test_csv_as_the_csv_module_reads_it(
    tmp_path: Path, rows: list[tuple[str, str, str]], quoting: int
) -> None:
    """The others' cells are equal, the text is scrubbed; line breaks in cells are no new rows."""
    rows = [(a, b + "\n" + c, c) for a, b, c in rows]
    written = io.StringIO()
    writer = csv.writer(written, quoting=quoting, lineterminator="\n")  # type: ignore[arg-type]
    writer.writerows([("id", "text", "z"), *rows])
    path, out = tmp_path / "in.csv", tmp_path / "out.csv"
    path.write_text(written.getvalue(), encoding="utf-8", newline="")
    scrubbed(path, out)
    with out.open(encoding="utf-8", newline="") as file:
        records = list(csv.reader(file, strict=True))
    assert records == [["id", "text", "z"], *([a, Scrubber()(b)[0], c] for a, b, c in rows)]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)


@SLOW
@given(
    rows=st.lists(st.tuples(VALUES, CELLS, VALUES), min_size=1, max_size=5),
    ascii_only=st.booleans(),
    colon=st.sampled_from([":", ": ", " : "]),
)
def test_jsonl_as_the_json_module_reads_it(
    tmp_path: Path, rows: list[tuple[object, str, object]], ascii_only: bool, colon: str
) -> None:
    objects = [{"a": a, "text": text, "z": z} for a, text, z in rows]
    lines = [json.dumps(o, ensure_ascii=ascii_only, separators=(", ", colon)) for o in objects]
    path, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    scrubbed(path, out, text="text")
    records = [json.loads(line) for line in out.read_text("utf-8").split("\n") if line]
    assert records == [{**o, "text": Scrubber()(str(o["text"]))[0]} for o in objects]
    for before, after in zip(lines, out.read_text("utf-8").split("\n"), strict=False):
        assert before.isascii() == after.isascii()


def test_only_the_text_of_a_changed_row_differs(tmp_path: Path) -> None:
    path, out = tmp_path / "in.csv", tmp_path / "out.csv"
    path.write_bytes(b'"id", text ,"z, 1"\r\n01,"she, or ""he""","q"\r\n"02",she,\r\n')
    stage = scrubbed(path, out, text="text")
    assert out.read_bytes() == b'"id", text ,"z, 1"\r\n01,"_, or ""_""","q"\r\n"02",_,\r\n'
    assert (stage.tally.rows, stage.tally.changed) == (2, 2)
    assert stage.tally.words == {"she": 2, "he": 1}


@pytest.mark.parametrize(
    ("suffix", "pack", "unpack"),
    [
        (".gz", gzip.compress, gzip.decompress),
        (".bz2", bz2.compress, bz2.decompress),
        (".xz", lzma.compress, lzma.decompress),
    ],
)
def test_compressed_files(
    tmp_path: Path,
    suffix: str,
    pack: Callable[[bytes], bytes],
    unpack: Callable[[bytes], bytes],
) -> None:
    path, out = tmp_path / f"in.tsv{suffix}", tmp_path / f"out.tsv{suffix}"
    path.write_bytes(pack(b"text\tg\nshe\tF\n"))
    scrubbed(path, out)
    assert unpack(out.read_bytes()) == b"text\tg\n_\tF\n"


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.tsv", b"text\tg\nhe\n", "line 2: expected 2 columns, found 1; mend it"),
        ("a.csv", b'text,g\na,b\n"he,1\nx,2\n', "line 3: is no CSV: a quotation mark is never"),
        ("a.csv", b'text,g\n"he"x,1\n', "line 2: is no CSV: expected a comma behind"),
        ("a.jsonl", b'{"text": "a"}\n\n{"text": "b"\n', "line 3: expected a JSON object, whole"),
        ("a.jsonl", b'{"text": "a"} {}\n', "line 1: expected a JSON object, whole"),
        ("a.jsonl", b'{"text": "a"}\n[1]\n', "line 2: expected a JSON object"),
        (
            "a.jsonl",
            b'{"text": "a"}\n{"text": null}\n',
            "line 2: expected a text as 'text', found null",
        ),
        ("a.jsonl", b'{"text": "a"}\n{"txt": "b"}\n', "line 2: has no 'text'"),
    ],
)
def test_a_row_that_cannot_be_used_is_named_or_dropped(
    tmp_path: Path, name: str, data: bytes, message: str
) -> None:
    path, out = tmp_path / name, tmp_path / f"out-{name}"
    path.write_bytes(data)
    with pytest.raises(WordbiasError) as caught:
        scrubbed(path, out, text="text")
    assert message in str(caught.value)
    assert str(path) in str(caught.value)
    assert not out.exists()
    stage = scrubbed(path, out, text="text", skip_bad=True)
    assert stage.file.problems.count == 1
    assert stage.file.problems.first.startswith("line ")
    assert stage.tally.rows == data.count(b'"a"') * (b"} {}" not in data) + (b"a,b" in data)


@pytest.mark.parametrize(
    ("name", "data", "options", "message"),
    [
        ("a.tsv", b"", {}, "the file is empty; expected texts"),
        ("a.tsv", b"text\ttext\n", {}, "line 1: expected a header, a name of its own"),
        ("a.csv", b'"a"b,c\n', {}, "line 1: the header is no CSV: expected a comma"),
        ("a.jsonl", b"\n \n", {}, "the file is empty; expected texts"),
        ("a.tsv", b"a\tb\n", {}, "which column holds the texts? Name one of a, b"),
        ("a.tsv", b"a\tb\n", {"text": "c"}, "has no column 'c'; it has a, b"),
        ("a.tsv", b"text\tb\n", {"columns": ["g"]}, "has no column 'g'; it has text, b"),
        ("a.txt", b"x\n", {"columns": ["g"]}, "is plain text, which has no columns"),
        ("a.tsv", b"text\n\xff\n", {}, "line 2: byte 1 is not UTF-8"),
        ("a.jsonl", b"[]\n", {}, "which column holds the texts?"),
        ("a.tsv.gz", gzip.compress(b"text\nhe\n" * 99, mtime=0)[:-9], {}, "damaged or cut off"),
    ],
)
def test_files_that_cannot_be_used(
    tmp_path: Path, name: str, data: bytes, options: dict[str, object], message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(WordbiasError) as caught:
        scrubbed(path, tmp_path / f"out-{name}", **options)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_folders_and_missing_files(tmp_path: Path) -> None:
    with pytest.raises(WordbiasError, match="is a folder; name a file of texts"):
        RecordFile.open(tmp_path)
    with pytest.raises(WordbiasError, match="there is no such file"):
        RecordFile.open(tmp_path / "none.tsv")


def test_columns_are_found_in_every_object(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a"}\n{"text": "he", "g": "M"}\n')
    with pytest.raises(WordbiasError, match="line 1: has no 'g'"):
        list(RecordFile.open(path, columns=["g"]))
    file = RecordFile.open(path, columns=["g"], skip_bad=True)
    assert [record["g"] for record in file] == ["M"]
