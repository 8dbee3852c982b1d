"""Comparison of embeddings: their measures and correlations (Dawkins 2021, Tables 5 and 6)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.correlation import METHODS, Correlation, correlation, fisher_interval, robustness
from wordbias.draws import FISHER, interval_keys
from wordbias.errors import WordbiasError, listed
from wordbias.results import Row
from wordbias.rows import Found, Source, given
from wordbias.statistics import LEAST_PAIRS, is_constant

_VARIANT = ("stage", "reference", "set")
_SETTING = re.compile(r"\[.*?\]")


@dataclass(frozen=True)
class Comparison:
    """Table of embeddings × measures."""

    subjects: Sequence[str]
    measures: Sequence[str]
    # shape `(subjects, measures)`; nan for a value that is undefined or missing
    values: NDArray[np.float64]

    def find(self, name: str) -> list[int]:
        """Return the column called `name`, or all variants of the measure `name`."""
        if name in self.measures:
            return [self.measures.index(name)]
        places = [i for i, measure in enumerate(self.measures) if _measure(measure) == name]
        if not places:
            raise WordbiasError(f"no measure {name!r}; there are: {listed(self.measures)}")
        return places

    def name(self, name: str) -> str:
        """Return the full name of the only column that `name` matches."""
        names = [self.measures[i] for i in self.find(name)]
        if len(names) > 1:
            raise WordbiasError(f"{name!r} has several variants; name one of: {listed(names)}")
        return names[0]

    def only(self, names: Sequence[str]) -> Comparison:
        """Return the columns that the names match, in that order."""
        places = list(dict.fromkeys(i for name in names for i in self.find(name)))
        return Comparison(self.subjects, [self.measures[i] for i in places], self.values[:, places])

    def counts(self) -> list[int]:
        """Return the number of embeddings with a value of each measure."""
        return [int(n) for n in np.isfinite(self.values).sum(axis=0)]

    def column(self, name: str) -> NDArray[np.float64]:
        """Return the values of one measure, shape ``(subjects,)``."""
        values: NDArray[np.float64] = self.values[:, self.measures.index(name)]
        return values


def joined(sources: Sequence[Source]) -> Comparison:
    """Put results into one table; the same embedding in several files becomes one row."""
    # Rows about a single word, component or layer are left out. The original embedding is part of a
    # column's name only if one embedding was compared with several originals.
    _refuse_mixed_centring(sources)
    several = _compared_with_several(sources)
    placed: dict[tuple[str, str], tuple[float | None, str]] = {}
    for source in sources:
        for row in source.rows:
            plain = _column(row)
            key = row["subject"], _column(row, original=True) if plain in several else plain
            before = placed.get(key, (None, ""))
            if before[0] is None:
                placed[key] = row["value"], source.path
            elif row["value"] not in (None, before[0]):
                raise _conflict(key, before, (row["value"], source.path))
    return _table({key: value for key, (value, _) in placed.items()})


def _table(placed: Mapping[tuple[str, str], float | None]) -> Comparison:
    subjects = list(dict.fromkeys(subject for subject, _ in placed))
    valued = {measure for (_, measure), value in placed.items() if value is not None}
    settled = {_SETTING.sub("", measure, count=1) for measure in valued}
    measures = [
        measure
        for measure in dict.fromkeys(measure for _, measure in placed)
        # an undefined row has no setting, but is no column of its own beside those with a setting
        if measure in valued or measure not in settled
    ]
    values = np.array([[placed.get((s, m)) for m in measures] for s in subjects], float)
    return Comparison(subjects, measures, values.reshape(len(subjects), len(measures)))


def _column(row: Found, *, original: bool = False) -> str:
    setting = f"[{row['setting']}]" if given(row, "setting") else ""
    keys = (*_VARIANT, "original") if original else _VARIANT
    variant = ", ".join(str(row[key]) for key in keys if given(row, key))
    return f"{row['measure']}{setting}" + (f" ({variant})" if variant else "")


def _measure(column: str) -> str:
    """Return the name of a measure without its setting and variant."""
    return column.partition(" (")[0].partition("[")[0]


def _compared_with_several(sources: Sequence[Source]) -> set[str]:
    """Return the columns for which one embedding was compared with several originals."""
    originals: dict[tuple[str, str], set[str]] = {}
    for source in sources:
        for row in source.rows:
            if given(row, "original"):
                names = originals.setdefault((row["subject"], _column(row)), set())
                names.add(str(row["original"]))
    return {column for (_, column), distinct in originals.items() if len(distinct) > 1}


def _refuse_mixed_centring(sources: Sequence[Source]) -> None:
    first: dict[tuple[str, bool], str] = {}
    for source in sources:
        for row in source.rows:
            if given(row, "centred"):
                centred = str(row["centred"]).lower() == "true"
                first.setdefault((row["measure"], centred), source.path)
    for (measure, centred), path in first.items():
        if centred and (measure, False) in first:
            raise WordbiasError(
                f"{measure} is along the centred subspace (--centre, --as-published) in {path} and "
                f"along the one that is not centred in {first[measure, False]}: these are two "
                "measures under one name; measure all embeddings alike"
            )


def _conflict(
    key: tuple[str, str], first: tuple[float | None, str], second: tuple[float | None, str]
) -> WordbiasError:
    if first[1] == second[1]:
        given = f"{first[0]!r} and {second[0]!r} in {first[1]}"
        return WordbiasError(
            f"{key[0]}: {key[1]} is both {given}; rows of one subject and measure must differ in "
            f"setting, {', '.join(_VARIANT)} or original"
        )
    return WordbiasError(
        f"{key[0]}: {key[1]} is {first[0]!r} in {first[1]} but {second[0]!r} in {second[1]}; "
        "leave one out, or give the two embeddings two names"
    )


# Correlations (Table 5)


@dataclass(frozen=True)
class Correlations:
    """All pairs of measures, in the order of the upper triangle's rows."""

    measures: Sequence[str]
    method: str
    pairs: Sequence[Correlation]

    def matrix(self) -> NDArray[np.float64]:
        """Return r as a symmetric matrix, shape ``(m, m)``; nan where undefined."""
        matrix = np.eye(len(self.measures))
        for (i, j), pair in zip(combinations(range(len(matrix)), 2), self.pairs, strict=True):
            matrix[i, j] = matrix[j, i] = math.nan if pair.r is None else pair.r
        return matrix

    def strongest(self, *among: str) -> Correlation:
        """Return the pair with the largest \\|r\\| among those with all the given measures."""
        pairs = [pair for pair in self.pairs if set(among) <= {pair.x, pair.y}]
        defined = [pair for pair in pairs if pair.r is not None]
        if not defined:
            raise WordbiasError(f"{' – '.join(among)}: correlation undefined: {pairs[0].reason}")
        return max(defined, key=lambda pair: abs(pair.r or 0))


