"""The trained model's forward pass in numpy: each distinct sentence is encoded once.

What depends on one sentence alone (intra-attention, the attend network, and the parts of the
compare network's first layer) is computed once for each sentence; a pair needs only its alignment.
Shapes: L tokens of a sentence, P and Q of premise and hypothesis, h hidden units, w = 2h with
intra-attention.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.nli.batches import Encoded, Ints, Sentences
from wordbias.nli.files import Model
from wordbias.threads import blas_threads, ordered_map

Float32 = NDArray[np.float32]
_SENTENCES = 512
_PAIRS = 512


class Encodings(NamedTuple):
    """What pairs need of sentences, stacked by token; sentence i has the rows start[i]…+length[i].

    Attributes
    ----------
    attend
        F(a), shape ``(t, h)``.
    own, other
        What a token and what it is aligned to add to the compare network's first layer, ``(t, h)``.
    """

    attend: Float32
    own: Float32
    other: Float32


def probabilities(model: Model, vectors: Float32, pairs: Encoded) -> Float32:
    """Return (N, E, C) of every pair, shape ``(n, 3)``.

    Parameters
    ----------
    model
        Trained.
    vectors
        Of the lexicon's tokens, shape ``(v, d)``.
    pairs
        Encoded by that lexicon; labels play no part.
    """
    encoded = encode(model, vectors, pairs.sentences)
    out = np.empty((len(pairs), 3), np.float32)

    def work(rows: Ints) -> None:
        out[rows] = _compare(model, encoded, pairs, rows)

    with blas_threads(1):
        for _ in ordered_map(work, _batches(pairs)):
            pass
    return out


def encode(model: Model, vectors: Float32, sentences: Sentences) -> Encodings:
    """Encode distinct sentences, those of equal length together."""
    total = len(sentences.flat)
    encoded = Encodings(*(np.empty((total, model.hidden), np.float32) for _ in range(3)))
    with blas_threads():
        words = Words(model, vectors)

    def work(rows: Ints) -> None:
        place = sentences.start[rows][:, None] + np.arange(sentences.length[rows[0]])  # (B, L)
        a = words.represent(sentences.flat[place])  # (B, L, w)
        w = a.shape[-1]
        first = model.weights["compare.first.weight"]  # (2w, h)
        encoded.attend[place] = feedforward(model, "attend", a)
        encoded.own[place] = times(a, first[:w]) + model.weights["compare.first.bias"]
        encoded.other[place] = times(a, first[w:])

    with blas_threads(1):
        for _ in ordered_map(work, _by_length(sentences)):
            pass
    return encoded


class Words:
    """What depends on a word alone: its projection and its part in intra-attention."""

    projected: NDArray[np.floating[Any]]
    attending: Float32 | None

    def __init__(self, model: Model, vectors: Float32) -> None:
        self.model = model
        self.projected = vectors @ model.weights["project.weight"]  # (v, h)
        self.attending = feedforward(model, "intra", self.projected) if model.intra else None

    def represent(self, ids: NDArray[np.int32]) -> Float32:
        """Represent tokens ``(B, L)``: ``(B, L, w)``."""
        x = self.projected[ids]  # (B, L, h)
        if self.attending is None:
            return x
        f = self.attending[ids]  # (B, L, h)
        place = np.arange(ids.shape[1])
        apart = np.minimum(np.abs(place[:, None] - place), 10)
        e = f @ f.swapaxes(-1, -2) + self.model.weights["distance"][apart]  # (B, L, L)
        return np.concatenate([x, softmax(e) @ x], -1)


def feedforward(model: Model, name: str, x: Float32) -> Float32:
    """[Linear, ReLU] twice."""
    return _layer(model, f"{name}.second", _layer(model, f"{name}.first", x))


def times(x: Float32, weight: Float32) -> Float32:
    """Multiply the last axis, all rows at once: numpy would take each matrix of a stack alone."""
    product: Float32 = x.reshape(-1, len(weight)) @ weight
    return product.reshape(*x.shape[:-1], -1)


def softmax(e: Float32) -> Float32:
    """Softmax over the last axis."""
    shifted = np.exp(e - e.max(-1, keepdims=True))
    weights: Float32 = shifted / shifted.sum(-1, keepdims=True)
    return weights


def _layer(model: Model, name: str, x: Float32) -> Float32:
    out = times(x, model.weights[f"{name}.weight"])
    out += model.weights[f"{name}.bias"]
    return np.maximum(out, 0, out=out)


def _compare(model: Model, encoded: Encodings, pairs: Encoded, rows: Ints) -> Float32:
    """Align and compare pairs of equal lengths: ``(B, 3)``."""
    s = pairs.sentences
    p, q = (
        s.start[side[rows]][:, None] + np.arange(s.length[side[rows[0]]])
        for side in (pairs.premise, pairs.hypothesis)
    )  # (B, P), (B, Q)
    e = encoded.attend[p] @ encoded.attend[q].swapaxes(-1, -2)  # (B, P, Q)
    beta = softmax(e) @ encoded.other[q]  # (B, P, h)
    alpha = softmax(e.swapaxes(-1, -2)) @ encoded.other[p]  # (B, Q, h)
    v1 = _layer(model, "compare.second", np.maximum(encoded.own[p] + beta, 0)).sum(1)  # (B, h)
    v2 = _layer(model, "compare.second", np.maximum(encoded.own[q] + alpha, 0)).sum(1)  # (B, h)
    y = feedforward(model, "aggregate", np.concatenate([v1, v2], -1))  # (B, h)
    return softmax(y @ model.weights["classify.weight"] + model.weights["classify.bias"])


def _by_length(sentences: Sentences) -> Iterator[Ints]:
    return _groups(np.arange(len(sentences.length)), [sentences.length], _SENTENCES)


def _batches(pairs: Encoded) -> Iterator[Ints]:
    length = pairs.sentences.length
    keys = [length[pairs.premise], length[pairs.hypothesis]]
    return _groups(np.arange(len(pairs)), keys, _PAIRS)


def _groups(rows: Ints, keys: Sequence[Ints], size: int) -> Iterator[Ints]:
    """Cut rows into groups with equal keys of at most `size`."""
    order = rows[np.lexsort(keys)]
    changes = np.any([np.diff(key[order]) != 0 for key in keys], axis=0)
    for group in np.split(order, np.flatnonzero(changes) + 1):
        yield from (group[i : i + size] for i in range(0, len(group), size))
