"""A whole sweep: subspaces fitted on two models, both run under every setting, and Table 7."""

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
from wordbias.contextual.nli_fairness import Parity, Viability, fairness_rows, snli_row
from wordbias.contextual.settings import SENT_DEBIAS as BASELINE
from wordbias.contextual.settings import all_settings
from wordbias.contextual.stereoset.gsss import LABELS, Gsss
from wordbias.contextual.stereoset.scores import ALL, Settings, gsss_rows
from wordbias.contextual.sweep.forward import Plan
from wordbias.contextual.sweep.run import Model, ModelSource, outputs
from wordbias.contextual.table7 import BASE, SENT_DEBIAS, Entry
from wordbias.contextual.tokenising import TokenisedPairs
from wordbias.nli.hugging_face import Classifier, as_written
from wordbias.nli.test_sets import TestSet
from wordbias.pretrained import evaluating
from wordbias.results import Row
from wordbias.workers import Workers

Float32 = NDArray[np.float32]
ORIGINAL = "original"
_SHOWN = ("ss", "strength", "opposite-strength", "distance")


@dataclass(frozen=True, eq=False)
class SweptModel:
    """One of the two models of a sweep.

    Attributes
    ----------
    source, model
        The model, and its source for other processes.
    adapter
        The subspaces fitted on it.
    file
        Checkpoint of its outputs; None for none.
    """

    source: ModelSource
    model: Model
    adapter: Adapter
    file: Path | None

    def logits(
        self, pairs: Sequence[tuple[str, str]], workers: Workers, *, truncate: bool
    ) -> tuple[list[str], Float32]:
        """Return the names of the models and their logits, shape ``(n, models, labels)``."""
        plan = Plan.of(models_of(self.adapter), layer_count(self.model.model))
        tokenised = TokenisedPairs.of(self.model, pairs, truncate=truncate)
        with evaluating(self.model.model):
            found = outputs(
                self.source, self.model, plan, tokenised, file=self.file, workers=workers
            )
        return list(plan.names), found

    def to_dict(self) -> dict[str, Any]:
        """Return the model and its fit, for the inputs of a report."""
        about: dict[str, Any] = {"path": self.model.name, **self.adapter.fingerprint.to_dict()}
        return {**about, "device": self.model.device, "fitting": dict(self.adapter.facts)}


def sweep(
    next_sentence: SweptModel,
    inference: SweptModel,
    versions: Mapping[str, Gsss],
    test: TestSet,
    snli: LabelledPairs,
    *,
    settings: Settings,
    parity: Parity,
    viability: Viability,
    workers: Workers | None = None,
) -> tuple[list[Entry], list[Row]]:
    """Measure every setting on both models.

    Parameters
    ----------
    next_sentence, inference
        The next-sentence model and the NLI model. Their checkpoints are not removed.
    versions
        Enhanced StereoSet by version of its swaps; Table 7 has the first.
    test
        Test set of occupations.
    snli
        Labelled pairs.
    settings
        Share of extreme triples and the seed.
    parity
        ``mean`` or ``strict``.
    viability
        Loss on SNLI that is allowed; by default compared with the base.

    Returns
    -------
    entries, rows
        Table 7, one entry a model in its order; all measures with intervals.

    Raises
    ------
    WordbiasError
        If a model cannot be run on its data.
    """
    workers = workers or Workers()
    assert isinstance(next_sentence.model, NextSentence)
    assert isinstance(inference.model, Classifier)
    pairs = [
        (pair.context, pair.following)
        for gsss in versions.values()
        for triple in gsss.triples
        for pair in triple.pairs()
    ]
    names, logits = next_sentence.logits(pairs, workers, truncate=False)
    subject = Path(next_sentence.model.name).name
    found = stereoset_rows(versions, logits, next_sentence.model.place, subject, names, settings)
    questions = [(as_written(first), as_written(second)) for first, second in test]
    questions += snli.pairs
    names, logits = inference.logits(questions, workers, truncate=True)
    p = softmax(logits[..., list(inference.model.places)])
    correct = p[len(test) :].argmax(-1) == snli.labels[:, None]
    more = inference_rows(
        test,
        p[: len(test)],
        correct,
        Path(inference.model.name).name,
        names,
        parity=parity,
        viability=viability,
        seed=settings.seed,
    )
    rows = {name: with_setting(name, [*found[name], *more[name]]) for name in names}
    version = next(iter(versions))
    entries = [entry(name, of, parity, version) for name, of in rows.items()]
    return entries, [row for of in rows.values() for row in of]


def models_of(adapter: Adapter) -> dict[str, list[Intervention]]:
    """Return the interventions of the base, the baseline (if fitted) and the 74 settings.

    They are in the order of Table 7.

    Raises
    ------
    WordbiasError
        If a site that a setting needs was not fitted.
    """
    models: dict[str, list[Intervention]] = {BASE: []}
    if adapter.sent_debias is not None:
        models[SENT_DEBIAS] = adapter.interventions(BASELINE)
    return models | {setting.name: adapter.interventions(setting) for setting in all_settings()}


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
        Index of "is next" among the labels.
    """
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
    correct: NDArray[np.bool_],
    subject: str,
    names: Sequence[str],
    *,
    parity: Parity = "mean",
    viability: Viability | None = None,
    seed: int = 0,
) -> dict[str, list[Row]]:
    """Measure accuracy, parity, η and SNLI accuracy of every model.

    Parameters
    ----------
    p
        Probabilities (N, E, C) of the pairs of the test set, shape ``(n, models, 3)``.
    correct
        Whether each SNLI pair is predicted correctly, shape ``(m, models)``.
    parity
        ``mean`` or ``strict``.
    viability
        Loss on SNLI that is allowed; by default compared with the base.
    """
    found = {}
    viability = viability or Viability()
    if viability.base is None:
        viability = viability._replace(base=float(correct[:, names.index(BASE)].mean()))
    for i, name in enumerate(names):
        rows = fairness_rows(test, p[:, i], subject, parity=parity, setting=name, seed=seed)
        share = float(correct[:, i].mean())
        found[name] = [
            *rows, snli_row(share, len(correct), subject, setting=name, viability=viability)
        ]  # fmt: skip
    return found


def softmax(logits: NDArray[Any]) -> NDArray[Any]:
    """Return probabilities along the last axis."""
    shifted = np.exp(logits - logits.max(-1, keepdims=True))
    found: NDArray[Any] = shifted / shifted.sum(-1, keepdims=True)
    return found


def entry(name: str, rows: Sequence[Row], parity: str, version: str = ORIGINAL) -> Entry:
    """Return a model's line of Table 7 from its rows."""
    level, _, digits = name.rpartition("-") if name not in (BASE, SENT_DEBIAS) else (name, "", "")

    def value(measure: str, **details: str) -> float:
        (row,) = (
            row
            for row in rows
            if row.measure == measure
            and all(row.details.get(key) == wanted for key, wanted in details.items())
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


def with_setting(name: str, rows: Sequence[Row]) -> list[Row]:
    """Return the rows of a model with its setting and level in their details."""
    level = name if name in (BASE, SENT_DEBIAS) else name.rpartition("-")[0]
    about = {"setting": name, "level": level}
    return [replace(row, details={**about, **row.details, "setting": name}) for row in rows]
