"""Decomposable attention with intra-attention (Parikh et al. 2016), several models stacked.

Shapes: K models, B pairs, P premise tokens, Q hypothesis tokens, d dimensions, h hidden units,
w = 2h with intra-attention, h without. Weights and activations have a leading axis of K, so that
models are trained as one; K = 1 is an ordinary model. The letters are those of the paper, section
3: F attends, G compares, H aggregates.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Generator, Tensor, nn

from wordbias.products import fast_product, has_fast_products

LEVELS = 256
"""Rates of dropout are multiples of 1/256: a mask costs one random byte an element."""
HIDDEN = 200
SPARE = 32
"""Numbers of rows are multiples of this where sentences have padding, of k times as many in
batches of 64 k pairs."""
DISTANCES = 11
"""Biases of intra-attention: distances of 0 to 9 tokens, and one for all further ones."""


class DecomposableAttention(nn.Module):
    """K models: frozen word vectors in, log-probabilities of the labels out."""

    project: Linear
    # use Parikh et al.'s intra-sentence attention: 582,214 parameters at d = 300, h = 200; without
    # it 381,803
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
        """Compute log-probabilities (K, B, 3) of word vectors (K, B, P, d) and (K, B, Q, d)."""
        # `real_p` and `real_q` are True at tokens, False at padding behind them. Each model has a
        # generator for dropout, not needed in evaluation.
        lengths = [real.sum(2) for real in (real_p, real_q)]  # (K, B)
        rows = Rows.of(lengths, [length.cpu().numpy() for length in lengths])
        sides = zip((premise, hypothesis), (rows.premise, rows.hypothesis), strict=True)
        words = rows.packed(*(words[:, :, : side.shape[2]] for words, side in sides))  # (K, N, d)
        return self.classify_rows(self.project(words), rows, generators)

    def classify_rows(
        self,
        x: Tensor,
        rows: Rows,
        generators: Sequence[Generator] = (),
    ) -> Tensor:
        """Compute log-probabilities as `forward` does, of projected words (K, N, h)."""
        # A word that occurs many times in a batch can thus be projected once. All is computed in
        # their type, softmaxes and the last logarithm in float32 or more.
        counts = rows.counts
        p, q = rows.premise.mask, rows.hypothesis.mask
        a = self.represent(x, rows, generators)  # (K, N, w)
        fa, fb = rows.padded(self.attend([a], counts, generators))  # (K, B, P, h), (K, B, Q, h)
        of_p, of_q = rows.padded(a)  # (K, B, P, w), (K, B, Q, w)
        e = fa @ fb.transpose(-1, -2)  # (K, B, P, Q), eq. (1)
        beta = softmax(e, q).to(x.dtype) @ of_q  # (K, B, P, w), eq. (2)
        alpha = softmax(e.transpose(-1, -2), p).to(x.dtype) @ of_p  # (K, B, Q, w)
        compared = self.compare([a, rows.packed(beta, alpha)], counts, generators)  # eq. (3)
        v1, v2 = rows.padded(compared)  # (K, B, P, h), (K, B, Q, h)
        v = torch.cat([total(v1, p), total(v2, q)], -1)  # (K, B, 2h), eq. (4)
        y = self.aggregate([v], (v.shape[1],) * len(v), generators)  # (K, B, h)
        scores: Tensor = self.classify(y)  # (K, B, 3), eq. (5)
        return scores.to(torch.promote_types(scores.dtype, torch.float32)).log_softmax(-1)

    def represent(self, x: Tensor, rows: Rows, generators: Sequence[Generator]) -> Tensor:
        """Append to projected words, with intra-attention, their context vectors: (K, N, w)."""
        if self.intra is None or self.distance is None:
            return x
        contexts = []
        masks = rows.premise.mask, rows.hypothesis.mask
        sides = rows.padded(self.intra([x], rows.counts, generators)), rows.padded(x)
        for f, words, mask in zip(*sides, masks, strict=True):  # (K, B, L, h)
            length = f.shape[2]
            bias = self.distance.index_select(1, distances(length, x.device))
            e: Tensor = Similarities.apply(f)  # type: ignore[no-untyped-call]
            e = e + bias.view(-1, 1, length, length)  # (K, B, L, L)
            contexts.append(softmax(e, mask).to(x.dtype) @ words)
        return torch.cat([x, rows.packed(*contexts)], -1)  # (K, N, 2h), eq. (7)


class Similarities(torch.autograd.Function):
    """Products f fᵀ of tokens of a sentence; their gradient is one product, not torch's two."""

    @staticmethod
    def forward(ctx: Any, f: Tensor) -> Tensor:
        """Multiply f (K, B, L, h) by itself: (K, B, L, L)."""
        ctx.save_for_backward(f)
        return f @ f.mT

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        """Return the gradient of f."""
        (f,) = ctx.saved_tensors
        gradient: Tensor = (grad + grad.mT) @ f
        return gradient


