"""Random directions in place of fitted ones: what a removal of the same weights does by itself.

A file of its own because three packages import it: methods, encoders, and the study of NLI models.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from wordbias.errors import UsageError, WordbiasError
from wordbias.methods.fitted import Chain
from wordbias.methods.leace import Erasure
from wordbias.methods.transform import Normalise, Projection, Shift, Step
from wordbias.subspace import Subspace, random_frame

NO_PROJECTION = {
    "bam": "averages vectors with their image under an alignment",
    "oscar": "rotates",
    "ran": "moves each word by itself",
    "gender-preserving": "is a network",
    "gn-glove": "sets a coordinate of the vectors to 0",
}
"""Methods without directions that random ones could replace, and what they do."""
_DRAWS = 1
"""Key of the random numbers of removals, where `wordbias.measures.chance` has none."""


def random_step(step: Projection | Erasure, rng: np.random.Generator) -> Projection | Erasure:
    """Return the removal of random directions, as many as a fitted removal has.

    A projection keeps its weights. An affine map, such as that of LEACE, becomes the orthogonal
    projection along random directions; it leaves the same row where it is.
    """
    if isinstance(step, Projection):
        return _random_projection(step, rng)
    k, d = step.right.shape
    drawn = random_frame(k, d, rng)
    return Erasure(drawn.T, drawn, step.bias)


def _random_projection(step: Projection, rng: np.random.Generator) -> Projection:
    k, d = step.subspace.basis.shape
    return Projection(Subspace(random_frame(k, d, rng), step.subspace.weights), step.hard)


def random_removals(removal: Projection, draws: int, *, seed: int = 0) -> Iterator[Projection]:
    """Yield removals with the same weights along random orthonormal directions.

    The directions of a draw are as many as those of `removal`. A draw has random numbers of its
    own, so that it is the same however many are made, and others than the axes of chance levels
    have.
    """
    for draw in range(draws):
        yield _random_projection(removal, _generator(seed, draw))


def random_chains(chain: Chain, draws: int, *, seed: int = 0) -> Iterator[Chain]:
    """Yield chains with random directions in every removal; see `random_removals`.

    Words that a method leaves as they are stay so.

    Raises
    ------
    WordbiasError
        If a method is not made of projections, or gives words new vectors.
    """
    for part in chain.parts:
        if len(part.replaced):
            raise WordbiasError(
                f"{part.name} gives {len(part.replaced)} words new vectors (equalises them), which "
                "no random direction does: add --no-equalise, or leave out --null"
            )
        for step in part.steps:
            if not isinstance(step, (Projection, Erasure, Normalise, Shift)):
                raise WordbiasError(_refusal(part.name, f"has a step {step.kind}"))
    for draw in range(draws):
        rng = _generator(seed, draw)
        parts = [
            replace(part, steps=tuple(_drawn(step, rng) for step in part.steps))
            for part in chain.parts
        ]
        yield Chain(tuple(parts))


def refuse_no_projection(names: Sequence[str]) -> None:
    """Refuse, before anything is fitted, methods that random directions cannot replace."""
    for name in names:
        if name in NO_PROJECTION:
            raise UsageError(_refusal(name, NO_PROJECTION[name]))


def _refusal(name: str, what: str) -> str:
    return (
        f"--null puts random directions in place of those that a method projects out, and {name} "
        f"{what}: leave it out, or --null"
    )


def _drawn(step: Step, rng: np.random.Generator) -> Step:
    return random_step(step, rng) if isinstance(step, (Projection, Erasure)) else step


def _generator(seed: int, draw: int) -> np.random.Generator:
    return np.random.default_rng((seed, draw, _DRAWS))
