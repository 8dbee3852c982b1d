"""From a model's name to a folder: load, train, store, and tidy up."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from wordbias.contextual.fine_tuning.heads import Headed, load_headed
from wordbias.contextual.fine_tuning.pairs import LabelledPairs
from wordbias.contextual.fine_tuning.recipe import Recipe, Rounds
from wordbias.contextual.fine_tuning.several import Processes, joined, launched
from wordbias.contextual.fine_tuning.storing import (
    beside,
    check_folder,
    finished,
    is_finished,
    store,
)
from wordbias.contextual.fine_tuning.tuning import Tuned, fine_tune
from wordbias.formats.alone import alone
from wordbias.pretrained import to_device, weights_sha256


def run(
    task: str,
    model: str,
    data: LabelledPairs,
    dev: LabelledPairs,
    recipe: Recipe,
    folder: str | Path,
    device: str | None = None,
) -> tuple[Tuned, Headed]:
    """Fine-tune a model and write its folder; beside it lie a log and, meanwhile, a checkpoint.

    A model that the same call finished before is loaded instead. Of several processes that were
    started together each takes part, and the first one writes.

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
        headed = load_headed(task, data.names, model, recipe.seed)
        _, chosen = to_device(headed.model, processes.device or device)
        about = _about(task, model, headed, data, dev, recipe, processes)
        if is_finished(folder):
            return _loaded(task, data, headed, folder, about), headed
        tuned = fine_tune(
            headed,
            data,
            dev,
            recipe,
            device=chosen,
            checkpoint=beside(folder, "checkpoint"),
            log=beside(folder, "log.jsonl"),
            about=about,
            processes=processes,
        )
        if processes.first:
            _store(headed, folder, tuned, about)
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
    return alone(beside(folder, "checkpoint")) if rank == 0 else nullcontext()


def _about(
    task: str,
    model: str,
    headed: Headed,
    data: LabelledPairs,
    dev: LabelledPairs,
    recipe: Recipe,
    processes: Processes,
) -> dict[str, Any]:
    """Return what makes a training the same as another."""
    about: dict[str, Any] = {
        "task": task,
        "model": {"path": model, "sha256": weights_sha256(headed.model)},
        "recipe": recipe.to_dict(),
        "train": data.to_dict(),
        "dev": dev.to_dict(),
    }
    return about | ({"processes": processes.count} if processes.count > 1 else {})


def _store(headed: Headed, folder: str | Path, tuned: Tuned, about: dict[str, Any]) -> None:
    """Write the folder, and remove the checkpoint."""
    result = {"dev_accuracy": tuned.accuracy, "best_round": tuned.round}
    store(headed, folder, {**about, "rounds": vars(tuned.rounds), **result})
    beside(folder, "checkpoint").unlink(missing_ok=True)
