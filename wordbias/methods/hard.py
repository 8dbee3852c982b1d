"""Hard debiasing: neutralise and equalise (Bolukbasi et al. 2016)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import unit
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.measures.direction import find_direction
from wordbias.methods.fitted import Fitted, Replaced
from wordbias.methods.misp import components_of_means
from wordbias.methods.transform import Normalise, Projection, Step
from wordbias.methods.words import as_attribute, check_embedding, listed_words, spellings
from wordbias.moments import Moments
from wordbias.rendering import how_many
from wordbias.results import Row
from wordbias.subspace import Subspace
from wordbias.wordlists import Attribute

Float = NDArray[np.float64]
Words = tuple[str, ...]
_ALIKE = 1e-6


def fit(
    embedding: Embedding,
    attribute: Attribute | str | Path | None = None,
    *,
    direction: str = "pca",
    equalise: bool = True,
    as_published: bool = False,
) -> Fitted:
    """Fit hard debiasing: neutralise all but the specific words, at length one; equalise pairs."""
    # Specific words are those that the attribute lists as specific, and the words of its
    # definitional and equalising pairs, listed or not, in all capitalisations. Mary, who defines
    # the direction, is not neutral to it. As published only the listed words are specific, as they
    # are spelled: Mother loses its gender. The published list lacks Mary and John (definitional)
    # and Catholic_priest (equalising).
    check_embedding(embedding)
    attribute = as_attribute(attribute)
    part = on_unit_length(embedding, listed_words(attribute))
    axis = find_direction(part, attribute, direction)
    settings = {"direction": direction, "equalise": equalise, "as_published": as_published}
    pairs = (attribute.equalise or attribute.pairs) if equalise else ()
    exempt = _exempt(attribute, as_published)
    return neutralise("hard", embedding, axis.defined(), pairs, exempt, settings)


def fit_moments(moments: Sequence[Moments], settings: Mapping[str, Any]) -> tuple[Step, ...]:
    """Fit to the labels of some rows: the span of the differences between the means of each."""
    # Rows that were brought to length one are so again afterwards; those inside a model, whose
    # layers read their lengths, are not.
    direction = settings.get("direction", "means")
    if direction not in ("pca", "means"):
        raise WordbiasError(f"Hard: the direction {direction!r} is for words; rows take only means")
    projection = removal(components_of_means(moments))
    return (projection, Normalise()) if moments[0].unit else (projection,)


def removal(g: Subspace) -> Projection:
    """Return the removal of a subspace as a whole, whatever its weights."""
    return Projection(Subspace(g.basis, np.ones(g.dims)), hard=True)


def _exempt(attribute: Attribute, as_published: bool) -> Iterable[str]:
    if not as_published:
        return spellings(attribute.specific)
    listed = attribute.specific - attribute.unlisted
    if not listed.intersection(word for pair in attribute.pairs for word in pair):
        raise WordbiasError(
            f"{attribute.name} lists no word of its definitional pairs as specific; as published "
            "all of them would lose what they differ in. Add them to specific = [...] in its file, "
            "or leave --as-published out"
        )
    return listed


def neutralise(
    name: str,
    embedding: Embedding,
    g: Subspace,
    sets: Iterable[Sequence[str]],
    exempt: Iterable[str],
    settings: dict[str, Any],
) -> Fitted:
    """Fit a method that neutralises all but the exempt words along a subspace; equalise sets."""
    projection = removal(g)
    whole = projection.subspace
    fitted = Fitted(
        name,
        (projection, Normalise()),
        frozenset(exempt),
        (Normalise(),),
        settings=settings,
    )
    chosen = cased(sets, embedding)
    words = list(dict.fromkeys(word for set_ in chosen for word in set_))
    alike: list[Words] = []
    replaced = Replaced((), np.zeros((0, embedding.dim)))
    if words:
        neutral = fitted.apply(words, embedding.take(words)).astype(float)
        vectors = dict(zip(words, neutral, strict=True))
        alike = equalise_all(vectors, chosen, whole)
        replaced = Replaced(words, Normalise()(np.array([vectors[word] for word in words])))
    sizes = {"n": len(words)}
    row = Row(embedding.name, "equalised-sets", len(chosen) - len(alike), sizes)
    return replace(fitted, replaced=replaced, found=(row,), warnings=remarks(chosen, alike))


def on_unit_length(embedding: Embedding, words: Iterable[str]) -> Embedding:
    """Return the part of an embedding with the given words, at length one."""
    part = embedding.subset(sorted(words))
    if not len(part):
        raise WordbiasError(
            f"{embedding.name} has none of the words that define the direction; give words it has "
            "with --groups FILE"
        )
    return part.with_vectors(unit(part.vectors))


# equalising


def cased(sets: Iterable[Sequence[str]], vocabulary: Container[str]) -> list[Words]:
    """Return sets in lower case, Title Case and UPPER CASE, as the published code does."""
    # A form counts if all of its words are in the vocabulary. The order is that of the list, which
    # matters for a word in several sets. The published code iterates over a Python set, and its
    # result there depends on hash values.
    forms = (
        tuple(form(word) for word in words)
        for words in sets
        for form in (str.lower, str.title, str.upper)
    )
    return [
        words
        for words in dict.fromkeys(forms)
        if all(word in vocabulary for word in words) and len(set(words)) == len(words)
    ]


def equalise_all(vectors: dict[str, Float], sets: Iterable[Words], g: Subspace) -> list[Words]:
    """Equalise set after set in place; return the sets that did not differ in the subspace."""
    alike = []
    for words in sets:
        x = np.stack([vectors[word] for word in words])
        new = equalise(x, g)
        if new is x:
            alike.append(words)
        vectors.update(zip(words, new, strict=True))
    return alike


def equalise(x: Float, g: Subspace) -> Float:
    r"""Make the vectors of one set differ inside the subspace only.

    .. math:: \nu = \mu - \mu_B, \quad
              w \leftarrow \nu + \sqrt{1 - \|\nu\|^2} \frac{w_B - \mu_B}{\|w_B - \mu_B\|}

    with :math:`\mu` the mean of the set and :math:`B` the part inside the subspace. Every word
    gets length one and the same distance to anything without a component in the subspace.
    """
    # `x` has shape (n, d), n ≥ 2; it is returned if a word does not differ from the mean of the set
    # inside the subspace: its side is undefined. The weights of `g` are ignored.
    mu = x.mean(0)
    nu = g.remove(mu, hard=True)
    inside = g.coordinates(x - mu) @ g.basis
    length = np.linalg.norm(inside, axis=1, keepdims=True)
    if (length < _ALIKE).any():
        return x
    z = np.sqrt(max(0.0, 1 - nu @ nu))
    out: Float = nu + z * inside / length
    return out


def remarks(sets: Sequence[Words], alike: Sequence[Words]) -> tuple[str, ...]:
    """Return warnings on words in several sets and on sets that could not be equalised."""
    notes = []
    often = [word for word, n in Counter(word for words in sets for word in words).items() if n > 1]
    if often:
        notes.append(
            f"in several sets to be equalised: {how_many(len(often), 'word')} ({_first(often)}); "
            "only the last set of each ends up equidistant"
        )
    if alike:
        notes.append(
            f"not equalised: {how_many(len(alike), 'set')} whose words do not differ in the "
            f"subspace ({_first(['/'.join(words) for words in alike])})"
        )
    return tuple(notes)


def _first(items: Sequence[str]) -> str:
    return ", ".join([*items[:3], "…"] if len(items) > 3 else items)
