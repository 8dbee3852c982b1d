"""A coreference system's clusters, scored by those of a key: MUC, B³, CEAFφ4, CoNLL F1 and LEA.

Intervals are a bootstrap over documents, and parts of a document count as documents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wordbias.coreference.documents import Document
from wordbias.draws import items_of, sampled_row, with_items
from wordbias.errors import WordbiasError
from wordbias.measures.registry import ideal
from wordbias.outcomes.conll import METRICS, conll_f1, scores, tally
from wordbias.results import Row
from wordbias.statistics import resampled_means

MEASURES = ("coref-recall", "coref-precision", "coref-f1")
CONLL = "conll-f1"
DOCUMENTS = "documents"


@dataclass(frozen=True, eq=False)
class Key:
    """Documents with gold clusters, and the name of their file."""

    path: str
    documents: Sequence[Document]

    def matched(self, found: Sequence[Document], path: str) -> list[Document]:
        """Return the documents of a system in the order of the key.

        Raises
        ------
        WordbiasError
            If one is not there, is there twice, or has another number of tokens.
        """
        by_name = {_name(one): one for one in found}
        if len(by_name) < len(found):
            twice = next(n for i, n in enumerate(map(_name, found)) if n in map(_name, found[:i]))
            raise WordbiasError(f"{path}: has document {_spelled(twice)} twice")
        matched = []
        for gold in self.documents:
            other = by_name.get(_name(gold))
            if other is None:
                raise WordbiasError(
                    f"{path}: has no document {_spelled(_name(gold))} of {self.path}; one in which "
                    "nothing was found has no clusters"
                )
            if len(other.tokens) != len(gold.tokens):
                raise WordbiasError(
                    f"{path}: document {_spelled(_name(gold))} has {len(other.tokens):,} tokens, "
                    f"and {len(gold.tokens):,} in {self.path}; spans count tokens"
                )
            matched.append(other)
        return matched


def _name(document: Document) -> tuple[str, str]:
    return document.name, document.part.lstrip("0") or "0"


def _spelled(name: tuple[str, str]) -> str:
    return f"{name[0]!r:.60}, part {name[1]}"


def singletons(documents: Sequence[Document]) -> tuple[int, int]:
    """Return the numbers of clusters of one mention, and of all."""
    clusters = [cluster for one in documents for cluster in one.clusters]
    return sum(len(cluster) == 1 for cluster in clusters), len(clusters)


def score_rows(
    key: Sequence[Document], found: Sequence[Document], subject: str, *, draws: int, seed: int
) -> list[Row]:
    """Score the documents of a system by those of a key, which are the same in the same order.

    Returns
    -------
    list of Row
        `conll-f1`; then recall, precision and F1 of each metric, its name as `setting`. All are in
        percent, of sums over documents. Clusters of one mention count, in both.
    """
    tallies = np.stack(
        [tally(gold.clusters, one.clusters) for gold, one in zip(key, found, strict=True)]
    )
    samples = None
    if draws and len(tallies) > 1:
        rng = np.random.default_rng(seed)
        means = resampled_means(tallies.reshape(len(tallies), -1), rng, draws)
        samples = means.reshape(-1, *tallies.shape[1:])
    about = {"n": len(tallies), "scale": "percent", "seed": seed}
    total = tallies.sum(axis=0)
    drawn = None if samples is None else 100 * conll_f1(samples)
    of_conll = {"set": "all", **about, "neutral": None, **ideal(CONLL)}
    rows = [sampled_row(subject, CONLL, 100 * float(conll_f1(total)), of_conll, drawn, DOCUMENTS)]
    values = 100 * scores(total)
    drawn_values = None if samples is None else 100 * scores(samples)
    for i, metric in enumerate(METRICS):
        for j, measure in enumerate(MEASURES):
            details = {"setting": metric, **about, **ideal(measure)}
            draws_of = None if drawn_values is None else drawn_values[:, i, j]
            rows.append(
                sampled_row(subject, measure, float(values[i, j]), details, draws_of, DOCUMENTS)
            )
    gold = [(one.name, one.part, one.clusters) for one in key]
    return with_items(rows, items_of(gold, seed))