def correlations(table: Comparison, method: str = "pearson") -> Correlations:
    """Correlate every two measures over the embeddings that have both (pairwise deletion)."""
    # Two-sided p, not corrected for the number of pairs: Pearson's exact if the measures are
    # normal, Spearman's exact below eight embeddings, else the t approximation of scipy.stats.
    if method not in METHODS:
        raise WordbiasError(f"method {method!r}: expected one of {', '.join(METHODS)}")
    _check_enough(table)
    columns = list(zip(table.measures, table.values.T, strict=True))
    pairs = [correlation(x, y, method) for x, y in combinations(columns, 2)]
    if all(pair.r is None for pair in pairs):
        counts = [f"{name} {n}" for name, n in zip(table.measures, table.counts(), strict=True)]
        raise WordbiasError(
            f"no two measures can be correlated: {pairs[0].reason}; "
            f"embeddings with a value: {listed(counts)}"
        )
    return Correlations(table.measures, method, pairs)


def correlation_row(
    pair: Correlation,
    columns: tuple[NDArray[np.float64], NDArray[np.float64]],
    subjects: Sequence[str],
    method: str,
    seed: int = 0,
) -> Row:
    """Return a correlation as a row: intervals, the other coefficient, one embedding left out."""
    # `driver` is the embedding whose absence changes it most. With three embeddings there is only
    # the other coefficient.
    about: dict[str, Any] = {"x": pair.x, "y": pair.y, "n": pair.n, "p": pair.p, "method": method}
    about["neutral"] = 0.0
    subject = f"{pair.x} – {pair.y}"
    if pair.r is None:
        return Row(subject, "correlation", None, {**about, "reason": pair.reason})
    both = np.isfinite(columns[0]) & np.isfinite(columns[1])
    x, y = (column[both] for column in columns)
    (other,) = (coefficient for coefficient in METHODS if coefficient != method)
    compared = correlation((pair.x, x), (pair.y, y), other)
    about |= interval_keys(fisher_interval(pair.r, pair.n, method), FISHER, "embeddings")
    about |= {other: compared.r, f"{other}_p": compared.p}
    if (robust := robustness(x, y, method, seed)) is not None:
        if robust.bootstrap is not None:
            low, high = robust.bootstrap
            about |= {"bootstrap_low": low, "bootstrap_high": high}
        defined = robust.without[~np.isnan(robust.without)]
        if len(defined):
            about |= {"without_low": float(defined.min()), "without_high": float(defined.max())}
        then = float(robust.without[robust.driver])
        names = [name for name, has in zip(subjects, both, strict=True) if has]
        about["driver"] = names[robust.driver]
        about["without_driver"] = None if math.isnan(then) else then
    return Row(subject, "correlation", pair.r, about)


def _check_enough(table: Comparison) -> None:
    if len(table.subjects) < LEAST_PAIRS:
        raise WordbiasError(
            f"correlations need at least {LEAST_PAIRS} embeddings, found {len(table.subjects)}: "
            f"{listed(table.subjects)}; give the results of more, or show the values of few side "
            "by side with report"
        )
    if len(table.measures) < 2:
        raise WordbiasError(
            f"correlations need at least 2 measures, found {len(table.measures)}: "
            f"{listed(table.measures)}"
        )
    for reason in constants(table).values():
        raise WordbiasError(f"{reason}: nothing correlates with a constant; leave it out")


def constants(table: Comparison) -> dict[str, str]:
    """Return a message for each measure that is the same for all embeddings, by its name."""
    messages = {}
    for name, column in zip(table.measures, table.values.T, strict=True):
        defined = column[np.isfinite(column)]
        if len(defined) >= LEAST_PAIRS and is_constant(defined):
            messages[name] = (
                f"{name} is {defined[0]:g} for all {len(defined)} embeddings that have it"
            )
    return messages
