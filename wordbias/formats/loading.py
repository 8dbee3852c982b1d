"""A file of vectors that is read row by row: in blocks, in order, in bounded memory.

A whole embedding in memory, from any format, with the parse cache in front.

The first pass of a streamed run: only the rows that fitting and measuring need.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from wordbias.devices import ordered_map
from wordbias.errors import WordbiasError
from wordbias.formats import binary, gensim, tensors, text
from wordbias.formats import cache as parse_cache
from wordbias.formats.binary import BinaryJob
from wordbias.formats.layout import Kind, Layout, detect
from wordbias.formats.source import Source, as_bytes, as_text, sha256_of
from wordbias.formats.text import Block, Problem, parse_block

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


@dataclass(frozen=True)
class FileInfo:
    """Where vectors came from, for the provenance of a result.

    Attributes
    ----------
    path, format, sha256
        The file, its format, the hash of its bytes.
    words, dim
        Its size as loaded.
    duplicates
        Rows dropped because their word stood in an earlier row.
    skipped, first_problem
        Rows dropped because they could not be used, and what the first of them was.
    """

    path: str
    format: Kind | Literal["memory"]
    sha256: str
    words: int
    dim: int
    duplicates: int = 0
    skipped: int = 0
    first_problem: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that have something to say."""
        return {key: value for key, value in asdict(self).items() if value not in (0, "")}


@dataclass(frozen=True)
class Loaded:
    """Words, float32 vectors of shape ``(n, d)``, and where they came from."""

    words: list[str]
    vectors: NDArray[np.float32]
    info: FileInfo
    name: str


def load(
    name: str | os.PathLike[str],
    *,
    cache: bool = True,
    skip_bad: bool = False,
    allow_pickle: bool = False,
) -> Loaded:
    """Load an embedding of any known format.

    Parameters
    ----------
    name
        A path, or ``archive.zip::member``.
    cache
        Keep parsed text in the user's cache folder and map it from there the next time.
    skip_bad
        Drop and count rows that cannot be used.
    allow_pickle
        Open gensim's ``.kv`` pickles; only for files whose author you trust.

    Raises
    ------
    WordbiasError
        See `VectorFile.open`, `VectorFile.map`, and the readers of the other formats.
    """
    file = VectorFile.open(name)
    if not file.layout.is_rows:
        return _load_whole(file, allow_pickle)
    if cache and (hit := cached(file, skip_bad)) is not None:
        return hit
    key = parse_cache.Key.of(file.source, skip_bad) if cache else None
    loaded = _load_rows(file, skip_bad)
    if key is not None and key == parse_cache.Key.of(file.source, skip_bad):
        kept = {field: str(value) for field, value in asdict(loaded.info).items()}
        parse_cache.put(key, loaded.words, loaded.vectors, kept)
    return loaded


def cached(file: VectorFile, skip_bad: bool = False) -> Loaded | None:
    """Map what the cache has of a file of rows; None if there is nothing, or it is damaged."""
    hit = parse_cache.get(parse_cache.Key.of(file.source, skip_bad))
    if hit is not None:
        words, vectors, kept = hit
        with suppress(KeyError, ValueError):  # what it says of itself is damaged
            return Loaded(words, vectors, _info_from(kept, file), file.source.stem)
    return None


def first_of_each(words: list[str]) -> NDArray[np.intp] | None:
    """Return the indices of the first occurrence of every word; None if all are distinct."""
    if len(set(words)) == len(words):
        return None
    first: dict[str, int] = {}
    for i, word in enumerate(words):
        first.setdefault(word, i)
    return np.fromiter(first.values(), np.intp, len(first))


def collect(blocks: Iterable[Block], dim: int, guess: int) -> tuple[list[str], NDArray[np.float32]]:
    """Put blocks together; the matrix grows where it stands and is never held twice."""
    words: list[str] = []
    vectors = np.empty((guess, dim), np.float32)
    for block in blocks:
        start, end = len(words), len(words) + len(block.words)
        if end > len(vectors):
            vectors.resize((end + end // 8, dim), refcheck=False)
        vectors[start:end] = block.rows
        words += map(as_text, block.words)
    vectors.resize((len(words), dim), refcheck=False)
    return words, vectors


def _load_rows(file: VectorFile, skip_bad: bool) -> Loaded:
    dim, tally = file.layout.dim, Tally()
    blocks = file.blocks(tally, what=f"reading {file.source.path.name}", skip_bad=skip_bad)
    words, vectors = collect(blocks, dim, guess_rows(file))
    info = FileInfo(
        file.source.name,
        file.layout.kind,
        tally.sha256,
        len(words),
        dim,
        skipped=tally.skipped,
        first_problem=tally.first_problem,
    )
    return _without_duplicates(Loaded(words, vectors, info, file.source.stem))


def guess_rows(file: VectorFile) -> int:
    """Guess the number of rows from the first ones; a wrong guess costs only a resize.

    What a header promises is not trusted with memory.
    """
    head = file.source.head()
    lines, binary = head.count(b"\n"), 4 * file.layout.dim + 2
    text = len(head) / lines if lines else max(len(head), file.layout.first_row)
    row = text if file.layout.is_text else binary
    guess = max(16, int(file.source.path.stat().st_size / row * 1.1))
    return min(guess, file.layout.count or guess)


def _load_whole(file: VectorFile, allow_pickle: bool) -> Loaded:
    path, kind = file.source.path, file.layout.kind
    if kind == "safetensors":
        words, vectors, _ = tensors.read(path)
    elif kind == "gensim":
        words, vectors = gensim.read_kv(path, allow_pickle)
    else:
        words, vectors = gensim.read_fasttext(path)
    _check_finite(path, words, vectors)
    info = FileInfo(file.source.name, kind, sha256_of(path), len(words), vectors.shape[1])
    return _without_duplicates(Loaded(words, vectors, info, file.source.stem))


def _check_finite(path: Path, words: list[str], vectors: NDArray[np.float32]) -> None:
    for start in range(0, len(vectors), 8192):
        bad = ~np.isfinite(vectors[start : start + 8192]).all(axis=1)
        if bad.any():
            row = start + int(bad.argmax())
            raise WordbiasError(
                f"{path}: the vector of word {row + 1}, {words[row]!r}, "
                "holds a nan or an infinity; drop that word from the file"
            )


def _without_duplicates(loaded: Loaded) -> Loaded:
    first = first_of_each(loaded.words)
    if first is None:
        return loaded
    info = replace(loaded.info, words=len(first), duplicates=len(loaded.words) - len(first))
    words = [loaded.words[i] for i in first.tolist()]
    return Loaded(words, loaded.vectors[first], info, loaded.name)


def _info_from(kept: dict[str, str], file: VectorFile) -> FileInfo:
    words, dim, duplicates, skipped = (
        int(kept[key]) for key in ("words", "dim", "duplicates", "skipped")
    )
    problem, digest = kept["first_problem"], kept["sha256"]
    name, kind = file.source.name, file.layout.kind
    return FileInfo(name, kind, digest, words, dim, duplicates, skipped, problem)


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
