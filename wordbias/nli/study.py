"""The study of Dawkins (2021): a model per embedding and seed, its bias, and what predicts it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from wordbias.calls import note
from wordbias.draws import SAMPLE, by_bootstrap
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.formats.files import output_folder
from wordbias.measures.evaluate import check_families, evaluate_each
from wordbias.measures.panel import Panel, make_panels
from wordbias.measures.registry import STANDARD, ideal
from wordbias.measures.sembias import SemBias
from wordbias.nli.arms import Arm, different
from wordbias.nli.differences import paired_differences
from wordbias.nli.files import Model
from wordbias.nli.jobs import Data, Job, plan_jobs, vocabulary_hash
from wordbias.nli.mab import BIAS, mab_rows
from wordbias.nli.pairs import Pairs
from wordbias.nli.recipes import FAST, Recipe
from wordbias.nli.scoring import accuracy, score_set
from wordbias.nli.study_means import over_arms, over_seeds
from wordbias.nli.test_sets import (
    TestSet,
    build,
    marked_sets,
    missing_group_reason,
    missing_words_reason,
    with_known_words,
)
from wordbias.nli.train import train_all
from wordbias.rendering import how_many
from wordbias.results import Row
from wordbias.store import Store, about_in, difference, resumable
from wordbias.word_tasks import AnalogySet, SimilaritySet, quality
from wordbias.wordlists import Attribute, Templates
from wordbias.workers import Workers


@dataclass(frozen=True, eq=False)
class Plan:
    """Arms, data and settings of a study."""

    # embeddings of one dimension, those of each arm by seed; see `wordbias.nli.arms.together`. The
    # first arm has the originals of the others, seed by seed, for the measures that compare with
    # one.
    arms: Mapping[str, Arm]
    data: Mapping[str, Pairs]  # pairs to train on (`train`) and to choose the best epoch by (`dev`)
    folder: Path
    # training settings, one model for each seed, and whether they are computed in bfloat16
    recipe: Recipe = FAST
    seeds: Sequence[int] = tuple(range(6))
    half: bool = False
    test: Pairs | None = None  # pairs to report an accuracy on, too
    # measures of the embeddings; see `wordbias.measures.evaluate.evaluate`
    families: Sequence[str] = STANDARD
    sembias: SemBias | None = None
    # test sets of similarity and analogies; see `wordbias.word_tasks.find_sets`
    quality: Sequence[SimilaritySet | AnalogySet] = ()
    # attribute along which bias is measured, in vectors and in models
    attribute: Attribute = field(default_factory=Attribute.load)
    centre: bool = False  # centre the differences that MIDB is fitted to
    # the measures' other published settings; see `wordbias.measures.evaluate.evaluate`. The marked
    # sets get their published articles.
    as_published: bool = False
    lists: Templates | None = None  # words of the marked sets; by default the built-in ones
    # marked sets to score; by default all that the attribute has words for
    marked: Sequence[str] = ()
    raw: bool = False  # models read the vectors as they are, not scaled to length one
    # number of last epochs over whose models the values of a training are averaged; 0 takes the
    # model of the best epoch on dev
    average_epochs: int = 0
    # names of the arms of random removals, and of MISP fitted to redrawn word lists, if there are
    # such; see `wordbias.nli.differences.paired_differences`
    null: str = ""
    redraws: str = ""
    # setting whose E is the outcome that was fixed beforehand, if there is one; see there
    outcome: str | None = None
    # take the rows of a model in the folder also if it read vectors with other values, where all
    # else agrees: names, words, dimension, pairs, sentences and settings
    trust_rows: bool = False

    def __post_init__(self) -> None:
        if self.average_epochs > self.recipe.epochs:
            raise WordbiasError(
                f"--average-epochs: expected at most {self.recipe.epochs}, the epochs of a "
                f"training, got {self.average_epochs}; give fewer, or more --epochs"
            )
        dims: dict[int, str] = {}
        for embedding in self.embeddings:
            dims.setdefault(embedding.dim, embedding.name)
        if len(dims) > 1:
            dimensions = ", ".join(f"{name} {dim}" for dim, name in dims.items())
            raise WordbiasError(f"expected embeddings of one dimension, found {dimensions}")
        check_families(self.families)

    @property
    def other_attribute(self) -> Attribute | None:
        """The attribute of the marked sets; None for gender, whose sets are the published ones."""
        return None if self.attribute == Attribute.load() else self.attribute

    @property
    def originals(self) -> Arm:
        """The first embedding of each seed."""
        return next(iter(self.arms.values()))

    @property
    def embeddings(self) -> list[Embedding]:
        """The embeddings of all arms."""
        return [embedding for arm in self.arms.values() for embedding in different(arm)]

    def originals_of(self, embedding: Embedding) -> list[Embedding]:
        """Return the first embeddings of the seeds that read an embedding."""
        seeds = [s for arm in self.arms.values() for s, read in arm.items() if read is embedding]
        return list(dict.fromkeys(self.originals[seed] for seed in seeds))

    def marked_sets(self) -> list[TestSet]:
        """Return the marked sets to score."""
        names = self.marked or marked_sets(self.other_attribute)
        return [
            build(name, self.lists, attribute=self.other_attribute, as_published=self.as_published)
            for name in names
        ]


def run(plan: Plan, *, device: str | None = None, workers: Workers | None = None) -> list[Row]:
    """Train, score and measure what is not in the folder yet, and return all rows."""
    # Where an embedding lacks words of a marked set, the rows of this set have no value but a
    # `reason`. Those that `Plan.trust_rows` took of other vectors are `trusted`.
    reasons = [
        reason for embedding in plan.embeddings for _, reason in marked_sets_for(plan, embedding)
    ]
    if all(reasons):  # before all training
        raise WordbiasError(
            f"{plan.embeddings[0].name} {reasons[0]}, and no other marked set can be scored with "
            "any embedding; give vectors that have the words"
        )
    if plan.outcome is not None:
        known_settings = [kind for test in plan.marked_sets() for kind in test.settings]
        if plan.outcome not in known_settings:
            raise WordbiasError(
                f"--outcome: expected one of {', '.join(known_settings)}, got {plan.outcome!r}"
            )
    data = Data.of(dict(plan.data))
    jobs = [
        job
        for arm in plan.arms.values()
        for embedding in different(arm)
        for job in plan_jobs(
            [embedding],
            [seed for seed, read in arm.items() if read is embedding],
            data,
            plan.recipe,
            plan.folder,
            half=plan.half,
            raw=plan.raw,
        )
    ]
    # if it is stopped, all arms have as many seeds
    left = [
        replace(job, wanted=_rows_in(*_rows_file(plan, job)).get() is None)
        for job in sorted(jobs, key=lambda job: job.seed)
    ]
    trained = [job for job in left if job.wanted and job.is_done()]
    for job in trained if plan.average_epochs else []:  # are the last epochs there?
        list(last_models(job, plan.average_epochs))
    for line in trained_anew(plan, [job for job in left if not job.is_done()]):
        note(line)
    known = {embedding.name: embedding for embedding in plan.embeddings}

    def score(job: Job) -> None:
        _model_rows(plan, known[job.about["embedding"]["name"]], job)

    study = plan.folder / "study"
    with output_folder(plan.folder), resumable(study, plan.folder, keep=True):
        train_all(
            left,
            data.encoded["train"],
            data.encoded["dev"],
            plan.recipe,
            device=device,
            half=plan.half,
            kept=plan.average_epochs,
            workers=workers,
            finished=score,
        )
        return study_rows(plan, jobs, workers)


def trained_anew(plan: Plan, jobs: Sequence[Job]) -> list[str]:
    """Return a note on models that are trained although there are rows: of other settings."""
    others = []
    for job in jobs:
        path, about = _rows_file(plan, job)
        if path.exists():
            known, key = about_in(path), _rows_in(path, about).about
            reason = difference(known, key) if known else None
            if reason and _without_values(known) == _without_values(key):
                more = " (--trust-rows takes rows of vectors with other values)"
                reason = "" if plan.trust_rows else reason + more  # trusted rows are damaged
            others.append(f"{path}: its {reason}" if reason else f"{path}: has no rows")
    if not others:
        return []
    more = f", as {how_many(len(others) - 1, 'other')}" if others[1:] else ""
    return [f"{others[0]}; its model is not here either, and is trained anew{more}"]


def study_rows(plan: Plan, jobs: Sequence[Job], workers: Workers | None = None) -> list[Row]:
    """Score and measure what is not cached: models, their means over seeds, embeddings."""
    known = {embedding.name: embedding for embedding in plan.embeddings}
    arm_of = {
        embedding.name: name for name, arm in plan.arms.items() for embedding in different(arm)
    }
    scored = []
    for job in jobs:
        name = job.about["embedding"]["name"]
        rows = _model_rows(plan, known[name], job)
        if arm_of[name] != name:
            rows = [
                replace(r, subject=arm_of[name], details={**r.details, "draw": name}) for r in rows
            ]
        scored += rows
    panels = make_panels(
        plan.embeddings,
        plan.embeddings[0],
        plan.attribute,
        centre=plan.centre,
        by_projection=plan.as_published,
        sembias=plan.sembias,
        isolated=0.0 if plan.as_published else 1.0,
    )
    panel_of = dict(zip(plan.embeddings, panels, strict=True))
    pairs = {
        name: {seed: (embedding, plan.originals[seed]) for seed, embedding in arm.items()}
        for name, arm in plan.arms.items()
    }
    distinct = dict.fromkeys(pair for arm in pairs.values() for pair in arm.values())
    against = [replace(panel_of[embedding], original=original) for embedding, original in distinct]
    measured = dict(zip(distinct, _measured(plan, against, workers), strict=True))
    solved = {embedding: _quality_rows(plan, embedding) for embedding in plan.embeddings}
    return [
        *scored,
        *over_seeds(scored),
        *paired_differences(scored, plan.null, plan.redraws, plan.outcome),
        *over_arms(plan.arms, pairs, measured, plan.seeds),
        *over_arms(plan.arms, plan.arms, solved, plan.seeds),
    ]


# Marked sets


def marked_sets_for(plan: Plan, embedding: Embedding) -> list[tuple[TestSet, str]]:
    """Return the marked sets, each with the reason why it cannot be scored; empty where it can."""
    # The published sets need all their words, or their numbers would not compare. Sets about
    # another attribute are reduced to the words that the vectors have, and need some of each group.
    check = missing_words_reason if plan.other_attribute is None else missing_group_reason
    sets = []
    for test in plan.marked_sets():
        reason = check(embedding, test)
        sets.append((test if reason else with_known_words(embedding, test), reason))
    return sets


def skipped(plan: Plan) -> list[str]:
    """Return notes on sets that are skipped for an embedding, and on words that are left out."""
    lacking: dict[str, list[str]] = {}
    sets = {test.name: test for test in plan.marked_sets()}
    for name, arm in plan.arms.items():
        if name in (plan.null, plan.redraws):  # with the words of the first arm
            continue
        names_by_text: dict[str, list[str]] = {}
        for embedding in different(arm):
            for test, reason in marked_sets_for(plan, embedding):
                missing = missing_words_reason(embedding, sets[test.name])
                if reason:
                    text = f"{reason}: the set is skipped"
                    names_by_text.setdefault(text, []).append(embedding.name)
                elif missing:
                    names_by_text.setdefault(f"{missing}: they are left out", []).append(
                        embedding.name
                    )
        for text, names in names_by_text.items():
            lacking.setdefault(text, []).extend(
                names if len(names) < len(different(arm)) else [name]
            )
    return [
        f"{', '.join(names)}{': each' if len(names) > 1 else ''} {text}"
        for text, names in lacking.items()
    ]


# Rows of one model or one embedding, cached in a file


def _model_rows(plan: Plan, embedding: Embedding, job: Job) -> list[Row]:
    """Score one model on the marked sets, and on the pairs of dev and test."""

    def make(model: Model) -> Iterator[Row]:
        for name, pairs in (("dev", plan.data["dev"]), ("test", plan.test)):
            if pairs is not None:
                right = accuracy(model, embedding, pairs)
                details = {"set": name, "n": len(pairs), **ideal("snli-accuracy")}
                yield Row(embedding.name, "snli-accuracy", right, details)
        for test, reason in marked_sets_for(plan, embedding):
            if reason:
                yield from _undefined_rows(test, embedding.name, reason)
                continue
            scored = score_set(model, embedding, test)
            yield from mab_rows(test, scored.probabilities, embedding.name)

    path, about = _rows_file(plan, job)
    if not plan.average_epochs:
        rows = cached_rows(path, about, lambda: list(make(Model.load(job.output))))
    else:
        rows = cached_rows(
            path,
            about,
            lambda: over_epochs(
                {epoch: list(make(model)) for epoch, model in last_models(job, plan.average_epochs)}
            ),
        )
    more = {"seed": job.seed}
    if about.get("vectors") != job.about["vectors"]:
        more["trusted"] = True
    return [replace(row, details={**row.details, **more}) for row in rows]


def _rows_file(plan: Plan, job: Job) -> tuple[Path, dict[str, Any]]:
    """Return the file of the rows of one model, and its key, for which no model is needed."""
    path = job.output.with_name(f"{job.output.name}.{_file_prefix(plan)}rows.json")
    about = {
        **job.about,
        "test": plan.test.sha256 if plan.test else None,
        **_attribute_key(plan),
        **_sets_key(plan),
    }
    if plan.average_epochs:
        about["average_epochs"] = plan.average_epochs
    if plan.trust_rows:
        known, wanted = about_in(path), _rows_in(path, about).about
        if _without_values(known) == _without_values(wanted) and _rows_in(path, known).get():
            return path, known
    return path, about


def _without_values(about: Mapping[str, Any]) -> dict[str, Any]:
    """Return the key of a model's rows without the hashes of the vectors that it read."""
    rest = {name: value for name, value in about.items() if name != "vectors"}
    if isinstance(rest.get("embedding"), dict):
        rest["embedding"] = {**rest["embedding"], "sha256": None}
    return rest


