r"""Conceptor: shrink the main directions of the groups' words (Karve, Ungar and Sedoc 2019).

With the vectors of the groups' words as rows of ``X``, shape ``(n, d)``, every vector is multiplied
by the negated conceptor (section 2; conceptors are those of Jaeger 2014):

.. math:: x \mapsto (I - C)\, x, \quad C = R\,(R + \alpha^{-2} I)^{-1}, \quad R = X^\top X / n

`R` is not centred: what the words of all groups have in common is removed as well as what differs.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from wordbias.arrays import matrix, rounding
from wordbias.devices import blas_threads
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.methods.fitted import Fitted
from wordbias.methods.transform import Projection
from wordbias.methods.words import as_groups, check_embedding, finite_vectors
from wordbias.results import Row
from wordbias.subspace import Subspace
from wordbias.wordlists import Attribute, WordGroups
from wordbias.wordlists.groups import resolve_groups

APERTURE = 2.0


@blas_threads(1)
def fit(
    embedding: Embedding,
    attribute: Attribute | WordGroups | str | Path | None = None,
    *,
    aperture: float = APERTURE,
) -> Fitted:
    """Fit the negated conceptor of the groups' words."""
    # The released code has α = 2 for GloVe, word2vec and fastText, whose vectors are not
    # normalised, 6 for ELMo and BERT. More is removed the larger it is, and the longer the vectors
    # are. Karve et al. fit to lists of their own (pronouns, an extended list, names) and combine
    # them by the conceptors' AND and OR; here all words of the groups are one list.
    check_embedding(embedding)
    attribute = as_groups(attribute)
    groups = resolve_groups(attribute, embedding, embedding.name)
    words = list(dict.fromkeys(word for group in groups for word in group.found))
    subspace = conceptor(finite_vectors(embedding, words), aperture)
    quota = float(subspace.weights.sum()) / embedding.dim
    details = {"n": len(words), "dimensions": embedding.dim}
    return Fitted(
        "conceptor",
        (Projection(subspace),),
        found=(Row(embedding.name, "quota", quota, details),),
        settings={"aperture": aperture},
    )


def conceptor(vectors: ArrayLike, aperture: float = APERTURE) -> Subspace:
    r"""Return the subspace whose soft removal is the negated conceptor.

    The eigenvectors of `C` are those of `R`; with the eigenvalues σ of `R`, its own are
    :math:`\sigma / (\sigma + \alpha^{-2})`, in [0, 1): the weights of the subspace.
    """
    x = matrix(vectors)
    if not (aperture > 0 and np.isfinite(aperture)):
        raise WordbiasError(
            f"aperture {aperture}: expected a positive number, such as {APERTURE:g}"
        )
    _, s, u = np.linalg.svd(x / np.sqrt(len(x)), full_matrices=False)
    nonzero = s > max(
        rounding(vectors) / np.sqrt(len(x)), s[0] * max(x.shape) * np.finfo(float).eps
    )
    if not nonzero.any():
        raise WordbiasError(f"the vectors of all {len(x)} words of the groups are zero")
    square = (aperture * s[nonzero]) ** 2
    weights = square / (square + 1)
    if weights.max() < np.finfo(np.float32).eps:
        raise WordbiasError(
            f"aperture {aperture:g}: nothing would change, for the largest root mean square of the "
            f"words in any direction is {s[0]:.3g}; give an aperture nearer to its inverse"
        )
    return Subspace(u[nonzero], weights)
