"""Tables of rows for people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from wordbias import cells
from wordbias.measures.chance import DRAWS, key_of
from wordbias.measures.known import Place, place, place_less_chance
from wordbias.measures.registry import BY_KEY, FAMILY_OF, column_title, short_title, staged_title
from wordbias.methods.effect import Effect, Study
from wordbias.pivot import Column, pivot, values
from wordbias.rendering import Table, how_many
from wordbias.results import Row, number
from wordbias.wordlists import Attribute

_NULLS = {
    "null": ("weights", "the same number of random directions, with the same weights"),
    "null_as_far": ("as far", "enough random directions to move words as far, at length one"),
    "null_covariance": ("covariance", "the same, drawn by the covariance of the words"),
}
"""Kinds of random removals by their keys, each with its column and what it is."""


def components_table(study: Study, attribute: Attribute) -> Table:
    """Make a line for each component."""
    components = study.diagnosis.components
    first, second = attribute.groups
    share = ", which is rounding"
    if components.differ:
        share = f"; {components.share:.1%} of ‖Δ‖² lies inside their span{_by_chance(study)}"
    columns = values("weight a", ("removed", cells.detail("removed")))
    columns += values(("cos(g, Δ)", cells.detail("cos_difference")))
    columns += values((f"cos(g, {axis_name(attribute)})", cells.detail("cos_direction")))
    columns += values(("sign stability", cells.detail("sign_stability")))
    return pivot(
        f"Components ({'centred' if study.diagnosis.centre else 'not centred'})",
        [row for row in study.components if row.measure == "explained-variance"],
        lambda row: f"g{row.details['component']}",
        columns,
        f"Δ = mean {first} − mean {second}{share}. They explain "
        f"{components.weights.sum():.1%} of the variance.",
    )


def _by_chance(study: Study) -> str:
    chance = study.components[-1].details.get("chance")
    return "" if chance is None else f", by chance {chance:.1%} (groups that do not differ)"


def axis_name(attribute: Attribute) -> str:
    """Return the name of the difference that direct bias is measured along."""
    return " − ".join(attribute.direction) if attribute.direction else "no axis"


def summary_table(study: Study, attribute: Attribute) -> Table:
    """Make five lines: the distance of the groups' means, two measures, and two costs."""
    by_measure = {
        (row.measure, row.details["stage"]): row
        for row in reversed(study.measured.rows)
        if "word" not in row.details and row.details.get("reference") != "self"
    }
    first, second = study.diagnosis.vectors
    delta = first.mean(0, np.float64) - second.mean(0, np.float64)
    stages = {"before": delta, "after": study.projection(delta)}
    rows = [Row("", "", float(np.linalg.norm(gap)), {"stage": at}) for at, gap in stages.items()]
    measures = (BY_KEY["midb"].main, "direct-bias", "displacement", "neighbours-preserved")
    rows += [
        by_measure[measure, at]
        for measure in measures
        for at in stages
        if (measure, at) in by_measure
    ]

    def title(row: Row) -> str:
        if not row.measure:
            return "distance between the groups' means"
        k = str(row.details.get("setting", ""))
        text = column_title(row.measure).format(axis=axis_name(attribute), k=k)
        return f"cost: {text}" if FAMILY_OF[row.measure].kind == "change" else text

    note = "after: along the directions fitted before"
    if any(cells.has(row, "chance") for row in rows):
        note += "; by chance: mean and range along axes that do not mean the attribute"
    columns = _STAGES + values(("by chance", cells.chance), stage="before")
    return pivot("Before and after", rows, title, columns, note)


_STAGES = values("before", stage="before")
_STAGES += values("after", stage="after", reference=("before", None))


def effect_table(measured: Effect, attribute: Attribute | None) -> Table:
    """Make a line for each measure: before; after, along the same and along refitted directions."""
    rows = [row for row in measured.rows if "word" not in row.details]
    firsts = [row for row in rows if row.details.get("stage") == "before"]
    columns = _STAGES + values("refitted", stage="after", reference="self")
    columns += values(("chance", cells.chance), stage="before") + values("ideal")
    note = "after: along the directions fitted before; refitted: along those of the result"
    notes = "; ".join([note, *length_notes(rows), *chance_notes(firsts)])
    return pivot("Bias and change", rows, partial(_staged, attribute), columns, notes)


