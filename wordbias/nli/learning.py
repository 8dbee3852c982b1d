"""Training decomposable attention: what the training loop needs to know of NLI."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from wordbias.nli.batches import Encoded, Ints, Padded
from wordbias.nli.model import DecomposableAttention
from wordbias.nli.recipes import Recipe

_DEV_BATCH = 512


class Learning:
    """K models on the same pairs, each with vectors, a seed and an order of its own.

    Parameters
    ----------
    model
        Stacked, K models.
    tables
        Vectors of the lexicon's tokens for each model, shape ``(K, v, d)``.
    train, dev
        Pairs, encoded by the lexicon.
    recipe
        Its batch size is used.
    seeds
        K seeds: of order and dropout.
    half
        Compute in bfloat16 where that loses little.
    """

    model: DecomposableAttention
    tables: Tensor
    train: Encoded
    dev: Encoded
    recipe: Recipe
    seeds: tuple[int, ...]
    half: bool
    device: torch.device
    first: Tensor

    def __init__(
        self,
        model: DecomposableAttention,
        tables: Tensor,
        train: Encoded,
        dev: Encoded,
        recipe: Recipe,
        seeds: Sequence[int],
        half: bool = False,
    ) -> None:
        self.model, self.tables, self.train, self.dev = model, tables, train, dev
        self.recipe, self.seeds, self.half = recipe, tuple(seeds), half
        self.device = tables.device
        self.first = torch.arange(len(tables), device=self.device) * tables.shape[1]

    def steps(self) -> int:
        """Return the batches of an epoch."""
        return -(-len(self.train) // self.recipe.batch)

    def losses(self, epoch: int) -> Iterator[Tensor]:
        """Yield the mean negative log-likelihood of every batch, shape ``(K,)``."""
        drawn = {seed: self.train.order(self.recipe.batch, seed, epoch) for seed in set(self.seeds)}
        generators = [generator(self.device, seed, epoch) for seed in self.seeds]
        for batches in zip(*(drawn[seed] for seed in self.seeds), strict=True):
            found = self.predict(self.train, batches, generators)  # (K, B, 3)
            labels = torch.from_numpy(np.stack([self.train.labels[rows] for rows in batches]))
            wanted = labels.to(self.device)[..., None]  # (K, B, 1)
            yield -found.gather(-1, wanted).mean((1, 2))

    def score(self) -> Tensor:
        """Return the accuracy on dev, shape ``(K,)``."""
        return self.accuracy(self.dev)

    def accuracy(self, pairs: Encoded) -> Tensor:
        """Return the accuracy on any pairs, shape ``(K,)``, in float64: a share of whole pairs."""
        right = torch.zeros(len(self.seeds), dtype=torch.int64, device=self.device)
        for rows in pairs.in_order_of_length(_DEV_BATCH):
            found = self.predict(pairs, [rows] * len(self.seeds)).argmax(-1)  # (K, B)
            right += (found == torch.from_numpy(pairs.labels[rows]).to(self.device)).sum(1)
        return right.cpu().double() / len(pairs)

    def predict(
        self, pairs: Encoded, batches: Sequence[Ints], generators: Sequence[Generator] = ()
    ) -> Tensor:
        """Compute log-probabilities of each model's batch, shape ``(K, B, 3)``."""
        sides = [
            together([pairs.sentences.pad(side[rows]) for rows in batches])
            for side in (pairs.premise, pairs.hypothesis)
        ]
        (p, real_p), (q, real_q) = (self._embed(*side) for side in sides)
        with self._precision():
            found: Tensor = self.model(p, q, real_p, real_q, generators)
        return found

    def _embed(self, ids: NDArray[np.int32], real: NDArray[np.bool_]) -> tuple[Tensor, Tensor]:
        """Look up vectors, shape (K, B, L, d), in all models' tables at once."""
        numbers = torch.from_numpy(ids).to(self.device) + self.first[:, None, None]  # (K, B, L)
        vectors = F.embedding(numbers, self.tables.flatten(0, 1))
        return vectors, torch.from_numpy(real).to(self.device)

    def _precision(self) -> AbstractContextManager[object]:
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.half)


def together(padded: Sequence[Padded]) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Stack the batches of several models, padded to the longest, shapes ``(K, B, L)``."""
    if len(padded) == 1:
        return padded[0].ids[None], padded[0].real[None]
    length = max(one.ids.shape[1] for one in padded)
    ids, real = (
        np.stack([np.pad(x, ((0, 0), (0, length - x.shape[1]))) for x in side])
        for side in zip(*padded, strict=True)
    )
    return ids, real


def generator(device: torch.device, seed: int, epoch: int) -> Generator:
    """Make a generator that depends on a model's seed and the epoch only."""
    drawn = np.random.default_rng([seed, epoch, 1]).integers(2**62)
    return Generator(device).manual_seed(int(drawn))


def initialise(model: nn.Module, recipe: Recipe, seeds: Sequence[int]) -> None:
    """Draw the parameters of stacked models, each from its own seed."""
    with torch.no_grad():
        for k, seed in enumerate(seeds):
            source = Generator().manual_seed(seed)
            for name, parameter in model.named_parameters():
                parameter[k] = _drawn(name, parameter[k], recipe, source)


def _drawn(name: str, like: Tensor, recipe: Recipe, source: Generator) -> Tensor:
    if recipe.initial == "normal":
        return torch.empty(like.shape).normal_(0, 0.01, generator=source)
    if not name.endswith("weight"):
        return torch.zeros(like.shape)
    bound = (6 / sum(like.shape)) ** 0.5
    return torch.empty(like.shape).uniform_(-bound, bound, generator=source)


def make_optimizer(model: nn.Module, recipe: Recipe) -> torch.optim.Optimizer:
    """Make the recipe's optimizer."""
    kinds = {"adagrad": torch.optim.Adagrad, "adam": torch.optim.Adam}
    made: torch.optim.Optimizer = kinds[recipe.optimizer](
        model.parameters(), lr=recipe.rate, weight_decay=recipe.weight_decay
    )
    return made
