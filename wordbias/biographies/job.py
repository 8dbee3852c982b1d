"""One strategy under one seed: train, probe, measure, retrain, measure again.

What a job works on: its parts of the data, as its strategy writes them, and their vectors.

What one job measures: gender in the vectors, associations of words, gaps of predictions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import nn

from wordbias.biographies.classifier import (
    Fitted,
    Labelled,
    keep_model,
    predictions,
    train_head,
    tune,
)
from wordbias.biographies.data import Biographies, split
from wordbias.biographies.encoding import Live, Source, Vectors
from wordbias.biographies.plan import RANDOM_INIT, Plan
from wordbias.biographies.result_file import Job
from wordbias.biographies.results import AFTER, BASELINES, BEFORE, REPRESENTATION, UNTRAINED
from wordbias.biographies.strategies import NONE, ORIGINAL, OWN, Prepared, prepared
from wordbias.errors import WordbiasError
from wordbias.outcomes.balance import copies
from wordbias.outcomes.confusion import Confusion, shares_for
from wordbias.outcomes.measure import ALL, fairness_rows
from wordbias.outcomes.metrics import Settings
from wordbias.probes.ceat.measure import MEASURE as CEAT
from wordbias.probes.ceat.measure import Settings as CeatSettings
from wordbias.probes.ceat.measure import ceat
from wordbias.probes.ceat.sentences import Sentences, find_sentences
from wordbias.probes.encoder import Encoder
from wordbias.probes.mdl import FRACTIONS, OnlineCode, needed, online_code, to_published
from wordbias.probes.representations import Representations
from wordbias.probes.rows import ACCURACY, CODELENGTH, COMPRESSION, PUBLISHED, UNIFORM
from wordbias.results import Row
from wordbias.statistics import majority_share
from wordbias.wordlists.queries import Query

LEAST_BLOCKS = 5
"""Blocks that a code of a single occupation has at least."""
_MEASURES = (COMPRESSION, PUBLISHED, CODELENGTH, UNIFORM, ACCURACY)

Codes = NDArray[np.intp]


@dataclass(frozen=True)
class Where:
    """What rows are of: a strategy, the texts it was measured on, the seed."""

    subject: str
    view: str
    seed: int

    def details(self, stage: str) -> dict[str, Any]:
        """Return what every row says."""
        return {"stage": stage, "view": self.view, "seed": self.seed}


def gender_rows(
    where: Where, probe: Biographies, vectors: NDArray[np.float32], *, balanced: bool = False
) -> list[Row]:
    """Code the gender of people given their vectors, over all occupations and within each.

    Where an occupation is mostly of one gender, whoever reads off the occupation knows much of the
    gender. So each occupation is coded by itself too, on as many women as men; and beside the
    compression over all stands, as `control`, that of a receiver who knows the occupation and
    nothing else, ``1 / H(gender | occupation)``.

    Parameters
    ----------
    vectors
        Of the people, shape ``(n, d)``.
    balanced
        Over all, too, take as many women as men of each occupation.
    """
    even = np.flatnonzero(copies(probe.labels, probe.genders, "subsample", where.seed))
    everyone = even if balanced else np.arange(len(probe))
    rows = list(_coded(where, ALL, everyone, probe, vectors))
    rows[0] = _with_control(rows[0], probe.labels[everyone], probe.genders[everyone])
    for i, name in enumerate(probe.classes):
        rows += _coded(where, name, even[probe.labels[even] == i], probe, vectors)
    return rows


def _coded(
    where: Where, part: str, rows: Codes, probe: Biographies, vectors: NDArray[np.float32]
) -> Iterator[Row]:
    fractions = usable_fractions(len(rows))
    about = {**where.details(REPRESENTATION), "set": part, "n": len(rows), "fractions": fractions}
    if not fractions:
        reason = f"{len(rows)} biographies are too few for a code of {LEAST_BLOCKS} blocks"
        yield from _undefined(where, about, reason)
        return
    try:
        code = online_code(vectors[rows], probe.genders[rows], seed=where.seed, fractions=fractions)
    except WordbiasError as error:  # one gender only
        yield from _undefined(where, about, f"undefined: {error}")
        return
    majority = majority_share(probe.genders[rows])
    for measure, value, said in _values(code, majority):
        yield Row(where.subject, measure, value, {**about, **said})


def _undefined(where: Where, about: dict[str, Any], reason: str) -> Iterator[Row]:
    for measure in _MEASURES:
        yield Row(where.subject, measure, None, {**about, "reason": reason})


def _values(code: OnlineCode, majority: float) -> Iterator[tuple[str, float, dict[str, Any]]]:
    yield COMPRESSION, code.compression, {"neutral": 1, "better": "lower"}
    neutral = to_published(1, code.first / code.n)
    yield PUBLISHED, code.compression_as_published, {"neutral": neutral, "better": "lower"}
    yield CODELENGTH, code.codelength, {"neutral": code.uniform, "better": "higher"}
    yield UNIFORM, code.uniform, {"better": "neutral"}
    tested = {"n": code.blocks[-1].n, "neutral": majority, "better": "lower"}
    yield ACCURACY, code.accuracy, tested


def usable_fractions(n: int) -> tuple[float, ...]:
    """Return the published ends of blocks, without the first ones that `n` texts do not fill.

    None where fewer than `LEAST_BLOCKS` would be left.
    """
    published = FRACTIONS["published"]
    for start in range(len(published) - LEAST_BLOCKS + 1):
        if needed(published[start:]) <= n:
            return published[start:]
    return ()


def _with_control(row: Row, labels: Codes, genders: Codes) -> Row:
    known = conditional_entropy(labels, genders)
    control = 1 / known if known else None
    return replace(row, details={**row.details, "control": control})


def conditional_entropy(labels: Codes, genders: Codes) -> float:
    """Return H(gender | label), in bits a text."""
    counts = np.zeros((labels.max(initial=0) + 1, genders.max(initial=0) + 1))
    np.add.at(counts, (labels, genders), 1)
    shares = counts[counts > 0] / np.broadcast_to(counts.sum(1)[:, None], counts.shape)[counts > 0]
    return float(-(counts[counts > 0] * np.log2(shares)).sum() / max(1, len(labels))) + 0.0


def word_rows(
    where: Where, found: Representations | str, query: Query, draws: int, sentences: str
) -> list[Row]:
    """Return CEAT of one query; see `wordbias.probes.ceat`.

    Parameters
    ----------
    found
        Vectors of its words in context, or why there are none.
    sentences
        Where these are from.
    """
    about = {**where.details(REPRESENTATION), "sentences_from": sentences}
    try:
        if isinstance(found, str):
            raise WordbiasError(found)
        named = replace(found, name=sentences)
        (row,) = ceat(named, [query], CeatSettings(draws, seed=where.seed))
    except WordbiasError as error:
        reason = {"set": query.name, "reason": f"undefined: {error}"}
        return [Row(where.subject, CEAT, None, {**about, **reason})]
    return [Row(where.subject, CEAT, row.value, {**row.details, **about})]


def gap_rows(
    where: Where,
    stage: str,
    test: Biographies,
    predicted: Codes,
    shares: NDArray[np.float64],
    *,
    shares_from: str,
    as_published: bool = False,
) -> list[Row]:
    """Measure the fairness of predictions; see `wordbias.outcomes.measure`.

    Parameters
    ----------
    predicted
        Places among the classes, shape ``(n,)``.
    shares
        Of women in each class, shape ``(classes,)``.
    shares_from
        Where they are from.
    """
    confusion = Confusion.of(
        test.label_names(),
        [test.classes[i] for i in predicted],
        test.gender_names(),
        order=test.groups,
        classes=test.classes,
    )
    known = dict(zip(test.classes, shares, strict=True))
    settings = Settings(as_published=as_published, draws=0, seed=where.seed)
    found = fairness_rows(
        confusion,
        where.subject,
        settings,
        shares=np.array([known[name] for name in confusion.classes]),
        shares_from=shares_from,
    )
    return [replace(row, details={**row.details, **where.details(stage)}) for row in found]


_BETWEEN = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True, eq=False)
class Material:
    """What a job works on.

    Attributes
    ----------
    made
        The parts, as the strategy writes them.
    shares
        Of women in each class, shape ``(classes,)``.
    """

    plan: Plan
    job: Job
    made: Prepared
    shares: NDArray[np.float64]

    @classmethod
    def of(cls, plan: Plan, job: Job) -> Material:
        """Split the data, and do with them what the strategy does."""
        parts = split(plan.biographies, job.seed)
        strategy = NONE if job.strategy in BASELINES else job.strategy
        shares = parts.train.shares()
        if plan.shares is not None:
            shares, _ = shares_for(plan.biographies.classes, plan.shares, plan.shares_from)
        return cls(plan, job, prepared(parts, strategy, job.seed), shares)

    def texts(self, name: str) -> list[Biographies]:
        """Return the texts of a view whose vectors are needed."""
        view = self.made.views[name]
        if self.job.strategy in BASELINES and not self.plan.frozen:
            return [view.probe]
        learned = [self.made.train, self.made.dev] if self.plan.frozen and name == OWN else []
        return [*learned, *view]

    def vectors(self, source: Source) -> dict[str, Vectors]:
        """Encode what is needed, view by view."""
        return {name: source.vectors(self.texts(name)) for name in self.made.views}

    def contexts(self, source: Source) -> Representations | str:
        """Encode the words of CEAT in their sentences, or say why not."""
        found = self.sentences()
        return found if isinstance(found, str) else source.contexts(found)

    def sentences(self) -> Sentences | str:
        """Find sentences of the words of CEAT, in texts that no strategy has changed."""
        if self.plan.sentences is not None:
            return self.plan.sentences
        view = self.made.views.get(ORIGINAL, self.made.views[OWN])
        texts = (one for text in view.probe.texts for one in _BETWEEN.split(text))
        try:
            return find_sentences(texts, self.plan.words(), what="the test part")
        except WordbiasError as error:
            return str(error)

    def where(self, view: str) -> Where:
        """Name what rows are of."""
        return Where(self.job.strategy, view, self.job.seed)


def check_material(plan: Plan) -> None:
    """Refuse data of which a job could not be made, before any model is loaded.

    Which biographies a part has depends on no text, so none is rewritten here.

    Raises
    ------
    WordbiasError
        If a part is missing, or cannot be balanced, or a class has no share of women; the message
        names the job.
    """
    people = plan.biographies
    bare = replace(people, texts=("",) * len(people), names=None)
    for job in plan.jobs():
        with naming(job):
            Material.of(replace(plan, biographies=bare), job)


@contextmanager
def naming(job: Job) -> Iterator[None]:
    """Begin the messages of errors with a job's name."""
    try:
        yield
    except WordbiasError as error:
        raise WordbiasError(f"{job}: {error}") from None


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
