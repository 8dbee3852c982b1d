"""Answers of a report in plain English, built from its rows by stated rules.

Is it biased, does cleaning help, which method, at what cost? `RULES` states when each answer is
given; the table in `docs/measures.md` is made of it. The file is long because the rules, the
functions that apply them and the sentences are read together.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from wordbias.data import sample_path
from wordbias.measures.registry import FAMILY_OF, MEASURES, variant_of
from wordbias.methods.trade_off import NEIGHBOURS_TITLE, shares_kept
from wordbias.pages.encoder_answers import MUCH_LEFT, is_of_model, model_answer_parts
from wordbias.pages.lines import Line, is_number, known_values, minus
from wordbias.pages.main_measures import main_lines, missing_query_notes
from wordbias.pages.verdicts import (
    IMPROVED,
    SAME,
    UNCLEAR,
    WORSE,
    badness,
    change,
    differs,
)
from wordbias.pages.words import by_word, claims_occupations, most_leaning, sides
from wordbias.rendering import how_many
from wordbias.results import NO_PROOF, number
from wordbias.rows import Found, given

NEIGHBOURS_KEPT = 0.9
"""Smallest share of the ten nearest neighbours that a method must keep to help."""
QUALITY_KEPT = 0.98
"""Smallest share of similarity and of analogies that a method must keep to help."""
SMALLEST_CHANGE = 0.05
"""Smallest change that counts, as a share of the value's distance from chance, else from neutral.

