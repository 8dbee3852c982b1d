"""The occupation experiment of Orgad et al. (2022): every strategy under every seed.

A classifier is trained on data that a strategy debiased. Gender is probed in its vectors and its
gaps are measured, once more after only its last layer is trained again, on the original data. Or a
removal is put before the last layer; see `wordbias.retraining.removals`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from wordbias.biographies.classifier import (
    Labelled,
    fine_tune,
    new_head,
    predict,
    save_model,
    train_head,
)
from wordbias.biographies.data import Biographies, Codes, split
from wordbias.biographies.encoding import (
    LiveEncoder,
    Vectors,
    VectorSource,
    distinct_texts,
    sha256_of,
    unwrapped,
)
from wordbias.biographies.plan import RANDOM_INIT, Plan
from wordbias.biographies.strategies import Prepared, prepare
from wordbias.calls import note
from wordbias.devices import native_threads
from wordbias.errors import WordbiasError
from wordbias.formats.files import check_output_folder
from wordbias.methods.transform import Step
from wordbias.models.representations import Representations
from wordbias.outcomes.balance import copies
from wordbias.outcomes.confusion import Confusion
from wordbias.outcomes.fairness import ALL, fairness_rows
from wordbias.outcomes.inputs import shares_for
from wordbias.outcomes.metrics import Settings
from wordbias.probes.ceat.sentences import Sentences, find_sentences
from wordbias.probes.mdl import CONTROL
from wordbias.results import Row
from wordbias.retraining.arms import NONE, ORIGINAL, OWN, Job, is_random
from wordbias.retraining.jobs import ADAPTER, run_jobs
from wordbias.retraining.measuring import (
    Run,
    career_query,
    career_words,
    coded_rows,
    read_rows,
    word_rows,
)
from wordbias.retraining.removals import (
    check_adapters,
    digest_of_adapter,
    divided,
    fit_removal,
    is_removal,
    random_removal,
    remove,
)
from wordbias.retraining.results import AFTER, BASELINES, BEFORE, UNTRAINED
from wordbias.store import Entry, Store
from wordbias.training import read_checkpoint, write_checkpoint
from wordbias.workers import Workers

_SENTENCE_ENDS = re.compile(r"(?<=[.!?])\s+")


def run(plan: Plan, workers: Workers | None = None) -> list[Row]:
    """Run the jobs that are not done yet; return the rows of all, in the order of the plan."""
    workers = workers or Workers()
    check_output_folder(plan.folder)
    check_jobs(plan)
    encoder = plan.encoding.load(plan.model)
    plan = replace(plan, model_sha256=sha256_of(encoder))
    jobs = plan.jobs()
    check_adapters(plan.strategies, unwrapped(encoder))
    del encoder

    def begin(store: Store) -> None:
        _forget_jobs_without_model(plan, store)
        if not workers.in_process:
            for job in jobs:
                if store.get(*job) is None:
                    encode_ahead(plan, job)

    return run_jobs(
        plan.folder,
        plan.about(),
        jobs,
        _timed,
        workers,
        shared=(plan,),
        is_later=is_removal,
        adapter_of=lambda strategy: digest_of_adapter(strategy, plan.encoding.pooling),
        begin=begin,
        finished=lambda job: plan.checkpoint(job).unlink(missing_ok=True),
    )


def _forget_jobs_without_model(plan: Plan, store: Store) -> None:
    """Let jobs of `NONE` run again that did not keep their model, if an arm of vectors needs it."""
    seeds = [
        str(job.seed)
        for job in dict.fromkeys(
            Job(NONE, job.seed)
            for job in plan.jobs()
            if is_removal(job.strategy)
            and store.get(*job) is None
            and not plan.trained_file(job.seed).exists()
        )
        if store.entries.pop(job, None) is not None
    ]
    if seeds:
        note(
            f"{NONE} is trained again, with the seeds {', '.join(seeds)}: {plan.results} was made "
            "without arms of vectors, and its last layers were not stored"
        )


def _timed(plan: Plan, job: Job) -> Entry:
    """Run a job; its seconds come first among the facts."""
    torch.set_num_threads(native_threads())
    start = time.perf_counter()
    rows, facts = run_job(plan, job)
    return Entry(rows, facts={"seconds": round(time.perf_counter() - start, 1), **facts})


# One job: train, probe, measure, retrain, measure again


def run_job(plan: Plan, job: Job) -> tuple[list[Row], dict[str, Any]]:
    """Run a job; return its rows, and further entries of its line in the file of results."""
    with _named_errors(job):
        data = JobData.of(plan, job)
        if job.strategy in BASELINES:
            source = data.vector_cache()
            return list(_vector_rows(data, source, data.vectors(source))), {}
        if is_removal(job.strategy):
            return _remove_and_measure(data)
        return _train_and_measure(data)


def _train_and_measure(data: JobData) -> tuple[list[Row], dict[str, Any]]:
    plan, job, prepared = data.plan, data.job, data.prepared
    recipe, classes = plan.recipe_of(job), prepared.train.classes
    source: VectorSource
    if plan.frozen:
        source = data.vector_cache()
        vectors = data.vectors(source)
        train, dev = (_labelled(vectors[OWN], part) for part in (prepared.train, prepared.dev))
        fitted = train_head(train, dev, len(classes), recipe, f"{job}")
    else:
        encoder = plan.encoding.load(plan.model)
        about = plan.about_model(job.seed, job.strategy)
        fitted = fine_tune(
            encoder,
            prepared.train,
            prepared.dev,
            recipe,
            plan.encoding,
            checkpoint=plan.checkpoint(job),
            about=about,
            what=f"{job}",
        )
        if plan.keep_models:
            folder = plan.folder / "models" / job.file_name
            save_model(folder, encoder, fitted.head, classes, about)
        source = LiveEncoder(encoder, plan.encoding)
        vectors = data.vectors(source)
    rows = [*_vector_rows(data, source, vectors), *_prediction_rows(data, vectors, fitted.head)]
    if job.strategy == NONE and any(map(is_removal, plan.strategies)):
        probe = prepared.views[OWN].probe
        rows += read_rows(data.run(OWN), vectors[OWN].of(probe), probe.gender_names())
        _keep_trained(plan, job.seed, fitted.head, None if plan.frozen else vectors[OWN])
    return rows, {"training": {"dev_accuracy": fitted.accuracy, "best_round": fitted.round}}


def _keep_trained(plan: Plan, seed: int, head: nn.Linear, vectors: Vectors | None) -> None:
    """Write the last layer of a job of `NONE`, and the vectors of a fine-tuned encoder."""
    parts = {"head": {name: parameter.detach() for name, parameter in head.named_parameters()}}
    if vectors is not None:
        parts["texts"] = {"vectors": torch.from_numpy(vectors.vectors)}
    file = plan.trained_file(seed)
    file.parent.mkdir(parents=True, exist_ok=True)
    write_checkpoint(file, parts, {"about": plan.about_model(seed)})


def _trained(data: JobData) -> tuple[Vectors, nn.Linear]:
    """Return the vectors that the classifier of `NONE` reads, and its last layer."""
    plan, seed, prepared = data.plan, data.job.seed, data.prepared
    with read_checkpoint(plan.trained_file(seed), plan.about_model(seed)) as (parts, _):
        weight = parts["head"]["weight"]
        head = new_head(weight.shape[1], len(weight), seed)
        head.load_state_dict(parts["head"])
        if "texts" in parts:
            texts = distinct_texts(prepared.views[OWN])
            return Vectors.by_text(parts["texts"]["vectors"].numpy(), texts), head
    return data.vectors(data.vector_cache())[OWN], head


def _remove_and_measure(data: JobData) -> tuple[list[Row], dict[str, Any]]:
    """Measure the classifier of `NONE` behind a removal; see `wordbias.retraining.removals`."""
    plan, job, view = data.plan, data.job, data.prepared.views[OWN]
    vectors, head = _trained(data)
    training, pooling = view.original_train, plan.encoding.pooling
    steps = fit_to_people(
        job.strategy, vectors.of(training), training, pooling=pooling, seed=job.seed
    )
    after = replace(vectors, vectors=remove(steps, vectors.vectors))
    run, probed = data.run(OWN), after.of(view.probe)
    rows = [
        *gender_rows(run, view.probe, probed, balanced=plan.balanced_probe),
        *read_rows(run, after.of(view.probe), view.probe.gender_names()),
        *_prediction_rows(data, {OWN: after}, head),
    ]
    return rows, {ADAPTER: digest_of_adapter(job.strategy, pooling)}


def fit_to_people(
    strategy: str,
    vectors: NDArray[np.float32],
    people: Biographies,
    *,
    pooling: str,
    seed: int,
) -> Sequence[Step]:
    """Fit the removal of an arm to people's vectors (n, d), balanced as the arm's name says."""
    how, name = divided(strategy)
    rows = np.arange(len(people))
    if how:
        rows = np.repeat(rows, copies(people.labels, people.genders, how, seed))
    codes = np.unique(people.genders[rows], return_inverse=True)[1]
    steps = fit_removal(name, vectors[rows], codes, pooling=pooling, seed=seed)
    if is_random(strategy):
        return random_removal(steps, vectors, np.random.default_rng([seed, *name.encode()]))
    return steps


def _labelled(vectors: Vectors, bios: Biographies) -> Labelled:
    return Labelled(vectors.of(bios), bios.labels)


def encode_ahead(plan: Plan, job: Job) -> None:
    """Write the cached vectors that a job needs, so that parallel jobs do not encode them twice."""
    if job.strategy in BASELINES or (plan.frozen and not is_removal(job.strategy)):
        data = JobData.of(plan, job)
        source = data.vector_cache()
        data.vectors(source)
        data.contexts(source)


def check_jobs(plan: Plan) -> None:
    """Refuse data that a job could not be done with, before any model is loaded."""
    # Which biographies a part has does not depend on their texts, so none is rewritten here.
    people = plan.biographies
    bare = replace(plan, biographies=replace(people, texts=("",) * len(people), names=None))
    for job in plan.jobs():
        with _named_errors(job):
            JobData.of(bare, job)


@contextmanager
def _named_errors(job: Job) -> Iterator[None]:
    """Begin the messages of errors with a job's name."""
    try:
        yield
    except WordbiasError as error:
        raise WordbiasError(f"{job}: {error}") from None


