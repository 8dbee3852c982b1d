"""Classifier of occupations: a linear layer on one vector of a text, and the encoder below it.

Orgad et al. (2022, appendix A.1) put one linear layer on the last hidden state of the first token,
so that the vectors that are probed are also those that the layer is retrained on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from wordbias.biographies.data import Biographies
from wordbias.biographies.encoding import EncodingSettings, Float32, unwrapped
from wordbias.biographies.plan import Recipe
from wordbias.checkpoints import State, difference, write_checkpoint
from wordbias.contextual.fine_tuning.fine_tune import ABOUT
from wordbias.contextual.fine_tuning.train import Rounds, adamw, bucketed, schedule
from wordbias.errors import WordbiasError
from wordbias.formats.files import new_folder
from wordbias.pretrained import need_transformers, silent
from wordbias.probes.encoder import Encoder
from wordbias.probes.encoding import EncodingJob, pooled_tokens
from wordbias.probes.tokenising import padded
from wordbias.rendering import as_json
from wordbias.training import train

Places = NDArray[np.intp]
HEAD = "head.safetensors"


class Classifier(nn.Module):
    """A last layer and, if it is trained too, the encoder below it.

    For `wordbias.training` it is a stack of one: its state has a first axis of length 1.

    Parameters
    ----------
    head
        Linear map from d dimensions to the classes.
    encoder
        None if the vectors are given.
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
        """Set the parameters from a stack of one."""
        with torch.no_grad():
            for name, one in self.named_parameters():
                one.copy_(state[name][0])


