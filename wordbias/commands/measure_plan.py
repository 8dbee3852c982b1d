"""What `wordbias measure` was asked for: what is opened, and which measures of what are taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import click

from wordbias.commands.inputs import Reading
from wordbias.commands.measure_inputs import Subjects
from wordbias.commands.options import given_on_the_command_line, note, option_of
from wordbias.measures.apart import panel_rows
from wordbias.measures.means import leaning_words, word_rows
from wordbias.measures.panel import Panel
from wordbias.measures.sembias import SemBias
from wordbias.measures.table import FAMILIES
from wordbias.methods.diagnosis import fit_cautions
from wordbias.resources import located
from wordbias.results import Row
from wordbias.wordlists import Attribute, resolve, wordlist
from wordbias.workers import Workers


@dataclass(frozen=True)
class Asked:
    """What was asked for."""

    embeddings: tuple[str, ...]
    only: list[str] | None
    original: str | None
    recipe: str
    sembias_file: str | None
    words: list[str] | None
    extremes: int | None
    dims: int
    center: bool
    as_published: bool
    chance: bool
    isolated_zero: bool
    attribute_file: str | None
    vocab_file: str | None
    strict_vocab: bool
    skip_bad: bool
    allow_pickle: bool
    cache: bool
    jobs: int | None
    backend: str
    seed: int

    def check(self) -> None:
        """Refuse options that would do nothing with the measures that are asked for."""
        single = self.words is not None or self.extremes is not None
        families = set(self.families(instead=single))
        along = families & {"clustering", "recoverability", "sembias", "gipe"}
        subspace = "midb" in families or single or (along and self.recipe == "names")
        uses = {
            "recipe": (bool(along) or self.extremes is not None, "clustering, recoverability, "
                       "sembias and gipe"),
            "isolated_zero": ("gipe" in families, "gipe"),
            "sembias_file": ("sembias" in families, "sembias"),
            "dims": (bool(subspace), "midb, --words and --direction names"),
            "center": (bool(subspace), "midb, --words and --direction names"),
        }  # fmt: skip
        for name, (used, by) in uses.items():
            if given_on_the_command_line(name) and not used:
                asked = ", ".join(sorted(families)) or "single words"
                raise click.UsageError(
                    f"{option_of(name)} is for {by}, and only {asked} is asked for"
                )

    def families(self, *, instead: bool) -> Sequence[str]:
        """Return the measures asked for; by default all, or none where single words are."""
        return self.only if self.only is not None else () if instead else FAMILIES

    def subjects(self, quiet: bool) -> Subjects:
        """Open the embeddings."""
        reading = Reading(self.cache, self.skip_bad, self.allow_pickle)
        return Subjects.open(self.embeddings or (None,), self.original, reading, quiet=quiet)

    def given(self) -> Sequence[str] | None:
        """Read the words to average over, if a file is named."""
        return wordlist(self.vocab_file) if self.vocab_file else None

    def panels(
        self, subjects: Subjects, attribute: Attribute, given: Sequence[str] | None
    ) -> list[Panel]:
        """Make the embeddings ready to be measured."""
        return subjects.panels(
            attribute,
            given,
            strict=self.strict_vocab,
            recipe=self.recipe,
            dims=self.dims,
            center=self.center or self.as_published,
            by_projection=self.as_published,
            seed=self.seed,
        )

    def word_rows(self, panel: Panel, quiet: bool) -> list[Row]:
        """Measure the single words that are named, and those that lean most."""
        chosen: list[str] = []
        if self.words is not None:
            found = resolve(self.words, panel.embedding, f"{panel.embedding.name}: --words")
            chosen += found.at_least(1, "give words it has").found
            if found.missing:
                note(f"{panel.embedding.name} has not: {', '.join(found.missing)}", quiet)
        if self.extremes is not None:
            chosen += leaning_words(panel, self.extremes)
        return word_rows(panel, list(dict.fromkeys(chosen)))

    def notes(self, panels: Sequence[Panel]) -> list[str]:
        """Say of each subspace that MIDB is measured along what a reader must know."""
        asked = self.words or self.extremes or self.only is None or "midb" in self.only
        said = [
            (panel.embedding.name, note)
            for panel in (panels if asked else ())
            for note in fit_cautions(
                panel.embedding,
                panel.attribute,
                dims=panel.dims,
                center=panel.center,
                seed=panel.seed,
            )
        ]
        return [f"{name}: {text}" if len(panels) > 1 else text for name, text in said]

    def rows(self, panels: Sequence[Panel], *, instead: bool) -> list[Row]:
        """Take the measures asked for."""
        return panel_rows(
            panels,
            self.families(instead=instead),
            sembias=SemBias.load(located(self.sembias_file)) if self.sembias_file else None,
            chance=self.chance,
            isolated=0.0 if self.isolated_zero or self.as_published else 1.0,
            workers=Workers(self.jobs, self.backend),
        )
