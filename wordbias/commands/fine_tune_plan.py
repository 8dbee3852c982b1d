"""What `wordbias fine-tune` was asked for, and its work: read pairs, train, store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from wordbias.commands.training_options import BFLOAT16
from wordbias.optional import need
from wordbias.resources import located


class Done(NamedTuple):
    """What a training read and found, as `wordbias.contextual.fine_tuning` holds it.

    `interval` is that of the accuracy on dev, `chance` the share of dev's commonest label; `before`
    says that an earlier call had finished it.
    """

    data: Any
    dev: Any
    recipe: Any
    tuned: Any
    headed: Any
    interval: tuple[float, float]
    chance: float
    before: bool


@dataclass(frozen=True)
class Asked:
    """What was asked for; numbers that were not given are the recipe's."""

    model: str
    task: str
    train_file: str
    dev_file: str
    output: str
    head_only: bool
    limit: int | None
    epochs: int | None
    batch: int | None
    rate: float | None
    warmup: float | None
    decay: float | None
    every: int | None
    device: str | None
    precision: str
    seed: int

    @property
    def processes(self) -> int:
        """How many were started together."""
        return int(_need("several").launched()[0])

    @property
    def first(self) -> bool:
        """Whether this is the one of them that tells."""
        return bool(_need("several").launched()[1] == 0)

    @property
    def recipe(self) -> Any:
        """How the model is trained."""
        recipes = _need("recipe")
        start = recipes.HEAD_ONLY if self.head_only else recipes.WHOLE
        names = ("epochs", "batch", "rate", "warmup", "decay", "every", "seed")
        changes = {name: getattr(self, name) for name in names}
        return start.with_changes(half=self.precision == BFLOAT16, **changes)

    def check(self) -> None:
        """Refuse early what would fail after the work."""
        _need("storing").check_folder(self.output)

    def run(self) -> Done:
        """Read the pairs, train, and write the folder."""
        load, running = _need("pairs").load_labelled, _need("running")
        data = load(self.task, located(self.train_file), self.seed).head(self.limit)
        dev = load(self.task, located(self.dev_file), self.seed)
        recipe = self.recipe
        before = _need("storing").is_finished(self.output)
        tuned, headed = running.run(
            self.task, self.model, data, dev, recipe, self.output, self.device
        )
        interval, chance = running.interval(tuned, dev), running.chance(dev)
        return Done(data, dev, recipe, tuned, headed, interval, chance, before)


def _need(module: str) -> Any:
    room = "wordbias.contextual.fine_tuning"
    return need(f"{room}.{module}", extra="contextual", purpose="Fine-tuning an encoder")
