"""What the classic measures are taken on: an embedding, its original, a vocabulary, a direction.

The subspace that measures run along: she − he, PCA of pairs, groups of names, or from a file.

Classically clustering, recoverability, GIPE and SemBias use one direction; with a subspace of
several weighted ones they become the family that Dawkins (2021, section 4) proposes.

The most biased words of an embedding: whom clustering and recoverability ask about.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import blocks
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError, on_a_line
from wordbias.measures.midb import axis, pair_component, projections_of_unit
from wordbias.rendering import how_many
from wordbias.results import Row
from wordbias.subspace import Subspace
from wordbias.vocabulary import choose_vocabulary
from wordbias.wordlists import Attribute, WordGroups, resolve_groups
from wordbias.wordlists.groups import more_than_two

RECIPES = ("she-he", "axis", "pca", "names", "means")
_WITHOUT = "; --direction=means or names does without"


@dataclass(frozen=True)
class Direction:
    """A subspace, how it was made, why it is undefined if it is, and perhaps what to do then."""

    subspace: Subspace | None
    recipe: str
    reason: str = ""
    remedy: str = ""

    def defined(self) -> Subspace:
        """Return the subspace.

        Raises
        ------
        WordbiasError
            If it is undefined.
        """
        if self.subspace is None:
            raise WordbiasError(f"direction {self.recipe}: {self.reason}{self.remedy}")
        return self.subspace


def find_direction(
    embedding: Embedding,
    attribute: Attribute,
    recipe: str = "she-he",
    *,
    dims: int = 4,
    center: bool = False,
) -> Direction:
    """Fit a direction by its recipe.

    Parameters
    ----------
    embedding
        What it is fitted on.
    attribute
        The groups and pairs.
    recipe
        ``axis``, also called ``she-he`` after gender's: the difference of the attribute's axis
        pair. ``pca``: the first principal component of its definitional pairs. ``names``: the
        weighted subspace of all pairwise differences between its groups. ``means``: the difference
        of its groups' means. Anything else: a file, see `Subspace.load`.
    dims, center
        For ``names``.

    Raises
    ------
    WordbiasError
        If a group has too few words, or the file does not fit the embedding.
    """
    if recipe in ("she-he", "axis"):
        named = "−".join(attribute.direction or ("axis",))
        remedy = "" if attribute.direction else _WITHOUT
        return _one(named, *axis(embedding, attribute), remedy)
    if recipe == "pca":
        remedy = "" if attribute.pairs else _WITHOUT
        return _one("pca of definitional pairs", *pair_component(embedding, attribute), remedy)
    if recipe == "means":
        named = "−".join(f"mean {group}" for group in attribute.groups)
        return Direction(Subspace.from_means(_members(embedding, attribute)), named)
    if recipe == "names":
        first, second = _members(embedding, attribute)
        kind = "centred" if center else "not centred"
        subspace = Subspace.from_groups(first, second, dims, center=center)
        return Direction(subspace, f"{dims} components of name differences, {kind}")
    if not Path(recipe).exists():
        raise WordbiasError(
            f"direction {recipe!r}: expected {', '.join(RECIPES)}, or a file; there is none of "
            "that name"
        )
    return Direction(_from_file(Path(recipe), embedding), recipe)


def _one(named: str, vector: NDArray[np.float64] | None, reason: str, remedy: str) -> Direction:
    subspace = None if vector is None else Subspace.from_direction(vector)
    return Direction(subspace, named, reason, remedy)


def _members(embedding: Embedding, attribute: Attribute) -> list[NDArray[np.float32]]:
    return [embedding.take(found.found) for found in resolve_groups(attribute, embedding)]


def projections(
    vectors: NDArray[np.float32], subspace: Subspace, *, by_length: bool = False
) -> NDArray[np.float64]:
    """Weighted projection of every vector on unit length: ``Σ a_i ⟨g_i, x⟩ / ‖x‖``, shape ``(n,)``.

    Positive towards the first group. For one direction this is the cosine; 0 for a zero vector.
    With `by_length` vectors are taken as they are, so that longer ones have larger projections.
    """
    g = subspace.basis.T @ subspace.weights
    if by_length:
        return np.concatenate([np.zeros(0), *(x @ g for x in blocks(vectors))])
    return np.concatenate([np.zeros(0), *(projections_of_unit(x, g) for x in blocks(vectors))])


def _from_file(path: Path, embedding: Embedding) -> Subspace:
    subspace = Subspace.load(path)
    d = subspace.basis.shape[1]
    if d != embedding.dim:
        raise WordbiasError(
            f"{path}: the subspace has {d} dimensions, {embedding.name} has {embedding.dim}"
        )
    return subspace


class Biased(NamedTuple):
    """Rows of the vocabulary that lean most, and whether each leans to the first group."""

    rows: NDArray[np.intp]
    labels: NDArray[np.bool_]


def most_biased(projection: NDArray[np.float64], per_side: int) -> Biased:
    """Choose the `per_side` words that lean most to each group.

    Parameters
    ----------
    projection
        Lean of every word of the vocabulary, shape ``(n,)``, positive towards the first group.
    per_side
        Words of each side.

    Raises
    ------
    WordbiasError
        If fewer words than that lean to a side.
    """
    order = np.argsort(-projection, kind="stable")
    first, second = int((projection > 0).sum()), int((projection < 0).sum())
    if min(first, second) < per_side:
        raise WordbiasError(
            f"{per_side} words a side asked for, but only {first} and {second} words lean to the "
            "groups; ask for fewer, or give a larger vocabulary"
        )
    rows = np.concatenate([order[:per_side], order[::-1][:per_side]])
    return Biased(rows, np.repeat([True, False], per_side))


SELF = "self"


@dataclass(frozen=True, eq=False)
class Panel:
    """One embedding, ready to be measured.

    Attributes
    ----------
    embedding
        What is measured.
    original
        The embedding before debiasing, from which lean and proximity are taken: an argument,
        never guessed. `embedding` itself if there is none.
    vocabulary
        V_t; every word is in both.
    attribute
        The groups and pairs.
    recipe
        Of the direction; see `find_direction`.
    dims, center
        Of the subspace of names.
    by_projection
        Choose the most biased words by their projection, as published, not by their cosine.
    seed
        Of everything random.
    """

    embedding: Embedding
    original: Embedding
    vocabulary: Sequence[str]
    attribute: Attribute = field(default_factory=Attribute.load)
    recipe: str = "she-he"
    dims: int = 4
    center: bool = False
    by_projection: bool = False
    seed: int = 0

    def __repr__(self) -> str:
        return on_a_line(
            f"<Panel of {self.embedding!r}: {self.attribute.name}, "
            f"{how_many(len(self.vocabulary), 'word')}>"
        )

    @cached_property
    def own_direction(self) -> Direction:
        """The direction as the measured embedding has it."""
        return self._direction(self.embedding)

    @cached_property
    def original_direction(self) -> Direction:
        """The direction as the original has it."""
        return self._direction(self.original)

    @cached_property
    def vectors(self) -> NDArray[np.float32]:
        """Vectors of the vocabulary, shape ``(n, d)``."""
        return self.embedding.take(self.vocabulary)

    @cached_property
    def original_vectors(self) -> NDArray[np.float32]:
        """The same words' vectors in the original."""
        return self.vectors if self.is_own else self.original.take(self.vocabulary)

    @cached_property
    def vocabulary_rows(self) -> NDArray[np.intp]:
        """Row numbers of the vocabulary in the original, in its order, which is of frequency."""
        return np.sort(self.original.rows(self.vocabulary)[0])

    @property
    def is_own(self) -> bool:
        """Whether the embedding is its own original."""
        return self.embedding is self.original

    def most_biased(self, words: int) -> Biased:
        """Choose the `words` of the vocabulary, half of each side, that lean most in the original.

        Raises
        ------
        WordbiasError
            If the original has no direction, or too few words lean.
        """
        direction = self.original_direction
        if direction.subspace is None:
            raise WordbiasError(direction.reason.removeprefix("undefined: ") + direction.remedy)
        lean = projections(self.original_vectors, direction.subspace, by_length=self.by_projection)
        return most_biased(lean, words // 2)

    def rng(self) -> np.random.Generator:
        """Return a generator that starts anew for every measure."""
        return np.random.default_rng(self.seed)

    def row(self, measure: str, value: float | None, **details: Any) -> Row:
        """Make a row about this embedding; details that are None are left out."""
        said = {key: item for key, item in details.items() if item is not None}
        return Row(self.embedding.name, measure, value, said)

    def against(self) -> dict[str, Any]:
        """Return what a row says of the original and the direction."""
        name = SELF if self.is_own else self.original.name
        centred = {"centred": self.center} if self.recipe == "names" else {}
        return {"original": name, "direction": self.original_direction.recipe, **centred}

    def undefined(self, measures: Iterable[str], reason: str, **details: Any) -> list[Row]:
        """Make one row a measure that has no value, with the reason."""
        return [self.row(name, None, reason=reason, **details) for name in measures]

    def _direction(self, embedding: Embedding) -> Direction:
        return find_direction(
            embedding, self.attribute, self.recipe, dims=self.dims, center=self.center
        )


def make_panels(
    embeddings: Sequence[Embedding],
    original: Embedding | None,
    attribute: Attribute | WordGroups,
    given: Sequence[str] | None = None,
    *,
    strict: bool = False,
    **settings: Any,
) -> list[Panel]:
    """Put embeddings side by side: one vocabulary, that of all of them and of the original.

    Parameters
    ----------
    embeddings, original
        What is measured, and what it is compared with; without an original, itself.
    attribute, given, strict
        See `wordbias.vocabulary.choose_vocabulary`.
    settings
        The other fields of `Panel`.

    Raises
    ------
    WordbiasError
        If two embeddings have the same name, too few words are common, or the attribute has more
        than two groups.
    """
    if isinstance(attribute, WordGroups):
        raise more_than_two(attribute)
    names = [embedding.name for embedding in embeddings]
    for i, name in enumerate(names):
        if name in names[:i]:
            raise WordbiasError(f"two embeddings are called {name!r}; rename one of the files")
    shared = [*embeddings, *([] if original is None else [original])]
    vocabulary = choose_vocabulary(shared, attribute, given, strict=strict)
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