def _staged(attribute: Attribute | None, row: Row) -> str:
    axis = "no axis" if attribute is None else axis_name(attribute)
    return staged_title(row.measure, axis=axis, k=str(row.details.get("setting", "")))


def _refitted(attribute: Attribute | None, row: Row) -> str:
    refitted = ", refitted" if row.details.get("reference") == "self" else ""
    return _staged(attribute, row) + refitted


def null_table(rows: Sequence[Row], attribute: Attribute | None = None) -> Table:
    """Make a line for each row with random removals: its change, and theirs."""
    # With an attribute the rows are those of `with_null`, else those of measures.
    rows = [row for row in rows if cells.has(row, "null")]
    notes = dict(_NULLS.values())
    for about in (row.details for row in rows):
        for name, (head, what) in _NULLS.items():
            if f"{name}_directions" in about:
                notes[head] = f"{what} ({number(about[f'{name}_directions'], 2)} on average)"
            elif f"{name}_reason" in about:
                notes[head] = f"there are none: {about[f'{name}_reason']}"
    columns = values(("change", cells.mean_of("change")))
    for name, (head, _) in _NULLS.items():
        columns += values((head, cells.mean_of(name)), ("p", cells.p_of(name)))
    draws = max((row.details["null_draws"] for row in rows), default=0)
    what = "Change of measures" if attribute is None else "Change"
    title = f"{what}, compared with {how_many(draws, 'random removal')} of each kind"
    note = (
        "; ".join(f"{head}: {what}" for head, what in notes.items())
        + ". Each kind has its mean, and p: the share of removals, the fitted one included, that "
        "change as much or more"
    )
    label = _label if attribute is None else partial(_refitted, attribute)
    return pivot(title, rows, label, columns, note)


def effect_lists_tables(study: Study, attribute: Attribute) -> list[Table]:
    """Make a line for each measure: its intervals over word lists, and along the names left out."""
    rows = [row for row in study.measured.rows if cells.has(row, "lists")]
    if not rows:
        return []
    changed = [row for row in rows if cells.has(row, "change")]
    starts = {row.measure: row for row in rows if row.details["stage"] == "before"}
    unseen = [row for row in changed if cells.has(row, "unseen_change")]

    def start(row: Row) -> str:
        return cells.ends(starts[row.measure], "lists") if row.measure in starts else ""

    drawn = how_many(max((row.details["lists_draws"] for row in changed), default=0), "redraw")
    title = f"Fitted to other word lists: middle 95 % of {drawn}"
    columns = values(("before", start), ("after", cells.interval_of("lists")))
    columns += _changed("change", "change_lists")
    note = (
        f"{_REDRAWN}. MISP is fitted to each redraw, and bias is measured along it before and "
        f"after. {_COVERS}{_outside(rows, partial(_refitted, attribute))}"
    )
    tables = [pivot(title, changed, partial(_refitted, attribute), columns, note)]
    if unseen:
        title = "Along the names that a redraw left out, to which nothing was fitted"
        columns = values(("before", cells.mean_of("unseen_before")))
        columns += _changed("unseen_change", "unseen")
        note = (
            "means over the redraws, and the middle 95 % of the changes. Fewer names give larger "
            "weights: compare the change with the value before"
        )
        tables.append(pivot(title, unseen, partial(_staged, attribute), columns, note))
    return tables


def _outside(rows: Sequence[Row], name: Callable[[Row], str]) -> str:
    """Name the rows whose value or change is outside its interval over word lists, and say why."""
    outside: dict[str, None] = {}
    for row in rows:
        for kind, value in (("lists", row.value), ("change_lists", row.details.get("change"))):
            ends = cells.ends_of(row, kind)
            if ends is not None and value is not None and not ends[0] <= value <= ends[1]:
                outside[name(row)] = None
    why = "A redraw has fewer different words, and its subspace fits them more closely"
    return f". Outside their intervals: {'; '.join(outside)}. {why}" if outside else ""


