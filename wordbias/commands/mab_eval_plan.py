"""What `wordbias mab-eval` was asked for: which sets, of whose answers, and how tested."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import click

from wordbias.commands.mab_judged import Judged, from_file, of_hugging_face, ours
from wordbias.commands.mab_views import ALL, chosen_sets
from wordbias.functions.inputs import Reading
from wordbias.nli.evaluation import Settings
from wordbias.nli.fillers import marked_sets
from wordbias.nli.test_sets import TestSet, build
from wordbias.resources import located
from wordbias.wordlists import Attribute, Templates, other_than_gender


@dataclass(frozen=True)
class Asked:
    """What was asked for."""

    embedding: str | None
    model: str | None
    predictions: str | None
    hf: str | None
    labels: list[str] | None
    device: str | None
    name: str | None
    attribute_file: str | None
    lists: str | None
    as_published: bool
    words: bool
    draws: int
    strict: bool
    skip_bad: bool
    allow_pickle: bool
    cache: bool
    seed: int

    def check(self) -> None:
        """Refuse options that say two things."""
        ours_asked = bool(self.embedding or self.model)
        if ours_asked + bool(self.predictions) + bool(self.hf) > 1:
            raise click.UsageError("choose one of EMBEDDING with --model, --predictions and --hf")
        if (self.labels or self.device) and not self.hf:
            raise click.UsageError("--labels and --device are for --hf")

    @property
    def settings(self) -> Settings:
        """How the words are tested."""
        return Settings(self.draws, self.strict, self.seed)

    @cached_property
    def attribute(self) -> Attribute | None:
        """Whose groups the hypotheses are about; none for women and men, as published."""
        return other_than_gender(self.attribute_file)

    def tests(self) -> list[TestSet]:
        """Build the sets."""
        lists = Templates.load(located(self.lists))
        return [
            build(one, lists, attribute=self.attribute, as_published=self.as_published)
            for one in chosen_sets(self.name, self.attribute)
        ]

    def judged(self, quiet: bool) -> Judged:
        """Get the answers."""
        tests = self.tests()
        if self.predictions is not None:
            return from_file(self.predictions, tests)
        if self.hf is not None:
            return of_hugging_face(self.hf, self.labels, self.device, tests)
        reading = Reading(self.cache, self.skip_bad, self.allow_pickle)
        return ours(self.embedding, self.model, tests, reading, quiet)

    def closing(self) -> list[str]:
        """Say which other sets there are."""
        asked = chosen_sets(self.name, self.attribute)
        others = [one for one in marked_sets(self.attribute) if one not in asked]
        return [f"--set {ALL} measures {' and '.join(others)} too."] if others else []
