"""NLI models and predictions of other systems, and labelled pairs, as arguments of functions."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from wordbias.arguments import path_named
from wordbias.columns import TableLike, is_table
from wordbias.data import nli_sample_path
from wordbias.embedding import Embedding, EmbeddingLike
from wordbias.errors import WordbiasError
from wordbias.formats.source import sha256_of
from wordbias.functions.inputs import ReadOptions, Subject, names_of, open_subject, path_of
from wordbias.models.model_like import ModelLike
from wordbias.nli.files import Model
from wordbias.nli.hugging_face import Classifier
from wordbias.nli.pairs import IN_MEMORY, PairsLike
from wordbias.nli.predictions import Predictions, split_by_set
from wordbias.nli.scoring import notes_on_missing_words, notes_on_vectors, score_set
from wordbias.nli.test_sets import GENDERS, TestSet, with_known_words
from wordbias.rendering import how_many
from wordbias.resources import located

File = str | os.PathLike[str]


@dataclass(frozen=True)
class NLIModel:
    """Decomposable attention from the file `path`, and the embedding of its words."""

    model: Model
    path: str
    subject: Subject

    @property
    def embedding(self) -> Embedding:
        """The embedding of its words."""
        return self.subject.embedding

    def description(self) -> str:
        """Name the model, the embedding and its size."""
        return f"decomposable attention ({self.path}) on {self.subject.description()}"


def open_nli_model(
    model: File | Model | None, embedding: EmbeddingLike | None, read_options: ReadOptions
) -> NLIModel:
    """Load a model of nli-train and its embedding, by default those of the sample."""
    if isinstance(model, Model):
        return NLIModel(model, "in memory", open_subject(embedding, read_options))
    path = located(path_named("MODEL", nli_sample_path() if model is None else model))
    try:
        loaded = Model.load(path)
    except WordbiasError as error:
        vectors = "" if path.endswith(_SUFFIX) else "; vectors are given by --embedding"
        raise WordbiasError(f"{error}{vectors}") from None
    return NLIModel(loaded, path, open_subject(embedding, read_options))


T = TypeVar("T")


def read_named(read: Callable[[PairsLike], T], option: str, pairs: PairsLike) -> T:
    """Read labelled pairs that may be fetched; name those in memory by their argument."""
    path = path_of(pairs)
    try:
        return read(pairs if path is None else located(path))
    except WordbiasError as error:
        if path is not None:
            raise
        what = str(error).removeprefix(f"{IN_MEMORY}: ")
        raise WordbiasError(f"{option}: {what}") from None


_SUFFIX = ".safetensors"


def is_of_wordbias(model: ModelLike | Model | None) -> TypeGuard[File | Model | None]:
    """Return whether a model is one of nli-train: an object, a file, or by default the sample's."""
    # A folder and a name on the hub are models of Hugging Face.
    path = path_of(model)
    known = model is None or isinstance(model, Model)
    return known or (path is not None and (os.path.isfile(path) or path.endswith(_SUFFIX)))


# Predictions for test sets


@dataclass(frozen=True)
class Predicted:
    """Predictions of one system: (N, E, C) for each pair of each set."""

    subject: str
    described: str
    inputs: Mapping[str, Mapping[str, Any]]
    tests: Sequence[TestSet]
    probabilities: Sequence[NDArray[np.float32]]
    notes: Sequence[str] = ()
    system: NLIModel | Classifier | None = None  # what predicted them; None if they were given


def predict_with_own(
    given: File | Model | None,
    embedding: EmbeddingLike | None,
    read_options: ReadOptions,
    tests: Sequence[TestSet],
) -> Predicted:
    """Predict the sets with decomposable attention on an embedding."""
    ours = open_nli_model(given, embedding, read_options)
    model, read = ours.model, ours.embedding
    reduced, left_out = _without_missing_words(model, read, tests)
    scored = [score_set(model, read, test) for test in reduced]
    about = {
        "path": ours.path,
        "sha256": "" if isinstance(given, Model) else sha256_of(ours.path),
        "parameters": model.parameters,
        "about": dict(model.about),
    }
    return Predicted(
        read.name,
        ours.description(),
        {read.name: ours.subject.info.to_dict(), "model": about},
        reduced,
        [score.probabilities for score in scored],
        [*left_out, *notes_on_vectors(model, read), *notes_on_missing_words(scored, read)],
        ours,
    )


def _without_missing_words(
    model: Model, embedding: Embedding, tests: Sequence[TestSet]
) -> tuple[list[TestSet], list[str]]:
    """Leave out words that the vectors lack, except from the published sets; note which."""
    reduced = [
        with_known_words(embedding, test, lower=model.lower) if test.groups != GENDERS else test
        for test in tests
    ]
    left_out = dict.fromkeys(
        filler.word
        for whole, part in zip(tests, reduced, strict=True)
        for filler in whole.hypotheses
        if filler not in part.hypotheses
    )
    note = f"{embedding.name} lacks {', '.join(left_out)}: left out of the hypotheses"
    return reduced, [note] if left_out else []


def predict_with_hugging_face(
    given: ModelLike,
    labels: str | Sequence[str] | None,
    device: str | None,
    tests: Sequence[TestSet],
) -> Predicted:
    """Predict the sets with a Hugging Face model."""
    classifier = Classifier.load(given, labels=names_of(labels) or None, device=device)
    name = classifier.name
    about = {"path": name, "labels": classifier.labels(), "device": classifier.device}
    return Predicted(
        Path(name).name,
        f"the Hugging Face model {name}",
        {"model": about},
        tests,
        [classifier.score_set(test) for test in tests],
        system=classifier,
    )


def given_predictions(
    given: TableLike | NDArray[np.floating], tests: Sequence[TestSet]
) -> Predicted:
    """Return the given predictions of another system."""
    subject, path, described = "predictions", "in memory", "the predictions given"
    notes: list[str] = []
    if is_table(given):
        if isinstance(given, (str, os.PathLike)):
            subject, path = Path(given).stem, os.fspath(given)
            described = f"the predictions in {path}"
        read = Predictions.load(given)
        sha256, pairs = read.sha256, len(read)
        probabilities = [read.for_set(test) for test in tests]
        if others := read.count_others(tests):
            notes = [f"{read.name}: {how_many(others, 'pair')} of no chosen set (--set) left out"]
    else:
        sha256, pairs = "", sum(map(len, tests))
        probabilities = split_by_set(cast("NDArray[np.floating]", given), tests)
    about = {"path": path, "sha256": sha256, "pairs": pairs}
    return Predicted(subject, described, {"predictions": about}, tests, probabilities, notes)