def _changed(key: str, kind: str, head: str = "change") -> list[Column]:
    return values((head, cells.mean_of(key)), ("95 %", lambda row: cells.ends(row, kind)))


_REDRAWN = "the same number of the attribute's names and pairs, drawn again with replacement"
_COVERS = (
    "The interval covers the choice of words of this kind. It does not cover other kinds of lists, "
    "or the choice of neutral words"
)


def measures_tables(rows: list[Row]) -> list[Table]:
    """Make a line for each measure and setting, a column for each embedding."""
    # Chance levels that differ between embeddings have a table of their own, with the same columns.
    subjects = dict.fromkeys(row.subject for row in rows)
    several = len(subjects) > 1

    def of_each(cell: cells.Cell) -> list[Column]:
        parts = [(name, name if several else "") for name in subjects]
        return [c for name, part in parts for c in values((name, cell), part=part, subject=name)]

    levels: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        if cells.has(row, "chance"):
            levels.setdefault(key_of(row), set()).add(_level(row))
    differ = any(len(chance_levels) > 1 for chance_levels in levels.values())
    columns = of_each(cells.with_half_width if several else cells.with_interval)
    known = [] if several else known_notes(rows)
    columns += [] if differ else values(("chance", _level))
    columns += values(("above", lambda row: _placed(place(row)))) if known else []
    title = "Bias, with the 95 % interval over words" + " (± half its width)" * several
    by_chance = chance_notes(rows)
    notes = "; ".join([*length_notes(rows), *([] if differ else by_chance), *known])
    tables = [pivot(title, rows, _label, columns + values("ideal"), notes)] if rows else []
    if differ:
        title, with_chance = "By chance", [row for row in rows if cells.has(row, "chance")]
        tables.append(pivot(title, with_chance, _label, of_each(_level), "; ".join(by_chance)))
    return tables


def _level(row: Row) -> str:
    """Write the chance level; nothing for vectors of other lengths, with which it has changed."""
    return "" if "length_ratio" in row.details else cells.chance(row)


def length_notes(rows: Sequence[Row]) -> list[str]:
    """Name the embeddings whose lengths changed, and the values that do not compare for it."""
    changed = {r.subject: r.details["length_ratio"] for r in rows if "length_ratio" in r.details}
    if not changed:
        return []
    titles = dict.fromkeys(
        short_title(row.measure) for row in rows if "length_ratio" in row.details
    )
    how = ", ".join(f"{number(ratio, 2)} times in {name}" for name, ratio in changed.items())
    return [
        f"the vectors' length changed by more than the projection explains ({how}): "
        f"{', '.join(titles)} grow with length and cannot be compared; compare MIDB of unit length"
    ]


def lists_tables(rows: Sequence[Row]) -> list[Table]:
    """Make a line for each value with an interval over word lists; no table if there is none."""
    known = [row for row in rows if cells.has(row, "lists")]
    if not known:
        return []
    several = len({row.subject for row in rows}) > 1
    first = next((row.details["change_from"] for row in known if "change_from" in row.details), "")
    redraws = how_many(max(row.details["lists_draws"] for row in known), "redraw")
    columns = values("value", ("95 %", cells.interval_of("lists")))
    columns += _changed("change", "change_lists", f"less {first}")

    def name(row: Row) -> str:
        return f"{_label(row)}, {row.subject}" if several else _label(row)

    note = (
        f"{_REDRAWN}; the axis is one of the pairs. {_COVERS}. A method fitted to these lists has "
        f"less bias along them than along others{_outside(known, name)}"
    )
    return [pivot(f"95 % interval over word lists, {redraws}", known, name, columns, note)]


def _label(row: Row) -> str:
    title, variant = short_title(row.measure), key_of(row)[1]
    return f"{title} ({variant})" if variant else title


