"""Results of many embeddings side by side, and how their measures correlate."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.rows import Found, Source, given, read_source
from wordbias.statistics import exact_spearman_p

_VARIANT = ("stage", "reference", "set")
_SHOWN = 12
_SETTING = re.compile(r"\[.*?\]")


@dataclass(frozen=True)
class Comparison:
    """Embeddings × measures.

    Attributes
    ----------
    subjects, measures
        Names of the rows and of the columns.
    values
        Shape ``(subjects, measures)``; nan where a value is undefined or was not measured.
    """

    subjects: Sequence[str]
    measures: Sequence[str]
    values: NDArray[np.float64]

    def find(self, name: str) -> list[int]:
        """Return the column called `name`, or all variants of the measure `name`."""
        if name in self.measures:
            return [self.measures.index(name)]
        found = [i for i, measure in enumerate(self.measures) if _plain(measure) == name]
        if not found:
            raise WordbiasError(f"no measure {name!r}; there are: {listed(self.measures)}")
        return found

    def name(self, name: str) -> str:
        """Return the full name of the one column that `name` means."""
        found = [self.measures[i] for i in self.find(name)]
        if len(found) > 1:
            raise WordbiasError(f"{name!r} has several variants; name one of: {listed(found)}")
        return found[0]

    def only(self, names: Sequence[str]) -> Comparison:
        """Keep the columns that `names` mean, in that order."""
        kept = list(dict.fromkeys(i for name in names for i in self.find(name)))
        return Comparison(self.subjects, [self.measures[i] for i in kept], self.values[:, kept])

    def counts(self) -> list[int]:
        """Count the embeddings that have each measure."""
        return [int(n) for n in np.isfinite(self.values).sum(axis=0)]

    def column(self, name: str) -> NDArray[np.float64]:
        """Return the values of one measure, shape ``(subjects,)``."""
        values: NDArray[np.float64] = self.values[:, self.measures.index(name)]
        return values


def read(paths: Sequence[str | Path]) -> tuple[Comparison, list[Source]]:
    """Read results into one table; the same embedding in several files becomes one row.

    Parameters
    ----------
    paths
        JSON, JSONL or CSV rows as the commands print them, or CSV tables whose first column names
        the embeddings and whose other columns are measures, NA where undefined. Rows about a
        single word, component or layer are left out. The columns of rows are named for example
        ``gipe[θ=0.03]`` or ``midb (after, self)``: measure, setting, stage, reference and set. The
        original embedding is part of the name only where one embedding was compared with several:
        the embeddings of a family share theirs, and families must share a column.

    Raises
    ------
    WordbiasError
        If a file cannot be read, or two values are given for one embedding and measure. What is
        undefined in one file may be given in another.
    """
    sources = [read_source(Path(path)) for path in paths]
    return joined(sources), sources


def joined(sources: Sequence[Source]) -> Comparison:
    """Put the rows of several sources into one table, as `read` does.

    Raises
    ------
    WordbiasError
        If a measure has two values of one embedding, or was taken along the centred subspace of
        one embedding and along the one that is not centred of another.
    """
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
        # an undefined row has no setting, which others have: that is no column of its own
        if measure in valued or measure not in settled
    ]
    values = np.array([[placed.get((s, m)) for m in measures] for s in subjects], float)
    return Comparison(subjects, measures, values.reshape(len(subjects), len(measures)))


def _column(row: Found, *, original: bool = False) -> str:
    setting = f"[{row['setting']}]" if given(row, "setting") else ""
    keys = (*_VARIANT, "original") if original else _VARIANT
    variant = ", ".join(str(row[key]) for key in keys if given(row, key))
    return f"{row['measure']}{setting}" + (f" ({variant})" if variant else "")


def _plain(column: str) -> str:
    """Return the measure's name without what tells its variants apart."""
    return column.partition(" (")[0].partition("[")[0]


def _compared_with_several(sources: Sequence[Source]) -> set[str]:
    """Return the columns for which one embedding was compared with several originals."""
    originals: dict[tuple[str, str], set[str]] = {}
    for source in sources:
        for row in source.rows:
            if given(row, "original"):
                found = originals.setdefault((row["subject"], _column(row)), set())
                found.add(str(row["original"]))
    return {column for (_, column), found in originals.items() if len(found) > 1}


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
                f"{measure} is along the centred subspace (--center, --as-published) in {path} and "
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


