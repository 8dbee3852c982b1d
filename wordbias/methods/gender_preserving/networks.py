"""Networks of gender-preserving debiasing (Kaneko and Bollegala 2019), and their losses.

Torch is imported only by the functions that need it: `TanhEncoder`, the fitted step, works without.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from wordbias.arrays import like
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError, need
from wordbias.methods.transform import Arrays, Rows, check_width
from wordbias.methods.words import finite_blocks

Tensor = Any
"""A ``torch.Tensor``, which an installation without torch cannot name."""
Generator = Any
"""A ``torch.Generator`` on the CPU."""
_EDGE = 0.99
_STRAY = 1e3
_MOSTLY = 0.5


@dataclass(frozen=True, eq=False)
class TanhEncoder(Arrays):
    """Trained encoder, one layer with tanh: ``tanh(x @ weight + bias)``, every value in (−1, 1)."""

    kind: ClassVar[str] = "tanh-encoder"
    weight: Any
    bias: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.weight.ndim != 2 or self.bias.shape != self.weight.shape[1:]:
            raise WordbiasError(
                "expected a weight of shape (d, k) and k biases, "
                f"got {self.weight.shape} and {self.bias.shape}"
            )

    def __call__(self, x: Rows) -> Rows:
        """Encode rows ``(…, d)``."""
        check_width(x, len(self.weight))
        encoded: Rows = np.tanh(x @ like(self.weight, x) + like(self.bias, x))
        return encoded


class Layer(NamedTuple):
    """An affine map of rows: ``x @ weight + bias``."""

    weight: Tensor  # shapes `(d, k)` and `(k,)`
    bias: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        """Map rows ``(…, d)`` to ``(…, k)``."""
        return x @ self.weight + self.bias


class Networks(NamedTuple):
    """All networks."""

    encoder: Layer  # layers `(d, d)`, each followed by tanh
    decoder: Layer
    # layer `(d, 2)`: one column separates the first group's words from all others, one the second
    # group's; each is followed by a sigmoid
    classifiers: Layer

    def encode(self, x: Tensor) -> Tensor:
        """Encode words, shape ``(…, d)``; without dropout this is the debiased vector."""
        return self.encoder(x).tanh()

    def decode(self, hidden: Tensor) -> Tensor:
        """Reconstruct words from what was encoded; every value lies in (−1, 1)."""
        return self.decoder(hidden).tanh()


def initial_networks(d: int, rng: Generator) -> Networks:
    """Draw all weights from U(−1/√d, 1/√d), as torch does for linear layers."""
    torch, bound = load_torch(), d**-0.5

    def layer(k: int) -> Layer:
        shapes = ((d, k), (k,))
        return Layer(*(torch.empty(s).uniform_(-bound, bound, generator=rng) for s in shapes))

    return Networks(layer(d), layer(d), layer(2))


def by_name(networks: Networks) -> dict[str, Tensor]:
    """Return every tensor by name: ``encoder.weight``."""
    return {
        f"{part}.{field}": getattr(getattr(networks, part), field)
        for part in Networks._fields
        for field in Layer._fields
    }


def from_names(tensors: Mapping[str, Tensor]) -> Networks:
    """Return networks of named tensors; the inverse of `by_name`."""
    return Networks(
        *(
            Layer(*(tensors[f"{part}.{field}"] for field in Layer._fields))
            for part in Networks._fields
        )
    )


def copied(networks: Networks, device: Any = None) -> Networks:
    """Return a true copy, which training the original does not change."""
    return from_names(
        {name: t.detach().clone().to(device or t.device) for name, t in by_name(networks).items()}
    )


def dropped(x: Tensor, rate: float, rng: Generator) -> Tensor:
    """Set a share of the values to zero and scale the others up."""
    # The values are chosen on the CPU: all devices train on the same noise.
    keep = load_torch().empty(x.shape).bernoulli_(1 - rate, generator=rng)
    return x * (keep / (1 - rate)).to(x.device)


def generator(seed: int, phase: int, epoch: int) -> Generator:
    """Make the random generator of an epoch of a phase; phase 3 draws the first weights."""
    drawn = np.random.SeedSequence([seed, phase, epoch]).generate_state(1, np.uint64)[0]
    return load_torch().Generator().manual_seed(int(drawn))


def load_torch() -> Any:
    """Import torch, or say how to install it."""
    return need("torch", extra="torch", purpose="Gender-preserving debiasing")


# losses


def reconstruction_loss(networks: Networks, x: Tensor, given: Tensor) -> Tensor:
    r"""Mean squared error :math:`L_r = \overline{(D(E(\tilde x)) - x)^2}`."""
    return (networks.decode(networks.encode(given)) - x).square().mean()


def classifier_loss(networks: Networks, hidden: Tensor, gold: Tensor) -> Tensor:
    r"""Squared loss :math:`L_f = \overline{(C_f(h) - y)^2}` of each classifier, shape ``(2,)``."""
    return (networks.classifiers(hidden).sigmoid() - gold).square().mean(0)


def difference_vector(networks: Networks, pairs: Tensor) -> Tensor:
    r"""Mean difference :math:`v = \overline{E(w_m) - E(w_f)}` of pairs, ``(n, 2, d)`` to ``(d,)``.

    A constant of the loss: no gradient passes through it.
    """
    hidden = networks.encode(pairs).detach()
    return (hidden[:, 1] - hidden[:, 0]).mean(0)


class Terms(NamedTuple):
    """The terms of the main loss."""

    reconstruction: Tensor
    classification: Tensor  # cross-entropy of the two classifiers, shape `(2,)`
    along: Tensor

    def total(self, weight: float) -> Tensor:
        """Sum of the terms, all but the reconstruction multiplied by `weight`."""
        return self.reconstruction + weight * (self.classification.sum() + self.along.sum())


def debiasing_terms(networks: Networks, x: Tensor, given: Tensor, v: Tensor) -> Terms:
    """Compute the main loss of quadruples (n, 4, d): a pair, a stereotype and a neutral word."""
    # The classifiers are trained on cross-entropy here, and on the squared loss of the paper
    # before, as in the published code.
    torch = load_torch()
    hidden = networks.encode(given)
    gold = torch.eye(4, 2, dtype=x.dtype, device=x.device).expand(len(x), 4, 2)
    entropy = torch.nn.functional.binary_cross_entropy_with_logits(
        networks.classifiers(hidden), gold, reduction="none"
    )
    return Terms(
        (networks.decode(hidden) - x).square().mean(),
        entropy.mean((0, 1)),
        (hidden[:, 2:] @ v).square().mean(0),
    )


# reach of a decoder that ends in tanh


class TanhReach(NamedTuple):
    """Share of an embedding that a decoder ending in tanh cannot reach."""

    largest: float  # largest absolute value
    outside: float  # share of the values outside (−1, 1)
    # squared excess of these values as a share of all squared values. Without a scale the
    # reconstruction loss cannot fall below this share of the mean squared value.
    lost: float

    def scale(self, as_published: bool = False) -> float:
        """Return the divisor of vectors that makes the largest value .99; 1 if it is less."""
        # As published it is always 1.
        return 1.0 if as_published else max(1.0, self.largest / _EDGE)


def tanh_reach(embedding: Embedding) -> TanhReach:
    """Measure the values outside (−1, 1)."""
    # If one is more than a thousand times as large as they are on average, no scale fits that value
    # and the others.
    outside, excess, square, total, largest, place = 0, 0.0, 0.0, 0.0, 0.0, 0
    start = 0
    for x in finite_blocks(embedding):
        size = np.abs(x)
        longest = size.max(1)
        if longest.max(initial=0) > largest:
            largest, place = float(longest.max()), start + int(longest.argmax())
        outside += int(np.count_nonzero(size >= 1))
        excess += float((np.maximum(size - 1, 0) ** 2).sum())
        square += float((size**2).sum())
        total += float(size.sum())
        start += len(x)
    if largest == 0:
        raise WordbiasError(f"{embedding.name}: every vector is zero; nothing can be learned")
    mean = total / embedding.vectors.size
    if largest > _STRAY * mean:
        raise WordbiasError(
            f"{embedding.name}: the vector of {embedding.words[place]!r} has the value "
            f"{largest:.3g}, where the mean size is {mean:.3g}; leave the word out"
        )
    return TanhReach(largest, outside / embedding.vectors.size, excess / square)


def refuse_mostly_outside(name: str, reach: TanhReach) -> None:
    """Refuse to train as published, without scaling, if the decoder can reach few values."""
    if reach.outside > _MOSTLY:
        raise WordbiasError(
            f"{name}: {reach.outside:.0%} of the values lie outside (−1, 1), which the decoder's "
            "tanh cannot reach; bring the vectors to length one, or do not train as published, "
            "which scales them"
        )
