"""A sweep on a task: what a classifier of texts predicts under every setting, in one pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from wordbias.contextual.sweep.as_far import RandomRemovals
from wordbias.contextual.sweep.forward import Plan
from wordbias.contextual.sweep.run import Kept, ModelSource, outputs
from wordbias.contextual.sweep.sweep import models_of, setting_of
from wordbias.contextual.table7 import BASE
from wordbias.errors import WordbiasError
from wordbias.methods.leace import Erasure
from wordbias.methods.methods import arguments_of
from wordbias.methods.rows import fit_rows
from wordbias.methods.transform import Projection
from wordbias.models.adapters import SENTENCE, Adapter, depth
from wordbias.models.families import final_of, text_head_of
from wordbias.models.hooks import Intervention
from wordbias.models.model_like import evaluating
from wordbias.models.sites import read_site
from wordbias.models.text_classifier import TextClassifier
from wordbias.models.token_batches import TokenisedTexts
from wordbias.settings import Configured
from wordbias.workers import Workers

Places = NDArray[np.intp]
Float32 = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class TaskModel:
    """A classifier whose predictions are swept."""

    source: ModelSource  # the classifier, and its source for other processes
    model: TextClassifier
    adapter: Adapter  # the subspaces fitted to pairs of sentences
    workers: Workers = field(default_factory=Workers)

    def run(
        self,
        models: Mapping[str, Sequence[Intervention]],
        texts: Sequence[str],
        selection: Kept,
        file: Path | None = None,
    ) -> dict[str, NDArray[Any]]:
        """Return what is kept of texts under some removals; see `outputs`."""
        plan = Plan.of(models, read_site(self.model.model))
        tokenised = TokenisedTexts.of(self.model, [(text,) for text in texts], truncate=True)
        with evaluating(self.model.model):
            return outputs(
                self.source, self.model, plan, tokenised, selection, file=file, workers=self.workers
            )


class Predicted(NamedTuple):
    """Predictions under every setting."""

    names: tuple[str, ...]  # names of the settings, the model as it is first
    classes: Places  # number of the class that is predicted, shape `(n, settings)`
    # the same for each draw of random removals, without the model as it is, shape `(n, draws,
    # settings − 1)`
    nulls: Places
    adapters: Mapping[str, Adapter]  # adapter of each setting, which it removes by default
    notes: Sequence[str]
    removals: RandomRemovals  # random removals, for further draws


def predict_all(
    task: TaskModel,
    texts: Sequence[str],
    fitted_on: Places,
    groups: Places,
    names: Sequence[str],
    methods: Mapping[str, Configured],
    draws: Sequence[int],
    *,
    seed: int = 0,
    file: Path | None = None,
) -> Predicted:
    """Predict the classes of texts under every setting, and under random removals in its place."""
    # Methods are fitted to the texts of `fitted_on` and no others.
    settings = models_of(task.adapter)  # the model as it is, and the settings fitted to pairs
    model, tokenizer = task.model.model, task.model.tokenizer
    sites = {SENTENCE, *(step.site for steps in settings.values() for step in steps)}
    removals = RandomRemovals.of(
        model, tokenizer, [texts[i] for i in fitted_on], sorted(sites, key=depth), seed
    )
    nulls = {
        f"{name} null {draw}": removals.drawn(steps, draw)
        for draw in draws
        for name, steps in settings.items()
        if name != BASE
    }
    selection = Kept(classes=True, vectors=(0,) if methods else ())
    arrays = task.run({**settings, **nulls}, texts, selection, file)
    classes = arrays["classes"].astype(np.intp)
    own, others = classes[:, : len(settings)], classes[:, len(settings) :]
    others = others.reshape(len(texts), len(draws), len(settings) - 1)
    adapters = {name: task.adapter.setting(setting_of(name)) for name in settings if name != BASE}
    notes: list[str] = []
    for name, method in methods.items():
        x = arrays["vectors"][:, 0]
        try:
            fitted, warnings = fit_at_sentence(task, method, x[fitted_on], groups[fitted_on], seed)
        except WordbiasError as error:
            raise WordbiasError(f"--methods {name}: {error}") from None
        notes += [f"{name}: {line}" for line in warnings]
        if fitted is None:
            continue
        classes_of = [names[i] for i in np.unique(groups[fitted_on])]
        about = {"method": name, "labels": classes_of, "texts": len(fitted_on)}
        adapters[name] = replace(fitted, facts=about)
        steps = adapters[name].interventions()
        own = np.concatenate([own, _predicted(task, steps, x)[:, None]], axis=1)
        if draws:
            drawn = [_predicted(task, removals.drawn(steps, draw), x) for draw in draws]
            others = np.concatenate([others, np.stack(drawn, 1)[..., None]], axis=2)
    return Predicted((BASE, *adapters), own, others, adapters, notes, removals)


def fit_at_sentence(
    task: TaskModel, method: Configured, x: Float32, groups: Places, seed: int
) -> tuple[Adapter | None, Sequence[str]]:
    """Fit a method to inputs of the final linear layer and their groups; also what it warns of."""
    # None if nothing is to be removed.
    _, codes = np.unique(groups, return_inverse=True)
    settings = arguments_of(method, seed=seed)
    fitted = fit_rows(method.name, x.astype(np.float64), codes, settings, inside=True)
    if not fitted.steps:
        return None, fitted.warnings
    (step,) = fitted.steps
    assert isinstance(step, (Projection, Erasure))
    adapter = Adapter({}, task.adapter.fingerprint, steps={SENTENCE: step})
    return adapter.setting(str(SENTENCE)), fitted.warnings


def _predicted(task: TaskModel, steps: Sequence[Intervention], x: Float32) -> Places:
    """Return the classes that the final linear layer gives to its inputs after a removal."""
    model = task.model.model
    final = final_of(model)
    weight = next(final.parameters())
    with torch.inference_mode():
        changed = torch.from_numpy(np.array(x)).to(weight)
        for step in steps:
            changed = step.removal()(changed)
        classes: Places = final(changed).argmax(-1).cpu().numpy().astype(np.intp)
    return classes


def vectors_under(
    task: TaskModel,
    models: Mapping[str, Sequence[Intervention]],
    texts: Sequence[str],
    file: Path | None = None,
) -> dict[str, Float32]:
    """Return the inputs of the final linear layer under some removals, (n, d) each."""
    selection = Kept(classes=True, vectors=tuple(range(len(models))))
    vectors = task.run(models, texts, selection, file)["vectors"]
    return {name: vectors[:, i] for i, name in enumerate(models)}


def load_task_model(source: ModelSource) -> TextClassifier:
    """Load a classifier whose head reads one vector of the text."""
    model = source.load()
    assert isinstance(model, TextClassifier)
    text_head_of(model.model)  # refuses other heads
    return model
