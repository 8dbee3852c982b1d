"""Fine-tuning of encoders: natural language inference, or next-sentence prediction."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from wordbias.classifier_training import ABOUT, Recipe, Rounds, Tuned, train_classifier
from wordbias.contextual.labelled_pairs import NEXT, LabelledPairs
from wordbias.devices import native_threads
from wordbias.distributed import SINGLE, Processes, joined, launched
from wordbias.errors import Interrupted, WordbiasError
from wordbias.formats.files import check_new, locked, new_folder
from wordbias.models.families import base_of, family_of, first_token_head_of, logits_of
from wordbias.models.loading import LoadedModel, load_pretrained, weights_sha256
from wordbias.models.model_like import ModelLike, in_folder, name_of, need_transformers, silent
from wordbias.models.token_batches import TokenisedTexts, Tokens, batches
from wordbias.nli.pairs import label_indices
from wordbias.products import products
from wordbias.progress import progress
from wordbias.training import Stack

Places = NDArray[np.intp]
_READ = 4096
"""Number of tokens in a batch that needs no gradient."""
WHOLE = Recipe()
HEAD_ONLY = Recipe(epochs=10, rate=1e-3, head_only=True)
CLASSIFIER = "AutoModelForSequenceClassification"
_RESULTS = ("dev_accuracy", "best_round", "rounds")
_NEXT_SENTENCE = "AutoModelForNextSentencePrediction"


def fine_tune(
    task: str,
    model: ModelLike,
    data: LabelledPairs,
    dev: LabelledPairs,
    recipe: Recipe,
    folder: str | Path,
    device: str | None = None,
) -> tuple[Tuned, Headed]:
    """Fine-tune a model and write its folder, with a log and, meanwhile, a checkpoint beside it."""
    # `model` is not changed. A folder that the same call finished before is loaded instead. Of
    # several processes the first one writes.
    check_folder(folder)
    data.check_classes()
    checkpoint = beside(folder, "checkpoint")
    _, rank = launched()
    with locked(checkpoint) if rank == 0 else nullcontext(), joined(device) as processes:
        with in_folder(model) as source:
            headed = load_headed(task, data.names, source, recipe.seed)
        headed = replace(headed, name=name_of(model)).on(processes.device or device)
        about = {
            "task": task,
            "model": {"path": headed.name, "sha256": weights_sha256(headed.model)},
            "recipe": recipe.to_dict(),
            "train": data.to_dict(),
            "dev": dev.to_dict(),
        } | ({"processes": processes.count} if processes.count > 1 else {})
        if is_finished(folder):
            record = read_about(folder, about)
            trained = load_headed(task, data.names, str(folder)).model
            headed.model.load_state_dict(trained.state_dict())
            headed.model.eval()
            rounds = Rounds(**record["rounds"])
            return Tuned(record["dev_accuracy"], record["best_round"], rounds), headed
        log = beside(folder, "log.jsonl")
        tuned = train_model(
            headed,
            data,
            dev,
            recipe,
            checkpoint=checkpoint,
            log=log,
            about=about,
            processes=processes,
        )
        if processes.first:
            result = {"dev_accuracy": tuned.accuracy, "best_round": tuned.round}
            store(headed, folder, {**about, "rounds": vars(tuned.rounds), **result})
            checkpoint.unlink(missing_ok=True)
        processes.wait()
    return tuned, headed


def beside(folder: str | Path, suffix: str) -> Path:
    """Return the path of a file next to a folder, such as its checkpoint or its log."""
    path = Path(os.path.realpath(folder))
    return path.with_name(f"{path.name}.{suffix}")


def check_folder(folder: str | Path) -> None:
    """Refuse a folder that can neither be made nor holds a finished model."""
    if not is_finished(folder):
        check_new(folder)


def is_finished(folder: str | Path) -> bool:
    """Return whether a folder holds a model that was fine-tuned here."""
    return (Path(folder) / ABOUT).is_file()


def store(
    trained: LoadedModel,
    folder: str | Path,
    about: Mapping[str, Any],
    write: Callable[[Path], None] | None = None,
) -> None:
    """Write a model's folder, which takes its name only when it is complete."""
    text = json.dumps(about, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    with new_folder(folder) as part, silent(need_transformers()):
        trained.model.save_pretrained(part)
        trained.tokenizer.save_pretrained(part)
        if write is not None:
            write(part)
        (part / ABOUT).write_text(text, "utf-8")


def read_about(
    folder: str | Path, about: Mapping[str, Any], results: Sequence[str] = _RESULTS
) -> dict[str, Any]:
    """Read ``training.json`` of a finished model, if its training is that of `about`."""
    # Paths of files are not compared, only their content.
    try:
        record = json.loads((Path(folder) / ABOUT).read_text("utf-8"))
        _ = [record[name] for name in results]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise WordbiasError(
            f"{folder}: exists already, and its {ABOUT} cannot be read; name a new folder"
        ) from None
    wanted, known = (_flat(json.loads(json.dumps(training))) for training in (about, record))
    for key, value in wanted.items():
        if known.get(key) != value:
            raise WordbiasError(
                f"{folder}: exists already, and holds another training: its {key} is "
                f"{known.get(key)!r:.80}, not {value!r:.80}; name a new folder"
            )
    return dict(record)


def _flat(value: Any, name: str = "") -> dict[str, Any]:
    """Return the leaves of nested dictionaries by their keys, without paths of files."""
    if not isinstance(value, dict):
        return {name: value}
    parts = ((f"{name} {key}".strip(), part) for key, part in value.items() if key != "path")
    return {key: leaf for path, part in parts for key, leaf in _flat(part, path).items()}


# The model: an encoder with its own head for the task, or a new one


@dataclass(frozen=True, eq=False, kw_only=True)
class Headed(LoadedModel):
    """A model with the head of a task, in float32; missing parameters were drawn at random."""

    places: tuple[int, ...]  # index among the outputs of each label of the task

    @property
    def new_parameters(self) -> int:
        """Number of parameters that were drawn at random."""
        known = dict(self.model.named_parameters())
        return sum(known[name].numel() for name in self.missing)


def load_headed(task: str, names: Sequence[str], model: str, seed: int = 0) -> Headed:
    """Load an encoder with a head."""
    # A head for the same labels is kept and trained further. BERT gets its own next-sentence head,
    # any other model a classifier, whose config then names its outputs.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        loaded, own = _load(task, model)
        _check(loaded, model)
        places = tuple(range(len(names))) if own else _known(loaded, names)
        if places is None:
            loaded, places = _with_classifier(loaded, names), tuple(range(len(names)))
        elif own:
            _name_outputs(loaded.model.config, names)
    first_token_head_of(loaded.model)  # refuses other heads
    loaded = replace(loaded, model=loaded.model.float(), precision="float32")
    return Headed(**vars(loaded), places=places)


def encoder_parameters(model: Any) -> list[Any]:
    """Return the parameters of the encoder, without its pooler and the head."""
    named, pooler = base_of(model).named_parameters(), family_of(model).pooler
    return [parameter for name, parameter in named if pooler not in name.split(".")[0]]


def _load(task: str, name: str) -> tuple[LoadedModel, bool]:
    """Load a model; return whether it has BERT's own next-sentence head."""
    if task == "nsp":
        try:
            return load_pretrained(_NEXT_SENTENCE, name, "a next-sentence model"), True
        except WordbiasError:
            pass  # other families have none
    return load_pretrained(CLASSIFIER, name, "an encoder"), False


def _check(loaded: LoadedModel, name: str) -> None:
    pooler = family_of(loaded.model).pooler
    prefix = f"{loaded.model.base_model_prefix}."
    lost = [key for key in loaded.missing if key.startswith(prefix) and pooler not in key]
    if lost:
        raise WordbiasError(
            f"{name}: has no trained weights for {lost[0]}; give a folder whose weights are of "
            "this model"
        )
    weights = loaded.model.named_parameters()
    damaged = [key for key, weight in weights if not bool(torch.isfinite(weight).all())]
    if damaged:
        raise WordbiasError(
            f"{name}: its weights are damaged: {damaged[0]} holds what is no number; fetch or "
            "write them again"
        )


def _known(loaded: LoadedModel, names: Sequence[str]) -> tuple[int, ...] | None:
    """Return the indices of the labels in a trained head of the same task; None for others."""
    labels = [str(label) for _, label in sorted(loaded.model.config.id2label.items())]
    if loaded.missing or len(labels) != len(names):
        return None
    if tuple(names) == NEXT:
        return tuple(map(labels.index, names)) if set(labels) == set(names) else None
    return label_indices(labels)


def _with_classifier(loaded: LoadedModel, names: Sequence[str]) -> LoadedModel:
    """Put a new final layer on a classifier, and keep every weight that fits."""
    config = copy.deepcopy(loaded.model.config)
    _name_outputs(config, names)
    config.problem_type = "single_label_classification"
    classifier = type(loaded.model)(config)
    shapes = {name: value.shape for name, value in classifier.state_dict().items()}
    weights = {
        name: value
        for name, value in loaded.model.state_dict().items()
        if shapes.get(name) == value.shape and name not in loaded.missing
    }
    classifier.load_state_dict(weights, strict=False)
    new = sorted(set(dict(classifier.named_parameters())) - set(weights))
    return replace(loaded, model=classifier, missing=tuple(new))


def _name_outputs(config: Any, names: Sequence[str]) -> None:
    config.id2label = dict(enumerate(names))
    config.label2id = {name: i for i, name in enumerate(names)}


# Training


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
    """Train a model in place."""
    # At every step each of several processes reads a batch of the recipe's size, and all end with
    # the same parameters. The first writes checkpoint and log.
    recipe = replace(recipe, batch=recipe.batch * processes.count)
    if checkpoint is not None:
        processes.check_same(checkpoint.exists(), str(checkpoint))
    torch.set_num_threads(max(1, native_threads() // processes.local))
    reader = Cached if recipe.head_only else Reader
    training, evaluated = (Part.of(reader, headed, pairs, processes) for pairs in (data, dev))
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
    fixed = {id(parameter) for parameter in encoder_parameters(model)} if head_only else set()
    trained = {
        name: parameter
        for name, parameter in model.named_parameters()
        if id(parameter) not in fixed
    }
    return Stack(trained, model)


# Pairs as the model reads them


class Reader:
    """Logits of pairs by passes through the whole model."""

    model: Any
    texts: TokenisedTexts
    device: str
    lengths: NDArray[np.intp]

    def __init__(
        self, model: Any, texts: TokenisedTexts, device: str, processes: Processes = SINGLE
    ) -> None:
        self.model, self.texts, self.device = model, texts, device
        self.lengths = np.array([len(tokens["input_ids"]) for tokens in texts.tokens])

    def inputs(self, rows: Places) -> tuple[Places, dict[str, Tensor]]:
        """Return the rows in the order of the batch, and the model's inputs."""
        tokens: list[Tokens] = [self.texts.tokens[i] for i in rows]
        ((order, inputs),) = batches(tokens, len(tokens), self.texts.padding)
        return rows[order], {name: x.to(self.device) for name, x in inputs.items()}

    def logits(self, rows: Places) -> tuple[Places, Tensor]:
        """Return the rows in the order of the batch, and their logits."""
        order, inputs = self.inputs(rows)
        logits: Tensor = self.model(**inputs).logits
        return order, logits


class Cached(Reader):
    """Logits of pairs from the last layer at position 0, computed once, shape ``(n, d)``."""

    first: Tensor

    def __init__(
        self, model: Any, texts: TokenisedTexts, device: str, processes: Processes = SINGLE
    ) -> None:
        super().__init__(model, texts, device)
        first = torch.zeros(len(texts.tokens), model.config.hidden_size)
        own = texts.batches[processes.rank :: processes.count]
        model.eval()
        bar = progress("encoding", sum(map(len, own)), "pair")
        with torch.inference_mode(), products(device), bar as meter:
            for rows in own:
                order, inputs = self.inputs(rows)
                first[order] = base_of(model)(**inputs)[0][:, 0].float().cpu()
                meter.update(len(rows))
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
        texts = TokenisedTexts.of(headed, data.pairs, truncate=True, budget=_READ)
        targets = torch.tensor(headed.places)[torch.from_numpy(data.labels)]
        return cls(kind(headed.model, texts, headed.device, processes), texts.places, targets)

    @property
    def lengths(self) -> Places:
        """Numbers of tokens, shape ``(n,)``."""
        return self.reader.lengths[self.places]

    def batch(self, rows: Places) -> tuple[Tensor, Tensor]:
        """Return logits and targets of some pairs, shapes ``(B, C)`` and ``(B,)``."""
        rows_read, logits = self.reader.logits(self.places[rows])
        order = np.empty(len(rows), np.intp)  # of `rows`, as the reader returned them
        order[np.argsort(rows_read, kind="stable")] = np.argsort(self.places[rows], kind="stable")
        return logits, self.targets[rows[order]].to(logits.device)
