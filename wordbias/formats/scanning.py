"""The first pass of a streamed run: only the rows that fitting and measuring need."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from wordbias.formats import binary, text
from wordbias.formats.binary import BinaryJob
from wordbias.formats.file import Tally, VectorFile
from wordbias.formats.lines import Block, Problem, parse_block
from wordbias.formats.loading import FileInfo, Loaded, collect, guess_rows
from wordbias.formats.spelling import as_bytes


def scan(file: VectorFile, *, head: int, wanted: Collection[str], skip_bad: bool = False) -> Loaded:
    """Load the first `head` distinct words and the `wanted` ones, in the order of the file.

    The memory needed depends on `head` and `wanted`, not on the size of the file. Rows that are
    not picked are counted, not parsed; ``info.words`` is the number of all rows, and the hash of
    the file is left to the second pass.

    Raises
    ------
    WordbiasError
        See `VectorFile.map`.
    """
    tally, picked = Tally(), _Picked(head, wanted)
    if skip_bad:  # every row must be parsed to know how many are good
        blocks: Iterator[Block] = file.blocks(tally, what=_what(file), skip_bad=True)
    else:
        blocks = _sparse_blocks(file, picked, tally)
    guess = min(head + len(wanted), guess_rows(file))
    words, vectors = collect(map(picked.take, blocks), file.layout.dim, guess)
    info = FileInfo(
        file.source.name,
        file.layout.kind,
        tally.sha256,
        tally.rows,
        file.layout.dim,
        skipped=tally.skipped,
        first_problem=tally.first_problem,
    )
    return Loaded(words, vectors, info, file.source.stem)


class _Picked:
    """Which rows are still to be picked."""

    def __init__(self, head: int, wanted: Collection[str]) -> None:
        self.head = head
        self.wanted = frozenset(map(as_bytes, wanted))
        self.beginnings = frozenset(word.partition(b" ")[0] for word in self.wanted)
        self._seen: set[bytes] = set()

    def take(self, block: Block) -> Block:
        """Keep the rows to be picked; of a duplicated word the first."""
        keep = [i for i, word in enumerate(block.words) if self._is_picked(word)]
        return Block([block.words[i] for i in keep], block.rows[np.array(keep, np.intp)])

    def _is_picked(self, word: bytes) -> bool:
        if word in self._seen or not (self.head > 0 or word in self.wanted):
            return False
        self.head -= 1
        self._seen.add(word)
        return True


def _sparse_blocks(file: VectorFile, picked: _Picked, tally: Tally) -> Iterator[Block]:
    room: Any = text if file.layout.is_text else binary
    few = _few_lines if file.layout.is_text else _few_words
    dim = file.layout.dim
    for job in room.jobs(file.source, file.layout, _what(file)):
        if picked.head > 0:
            block = room.parse(job, dim)
            rows = len(block.words) + block.bad
        else:
            block, rows = few(job, dim, picked)
        file.check(block, tally)
        tally.rows += rows
        yield block
    file.check_count(tally)


def _few_lines(job: bytes, dim: int, picked: _Picked) -> tuple[Block, int]:
    lines = job[:-1].split(b"\n")
    beginnings = picked.beginnings
    few = [i for i, line in enumerate(lines) if line[: line.find(b" ")] in beginnings]
    block = parse_block(b"".join([lines[i] + b"\n" for i in few]), dim)
    return _placed(block, few), len(lines)


def _few_words(job: BinaryJob, dim: int, picked: _Picked) -> tuple[Block, int]:
    few = [i for i, word in enumerate(job.words) if word in picked.wanted]
    values = np.frombuffer(job.values, "<f4").reshape(-1, dim)[few]
    block = binary.parse(BinaryJob([job.words[i] for i in few], values.tobytes()), dim)
    return _placed(block, few), len(job.words)


def _placed(block: Block, few: list[int]) -> Block:
    """Say where in its job the first bad row of a few is."""
    if block.problem is None:
        return block
    place, message = block.problem
    return Block(block.words, block.rows, block.bad, Problem(few[place], message))


def _what(file: VectorFile) -> str:
    return f"scanning {file.source.path.name}"
