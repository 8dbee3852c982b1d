"""What the networks of gender-preserving debiasing are trained by (Kaneko and Bollegala 2019)."""

from __future__ import annotations

from typing import NamedTuple

from wordbias.methods.gender_preserving.autoencoder import Generator, Networks, Tensor, load_torch


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
