"""Answers of a report in plain English, built from its rows by the rules of `wordbias.verdicts`."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from wordbias import verdicts
from wordbias.data import sample_path
from wordbias.measures.registry import FAMILY_OF, in_words, variant_of
from wordbias.methods.settings import METHODS
from wordbias.methods.trade_off import SHARES, shares_kept
from wordbias.pages.columns import (
    FILE,
    ColumnAnswer,
    bare_value,
    best_of,
    capital,
    cost_title,
    costs_of,
    judge_columns,
    limits_text,
    short,
    step,
    steps,
    verdicts_text,
)
from wordbias.pages.encoder_answers import (
    ModelRows,
    contradictions,
    model_details,
    model_next,
    models_of,
)
from wordbias.pages.lines import Line, known_values, minus, value_text, with_change
from wordbias.pages.main_measures import main_lines, missing_query_notes
from wordbias.pages.retrieval import moved_answers
from wordbias.pages.section import Answer
from wordbias.pages.words import by_word, claims_occupations, most_leaning, sides
from wordbias.rendering import how_many
from wordbias.results import NO_PROOF, number
from wordbias.rows import Found, given
from wordbias.settings import read_chain, text_of
from wordbias.verdicts import (
    LIMITS,
    chance_ends,
    change,
    decide,
    differs,
    finds,
    interval,
    is_number,
    p_of,
)

_KEEP = LIMITS["similarity"]
_SUBJECTS = 4
_WORDS = 3
_KNOWN = 3
_TINY = 1e-12
_DIGITS = 3
"""Digits that are shown: values that agree in them are equal."""
_SMALL_P = 0.001
_STILL = 0.75
"""Accuracy of clustering, half way between guessing and certainty, from which it still works."""


def answers(
    rows: Sequence[Found],
    paths: Mapping[str, str] | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[str]:
    """Answer the questions of a report in sentences, each with the values that it is built from."""
    return [line for answer in answer_parts(rows, paths, settings) for line in answer.lines]


def answer_parts(
    rows: Sequence[Found],
    paths: Mapping[str, str] | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[Answer]:
    """Answer the questions of a report; see `answers`."""
    bias = main_bias(rows)
    subjects = list(
        dict.fromkeys(
            [*(line.subject for line in bias), *(model.subject for model in models_of(rows))]
        )
    )
    replies: list[Answer] = []
    for subject in subjects[:_SUBJECTS]:
        own = [row for row in rows if row["subject"] == subject]
        lines = [line for line in bias if line.subject == subject]
        prefix = f"{subject}: " if len(subjects) > 1 else ""
        call = Call((paths or {}).get(subject, ""), (settings or {}).get(subject, {}))
        parts = [is_it_biased(lines, own), *about_columns(own, lines, call)]
        replies += [replace(part, question=prefix + part.question) for part in parts]
    replies += compared(bias)
    replies += moved_answers(rows)
    notes = [] if replies else [_counts(rows)]
    if len(subjects) > _SUBJECTS:
        notes.append(f"Not summed up here, but in the tables: {', '.join(subjects[_SUBJECTS:])}.")
    return [*replies, Answer("", below=[*notes, *missing_query_notes(rows), NO_PROOF])]


def main_bias(rows: Sequence[Found]) -> list[Line]:
    """Return the lines of the main measures of bias, of vectors and of models."""
    of_vectors = [line for line in main_lines(rows) if FAMILY_OF[line.measure].kind == "bias"]
    return [*of_vectors, *(line for model in models_of(rows) for line in model.main)]


# Is it biased?


def is_it_biased(lines: Sequence[Line], rows: Sequence[Found]) -> Answer:
    """Answer whether the embedding is biased beyond chance, by which measures, and where most."""
    judged = [(line, row) for line in lines if (row := line.first) and is_number(row["value"])]
    details = [text for model in models_of(rows) for text in model_details(model)]
    if not judged:
        return Answer("Is it biased?", "Cannot tell: no measure has a value here.", below=details)
    order = (verdicts.YES, verdicts.NO, verdicts.UNJUDGED)
    judged.sort(key=lambda pair: (order.index(finds(pair[1])), -_clearness(pair[1])))
    yes, no, others = (
        [_with_value(line, row) for line, row in judged if finds(row) == verdict]
        for verdict in order
    )
    n = len(yes) + len(no)
    p = p_of(judged[0][1]) if yes else None
    is_certain = p is not None and p * n <= verdicts.LEVEL
    rule = decide(verdicts.BIASED, verdicts.Counted(len(yes), len(no), is_certain))
    text = rule.says.format(
        n=n,
        none="the only measure that can tell finds no" if n == 1 else f"none of {n} measures finds",
        some="the only measure" if n == 1 else f"{len(yes)} of {n} measures",
    )
    text = f"{capital(rule.verdict)}{',' if rule.verdict == verdicts.YES else ':'} {text}."
    parts = [
        ("Also by {}.", yes[1:]),
        ("No more than chance by {}.", no if yes else no[1:]),
        ("Not judged, for want of a chance level: {}.", others if n else others[1:]),
    ]
    sentences = [form.format(", ".join(values)) for form, values in parts if values]
    if yes and no:
        sentences.append("The measures disagree; each detects only the bias that it was made for.")
    line, row = judged[0]
    below = [" ".join([*sentences, *_leaning(rows)]), *among_known(lines), *details]
    figure = f"{_title(line)} {value_text(row)}"
    return Answer("Is it biased?", text, figure, _null(row), list(filter(None, below)))


def _clearness(row: Found) -> float:
    """Return a value's distance from chance, or from neutral, in units of its uncertainty."""
    for ends, start in (
        (chance_ends(row), row.get("chance")),
        (interval(row), row.get("neutral")),
    ):
        if ends and is_number(start):
            return float(abs(row["value"] - start) / max((ends[1] - ends[0]) / 2, _TINY))
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
    text = [f"towards {side}: {', '.join(words)}" for side, words in towards.items() if words]
    return [f"Of the occupations, most lean {'; '.join(text)}."]


