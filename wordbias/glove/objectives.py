r"""The objectives of GloVe and GN-GloVe, and one step of gradient descent on them.

GloVe (Pennington et al. 2014) minimises, over all cells :math:`X_{ij} > 0`,

.. math::
    J_G = \tfrac12 \sum_{ij} f(X_{ij})\,(w_i \cdot \tilde w_j + b_i + \tilde b_j - \log X_{ij})^2,
    \qquad f(x) = \min(1, (x / x_{\max})^\alpha),

and the vector of a word is :math:`w_i + \tilde w_i`. GN-GloVe (Zhao et al. 2018) adds two terms,
with :math:`w = (w^a, w^g)` and :math:`w^g` the last coordinate:

.. math::
    J_D = \sum_{ij} D(w_i) + D(\tilde w_j), \qquad
    J_E = \sum_{ij} E(w_i) + E(\tilde w_j), \qquad J = J_G + \lambda_d J_D + \lambda_e J_E.

For a word of the first group D is :math:`-w^g` with :math:`w^g` bounded by ±1 (L1), or
:math:`(1 - w^g)^2` (L2); for one of the second group the same of :math:`-w^g`; for others D is
zero. E is :math:`(v_g \cdot w^a)^2` for the words of neither group, and zero for the others;
:math:`v_g` is the mean difference of :math:`w^a` over the pairs, taken as a constant.

Each term counts once for every cell of a word, as in the authors' code. The sums over words that
the paper prints would be thousands of times weaker compared with :math:`J_G`, with the same λ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from wordbias.errors import WordbiasError
from wordbias.glove.cooccurrence import Batch
from wordbias.wordlists import resolve, resolve_pairs

Distance = Literal["l1", "l2"]
State = dict[str, Tensor]


@dataclass(frozen=True)
class Recipe:
    """Settings of a training, as its checkpoint stores them."""

    dim: int = 300  # number of values of a vector
    rate: float = 0.05  # learning rate η
    x_max: float = 100.0  # where the weight f reaches 1, and its exponent
    alpha: float = 0.75
    seed: int = 0  # seed of the initial values and of the order of the cells
    lambda_d: float = 0.8  # weights of GN-GloVe's terms
    lambda_e: float = 0.8
    distance: Distance = "l1"  # GN-GloVe's :math:`J_D`, L1 or L2


class Table:
    """Vectors and biases of the words, or of the contexts, with AdaGrad's sums of squares."""

    values: Tensor  # shape `(n, d + 1)`; the last column has the biases
    squares: Tensor  # one, and the sum of the squares of all steps so far, shape `(n, d + 1)`
    _place: Tensor

    def __init__(self, values: Tensor) -> None:
        self.values, self.squares = values, torch.ones_like(values)
        self._place = torch.zeros(len(values), dtype=torch.int64, device=values.device)

    def take(self, rows: Tensor) -> Tensor:
        """Return a copy of some rows, shape ``(n, d + 1)``."""
        return self.values.index_select(0, rows)

    def touched(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return the distinct ones of some rows, in order, and where each row is among them."""
        self._place.zero_()
        self._place[rows.long()] = 1
        distinct = self._place.nonzero().squeeze(1)
        self._place[distinct] = torch.arange(len(distinct), device=rows.device)
        return distinct, self._place[rows.long()]

    def adagrad(self, rows: Tensor, steps: Tensor) -> Tensor:
        """Subtract steps η·gradient, divided as AdaGrad does; return the rows that were changed."""
        # As in GloVe's code, a step is divided by the root of one plus the squares of the steps
        # before it, its own left out. The steps of a batch are all divided by those before the
        # batch.
        distinct, place = self.touched(rows)
        empty = steps.new_zeros(len(distinct), steps.shape[1])
        total = empty.index_add(0, place, steps)
        squares = empty.index_add_(0, place, steps * steps)
        before = self.squares.index_select(0, distinct)
        self.values.index_add_(0, distinct, total.div_(before.sqrt_()), alpha=-1)
        self.squares.index_add_(0, distinct, squares)
        return distinct

    def subtract(self, rows: Tensor, steps: Tensor) -> None:
        """Subtract steps η·gradient, as plain gradient descent does."""
        self.values.index_add_(0, rows, steps, alpha=-1)


class GloVe:
    """GloVe's parameters, on a device: two tables, initially uniform between ±.5 / (d + 1)."""

    words: Table
    contexts: Table
    recipe: Recipe
    often: float = 10.0
    """Mean number of times that the most frequent word is in a batch: the steps of one batch are
    all computed from the values before it."""

    def __init__(
        self,
        words: int,
        recipe: Recipe,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        self.recipe = recipe
        rng = np.random.default_rng([recipe.seed, 1])
        width = recipe.dim + 1
        first, second = (
            torch.from_numpy((rng.random((words, width), np.float32) - np.float32(0.5)) / width)
            for _ in range(2)
        )
        self.words, self.contexts = Table(first.to(device, dtype)), Table(second.to(device, dtype))

    def step(self, batch: Batch) -> Tensor:
        """Do one step on a batch of cells; return the sum of their parts of J_G."""
        rows, columns, counts = self.moved(batch)
        w, c = self.words.take(rows), self.contexts.take(columns)
        error, loss = self._errors(w, c, counts)
        word_steps, context_steps = self._steps(w, c, error)
        self._change(self.words, rows, w, word_steps)
        self._change(self.contexts, columns, c, context_steps)
        return loss

    def moved(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """Return a batch as tensors on the device."""
        values = self.words.values
        rows, columns, counts = (torch.from_numpy(part).to(values.device) for part in batch)
        return rows, columns, counts.to(values.dtype)

    def _errors(self, w: Tensor, c: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
        """Return f times the difference to log X for each cell, and the sum of J_G."""
        d = self.recipe.dim
        difference = torch.einsum("nd,nd->n", w[:, :d], c[:, :d])
        difference += w[:, d] + c[:, d] - counts.log()
        weight = (counts / self.recipe.x_max).pow_(self.recipe.alpha).clamp_(max=1)
        error = weight * difference
        return error, torch.dot(error, difference) / 2

    def _steps(self, w: Tensor, c: Tensor, error: Tensor) -> tuple[Tensor, Tensor]:
        """Return η times the gradient of J_G for the words and contexts of each cell."""
        scale = (self.recipe.rate * error)[:, None]
        steps = c * scale, w * scale
        for step in steps:
            step[:, -1:] = scale  # biases
        return steps

    def _change(self, table: Table, rows: Tensor, values: Tensor, steps: Tensor) -> None:
        """Change the rows of a table by their steps; `values` are the rows before."""
        table.adagrad(rows, steps)

    def start_epoch(self) -> None:
        """Prepare for an epoch."""

    def state(self) -> State:
        """Return the tensors that training goes on from."""
        return {
            "words": self.words.values,
            "contexts": self.contexts.values,
            "word_squares": self.words.squares,
            "context_squares": self.contexts.squares,
        }

    def load(self, state: State) -> None:
        """Set the tensors that training goes on from."""
        for name, tensor in self.state().items():
            stored = state[name]
            if stored.shape != tensor.shape or stored.dtype != tensor.dtype:
                raise ValueError(
                    f"{name}: expected {tensor.dtype} of shape {tuple(tensor.shape)}, found "
                    f"{stored.dtype} of shape {tuple(stored.shape)}"
                )
            if not stored.isfinite().all():
                raise ValueError(f"{name}: has a value that is not finite")
            tensor.copy_(stored)

    def vectors(self) -> np.ndarray[Any, np.dtype[np.float32]]:
        """Return the vectors, words plus contexts without biases, shape ``(n, d)``."""
        both = self.words.values[:, :-1] + self.contexts.values[:, :-1]
        return both.float().cpu().numpy()

    def terms(self) -> dict[str, float]:
        """Return means of other terms of the objective than J_G, for a log."""
        return {}


@dataclass(frozen=True)
class Gendered:
    """Words of two groups, by their row numbers in a vocabulary."""

    # words of each group. A word of both has no :math:`J_D`, and is not neutral either.
    first: tuple[int, ...]
    second: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]  # pairs, the first group's word first
    listed: int  # number of pairs in the lists, found or not

    @classmethod
    def find(
        cls,
        pairs: Sequence[tuple[str, str]],
        index: Mapping[str, int],
        what: str = "",
        *,
        repeated: bool = False,
        source: str = "--groups FILE",
    ) -> Gendered:
        """Find pairs in a vocabulary, and each word of theirs, with its partner or without."""
        # If `repeated`, a pair that is listed twice counts as two.
        resolved = resolve_pairs(pairs, index, what).at_least(
            1, f"give pairs that the corpus has with {source}, more text or a lower --min-count"
        )
        first, second = (
            tuple(index[word] for word in resolve(words, index).found)
            for words in zip(*pairs, strict=True)
        )
        if set(first) <= set(second) or set(second) <= set(first):
            raise WordbiasError(
                f"{what}: all words of one group are in the other too, which does not tell them "
                "apart; list each word on one side of its pairs"
            )
        every = [pair for listed in pairs for pair in resolve_pairs([listed], index).found]
        rows = tuple((index[a], index[b]) for a, b in (every if repeated else resolved.found))
        return cls(first, second, rows, len(pairs if repeated else set(pairs)))


class GNGloVe(GloVe):
    """GN-GloVe's parameters: those of GloVe, and which words are gendered.

    :math:`v_g` is computed for every batch, from the mean of word and context vectors, because
    their sum is what is saved.
    """

    # 1 for a word of the first group, -1 for one of the second, otherwise 0, shape `(n,)`
    side: Tensor
    neutral: Tensor  # 1 for a word of neither group, otherwise 0, shape `(n,)`
    pairs: Tensor  # row numbers, shape `(k, 2)`
    _v: Tensor

    def __init__(
        self,
        words: int,
        recipe: Recipe,
        gendered: Gendered,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__(words, recipe, device, dtype)
        self.pairs = torch.tensor(gendered.pairs, device=device).reshape(-1, 2)
        self.side = torch.zeros(words, dtype=dtype, device=device)
        self.neutral = torch.ones_like(self.side)
        for rows, sign in ((gendered.first, 1), (gendered.second, -1)):
            self.side[torch.tensor(rows, dtype=torch.int64, device=device)] += sign
            self.neutral[torch.tensor(rows, dtype=torch.int64, device=device)] = 0

    def direction(self) -> Tensor:
        """Return v_g, shape ``(d - 1,)``."""
        words = self.pairs.flatten()
        both = (self.words.take(words) + self.contexts.take(words))[:, : self.recipe.dim - 1] / 2
        return (both[0::2] - both[1::2]).mean(0)

    def step(self, batch: Batch) -> Tensor:
        """Do one step on a batch of cells; return the sum of their parts of J_G."""
        self._v = self.direction()
        return super().step(batch)

    def _change(self, table: Table, rows: Tensor, values: Tensor, steps: Tensor) -> None:
        """Add the steps of both terms, change the rows, and bound w_g (L1)."""
        recipe, last = self.recipe, self.recipe.dim - 1
        along = values[:, :last] @ self._v
        along *= 2 * recipe.rate * recipe.lambda_e * self.neutral.index_select(0, rows)
        steps[:, :last].addr_(along, self._v)
        side = self.side.index_select(0, rows)
        if recipe.distance == "l1":
            steps[:, last] -= recipe.rate * recipe.lambda_d * side
        else:
            far = (values[:, last] - side) * side.abs()
            steps[:, last] += 2 * recipe.rate * recipe.lambda_d * far
        changed = table.adagrad(rows, steps)
        if recipe.distance == "l1":
            gendered = changed[self.side.index_select(0, changed) != 0]
            table.values[gendered, last] = table.values[gendered, last].clamp(-1, 1)

    def terms(self) -> dict[str, float]:
        """Return how far apart the groups' means of w_g are, and the mean of E of neutral words."""
        # Both are of halves of the vectors that are saved. Without neutral words there is no E.
        both = (self.words.values + self.contexts.values)[:, :-1] / 2
        first, second = (self.side == 1, self.side == -1)
        neutral = (both[:, :-1] @ self.direction()).square() * self.neutral
        terms = {"distance": float(both[first, -1].mean() - both[second, -1].mean())}
        if self.neutral.any():
            terms["orthogonality"] = float(neutral.sum() / self.neutral.sum())
        return terms


class PublishedGNGloVe(GNGloVe):
    """GN-GloVe as in the authors' code, with its deviations from their paper.

    - AdaGrad is switched off: plain gradient descent at a constant rate.
    - After each step every coordinate of the vectors is bounded by ±1, not only :math:`w^g` of the
      gendered words.
    - :math:`v_g` is computed once an epoch, from word vectors only, added to that of the epoch
      before, and divided by the number of pairs in the lists, not of those that were found.
    - Initially :math:`w^g` is 1 for the words of the first group and -1 for those of the second, in
      the word vectors, not in the context vectors.
    - The steps of the two terms follow that of :math:`J_G`, from the values that it has changed.

    :math:`J_D` is L1. Where a word is in a batch m times, the steps of the two terms are repeated m
    times.
    """

    often: float = 1.0
    listed: int
    total: Tensor
    """v_g, which is kept from epoch to epoch, shape ``(d - 1,)``."""

    def __init__(
        self,
        words: int,
        recipe: Recipe,
        gendered: Gendered,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__(words, recipe, gendered, device, dtype)
        self.listed = gendered.listed
        self.total = self.words.values.new_zeros(recipe.dim - 1)
        last = self.words.values[:, recipe.dim - 1]
        last.copy_(torch.where(self.side == 0, last, self.side))

    def start_epoch(self) -> None:
        """Compute v_g, and keep it for the epoch."""
        words = self.words.take(self.pairs.flatten())[:, : self.recipe.dim - 1]
        self.total += (words[0::2] - words[1::2]).sum(0)
        self.total /= self.listed

    def direction(self) -> Tensor:
        """Return v_g, shape ``(d - 1,)``."""
        return self.total

    def _change(self, table: Table, rows: Tensor, values: Tensor, steps: Tensor) -> None:
        """Subtract the steps of J_G, then those of the other terms, and bound the vectors."""
        recipe, last, v = self.recipe, self.recipe.dim - 1, self._v
        table.subtract(rows, steps)
        changed, place = table.touched(rows)
        new = table.take(changed)
        times = torch.bincount(place, minlength=len(changed)).to(new.dtype)
        new[:, last] += recipe.rate * recipe.lambda_d * times * self.side[changed]
        # one step shrinks the part along v by this factor
        length = torch.dot(v, v)
        factor = (1 - 2 * recipe.rate * recipe.lambda_e * length).pow(times) - 1
        along = factor * self.neutral[changed] * (new[:, :last] @ v)
        new[:, :last].addr_(along / length.clamp(min=torch.finfo(new.dtype).tiny), v)
        new[:, :-1].clamp_(-1, 1)
        table.values.index_copy_(0, changed, new)

    def state(self) -> State:
        """Return the tensors that training goes on from."""
        return {**super().state(), "direction": self.total}
