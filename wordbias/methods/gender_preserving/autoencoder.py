"""The networks of gender-preserving debiasing (Kaneko and Bollegala 2019).

Plain tensors and functions of them: torch is imported by what is called, not by this module.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

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