def softmax(e: Tensor, mask: Tensor | None) -> Tensor:
    """Compute the softmax over the last axis, tokens where `mask` is True; None: all are tokens."""
    e = e.to(torch.promote_types(e.dtype, torch.float32))
    if mask is not None:
        e = e.masked_fill(~mask[:, :, None], -torch.inf)
    weights: Tensor = Softmax.apply(e)  # type: ignore[no-untyped-call]
    return weights


class Softmax(torch.autograd.Function):
    """Softmax over the last axis: on a CPU torch's own takes four times as long over few items."""

    @staticmethod
    def forward(ctx: Any, e: Tensor) -> Tensor:
        """Return the weights."""
        weights = (e - e.amax(-1, keepdim=True)).exp_()
        weights.div_(weights.sum(-1, keepdim=True))
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        """Return the gradient of `e`."""
        (weights,) = ctx.saved_tensors
        share = grad * weights
        gradient: Tensor = share - weights * share.sum(-1, keepdim=True)
        return gradient


def total(v: Tensor, mask: Tensor | None) -> Tensor:
    """Sum over tokens: (K, B, L, h) → (K, B, h)."""
    if mask is not None:
        v = v * mask[..., None].to(v.dtype)
    return v.sum(2)


@cache
def distances(length: int, device: torch.device) -> Tensor:
    """Return the index of the bias of each pair of positions, shape (L · L,)."""
    place = torch.arange(length, device=device)
    return (place[:, None] - place[None]).abs().clamp(max=DISTANCES - 1).flatten()


# Rows of tokens


class Side(NamedTuple):
    """Padded premises or hypotheses."""

    shape: tuple[int, int, int]  # K, B and L
    # true at tokens, False at padding, shape (K, B, L); None if neither side has padding
    mask: Tensor | None
    place: Tensor | None  # row of each place, shape `(K·B·L,)`; None without padding


