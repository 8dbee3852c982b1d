"""MIDB and direct bias of a panel, with intervals over words; and word by word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.measures.blocks import blocks, unit
from wordbias.measures.bootstrap import Interval, percentile_interval, resampled_means
from wordbias.measures.direct_bias import direct_bias_of_words
from wordbias.measures.lens import fit_lens
from wordbias.measures.midb import midb_of_words
from wordbias.measures.panel import Panel
from wordbias.results import Row
from wordbias.subspace import Subspace
from wordbias.threads import blas_threads

MIDB = ("midb", "midb-abs", "midb-rms", "midb-unit")
DIRECT = ("direct-bias", "direct-bias-pca")


def mean_rows(panel: Panel) -> list[Row]:
    """MIDB and direct bias, each along what the embedding itself gives (as in Table 6)."""
    lens = fit_lens(panel.embedding, panel.attribute, dims=panel.dims, center=panel.center)
    x = panel.vectors
    columns: dict[str, NDArray[np.float64]] = {}
    rows = []
    if lens.subspace is None or lens.unit_subspace is None:
        rows += panel.undefined(MIDB, lens.subspace_reason)
    else:
        signed = midb_of_words(x, lens.subspace)
        columns["midb"], columns["midb-abs"] = signed, np.abs(signed)
        columns["midb-rms"] = _squares(x, lens.subspace)
        columns["midb-unit"] = midb_of_words(unit(x), lens.unit_subspace)
    for name, along, reason in (
        ("direct-bias", lens.direction, lens.direction_reason),
        ("direct-bias-pca", lens.pair_component, lens.pair_reason),
    ):
        if along is None:
            rows += panel.undefined([name], reason)
        else:
            columns[name] = np.abs(direct_bias_of_words(x, along))
    return [*_with_intervals(panel, columns), *rows]


def _squares(x: NDArray[np.float32], subspace: Subspace) -> NDArray[np.float64]:
    parts = [((subspace.coordinates(b) * subspace.weights) ** 2).sum(1) for b in blocks(x)]
    return np.concatenate([np.zeros(0), *parts])


def _with_intervals(panel: Panel, columns: dict[str, NDArray[np.float64]]) -> list[Row]:
    if not columns:
        return []
    values = np.stack(list(columns.values()), axis=1)
    with blas_threads(1):
        samples = resampled_means(values, panel.rng())
    rows = []
    for i, name in enumerate(columns):
        shape = np.sqrt if name == "midb-rms" else np.asarray
        interval: Interval = percentile_interval(shape(samples[:, i]))
        rows.append(
            panel.row(
                name,
                float(shape(values[:, i].mean())),
                low=interval.low,
                high=interval.high,
                n=len(values),
                neutral=0.0,
                better="neutral" if name in ("midb", "midb-unit") else "lower",
                **_setting(panel, name),
            )
        )
    return rows


def _setting(panel: Panel, name: str) -> dict[str, Any]:
    if name in DIRECT:
        return {"setting": "c=1"}
    kind = "centred" if panel.center else "not centred"
    return {"setting": f"d={panel.dims}, {kind}", "centred": panel.center}


def word_rows(panel: Panel, words: Sequence[str]) -> list[Row]:
    """MIDB and signed direct bias of single words; positive leans to the first group."""
    lens = fit_lens(panel.embedding, panel.attribute, dims=panel.dims, center=panel.center)
    x = panel.embedding.take(words)
    along, direction = lens.subspace, lens.direction
    midb = [None] * len(words) if along is None else midb_of_words(x, along).tolist()
    direct = [None] * len(words)
    if direction is not None:
        direct = direct_bias_of_words(x, direction).tolist()
    return [
        _word(panel, measure, word, value, reason)
        for measure, values, reason in (
            ("midb", midb, lens.subspace_reason),
            ("direct-bias", direct, lens.direction_reason),
        )
        for word, value in zip(words, values, strict=True)
    ]


def _word(panel: Panel, measure: str, word: str, value: float | None, reason: str) -> Row:
    said: dict[str, Any] = {"word": word, "neutral": 0.0, "better": "neutral"}
    if value:
        said["towards"] = panel.attribute.groups[0 if value > 0 else 1]
    return panel.row(measure, value, reason=reason or None, **said)
