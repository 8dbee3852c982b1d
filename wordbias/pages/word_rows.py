"""Rows about single words: occupations, the most biased words, and nearest neighbours."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.measures.lean import Lean, find_lean, lean_rows, leans
from wordbias.measures.movement import displacement, neighbours, neighbours_preserved
from wordbias.measures.panel import Panel
from wordbias.measures.registry import ideal
from wordbias.pages import words
from wordbias.pages.stages import Plan, Stage
from wordbias.results import Row
from wordbias.statistics import resampled_means
from wordbias.wordlists import Templates, resolve

MAPPED = 200
"""Words on the map, half of each side."""
NEIGHBOURS = 10
_PER_SIDE = 3


def occupation_rows(stage: Stage, plan: Plan) -> list[Row]:
    """Measure how occupations lean along the axis of the vectors before; see `Lean`."""
    stage.of_one_space("they are measured")
    lean = _lean(stage.before)
    return [
        stage.row(
            row.measure,
            row.value,
            set=words.OCCUPATIONS,
            reference="before",
            groups=list(stage.before.attribute.groups),
            **row.details,
        )
        for row in lean_rows(stage.panel, lean, "", _occupations(stage.before))
    ]


def map_rows(stage: Stage, plan: Plan) -> list[Row]:
    """Project the words that lean most before on two principal components."""
    # The components of a column get the signs of those before.
    before = stage.before
    count = 2 * min(MAPPED, len(before.vocabulary) // 2) // 2
    chosen = before.most_biased(count)
    places = project_on_plane(before.vectors[chosen.rows], np.zeros((0, 2)))
    if not stage.is_first:
        places = project_on_plane(stage.panel.vectors[chosen.rows], places)
    return [
        stage.row(
            words.MAP,
            x,
            word=before.vocabulary[i],
            set=words.MOST_BIASED,
            y=y,
            towards=before.attribute.groups[0 if label else 1],
        )
        for i, label, (x, y) in zip(
            chosen.rows.tolist(), chosen.labels.tolist(), places.tolist(), strict=True
        )
    ]


def project_on_plane(
    vectors: NDArray[np.float32], reference: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return coordinates of (n, d) on the first two principal components, shape ``(n, 2)``."""
    # `reference` has coordinates of the same words, whose signs are used, or none, (0, 2).
    x = vectors.astype(np.float64)
    x -= x.mean(0)
    u, s, _ = np.linalg.svd(x, full_matrices=False)
    places: NDArray[np.float64] = u[:, :2] * s[:2]
    if len(reference):
        places = places * np.where((places * reference).sum(0) < 0, -1.0, 1.0)
    return places


def neighbour_rows(stage: Stage, plan: Plan) -> list[Row]:
    """List the nearest words of the plan's words and of leaning occupations, before and now."""
    if stage.is_first:
        return []
    before, after = stage.before.embedding, stage.panel.embedding
    chosen = list(dict.fromkeys([*resolve(plan.words, before).found, *_extremes(stage.before)]))
    queries = before.rows(chosen)[0]
    k = min(NEIGHBOURS, len(before) - 1)
    old, new = (neighbours(e.vectors, queries, k).tolist() for e in (before, after))
    rows = []
    for word, *lists in zip(chosen, old, new, strict=True):
        was, now = ([before.words[i] for i in places] for places in lists)
        about = {"word": word, "setting": f"k={k}", "before": was, "after": now}
        share = len(set(was) & set(now)) / k
        rows.append(
            stage.row("neighbours-preserved", share, **about, **ideal("neighbours-preserved"))
        )
    return rows


def change_rows(stage: Stage, plan: Plan) -> list[Row]:
    """Measure how far the neutral words moved, and the share of their neighbours that stayed."""
    # Words are not said to have moved where the vectors have other dimensions.
    if stage.is_first:
        return []
    old, new, rng = stage.before.vectors, stage.panel.vectors, stage.before.rng
    k = min(NEIGHBOURS, len(old) - 1)
    shares = neighbours_preserved(old, new, rng(), k=k)
    about = {"n": len(shares), "setting": f"k={k}", **ideal("neighbours-preserved")}
    samples = resampled_means(shares[:, None], rng())[:, 0]
    stayed = stage.row("neighbours-preserved", float(shares.mean()), samples, **about)
    if stage.before.embedding.dim != stage.panel.embedding.dim:
        return [stayed]
    moved = displacement(old, new)
    samples = resampled_means(moved[:, None], rng())[:, 0]
    about = {"n": len(moved), **ideal("displacement")}
    return [stage.row("displacement", float(moved.mean()), samples, **about), stayed]


def _extremes(panel: Panel) -> list[str]:
    try:
        occupations = _occupations(panel)
        lean = leans(panel, _lean(panel), occupations)[0]
    except WordbiasError:
        return []
    order = np.argsort(lean, kind="stable").tolist()
    return [occupations[i] for i in dict.fromkeys([*order[:_PER_SIDE], *order[::-1][:_PER_SIDE]])]


def _occupations(panel: Panel) -> list[str]:
    known = Templates.load().occupations
    occupations = resolve(known, panel.embedding, f"{panel.embedding.name}: occupations").at_least(
        2
    )
    return list(occupations.found)


def _lean(panel: Panel) -> Lean:
    lean, reason = find_lean(panel)
    if lean is None:
        raise WordbiasError(reason.removeprefix("undefined: "))
    return lean
