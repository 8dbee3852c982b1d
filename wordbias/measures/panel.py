"""Panel: an embedding to measure, with its original, a vocabulary, an attribute and a direction."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wordbias.draws import by_bootstrap, drawn, items_of
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError, on_a_line
from wordbias.measures.direction import (
    Biased,
    Direction,
    find_direction,
    members,
    most_biased,
    projections,
    with_side,
)
from wordbias.measures.movement import length_ratio
from wordbias.measures.registry import MEASURES
from wordbias.rendering import how_many
from wordbias.results import Row
from wordbias.vocabulary import choose_vocabulary
from wordbias.wordlists import Attribute, WordGroups
from wordbias.wordlists.groups import more_than_two

if TYPE_CHECKING:
    from wordbias.measures.sembias import SemBias

SELF = "self"
CLUSTERED = 1500
"""Most biased words to cluster, as in Table 6 of Dawkins (2021), which tried 500 to 1,500."""
THETAS = (0.03, 0.05, 0.07)
"""Thresholds of indirect bias in GIPE, those of Kumar et al. (2020)."""
NEIGHBOURS = 100
"""Nearest neighbours of each word in GIPE, as in both papers."""


@dataclass(frozen=True, eq=False)
class Panel:
    """One embedding, ready to be measured."""

    embedding: Embedding
    # embedding before debiasing, in which lean and proximity are measured: an argument, never
    # guessed. `embedding` itself if there is none.
    original: Embedding
    vocabulary: Sequence[str]  # V_t; every word is in both
    attribute: Attribute = field(default_factory=Attribute.load)
    # recipe of the direction; see `wordbias.measures.direction.find_direction`
    recipe: str = "she-he"
    dims: int = 4
    centre: bool = False
    # weights of its components where it is the direction; see `wordbias.subspace.reweighted`
    weights: str | Sequence[float] = "variance"
    sembias: SemBias | None = None  # questions of SemBias, which are not part of the package
    # numbers of most biased words to cluster, half of each side
    clustered: Sequence[int] = (CLUSTERED,)
    thetas: Sequence[float] = THETAS
    # number of nearest neighbours of each word, for GIPE and bias by neighbours
    neighbours: int = NEIGHBOURS
    # GIPE's weight of a word that is nobody's neighbour; see `wordbias.measures.gipe.gipe`
    isolated: float = 1.0
    # choose the most biased words by their projection, as published, not by their cosine
    by_projection: bool = False
    seed: int = 0

    def __repr__(self) -> str:
        return on_a_line(
            f"<Panel of {self.embedding!r}: {self.attribute.name}, "
            f"{how_many(len(self.vocabulary), 'word')}>"
        )

    @cached_property
    def own_direction(self) -> Direction:
        """Direction in the measured embedding."""
        return self._direction(self.embedding)

    @cached_property
    def original_direction(self) -> Direction:
        """Direction in the original."""
        return self._direction(self.original)

    @cached_property
    def vectors(self) -> NDArray[np.float32]:
        """Vectors of the vocabulary, shape ``(n, d)``."""
        return self.embedding.take(self.vocabulary)

    @cached_property
    def original_vectors(self) -> NDArray[np.float32]:
        """Vectors of the vocabulary in the original."""
        return self.vectors if self.is_own else self.original.take(self.vocabulary)

    @cached_property
    def vocabulary_rows(self) -> NDArray[np.intp]:
        """Row numbers of the vocabulary in the original, in its order, by frequency."""
        return np.sort(self.original.rows(self.vocabulary)[0])

    @cached_property
    def length_ratio(self) -> float | None:
        """Mean length over that in the original, where a projection would not change it so."""
        if self.is_own or self.embedding.dim != self.original.dim:
            return None
        return length_ratio(self.original_vectors, self.vectors)

    @cached_property
    def _items(self) -> str:
        return items_of(tuple(self.vocabulary), self.seed)

    @property
    def is_own(self) -> bool:
        """True if the embedding is its own original."""
        return self.embedding is self.original

    def most_biased(self, words: int) -> Biased:
        """Choose the `words`, half of each side, that lean most in the original."""
        direction = self.original_direction
        if direction.subspace is None:
            raise WordbiasError(direction.reason.removeprefix("undefined: ") + direction.remedy)
        lean = projections(
            self.original_vectors,
            direction.subspace,
            direction.towards,
            by_length=self.by_projection,
        )
        return most_biased(lean, words // 2)

    def rng(self) -> np.random.Generator:
        """Return a new generator from the seed, so that each measure starts alike."""
        return np.random.default_rng(self.seed)

    def row(
        self,
        measure: str,
        value: float | None,
        samples: NDArray[np.float64] | None = None,
        *,
        unit: str = "words",
        items: Any = None,
        **details: Any,
    ) -> Row:
        """Make a row about this embedding; details that are None are left out."""
        # A value that grows with the length of the vectors has their `length_ratio`. `items` are
        # those among which samples were drawn; by default the vocabulary.
        if measure in MEASURES and MEASURES[measure].by_length:
            details["length_ratio"] = self.length_ratio
        known = {key: item for key, item in details.items() if item is not None}
        about = {**by_bootstrap(samples, unit), **known}
        among = self._items if items is None else items_of(items, self.seed)
        return Row(self.embedding.name, measure, value, about, drawn(samples, unit, among))

    def against(self) -> dict[str, Any]:
        """Return the details of rows about the original and the direction."""
        name = SELF if self.is_own else self.original.name
        centred = {"centred": self.centre} if self.recipe == "subspace" else {}
        return {"original": name, "direction": self.original_direction.recipe, **centred}

    def undefined(self, measures: Iterable[str], reason: str, **details: Any) -> list[Row]:
        """Make one row a measure that has no value, with the reason."""
        return [self.row(name, None, reason=reason, **details) for name in measures]

    def _direction(self, embedding: Embedding) -> Direction:
        direction = find_direction(
            embedding,
            self.attribute,
            self.recipe,
            dims=self.dims,
            centre=self.centre,
            weights=self.weights,
        )
        if direction.subspace is None or direction.subspace.dims == 1:
            return direction
        return with_side(direction.subspace, direction.recipe, *members(embedding, self.attribute))


def make_panels(
    embeddings: Sequence[Embedding],
    original: Embedding | None,
    attribute: Attribute | WordGroups,
    given: Sequence[str] | None = None,
    *,
    strict: bool = False,
    specific: Collection[str] | None = None,
    **settings: Any,
) -> list[Panel]:
    """Make a panel of each embedding, with one vocabulary that all and the original have."""
    if isinstance(attribute, WordGroups):
        raise more_than_two(attribute)
    names = [embedding.name for embedding in embeddings]
    for i, name in enumerate(names):
        if name in names[:i]:
            raise WordbiasError(f"two embeddings are called {name!r}; rename one of the files")
    shared = [*embeddings, *([] if original is None else [original])]
    vocabulary = choose_vocabulary(shared, attribute, given, strict=strict, specific=specific)
    return [
        Panel(
            embedding,
            embedding if original is None else original,
            vocabulary,
            attribute,
            **settings,
        )
        for embedding in embeddings
    ]
