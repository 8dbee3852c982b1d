"""Rows of scores of a coreference system on documents with gold clusters."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from wordbias.coreference.documents import Corpus, Document
from wordbias.coreference.reading import read_documents
from wordbias.coreference.scoring import MEASURES, score_rows, singletons
from wordbias.draws import change_keys
from wordbias.errors import WordbiasError
from wordbias.outcomes.conll import METRICS, conll_f1, scores, tally
from wordbias.results import Row

WORDS = (tuple("abcdefgh"),)
GOLD = [
    Document("one", WORDS, (((0, 1), (2, 3)), ((4, 6),))),
    Document("one", WORDS, (((0, 1), (3, 4), (5, 6)),), part="001"),
    Document("two", WORDS),
]
FOUND = [
    Document("two", WORDS, (((1, 2), (2, 3)),)),
    Document("one", WORDS, (((0, 1), (2, 3)),)),
    Document("one", WORDS, (((0, 1), (3, 4)), ((5, 6), (7, 8))), part="1"),
]


def _found(rows: list[Row]) -> dict[tuple[str, ...], Row]:
    return {(row.measure, str(row.details.get("setting", ""))): row for row in rows}


def test_rows_are_the_scores_of_sums_over_documents() -> None:
    matched = Corpus("gold", GOLD).matched(Corpus("found", FOUND))
    rows = _found(score_rows(GOLD, matched, "x", draws=50, seed=0))
    total = sum(tally(a.clusters, b.clusters) for a, b in zip(GOLD, matched, strict=True))
    for i, metric in enumerate(METRICS):
        for j, measure in enumerate(MEASURES):
            assert rows[measure, metric].value == pytest.approx(100 * scores(total)[i, j])
    row = rows["conll-f1", ""]
    assert row.value == pytest.approx(100 * float(conll_f1(total)))
    assert (row.details["unit"], row.details["n"]) == ("documents", 3)
    assert row.details["low"] < row.value < row.details["high"]  # type: ignore[operator]


def test_documents_are_matched_by_name_and_part() -> None:
    matched = Corpus("gold", GOLD).matched(Corpus("found", FOUND))
    assert [document.name for document in matched] == ["one", "one", "two"]
    assert matched[1] is FOUND[2]


def test_without_draws_or_of_one_document_there_is_no_interval() -> None:
    for key, draws in ((GOLD, 0), (GOLD[:1], 50)):
        for row in score_rows(key, key, "x", draws=draws, seed=0):
            assert "low" not in row.details


def test_two_systems_are_compared_document_by_document() -> None:
    """The draws of rows of one key are paired: a system has no change from itself."""
    rows = score_rows(GOLD, GOLD, "x", draws=50, seed=0)
    same = change_keys(rows[0], rows[0], certain=True)
    assert (same["change"], same["change_low"], same["change_high"]) == (0, 0, 0)
    other = score_rows(
        [replace(document, clusters=()) for document in GOLD], GOLD, "x", draws=50, seed=0
    )
    assert "change_low" not in change_keys(rows[0], other[0], certain=True)


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (FOUND[:2], "found: has no document 'one', part 1 of gold"),
        ([*FOUND, FOUND[0]], "found: has document 'two', part 0 twice"),
        (
            [*FOUND[1:], Document("two", (("a",),))],
            "found: document 'two', part 0 has 1 tokens, and 8 in gold",
        ),
    ],
)
def test_other_documents_are_refused(found: list[Document], message: str) -> None:
    with pytest.raises(WordbiasError, match=f"^{message}"):
        Corpus("gold", GOLD).matched(Corpus("found", found))


@pytest.mark.slow
def test_singletons_of_real_corpora(shared_data: Path) -> None:
    folder = shared_data / "coref"
    assert singletons(read_documents(folder / "litbank.conll.gz"))[0] == 5763
    assert singletons(read_documents(folder / "ontogum.test.conll.gz"))[0] == 1


def test_real_documents_are_perfect_by_themselves_and_worse_without_a_mention(
    shared_data: Path,
) -> None:
    gold = read_documents(shared_data / "coref" / "ontogum.dev.conll.gz")
    assert {row.value for row in score_rows(gold, gold, "x", draws=0, seed=0)} == {100.0}
    less = [
        replace(document, clusters=tuple(c[1:] for c in document.clusters)) for document in gold
    ]
    rows = _found(score_rows(gold, less, "x", draws=0, seed=0))
    assert rows["coref-precision", "muc"].value == 100.0
    values = [row.value for (measure, _), row in rows.items() if measure == "coref-recall"]
    assert np.all(np.array(values, float) < 80)