def among_known(lines: Sequence[Line]) -> list[str]:
    """Place the values among those of embeddings that people know; not values within chance."""
    placed = [
        (line, row, known)
        for line in lines
        if (row := line.first)
        and is_number(row["value"])
        and finds(row) != verdicts.NO
        and (known := known_values(row))
    ]
    placed.sort(key=lambda triple: finds(triple[1]) != verdicts.YES)
    phrases = [_place(*triple) for triple in placed[:_KNOWN]]
    if not phrases:
        return []
    limit = "Corpus, vocabulary and dimension differ: only large differences mean anything."
    return [f"Among embeddings that people know: {'; '.join(phrases)}. {limit}"]


def _place(line: Line, row: Found, known: Mapping[str, float]) -> str:
    own = round(_distance(row, row["value"]), _DIGITS)
    nearer = sum(round(_distance(row, value), _DIGITS) < own for value in known.values())
    ordered = sorted(known, key=lambda name: _distance(row, known[name]))
    ends = dict.fromkeys([ordered[0], ordered[-1]])
    named = " to ".join(f"{name} {_text(known[name])}" for name in ends)
    verb = "is" if nearer == 1 else "are"
    count = f"{nearer} of {len(known)} {verb} nearer to no bias"
    return f"{short(line)} {bare_value(row)}: {count} ({named})"


def _distance(row: Found, value: float) -> float:
    """Return how far a value is on the worse side."""
    neutral = row.get("neutral")
    if row.get("better") == "neutral" and is_number(neutral):
        return abs(value - float(neutral))
    return -value if row.get("better") == "higher" else value


# Does cleaning help, which method, at what cost?


def about_columns(rows: Sequence[Found], lines: Sequence[Line], call: Call) -> list[Answer]:
    """Answer what the methods and cleaned files did, and what to do next."""
    columns, model = column_answers(rows, lines), next(iter(models_of(rows)), None)
    if not columns and not any(row.get("column") for row in rows) and model is None:
        return []
    usable = [column for column in columns if not column.failed]
    best, own = best_of(usable), [column for column in usable if not column.is_control]
    parts = [
        *([_does_it_help(columns, lines, best, model)] if columns else []),
        *([_which(own, best)] if len(own) > 1 else []),
        *([_cost(own, best, rows)] if own else []),
    ]
    then = _next(columns, lines, call)
    return [*parts, then if model is None else Answer("What next?", model_next(model, columns))]


def column_answers(
    rows: Sequence[Found], lines: Sequence[Line] | None = None
) -> list[ColumnAnswer]:
    """Judge each method and each cleaned file of one embedding, or each projection of a model."""
    lines = main_bias(rows) if lines is None else lines
    return judge_columns(rows, lines, partial(kept_shares, rows))


def kept_shares(rows: Sequence[Found], stage: str) -> dict[str, float]:
    """Return the share of each cost that a column keeps."""

    def values(at: str) -> dict[tuple[str, str], float | None]:
        return {
            (row["measure"], variant_of(row["measure"], row)): row["value"]
            for row in rows
            if row.get("stage") == at and is_number(row["value"]) and not given(row, "word")
        }

    return shares_kept(values("before"), values(stage))


_MIDB = "midb-unit-abs"
_DIMS = 4
"""Number of components of an audit and of MISP by default."""


