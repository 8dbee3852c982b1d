"""`wordbias coref-score`: from documents to what a system reads, to its scores."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import small_likelihood
import small_scores

import wordbias as wb
from wordbias.coreference.reading import read_documents

Run = Callable[..., Any]
Refused = Callable[..., str]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, with a data set of each kind and what a system found in it."""
    monkeypatch.chdir(tmp_path)
    small_scores.gold(Path("gold.conll"))
    small_scores.found(Path("found.conll"))
    small_scores.gap(Path("gap.tsv"))
    small_scores.answers(Path("answers.tsv"))
    small_scores.pronouns_found(Path("pronouns.jsonl"))
    small_likelihood.winogender(Path("winogender"))
    Path("empty").mkdir()
    return tmp_path


KINDS = {"documents": "gold.conll", "GAP": "gap.tsv", "Winogender": "winogender"}


@pytest.mark.parametrize("kind", KINDS)
def test_alone_it_says_what_is_there(cli: Run, folder: Path, kind: str) -> None:
    done = cli("coref-score", KINDS[kind])
    assert (done.code, done.err) == (0, "")
    assert "Score a system with --clusters" in done.out


def test_folders_of_documents_are_scored_as_files(folder: Path) -> None:
    for name in ("gold", "found"):
        Path(name).mkdir()
        Path(f"{name}.conll").rename(f"{name}/all.conll")
    in_folders = wb.coref_score("gold", clusters="found")
    of_files = wb.coref_score("gold/all.conll", clusters="found/all.conll")
    assert [row.value for row in in_folders.rows] == [row.value for row in of_files.rows]


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_system_reads_is_the_same_documents(cli: Run, folder: Path, kind: str) -> None:
    data = KINDS[kind]
    done = cli("coref-score", data, "--sentences", "written.jsonl")
    assert (done.code, done.err) == (0, "")
    written = read_documents("written.jsonl")
    assert all(not document.clusters for document in written)
    scored = cli("coref-score", data, "--clusters", "written.jsonl", "--draws", "0")
    assert scored.code == 0  # a system that finds nothing


def test_documents_in_memory_have_the_values_of_their_files(folder: Path) -> None:
    report = wb.coref_score("gold.conll", clusters="found.conll")
    assert [row.measure for row in report.rows[:2]] == ["conll-f1", "coref-recall"]
    assert report.rows[0].details["unit"] == "documents"
    gold, system = (read_documents(f"{name}.conll") for name in ("gold", "found"))
    for given in (wb.coref_score("gold.conll", clusters=system),
                  wb.coref_score(gold, clusters="found.conll")):  # fmt: skip
        assert [row.value for row in given.rows] == [row.value for row in report.rows]
    with pytest.raises(wb.WordbiasError, match=r"^data=: expected documents, found 'Ann' at 0"):
        wb.coref_score(["Ann"])  # type: ignore[list-item]


def test_two_systems_have_paired_changes(cli: Run, folder: Path) -> None:
    for name, clusters in (("old", "gold.conll"), ("new", "found.conll")):
        report = wb.coref_score("gold.conll", clusters=clusters)
        report.save(f"{name}.json")
    done = cli("changes", "old.json", "new.json", "--format", "json")
    row = next(r for r in json.loads(done.out)["rows"] if r["measure"] == "conll-f1")
    assert row["paired"] == "documents"
    assert row["change"] < 0


def test_singletons_are_counted_and_said(cli: Run, folder: Path) -> None:
    done = cli("coref-score", "gold.conll", "--clusters", "found.conll", "--draws", "0")
    text = " ".join(done.out.split())
    assert "Singletons: 0 of 8 clusters of gold.conll and 0 of 6 clusters of found.conll" in text


def test_a_bad_bracket_is_dropped_and_counted(cli: Run, refused: Refused, folder: Path) -> None:
    text = Path("found.conll").read_text()
    Path("bad.conll").write_text(text.replace("\t(0)", "\t7)", 1))
    message = refused("coref-score", "gold.conll", "--clusters", "bad.conll")
    assert "bad.conll: line " in message
    assert "document d0: 7) closes no bracket (7" in message
    done = cli("coref-score", "gold.conll", "--clusters", "bad.conll", "--skip-bad", "--draws", "0")
    assert done.code == 0
    assert "bad.conll: 1 mention left out, the first: line " in " ".join(
        (done.out + done.err).split()
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("gold.conll", "--clusters", "answers.tsv"), "answers.tsv: is no file of documents"),
        (("gold.conll", "--clusters", "pronouns.jsonl"), "has no document 'd0', part 0 of gold"),
        (("gap.tsv", "--clusters", "found.conll"), "found.conll: has no document 't-0'"),
        (("winogender", "--clusters", "found.conll"), "found.conll: has no document"),
        (
            ("empty",),
            "empty: expected a file, or a folder with documents (.conll, .conllu, .jsonl)",
        ),
        (("gold.conll", "--sentences", "gold.conll"), "--sentences"),
    ],
)
def test_what_cannot_be_scored_is_refused(
    refused: Refused, folder: Path, words: tuple[str, ...], message: str
) -> None:
    assert message in " ".join(refused("coref-score", *words).split())


def test_a_plot_needs_a_system(refused: Refused, folder: Path) -> None:
    assert "give --clusters too" in refused("coref-score", "gold.conll", "--plot", "x.svg", code=2)
