"""The report in a few sentences, each made from the values that it names."""

from __future__ import annotations

from collections.abc import Sequence

from wordbias.measures.registry import FAMILY_OF, measure_title
from wordbias.pages.encoder_answers import is_of_model, model_answers
from wordbias.pages.lines import Line, is_number, minus
from wordbias.pages.verdicts import (
    IMPROVED,
    SAME,
    UNCLEAR,
    UNJUDGED,
    UNKNOWN,
    WORSE,
    change,
    differs,
)
from wordbias.pages.views import main_lines, missing_query_notes
from wordbias.pages.words import by_word, claims_occupations, most_leaning, sides
from wordbias.rendering import how_many
from wordbias.results import NO_PROOF, number
from wordbias.rows import Found, given

_SUBJECTS = 4
_WORDS = 3


def headline(rows: Sequence[Found]) -> list[str]:
    """Summarise the rows in sentences that claim no more than they show.

    The sentences name the main measure of each family, and call a value away from neutral, or a
    change clear, only if the 95 % intervals show it.
    """
    if any(map(is_of_model, rows)):
        return model_answers(rows)
    known = main_lines(rows)
    lines = [line for line in known if FAMILY_OF[line.measure].kind == "bias"]
    subjects = list(dict.fromkeys(line.subject for line in lines))
    sentences = []
    for subject in subjects[:_SUBJECTS]:
        prefix = f"{subject}: " if len(subjects) > 1 else ""
        own = [line for line in lines if line.subject == subject]
        cost = [line for line in known if line.subject == subject and line not in lines]
        done = [*_removed_share(subject, rows), *_changes(own)]
        parts = [*_findings(own), *done, *_costs(cost), *_leaning(subject, rows)]
        sentences += [prefix + text if prefix else text[:1].upper() + text[1:] for text in parts]
    if len(subjects) > _SUBJECTS:
        rest = ", ".join(subjects[_SUBJECTS:])
        sentences.append(f"Not summed up here, but in the tables: {rest}.")
    return [*(sentences or _counts(rows)), *missing_query_notes(rows), NO_PROOF]


def _findings(lines: Sequence[Line]) -> list[str]:
    judged = [(row, line) for line in lines if (row := line.first) is not None]
    values_of = {
        text: ", ".join(_with_value(line, row) for row, line in judged if _finding(row) == text)
        for text in (_AWAY, _INCLUDED, _BEYOND, _CHANCE, _ONE_SIDED, _ALSO)
    }
    return [text.format(values) for text, values in values_of.items() if values]


_AWAY = "clearly away from neutral, by their 95 % intervals: {}."
_INCLUDED = "the 95 % interval includes neutral: {}."
_BEYOND = "beyond what axes give that do not mean the attribute: {}."
_CHANCE = "not beyond what axes give that do not mean the attribute: {}."
_ONE_SIDED = (
    "also measured: {}; these are never on the better side of neutral, so that being away from it "
    "is no finding by itself."
)
_ALSO = "measured, with no value that would be neutral: {}."


def _finding(row: Found) -> str:
    found = differs(row)
    beyond = row.get("beyond_chance")
    if isinstance(beyond, bool) and (found is None or not beyond):
        return _BEYOND if beyond else _CHANCE
    if found is None:
        return _ONE_SIDED if is_number(row.get("neutral")) else _ALSO
    return _AWAY if found else _INCLUDED


def _removed_share(subject: str, rows: Sequence[Found]) -> list[str]:
    """Return the share of the groups' difference that was removed, in words."""
    found = [
        row
        for row in rows
        if row["subject"] == subject
        and row["measure"] == "difference-removed"
        and is_number(row["value"])
    ]
    return [
        f"MISP removed {row['value']:.0%} of the difference between the groups."
        for row in found[:1]
    ]


