"""A whole sweep: subspaces fitted on both models, both models run, Table 7."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wordbias.contextual.adapters import Adapter
from wordbias.contextual.families import layer_count
from wordbias.contextual.next_sentence import NextSentence
from wordbias.contextual.stereoset.gsss import Gsss
from wordbias.contextual.stereoset.settings import Settings
from wordbias.contextual.sweep.measuring import (
    entry,
    inference_rows,
    models_of,
    softmax,
    stereoset_rows,
    told,
)
from wordbias.contextual.sweep.plan import Plan
from wordbias.contextual.sweep.runner import Float32, Source, outputs
from wordbias.contextual.sweep.texts import Texts
from wordbias.contextual.table7 import Entry
from wordbias.contextual.text_pairs import TextPairs
from wordbias.contextual.viability import Viability
from wordbias.nli.hugging_face import Classifier, as_written
from wordbias.nli.test_sets import TestSet
from wordbias.pretrained import evaluating
from wordbias.results import Row
from wordbias.workers import Workers

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
        texts = Texts.of(self.judge, pairs, truncate=truncate)
        with evaluating(self.judge.model):
            found = outputs(self.source, self.judge, plan, texts, file=self.file, workers=workers)
        return list(plan.names), found


def sweep(
    following: Part,
    inferring: Part,
    versions: Mapping[str, Gsss],
    test: TestSet,
    snli: TextPairs,
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
