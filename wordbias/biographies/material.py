"""What a job works on: its parts of the data, as its strategy writes them, and their vectors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from wordbias.biographies.biographies import Biographies
from wordbias.biographies.encoding import Source, Vectors
from wordbias.biographies.lines import Job
from wordbias.biographies.measuring import Where
from wordbias.biographies.plan import Plan
from wordbias.biographies.runs import BASELINES
from wordbias.biographies.splitting import split
from wordbias.biographies.strategies import NONE, ORIGINAL, OWN, Prepared, prepared
from wordbias.errors import WordbiasError
from wordbias.outcomes.shares import shares_for
from wordbias.probes.in_context.sentences import Sentences, find_sentences
from wordbias.probes.representations import Representations

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
