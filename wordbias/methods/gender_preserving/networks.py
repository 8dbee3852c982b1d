"""The networks of gender-preserving debiasing (Kaneko and Bollegala 2019).

Plain tensors and functions of them: torch is imported by what is called, not by this module.

What the networks of gender-preserving debiasing are trained by (Kaneko and Bollegala 2019).

What a decoder that ends in tanh can reach, and the scale that brings vectors within it.
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


class Layer(NamedTuple):
    """An affine map of rows: ``x @ weight + bias``.

    Attributes
    ----------
    weight, bias
        Shapes ``(d, k)`` and ``(k,)``.
    """

    weight: Tensor
    bias: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        """Map rows ``(…, d)`` to ``(…, k)``."""
        return x @ self.weight + self.bias


class Networks(NamedTuple):
    """Everything that is trained.

    Attributes
    ----------
    encoder, decoder
        Layers ``(d, d)``, each followed by tanh.
    classifiers
        A layer ``(d, 2)``: one column tells the first group's words from all others, one the
        second's; each is followed by a sigmoid.
    """

    encoder: Layer
    decoder: Layer
    classifiers: Layer

    def encode(self, x: Tensor) -> Tensor:
        """Encode words, shape ``(…, d)``; without dropout this is the debiased vector."""
        return self.encoder(x).tanh()

    def decode(self, hidden: Tensor) -> Tensor:
        """Reconstruct words from what was encoded; every value lies in (−1, 1)."""
        return self.decoder(hidden).tanh()


def load_torch() -> Any:
    """Import torch, or say how to install it."""
    return need("torch", extra="torch", purpose="Gender-preserving debiasing")


def generator(seed: int, phase: int, epoch: int) -> Generator:
    """Make the source of all that is random in an epoch of a phase; phase 3 is the beginning."""
    drawn = np.random.SeedSequence([seed, phase, epoch]).generate_state(1, np.uint64)[0]
    return load_torch().Generator().manual_seed(int(drawn))


def initial_networks(d: int, rng: Generator) -> Networks:
    """Draw all weights from U(−1/√d, 1/√d), as torch does for linear layers."""
    torch, bound = load_torch(), d**-0.5

    def layer(k: int) -> Layer:
        shapes = ((d, k), (k,))
        return Layer(*(torch.empty(s).uniform_(-bound, bound, generator=rng) for s in shapes))

    return Networks(layer(d), layer(d), layer(2))


def by_name(networks: Networks) -> dict[str, Tensor]:
    """Name every tensor: ``encoder.weight``."""
    return {
        f"{part}.{field}": getattr(getattr(networks, part), field)
        for part in Networks._fields
        for field in Layer._fields
    }


def from_names(tensors: Mapping[str, Tensor]) -> Networks:
    """Undo `by_name`."""
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
    """Set a share of the values to zero and scale the others up.

    The values are chosen on the CPU, so that all devices train on the same noise.
    """
    keep = load_torch().empty(x.shape).bernoulli_(1 - rate, generator=rng)
    return x * (keep / (1 - rate)).to(x.device)


def reconstruction_loss(networks: Networks, x: Tensor, seen: Tensor) -> Tensor:
    r"""Mean squared error :math:`L_r = \overline{(D(E(\tilde x)) - x)^2}`.

    Parameters
    ----------
    networks
        E and D.
    x, seen
        The words, and the words as the encoder sees them, shape ``(…, d)``.
    """
    return (networks.decode(networks.encode(seen)) - x).square().mean()


def classifier_loss(networks: Networks, hidden: Tensor, gold: Tensor) -> Tensor:
    r"""Squared loss :math:`L_f = \overline{(C_f(h) - y)^2}` of each classifier, shape ``(2,)``.

    Parameters
    ----------
    networks
        The classifiers.
    hidden, gold
        Encoded words ``(n, d)`` and what they should be classified as, ``(n, 2)``.
    """
    return (networks.classifiers(hidden).sigmoid() - gold).square().mean(0)


def difference_vector(networks: Networks, pairs: Tensor) -> Tensor:
    r"""Mean difference :math:`v = \overline{E(w_m) - E(w_f)}` of pairs, ``(n, 2, d)`` to ``(d,)``.

    A constant of the loss: no gradient passes through it.
    """
    hidden = networks.encode(pairs).detach()
    return (hidden[:, 1] - hidden[:, 0]).mean(0)


class Terms(NamedTuple):
    """The terms of the main loss.

    Attributes
    ----------
    reconstruction
        :math:`L_r`.
    classification
        Cross-entropy of the two classifiers, shape ``(2,)``.
    along
        :math:`(v^\top h)^2` of the stereotype and of the neutral word, shape ``(2,)``.
    """

    reconstruction: Tensor
    classification: Tensor
    along: Tensor

    def total(self, weight: float) -> Tensor:
        """Add them up, all but the reconstruction by `weight`."""
        return self.reconstruction + weight * (self.classification.sum() + self.along.sum())


def debiasing_terms(networks: Networks, x: Tensor, seen: Tensor, v: Tensor) -> Terms:
    """Compute the main loss of quadruples: a pair, a stereotype and a neutral word.

    Parameters
    ----------
    networks
        All of them.
    x, seen
        The words, and the words as the encoder sees them, shape ``(n, 4, d)``.
    v
        See `difference_vector`.

    Notes
    -----
    The classifiers are trained on cross-entropy here, and on the squared loss of the paper before,
    as in the published code.
    """
    torch = load_torch()
    hidden = networks.encode(seen)
    gold = torch.eye(4, 2, dtype=x.dtype, device=x.device).expand(len(x), 4, 2)
    entropy = torch.nn.functional.binary_cross_entropy_with_logits(
        networks.classifiers(hidden), gold, reduction="none"
    )
    return Terms(
        (networks.decode(hidden) - x).square().mean(),
        entropy.mean((0, 1)),
        (hidden[:, 2:] @ v).square().mean(0),
    )


@dataclass(frozen=True, eq=False)
class TanhEncoder(Arrays):
    """One layer with tanh: ``tanh(x @ weight + bias)``, every value in (−1, 1).

    Parameters
    ----------
    weight, bias
        Shapes ``(d, k)`` and ``(k,)``.

    Raises
    ------
    WordbiasError
        If the shapes do not fit.
    """

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
        """Encode."""
        check_width(x, len(self.weight))
        encoded: Rows = np.tanh(x @ like(self.weight, x) + like(self.bias, x))
        return encoded


_EDGE = 0.99
_STRAY = 1e3
_MOSTLY = 0.5


class Reach(NamedTuple):
    """How much of an embedding lies beyond the decoder.

    Attributes
    ----------
    largest
        The largest absolute value.
    outside
        Share of the values outside (−1, 1).
    lost
        What they exceed it by, squared, as a share of all squared values. Without a scale the
        reconstruction loss cannot fall below this share of the mean squared value.
    """

    largest: float
    outside: float
    lost: float

    def scale(self, as_published: bool = False) -> float:
        """Return what to divide vectors by, so that the largest value is .99; 1 if it is less.

        1 as published, whatever lies outside.
        """
        return 1.0 if as_published else max(1.0, self.largest / _EDGE)


def tanh_reach(embedding: Embedding) -> Reach:
    """Measure what lies outside (−1, 1).

    Raises
    ------
    WordbiasError
        If a value is not finite, all are zero, or one is more than a thousand times as large as
        they are on average: no scale fits that value and the others.
    """
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
    return Reach(largest, outside / embedding.vectors.size, excess / square)


def refuse_mostly_outside(name: str, reach: Reach) -> None:
    """Refuse to train on vectors as they are, as published, if the decoder can reach few of them.

    Raises
    ------
    WordbiasError
        If more than half of the values lie outside (−1, 1).
    """
    if reach.outside > _MOSTLY:
        raise WordbiasError(
            f"{name}: {reach.outside:.0%} of the values lie outside (−1, 1), which the decoder's "
            "tanh cannot reach; bring the vectors to length one, or do not train as published, "
            "which scales them"
        )
