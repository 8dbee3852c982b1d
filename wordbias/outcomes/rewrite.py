"""Rewriting a file of texts, record by record, by one method or several in order."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Protocol

import numpy as np

from wordbias.formats.files import compressing, replacing
from wordbias.outcomes.records import IN_MEMORY, BadRowError, Record, RecordFile, shuffled

Change = tuple[str, Sequence[str]]
"""A new text, and what was changed in it: a word for each place."""
Where = Mapping[str, tuple[str, ...]]
"""Values that a record must have in a column to be rewritten, any one of those given for it."""


class TextMethod(Protocol):
    """What rewrites a text; it may look at the other cells of its record."""

    def __call__(self, text: str, cells: Record) -> Change:
        """Return the new text and what was changed."""


Stage = Callable[[Iterator[Record]], Iterator[Record]]
"""What becomes of records, in order."""


@dataclass
class Tally:
    """What a method did.

    Attributes
    ----------
    method
        Its name.
    rows
        Records that it was asked to rewrite.
    changed
        Those of them that it changed.
    words
        What it changed, and how often.
    added
        Records beyond those it was given; negative if it dropped some.
    """

    method: str
    rows: int = 0
    changed: int = 0
    words: Counter[str] = field(default_factory=Counter, repr=False)
    added: int = 0

    def forget(self) -> None:
        """Begin again."""
        self.rows = self.changed = self.added = 0
        self.words.clear()


@dataclass(frozen=True)
class TextStage:
    """Rewrites the text of each record for which `where` holds; the others pass.

    Attributes
    ----------
    method
        What rewrites a text.
    file
        Where the records are from: its column of texts, and who hears of records that cannot be
        used.
    where
        Which records.
    tally
        What it did.
    values
        Cells that change with the text, by column: F to M and M to F of a column of genders.
    """

    method: TextMethod
    file: RecordFile
    tally: Tally
    where: Where = field(default_factory=dict)
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def __call__(self, records: Iterator[Record]) -> Iterator[Record]:
        """Yield the records, rewritten."""
        for record in records:
            if not record.has(self.where):
                yield record
                continue
            try:
                yield self.rewritten(record)
            except BadRowError as error:
                self.file.problems.meet(record.number, str(error))

    def rewritten(self, record: Record) -> Record:
        """Return one record, rewritten."""
        old = record[self.file.text]
        text, words = self.method(old, record)
        tally = self.tally
        tally.rows += 1
        if words:
            tally.words.update(words)
        if text != old:
            tally.changed += 1
            record = record.replaced(self.file.text, text)
        for column, other in self.values.items():
            if record[column] in other:
                record = record.replaced(column, other[record[column]])
        return record


@dataclass(frozen=True)
class AugmentStage:
    """Yields all records as they were, and behind the last of them the rewritten ones.

    Every record for which the stage's `where` holds is there twice, whether anything in it changed
    or not, so that the shares of classes and of topics stay what they were (as in Zhao et al.
    2018). The rewritten ones wait in memory, and beyond a few megabytes on disk.
    """

    stage: TextStage

    def __call__(self, records: Iterator[Record]) -> Iterator[Record]:
        """Yield the records, then the rewritten ones."""
        tally, form = self.stage.tally, self.stage.file.form
        with tempfile.SpooledTemporaryFile(IN_MEMORY) as waiting:
            for record in records:
                if record.has(self.stage.where):
                    for other in self.stage(iter([record])):
                        _put(waiting, other)
                        tally.added += 1
                yield record
            waiting.seek(0)
            while size := waiting.read(16):
                number, length = np.frombuffer(size, np.int64)
                line = waiting.read(int(length)).decode()
                body = line.rstrip("\r\n")
                pieces, places = form.split(body)
                yield Record(int(number), pieces, places, form, line[len(body) :])


def _put(waiting: IO[bytes], record: Record) -> None:
    line = record.line().encode()
    waiting.write(np.array([record.number, len(line)], np.int64).tobytes() + line)


def through(stages: Sequence[Stage], records: Iterable[Record]) -> Iterator[Record]:
    """Yield what stages make of records, in order."""
    found = iter(records)
    for stage in stages:
        found = stage(found)
    return found


def in_random_order(records: Iterable[Record], seed: int) -> list[Record]:
    """Return records in the order in which `shuffled` yields their lines."""
    found = list(records)
    keys = np.random.default_rng(seed).random(len(found))
    return [found[i] for i in np.argsort(keys, kind="stable").tolist()]


def rewrite(
    file: RecordFile, output: str, stages: Sequence[Stage], *, shuffle: int | None = None
) -> int:
    """Write what the stages make of a file; nobody ever sees half of it.

    Parameters
    ----------
    file
        What is rewritten.
    output
        Where to, compressed as its suffix says; it takes its name when it is complete.
    stages
        Methods, applied in order.
    shuffle
        A seed: write the records in random order.

    Returns
    -------
    int
        How many records were written.

    Raises
    ------
    WordbiasError
        If a record cannot be used and such are not to be dropped, or the output cannot be
        written.
    """
    lines: Iterable[str] = (record.line() for record in through(stages, file))
    if shuffle is not None:
        lines = shuffled(lines, shuffle)
    with replacing(output) as raw, compressing(raw, output) as out:
        out.write(file.header.encode())
        return _write(out, lines)


def _write(out: IO[bytes], lines: Iterable[str]) -> int:
    """Write lines; one that has no end gets it where another follows."""
    written, end = 0, ""
    for line in lines:
        out.write((end + line).encode())
        end = "" if line.endswith("\n") else "\n"
        written += 1
    return written