def last_models(job: Job, count: int) -> Iterator[tuple[int, Model]]:
    """Yield the models of the last epochs of a training, each with its epoch."""
    # Early stopping may have ended the training after fewer epochs than `count`.
    trained = int(Model.load(job.output).about["epochs"])
    for epoch in range(max(1, trained - count + 1), trained + 1):
        path = job.epoch_file(epoch)
        if not path.exists():
            raise WordbiasError(
                f"{job.output}: of its {trained} epochs the model of epoch {epoch} was not kept "
                f"({path.name}); train anew with --average-epochs in another folder (-o)"
            )
        model = Model.load(path)
        if difference({key: model.about.get(key) for key in job.about}, dict(job.about)):
            raise WordbiasError(
                f"{path}: holds a model of another training than {job.output.name}; train anew "
                "with --average-epochs in another folder (-o)"
            )
        yield epoch, model


def over_epochs(rows: Mapping[int, Sequence[Row]]) -> list[Row]:
    """Average the rows of one training's models over epochs."""
    # The intervals are of the means: all models are scored on the same draws of premises. p, which
    # tests a single model, is left out.
    epochs = list(rows)
    return [_over_epochs(same_rows, epochs) for same_rows in zip(*rows.values(), strict=True)]


def _over_epochs(rows: Sequence[Row], epochs: list[int]) -> Row:
    dropped = ("low", "high", "interval", "unit", "p", "partitions", "method")
    details = {key: value for key, value in rows[0].details.items() if key not in dropped}
    details["epochs"] = epochs
    values = [row.value for row in rows if row.value is not None]
    if len(values) < len(rows):  # the embedding lacks words, whatever the epoch
        return Row(rows[0].subject, rows[0].measure, None, details)
    drawn = [row.draws[SAMPLE] for row in rows if SAMPLE in row.draws]
    if len(drawn) == len(rows):
        details |= by_bootstrap(np.mean([sample.values for sample in drawn], axis=0), drawn[0].unit)
    return Row(rows[0].subject, rows[0].measure, float(np.mean(values)), details)