def _does_it_help(
    columns: Sequence[ColumnAnswer],
    lines: Sequence[Line],
    best: ColumnAnswer | None,
    model: ModelRows | None,
) -> Answer:
    """Name the columns by their verdict, with the change of the best as a figure."""
    text = verdicts_text(columns)
    reasons: dict[str, list[str]] = {}
    for answer in columns:
        if why := answer.failed.rstrip(".") or answer.reason:
            reasons.setdefault(why, []).append(answer.name)
    below = ["; ".join(f"{', '.join(names)}: {why}" for why, names in reasons.items()) + "."]
    below = [*(below if reasons else []), *_clusters(columns, lines)]
    below += [] if model is None else contradictions(model, columns)
    own = [column for column in columns if not column.is_control]
    better = [line.first for column in own if column.helps for line in column.effect.better]
    if better and not any(row and finds(row) == verdicts.YES for row in better):
        below.append(
            "The measures that got better were not compared with chance: they may have found no "
            "bias at all."
        )
    if best is None:
        known = [
            column for column in own if column.effect.left is not None and not column.effect.costly
        ]
        least = min(known, key=lambda column: column.effect.left or 0, default=None)
        figure = "" if least is None else f"{least.name}: {least.left}"
        return Answer("Does cleaning help?", text, figure, below=below)
    line = best.effect.better[0]
    figure = with_change(f"{best.name}: {step(line, best.name)}", line.stages[best.name])
    sure = "the interval of the change leaves 0 out"
    return Answer("Does cleaning help?", text, figure, sure, below)


def _which(columns: Sequence[ColumnAnswer], best: ColumnAnswer | None) -> Answer:
    """Name the method that leaves least, with all that it makes worse beyond chance."""
    if best is None:
        text = "None of these can be recommended on these values."
        return Answer("Which method?", text)
    worse = f", but makes worse, beyond chance: {steps(best.effect.raised, best.name)}"
    text = f"{best.name} leaves least{worse * bool(best.effect.raised)}."
    changes = {"improves": best.effect.better, "improves, by construction,": best.effect.built_in}
    phrases = [f"{verb} {steps(of, best.name)}" for verb, of in changes.items() if of]
    below = [f"{best.name} {'; '.join(phrases)}."]
    clean = (
        best_of([column for column in columns if not column.effect.raised])
        if best.effect.raised
        else None
    )
    if clean is not None:
        left = f": {clean.left}" if clean.left else ""
        below.append(f"{clean.name} makes no main measure worse beyond chance{left}.")
    sure = "" if best.left_ends or not best.left else "this share has no interval"
    if best.left_ends:
        sure = "its 95 % interval is {:.0%} to {:.0%}".format(*best.left_ends)
    return Answer("Which method?", text, best.left, sure, below)


def _cost(
    columns: Sequence[ColumnAnswer], best: ColumnAnswer | None, rows: Sequence[Found]
) -> Answer:
    """Say what share of each cost is kept, of the best with the interval of what has one."""
    of = best or columns[0]
    parts = {
        "Within the limits": [
            column.name for column in columns if column.kept and not column.effect.costly
        ],
        "Too much": [column.name for column in columns if column.effect.costly],
    }
    text = " ".join(f"{heading}: {', '.join(names)}." for heading, names in parts.items() if names)
    shares = {what: f"{in_words(what)} {share:.1%}" for what, share in of.kept.items()}
    for row in rows:
        what = SHARES.get(row["measure"])
        is_own = row.get("stage") == of.name and not given(row, "word")
        if what is not None and is_own and (ends := interval(row)):
            shares[what] += f" ({ends[0]:.1%} to {ends[1]:.1%})"
    figure = f"{of.name} keeps of {', '.join(shares.values())}" if shares else ""
    costs = costs_of(columns)
    lacking = [
        cost_title(what) for what in costs if not any(what in column.kept for column in columns)
    ]
    sure = f"limits: {limits_text(costs)}"
    sure = f"not measured: {', '.join(lacking)}" if lacking else sure
    return Answer("At what cost?", text or "Not measured.", figure, sure)


def _clusters(columns: Sequence[ColumnAnswer], lines: Sequence[Line]) -> list[str]:
    """Say whether the most biased words still cluster after what lowered other measures."""
    line = next(
        (candidate for candidate in lines if FAMILY_OF[candidate.measure].key == "clustering"), None
    )
    still = [
        column.name
        for column in columns
        if line is not None
        and (column.effect.better or column.effect.built_in)
        and (row := line.stages.get(column.name))
        and is_number(row["value"])
        and row["value"] >= _STILL
    ]
    if line is None or not line.first or not still:
        return []
    if finds(line.first) == verdicts.NO:
        return [
            "Clustering can show nothing here: these vectors cluster equally well along axes that "
            "have nothing to do with the groups."
        ]
    return [
        f"After {', '.join(still)} the most biased words still fall into two clusters by their "
        "former bias: it is hidden from some measures, not gone."
    ]


