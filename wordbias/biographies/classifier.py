"""The classifier: a linear layer on one vector of a text, and the encoder that makes the vector.

Orgad et al. (2022, appendix A.1) put one linear layer on the last hidden state of the first token.
So what is probed and what the layer is retrained on are the same vectors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from wordbias.checkpoints import State


class Classifier(nn.Module):
    """A last layer and, if it is trained too, the encoder below it.

    For `wordbias.training` it is a stack of one: its state has a first axis of length 1.

    Parameters
    ----------
    head
        From d dimensions to the classes.
    encoder
        None where vectors are given.
    """

    head: nn.Linear
    encoder: nn.Module | None

    def __init__(self, head: nn.Linear, encoder: nn.Module | None = None) -> None:
        super().__init__()
        self.head, self.encoder = head, encoder

    def state_dict(self, *_: Any, **__: Any) -> State:  # type: ignore[override]
        """Return the parameters, as a stack of one."""
        return {name: one.detach()[None] for name, one in self.named_parameters()}

    def load_state_dict(self, state: Any, *_: Any, **__: Any) -> None:  # type: ignore[override]
        """Take parameters of a stack of one."""
        with torch.no_grad():
            for name, one in self.named_parameters():
                one.copy_(state[name][0])


def new_head(dim: int, classes: int, seed: int) -> nn.Linear:
    """Draw a last layer as torch does; the state of its generator stays as it is."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Linear(dim, classes)


def predictions(head: nn.Linear, vectors: NDArray[np.float32]) -> NDArray[np.intp]:
    """Return the class that a last layer gives to each vector, shape ``(n,)``."""
    weights, bias = (one.detach().cpu() for one in (head.weight, head.bias))
    with torch.inference_mode():
        logits: Tensor = torch.from_numpy(np.array(vectors)) @ weights.T + bias
    found: NDArray[np.intp] = logits.argmax(1).numpy().astype(np.intp)
    return found