def new_head(dim: int, classes: int, seed: int) -> nn.Linear:
    """Draw a last layer as torch does, without changing the state of its generator."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Linear(dim, classes)


def predict(head: nn.Linear, vectors: Float32) -> Places:
    """Return the class that a last layer gives to each vector, shape ``(n,)``."""
    weights, bias = (one.detach().cpu() for one in (head.weight, head.bias))
    with torch.inference_mode():
        logits: Tensor = torch.from_numpy(np.array(vectors)) @ weights.T + bias
    found: Places = logits.argmax(1).numpy().astype(np.intp)
    return found


class Fitted(NamedTuple):
    """A last layer, its accuracy on dev, and the evaluation, from 1, at which that was best."""

    head: nn.Linear
    accuracy: float
    round: int


class Labelled(NamedTuple):
    """Vectors, shape ``(n, d)``, and their classes, shape ``(n,)``."""

    vectors: Float32
    labels: Places


def train_head(
    training: Labelled, dev: Labelled, classes: int, recipe: Recipe, what: str = "last layer"
) -> Fitted:
    """Train a new last layer; the recipe's seed draws it and orders the batches.

    Orgad et al. (2022, §4.2) retrain it so on the original data: bias that comes back had only been
    hidden by debiasing.

    Raises
    ------
    WordbiasError
        If there is nothing to train on, or the loss is no number.
    """
    head = new_head(training.vectors.shape[1], classes, recipe.seed)
    examples, evaluated = (_VectorExamples(head, *part) for part in (training, dev))
    return train_classifier(Classifier(head), examples, evaluated, recipe, what=what)


class _VectorExamples:
    """Vectors as examples."""

    lengths: Places
    targets: Tensor

    def __init__(self, head: nn.Linear, vectors: Float32, labels: Places) -> None:
        self.head, self.vectors = head, torch.from_numpy(np.array(vectors, np.float32))
        self.lengths, self.targets = np.zeros(len(labels), np.intp), torch.from_numpy(labels)

    def logits(self, rows: Places) -> Tensor:
        """Return the scores of some of them."""
        found: Tensor = self.head(self.vectors[torch.from_numpy(rows)])
        return found


def fine_tune(
    encoder: Encoder,
    training: Biographies,
    dev: Biographies,
    recipe: Recipe,
    settings: EncodingSettings,
    *,
    checkpoint: Path | None = None,
    about: Mapping[str, Any] | None = None,
    what: str = "fine-tuning",
) -> Fitted:
    """Train an encoder in place, with a new last layer.

    Both end with the parameters that were best on dev; see `train_classifier`.
    """
    head = new_head(encoder.dim, len(training.classes), recipe.seed).to(encoder.device)
    examples, evaluated = (TextExamples(encoder, head, settings, part) for part in (training, dev))
    model = Classifier(head, encoder.model)
    return train_classifier(
        model, examples, evaluated, recipe, checkpoint=checkpoint, about=about, what=what
    )


class TextExamples:
    """Biographies as examples, encoded by the encoder that is trained."""

    lengths: Places
    targets: Tensor

    def __init__(
        self, encoder: Encoder, head: nn.Linear, settings: EncodingSettings, bios: Biographies
    ) -> None:
        self.encoder, self.head = encoder, head
        self.targets = torch.from_numpy(bios.labels)
        self.lengths = np.empty(0, np.intp)
        if len(bios):
            self.work = EncodingJob.of(encoder, bios.texts, settings=settings.for_encoder(encoder))
            self.lengths = self.work.tokens.lengths[self.work.texts]

    def logits(self, rows: Places) -> Tensor:
        """Return the scores of some of them, shape ``(B, C)``."""
        distinct = self.work.texts[rows]
        given = padded(self.work.tokens, distinct, self.encoder.tokenizer)
        device = self.encoder.device
        inputs = {name: torch.from_numpy(x).to(device) for name, x in given.items()}
        states = self.encoder.model(**inputs)[0].float()
        found: Tensor = self.head(self._pooled(states, distinct))
        return found

    def _pooled(self, states: Tensor, distinct: Places) -> Tensor:
        """Return the vectors that `wordbias.probes.encoding` would, shape ``(B, d)``."""
        if self.work.settings.pooling == "first":
            return states[:, 0]
        shares = np.zeros(states.shape[:2], np.float32)
        for i, text in enumerate(distinct.tolist()):
            chosen = pooled_tokens(self.work.tokens, text, self.work.settings)
            shares[i, : len(chosen)] = chosen / chosen.sum()
        return torch.einsum("bt,btd->bd", torch.from_numpy(shares).to(states), states)


# training


class Examples(Protocol):
    """Data that a classifier is trained or evaluated on.

    Attributes
    ----------
    lengths
        Lengths of the texts, shape ``(n,)``; a batch has similar ones.
    targets
        Class numbers, shape ``(n,)``.
    """

    lengths: Places
    targets: Tensor

    def logits(self, rows: Places) -> Tensor:
        """Return the scores of some of them, shape ``(B, C)``."""


def train_classifier(
    model: Classifier,
    training: Examples,
    dev: Examples,
    recipe: Recipe,
    *,
    checkpoint: Path | None = None,
    about: Mapping[str, Any] | None = None,
    what: str = "training",
) -> Fitted:
    """Train a classifier in place; it ends with the parameters that were best on dev.

    Parameters
    ----------
    recipe
        Settings; the seed decides the order of the batches and dropout.
    checkpoint
        File written after each evaluation on dev, and resumed from if it exists. It is not removed.
    about
        Settings that a checkpoint must agree in.

    Raises
    ------
    WordbiasError
        If there is nothing to train or evaluate on, the loss is no number, or the checkpoint is of
        another training.
    """
    for part, name in ((training, "train on"), (dev, "choose the best epoch by")):
        if not len(part.targets):
            raise WordbiasError(f"no biography is left to {name}; give more, or another strategy")
    with torch.random.fork_rng():
        flat, clip = (recipe.decay, None) if recipe.plain else (0.0, recipe.clip)
        optimizer = adamw(
            list(model.parameters()), recipe.rate, recipe.decay, clip=clip, flat_decay=flat
        )
        rounds = Rounds.of(len(training.targets), recipe)
        task = Task(optimizer, training, dev, recipe, rounds)
        state = train(
            model,
            optimizer,
            task,
            epochs=rounds.rounds,
            checkpoint=checkpoint,
            about=about,
            what=what,
        )
    model.load_state_dict(state.best)
    model.eval()
    return Fitted(model.head, float(state.score[0]), int(state.epoch[0]))


class Task:
    """Cross entropy on batches, accuracy on dev."""

    def __init__(
        self,
        optimizer: torch.optim.Optimizer,
        training: Examples,
        dev: Examples,
        recipe: Recipe,
        rounds: Rounds,
    ) -> None:
        self.optimizer, self.training, self.dev = optimizer, training, dev
        self.recipe, self.rounds = recipe, rounds

    def steps(self) -> int:
        """Return the number of batches of a round."""
        return self.rounds.steps

    def losses(self, epoch: int) -> Iterator[Tensor]:
        """Yield the loss of each batch of a round, shape ``(1,)``."""
        seed = np.random.SeedSequence([self.recipe.seed, epoch]).generate_state(1)[0]
        torch.manual_seed(int(seed))
        order: list[Places] = []
        current = -1
        for step in range(epoch * self.rounds.steps, (epoch + 1) * self.rounds.steps):
            pass_, place = divmod(step, self.rounds.batches)
            if pass_ != current:
                current = pass_
                rng = np.random.default_rng([self.recipe.seed, pass_])
                order = bucketed(self.training.lengths, self.recipe.batch, rng)
            if not self.recipe.plain:
                share = schedule(step, self.rounds.total, self.recipe)
                for group in self.optimizer.param_groups:
                    group["lr"] = self.recipe.rate * share
            rows = order[place]
            logits = self.training.logits(rows)
            targets = self.training.targets[torch.from_numpy(rows)].to(logits.device)
            yield nn.functional.cross_entropy(logits, targets)[None]

    def score(self) -> Tensor:
        """Return the accuracy on dev, shape ``(1,)``."""
        right, n = 0, len(self.dev.targets)
        order = np.argsort(self.dev.lengths, kind="stable")
        for start in range(0, n, 2 * self.recipe.batch):
            rows = order[start : start + 2 * self.recipe.batch]
            named = self.dev.logits(rows).argmax(-1).cpu()
            right += int((named == self.dev.targets[torch.from_numpy(rows)]).sum())
        return torch.tensor([right / n], dtype=torch.float64)


# storing


def save_model(
    folder: Path,
    encoder: Encoder,
    head: nn.Linear,
    classes: Sequence[str],
    about: Mapping[str, Any],
) -> None:
    """Write a folder for transformers, with the last layer and ``training.json`` in it.

    Parameters
    ----------
    about
        Settings that the model depends on; one of the same settings is not written again.

    Raises
    ------
    WordbiasError
        If the folder holds another model, or cannot be written.
    """
    wanted = {**about, "classes": list(classes)}
    if folder.exists():
        try:
            known = json.loads((folder / ABOUT).read_text("utf-8"))
        except (OSError, ValueError):
            known = {}
        if (different := difference(known, dict(wanted))) is not None:
            raise WordbiasError(
                f"{folder}: holds another model: its {different}; remove it, or name another folder"
            )
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    model = unwrapped(encoder)
    layer = {name: one.detach() for name, one in head.named_parameters()}
    with new_folder(folder) as part, silent(need_transformers()):
        model.save_pretrained(part)
        encoder.tokenizer.save_pretrained(part)
        write_checkpoint(part / HEAD, {"head": layer}, wanted)
        (part / ABOUT).write_text(as_json(wanted, indent=2) + "\n", "utf-8")
