"""`wordbias.rewrite`: texts in memory become what the texts of a file become."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import wordbias as wb
from wordbias.errors import UsageError, WordbiasError
from wordbias.functions.rewrite import rewrite

Run = Callable[..., Any]
ROWS = [
    ("train", "nurse", "F", "Ann", "Ann says she is a nurse; her husband knows."),
    ("train", "nurse", "F", "Eve", "She helps."),
    ("train", "nurse", "M", "Bob", "He is a nurse."),
    ("train", "surgeon", "M", "Al", "Mr. Al and his wife"),
    ("test", "surgeon", "F", "Di", "She is a\u2028 surgeon."),
]
HEADER = ("split", "job", "gender", "name", "text")
TEXTS = [text for *_, text in ROWS]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "bios.tsv"
    path.write_text("".join("\t".join(row) + "\n" for row in (HEADER, *ROWS)), encoding="utf-8")
    return path


def rows(report: Any, subject: str = "texts") -> list[dict[str, Any]]:
    return [{**json.loads(json.dumps(row.to_dict())), "subject": subject} for row in report]


def test_a_list(cli: Run, file: Path, tmp_path: Path) -> None:
    plain = tmp_path / "bios.txt"
    plain.write_text("".join(f"{text}\n" for text in TEXTS), encoding="utf-8")
    done = cli("rewrite", "swap,scrub", plain, "-o", tmp_path / "out.txt", "--format", "json")
    rewritten = rewrite(["swap", "scrub"], TEXTS)
    assert rewritten.texts == (tmp_path / "out.txt").read_text("utf-8").split("\n")[:-1]
    assert rows(rewritten.report, "bios.txt") == json.loads(done.out)["rows"]
    assert (rewritten.report.command, rewritten.path, len(rewritten)) == ("rewrite", None, 5)
    assert rewritten.report.inputs == {"texts": {"path": "memory", "rows": 5, "text": "text"}}
    assert rewritten.report.closing == []
    assert rewrite("scrub", ["", "she"]).texts == ["", "_"]
    assert rewrite("scrub", []).texts == []
    assert rewrite("scrub:mask=", ["she left"]).texts == [" left"]
    assert TEXTS[0].startswith("Ann says she")
    with pytest.raises(WordbiasError, match=r"nothing was written; give output="):
        Path(rewritten)
    frame = pytest.importorskip("pandas").DataFrame({"text": rewritten.texts})
    assert rewritten.frame.equals(frame)


def test_a_file_without_an_output_and_with_one(file: Path, tmp_path: Path) -> None:
    packed = tmp_path / "bios.tsv.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    unwritten = rewrite("scrub", packed, where={"split": "train"})
    assert "Nothing written; output=FILE writes the result." in str(unwritten.report)
    written = rewrite("scrub", packed, where={"split": ["train"]}, output=tmp_path / "out.tsv.gz")
    assert written.path == str(tmp_path / "out.tsv.gz")
    assert Path(written).is_file()
    assert written.texts == unwritten.texts
    assert unwritten.texts[0] == "Ann says _ is a nurse; _ _ knows."
    assert unwritten.texts[4] == TEXTS[4]
    assert rows(unwritten.report) == rows(written.report)
    pytest.importorskip("pandas")
    assert written.frame.equals(unwritten.frame)
    assert list(unwritten.frame["gender"]) == list("FFMMF")


def test_a_series(file: Path) -> None:
    pandas = pytest.importorskip("pandas")
    series = pandas.Series(TEXTS, index=list("abcde"), name="bio")
    rewritten = rewrite("scrub:first-names", series)
    assert list(rewritten.texts) == rewrite("scrub:first-names", TEXTS).texts
    assert list(rewritten.texts.index) == list("abcde")
    assert rewritten.texts.name == "bio"
    assert list(series) == TEXTS
    assert list(rewritten.frame["text"]) == list(rewritten.texts)


OPTIONS: list[tuple[str, dict[str, Any], list[str]]] = [
    ("scrub:names-column=name", {}, []),
    (
        "swap:keep-original:values='gender=F,M'",
        {"where": {"job": "nurse"}},
        ["--where", "job=nurse"],
    ),
    (
        "oversample:labels=job:sensitive=gender,swap",
        {"shuffle": True, "seed": 3},
        ["--shuffle", "--seed", "3"],
    ),
    ("subsample:labels=name:sensitive=gender", {}, []),
]


@pytest.mark.parametrize(("methods", "given", "typed"), OPTIONS)
def test_a_frame(
    cli: Run, file: Path, tmp_path: Path, methods: str, given: dict[str, Any], typed: list[str]
) -> None:
    pandas = pytest.importorskip("pandas")
    data = pandas.read_csv(file, sep="\t", quoting=3)
    before = data.copy()
    out = tmp_path / "out.tsv"
    done = cli("rewrite", methods, file, "-o", out, *typed, "--format", "json")
    rewritten = rewrite(methods, data, **given)
    expected = pandas.read_csv(out, sep="\t", quoting=3)
    assert rewritten.frame.reset_index(drop=True).equals(expected.astype(data.dtypes))
    assert rows(rewritten.report, "bios.tsv") == json.loads(done.out)["rows"]
    assert list(rewritten.texts) == list(expected["text"])
    assert data.equals(before)


def test_columns_of_a_frame_keep_their_types() -> None:
    pandas = pytest.importorskip("pandas")
    data = pandas.DataFrame({"text": ["she", "x"], "g": [0, 1], "n": [1.5, 2.5]})
    frame = rewrite(wb.Swap(values={"g": {"0": "1"}}), data).frame
    assert frame.to_dict("list") == {"text": ["he", "x"], "g": [1, 0], "n": [1.5, 2.5]}
    assert frame.dtypes["g"] == data.dtypes["g"]


def test_spans_in_a_frame_and_a_loaded_pipeline() -> None:
    pandas = pytest.importorskip("pandas")
    spans = [[[0, 3], [8, 11]], None]
    data = pandas.DataFrame({"text": ["Ann met Bob.", "Nobody."], "who": spans})
    rewritten = rewrite("anonymise:spans=who", data)
    assert list(rewritten.texts) == ["ANON_0 met ANON_1.", "Nobody."]
    assert rewritten.frame["who"].tolist() == spans

    def pipeline(text: str) -> SimpleNamespace:
        entities = [SimpleNamespace(start_char=0, end_char=3, label_="PERSON")]
        return SimpleNamespace(ents=entities if text.startswith("Ann") else [])

    assert rewrite(wb.Anonymise(spacy=pipeline), ["Ann met Bob.", "No."]).texts[0] == (
        "ANON_0 met Bob."
    )


def test_extra_scrubbing_in_memory(cli: Run, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    genders = ["F", "M"] * 40
    words = ["she sews" if gender == "F" else "he saws" for gender in genders]
    texts = [f"{word} at {i % 7}" for i, word in enumerate(words)]
    data = pandas.DataFrame({"text": texts, "gender": genders})
    data.to_csv(tmp_path / "in.csv", index=False)
    few = wb.ExtraScrub(sensitive="gender", rounds=1, words_per_round=1, splits=2)
    typed = "scrub,extra-scrub:sensitive=gender:rounds=1:words-per-round=1:splits=2"
    out = tmp_path / "out.csv"
    done = cli("rewrite", typed, tmp_path / "in.csv", "-o", out)
    assert done.code == 0
    scrubbed = rewrite(["scrub", few], data)
    assert scrubbed.frame.equals(pandas.read_csv(out).astype(data.dtypes))
    ended = rewrite(["scrub", replace(few, until=1.0)], data)
    assert ended.frame.equals(rewrite("scrub", data).frame)
    assert not ended.frame.equals(scrubbed.frame)


def test_rows_that_are_no_text() -> None:
    with pytest.raises(WordbiasError, match=r"^texts: row 2: expected a text as 'text', found 3;"):
        rewrite("scrub", ["she", 3])  # type: ignore[list-item]
    with wb.config(skip_bad=True):
        rewritten = rewrite("scrub", ["she", None, "he"])  # type: ignore[list-item]
    assert rewritten.texts == ["_", "_"]
    assert rewritten.report.notes == [
        "1 row dropped, the first: row 2: expected a text as 'text', found None"
    ]


def test_it_names_what_is_wrong_as_python_does(file: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"found 'spans'; spans is for: anonymise$"):
        rewrite("scrub:spans=a", TEXTS)
    with pytest.raises(UsageError, match=r"^groups= is for scrub and swap$"):
        rewrite("anonymise:spans=a", TEXTS, groups="age")
    with pytest.raises(UsageError, match=r"needs spans=COLUMNS or spacy=MODEL, one"):
        rewrite("anonymise", TEXTS)
    with pytest.raises(UsageError, match=r"^output= is for files"):
        rewrite("scrub", TEXTS, output=tmp_path / "out.txt")
    with pytest.raises(WordbiasError, match=r"^texts: have no column 'job'; give a frame"):
        rewrite("subsample:labels=job:sensitive=gender", TEXTS)
    with pytest.raises(WordbiasError, match=r"expected a file, texts or a frame, found int"):
        rewrite("scrub", 3)  # type: ignore[arg-type]
    with pytest.raises(WordbiasError, match=r"has no column 'bio'; it has split"):
        rewrite("scrub", file, text_column="bio")
