"""Plan of the occupation experiment: its settings, its jobs and how their models are trained."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from wordbias import __version__, classifier_training
from wordbias.biographies.data import Biographies
from wordbias.biographies.encoding import EncodingSettings, VectorCache
from wordbias.biographies.strategies import check_strategy
from wordbias.errors import WordbiasError
from wordbias.probes.ceat.association import DRAWS
from wordbias.probes.ceat.sentences import Sentences
from wordbias.retraining.arms import NONE, OVERSAMPLE, SCRUB, SUBSAMPLE, Job
from wordbias.retraining.jobs import RESULTS
from wordbias.retraining.measuring import CAREER
from wordbias.retraining.removals import check_removals, is_removal
from wordbias.retraining.results import BASELINES

_NEVER = 10**9


@dataclass(frozen=True)
class Recipe(classifier_training.Recipe):
    """Training settings: AdamW, batches of texts of similar length, the best epoch on dev.

    Epochs, batch and rate are those of Orgad et al. (2022, appendix A.1). Their rate is
    constant, gradients are not clipped and all parameters decay; here, unless `plain`, the rate
    rises and falls, gradients are clipped and only matrices decay, as in
    `wordbias.classifier_training`. Their best epoch was a reference to the live weights, so
    that the last one was measured; ours is a copy.
    """

    epochs: int = 10
    batch: int = 64
    rate: float = 5e-5
    # constant rate, no clipping, decay of all parameters, evaluation on dev after each epoch
    plain: bool = False

    def with_changes(self, **changes: Any) -> Recipe:
        """Return a recipe with the settings that are not None changed; see the base."""
        return replace(self, **super().with_changes(**changes).to_dict())

    def as_published(self) -> Recipe:
        """Return the plain recipe with the same settings."""
        return replace(self, plain=True, every=_NEVER)


WHOLE = Recipe()
"""Settings for an encoder and its last layer."""
HEAD = Recipe(rate=1e-3)
"""Settings for the last layer only, on an encoder that was fine-tuned."""
FROZEN = Recipe(epochs=300, rate=1e-3)
"""Settings for the last layer only, on a pretrained encoder that stays as it is."""
PUBLISHED_STRATEGIES = (NONE, SUBSAMPLE, OVERSAMPLE, SCRUB)
RANDOM_INIT = 0


@dataclass(frozen=True, eq=False)
class Plan:
    """Settings of the experiment."""

    biographies: Biographies = field(repr=False)
    model: str
    folder: Path
    # see `wordbias.biographies.strategies`, and for arms of vectors `wordbias.retraining.removals`.
    # A seed decides the split, where the data say none, which biographies are left out or repeated,
    # the initial weights of the last layer, and the order of training.
    strategies: Sequence[str] = PUBLISHED_STRATEGIES
    seeds: Sequence[int] = (0, 1, 2)
    frozen: bool = False  # leave the encoder as it is, and train last layers only
    # training of the classifier, and of its last layer again. By default `WHOLE` and `HEAD`; both
    # `FROZEN` where the encoder is.
    recipe: Recipe | None = None
    retraining: Recipe | None = None
    encoding: EncodingSettings = field(default_factory=EncodingSettings)
    # also probe encoders that were not fine-tuned: pretrained, and with random weights
    baselines: bool = True
    # share of women in each class, for correlations, and its source; by default that of the
    # original training part
    shares: Mapping[str, float] | None = None
    shares_from: str = "the original training part"
    # sentences with the words of CEAT, and their source; by default those of the original test part
    sentences: Sentences | None = field(default=None, repr=False)
    sentences_from: str = "the test part"
    draws: int = DRAWS  # samples of CEAT
    # probe over all occupations on equal numbers of women and men of each
    balanced_probe: bool = False
    # gaps as the released code computes them; see `wordbias.outcomes.metrics.Settings`
    as_published: bool = False
    keep_models: bool = False  # write fine-tuned encoders to the folder
    model_sha256: str = ""

    def __post_init__(self) -> None:
        for strategy in self.strategies:
            if not is_removal(strategy):
                check_strategy(strategy)
        check_removals(self.strategies, self.encoding.pooling, frozen=self.frozen)
        if not self.jobs():
            raise WordbiasError("nothing to study: name strategies and seeds")

    @property
    def results(self) -> Path:
        """File of results."""
        return self.folder / RESULTS

    def jobs(self) -> list[Job]:
        """Return all jobs, baselines first, seed by seed."""
        subjects = [*BASELINES * self.baselines, *self.strategies]
        seeds = dict.fromkeys(self.seeds)
        return [Job(subject, seed) for subject in dict.fromkeys(subjects) for seed in seeds]

    def recipe_of(self, job: Job) -> Recipe:
        """Return the training settings of a job's classifier."""
        return replace(self.recipe or (FROZEN if self.frozen else WHOLE), seed=job.seed)

    def retraining_of(self, job: Job) -> Recipe:
        """Return the settings with which a job's last layer is trained again."""
        return replace(self.retraining or (FROZEN if self.frozen else HEAD), seed=job.seed)

    def checkpoint(self, job: Job) -> Path:
        """Return the file with the state of a job's fine-tuning, kept until the job is done."""
        return self.folder / f"{job.file_name}.checkpoint"

    def trained_file(self, seed: int) -> Path:
        """Return the file of the classifier of `NONE`, which arms of vectors read."""
        digest = hashlib.sha256(json.dumps(self.about_model(seed), sort_keys=True).encode())
        return self.folder / "vectors" / f"{NONE}-{seed}-{digest.hexdigest()[:16]}.safetensors"

    def about_model(self, seed: int, strategy: str = NONE) -> dict[str, Any]:
        """Return all that the classifier of a job depends on."""
        return {**self.about(), "strategy": strategy, "seed": seed}

    def vector_cache(self, random_init: int | None = None) -> VectorCache:
        """Return the vectors of the pretrained encoder, or of one with random weights."""
        about = {
            "wordbias": __version__,
            "model": self.model_sha256,
            "random_init": random_init,
            **self.encoding.to_dict(),
        }
        return VectorCache(
            self.folder / "vectors",
            about,
            lambda: self.encoding.load(self.model, random_init),
            self.encoding,
        )

    def about(self) -> dict[str, Any]:
        """Return what every job depends on, besides its strategy and seed."""
        # The version of wordbias is a part: a later one may correct a measure, and rows would say
        # that seeds differ where versions do. Those of torch and transformers change the last
        # digits only.
        any_job = Job(NONE, 0)
        data = self.biographies
        sentences = None
        if self.sentences is not None:
            contexts = json.dumps(dict(self.sentences.contexts))
            sentences = hashlib.sha256(contexts.encode()).hexdigest()
        return {
            "wordbias": __version__,
            "biographies": {"n": len(data), "classes": len(data.classes), "sha256": data.sha256},
            "model": self.model_sha256,
            "frozen": self.frozen,
            "recipe": self.recipe_of(any_job).to_dict(),
            "retraining": self.retraining_of(any_job).to_dict(),
            "reading": self.encoding.to_dict(),
            "ceat": {"query": CAREER, "draws": self.draws, "sentences": sentences},
            "shares": None if self.shares is None else dict(self.shares),
            "balanced_probe": self.balanced_probe,
            "as_published": self.as_published,
        }
