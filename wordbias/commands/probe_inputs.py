"""What `wordbias probe` works on: vectors of a file or of words, and a label for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.commands.probe_columns import Known
from wordbias.probes.control import random_vectors
from wordbias.probes.examples import Examples
from wordbias.probes.representations import Column

_SHOWN = 5


@dataclass(frozen=True)
class Input:
    """Vectors and labels that fit together, and what else is known of them.

    Attributes
    ----------
    examples
        What is probed.
    columns
        What is known of each example, by name.
    described
        What they are, for people.
    info
        The same for machines.
    notes
        What a reader must know.
    """

    examples: Examples
    columns: Mapping[str, Column] = field(repr=False)
    described: str
    info: Mapping[str, Any]
    notes: Sequence[str] = ()

    @property
    def one_layer(self) -> bool:
        """Whether there is no layer to tell from others."""
        return len(self.examples.layers) == 1 and "layers" not in self.info

    def codes(self, option: str, spec: str | None) -> NDArray[np.intp] | None:
        """Return a code for each example of the column or file that an option names."""
        column = self.column(option, spec)
        return None if column is None else column.codes.astype(np.intp)

    def column(self, option: str, spec: str | None) -> Column | None:
        """Return the column or the lines of the file that an option names."""
        if spec is None:
            return None
        return self._known.column(option, spec)

    def rows_where(self, option: str, spec: str | None) -> NDArray[np.intp] | None:
        """Return the examples for which ``COLUMN=VALUE`` holds."""
        if spec is None:
            return None
        return self._known.places(option, spec)

    @property
    def _known(self) -> Known:
        return Known(self.examples.name, self.columns, len(self.examples))

    def random(self, seed: int) -> Input:
        """Return normal vectors of the same shape and scale, with the same labels."""
        e = self.examples
        vectors = random_vectors(e.vectors, seed)
        name = f"random ({e.name})" if e.name != "sample" else "random"
        like = Examples(vectors, e.labels, e.classes, e.layers, name)
        described = f"normal vectors of the same shape and scale, seed {seed}"
        info = {"random": True, "like": e.name, "seed": seed}
        info |= {key: self.info[key] for key in ("layers",) if key in self.info}
        return Input(like, self.columns, described, info)


def rare_notes(examples: Examples) -> list[str]:
    """Say which classes occur once."""
    rare = examples.rare()
    if not rare:
        return []
    said = ", ".join(f"{name:.40}" for name in rare[:_SHOWN]) + (" …" if len(rare) > _SHOWN else "")
    return [
        f"{examples.name}: of {len(examples.classes)} classes so many occur once: {len(rare)} "
        f"({said}); no probe is both taught and tested on them"
    ]