With many words the interval of a change is so narrow that it excludes 0 where nobody would notice.
"""
_SUBJECTS = 4
_WORDS = 3
_KNOWN = 3
_TINY = 1e-12
_DIGITS = 3
"""Digits that are shown: values that agree in them are equal."""
_LEVEL = 0.05
_SMALL_P = 0.001
_STILL = 0.75
"""Accuracy of clustering, half way between guessing and certainty, from which it still works."""
_BY_CONSTRUCTION = {
    "misp": ("midb",),
    "mhd": ("midb",),
    "leace": ("midb",),
    "hard": ("direct-bias",),
    "multi-hard": ("direct-bias",),
    "double-hard": ("direct-bias",),
    "inlp": ("recoverability",),
}
"""Families that a method lowers because it removes what they are measured along."""

_LENGTH_KEPT = ("misp", "mhd", "inlp", "leace", "oscar", "half-sibling", "conceptor", "double-hard")
"""Methods that subtract or rotate; others may scale all vectors, as hard debiasing to length 1."""

Verdict = Literal["yes", "no", "cannot tell"]


class Rule(NamedTuple):
    """A rule of the answers: to which question, when it is used, and what is answered."""

    question: str
    when: str
    answer: str


RULES = (
    Rule(
        "Is it biased?",
        "at least two main measures find bias: beyond the range of all chance levels or, for a "
        "value that can lie on both sides of neutral and has no chance level, with an interval "
        f"without it and, if it has a p, a p below {number(_LEVEL, 2).lstrip('0')}",
        "Yes",
    ),
    Rule(
        "Is it biased?",
        "one main measure of several finds bias, and its p times their number is at most .05",
        "Yes",
    ),
    Rule(
        "Is it biased?",
        "one main measure of several finds bias, without a p or with a larger one",
        "Perhaps",
    ),
    Rule("Is it biased?", "the only main measure that can tell finds bias", "Yes"),
    Rule("Is it biased?", "some main measures can tell, and none finds bias", "Not shown"),
    Rule("Is it biased?", "no main measure has a chance level or such an interval", "Cannot tell"),
    Rule(
        "Among embeddings that people know?",
        "a main measure that is not within chance, with the same settings and word lists, is known "
        "of them",
        "the number of them that are nearer to neutral",
    ),
    Rule(
        "Does cleaning help?",
        "for a method: the interval of the paired change of at least one main measure that found "
        "bias, or that has no chance level, lies wholly on the better side of 0, and the change is "
        f"at least {SMALLEST_CHANGE:.0%} of the distance from chance, else from neutral; it is "
        "not one that the method lowers by construction; no other changed as much for the "
        f"worse; at least {NEIGHBOURS_KEPT:.0%} of the neighbours and {QUALITY_KEPT:.0%} "
        "of similarity and analogies are kept",
        "Yes",
    ),
    Rule(
        "Does cleaning help?",
        f"the same, and more than {MUCH_LEFT:.0%} of the bias beyond chance is left",
        "Yes, a little",
    ),
    Rule(
        "Does cleaning help?",
        "Yes by one of these two rules, and a main measure that found no bias before changed for "
        "the worse, and finds bias after",
        "Yes, but",
    ),
    Rule(
        "Does cleaning help?",
        "main measures changed for the better and others for the worse; or only what the method "
        "lowers by construction changed; or no measure found bias; or no change has an interval",
        "Cannot tell",
    ),
    Rule(
        "Does cleaning help?",
        "no main measure that counts changed for the better, or a cost exceeds its limit; or none "
        "counts, and one that found no bias before finds bias after",
        "No",
    ),
    Rule(
        "Which method?",
        "of the methods that help the one that leaves the smallest share of bias; of equals the "
        "one that keeps more",
        "its name",
    ),
    Rule("At what cost?", "neighbours, similarity or analogies were measured", "the shares kept"),
    Rule(
        "What did cleaning not change?",
        "no column changed a main measure for the better",
        "their names and values",
    ),
    Rule(
        "What did cleaning not change?",
        f"after a method that lowered another measure clustering is {_STILL:g} or more",
        "that the bias is still to be seen in the neighbours, if it was beyond chance before",
    ),
)


class Answer(NamedTuple):
    """One question with its answer."""

    question: str
    text: str

    def __str__(self) -> str:
        return f"{self.question} {self.text}".strip()


@dataclass(frozen=True)
class ColumnAnswer:
    """What a method, or a cleaned file, did.

    Attributes
    ----------
    name
        Label of the column.
    verdict
        Whether it helps.
    reason
        Reason of the verdict, a part of a sentence.
    better, worse, unclear
        Main lines of bias by the direction of their paired change; those that it lowers by
        construction are in `built_in`. Those that were at chance and are now beyond it are worse.
    kept
        Share kept by what was measured of quality and neighbours.
    bias_left
        Share of the bias beyond chance that is left, if it is known.
    left_by
        Measures of which this share is the mean.
    failed
        Reason why there is no such column.
    is_file
        Whether it is a cleaned file, not a method.
    """

    name: str
    verdict: Verdict
    reason: str
    better: Sequence[Line] = ()
    worse: Sequence[Line] = ()
    unclear: Sequence[Line] = ()
    built_in: Sequence[Line] = ()
    kept: Mapping[str, float] | None = None
    bias_left: float | None = None
    left_by: Sequence[str] = ()
    failed: str = ""
    is_file: bool = False


def answers(
    rows: Sequence[Found],
    paths: Mapping[str, str] | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[str]:
    """Answer the questions of a report in sentences, each with the values that it is built from.

    Parameters
    ----------
    rows
        Rows of a report, of one embedding or several.
    paths
        File of each subject, for the command of the next step.
    settings
        Arguments of the call that measured each subject, so that this command has the same groups.
    """
    return [str(one) for one in answer_parts(rows, paths, settings)]


def answer_parts(
    rows: Sequence[Found],
    paths: Mapping[str, str] | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[Answer]:
    """Answer the questions of a report; see `answers`."""
    if any(map(is_of_model, rows)):
        return [Answer(*part) for part in model_answer_parts(rows)]
    known = main_lines(rows)
    bias = [line for line in known if FAMILY_OF[line.measure].kind == "bias"]
    subjects = list(dict.fromkeys(line.subject for line in bias))
    found: list[Answer] = []
    for subject in subjects[:_SUBJECTS]:
        own = [row for row in rows if row["subject"] == subject]
        lines = [line for line in bias if line.subject == subject]
        prefix = f"{subject}: " if len(subjects) > 1 else ""
        call = Call((paths or {}).get(subject, ""), (settings or {}).get(subject, {}))
        parts = [
            is_it_biased(lines, own),
            *among_known(lines),
            *about_columns(own, lines, call),
        ]
        found += [Answer(prefix + part.question, part.text) for part in parts if part.text]
    if len(subjects) > 1:
        found += compared(bias)
    if len(subjects) > _SUBJECTS:
        rest = ", ".join(subjects[_SUBJECTS:])
        found.append(Answer("", f"Not summed up here, but in the tables: {rest}."))
    notes = [*missing_query_notes(rows), NO_PROOF]
    return [*(found or [Answer("", _counts(rows))]), *(Answer("", note) for note in notes)]


# Is it biased?

_YES, _NO, _UNJUDGED = "yes", "no", "not judged"


def finds(row: Found) -> str:
    """Return whether a value finds bias: ``yes``, ``no``, or ``not judged``.

    Without a chance level only a value that can lie on both sides of neutral is judged, by its
    interval and, where it has a test of its own, by its p: the interval of few words excludes
    neutral too easily.
    """
    beyond = row.get("beyond_chance")
    if isinstance(beyond, bool):
        return _YES if beyond else _NO
    apart = differs(row)
    if apart is None:
        return _UNJUDGED
    p = _p(row)
    return _YES if apart and (p is None or p < _LEVEL) else _NO


def _p(row: Found) -> float | None:
    """Return a row's p; of a test of positive values that of the side on which the value lies."""
    p = row.get("p")
    if not is_number(p):
        return None
    return 1 - p if row.get("alternative") == "greater" and row["value"] < 0 else p