@dataclass(frozen=True, eq=False)
class JobData:
    """Data of a job."""

    plan: Plan
    job: Job
    prepared: Prepared  # parts of the split, as the strategy rewrites and balances them
    shares: NDArray[np.float64]  # share of women in each class, shape `(classes,)`

    @classmethod
    def of(cls, plan: Plan, job: Job) -> JobData:
        """Split the data, and apply the strategy."""
        parts = split(plan.biographies, job.seed)
        keeps_data = job.strategy in BASELINES or is_removal(job.strategy)
        strategy = NONE if keeps_data else job.strategy
        shares = parts.train.shares()
        if plan.shares is not None:
            shares, _ = shares_for(plan.biographies.classes, plan.shares, plan.shares_from)
        return cls(plan, job, prepare(parts, strategy, job.seed), shares)

    def vector_cache(self) -> VectorSource:
        """Return the cache of the encoder that is not fine-tuned."""
        untrained = self.job.strategy == UNTRAINED
        return self.plan.vector_cache(RANDOM_INIT if untrained else None)

    def vectors(self, source: VectorSource) -> dict[str, Vectors]:
        """Return the vectors of all texts that the job needs, by view."""
        view_vectors = {}
        for name, view in self.prepared.views.items():
            texts: list[Biographies] = [*view]
            if self.job.strategy in BASELINES and not self.plan.frozen:
                texts = [view.probe]
            elif self.plan.frozen and name == OWN:
                texts = [self.prepared.train, self.prepared.dev, *view]
            view_vectors[name] = source.vectors(texts)
        return view_vectors

    def contexts(self, source: VectorSource) -> Representations | str:
        """Return the vectors of the words of CEAT in sentences, or why there are none."""
        sentences = self._sentences()
        return sentences if isinstance(sentences, str) else source.contexts(sentences)

    def _sentences(self) -> Sentences | str:
        """Find sentences with the words of CEAT, in texts that no strategy has changed."""
        if self.plan.sentences is not None:
            return self.plan.sentences
        view = self.prepared.views.get(ORIGINAL, self.prepared.views[OWN])
        texts = (sentence for text in view.probe.texts for sentence in _SENTENCE_ENDS.split(text))
        try:
            return find_sentences(texts, career_words(), what="the test part")
        except WordbiasError as error:
            return str(error)

    def run(self, view: str) -> Run:
        """Return the run that rows of a view belong to."""
        return Run(self.job.strategy, view, self.job.seed)


