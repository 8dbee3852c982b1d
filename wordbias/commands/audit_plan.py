"""What `wordbias audit` was asked for, and what is opened for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wordbias.data import nli_sample_path
from wordbias.embedding import Embedding
from wordbias.functions.inputs import Reading, Subject, open_subject
from wordbias.measures.panel import Panel, make_panels
from wordbias.measures.sembias import SemBias
from wordbias.nli.files import Model
from wordbias.pages.audit import Plan
from wordbias.resources import located
from wordbias.word_tasks import find_sets
from wordbias.wordlists import Attribute, wordlist


@dataclass(frozen=True)
class Asked:
    """What was asked for."""

    embeddings: tuple[str, ...]
    output: str | None
    skip: list[str] | None
    words: list[str] | None
    sets: tuple[str, ...]
    sembias_file: str | None
    model: str | None
    recipe: str
    dims: int
    center: bool
    as_published: bool
    chance: bool
    attribute_file: str | None
    vocab_file: str | None
    strict_vocab: bool
    skip_bad: bool
    allow_pickle: bool
    cache: bool
    seed: int

    @property
    def read(self) -> tuple[str | None, ...]:
        """All files that are read."""
        others = (self.sembias_file, self.model, self.attribute_file, self.vocab_file)
        return (*self.embeddings, *self.sets, *others)

    def plan(self) -> Plan:
        """Read what is needed beside the embeddings."""
        return Plan(
            tuple(self.skip or ()),
            SemBias.load(located(self.sembias_file)) if self.sembias_file else None,
            find_sets(*map(located, self.sets)) if self.sets else (),
            Model.load(self.model or nli_sample_path()),
            tuple(self.words or ()),
            isolated=0.0 if self.as_published else 1.0,
            chance=self.chance,
        )

    def subjects(self, quiet: bool) -> list[Subject]:
        """Open the embeddings, each once; without any the sample."""
        reading = Reading(self.cache, self.skip_bad, self.allow_pickle)
        return [
            open_subject(name, reading, head=0, wanted=(), output=None, quiet=quiet)
            for name in dict.fromkeys(self.embeddings or (None,))
        ]

    def panels(self, subjects: Sequence[Subject]) -> list[Panel]:
        """Say along what, and over which words, each embedding is measured."""
        return make_panels(
            _named(subjects),
            None,
            Attribute.load(self.attribute_file),
            wordlist(self.vocab_file) if self.vocab_file else None,
            strict=self.strict_vocab,
            recipe=self.recipe,
            seed=self.seed,
            dims=self.dims,
            center=self.center or self.as_published,
            by_projection=self.as_published,
        )


def _named(subjects: Sequence[Subject]) -> list[Embedding]:
    """Name each embedding as results do, by its path where two have one name."""
    names = [subject.embedding.name for subject in subjects]
    return [
        one.embedding
        if names.count(one.embedding.name) == 1
        else one.embedding.with_vectors(one.embedding.vectors, one.info.path)
        for one in subjects
    ]
