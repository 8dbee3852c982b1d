"""A whole sweep: subspaces fitted on two models, both run under every setting, and Table 7."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.contextual.fitting import Recipe
from wordbias.contextual.labelled_pairs import LabelledPairs
from wordbias.contextual.nli_fairness import (
    Parity,
    Viability,
    by_occupation,
    fairness_rows,
    has_parity,
    is_neutral,
    snli_row,
)
from wordbias.contextual.sent_debias import LIMIT, TextLike, fit_with_baseline
from wordbias.contextual.sweep.comparison import Items, comparison_rows, drawn_file
from wordbias.contextual.sweep.forward import Plan
from wordbias.contextual.sweep.run import Model, ModelSource, outputs
from wordbias.contextual.sweep.sequential import fit_in_sequence
from wordbias.contextual.table7 import BASE, SENT_DEBIAS, Entry, entry
from wordbias.draws import LISTS, NULL
from wordbias.models.adapters import Adapter
from wordbias.models.hooks import Intervention
from wordbias.models.model_like import evaluating, name_of
from wordbias.models.sentence_pairs import SentencePairsLike, sentence_pairs
from wordbias.models.settings import SENT_DEBIAS as BASELINE
from wordbias.models.settings import all_settings
from wordbias.models.sites import read_site
from wordbias.models.token_batches import TokenisedTexts
from wordbias.nli.hugging_face import Classifier, as_written
from wordbias.nli.scoring import softmax
from wordbias.nli.test_sets import TestSet
from wordbias.results import Row
from wordbias.stereotypes.gsss import LABELS, Gsss, gsss_rows
from wordbias.stereotypes.next_sentence import NextSentence
from wordbias.stereotypes.scores import ALL, Settings, distances, strengths
from wordbias.wordlists import GroupsLike
from wordbias.workers import Workers

Float = NDArray[np.float64]
Float32 = NDArray[np.float32]
_SHOWN = ("ss", "strength", "opposite-strength", "distance")


@dataclass(frozen=True, eq=False)
class SweptModel:
    """One of the two models of a sweep."""

    # the model, and its source, for other processes and to load it again; None if it is not held in
    # memory
    source: ModelSource
    model: Model | None
    adapter: Adapter
    about: Mapping[str, Any]  # the model and its fit, for the inputs of a report
    # adapters of single settings, whose subspaces were fitted one after another, by the name of the
    # setting
    own: Mapping[str, Adapter] = field(default_factory=dict)
    file: Path | None = None  # checkpoint of its outputs; None for none
    redrawn: Sequence[Adapter] = ()  # subspaces fitted to redraws of the pairs

    @classmethod
    def fit(
        cls,
        source: ModelSource,
        recipe: Recipe,
        *,
        pairs: SentencePairsLike | None = None,
        text: TextLike | None = None,
        groups: GroupsLike | None = None,
        limit: int = LIMIT,
        sequential: bool = False,
        file: Path | None = None,
        keep: bool = True,
        draws: int = 0,
    ) -> SweptModel:
        """Load a model and fit its subspaces, as `fit_with_baseline`, or `sequential`ly."""
        model = source.load()
        adapter, *redrawn = fit_with_baseline(
            model.model,
            model.tokenizer,
            recipe,
            pairs=pairs,
            text=text,
            groups=groups,
            limit=limit,
            name=model.name,
            draws=draws,
        )
        own: dict[str, Adapter] = {}
        if sequential:
            paired = sentence_pairs(pairs)
            own = fit_in_sequence(model.model, model.tokenizer, paired, recipe, adapter)
        about: dict[str, Any] = {"path": model.name, **adapter.fingerprint.to_dict()}
        about |= {"device": model.device, "fitting": {**adapter.facts, "sequential": sequential}}
        return cls(source, model if keep else None, adapter, about, own, file, redrawn)

    @property
    def subject(self) -> str:
        """Return the name of the model in rows."""
        return Path(name_of(self.source.model)).name

    def load(self) -> Model:
        """Return the model."""
        return self.source.load() if self.model is None else self.model

    def null(self, names: Sequence[str], seeds: Sequence[int]) -> dict[str, list[Intervention]]:
        """Return some models with random directions, those of the first seed first."""
        return {
            f"{name} {NULL} {seed}": (
                self.own.get(name, self.adapter).null(seed).interventions(setting_of(name))
            )
            for seed in seeds
            for name in names
        }

    def over_lists(self, names: Sequence[str]) -> dict[str, list[Intervention]]:
        """Return some models fitted to redraws of the pairs, those of the first redraw first."""
        return {
            f"{name} {LISTS} {draw}": adapter.interventions(setting_of(name))
            for draw, adapter in enumerate(self.redrawn)
            for name in names
        }


def setting_of(name: str) -> str:
    """Return the setting of a line of Table 7."""
    return BASELINE if name == SENT_DEBIAS else name


@dataclass(frozen=True, eq=False)
class Data:
    """Data on which both models are run, and settings of what is measured."""

    # Enhanced StereoSet by version of its swaps; Table 7 has the first
    versions: Mapping[str, Gsss]
    test: TestSet
    snli: LabelledPairs
    settings: Settings  # share of extreme triples and the seed
    parity: Parity  # `mean` or `strict`
    viability: Viability  # loss on SNLI that is allowed; by default compared with the base

    @property
    def occupations(self) -> list[tuple[str, str]]:
        """The pairs of the test set."""
        return [(as_written(first), as_written(second)) for first, second in self.test]

    def triples(self, version: str) -> list[tuple[str, str]]:
        """Return the pairs of all triples of one version."""
        return [
            (pair.context, pair.following)
            for triple in self.versions[version].triples
            for pair in triple.pairs()
        ]


class Swept(NamedTuple):
    """A sweep of one head of each kind: Table 7, its rows, and the items of every model."""

    entries: list[Entry]
    rows: list[Row]
    items: dict[str, Items]


def sweep(
    next_sentence: SweptModel,
    inference: SweptModel,
    data: Data,
    workers: Workers | None = None,
) -> Swept:
    """Measure every setting on both models, whose stores are not removed."""
    workers = workers or Workers()
    models = models_of(next_sentence.adapter, next_sentence.own)
    names = list(models)
    pairs = [pair for version in data.versions for pair in data.triples(version)]
    is_next = _probabilities(next_sentence, models, pairs, workers)
    stereoset = stereoset_rows(data.versions, is_next, next_sentence.subject, names, data.settings)
    version, gsss = next(iter(data.versions.items()))
    of_triples = triple_values(is_next[: 2 * len(LABELS) * len(gsss.triples)])
    questions = [*data.occupations, *data.snli.pairs]
    models = models_of(inference.adapter, inference.own)
    p = _probabilities(inference, models, questions, workers)
    size = len(data.test)
    correct = p[size:].argmax(-1) == data.snli.labels[:, None]
    more = inference_rows(
        data.test,
        p[:size],
        correct,
        inference.subject,
        names,
        parity=data.parity,
        viability=data.viability,
        seed=data.settings.seed,
    )
    rows = {name: with_setting(name, [*stereoset[name], *more[name]]) for name in names}
    entries = [entry(name, of, data.parity, version) for name, of in rows.items()]
    items = items_of(names, of_triples, data.test, p[:size], data.parity)
    return Swept(entries, [row for of in rows.values() for row in of], items)


def compare(
    names: Sequence[str],
    heads: Sequence[tuple[SweptModel, SweptModel]],
    sweeps: Sequence[Swept],
    data: Data,
    draws: int = 0,
    seeds: Sequence[int] = (),
    *,
    workers: Workers | None = None,
) -> list[Row]:
    """Compare settings with the base, random removals and redraws; see `comparison_rows`."""
    nulls, lists = [], []
    for place, (next_sentence, inference) in enumerate(heads):
        measured = partial(
            drawn_items, next_sentence, inference, data, names, workers=workers or Workers()
        )
        if draws:
            first = data.settings.seed + place * draws
            drawn = range(first, first + draws)
            both = (model.null(names, drawn) for model in (next_sentence, inference))
            nulls.append(measured(NULL, *both))
        if next_sentence.redrawn:
            both = (model.over_lists(names) for model in (next_sentence, inference))
            lists.append(measured(LISTS, *both))
    subjects = [model.subject for model in heads[0]]
    if len(heads) > 1:
        subjects = [f"{subject} and other heads" for subject in subjects]
    items = [swept.items for swept in sweeps]
    return comparison_rows(
        names, items, nulls, (subjects[0], subjects[1]), data.settings, seeds, lists
    )


def drawn_items(
    next_sentence: SweptModel,
    inference: SweptModel,
    data: Data,
    names: Sequence[str],
    kind: str,
    of_next_sentence: Mapping[str, Sequence[Intervention]],
    of_inference: Mapping[str, Sequence[Intervention]],
    *,
    workers: Workers,
) -> dict[str, list[Items]]:
    """Measure some settings with random directions, or as fitted to redraws of the pairs."""
    # `of_next_sentence` and `of_inference` have all settings of the first draw, then those of the
    # next.
    next_sentence, inference = (
        replace(model, file=None if model.file is None else drawn_file(model.file, kind))
        for model in (next_sentence, inference)
    )
    pairs = data.triples(next(iter(data.versions)))
    of_triples = triple_values(_probabilities(next_sentence, of_next_sentence, pairs, workers))
    p = _probabilities(inference, of_inference, data.occupations, workers)
    items = items_of(list(of_next_sentence), of_triples, data.test, p, data.parity).values()
    draws = list(zip(*[iter(items)] * len(names), strict=True))
    return {name: [draw[i] for draw in draws] for i, name in enumerate(names)}


def _probabilities(
    swept: SweptModel,
    models: Mapping[str, Sequence[Intervention]],
    pairs: Sequence[tuple[str, str]],
    workers: Workers,
) -> NDArray[Any]:
    """Return probabilities of next, (n, models), or of N, E, C, (n, models, 3)."""
    model = swept.load()
    plan = Plan.of(models, read_site(model.model))
    tokenised = TokenisedTexts.of(model, pairs, truncate=isinstance(model, Classifier))
    with evaluating(model.model):
        arrays = outputs(swept.source, model, plan, tokenised, file=swept.file, workers=workers)
    logits = arrays["logits"]
    if isinstance(model, Classifier):
        return softmax(logits[..., list(model.places)])
    assert isinstance(model, NextSentence)
    is_next: Float = softmax(logits.astype(np.float64))[..., model.place]
    return is_next


def triple_values(is_next: Float) -> tuple[Float, Float]:
    """Return s and d, each (n, models), of triples whose pairs follow each other, (6 n, models)."""
    p = is_next.reshape(-1, len(LABELS), 2, is_next.shape[-1])
    models = [p[..., i] for i in range(p.shape[-1])]
    s, d = ([of(model) for model in models] for of in (strengths, distances))
    return np.stack(s, axis=-1), np.stack(d, axis=-1)


def items_of(
    names: Sequence[str],
    of_triples: tuple[Float, Float],
    test: TestSet,
    p: Float32,
    parity: Parity = "mean",
) -> dict[str, Items]:
    """Return the items of every model; see `triple_values` and `inference_rows`."""
    by_name = {}
    for i, name in enumerate(names):
        arranged = by_occupation(test, p[:, i])
        agrees = has_parity(arranged, parity)
        s, d = (scores[:, i] for scores in of_triples)
        by_name[name] = Items(s, d, is_neutral(arranged), agrees)
    return by_name


def models_of(
    adapter: Adapter, own: Mapping[str, Adapter] | None = None
) -> dict[str, list[Intervention]]:
    """Return the interventions of the base, the baseline (if fitted) and the 74 settings."""
    # They are in the order of Table 7.
    models: dict[str, list[Intervention]] = {BASE: []}
    if adapter.sent_debias is not None:
        models[SENT_DEBIAS] = adapter.interventions(BASELINE)
    own = own or {}
    return models | {
        setting.name: own.get(setting.name, adapter).interventions(setting)
        for setting in all_settings()
    }


def stereoset_rows(
    versions: Mapping[str, Gsss],
    is_next: Float,
    subject: str,
    names: Sequence[str],
    settings: Settings,
) -> dict[str, list[Row]]:
    """Measure S, D and SS of every model, for each version of the swaps."""
    # `is_next` has shape (n, models): the pairs of all triples of one version after another.
    p = is_next.reshape(len(versions), -1, len(LABELS), 2, len(names))
    rows_by_name: dict[str, list[Row]] = {name: [] for name in names}
    for values, (version, gsss) in zip(p, versions.items(), strict=True):
        for i, name in enumerate(names):
            rows = gsss_rows(gsss, values[..., i], subject, version, settings, subsets=(ALL,))
            rows_by_name[name] += [row for row in rows if row.measure in _SHOWN]
    return rows_by_name


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
    """Measure accuracy, parity, η and SNLI accuracy of every model."""
    # `p` (N, E, C) has shape (n, models, 3), `correct` of SNLI (m, models).
    rows_by_name = {}
    viability = viability or Viability()
    if viability.base is None:
        viability = viability._replace(base=float(correct[:, names.index(BASE)].mean()))
    for i, name in enumerate(names):
        rows = fairness_rows(test, p[:, i], subject, parity=parity, setting=name, seed=seed)
        share = float(correct[:, i].mean())
        rows_by_name[name] = [
            *rows, snli_row(share, len(correct), subject, setting=name, viability=viability)
        ]  # fmt: skip
    return rows_by_name


def with_setting(name: str, rows: Sequence[Row]) -> list[Row]:
    """Return the rows of a model with its setting and level in their details."""
    level = name if name in (BASE, SENT_DEBIAS) else name.rpartition("-")[0]
    about = {"setting": name, "level": level}
    return [replace(row, details={**about, **row.details, "setting": name}) for row in rows]
