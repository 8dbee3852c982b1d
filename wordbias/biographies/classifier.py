"""The classifier: a linear layer on one vector of a text, and the encoder that makes the vector.

Orgad et al. (2022, appendix A.1) put one linear layer on the last hidden state of the first token.
So what is probed and what the layer is retrained on are the same vectors.

The descent that encoders and last layers share: rate, order, loss, and accuracy on dev.

Fine-tuning an encoder with a last layer on it, to tell occupations.

Training a last layer alone, on vectors that stay as they are.

Fine-tuned models that are kept: a folder for transformers, with the last layer in it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from wordbias.biographies.data import Biographies
from wordbias.biographies.encoding import Reading, plain_model
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
from wordbias.training import TrainingState, train


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


Places = NDArray[np.intp]


class Examples(Protocol):
    """What a classifier learns from, or is watched on.

    Attributes
    ----------
    lengths
        Of the texts, shape ``(n,)``; those of a batch are alike.
    targets
        Their classes, shape ``(n,)``.
    """

    lengths: Places
    targets: Tensor

    def logits(self, rows: Places) -> Tensor:
        """Return the scores of some of them, shape ``(B, C)``."""


def descend(
    model: Classifier,
    learned: Examples,
    dev: Examples,
    recipe: Recipe,
    *,
    checkpoint: Path | None = None,
    about: Mapping[str, Any] | None = None,
    what: str = "training",
) -> TrainingState:
    """Train a classifier in place; it ends with the parameters that were best on dev.

    Parameters
    ----------
    recipe
        Its seed decides the order of the batches and dropout.
    checkpoint
        Written each time dev is measured, and resumed from if it exists. It is not removed.
    about
        What a checkpoint must agree in.

    Raises
    ------
    WordbiasError
        If there is nothing to learn from or to be watched on, the loss is no number, or the
        checkpoint is of another training.
    """
    for part, name in ((learned, "train on"), (dev, "choose the best epoch by")):
        if not len(part.targets):
            raise WordbiasError(f"no biography is left to {name}; give more, or another strategy")
    with torch.random.fork_rng():
        optimizer = _optimizer(model, recipe)
        rounds = Rounds.of(len(learned.targets), recipe)
        task = Task(optimizer, learned, dev, recipe, rounds)
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
    return state


class Task:
    """Cross entropy on batches, accuracy on dev."""

    def __init__(
        self,
        optimizer: torch.optim.Optimizer,
        learned: Examples,
        dev: Examples,
        recipe: Recipe,
        rounds: Rounds,
    ) -> None:
        self.optimizer, self.learned, self.dev = optimizer, learned, dev
        self.recipe, self.rounds = recipe, rounds

    def steps(self) -> int:
        """Return the batches of a round."""
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
                current, order = pass_, self._order(pass_)
            if not self.recipe.plain:
                share = schedule(step, self.rounds.total, self.recipe)
                for group in self.optimizer.param_groups:
                    group["lr"] = self.recipe.rate * share
            rows = order[place]
            logits = self.learned.logits(rows)
            targets = self.learned.targets[torch.from_numpy(rows)].to(logits.device)
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

    def _order(self, epoch: int) -> list[Places]:
        rng = np.random.default_rng([self.recipe.seed, epoch])
        return bucketed(self.learned.lengths, self.recipe.batch, rng)


def _optimizer(model: Classifier, recipe: Recipe) -> torch.optim.Optimizer:
    """Make AdamW; plain, everything decays and no gradient is cut."""
    flat, clip = (recipe.decay, None) if recipe.plain else (0.0, recipe.clip)
    parameters = list(model.parameters())
    return adamw(parameters, recipe.rate, recipe.decay, clip=clip, flat_decay=flat)


Vectors = NDArray[np.float32]


class Labelled(NamedTuple):
    """Vectors, shape ``(n, d)``, and their classes, shape ``(n,)``."""

    vectors: Vectors
    labels: NDArray[np.intp]


class Fitted(NamedTuple):
    """A last layer; its accuracy on dev, and the look at dev, from 1, at which that was best."""

    head: nn.Linear
    accuracy: float
    round: int


def train_head(
    learned: Labelled, dev: Labelled, classes: int, recipe: Recipe, what: str = "last layer"
) -> Fitted:
    """Train a new last layer; the recipe's seed draws it and orders the batches.

    Orgad et al. (2022, §4.2) retrain so on the original data: what the classifier can then take
    from the vectors again, debiasing had only hidden.

    Raises
    ------
    WordbiasError
        If there is nothing to learn from, or the loss is no number.
    """
    head = new_head(learned.vectors.shape[1], classes, recipe.seed)
    given, watched = (_Given(head, part.vectors, part.labels) for part in (learned, dev))
    state = descend(Classifier(head), given, watched, recipe, what=what)
    return Fitted(head, float(state.score[0]), int(state.epoch[0]))


@dataclass(init=False)
class _Given:
    """Vectors as examples."""

    lengths: Places
    targets: Tensor

    def __init__(self, head: nn.Linear, vectors: Vectors, labels: NDArray[np.intp]) -> None:
        self.head, self.vectors = head, torch.from_numpy(np.array(vectors, np.float32))
        self.lengths, self.targets = np.zeros(len(labels), np.intp), torch.from_numpy(labels)

    def logits(self, rows: Places) -> Tensor:
        """Return the scores of some of them."""
        found: Tensor = self.head(self.vectors[torch.from_numpy(rows)])
        return found


def tune(
    encoder: Encoder,
    learned: Biographies,
    dev: Biographies,
    recipe: Recipe,
    reading: Reading,
    *,
    checkpoint: Path | None = None,
    about: Mapping[str, Any] | None = None,
    what: str = "fine-tuning",
) -> Fitted:
    """Train an encoder in place, with a new last layer.

    Both end with the parameters that were best on dev; see `descend`.
    """
    head = new_head(encoder.dim, len(learned.classes), recipe.seed).to(encoder.device)
    read, watched = (TextExamples(encoder, head, reading, part) for part in (learned, dev))
    model = Classifier(head, encoder.model)
    state = descend(model, read, watched, recipe, checkpoint=checkpoint, about=about, what=what)
    return Fitted(head, float(state.score[0]), int(state.epoch[0]))


@dataclass(init=False)
class TextExamples:
    """Biographies as examples, read by the encoder that is trained."""

    lengths: Places
    targets: Tensor

    def __init__(
        self, encoder: Encoder, head: nn.Linear, reading: Reading, bios: Biographies
    ) -> None:
        self.encoder, self.head = encoder, head
        self.targets = torch.from_numpy(bios.labels)
        self.lengths = np.empty(0, np.intp)
        if len(bios):
            self.work = EncodingJob.of(encoder, bios.texts, settings=reading.settings(encoder))
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


HEAD = "head.safetensors"


def keep_model(
    folder: Path,
    encoder: Encoder,
    head: nn.Linear,
    classes: Sequence[str],
    about: Mapping[str, Any],
) -> None:
    """Write an encoder's folder; in it lie its last layer and ``training.json``.

    Parameters
    ----------
    about
        What it depends on; a model of the same is not written again.

    Raises
    ------
    WordbiasError
        If there is a model of something else, or the folder cannot be written.
    """
    wanted = {**about, "classes": list(classes)}
    if folder.exists():
        _check_same(folder, wanted)
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    model = plain_model(encoder)
    layer = {name: one.detach() for name, one in head.named_parameters()}
    with new_folder(folder) as part, silent(need_transformers()):
        model.save_pretrained(part)
        encoder.tokenizer.save_pretrained(part)
        write_checkpoint(part / HEAD, {"head": layer}, wanted)
        (part / ABOUT).write_text(as_json(wanted, indent=2) + "\n", "utf-8")


def _check_same(folder: Path, wanted: Mapping[str, Any]) -> None:
    try:
        known = json.loads((folder / ABOUT).read_text("utf-8"))
    except (OSError, ValueError):
        known = {}
    if (different := difference(known, dict(wanted))) is not None:
        raise WordbiasError(
            f"{folder}: holds another model: its {different}; remove it, or name another folder"
        )
