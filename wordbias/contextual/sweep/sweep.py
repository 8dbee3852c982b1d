"""A whole sweep: subspaces fitted on both models, both models run, Table 7.

From outputs to Table 7: strength, distance, parity, accuracy and SNLI of every model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.contextual.adapters import Adapter
from wordbias.contextual.families import layer_count
from wordbias.contextual.hooks import Intervention
from wordbias.contextual.labelled_pairs import LabelledPairs
from wordbias.contextual.next_sentence import NextSentence
from wordbias.contextual.nli_fairness import Viability, fairness_rows, snli_row
from wordbias.contextual.settings import SENT_DEBIAS as BASELINE
from wordbias.contextual.settings import all_settings
from wordbias.contextual.stereoset.gsss import LABELS, Gsss
from wordbias.contextual.stereoset.scores import ALL, Settings, gsss_rows
from wordbias.contextual.sweep.plan import Plan
from wordbias.contextual.sweep.run import Source, outputs
from wordbias.contextual.table7 import BASE, SENT_DEBIAS, Entry
from wordbias.contextual.tokenising import TokenisedPairs
from wordbias.nli.hugging_face import Classifier, as_written
from wordbias.nli.test_sets import TestSet
from wordbias.pretrained import evaluating
from wordbias.results import Row
from wordbias.workers import Workers

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


Judge = NextSentence | Classifier


@dataclass(frozen=True, eq=False)
class Part:
    """One model of a sweep.

    Attributes
    ----------
    source, judge
        The model.
    adapter
        What was fitted on it.
    file
        Where its outputs are kept while it runs; None for nowhere.
    """

    source: Source
    judge: Judge
    adapter: Adapter
    file: Path | None

    def run(
        self, pairs: Sequence[tuple[str, str]], workers: Workers, *, truncate: bool
    ) -> tuple[list[str], Float32]:
        """Return the names of the models and their logits, shape ``(n, models, labels)``."""
        plan = Plan.of(models_of(self.adapter), layer_count(self.judge.model))
        texts = TokenisedPairs.of(self.judge, pairs, truncate=truncate)
        with evaluating(self.judge.model):
            found = outputs(self.source, self.judge, plan, texts, file=self.file, workers=workers)
        return list(plan.names), found


def sweep(
    following: Part,
    inferring: Part,
    versions: Mapping[str, Gsss],
    test: TestSet,
    snli: LabelledPairs,
    *,
    settings: Settings,
    parity: str,
    viability: Viability,
    workers: Workers | None = None,
) -> tuple[list[Entry], list[Row]]:
    """Measure every setting on both models.

    Parameters
    ----------
    following, inferring
        The next-sentence model and the NLI model. Their files are left: who has stored the result
        removes them.
    versions
        Enhanced StereoSet by version of its swaps; the first is that of the table.
    test
        The occupations' pairs.
    snli
        Labelled pairs.
    settings
        Which triples are extreme, and the seed of everything random.
    parity
        ``mean`` or ``strict``.
    viability
        What a model may lose on SNLI; by default of what the base reaches.

    Returns
    -------
    entries, rows
        Table 7, one entry a model in its order; the same with intervals, and what else was
        measured.

    Raises
    ------
    WordbiasError
        If a model cannot be run on its data.
    """
    workers = workers or Workers()
    pairs = [
        (pair.context, pair.following)
        for gsss in versions.values()
        for triple in gsss.triples
        for pair in triple.pairs()
    ]
    names, logits = following.run(pairs, workers, truncate=False)
    assert isinstance(following.judge, NextSentence)
    assert isinstance(inferring.judge, Classifier)
    subject = Path(following.judge.name).name
    found = stereoset_rows(versions, logits, following.judge.place, subject, names, settings)
    questions = [(as_written(first), as_written(second)) for first, second in test]
    questions += [(first, second) for first, second in snli.pairs]
    names, logits = inferring.run(questions, workers, truncate=True)
    p = softmax(logits[..., list(inferring.judge.places)])
    more = inference_rows(
        test,
        p[: len(test)],
        p[len(test) :].argmax(-1) == snli.labels[:, None],
        Path(inferring.judge.name).name,
        names,
        parity=parity,
        viability=viability,
        seed=settings.seed,
    )
    rows = {name: told(name, [*found[name], *more[name]]) for name in names}
    version = next(iter(versions))
    entries = [entry(name, of, parity, version) for name, of in rows.items()]
    return entries, [row for of in rows.values() for row in of]


def facts(judge: Judge, adapter: Adapter) -> dict[str, Any]:
    """Return what a report says of a model and of what was fitted on it."""
    about: dict[str, Any] = {"path": judge.name, **adapter.fingerprint.to_dict()}
    return {**about, "device": judge.device, "fitting": dict(adapter.facts)}
