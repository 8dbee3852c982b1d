"""The NLI models a command judges: decomposable attention of ours, or one of Hugging Face."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from wordbias.contextual.text_pairs import TextPairs, load_text_pairs
from wordbias.data import nli_sample_path
from wordbias.embedding import Embedding
from wordbias.functions.inputs import Reading, open_subject
from wordbias.nli.files import Model
from wordbias.nli.hugging_face import Classifier
from wordbias.nli.pairs import Pairs, load_pairs
from wordbias.nli.scoring import accuracy, foreign, lacking, score_set
from wordbias.nli.test_sets import TestSet
from wordbias.optional import need
from wordbias.resources import located

Float32 = NDArray[np.float32]
_PURPOSE = "Measuring an encoder"

Run = tuple[str, AbstractContextManager[Any]]


class Judged(Protocol):
    """What is judged: its name, what a report says of it, and its predictions."""

    @property
    def subject(self) -> str:
        """What rows call it."""

    @property
    def described(self) -> str:
        """What a heading calls it."""

    inputs: dict[str, dict[str, Any]]
    notes: list[str]

    def runs(self, adapter: str | None, names: Sequence[str], force: bool) -> Iterator[Run]:
        """Yield each setting's name, and what to do while it is measured."""

    def score(self, test: TestSet) -> Float32:
        """Return (N, E, C) of each pair of a test set."""

    def snli_accuracy(self) -> tuple[float, int] | None:
        """Return the share of SNLI pairs that are right and their number, if there is a file."""


@dataclass
class Ours:
    """Decomposable attention on an embedding."""

    model: Model
    embedding: Embedding
    described: str
    inputs: dict[str, dict[str, Any]]
    snli: Pairs | None
    notes: list[str]

    @classmethod
    def load(
        cls, file: str | None, name: str | None, reading: Reading, quiet: bool, snli: str | None
    ) -> Ours:
        """Load what nli-train wrote, or the sample; and the embedding it was trained on."""
        path = file or str(nli_sample_path())
        model = Model.load(path)
        subject = open_subject(name, reading, head=0, wanted=(), output=None, quiet=quiet)
        embedding = subject.embedding
        inputs = {embedding.name: subject.info.to_dict(), "model": {"path": path}}
        pairs = None if snli is None else load_pairs(located(snli))
        if pairs is not None:
            inputs["snli"] = {"path": str(snli), "pairs": len(pairs), "sha256": pairs.sha256}
        described = f"decomposable attention ({path}) on {subject.described()}"
        return cls(model, embedding, described, inputs, pairs, foreign(model, embedding))

    @property
    def subject(self) -> str:
        """What rows call it."""
        return self.embedding.name

    def runs(self, adapter: str | None, names: Sequence[str], force: bool) -> Iterator[Run]:
        """Yield it as it is; adapters are for encoders."""
        yield "", nullcontext()

    def score(self, test: TestSet) -> Float32:
        """Return (N, E, C) of each pair of a test set."""
        scored = score_set(self.model, self.embedding, test)
        self.notes += lacking([scored], self.embedding)
        return scored.probabilities

    def snli_accuracy(self) -> tuple[float, int] | None:
        """Return the share of SNLI pairs that are right and their number."""
        if self.snli is None:
            return None
        return accuracy(self.model, self.embedding, self.snli), len(self.snli)


@dataclass
class HuggingFace:
    """A sequence-classification model with three labels."""

    classifier: Classifier
    inputs: dict[str, dict[str, Any]]
    snli: TextPairs | None
    notes: list[str] = field(default_factory=list)

    @classmethod
    def load(
        cls, name: str, labels: Sequence[str] | None, device: str | None, snli: str | None
    ) -> HuggingFace:
        """Load it; the SNLI file first, which is refused sooner."""
        pairs = None if snli is None else load_text_pairs(located(snli))
        one = Classifier.load(name, labels=labels, device=device)
        inputs = {"model": {"path": name, "labels": one.labels(), "device": one.device}}
        return cls(one, inputs | ({} if pairs is None else {"snli": pairs.to_dict()}), pairs)

    @property
    def subject(self) -> str:
        """What rows call it."""
        return Path(self.classifier.name).name

    @property
    def described(self) -> str:
        """What a heading calls it."""
        return f"the Hugging Face model {self.classifier.name}"

    def runs(self, adapter: str | None, names: Sequence[str], force: bool) -> Iterator[Run]:
        """Yield the model as it is, and with each setting of an adapter."""
        yield "", nullcontext()
        if adapter is not None:
            adapters = need(
                "wordbias.contextual.adapter_files", extra="contextual", purpose=_PURPOSE
            )
            applied = need(
                "wordbias.contextual.interventions", extra="contextual", purpose=_PURPOSE
            ).applied
            fitted = adapters.load_adapter(self.classifier.model, adapter, force=force)
            for name in dict.fromkeys(names):
                yield name, applied(self.classifier.model, fitted.interventions(name))

    def score(self, test: TestSet) -> Float32:
        """Return (N, E, C) of each pair of a test set."""
        return self.classifier.score_set(test)

    def snli_accuracy(self) -> tuple[float, int] | None:
        """Return the share of SNLI pairs that are right and their number."""
        if self.snli is None:
            return None
        return self.classifier.accuracy(self.snli.pairs, self.snli.labels), len(self.snli)