def is_it_biased(lines: Sequence[Line], rows: Sequence[Found]) -> Answer:
    """Answer whether the embedding is biased beyond chance, by which measures, and where most."""
    judged = [(line, row) for line in lines if (row := line.first) and is_number(row["value"])]
    sorted_ = sorted(judged, key=lambda one: -_clearness(one[1]))
    by = {
        verdict: [_with_value(line, row) for line, row in sorted_ if finds(row) == verdict]
        for verdict in (_YES, _NO, _UNJUDGED)
    }
    yes, no, others = by.values()
    n = len(yes) + len(no)
    if not n:
        text = "Cannot tell: no measure here has a chance level, or an interval that could tell."
    elif not yes:
        of = "the only measure that can tell finds no" if n == 1 else f"none of {n} measures finds"
        text = f"Not shown: {of} more than chance gives."
    elif len(yes) == 1 < n and not _is_certain(sorted_, n):
        text = (
            f"Perhaps: one of {n} measures finds more than chance gives; where there is no bias, "
            "about one measure in twenty does so by luck."
        )
    elif n == 1:
        text = "Yes, by the only measure that can tell."
    else:
        text = f"Yes, by {len(yes)} of {n} measures that can tell."
    parts = [
        ("The clearest come first: {}." if len(yes) > 1 else "It is {}.", yes),
        ("No more than chance by {}.", no),
        ("Not judged, for want of a chance level: {}.", others),
    ]
    said = [form.format(", ".join(values)) for form, values in parts if values]
    disagree = (
        ["The measures disagree; each detects only the bias that it was made for."]
        if yes and no
        else []
    )
    return Answer("Is it biased?", " ".join([text, *said, *disagree, *_leaning(rows)]))


def _is_certain(judged: Sequence[tuple[Line, Found]], n: int) -> bool:
    """Return whether the only finding has a p that stands for `n` measures (Bonferroni)."""
    p = _p(next(row for _, row in judged if finds(row) == _YES))
    return p is not None and p * n <= _LEVEL


def _clearness(row: Found) -> float:
    """Return a value's distance from chance, or from neutral, in units of its uncertainty."""
    low, high = row.get("chance_low"), row.get("chance_high")
    if is_number(low) and is_number(high) and is_number(row.get("chance")):
        return float(abs(row["value"] - row["chance"]) / max((high - low) / 2, _TINY))
    low, high = row.get("low"), row.get("high")
    if is_number(low) and is_number(high) and is_number(row.get("neutral")):
        return float(abs(row["value"] - row["neutral"]) / max((high - low) / 2, _TINY))
    return 0.0


