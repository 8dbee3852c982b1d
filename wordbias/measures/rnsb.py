r"""RNSB: relative negative sentiment bias (Sweeney and Najafian 2019, "RNSB").

A logistic regression learns to tell the attribute words B (negative) from A (positive). Each target
word gets the probability of being negative; these, divided by their sum, are a distribution P over
the target words, and

.. math:: \mathrm{RNSB} = D_{KL}(P \,\|\, U) = \sum_i P_i \log(P_i n)

in nats. Neutral is 0, where every target word is equally negative; lower is better. All attribute
words are learned from, so that the value does not hang on a random split.
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray


def negative_probabilities(t: ArrayLike, a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    """Probability of every target word to belong to B, shape ``(n,)``.

    Parameters
    ----------
    t, a, b
        Vectors, shapes ``(n, d)``, ``(k, d)`` and ``(l, d)``, as they are: with
        scikit-learn's default regularisation (L2, C = 1) their length plays a part. k and l may
        differ.
    """
    from sklearn.linear_model import LogisticRegression

    x, y = np.asarray(a, np.float64), np.asarray(b, np.float64)
    labels = np.repeat([0, 1], [len(x), len(y)])
    model = LogisticRegression(solver="newton-cholesky", tol=1e-8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of vectors 10⁴ long it says that it falls back to lbfgs
        model.fit(np.concatenate([x, y]), labels)
    p: NDArray[np.float64] = model.predict_proba(np.asarray(t, np.float64))[:, 1]
    return p


def divergence(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """KL divergence from uniform of probabilities that are made to sum to one, along the last axis.

    Parameters
    ----------
    p
        Shape ``(…, n)``, not negative. Where all are 0 the result is nan.
    """
    total = p.sum(axis=-1, keepdims=True)
    share = p / np.where(total > 0, total, np.nan)
    terms = share * np.log(np.where(share > 0, share * p.shape[-1], 1))
    found: NDArray[np.float64] = np.maximum(terms.sum(axis=-1), 0)  # not −1e-17
    return found


def rnsb(t: ArrayLike, a: ArrayLike, b: ArrayLike) -> float:
    """Divergence of `negative_probabilities` from uniform."""
    return float(divergence(negative_probabilities(t, a, b)))
