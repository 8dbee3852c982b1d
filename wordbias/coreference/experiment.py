"""The coreference experiment of Orgad et al. (2022): every strategy under every seed.

A model is trained on documents that a strategy debiased. The usual gender of professions is probed
in its encoder, and its F1 and its gaps on WinoBias are measured. Then all above the encoder is
trained again, on the original documents, and predictions are measured once more.

An arm of vectors keeps the model of the original documents. A removal is fitted to the vectors of
*she* and *he* in the training documents, and stands behind the encoder; its random change removes
random directions that move the vectors of all word pieces as far.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from wordbias import __version__
from wordbias.calls import note
from wordbias.contextual.fine_tuning import beside, is_finished, read_about, store
from wordbias.coreference.documents import Clusters, Document, facts
from wordbias.coreference.model import Settings as Sizes
from wordbias.coreference.resolver import Coreference
from wordbias.coreference.strategies import PUBLISHED, check_strategy, debias
from wordbias.coreference.training import RESULTS, Recipe, tallies, train_coreference, train_model
from wordbias.devices import native_threads
from wordbias.errors import WordbiasError
from wordbias.measures.registry import ideal
from wordbias.methods.leace import Erasure
from wordbias.methods.transform import Projection, Step
from wordbias.models.adapters import Adapter
from wordbias.models.encoder import Encoder
from wordbias.models.encoding import encode_spans
from wordbias.models.fingerprint import Fingerprint
from wordbias.models.representations import Representations
from wordbias.models.sites import Site
from wordbias.outcomes.anonymise import Finder
from wordbias.outcomes.conll import conll_f1
from wordbias.outcomes.fairness import ALL
from wordbias.outcomes.metrics import Settings
from wordbias.probes.ceat.association import DRAWS
from wordbias.probes.ceat.sentences import ContextSettings, Sentences, encode_contexts
from wordbias.results import Row
from wordbias.retraining.arms import NONE, OWN, RANDOM, Job, is_random
from wordbias.retraining.jobs import ADAPTER, run_jobs
from wordbias.retraining.measuring import (
    CAREER,
    Run,
    career_query,
    coded_rows,
    read_rows,
    word_rows,
)
from wordbias.retraining.removals import (
    check_adapters,
    check_removals,
    digest_of_adapter,
    divided,
    fit_removal,
    is_removal,
    random_removal,
)
from wordbias.retraining.results import AFTER, BASELINES, BEFORE, TEST, UNTRAINED
from wordbias.stereotypes.winobias import (
    F1,
    FEMALE,
    MALE,
    PRO,
    PRONOUNS,
    Sentence,
    classification_rows,
    f1_rows,
    masked_rows,
    tokens,
)
from wordbias.store import Entry, Store
from wordbias.workers import Workers

RANDOM_INIT = 0
ROWS = 20_000
"""Number of vectors of word pieces, drawn at random, that a random removal moves as far."""
_EITHER_GENDER = 20
"""Fewest pronouns of each gender that a removal is fitted to."""


@dataclass(frozen=True, eq=False)
class Plan:
    """Settings of the experiment."""

    # documents with gold clusters. Strategies change those to train on; the best epoch is that on
    # `dev` as it is.
    train: Sequence[Document] = field(repr=False)
    dev: Sequence[Document] = field(repr=False)
    test: Sequence[Document] = field(repr=False)
    sentences: Sequence[Sentence] = field(repr=False)  # WinoBias, all `pro` sentences first
    model: str
    folder: Path
    # see `wordbias.coreference.strategies`; and methods for vectors, such as leace. A seed decides
    # the initial weights above the encoder and the order of training.
    strategies: Sequence[str] = PUBLISHED
    seeds: Sequence[int] = (0, 1, 2)
    # training of a model, and of all above its encoder again
    recipe: Recipe = field(default_factory=Recipe)
    retraining: Recipe = field(default_factory=Recipe)
    sizes: Sizes = field(default_factory=Sizes)
    # also probe encoders that were not trained on documents: pretrained, and with random weights
    baselines: bool = True
    # share of women in each profession, for correlations, and its source
    shares: Mapping[str, float] | None = None
    shares_from: str = "the sentences"
    # sentences with the words of CEAT, or why there are none
    contexts: Sentences | str = field(default="no sentences were given", repr=False)
    contexts_from: str = ""
    draws: int = DRAWS
    # function that finds people's names, and its name; by default lists
    find: Finder | None = field(default=None, repr=False)
    finder: str = ""
    device: str | None = None
    # gaps as the released code computes them; see `wordbias.outcomes.metrics.Settings`
    as_published: bool = False
    # keep all models and removals in the folder, not only the models that arms of vectors need
    keep_models: bool = False
    model_sha256: str = ""

    def __post_init__(self) -> None:
        check_removals(self.strategies, "", frozen=self.recipe.head_only)
        for strategy in self.strategies:
            if not is_removal(strategy):
                check_strategy(strategy)
            elif how := divided(strategy)[0]:
                raise WordbiasError(
                    f"strategy {strategy!r}: pronouns have no class within which {how} could "
                    f"balance them; give {strategy.replace(f'{how}+', '')}"
                )
        if not self.jobs():
            raise WordbiasError("nothing to study: name strategies and seeds")

    def jobs(self) -> list[Job]:
        """Return all jobs, baselines first, seed by seed."""
        subjects = [*BASELINES * self.baselines, *self.strategies]
        return [
            Job(subject, seed)
            for seed in dict.fromkeys(self.seeds)
            for subject in dict.fromkeys(subjects)
        ]

    def model_folder(self, job: Job) -> Path:
        """Return the folder of a job's model."""
        return self.folder / "models" / job.file_name

    def retrained_folder(self, job: Job) -> Path:
        """Return the folder of a job's model with the retrained head."""
        return self.folder / "models" / f"{job.file_name}-retrained"

    def adapter_file(self, job: Job) -> Path:
        """Return the file of the removal of an arm of vectors."""
        return self.folder / "models" / f"{job.file_name}.adapter"

    def keeps(self, strategy: str) -> bool:
        """Return whether the models of a strategy stay in the folder."""
        return self.keep_models or (strategy == NONE and any(map(is_removal, self.strategies)))

    def lacks(self, job: Job) -> bool:
        """Return whether a job that was run has not left what stays in the folder."""
        if job.strategy in BASELINES:
            return False
        if self.keep_models and not is_finished(self.retrained_folder(job)):
            return True
        if is_removal(job.strategy):
            return self.keep_models and not self.adapter_file(job).is_file()
        return self.keeps(job.strategy) and not is_finished(self.model_folder(job))

    def remove_model(self, job: Job) -> None:
        """Remove the model of a job whose rows are stored, unless it is kept."""
        if not self.keeps(job.strategy):
            shutil.rmtree(self.model_folder(job), ignore_errors=True)

    def about(self) -> dict[str, Any]:
        """Return all that every job depends on beside its strategy and seed."""
        contexts = self.contexts
        if not isinstance(contexts, str):
            contexts = json.dumps(dict(contexts.contexts))
        return {
            "wordbias": __version__,
            "train": facts(self.train),
            "dev": facts(self.dev),
            "test": facts(self.test),
            "winobias": _digest(repr(self.sentences)),
            "model": self.model_sha256,
            "recipe": self.recipe.to_dict(),
            "retraining": self.retraining.to_dict(),
            "sizes": self.sizes.to_dict(),
            "ceat": {"query": CAREER, "draws": self.draws, "sentences": _digest(contexts)},
            "shares": None if self.shares is None else dict(self.shares),
            "names": self.finder,
            "as_published": self.as_published,
        }


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def run(plan: Plan, workers: Workers | None = None) -> list[Row]:
    """Run the jobs that are not done yet; return the rows of all, in the order of the plan."""
    encoder = Encoder.load(plan.model, device=plan.device)
    mask_of(encoder)
    check_adapters(plan.strategies, encoder.model)
    plan = replace(plan, model_sha256=encoder.sha256())
    del encoder
    return run_jobs(
        plan.folder,
        plan.about(),
        plan.jobs(),
        run_job,
        workers or Workers(),
        shared=(plan,),
        is_later=is_removal,
        adapter_of=lambda strategy: digest_of_adapter(strategy, ""),
        begin=partial(_forget_jobs_without_models, plan),
        finished=plan.remove_model,
    )


