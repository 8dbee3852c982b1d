"""Labelled sentence pairs as they are written, for models that tokenise by themselves."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.nli.pairs import LABELS, UNDECIDED, PairsLike, labelled_rows, pairs_name
from wordbias.nli.test_sets import Pair


@dataclass(frozen=True, eq=False)
class TextPairs:
    """Sentence pairs with labels.

    Attributes
    ----------
    path, sha256
        Of the file; the hash is of its uncompressed content.
    pairs
        As they are written.
    labels
        Places in `wordbias.nli.pairs.LABELS`, shape ``(n,)``.
    dropped
        Pairs without a label, which were left out.
    """

    path: str
    sha256: str
    pairs: list[Pair]
    labels: NDArray[np.int64]
    dropped: int = 0

    def __len__(self) -> int:
        return len(self.labels)

    def to_dict(self) -> dict[str, Any]:
        """Return what a report says of them."""
        return {
            "path": self.path, "sha256": self.sha256, "pairs": len(self), "dropped": self.dropped
        }  # fmt: skip


def load_text_pairs(path: PairsLike) -> TextPairs:
    """Read what `wordbias.nli.pairs.load_pairs` reads, without tokenising.

    Raises
    ------
    WordbiasError
        As that function does.
    """
    digest, name = hashlib.sha256(), pairs_name(path)
    rows = list(labelled_rows(path, digest))
    labelled = [row for row in rows if row[0] != UNDECIDED]
    if not labelled:
        among = f" among {len(rows)} without a label" if rows else ""
        raise WordbiasError(f"{name}: holds no labelled pair{among}")
    labels = np.array([LABELS.index(label) for label, _, _ in labelled])
    pairs = [Pair(premise, hypothesis) for _, premise, hypothesis in labelled]
    return TextPairs(name, digest.hexdigest(), pairs, labels, len(rows) - len(labelled))
