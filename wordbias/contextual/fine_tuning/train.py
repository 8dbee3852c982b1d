"""Training of an encoder with a head, or of the head only, on labelled pairs of sentences."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from wordbias.classifier_training import Recipe, Tuned, train_classifier
from wordbias.contextual.families import base_of, logits_of
from wordbias.contextual.fine_tuning.heads import Headed, encoder_parameters
from wordbias.contextual.labelled_pairs import LabelledPairs
from wordbias.contextual.tokenising import TokenisedPairs, Tokens, batches
from wordbias.devices import threads
from wordbias.distributed import SINGLE, Processes
from wordbias.errors import Interrupted
from wordbias.progress import progress
from wordbias.training import Stack

Places = NDArray[np.intp]
_READ = 4096
"""Number of tokens in a batch that needs no gradient."""
WHOLE = Recipe()
HEAD_ONLY = Recipe(epochs=10, rate=1e-3, head_only=True)


def train_model(
    headed: Headed,
    data: LabelledPairs,
    dev: LabelledPairs,
    recipe: Recipe,
    *,
    checkpoint: Path | None = None,
    log: Path | None = None,
    about: dict[str, Any] | None = None,
    processes: Processes = SINGLE,
) -> Tuned:
    """Train a model in place.

    Parameters
    ----------
    headed
        The model on its device.
    data, dev
        Training data, and the data that choose the best parameters.
    checkpoint
        File that is written after each round, and resumed from if it exists. It is not removed.
    log
        File that gets a line of JSON each round.
    about
        Identity of the training, which must be that of the checkpoint.
    processes
        Processes that train the model together: at every step each reads a batch of the recipe's
        size, as one process would read a batch of them all, and all end with the same parameters.
        The first writes checkpoint and log.

    Raises
    ------
    WordbiasError
        If the loss is not finite, or the checkpoint is of another training.
    """
    recipe = replace(recipe, batch=recipe.batch * processes.count)
    if checkpoint is not None:
        processes.check_same(checkpoint.exists(), str(checkpoint))
    torch.set_num_threads(max(1, threads() // processes.local))
    reader = Cached if recipe.head_only else Reader
    training, evaluated = (Part.of(reader, headed, one, processes) for one in (data, dev))
    try:
        return train_classifier(
            trained_stack(headed.model, recipe.head_only),
            training,
            evaluated,
            recipe,
            checkpoint=checkpoint,
            log=log,
            about=about,
            processes=processes,
            what="fine-tuning",
        )
    except KeyboardInterrupt:
        if checkpoint is None:
            raise
        raise Interrupted("the same call resumes after the last evaluation on dev") from None


def trained_stack(model: nn.Module, head_only: bool) -> Stack:
    """Return the parameters of a model that are trained."""
    fixed = {id(one) for one in encoder_parameters(model)} if head_only else set()
    trained = {name: one for name, one in model.named_parameters() if id(one) not in fixed}
    return Stack(trained, model)


# Pairs as the model reads them


class Reader:
    """Logits of pairs by passes through the whole model."""

    model: Any
    texts: TokenisedPairs
    device: str
    lengths: NDArray[np.intp]

    def __init__(
        self, model: Any, texts: TokenisedPairs, device: str, processes: Processes = SINGLE
    ) -> None:
        self.model, self.texts, self.device = model, texts, device
        self.lengths = np.array([len(one["input_ids"]) for one in texts.tokens])

    def inputs(self, rows: Places) -> tuple[Places, dict[str, Tensor]]:
        """Return the rows in the order of the batch, and the model's inputs."""
        tokens: list[Tokens] = [self.texts.tokens[i] for i in rows]
        ((order, inputs),) = batches(tokens, len(tokens), self.texts.padding)
        return rows[order], {name: x.to(self.device) for name, x in inputs.items()}

    def logits(self, rows: Places) -> tuple[Places, Tensor]:
        """Return the rows in the order of the batch, and their logits."""
        order, inputs = self.inputs(rows)
        found: Tensor = self.model(**inputs).logits
        return order, found


class Cached(Reader):
    """Logits of pairs from the last layer at position 0, computed once, shape ``(n, d)``."""

    first: Tensor

    def __init__(
        self, model: Any, texts: TokenisedPairs, device: str, processes: Processes = SINGLE
    ) -> None:
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
    """Pairs with their target outputs; equal pairs are read once."""

    reader: Reader
    places: Places
    targets: Tensor

    @classmethod
    def of(
        cls,
        kind: type[Reader],
        headed: Headed,
        data: LabelledPairs,
        processes: Processes = SINGLE,
    ) -> Part:
        """Tokenise pairs for a model."""
        texts = TokenisedPairs.of(headed, data.pairs, truncate=True, budget=_READ)
        targets = torch.tensor(headed.places)[torch.from_numpy(data.labels)]
        return cls(kind(headed.model, texts, headed.device, processes), texts.places, targets)

    @property
    def lengths(self) -> Places:
        """Numbers of tokens, shape ``(n,)``."""
        return self.reader.lengths[self.places]

    def batch(self, rows: Places) -> tuple[Tensor, Tensor]:
        """Return logits and targets of some pairs, shapes ``(B, C)`` and ``(B,)``."""
        found, logits = self.reader.logits(self.places[rows])
        order = np.empty(len(rows), np.intp)  # of `rows`, as the reader returned them
        order[np.argsort(found, kind="stable")] = np.argsort(self.places[rows], kind="stable")
        return logits, self.targets[rows[order]].to(logits.device)
