"""The best of each level (Dawkins et al. 2024, Table 5), made anew from Table 7, and as printed."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

from wordbias.contextual.table7 import BASE, ROUNDED, Entry, levels_of
from wordbias.contextual.viability import DROP, is_viable
from wordbias.errors import WordbiasError


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
    for level in levels_of(entries):
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


def _digits(entry: Entry) -> str:
    return "".join(map(str, entry.numbers))
