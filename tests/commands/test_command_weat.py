"""`wordbias weat`: its options, its formats, and what it says when something is wrong."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from wordbias import Embedding
from wordbias.wordlists.queries import load_queries

Run = Callable[..., Any]
Refused = Callable[..., str]

MINE = """
[sets]
jobs = ["engineer", "boss", "zzyzxq"]
others = ["nurse", "maid"]
male = ["he", "his"]
female = ["she", "her"]
[queries.mine]
targets = ["jobs", "others"]
attributes = ["male", "female"]
"""
SETS = {"m": ["he", "man"], "f": ["she", "woman"], "s": ["math", "physics"], "a": ["art", "poetry"]}


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(MINE, encoding="utf-8")
    return path


@pytest.fixture
def found(cli: Run) -> Callable[..., dict[str, Any]]:
    """Run with few samples and return the parsed JSON."""

    def call(*arguments: object) -> dict[str, Any]:
        done = cli("weat", "--draws", 200, "--format", "json", "--quiet", *arguments)
        assert (done.code, done.err) == (0, "")
        result: dict[str, Any] = json.loads(done.out)
        return result

    return call


def test_without_arguments_it_runs_the_ten_queries_on_the_sample(
    cli: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the table says all that was asked in 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    done = cli("weat")
    assert (done.code, done.err) == (0, "")
    assert "Associations in sample" in done.out
    for phrase in ("1.281", "one-sided", "ddof 1", "missing: weat1 (gladiola)."):
        assert phrase in " ".join(done.out.split())
    lines = done.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert "…  " not in done.out.replace(" … ", "")
    words = "".join(line[10:31].strip() for line in lines[2:] if line[:2] == "  ")
    for query in load_queries():
        assert f"  {query.name}  " in done.out
        assert "/".join(query.names[:2]) in words


def test_queries_know_what_they_are_about(found: Run, cli: Run, tmp_path: Path) -> None:
    about = {row["set"]: row["about"] for row in found()["rows"]}
    assert about == {
        **dict.fromkeys(("weat1", "weat2"), "control"),
        **dict.fromkeys(("weat3", "weat4", "weat5"), "ethnicity"),
        **dict.fromkeys(("weat6", "weat7", "weat8"), "gender"),
        "weat9": "disease",
        "weat10": "age",
    }
    own = tmp_path / "own.toml"
    own.write_text(MINE + 'about = "gender at work"\n', encoding="utf-8")
    (row,) = found("--query", own)["rows"]
    assert row["about"] == "gender at work"
    assert "about: gender at work (mine)" in " ".join(cli("weat", "--query", own).out.split())
    own.write_text(MINE + "about = 6\n", encoding="utf-8")
    done = cli("weat", "--query", own)
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert "[queries.mine] about: expected a text, found" in done.err


@pytest.mark.slow
def test_a_small_p_beside_an_interval_with_0_says_what_that_means(found: Run, cli: Run) -> None:
    rows = found()["rows"]
    for row in rows:
        assert ("reading" in row) == (row["p"] < 0.05 and row["low"] <= 0 <= row["high"])
    sets = [row["set"] for row in rows if "reading" in row]
    assert "weat7" in sets
    assert "weat6" not in sets
    reading = rows[6]["reading"]
    assert "p takes all words as given" in reading
    assert "other words of the same kinds could give another result" in reading
    lines = cli("weat").out.splitlines()
    marked = [line.split()[0] for line in lines if line.startswith("  weat") and " * " in line]
    assert marked == sets
    text = " ".join(" ".join(lines).split())
    assert f"*: {reading}" in text
    saved = list(csv.DictReader(io.StringIO(cli("weat", "--format", "csv").out)))
    assert [row["set"] for row in saved if row["reading"] == reading] == sets


def test_missing_words_of_several_queries_are_named(cli: Run, tmp_path: Path) -> None:
    path = tmp_path / "queries.toml"
    sets = """
