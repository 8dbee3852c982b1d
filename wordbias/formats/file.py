"""A file of vectors that is read row by row: in blocks, in order, in bounded memory."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from wordbias.errors import WordbiasError
from wordbias.formats import binary, text
from wordbias.formats.layout import Layout, detect
from wordbias.formats.lines import Block
from wordbias.formats.source import Source
from wordbias.threads import ordered_map

T = TypeVar("T")


@dataclass
class Tally:
    """What one pass over a file has met.

    Attributes
    ----------
    rows
        Good rows.
    skipped
        Bad rows that were dropped.
    first_problem
        Where and what the first of them was.
    duplicates
        Good rows that were not written, because their word had come before.
    sha256
        Of the file on disk, once it was read to its end; empty before.
    """

    rows: int = 0
    skipped: int = 0
    first_problem: str = ""
    duplicates: int = 0
    sha256: str = field(default="", repr=False)


@dataclass(frozen=True)
class VectorFile:
    """A file and its layout."""

    source: Source
    layout: Layout

    @classmethod
    def open(cls, name: str | os.PathLike[str]) -> VectorFile:
        """Find a file and recognise its format.

        Raises
        ------
        WordbiasError
            If there is no such file or it is no embedding.
        """
        source = Source.find(name)
        layout = detect(source)
        if source.compression and not layout.is_rows:
            raise WordbiasError(
                f"{source.name}: {layout.kind} files are read uncompressed; unpack it first"
            )
        return cls(source, layout)

    def blocks(
        self,
        tally: Tally,
        *,
        what: str = "reading",
        skip_bad: bool = False,
    ) -> Iterator[Block]:
        """Yield the rows of the file in blocks; see `map`."""
        yield from self.map(lambda block: block, tally, what=what, skip_bad=skip_bad)

    def map(
        self,
        function: Callable[[Block], T],
        tally: Tally,
        *,
        what: str = "reading",
        skip_bad: bool = False,
    ) -> Iterator[T]:
        """Apply `function` to every block, in threads, and yield the results in order.

        Parameters
        ----------
        function
            Called with each `Block` of good rows.
        tally
            Filled while the results are taken.
        what
            A word for the progress bar.
        skip_bad
            Drop and count rows that cannot be used; otherwise the first one is an error.

        Raises
        ------
        WordbiasError
            At the first row that cannot be used (its line, what was expected and found), at
            damage, or if the file holds more or fewer rows than its header promises.
        """
        room: Any = text if self.layout.is_text else binary
        digest = hashlib.sha256()

        def work(job: Any) -> tuple[Block, T | None]:
            block = room.parse(job, self.layout.dim)
            return block, (function(block) if skip_bad or not block.bad else None)

        for block, result in ordered_map(work, room.jobs(self.source, self.layout, what, digest)):
            self.check(block, tally, skip_bad)
            tally.rows += len(block.words)
            yield result  # type: ignore[misc]
        self.check_count(tally)
        tally.sha256 = digest.hexdigest()

    def check(self, block: Block, tally: Tally, skip_bad: bool = False) -> None:
        """Raise the first problem of a block, or count them."""
        if block.problem is None:
            return
        place, message = block.problem
        unit, first = ("line", self.layout.first_line) if self.layout.is_text else ("word", 1)
        where = first + tally.rows + tally.skipped + place
        problem = f"{self.source.name}: {unit} {where}: {message}"
        if not skip_bad:
            raise WordbiasError(f"{problem}; drop such rows with --skip-bad")
        tally.first_problem = tally.first_problem or problem
        tally.skipped += block.bad

    def check_count(self, tally: Tally) -> None:
        """Hold the rows that were met against what the header promises."""
        found = tally.rows + tally.skipped
        if self.layout.count is not None and found != self.layout.count:
            raise WordbiasError(
                f"{self.source.name}: the header promises {self.layout.count} words, "
                f"{found} follow; mend the header or remove it"
            )
        if not tally.rows:
            raise WordbiasError(f"{self.source.name}: holds no usable row")
