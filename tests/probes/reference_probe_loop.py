"""The per-block loop that published code trains its probes with, written out in torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from wordbias.devices import torch_threads
from wordbias.probes import linear, mlp
from wordbias.probes.train import Job, Recipe


@dataclass(frozen=True)
class Looped:
    """What one probe came to."""

    loss: float
    right: int
    epochs: int
    weights: list[np.ndarray]


def network(recipe: Recipe, seed: int, block: int, d: int, k: int, dtype: Any) -> nn.Module:
    """Make the probe that ours begin as."""
    if recipe.probe == "linear":
        first = linear.initial_weights(seed, block, d, k)
        probe: nn.Module = nn.Linear(d, k)
        parts = [first[:, :-1], first[:, -1]]
    else:
        h = d // 2
        flat = mlp.initial_weights(seed, block, d, k)
        w1, b1, w2, b2 = np.split(flat, np.cumsum([h * d, h, k * h]))
        probe = nn.Sequential(nn.Linear(d, h), nn.Tanh(), nn.Linear(h, k))
        parts = [w1.reshape(h, d), b1, w2.reshape(k, h), b2]
    with torch.no_grad():
        for parameter, part in zip(probe.parameters(), parts, strict=True):
            parameter.copy_(torch.from_numpy(np.ascontiguousarray(part)))
    return probe.to(dtype)


def loop(
    x: np.ndarray, job: Job, k: int, recipe: Recipe, dtype: Any = torch.float32
) -> list[Looped]:
    """Train one probe after another; the best weights are a copy unless the recipe says last."""
    with torch_threads():
        return _loop(x, job, k, recipe, dtype)


def _loop(x: np.ndarray, job: Job, k: int, recipe: Recipe, dtype: Any) -> list[Looped]:
    vectors = torch.from_numpy(x[job.order]).to(dtype)
    labels = torch.from_numpy(job.labels[job.order])
    return [
        _block(vectors, labels, job, block, k, recipe, dtype)
        for block in range(len(job.schedule.train))
    ]


def _block(
    x: torch.Tensor, y: torch.Tensor, job: Job, block: int, k: int, recipe: Recipe, dtype: Any
) -> Looped:
    net = network(recipe, job.seed, block, x.shape[1], k, dtype)
    optimizer = torch.optim.AdamW(net.parameters(), lr=recipe.rate, weight_decay=recipe.decay)
    lowest, since, best, epochs = float("inf"), 0, None, 0
    size, (a, b) = job.schedule.train[block], job.schedule.dev[block]
    while epochs < recipe.epochs and since <= recipe.patience:
        epochs += 1
        for start in range(0, size, recipe.batch):
            part = slice(start, min(start + recipe.batch, size))
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(x[part]), y[part], reduction="sum").backward()
            optimizer.step()
        with torch.no_grad():
            loss = float(nn.functional.cross_entropy(net(x[a:b]), y[a:b], reduction="sum"))
        if loss < lowest - recipe.tolerance:
            lowest, since = loss, 0
            best = {name: value.clone() for name, value in net.state_dict().items()}
        else:
            since += 1
    if best is not None and not recipe.last:
        net.load_state_dict(best)
    a, b = job.schedule.test[block]
    with torch.no_grad():
        z = net(x[a:b])
        tested = float(nn.functional.cross_entropy(z, y[a:b], reduction="sum"))
    weights = [parameter.detach().numpy().copy() for parameter in net.parameters()]
    return Looped(tested, int((z.argmax(-1) == y[a:b]).sum()), epochs, weights)
