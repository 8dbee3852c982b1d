"""Half-sibling regression: subtraction of what specific words predict (Yang and Feng 2020)."""

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
from wordbias.methods.words import as_attribute, check_embedding, finite_vectors, spellings
from wordbias.results import Row
from wordbias.subspace import Subspace
from wordbias.wordlists import Attribute

ALPHA = 60.0
_MUCH = 0.5


@blas_threads(1)
def fit(
    embedding: Embedding,
    attribute: Attribute | str | Path | None = None,
    *,
    alpha: float = ALPHA,
) -> Fitted:
    r"""Fit half-sibling regression (Yang and Feng 2020).

    The vectors of the `m` specific words are the columns of ``G``, shape ``(d, m)``. Every other
    vector is regressed on them with a ridge penalty, and what they predict is subtracted:

    .. math:: n \mapsto n - G (G^\top G + \alpha I)^{-1} G^\top n
    """
    # Like the released code and WEFE's this has no intercept, and α = 60 is for vectors that are
    # not normalised. Theirs hold a matrix of m weights for every word; here it is one soft
    # projection.
    check_embedding(embedding)
    attribute = as_attribute(attribute)
    exempt = spellings(attribute.specific)
    words = [word for word in sorted(exempt) if word in embedding]
    if not words:
        raise WordbiasError(
            f"{embedding.name}: none of the {len(attribute.specific)} specific words of "
            f"{attribute.name} found (at least 1 needed); give words it has as specific = [...] "
            "in the attribute's file (--groups FILE)"
        )
    subspace = regression(finite_vectors(embedding, words), alpha)
    freedom = float(subspace.weights.sum())
    details = {"n": len(words), "dimensions": embedding.dim}
    note = (
        f"{len(words)} specific words predict {freedom:.1f} of {embedding.dim} dimensions of every "
        "other word, and little of it is left; fewer specific words or a larger alpha leave more"
    )
    return Fitted(
        "half-sibling",
        (Projection(subspace),),
        exempt=frozenset(exempt),
        found=(Row(embedding.name, "degrees-of-freedom", freedom, details),),
        settings={"alpha": alpha},
        warnings=() if freedom < _MUCH * embedding.dim else (note,),
    )


def regression(definition: ArrayLike, alpha: float = ALPHA) -> Subspace:
    r"""Return the subspace whose soft removal leaves the residuals of a ridge regression.

    With the singular values `s` and left singular vectors `u` of ``G``, whose columns are the rows
    of `definition`, shape ``(m, d)``,

    .. math:: G (G^\top G + \alpha I)^{-1} G^\top = \sum_i \frac{s_i^2}{s_i^2 + \alpha} u_i u_i^\top
    """
    rows = matrix(definition)
    if not (alpha > 0 and np.isfinite(alpha)):
        raise WordbiasError(f"alpha {alpha}: expected a positive number, such as {ALPHA:g}")
    _, s, u = np.linalg.svd(rows, full_matrices=False)
    nonzero = s > max(rounding(definition), s[0] * max(rows.shape) * np.finfo(float).eps)
    if not nonzero.any():
        raise WordbiasError(f"the vectors of all {len(rows)} specific words are zero")
    weights = s[nonzero] ** 2 / (s[nonzero] ** 2 + alpha)
    if weights.max() < np.finfo(np.float32).eps:
        raise WordbiasError(
            f"alpha {alpha:g}: nothing would change, for the specific words' largest singular "
            f"value is {s[0]:.3g}; give an alpha nearer to its square"
        )
    return Subspace(u[nonzero], weights)
