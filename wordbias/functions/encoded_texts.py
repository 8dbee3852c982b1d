"""A model with texts as an argument of `probe`: vectors without an adapter and with its settings.

Apart from `wordbias.functions.labelled_vectors`, which needs no encoder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from wordbias import cells
from wordbias.calls import note
from wordbias.errors import UsageError, WordbiasError
from wordbias.functions.adapters import AdapterLike, Removal, open_adapter
from wordbias.functions.encode import encoding_notes, left_out_notes
from wordbias.functions.encode_outputs import (
    encode_output,
    encode_static,
    output_encoder,
    static_folder,
)
from wordbias.functions.inputs import ReadOptions
from wordbias.functions.labelled_vectors import open_labelled
from wordbias.labelled import CellsLike, Labelled
from wordbias.measures.held_out_probes import BEST, NOT_CODED, left_text, read_groups
from wordbias.measures.registry import short_title
from wordbias.models.encoding import EncodingJob, Settings
from wordbias.models.model_like import ModelLike
from wordbias.models.representations import Layers, Representations, provenance, which_layers
from wordbias.models.template import check_template
from wordbias.models.text_encoders import EncoderLike
from wordbias.models.texts import Choice, TextsLike, kept_values, load_texts
from wordbias.pivot import pivot, values
from wordbias.probes.mdl import ACCURACY, COMPRESSION, CONTROL
from wordbias.rendering import Table
from wordbias.results import Row, number
from wordbias.verdicts import BACKWARDS, READS, UNREAD, Reading, decide

UNCHANGED = "unchanged"
"""Key of the details of a row that is copied, as the vectors are as without the adapter."""


@dataclass(frozen=True, eq=False)
class After:
    """Vectors of texts while a setting of an adapter is removed."""

    removal: Removal
    labelled: Labelled = field(repr=False)  # vectors and labels of the layers that it changes
    unchanged: tuple[int, ...]  # layers whose vectors are as without the adapter

    def with_unchanged(self, before: Sequence[Row], after: Sequence[Row]) -> list[Row]:
        """Return the rows of all layers; those of unchanged ones are copied."""
        name = self.labelled.name
        rows: list[Row] = []
        for layer in dict.fromkeys(row.details["layer"] for row in before):
            if layer not in self.unchanged:
                rows += [row for row in after if row.details["layer"] == layer]
                continue
            rows += [
                replace(row, subject=name, details={**row.details, UNCHANGED: True})
                for row in before
                if row.details["layer"] == layer
            ]
        return rows


def encode_labelled(
    model: EncoderLike,
    texts: TextsLike,
    labels: CellsLike | Mapping[str, str] | None,
    *,
    adapter: AdapterLike | None = None,
    setting: str | Sequence[str] = (),
    force: bool = False,
    layers: Layers = None,
    pooling: str | None = None,
    template: str | None = None,
    where: Mapping[str, str | Sequence[str]] | None = None,
    limit: int | None = None,
    skip_bad: bool = False,
    device: str | None = None,
) -> tuple[Labelled, list[After]]:
    """Encode texts without an adapter and with each of its settings."""
    if labels is None:
        raise UsageError(
            "--texts needs --labels: a column of the texts, or a file of one label a line"
        )
    check_template(template)
    opened = open_adapter(adapter, setting, force=force)
    choice = Choice(None, None, kept_values(where), limit, None, None, skip_bad)
    given = load_texts(texts, choice)
    if (answering := output_encoder(model, device)) is not None:
        for line in left_out_notes(given):
            note(line)
        answers, *_ = encode_output(answering, given, None)
        return open_labelled(answers, None, ReadOptions(), labels, False, None, None), []
    if (folder := static_folder(model)) is not None:
        means, *_ = encode_static(folder, given, None, None, skip_bad)
        return open_labelled(means, None, ReadOptions(), labels, False, None, None), []
    encoder, removals = opened.load_encoder(cast("ModelLike", model), device=device)
    chosen = None if layers is None else which_layers(layers, range(encoder.layers + 1))
    settings = Settings(chosen, pooling, template=template or "")
    job = EncodingJob.of(encoder, given.texts, settings=settings)
    numbers = job.settings.layers or ()
    for remover in removals:
        if max(numbers) < remover.first:
            raise WordbiasError(
                f"{encoder.name}: {remover.setting} changes no vector of layers "
                f"{', '.join(map(str, numbers))}; ask for layers from {remover.first} on, "
                "with --layers"
            )
    for line in encoding_notes(given, job):
        note(line)
    subject = Path(encoder.name).name

    def labelled(encoding: EncodingJob, name: str, removal: Removal | None) -> Labelled:
        with nullcontext() if removal is None else removal.on(encoder):
            about = provenance(encoding, Path(given.name).name, given.sha256())
            representations = Representations(
                encoding.vectors(), encoding.settings.layers or (), given.columns, about, name
            )
        return open_labelled(representations, name, ReadOptions(), labels, False, None, None)

    before = labelled(job, subject, None)
    after = []
    for remover in removals:
        later = tuple(layer for layer in numbers if layer >= remover.first)
        later_job = replace(job, settings=replace(job.settings, layers=later))
        erased = labelled(later_job, f"{subject} {remover.setting}", remover)
        after.append(_changed(before, erased, remover))
    return before, after


def _changed(before: Labelled, after: Labelled, removal: Removal) -> After:
    """Leave out the layers whose vectors are, to the last bit, as without the adapter."""
    places = [
        i
        for i, layer in enumerate(after.layers)
        if not np.array_equal(after.vectors[i], before.vectors[before.layers.index(layer)])
    ]
    layers = tuple(after.layers[i] for i in places)
    changed = replace(
        after.with_vectors(after.vectors[places], layers),
        info={**after.info, "layers": list(layers)},
    )
    return After(removal, changed, tuple(layer for layer in before.layers if layer not in layers))


# the answer: is the label still readable?


def best_probes(
    before: Labelled, after: Sequence[After], groups: NDArray[np.intp] | None, seed: int
) -> list[Row]:
    """Return what the best of several probes, and each, reads before and after each setting."""
    # It is read in the last layer that a setting changes; where it cannot be, a note says why.
    rows_by_layer: dict[tuple[str, int], list[Row]] = {}
    try:
        for stage in after:
            later, codes = stage.labelled, before.label.codes
            layer = later.layers[-1]
            first, second = (
                read_groups(
                    labelled.vectors[labelled.layers.index(layer)], codes, groups, seed=seed
                )
                for labelled in (before, later)
            )
            rows_by_layer[before.name, layer] = first.rows(before.name, {"layer": layer})
            rows_by_layer[later.name, layer] = second.rows(
                later.name, {"layer": layer}, before=first
            )
            for line in first.notes:
                note(line)
    except WordbiasError as error:
        note(f"what several probes read was not measured: {error}")
    return [row for rows in rows_by_layer.values() for row in rows]


def best_table(rows: Sequence[Row]) -> Table:
    """Return a line for each kind of probe and input."""
    by = {"vectors": "subject", "layer": "layer", "probe": lambda row: short_title(row.measure)}
    columns = values("balanced accuracy", "95 %", ("chance", cells.interval_of("chance")), "p")
    columns += values(("left", cells.percent("left")))
    note = (
        "95 %: over groups. Chance: the range of permuted labels; 5 % of them give any probe more "
        "than the upper end. Left: the share of what the probe read beyond chance before."
    )
    return pivot("The best of several probes, on held-out groups", rows, by, columns, note)


def comparison_table(rows: Sequence[Row], before: Labelled, after: Sequence[After]) -> Table:
    """Return a line for each layer: the value before, and after each setting."""
    by_layer = _by_layer(rows)
    heads = {before.name: "before"}
    heads |= {stage.labelled.name: f"after {stage.removal.setting}" for stage in after}

    def changed(row: Row) -> str:
        return "unchanged" if row.details.get(UNCHANGED) else cells.value(row)

    columns = []
    for name, head in heads.items():
        columns += values((head, changed), subject=name)
    title = "Compression" if _measure(rows) == COMPRESSION else "Probing accuracy"
    shown_rows = [by_layer[name, layer][0] for layer in before.layers for name in heads]
    return pivot(f"{title} before and after", shown_rows, {"layer": "layer"}, columns)


def answers(
    rows: Sequence[Row], before: Labelled, after: Sequence[After], labels: str | None
) -> list[str]:
    """Say for each setting whether the label is still readable after it, and in which layers."""
    # It counts as readable by the rules of `wordbias.verdicts`: in the last layer by any of
    # `best_probes`, in others, and without them, by the value compared with that of random labels.
    what = "the label" if labels is None else Path(labels).stem
    by_layer = _by_layer(rows)
    lines = []
    for stage in after:
        name = stage.labelled.name
        pairs = [
            (layer, by_layer[before.name, layer], by_layer[name, layer])
            for layer in stage.labelled.layers
        ]
        readable = [layer for layer, _, now in pairs if _readable(*now)]
        last, (was, was_control), (now, control) = pairs[-1]
        evidence = (
            f"{_words(now)} {number(now.value, 2)} in layer {last}, {number(was.value, 2)} before"
        )
        if _reading(now, control) == BACKWARDS:
            evidence += "; its opposite answers are right"
        if control is not None:
            evidence += f", {number(control.value, 2)} with random labels"
        probes = {row.measure: row for row in rows if row.subject == name and "p" in row.details}
        if probes:
            coded = last in readable
            readable = [layer for layer in readable if layer != last]
            if any(_readable(row) for row in probes.values()):
                readable.append(last)
                evidence += "" if coded or _measure(rows) != COMPRESSION else f" ({NOT_CODED})"
            evidence = f"{_probes_text(probes)}; {evidence}"
        if last in readable:
            answer = f"Yes: {what} is still readable after {stage.removal.setting}: {evidence}."
        elif readable:
            answer = (
                f"Not in the last of these layers, {last}: {evidence}. But {what} is still "
                f"readable after {stage.removal.setting} in {_listed(readable)}."
            )
        elif not _readable(was, was_control):
            answer = (
                f"No: {what} was not readable before {stage.removal.setting} either: {evidence}."
            )
        else:
            answer = (
                f"No: no probe of these reads {what} after {stage.removal.setting}: {evidence}. "
                "Another probe may."
            )
        if last in readable and len(readable) < len(pairs):
            rest = [layer for layer, _, _ in pairs if layer not in readable]
            answer += f" No longer readable in {_listed(rest)}."
        lines.append(f"{answer} {_placed(stage)}")
    return lines


def _probes_text(probes: Mapping[str, Row]) -> str:
    """Say what the best of several probes reads, and how much the worst one has left."""
    best = probes[BEST]
    low, high = (number(best.details[end], 2) for end in ("chance_low", "chance_high"))
    text = (
        f"the best of several probes is right for {number(best.value, 2)}, "
        f"{number((best.value or 0) - best.details['change'], 2)} before (chance {low} to {high})"
    )
    left = {probe: row.details["left"] for probe, row in probes.items() if "left" in row.details}
    return ", and ".join(filter(None, [text, left_text(left)]))


def _placed(stage: After) -> str:
    """Name the layers that a removal changes and those that it does not."""
    where = ", ".join(dict.fromkeys(str(step.site) for step in stage.removal.steps))
    changed = f"Removed at {where}. Changed: {_listed(stage.labelled.layers)}."
    return f"{changed} Unchanged: {_listed(stage.unchanged)}." if stage.unchanged else changed


def _listed(layers: Sequence[int]) -> str:
    return f"layer{'s' * (len(layers) > 1)} {', '.join(map(str, layers))}"


def _measure(rows: Sequence[Row]) -> str:
    return COMPRESSION if any(row.measure == COMPRESSION for row in rows) else ACCURACY


def _by_layer(rows: Sequence[Row]) -> dict[tuple[str, int], tuple[Row, Row | None]]:
    """Return the row on the labels, and that on random labels, by subject and layer."""
    by_layer: dict[tuple[str, int], tuple[Row, Row | None]] = {}
    controls = {
        (row.subject, row.details["layer"]): row
        for row in rows
        if row.measure == _measure(rows) and row.details["set"] == CONTROL
    }
    for row in rows:
        if row.measure == _measure(rows) and row.details["set"] != CONTROL:
            key = (row.subject, row.details["layer"])
            by_layer[key] = (row, controls.get(key))
    return by_layer


def _reading(row: Row, control: Row | None = None) -> str:
    beside = None if control is None else control.to_dict()
    return decide(READS, Reading(row.to_dict(), beside)).verdict


def _readable(row: Row, control: Row | None = None) -> bool:
    return _reading(row, control) != UNREAD


def _words(row: Row) -> str:
    if row.measure == COMPRESSION:
        return "compression is"
    return f"accuracy (majority {number(row.details['neutral'], 2)}) is"
