"""Names of the arms of an experiment: strategies, their random changes, and texts measured on.

A file of its own because the experiments on biographies and coreference share it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

from wordbias.errors import WordbiasError

NONE = "none"
"""The strategy that changes nothing, with which the others are compared."""
SCRUB, SCRUB_PUBLISHED = "scrub", "scrub-as-published"
SWAP, ANONYMISE = "swap", "anonymise"
SUBSAMPLE: Literal["subsample"] = "subsample"
OVERSAMPLE: Literal["oversample"] = "oversample"
OF_DATA = (NONE, SUBSAMPLE, OVERSAMPLE, SCRUB, SCRUB_PUBLISHED, SWAP, ANONYMISE)
"""Parts of the strategies that change data, of all tasks; several are joined by a plus sign."""
RANDOM = "random-"
"""Beginning of the name of a strategy's random change."""
OWN, ORIGINAL = "own", "original"
"""Views: texts as the strategy rewrites them, and as they were."""


def is_random(strategy: str) -> bool:
    """Return whether a strategy is the random change of another."""
    return strategy.startswith(RANDOM)


def with_random_changes(strategies: Iterable[str]) -> tuple[str, ...]:
    """Return strategies, followed by the random change of each that changes something."""
    names = tuple(strategies)
    random = [f"{RANDOM}{name}" for name in names if name != NONE and not is_random(name)]
    if not random:
        raise WordbiasError(
            "--random-changes compares strategies with changes of the same size, and no strategy "
            "given changes anything; give more with --strategies, or leave it out"
        )
    return tuple(dict.fromkeys([*names, *random]))


class Job(NamedTuple):
    """Unit of work: a strategy, or an encoder that is not trained, under a seed."""

    strategy: str
    seed: int

    def __str__(self) -> str:
        return f"{self.strategy}, seed {self.seed}"

    @property
    def file_name(self) -> str:
        """Name of the job's files; a strategy may be a path, and settings have colons."""
        return re.sub(r"[^\w.+=-]+", "-", f"{self.strategy}-{self.seed}")[-200:]
