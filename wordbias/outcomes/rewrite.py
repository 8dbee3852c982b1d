"""Rewriting of a file of texts, record by record, by one method or several in order."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Protocol

import numpy as np

from wordbias.formats.files import compressing, replacing
from wordbias.outcomes.records import BadRowError, Record, RecordFile

Change = tuple[str, Sequence[str]]
"""A new text, and the words that were changed in it, one for each position."""
Where = Mapping[str, tuple[str, ...]]
"""Values by column; a record is rewritten if it has one of them in each of these columns."""
Stage = Callable[[Iterator[Record]], Iterator[Record]]
"""A step of rewriting: records in, records out, in order."""
IN_MEMORY = 1 << 22
"""Bytes of a temporary file that stay in memory."""
_BUCKETS = 64


def rewrite(
    file: RecordFile, output: str, stages: Sequence[Stage], *, shuffle: int | None = None
) -> int:
    """Rewrite a file by stages; the output appears only when complete; count its records."""
    lines: Iterable[str] = (record.line() for record in through(stages, file))
    if shuffle is not None:
        lines = shuffled(lines, shuffle)
    with replacing(output) as raw, compressing(raw, output) as out:
        out.write(file.header.encode())
        return _write(out, lines)


def _write(out: IO[bytes], lines: Iterable[str]) -> int:
    """Write lines; one without an end gets it if another follows."""
    written, end = 0, ""
    for line in lines:
        out.write((end + line).encode())
        end = "" if line.endswith("\n") else "\n"
        written += 1
    return written


def through(stages: Sequence[Stage], records: Iterable[Record]) -> Iterator[Record]:
    """Apply stages to records, in order."""
    stream = iter(records)
    for stage in stages:
        stream = stage(stream)
    return stream


class TextMethod(Protocol):
    """Method that rewrites a text; it may use the other cells of its record."""

    def __call__(self, text: str, cells: Record) -> Change:
        """Return the new text and the changed words."""


@dataclass
class Tally:
    """Counts of the changes of one method."""

    method: str
    rows: int = 0  # number of records that were to be rewritten
    changed: int = 0  # number of those that were changed
    words: Counter[str] = field(default_factory=Counter, repr=False)  # changed words and how often
    added: int = 0  # number of added records; negative if some were dropped

    def reset(self) -> None:
        """Set all counts to zero."""
        self.rows = self.changed = self.added = 0
        self.words.clear()


@dataclass(frozen=True)
class TextStage:
    """Stage that rewrites the text of each record for which `where` holds."""

    method: TextMethod
    file: RecordFile
    tally: Tally
    where: Where = field(default_factory=dict)  # records to rewrite; the others pass unchanged
    # values that change with the text, by column: F to M and M to F in a column of genders
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
                self.file.problems.add(f"{self.file.unit} {record.number}", str(error))

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
    """Stage that yields all records unchanged, and after the last one the rewritten ones."""

    # Every record for which `where` holds is there twice, whether anything in it changed or not:
    # the shares of classes and of topics do not change (as in Zhao et al. 2018). The rewritten ones
    # are held in memory, and beyond a few megabytes on disk.

    stage: TextStage

    def __call__(self, records: Iterator[Record]) -> Iterator[Record]:
        """Yield the records, then the rewritten ones."""
        tally, form = self.stage.tally, self.stage.file.form
        with tempfile.SpooledTemporaryFile(IN_MEMORY) as waiting:
            for record in records:
                if record.has(self.stage.where):
                    for other in self.stage(iter([record])):
                        line = other.line().encode()
                        sizes = np.array([other.number, len(line)], np.int64)
                        waiting.write(sizes.tobytes() + line)
                        tally.added += 1
                yield record
            waiting.seek(0)
            while size := waiting.read(16):
                number, length = np.frombuffer(size, np.int64)
                text = waiting.read(int(length)).decode()
                body = text.rstrip("\r\n")
                pieces, places = form.split(body)
                yield Record(int(number), pieces, places, form, text[len(body) :])


# random order


def shuffled(lines: Iterable[str], seed: int, buckets: int = _BUCKETS) -> Iterator[str]:
    """Yield lines in random order."""
    # Each line draws a number; they are sorted by it, bucket by bucket. The order depends on the
    # seed and on nothing else, and every order is equally likely.
    rng = np.random.default_rng(seed)
    files = [tempfile.SpooledTemporaryFile(IN_MEMORY) for _ in range(buckets)]  # noqa: SIM115
    try:
        for line in lines:
            key = rng.random()
            data = line.encode()
            files[int(key * buckets)].write(np.array([key, len(data)], np.float64).tobytes() + data)
        for held in files:
            yield from (data.decode() for _, data in sorted(_drawn(held), key=lambda x: x[0]))
    finally:
        for held in files:
            held.close()


def _drawn(held: IO[bytes]) -> Iterator[tuple[float, bytes]]:
    held.seek(0)
    while head := held.read(16):
        key, length = np.frombuffer(head, np.float64)
        yield float(key), held.read(int(length))


def in_random_order(records: Iterable[Record], seed: int) -> list[Record]:
    """Return records in the same random order in which `shuffled` yields their lines."""
    listed = list(records)
    keys = np.random.default_rng(seed).random(len(listed))
    return [listed[i] for i in np.argsort(keys, kind="stable").tolist()]
