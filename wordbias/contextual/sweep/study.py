"""A whole sweep: subspaces fitted on both models, both models run, Table 7."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wordbias.contextual.adapters import Adapter
from wordbias.contextual.families import layer_count
from wordbias.contextual.next_sentence import NextSentence
from wordbias.contextual.stereoset.gsss import Gsss
from wordbias.contextual.sweep.measuring import (
    How,
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
from wordbias.nli.hugging_face import Classifier, as_written
from wordbias.nli.test_sets import TestSet
from wordbias.pretrained import evaluating
from wordbias.results import Row
from wordbias.workers import Workers

Judge = NextSentence | Classifier


@dataclass(frozen=True, eq=False)
class Data:
    """What both models read.

    Attributes
    ----------
    versions
        Enhanced StereoSet by version of its swaps; the first is that of the table.
    test
        The occupations' pairs.
    snli
        Labelled pairs.
    """

    versions: dict[str, Gsss]
    test: TestSet
    snli: TextPairs


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


@dataclass(frozen=True, eq=False)
class Swept:
    """Table 7.

    Attributes
    ----------
    entries
        One a model, in its order.
    rows
        The same with intervals, and what else was measured.
    """

    entries: list[Entry]
    rows: list[Row]


def sweep(
    following: Part, inferring: Part, data: Data, how: How, workers: Workers | None = None
) -> Swept:
    """Measure every setting on both models.

    Parameters
    ----------
    following, inferring
        The next-sentence model and the NLI model. Their files are left: who has stored the result
        removes them.

    Raises
    ------
    WordbiasError
        If a model cannot be run on its data.
    """
    workers = workers or Workers()
    names, logits = following.run(_triples(data), workers, truncate=False)
    assert isinstance(following.judge, NextSentence)
    assert isinstance(inferring.judge, Classifier)
    subject = Path(following.judge.name).name
    found = stereoset_rows(data.versions, logits, following.judge.place, subject, names, how)
    names, logits = inferring.run(_questions(data), workers, truncate=True)
    p = softmax(logits[..., list(inferring.judge.places)])
    right = p[len(data.test) :].argmax(-1) == data.snli.labels[:, None]
    about = Path(inferring.judge.name).name
    more = inference_rows(data.test, p[: len(data.test)], right, about, names, how)
    rows = {name: told(name, [*found[name], *more[name]]) for name in names}
    version = next(iter(data.versions))
    entries = [entry(name, of, how.parity, version) for name, of in rows.items()]
    return Swept(entries, [row for of in rows.values() for row in of])


def _triples(data: Data) -> list[tuple[str, str]]:
    return [
        (pair.context, pair.following)
        for gsss in data.versions.values()
        for triple in gsss.triples
        for pair in triple.pairs()
    ]


def _questions(data: Data) -> list[tuple[str, str]]:
    asked = [(as_written(first), as_written(second)) for first, second in data.test]
    return [*asked, *((first, second) for first, second in data.snli.pairs)]


def facts(judge: Judge, adapter: Adapter) -> dict[str, Any]:
    """Return what a report says of a model and of what was fitted on it."""
    about: dict[str, Any] = {"path": judge.name, **adapter.fingerprint.to_dict()}
    return {**about, "device": judge.device, "fitting": dict(adapter.facts)}