def _changes(lines: Sequence[Line]) -> list[str]:
    compared = [line for line in lines if change(line) != UNKNOWN]
    built_in = [line for line in compared if _by_construction(line)]
    sentences = [
        f"MISP took {_step(line)}, each stage along its own components, {_construction_text(line)}."
        for line in built_in
    ]
    others = [line for line in compared if line not in built_in]
    groups = {
        "improved": [_step(line) for line in others if change(line) == IMPROVED],
        "worse": [_step(line) for line in others if change(line) == WORSE],
        "no clear change": [_step(line) for line in others if change(line) in (UNCLEAR, SAME)],
        UNJUDGED: [_step(line) for line in others if change(line) == UNJUDGED],
    }
    changes = [f"{name}: {', '.join(steps)}" for name, steps in groups.items() if steps]
    if changes:
        what = "Of the other measures" if built_in else "After debiasing"
        judged = any(steps for name, steps in groups.items() if name != UNJUDGED)
        none = " none improved clearly;" if judged and not groups["improved"] else ""
        sentences.append(f"{what},{none} {'; '.join(changes)}.")
    return [" ".join(sentences)] if sentences else []


def _costs(lines: Sequence[Line]) -> list[str]:
    """Return a sentence on the measured costs of debiasing."""
    costs = []
    for line in lines:
        title, last = measure_title(line.measure), _number(line.last)
        if line.last and line.first:
            costs.append(f"{title} {_number(line.first)} → {last}, {change(line)}")
        elif line.last:
            costs.append(f"{title} {last}")
    return [f"what debiasing cost: {'; '.join(costs)}."] if costs else []


def _by_construction(line: Line) -> bool:
    last = line.last
    return (
        last is not None
        and last.get("debiased") == "misp"
        and FAMILY_OF[line.measure].key == "midb"
    )


def _construction_text(line: Line) -> str:
    if change(line) == IMPROVED:
        return "clearly nearer to neutral, which it does by construction"
    return "no clear step nearer to neutral, although it removes what MIDB is measured along"


def _leaning(subject: str, rows: Sequence[Found]) -> list[str]:
    own = [row for row in rows if row["subject"] == subject and claims_occupations(row)]
    chosen = most_leaning(by_word(own, subject), _WORDS)
    if not chosen:
        return []
    first = {word: next(iter(stages.values())) for word, stages in chosen.items()}
    lean = {word: row["value"] for word, row in first.items() if given(row, "towards")}
    if not lean:
        return []
    left, right = sides(own)
    towards = {
        left: [word for word in lean if lean[word] < 0],
        right: [word for word in reversed(lean) if lean[word] > 0],
    }
    sides_text = [f"towards {side}: {', '.join(found)}" for side, found in towards.items() if found]
    return [f"the occupations that lean most {'; '.join(sides_text)}."]


def _counts(rows: Sequence[Found]) -> list[str]:
    measures = dict.fromkeys(str(row["measure"]) for row in rows)
    subjects = dict.fromkeys(str(row["subject"]) for row in rows)
    judged = [differ for row in rows if (differ := differs(row)) is not None]
    sizes = {"value": len(rows), "measure": len(measures), "subject": len(subjects)}
    counted = [how_many(n, what) for what, n in sizes.items()]
    text = f"{counted[0]} of {counted[1]} about {counted[2]}."
    if judged:
        text += (
            f" Of the {len(judged):,} with an interval and a neutral value, {sum(judged):,} "
            "leave the neutral value outside the interval."
        )
    return [text]


def _title(line: Line) -> str:
    family = FAMILY_OF[line.measure]
    named = family.in_words or family.short
    named = named if not named[1:].islower() else named[:1].lower() + named[1:]
    if family.names_variant is None:
        return named
    return f"{named} of {line.variant.split(', ')[family.names_variant]}"


def _with_value(line: Line, row: Found) -> str:
    neutral = f", neutral {row['neutral']:g}" if is_number(row.get("neutral")) else ""
    p = f", p = {row['p']:.2g}" if is_number(row.get("p")) else ""
    low, high = row.get("chance_low"), row.get("chance_high")
    if is_number(low) and is_number(high):
        neutral += f", chance {minus(number(low, 3))} to {minus(number(high, 3))}"
    p += " with the words as given" if p and row.get("reading") else ""
    return f"{_title(line)} ({_number(row)}{neutral}{p})"


def _step(line: Line) -> str:
    return f"{_title(line)} ({_number(line.first)} → {_number(line.last)})"


def _number(row: Found | None) -> str:
    return "–" if row is None else minus(number(row["value"], 3))
