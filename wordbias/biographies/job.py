"""One strategy under one seed: train, probe, measure, retrain, measure again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from torch import nn

from wordbias.biographies.biographies import Biographies
from wordbias.biographies.classifier import predictions
from wordbias.biographies.encoding import Live, Source, Vectors
from wordbias.biographies.lines import Job
from wordbias.biographies.material import Material, naming
from wordbias.biographies.measuring import gap_rows, gender_rows, word_rows
from wordbias.biographies.models import keep_model
from wordbias.biographies.plan import RANDOM_INIT, Plan
from wordbias.biographies.retraining import Fitted, Labelled, train_head
from wordbias.biographies.runs import AFTER, BASELINES, BEFORE, UNTRAINED
from wordbias.biographies.strategies import OWN
from wordbias.biographies.tuning import tune
from wordbias.probes.encoder import Encoder
from wordbias.results import Row


class Done(NamedTuple):
    """What a job found, and what its line says beside."""

    rows: list[Row]
    facts: dict[str, Any]


def do(plan: Plan, job: Job) -> Done:
    """Do a job; the result depends on nothing but plan and job.

    Raises
    ------
    WordbiasError
        If the data or the encoder cannot be used; the message names the job.
    """
    with naming(job):
        material = Material.of(plan, job)
        if job.strategy in BASELINES:
            return Done(_baseline(material), {})
        return _trained(material)


def fill(plan: Plan, job: Job) -> None:
    """Encode what a job reads from files, so that jobs side by side do not encode it twice."""
    if job.strategy in BASELINES or plan.frozen:
        material = Material.of(plan, job)
        source = _stored(material)
        material.vectors(source)
        material.contexts(source)


def _stored(material: Material) -> Source:
    drawn = material.job.strategy == UNTRAINED
    return material.plan.source(RANDOM_INIT if drawn else None)


def _baseline(material: Material) -> list[Row]:
    source = _stored(material)
    return list(_represented(material, source, material.vectors(source)))


def _trained(material: Material) -> Done:
    plan, made = material.plan, material.made
    recipe = plan.recipe_of(material.job)
    if plan.frozen:
        source = _stored(material)
        vectors = material.vectors(source)
        learned, dev = (_labelled(vectors[OWN], part) for part in (made.train, made.dev))
        fitted = train_head(learned, dev, len(made.train.classes), recipe, f"{material.job}")
    else:
        encoder = plan.reading.load(plan.model)
        fitted = _tuned(material, encoder)
        source = Live(encoder, plan.reading)
        vectors = material.vectors(source)
    rows = [*_represented(material, source, vectors), *_gaps(material, vectors, fitted.head)]
    facts = {"training": {"dev_accuracy": fitted.accuracy, "best_round": fitted.round}}
    return Done(rows, facts)


def _tuned(material: Material, encoder: Encoder) -> Fitted:
    plan, job, made = material.plan, material.job, material.made
    about = {**plan.about(), "strategy": job.strategy, "seed": job.seed}
    checkpoint = checkpoint_of(plan, job)
    fitted = tune(
        encoder,
        made.train,
        made.dev,
        plan.recipe_of(job),
        plan.reading,
        checkpoint=checkpoint,
        about=about,
        what=f"{job}",
    )
    if plan.keep_models:
        folder = plan.folder / "models" / job.file_name
        keep_model(folder, encoder, fitted.head, made.train.classes, about)
    return fitted


def checkpoint_of(plan: Plan, job: Job) -> Path:
    """Return where the state of a job's fine-tuning is kept until its line is written."""
    return plan.folder / f"{job.file_name}.checkpoint"


def _represented(
    material: Material, source: Source, vectors: Mapping[str, Vectors]
) -> Iterator[Row]:
    plan = material.plan
    for name, view in material.made.views.items():
        found = vectors[name].of(view.probe)
        yield from gender_rows(
            material.where(name), view.probe, found, balanced=plan.balanced_probe
        )
    words = material.contexts(source)
    yield from word_rows(material.where(OWN), words, plan.query(), plan.draws, plan.sentences_from)


def _gaps(material: Material, vectors: Mapping[str, Vectors], head: nn.Linear) -> Iterator[Row]:
    """Measure the trained last layer, and then one that was trained on the original data."""
    classes = len(material.made.train.classes)
    for name, view in material.made.views.items():
        found = vectors[name]
        again = train_head(
            _labelled(found, view.original_train),
            _labelled(found, view.original_dev),
            classes,
            material.plan.retraining_of(material.job),
            f"{material.job}, again",
        )
        for stage, layer in ((BEFORE, head), (AFTER, again.head)):
            yield from gap_rows(
                material.where(name),
                stage,
                view.test,
                predictions(layer, found.of(view.test)),
                material.shares,
                shares_from=material.plan.shares_from,
                as_published=material.plan.as_published,
            )


def _labelled(vectors: Vectors, bios: Biographies) -> Labelled:
    return Labelled(vectors.of(bios), bios.labels)
