"""What is studied, and everything that its results depend on.

How a classifier of biographies is trained: the published settings, and in what ours differ.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from wordbias import __version__
from wordbias.biographies.data import Biographies
from wordbias.biographies.encoding import Reading, Stored
from wordbias.biographies.result_file import FILE, Job
from wordbias.biographies.results import BASELINES
from wordbias.biographies.strategies import NONE, OVERSAMPLE, SCRUB, SUBSAMPLE, check_strategy
from wordbias.contextual.fine_tuning import train
from wordbias.errors import WordbiasError
from wordbias.probes.ceat.association import DRAWS
from wordbias.probes.ceat.sentences import Sentences
from wordbias.wordlists.queries import Query, load_queries

_NEVER = 10**9


@dataclass(frozen=True)
class Recipe(train.Recipe):
    """How parameters are descended on: AdamW, batches of texts of like length, the best on dev.

    Epochs, batch and rate are those of Orgad et al. (2022, appendix A.1). Their rate stays as it
    is, nothing is cut and everything decays; here, unless it is `plain`, the rate rises and falls,
    gradients are cut and matrices alone decay, as in `wordbias.contextual.fine_tuning`. Their best
    epoch was a reference to the live weights, so that the last one was measured; ours is a copy.

    Attributes
    ----------
    plain
        A constant rate, gradients as they are, decay of all parameters, dev after each epoch.
    """

    epochs: int = 10
    batch: int = 64
    rate: float = 5e-5
    plain: bool = False

    def with_changes(self, **changes: Any) -> Recipe:
        """Return a recipe with what is not None changed; see the base."""
        return replace(self, **super().with_changes(**changes).to_dict())

    def as_published(self) -> Recipe:
        """Return the same, plain."""
        return replace(self, plain=True, every=_NEVER)


WHOLE = Recipe()
"""Of an encoder and its last layer."""
HEAD = Recipe(rate=1e-3)
"""Of the last layer alone, on an encoder that was fine-tuned."""
FROZEN = Recipe(epochs=300, rate=1e-3)
"""Of the last layer alone, on an encoder as it came."""


PUBLISHED_STRATEGIES = (NONE, SUBSAMPLE, OVERSAMPLE, SCRUB)
PUBLISHED_SEEDS = (0, 5, 11, 26, 42, 46, 50, 63, 83, 90)
CAREER = "weat6"
"""The stimulus that Orgad et al. (2022) measure: names of men and women, career and family."""
RANDOM_INIT = 0


@dataclass(frozen=True, eq=False)
class Plan:
    """What is studied.

    Attributes
    ----------
    biographies
        Of which every seed makes a training, a development and a test part.
    model
        An encoder's folder, or its name on the hub.
    folder
        Where results, vectors and what is half done are kept.
    strategies, seeds
        See `wordbias.biographies.strategies`. A seed decides the split, where the data say none,
        what is left out or repeated, the first weights of the last layer, and every order.
    frozen
        Leave the encoder as it is, and train last layers alone.
    recipe, retraining
        How the classifier is trained, and how its last layer is trained again. By default `WHOLE`
        and then `HEAD`; both `FROZEN` where the encoder is.
    baselines
        Probe encoders that were not fine-tuned too: as it came, and with weights drawn at random.
    shares, shares_from
        Of women in each class, for correlations; by default of the original training part.
    sentences, sentences_from
        Of the words of CEAT; by default those of the test part, as they were.
    draws
        Of CEAT.
    balanced_probe
        Probe over all occupations on as many women as men of each.
    as_published
        Gaps as the released code computes them; see `wordbias.outcomes.metrics.Settings`.
    keep_models
        Write fine-tuned encoders to the folder.
    """

    biographies: Biographies = field(repr=False)
    model: str
    folder: Path
    strategies: Sequence[str] = PUBLISHED_STRATEGIES
    seeds: Sequence[int] = (0, 1, 2)
    frozen: bool = False
    recipe: Recipe | None = None
    retraining: Recipe | None = None
    reading: Reading = field(default_factory=Reading)
    baselines: bool = True
    shares: Mapping[str, float] | None = None
    shares_from: str = "the original training part"
    sentences: Sentences | None = field(default=None, repr=False)
    sentences_from: str = "the test part"
    draws: int = DRAWS
    balanced_probe: bool = False
    as_published: bool = False
    keep_models: bool = False
    model_sha256: str = ""

    def __post_init__(self) -> None:
        for strategy in self.strategies:
            check_strategy(strategy)
        if not self.jobs():
            raise WordbiasError("nothing to study: name strategies and seeds")

    @property
    def results(self) -> Path:
        """The file of results."""
        return self.folder / FILE

    def jobs(self) -> list[Job]:
        """Return what is to be done, baselines first, seed by seed."""
        subjects = [*BASELINES * self.baselines, *self.strategies]
        seeds = dict.fromkeys(self.seeds)
        return [Job(subject, seed) for subject in dict.fromkeys(subjects) for seed in seeds]

    def recipe_of(self, job: Job) -> Recipe:
        """Return how a job's classifier is trained."""
        return replace(self.recipe or (FROZEN if self.frozen else WHOLE), seed=job.seed)

    def retraining_of(self, job: Job) -> Recipe:
        """Return how a job's last layer is trained again."""
        return replace(self.retraining or (FROZEN if self.frozen else HEAD), seed=job.seed)

    def query(self) -> Query:
        """Return what CEAT tests."""
        return next(query for query in load_queries() if query.name == CAREER)

    def words(self) -> list[str]:
        """Return the words of that test."""
        query = self.query()
        return [word for _, some in (*query.targets, *query.attributes) for word in some]

    def source(self, random_init: int | None = None) -> Stored:
        """Return what gives vectors of the encoder as it came, or with random weights."""
        about = {
            "wordbias": __version__,
            "model": self.model_sha256,
            "random_init": random_init,
            **self.reading.to_dict(),
        }
        return Stored(
            self.folder / "vectors",
            about,
            lambda: self.reading.load(self.model, random_init),
            self.reading,
        )

    def about(self) -> dict[str, Any]:
        """Return all that every job depends on beside its strategy and seed.

        The version of wordbias is a part of it: a later one may mend a measure, and rows of two
        versions side by side would say that seeds differ where versions do. So a study is finished
        by the version that began it. Those of torch and transformers are not: they change the last
        digits only.
        """
        any_job = Job(NONE, 0)
        data = self.biographies
        contexts = None if self.sentences is None else dict(self.sentences.contexts)
        return {
            "wordbias": __version__,
            "biographies": {"n": len(data), "classes": len(data.classes), "sha256": data.sha256},
            "model": self.model_sha256,
            "frozen": self.frozen,
            "recipe": self.recipe_of(any_job).to_dict(),
            "retraining": self.retraining_of(any_job).to_dict(),
            "reading": self.reading.to_dict(),
            "ceat": {"query": CAREER, "draws": self.draws, "sentences": _sha256(contexts)},
            "shares": None if self.shares is None else dict(self.shares),
            "balanced_probe": self.balanced_probe,
            "as_published": self.as_published,
        }


def drawn(bios: Biographies, count: int, seed: int = 0) -> Biographies:
    """Return some biographies, drawn at random, in their order; all if there are no more."""
    rng = np.random.default_rng(seed)
    return bios.take(np.sort(rng.permutation(len(bios))[:count]))


def _sha256(value: Any) -> str | None:
    return None if value is None else hashlib.sha256(json.dumps(value).encode()).hexdigest()
