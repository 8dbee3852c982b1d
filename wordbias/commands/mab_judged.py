"""Whose answers to the marked-attribute sets are judged: ours, a file's, or Hugging Face's."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.data import nli_sample_path
from wordbias.embedding import Embedding
from wordbias.functions.inputs import Reading, open_subject
from wordbias.nli.evaluation import Settings, mab_rows, word_rows
from wordbias.nli.files import Model
from wordbias.nli.fillers import GENDERS
from wordbias.nli.hugging_face import Classifier
from wordbias.nli.known_words import known_part
from wordbias.nli.predictions import Predictions
from wordbias.nli.scoring import foreign, lacking, score_set
from wordbias.nli.test_sets import TestSet
from wordbias.rendering import how_many
from wordbias.results import Row


@dataclass(frozen=True)
class Judged:
    """What is judged, and its (N, E, C) for each pair of each set."""

    subject: str
    described: str
    inputs: Mapping[str, Mapping[str, Any]]
    tests: Sequence[TestSet]
    probabilities: Sequence[NDArray[np.float32]]
    notes: Sequence[str] = ()

    def rows(self, settings: Settings) -> list[Row]:
        """Measure marked attribute bias; see `mab_rows`."""
        return [
            row for test, p in self._scored() for row in mab_rows(test, p, self.subject, settings)
        ]

    def word_rows(self) -> list[Row]:
        """Measure every word by itself."""
        return [row for test, p in self._scored() for row in word_rows(test, p, self.subject)]

    def _scored(self) -> Iterator[tuple[TestSet, NDArray[np.float32]]]:
        return zip(self.tests, self.probabilities, strict=True)


def ours(
    name: str | None, file: str | None, tests: Sequence[TestSet], reading: Reading, quiet: bool
) -> Judged:
    """Score the sets with a model that reads vectors; without names, those that come along."""
    model = Model.load(file or nli_sample_path())
    subject = open_subject(name, reading, head=0, wanted=(), output=None, quiet=quiet)
    embedding = subject.embedding
    asked, left_out = _known(model, embedding, tests)
    scored = [score_set(model, embedding, test) for test in asked]
    about = {
        "path": file or str(nli_sample_path()),
        "sha256": hashlib.sha256(Path(file or nli_sample_path()).read_bytes()).hexdigest(),
        "parameters": model.parameters,
        "about": dict(model.about),
    }
    return Judged(
        embedding.name,
        f"decomposable attention ({about['path']}) on {subject.described()}",
        {embedding.name: subject.info.to_dict(), "model": about},
        asked,
        [one.probabilities for one in scored],
        [*left_out, *foreign(model, embedding), *lacking(scored, embedding)],
    )


def _known(
    model: Model, embedding: Embedding, tests: Sequence[TestSet]
) -> tuple[list[TestSet], list[str]]:
    """Leave out words that vectors lack, but not of the sets that are published; say which."""
    asked = [
        known_part(embedding, test, lower=model.lower) if test.groups != GENDERS else test
        for test in tests
    ]
    left_out = list(
        dict.fromkeys(
            filler.word
            for whole, part in zip(tests, asked, strict=True)
            for filler in whole.hypotheses
            if filler not in part.hypotheses
        )
    )
    shown = ", ".join(left_out)
    said = f"{embedding.name} lacks {shown}: left out of the hypotheses"
    return asked, [said] * bool(left_out)


def from_file(path: str, tests: Sequence[TestSet]) -> Judged:
    """Read the predictions of another system."""
    found = Predictions.load(path)
    probabilities = [found.of(test) for test in tests]
    beside = found.beside(tests)
    return Judged(
        Path(path).stem,
        f"the predictions in {path}",
        {"predictions": {"path": path, "sha256": found.sha256, "pairs": len(found)}},
        tests,
        probabilities,
        [f"{path}: {how_many(beside, 'pair')} of no chosen set (--set) left out"] * bool(beside),
    )


def of_hugging_face(
    name: str, labels: Sequence[str] | None, device: str | None, tests: Sequence[TestSet]
) -> Judged:
    """Score the sets with a model of transformers."""
    classifier = Classifier.load(name, labels=labels, device=device)
    about = {"path": name, "labels": classifier.labels(), "device": classifier.device}
    return Judged(
        Path(name).name,
        f"the Hugging Face model {name}",
        {"model": about},
        tests,
        [classifier.score_set(test) for test in tests],
    )
