"""`wordbias rewrite`: what is written, what is reported, what is refused."""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

ROWS = [
    ("train", "nurse", "F", "Ann", "Ann says she is a nurse; her husband knows."),
    ("train", "nurse", "F", "Eve", "She helps."),
    ("train", "nurse", "M", "Bob", "He is a nurse."),
    ("train", "surgeon", "M", "Al", "Mr. Al and his wife"),
    ("test", "surgeon", "F", "Di", "She is a surgeon."),
]
HEADER = ("split", "job", "gender", "name", "text")


@pytest.fixture
def bios(tmp_path: Path) -> Path:
    path = tmp_path / "bios.tsv"
    path.write_text("".join("\t".join(row) + "\n" for row in (HEADER, *ROWS)), encoding="utf-8")
    return path


def cells(path: Path, column: str = "text") -> list[str]:
    with path.open(encoding="utf-8", newline="") as file:
        return [row[column] for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]


def rows_of(out: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in out.splitlines()]


def test_scrubbing(cli: Callable, bios: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.tsv"
    done = cli("rewrite", "scrub:names-column=name", bios, "-o", out)
    assert (done.code, done.err) == (0, "")
    assert cells(out)[0] == "_ says _ is a nurse; _ _ knows."
    assert [cells(out, column) for column in HEADER[:4]] == [
        cells(bios, column) for column in HEADER[:4]
    ]
    assert "bios.tsv: 5 rows read" in done.out
    assert "Words that scrub changed most often" in done.out
    assert f"Written: {out}, 5 rows." in done.out.replace("\n", " ")
    assert max(map(len, done.out.splitlines())) <= 100 + len(str(out))


def test_what_changed_is_reported_for_machines(cli: Callable, bios: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.tsv"
    where = ("--where", "split=train", "--where", "job=nurse")
    done = cli("rewrite", "scrub", bios, "-o", out, *where, "--format", "jsonl")
    rows = {row["measure"]: row for row in rows_of(done.out)}
    assert rows["rows-read"]["value"] == rows["rows-written"]["value"] == 5
    assert rows["rows-changed"]["value"] == rows["rows-changed"]["n"] == 3
    assert rows["words-changed"]["words"] == {"she": 2, "her": 1, "husband": 1, "he": 1}
    assert rows["words-changed"]["value"] == 5
    assert cells(out)[3:] == [text for *_, text in ROWS[3:]]
    report = json.loads(cli("rewrite", "scrub", bios, "-o", out, "--format", "json").out)
    assert report["inputs"]["bios.tsv"]["rows"] == 5
    assert report["arguments"]["methods"] == "scrub"


def test_words_and_a_mask_of_ones_own(cli: Callable, bios: Path, tmp_path: Path) -> None:
    words, out = tmp_path / "words.txt", tmp_path / "out.tsv"
    words.write_text("Nurse\n")
    done = cli("rewrite", f"scrub:words='{words}':mask=[X]", bios, "-o", out)
    assert done.code == 0
    assert cells(out)[2] == "[X] is a [X]."


def test_a_class_without_a_group_is_reported(cli: Callable, bios: Path, tmp_path: Path) -> None:
    options = ("-o", tmp_path / "out.tsv")
    done = cli("rewrite", "subsample:labels=name:sensitive=gender", bios, *options)
    assert done.code == 0
    assert "Al has no F, Ann has no M" in done.err
    assert "such a class is left out" in done.err
    assert cells(tmp_path / "out.tsv") == []
    done = cli("rewrite", "oversample:labels=name:sensitive=gender", bios, *options, "-q")
    assert (done.code, done.err) == (0, "")


def test_anonymising_then_swapping(cli: Callable, tmp_path: Path) -> None:
    path, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    lines = [
        '{"text": "Ann met Bob. Ann sold her book.", "who": [[0, 3], [8, 11], [13, 16]],"n": 1.50}',
        '{"text":"\\u00c9ve is here.", "who":[[0,3,"PERSON"],[7,11,"PLACE"]]}',
    ]
    path.write_text("\n".join(lines))
    done = cli("rewrite", "anonymise:spans=who,swap:keep-original", path, "-o", out)
    assert done.code == 0
    assert "refer to the original text" in done.err
    anonymous = [
        lines[0].replace("Ann", "ANON_0").replace("Bob", "ANON_1"),
        lines[1].replace("\\u00c9ve", "ANON_0"),
    ]
    swapped = [anonymous[0].replace("her", "his"), anonymous[1]]
    assert out.read_text().split("\n") == [*anonymous, *swapped]


def test_rows_whose_spans_are_wrong(cli: Callable, tmp_path: Path) -> None:
    path, out = tmp_path / "in.tsv", tmp_path / "out.tsv"
    path.write_text("text\tfrom\tto\nAnn\t0\t3\nBob\t2\t9\n")
    options = ("rewrite", "anonymise:spans='from,to'", path, "-o", out)
    done = cli(*options)
    assert done.code == 1
    assert done.err.startswith(f"wordbias: {path}: line 3: the span 2 to 9 is not in its text")
    assert not out.exists()
    done = cli(*options, "--skip-bad")
    assert (done.code, cells(out)) == (0, ["ANON_0"])
    assert "note: 1 row dropped, the first: line 3" in done.err


_BALANCE = ("subsample:labels=job:sensitive=gender", "IN", "-o", "OUT")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["scrub", "IN", "-o", "OUT.csv"], "would be csv, but"),
        (["scrub", "IN", "-o", "IN"], "is both DATA and the output; name two files"),
        (["scrub", "IN", "-o", "no/where.tsv"], "the folder"),
        (
            ["scrub", "IN", "-o", "OUT", "--where", "nobody=x"],
            "has no column 'nobody'; it has split",
        ),
        (["scrub", "IN", "-o", "OUT", "--text-column", "bio"], "has no column 'bio'"),
        (
            [*_BALANCE, "--where", "split=test"],
            "expected two groups or more among the texts of --where, found only 'F'",
        ),
        (
            ["extra-scrub:sensitive=gender", "IN", "-o", "OUT"],
            "extra scrubbing by 'gender': group 'M' has 2 texts",
        ),
    ],
)
def test_what_is_refused(
    cli: Callable, bios: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    names = {"IN": str(bios), "OUT": str(tmp_path / "out.tsv"), "OUT.csv": str(tmp_path / "o.csv")}
    names["no/where.tsv"] = str(tmp_path / "no" / "where.tsv")
    done = cli("rewrite", *(names.get(argument, argument) for argument in arguments))
    assert done.code == 1
    assert message in done.err
    assert done.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == [bios]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["swop"], "method 'swop': expected one of scrub, extra-scrub,"),
        ([","], "expected the name of a method, at character"),
        (["scrub,scrub"], "one method of a kind is enough; leave one out"),
        (
            ["swap,subsample:labels=job:sensitive=gender"],
            "subsample counts the original rows; put it",
        ),
        (["swap,anonymise:spans=name"], "would move the spans; write anonymise,swap"),
        (["scrub:spans=name"], "found 'spans'; spans is for: anonymise"),
        (["swap:mask=x"], "found 'mask'; mask is for: scrub, extra-scrub"),
        (["anonymise"], "anonymise needs spans=COLUMNS or spacy=MODEL, one of the two"),
        (["anonymise:spans='a,b,c'"], "spans are one column with a list, or two"),
        (
            ["subsample:labels=job"],
            "'subsample:labels=job': needs sensitive=…: Column of the group",
        ),
        (["extra-scrub"], "needs sensitive=…"),
        (["scrub", "--where", "job"], "expected COLUMN=VALUE, found 'job'"),
        (["swap:values=gender=F"], "expected COLUMN=A,B, found 'gender=F'"),
        (["scrub:mask='a\tb'"], "mask: expected one without tabs"),
    ],
)
def test_wrong_usage(
    cli: Callable, bios: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    method, *options = arguments
    done = cli("rewrite", method, bios, "-o", tmp_path / "out.tsv", *options)
    assert done.code == 2
    assert message in " ".join(done.err.split())


def test_nothing_to_do_is_said(cli: Callable, bios: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.tsv"
    done = cli("rewrite", "scrub", bios, "-o", out, "--where", "split=dev")
    assert "scrub: no row was selected" in done.err
    assert out.read_bytes() == bios.read_bytes()


def test_real_biographies(cli: Callable, shared_data: Path, tmp_path: Path) -> None:
    """Subsampling leaves both genders equally often; the rows are rows of the file."""
    path, out = shared_data / "bios" / "bios_surgeon_nurse.tsv.gz", tmp_path / "out.tsv"
    method = "subsample:labels=profession:sensitive=gender"
    assert cli("rewrite", method, path, "-o", out).code == 0
    with gzip.open(path, "rt", encoding="utf-8") as file:
        known = Counter(file)
    lines = Counter(out.read_text("utf-8").splitlines(keepends=True))
    assert not lines - known
    pairs = Counter(zip(cells(out, "profession"), cells(out, "gender"), strict=True))
    assert pairs["nurse", "F"] == pairs["nurse", "M"]
    assert pairs["surgeon", "F"] == pairs["surgeon", "M"]
