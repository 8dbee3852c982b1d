"""Labels erased from the vectors of a sentence model: `erase` with a model and texts."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wordbias import cells
from wordbias.calls import path_of
from wordbias.errors import UsageError, WordbiasError, on_a_line
from wordbias.formats import is_static_model
from wordbias.formats.files import new_folder
from wordbias.functions.erase_fit import Parts
from wordbias.functions.erase_tables import certificate_tables, held_out_tables, limits, verdicts
from wordbias.functions.labelled_vectors import rows_of_texts
from wordbias.labelled import Labelled
from wordbias.measures.registry import short_title
from wordbias.methods.fitted import Chain
from wordbias.methods.storage import Origin, save_chain
from wordbias.model_folder import CARD
from wordbias.models.encoder import Encoder
from wordbias.models.encoding import EncodingJob
from wordbias.models.model_like import ModelLike, in_folder
from wordbias.models.sentence_folder import (
    OLDEST,
    ORIGINAL_CARD,
    Normalize,
    SentenceVectors,
    check_output,
    modules_of,
    with_modules,
    write_modules,
)
from wordbias.models.sentence_transformers import is_sentence_transformer
from wordbias.models.texts import Choice, Texts, TextsLike, load_texts
from wordbias.pages.model_card import card_header, model_card
from wordbias.pivot import pivot, values
from wordbias.probes.held_out import choose_rows, held_out_rows
from wordbias.probes.sentence_tasks import STS, TextPairsLike, load_text_pairs
from wordbias.rendering import Table, how_many
from wordbias.reports import Report
from wordbias.resources.models import hub_name
from wordbias.results import Row
from wordbias.splits import Folds

if TYPE_CHECKING:
    from wordbias.estimators import Method

OUTPUT, INSIDE = "model output", "before Normalize"
"""Which vectors a row is about: those of the model, and those that the map is fitted on."""
_NORMALIZE = (
    "Normalize, after the map, is not linear: what was removed may be readable again from the "
    "vectors that the model outputs. The tables show both."
)
_SHOWN = 20
Float32 = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class ErasedModel:
    """Sentence model with a map before its last Normalize, which removes labels.

    Parameters
    ----------
    method : LEACE, INLP, MISP, MHD or Hard
        The fitted estimator, for vectors of the model before a Normalize that is last.
    report : Report
        What probes read before and after, and what the model's own task lost.
    folder : str, optional
        Folder that was written; sentence-transformers loads it.
    model : SentenceTransformer, optional
        A copy of the model with the map, if a loaded one was given.
    """

    method: Method
    report: Report = field(repr=False)
    folder: str | None = None
    model: Any = field(default=None, repr=False)

    def __repr__(self) -> str:
        where = "" if self.folder is None else f", written to {self.folder!r}"
        return on_a_line(f"<ErasedModel by {type(self.method).__name__}{where}>")


def erase_model(
    model: ModelLike,
    texts: TextsLike,
    divide: Callable[[Labelled], Parts],
    *,
    method: str,
    settings: Mapping[str, Any],
    output: str | None,
    save_transform: str | os.PathLike[str] | None,
    text_column: str | None,
    sts: TextPairsLike | None,
    certify: bool,
    batch_tokens: int,
    device: str | None,
    seed: int,
) -> ErasedModel:
    """Erase labels from the vectors of a sentence model, and write the model."""
    # The model is not changed. `divide` labels and divides rows, which are texts here. `certify`
    # tries the further probes of a certificate on what the model outputs.
    name, file = path_of(model), path_of(texts)
    if name is None and not is_sentence_transformer(model):
        raise UsageError(
            "--model: expected a sentence-transformers folder, a name on the hub or a loaded "
            f"SentenceTransformer, got {type(model).__name__}"
        )
    if name is not None and is_static_model(name):
        raise WordbiasError(
            f"{name}: is a static model, whose tokens' vectors are debiased: wordbias misp {name} "
            "-o FOLDER; or erase vectors of texts that wordbias encode writes"
        )
    if output is not None:
        check_output(name or "", output)
    pairs = None if sts is None else load_text_pairs(sts)
    given = load_texts(texts, Choice(text_column))
    parts = divide(rows_of_texts(given))

    vectors = SentenceVectors.of(Encoder.load(model, device=device))
    subject = Path(vectors.encoder.name).name
    job = vectors.job(given.texts)
    x: Float32 = job.vectors(batch_tokens)[0]
    folds = Folds.of(len(given), 0, None)
    parts = replace(parts, labelled=parts.labelled.with_vectors(x[None]))
    (fitted,), size = parts.fit(method, settings, folds, x.shape[1], seed)
    n = int(parts.fitting.sum())
    fitted_on = how_many(n, "training text") + parts.alike()
    fitted_on = fitted_on if size == n else f"{size:,} of {fitted_on}"

    places, is_tested = choose_rows(parts.training, parts.held_out, seed)
    of_places = parts.read(places)
    stages = {OUTPUT: vectors} | ({INSIDE: vectors.without_last()} if vectors.last.steps else {})
    rows_by_stage: dict[str, list[Row]] = {}
    for stage, ending in stages.items():
        before = ending.outputs(x[places])
        after = ending.outputs(np.asarray(fitted(x[places]), np.float32))
        measured = held_out_rows(
            subject, before, after, is_tested,
            certify=certify and stage == OUTPUT, seed=seed, **of_places,
        )  # fmt: skip
        rows_by_stage[stage] = [
            replace(row, details={**row.details, "vectors": stage}) for row in measured
        ]
    task = []
    if pairs is not None:
        sides = vectors.sides(pairs.first, pairs.second, batch_tokens)
        erased = [np.asarray(fitted(side), np.float32) for side in sides]
        task = pairs.rows(
            subject,
            (vectors.outputs(sides[0]), vectors.outputs(sides[1])),
            (vectors.outputs(erased[0]), vectors.outputs(erased[1])),
            similarity=vectors.similarity,
            seed=seed,
        )

    modules = modules_of(fitted.steps, vectors.width)
    if vectors.normalizes and modules[-1:] == (Normalize(),):
        modules = modules[:-1]  # the model's own follows
    remarks = [*([_NORMALIZE] if vectors.normalizes else []), *limits(method)]
    certificate = certificate_tables(rows_by_stage[OUTPUT])
    report = Report(
        inputs={
            subject: {"path": vectors.encoder.name, "sha256": vectors.encoder.sha256()},
            "texts": {
                **({} if file is None else {"path": file}),
                "sha256": given.sha256(),
                "n": len(given),
                **parts.about(),
            },
            **({} if pairs is None else {"sts": {"set": pairs.name, "sha256": pairs.sha256()}}),
        },
        rows=[*(row for several in rows_by_stage.values() for row in several), *task],
        tables=[*certificate, *_bias_tables(rows_by_stage), *_task_tables(task)],
        heading=[_heading(vectors, method, parts, fitted_on),
                 *verdicts(rows_by_stage[OUTPUT])],
        closing=[*_closing(vectors, output, save_transform), *remarks],
        seed=seed,
        notes=[*_notes(given, vectors, job), *(f"{method}: {text}" for text in fitted.warnings),
               *parts.labelled.rare(parts.part)],
    )  # fmt: skip
    if output is not None:
        with new_folder(output) as folder, in_folder(model) as source:
            write_modules(Path(source), folder, modules)
            base = hub_name(source)
            card = _card(output, base, folder, vectors, method, parts, report, len(certificate))
            (folder / CARD).write_text(card, "utf-8")
    origin = Origin(
        f"{how_many(n, 'text')} through {subject}", "", n, vectors.width,
        (), np.zeros((0, vectors.width)),
    )  # fmt: skip
    if save_transform is not None:
        save_chain(save_transform, Chain((fitted,)), origin)
    from wordbias.estimators import estimator_of

    changed = with_modules(model, modules) if name is None else None
    return ErasedModel(estimator_of(fitted, origin, report), report, output, changed)


# the report


def _heading(vectors: SentenceVectors, method: str, parts: Parts, fitted_on: str) -> str:
    """Say what was fitted on what."""
    where = ", before its last Normalize" if vectors.last.steps else ""
    return (
        f"{vectors.encoder.name}: {method} of {' and '.join(parts.labelled.labels)}{where}, fitted "
        f"on {fitted_on}, tested on {how_many(len(parts.held_out), 'held-out text')}."
    )


def _notes(texts: Texts, vectors: SentenceVectors, job: EncodingJob) -> list[str]:
    """Note what was left out or cut, and how the model was loaded."""
    notes = list(vectors.encoder.notes)
    if job.truncated:
        cut = f"{job.truncated} of {how_many(len(texts), 'text')}"
        notes.append(f"cut to {job.settings.max_length} tokens: {cut}")
    return notes


def _bias_tables(rows_by_stage: Mapping[str, Sequence[Row]]) -> list[Table]:
    """Return the tables of the vectors that the model outputs, and of those before Normalize."""
    tables = held_out_tables(rows_by_stage[OUTPUT])
    if INSIDE in rows_by_stage:
        tables += [
            replace(table, title=f"{table.title}, {INSIDE}")
            for table in held_out_tables(rows_by_stage[INSIDE])
        ]
    return tables


def _task_tables(rows: Sequence[Row]) -> list[Table]:
    """Return a table of the model's own task before and after."""
    if not rows:
        return []
    about = rows[0].details
    what = f"{about['n']:,} rated pairs"
    if rows[0].measure != STS:
        what = f"{about['n']:,} texts, whose partners are among {about['texts']:,}"
    measure = "the inner product" if about["similarity"] == "dot" else "the cosine"
    note = f"{about['set']}: {what}; compared by {measure}. Change: 95 % interval."
    by = {"own task": lambda row: short_title(row.measure)}
    changed = ("change", lambda row: cells.ends(row, "change"))
    columns = values("before", stage="before") + values("after", "95 %", changed, stage="after")
    return [pivot("What the model's own task lost", rows, by, columns, note)]


