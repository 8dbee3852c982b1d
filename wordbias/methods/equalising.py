"""Sets of words made equally far from every neutral word (Bolukbasi et al. 2016, section 6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from wordbias.rendering import how_many
from wordbias.subspace import Subspace

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
