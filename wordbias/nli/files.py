"""A trained NLI model in memory and as a file: safetensors, its settings as JSON in the header."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias import __version__
from wordbias.errors import WordbiasError
from wordbias.formats.stored import NLI_MODEL, reading, write
from wordbias.nli.pairs import LABELS

AS_GIVEN = "as given"
"""Convention of a model that reads vectors as they are, not scaled to length one."""
Weights = Mapping[str, NDArray[np.float32]]


@dataclass(frozen=True, eq=False)
class Model:
    """A trained model without its vectors, which are an embedding's."""

    # parameters by their names in `wordbias.nli.model`, without the axis of stacked models
    weights: Weights = field(repr=False)
    dim: int
    hidden: int
    intra: bool
    # order of its probabilities; always `LABELS` here, stored for other readers of the file
    labels: tuple[str, ...] = LABELS
    # recipe, embedding, data and their hashes, accuracies, conventions
    about: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def parameters(self) -> int:
        """Number of trained parameters."""
        return sum(weight.size for weight in self.weights.values())

    @property
    def lower(self) -> bool | None:
        """True if tokens are to be lower-cased, as in training; None if the file does not say."""
        lower = self.about.get("conventions", {}).get("lower")
        return None if lower is None else bool(lower)

    @property
    def raw(self) -> bool:
        """True if the vectors are read as they are, not scaled to length one."""
        return bool(self.about.get("conventions", {}).get("length") == AS_GIVEN)

    def save(self, path: str | os.PathLike[str], dtype: str = "float32") -> None:
        """Write the model; ``dtype="float16"`` halves the file."""
        tensors = {name: np.ascontiguousarray(x, dtype) for name, x in self.weights.items()}
        settings = {
            "wordbias": __version__,
            "dim": self.dim,
            "hidden": self.hidden,
            "intra": self.intra,
            "labels": list(self.labels),
            "about": dict(self.about),
        }
        write(path, NLI_MODEL, tensors, settings)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Model:
        """Read what `save` wrote."""
        with reading(path, NLI_MODEL) as (tensors, stored):
            weights = {}
            for name, x in tensors.items():
                if x.dtype.kind != "f":
                    raise TypeError(f"its weights are {x.dtype}")
                weights[name] = x.astype(np.float32)
            dim, hidden = int(stored["dim"]), int(stored["hidden"])
            labels, about = tuple(stored["labels"]), dict(stored["about"])
            model = cls(weights, dim, hidden, bool(stored["intra"]), labels, about)
            if labels != LABELS:
                label_names = ", ".join(map(str, labels))
                raise WordbiasError(f"its labels are {label_names}, expected {', '.join(LABELS)}")
            _check(model)
            return model


def shapes(dim: int, hidden: int, intra: bool) -> dict[str, tuple[int, ...]]:
    """Return the shape of every parameter of one model."""
    width = 2 * hidden if intra else hidden
    parameters: dict[str, tuple[int, ...]] = {"project.weight": (dim, hidden)}
    blocks = {"attend": width, "compare": 2 * width, "aggregate": 2 * hidden}
    if intra:
        blocks["intra"] = hidden
        parameters["distance"] = (11,)
    for name, inputs in blocks.items():
        for part, rows in (("first", inputs), ("second", hidden)):
            parameters[f"{name}.{part}.weight"] = (rows, hidden)
            parameters[f"{name}.{part}.bias"] = (1, hidden)
    return parameters | {"classify.weight": (hidden, 3), "classify.bias": (1, 3)}


def _check(model: Model) -> None:
    expected = shapes(model.dim, model.hidden, model.intra)
    for name in dict.fromkeys((*expected, *model.weights)):
        shape = model.weights[name].shape if name in model.weights else None
        if shape != expected.get(name):
            raise WordbiasError(f"{name} has the shape {shape}, expected {expected.get(name)}")
    if not all(np.isfinite(x).all() for x in model.weights.values()):
        raise WordbiasError("a weight is no number")
