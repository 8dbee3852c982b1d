"""What WinoBias says of a coreference system, as rows: CoNLL F1 by stereotype, and fairness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from wordbias.outcomes.measuring import fairness_rows
from wordbias.outcomes.metrics import Settings
from wordbias.outcomes.shares import shares_for
from wordbias.outcomes.winobias.classification import (
    as_classification,
    professional_shares,
    published_positions,
)
from wordbias.outcomes.winobias.clusters import Clusters
from wordbias.outcomes.winobias.conll import Tally, conll_f1, tally
from wordbias.outcomes.winobias.sentences import ANTI, PRO, Sentence
from wordbias.results import Row
from wordbias.statistics import percentile_interval, resampled_means

F1, DIFFERENCE, UNDECIDED = "conll-f1", "conll-f1-diff", "undecided"
ALL = "all"


def f1_rows(
    sentences: Sequence[Sentence],
    clusters: Sequence[Clusters],
    subject: str,
    *,
    draws: int,
    seed: int = 0,
) -> list[Row]:
    """Measure CoNLL F1 in percent, of `pro` and `anti` sentences, and its difference.

    Parameters
    ----------
    sentences
        All `pro` ones first, and the `anti` ones in the same order.
    clusters
        What was found in each.
    draws
        Bootstrap samples of pairs of sentences; 0 for no intervals.

    Returns
    -------
    list of Row
        Over all sentences, and for each type: `set` is pro or anti, `setting` all, type 1 or
        type 2.
    """
    tallies = np.stack(
        [tally(one.gold, found) for one, found in zip(sentences, clusters, strict=True)]
    )
    half = len(sentences) // 2
    pairs = np.stack([tallies[:half], tallies[half:]], axis=1)
    kinds = np.array([one.kind for one in sentences[:half]])
    settings = [(ALL, np.full(half, True))]
    settings += [(f"type {kind}", kinds == kind) for kind in sorted(set(kinds.tolist()))]
    rows: list[Row] = []
    for name, among in settings:
        rng = np.random.default_rng(seed)
        about = {"setting": name, "n": int(among.sum()), "unit": "percent", "seed": seed}
        rows += _f1_rows(subject, pairs[among], about, draws, rng)
    return rows


def _f1_rows(
    subject: str, pairs: Tally, about: Mapping[str, Any], draws: int, rng: np.random.Generator
) -> list[Row]:
    """Rows of pairs, shape ``(n, 2, 3, 4)``."""
    found = 100 * conll_f1(pairs.sum(axis=0))
    columns = [found[0], found[1], found[0] - found[1]]
    ends: list[dict[str, float]] = [{}, {}, {}]
    if draws:
        means = resampled_means(pairs.reshape(len(pairs), -1), rng, draws)
        drawn = 100 * conll_f1(means.reshape(-1, 2, 3, 4))
        samples = [drawn[:, 0], drawn[:, 1], drawn[:, 0] - drawn[:, 1]]
        ends = [percentile_interval(one)._asdict() for one in samples]
    sides = {"neutral": None, "better": "higher"}
    difference = {"set": f"{PRO} − {ANTI}", "neutral": 0, "better": "neutral"}
    return [
        Row(subject, F1, float(columns[0]), {"set": PRO, **about, **sides, **ends[0]}),
        Row(subject, F1, float(columns[1]), {"set": ANTI, **about, **sides, **ends[1]}),
        Row(subject, DIFFERENCE, float(columns[2]), {**difference, **about, **ends[2]}),
    ]


def classification_rows(
    sentences: Sequence[Sentence],
    clusters: Sequence[Clusters],
    subject: str,
    settings: Settings,
    *,
    shares: Mapping[str, float] | None = None,
    shares_from: str = "the sentences",
) -> list[Row]:
    """Measure group fairness of the professions that pronouns were taken for (P3, §A.4.2).

    Parameters
    ----------
    shares
        Of women in each profession, by any of its names; without them there is no correlation, as
        half of the sentences of each profession are about women.

    Returns
    -------
    list of Row
        `undecided`, the share of sentences in which the pronoun is with no profession or several,
        and those of `fairness_rows`. No answer counts as an outcome of its own; as published it is
        left out of separation.

    Raises
    ------
    WordbiasError
        If a profession has no share.
    """
    confusion = as_classification(sentences, clusters)
    known = None
    if shares is not None:
        named = professional_shares(shares, confusion.classes)
        known, _ = shares_for(confusion.classes, named, shares_from)
    if settings.distance_name == "positions" and settings.positions is None:
        settings = replace(settings, positions=published_positions(confusion.classes))
    undecided = confusion.counts[..., -1].sum() / len(confusion)
    about = {"set": ALL, "n": len(confusion), "neutral": 0, "better": "lower"}
    return [
        Row(subject, UNDECIDED, float(undecided), about),
        *fairness_rows(confusion, subject, settings, shares=known, shares_from=shares_from),
    ]
