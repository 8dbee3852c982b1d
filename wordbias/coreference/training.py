"""Training of a coreference model: one document a step, best epoch on dev, folder of the result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from wordbias.classifier_training import decaying, schedule
from wordbias.contextual.fine_tuning import beside, check_folder, is_finished, read_about, store
from wordbias.coreference.documents import Document, check_clusters, facts, without_singletons
from wordbias.coreference.model import Settings
from wordbias.coreference.resolver import Coreference
from wordbias.coreference.segments import Segmented
from wordbias.devices import native_threads
from wordbias.errors import Interrupted
from wordbias.formats.files import locked
from wordbias.models.model_like import ModelLike
from wordbias.outcomes.conll import Tally, conll_f1, tally
from wordbias.products import products
from wordbias.training import Stack, train

KEPT = 1 << 31
"""Bytes of vectors of a frozen encoder that are kept; of more documents they are made anew."""
RESULTS = ("dev_f1", "best_epoch", "epochs")


@dataclass(frozen=True)
class Recipe:
    """Settings of a training; the rates are those of Xu and Choi (2020)."""

    epochs: int = 24
    # highest learning rates of AdamW, of the encoder and of the rest; they rise linearly over the
    # share `warmup` of all steps, then fall linearly to zero
    rate: float = 1e-5
    task_rate: float = 2e-4
    warmup: float = 0.1
    decay: float = 0.01  # weight decay, of matrices only
    # norm to which gradients are clipped, those of the encoder and of the rest each
    clip: float = 1.0
    # number of word pieces of a document that a step reads, in whole segments drawn at random:
    # memory does not depend on the length of a document. Xu and Choi read 11 segments of 128.
    window: int = 1408
    head_only: bool = False
    half: bool = False  # use bfloat16 in the products of the encoder, in training only
    seed: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the settings."""
        return asdict(self)


@dataclass(frozen=True)
class Trained:
    """Result of a training."""

    f1: float  # CoNLL F1 on dev of the best epoch
    epoch: int
    epochs: Sequence[dict[str, float]]  # loss and F1 on dev of each epoch

    def to_dict(self) -> dict[str, Any]:
        """Return the result by the keys `RESULTS`."""
        return dict(zip(RESULTS, (self.f1, self.epoch, self.epochs), strict=True))


def train_coreference(
    source: ModelLike,
    data: Sequence[Document],
    dev: Sequence[Document],
    folder: str | Path,
    *,
    settings: Settings | None = None,
    recipe: Recipe | None = None,
    device: str | None = None,
) -> tuple[Trained, Coreference]:
    """Train a model and write its folder; beside it lie a log and, meanwhile, a checkpoint."""
    # A folder that the same call finished before is loaded instead. The encoder of `source` is
    # copied; a head that it has is not read.
    settings, recipe = settings or Settings(), recipe or Recipe()
    check_folder(folder)
    check_clusters(data, "the training data")
    check_clusters(dev, "dev")
    checkpoint = beside(folder, "checkpoint")
    # several may load a finished model at once; nothing changes it
    with nullcontext() if is_finished(folder) else locked(checkpoint):
        model = Coreference.new(source, settings, seed=recipe.seed, device=device)
        about = {
            "task": "coreference",
            "model": {"path": model.name, "sha256": model.encoder.sha256()},
            "settings": settings.to_dict(),
            "recipe": recipe.to_dict(),
            "train": facts(data),
            "dev": facts(dev),
        }
        if is_finished(folder):
            record = read_about(folder, about, RESULTS)
            trained = Trained(*(record[name] for name in RESULTS))
            return trained, Coreference.load(folder, device=device)
        trained = train_model(model, data, dev, recipe, checkpoint=checkpoint, about=about)
        store(model.encoder, folder, {**about, **trained.to_dict()}, model.write)
        checkpoint.unlink(missing_ok=True)
    return trained, model


def train_model(
    model: Coreference,
    data: Sequence[Document],
    dev: Sequence[Document],
    recipe: Recipe,
    *,
    checkpoint: Path | None = None,
    about: dict[str, Any] | None = None,
    what: str = "training",
) -> Trained:
    """Train a model in place; it ends with the parameters that were best on dev."""
    ranker = model.ranker
    torch.set_num_threads(native_threads())
    trained = ranker.head() if recipe.head_only else dict(ranker.named_parameters())
    stack = Stack(trained, ranker)
    task = Task(model, data, dev, recipe)
    device = next(iter(trained.values())).device
    try:
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            state = train(
                stack,
                task.optimizer,
                task,
                epochs=recipe.epochs,
                checkpoint=checkpoint,
                logs=[] if checkpoint is None else [checkpoint.with_suffix(".log.jsonl")],
                about=about,
                what=what,
            )
    except KeyboardInterrupt:
        if checkpoint is None:
            raise
        raise Interrupted("the same call resumes after the last epoch") from None
    stack.load_state_dict(state.best)
    stack.eval()
    epochs = [
        {"epoch": epoch["epoch"], "loss": epoch["loss"][0], "f1": epoch["dev"][0]}
        for epoch in state.history
    ]
    return Trained(float(state.score[0]), int(state.epoch[0]), epochs)