# measuring


def _vector_rows(
    data: JobData, source: VectorSource, vectors: Mapping[str, Vectors]
) -> Iterator[Row]:
    """Measure gender in the vectors of people, and the associations of words."""
    plan = data.plan
    for name, view in data.prepared.views.items():
        probe_vectors = vectors[name].of(view.probe)
        yield from gender_rows(
            data.run(name), view.probe, probe_vectors, balanced=plan.balanced_probe
        )
    words = data.contexts(source)
    yield from word_rows(data.run(OWN), words, career_query(), plan.draws, plan.sentences_from)


def _prediction_rows(
    data: JobData, vectors: Mapping[str, Vectors], head: nn.Linear
) -> Iterator[Row]:
    """Measure the trained last layer, and then one that is trained on the original data."""
    for name, view in data.prepared.views.items():
        view_vectors = vectors[name]
        retrained = train_head(
            _labelled(view_vectors, view.original_train),
            _labelled(view_vectors, view.original_dev),
            len(data.prepared.train.classes),
            data.plan.retraining_of(data.job),
            f"{data.job}, again",
        )
        for stage, layer in ((BEFORE, head), (AFTER, retrained.head)):
            yield from gap_rows(
                data.run(name),
                stage,
                view.test,
                predict(layer, view_vectors.of(view.test)),
                data.shares,
                as_published=data.plan.as_published,
            )


