"""A trained model on a test set: each distinct sentence is encoded once, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.nli.batches import Encoded, Ints, Sentences
from wordbias.nli.files import Model
from wordbias.nli.fillers import Filler
from wordbias.nli.forward import probabilities
from wordbias.nli.known_words import check_fillers, listed
from wordbias.nli.lexicon import Lexicon, Table
from wordbias.nli.pairs import Pairs, Tokens
from wordbias.nli.test_sets import TestSet
from wordbias.nli.tokens import tokenise
from wordbias.progress import progress

SENTENCES_TOGETHER = 4096
"""Sentences that are encoded together: enough for the matrix products, small in memory."""


@dataclass(frozen=True, eq=False)
class Scored:
    """What a model says of a test set.

    Attributes
    ----------
    probabilities
        (N, E, C) of each pair in the order of the set, shape ``(n, 3)``.
    words
        What its sentences consist of, as the embedding spells it.
    unknown
        Those of them that the embedding lacks.
    """

    probabilities: NDArray[np.float32]
    words: tuple[str, ...]
    unknown: tuple[str, ...]


def score_set(model: Model, embedding: Embedding, test: TestSet) -> Scored:
    """Predict every pair of a test set.

    Raises
    ------
    WordbiasError
        If the model was trained on other dimensions, or the embedding lacks a filler: what is
        asked of that word would be asked of a random vector.
    """
    check_dimensions(model, embedding)
    check_fillers(embedding, test, lower=model.lower)
    parts = _Parts.of(test)
    table = parts.lexicon.table(embedding, lower=model.lower)
    words = [_spelled(token, table) for token in parts.lexicon.tokens]
    unknown = [words[i] for i in np.flatnonzero(~table.found) if i]  # 0 is NULL
    shape = (len(test.premises), len(test.hypotheses), len(test.templates), 3)
    out = np.empty(shape, np.float32)
    with progress(f"scoring {test.name}", len(test), "pair") as bar:
        for templates in parts.blocks():
            encoded = parts.encode(templates)
            found = probabilities(model, table.vectors, encoded)
            out[:, :, templates] = found.reshape(*shape[:2], -1, 3)
            bar.update(len(encoded))
    return Scored(out.reshape(-1, 3), *(tuple(dict.fromkeys(x)) for x in (words[1:], unknown)))


def foreign(model: Model, embedding: Embedding) -> list[str]:
    """Say so if a model was not trained on the vectors it is given."""
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


def lacking(scored: Sequence[Scored], embedding: Embedding) -> list[str]:
    """Say which words of the templates an embedding lacks, if any."""
    unknown = list(dict.fromkeys(word for one in scored for word in one.unknown))
    if not unknown:
        return []
    words = {word for one in scored for word in one.words}
    return [
        f"{embedding.name} lacks {len(unknown)} of the templates' {len(words)} words "
        f"({listed(unknown)}): each is given a fixed random vector, as in training"
    ]


def accuracy(model: Model, embedding: Embedding, pairs: Pairs) -> float:
    """Return the share of labelled pairs that a model gets right."""
    check_dimensions(model, embedding)
    lexicon = Lexicon.of([*pairs.premises, *pairs.hypotheses])
    table = lexicon.table(embedding, lower=model.lower)
    found = probabilities(model, table.vectors, Encoded.of(pairs, lexicon))
    return float((found.argmax(1) == pairs.labels).mean())


def check_dimensions(model: Model, embedding: Embedding) -> None:
    """Refuse vectors of other dimensions than those the model was trained on."""
    if embedding.dim != model.dim:
        trained = model.about.get("embedding", {}).get("name", "vectors")
        raise WordbiasError(
            f"the NLI model was trained on {trained} of {model.dim} dimensions, {embedding.name} "
            f"has {embedding.dim}; train one on it with: wordbias nli-train EMBEDDING --train FILE "
            "--dev FILE -o MODEL, and give it with --model MODEL"
        )


@dataclass(frozen=True, eq=False)
class _Parts:
    """The tokens of a test set: every sentence is a subject and a predicate.

    A block of templates, with all fillers, shares no sentence with another block, so that blocks
    can be encoded one after the other and no sentence twice.
    """

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
        predicates = [tuple(tokenise(test.predicate(one))) for one in test.templates]
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


def _spelled(token: str, table: Table) -> str:
    return token.lower() if table.lower else token