def _forget_jobs_without_models(plan: Plan, store: Store) -> None:
    """Let jobs run again whose models or removals are not there, if they are to be kept."""
    # The model of `NONE` is needed only where an arm of vectors is still to be run.
    jobs = plan.jobs()
    needed = {job.seed for job in jobs if is_removal(job.strategy) and store.get(*job) is None}
    rerun_jobs = [
        job
        for job in jobs
        if (plan.keep_models or (job.strategy == NONE and job.seed in needed))
        and plan.lacks(job)
        and store.entries.pop(job, None) is not None
    ]
    # another machine trains another model, with which removals from the old one are no pairs
    seeds = {job.seed for job in rerun_jobs if job.strategy == NONE}
    stale = [Job(*key) for key in store.entries if key[1] in seeds and is_removal(str(key[0]))]
    rerun_jobs += [job for job in stale if store.entries.pop(job, None) is not None]
    if rerun_jobs:
        note(
            f"run again, because their models were not kept in {plan.folder}: "
            f"{'; '.join(map(str, rerun_jobs))}"
        )


def run_job(plan: Plan, job: Job) -> Entry:
    """Run one job."""
    torch.set_num_threads(native_threads())
    job = Job(*job)
    if job.strategy in BASELINES:
        drawn = RANDOM_INIT if job.strategy == UNTRAINED else None
        encoder = Encoder.load(plan.model, device=plan.device, random_init=drawn)
        return Entry(list(_vector_rows(plan, job, encoder)))
    trained = job if not is_removal(job.strategy) else Job(NONE, job.seed)
    folder = plan.model_folder(trained)
    folder.parent.mkdir(exist_ok=True)
    result, model = train_coreference(
        plan.model,
        debias(plan.train, trained.strategy, job.seed, plan.find),
        plan.dev,
        folder,
        settings=plan.sizes,
        recipe=replace(plan.recipe, seed=job.seed),
        device=plan.device,
    )
    removal = _removal(plan, job, model) if is_removal(job.strategy) else None
    if removal is not None and plan.keep_models:
        removal.save(plan.adapter_file(job))
    inside = nullcontext() if removal is None else removal.on(model.encoder.model)
    with inside:
        rows = list(_vector_rows(plan, job, model.encoder))
        rows += _prediction_rows(plan, job, model, BEFORE)
        rows += _prediction_rows(plan, job, _retrained(plan, job, model), AFTER)
    beside(plan.retrained_folder(job), "checkpoint").unlink(missing_ok=True)
    facts = {"training": {"dev_f1": result.f1, "best_epoch": result.epoch}}
    return Entry(rows, facts={**facts, ADAPTER: digest_of_adapter(job.strategy, "")})


