"""Hard debiasing: neutralise and equalise (Bolukbasi et al. 2016).

Sets of words made equally far from every neutral word (Bolukbasi et al. 2016, section 6).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import unit
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.measures.direction import find_direction
from wordbias.methods.fitted import Fitted, Replaced
from wordbias.methods.transform import Normalise, Projection
from wordbias.methods.words import as_attribute, as_embedding, listed_words, spellings
from wordbias.rendering import how_many
from wordbias.results import Row
from wordbias.subspace import Subspace
from wordbias.wordlists import Attribute

Float = NDArray[np.float64]
Words = tuple[str, ...]

_ALIKE = 1e-6


def cased(sets: Iterable[Sequence[str]], vocabulary: Container[str]) -> list[Words]:
    """Find sets in lower case, Title Case and UPPER CASE, as the published code does.

    In the order of the list, which decides where a word stands in several sets; the published
    code iterates over a Python set, so that its result there depends on hash values. Only forms
    whose words are all in the vocabulary.
    """
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


def equalise(x: Float, g: Subspace) -> Float:
    r"""Make the vectors of one set differ inside the subspace only.

    .. math:: \nu = \mu - \mu_B, \quad
              w \leftarrow \nu + \sqrt{1 - \|\nu\|^2} \frac{w_B - \mu_B}{\|w_B - \mu_B\|}

    with :math:`\mu` the mean of the set and :math:`B` the part inside the subspace. Every word
    gets length one and the same distance to anything without a component in the subspace.

    Parameters
    ----------
    x
        Vectors of the set, shape ``(n, d)``, n ≥ 2, of length one.
    g
        The subspace; its weights play no part.

    Returns
    -------
    ndarray
        Shape ``(n, d)``; `x` itself if one of its words does not differ from their mean inside the
        subspace, for then nothing says on which side it belongs.
    """
    mu = x.mean(0)
    nu = g.remove(mu, hard=True)
    inside = g.coordinates(x - mu) @ g.basis
    length = np.linalg.norm(inside, axis=1, keepdims=True)
    if (length < _ALIKE).any():
        return x
    z = np.sqrt(max(0.0, 1 - nu @ nu))
    out: Float = nu + z * inside / length
    return out


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


def remarks(sets: Sequence[Words], alike: Sequence[Words]) -> tuple[str, ...]:
    """Say what a reader must know of these sets."""
    said = []
    often = [word for word, n in Counter(word for words in sets for word in words).items() if n > 1]
    if often:
        said.append(
            f"in several sets to be equalised: {how_many(len(often), 'word')} ({_first(often)}); "
            "only the last set of each ends up equidistant"
        )
    if alike:
        said.append(
            f"not equalised: {how_many(len(alike), 'set')} whose words do not differ in the "
            f"subspace ({_first(['/'.join(words) for words in alike])})"
        )
    return tuple(said)


def _first(items: Sequence[str]) -> str:
    return ", ".join([*items[:3], "…"] if len(items) > 3 else items)


def fit(
    embedding: Embedding,
    attribute: Attribute | str | Path | None = None,
    *,
    direction: str = "pca",
    equalise: bool = True,
    as_published: bool = False,
) -> Fitted:
    """Fit hard debiasing.

    All vectors are brought to length one; every word but the attribute's specific ones loses its
    component along the direction and is brought to length one again; pairs are equalised.

    Specific are the words that the attribute lists as such, those of its definitional and
    equalising pairs, listed or not, and all their capitalisations: Mary, who says what the
    direction is, is not neutral to it. Our list of gender has all words of its pairs; the published
    one has not Mary and John (definitional), nor Catholic_priest (equalising).

    Parameters
    ----------
    embedding
        Where the vectors come from.
    attribute
        Its definitional pairs, equalising pairs and specific words; by default gender.
    direction
        ``pca``, as in the paper: the first principal component of the definitional pairs, on
        unit length. See `wordbias.measures.direction.find_direction` for the others.
    equalise
        Equalise the pairs; in the order of the list, see `wordbias.methods.hard`.
    as_published
        Specific are the listed words alone, as they are spelled, as in the released code: Mother
        loses its gender, and a word of a definitional pair that is not listed loses it too. Pairs
        are equalised in the order of the list all the same.

    Raises
    ------
    WordbiasError
        If the direction is undefined for lack of words or of a difference; with `as_published` if
        the attribute lists no word of its definitional pairs as specific.
    """
    embedding, attribute = as_embedding(embedding), as_attribute(attribute)
    part = on_unit_length(embedding, listed_words(attribute))
    found = find_direction(part, attribute, direction)
    settings = {"direction": direction, "equalise": equalise, "as_published": as_published}
    pairs = (attribute.equalise or attribute.pairs) if equalise else ()
    exempt = _exempt(attribute, as_published)
    return neutralising("hard", embedding, found.defined(), pairs, exempt, settings)


def _exempt(attribute: Attribute, as_published: bool) -> Iterable[str]:
    if not as_published:
        return spellings(attribute.specific)
    listed = attribute.specific - attribute.unlisted
    if not listed.intersection(word for pair in attribute.pairs for word in pair):
        raise WordbiasError(
            f"{attribute.name} lists no word of its definitional pairs as specific, so that as "
            "published all of them would lose what they differ in; add them to specific = [...] in "
            "its file, or leave --as-published out"
        )
    return listed


def neutralising(
    name: str,
    embedding: Embedding,
    g: Subspace,
    sets: Iterable[Sequence[str]],
    exempt: Iterable[str],
    settings: dict[str, Any],
) -> Fitted:
    """Neutralise all but the exempt words along a subspace of any dimension, and equalise sets."""
    whole = Subspace(g.basis, np.ones(g.dims))
    steps = (Projection(whole, hard=True), Normalise())
    fitted = Fitted(name, steps, frozenset(exempt), (Normalise(),))
    chosen = cased(sets, embedding)
    words = list(dict.fromkeys(word for set_ in chosen for word in set_))
    neutral = fitted.apply(words, embedding.take(words)) if words else np.zeros((0, embedding.dim))
    vectors = dict(zip(words, neutral.astype(float), strict=True))
    alike = equalise_all(vectors, chosen, whole)
    replaced = Replaced(words, _unit([vectors[word] for word in words], embedding.dim))
    rows = (Row(embedding.name, "equalised-sets", len(chosen) - len(alike), {"n": len(words)}),)
    return Fitted(
        name,
        steps,
        fitted.exempt,
        fitted.exempt_steps,
        replaced,
        rows,
        settings,
        remarks(chosen, alike),
    )


def on_unit_length(embedding: Embedding, words: Iterable[str]) -> Embedding:
    """Return those of the words that an embedding has, on unit length.

    Raises
    ------
    WordbiasError
        If it has none of them.
    """
    part = embedding.subset(sorted(words))
    if not len(part):
        raise WordbiasError(
            f"{embedding.name} has none of the words that define the direction; give words it has "
            "with --groups FILE"
        )
    return part.with_vectors(unit(part.vectors))


def _unit(vectors: list[Any], d: int) -> Any:
    return Normalise()(np.array(vectors)) if vectors else np.zeros((0, d))
