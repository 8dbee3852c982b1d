"""A fine-tuned model from its name to its folder, with a log and a checkpoint beside the folder."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from wordbias.classifier_training import ABOUT, Recipe, Rounds, Tuned
from wordbias.contextual.fine_tuning.heads import Headed, load_headed
from wordbias.contextual.fine_tuning.train import train_model
from wordbias.contextual.labelled_pairs import LabelledPairs
from wordbias.distributed import joined, launched
from wordbias.errors import WordbiasError
from wordbias.formats.files import check_new, locked, new_folder
from wordbias.pretrained import (
    ModelLike,
    in_folder,
    name_of,
    need_transformers,
    silent,
    weights_sha256,
)


def fine_tune(
    task: str,
    model: ModelLike,
    data: LabelledPairs,
    dev: LabelledPairs,
    recipe: Recipe,
    folder: str | Path,
    device: str | None = None,
) -> tuple[Tuned, Headed]:
    """Fine-tune a model and write its folder; beside it lie a log and, meanwhile, a checkpoint.

    `model` is not changed. A folder that the same call finished before is loaded instead. If
    several processes were started together each takes part, and the first one writes.

    Raises
    ------
    WordbiasError
        If the folder exists already and holds no such model, or another call is writing it, all
        pairs have one label, the model cannot be loaded or trained, or the checkpoint beside the
        folder is of another training.
    """
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
            found = read_about(folder, about)
            trained = load_headed(task, data.names, str(folder)).model
            headed.model.load_state_dict(trained.state_dict())
            headed.model.eval()
            rounds = Rounds(**found["rounds"])
            return Tuned(found["dev_accuracy"], found["best_round"], rounds), headed
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
    """Return the path of a file beside a folder, such as its checkpoint or its log."""
    path = Path(os.path.realpath(folder))
    return path.with_name(f"{path.name}.{suffix}")


def check_folder(folder: str | Path) -> None:
    """Refuse a folder that can neither be made nor holds a finished model.

    Raises
    ------
    WordbiasError
        As `wordbias.formats.files.check_new` does.
    """
    if not is_finished(folder):
        check_new(folder)


def is_finished(folder: str | Path) -> bool:
    """Return whether a folder holds a model that was fine-tuned here."""
    return (Path(folder) / ABOUT).is_file()


def store(headed: Headed, folder: str | Path, about: Mapping[str, Any]) -> None:
    """Write a model's folder, which takes its name only when it is complete.

    Parameters
    ----------
    about
        Content of the file ``training.json``.

    Raises
    ------
    WordbiasError
        If the folder exists already, or cannot be written.
    """
    text = json.dumps(about, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    with new_folder(folder) as part, silent(need_transformers()):
        headed.model.save_pretrained(part)
        headed.tokenizer.save_pretrained(part)
        (part / ABOUT).write_text(text, "utf-8")


def read_about(folder: str | Path, about: Mapping[str, Any]) -> dict[str, Any]:
    """Read ``training.json`` of a finished model, if its training is that of `about`.

    Paths of files are not compared, only their content.

    Raises
    ------
    WordbiasError
        If it is another training, or the file cannot be read.
    """
    try:
        found = json.loads((Path(folder) / ABOUT).read_text("utf-8"))
        _ = found["dev_accuracy"], found["best_round"], found["rounds"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise WordbiasError(
            f"{folder}: exists already, and its {ABOUT} cannot be read; name a new folder"
        ) from None
    wanted, known = (_flat(json.loads(json.dumps(one))) for one in (about, found))
    for key, value in wanted.items():
        if known.get(key) != value:
            raise WordbiasError(
                f"{folder}: exists already, and holds another training: its {key} is "
                f"{known.get(key)!r:.80}, not {value!r:.80}; name a new folder"
            )
    return dict(found)


def _flat(value: Any, name: str = "") -> dict[str, Any]:
    """Return the leaves of nested dictionaries by their keys, without paths of files."""
    if not isinstance(value, dict):
        return {name: value}
    parts = ((f"{name} {key}".strip(), part) for key, part in value.items() if key != "path")
    return {key: leaf for path, part in parts for key, leaf in _flat(part, path).items()}