def _retrained(plan: Plan, job: Job, model: Coreference) -> Coreference:
    """Train all above the encoder again, on the original documents."""
    folder, retrained = plan.retrained_folder(job), model.with_new_head(job.seed)
    about = {**plan.about(), "job": str(job), ADAPTER: digest_of_adapter(job.strategy, "")}
    finished = is_finished(folder)
    if finished:
        read_about(folder, about, RESULTS)
    trained = train_model(
        retrained,
        plan.train,
        plan.dev,
        replace(plan.retraining, seed=job.seed, head_only=True),
        checkpoint=beside(folder, "checkpoint"),
        about=about,
        what=f"{job}, again",
    )
    if plan.keep_models and not finished:
        store(retrained.encoder, folder, {**about, **trained.to_dict()}, retrained.write)
    return retrained


# arms of vectors


def _removal(plan: Plan, job: Job, model: Coreference) -> Adapter:
    """Fit the removal of an arm of vectors, which stands behind the encoder of a model."""
    pronouns, genders, pieces = token_vectors(model, plan.train, job.seed)
    (step,) = fit_to_pronouns(job.strategy, pronouns, genders, pieces, job.seed)
    site = Site("tokens", model.encoder.layers)
    facts = {"method": job.strategy, "labels": "gender of she and he", "seed": job.seed}
    assert isinstance(step, (Projection, Erasure))
    return Adapter(
        {}, Fingerprint.of(model.encoder.model), facts=facts, chosen=str(site), steps={site: step}
    )


def token_vectors(
    model: Coreference, documents: Sequence[Document], seed: int
) -> tuple[NDArray[np.float32], NDArray[np.intp], NDArray[np.float32]]:
    """Return vectors of gendered pronouns, their genders, and vectors of drawn word pieces."""
    # Shapes (n, d); (n,), 0 for she and 1 for he; and (ROWS, d) or fewer.
    pronouns, genders, drawn = [], [], []
    cut = [model.segmenter.cut(uncut) for uncut in documents]
    total, rng = sum(doc_cut.pieces for doc_cut in cut), np.random.default_rng([seed, 1])
    for document, segmented in zip(documents, cut, strict=True):
        with torch.inference_mode():
            (x,) = model.ranker.encode([segmented])  # (P, d)
        vectors = x.float().cpu().numpy()
        of = [PRONOUNS.get(token.lower()) for token in document.tokens]
        places = [place for place, gender in enumerate(of) if gender is not None]
        pronouns.append(vectors[segmented.first[places]])
        genders += [(FEMALE, MALE).index(of[place]) for place in places if of[place] is not None]
        drawn.append(vectors[rng.random(len(vectors)) < ROWS / total])
    codes = np.array(genders, np.intp)
    counts = np.bincount(codes, minlength=2)
    if counts.min() < _EITHER_GENDER:
        raise WordbiasError(
            f"the training documents have {counts[0]} pronouns such as she and {counts[1]} such as "
            f"he; a method for vectors is fitted to {_EITHER_GENDER} of each or more"
        )
    return np.concatenate(pronouns), codes, np.concatenate(drawn)


