"""The networks of gender-preserving debiasing and their losses (Kaneko and Bollegala 2019).

Plain tensors and functions of them: torch is imported by what is called, not by this module.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from wordbias.optional import need

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


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Bound torch's threads inside the block."""
    torch = load_torch()
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


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