class Rows(NamedTuple):
    """Tokens of a batch as rows without padding: each model's premises, then its hypotheses."""

    # The feed-forward networks read rows, attention reads padded sentences. Behind the tokens of a
    # model stand spare rows: few numbers of rows occur, and oneDNN prepares its products for each.
    # Padding reads a spare row; no gradient comes back from there.

    counts: tuple[int, ...]  # number of tokens of each model, known on the host
    premise: Side
    hypothesis: Side
    # padded place of each row, premises' before hypotheses', shape `(K·N,)`; of spare rows the
    # number of places. None without padding.
    back: Tensor | None

    @classmethod
    def of(cls, lengths: Sequence[Tensor], on_host: Sequence[NDArray[np.int64]]) -> Rows:
        """Arrange the tokens of sentences, whose lengths have shape (K, B) each."""
        # The lengths are also on the host: nothing waits for a GPU.
        device, (models, pairs) = lengths[0].device, lengths[0].shape
        longest = [int(length.max()) for length in on_host]
        counts = tuple((on_host[0].sum(1) + on_host[1].sum(1)).tolist())
        if min(counts) == pairs * sum(longest):
            p, q = (Side((models, pairs, most), None, None) for most in longest)
            return cls(counts, p, q, None)
        step = SPARE * max(1, pairs // 64)
        number = -(-(max(counts) + 1) // step) * step  # a spare row for each model, or more
        last = torch.arange(1, models + 1, device=device)[:, None] * number - 1  # (K, 1)
        every = torch.cat(list(lengths), 1)  # (K, 2B)
        starts = every.cumsum(1) - every + (last + 1 - number)
        sides = []
        for i, (length, most) in enumerate(zip(lengths, longest, strict=True)):
            place = torch.arange(most, device=device)
            mask = place < length[..., None]  # (K, B, L)
            start = starts[:, i * pairs : (i + 1) * pairs, None]
            row = torch.where(mask, start + place, last[..., None])
            sides.append(Side((models, pairs, most), mask, row.flatten()))
        taken = torch.cat([side.place for side in sides if side.place is not None])
        back = torch.full((models * number,), len(taken), device=device)
        back.scatter_(0, taken, torch.arange(len(taken), device=device))
        back.view(models, number)[:, -1] = len(taken)
        return cls(counts, sides[0], sides[1], back)

    def padded(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return rows (K, N, …) as padded sentences: (K, B, P, …) and (K, B, Q, …)."""
        if self.back is None:
            split = self.premise.shape[1] * self.premise.shape[2]
            first, second = x[:, :split], x[:, split:]
            return first.view(*self.premise.shape, -1), second.view(*self.hypothesis.shape, -1)
        sentences: tuple[Tensor, Tensor] = Padded.apply(x, self)  # type: ignore[no-untyped-call]
        return sentences

    def packed(self, first: Tensor, second: Tensor) -> Tensor:
        """Take rows from padded premises and hypotheses; spare rows are zero."""
        if self.back is None:
            return torch.cat([first.flatten(1, 2), second.flatten(1, 2)], 1)
        rows: Tensor = Packed.apply(first, second, self)  # type: ignore[no-untyped-call]
        return rows


class Padded(torch.autograd.Function):
    """Padded sentences of rows, see `Rows.padded`."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, rows: Rows) -> tuple[Tensor, ...]:
        """Return both sides."""
        ctx.rows = rows
        return _padded(x, rows)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        """Return the gradient of the rows; that of padding is left out."""
        return _packed(grads[0], grads[1], ctx.rows), None


class Packed(torch.autograd.Function):
    """Rows of padded sentences, see `Rows.packed`."""

    @staticmethod
    def forward(ctx: Any, first: Tensor, second: Tensor, rows: Rows) -> Tensor:
        """Return the rows."""
        ctx.rows = rows
        return _packed(first, second, rows)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of both sides: at padding that of a spare row, which is zero."""
        return *_padded(grad, ctx.rows), None


def _padded(x: Tensor, rows: Rows) -> tuple[Tensor, ...]:
    flat, sides = x.flatten(0, 1), (rows.premise, rows.hypothesis)
    return tuple(_selected(flat, side.place).view(*side.shape, -1) for side in sides)


def _packed(first: Tensor, second: Tensor, rows: Rows) -> Tensor:
    sides = [side.flatten(0, 2) for side in (first, second)]
    every = torch.cat([*sides, sides[0].new_zeros(1, sides[0].shape[1])])
    return _selected(every, rows.back).view(len(rows.counts), -1, every.shape[1])


def _selected(x: Tensor, place: Tensor | None) -> Tensor:
    assert place is not None  # only called where there is padding
    return x.index_select(0, place)


# Layers of K models


class Dropout(nn.Module):
    """Factors of dropout, which depend on each model's generator and its number of tokens only."""

    # Spare rows draw nothing: a model has the same factors in a stack as without it. The rate is
    # rounded to a multiple of 1/256 (0.2 to 51/256 = 0.1992), for a factor costs one random byte;
    # elements that are kept are scaled by the rounded rate, which makes the expected output the
    # input exactly.

    threshold: int
    scale: float

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.threshold = min(round(rate * LEVELS), LEVELS - 1)
        self.scale = LEVELS / (LEVELS - self.threshold)

    def forward(
        self,
        rows: int,
        width: int,
        counts: Sequence[int],
        generators: Sequence[Generator],
        dtype: torch.dtype,
    ) -> Tensor | None:
        """Draw factors, 0 or the scale, shape (K, rows, width); None if nothing is dropped."""
        # The rows of `counts` tokens stand before any spare ones.
        if not self.training or not self.threshold:
            return None
        drawn = [
            random_bytes(count, rows, width, generator)
            for count, generator in zip(counts, generators, strict=True)
        ]
        return _stacked(drawn).ge_(self.threshold).to(dtype).mul_(self.scale)


def random_bytes(count: int, rows: int, width: int, generator: Generator) -> Tensor:
    """Draw uniform bytes, eight with each random number: ``(rows, width)``, zeros after `count`."""
    words = torch.zeros(-(-rows * width // 8), dtype=torch.int64, device=generator.device)
    words[: -(-count * width // 8)].random_(-(2**63), None, generator=generator)
    return words.view(torch.uint8)[: rows * width].view(rows, width)


class Linear(nn.Module):
    """K linear maps (K, n, in) → (K, n, out)."""

    weight: nn.Parameter
    bias: nn.Parameter | None

    def __init__(self, models: int, inputs: int, outputs: int, bias: bool = True) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(models, inputs, outputs))
        self.bias = nn.Parameter(torch.empty(models, 1, outputs)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """Map the last axis."""
        mapped: Tensor = Products.apply(x, self.weight, self.bias)  # type: ignore[no-untyped-call]
        return mapped


class Products(torch.autograd.Function):
    """K linear maps, in the type of their input."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """Map x, shape (K, n, in), by weights (K, in, out) and biases (K, 1, out): (K, n, out)."""
        weight = weight.to(x.dtype)
        ctx.save_for_backward(x, weight)
        ctx.has_bias = bias is not None
        return product(x, weight, None if bias is None else bias.to(x.dtype))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of x, weights and biases."""
        x, weight = ctx.saved_tensors
        grad = grad.contiguous()
        of_weight, of_bias = of_parameters(x, grad)
        of_x = product(grad, weight.mT) if ctx.needs_input_grad[0] else None
        return of_x, of_weight, of_bias if ctx.has_bias else None


def of_parameters(x: Tensor, grad: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradients of weights and biases, in float32 or more."""
    exact = torch.promote_types(x.dtype, torch.float32)
    # oneDNN in float32 is faster than with x first
    weight = product(grad.mT, x).mT if x.dtype == torch.float32 else torch.bmm(x.mT, grad)
    return weight.to(exact), grad.sum(1, keepdim=True, dtype=exact)


def product(x: Tensor, weight: Tensor, bias: Tensor | None = None, relu: bool = False) -> Tensor:
    """Multiply x (K, n, in) by weights (K, in, out), add biases (K, 1, out): (K, n, out)."""
    if has_fast_products(x):
        kind = "relu" if relu else "none"
        return _stacked(
            [
                fast_product(x[k], weight[k].T, None if bias is None else bias[k, 0], kind)
                for k in range(len(x))
            ]
        )
    products = torch.bmm(x, weight) if bias is None else torch.baddbmm(bias, x, weight)
    return products.relu_() if relu else products


def _stacked(parts: Sequence[Tensor]) -> Tensor:
    return parts[0][None] if len(parts) == 1 else torch.stack(list(parts))


class Feedforward(nn.Module):
    """[Dropout, linear, ReLU] twice: (K, N, in) → (K, N, h)."""

    dropout: Dropout
    first: Linear
    second: Linear

    def __init__(self, models: int, inputs: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.first = Linear(models, inputs, hidden)
        self.second = Linear(models, hidden, hidden)

    def forward(
        self, parts: Sequence[Tensor], counts: Sequence[int], generators: Sequence[Generator]
    ) -> Tensor:
        """Map the last axis of parts that stand beside each other; see `Dropout` for the rest."""
        first, second = self.first, self.second
        _, rows, _ = parts[0].shape
        factors = [
            self.dropout(rows, layer.weight.shape[1], counts, generators, parts[0].dtype)
            for layer in (first, second)
        ]
        mapped: Tensor = TwoLayers.apply(  # type: ignore[no-untyped-call]
            *factors, self.dropout.scale,
            first.weight, first.bias, second.weight, second.bias, *parts,
        )  # fmt: skip
        return mapped


class TwoLayers(torch.autograd.Function):
    """The two layers of `Feedforward`: fewer passes over memory than torch's own gradients make."""

    @staticmethod
    def forward(
        ctx: Any,
        of_input: Tensor | None,
        of_hidden: Tensor | None,
        scale: float,
        first: Tensor,
        first_bias: Tensor,
        second: Tensor,
        second_bias: Tensor,
        *parts: Tensor,
    ) -> Tensor:
        """Map parts (K, N, …), with factors of dropout for the input and the hidden units."""
        dtype = parts[0].dtype
        w1, b1, w2, b2 = (tensor.to(dtype) for tensor in (first, first_bias, second, second_bias))
        widths = [part.shape[2] for part in parts]
        if of_input is None:
            x = torch.cat(parts, 2)
        else:
            x = torch.empty_like(of_input)
            for part, factors, into in zip(
                parts, _beside(of_input, widths), _beside(x, widths), strict=True
            ):
                torch.mul(part, factors, out=into)
        hidden = product(x, w1, b1, relu=True)
        if of_hidden is not None:
            hidden.mul_(of_hidden)
        y = product(hidden, w2, b2, relu=True)
        ctx.save_for_backward(of_input, x, hidden, y, w1, w2)
        ctx.scale = 1.0 if of_hidden is None else scale
        ctx.widths = widths
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of parameters and parts."""
        of_input, x, hidden, y, w1, w2 = ctx.saved_tensors
        above = torch.ops.aten.threshold_backward(grad, y, 0)
        of_second = of_parameters(hidden, above)
        # a hidden unit that was dropped or not above zero is zero
        below = torch.ops.aten.threshold_backward(product(above, (w2 * ctx.scale).mT), hidden, 0)
        of_first = of_parameters(x, below)
        of_x = product(below, w1.mT)
        if of_input is not None:
            of_x.mul_(of_input)
        return None, None, None, *of_first, *of_second, *_beside(of_x, ctx.widths)


def _beside(x: Tensor, widths: Sequence[int]) -> list[Tensor]:
    """Divide the last axis into parts that stand beside each other."""
    ends = list(accumulate(widths))
    return [x[..., end - width : end] for width, end in zip(widths, ends, strict=True)]
