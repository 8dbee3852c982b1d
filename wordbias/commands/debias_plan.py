"""What `wordbias debias` was asked for: what is read, fitted, measured and refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click

from wordbias.commands.method_options import FILES, as_option, given_settings
from wordbias.embedding import Embedding
from wordbias.formats.atomic import check_writable, refuse_same
from wordbias.functions.inputs import Reading, Subject, open_subject
from wordbias.measures.apart import panel_rows
from wordbias.measures.panel import make_panels
from wordbias.measures.sembias import SemBias
from wordbias.measures.table import FAMILIES
from wordbias.methods.fitted import Chain
from wordbias.methods.methods import (
    fit_chain,
    head_of,
    parse_methods,
    refuse_unused,
    wanted_by,
)
from wordbias.methods.origin import Origin
from wordbias.methods.storage import save_chain
from wordbias.resources import located
from wordbias.results import Row
from wordbias.wordlists import Attribute, WordGroups, load_attribute, wordlist
from wordbias.wordlists.attribute import more_than_two

Groups = Attribute | WordGroups


@dataclass(frozen=True)
class Asked:
    """What was asked for; `chosen` are the settings given to the methods."""

    embedding: str | None
    output: str | None
    save_transform: str | None
    measure: bool
    only: list[str] | None
    sembias_file: str | None
    attribute_file: str | None
    vocab_file: str | None
    strict_vocab: bool
    chance: bool
    skip_bad: bool
    allow_pickle: bool
    cache: bool
    methods: str
    chosen: dict[str, Any]
    seed: int

    @classmethod
    def of(cls, methods: str, given: dict[str, Any]) -> Asked:
        """Tell the command's own options from settings of methods."""
        own = {key: given.pop(key) for key in cls.__dataclass_fields__ if key in given}
        names = parse_methods(methods)
        chosen = given_settings(names, {**given, "seed": own["seed"]})
        refuse_unused(names, chosen, as_option)
        return cls(**own, methods=methods, chosen=chosen)

    @property
    def names(self) -> list[str]:
        """The methods' names, in order."""
        return parse_methods(self.methods)

    def check(self) -> None:
        """Refuse early what would do nothing, or fail after the work."""
        if self.attribute_file and "sets" in self.chosen:
            raise click.UsageError("multi-hard takes --sets or the pairs of --attribute, not both")
        of_measuring = {
            "--only": self.only,
            "--sembias": self.sembias_file,
            "--vocab": self.vocab_file,
            "--strict-vocab": self.strict_vocab,
            "--no-chance": not self.chance,
        }
        for name, value in of_measuring.items():
            if value and not self.measure:
                raise click.UsageError(f"{name} is for --measure, which is not given")
        self._refuse_clashes()

    def _refuse_clashes(self) -> None:
        """Refuse outputs over what is read; only the embedding may be replaced by its own."""
        read = {as_option(key): self.chosen.get(key) for key in FILES}
        read |= {"--attribute": self.attribute_file, "--sembias": self.sembias_file}
        read |= {"--vocab": self.vocab_file}
        refuse_same({"-o": self.output}, read)
        read |= {"EMBEDDING": self.embedding, "-o": self.output}
        refuse_same({"--save-transform": self.save_transform}, read)
        if self.save_transform is not None:
            check_writable(self.save_transform)

    def attribute(self) -> Groups:
        """Read the groups; measures take two of them.

        Raises
        ------
        WordbiasError
            If there are more, and they are to be measured.
        """
        found = load_attribute(self.attribute_file)
        if self.measure and isinstance(found, WordGroups):
            raise more_than_two(found, str(self.attribute_file))
        return found

    def opened(self, attribute: Groups, quiet: bool) -> Subject:
        """Open the embedding, as much of it as is needed."""
        head = head_of(self.names)
        return open_subject(
            self.embedding,
            Reading(self.cache, self.skip_bad, self.allow_pickle),
            head=head or 0,
            wanted=wanted_by(self.names, attribute, self.chosen),
            output=self.output,
            quiet=quiet,
            whole=self.measure or head is None,
        )

    def fitted(self, before: Embedding, attribute: Groups) -> tuple[Chain, Embedding]:
        """Fit all methods in order; return them, and the embedding debiased."""
        return fit_chain(
            self.methods, before, attribute if self.attribute_file else None, self.chosen
        )

    def save(self, chain: Chain, subject: Subject, sha256: str) -> None:
        """Write what was fitted, if a file is named."""
        if self.save_transform is not None:
            origin = Origin.of(subject.embedding, subject.info.words, sha256)
            save_chain(self.save_transform, chain, origin)

    def measuring(self) -> Measuring | None:
        """Return what to measure; files are read now, not after the work."""
        if not self.measure:
            return None
        return Measuring(
            self.only or FAMILIES,
            SemBias.load(located(self.sembias_file)) if self.sembias_file else None,
            wordlist(self.vocab_file) if self.vocab_file else None,
            self.strict_vocab,
            self.chance,
            self.seed,
        )

    def closing(self) -> list[str]:
        """Say what else could be done."""
        lines = [] if self.measure else ["--measure takes the measures before and after."]
        if self.save_transform is not None:
            file = self.save_transform
            lines.append(f"Fitted: {file}; wordbias apply {file} FILE -o OUT.")
        return lines

    def about(self, attribute: Groups) -> list[Groups]:
        """Return the attribute, where it was of use."""
        unused = self.names == ["multi-hard"] and not self.attribute_file
        return [] if unused else [attribute]


@dataclass(frozen=True)
class Measuring:
    """What --measure is to take."""

    only: Sequence[str]
    sembias: SemBias | None
    given: Sequence[str] | None
    strict: bool
    chance: bool
    seed: int

    def rows(self, before: Embedding, after: Embedding, attribute: Groups) -> list[Row]:
        """Measure both, after against before."""
        if isinstance(attribute, WordGroups):
            raise more_than_two(attribute)
        panels = make_panels(
            [before, after], before, attribute, self.given, strict=self.strict, seed=self.seed
        )
        return panel_rows(panels, self.only, sembias=self.sembias, chance=self.chance)
