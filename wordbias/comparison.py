"""Results of many embeddings side by side, as in Dawkins (2021), Table 6."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.rows import Found, Source, given, read_source

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