def _leaning(rows: Sequence[Found]) -> list[str]:
    subject = str(rows[0]["subject"]) if rows else ""
    own = [row for row in rows if claims_occupations(row)]
    chosen = most_leaning(by_word(own, subject), _WORDS)
    first = {word: next(iter(stages.values())) for word, stages in chosen.items()}
    lean = {word: row["value"] for word, row in first.items() if given(row, "towards")}
    if not lean:
        return []
    left, right = sides(own)
    towards = {
        left: [word for word in lean if lean[word] < 0],
        right: [word for word in reversed(lean) if lean[word] > 0],
    }
    text = [f"towards {side}: {', '.join(found)}" for side, found in towards.items() if found]
    return [f"Of the occupations, most lean {'; '.join(text)}."]


def among_known(lines: Sequence[Line]) -> list[Answer]:
    """Place the values among those of embeddings that people know; not values within chance."""
    placed = [
        (line, row, known)
        for line in lines
        if (row := line.first)
        and is_number(row["value"])
        and finds(row) != _NO
        and (known := known_values(row))
    ]
    placed.sort(key=lambda one: finds(one[1]) != _YES)
    said = [_place(*one) for one in placed[:_KNOWN]]
    if not said:
        return []
    limit = "Corpus, vocabulary and dimension differ, so that only large differences mean anything."
    return [Answer("Among embeddings that people know?", f"{'; '.join(said)}. {limit}")]


def _place(line: Line, row: Found, known: Mapping[str, float]) -> str:
    own = round(_distance(row, row["value"]), _DIGITS)
    nearer = sum(round(_distance(row, value), _DIGITS) < own for value in known.values())
    ordered = sorted(known, key=lambda name: _distance(row, known[name]))
    ends = dict.fromkeys([ordered[0], ordered[-1]])
    named = " to ".join(f"{name} {_text(known[name])}" for name in ends)
    verb = "is" if nearer == 1 else "are"
    count = f"{nearer} of {len(known)} {verb} nearer to no bias"
    return f"{_short(line)} {_number(row)}: {count} ({named})"


def _distance(row: Found, value: float) -> float:
    """Return how far a value is on the worse side."""
    neutral = row.get("neutral")
    if row.get("better") == "neutral" and is_number(neutral):
        return abs(value - float(neutral))
    return -value if row.get("better") == "higher" else value


# Does cleaning help, which method, at what cost?


def about_columns(rows: Sequence[Found], lines: Sequence[Line], call: Call) -> list[Answer]:
    """Answer what the methods and cleaned files did, and what to do next."""
    columns = column_answers(rows, lines)
    if not columns:
        return [_next_without_columns(call)] if any(row.get("column") for row in rows) else []
    return [
        _does_it_help(columns),
        _which(columns, lines),
        _cost(columns),
        _unchanged(columns, lines),
        _next(columns, lines, call),
    ]


def column_answers(
    rows: Sequence[Found], lines: Sequence[Line] | None = None
) -> list[ColumnAnswer]:
    """Judge each method and each cleaned file of one embedding, by the rules of `RULES`."""
    if lines is None:
        lines = [one for one in main_lines(rows) if FAMILY_OF[one.measure].kind == "bias"]
    labels = dict.fromkeys(
        str(row["stage"]) for row in rows if row.get("stage") not in (None, "", "before")
    )
    failed = {
        str(row["stage"]): str(row.get("reason", ""))
        for row in rows
        if row["measure"] == "column" and row["value"] is None
    }
    return [
        ColumnAnswer(name, "cannot tell", "it could not be made", failed=failed[name])
        if name in failed
        else _column(name, rows, lines)
        for name in labels
    ]


