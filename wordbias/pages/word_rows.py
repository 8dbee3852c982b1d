"""Rows about single words: occupations, the most biased words, and nearest neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.measures.direction import projections
from wordbias.measures.lean import MIDDLE
from wordbias.measures.movement import displacement, neighbours, neighbours_preserved
from wordbias.measures.panel import Panel
from wordbias.measures.registry import ideal
from wordbias.pages import words
from wordbias.pages.stages import Plan, Stages
from wordbias.results import Row
from wordbias.statistics import percentile_interval, resampled_means
from wordbias.wordlists import Templates, resolve

MAPPED = 200
"""Words on the map, half of each side."""
NEIGHBOURS = 10
_PER_SIDE = 3


def occupation_rows(one: Stages, plan: Plan) -> list[Row]:
    """Measure how occupations lean along the axis of the vectors before, at both stages.

    The lean is the cosine with the axis less its mean over the neutral words. A word outside the
    middle 95 % of these gets its side as ``towards``.
    """
    occupations = _occupations(one.before)
    along = one.before.original_direction.recipe
    groups = one.before.attribute.groups
    rows = []
    for stage, panel in one.panels():
        lean, low, high = _leans(panel, occupations)
        for word, value in zip(occupations, lean.tolist(), strict=True):
            about = {
                "word": word,
                "set": words.OCCUPATIONS,
                "setting": along,
                "reference": "before",
                **ideal("lean"),
                "middle": [low, high],
                "groups": list(groups),
            }
            if not low <= value <= high:
                about["towards"] = groups[0 if value > high else 1]
            rows.append(one.row(stage, Row(one.name, words.LEAN, value, about)))
    return rows


def map_rows(one: Stages, plan: Plan) -> list[Row]:
    """Project the words that lean most before on two principal components, at each stage.

    The components after get the signs of those before.
    """
    count = 2 * min(MAPPED, len(one.before.vocabulary) // 2) // 2
    chosen = one.before.most_biased(count)
    rows, reference = [], np.zeros((0, 2))
    for stage, panel in one.panels():
        places = project_on_plane(panel.vectors[chosen.rows], reference)
        reference = places
        for i, label, (x, y) in zip(
            chosen.rows.tolist(), chosen.labels.tolist(), places.tolist(), strict=True
        ):
            about = {
                "word": one.before.vocabulary[i],
                "set": words.MOST_BIASED,
                "y": y,
                "towards": one.before.attribute.groups[0 if label else 1],
            }
            rows.append(one.row(stage, Row(one.name, words.MAP, x, about)))
    return rows


def project_on_plane(
    vectors: NDArray[np.float32], reference: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return coordinates on the first two principal components, shape ``(n, 2)``.

    Parameters
    ----------
    vectors
        Vectors, shape ``(n, d)``, n, d ≥ 2.
    reference
        Coordinates of the same words, ``(n, 2)``, whose signs are used; or none, ``(0, 2)``.
    """
    x = vectors.astype(np.float64)
    x -= x.mean(0)
    u, s, _ = np.linalg.svd(x, full_matrices=False)
    places: NDArray[np.float64] = u[:, :2] * s[:2]
    if len(reference):
        places = places * np.where((places * reference).sum(0) < 0, -1.0, 1.0)
    return places


def neighbour_rows(one: Stages, plan: Plan) -> list[Row]:
    """List the nearest words of the plan's words and of leaning occupations, at both stages."""
    if one.after is None:
        return []
    chosen = list(
        dict.fromkeys([*resolve(plan.words, one.before.embedding).found, *_extremes(one)])
    )
    before, after = one.before.embedding, one.after.embedding
    queries = before.rows(chosen)[0]
    k = min(NEIGHBOURS, len(before) - 1)
    old, new = (neighbours(e.vectors, queries, k) for e in (before, after))
    return [
        _neighbours(one, word, *([before.words[i] for i in found] for found in lists))
        for word, *lists in zip(chosen, old.tolist(), new.tolist(), strict=True)
    ]


def change_rows(one: Stages, plan: Plan) -> list[Row]:
    """Measure how far the neutral words moved, and the share of their neighbours that stayed."""
    if one.after is None:
        return []
    old, new = one.before.vectors, one.after.vectors
    kept = neighbours_preserved(old, new, one.before.rng(), k=min(NEIGHBOURS, len(old) - 1))
    moved = ideal("displacement")
    stayed = {**ideal("neighbours-preserved"), "setting": f"k={min(NEIGHBOURS, len(old) - 1)}"}
    return [
        _mean(one, "displacement", displacement(old, new), moved),
        _mean(one, "neighbours-preserved", kept, stayed),
    ]


def _mean(one: Stages, measure: str, values: NDArray[np.float64], about: dict[str, Any]) -> Row:
    samples = resampled_means(values[:, None], one.before.rng())[:, 0]
    ends = percentile_interval(samples)._asdict()
    row = Row(one.name, measure, float(values.mean()), {"n": len(values), **ends, **about})
    return one.row("after", row)


def _neighbours(one: Stages, word: str, old: list[str], new: list[str]) -> Row:
    share = len(set(old) & set(new)) / len(old)
    about = {
        "word": word,
        "setting": f"k={len(old)}",
        "before": old,
        "after": new,
        **ideal("neighbours-preserved"),
    }
    return one.row("after", Row(one.name, "neighbours-preserved", share, about))


def _extremes(one: Stages) -> list[str]:
    try:
        occupations = _occupations(one.before)
        lean = _leans(one.before, occupations)[0]
    except WordbiasError:
        return []
    order = np.argsort(lean, kind="stable").tolist()
    return [occupations[i] for i in dict.fromkeys([*order[:_PER_SIDE], *order[::-1][:_PER_SIDE]])]


def _occupations(panel: Panel) -> list[str]:
    known = Templates.load().occupations
    found = resolve(known, panel.embedding, f"{panel.embedding.name}: occupations").at_least(2)
    return list(found.found)


def _leans(panel: Panel, words: list[str]) -> tuple[NDArray[np.float64], float, float]:
    """Return the lean of each word, and the ends of the middle 95 % of the neutral words."""
    along = panel.original_direction.defined()
    neutral = projections(panel.vectors, along)
    mean = neutral.mean()
    ends = np.quantile(neutral - mean, [(1 - MIDDLE) / 2, (1 + MIDDLE) / 2]).tolist()
    return projections(panel.embedding.take(words), along) - mean, ends[0], ends[1]