def _undefined_rows(test: TestSet, subject: str, reason: str) -> Iterator[Row]:
    """Yield the rows of a set that cannot be scored, without values."""
    for kind in dict.fromkeys(filler.kind for filler in test.hypotheses):
        about = {"attribute": test.attribute, "set": test.name, "setting": f"{kind}s"}
        for measure in BIAS:
            details = {**about, "reason": f"undefined: {subject} {reason}"}
            yield Row(subject, measure, None, {**details, **ideal(measure)})


def _measured(plan: Plan, panels: Sequence[Panel], workers: Workers | None) -> list[list[Row]]:
    """Measure bias in the vectors of embeddings, those together that are not cached."""
    stores = [_rows_in(*_measures_file(plan, panel)) for panel in panels]
    left = [i for i, store in enumerate(stores) if store.get() is None]
    for place, rows in evaluate_each([panels[i] for i in left], plan.families, workers=workers):
        stores[left[place]].put(rows=rows)
    return [list(store.entries[()].rows) for store in stores]


def _measures_file(plan: Plan, panel: Panel) -> tuple[Path, dict[str, Any]]:
    """Return the file of the measures of one embedding, and its key."""
    about = {
        "sha256": _embedding_hash(panel.embedding),
        "families": list(plan.families),
        "original": _embedding_hash(panel.original),
        "vocabulary": len(panel.vocabulary),
        "sembias": None if plan.sembias is None else _hash_of(plan.sembias),
        "as_published": plan.as_published,
        **_attribute_key(plan),
    }
    name = panel.embedding.name
    if len(plan.originals_of(panel.embedding)) > 1:
        name += f".against-{panel.original.name}"
    path = plan.folder / f"{name}.{_file_prefix(plan)}measures.json"
    before = about_in(path).get("centred")
    if before is not None and before is not plan.centre:  # along the other subspace
        options = ("without --centre", "with --centre or --as-published")
        raise WordbiasError(
            f"{path.parent}: its measures were taken {options[before]}, and these are "
            f"{options[plan.centre]}; name another folder with -o, or go on as it was begun"
        )
    return path, {**about, "centred": plan.centre}


