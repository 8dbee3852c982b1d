"""Marked attribute bias along another attribute than gender, from the command line."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from wordbias.wordlists import Attribute, Templates

Run = Callable[..., Any]
FAITHS = ("--groups", "religion:christian,muslim")


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three templates, so that scoring takes no time."""
    premises = Templates.load().premises()[:3]
    monkeypatch.setattr(Templates, "premises", lambda _: premises)


def rows_of(cli: Run, *arguments: object) -> list[dict[str, Any]]:
    done = cli(*arguments, "--format", "json")
    assert done.code == 0, done.err
    rows: list[dict[str, Any]] = json.loads(done.out)["rows"]
    return rows


@pytest.mark.usefixtures("few")
def test_sets_are_named_after_the_groups_and_read_back(cli: Run, tmp_path: Path) -> None:
    """Whoever predicts neutral everywhere shows no bias and no error."""
    (row,) = rows_of(cli, "mab-eval", *FAITHS, "--write", tmp_path / "sets")
    path = tmp_path / "sets" / "christian-muslim-explicit.csv"
    assert (row["file"], row["attribute"]) == (str(path), "religion christian/muslim")
    nouns = sum(map(len, Attribute.load("religion:christian,muslim").subjects["nouns"]))
    assert row["value"] == 3 * nouns
    with path.open(encoding="utf-8", newline="") as file:
        pairs = list(csv.DictReader(file))
    predictions = tmp_path / "p.csv"
    with predictions.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["premise", "hypothesis", "neutral", "entailment", "contradiction"])
        writer.writerows([pair["premise"], pair["hypothesis"], 1, 0, 0] for pair in pairs)
    rows = rows_of(cli, "mab-eval", "--predictions", predictions, *FAITHS)
    assert {row["value"] for row in rows if row["measure"] in ("mab-distance", "mab-error")} == {0}


@pytest.mark.usefixtures("few")
def test_the_first_set_there_are_words_for_is_the_default(cli: Run, tmp_path: Path) -> None:
    names = tmp_path / "names.toml"
    names.write_text(
        '[groups]\nold = ["Ruth", "Doris"]\nnew = ["Megan", "Tyler"]\n'
        '[subjects.names]\nold = ["Ruth", "Doris"]\nnew = ["Megan", "Tyler"]\n'
    )
    rows = rows_of(cli, "mab-eval", "--groups", names)
    assert {row["set"] for row in rows} == {"names"}
    assert {row.get("group") for row in rows} == {"old", "new", None}
    refused = cli("mab-eval", "--groups", names, "--set", "explicit")
    assert (refused.code, refused.err.count("\n")) == (1, 1)
    assert "it has words for: names" in refused.err


@pytest.mark.usefixtures("few")
def test_missing_words_are_noted(cli: Run) -> None:
    done = cli("mab-eval", "--groups", "ethnicity:white,black", "--set", "all", "--by-word")
    assert done.code == 0
    assert "left out of the hypotheses" in done.err
    assert "W: white, B: black" in done.out
    assert max(map(len, done.out.splitlines())) <= 100


@pytest.mark.usefixtures("few")
def test_gender_by_name_is_the_published_order(cli: Run) -> None:
    plain = cli("mab-eval", "--set", "all")
    assert cli("mab-eval", "--set", "all", "--groups", "gender").out == plain.out


@pytest.mark.usefixtures("few")
def test_groups_of_one_initial_are_told_apart(cli: Run, tmp_path: Path) -> None:
    path = tmp_path / "nations.toml"
    path.write_text(
        '[groups]\nspanish = ["Juan", "Ana"]\nswedish = ["Erik", "Karin"]\n'
        '[subjects.nouns]\nspanish = ["Spanish man"]\nswedish = ["Swedish man"]\n'
    )
    done = cli("mab-eval", "--groups", path)
    assert "Sp N" in done.out
    assert "Sp: spanish, Sw: swedish" in done.out


@pytest.mark.slow
@pytest.mark.usefixtures("few")
def test_studies_of_religion_and_gender_share_a_folder(cli: Run, tmp_path: Path) -> None:
    from wordbias import Embedding

    Embedding.sample().save(tmp_path / "base.safetensors")
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("neutral\tA man eats.\tA dog eats.\nentailment\tA man eats.\tHe eats.\n" * 3)
    call = ("mab-study", tmp_path / "base.safetensors", "--train", pairs, "--dev", pairs)
    call += ("--epochs", 1, "--seed", 0, "--only", "direct-bias", "-q", "-o", tmp_path / "out")
    gender = rows_of(cli, *call)
    faiths = rows_of(cli, *call, *FAITHS)
    model = tmp_path / "out" / "base.seed0.safetensors"
    assert model.with_name(f"{model.name}.rows.json").exists()
    assert model.with_name(f"{model.name}.christian-muslim.rows.json").exists()
    assert rows_of(cli, *call) == gender
    groups = {row["group"] for row in faiths if "group" in row}
    assert groups == {"christian", "muslim"}
    table = cli(*call, *FAITHS).out
    assert "Christian and muslim: nouns" in table
    assert "C N" in table
