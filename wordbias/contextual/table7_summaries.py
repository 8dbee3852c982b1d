"""Summaries of a sweep: Dawkins et al. (2024), Table 6 and section 5."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from wordbias.contextual.table7 import Entry, levels_of
from wordbias.errors import WordbiasError
from wordbias.results import Row
from wordbias.statistics import percentile_interval, resamples

ALL = "all"


class Weighting(NamedTuple):
    """A line of Table 6: mean SNLI accuracy of pairs that differ in n_p only.

    `sd` is of the increases, ddof 1; None for a single pair. `improved` counts the increases.
    """

    level: str
    pairs: int
    hard: float
    soft: float
    increase: float
    sd: float | None
    improved: int


class Attention(NamedTuple):
    """Number of settings of layer 11 with a lower S with attention; the numbers of the others."""

    pairs: int
    improved: int
    others: tuple[tuple[int, ...], ...]


class Correlation(NamedTuple):
    """Spearman's ρ of S and η over `n` models; the interval draws the models again."""

    rho: float
    p: float
    n: int
    low: float
    high: float


def weighting(entries: Sequence[Entry]) -> list[Weighting]:
    """Return Table 6: what n_p = 1 does to SNLI accuracy, by level and in all."""
    pairs = {
        level: [(one.snli, soft.snli) for one, soft in _soft(entries) if one.level == level]
        for level in levels_of(entries)
    }
    pairs[ALL] = [pair for level in pairs.values() for pair in level]
    return [_weighting(level, np.array(found)) for level, found in pairs.items() if found]


def attention(entries: Sequence[Entry]) -> Attention:
    """Compare each setting of layer 11 with the one that has attention too, by S."""
    before = {one.numbers: one for one in entries if one.level == "L11"}
    after = {one.numbers: one for one in entries if one.level == "attn"}
    both = [numbers for numbers in before if numbers in after]
    others = [n for n in both if after[n].strength >= before[n].strength]
    return Attention(len(both), len(both) - len(others), tuple(others))


def correlation(entries: Sequence[Entry], seed: int = 0) -> Correlation:
    """Correlate S and η over all models, as the paper does.

    It prints ρ = 0.040 (p = 0.73); its Table 7 gives −.041: the sign was lost.

    Raises
    ------
    WordbiasError
        If there are fewer than three models, or S or η is the same for all.
    """
    from scipy.stats import spearmanr

    x = np.array([[one.strength, one.fairness] for one in entries])
    if len(x) < 3 or not np.ptp(x, axis=0).all():
        raise WordbiasError("Spearman's correlation needs at least 3 models that differ in S and η")
    found = spearmanr(x[:, 0], x[:, 1])
    rng = np.random.default_rng(seed)
    drawn = [x[rows] for block in resamples(len(x), rng) for rows in block]
    rhos = [spearmanr(*rows.T).statistic for rows in drawn if np.ptp(rows, axis=0).all()]
    interval = percentile_interval(np.array(rhos))
    return Correlation(float(found.statistic), float(found.pvalue), len(x), *interval)


def summary_rows(entries: Sequence[Entry], subject: str, seed: int = 0) -> list[Row]:
    """Return Table 6, the counts and the correlation as rows."""
    rows = []
    for one in weighting(entries):
        about = {"level": one.level, "n": one.pairs, "sd": one.sd, "improved": one.improved}
        about |= {"hard": one.hard, "soft": one.soft, "neutral": 0, "better": "higher"}
        rows.append(Row(subject, "snli-increase", one.increase, about))
    found = attention(entries)
    if found.pairs:
        about = {"n": found.pairs, "improved": found.improved, "neutral": 0.5, "better": "higher"}
        rows.append(Row(subject, "attention-improves", found.improved / found.pairs, about))
    rho, *around = correlation(entries, seed)
    about = dict(zip(Correlation._fields[1:], around, strict=True))
    about |= {"neutral": 0, "better": "neutral", "seed": seed}
    return [*rows, Row(subject, "spearman-strength-fairness", rho, about)]


def _soft(entries: Sequence[Entry]) -> list[tuple[Entry, Entry]]:
    """Pair each setting with n_p = 0 with the one that has n_p = 1."""
    known = {(one.level, one.numbers): one for one in entries if one.weighted}
    pairs = []
    for one in entries:
        other = known.get((one.level, (*one.numbers[:-1], 1)))
        if one.numbers and not one.weighted and other is not None:
            pairs.append((one, other))
    return pairs


def _weighting(level: str, snli: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> Weighting:
    hard, soft = snli.mean(0)
    more = snli[:, 1] - snli[:, 0]
    sd = float(more.std(ddof=1)) if len(more) > 1 else None
    improved = int((more > 0).sum())
    return Weighting(level, len(more), float(hard), float(soft), float(more.mean()), sd, improved)
