"""What an option of `wordbias probe` names: a column of the vectors' file, or a file of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.probes.labels import read_labels
from wordbias.probes.representations import Column

_SHOWN = 5


@dataclass(frozen=True)
class Known:
    """What is known of examples.

    Attributes
    ----------
    name
        What messages call the vectors.
    columns
        By name.
    count
        Of the examples; None does not ask how many lines a file has.
    """

    name: str
    columns: Mapping[str, Column]
    count: int | None = None

    def column(self, option: str, spec: str) -> Column:
        """Return the column or the lines of the file that an option names.

        Raises
        ------
        WordbiasError
            If it is neither, or the file has another number of lines.
        """
        if spec in self.columns:
            return self.columns[spec]
        if not Path(spec).exists():
            known = ", ".join(self.columns) or "none"
            raise WordbiasError(
                f"{option} {spec!r}: neither a column of {self.name} (it has {known}) nor a file"
            )
        found = read_labels(spec)
        if self.count is not None and len(found.codes) != self.count:
            raise WordbiasError(
                f"{spec}: {len(found.codes):,} lines for {self.count:,} vectors of {self.name}"
            )
        return found

    def places(self, option: str, spec: str) -> NDArray[np.intp]:
        """Return the examples for which ``COLUMN=VALUE`` holds: some of them, not all.

        Raises
        ------
        WordbiasError
            If it holds for none or for all.
        """
        name, equals, value = spec.rpartition("=")
        if not (name and equals):
            raise click.UsageError(f"{option}: expected FILE-or-COLUMN=VALUE, found {spec!r}")
        column = self.column(option, name)
        if value not in column.values:
            known = ", ".join(column.values[:_SHOWN])
            raise WordbiasError(f"{option}: no {name} is {value!r}; there are {known}")
        found = np.flatnonzero(column.codes == column.values.index(value))
        if len(found) == len(column.codes):
            raise WordbiasError(f"{option}: every {name} is {value!r}; choose one that some have")
        return found


def refuse_blank(path: str, labels: str, column: Column) -> None:
    """Refuse to take what has no label for a class of its own."""
    blank = [not value.strip() for value in column.values]
    count = int(np.array(blank)[column.codes].sum()) if any(blank) else 0
    if count:
        raise WordbiasError(
            f"{path}: {count:,} of {len(column.codes):,} texts have no {labels}; encode only those "
            f"that have one, with: wordbias encode --where {labels}=VALUE"
        )