def _quality_rows(plan: Plan, embedding: Embedding) -> list[Row]:
    """Test the quality of one embedding on similarities and analogies."""
    if not plan.quality:
        return []
    sets = {test_set.name: _hash_of(test_set) for test_set in plan.quality}
    path = plan.folder / f"{embedding.name}.quality.json"
    about = {"sha256": _embedding_hash(embedding), "sets": sets}
    return cached_rows(path, about, lambda: [test.row for test in quality(embedding, plan.quality)])


def _file_prefix(plan: Plan) -> str:
    """Return what distinguishes the files of another attribute from those of gender."""
    attribute = plan.other_attribute
    return "" if attribute is None else "-".join(attribute.groups) + "."


def _attribute_key(plan: Plan) -> dict[str, Any]:
    """Return the part of a cache key that rows about another attribute have."""
    attribute = plan.other_attribute
    if attribute is None:
        return {}
    words = (
        attribute.members,
        attribute.pairs,
        attribute.equalise,
        attribute.direction,
        sorted(attribute.specific),
    )
    text = repr((attribute.groups, *words, sorted(attribute.subjects.items())))
    return {"attribute": hashlib.sha256(text.encode()).hexdigest()}


def _sets_key(plan: Plan) -> dict[str, Any]:
    """Return the part of a cache key that rows of other sentences than the default ones have."""
    if plan.lists is None and not plan.marked and not plan.as_published:
        return {}
    texts = [
        (
            test.name,
            [(test.subject(filler), filler.group, filler.kind) for filler in test.hypotheses],
            [test.predicate(template) for template in test.templates],
        )
        for test in plan.marked_sets()
    ]
    return {"sets": _hash_of(texts)}


def _embedding_hash(embedding: Embedding) -> str:
    """Return the hash of an embedding's file, or of its words and vectors if it has none."""
    if embedding.info is not None:
        return embedding.info.sha256
    digest = hashlib.sha256(vocabulary_hash(embedding.words).encode())
    digest.update(np.ascontiguousarray(embedding.vectors).data)
    return digest.hexdigest()


def _hash_of(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()


def cached_rows(path: Path, about: Mapping[str, Any], make: Callable[[], list[Row]]) -> list[Row]:
    """Return the rows of a file if they are of these settings, or make and write them."""
    store = _rows_in(path, about)
    if store.get() is None:
        store.put(rows=make())
    return list(store.entries[()].rows)


def _rows_in(path: Path, about: Mapping[str, Any]) -> Store:
    """Open the file of the rows of one model or embedding."""
    return Store(path, about, refuse=False, draws=False)
