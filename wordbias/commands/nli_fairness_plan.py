"""What `wordbias nli-fairness` was asked for, and the measuring of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from wordbias.commands.encoder_options import check_adapter
from wordbias.commands.nli_models import HuggingFace, Judged, Ours
from wordbias.contextual.nli_fairness import fairness_rows, occupation_records
from wordbias.contextual.viability import Viability, snli_row
from wordbias.formats.atomic import check_writable, refuse_same
from wordbias.functions.inputs import Reading
from wordbias.nli.test_sets import TestSet, build
from wordbias.resources import located
from wordbias.results import Row
from wordbias.wordlists import Templates, other_than_gender


@dataclass(frozen=True)
class Asked:
    """What was asked for."""

    model: str | None
    snli_file: str | None
    embedding: str | None
    labels: list[str] | None
    device: str | None
    adapter: str | None
    settings_named: tuple[str, ...]
    force: bool
    parity: Any
    base_snli: float | None
    drop: float
    relative: bool
    attribute_file: str | None
    lists: str | None
    as_published: bool
    output: str | None
    skip_bad: bool
    allow_pickle: bool
    cache: bool
    seed: int

    @property
    def is_ours(self) -> bool:
        """Whether the model is decomposable attention."""
        return self.model is None or Path(self.model).is_file()

    def check(self) -> None:
        """Refuse early what would fail after the work."""
        check_adapter(self.adapter, self.settings_named)
        if self.is_ours and (self.labels or self.device or self.adapter):
            raise click.UsageError("--labels, --device and --adapter are for a Hugging Face model")
        if self.embedding and (not self.is_ours or self.model is None):
            raise click.UsageError("--embedding is for a model file that wordbias nli-train wrote")
        if self.output is not None:
            check_writable(self.output)
            read = {"MODEL": self.model, "--embedding": self.embedding}
            read |= {"--snli": self.snli_file, "--adapter": self.adapter}
            read |= {"--attribute": self.attribute_file}
            refuse_same({"-o": self.output}, read)

    def test_set(self) -> TestSet:
        """Return the occupations' pairs."""
        return build(
            "parity",
            Templates.load(located(self.lists)),
            attribute=other_than_gender(self.attribute_file),
            as_published=self.as_published,
        )

    def load(self, quiet: bool) -> Judged:
        """Load the model."""
        if self.is_ours:
            reading = Reading(self.cache, self.skip_bad, self.allow_pickle)
            return Ours.load(self.model, self.embedding, reading, quiet, self.snli_file)
        return HuggingFace.load(str(self.model), self.labels, self.device, self.snli_file)

    def measured(self, judged: Judged, test: TestSet) -> tuple[list[Row], list[dict[str, Any]]]:
        """Return rows, and records of every occupation, of the model and of all settings."""
        rows: list[Row] = []
        records: list[dict[str, Any]] = []
        base = self.base_snli
        for setting, found, right in _scored(self, judged, test):
            subject, parity = judged.subject, self.parity
            rows += fairness_rows(
                test, found, subject, parity=parity, setting=setting, seed=self.seed
            )
            records += [{"setting": setting, **one} for one in occupation_records(test, found)]
            if right is not None:
                kept = Viability(base, self.drop, self.relative)
                rows.append(snli_row(*right, subject, setting=setting, viability=kept))
                base = right[0] if base is None else base
        return rows, records


def _scored(
    asked: Asked, judged: Judged, test: TestSet
) -> Iterator[tuple[str, Any, tuple[float, int] | None]]:
    """Yield for each setting its name, probabilities, and accuracy on how many SNLI pairs."""
    for setting, context in judged.runs(asked.adapter, asked.settings_named, asked.force):
        with context:
            found = judged.score(test)
            right = judged.snli_accuracy()
        yield setting, found, right
