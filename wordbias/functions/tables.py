"""Tables of rows for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from wordbias.measures.chance import DRAWS, Values, key_of, with_chance
from wordbias.measures.known import Place, place, place_less_chance
from wordbias.measures.registry import BY_KEY, FAMILY_OF, column_title, short_title, staged_title
from wordbias.methods.diagnosis import removed_shares
from wordbias.methods.effect import Effect, Study, with_lists
from wordbias.rendering import Table, how_many
from wordbias.results import Row, number
from wordbias.wordlists import Attribute

_NULLS = {
    "null": ("weights", "random directions, as many and with the same weights"),
    "null_as_far": ("as far", "as many random directions as move words as far, at length one"),
    "null_covariance": ("covariance", "the same, drawn by the covariance of the words"),
}
"""Kinds of random removals by their keys, each with its column and what it is."""


def components_table(study: Study, attribute: Attribute) -> Table:
    """Make a line for each component."""
    found, shares = study.diagnosis.components, removed_shares(study.projection)
    columns = [
        "",
        "weight a",
        "removed",
        "cos(g, Δ)",
        f"cos(g, {axis_name(attribute)})",
        "sign stability",
    ]
    cells = [
        [
            f"g{i + 1}",
            number(float(weight)),
            number(float(removed)),
            f"{found.cos_difference[i]:.3f}",
            "–" if found.cos_direction is None else f"{found.cos_direction[i]:.3f}",
            f"{found.stability[i]:.3f}",
        ]
        for i, (weight, removed) in enumerate(zip(found.weights, shares, strict=True))
    ]
    kind = "centred" if study.diagnosis.centre else "not centred"
    first, second = attribute.groups
    return Table(
        f"Components ({kind})",
        columns,
        cells,
        f"Δ = mean {first} − mean {second}; {found.share:.1%} of ‖Δ‖² lies inside their span"
        f"{_by_chance(study)}. They explain {found.weights.sum():.1%} of the variance.",
    )


def _by_chance(study: Study) -> str:
    shares = study.chance.get(("difference-in-span", ""))
    if shares is None:
        return ""
    return f", by chance {np.nanmean(shares):.1%} (groups that do not differ)"


def axis_name(attribute: Attribute) -> str:
    """Return the name of the difference that direct bias is measured along."""
    return " − ".join(attribute.direction) if attribute.direction else "no axis"


def summary_table(study: Study, attribute: Attribute) -> Table:
    """Make five lines: the distance of the groups' means, two measures, and two costs."""
    rows = with_chance(study.measured.rows, study.chance)
    by_key = {
        (row.measure, row.details["stage"]): row
        for row in reversed(rows)
        if "word" not in row.details and row.details.get("reference") != "self"
    }
    first, second = study.diagnosis.vectors
    delta = first.mean(0, np.float64) - second.mean(0, np.float64)
    distances = [number(float(np.linalg.norm(one)), 3) for one in (delta, study.projection(delta))]
    measures = (BY_KEY["midb"].main, "direct-bias", "displacement", "neighbours-preserved")
    cells = [["distance between the groups' means", *distances, ""]]
    for measure in measures:
        before, after = (by_key.get((measure, stage)) for stage in ("before", "after"))
        setting = "" if after is None else str(after.details.get("setting", ""))
        values = ["" if row is None else short(row.value) for row in (before, after)]
        title = column_title(measure).format(axis=axis_name(attribute), k=setting)
        cost = "cost: " if FAMILY_OF[measure].kind == "change" else ""
        cells.append([cost + title, *values, _chance([before])])
    note = (
        "after: along the directions fitted before; by chance: mean and range along axes that do "
        "not mean the attribute"
    )
    return Table("Before and after", ["", "before", "after", "by chance"], cells, note)


