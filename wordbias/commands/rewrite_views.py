"""What rewriting did, as rows for machines and tables for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from wordbias.commands.rewrite_plan import Done
from wordbias.outcomes.balancing import Balanced
from wordbias.outcomes.iterative_scrubbing import Found
from wordbias.outcomes.rewriting import Tally
from wordbias.rendering import Table, how_many
from wordbias.results import Report, Row, number

_MOST = 10
_SHOWN = 1_000


def rewrite_report(
    done: Done, arguments: Mapping[str, Any], data: str, output: str, seed: int
) -> Report:
    """Arrange what was changed and what was found."""
    subject = Path(data).name
    extra = [row for value, found in done.extra.items() for row in _found_rows(found, value, done)]
    rows = [
        Row(subject, "rows-read", done.read, {"n": done.read}),
        Row(subject, "rows-written", done.written, {"n": done.written}),
        *(row for tally in done.tallies for row in _tally_rows(tally, subject)),
        *(_cell_rows(done.balanced, subject) if done.balanced else ()),
        *extra,
    ]
    tables = [
        _tally_table(done),
        *([_balance_table(done.balanced)] if done.balanced else []),
        *(_words_table(tally) for tally in done.tallies if tally.words),
        *(_rounds_table(found, value, done) for value, found in done.extra.items()),
    ]
    closing = [f"Written: {output}, {how_many(done.written, 'row')}."]
    return Report(
        "rewrite",
        arguments,
        {subject: {"path": data, "rows": done.read, "text": done.file.text}},
        rows,
        tables,
        closing=closing,
        seed=seed,
        notes=list(_notes(done, bool(arguments["spans"]))),
    )


def _tally_rows(tally: Tally, subject: str) -> Iterator[Row]:
    about = {"method": tally.method, "n": tally.rows}
    yield Row(subject, "rows-changed", tally.changed, about)
    if tally.added:
        yield Row(subject, "rows-added", tally.added, about)
    if tally.words:
        most = dict(tally.words.most_common(_SHOWN))
        yield Row(
            subject,
            "words-changed",
            tally.words.total(),
            {**about, "distinct": len(tally.words), "most": most},
        )


def _cell_rows(balanced: Balanced, subject: str) -> Iterator[Row]:
    for i, label in enumerate(balanced.classes):
        for j, group in enumerate(balanced.groups):
            about = {"method": balanced.how, "class": label, "group": group}
            before = int(balanced.before[i, j])
            yield Row(
                subject, "rows-in-cell", int(balanced.after[i, j]), {**about, "before": before}
            )


def _found_rows(found: Found, value: str, done: Done) -> Iterator[Row]:
    chance = 1 / len(found.groups)
    for i, one in enumerate(found.rounds):
        about = {
            "method": "extra-scrub",
            "within": value or None,
            "round": i + 1,
            "n": found.n,
            "sd": one.sd,
            "neutral": chance,
            "better": "lower",
            "words": {group: dict(words) for group, words in one.words.items()},
        }
        yield Row(done.file.path.name, "balanced-accuracy", one.accuracy, about)


def _tally_table(done: Done) -> Table:
    cells = [
        [
            tally.method,
            f"{tally.rows:,}",
            f"{tally.changed:,}",
            f"{tally.words.total():,}" if tally.words else "–",
            f"{tally.added:,}" if tally.added else "–",
        ]
        for tally in done.tallies
    ]
    columns = ["", "rows", "changed", "words", "rows more"]
    return Table(f"{done.file.path.name}: {how_many(done.read, 'row')} read", columns, cells)


def _balance_table(balanced: Balanced) -> Table:
    columns = ["class", *(f"{group} {when}" for group in balanced.groups for when in _WHEN)]
    cells = [
        [label, *(f"{count:,}" for pair in zip(*rows, strict=True) for count in pair)]
        for label, *rows in zip(
            balanced.classes, balanced.before.tolist(), balanced.after.tolist(), strict=True
        )
    ]
    return Table(f"Rows, {balanced.how}d".replace("eed", "ed"), columns, cells)


_WHEN = ("before", "after")


def _words_table(tally: Tally) -> Table:
    most = tally.words.most_common(_MOST)
    rest = len(tally.words) - len(most)
    note = f"And {rest:,} more." if rest else ""
    cells = [[word, f"{count:,}"] for word, count in most]
    return Table(f"What {tally.method} changed most often", ["", "times"], cells, note)


def _rounds_table(found: Found, value: str, done: Done) -> Table:
    """Tables 9 and 10 of Orgad et al.: the words of each group, round by round."""
    cells = []
    for i, one in enumerate(found.rounds, 1):
        measured = [str(i), f"{number(one.accuracy, 3)} ± {number(one.sd, 3)}"]
        for group, words in one.words.items():
            cells.append([*measured, group, " ".join(word for word, _ in words)])
            measured = ["", ""]
        if not one.words:
            cells.append([*measured, "", ""])
    where = f"within {value}" if value else "over all texts"
    return Table(
        f"Words that say the group, {where}: {how_many(found.n, 'text')}",
        ["round", "accuracy", "group", "words taken out"],
        cells,
        "Balanced accuracy of a logistic regression on held-out texts before the words of its "
        f"round are taken out; neutral {number(1 / len(found.groups), 2)}, lower is better. "
        f"Stopped: {found.stopped}.",
    )


def _notes(done: Done, moved: bool) -> Iterator[str]:
    problems = done.file.problems
    if problems.count:
        yield f"{how_many(problems.count, 'row')} dropped, the first: {problems.first}"
    if done.balanced:
        empty = done.balanced.empty()
        effect = "is left out" if done.balanced.how == "subsample" else "stays unbalanced"
        if empty:
            shown = ", ".join(empty[:5]) + (", …" if len(empty) > 5 else "")
            yield f"{shown}; such a class {effect}"
    for tally in done.tallies:
        if not tally.rows:
            yield f"{tally.method}: there is no row that is asked for"
        elif tally.method in _SPEAKS_OF_TEXT and not tally.words:
            yield f"{tally.method}: nothing was found to change"
    if moved:
        yield "columns of spans are kept, and speak of the text as it was"


_SPEAKS_OF_TEXT = ("scrub", "swap", "anonymise", "extra-scrub")