def fit_to_pronouns(
    strategy: str,
    pronouns: NDArray[np.float32],
    genders: NDArray[np.intp],
    pieces: NDArray[np.float32],
    seed: int,
) -> Sequence[Step]:
    """Fit the removal of an arm of vectors, or draw directions that move `pieces` as far."""
    name = strategy.removeprefix(RANDOM)
    steps = fit_removal(name, pronouns, genders, pooling="", seed=seed)
    if is_random(strategy):
        return random_removal(steps, pieces, np.random.default_rng([seed, *strategy.encode()]))
    return steps


# measuring


def mask_of(encoder: Encoder) -> str:
    """Return the mask token of an encoder, which stands for pronouns of professions."""
    mask = encoder.tokenizer.mask_token
    if mask is None:
        raise WordbiasError(
            f"{encoder.name}: its tokenizer has no mask token, which stands for pronouns where "
            "professions are probed; take an encoder such as roberta-base"
        )
    return str(mask)


def _vector_rows(plan: Plan, job: Job, encoder: Encoder) -> Iterator[Row]:
    """Probe the usual gender of professions, and measure the associations of words."""
    of = Run(job.strategy, OWN, job.seed)
    vectors, genders, professions = profession_vectors(encoder, plan.sentences)
    codes = (genders == MALE).astype(np.intp)
    yield from coded_rows(of, ALL, vectors, codes, professions, what="professions in sentences")
    yield from read_rows(of, vectors, genders, professions)
    words: Representations | str
    if isinstance(plan.contexts, str):
        words = plan.contexts
    else:
        words = encode_contexts(encoder, plan.contexts, ContextSettings()).representations
    yield from word_rows(of, words, career_query(), plan.draws, plan.contexts_from)


def profession_vectors(
    encoder: Encoder, sentences: Sequence[Sentence]
) -> tuple[NDArray[np.float32], NDArray[np.str_], NDArray[np.str_]]:
    """Return vectors (n, d), genders and names of professions whose pronouns are masked."""
    # The gender of a profession is that of the pronouns in `pro` sentences about it.
    rows = list(
        masked_rows(
            [sentence for sentence in sentences if sentence.stereotype == PRO], mask_of(encoder)
        )
    )
    texts = [row[0] for row in rows]
    spans = [(int(row[1]), int(row[2])) for row in rows]
    (vectors,) = encode_spans(encoder, texts, spans, [encoder.layers])
    return vectors, np.array([row[4] for row in rows]), np.array([row[3] for row in rows])


def _prediction_rows(plan: Plan, job: Job, model: Coreference, stage: str) -> list[Row]:
    """Measure F1 on the test documents, and the gaps on WinoBias."""
    about = Run(job.strategy, OWN, job.seed).details(stage)
    settings = Settings(as_published=plan.as_published, draws=0, seed=job.seed)
    f1 = 100 * conll_f1(tallies(plan.test, model.predict(plan.test, f"{job}, test")).sum(0))
    of_test = {"set": TEST, "n": len(plan.test), "scale": "percent", "neutral": None, **ideal(F1)}
    clusters = predict_sentences(model, plan.sentences, f"{job}, WinoBias")
    of_pairs = f1_rows(plan.sentences, clusters, job.strategy, settings)
    rows = [
        Row(job.strategy, F1, float(f1), of_test),
        *(row for row in of_pairs if row.details["setting"] == ALL),
        *classification_rows(
            plan.sentences,
            clusters,
            job.strategy,
            settings,
            shares=plan.shares,
            shares_from=plan.shares_from,
        ),
    ]
    return [replace(row, details={**row.details, **about}) for row in rows]


def predict_sentences(
    model: Coreference, sentences: Sequence[Sentence], what: str = "WinoBias"
) -> list[Clusters]:
    """Return the clusters that a model finds in sentences, in characters."""
    split = [tokens(sentence.text) for sentence in sentences]
    documents = [
        Document(str(i), (tuple(token for token, _ in token_spans),))
        for i, token_spans in enumerate(split)
    ]
    return [
        tuple(
            tuple((token_spans[start][1][0], token_spans[end - 1][1][1]) for start, end in cluster)
            for cluster in document.clusters
        )
        for token_spans, document in zip(split, model.predict(documents, what), strict=True)
    ]