[sets]
a = ["she", "her", "zzqa"]
b = ["he", "him", "his"]
c = ["math", "algebra", "zzqb"]
d = ["poetry", "art", "dance"]
"""
    query = 'targets = ["a", "b"]\nattributes = ["c", "d"]\n'
    path.write_text(f"{sets}[queries.one]\n{query}[queries.two]\n{query}", encoding="utf-8")
    text = " ".join(cli("weat", "--query", path).out.split())
    assert "missing: one (zzqa, zzqb), two (zzqa, zzqb)" in text


def test_one_query_as_json(found: Run) -> None:
    result = found("--query", "weat7")
    (row,) = result["rows"]
    assert row["value"] == pytest.approx(1.2812, abs=5e-4)
    assert row["p"] == 29 / 12_870
    assert (row["partitions"], row["method"], row["alternative"]) == (12_870, "exact", "greater")
    assert row["n"] == {"math": 8, "arts": 8, "male": 8, "female": 8}
    assert row["missing"] == {}
    assert row["case"] == {"as written": 32}
    assert row["set"] == "weat7"
    assert row["low"] < row["value"] < row["high"]
    assert result["command"] == "weat"
    assert result["seed"] == 0
    assert result["inputs"]["sample"]["dim"] == 100


def test_ddof_and_two_sided(found: Run) -> None:
    (row,) = found("--query", "weat7", "--ddof", 0, "--two-sided")["rows"]
    assert row["value"] == pytest.approx(1.3232, abs=5e-4)
    assert row["alternative"] == "two-sided"
    assert row["p"] > 29 / 12_870
    assert row["ddof"] == 0


def test_all_measures(found: Run, cli: Run) -> None:
    every = ("--query", "weat7", "--only", "weat,rnd,rnsb,mac,ect,ripa")
    rows = found(*every)["rows"]
    assert len(rows) == 10
    assert {row["neutral"] for row in rows} == {0, 1}
    out = cli("weat", *every).out
    for text in ("rnd: distance to X minus", "mac: mean cosine", "8 pairs × 8+8", "neutral 1"):
        assert text in " ".join(out.split())


def test_a_users_queries(found: Run, cli: Run, mine: Path) -> None:
    (row,) = found("--query", mine)["rows"]
    assert row["set"] == "mine"
    assert row["missing"] == {"jobs": ["zzyzxq"]}
    assert row["n"]["jobs"] == 2
    assert "missing: mine (zzyzxq)" in cli("weat", "--query", mine).out


@pytest.mark.slow
def test_several_embeddings(found: Run, cli: Run, tmp_path: Path) -> None:
    sample = Embedding.sample()
    words = [word for query in load_queries() for word in query.candidates() if word in sample]
    part = sample.subset(words)
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        part.save(tmp_path / folder / "v.txt")
    paths = [tmp_path / folder / "v.txt" for folder in ("a", "b")]
    result = found("--query", "weat7", *paths, paths[0])
    assert list(result["inputs"]) == [str(path) for path in paths]
    assert [row["subject"] for row in result["rows"]] == [str(path) for path in paths]
    assert len({row["value"] for row in result["rows"]}) == 1
    (row,) = found("--query", "weat7", paths[0])["rows"]
    assert row["subject"] == "v"
    assert cli("weat", *paths).out.count("Associations in") == 2


def test_two_spellings_of_a_path_are_one_embedding(cli: Run, tmp_path: Path) -> None:
    path, sample = tmp_path / "v.txt", Embedding.sample()
    sample.subset(sorted(load_queries()[6].candidates() & sample.index.keys())).save(path)
    once, twice = (
        cli("weat", "--query", "weat7", *paths)
        for paths in ([path], [path, f"{path.parent}/./{path.name}"])
    )
    assert (once.code, twice.code) == (0, 0)
    assert once.out.count("  weat7  ") == twice.out.count("  weat7  ") == 1


def test_a_query_without_words_has_a_reason_and_the_rest_is_measured(
    cli: Run, refused: Refused, found: Run, tmp_path: Path
) -> None:
    sample = Embedding.sample()
    seven = next(query for query in load_queries() if query.name == "weat7")
    path = tmp_path / "few.safetensors"
    sample.subset(word for word in sorted(seven.candidates()) if word in sample).save(path)
    rows = found(path)["rows"]
    assert [row["set"] for row in rows if row["value"] is not None] == ["weat7"]
    assert all("reason" in row for row in rows if row["value"] is None)
    text = " ".join(cli("weat", path).out.split())
    assert "weat1 undefined: few: weat1: flowers: 0 of 25 words found" in text
    assert "few: weat6: male_names: 0 of 8 words found" in refused("weat", path, "--query", "weat6")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--query", "weat11"), "query 'weat11': expected one of weat1, weat2"),
        (("--only", "weat,wat"), "measure 'wat': expected one of weat, rnd"),
        (("--only", ","), "no measure named"),
        (("--targets", "math,arts"), "--attributes: expected the names of two"),
        (("--targets", "math", "--attributes", "male,female"), "--targets: expected the names"),
        (("--targets", "a,b", "--attributes", "c,d"), "--targets: no set 'a' in"),
        (("--query", "nothere.toml"), "nothere.toml: no such file"),
        (("nothere.txt",), "nothere.txt"),
        (("--query", "bad.toml"), "bad.toml: "),
    ],
)
def test_bad_input_is_one_line(
    refused: Refused,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.toml").write_text(MINE.replace('"she", "her"', '"she", "his"'), encoding="utf-8")
    assert message in refused("weat", *arguments, code=2 if "expected one of" in message else 1)


@pytest.mark.slow
def test_weat_alone_needs_neither_scipy_nor_sklearn() -> None:
    code = (
        "import sys\n"
        "from wordbias.cli import run\n"
        "assert run(['weat', '--query', 'weat7', '--format', 'jsonl']) == 0\n"
        "assert not {'scipy', 'sklearn'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, capture_output=True)
