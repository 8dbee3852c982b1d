"""AdamW as encoders are fine-tuned with it: matrices alone decay, long gradients are cut."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn


def adamw(
    parameters: Sequence[Tensor],
    rate: float,
    decay: float,
    *,
    clip: float | None = None,
    flat_decay: float = 0.0,
    first: Callable[[Sequence[Tensor]], None] | None = None,
) -> torch.optim.Optimizer:
    """Make an optimizer.

    Parameters
    ----------
    decay, flat_decay
        Weight decay of matrices, and of biases and norms.
    clip
        Norm that gradients are cut to before each step.
    first
        Done with the parameters before that, such as averaging over processes.
    """
    groups = [
        {"params": [one for one in parameters if one.ndim > 1], "weight_decay": decay},
        {"params": [one for one in parameters if one.ndim < 2], "weight_decay": flat_decay},
    ]
    optimizer = torch.optim.AdamW(groups, lr=rate, fused=True)

    def before(*_: Any) -> None:
        if first is not None:
            first(parameters)
        if clip is not None:
            nn.utils.clip_grad_norm_(parameters, clip)

    optimizer.register_step_pre_hook(before)
    return optimizer
