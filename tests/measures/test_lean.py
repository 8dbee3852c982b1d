"""To which group single words lean, and of which words that is claimed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from wordbias import Attribute, Embedding, Subspace
from wordbias.measures.lean import CENTRED, find_lean, leaning_words, word_rows
from wordbias.measures.midb import midb_of_words
from wordbias.measures.panel import Panel, make_panels
from wordbias.wordlists import resolve_groups, resolve_pairs


@pytest.fixture(scope="module")
def panel() -> Panel:
    (made,) = make_panels([Embedding.sample()], None, Attribute.load())
    return made


def test_of_most_pairs_a_lean_is_claimed_and_it_is_right(panel: Panel) -> None:
    """Of the 64 definitional and equalising pairs; at least 95 % are right on each side."""
    attribute = panel.attribute
    pairs = resolve_pairs([*attribute.pairs, *attribute.equalise], panel.embedding).found
    assert len(pairs) == 64
    words = [word for pair in pairs for word in pair]
    claimed = {
        row.details["word"]: row.details["towards"]
        for row in word_rows(panel, words)
        if "towards" in row.details
    }
    assert sum(bool({*pair} & claimed.keys()) for pair in pairs) == 54 >= 50
    assert [sum(pair[side] in claimed for pair in pairs) for side in (0, 1)] == [53, 4]
    for side, group in enumerate(attribute.groups):
        told = [claimed[pair[side]] for pair in pairs if pair[side] in claimed]
        assert told
        assert np.mean([one == group for one in told]) >= 0.95


def test_a_lean_is_midb_less_its_mean(panel: Panel) -> None:
    emb = panel.embedding
    groups = (emb.take(found.found) for found in resolve_groups(panel.attribute, emb))
    subspace = Subspace.from_groups(*groups, panel.dims)
    neutral = midb_of_words(panel.vectors, subspace)
    low, high = np.quantile(neutral - neutral.mean(), [0.025, 0.975])
    words = ["she", "he", "jessica", "nurse"]
    rows = {(row.measure, row.details["word"]): row for row in word_rows(panel, words)}
    for word in words:
        lean, raw = rows["lean", word], rows["midb", word]
        assert raw.value == pytest.approx(midb_of_words(emb.take([word]), subspace)[0])
        assert lean.value == pytest.approx(raw.value - neutral.mean())
        assert lean.details["middle"] == pytest.approx([low, high])
        assert ("towards" in lean.details) == (not low <= lean.value <= high)
        assert "towards" not in raw.details
        assert "towards" not in rows["direct-bias", word].details
    told = {word: rows["lean", word].details.get("towards") for word in words}
    assert told == {"she": "female", "he": None, "jessica": "female", "nurse": "female"}


def test_of_the_neutral_words_one_in_twenty_is_claimed(panel: Panel) -> None:
    rows = [row for row in word_rows(panel, panel.vocabulary) if row.measure == "lean"]
    assert np.mean(["towards" in row.details for row in rows]) == pytest.approx(0.05, abs=1e-3)


def test_centred_no_lean_is_claimed(panel: Panel) -> None:
    lean, *_ = word_rows(replace(panel, center=True), ["she"])
    assert (lean.measure, lean.value, lean.details["reason"]) == ("lean", None, CENTRED)
    assert "towards" not in lean.details


def test_the_words_that_lean_most_are_those_of_the_largest_lean(panel: Panel) -> None:
    words = leaning_words(panel, 3)
    lean, _ = find_lean(panel)
    assert lean is not None
    values = lean.of(panel.vectors)
    order = np.argsort(values)
    assert words[:3] == [panel.vocabulary[i] for i in order[::-1][:3]]
    assert words[3:] == [panel.vocabulary[i] for i in order[:3]]
    assert leaning_words(replace(panel, center=True), 1)