def listed(names: Sequence[str]) -> str:
    """Join names for a message; of very many only the first."""
    more = f", … ({len(names)} in all)" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


METHODS = ("pearson", "spearman")
LEAST = 3
_CONSTANT = 1e-12
_EXACT = 8  # embeddings from which Spearman's p is approximated


class Correlation(NamedTuple):
    """Correlation of two measures; `r` and `p` are None where undefined, for a `reason`."""

    x: str
    y: str
    r: float | None
    n: int
    p: float | None
    reason: str = ""


@dataclass(frozen=True)
class Correlations:
    """All pairs of measures, in the order of the upper triangle's rows."""

    measures: Sequence[str]
    method: str
    pairs: Sequence[Correlation]

    def matrix(self) -> NDArray[np.float64]:
        """Return r as a symmetric matrix, shape ``(m, m)``; nan where undefined."""
        found = np.eye(len(self.measures))
        for (i, j), pair in zip(combinations(range(len(found)), 2), self.pairs, strict=True):
            found[i, j] = found[j, i] = math.nan if pair.r is None else pair.r
        return found

    def strongest(self, *among: str) -> Correlation:
        """Return the pair of largest \\|r\\| that has all the measures in `among`."""
        pairs = [pair for pair in self.pairs if set(among) <= {pair.x, pair.y}]
        defined = [pair for pair in pairs if pair.r is not None]
        if not defined:
            raise WordbiasError(f"{' – '.join(among)}: correlation undefined: {pairs[0].reason}")
        return max(defined, key=lambda pair: abs(pair.r or 0))


def correlations(table: Comparison, method: str = "pearson") -> Correlations:
    """Correlate every two measures over the embeddings that have both (pairwise deletion).

    Parameters
    ----------
    table
        At least three embeddings and two measures.
    method
        "pearson" as the paper, or "spearman".

    Returns
    -------
    Correlations
        With two-sided p values: of scipy.stats, which are exact for Pearson if the measures are
        normal and the t approximation for Spearman; with fewer than eight embeddings Spearman's is
        exact, over all permutations. Not corrected for the number of pairs.

    Raises
    ------
    WordbiasError
        If there is too little to correlate, or a measure is the same for all embeddings. One that
        is constant only among the embeddings of a pair leaves that pair undefined.
    """
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


def _check_enough(table: Comparison) -> None:
    if len(table.subjects) < LEAST:
        raise WordbiasError(
            f"correlations need at least {LEAST} embeddings, found {len(table.subjects)}: "
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
    """Return what each measure that is the same for all embeddings is, in words, by its name."""
    found = {}
    for name, column in zip(table.measures, table.values.T, strict=True):
        defined = column[np.isfinite(column)]
        if len(defined) >= LEAST and _is_constant(defined):
            found[name] = f"{name} is {defined[0]:g} for all {len(defined)} embeddings that have it"
    return found


def correlation(
    x: tuple[str, NDArray[np.float64]], y: tuple[str, NDArray[np.float64]], method: str
) -> Correlation:
    """Correlate two named columns over the rows that have both; nan is a missing value."""
    from scipy import stats

    both = np.isfinite(x[1]) & np.isfinite(y[1])
    n = int(both.sum())
    if n < LEAST:
        reason = f"{n} embeddings have both {x[0]} and {y[0]}, needed are {LEAST}"
        return Correlation(x[0], y[0], None, n, None, reason)
    for name, column in (x, y):
        if _is_constant(column[both]):
            reason = f"{name} is constant over the {n} embeddings that have both"
            return Correlation(x[0], y[0], None, n, None, reason)
    a, b = (column[both] / np.abs(column[both]).max() for _, column in (x, y))  # no overflow
    found = (stats.pearsonr if method == "pearson" else stats.spearmanr)(a, b)
    r = min(1.0, max(-1.0, float(found.statistic)))
    p = exact_spearman_p(a, b) if method == "spearman" and n < _EXACT else float(found.pvalue)
    return Correlation(x[0], y[0], r, n, p)


def _is_constant(values: NDArray[np.float64]) -> bool:
    largest = np.abs(values).max()
    return bool(largest == 0 or np.ptp(values / largest) <= _CONSTANT)