class Task:
    """Losses of documents, one a step, and CoNLL F1 on dev."""

    model: Coreference
    recipe: Recipe
    data: Sequence[Segmented]
    dev: Sequence[Document]
    optimizer: torch.optim.Optimizer
    rates: list[float]
    is_kept: bool
    frozen: dict[int, Tensor]

    def __init__(
        self,
        model: Coreference,
        data: Sequence[Document],
        dev: Sequence[Document],
        recipe: Recipe,
    ) -> None:
        self.model, self.recipe, self.dev = model, recipe, dev
        self.data, self.frozen = [model.segmenter.cut(document) for document in data], {}
        size = 4 * model.encoder.dim * sum(segmented.pieces for segmented in self.data)
        self.is_kept = recipe.head_only and size <= KEPT
        encoder = [] if recipe.head_only else list(model.ranker.encoder.parameters())
        head = list(model.ranker.head().values())
        groups = [
            {**group, "lr": rate}
            for parameters, rate in ((encoder, recipe.rate), (head, recipe.task_rate))
            for group in decaying(parameters, recipe.decay)
            if group["params"]
        ]
        self.rates = [group["lr"] for group in groups]
        self.optimizer = torch.optim.AdamW(groups, fused=True)

        def clip(*_: Any) -> None:
            for parameters in (encoder, head):
                nn.utils.clip_grad_norm_(parameters, recipe.clip)

        self.optimizer.register_step_pre_hook(clip)

    def steps(self) -> int:
        """Return the number of documents."""
        return len(self.data)

    def losses(self, epoch: int) -> Iterator[Tensor]:
        """Yield the loss of each document, shape ``(1,)``."""
        rng = np.random.default_rng([self.recipe.seed, epoch])
        torch.manual_seed(int(rng.integers(2**62)))
        ranker, total = self.model.ranker, self.recipe.epochs * len(self.data)
        count = max(1, self.recipe.window // self.model.settings.segment_length)
        if self.recipe.head_only:
            ranker.encoder.eval()
        for step, place in enumerate(rng.permutation(len(self.data)), epoch * len(self.data)):
            share = schedule(step, total, self.recipe.warmup)
            for group, rate in zip(self.optimizer.param_groups, self.rates, strict=True):
                group["lr"] = rate * share
            whole = self.data[place]
            start = int(rng.integers(max(0, len(whole.segments) - count) + 1))
            document = whole.window(start, count)
            if self.is_kept:
                before = sum(map(len, whole.segments[:start]))
                x = self._encoded(place)[before : before + document.pieces]
            else:
                x = self._encode(document)
            with products(x.device):
                loss = ranker.loss(ranker.rank(x, document), document.clusters)
            yield loss[None]

    def _encoded(self, place: int) -> Tensor:
        """Return the vectors of a document's pieces, which a frozen encoder makes once."""
        if place not in self.frozen:
            self.frozen[place] = self._encode(self.data[place])
        return self.frozen[place]

    def _encode(self, document: Segmented) -> Tensor:
        """Return the vectors of a document's pieces, shape ``(P, d)``."""
        recipe, ranker = self.recipe, self.model.ranker
        inside = products(ranker.attention.weight.device, half=recipe.half)
        with inside, torch.set_grad_enabled(not recipe.head_only):
            return ranker.encode([document])[0].float()

    def score(self) -> Tensor:
        """Return CoNLL F1 on dev, shape ``(1,)``."""
        f1 = conll_f1(tallies(self.dev, self.model.predict(self.dev, "dev")).sum(0))
        return torch.tensor([float(f1)], dtype=torch.float64)


def tallies(key: Sequence[Document], response: Sequence[Document]) -> Tally:
    """Count each document, shape ``(documents, 4, 4)``; singletons are left out of the key."""
    pairs = zip(key, response, strict=True)
    return np.stack([tally(without_singletons(gold.clusters), two.clusters) for gold, two in pairs])
