"""`wordbias quality`: its sets, its rows, its tables, what it refuses."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from wordbias import Embedding
from wordbias.resources import catalogue

Run = Callable[..., Any]

SIMILAR = "man\twoman\t8\nking\tqueen\t9\ncar\tpizza\t1\nsea\tzzyzxq\t4\nsun\tlight\t7\n"
ANALOGIES = """: family
man woman king queen
Man Woman Boy Girl
zzyzxq woman boy girl
: gram1-plural
cat cats dog dogs
"""


@pytest.fixture
def sets(tmp_path: Path) -> Path:
    folder = tmp_path / "sets"
    folder.mkdir()
    (folder / "mine.tsv").write_text(SIMILAR)
    (folder / "questions-words.txt").write_text(ANALOGIES)
    return folder


@pytest.fixture
def found(cli: Run, sets: Path) -> Callable[..., dict[str, Any]]:
    """Run quietly and return the parsed JSON."""

    def call(*arguments: object) -> dict[str, Any]:
        done = cli("quality", "--benchmarks", sets, "--format", "json", "-q", *arguments)
        assert (done.code, done.err) == (0, "")
        result: dict[str, Any] = json.loads(done.out)
        return result

    return call


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """Words of the sample, in a file."""
    sample, path = Embedding.sample(), tmp_path / "other.txt"
    words = {*re.findall(r"[a-z]+", (SIMILAR + ANALOGIES).lower())} & {*sample.words}
    sample.subset([*sample.words[:300], *sorted(words)]).save(path)
    return path


def test_every_row_has_value_size_and_coverage(found: Callable[..., Any]) -> None:
    result = found()
    rows = {row["set"]: row for row in result["rows"]}
    assert list(rows) == ["google-semantic", "google-syntactic", "google-total", "mine"]
    assert [row["measure"] for row in rows.values()] == ["analogy"] * 3 + ["similarity"]
    assert [row["n"] for row in rows.values()] == [2, 1, 3, 4]
    assert [row["asked"] for row in rows.values()] == [3, 1, 4, 5]
    assert rows["google-total"]["coverage"] == 0.75
    assert rows["mine"]["missing"] == rows["google-total"]["missing"] == ["zzyzxq"]
    assert rows["mine"]["low"] <= rows["mine"]["value"] <= rows["mine"]["high"]
    assert {row["better"] for row in rows.values()} == {"higher"}
    assert not any("neutral" in row for row in rows.values())
    assert (result["command"], result["seed"], list(result["inputs"])) == ("quality", 0, ["sample"])


def test_what_was_asked_for_is_in_the_rows(found: Callable[..., Any], sets: Path) -> None:
    rows = {row["set"]: row for row in found("--oov", "mean", "--analogy", "mul")["rows"]}
    assert [row["n"] for row in rows.values()] == [3, 1, 4, 5]
    assert rows["mine"]["coverage"] == 0.8
    assert {row["oov"] for row in rows.values()} == {"mean"}
    assert {row["setting"] for name, row in rows.items() if name != "mine"} == {"mul"}
    (sets / "MSR-syntax.txt").write_text("world's world womens women\n")
    unchanged, changed = (found("--only", "msr", *x)["rows"] for x in ((), ("--standardise",)))
    assert (unchanged[0]["setting"], changed[0]["setting"]) == ("add", "add, standardised")
    assert "world's" in unchanged[0]["missing"]
    assert "world's" not in changed[0]["missing"]
    assert (len(unchanged), len(found("--only", "mine, google")["rows"])) == (1, 4)


def test_several_embeddings_stand_side_by_side_and_later_ones_beside_the_first(
    cli: Run, found: Callable[..., Any], sets: Path, other: Path
) -> None:
    third = other.with_name("third.txt")
    third.write_bytes(other.read_bytes())
    rows = found(other, third)["rows"]
    later = [row for row in rows if row["subject"] == "third" and row["value"] is not None]
    assert [row for row in rows if "change" in row] == later
    assert {row[key] for row in later for key in ("change", "change_low", "change_high")} == {0}
    done = cli("quality", other, third, "--benchmarks", sets)
    assert done.code == 0
    (line,) = (line for line in done.out.splitlines() if line.startswith("  set"))
    assert line.split() == ["set", "other", "coverage", "third", "coverage"]
    (line,) = (line for line in done.out.splitlines() if line.startswith("  google-total"))
    assert line.split().count("3/4") == 2
    _, _, table = done.out.partition("Change from other\n")
    assert [line.split()[:3] for line in table.splitlines()[1 : len(later) + 1]] == [
        ["third", row["set"], "0.000"] for row in later
    ]


def test_more_than_two_take_several_tables(cli: Run, sets: Path, other: Path) -> None:
    others = [other.with_name(f"{'long-' * 8}{i}.txt") for i in range(3)]
    for path in others:
        path.write_bytes(other.read_bytes())
    done = cli("quality", *others, "--benchmarks", sets)
    assert done.out.count("\nQuality\n") == 2
    tables = done.out[done.out.index("\nQuality\n") :]
    assert max(map(len, tables.splitlines())) <= 100


def test_embeddings_of_one_name_go_by_their_path(
    found: Callable[..., Any], other: Path, tmp_path: Path
) -> None:
    twin = tmp_path / "twin" / other.name
    twin.parent.mkdir()
    twin.write_bytes(other.read_bytes())
    result = found(other, twin, "--only", "mine")
    assert [row["subject"] for row in result["rows"]] == ["other", str(twin)]
    assert list(result["inputs"]) == ["other", str(twin)]


def test_nothing_known_is_a_dash_with_a_reason(cli: Run, sets: Path) -> None:
    (sets / "lost.txt").write_text("zzyzxq zzyzxr 1\n")
    done = cli("quality", "--benchmarks", sets, "--only", "lost")
    assert "0/1" in done.out
    assert "–" in done.out
    assert "0 of 1 pairs have words of this embedding" in done.out.replace("\n  ", " ")


def test_one_thread_and_two_agree(found: Callable[..., Any], other: Path) -> None:
    assert found(other, "--threads", 1)["rows"] == found(other, "--threads", 2)["rows"]


@pytest.mark.slow
def test_the_published_sets(cli: Run, shared_data: Path) -> None:
    folders = ["--benchmarks", shared_data / "wordsim", "--benchmarks", shared_data / "analogy"]
    done = cli("quality", *folders, "--format", "json", "-q")
    rows = {row["set"]: row for row in json.loads(done.out)["rows"]}
    assert len(rows) == 8
    assert rows["simlex-999"]["value"] == pytest.approx(0.3006, abs=5e-5)
    assert rows["men"]["n"] == 2404


def test_without_sets_it_says_what_to_give(cli: Run) -> None:
    done = cli("quality")
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    assert "they are not part of wordbias; run: wordbias fetch men" in done.err
    assert "--benchmarks FOLDER with the published files" in done.err
    names = re.search("wordbias fetch (.*), and", done.err)
    assert names
    assert set(names[1].split()) <= set(catalogue())


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("nowhere.txt", "nowhere.txt"),
        ("--benchmarks nowhere", "nowhere: no such file or folder"),
        ("--only men", "no set 'men'; there are google, mine"),
        ("--only ,", "--only: expected names of sets"),
        ("--only ''", "--only: is empty"),
        ("OTHER OTHER", "given twice"),
        # before anything is loaded
        (
            "nowhere.txt --benchmarks bad.txt",
            "bad.txt: line 2: expected two words and a score",
        ),
    ],
)
def test_a_failure_is_one_line(
    refused: Callable[..., str],
    sets: Path,
    other: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    typed: str,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.txt").write_text("man woman 8\nking queen\n")
    given = [other if word == "OTHER" else word for word in shlex.split(typed)]
    line = refused("quality", "--benchmarks", sets, *given)
    assert message in line
    assert "unexpected" not in line