def _closing(
    vectors: SentenceVectors, output: str | None, save_transform: str | os.PathLike[str] | None
) -> list[str]:
    """Say what was written."""
    lines = []
    if output is not None:
        lines.append(f"Written: {output}, for sentence-transformers from version {OLDEST} on.")
    if save_transform is not None:
        where = f" {INSIDE}" if vectors.last.steps else ""
        lines.append(f"Saved: {os.fspath(save_transform)}, a map of the model's vectors{where}.")
    return lines or ["Nothing written; -o DIR writes the model."]


def _card(
    output: str,
    base: str | None,
    folder: Path,
    vectors: SentenceVectors,
    method: str,
    parts: Parts,
    report: Report,
    certificates: int,
) -> str:
    """Return the card of a folder that was filled; the first tables are certificates."""
    original, about = Path(vectors.encoder.name).name, report.inputs["texts"]
    where = "before the last Normalize" if vectors.last.steps else "after all other modules"
    lines = [
        f"Removed: {', '.join(parts.labelled.labels)}, by {method}, as a Dense module {where}."
    ]
    for label, of in parts.labelled.labels.items():
        counts = of.counts(parts.fitting).tolist()
        class_counts = [
            f"{class_name} ({n:,})" for class_name, n in zip(of.classes, counts, strict=True)
        ]
        more = " …" * (len(class_counts) > _SHOWN)
        lines.append(f"Texts of each class of {label}: {', '.join(class_counts[:_SHOWN])}{more}.")
    lines += [
        f"Fitted on {parts.fitting.sum():,} texts, measured on {about['held_out']:,} others; "
        f"SHA-256 of all texts: {about['sha256']}.",
        f"SHA-256 of the original's weights: {report.inputs[original]['sha256']}.",
    ]
    return model_card(
        Path(output).resolve().name,
        base=base,
        original=base or original,
        header=card_header(folder / ORIGINAL_CARD),
        summary=report.heading[1:],
        oldest=OLDEST,
        fitted=lines,
        certificate=report.tables[:certificates],
        tables=report.tables[certificates:],
        limits=[*([_NORMALIZE] if vectors.normalizes else []), *limits(method)],
    )
