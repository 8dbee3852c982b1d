"""From outputs to Table 7: strength, distance, parity, accuracy and SNLI of every model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.contextual.adapters import Adapter
from wordbias.contextual.interventions import Intervention
from wordbias.contextual.nli_fairness import fairness_rows
from wordbias.contextual.settings import SENT_DEBIAS as BASELINE
from wordbias.contextual.settings import all_settings
from wordbias.contextual.stereoset.gsss import LABELS, Gsss
from wordbias.contextual.stereoset.measuring import gsss_rows
from wordbias.contextual.stereoset.settings import ALL, Settings
from wordbias.contextual.table7 import BASE, SENT_DEBIAS, Entry
from wordbias.contextual.viability import Viability, snli_row
from wordbias.nli.test_sets import TestSet
from wordbias.results import Row

Float = NDArray[np.float64]
Float32 = NDArray[np.float32]
ORIGINAL = "original"
_SHOWN = ("ss", "strength", "opposite-strength", "distance")


def models_of(adapter: Adapter) -> dict[str, list[Intervention]]:
    """Return the base, the baseline if it was fitted, and the 74 settings, as Table 7 lists them.

    Raises
    ------
    WordbiasError
        If a site that a setting needs was not fitted.
    """
    models: dict[str, list[Intervention]] = {BASE: []}
    if adapter.sent_debias is not None:
        models[SENT_DEBIAS] = adapter.interventions(BASELINE)
    return models | {setting.name: adapter.interventions(setting) for setting in all_settings()}


def softmax(logits: NDArray[Any]) -> NDArray[Any]:
    """Return probabilities along the last axis."""
    shifted = np.exp(logits - logits.max(-1, keepdims=True))
    found: NDArray[Any] = shifted / shifted.sum(-1, keepdims=True)
    return found


def stereoset_rows(
    versions: Mapping[str, Gsss],
    logits: Float32,
    place: int,
    subject: str,
    names: Sequence[str],
    settings: Settings,
) -> dict[str, list[Row]]:
    """Measure S, D and SS of every model, for each version of the swaps.

    Parameters
    ----------
    logits
        Shape ``(n, models, 2)``, the pairs of all triples of one version after another.
    place
        Where "is next" stands.
    """  # fmt: skip
    p = softmax(logits.astype(np.float64))[..., place]  # (n, models)
    p = p.reshape(len(versions), -1, len(LABELS), 2, len(names))
    found: dict[str, list[Row]] = {name: [] for name in names}
    for values, (version, gsss) in zip(p, versions.items(), strict=True):
        for i, name in enumerate(names):
            rows = gsss_rows(gsss, values[..., i], subject, version, settings, subsets=(ALL,))
            found[name] += [row for row in rows if row.measure in _SHOWN]
    return found


def inference_rows(
    test: TestSet,
    p: Float32,
    right: NDArray[np.bool_],
    subject: str,
    names: Sequence[str],
    *,
    parity: Any = "mean",
    viability: Viability | None = None,
    seed: int = 0,
) -> dict[str, list[Row]]:
    """Measure accuracy, parity, η and SNLI accuracy of every model.

    Parameters
    ----------
    p
        (N, E, C) of each pair of the test set, shape ``(n, models, 3)``.
    right
        Which SNLI pairs are predicted right, shape ``(m, models)``.
    parity
        ``mean`` or ``strict``.
    viability
        What a model may lose on SNLI; by default of what the base reaches.
    """
    found = {}
    viability = viability or Viability()
    if viability.base is None:
        viability = viability._replace(base=float(right[:, names.index(BASE)].mean()))
    for i, name in enumerate(names):
        rows = fairness_rows(test, p[:, i], subject, parity=parity, setting=name, seed=seed)
        share = float(right[:, i].mean())
        found[name] = [
            *rows, snli_row(share, len(right), subject, setting=name, viability=viability)
        ]  # fmt: skip
    return found


def entry(name: str, rows: Sequence[Row], parity: str, version: str = ORIGINAL) -> Entry:
    """Return a model's line of Table 7 from its rows."""
    level, _, digits = name.rpartition("-") if name not in (BASE, SENT_DEBIAS) else (name, "", "")

    def value(measure: str, **told: str) -> float:
        (row,) = (
            row
            for row in rows
            if row.measure == measure
            and all(row.details.get(key) == wanted for key, wanted in told.items())
        )
        assert row.value is not None
        return row.value

    return Entry(
        level,
        tuple(map(int, digits)),
        value("strength", version=version),
        value("distance", version=version),
        value("nli-parity", parity=parity),
        value("nli-accuracy"),
        value("snli-accuracy"),
    )


def told(name: str, rows: Sequence[Row]) -> list[Row]:
    """Say in each row which model it is of."""
    level = name if name in (BASE, SENT_DEBIAS) else name.rpartition("-")[0]
    about = {"setting": name, "level": level}
    return [replace(row, details={**about, **row.details, "setting": name}) for row in rows]