def _column(name: str, rows: Sequence[Found], lines: Sequence[Line]) -> ColumnAnswer:
    judged = [line for line in lines if line.first and finds(line.first) != _NO]
    raised = [line for line in lines if line not in judged and _is_raised(line, name)]
    counted = [line for line in judged if _comparable(line, name)]
    changed: dict[str, list[Line]] = {}
    for line in counted:
        found = UNCLEAR if _is_tiny(line, name) else change(line, name)
        changed.setdefault(found, []).append(line)
    improved = changed.get(IMPROVED, [])
    built_in = [line for line in improved if _by_construction(line, name)]
    better = [line for line in improved if line not in built_in]
    worse = changed.get(WORSE, [])
    unclear = [*changed.get(UNCLEAR, []), *changed.get(SAME, [])]
    kept = kept_shares(rows, name)
    costly = [
        f"{named} kept {kept[what]:.1%}, below {limit:.0%}"
        for what, named in _KEPT.items()
        if what in kept
        and kept[what] < (limit := NEIGHBOURS_KEPT if what == NEIGHBOURS_TITLE else QUALITY_KEPT)
    ]
    left = [r for r in rows if r["measure"] == "bias-left" and r.get("stage") == name][:1]
    bias_left = next((float(row["value"]) for row in left if is_number(row["value"])), None)
    verdict: Verdict = "cannot tell"
    if better and costly:
        verdict, reason = "no", f"its cost is too high: {', '.join(costly)}"
    elif better and worse:
        both = [", ".join(map(_short, found)) for found in (better, worse)]
        reason = f"measures contradict each other: {both[0]} got better, {both[1]} got worse"
    elif better:
        much = bias_left is not None and bias_left > MUCH_LEFT
        little = f"a little: {bias_left:.0%} of the bias beyond chance is left" if much else ""
        but = f"but {_now_beyond(raised)}" if raised else ""
        verdict, reason = "yes", ", ".join(filter(None, [little, but]))
    elif raised:
        verdict, reason = "no", _now_beyond(raised)
    elif built_in:
        reason = "only what it removes by construction got better"
    elif worse or unclear:
        verdict, reason = "no", "no measure changed clearly for the better"
    elif not judged:
        reason = "no measure finds bias that it could remove"
    elif not counted:
        reason = "only values that grow with the length of the vectors could change"
    else:
        reason = "no change has an interval to judge by"
    return ColumnAnswer(
        name,
        verdict,
        reason,
        better,
        [*worse, *raised],
        unclear,
        built_in,
        kept,
        bias_left,
        [str(title) for row in left if isinstance(of := row.get("of"), dict) for title in of],
        is_file=any(row.get("column") == _FILE for row in rows if row.get("stage") == name),
    )


def _is_raised(line: Line, stage: str) -> bool:
    """Return whether a value that was not beyond chance changed for the worse, to beyond it."""
    if line.first is None or stage not in line.stages or finds(line.stages[stage]) != _YES:
        return False
    return _comparable(line, stage) and change(line, stage) == WORSE


def _now_beyond(lines: Sequence[Line]) -> str:
    is_now = "is now" if len(lines) == 1 else "are now"
    return f"{', '.join(map(_short, lines))}, at chance before, {is_now} beyond it"


def _is_tiny(line: Line, stage: str) -> bool:
    """Return whether a value changed by less than `SMALLEST_CHANGE`."""
    first, last = line.first, line.stages.get(stage)
    if (
        first is None
        or last is None
        or not (is_number(first["value"]) and is_number(last["value"]))
    ):
        return False
    start = first.get("chance", first.get("neutral"))
    if not is_number(start):
        return False
    moved = abs(float(last["value"]) - float(first["value"]))
    return moved < SMALLEST_CHANGE * abs(float(first["value"]) - float(start))


def kept_shares(rows: Sequence[Found], stage: str) -> dict[str, float]:
    """Return the share of neighbours, similarity and analogies that a column keeps."""

    def values(at: str) -> dict[tuple[str, str], float | None]:
        return {
            (row["measure"], variant_of(row["measure"], row)): row["value"]
            for row in rows
            if row.get("stage") == at and is_number(row["value"]) and not given(row, "word")
        }

    return shares_kept(values("before"), values(stage))


def _by_construction(line: Line, column: str) -> bool:
    key = FAMILY_OF[line.measure].key
    return any(key in _BY_CONSTRUCTION.get(method, ()) for method in _methods(line, column))


def _comparable(line: Line, column: str) -> bool:
    """Return whether the vectors of a column have lengths that a measure can compare."""
    if not MEASURES[line.measure].by_length or column not in line.stages:
        return True
    methods = _methods(line, column)
    return bool(methods) and all(method in _LENGTH_KEPT for method in methods)


def _methods(line: Line, column: str) -> list[str]:
    """Return the methods of a column, none of a cleaned file."""
    row = line.stages.get(column, {})
    if row.get("column") == _FILE:
        return []
    names = column
    if column == "after":  # rows of a single method name it
        names = next((r["debiased"] for r in line.stages.values() if given(r, "debiased")), "")
    return [part.partition(":")[0].strip() for part in str(names).split(",") if part.strip()]