def effect_table(measured: Effect, attribute: Attribute | None, chance: Values) -> Table:
    """Make a line for each measure: before; after, along the same and along refitted directions."""
    by_key = {
        (row.measure, row.details.get("stage"), row.details.get("reference")): row
        for row in with_chance(measured.rows, chance)
        if "word" not in row.details
    }
    axis = "no axis" if attribute is None else axis_name(attribute)
    cells, reasons = [], []
    for measure in dict.fromkeys(row.measure for row in measured.rows):
        before = by_key.get((measure, "before", None))
        frozen = by_key.get((measure, "after", "before")) or by_key.get((measure, "after", None))
        anew = by_key.get((measure, "after", "self"))
        shown = [row for row in (before, frozen, anew) if row is not None]
        reasons += [row.details["reason"] for row in shown if "reason" in row.details]
        numbers = ["" if row is None else short(row.value) for row in (before, frozen, anew)]
        setting = str(shown[0].details.get("setting", ""))
        title = staged_title(shown[0].measure, axis=axis, k=setting)
        cells.append([title, *numbers, _chance([before]), _ideal(shown[0])])
    columns = ["", "before", "after", "refitted", "chance", "ideal"]
    if not chance:
        columns.remove("chance")
        cells = [[*line[:-2], line[-1]] for line in cells]
    firsts = [row for row in measured.rows if row.details.get("stage") == "before"]
    note = "after: along the directions fitted before; refitted: along those of the result"
    notes = [note, *length_notes(measured.rows), *chance_notes(with_chance(firsts, chance))]
    notes += dict.fromkeys(reasons)
    return Table("Bias and change", columns, cells, "; ".join(notes))


def null_table(rows: Sequence[Row], attribute: Attribute) -> Table:
    """Make a line for each row of `with_null`: its change, and those of random removals."""
    axis, cells, draws = axis_name(attribute), [], 0
    notes = dict(_NULLS.values())
    for row in rows:
        about = row.details
        if "null" not in about:
            continue
        draws = about["null_draws"]
        title = staged_title(row.measure, axis=axis, k=str(about.get("setting", "")))
        title += ", refitted" if about.get("reference") == "self" else ""
        cells.append([title, short(about["change"])])
        for name, (column, what) in _NULLS.items():
            known = name in about
            cells[-1] += [short(about[name]), p_value(about[f"{name}_p"])] if known else ["–", "–"]
            if f"{name}_directions" in about:
                notes[column] = f"{what} ({number(about[f'{name}_directions'], 2)} on average)"
            elif f"{name}_reason" in about:
                notes[column] = f"there are none: {about[f'{name}_reason']}"
    return Table(
        f"Change, beside that of {how_many(draws, 'random removal')} of each kind",
        ["", "change", *(name for column in notes for name in (column, "p"))],
        cells,
        "; ".join(f"{column}: {what}" for column, what in notes.items())
        + ". Each with its mean, and p: the share that changes as much or more, the fitted one "
        "among them",
    )


def effect_lists_tables(study: Study, attribute: Attribute) -> list[Table]:
    """Make a line for each measure: its intervals over word lists, and along the names left out."""
    axis, cells, unseen, redraws = axis_name(attribute), [], [], 0
    rows = [row for row in with_lists(study.measured.rows, study.lists) if "lists" in row.details]
    starts = {row.measure: row for row in rows if row.details["stage"] == "before"}
    for row in rows:
        about = row.details
        if "lists_change" not in about:
            continue
        title = staged_title(row.measure, axis=axis, k=str(about.get("setting", "")))
        redraws = max(redraws, about["lists"])
        start = starts.get(row.measure)
        cells.append(
            [
                f"{title}, refitted" if about.get("reference") == "self" else title,
                "" if start is None else _middle(start, "lists"),
                _middle(row, "lists"),
                short(about["lists_change"]),
                _middle(row, "lists_change"),
            ]
        )
        if "left_out_change" in about:
            values = [short(about[f"left_out_{what}"]) for what in ("before", "change")]
            unseen.append([title, *values, _middle(row, "left_out_change")])
    drawn = how_many(redraws, "redraw")
    tables = [
        Table(
            f"Fitted to other word lists: middle 95 % of {drawn}",
            ["", "before", "after", "change", "95 %"],
            cells,
            "names and pairs of the attribute drawn again, as many, with replacement; MISP is "
            "fitted to each redraw, and bias measured along it before and after. It covers which "
            "words of this kind were listed, not other kinds of lists, nor which neutral words are "
            "averaged over",
        )
    ]
    if unseen:
        tables.append(
            Table(
                "Along the names that a redraw left out, to which nothing was fitted",
                ["", "before", "change", "95 %"],
                unseen,
                "means over the redraws, and the middle 95 % of the changes. Fewer names give "
                "larger weights, so compare the change with the value before",
            )
        )
    return tables


def _middle(row: Row, name: str) -> str:
    """Write the middle 95 % of draws; a dash where a single draw has none."""
    low, high = (row.details.get(f"{name}_{end}") for end in ("low", "high"))
    return "–" if low is None or high is None else f"{short(low)} to {short(high)}"


