"""One model to train: from what, to which file, and whether that is done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.checkpoints import difference
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
        """What an interrupted training goes on from."""
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
