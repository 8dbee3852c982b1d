"""The table of all settings: S, D, parity, accuracy and SNLI of each model of a sweep.

Dawkins et al. (2024), Table 7. η is always parity · accuracy: one printed η, that of SENT with
n_p = 1, repeats the line above it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from wordbias.contextual.settings import LEVELS, Settings
from wordbias.contextual.stereoset.tables import read_text
from wordbias.contextual.stereoset.tables import records as read_records
from wordbias.errors import WordbiasError

BASE, SENT_DEBIAS = "Base", "Sent-debias"
ROUNDED = 1.5e-4
"""How far a printed η may be from printed parity · accuracy, four digits each."""
_SETTINGS = "settings (n11 c11 n12 c12 np)"
_NUMBERS = ("strength", "distance", "parity", "accuracy", "fairness", "snli_accuracy")


@dataclass(frozen=True)
class Entry:
    """One model of a sweep.

    Attributes
    ----------
    level
        Base, Sent-debias, or the earliest intervention: one of the `LEVELS` of settings.
    numbers
        Of its setting, as printed; none for Base and Sent-debias.
    strength, distance
        S and D on enhanced StereoSet: lower is better.
    parity, accuracy
        On the NLI pairs; higher is better.
    snli
        Accuracy on SNLI.
    printed
        η as a table prints it, if it does.
    """

    level: str
    numbers: tuple[int, ...]
    strength: float
    distance: float
    parity: float
    accuracy: float
    snli: float
    printed: float | None = None

    @property
    def fairness(self) -> float:
        """η = accuracy · parity."""
        return self.accuracy * self.parity

    @property
    def name(self) -> str:
        """Level and numbers: ``L11-01110``."""
        return "-".join([self.level, *(["".join(map(str, self.numbers))] if self.numbers else [])])

    @property
    def weighted(self) -> bool:
        """Whether n_p is 1: the sentence's vector is projected softly."""
        return self.numbers[-1:] == (1,)


def load_table(path: str | Path) -> list[Entry]:
    """Read a table of all settings.

    Parameters
    ----------
    path
        CSV with the columns level, settings (n11 c11 n12 c12 np), strength, distance, parity,
        accuracy, fairness and snli_accuracy.

    Raises
    ------
    WordbiasError
        If columns are missing, or a row is no setting or holds no numbers (with its line).
    """
    source = read_text(path)
    columns = {name: [name] for name in ("level", _SETTINGS, *_NUMBERS)}
    entries = []
    for line, row in read_records(source, columns, optional=[_SETTINGS]):
        try:
            entries.append(_entry(row))
        except (ValueError, KeyError) as error:
            raise WordbiasError(f"{path}: line {line}: {error}") from None
    if not entries:
        raise WordbiasError(f"{path}: holds no model, only a line of names")
    return entries


def records(entries: Sequence[Entry]) -> list[dict[str, str | float]]:
    """Return the table with the columns of the published one, as `load_table` reads it."""
    return [
        {
            "level": one.level,
            _SETTINGS: " ".join(map(str, one.numbers)),
            "strength": one.strength,
            "distance": one.distance,
            "parity": one.parity,
            "accuracy": one.accuracy,
            "fairness": one.fairness,
            "snli_accuracy": one.snli,
        }
        for one in entries
    ]


def misprints(entries: Sequence[Entry]) -> list[Entry]:
    """Return the models whose printed η is not the product of their parity and accuracy."""
    return [
        one
        for one in entries
        if one.printed is not None and abs(one.printed - one.fairness) > ROUNDED
    ]


def _entry(row: dict[str, str]) -> Entry:
    level, numbers = row["level"], tuple(map(int, row[_SETTINGS].split()))
    if level not in (BASE, SENT_DEBIAS):
        if level not in LEVELS:
            raise WordbiasError(
                f"level {level!r}: expected one of {', '.join((BASE, SENT_DEBIAS, *LEVELS))}"
            )
        Settings.parse(f"{level}-{''.join(map(str, numbers))}")
    s, d, parity, accuracy, eta, snli = (float(row[name]) for name in _NUMBERS)
    if not np.isfinite([s, d, parity, accuracy, eta, snli]).all():
        raise WordbiasError("expected finite numbers")
    return Entry(level, numbers, s, d, parity, accuracy, snli, eta)


def levels_of(entries: Sequence[Entry]) -> list[str]:
    """Return the levels that entries are of, the plainest first."""
    present = {one.level for one in entries}
    return [level for level in LEVELS if level in present]