def measures_tables(rows: list[Row]) -> list[Table]:
    """Make a line for each measure and setting, a column for each embedding; three on a terminal.

    The list is empty without rows.
    """
    subjects = list(dict.fromkeys(row.subject for row in rows))
    parts = [subjects[start : start + 3] for start in range(0, len(subjects), 3)]
    if len(parts) < 2:
        return _measures_parts(rows, parts)
    return [replace(_measures_table(rows), narrow=partial(_measures_parts, rows, parts))]


def _measures_parts(
    rows: Sequence[Row], parts: Sequence[Sequence[str]], width: int = 0
) -> list[Table]:
    """Make a table for each part of the embeddings."""
    return [_measures_table([row for row in rows if row.subject in part]) for part in parts]


def _measures_table(rows: list[Row]) -> Table:
    subjects = list(dict.fromkeys(row.subject for row in rows))
    interval = _with_interval if len(subjects) == 1 else _with_half_width
    lines = list(dict.fromkeys(key_of(row) for row in rows))
    found = {(key_of(row), row.subject): row for row in rows}
    columns, cells, reasons = ["", *subjects, "ideal"], [], []
    for key in lines:
        across = [found.get((key, subject)) for subject in subjects]
        first = next(row for row in across if row is not None)
        reasons += [row.details["reason"] for row in across if row and "reason" in row.details]
        cells.append([_label(first), *map(interval, across), _ideal(first)])
    if any("chance" in row.details for row in rows):
        columns.insert(-1, "chance")
        for line, key in zip(cells, lines, strict=True):
            across = [found.get((key, subject)) for subject in subjects]
            changed = any(row and "length_ratio" in row.details for row in across)
            line.insert(-1, "" if changed else _chance(across))
    known = known_notes(rows) if len(subjects) == 1 else []
    if known:
        columns.insert(-1, "above")
        for line, key in zip(cells, lines, strict=True):
            line.insert(-1, _placed(place(found[key, subjects[0]])))
    return Table(
        "Bias, with the 95 % interval over words"
        + ("" if len(subjects) == 1 else " (± half its width)"),
        columns,
        cells,
        "; ".join(dict.fromkeys([*length_notes(rows), *chance_notes(rows), *known, *reasons])),
    )


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
        f"the vectors' length changed by more than what was projected out ({how}): "
        f"{', '.join(titles)} grow with it and do not compare; compare MIDB of unit length"
    ]


def lists_tables(rows: Sequence[Row]) -> list[Table]:
    """Make a line for each value with an interval over word lists; no table if there is none."""
    known = [row for row in rows if "lists" in row.details]
    if not known:
        return []
    several = len({row.subject for row in rows}) > 1
    first = next((row.details["lists_from"] for row in known if "lists_from" in row.details), "")
    cells = []
    for row in known:
        about = row.details
        line = [
            f"{_label(row)}, {row.subject}" if several else _label(row),
            short(row.value),
            _middle(row, "lists"),
        ]
        if first and "lists_from" in about:
            line += [short(about["lists_change"]), _middle(row, "lists_change")]
        elif first:
            line += ["", ""]
        cells.append(line)
    redraws = how_many(max(row.details["lists"] for row in known), "redraw")
    return [
        Table(
            f"95 % interval over word lists, {redraws}",
            ["", "value", "95 %", *([f"less {first}", "95 %"] if first else [])],
            cells,
            "names and pairs of the attribute drawn again, as many, with replacement; the axis is "
            "one of the pairs. It covers which words of this kind were listed, not other kinds of "
            "lists, nor which neutral words are averaged over; a method fitted to these lists has "
            "less bias along them than along others",
        )
    ]


def _label(row: Row) -> str:
    title, variant = short_title(row.measure), key_of(row)[1]
    return f"{title} ({variant})" if variant else title


def _chance(across: Sequence[Row | None]) -> str:
    """Show the chance level of a line, if all its values share one, with its range in brackets."""
    keys = ("chance", "chance_low", "chance_high")
    found = {tuple(r.details[key] for key in keys) for r in across if r and "chance" in r.details}
    if len(found) != 1:
        return "by file" if found else ""
    mean, low, high = (short(value) for value in found.pop())
    return f"{mean} ({low} to {high})"


