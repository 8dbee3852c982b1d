"""Stacked MLP probes in torch: S rows of B probes, trained on common batches.

A probe is d → d/2, tanh, → K. Its gradient is written out, which saves the cost of autograd at
sixteen examples a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordbias.probes.linear import BETAS, EPS, Floats, Integers

if TYPE_CHECKING:
    from wordbias.probes.train import Recipe


def initial_weights(seed: int, block: int, d: int, classes: int) -> Floats:
    """Draw a probe's initial weights, (P,), as ``nn.Linear`` does, each layer in ±1/√inputs."""
    # Weights (h, d) and bias (h,) of the hidden layer, then (K, h) and (K,).
    h = hidden_units(d)
    rng = np.random.default_rng([seed, block])
    hidden = rng.uniform(-1, 1, h * d + h) / np.sqrt(d)
    output = rng.uniform(-1, 1, classes * h + classes) / np.sqrt(h)
    return np.concatenate([hidden, output]).astype(np.float32)


def hidden_units(d: int) -> int:
    """Return the number of hidden units of a probe of `d` dimensions."""
    return max(1, d // 2)


class MlpProbes:
    """MLP probes; the parameters are those of `wordbias.probes.linear.LinearProbes`."""

    vectors: NDArray[np.floating[Any]]
    recipe: Recipe
    device: torch.device
    d: int
    h: int
    classes: int
    w: Tensor
    m: Tensor
    v: Tensor
    g: Tensor
    kept: Tensor
    rows: Integers
    columns: Integers

    def __init__(
        self,
        vectors: NDArray[np.floating[Any]],
        seeds: Sequence[int],
        blocks: Sequence[int],
        classes: int,
        recipe: Recipe,
        *,
        device: torch.device,
    ) -> None:
        self.vectors, self.recipe, self.device = vectors, recipe, device
        self.d, self.h, self.classes = vectors.shape[1], hidden_units(vectors.shape[1]), classes
        first = [
            [initial_weights(seed, block, self.d, classes) for block in blocks] for seed in seeds
        ]
        self.w = torch.from_numpy(np.array(first)).to(device)  # (S, B, P)
        self.m, self.v = torch.zeros_like(self.w), torch.zeros_like(self.w)
        self.g = torch.empty_like(self.w)
        self.kept = self.w.clone()
        self.rows, self.columns = np.arange(len(seeds)), np.arange(len(blocks))

    def step(self, rows: Integers, y: Integers, inside: NDArray[np.bool_], steps: Integers) -> None:
        """Take one step of AdamW with the first `s` rows and `b` columns of probes."""
        s, b = len(rows), inside.shape[1]
        x = self._gathered(rows)[:, None]  # (s, 1, k, d)
        hidden, z = self._forward(x, self.w[:s, :b])
        residual = z.softmax(-1)
        right = torch.from_numpy(y).to(self.device)[:, None, :, None].expand(s, b, -1, 1)
        residual.scatter_add_(-1, right, torch.full_like(residual[..., :1], -1))
        if not inside.all():
            residual *= torch.from_numpy(inside.T).to(self.device)[:, :, None]
        self._backward(x, hidden, residual, s, b)
        self._adamw(s, b, steps)

    def _parts(self, flat: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return views of flat parameters: w1 (…, h, d), b1 (…, h), w2 (…, K, h), b2 (…, K)."""
        d, h, k = self.d, self.h, self.classes
        parts = torch.split(flat, [h * d, h, k * h, k], dim=-1)
        w1, w2 = torch.unflatten(parts[0], -1, (h, d)), torch.unflatten(parts[2], -1, (k, h))
        return w1, parts[1], w2, parts[3]

    def _forward(self, x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
        """Return hidden states ``(s, b, k, h)`` and scores ``(s, b, k, K)``."""
        w1, b1, w2, b2 = self._parts(w)
        hidden = (x @ w1.mT + b1[..., None, :]).tanh_()
        return hidden, hidden @ w2.mT + b2[..., None, :]

    def _backward(self, x: Tensor, hidden: Tensor, residual: Tensor, s: int, b: int) -> None:
        w1, b1, w2, b2 = self._parts(self.g[:s, :b])
        w2.copy_(residual.mT @ hidden)
        b2.copy_(residual.sum(-2))
        inner = (residual @ self._parts(self.w[:s, :b])[2]) * (1 - hidden * hidden)
        w1.copy_(inner.mT @ x)
        b1.copy_(inner.sum(-2))

    def _adamw(self, s: int, b: int, steps: Integers) -> None:
        """Move the first probes along their gradients, which are overwritten."""
        w, m, v, g = (part[:s, :b] for part in (self.w, self.m, self.v, self.g))
        beta1, two = BETAS
        m.lerp_(g, 1 - beta1)
        v.mul_(two).addcmul_(g, g, value=1 - two)
        torch.sqrt(v, out=g)
        rate = self.recipe.rate / (1 - beta1**steps)
        g *= self._column(1 / (np.sqrt(1 - two**steps) * rate))
        g += self._column(EPS / rate)
        w.mul_(1 - self.recipe.rate * self.recipe.decay).addcdiv_(m, g, value=-1)

    def _column(self, values: NDArray[np.floating[Any]]) -> Tensor:
        return torch.from_numpy(values.astype(np.float32)).to(self.device)[:, None]

    def _gathered(self, rows: Integers) -> Tensor:
        x = self.vectors.take(rows, axis=0).astype(np.float32, copy=False)
        return torch.from_numpy(x).to(self.device)

    def scores(self, rows: Integers, column: int, *, kept: bool = False) -> Floats:
        """Score examples with one column of probes, shape ``(S, m, K)``."""
        w = (self.kept if kept else self.w)[:, column]
        scores: Floats = self._forward(self._gathered(rows), w)[1].cpu().numpy()
        return scores

    def keep(self, which: NDArray[np.bool_]) -> None:
        """Keep a copy of the weights of some probes, by a mask of shape ``(S, B)``."""
        i, j = np.nonzero(which)
        self.kept[self.rows[i], self.columns[j]] = self.w[i, j]

    def arrange(self, rows: Integers, columns: Integers) -> None:
        """Select rows and columns of the present ones, in this order, to go on with."""
        chosen = np.ix_(rows, columns)
        self.w, self.m, self.v = self.w[chosen], self.m[chosen], self.v[chosen]
        self.g = torch.empty_like(self.w)
        self.rows, self.columns = self.rows[rows], self.columns[columns]