def gender_rows(
    run: Run, probe: Biographies, vectors: NDArray[np.float32], *, balanced: bool = False
) -> list[Row]:
    """Code the gender of people given their vectors, over all occupations and within each.

    If an occupation is mostly of one gender, a probe that finds the occupation knows much of the
    gender. So each occupation is also coded alone, on equally many women and men. `control` is the
    compression of a receiver who knows only the occupation, ``1 / H(gender | occupation)``.
    """
    even = np.flatnonzero(copies(probe.labels, probe.genders, "subsample", run.seed))
    everyone = even if balanced else np.arange(len(probe))

    def coded(part: str, rows: Codes) -> list[Row]:
        return coded_rows(run, part, vectors[rows], probe.genders[rows], what="biographies")

    rows = coded(ALL, everyone)
    known = conditional_entropy(probe.labels[everyone], probe.genders[everyone])
    control = {CONTROL: 1 / known if known else None}
    rows[0] = replace(rows[0], details={**rows[0].details, **control})
    for i, name in enumerate(probe.classes):
        rows += coded(name, even[probe.labels[even] == i])
    return rows


def conditional_entropy(labels: Codes, genders: Codes) -> float:
    """Return H(gender | label), in bits per text."""
    counts = np.zeros((labels.max(initial=0) + 1, genders.max(initial=0) + 1))
    np.add.at(counts, (labels, genders), 1)
    shares = counts[counts > 0] / np.broadcast_to(counts.sum(1)[:, None], counts.shape)[counts > 0]
    return float(-(counts[counts > 0] * np.log2(shares)).sum() / max(1, len(labels))) + 0.0


def gap_rows(
    run: Run,
    stage: str,
    test: Biographies,
    predicted: Codes,
    shares: NDArray[np.float64],
    *,
    as_published: bool = False,
) -> list[Row]:
    """Measure the fairness of predictions; see `wordbias.outcomes.fairness`."""
    confusion = Confusion.of(
        test.label_names(),
        [test.classes[i] for i in predicted],
        test.gender_names(),
        order=test.groups,
        classes=test.classes,
    )
    known = dict(zip(test.classes, shares, strict=True))
    settings = Settings(as_published=as_published, draws=0, seed=run.seed)
    rows = fairness_rows(
        confusion,
        run.subject,
        settings,
        shares=np.array([known[name] for name in confusion.classes]),
    )
    return [replace(row, details={**row.details, **run.details(stage)}) for row in rows]
