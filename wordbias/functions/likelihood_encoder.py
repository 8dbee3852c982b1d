"""What `wordbias.likelihood` does with an encoder, whose heads score next sentences and blanks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wordbias.calls import path_of
from wordbias.errors import WordbiasError
from wordbias.functions.adapters import OpenAdapter
from wordbias.functions.inputs import write_records
from wordbias.models.model_like import ModelLike
from wordbias.rendering import Table
from wordbias.reports import Report
from wordbias.stereotypes.entry import Found, Record
from wordbias.stereotypes.next_sentence import NextSentence
from wordbias.stereotypes.scorer import Scorer
from wordbias.stereotypes.scores import Settings
from wordbias.stereotypes.text_sets import TextSet, described, entry_of, source_of


def measure_encoder(
    model: ModelLike,
    sets: Sequence[TextSet],
    settings: Settings,
    opened: OpenAdapter,
    *,
    next_label: str | None,
    device: str | None,
    target: str | None,
) -> Report:
    """Measure each data set without an adapter and with each of its settings; write the scores."""
    done, tables, heading = list[Found](), list[Table](), list[str]()
    about = {}
    if opened.given is not None:
        about = {"adapter": path_of(opened.given) or repr(opened.given)}
    inputs, heads, notes = dict[str, Mapping[str, object]](), list[str](), list[str]()
    for i, data in enumerate(sets, 1):
        scorer = Scorer.load(model, data, next_label=next_label, device=device)
        measured = _measured(scorer, data, settings, opened)
        done.append(measured)
        table = entry_of(data).table
        assert table is not None
        for subject in dict.fromkeys(row.subject for row in measured.rows):
            rows = [row for row in measured.rows if row.subject == subject]
            tables.append(table(rows, settings))
        heading.append(f"{scorer.name} on {described(data)}.")
        heads += [type(head.model).__name__ for head in scorer.heads.values()]
        inputs["model"] = {**_about(scorer), "heads": list(dict.fromkeys(heads)), **about}
        inputs[f"data {i}"] = {**source_of(data), **measured.about}
        notes += [*scorer.missing, *measured.notes]
    measured = Found.joined(done)
    written = write_records(target, measured.records)
    return Report(
        inputs=inputs,
        rows=measured.rows,
        tables=tables,
        heading=heading,
        closing=written,
        seed=settings.seed,
        notes=list(dict.fromkeys(notes)),
    )


def _measured(scorer: Scorer, data: TextSet, settings: Settings, opened: OpenAdapter) -> Found:
    """Measure the model unmodified and with each setting; the notes name missing heads."""
    runs: list[tuple[str, list[Any]]] = [("", [])]
    if opened.adapter is not None:
        opened.check(scorer.head.model, inside=False)
        runs += [(name, opened.adapter.interventions(name)) for name in opened.settings]
    done: list[Found] = []
    before: list[Record] = []
    for name, interventions in runs:
        subject = f"{scorer.name} {name}" if name else scorer.name
        reachable = scorer.with_sites(interventions)
        with reachable.applied(interventions):
            measured = reachable.measure(data, subject, settings)
        if name and all(record in before for record in measured.records):
            raise WordbiasError(
                f"{scorer.name}: the setting {name} changes no score: no score is computed from "
                "what it changes, such as the last layer's CLS token; choose other sites, such as "
                "tokens@L, attention@L and, below the last layer, cls@L"
            )
        before = before or measured.records
        measured.records = [{"model": subject, **record} for record in measured.records]
        measured.notes.extend(f"{name}: {reason}" for reason in reachable.missing)
        done.append(measured)
    return Found.joined(done)


def _about(scorer: Scorer) -> dict[str, object]:
    """Return a model as an input of the report."""
    about: dict[str, object] = {"path": scorer.name, "device": scorer.head.device}
    if NextSentence in scorer.heads:
        about["is next"] = scorer.heads[NextSentence].place
    return about
