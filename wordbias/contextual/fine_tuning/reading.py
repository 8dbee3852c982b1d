"""Logits of labelled pairs: by whole passes, or from what the encoder put out once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordbias.contextual.encoding import Tokens, batches
from wordbias.contextual.families import base_of
from wordbias.contextual.fine_tuning.heads import Headed
from wordbias.contextual.fine_tuning.pairs import LabelledPairs
from wordbias.contextual.fine_tuning.several import ALONE, Processes
from wordbias.contextual.heads import logits_of
from wordbias.contextual.sweep.texts import Texts
from wordbias.progress import progress

Places = NDArray[np.intp]
_READ = 4096
"""Tokens that are read at a time where no gradient is wanted."""


class Reader:
    """Logits of pairs, by whole passes."""

    model: Any
    texts: Texts
    device: str
    lengths: NDArray[np.intp]

    def __init__(self, model: Any, texts: Texts, device: str, processes: Processes = ALONE) -> None:
        self.model, self.texts, self.device = model, texts, device
        self.lengths = np.array([len(one["input_ids"]) for one in texts.tokens])

    def inputs(self, rows: Places) -> tuple[Places, dict[str, Tensor]]:
        """Return the rows in the order in which they are read, and the model's inputs."""
        tokens: list[Tokens] = [self.texts.tokens[i] for i in rows]
        ((order, inputs),) = batches(tokens, len(tokens), self.texts.padding)
        return rows[order], {name: x.to(self.device) for name, x in inputs.items()}

    def logits(self, rows: Places) -> tuple[Places, Tensor]:
        """Return rows in some order, and their logits."""
        order, inputs = self.inputs(rows)
        found: Tensor = self.model(**inputs).logits
        return order, found


class Cached(Reader):
    """Logits of pairs whose last layer at position 0 was computed once, shape ``(n, d)``."""

    first: Tensor

    def __init__(self, model: Any, texts: Texts, device: str, processes: Processes = ALONE) -> None:
        super().__init__(model, texts, device)
        first = torch.zeros(len(texts.tokens), model.config.hidden_size)
        own = texts.batches[processes.rank :: processes.count]
        model.eval()
        with torch.inference_mode(), progress("encoding", sum(map(len, own)), "pair") as bar:
            for rows in own:
                order, inputs = self.inputs(rows)
                first[order] = base_of(model)(**inputs)[0][:, 0].float().cpu()
                bar.update(len(rows))
        self.first = processes.summed(first)

    def logits(self, rows: Places) -> tuple[Places, Tensor]:
        """Return the rows, and their logits."""
        return rows, logits_of(self.model, self.first[rows].to(self.device))


@dataclass(frozen=True, eq=False)
class Part:
    """Pairs with the outputs they should have; equal pairs are read as one."""

    reader: Reader
    places: Places
    targets: Tensor

    @classmethod
    def of(
        cls,
        kind: type[Reader],
        headed: Headed,
        data: LabelledPairs,
        processes: Processes = ALONE,
    ) -> Part:
        """Tokenise pairs for a model."""
        texts = Texts.of(headed, data.pairs, truncate=True, budget=_READ)
        targets = torch.tensor(headed.places)[torch.from_numpy(data.labels)]
        return cls(kind(headed.model, texts, headed.device, processes), texts.places, targets)

    def logits(self, rows: Places) -> tuple[Tensor, Tensor]:
        """Return logits and targets of some pairs, shapes ``(B, C)`` and ``(B,)``."""
        found, logits = self.reader.logits(self.places[rows])
        order = _matching(self.places[rows], found)
        return logits, self.targets[rows[order]].to(logits.device)


def _matching(wanted: Places, found: Places) -> Places:
    """Return an order in which `wanted` is `found`."""
    order = np.empty(len(wanted), np.intp)
    order[np.argsort(found, kind="stable")] = np.argsort(wanted, kind="stable")
    return order