def chance_notes(rows: Sequence[Row]) -> list[str]:
    """Explain the chance levels, and name the values beyond them."""
    known = [row for row in rows if cells.has(row, "chance")]
    if not known:
        return []
    several = len({row.subject for row in rows}) > 1
    beyond = [
        f"{_label(row)} of {row.subject}" if several else _label(row)
        for row in known
        if row.details.get("beyond_chance")
    ]
    what = "; ".join(dict.fromkeys(beyond)) or "none"
    families = dict.fromkeys(FAMILY_OF[row.measure] for row in known)
    fewer = [f"{family.key} {family.draws}" for family in families if family.draws]
    drawn = f"{DRAWS} axes" + (f" ({', '.join(fewer)})" if fewer else "")
    return [
        f"chance: mean and range along {drawn} unrelated to the attribute; "
        f"beyond that range: {what}"
    ]


def known_notes(rows: Sequence[Row]) -> list[str]:
    """Name the known embeddings, and say where a value less its chance level has another place."""
    names = dict.fromkeys(name for row in rows for name in row.details.get("known_values", ()))
    if not names:
        return []
    signed = [row for row in rows if row.details.get("better") == "neutral" and place(row)]
    families = dict.fromkeys(FAMILY_OF[row.measure].short for row in signed)
    other = [
        f"{_label(row)}: {_placed(less)}"
        for row in rows
        if (less := place_less_chance(row)) and less != place(row, row.details["known_chance"])
    ]
    return [
        "above: the number of known embeddings, measured in the same way, that have a lower value "
        f"({', '.join(names)}); their texts, words and dimensions differ"
        + (f"; for {' and '.join(families)}: the number nearer to 0" if families else "")
        + (
            f"; with the chance level subtracted, another number ({'; '.join(other)})"
            if other
            else ""
        )
    ]


def _placed(standing: Place | None) -> str:
    if standing is None:
        return ""
    return "equal" if standing.equal == standing.of else f"{standing.below} of {standing.of}"


def words_tables(rows: list[Row], attribute: Attribute) -> list[Table]:
    """Make a table for each embedding: a line for each word, a column for each measure."""
    subjects = dict.fromkeys(row.subject for row in rows)
    return [
        _words_table([r for r in rows if r.subject == subject], attribute) for subject in subjects
    ]


def _words_table(rows: Sequence[Row], attribute: Attribute) -> Table:
    """Make a line for each word, from one side to the other."""
    share = next((row for row in rows if row.measure == "lean-told"), None)
    leans = {row.details["word"]: row.value or 0.0 for row in rows if row.measure == "lean"}
    words = sorted(
        (r for r in rows if "word" in r.details), key=lambda r: -leans[r.details["word"]]
    )
    first = max((row for row in words if row.measure == "lean"), key=lambda r: r.value is not None)
    heads = ("lean", ("95 %", cells.interval_of("lists")), ("leans to", _towards))
    columns = values(*heads, measure="lean")
    columns += values(f"cos, {axis_name(attribute)}", measure="direct-bias")
    columns += values("MIDB", measure="midb")
    note = "" if first.value is None else ". ".join(_about_lean(first, share))
    return pivot(f"Words of {first.subject}", words, "word", columns, note)


def _towards(row: Row) -> str:
    return cells.detail("towards")(row) or " "  # a blank that says something: not told


def _about_lean(row: Row, share: Row | None) -> list[str]:
    low, high = (number(end, 3) for end in row.details["middle"])
    notes = [
        f"lean: cosine with {row.details['setting']}, less its mean over the neutral words; 95 %: "
        "over redrawn pairs",
        f"Blank: no side is named, because the lean lies between {low} and {high} (the middle 95 % "
        "of the original's neutral words), or its interval includes 0",
    ]
    if share is not None and share.value is not None:
        untold, n = share.details["missing"], share.details["n"]
        also = f" ({', '.join(untold[:3])}{', …' if untold[3:] else ''} are not told either)"
        right = n - len(untold) - len(share.details["wrong"])
        notes[-1] += also if untold else ""
        notes.append(
            f"Of {n} words of pairs, each off its own axis, {right} are told right "
            f"({share.value:.0%}), {len(share.details['wrong'])} wrong, {len(untold)} not told"
        )
    return notes


def moved_line(measured: Effect) -> str:
    """Name the words that moved most."""
    words = ", ".join(
        f"{row.details['word']} {number(row.value, 2)}" for row in measured.most_moved
    )
    return f"Most moved words, ‖w′−w‖/‖w‖: {words}."
