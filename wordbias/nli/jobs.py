"""One model to train: from what, to which file, and whether that is done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.checkpoints import checkpoint_about, difference
from wordbias.errors import WordbiasError
from wordbias.nli.files import Model


@dataclass(frozen=True, eq=False)
class Job:
    """One model to train.

    Attributes
    ----------
    vectors
        Of the lexicon's tokens, shape ``(v, d)``.
    seed
        Of initial parameters, order and dropout.
    output
        File for the model; its log and checkpoint lie beside it.
    about
        What is to be known of the model afterwards; two jobs with equal ones are the same job.
    """

    vectors: NDArray[np.float32]
    seed: int
    output: Path
    about: Mapping[str, Any]

    @property
    def log(self) -> Path:
        """One line of JSON an epoch."""
        return self.output.with_name(f"{self.output.name}.log.jsonl")

    @property
    def checkpoint(self) -> Path:
        """The file that an interrupted training is resumed from."""
        return self.output.with_name(f"{self.output.name}.checkpoint")

    def is_done(self) -> bool:
        """Whether the output is there.

        Raises
        ------
        WordbiasError
            If there is another file, or a model trained otherwise: it is not overwritten.
        """
        if not self.output.exists():
            return False
        try:
            known = Model.load(self.output).about
        except WordbiasError as error:
            raise WordbiasError(f"{error} (remove this file, or name another output)") from None
        different = difference({key: known.get(key) for key in self.about}, dict(self.about))
        if different is None:
            return True
        raise WordbiasError(
            f"{self.output}: holds a model that was trained otherwise: its {different}; remove it, "
            "or name another output"
        )


def stacks(jobs: Sequence[Job]) -> list[list[Job]]:
    """Divide the jobs that are left into those that can be trained as one.

    A checkpoint holds all models of a stack, so that training resumes with just these: also with
    those that are done, where a process was killed while it wrote one model after the other, and
    without those that are new in this call. A checkpoint whose models are all done is removed.

    Raises
    ------
    WordbiasError
        As `Job.is_done` does.
    """
    left = [job for job in jobs if not job.is_done()]
    found: list[list[Job]] = []
    for job in jobs:
        stack = _held(job.checkpoint, jobs)
        if any(one in left for one in stack):
            found.append(stack)
            left = [one for one in left if one not in stack]
        elif stack:
            job.checkpoint.unlink(missing_ok=True)
    return [*found, *([left] if left else [])]


def _held(checkpoint: Path, jobs: Sequence[Job]) -> list[Job]:
    """Return the jobs whose models a checkpoint holds, in order; none if it holds others too."""
    about = checkpoint_about(checkpoint) if checkpoint.exists() else None
    models = about.get("model") if isinstance(about, dict) else None
    if not isinstance(models, list):
        return []
    found = [next((job for job in jobs if _same(job, one)), None) for one in models]
    kept = [job for job in found if job is not None]
    return kept if len(kept) == len(found) else []


def _same(job: Job, about: Any) -> bool:
    return difference(about, dict(job.about)) is None
