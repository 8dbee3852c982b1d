"""What `wordbias sweep` found, as tables and sentences for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wordbias.contextual.table5 import Best, best_by_level, differences
from wordbias.contextual.table7 import BASE, Entry, misprints
from wordbias.contextual.table7_summaries import ALL, Attention, Weighting
from wordbias.contextual.viability import is_viable
from wordbias.rendering import Table
from wordbias.results import Row, number

LEVELS = {"SENT": "sentence", "L12": "layer 12", "L11": "layer 11", "attn": "+ attention"}
SETTINGS = "settings (n11 c11 n12 c12 np)"
_PUBLISHED_BASE = (0.3069, 0.7052, 0.8889)
UNINFORMATIVE = 0.7


def table7(entries: Sequence[Entry], drop: float, relative: bool) -> Table:
    """One line a model."""
    base = next((one.snli for one in entries if one.level == BASE), None)
    cells = []
    for one in entries:
        values = (one.strength, one.distance, one.parity, one.accuracy, one.fairness, one.snli)
        viable = base is None or is_viable(one.snli, base, drop, relative=relative)
        cells.append([one.name, *map(number, values), "yes" if viable else "no"])
    limit = f"{drop:.0%} of what the base reaches" if relative else f"{100 * drop:g} points"
    return Table(
        "All settings (Dawkins et al. 2024, Table 7)",
        ["model", "S", "D", "parity", "accuracy", "η", "SNLI", "viable"],
        cells,
        "Layers are counted from the end: L12 is the last. Digits are n11 c11 n12 c12 np, without "
        "those of layers that are left alone. Lower is better for S and D, higher for the others; "
        f"η = parity · accuracy. Viable: loses at most {limit} on SNLI.",
    )


def best_table(found: Sequence[Best]) -> Table:
    """One line a level."""
    cells = [
        [
            LEVELS[best.level],
            f"{number(best.strength.strength)} {_digits(best.strength)}",
            f"{number(best.distance.distance)} {_digits(best.distance)}",
            "–"
            if best.fairness is None
            else f"{number(best.fairness.fairness)} {_digits(best.fairness)}",
            "–" if best.fairness is None else number(best.fairness.snli),
        ]
        for best in found
    ]
    return Table(
        "The best of each level (Table 5)",
        ["", "lowest S", "lowest D", "highest η that is viable", "its SNLI"],
        cells,
    )


def weighting_table(found: Sequence[Weighting]) -> Table:
    """One line a level: what weighting the sentence's projection does to SNLI."""
    cells = [
        [
            "all" if one.level == ALL else LEVELS[one.level],
            str(one.pairs),
            number(one.hard),
            number(one.soft),
            number(one.increase),
            "–" if one.sd is None else number(one.sd),
            f"{one.improved} of {one.pairs}",
        ]
        for one in found
    ]
    return Table(
        "SNLI accuracy without and with the weight n_p at the sentence (Table 6)",
        ["", "pairs", "np = 0", "np = 1", "increase", "sd", "improved"],
        cells,
    )


def sentences(attention: Attention, rho: Row | None) -> list[str]:
    """Say what the counts and the correlation are."""
    said = []
    if attention.pairs:
        said.append(
            f"With attention S is lower in {attention.improved} of {attention.pairs} settings of "
            "layer 11."
        )
    if rho is not None:
        about = rho.details
        said.append(
            f"Spearman's ρ of S and η over {about['n']} models: {number(rho.value, 3)} (p = "
            f"{about['p']:.3f}; 95 % of models drawn again: {about['low']:.2f} … "
            f"{about['high']:.2f})."
        )
    return said


def best_rows(found: Sequence[Best], subject: str) -> list[Row]:
    """Return Table 5 as rows."""
    rows = []
    for best in found:
        for name, one, better in (
            ("strength", best.strength, "lower"),
            ("distance", best.distance, "lower"),
            ("fairness", best.fairness, "higher"),
        ):
            if one is None:
                about: dict[str, Any] = {"level": best.level, "reason": "no model is viable"}
                rows.append(Row(subject, "best-fairness", None, about))
                continue
            neutral = 1 if name == "fairness" else 0
            about = {"level": best.level, "setting": one.name, "snli": one.snli, "n": 1}
            about |= {"neutral": neutral, "better": better}
            rows.append(Row(subject, f"best-{name}", getattr(one, name), about))
    return rows


def records(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Return Table 7 with the columns of the published one."""
    return [
        {
            "level": one.level,
            SETTINGS: " ".join(map(str, one.numbers)),
            "strength": one.strength,
            "distance": one.distance,
            "parity": one.parity,
            "accuracy": one.accuracy,
            "fairness": one.fairness,
            "snli_accuracy": one.snli,
        }
        for one in entries
    ]


def remarks(entries: Sequence[Entry], drop: float, relative: bool) -> list[str]:
    """Say what a reader of the table must know: misprints, and a model that is no good."""
    said = [
        f"{one.name}: the table says η = {one.printed:.4f}, parity · accuracy is {one.fairness:.4f}"
        for one in misprints(entries)
    ]
    base = [one for one in entries if one.level == BASE]
    if base and (base[0].strength, base[0].distance, base[0].snli) == _PUBLISHED_BASE:
        said += differences(best_by_level(entries, drop, relative=relative))
    if base and base[0].snli < UNINFORMATIVE:
        said.append(
            f"the NLI model reaches {base[0].snli:.3f} on SNLI as it is, less than "
            f"{UNINFORMATIVE:g}: what a setting does to it says little"
        )
    return said


def _digits(one: Entry) -> str:
    return f"({','.join(map(str, one.numbers))})"