def chance_notes(rows: Sequence[Row]) -> list[str]:
    """Explain the chance levels, and name the values beyond them."""
    known = [row for row in rows if "chance" in row.details]
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
    """Name the known embeddings, and say where the value less its chance level has another place.

    The list is empty if no value was compared with those of others.
    """
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
        f"above: so many of the known embeddings that were measured alike "
        f"({', '.join(names)}), of other texts, words and dimensions"
        + (f"; {' and '.join(families)}: farther from 0" if families else "")
        + (f"; less the chance level another place ({'; '.join(other)})" if other else "")
    ]


def _placed(found: Place | None) -> str:
    if found is None:
        return ""
    return "equal" if found.equal == found.of else f"{found.below} of {found.of}"


def short(value: float | None) -> str:
    """Write a value with three decimals and no zero before the point, as papers do."""
    if value is None:
        return number(value)
    text = f"{value:z.3f}"
    return text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text


def p_value(p: float | None) -> str:
    """Write a p-value, a small one by its order of magnitude; an undefined one as a dash."""
    return "–" if p is None else f"{p:.1e}" if 0 < p < 0.001 else f"{p:.4f}"


def words_tables(rows: list[Row], attribute: Attribute) -> list[Table]:
    """Make a table for each embedding: a line for each word, a column for each measure."""
    subjects = dict.fromkeys(row.subject for row in rows)
    return [_words_table([r for r in rows if r.subject == one], attribute) for one in subjects]


def _words_table(rows: Sequence[Row], attribute: Attribute) -> Table:
    """Make a line for each word, from one side to the other."""
    found: dict[str, dict[str, Row]] = {}
    for row in rows:
        found.setdefault(row.details.get("word", ""), {})[row.measure] = row
    told = found.pop("", {}).get("lean-told")
    lines = sorted(found.items(), key=lambda one: -(one[1]["lean"].value or 0.0))
    cells = [
        [
            word,
            short(of["lean"].value),
            _middle(of["lean"], "lists"),
            of["lean"].details.get("towards", ""),
            short(of["direct-bias"].value),
            short(of["midb"].value),
        ]
        for word, of in lines
    ]
    columns = ["", "lean", "95 %", "leans to", f"cos, {axis_name(attribute)}", "MIDB"]
    first = lines[0][1]["lean"]
    notes = _about_lean(first, told) if first.value is not None else []
    notes += [row.details["reason"] for row in rows if "reason" in row.details]
    return Table(f"Words of {rows[0].subject}", columns, cells, ". ".join(dict.fromkeys(notes)))


def _about_lean(row: Row, told: Row | None) -> list[str]:
    low, high = (short(end) for end in row.details["middle"])
    notes = [
        f"lean: cosine with {row.details['setting']}, less its mean over the neutral words; 95 %: "
        "over redrawn pairs",
        f"Blank: not told here, as it lies between {low} and {high}, the middle 95 % of the "
        "original's neutral words, or its interval holds 0",
    ]
    if told is not None and told.value is not None:
        untold, n = told.details["untold"], told.details["n"]
        also = f" ({', '.join(untold[:3])}{', …' if untold[3:] else ''} are not told either)"
        right = n - len(untold) - len(told.details["wrong"])
        notes[-1] += also if untold else ""
        notes.append(
            f"Of {n} words of pairs, each off its own axis, {right} are told right "
            f"({told.value:.0%}), {len(told.details['wrong'])} wrong, {len(untold)} not told"
        )
    return notes


def _with_interval(row: Row | None) -> str:
    if row is None or row.value is None or "low" not in row.details:
        return _cell(row)
    low, high = short(row.details["low"]), short(row.details["high"])
    return f"{short(row.value)} [{low}, {high}]"


def _with_half_width(row: Row | None) -> str:
    if row is None or row.value is None or "low" not in row.details:
        return _cell(row)
    half = (row.details["high"] - row.details["low"]) / 2
    return f"{short(row.value)} ±{short(half)}"


def _ideal(row: Row) -> str:
    """Return the neutral value, to which nearer is better, or the better direction."""
    neutral = row.details.get("neutral")
    return str(row.details.get("better", "")) if neutral is None else f"{neutral:g}"


def moved_line(measured: Effect) -> str:
    """Name the words that moved most."""
    words = ", ".join(
        f"{row.details['word']} {number(row.value, 2)}" for row in measured.most_moved
    )
    return f"Most moved words, ‖w′−w‖/‖w‖: {words}."


def _cell(row: Row | None) -> str:
    return "" if row is None else number(row.value)
