"""What each of several processes does in a test: gradients, scores, a training and its resuming.

Each process runs `main` and leaves a file of what it saw.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from wordbias.classifier_training import Recipe, Task
from wordbias.contextual.fine_tuning import load_headed, train_model
from wordbias.contextual.labelled_pairs import LabelledPairs
from wordbias.distributed import Processes, joined
from wordbias.errors import Interrupted, WordbiasError
from wordbias.nli.pairs import LABELS

RECIPE = Recipe(epochs=2, batch=4, rate=1e-3, every=2, clip=1e9)
COUNT = 2


def labelled(n: int, seed: int) -> LabelledPairs:
    rng = np.random.default_rng(seed)
    words = ["man", "woman", "dog", "cooked", "slept", "melted", "tea", "very"]
    texts = [" ".join(rng.choice(words, int(rng.integers(1, 9)))) for _ in range(2 * n)]
    pairs = list(zip(texts[:n], texts[n:], strict=True))
    return LabelledPairs("made", str(seed), LABELS, pairs, rng.integers(3, size=n), "made")


DATA, DEV = labelled(17, 0), labelled(11, 1)  # the last batch has one row: one process has none


def trained(
    model: str, recipe: Recipe, processes: Processes, checkpoint: Path | None = None
) -> dict[str, Any]:
    """Train; return the gradients of all steps, the accuracy, and the parameters it ended with."""
    headed = load_headed("nli", LABELS, model)
    gradients: list[dict[str, Any]] = []
    real = torch.optim.AdamW.step

    def step(self: Any, *arguments: Any) -> Any:
        result = real(self, *arguments)
        named = headed.model.named_parameters()
        gradients.append({k: p.grad.clone() for k, p in named if p.grad is not None})
        return result

    torch.optim.AdamW.step = step
    log = None if checkpoint is None else checkpoint.with_suffix(f".log{processes.rank}")
    try:
        tuned = train_model(
            headed, DATA, DEV, recipe, processes=processes, checkpoint=checkpoint,
            log=log,
        )  # fmt: skip
    finally:
        torch.optim.AdamW.step = real
    return {
        "gradients": gradients,
        "accuracy": tuned.accuracy,
        "round": tuned.round,
        "weights": headed.model.state_dict(),
    }


def resumed(model: str, processes: Processes, checkpoint: Path) -> dict[str, Any]:
    """Train, be interrupted in the second round, and go on."""
    real = Task.losses

    def stop(task: Task, epoch: int) -> Any:
        if epoch == 1:
            raise KeyboardInterrupt
        return real(task, epoch)

    Task.losses = stop
    with suppress(Interrupted):
        trained(model, RECIPE, processes, checkpoint)
    Task.losses = real
    processes.wait()
    assert checkpoint.exists()
    return trained(model, RECIPE, processes, checkpoint)


def refused(processes: Processes) -> str:
    """Return what is said of a file that one process alone sees."""
    try:
        processes.check_same(processes.first, "made.checkpoint")
    except WordbiasError as error:
        return str(error)
    return ""


def main(model: str, out: Path) -> None:
    with joined("cpu") as processes:
        assert processes.count == COUNT
        seen = {
            "still": trained(f"{model}-still", RECIPE, processes),
            "head": trained(f"{model}-still", replace(RECIPE, head_only=True), processes),
            "straight": trained(model, RECIPE, processes),
            "resumed": resumed(model, processes, out / "checkpoint"),
            "refused": refused(processes),
        }
        torch.save(seen, out / f"{processes.rank}.pt")