_FILE = "file"
_MIDB = "midb-abs"
_DIMS = 4
"""Number of components of an audit and of MISP by default."""


def _does_it_help(columns: Sequence[ColumnAnswer]) -> Answer:
    """Name the columns by their verdict; of a single one say what it changed, too."""
    titles = {"yes": "Yes", "no": "No", "cannot tell": "Cannot tell", "failed": "Not made"}
    by: dict[str, dict[str, list[str]]] = {verdict: {} for verdict in titles}
    for one in columns:
        of = by["failed" if one.failed else one.verdict]
        of.setdefault(one.failed.rstrip(".") or one.reason, []).append(one.name)
    said = [
        f"{titles[verdict]}: "
        + "; ".join(", ".join(ns) + (f" ({why})" if why else "") for why, ns in of.items())
        + "."
        for verdict, of in by.items()
        if of
    ]
    changes = [_changes_text(one) for one in columns] if len(columns) == 1 else []
    better = [line.first for one in columns if one.verdict == "yes" for line in one.better]
    unjudged = (
        ["But what got better was not compared with chance: it may have been no bias at all."]
        if better and not any(row and finds(row) == _YES for row in better)
        else []
    )
    return Answer("Does cleaning help?", " ".join([*said, *filter(None, changes), *unjudged]))


def _changes_text(one: ColumnAnswer) -> str:
    groups = [
        ("improves", one.better),
        ("improves, by construction,", one.built_in),
        ("makes worse", one.worse),
        ("does not clearly change", one.unclear),
    ]
    said = [
        f"{verb} {', '.join(step(line, one.name) for line in lines)}"
        for verb, lines in groups
        if lines
    ]
    return f"It {'; it '.join(said)}." if said else ""


def _which(columns: Sequence[ColumnAnswer], lines: Sequence[Line]) -> Answer:
    """Name the method that leaves least, and for each measure the one that removes most of it."""
    if len([one for one in columns if not one.failed]) < 2:
        return Answer("Which method?", "")
    best = _best([one for one in columns if one.verdict == "yes"])
    if best is None:
        parts = ["None of these can be recommended on these values."]
    elif best.bias_left is None:
        parts = [f"{best.name}.", _changes_text(best)]
    else:
        left = (
            f"{best.bias_left:.0%} of the bias beyond chance is left{_by(best.left_by)}, the least "
            "of those that help"
        )
        parts = [f"{best.name}: {left}.", _changes_text(best)]
    most = [text for line in lines if (text := _most_removed(line, columns))]
    if most:
        parts.append(f"Most is removed of {'; of '.join(most)}.")
    return Answer("Which method?", " ".join(filter(None, parts)))


def _by(measures: Sequence[str]) -> str:
    return f" (measured by {', '.join(measures)})" if measures else ""


def _best(helping: Sequence[ColumnAnswer]) -> ColumnAnswer | None:
    """Return the method that leaves the smallest share of bias; of equals, the one that keeps more.

    Without shares of bias left, the one that lowers most measures.
    """

    def rank(one: ColumnAnswer) -> tuple[float, float, float]:
        left = float("inf") if one.bias_left is None else one.bias_left
        return left, -len(one.better), -min((one.kept or {"": 1.0}).values())

    return min(helping, key=rank, default=None)


def _most_removed(line: Line, columns: Sequence[ColumnAnswer]) -> str:
    """Name the column in which a line fell most, if it clearly fell in any."""
    falling = [one.name for one in columns if line in [*one.better, *one.built_in]]
    if not falling:
        return ""
    name = min(falling, key=lambda stage: _left(line, stage))
    return f"{_short(line)} by {name} ({_number(line.first)} → {_number(line.stages[name])})"


def _left(line: Line, stage: str) -> float:
    ends = badness(line.stages[stage])
    return float("inf") if ends is None else sum(ends) / 2


