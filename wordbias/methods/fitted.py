"""Fitted methods and chains of them, which know the words that are exempt or get new vectors."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import frozen
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError, on_a_line
from wordbias.methods.transform import Projection, Step, transform_rows
from wordbias.results import Row

Float32 = NDArray[np.float32]
LINEAR = frozenset({"projection", "linear", "last-coordinate"})
"""Kinds of steps that are linear maps, which commute with sums and with scaling."""
_HOMOGENEOUS = {"projection", "normalise", "linear", "graded-rotation", "last-coordinate"}
"""Kinds of steps that map vectors of one direction to vectors of one direction."""


@dataclass(frozen=True, eq=False)
class Replaced:
    """Words with their new vectors, shape ``(n, d)``."""

    words: Sequence[str] = ()
    vectors: Any = field(default_factory=lambda: np.zeros((0, 0)))

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", tuple(self.words))
        object.__setattr__(self, "vectors", frozen(self.vectors))
        if self.vectors.ndim != 2 or len(self.words) != len(self.vectors):
            raise WordbiasError(
                f"{len(self.words)} words do not fit vectors of shape {self.vectors.shape}"
            )

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def index(self) -> dict[str, int]:
        """Row number of each word."""
        return {word: i for i, word in enumerate(self.words)}


@dataclass(frozen=True, eq=False)
class Fitted:
    """Fitted method."""

    name: str
    steps: tuple[Step, ...] = ()  # map of rows, in order. A method without steps only replaces.
    # words, as the vocabulary spells them, that the steps do not change
    exempt: frozenset[str] = frozenset()
    # steps for exempt words, such as bringing them to length one
    exempt_steps: tuple[Step, ...] = ()
    # words that get vectors of their own, whatever the steps; exempt words may be among them
    replaced: Replaced = field(default_factory=Replaced)
    found: tuple[Row, ...] = ()  # results of fitting: accuracies, losses, candidates
    # arguments of the fit, as JSON can hold them
    settings: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()  # sentences on the limits of this fit

    def __call__(self, x: Any) -> Any:
        """Map rows as those of words that are not exempt, or an `Embedding` word by word."""
        if isinstance(x, Embedding):
            return self._debiased(x)
        for step in self.steps:
            x = step(x)
        return x

    def __repr__(self) -> str:
        steps = ", ".join(step.kind for step in self.steps) or "single words only"
        return on_a_line(
            f"<Fitted {self.name}: {steps}; {len(self.exempt):,} words kept as they are, "
            f"{len(self.replaced):,} with vectors of their own>"
        )

    def apply(self, words: Sequence[str], x: Float32) -> Float32:
        """Map the rows of words, shape ``(n, d)``, into a new matrix."""
        out = np.array(self(x), np.float32)
        if self.by_word:
            exempt = [i for i, word in enumerate(words) if word in self.exempt]
            index = self.replaced.index
            replaced = [i for i, word in enumerate(words) if word in index]
            self._overwrite(out, x, words, exempt, replaced)
        return out

    @property
    def by_word(self) -> bool:
        """True if the map depends on the word."""
        return bool(self.exempt or len(self.replaced))

    @property
    def by_length(self) -> bool:
        """True if the result depends on the lengths of vectors, not only on their directions."""
        kinds = {step.kind for step in self.steps}
        lengths = bool(self.replaced.words) and "normalise" not in kinds
        return lengths or not kinds <= _HOMOGENEOUS

    @property
    def centred(self) -> bool | None:
        """True if it was fitted to centred differences; None for a method without differences."""
        named = "centre" if "centre" in self.settings else "center"  # as version 0.1 stored it
        return self.settings.get(named)

    def reach(self, words: Sequence[str]) -> Reach:
        """Count the words that are mapped, replaced and left unchanged."""
        replaced = sum(word in self.replaced.index for word in words) if self.replaced.words else 0
        if not self.steps:
            return Reach(0, replaced, len(words) - replaced)
        exempt = self.exempt.difference(self.replaced.index)
        outside = sum(word in exempt for word in words) if exempt else 0
        return Reach(len(words) - replaced - outside, replaced, outside)

    def _debiased(self, embedding: Embedding) -> Embedding:
        """Transform an embedding; its words are unique, so that each is looked up once."""
        out = transform_rows(self, embedding.vectors)
        if self.by_word:
            exempt, replaced = (
                embedding.rows(words)[0].tolist() for words in (self.exempt, self.replaced.words)
            )
            self._overwrite(out, embedding.vectors, embedding.words, exempt, replaced)
        return embedding.with_vectors(out, f"{embedding.name}.{self.name}")

    def _overwrite(
        self,
        out: Float32,
        x: Float32,
        words: Sequence[str],
        exempt: list[int],
        replaced: list[int],
    ) -> None:
        if exempt:
            exempted: Any = x[exempt]
            for step in self.exempt_steps:
                exempted = step(exempted)
            out[exempt] = exempted
        if replaced:
            index = self.replaced.index
            out[replaced] = self.replaced.vectors[[index[words[i]] for i in replaced]]


class Reach(NamedTuple):
    """Number of words that a method mapped, replaced by a new vector, and left unchanged."""

    mapped: int
    replaced: int
    outside: int

    def __add__(self, other: Any) -> Reach:
        return Reach(*(a + b for a, b in zip(self, other, strict=True)))


@dataclass(frozen=True, eq=False)
class Chain:
    """Fitted methods, applied one after the other; a bare projection becomes a method."""

    parts: tuple[Fitted, ...]

    def __post_init__(self) -> None:
        parts = (
            Fitted(part.name, (part,)) if isinstance(part, Projection) else part
            for part in self.parts
        )
        object.__setattr__(self, "parts", tuple(parts))

    @property
    def name(self) -> str:
        """Their names in order: ``hard.misp``."""
        return ".".join(part.name for part in self.parts)

    def __repr__(self) -> str:
        return on_a_line(f"<Chain {', '.join(map(repr, self.parts))}>")

    def __call__(self, x: Any) -> Any:
        """Apply all methods to rows or to an `Embedding`."""
        for part in self.parts:
            x = part(x)
        return x

    def apply(self, words: Sequence[str], x: Float32) -> Float32:
        """Map the rows of words, shape ``(n, d)``, into a new matrix."""
        for part in self.parts:
            x = part.apply(words, x)
        return x

    @property
    def by_length(self) -> bool:
        """True if the result of one of them depends on the lengths of vectors."""
        return any(part.by_length for part in self.parts)

    def reach(self, words: Sequence[str]) -> list[Reach]:
        """Count the words that each method maps, replaces and leaves unchanged."""
        return [part.reach(words) for part in self.parts]


def refuse_mixed_centring(centred: Collection[bool | None]) -> None:
    """Refuse methods if only some were fitted to centred differences."""
    if {True, False} <= set(centred):
        raise WordbiasError(
            "one method has centred differences (centre, as-published) and another has not: they "
            "remove different things under one name; give both the same"
        )
