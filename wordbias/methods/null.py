"""Random directions in place of fitted ones: what any removal does.

A random direction has less of the words than a fitted one: the same weights move words less. Other
nulls move vectors as far. For words (`chains_as_far`) that is the mean distance at length one,
since measures compare directions. For vectors of texts (`subspace_as_far`) it is the mean square of
the distance, since a classifier reads their lengths too.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import unit
from wordbias.embedding import Embedding
from wordbias.errors import UsageError, WordbiasError
from wordbias.measures.movement import displacement
from wordbias.methods.fitted import Chain
from wordbias.methods.leace import Erasure
from wordbias.methods.transform import Normalise, Projection, Shift, Step
from wordbias.subspace import Subspace, random_frame

Float = NDArray[np.float64]
NO_PROJECTION = {
    "bam": "averages vectors with their image under an alignment",
    "oscar": "rotates",
    "ran": "moves each word by itself",
    "gender-preserving": "is a network",
    "gn-glove": "sets a coordinate of the vectors to 0",
}
"""Methods without directions that random ones could replace, and what they do."""
_NOTHING = 1e-24
"""Share of a squared length that rounding leaves of nothing."""
_DRAWS, _AS_FAR, _BY_COVARIANCE = 1, 2, 3
"""Keys of the random numbers of removals, where `wordbias.measures.chance` has none."""


def random_step(step: Projection | Erasure, rng: np.random.Generator) -> Projection | Erasure:
    """Return the removal of random directions, the number that a fitted removal has."""
    # A projection keeps its weights. An affine map, such as that of LEACE, becomes the orthogonal
    # projection along random directions; it leaves the same row where it is.
    k, d = (step.subspace.basis if isinstance(step, Projection) else step.right).shape
    directions = random_frame(k, d, rng)
    if isinstance(step, Projection):
        return Projection(Subspace(directions, step.subspace.weights), step.hard)
    return Erasure(directions.T, directions, step.bias)


def subspace_as_far(moved: Float, x: Float, rng: np.random.Generator) -> Subspace:
    """Draw orthonormal directions whose removal moves rows (n, d) as far, in the mean square."""
    # They are removed whole, the last one in part. The rows are less the one that the removal
    # leaves where it is; `moved` is what the removal adds to each.
    d = x.shape[1]
    frame = random_frame(d, d, rng)
    far = np.einsum("nd,nd->", moved, moved) / len(x)
    squares = ((x @ frame.T) ** 2).mean(0)
    before = np.cumsum(squares) - squares
    share = np.divide(far - before, squares, out=np.zeros(d), where=squares > 0)
    weights = np.sqrt(np.clip(share, 0, 1))
    k = max(1, int((weights > 0).sum()))
    return Subspace(frame[:k], weights[:k])


def erasure_as_far(moved: Float, x: Float, bias: Float, rng: np.random.Generator) -> Erasure:
    """Draw the same as a map that leaves the row `bias`, shape ``(d,)``, where it is."""
    drawn = subspace_as_far(moved, x - bias, rng)
    return Erasure(drawn.basis.T * drawn.weights, drawn.basis, bias)


def random_chains(chain: Chain, draws: Iterable[int], *, seed: int = 0) -> Iterator[Chain]:
    """Yield draws of chains with random orthonormal directions in every removal."""
    # Words that a method leaves as they are stay so; for a removal see `random_step`. A draw has
    # random numbers of its own, others than the axes of chance levels have.
    _check(chain)
    for draw in draws:
        rng = np.random.default_rng((seed, draw, _DRAWS))
        parts = [
            replace(part, steps=tuple(_drawn(step, rng) for step in part.steps))
            for part in chain.parts
        ]
        yield Chain(tuple(parts))


def chains_as_far(
    chain: Chain,
    embedding: Embedding,
    words: Sequence[str],
    draws: int,
    *,
    by_covariance: bool = False,
    seed: int = 0,
) -> tuple[list[Chain], Float]:
    r"""Draw chains with one removal of random directions, which moves words as far.

    It stands in place of the last removal of `chain`; all others are left out. Its weights are 1,
    for the number of directions that is needed, and less for the last. Displacement is the mean of
    :math:`\|w' / \|w'\| - w / \|w\|\|` over the words, where w is the word after the chain without
    its removals. A step that only scales or shifts vectors is no removal, and both sides do it.
    Directions are drawn uniformly, or from the normal distribution with the covariance of the
    words: the words then have as much of these directions as of their own differences.
    """
    _check(chain)
    part = embedding.subset(words)
    i, j = max(
        (i, j)
        for i, method in enumerate(chain.parts)
        for j, step in enumerate(method.steps)
        if isinstance(step, (Projection, Erasure))
    )
    own, last = chain.parts[i], chain.parts[i].steps[j]
    bias = last.bias if isinstance(last, Erasure) else np.zeros(part.dim)
    head, tail = _not_removals(own.steps[:j]), _not_removals(own.steps[j + 1 :])
    others = [replace(method, steps=_not_removals(method.steps)) for method in chain.parts]
    moves = [word not in own.exempt for word in part.words]
    x = Chain((*others[:i], replace(own, steps=head)))(part).vectors[moves].astype(float)
    start, end = (unit(variant(part).vectors) for variant in (Chain(tuple(others)), chain))
    target = float(displacement(start, end).mean())

    root = _root_of_covariance(x) if by_covariance else np.eye(part.dim)
    chains, directions = [], np.zeros(draws)
    for draw in range(draws):
        rng = np.random.default_rng((seed, draw, _BY_COVARIANCE if by_covariance else _AS_FAR))
        frame = np.linalg.qr(root @ rng.standard_normal((root.shape[1], root.shape[1])))[0].T
        weights, most = _weights_as_far(x, bias, frame, target * len(part))
        if weights is None:
            raise WordbiasError(
                f"{chain.name} moves words by {target:.3f} at length one, on average; the removal "
                f"of all random directions but one moves them by {most / len(part):.3f} at most"
            )
        removal: Step = Projection(Subspace(drawn := frame[: len(weights)], weights))
        if isinstance(last, Erasure):
            removal = Erasure(drawn.T * weights, drawn, bias)
        directions[draw] = weights.sum()
        parts = [*others[:i], replace(own, steps=(*head, removal, *tail)), *others[i + 1 :]]
        chains.append(Chain(tuple(parts)))
    return chains, directions


def _weights_as_far(
    x: Float, bias: Float, frame: Float, target: float
) -> tuple[Float | None, float]:
    """Return the weights, of the first rows of a frame, that turn rows by `target` in sum."""
    # None, and the largest sum, where all directions but one do not turn them as far.
    from scipy.optimize import brentq

    along = frame @ x.T
    less = along - (frame @ bias)[:, None]  # what a weight of 1 removes
    square, product, less_square = np.einsum("nd,nd->n", x, x), along * less, less**2

    def turned(weights: Float) -> float:
        """Sum the distances of rows before and after, both at length one."""
        k = len(weights)
        first = weights @ product[:k]
        dot, after = square - first, square - 2 * first + weights**2 @ less_square[:k]
        cosine = np.where(square > 0, 0.5, 1)  # a row that nothing is left of moves by its length
        where = after > _NOTHING * square
        np.divide(dot, np.sqrt(square * np.maximum(after, 0)), out=cosine, where=where)
        return float(np.sqrt(np.maximum(2 - 2 * cosine, 0)).sum())

    most = min(len(frame), x.shape[1] - 1)
    few = 1
    while few < most and turned(np.ones(few)) < target:
        few = min(2 * few, most)
    k = bisect_left(range(1, few + 1), target, key=lambda k: turned(np.ones(k))) + 1
    if k > few:
        return None, turned(np.ones(most))
    whole = np.ones(k - 1)

    def missed(weight: float) -> float:
        return turned(np.append(whole, weight)) - target

    last = 0.0 if missed(0) >= 0 else float(brentq(missed, 0, 1, xtol=1e-12))
    return np.append(whole, last), target


def _root_of_covariance(x: Float) -> Float:
    """Return R with R Rᵀ the covariance of rows, shape ``(d, rank)``."""
    values, vectors = np.linalg.eigh(np.cov(x.T, bias=True))
    positive = values > values[-1] * len(values) * np.finfo(float).eps
    root: Float = vectors[:, positive] * np.sqrt(values[positive])
    return root


def _check(chain: Chain) -> None:
    """Refuse a chain that does more than to remove directions, scale and shift."""
    for part in chain.parts:
        if len(part.replaced):
            raise WordbiasError(
                f"{part.name} gives {len(part.replaced)} words new vectors (equalises them), which "
                f"no random direction does: say {part.name}:equalise=no, or leave out --null"
            )
        for step in part.steps:
            if not isinstance(step, (Projection, Erasure, Normalise, Shift)):
                raise WordbiasError(_refusal(part.name, f"has a step {step.kind}"))


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


def _not_removals(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps that remove nothing."""
    return tuple(step for step in steps if not isinstance(step, (Projection, Erasure)))


def _drawn(step: Step, rng: np.random.Generator) -> Step:
    return random_step(step, rng) if isinstance(step, (Projection, Erasure)) else step
