"""One record a triple, cluster or pair: what a model said of it, to be looked into."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wordbias.contextual.stereoset.crows_pairs import CrowsPairs
from wordbias.contextual.stereoset.gsss import LABELS, Gsss
from wordbias.contextual.stereoset.original import Cluster
from wordbias.contextual.stereoset.repair import Repaired
from wordbias.contextual.stereoset.scores import Float, distances, strengths

Record = dict[str, Any]


def triple_records(gsss: Gsss, p: Float, version: str) -> list[Record]:
    """Return one record a triple: its six probabilities, s and d."""
    names = [f"{label} {side}" for label in LABELS for side in ("original", "swapped")]
    return [
        {
            "version": version,
            "context_id": triple.id,
            "gender": triple.gender,
            "context": triple.items[0].original.context,
            **dict(zip(names, map(float, values.ravel()), strict=True)),
            "s": float(s),
            "d": float(d),
        }
        for triple, values, s, d in zip(gsss.triples, p, strengths(p), distances(p), strict=True)
    ]


def name_rules(records: Sequence[Record], repaired: Repaired) -> None:
    """Put into the records of triples which rules repaired each."""
    rules: dict[str, list[str]] = {}
    for change in repaired.changes:
        rules.setdefault(change.id, []).append(change.rule)
    for one in records:
        done = rules.get(one["context_id"], []) if one["version"] == "repaired" else []
        one["repaired by"] = ", ".join(dict.fromkeys(done))


def cluster_records(clusters: Sequence[Cluster], scores: Float, task: str) -> list[Record]:
    """Return one record a cluster: its three scores."""
    return [
        {
            "task": task,
            "id": one.id,
            "target": one.target,
            "bias_type": one.bias_type,
            "context": one.context,
            **dict(zip(LABELS, map(float, values), strict=True)),
        }
        for one, values in zip(clusters, scores, strict=True)
    ]


def pair_records(data: CrowsPairs, scores: Float) -> list[Record]:
    """Return one record a pair: its two scores."""
    return [
        {**vars(pair), "score more": float(more), "score less": float(less)}
        for pair, (more, less) in zip(data.pairs, scores, strict=True)
    ]
