r"""Labelled words for a learned subspace: those that lean most to each group, and neutral ones.

A classifier needs words of known class. As Ravfogel et al. (2020, section 6.1) do it, the embedding
labels them itself. Two groups with an axis (she − he) are labelled by the cosine with that axis;
groups without one, and more than two, by their means. There a word leans to group `j` by its cosine
with

.. math:: \bar x_j - \tfrac1k \sum_i \bar x_i

the mean of that group's words less the mean of all groups' means. For two groups this is their
mean difference and its negative.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import lengths
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.measures.direction import UNDEFINED_BELOW, axis, most_biased, projections
from wordbias.methods.misp import group_vectors
from wordbias.subspace import Subspace
from wordbias.vocabulary import neutral_vocabulary
from wordbias.wordlists import Attribute, WordGroups

CANDIDATES = 150_000
"""Number of the most frequent words that are candidates."""
PER_CLASS = 7500
SHARE = 0.05
"""Largest share of the candidates in one class by default: 7,500 of 150,000."""
NEUTRAL_BELOW = 0.03
HELD_OUT = 0.3
FEWEST = 10
NEUTRAL = "neutral"
Matrix = NDArray[np.float64]
Integers = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class LabelledWords:
    """Words with their classes, split into training, development and test words."""

    words: tuple[str, ...]  # `n` words, class by class
    rows: Integers  # row numbers of the words in the embedding, shape `(n,)`
    labels: Integers  # class of each word, an index into `classes`, shape `(n,)`
    # the attribute's groups, and `"neutral"` where there is one class more
    classes: tuple[str, ...]
    train: Integers  # indices into `words`, ascending: 49, 21 and 30 % of every class
    dev: Integers
    test: Integers

    def __post_init__(self) -> None:
        for name in ("rows", "labels", "train", "dev", "test"):
            values = np.array(getattr(self, name), np.intp)
            values.flags.writeable = False
            object.__setattr__(self, name, values)

    @property
    def learned(self) -> Integers:
        """Indices of all words that are not held out: train and dev together."""
        return np.sort(np.concatenate([self.train, self.dev]))

    @property
    def per_class(self) -> int:
        """Number of words in each class."""
        return len(self.words) // len(self.classes)

    def vectors(self, embedding: Embedding) -> NDArray[np.float64]:
        """Return the vectors of all words, shape ``(n, d)``."""
        vectors: NDArray[np.float64] = embedding.vectors[self.rows].astype(np.float64)
        return vectors


def labelled_words(
    embedding: Embedding,
    attribute: Attribute | WordGroups,
    *,
    classes: int | None = None,
    per_class: int | None = None,
    seed: int = 0,
) -> LabelledWords:
    """Choose and label words by their cosine with the attribute's axis, or its groups' means."""
    # Candidates are the first 150,000, filtered as in `neutral_vocabulary` with strict=True; words
    # that carry the attribute by definition stay among them, as published. Neutral words are drawn
    # without replacement among those with |cos| < .03. The published code draws with replacement
    # and drops repeated words; its third class is therefore the smallest. Classes have 5 % of the
    # candidates, 7,500 at most, as the paper takes of 150,000.
    k = len(attribute.groups)
    classes = default_classes(attribute) if classes is None else classes
    if classes not in (k, k + 1):
        raise WordbiasError(
            f"expected {k} classes, the groups, or {k + 1}, neutral words as well; got {classes}"
        )
    words, rows = _candidates(embedding)
    lean = leans(embedding, attribute, embedding.vectors[rows])
    count = min(PER_CLASS, int(SHARE * len(words))) if per_class is None else per_class
    rng = np.random.default_rng(seed)
    chosen = _chosen(lean, classes > k, count, rng, f"{embedding.name}: {len(words)} candidates")
    labels = np.repeat(np.arange(classes), count)
    return LabelledWords(
        tuple(words[i] for i in chosen.tolist()),
        rows[chosen],
        labels,
        (*attribute.groups, NEUTRAL)[:classes],
        *split(labels, rng),
    )


def default_classes(attribute: Attribute | WordGroups) -> int:
    """Return 3 for two groups, with neutral words, as published; else the number of groups."""
    k = len(attribute.groups)
    return 3 if k == 2 else k


def _candidates(embedding: Embedding) -> tuple[list[str], Integers]:
    words = neutral_vocabulary(embedding.words, (), size=CANDIDATES, strict=True)
    rows, _ = embedding.rows(words)
    length = lengths(embedding.vectors[rows])
    if not np.isfinite(length).all():
        word = words[int(np.argmin(np.isfinite(length)))]
        raise WordbiasError(
            f"{embedding.name}: the vector of {word!r} is not finite; leave the word out"
        )
    keep = np.flatnonzero(length > 0)
    return [words[i] for i in keep.tolist()], rows[keep]


def _chosen(
    lean: NDArray[np.float64], neutral: bool, count: int, rng: np.random.Generator, what: str
) -> Integers:
    """Return the indices of all chosen words, class by class."""
    if count < FEWEST:
        raise WordbiasError(
            f"{what}: {count} words a class are too few to learn from, at least {FEWEST} are "
            "needed; give a larger vocabulary or take fewer (per-class)"
        )
    try:
        leaning = most_leaning(lean, count).ravel()
    except WordbiasError as error:
        raise WordbiasError(f"{what}: {error} (per-class)") from None
    if not neutral:
        return leaning
    free = np.abs(lean).max(1) < NEUTRAL_BELOW
    free[leaning] = False
    near = np.flatnonzero(free)
    if len(near) < count:
        raise WordbiasError(
            f"{what}: {count} neutral words needed, but only {len(near)} of the others have a "
            f"cosine below {NEUTRAL_BELOW} with the axis; take fewer (per-class), take "
            f"{lean.shape[1]} classes, or give a larger vocabulary"
        )
    return np.concatenate([leaning, np.sort(rng.choice(near, count, replace=False))])


def split(labels: Integers, rng: np.random.Generator) -> tuple[Integers, Integers, Integers]:
    """Split indices into train, dev and test: of every class 30 % test, of the rest 30 % dev."""
    parts: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
    for label in np.unique(labels):
        places = rng.permutation(np.flatnonzero(labels == label))
        test = int(np.ceil(HELD_OUT * len(places)))
        dev = test + int(np.ceil(HELD_OUT * (len(places) - test)))
        for part, chunk in zip(parts, np.split(places, [test, dev]), strict=True):
            part.append(chunk)
    test_places, dev_places, train_places = (np.sort(np.concatenate(part)) for part in parts)
    return train_places, dev_places, test_places


# how far words lean to each group


def leans(
    embedding: Embedding, attribute: Attribute | WordGroups, vectors: NDArray[np.float32]
) -> Matrix:
    """Return the cosine of every vector (n, d) with the axis of each group, shape ``(n, k)``."""
    if isinstance(attribute, Attribute) and (attribute.direction or not all(attribute.members)):
        first = projections(vectors, _axis(embedding, attribute))
        return np.stack([first, -first], axis=1)
    along = [Subspace.from_direction(row) for row in _from_the_mean(embedding, attribute)]
    return np.stack([projections(vectors, subspace) for subspace in along], axis=1)


def _axis(embedding: Embedding, attribute: Attribute) -> Subspace:
    vector, reason = axis(embedding, attribute)
    if vector is None or not np.isfinite(vector).all():
        raise WordbiasError(
            f"{embedding.name}: words are labelled by the axis of {attribute.name}, which is "
            f"{reason or 'not finite'}; give direction = [FIRST, SECOND] in the attribute's file, "
            "two words of opposite groups that the vectors have and tell apart"
        )
    return Subspace.from_direction(vector)


def _from_the_mean(embedding: Embedding, attribute: Attribute | WordGroups) -> Matrix:
    vectors = group_vectors(embedding, attribute)
    means = np.stack([x.mean(0, np.float64) for x in vectors])
    away: Matrix = means - means.mean(0)
    length, size = np.linalg.norm(away, axis=1), np.linalg.norm(means, axis=1).mean()
    least = int(length.argmin())
    if not (length[least] > UNDEFINED_BELOW * size):
        raise WordbiasError(
            f"{embedding.name}: the mean of group {attribute.groups[least]} lies "
            f"{length[least]:.2g} from that of all groups of {attribute.name}, whose means have a "
            f"length of {size:.2g}: too near to tell words apart; give groups that differ"
        )
    return away


def most_leaning(lean: Matrix, count: int) -> NDArray[np.intp]:
    """Choose words, (k, count), that lean most to each group and to no other more, of (n, k)."""
    k = lean.shape[1]
    if k == 2:
        return most_biased((lean[:, 0] - lean[:, 1]) / 2, count).rows.reshape(2, count)
    nearest = np.where(lean.max(1) > 0, lean.argmax(1), -1)
    sizes = np.bincount(nearest[nearest >= 0], minlength=k)
    if sizes.min() < count:
        raise WordbiasError(
            f"{count} words a group needed, but only {', '.join(map(str, sizes))} words lean to "
            "the groups; take fewer, or give a larger vocabulary"
        )
    order = [np.argsort(-np.where(nearest == j, lean[:, j], -2), kind="stable") for j in range(k)]
    return np.stack([places[:count] for places in order])
