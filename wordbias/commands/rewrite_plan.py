"""What `wordbias rewrite` does with a file: methods made of options, one after another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wordbias.commands.rewrite_options import (
    BALANCING,
    needed_columns,
    refuse_moved_spans,
    scrubber,
    swapper,
)
from wordbias.errors import WordbiasError
from wordbias.outcomes.anonymising import PERSONS, Anonymiser, GivenSpans, SpacyFinder
from wordbias.outcomes.balancing import Balanced, balance
from wordbias.outcomes.extra_scrubbing import ExtraScrubber, find_words
from wordbias.outcomes.iterative_scrubbing import Found, Settings
from wordbias.outcomes.records import Record, RecordFile
from wordbias.outcomes.rewriting import AugmentStage, Stage, Tally, TextMethod, TextStage, rewrite

METHODS = {
    "scrub": "Mask gendered words, and on request names (De-Arteaga et al. 2019).",
    "extra-scrub": "Mask the words that still say the group, round by round (Orgad et al. 2022).",
    "subsample": "In every class as many of each group as of the smallest.",
    "oversample": "In every class as many of each group as of the largest.",
    "swap": "She becomes he, his becomes her or hers (Zhao et al. 2018).",
    "anonymise": "Ann Hayes becomes ANON_0 (Zhao et al. 2018).",
}


def parse_methods(methods: str) -> list[str]:
    """Split ``a,b``, and see that the order makes sense.

    Raises
    ------
    WordbiasError
        If a method is not known, comes twice, or comes too late.
    """
    names = [name.strip() for name in methods.split(",") if name.strip()]
    for name in names or [methods]:
        if name not in METHODS:
            raise WordbiasError(f"method {name!r}: expected some of {', '.join(METHODS)}")
        if names.count(name) > 1 or len(set(names) & set(BALANCING)) > 1:
            raise WordbiasError(f"{methods}: one method of a kind is enough; leave one out")
    for name in BALANCING:
        if name in names[1:]:
            raise WordbiasError(f"{methods}: {name} decides by the rows as they are; put it first")
    return names


@dataclass(frozen=True)
class Done:
    """What became of a file.

    Attributes
    ----------
    read, written
        Records.
    tallies
        What each method did, in order.
    balanced
        If the file was balanced.
    extra
        What extra scrubbing found, by the value it looked within.
    file
        The file, which knows how many records could not be used.
    """

    read: int
    written: int
    tallies: Sequence[Tally]
    balanced: Balanced | None
    extra: Mapping[str, Found]
    file: RecordFile


@dataclass
class Plan:
    """Methods to apply to a file, in order."""

    file: RecordFile
    options: Mapping[str, Any]
    stages: list[Stage] = field(default_factory=list)
    tallies: list[Tally] = field(default_factory=list)
    balanced: Balanced | None = None
    extra: dict[str, Found] = field(default_factory=dict)

    @classmethod
    def open(cls, methods: Sequence[str], data: str, options: Mapping[str, Any]) -> Plan:
        """Open the file, and make the methods ready."""
        refuse_moved_spans(methods, options["spans"])
        file = RecordFile.open(
            data,
            text=options["text_column"],
            columns=needed_columns(options),
            skip_bad=options["skip_bad"],
        )
        plan = cls(file, options)
        for method in methods:
            if method in BALANCING:
                plan._balance(method)
            else:
                plan._add(method)
        return plan

    def run(self, output: str) -> Done:
        """Write the result."""
        read = 0

        def counted(records: Iterator[Record]) -> Iterator[Record]:
            nonlocal read
            for record in records:
                read += 1
                yield record

        seed = self.options["seed"] if self.options["shuffle"] else None
        written = rewrite(self.file, output, [counted, *self.stages], shuffle=seed)
        return Done(read, written, self.tallies, self.balanced, self.extra, self.file)

    def _balance(self, method: str) -> None:
        o = self.options
        self.balanced = balance(
            self.file,
            "subsample" if method == "subsample" else "oversample",
            o["label"],
            o["group"],
            where=o["where"],
            seed=o["seed"],
        )
        self.stages.append(self.balanced)
        self.tallies.append(self.balanced.tally)

    def _add(self, method: str) -> None:
        stage = TextStage(
            self._made(method),
            self.file,
            Tally(method),
            self.options["where"],
            self.options["swap_values"] if method == "swap" else {},
        )
        augmented = method == "swap" and self.options["keep_original"]
        self.stages.append(AugmentStage(stage) if augmented else stage)
        self.tallies.append(stage.tally)

    def _made(self, method: str) -> TextMethod:
        o = self.options
        if method == "scrub":
            return scrubber(o)
        if method == "extra-scrub":
            return self._extra_scrubber()
        if method == "swap":
            return swapper(o)
        finder = GivenSpans(tuple(o["spans"])) if o["spans"] else SpacyFinder.load(o["model"])
        return Anonymiser(finder, frozenset(o["entities"] or PERSONS))

    def _extra_scrubber(self) -> ExtraScrubber:
        """Find the words in what the methods before leave."""
        o = self.options
        settings = Settings(o["rounds"], o["words_per_round"], o["splits"], o["until"], o["seed"])
        self.extra = find_words(self._so_far(), self.file.text, o["group"], o["within"], settings)
        words = {value: found.words() for value, found in self.extra.items()}
        return ExtraScrubber(words, o["within"], o["mask"])

    def _so_far(self) -> Iterator[Record]:
        """Yield the records that are asked for, as the methods before leave them."""
        records = iter(self.file)
        for stage in self.stages:
            records = stage(records)
        yield from (record for record in records if record.has(self.options["where"]))
        for tally in self.tallies:
            if tally.method not in BALANCING:
                tally.forget()