def _cost(columns: Sequence[ColumnAnswer]) -> Answer:
    """Say what share of neighbours, similarity and analogies each column keeps."""
    made = [one for one in columns if not one.failed]
    parts, lacking = [], []
    for what, named in _KEPT.items():
        shares = [
            f"{one.name} {one.kept[what]:.1%}" for one in made if one.kept and what in one.kept
        ]
        if shares:
            parts.append(f"Kept of {named}: {', '.join(shares)}.")
        else:
            lacking.append(named)
    if lacking:
        parts.append(f"Not measured: {', '.join(lacking)}.")
    return Answer("At what cost?", " ".join(parts))


_KEPT = {
    NEIGHBOURS_TITLE: "the nearest neighbours",
    "similarity": "similarity",
    "analogies": "analogies",
}


def _unchanged(columns: Sequence[ColumnAnswer], lines: Sequence[Line]) -> Answer:
    made = [one for one in columns if not one.failed]
    improved = {id(line) for one in made for line in [*one.better, *one.built_in]}
    names = [one.name for one in made]
    stayed = [
        f"{_short(line)} ({_range(line, own)})"
        for line in lines
        if id(line) not in improved
        and line.first
        and finds(line.first) != _NO
        and (own := [name for name in names if name in line.stages and _comparable(line, name)])
    ]
    parts = [f"Nothing here clearly improved {', '.join(stayed)}."] if stayed else []
    clustering = next((line for line in lines if FAMILY_OF[line.measure].key == "clustering"), None)
    still = [
        one.name
        for one in made
        if clustering is not None
        and (one.better or one.built_in)
        and (row := clustering.stages.get(one.name))
        and is_number(row["value"])
        and row["value"] >= _STILL
    ]
    if clustering is not None and clustering.first and still:
        if finds(clustering.first) == _YES:
            parts.append(
                f"After {', '.join(still)} the most biased words still fall into two clusters by "
                "their former bias: it is hidden from some measures, not gone."
            )
        elif finds(clustering.first) == _NO:
            parts.append(
                "Clustering can show nothing here: these vectors cluster as well along axes that "
                "have nothing to do with the groups."
            )
    return Answer("What did cleaning not change?", " ".join(parts))


def _range(line: Line, stages: Sequence[str]) -> str:
    after = [line.stages[stage] for stage in stages if stage in line.stages]
    values = sorted(float(row["value"]) for row in after if is_number(row["value"]))
    if not values:
        return _number(line.first)
    ends = list(dict.fromkeys(_text(value) for value in (values[0], values[-1])))
    return f"{_number(line.first)} → {' to '.join(ends)}"


def _next(columns: Sequence[ColumnAnswer], lines: Sequence[Line], call: Call) -> Answer:
    methods = [one for one in columns if _is_method(one)]
    best = _best([one for one in methods if one.verdict == "yes"])
    found = [line for line in lines if line.first and finds(line.first) == _YES]
    found.sort(key=lambda line: (line.measure == _MIDB, -_clearness(line.first or {})))
    if best is not None:
        text = (
            f"Write the cleaned vectors: wordbias debias {shlex.quote(best.name)}"
            f"{call.options(best.name)} -o clean.txt. Then train your model on both files and "
            "compare: no value here shows what another model makes of them."
        )
    elif not found:
        text = (
            "No bias is shown here that a method could remove. Ask about other groups: wordbias "
            f"audit --groups NAME{call.file}"
        )
    elif methods:
        metric = found[0].measure if found[0].measure != _MIDB else "direct-bias"
        text = (
            f"Try more methods and strengths: wordbias debias --choose {metric} "
            f"--keep {QUALITY_KEPT:g}{call.options()}"
        )
    else:
        text = f"Compare with the methods of wordbias: wordbias audit{call.options()}"
    return Answer("What next?", text)


def _next_without_columns(call: Call) -> Answer:
    return Answer("What next?", f"See what methods change: wordbias audit{call.options()}")


def _is_method(one: ColumnAnswer) -> bool:
    from wordbias.methods.methods import METHODS

    return not one.is_file and one.name.partition(":")[0].split(",")[0] in METHODS


