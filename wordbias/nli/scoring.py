"""Scoring pairs with a trained model, in numpy: each distinct sentence is encoded once.

Shapes: L tokens of a sentence, P and Q of premise and hypothesis, h hidden units, w = 2h with
intra-attention, h without.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.devices import blas_threads, ordered_map
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.nli.files import Model
from wordbias.nli.lexicon import Encoded, Ints, Lexicon, Sentences
from wordbias.nli.pairs import Pairs, Tokens, tokenise
from wordbias.nli.test_sets import Filler, TestSet, check_fillers, listed
from wordbias.progress import progress

Float32 = NDArray[np.float32]
_SENTENCES = 512
_PAIRS = 512

SENTENCES_TOGETHER = 4096
"""Sentences that are encoded together: enough for the matrix products, small in memory."""


@dataclass(frozen=True, eq=False)
class Scored:
    """Predictions for a test set, and the words that they rest on."""

    # (N, E, C) of each pair in the order of the set, shape `(n, 3)`
    probabilities: NDArray[np.float32]
    words: tuple[str, ...]  # words of its sentences, as the embedding spells them
    unknown: tuple[str, ...]  # those words that the embedding lacks


def score_set(model: Model, embedding: Embedding, test: TestSet) -> Scored:
    """Predict every pair of a test set."""
    # A filler that the embedding lacks is refused: its pairs would measure a random vector.
    check_dimensions(model, embedding)
    check_fillers(embedding, test, lower=model.lower)
    parts = _Parts.of(test)
    table = parts.lexicon.table(embedding, lower=model.lower, raw=model.raw)
    words = [token.lower() if table.lower else token for token in parts.lexicon.tokens]
    unknown = [words[i] for i in np.flatnonzero(~table.found) if i]  # 0 is NULL
    shape = (len(test.premises), len(test.hypotheses), len(test.templates), 3)
    out = np.empty(shape, np.float32)
    with progress(f"scoring {test.name}", len(test), "pair") as bar:
        for templates in parts.blocks():
            encoded = parts.encode(templates)
            predicted = probabilities(model, table.vectors, encoded)
            out[:, :, templates] = predicted.reshape(*shape[:2], -1, 3)
            bar.update(len(encoded))
    return Scored(out.reshape(-1, 3), *(tuple(dict.fromkeys(x)) for x in (words[1:], unknown)))


def accuracy(model: Model, embedding: Embedding, pairs: Pairs) -> float:
    """Return the accuracy of a model on labelled pairs."""
    check_dimensions(model, embedding)
    lexicon = Lexicon.of([*pairs.premises, *pairs.hypotheses])
    table = lexicon.table(embedding, lower=model.lower, raw=model.raw)
    predicted = probabilities(model, table.vectors, Encoded.of(pairs, lexicon))
    return float((predicted.argmax(1) == pairs.labels).mean())


def check_dimensions(model: Model, embedding: Embedding) -> None:
    """Refuse vectors of other dimensions than those the model was trained on."""
    if embedding.dim != model.dim:
        trained = model.about.get("embedding", {}).get("name", "vectors")
        raise WordbiasError(
            f"the NLI model was trained on {trained} of {model.dim} dimensions, {embedding.name} "
            f"has {embedding.dim}; train one on it with: wordbias nli-train EMBEDDING --train FILE "
            "--dev FILE -o MODEL, and give that model"
        )


def notes_on_vectors(model: Model, embedding: Embedding) -> list[str]:
    """Return a note if a model was not trained on the vectors it is given."""
    known = model.about.get("embedding", {})
    name, digest = known.get("name"), known.get("sha256")
    if digest and embedding.info is not None:
        same = digest == embedding.info.sha256
    else:
        same = name == embedding.name
    if same:
        return []
    trained = f"was trained on {name}" if name else "does not say what it was trained on"
    return [
        f"the model {trained}; it is given {embedding.name}: what debiasing changes is measured "
        "with a model trained anew (wordbias nli-train)"
    ]


def notes_on_missing_words(scored: Sequence[Scored], embedding: Embedding) -> list[str]:
    """Return a note on words of the templates that an embedding lacks, if there are any."""
    unknown = list(dict.fromkeys(word for scored_set in scored for word in scored_set.unknown))
    if not unknown:
        return []
    words = {word for scored_set in scored for word in scored_set.words}
    return [
        f"{embedding.name} lacks {len(unknown)} of the templates' {len(words)} words "
        f"({listed(unknown)}): each is given a fixed random vector, as in training"
    ]


@dataclass(frozen=True, eq=False)
class _Parts:
    """Tokens of a test set: every sentence is a subject and a predicate."""

    # A block of templates, with all fillers, shares no sentence with another block: blocks can be
    # encoded one after the other and no sentence twice.

    test: TestSet
    fillers: dict[Filler, int]
    subjects: Sequence[Tokens]
    predicates: Sequence[Tokens]
    lexicon: Lexicon

    @classmethod
    def of(cls, test: TestSet) -> _Parts:
        both = dict.fromkeys((*test.premises, *test.hypotheses))
        fillers = {filler: i for i, filler in enumerate(both)}
        subjects = [tuple(tokenise(test.subject(filler))) for filler in fillers]
        predicates = [tuple(tokenise(test.predicate(template))) for template in test.templates]
        return cls(test, fillers, subjects, predicates, Lexicon.of([*subjects, *predicates]))

    def blocks(self) -> Iterator[slice]:
        """Yield slices of the templates."""
        step = max(1, SENTENCES_TOGETHER // len(self.fillers))
        return (slice(i, i + step) for i in range(0, len(self.predicates), step))

    def encode(self, templates: slice) -> Encoded:
        """Encode all pairs of some templates, in the order of the set."""
        predicates = self.predicates[templates]
        sentences = [subject + rest for subject in self.subjects for rest in predicates]
        places = np.arange(len(sentences)).reshape(len(self.subjects), len(predicates))
        first, second = (
            places[[self.fillers[filler] for filler in side]]
            for side in (self.test.premises, self.test.hypotheses)
        )  # (p, t), (h, t)
        shape = (len(first), len(second), len(predicates))
        premise: Ints = np.broadcast_to(first[:, None], shape).ravel()
        hypothesis: Ints = np.broadcast_to(second, shape).ravel()
        labels = np.zeros(len(premise), np.int64)  # neutral
        return Encoded(Sentences.of(sentences, self.lexicon), premise, hypothesis, labels)


# The forward pass. What depends on one sentence alone (intra-attention, the attend network, and the
# parts of the compare network's first layer) is computed once for each sentence; a pair needs only
# its alignment.


class Encodings(NamedTuple):
    """Encoded sentences, one row a token; sentence i has the rows start[i]…+length[i]."""

    attend: Float32  # F(a), shape `(t, h)`
    # contributions of a token, and of those aligned to it, to the compare network's first layer,
    # shape `(t, h)`
    own: Float32
    other: Float32


def probabilities(model: Model, vectors: Float32, pairs: Encoded) -> Float32:
    """Return (N, E, C) of every pair, (n, 3), from the vectors of the lexicon's tokens, (v, d)."""
    encoded = encode(model, vectors, pairs.sentences)
    lengths = [pairs.sentences.length[side] for side in (pairs.premise, pairs.hypothesis)]
    out = np.empty((len(pairs), 3), np.float32)

    def work(rows: Ints) -> None:
        out[rows] = _compare(model, encoded, pairs, rows)

    with blas_threads(1):
        for _ in ordered_map(work, _groups(lengths, _PAIRS)):
            pass
    return out


