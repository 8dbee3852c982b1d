"""Changes by a chain of methods beside those by random removals: of bias and cost, of any measure.

A file of its own because its functions take whole embeddings and panels, `wordbias.methods.effect`
the few words that it measures.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from wordbias.embedding import Embedding
from wordbias.measures.chance import Key, key_of
from wordbias.measures.evaluate import evaluate_panels
from wordbias.measures.panel import Panel
from wordbias.methods.effect import (
    beside_random,
    random_removals,
    with_null,
    with_random,
)
from wordbias.methods.fitted import Chain
from wordbias.methods.words import listed_words
from wordbias.results import Row
from wordbias.wordlists import Attribute


def effect_beside_null(
    before: Embedding,
    chain: Chain,
    vocabulary: Sequence[str],
    attribute: Attribute,
    draws: int,
    *,
    seed: int = 0,
) -> list[Row]:
    """Measure what a chain of methods changes, beside the same chain with random directions.

    Returns
    -------
    list of Row
        Rows of `effect` with those keys that `with_null` adds.

    Raises
    ------
    WordbiasError
        As `wordbias.methods.null.random_chains` does.
    """
    part = before.subset([*vocabulary, *sorted(listed_words(attribute))])
    measured, nulls = beside_random(part, chain, vocabulary, attribute, draws, seed=seed)
    return with_null(measured.rows, nulls)


def measures_beside_null(
    rows: Sequence[Row],
    panel: Panel,
    chain: Chain,
    only: Collection[str],
    draws: int,
    *,
    seed: int = 0,
) -> list[Row]:
    """Add to rows of measures after a chain their change, and what random removals change.

    Parameters
    ----------
    rows
        Rows of `wordbias.measures.evaluate.evaluate_panels`, before and after.
    panel
        Panel after, with its original. Each random removal takes the place of its embedding.
    only
        Families of the rows.

    Returns
    -------
    list of Row
        With `change`, and for each kind of removal the keys of `wordbias.draws.null_keys`.
    """
    name, before = panel.embedding.name, panel.original
    start = {key_of(row): row.value for row in rows if row.subject == before.name}
    removals, _, _ = random_removals(before, chain, panel.vocabulary, draws, seed=seed)
    found: dict[str, dict[Key, list[float]]] = {kind: {} for kind in removals}
    for kind, chains in removals.items():
        for one in chains:
            removed = replace(panel, embedding=one(before).renamed(name))
            for row in evaluate_panels([removed], only, chance=False):
                if row.value is not None:
                    found[kind].setdefault(key_of(row), []).append(row.value)
    made = []
    for row in rows:
        key, first = key_of(row), start.get(key_of(row))
        if row.subject == name and row.value is not None and first is not None:
            change = row.value - first
            for kind, values in found.items():
                if key in values:
                    row = with_random(row, kind, change, np.array(values[key]) - first)
        made.append(row)
    return made