class Call(NamedTuple):
    """The file of an embedding and the arguments with which it was measured."""

    path: str
    arguments: Mapping[str, Any]

    @property
    def file(self) -> str:
        """The file for another command; a command takes the sample without one."""
        if not self.path:
            return " EMBEDDING"
        return "" if Path(self.path) == sample_path() else f" {shlex.quote(self.path)}"

    def options(self, methods: str = "") -> str:
        """Return the options that repeat the groups, and for MISP and MHD the components."""
        options = []
        if isinstance(groups := self.arguments.get("groups"), str) and groups:
            options.append(f"--groups {shlex.quote(groups)}")
        if any(part.partition(":")[0] in ("misp", "mhd") for part in methods.split(",")):
            if is_number(dims := self.arguments.get("dims")) and dims != _DIMS:
                options.append(f"--dims {dims}")
            if any(self.arguments.get(name) is True for name in ("center", "as_published")):
                options.append("--center")
        return f"{self.file}{''.join(f' {one}' for one in options)}"


# Embeddings side by side


def compared(lines: Sequence[Line]) -> list[Answer]:
    """Say which of two embeddings is nearer to neutral, where the intervals do not overlap.

    Values that are within chance in both are not compared: they differ by chance, and mean |cos|
    by the dimension.
    """
    subjects = list(dict.fromkeys(line.subject for line in lines))
    if len(subjects) != 2:
        return []
    pairs: dict[tuple[str, str], dict[str, Line]] = {}
    for line in lines:
        if not MEASURES[line.measure].by_length:  # vectors may have other lengths
            pairs.setdefault((line.measure, line.variant), {})[line.subject] = line
    nearer: dict[str, list[str]] = {subject: [] for subject in subjects}
    unclear, within = [], []
    for both in pairs.values():
        rows = [both[subject].first for subject in subjects if subject in both]
        known = [row for row in rows if row is not None and is_number(row["value"])]
        if len(known) < 2:
            continue
        line, (one, other) = next(iter(both.values())), known
        text = f"{_short(line)} ({_number(one)}, {_number(other)})"
        ends, others = badness(one), badness(other)
        if all(finds(row) == _NO for row in known):
            within.append(text)
        elif ends is None or others is None:
            continue
        elif ends[1] < others[0]:
            nearer[subjects[0]].append(text)
        elif others[1] < ends[0]:
            nearer[subjects[1]].append(text)
        else:
            unclear.append(text)
    said = [f"{name} is nearer to no bias by {', '.join(ms)}." for name, ms in nearer.items() if ms]
    said += [f"No clear difference by {', '.join(unclear)}."] if unclear else []
    said += [f"Within chance in both: {', '.join(within)}."] if within else []
    return [Answer("Which is more biased?", " ".join(said))] if said else []


# Words and numbers


def _counts(rows: Sequence[Found]) -> str:
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
    return text


def _title(line: Line) -> str:
    family = FAMILY_OF[line.measure]
    named = family.in_words or family.short
    named = named if not named[1:].islower() else named[:1].lower() + named[1:]
    if family.names_variant is None:
        return named
    return f"{named} of {line.variant.split(', ')[family.names_variant]}"


def _short(line: Line) -> str:
    """Return the short name of a measure, without its variant."""
    family = FAMILY_OF[line.measure]
    named = family.short if family.short in family.in_words else family.in_words or family.short
    return named if not named[1:].islower() else named[:1].lower() + named[1:]


def _with_value(line: Line, row: Found) -> str:
    about = []
    low, high = row.get("chance_low"), row.get("chance_high")
    if is_number(low) and is_number(high):
        about.append(f"chance {_text(low)} to {_text(high)}")
    elif is_number(row.get("neutral")):
        about.append(f"{row['neutral']:g} without bias")
    if is_number(row.get("p")) and row["p"] == _p(row):
        about.append(
            ("p < 0.001" if row["p"] < _SMALL_P else f"p = {row['p']:.2g}")
            + (" with the words as given" if row.get("reading") else "")
        )
    return f"{_title(line)} ({', '.join([_number(row), *about])})"


def step(line: Line, stage: str) -> str:
    """Write a measure with its values before and after."""
    return f"{_short(line)} ({_number(line.first)} → {_number(line.stages.get(stage))})"


def _number(row: Found | None) -> str:
    return "–" if row is None else _text(row["value"])


def _text(value: float | None) -> str:
    return minus(number(value, _DIGITS))
