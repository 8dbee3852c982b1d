"""What a sweep says: the summaries of Dawkins et al. (2024), Tables 5 and 6 and section 5."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from wordbias.contextual.nli_fairness import DROP, is_viable
from wordbias.contextual.settings import LEVELS
from wordbias.contextual.table7 import BASE, ROUNDED, Entry
from wordbias.errors import WordbiasError
from wordbias.measures.bootstrap import SAMPLES, percentile_interval
from wordbias.results import Row

ALL = "all"


class Best(NamedTuple):
    """A line of Table 5: the best models of a level; `fairness` among the viable ones, if any."""

    level: str
    strength: Entry
    distance: Entry
    fairness: Entry | None


class Printed(NamedTuple):
    """A line of Table 5 as it is printed, numbers of settings as text."""

    strength: float
    strength_of: str
    distance: float
    distance_of: str
    fairness: float
    snli: float
    fairness_of: str


PRINTED_TABLE_5 = {
    "SENT": Printed(0.3077, "0", 0.5972, "0", 0.1231, 0.8458, "0"),
    "L12": Printed(0.2878, "000", 0.5318, "110", 0.1368, 0.8684, "001"),
    "L11": Printed(0.2465, "00010", 0.4486, "01110", 0.6493, 0.8370, "00111"),
    "attn": Printed(0.1938, "00100", 0.3681, "00110", 0.4120, 0.8481, "11001"),
}


class Weighting(NamedTuple):
    """A line of Table 6: mean SNLI accuracy of pairs that differ in n_p alone.

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
    """How many settings of layer 11 have a lower S with attention; the numbers of the others."""

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


def best_by_level(
    entries: Sequence[Entry], drop: float = DROP, *, relative: bool = False
) -> list[Best]:
    """Return Table 5: for each level the lowest S, the lowest D, and the highest η that is viable.

    Raises
    ------
    WordbiasError
        If no entry is the base that viability compares with.
    """
    base = [one.snli for one in entries if one.level == BASE]
    if not base:
        raise WordbiasError("no model is the base; viability compares with its SNLI accuracy")
    found = []
    for level in _levels(entries):
        models = [one for one in entries if one.level == level]
        viable = [one for one in models if is_viable(one.snli, base[0], drop, relative=relative)]
        s, d = (min(models, key=attrgetter(name)) for name in ("strength", "distance"))
        eta = max(viable, key=attrgetter("fairness"), default=None)
        found.append(Best(level, s, d, eta))
    return found


def differences(found: Sequence[Best]) -> list[str]:
    """Say where Table 5, made anew from Table 7, is not what is printed."""
    said = []
    for best in found:
        printed = PRINTED_TABLE_5[best.level]
        cells = [
            ("S", best.strength, best.strength.strength, printed.strength, printed.strength_of),
            ("D", best.distance, best.distance.distance, printed.distance, printed.distance_of),
        ]
        if best.fairness is not None:
            cells.append(
                ("η", best.fairness, best.fairness.fairness, printed.fairness, printed.fairness_of)
            )
        for name, entry, value, was, of in cells:
            if abs(value - was) > ROUNDED or _digits(entry) != of:
                said.append(
                    f"{best.level} {name}: printed {was:.4f} ({of}), best is {value:.4f} "
                    f"({_digits(entry)})"
                )
        if best.fairness is None:
            said.append(f"{best.level} η: printed {printed.fairness:.4f}, no model is viable")
    return said


def weighting(entries: Sequence[Entry]) -> list[Weighting]:
    """Return Table 6: what n_p = 1 does to SNLI accuracy, by level and in all."""
    pairs = {
        level: [(one.snli, soft.snli) for one, soft in _soft(entries) if one.level == level]
        for level in _levels(entries)
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
    drawn = [x[rng.integers(len(x), size=len(x))] for _ in range(SAMPLES)]
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


def _levels(entries: Sequence[Entry]) -> list[str]:
    present = {one.level for one in entries}
    return [level for level in LEVELS if level in present]


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


def _digits(entry: Entry) -> str:
    return "".join(map(str, entry.numbers))
