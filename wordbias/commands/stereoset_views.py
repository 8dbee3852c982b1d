"""What `wordbias stereoset` found, as tables and sentences for people."""

from __future__ import annotations

from collections.abc import Sequence

from wordbias.contextual.stereoset.crows_pairs import CrowsPairs
from wordbias.contextual.stereoset.data import Data
from wordbias.contextual.stereoset.gsss import Gsss
from wordbias.contextual.stereoset.original import KINDS, StereoSet
from wordbias.contextual.stereoset.repair import Repaired
from wordbias.contextual.stereoset.settings import Settings
from wordbias.rendering import Table, how_many
from wordbias.results import Row, number

_GSSS = {
    "strength": "Strength S",
    "opposite-strength": "S of the opposite",
    "distance": "Distance D",
    "mean-strength": "mean s",
    "ss": "SS",
}
_SUBSETS = {"M": "about men", "F": "about women"}
_TAIL = (
    "A mean of the most extreme is above 0 by chance alone, and so is its interval: read S beside "
    "S of the opposite, which has the labels exchanged. The intervals draw the triples again."
)


def describe(data: Data) -> str:
    """Name a data file and what is in it."""
    if isinstance(data, Gsss):
        return f"enhanced StereoSet, {how_many(len(data.triples), 'triple')} ({data.path})"
    if isinstance(data, CrowsPairs):
        return f"CrowS-Pairs, {how_many(len(data.pairs), 'pair')} ({data.path})"
    between, within = (len(data.items[kind]) for kind in KINDS)
    sizes = f"{between} between and {within} within sentences"
    return f"StereoSet, {sizes} ({data.path})"


def notes_about(data: Data, repaired: Repaired | None, *, blanks: bool = True) -> list[str]:
    """Say what a reader must know of enhanced StereoSet's swaps, and of items with two blanks.

    Parameters
    ----------
    blanks
        Whether StereoSet's blanks are scored.
    """
    if isinstance(data, StereoSet) and blanks and data.several_blanks:
        return [_several_blanks(data)]
    if not isinstance(data, Gsss):
        return []
    notes = []
    if repaired is not None:
        counts = ", ".join(f"{rule} in {count}" for rule, count in repaired.counts().items())
        triples = f"{len(repaired.ids())} of {how_many(len(data.triples), 'triple')}"
        notes.append(f"sentences whose swap was repaired: {counts}; {triples}")
    if altered := data.altered_unrelated():
        notes.append(
            f"{len(altered)} unrelated sentences are not the same after the swap, though the paper "
            "says they are; D takes them as they are"
        )
    if same := data.unswapped():
        notes.append(f"nothing is swapped in the triples {', '.join(same)}: their s is 0")
    return notes


def _several_blanks(data: StereoSet) -> str:
    names = data.several_blanks
    what = (
        f"{len(names)} of {how_many(len(data.items['intrasentence']), 'item')} within sentences "
        f"have more than one blank ({', '.join(names)})"
    )
    if data.as_published:
        return f"{what}; the word of the last one is taken, as StereoSet's loader does"
    return f"{what} and are left out; --as-published takes them"


def tables(rows: Sequence[Row], settings: Settings) -> list[Table]:
    """Arrange the rows, one table a model."""
    return [
        _table(subject, [row for row in rows if row.subject == subject], settings)
        for subject in dict.fromkeys(row.subject for row in rows)
    ]


def _table(subject: str, rows: Sequence[Row], settings: Settings) -> Table:
    kind = rows[0].measure
    if kind == "crows":
        return _crows(subject, rows)
    return (
        _stereoset(subject, rows, settings) if "task" in rows[0].details else _gsss(subject, rows)
    )


def _gsss(subject: str, rows: Sequence[Row]) -> Table:
    """One line a measure and subset, the published swaps beside the repaired ones."""
    versions = list(dict.fromkeys(row.details["version"] for row in rows))
    found = {(row.measure, row.details["subset"], row.details["version"]): row for row in rows}
    subsets = list(dict.fromkeys(row.details["subset"] for row in rows))
    cells = []
    for measure in (one for one in _GSSS if any(row.measure == one for row in rows)):
        for subset in subsets:
            of = [found[measure, subset, version] for version in versions]
            label = ", ".join([_GSSS[measure], *([_SUBSETS[subset]] if subset in _SUBSETS else [])])
            values = [cell for row in of for cell in (number(row.value), _interval(row))]
            cells.append([label, _size(of[0]), _ideal(of[0]), *values])
    heads = [head for version in versions for head in (version, "95 %")]
    s = next(row.details for row in rows if row.measure == "strength")
    by = "of largest |s|" if s["by"] == "absolute" else "of largest s"
    chosen = f"S and D are means of the {s['share']:.0%} of triples {by} and of largest d"
    return Table(subject, ["", "n", "no bias", *heads], cells, f"{chosen}. {_TAIL}")


def _stereoset(subject: str, rows: Sequence[Row], settings: Settings) -> Table:
    keys = list(dict.fromkeys((row.details["task"], row.details["subset"]) for row in rows))
    found = {(row.details["task"], row.details["subset"], row.measure): row for row in rows}
    cells = []
    for key in keys:
        of = [found[*key, measure] for measure in ("ss", "lms", "icat")]
        cells.append([*key, str(of[0].details["n"]), *map(_with_interval, of)])
    average = "terms" if settings.as_published else "triples"
    return Table(
        subject,
        ["task", "about", "n", "ss (.5 is none)", "lms (1 is best)", "icat (1 is best)"],
        cells,
        f"Means over {average}; 95 % intervals draw the triples again.",
    )


def _crows(subject: str, rows: Sequence[Row]) -> Table:
    cells = [
        [row.details["subset"], str(row.details["n"]), number(row.value), _interval(row)]
        for row in rows
    ]
    return Table(
        subject,
        ["pairs", "n", "stereotyping one likelier", "95 %"],
        cells,
        "No preference is .5; the intervals draw the pairs again.",
    )


def _size(row: Row) -> str:
    return str(row.details.get("extremes", row.details["n"]))


def _ideal(row: Row) -> str:
    return number(row.details["neutral"], 1).removesuffix(".0")


def _interval(row: Row) -> str:
    low, high = (round(row.details[end], 3) + 0.0 for end in ("low", "high"))  # no minus zero
    return f"{low:.3f} … {high:.3f}"


def _with_interval(row: Row) -> str:
    return f"{number(row.value, 3)} [{row.details['low']:.2f}, {row.details['high']:.2f}]"
