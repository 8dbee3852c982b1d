"""Recipes: the published settings of training an NLI model, and faster ones."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from wordbias.errors import WordbiasError


@dataclass(frozen=True)
class Recipe:
    """Settings of a training."""

    # `adagrad` or `adam`, its learning rate, and weight decay
    optimizer: Literal["adagrad", "adam"]
    rate: float
    weight_decay: float
    # `normal`: every weight and bias from N(0, .01²), as published; `glorot`: weights uniform by
    # Glorot and Bengio (2010), biases 0
    initial: Literal["normal", "glorot"]
    # rate of dropout, which is rounded to a multiple of 1/256, number of pairs in a batch, and
    # greatest number of epochs
    dropout: float
    batch: int
    epochs: int
    # early stopping: epochs without a better dev accuracy after which training stops; None is never
    patience: int | None
    hidden: int = 200  # number of hidden units, and whether the model has intra-sentence attention
    intra: bool = True

    def __post_init__(self) -> None:
        for name in ("batch", "epochs", "hidden", "patience"):
            value = getattr(self, name)
            if value is not None and value < 1:
                option = "batch_size" if name == "batch" else name
                raise WordbiasError(f"recipe: {option} is {value}, expected 1 or more")
        if not self.rate > 0 or not self.weight_decay >= 0:
            raise WordbiasError(
                f"recipe: lr is {self.rate} and weight_decay {self.weight_decay}, expected a "
                "positive lr and no negative decay"
            )
        if not 0 <= self.dropout < 1:
            raise WordbiasError(f"recipe: dropout is {self.dropout}, expected 0 or more, below 1")
        for name, known in (("optimizer", ("adagrad", "adam")), ("initial", ("normal", "glorot"))):
            if getattr(self, name) not in known:
                raise WordbiasError(
                    f"recipe: {name} is {getattr(self, name)!r}, expected {' or '.join(known)}"
                )

    def with_changes(self, **changes: Any) -> Recipe:
        """Return these settings with those that are not None replaced."""
        return replace(self, **{key: value for key, value in changes.items() if value is not None})

    def to_dict(self) -> dict[str, Any]:
        """Return the settings in JSON's types."""
        return asdict(self)


PUBLISHED = Recipe("adagrad", 0.025, 1e-5, "normal", 0.2, 32, 100, None)
"""Dawkins (2021, footnote 1): rate, decay, dropout, epochs, hidden units. The rest is as in
the code of libowen2121: Adagrad, N(0, .01²), batches of 32, the best epoch on dev. Its clipping of
gradients, which divides by their squared norm, is left out."""
FAST = Recipe("adam", 1e-3, 0.0, "glorot", 0.2, 128, 30, 4)
"""Fewer and larger steps with Adam, with early stopping: for first experiments."""
RECIPES = {"published": PUBLISHED, "fast": FAST}
PRECISIONS = ("float32", "bfloat16")
"""Precisions of matrix products; parameters stay in float32."""


def recipe_named(name: str, **changes: Any) -> Recipe:
    """Return a recipe, with those changes that are not None."""
    if name not in RECIPES:
        raise WordbiasError(f"recipe {name!r}: expected {' or '.join(RECIPES)}")
    return RECIPES[name].with_changes(**changes)


def is_half(precision: str | None) -> bool:
    """Return whether a precision is bfloat16, not float32, the default."""
    if precision not in (None, *PRECISIONS):
        raise WordbiasError(f"precision {precision!r}: expected {' or '.join(PRECISIONS)}")
    return precision == PRECISIONS[1]
