"""Decomposable attention with intra-attention (Parikh et al. 2016), several models stacked.

Shapes: K models, B pairs, P premise tokens, Q hypothesis tokens, d dimensions, h hidden units,
w = 2h with intra-attention, h without. Weights and activations have a leading axis of K, so that
models are trained as one; K = 1 is an ordinary model. The letters are those of the paper, section
3: F attends, G compares, H aggregates.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Generator, Tensor, nn

LEVELS = 256
"""Rates of dropout are multiples of 1/256: a mask costs one random byte an element."""
HIDDEN = 200
DISTANCES = 11
"""Biases of intra-attention: distances of 0 to 9 tokens, and one for all further ones."""


class DecomposableAttention(nn.Module):
    """K models: frozen word vectors in, log-probabilities of the labels out.

    Parameters
    ----------
    dim
        Dimension of the word vectors, d.
    hidden
        Number of hidden units, h.
    intra
        Use Parikh et al.'s intra-sentence attention: 582,214 parameters at d = 300, h = 200;
        without it 381,803.
    dropout
        Rate of dropout before every linear map of the feed-forward networks.
    models
        Number of stacked models, K.
    """

    project: Linear
    intra: Feedforward | None
    distance: nn.Parameter | None
    attend: Feedforward
    compare: Feedforward
    aggregate: Feedforward
    classify: Linear

    def __init__(
        self,
        dim: int,
        hidden: int = HIDDEN,
        *,
        intra: bool = True,
        dropout: float = 0.2,
        models: int = 1,
    ) -> None:
        super().__init__()
        width = 2 * hidden if intra else hidden
        self.project = Linear(models, dim, hidden, bias=False)
        self.intra = Feedforward(models, hidden, hidden, dropout) if intra else None
        self.distance = nn.Parameter(torch.empty(models, DISTANCES)) if intra else None
        self.attend = Feedforward(models, width, hidden, dropout)
        self.compare = Feedforward(models, 2 * width, hidden, dropout)
        self.aggregate = Feedforward(models, 2 * hidden, hidden, dropout)
        self.classify = Linear(models, hidden, 3)

    def forward(
        self,
        premise: Tensor,
        hypothesis: Tensor,
        real_p: Tensor,
        real_q: Tensor,
        generators: Sequence[Generator] = (),
    ) -> Tensor:
        """Compute log-probabilities.

        Parameters
        ----------
        premise, hypothesis
            Word vectors, shapes (K, B, P, d) and (K, B, Q, d).
        real_p, real_q
            True at tokens, False at padding, shapes (K, B, P) and (K, B, Q).
        generators
            Generator of each model, for dropout; not needed in evaluation.

        Returns
        -------
        Tensor
            Shape (K, B, 3).
        """
        x, y = (
            self.project(side.flatten(1, 2)).view(*side.shape[:-1], -1)
            for side in (premise, hypothesis)
        )
        return self.classify_projected(x, y, Real.of(real_p), Real.of(real_q), generators)

    def classify_projected(
        self, x: Tensor, y: Tensor, p: Real, q: Real, generators: Sequence[Generator] = ()
    ) -> Tensor:
        """Compute log-probabilities as `forward` does, of words that are projected already.

        A word that occurs many times in a batch can thus be projected once.

        Parameters
        ----------
        x, y
            Projected words of premise and hypothesis, shapes (K, B, P, h) and (K, B, Q, h).
        p, q
            Their tokens.
        """
        models, pairs = x.shape[:2]
        every = Real(p.mask[:, :, 0], (pairs,) * models, None)  # no sentence is empty
        a = self.represent(x, p, generators)  # (K, B, P, w)
        b = self.represent(y, q, generators)  # (K, B, Q, w)
        fa = self.attend(a, p, generators)  # (K, B, P, h)
        fb = self.attend(b, q, generators)  # (K, B, Q, h)
        e = fa @ fb.transpose(-1, -2)  # (K, B, P, Q), eq. (1)
        beta = softmax(e, q) @ b  # (K, B, P, w), eq. (2)
        alpha = softmax(e.transpose(-1, -2), p) @ a  # (K, B, Q, w)
        v1 = self.compare(torch.cat([a, beta], -1), p, generators)  # (K, B, P, h), eq. (3)
        v2 = self.compare(torch.cat([b, alpha], -1), q, generators)  # (K, B, Q, h)
        v = torch.cat([total(v1, p), total(v2, q)], -1)  # (K, B, 2h), eq. (4)
        scores: Tensor = self.classify(self.aggregate(v, every, generators))  # (K, B, 3), eq. (5)
        exact = scores.to(torch.promote_types(scores.dtype, torch.float32))
        return exact.log_softmax(-1)  # (K, B, 3)

    def represent(self, x: Tensor, real: Real, generators: Sequence[Generator]) -> Tensor:
        """Append to projected words, with intra-attention, their context vectors: (K, B, L, w)."""
        if self.intra is None or self.distance is None:
            return x
        f = self.intra(x, real, generators)  # (K, B, L, h)
        e = f @ f.transpose(-1, -2)  # (K, B, L, L)
        e = e + self.distance[:, distances(x.shape[2], x.device)][:, None]  # + (K, 1, L, L)
        return torch.cat([x, softmax(e, real) @ x], -1)  # (K, B, L, 2h), eq. (7)


def softmax(e: Tensor, real: Real) -> Tensor:
    """Compute the softmax over the last axis, the tokens of `real`, with no weight on padding."""
    if real.drawn is not None:
        e = e.masked_fill(~real.mask[:, :, None], -torch.inf)
    return e.softmax(-1).to(e.dtype)


def total(v: Tensor, real: Real) -> Tensor:
    """Sum over tokens: (K, B, L, h) → (K, B, h)."""
    if real.drawn is not None:
        v = v * real.mask[..., None].to(v.dtype)
    return v.sum(2)


def distances(length: int, device: torch.device) -> Tensor:
    """Return the index of the bias of each pair of positions, shape (L, L)."""
    place = torch.arange(length, device=device)
    return (place[:, None] - place[None]).abs().clamp(max=DISTANCES - 1)


# Layers of K models


class Real(NamedTuple):
    """Tokens in padded sentences.

    Attributes
    ----------
    mask
        True at tokens, False at padding, shape ``(K, …)``.
    counts
        Number of tokens of each model. It is known on the host, so that nothing waits for a GPU.
    drawn
        Of each place of the flattened mask, the token whose random numbers it takes: its own, or
        at padding those of a token beside it; None if there is no padding, which saves work.
    """

    mask: Tensor
    counts: tuple[int, ...]
    drawn: Tensor | None

    @classmethod
    def of(cls, mask: Tensor) -> Real:
        """Count the tokens of a mask; a mask on a GPU is waited for."""
        return cls.counted(mask, tuple(mask.flatten(1).sum(1).tolist()))

    @classmethod
    def counted(cls, mask: Tensor, counts: tuple[int, ...]) -> Real:
        """Prepare a mask whose tokens are counted already."""
        if sum(counts) == mask.numel():
            return cls(mask, counts, None)
        return cls(mask, counts, mask.flatten().cumsum(0).sub_(1).clamp_(min=0))


class Dropout(nn.Module):
    """Dropout whose masks depend on each model's generator and its real tokens only.

    Padding draws nothing, so that a model has the same masks in a stack as without it. The rate is
    rounded to a multiple of 1/256 (0.2 to 51/256 = 0.1992), for a mask costs one random byte an
    element; the other elements are scaled by the rounded rate, so that the expected output is the
    input exactly.
    """

    threshold: int

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.threshold = min(round(rate * LEVELS), LEVELS - 1)

    def forward(self, x: Tensor, real: Real, generators: Sequence[Generator]) -> Tensor:
        """Drop elements of ``x`` (K, n, w), whose n rows are tokens where `real` is True."""
        if not self.training or not self.threshold:
            return x
        width = x.shape[-1]
        drawn = [random_bytes(n, width, g) for n, g in zip(real.counts, generators, strict=True)]
        kept = torch.cat(drawn).ge_(self.threshold)  # 0 or 1, (tokens, w)
        if real.drawn is not None:
            kept = kept.index_select(0, real.drawn)
        scale = LEVELS / (LEVELS - self.threshold)
        return x * kept.view(x.shape).to(x.dtype).mul_(scale)


def random_bytes(rows: int, width: int, generator: Generator) -> Tensor:
    """Draw uniform bytes, shape ``(rows, width)``, eight with each random number."""
    words = torch.empty(-(-rows * width // 8), dtype=torch.int64, device=generator.device)
    words.random_(-(2**63), None, generator=generator)
    return words.view(torch.uint8)[: rows * width].view(rows, width)


class Linear(nn.Module):
    """K linear maps (K, n, in) → (K, n, out), with `relu` their positive parts."""

    weight: nn.Parameter
    bias: nn.Parameter | None

    def __init__(
        self, models: int, inputs: int, outputs: int, bias: bool = True, relu: bool = False
    ) -> None:
        super().__init__()
        self.relu = relu
        self.weight = nn.Parameter(torch.empty(models, inputs, outputs))
        self.bias = nn.Parameter(torch.empty(models, 1, outputs)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """Map the last axis."""
        if has_fast_products(x):
            found: Tensor = Products.apply(x, self.weight, self.bias, self.relu)  # type: ignore[no-untyped-call]
            return found
        if self.bias is None:
            found = torch.bmm(x, self.weight)
        else:
            found = torch.baddbmm(self.bias, x, self.weight)
        return found.relu_() if self.relu else found


class Products(torch.autograd.Function):
    """K linear maps in float32 by oneDNN, as `Linear` otherwise computes them by ``baddbmm``."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, relu: bool) -> Tensor:
        """Map x, shape (K, n, in), by weights (K, in, out) and biases (K, 1, out): (K, n, out)."""
        biases = [None] * len(x) if bias is None else [one[0] for one in bias]
        y = _stacked(
            [times(one, w.T, b, relu) for one, w, b in zip(x, weight, biases, strict=True)]
        )
        ctx.save_for_backward(x, weight, y if relu else None)
        ctx.has_bias = bias is not None
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of x, weights and biases."""
        x, weight, y = ctx.saved_tensors
        grad = grad.contiguous() if y is None else torch.ops.aten.threshold_backward(grad, y, 0)
        of_x = of_bias = None
        if ctx.needs_input_grad[0]:
            of_x = _stacked([times(g, w) for g, w in zip(grad, weight, strict=True)])
        of_weight = _stacked([times(g.T, one.T).T for one, g in zip(x, grad, strict=True)])
        if ctx.has_bias:
            of_bias = grad.sum(1, keepdim=True)
        return of_x, of_weight, of_bias, None


def times(x: Tensor, weight: Tensor, bias: Tensor | None = None, relu: bool = False) -> Tensor:
    """Compute x Wᵀ + b by oneDNN, or its positive part, for x (n, in) and W (out, in): (n, out)."""
    found: Tensor = torch.ops.mkldnn._linear_pointwise(
        x, weight, bias, "relu" if relu else "none", [], ""
    )
    return found


def has_fast_products(x: Tensor) -> bool:
    """Return whether oneDNN multiplies a tensor faster than torch does by itself.

    On CPUs with AVX-512 that are not Intel's, MKL, which torch uses, computes with half of their
    width. oneDNN's products have no public name in torch; where that name is missing, torch's own
    are used.
    """
    return (
        x.device.type == "cpu"
        and x.dtype == torch.float32
        and not torch.is_autocast_enabled("cpu")
        and _has_one_dnn()
    )


@cache
def _has_one_dnn() -> bool:
    return (
        torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
        and torch.backends.cpu.get_cpu_capability() == "AVX512"
        and hasattr(torch.ops.mkldnn, "_linear_pointwise")
    )


def _stacked(parts: Sequence[Tensor]) -> Tensor:
    return parts[0][None] if len(parts) == 1 else torch.stack(list(parts))


class Feedforward(nn.Module):
    """[Dropout, linear, ReLU] twice: (K, …, in) → (K, …, h)."""

    dropout: Dropout
    first: Linear
    second: Linear

    def __init__(self, models: int, inputs: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.first = Linear(models, inputs, hidden, relu=True)
        self.second = Linear(models, hidden, hidden, relu=True)

    def forward(self, x: Tensor, real: Real, generators: Sequence[Generator]) -> Tensor:
        """Map the last axis."""
        y: Tensor = x.flatten(1, -2)  # (K, n, in)
        y = self.first(self.dropout(y, real, generators))  # (K, n, h)
        y = self.second(self.dropout(y, real, generators))  # (K, n, h)
        return y.view(*x.shape[:-1], -1)  # (K, …, h)
