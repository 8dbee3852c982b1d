"""From a model's name to a folder: load, train, store, and tidy up.

The folder of a fine-tuned model: for transformers alone to load, and where it came from.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from wordbias.contextual.fine_tuning.distributed import joined, launched
from wordbias.contextual.fine_tuning.heads import Headed, load_headed
from wordbias.contextual.fine_tuning.train import Recipe, Rounds, Tuned, fine_tune
from wordbias.contextual.labelled_pairs import LabelledPairs
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

ABOUT = "training.json"


def store(headed: Headed, folder: str | Path, about: Mapping[str, Any]) -> None:
    """Write a model's folder, which takes its name only when it is complete.

    Parameters
    ----------
    about
        Goes into the file ``training.json``.

    Raises
    ------
    WordbiasError
        If there is such a folder already, or it cannot be written.
    """
    text = json.dumps(about, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    with new_folder(folder) as part, silent(need_transformers()):
        headed.model.save_pretrained(part)
        headed.tokenizer.save_pretrained(part)
        (part / ABOUT).write_text(text, "utf-8")


def is_finished(folder: str | Path) -> bool:
    """Whether a folder holds a model that was fine-tuned here."""
    return (Path(folder) / ABOUT).is_file()


def check_folder(folder: str | Path) -> None:
    """Refuse early a folder that can neither be made nor holds a finished model.

    Raises
    ------
    WordbiasError
        As `wordbias.formats.files.check_new` does.
    """
    if not is_finished(folder):
        check_new(folder)


def finished(folder: str | Path, about: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is told of a finished model, if it came about as `about` says.

    Where files lie does not count, only what is in them.

    Raises
    ------
    WordbiasError
        If it came about in another way, or what is told of it cannot be read.
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
    """Return the leaves of nested tables by their path; those that say where a file lies not."""
    if not isinstance(value, dict):
        return {name: value}
    parts = ((f"{name} {key}".strip(), part) for key, part in value.items() if key != "path")
    return {key: leaf for path, part in parts for key, leaf in _flat(part, path).items()}


def beside(folder: str | Path, suffix: str) -> Path:
    """Return a file beside a folder: its checkpoint, its log."""
    path = Path(os.path.realpath(folder))
    return path.with_name(f"{path.name}.{suffix}")


def run(
    task: str,
    model: ModelLike,
    data: LabelledPairs,
    dev: LabelledPairs,
    recipe: Recipe,
    folder: str | Path,
    device: str | None = None,
) -> tuple[Tuned, Headed]:
    """Fine-tune a model and write its folder; beside it lie a log and, meanwhile, a checkpoint.

    `model` is left as it is. A folder that the same call finished before is loaded instead. Of
    several processes that were started together each takes part, and the first one writes.

    Raises
    ------
    WordbiasError
        If the folder is there already and holds no such model, or another call is writing it, all
        pairs have one label, the model cannot be loaded or trained, or the checkpoint beside the
        folder is of another training.
    """
    check_folder(folder)
    data.check_classes()
    with _one_at_a_time(folder), joined(device) as processes:
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
            return _loaded(task, data, headed, folder, about), headed
        tuned = fine_tune(
            headed,
            data,
            dev,
            recipe,
            checkpoint=beside(folder, "checkpoint"),
            log=beside(folder, "log.jsonl"),
            about=about,
            processes=processes,
        )
        if processes.first:
            result = {"dev_accuracy": tuned.accuracy, "best_round": tuned.round}
            store(headed, folder, {**about, "rounds": vars(tuned.rounds), **result})
            beside(folder, "checkpoint").unlink(missing_ok=True)
        processes.wait()
    return tuned, headed


def _loaded(
    task: str, data: LabelledPairs, headed: Headed, folder: str | Path, about: dict[str, Any]
) -> Tuned:
    """Give a model the parameters of a finished one; return what is told of that."""
    found = finished(folder, about)
    trained = load_headed(task, data.names, str(folder)).model
    headed.model.load_state_dict(trained.state_dict())
    headed.model.eval()
    return Tuned(found["dev_accuracy"], found["best_round"], Rounds(**found["rounds"]))


def _one_at_a_time(folder: str | Path) -> AbstractContextManager[None]:
    """Keep other calls from a folder; of processes started together the first one does."""
    _, rank = launched()
    return locked(beside(folder, "checkpoint")) if rank == 0 else nullcontext()
