"""How far a training has come, and which of its parameters were best."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from wordbias.checkpoints import State

_PER_MODEL = ("loss", "dev", "best")


@dataclass
class Course:
    """How far a training has come.

    Attributes
    ----------
    best
        Each model's parameters when it scored best, stacked; a true copy.
    score, epoch
        Those best scores, and the epochs (from 1) they were reached in, shape ``(K,)``.
    waited
        Epochs since then, shape ``(K,)``; ``epoch + waited`` is how many a model was trained.
    done
        Epochs behind us.
    history
        One entry an epoch: `epoch`, `seconds`, and with an item for each model `loss`, `dev`,
        `best`, and `going`, whether it was still trained.
    """

    best: State
    score: Tensor
    epoch: Tensor
    waited: Tensor
    done: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def begin(cls, model: nn.Module) -> Course:
        """Start with the untrained parameters."""
        best = _copy(model)
        k = len(next(iter(best.values())))
        score = torch.full((k,), -torch.inf, dtype=torch.float64)
        return cls(best, score, torch.zeros(k, dtype=torch.int64), torch.zeros_like(score).long())

    def judge(self, model: nn.Module, score: Tensor, patience: int | None) -> None:
        """Keep what is better; a model that has waited `patience` epochs is not judged again."""
        going = self.going(patience)
        better = going & (score > self.score)
        self.done += 1
        self.score = torch.where(better, score.double(), self.score)
        self.epoch = torch.where(better, self.done, self.epoch)
        self.waited = torch.where(better, 0, self.waited + going.long())
        for name, parameter in model.state_dict().items():
            self.best[name][better] = parameter.detach().cpu()[better]

    def going(self, patience: int | None) -> Tensor:
        """Whether each model is still trained, shape ``(K,)``."""
        if patience is None:
            return torch.ones_like(self.waited, dtype=torch.bool)
        return self.waited < patience

    def lines(self, k: int) -> list[str]:
        """Write the history of one model, a line of JSON for every epoch that it was trained."""
        return [
            json.dumps(
                {
                    "epoch": entry["epoch"],
                    **{key: entry[key][k] for key in _PER_MODEL},
                    "seconds": entry["seconds"],
                }
            )
            for entry in self.history
            if entry["going"][k]
        ]


def _copy(model: nn.Module) -> State:
    return {name: value.detach().cpu().clone() for name, value in model.state_dict().items()}
