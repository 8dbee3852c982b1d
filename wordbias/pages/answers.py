"""Answers of a report in plain English, built from its rows by stated rules.

Is it biased, does cleaning help, which method, at what cost? `RULES` states when each answer is
given; the table in `docs/measures.md` is made of it. The file is long because the rules, the
functions that apply them and the sentences are read together.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from wordbias.data import sample_path
from wordbias.measures.held_out_probes import BEST
from wordbias.measures.registry import FAMILY_OF, in_words, short_title, variant_of
from wordbias.methods.settings import METHODS
from wordbias.methods.trade_off import NEIGHBOURS_TITLE, QUALITY, shares_kept
from wordbias.pages.encoder_answers import is_of_model, model_answer_parts
from wordbias.pages.lines import (
    Line,
    interval,
    is_number,
    is_refitted,
    known_values,
    minus,
    value_text,
    with_change,
)
from wordbias.pages.main_measures import main_lines, missing_query_notes
from wordbias.pages.section import Answer
from wordbias.pages.verdicts import (
    ALMOST_ALL_LEFT,
    IMPROVED,
    MUCH_LEFT,
    SAME,
    SMALLEST_CHANGE,
    UNCLEAR,
    WORSE,
    Degree,
    badness,
    change,
    degree,
    differs,
)
from wordbias.pages.words import by_word, claims_occupations, most_leaning, sides
from wordbias.rendering import how_many
from wordbias.results import NO_PROOF, number
from wordbias.rows import Found, given
from wordbias.settings import read_chain, text_of

NEIGHBOURS_KEPT = 0.9
"""Smallest share of the ten nearest neighbours that a method must keep to help."""
QUALITY_KEPT = 0.98
"""Smallest share of similarity and of analogies that a method must keep to help."""
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

Verdict = Degree | Literal["no", "cannot tell"]


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
        "Is it biased?",
        "a main measure that is not within chance, with the same settings and word lists, is known "
        "of embeddings that people know",
        "below: the number of them that are nearer to neutral",
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
        f"the same, and more than {MUCH_LEFT:.0%} of the bias is left, counted from chance, or "
        "from neutral where a measure has a test and no chance level, as WEAT",
        "A little",
    ),
    Rule(
        "Does cleaning help?",
        f"the same, and more than {ALMOST_ALL_LEFT:.0%} is left: the tenth that is gone at most is "
        "less than the value before is uncertain by (WEAT of the sample, 1.72, from 1.51 to 1.85)",
        "Hardly",
    ),
    Rule(
        "Does cleaning help?",
        "one of these three, and a main measure that found no bias before changed for the worse, "
        "and finds bias after",
        "…, but",
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
        "Does cleaning help?",
        f"after a method that lowered another measure clustering is {_STILL:g} or more",
        "below: the bias is still to be seen in the neighbours, if it was beyond chance before",
    ),
    Rule(
        "Which method?",
        "of the methods that help, a little at least, the one that leaves the smallest share of "
        "bias; of equals the one that keeps more",
        "its name, and each main measure that it makes worse beyond chance",
    ),
    Rule("At what cost?", "neighbours, similarity or analogies were measured", "the shares kept"),
    Rule(
        "What next?",
        "a method helps, a little at least; else bias is found; else nothing is",
        "the command that writes its vectors, with what it makes worse; that tries more methods; "
        "that asks about other groups",
    ),
)


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
    better, worse
        Main lines of bias that count, by the direction of their paired change; those that it
        lowers by construction are in `built_in`.
    raised
        Those that found no bias before and find some now.
    within
        Those that changed for the better or the worse, and found no bias before or after.
    kept
        Share kept by what was measured of quality and neighbours.
    costly
        Those of these shares that are below their limits, in words.
    bias_left, left, left_ends
        Share of the bias that is left, if it is known, in words, and its interval where it has one.
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
    built_in: Sequence[Line] = ()
    raised: Sequence[Line] = ()
    within: Mapping[str, Sequence[Line]] = field(default_factory=dict)
    kept: Mapping[str, float] = field(default_factory=dict)
    costly: Sequence[str] = ()
    bias_left: float | None = None
    left: str = ""
    left_ends: tuple[float, float] | None = None
    failed: str = ""
    is_file: bool = False

    @property
    def helps(self) -> bool:
        """Whether it can be recommended: it helps, a little at least."""
        return self.verdict in ("yes", "a little")


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
    return [line for one in answer_parts(rows, paths, settings) for line in one.lines]


def answer_parts(
    rows: Sequence[Found],
    paths: Mapping[str, str] | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[Answer]:
    """Answer the questions of a report; see `answers`."""
    if any(map(is_of_model, rows)):
        return model_answer_parts(rows)
    bias = [line for line in main_lines(rows) if FAMILY_OF[line.measure].kind == "bias"]
    subjects = list(dict.fromkeys(line.subject for line in bias))
    found: list[Answer] = []
    for subject in subjects[:_SUBJECTS]:
        own = [row for row in rows if row["subject"] == subject]
        lines = [line for line in bias if line.subject == subject]
        prefix = f"{subject}: " if len(subjects) > 1 else ""
        call = Call((paths or {}).get(subject, ""), (settings or {}).get(subject, {}))
        parts = [is_it_biased(lines, own), *about_columns(own, lines, call)]
        found += [replace(part, question=prefix + part.question) for part in parts]
    found += compared(bias)
    notes = [] if found else [_counts(rows)]
    if len(subjects) > _SUBJECTS:
        notes.append(f"Not summed up here, but in the tables: {', '.join(subjects[_SUBJECTS:])}.")
    return [*found, Answer("", below=[*notes, *missing_query_notes(rows), NO_PROOF])]


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
    if not judged:
        return Answer("Is it biased?", "Cannot tell: no measure has a value here.")
    order = (_YES, _NO, _UNJUDGED)
    judged.sort(key=lambda one: (order.index(finds(one[1])), -_clearness(one[1])))
    yes, no, others = (
        [_with_value(line, row) for line, row in judged if finds(row) == verdict]
        for verdict in order
    )
    n = len(yes) + len(no)
    if not n:
        text = "Cannot tell: no measure here has a chance level, or an interval that could tell."
    elif not yes:
        of = "the only measure that can tell finds no" if n == 1 else f"none of {n} measures finds"
        text = f"Not shown: {of} more than chance gives."
    elif len(yes) == 1 < n and not _is_certain(judged, n):
        text = (
            f"Perhaps: one of {n} measures finds more than chance gives; where there is no bias, "
            "about one measure in twenty does so by luck."
        )
    elif n == 1:
        text = "Yes, by the only measure that can tell."
    else:
        text = f"Yes, by {len(yes)} of {n} measures that can tell."
    parts = [
        ("Also by {}.", yes[1:]),
        ("No more than chance by {}.", no if yes else no[1:]),
        ("Not judged, for want of a chance level: {}.", others if n else others[1:]),
    ]
    said = [form.format(", ".join(values)) for form, values in parts if values]
    if yes and no:
        said.append("The measures disagree; each detects only the bias that it was made for.")
    line, row = judged[0]
    below = [" ".join([*said, *_leaning(rows)]), *among_known(lines)]
    figure = f"{_title(line)} {value_text(row)}"
    return Answer("Is it biased?", text, figure, _null(row), list(filter(None, below)))


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


def among_known(lines: Sequence[Line]) -> list[str]:
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
    return [f"Among embeddings that people know: {'; '.join(said)}. {limit}"]


def _place(line: Line, row: Found, known: Mapping[str, float]) -> str:
    own = round(_distance(row, row["value"]), _DIGITS)
    nearer = sum(round(_distance(row, value), _DIGITS) < own for value in known.values())
    ordered = sorted(known, key=lambda name: _distance(row, known[name]))
    ends = dict.fromkeys([ordered[0], ordered[-1]])
    named = " to ".join(f"{name} {_text(known[name])}" for name in ends)
    verb = "is" if nearer == 1 else "are"
    count = f"{nearer} of {len(known)} {verb} nearer to no bias"
    return f"{short(line)} {_number(row)}: {count} ({named})"


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
    if not columns and not any(row.get("column") for row in rows):
        return []
    made = [one for one in columns if not one.failed]
    best = _best(made)
    parts = [
        *([_does_it_help(columns, lines, best)] if columns else []),
        *([_which(made, best)] if len(made) > 1 else []),
        *([_cost(made, best, rows)] if made else []),
    ]
    return [*parts, _next(columns, lines, call)]


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
    changed: dict[str, list[Line]] = {}
    within: dict[str, list[Line]] = {}
    for line in lines:
        if line not in raised:
            of = changed if line in judged else within
            of.setdefault(change(line, name), []).append(line)
    improved, worse = changed.get(IMPROVED, []), changed.get(WORSE, [])
    built_in = [line for line in improved if _by_construction(line, name)]
    better = [line for line in improved if line not in built_in]
    kept = kept_shares(rows, name)
    costly = [
        f"{named} kept {kept[what]:.1%}, below {_limit(what):.0%}"
        for what, named in _KEPT.items()
        if what in kept and kept[what] < _limit(what)
    ]
    left = next((r for r in rows if r["measure"] == "bias-left" and r.get("stage") == name), None)
    bias_left = float(left["value"]) if left and is_number(left["value"]) else None
    little = _left_text(left, lines) if degree(bias_left) != "yes" else ""
    both = [", ".join(map(short, one)) for one in (better, worse)]
    contradict = f"measures contradict each other: {both[0]} got better, {both[1]} got worse"
    moved = any(changed.get(one) for one in (WORSE, UNCLEAR, SAME))
    cases: list[tuple[object, Verdict, str]] = [
        (better and costly, "no", f"its cost is too high: {', '.join(costly)}"),
        (better and worse, "cannot tell", contradict),
        (better, degree(bias_left), ", but ".join(filter(None, [little, _now_beyond(raised)]))),
        (raised, "no", _now_beyond(raised)),
        (built_in, "cannot tell", "only what it removes by construction got better"),
        (moved, "no", "no measure changed clearly for the better"),
        (not judged, "cannot tell", "no measure finds bias that it could remove"),
        (True, "cannot tell", "no change has an interval to judge by"),
    ]
    verdict, reason = next((verdict, reason) for holds, verdict, reason in cases if holds)
    is_file = any(row.get("column") == _FILE for row in rows if row.get("stage") == name)
    return ColumnAnswer(
        name,
        verdict,
        reason,
        better,
        worse,
        built_in,
        raised,
        within,
        kept,
        costly,
        bias_left,
        _left_text(left, lines),
        interval(left) if left else None,
        is_file=is_file,
    )


def _limit(what: str) -> float:
    return NEIGHBOURS_KEPT if what == NEIGHBOURS_TITLE else QUALITY_KEPT


def _left_text(row: Found | None, lines: Sequence[Line]) -> str:
    """Say what share is left, beyond chance if all of what it is a share of has a chance level."""
    if row is None or not is_number(row["value"]):
        return ""
    of = row.get("of")
    shares = {str(name): float(one) for name, one in of.items()} if isinstance(of, dict) else {}
    if not shares:
        return f"{row['value']:.0%} of the bias is left"
    worst = max(shares, key=shares.__getitem__)
    first = next((line.first for line in lines if short_title(line.measure) == worst), None) or {}
    what = f"{worst} finds{' beyond chance' * isinstance(first.get('beyond_chance'), bool)}"
    if worst == short_title(BEST):
        what = "the best of several probes reads of words that no method was fitted to"
    others = ", ".join(f"{name} {one:.0%}" for name, one in shares.items() if name != worst)
    return f"{row['value']:.0%} of what {what} is left{f' ({others})' * bool(others)}"


def _is_raised(line: Line, stage: str) -> bool:
    """Return whether a value that was not beyond chance changed for the worse, to beyond it."""
    if line.first is None or stage not in line.stages or finds(line.stages[stage]) != _YES:
        return False
    return change(line, stage) == WORSE


def _now_beyond(lines: Sequence[Line]) -> str:
    if not lines:
        return ""
    is_now = "is now" if len(lines) == 1 else "are now"
    return f"{', '.join(map(short, lines))}, at chance before, {is_now} beyond it"


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
_MIDB = "midb-unit-abs"
_DIMS = 4
"""Number of components of an audit and of MISP by default."""


def _does_it_help(
    columns: Sequence[ColumnAnswer], lines: Sequence[Line], best: ColumnAnswer | None
) -> Answer:
    """Name the columns by their verdict, with the change of the best as a figure."""
    titles = ("yes", "a little", "hardly", "no", "cannot tell", "not made")
    by: dict[str, list[str]] = {}
    for one in columns:
        but = ", but" if one.raised and one.better and not one.worse and not one.costly else ""
        verdict = "not made" if one.failed else one.verdict
        by.setdefault(verdict + but, []).append(one.name)
    ordered = sorted(by, key=lambda verdict: titles.index(verdict.partition(",")[0]))
    text = " ".join(f"{_capital(verdict)}: {', '.join(by[verdict])}." for verdict in ordered)
    reasons: dict[str, list[str]] = {}
    for one in columns:
        if why := one.failed.rstrip(".") or one.reason:
            reasons.setdefault(why, []).append(one.name)
    below = ["; ".join(f"{', '.join(names)}: {why}" for why, names in reasons.items()) + "."]
    below = [*(below if reasons else []), *_clusters(columns, lines)]
    better = [line.first for one in columns if one.helps for line in one.better]
    if better and not any(row and finds(row) == _YES for row in better):
        below.append(
            "What got better was not compared with chance: it may have been no bias at all."
        )
    if best is None:
        known = [one for one in columns if one.bias_left is not None and not one.costly]
        least = min(known, key=lambda one: one.bias_left or 0, default=None)
        figure = "" if least is None else f"{least.name}: {least.left}"
        return Answer("Does cleaning help?", text, figure, below=below)
    line = best.better[0]
    figure = with_change(f"{best.name}: {step(line, best.name)}", line.stages[best.name])
    sure = "the interval of the change leaves 0 out"
    return Answer("Does cleaning help?", text, figure, sure, below)


def _which(made: Sequence[ColumnAnswer], best: ColumnAnswer | None) -> Answer:
    """Name the method that leaves least, with all that it makes worse beyond chance."""
    if best is None:
        text = "None of these can be recommended on these values."
        return Answer("Which method?", text)
    worse = f", but makes worse, beyond chance: {_steps(best.raised, best.name)}"
    text = f"{best.name} leaves least{worse * bool(best.raised)}."
    changes = {"improves": best.better, "improves, by construction,": best.built_in}
    said = [f"{verb} {_steps(of, best.name)}" for verb, of in changes.items() if of]
    below = [f"{best.name} {'; '.join(said)}."]
    clean = _best([one for one in made if not one.raised]) if best.raised else None
    if clean is not None:
        left = f": {clean.left}" if clean.left else ""
        below.append(f"{clean.name} makes no main measure worse beyond chance{left}.")
    sure = "" if best.left_ends or not best.left else "it has no interval of its own"
    if best.left_ends:
        sure = "its 95 % interval is {:.0%} to {:.0%}".format(*best.left_ends)
    return Answer("Which method?", text, best.left, sure, below)


def _best(columns: Sequence[ColumnAnswer]) -> ColumnAnswer | None:
    """Return of what helps what leaves the smallest share of bias; of equals, what keeps more.

    Without shares of bias left, what lowers most measures.
    """

    def rank(one: ColumnAnswer) -> tuple[float, float, float]:
        left = float("inf") if one.bias_left is None else one.bias_left
        return left, -len(one.better), -min(one.kept.values(), default=1.0)

    return min((one for one in columns if one.helps), key=rank, default=None)


def _cost(made: Sequence[ColumnAnswer], best: ColumnAnswer | None, rows: Sequence[Found]) -> Answer:
    """Say what share of neighbours, similarity and analogies is kept, of the best with interval."""
    of = best or made[0]
    parts = {
        "Within the limits": [one.name for one in made if one.kept and not one.costly],
        "Too much": [one.name for one in made if one.costly],
    }
    text = " ".join(f"{said}: {', '.join(names)}." for said, names in parts.items() if names)
    shares = {what: f"{what} {share:.1%}" for what, share in of.kept.items()}
    for row in rows:
        about = (row["measure"], row.get("stage"), given(row, "word"))
        if about == ("neighbours-preserved", of.name, False) and (ends := interval(row)):
            shares[NEIGHBOURS_TITLE] += f" ({ends[0]:.1%} to {ends[1]:.1%})"
    figure = f"{of.name} keeps of {', '.join(shares.values())}" if shares else ""
    lacking = [named for what, named in _KEPT.items() if not any(what in one.kept for one in made)]
    sure = f"limits: {NEIGHBOURS_KEPT:.0%} of neighbours, {QUALITY_KEPT:.0%} of the others"
    sure = f"not measured: {', '.join(lacking)}" if lacking else sure
    return Answer("At what cost?", text or "Not measured.", figure, sure)


_KEPT = {
    NEIGHBOURS_TITLE: in_words("neighbours-preserved"),
    **{in_words(one): in_words(one) for one in QUALITY},
}


def _clusters(columns: Sequence[ColumnAnswer], lines: Sequence[Line]) -> list[str]:
    """Say whether the most biased words still cluster after what lowered other measures."""
    line = next((one for one in lines if FAMILY_OF[one.measure].key == "clustering"), None)
    still = [
        one.name
        for one in columns
        if line is not None
        and (one.better or one.built_in)
        and (row := line.stages.get(one.name))
        and is_number(row["value"])
        and row["value"] >= _STILL
    ]
    if line is None or not line.first or not still:
        return []
    if finds(line.first) == _NO:
        return [
            "Clustering can show nothing here: these vectors cluster as well along axes that have "
            "nothing to do with the groups."
        ]
    return [
        f"After {', '.join(still)} the most biased words still fall into two clusters by their "
        "former bias: it is hidden from some measures, not gone."
    ]


def _next(columns: Sequence[ColumnAnswer], lines: Sequence[Line], call: Call) -> Answer:
    methods = [one for one in columns if _is_method(one)]
    best = _best(methods)
    found = [line for line in lines if line.first and finds(line.first) == _YES]
    found.sort(key=lambda line: (line.measure == _MIDB, -_clearness(line.first or {})))
    if not columns:
        text = f"See what methods change: wordbias audit{call.options()}"
    elif best is not None:
        options = f"{shlex.quote(call.methods(best.name))}{call.options()}"
        worse = f", though this makes worse, beyond chance, {_steps(best.raised, best.name)}"
        text = f"Write the cleaned vectors{worse * bool(best.raised)}: wordbias debias {options}"
        below = "Train your model on both files and compare: no value here shows what another "
        below += "model makes of them."
        return Answer("What next?", f"{text} -o clean.txt", below=[below])
    elif not found:
        text = (
            "No bias is shown here that a method could remove. Ask about other groups: wordbias "
            f"audit --groups NAME{call.file}"
        )
    elif methods:
        metric = found[0].measure if found[0].measure != _MIDB else "direct-bias"
        text = (
            f"Try more methods and strengths: wordbias choose{call.options()} --by {metric} "
            f"--keep {QUALITY_KEPT:g}"
        )
    else:
        text = f"Compare with the methods of wordbias: wordbias audit{call.options()}"
    return Answer("What next?", text)


def _is_method(one: ColumnAnswer) -> bool:
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
        sample = sample_path().parts[-3:]  # a page has no more of its path
        return "" if Path(self.path).parts[-3:] == sample else f" {shlex.quote(self.path)}"

    def options(self) -> str:
        """Return the file, and the option that repeats the groups."""
        groups = self.arguments.get("groups")
        if isinstance(groups, str) and groups:
            return f"{self.file} --groups {shlex.quote(groups)}"
        return self.file

    def methods(self, text: str) -> str:
        """Write methods with the components that MISP and MHD were fitted with."""
        settings: dict[str, Any] = {}
        if is_number(dims := self.arguments.get("dims")) and dims != _DIMS:
            settings["dims"] = dims
        of_paper = ("centre", "center", "as_published")  # center until schema 2
        if any(self.arguments.get(name) is True for name in of_paper):
            settings["centre"] = True
        return text_of(
            [
                one._replace(settings={**settings, **one.settings})
                if one.name in ("misp", "mhd")
                else one
                for one in read_chain(text, METHODS)
            ]
        )


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
        pairs.setdefault((line.measure, line.variant), {})[line.subject] = line
    nearer: dict[str, list[str]] = {subject: [] for subject in subjects}
    unclear, within = [], []
    for both in pairs.values():
        rows = [both[subject].first for subject in subjects if subject in both]
        known = [row for row in rows if row is not None and is_number(row["value"])]
        if len(known) < 2:
            continue
        line, (one, other) = next(iter(both.values())), known
        text = f"{short(line)} ({_number(one)}, {_number(other)})"
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


def short(line: Line) -> str:
    """Return the short name of a measure, without its variant."""
    family = FAMILY_OF[line.measure]
    named = family.short if family.short in family.in_words else family.in_words or family.short
    return named if not named[1:].islower() else named[:1].lower() + named[1:]


def _with_value(line: Line, row: Found) -> str:
    return f"{_title(line)} ({', '.join(filter(None, [_number(row), _null(row)]))})"


def _null(row: Found) -> str:
    """Say what a value is compared with: chance, or its value without bias, and its p."""
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
    return ", ".join(about)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def step(line: Line, stage: str) -> str:
    """Write a measure with its values before and after."""
    row = line.stages.get(stage)
    refitted = ", refitted" if is_refitted(row) else ""
    return f"{short(line)} ({_number(line.first)} → {_number(row)}{refitted})"


def _steps(lines: Sequence[Line], stage: str) -> str:
    return ", ".join(step(line, stage) for line in lines)


def _number(row: Found | None) -> str:
    return "–" if row is None else _text(row["value"])


def _text(value: float | None) -> str:
    return minus(number(value, _DIGITS))
