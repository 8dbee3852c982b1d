"""Pairs of sentences to train a head on: inferences, or what follows what in running text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.contextual.sentence_pairs import load_text_pairs
from wordbias.contextual.stereoset.tables import Source, read_text
from wordbias.errors import WordbiasError
from wordbias.nli.pairs import LABELS, PairsLike
from wordbias.rendering import how_many

Document = list[str]
NEXT = ("is_next", "not_next")


@dataclass(frozen=True, eq=False)
class LabelledPairs:
    """Pairs and what is to be said of them.

    Attributes
    ----------
    path, sha256
        Of the file.
    names
        The labels.
    pairs
        As they are written.
    labels
        Places among the names, shape ``(n,)``.
    kind
        What the file is.
    dropped
        Pairs without a label, which were left out.
    """

    path: str
    sha256: str
    names: tuple[str, ...]
    pairs: Sequence[tuple[str, str]]
    labels: NDArray[np.int64]
    kind: str
    dropped: int = 0

    def __len__(self) -> int:
        return len(self.labels)

    def head(self, count: int | None) -> LabelledPairs:
        """Return the first `count` pairs; all for None."""
        return replace(self, pairs=self.pairs[:count], labels=self.labels[:count])

    def check_classes(self) -> None:
        """Refuse to train on pairs of which there is nothing to tell apart.

        Raises
        ------
        WordbiasError
            If all have one label.
        """
        found = np.unique(self.labels).tolist()
        if len(found) < 2:
            raise WordbiasError(
                f"{self.path}: all {len(self):,} of the pairs to train on are labelled "
                f"{self.names[found[0]]}; give pairs of at least two labels (--limit takes the "
                "first ones)"
            )

    def to_dict(self) -> dict[str, Any]:
        """Return what a report says of them."""
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
    """Read pairs for a task.

    Parameters
    ----------
    task
        ``nli``: what `wordbias.nli.pairs.load_pairs` reads. ``nsp``: tabbed lines of
        label (is_next, not_next), first and second sentence; or running text, one sentence a line
        and a blank line between documents, see `from_documents`.
    seed
        Of the pairs drawn from running text.

    Raises
    ------
    WordbiasError
        If the file cannot be read or used; the message says where.
    """
    return _LOADERS[task](path, seed)


def _nli(path: PairsLike, seed: int) -> LabelledPairs:
    read = load_text_pairs(path)
    pairs = [(first, second) for first, second in read.pairs]
    return LabelledPairs(
        read.path, read.sha256, LABELS, pairs, read.labels, "inferences", read.dropped
    )


def _nsp(path: PairsLike, seed: int) -> LabelledPairs:
    if not isinstance(path, (str, PathLike)):
        raise WordbiasError("pairs of following sentences are read from a file; name one")
    source = read_text(path)
    first = next((line for line in source.text.splitlines() if line.strip()), "")
    if first.count("\t") >= len(NEXT):
        pairs, labels = _tabbed(source)
        kind = "labelled pairs"
    else:
        found = documents(source)
        pairs, labels = from_documents(found, seed)
        kind = f"running text, {how_many(len(found), 'document')}, seed {seed}"
    if not pairs:
        raise WordbiasError(
            f"{path}: no two sentences follow each other; write one sentence a line, and a blank "
            "line between documents"
        )
    return LabelledPairs(source.path, source.sha256, NEXT, pairs, np.array(labels), kind)


_LOADERS: dict[str, Callable[[PairsLike, int], LabelledPairs]] = {"nli": _nli, "nsp": _nsp}
TASKS = tuple(_LOADERS)


def documents(source: Source) -> list[Document]:
    """Split running text: one sentence a line, a blank line between documents."""
    found: list[Document] = [[]]
    for line in source.text.splitlines():
        sentence = line.strip()
        if sentence:
            found[-1].append(sentence)
        elif found[-1]:
            found.append([])
    return [document for document in found if document]


def from_documents(
    found: Sequence[Document], seed: int = 0
) -> tuple[list[tuple[str, str]], list[int]]:
    """Pair each sentence with the one after it, or with one from elsewhere.

    Half of them at random keep the next sentence; the others get one of another document, drawn
    at random, as in the pre-training of BERT (Devlin et al. 2019, section 3.1). Where there is but
    one document it is any other sentence of it.

    Returns
    -------
    pairs, labels
        0 is next, 1 is not.
    """
    rng = np.random.default_rng(seed)
    sentences = [text for document in found for text in document]
    pairs, labels, start = [], [], 0
    for document in found:
        own = range(start, start + len(document))
        for i in own[:-1]:
            is_next = bool(rng.random() < 0.5)
            barred = (i, i + 1) if len(found) == 1 else own
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


def _tabbed(source: Source) -> tuple[list[tuple[str, str]], list[int]]:
    pairs, labels = [], []
    for number, line in enumerate(source.text.splitlines(), 1):
        if not line.strip():
            continue
        cells = [cell.strip() for cell in line.split("\t")]
        if number == 1 and cells[0].lower() == "label":
            continue
        label = cells[0].lower()
        if label not in NEXT or len(cells) < 3 or not (cells[1] and cells[2]):
            raise WordbiasError(
                f"{source.path}: line {number}: expected {' or '.join(NEXT)}, first and second "
                f"sentence, separated by tabs, found {line[:60]!r}"
            )
        pairs.append((cells[1], cells[2]))
        labels.append(NEXT.index(label))
    return pairs, labels
