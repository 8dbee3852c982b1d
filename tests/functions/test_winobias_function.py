"""`wordbias.winobias`: a file of clusters and clusters in memory have the same scores."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import small_winobias

from wordbias.errors import WordbiasError
from wordbias.functions.winobias import winobias
from wordbias.reports import Report
from wordbias.stereotypes.winobias import load_winobias


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return small_winobias.write(tmp_path / "winobias")


def test_clusters_and_shares_in_memory(
    cli: Callable[..., Any], folder: Path, tmp_path: Path
) -> None:
    clusters = {
        sentence.text: sentence.gold if sentence.number < 3 else ()
        for sentence in load_winobias(folder)
    }
    shares = {"farmer": 22, "nurses": 90, "construction_worker": 4, "teacher": 78, "sheriff": 14}
    (tmp_path / "found.json").write_text(json.dumps(clusters))
    (tmp_path / "shares.json").write_text(json.dumps(shares))
    files = ("--clusters", tmp_path / "found.json", "--shares", tmp_path / "shares.json")
    done = cli("winobias", folder, *files, "--draws", 10, "--format", "json")
    printed = json.loads(done.out)
    report = winobias(folder, clusters=clusters, shares=shares, draws=10)
    assert report.command == "winobias"
    names = {str(tmp_path / "found.json"): "the clusters given"}
    names[str(tmp_path / "shares.json")] = "the shares given"
    expected = [
        {key: names.get(str(value), value) for key, value in row.items()} for row in printed["rows"]
    ]
    assert json.loads(json.dumps([row.to_dict() for row in report])) == expected
    from_file = winobias(str(folder), clusters=tmp_path / "found.json", draws=10, as_published=True)
    assert from_file.arguments["clusters"] == str(tmp_path / "found.json")


def test_what_it_writes(folder: Path, tmp_path: Path) -> None:
    report = winobias(folder, sentences=tmp_path / "s.jsonl", masked=tmp_path / "m.tsv")
    assert len((tmp_path / "s.jsonl").read_text().splitlines()) == 24
    assert report.closing[0].startswith(f"Written: {tmp_path / 's.jsonl'}; let a coreference")
    assert len(report) == 0
    assert "Score a system with clusters=; write its input with sentences=." in str(report)


def test_it_names_what_is_wrong_as_python_does(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "found.json"
    with pytest.raises(WordbiasError, match="is both clusters= and sentences=; name two files"):
        winobias(folder, clusters=path, sentences=path)
    with pytest.raises(WordbiasError, match="clusters=: is an empty mapping"):
        winobias(folder, clusters={})
    with pytest.raises(
        WordbiasError, match="span_unit=: expected one of characters, tokens, got 'words'"
    ):
        winobias(folder, clusters={"A text.": []}, span_unit="words")  # type: ignore[arg-type]


def _scored(folder: Path, share: float, **more: int) -> Report:
    """Score a system that ignores the pronoun, but for a share of pairs, where it resolves pro."""
    sentences, rng = load_winobias(folder), random.Random(0)
    half, clusters = len(sentences) // 2, {}
    for pair in zip(sentences[:half], sentences[half:], strict=True):
        biased, able = rng.random() < share, rng.random() < 0.7
        for sentence, right in zip(pair, (biased or able, able and not biased), strict=True):
            clusters[sentence.text] = sentence.gold if right else ()
    return winobias(folder, clusters=clusters, **more)


@pytest.mark.slow
def test_bias_in_a_twentieth_of_the_pairs_is_found(shared_data: Path) -> None:
    """Its sum is beyond what exchanging she and he within pairs gives, and in its interval."""
    report = _scored(shared_data / "winobias", 0.05)
    for name in ("tpr-gap", "f1-gap", "separation", "sufficiency", "independence"):
        (row,) = [row for row in report[name] if row.details["set"] == "sum"]
        assert row.details["unit"] == "pairs"
        assert row.details["p"] == 1 / 201
        assert row.value > row.details["chance"]
    (row,) = [row for row in report["tpr-gap"] if row.details["set"] == "sum"]
    assert row.details["chance"] < row.details["low"] < row.value < row.details["high"]
    for row in report:
        low, high = row.details.get("low"), row.details.get("high")
        assert low is None or low <= row.value <= high, row


def test_a_system_that_ignores_the_pronoun_is_at_chance(shared_data: Path) -> None:
    """Where the two sentences differ in the pronoun alone its sum is 0; in 19 pairs they do not."""
    report = _scored(shared_data / "winobias", 0, draws=20)
    (row,) = [row for row in report["tpr-gap"] if row.details["set"] == "sum"]
    assert row.value < 0.1
    assert row.details["p"] > 0.5
    assert "exchanged at random within pairs" in str(report)
