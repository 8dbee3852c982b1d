"""StereoSet within sentences, by the likelihood of whole sentences in a decoder.

Nadeem et al. (2021, ``eval_generative_models.py``) score a sentence by the geometric mean of its
tokens' probabilities. Their first token follows ``<|endoftext|>``, but the others are computed from
the sentence without it: that is done `as published` only. By default all tokens follow the BOS
token; both the log-likelihood and its mean over the tokens are compared. lm-evaluation-harness has
no task of StereoSet.

Nothing is cut out of a sentence, so that items with several blanks are scored like all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from wordbias.errors import WordbiasError
from wordbias.models.causal_model import CausalModel, Likelihoods, Tokens
from wordbias.results import Row
from wordbias.stereotypes.gsss import LABELS
from wordbias.stereotypes.pairs import PER_TOKEN, Record, scores_of
from wordbias.stereotypes.scores import Settings, stereoset_rows
from wordbias.stereotypes.stereoset import Cluster

TASK = "intrasentence"


def score_clusters(
    model: CausalModel, clusters: Sequence[Cluster], *, as_published: bool = False
) -> Likelihoods:
    """Return the log-likelihoods of sentences, shape ``(n, 3)`` in the order of the labels.

    Parameters
    ----------
    clusters
        With whole sentences as candidates, see `StereoSet.whole_sentences`.
    as_published
        Compute only the first token after the BOS token, see this module.
    """
    texts = [text for cluster in clusters for text in cluster.candidates]
    if not as_published:
        return model.score_texts(texts, "StereoSet").shaped(-1, len(LABELS))
    tokens = [one.ids[one.given :] for one in replace(model, bos=True).texts(texts)]
    if one := next((text for ids, text in zip(tokens, texts, strict=True) if len(ids) < 2), None):
        raise WordbiasError(f"{model.name}: expected a sentence of two tokens or more: {one!r:.60}")
    first = model.score([Tokens((model.start, ids[0]), 1) for ids in tokens], "StereoSet")
    others = model.score([Tokens(ids, 1) for ids in tokens], "StereoSet")
    total = Likelihoods(first.total + others.total, 1 + others.tokens, others.cut)
    return total.shaped(-1, len(LABELS))


def likelihood_rows(
    clusters: Sequence[Cluster], found: Likelihoods, subject: str, settings: Settings
) -> list[Row]:
    """Measure ss, lms and icat for each type of bias, by each score.

    As published, there is only the score per token, ties count 0 and terms are averaged.
    """
    scores = scores_of(found)
    if settings.as_published:
        scores = {PER_TOKEN: scores[PER_TOKEN]}
    return [
        replace(row, details={**row.details, "score": name})
        for name, values in scores.items()
        for row in stereoset_rows(clusters, values, subject, TASK, settings)
    ]


def cluster_records(clusters: Sequence[Cluster], found: Likelihoods) -> list[Record]:
    """Return one record a sentence: its log-likelihood and its number of tokens."""
    return [
        {
            "task": f"StereoSet {TASK}",
            "subset": cluster.bias_type,
            "id": cluster.id,
            "label": label,
            "text": text,
            "log-likelihood": float(total),
            "tokens": int(tokens),
        }
        for cluster, totals, counts in zip(clusters, found.total, found.tokens, strict=True)
        for label, text, total, tokens in zip(
            LABELS, cluster.candidates, totals, counts, strict=True
        )
    ]
