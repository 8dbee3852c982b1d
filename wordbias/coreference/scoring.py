"""A coreference system's clusters, scored by those of a key: MUC, B³, CEAFφ4, CoNLL F1 and LEA.

Intervals are a bootstrap over documents, and parts of a document count as documents. A file of its
own because scoring and training share it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wordbias.coreference.documents import Document
from wordbias.draws import items_of, sampled_row, with_items
from wordbias.measures.registry import ideal
from wordbias.outcomes.conll import METRICS, conll_f1, scores, tally
from wordbias.results import Row
from wordbias.statistics import resampled_means

MEASURES = ("coref-recall", "coref-precision", "coref-f1")
CONLL = "conll-f1"
DOCUMENTS = "documents"


def singletons(documents: Sequence[Document]) -> tuple[int, int]:
    """Return the numbers of clusters of one mention, and of all."""
    clusters = [cluster for document in documents for cluster in document.clusters]
    return sum(len(cluster) == 1 for cluster in clusters), len(clusters)


def score_rows(
    key: Sequence[Document], response: Sequence[Document], subject: str, *, draws: int, seed: int
) -> list[Row]:
    """Score the documents of a system by those of a key, the same in the same order, in percent."""
    # Clusters of one mention count, in both.
    tallies = np.stack(
        [tally(gold.clusters, system.clusters) for gold, system in zip(key, response, strict=True)]
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
    gold = [(document.name, document.part, document.clusters) for document in key]
    return with_items(rows, items_of(gold, seed))
