"""Labelled pairs of sentences as text: inferences, or sentences that follow each other or not."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.nli.pairs import LABELS, PairsLike, labelled_rows, pairs_name
from wordbias.rendering import how_many
from wordbias.text_files import Source, read_text
from wordbias.text_pairs import NEXT_SENTENCE, UNDECIDED, read_pairs

TASKS = ("nli", "nsp")
"""Natural language inference, next-sentence prediction."""
NEXT = ("is_next", "not_next")
Document = list[str]


@dataclass(frozen=True, eq=False)
class LabelledPairs:
    """Pairs of sentences with labels."""

    path: str
    sha256: str  # hash of its uncompressed content
    names: tuple[str, ...]
    pairs: Sequence[tuple[str, str]]
    labels: NDArray[np.int64]  # indices into `names`, shape `(n,)`
    kind: str
    dropped: int = 0  # number of pairs without a label, which were left out

    def __len__(self) -> int:
        return len(self.labels)

    def head(self, count: int | None) -> LabelledPairs:
        """Return the first `count` pairs; all for None."""
        return replace(self, pairs=self.pairs[:count], labels=self.labels[:count])

    def check_classes(self) -> None:
        """Refuse training data with a single label."""
        labels = np.unique(self.labels).tolist()
        if len(labels) < 2:
            raise WordbiasError(
                f"{self.path}: all {len(self):,} of the pairs to train on are labelled "
                f"{self.names[labels[0]]}; give pairs of at least two labels (--limit takes the "
                "first ones)"
            )

    def source(self) -> dict[str, Any]:
        """Return the file and the number of pairs, for the inputs of a report."""
        return {
            "path": self.path, "sha256": self.sha256, "pairs": len(self), "dropped": self.dropped
        }  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Return the same with the kind of file and the number of pairs of each label."""
        counts = np.bincount(self.labels, minlength=len(self.names)).tolist()
        return {
            "path": self.path,
            "sha256": self.sha256,
            "kind": self.kind,
            "pairs": len(self),
            "dropped": self.dropped,
            "labels": dict(zip(self.names, counts, strict=True)),
        }


def load_labelled(task: str, path: PairsLike, seed: int = 0) -> LabelledPairs:
    """Read the pairs of a task."""
    return load_inferences(path) if task == "nli" else load_next_sentences(path, seed)


def load_inferences(path: PairsLike) -> LabelledPairs:
    """Read the premises, hypotheses and labels that `wordbias.nli.pairs.load_pairs` reads."""
    digest, name = hashlib.sha256(), pairs_name(path)
    rows = list(labelled_rows(path, digest))
    labelled = [row for row in rows if row[0] != UNDECIDED]
    if not labelled:
        among = f" among {len(rows)} without a label" if rows else ""
        raise WordbiasError(f"{name}: holds no labelled pair{among}")
    labels = np.array([LABELS.index(label) for label, _, _ in labelled])
    pairs = [(premise, hypothesis) for _, premise, hypothesis in labelled]
    dropped = len(rows) - len(labelled)
    return LabelledPairs(name, digest.hexdigest(), LABELS, pairs, labels, "inferences", dropped)


def load_next_sentences(path: PairsLike, seed: int = 0) -> LabelledPairs:
    """Read pairs for next-sentence prediction."""
    if not isinstance(path, (str, PathLike)):
        raise WordbiasError("pairs of following sentences are read from a file; name one")
    source = read_text(path)
    start = source.text.lstrip().partition("\n")[0]
    if start.count("\t") >= len(NEXT) or start.startswith("{"):
        rows = list(read_pairs(source, NEXT_SENTENCE))
        pairs = [(first, second) for _, first, second in rows]
        labels = [NEXT.index(label) for label, _, _ in rows]
        kind = "labelled pairs"
    else:
        all_documents = documents(source)
        pairs, labels = from_documents(all_documents, seed)
        kind = f"running text, {how_many(len(all_documents), 'document')}, seed {seed}"
    if not pairs:
        raise WordbiasError(
            f"{path}: no two sentences follow each other; write one sentence a line, and a blank "
            "line between documents"
        )
    return LabelledPairs(source.path, source.sha256, NEXT, pairs, np.array(labels), kind)


def documents(source: Source) -> list[Document]:
    """Split running text: one sentence a line, a blank line between documents."""
    all_documents: list[Document] = [[]]
    for line in source.text.splitlines():
        sentence = line.strip()
        if sentence:
            all_documents[-1].append(sentence)
        elif all_documents[-1]:
            all_documents.append([])
    return [document for document in all_documents if document]


def from_documents(
    all_documents: Sequence[Document], seed: int = 0
) -> tuple[list[tuple[str, str]], list[int]]:
    """Pair each sentence with the one after it (label 0), or with another one (label 1)."""
    # A random half keeps the next sentence; the others get one of another document, or of the only
    # one, as in the pre-training of BERT (Devlin et al. 2019, section 3.1).
    rng = np.random.default_rng(seed)
    sentences = [text for document in all_documents for text in document]
    pairs, labels, start = [], [], 0
    for document in all_documents:
        own = range(start, start + len(document))
        for i in own[:-1]:
            is_next = bool(rng.random() < 0.5)
            barred = (i, i + 1) if len(all_documents) == 1 else own
            if is_next or len(sentences) <= len(barred):
                second, label = sentences[i + 1], 0
            else:
                place = int(rng.integers(len(sentences) - len(barred)))
                place += len(barred) * (place >= barred[0])
                second, label = sentences[place], 1
            pairs.append((sentences[i], second))
            labels.append(label)
        start += len(document)
    return pairs, labels