def _next(columns: Sequence[ColumnAnswer], lines: Sequence[Line], call: Call) -> Answer:
    methods = [column for column in columns if _is_method(column)]
    best = best_of(methods)
    biased = [line for line in lines if line.first and finds(line.first) == verdicts.YES]
    biased.sort(key=lambda line: (line.measure == _MIDB, -_clearness(line.first or {})))
    if not columns:
        text = f"See what methods change: wordbias audit{call.options()}"
    elif best is not None:
        options = f"{shlex.quote(call.methods(best.name))}{call.options()}"
        worse = f", though this makes worse, beyond chance, {steps(best.effect.raised, best.name)}"
        text = f"Write the cleaned vectors{worse * bool(best.effect.raised)}: wordbias debias"
        below = "Train your model on both files and compare: no value here shows what another "
        below += "model makes of them."
        return Answer("What next?", f"{text} {options} -o clean.txt", below=[below])
    elif not biased:
        text = (
            "No bias is shown here that a method could remove. Ask about other groups: wordbias "
            f"audit --groups NAME{call.file}"
        )
    elif methods:
        metric = biased[0].measure if biased[0].measure != _MIDB else "direct-bias"
        text = (
            f"Try more methods and strengths: wordbias choose{call.options()} --by {metric} "
            f"--keep {_KEEP:g}"
        )
    else:
        text = f"Compare with the methods of wordbias: wordbias audit{call.options()}"
    return Answer("What next?", text)


def _is_method(column: ColumnAnswer) -> bool:
    is_own = column.kind == FILE or column.is_control
    return not is_own and column.name.partition(":")[0].split(",")[0] in METHODS


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
                method._replace(settings={**settings, **method.settings})
                if method.name in ("misp", "mhd")
                else method
                for method in read_chain(text, METHODS)
            ]
        )


# Embeddings side by side


def compared(lines: Sequence[Line]) -> list[Answer]:
    """Say which of two embeddings is nearer to neutral, where the intervals do not overlap."""
    # Values that are within chance in both are not compared: they differ by chance, and mean |cos|
    # by the dimension.
    subjects = list(dict.fromkeys(line.subject for line in lines))
    if len(subjects) != 2:
        return []
    pairs: dict[tuple[str, str], dict[str, Line]] = {}
    for line in lines:
        pairs.setdefault((line.measure, line.variant), {})[line.subject] = line
    nearer: dict[str, list[str]] = {subject: [] for subject in subjects}
    unclear: list[str] = []
    within: list[str] = []
    of = {verdicts.WORSE: nearer[subjects[0]], verdicts.BETTER: nearer[subjects[1]]}
    for both in pairs.values():
        rows = [both[subject].first for subject in subjects if subject in both]
        known = [row for row in rows if row is not None and is_number(row["value"])]
        if len(known) < 2:
            continue
        line, (first, other) = next(iter(both.values())), known
        text, changed = (
            f"{short(line)} ({bare_value(first)}, {bare_value(other)})",
            change(first, other),
        )
        if all(finds(row) == verdicts.NO for row in known):
            within.append(text)
        elif changed not in (verdicts.NO_INTERVAL, verdicts.UNKNOWN):
            of.get(changed, unclear).append(text)
    sentences = [
        f"{name} is nearer to no bias by {', '.join(ms)}." for name, ms in nearer.items() if ms
    ]
    sentences += [f"No clear difference by {', '.join(unclear)}."] if unclear else []
    sentences += [f"Within chance in both: {', '.join(within)}."] if within else []
    return [Answer("Which is more biased?", " ".join(sentences))] if sentences else []


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
    if given(line.any, "audit"):
        return short(line)
    family = FAMILY_OF[line.measure]
    named = family.in_words or family.short
    named = named if not named[1:].islower() else named[:1].lower() + named[1:]
    if family.names_variant is None:
        return named
    return f"{named} of {line.variant.split(', ')[family.names_variant]}"


def _with_value(line: Line, row: Found) -> str:
    return f"{_title(line)} ({', '.join(filter(None, [bare_value(row), _null(row)]))})"


def _null(row: Found) -> str:
    """Say what a value is compared with: chance, or its value without bias, and its p."""
    about = []
    if chance := chance_ends(row):
        about.append("chance {} to {}".format(*map(_text, chance)))
    elif is_number(row.get("neutral")):
        about.append(f"{row['neutral']:g} without bias")
    if is_number(row.get("p")) and row["p"] == p_of(row):
        about.append(
            ("p < 0.001" if row["p"] < _SMALL_P else f"p = {row['p']:.2g}")
            + (" with the words as given" if row.get("reading") else "")
        )
    return ", ".join(about)


def _text(value: float | None) -> str:
    return minus(number(value, _DIGITS))