def encode(model: Model, vectors: Float32, sentences: Sentences) -> Encodings:
    """Encode distinct sentences, those of equal length together."""
    total = len(sentences.flat)
    encoded = Encodings(*(np.empty((total, model.hidden), np.float32) for _ in range(3)))

    def work(rows: Ints) -> None:
        place = sentences.start[rows][:, None] + np.arange(sentences.length[rows[0]])  # (B, L)
        a = words.represent(sentences.flat[place])  # (B, L, w)
        w = a.shape[-1]
        first = model.weights["compare.first.weight"]  # (2w, h)
        encoded.attend[place] = feedforward(model, "attend", a)
        encoded.own[place] = times(a, first[:w]) + model.weights["compare.first.bias"]
        encoded.other[place] = times(a, first[w:])

    with blas_threads(1):  # so that no value depends on the number of threads
        words = Words(model, vectors)
        for _ in ordered_map(work, _groups([sentences.length], _SENTENCES)):
            pass
    return encoded


class Words:
    """Projection of each word of a lexicon, and its part in intra-attention."""

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
        distance = np.minimum(np.abs(place[:, None] - place), 10)
        e = f @ f.swapaxes(-1, -2) + self.model.weights["distance"][distance]  # (B, L, L)
        return np.concatenate([x, softmax(e) @ x], -1)


def feedforward(model: Model, name: str, x: Float32) -> Float32:
    """[Linear, ReLU] twice."""
    return _layer(model, f"{name}.second", _layer(model, f"{name}.first", x))


def times(x: Float32, weight: Float32) -> Float32:
    """Multiply the last axis, all rows at once: faster than numpy's loop over stacked matrices."""
    product: Float32 = x.reshape(-1, len(weight)) @ weight
    return product.reshape(*x.shape[:-1], -1)


def softmax(e: NDArray[Any]) -> NDArray[Any]:
    """Softmax over the last axis."""
    shifted = np.exp(e - e.max(-1, keepdims=True))
    weights: NDArray[Any] = shifted / shifted.sum(-1, keepdims=True)
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


def _groups(keys: Sequence[Ints], size: int) -> Iterator[Ints]:
    """Yield the rows of equal keys together, at most `size` of them."""
    order = np.lexsort(keys)
    changes = np.any([np.diff(key[order]) != 0 for key in keys], axis=0)
    for group in np.split(order, np.flatnonzero(changes) + 1):
        yield from (group[i : i + size] for i in range(0, len(group), size))
