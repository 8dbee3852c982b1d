"""What `wordbias.likelihood` does with a decoder: scores, changes after removals, tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from wordbias import cells
from wordbias.draws import with_change
from wordbias.errors import WordbiasError
from wordbias.functions.adapters import OpenAdapter
from wordbias.functions.inputs import write_records
from wordbias.measures.registry import column_title
from wordbias.models.causal_model import CausalModel
from wordbias.models.fingerprint import sampled_sha256
from wordbias.models.hooks import Intervention, applied, sha256_of
from wordbias.models.likelihood_resume import resuming
from wordbias.models.perplexity import perplexity_rows
from wordbias.models.sentence_pairs import SentencePair
from wordbias.pivot import pivot, values
from wordbias.rendering import Table, how_many
from wordbias.reports import Report
from wordbias.results import Row, number
from wordbias.stereotypes.entry import Found, Record, StereotypeTest
from wordbias.stereotypes.pairs import OWN
from wordbias.stereotypes.scores import Settings
from wordbias.stereotypes.text_sets import TESTS, TextSet, entry_of, facts
from wordbias.text_files import Source
from wordbias.verdicts import change, change_ends

_CONDITIONS = {"ambig": "ambiguous", "disambig": "told"}
_TESTS = {test.task or test.title: test for test in (*TESTS, OWN)}
"""The tests by the name of their data in rows."""
_BIASES = {name for test in _TESTS.values() for name in test.bias}
_COSTS = {"perplexity", *(name for test in _TESTS.values() for name in test.cost)}
_NONE = "none"
"""Name of the setting of records before any removal."""


@dataclass(frozen=True, eq=False)
class Items:
    """What a decoder is measured on, the same before and after a removal."""

    sets: Sequence[TextSet]
    pairs: Sequence[SentencePair] | None
    # text whose perplexity is measured, in windows of at most `length` tokens
    text: Source | None
    settings: Settings
    length: int

    def measure(self, model: CausalModel) -> Found:
        """Measure a decoder on everything."""
        name, settings = model.name, self.settings
        measured: list[tuple[StereotypeTest, Any]] = [
            (entry_of(text_set), text_set) for text_set in self.sets
        ]
        if self.pairs is not None:
            measured.append((OWN, self.pairs))
        parts = [
            test.scores[CausalModel](model, text_set, name, settings).of_items(
                text_set, settings.seed
            )
            for test, text_set in measured
        ]
        if self.text is not None:
            given = {"length": self.length, "seed": settings.seed}
            parts.append(Found(perplexity_rows(model, self.text.text, name, **given)))
        return Found.joined(parts)

    def described(self) -> str:
        """Name the data for people."""
        names = [entry_of(text_set).title for text_set in self.sets]
        own = [OWN.title] * (self.pairs is not None)
        return ", ".join([*names, *own, *["a text"] * (self.text is not None)])

    def about(self, pairs: str) -> dict[str, dict[str, object]]:
        """Return the data as inputs of a report, the pairs by their name."""
        inputs = {f"data {i}": dict(facts(text_set)) for i, text_set in enumerate(self.sets, 1)}
        if self.pairs is not None:
            inputs["pairs"] = {"path": pairs, "pairs": len(self.pairs)}
        if self.text is not None:
            inputs["perplexity"] = {"path": self.text.path, "sha256": self.text.sha256}
        return inputs


def measure_decoder(
    decoder: CausalModel,
    items: Items,
    opened: OpenAdapter,
    inputs: Mapping[str, Mapping[str, object]],
    target: str | None,
) -> Report:
    """Measure a decoder without an adapter and with each of its settings; write the scores."""
    # An interrupted run resumes from the files next to `target`.
    removals: dict[str, Sequence[Intervention]] = {}
    if opened.adapter is not None:
        removals = {name: opened.adapter.interventions(name) for name in opened.settings}
    with resuming(target, {} if target is None else _identity(decoder, removals)) as store:
        decoder = replace(decoder, kept=store)
        before = items.measure(decoder)
        after = {name: _after(decoder, items, before, name, of) for name, of in removals.items()}
        written = write_records(target, _records(before, after))
    changed = {name: measured.rows for name, measured in after.items()}
    sentences = [
        line for name, rows in changed.items() for line in _sentences(name, before.rows, rows)
    ]
    return Report(
        inputs=inputs,
        rows=[*before.rows, *(row for rows in changed.values() for row in rows)],
        tables=[*_tables(before.rows), *_change_tables(before.rows, changed)],
        heading=[f"{decoder.name} on {items.described()}."],
        closing=[*sentences, *written],
        seed=items.settings.seed,
        notes=_notes(decoder, before),
    )


def _after(
    decoder: CausalModel,
    items: Items,
    before: Found,
    setting: str,
    removals: Sequence[Intervention],
) -> Found:
    """Measure a decoder on the same items while a setting of an adapter is removed."""
    with applied(decoder.model, removals, setting):
        measured = items.measure(replace(decoder, name=f"{decoder.name} {setting}"))
    values = [row.value for row in measured.rows]
    if measured.records == before.records and values == [row.value for row in before.rows]:
        raise WordbiasError(
            f"{decoder.name}: the setting {setting} changes no likelihood; choose sites such as "
            "tokens@L and attention-output@L"
        )
    rows = [  # a paired bootstrap: each draw has the same items before and after
        with_change(was, now, stage=setting, seed=items.settings.seed)
        for was, now in zip(before.rows, measured.rows, strict=True)
    ]
    return replace(measured, rows=rows)


def _identity(
    decoder: CausalModel, removals: Mapping[str, Sequence[Intervention]]
) -> dict[str, object]:
    """Return everything that log-likelihoods depend on except the texts."""
    return {
        "weights": sampled_sha256(decoder.model.named_parameters()),
        "device": decoder.device,
        "precision": decoder.precision,
        "removals": {
            name: sha256_of(steps, [str(step) for step in steps])
            for name, steps in removals.items()
        },
    }


def _records(before: Found, after: Mapping[str, Found]) -> list[Record]:
    """Return the records of the items, with a column for the setting if there is an adapter."""
    if not after:
        return before.records
    every = {_NONE: before, **after}
    return [{"setting": name, **record} for name, run in every.items() for record in run.records]


def about_decoder(decoder: CausalModel) -> dict[str, object]:
    """Return a decoder as an input of a report."""
    tokenizer = decoder.tokenizer
    start = tokenizer.convert_ids_to_tokens(decoder.start) if decoder.bos else None
    return {
        "path": decoder.name,
        "class": type(decoder.model).__name__,
        "device": decoder.device,
        "precision": decoder.precision,
        "tokens": decoder.limit,
        "before a text": start,
        "before a context": [tokenizer.convert_ids_to_tokens(token) for token in decoder.front],
    }


def _notes(decoder: CausalModel, measured: Found) -> list[str]:
    notes = list(measured.notes)
    if decoder.bos and decoder.tokenizer.bos_token_id is None:
        token = decoder.tokenizer.convert_ids_to_tokens(decoder.start)
        notes.append(f"the tokenizer has no BOS token: texts follow its EOS token, {token}")
    if measured.cut:
        notes.append(
            f"{how_many(measured.cut, 'text')} had a context longer than {decoder.limit} tokens, "
            "which was cut at its beginning"
        )
    return notes


# Tables


def _tables(rows: Sequence[Row]) -> list[Table]:
    """Return a table for each data set: one line a part of it, one column a measure and score."""
    tasks = list(dict.fromkeys(str(row.details.get("task", "")) for row in rows))
    tables = []
    for task in tasks:
        of = [row for row in rows if row.details.get("task", "") == task]
        tables.append(_perplexity_table(of) if not task else _task_table(task, of))
    return tables


def _task_table(task: str, rows: Sequence[Row]) -> Table:
    test = _TESTS[task]
    columns = values("n")
    for measure in dict.fromkeys(row.measure for row in rows):
        columns += values((column_title(measure), cells.with_interval), measure=measure)
    title = f"{test.title}, {test.part}" if test.part else task
    by = {"part": _part, "score": "score", "answers": "answers"}
    return pivot(title, rows, by, columns, f"{test.note} In brackets: 95 % intervals.")


def _part(row: Row) -> str:
    about = row.details
    parts = [
        str(about.get("subset", "")),
        _CONDITIONS.get(str(about.get("condition", "")), ""),
        "" if about.get("setting") in (None, "all") else str(about["setting"]),
    ]
    return ", ".join(part for part in parts if part)


# Before and after


def _change_tables(before: Sequence[Row], after: Mapping[str, Sequence[Row]]) -> list[Table]:
    """Return a table for each setting: each value before and after it, and its change."""

    def data(row: Row) -> str:
        task = str(row.details.get("task", "a text"))
        return _TESTS[task].title if task in _TESTS else task

    def part(row: Row) -> str:
        return ", ".join(filter(None, [_part(row), row.details.get("answers")]))

    by = {"data": data, "part": part, "score": "score", "measure": _titled}
    note = "The intervals are a paired bootstrap over the same items."
    tables = []
    for name, rows in after.items():
        columns = values("before", stage=None)
        columns += values("after", ("change, 95 %", cells.change), stage=name)
        tables.append(pivot(f"Before and after {name}", [*before, *rows], by, columns, note))
    return tables


def _titled(row: Row) -> str:
    return column_title(row.measure)


def _change(row: Row) -> str:
    """Return the change of a value with its sign and its interval."""
    about = row.details
    if "change" not in about:
        return "–"
    interval = change_ends(about)
    ends = "" if interval is None else f" [{', '.join(map(_signed, interval))}]"
    return f"{_signed(about['change'])}{ends}"


def _signed(value: float) -> str:
    digits = number(value, 3)
    return f"+{digits}" if value > 0 and digits.strip("0.") else digits


def _sentences(setting: str, before: Sequence[Row], after: Sequence[Row]) -> list[str]:
    """Say what a setting changed, and at what cost: of each data set all items, by their sums."""
    pairs: dict[tuple[object, ...], tuple[Row, Row]] = {}
    for was, now in zip(before, after, strict=True):
        about = was.details
        key = was.measure, about.get("task"), about.get("condition")
        if was.value is not None and now.value is not None:
            pairs.setdefault(key, (was, now))
    bias = [_sentence(*pair) for pair in pairs.values() if pair[0].measure in _BIASES]
    cost = [_sentence(*pair) for pair in pairs.values() if pair[0].measure in _COSTS]
    if not any(row.measure == "perplexity" for row in before):
        cost.append("perplexity not measured, which --perplexity TEXT does")
    return [
        *([f"After {setting}: {'; '.join(bias)}."] if bias else []),
        f"Cost of {setting}: {'; '.join(cost)}.",
    ]


def _sentence(was: Row, now: Row) -> str:
    """Say how a value changed."""
    about = now.details
    task, neutral = str(about.get("task", "")), about.get("neutral")
    condition = _CONDITIONS.get(str(about.get("condition", "")), "")
    what = " ".join(filter(None, [_TESTS[task].title if task else "", condition]))
    title = column_title(was.measure)
    values = f"{title} {number(now.value, 3)}, {number(was.value, 3)} before"
    values += "" if neutral is None else f", {neutral:g} without bias"
    sentence = f"{values} ({change(was.to_dict(), now.to_dict())}, {_change(now)})"
    return f"{what}: {sentence}" if what else sentence


def _perplexity_table(rows: Sequence[Row]) -> Table:
    about = rows[0].details
    read = (
        f"Windows of {about['length']:,} tokens; in brackets: 95 % interval, a bootstrap over "
        "windows."
    )
    if about.get("low") is None:
        read = f"One window of at most {about['length']:,} tokens: no interval."
    columns = values(("tokens", cells.n), ("value", cells.with_interval))
    return pivot("Perplexity", rows, "measure", columns, f"{read} Lower is better.")
