"""What `wordbias mab-study` was asked for, and the study that it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordbias.commands.training_options import BFLOAT16
from wordbias.embedding import Embedding
from wordbias.formats.atomic import check_writable
from wordbias.formats.folders import check_growing
from wordbias.functions.inputs import Reading, Subject, open_subject
from wordbias.measures.sembias import SemBias
from wordbias.measures.table import FAMILIES
from wordbias.nli.pairs import load_pairs
from wordbias.nli.recipes import RECIPES
from wordbias.optional import need
from wordbias.resources import located
from wordbias.results import Row
from wordbias.word_tasks import find_sets
from wordbias.wordlists import Attribute
from wordbias.workers import Workers

if TYPE_CHECKING:
    from wordbias.nli.study import Plan

STORED = "study.json"


@dataclass(frozen=True)
class Asked:
    """What was asked for."""

    embeddings: tuple[str, ...]
    train_file: str
    dev_file: str
    test_file: str | None
    output: str
    seeds: list[int]
    recipe_name: str
    epochs: int | None
    permute_weights: bool
    center: bool
    as_published: bool
    only: list[str] | None
    attribute_file: str | None
    sembias_file: str | None
    sets: tuple[str, ...]
    device: str | None
    precision: str
    jobs: int | None
    backend: str
    skip_bad: bool
    allow_pickle: bool
    cache: bool

    def check(self) -> None:
        """Refuse early what would fail after the work."""
        folder = Path(self.output)
        check_growing(folder)
        if folder.is_dir():
            check_writable(folder / STORED)

    def subjects(self, quiet: bool) -> list[Subject]:
        """Open the embeddings."""
        reading = Reading(self.cache, self.skip_bad, self.allow_pickle)
        return [
            open_subject(name, reading, head=0, wanted=(), output=None, quiet=quiet)
            for name in self.embeddings
        ]

    def plan(self, embeddings: Sequence[Embedding]) -> Plan:
        """Read the pairs and the test sets; say what is studied."""
        study = self._room()
        plan: Plan = study.Plan(
            self._studied(study, embeddings),
            {
                "train": load_pairs(located(self.train_file)),
                "dev": load_pairs(located(self.dev_file)),
            },
            Path(self.output),
            RECIPES[self.recipe_name].with_changes(epochs=self.epochs),
            self.seeds,
            self.precision == BFLOAT16,
            load_pairs(located(self.test_file)) if self.test_file else None,
            self.only or FAMILIES,
            SemBias.load(located(self.sembias_file)) if self.sembias_file else None,
            find_sets(*map(located, self.sets)) if self.sets else (),
            Attribute.load(self.attribute_file),
            center=self.center or self.as_published,
            as_published=self.as_published,
        )
        return plan

    def _studied(self, study: Any, embeddings: Sequence[Embedding]) -> Sequence[Embedding]:
        """Add the permuted weights, if they are asked for."""
        if not self.permute_weights:
            return embeddings
        made: Sequence[Embedding] = study.with_permuted_weights(
            embeddings, center=self.center or self.as_published
        )
        return made

    def skipped(self, plan: Plan) -> list[str]:
        """Say which marked sets lack words of which embedding."""
        rows = need("wordbias.nli.study_rows", extra="torch", purpose="The study")
        found: list[str] = rows.skipped(plan)
        return found

    def run(self, plan: Plan) -> list[Row]:
        """Train, score and measure what is not kept."""
        workers = Workers(self.jobs, self.backend)
        rows: list[Row] = self._room().run(plan, device=self.device, workers=workers)
        return rows

    def _room(self) -> Any:
        return need("wordbias.nli.study", extra="torch", purpose="The study")
