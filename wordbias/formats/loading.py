"""Loading of embeddings: whole into memory, in blocks, or only selected rows."""

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

from wordbias.arguments import named_file
from wordbias.devices import ordered_map
from wordbias.errors import WordbiasError
from wordbias.formats import binary, gensim, tensors, text
from wordbias.formats import cache as parse_cache
from wordbias.formats.binary import BinaryJob
from wordbias.formats.layout import Kind, Layout, detect
from wordbias.formats.source import Source, as_bytes, as_text, sha256_of
from wordbias.formats.static_models import KIND, StaticModel, is_static_model
from wordbias.formats.text import Block, Problem

T = TypeVar("T")


@dataclass
class Tally:
    """Counts of one pass over a file."""

    rows: int = 0  # number of good rows
    skipped: int = 0  # number of unusable rows that were dropped
    first_problem: str = ""  # position and fault of the first unusable row
    duplicates: int = 0  # number of good rows that were not written because they repeat a word
    # hash of the file on disk; empty until it is read to its end
    sha256: str = field(default="", repr=False)


@dataclass(frozen=True)
class FileInfo:
    """Origin of vectors, for the provenance of a result."""

    # the file, its format, the hash of its bytes; of the folder of a static model that of the
    # hashes of its weights and its tokenizer
    path: str
    format: Kind | Literal["memory"]
    sha256: str
    words: int  # its size as loaded
    dim: int
    duplicates: int = 0  # number of rows dropped because they repeat a word
    skipped: int = 0  # number of unusable rows that were dropped, and the fault of the first one
    first_problem: str = ""
    # of a static model: number of tokens that are parts of words, and of those that are none of
    # either; they are no words of the vocabulary
    parts: int = 0
    others: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that are neither zero nor empty."""
        return {key: value for key, value in asdict(self).items() if value not in (0, "")}


@dataclass(frozen=True)
class Loaded:
    """A loaded embedding: words, float32 vectors of shape ``(n, d)``, their origin and a name."""

    words: list[str]
    vectors: NDArray[np.float32]
    info: FileInfo
    name: str


@dataclass(frozen=True)
class VectorFile:
    """A file of vectors and its layout."""

    source: Source
    layout: Layout

    @classmethod
    def open(cls, name: str | os.PathLike[str]) -> VectorFile:
        """Find a file, or the folder of a static model, and recognise its format."""
        if is_static_model(folder := named_file(name)):
            return cls(Source(Path(folder)), Layout(KIND))
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
        """Apply `function` to every block, in threads, and yield the results in order."""
        format_: Any = text if self.layout.is_text else binary
        digest = hashlib.sha256()

        def work(job: Any) -> tuple[Block, T | None]:
            block = format_.parse(job, self.layout.dim)
            return block, (function(block) if skip_bad or not block.bad else None)

        for block, result in ordered_map(
            work, format_.jobs(self.source, self.layout, what, digest)
        ):
            self.check(block, tally, skip_bad)
            tally.rows += len(block.words)
            yield result  # type: ignore[misc]
        self.check_count(tally)
        tally.sha256 = digest.hexdigest()

    def check(self, block: Block, tally: Tally, skip_bad: bool = False) -> None:
        """Raise an error for the first unusable row of a block, or count the unusable rows."""
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
        """Compare the number of rows with the header's."""
        row_count = tally.rows + tally.skipped
        if self.layout.count is not None and row_count != self.layout.count:
            raise WordbiasError(
                f"{self.source.name}: the header promises {self.layout.count} words, "
                f"{row_count} follow; mend the header or remove it"
            )
        if not tally.rows:
            raise WordbiasError(f"{self.source.name}: holds no usable row")


# Whole embeddings


def load(
    name: str | os.PathLike[str],
    *,
    cache: bool = True,
    skip_bad: bool = False,
    allow_pickle: bool = False,
) -> Loaded:
    """Load an embedding of any known format."""
    file = VectorFile.open(name)
    if not file.layout.is_rows:
        return _load_whole(file, allow_pickle)
    if cache and (hit := cached(file, skip_bad)) is not None:
        return hit
    key = parse_cache.Key.of(file.source, skip_bad) if cache else None
    loaded = _load_rows(file, skip_bad)
    if key is not None and key == parse_cache.Key.of(file.source, skip_bad):
        described = {field: str(value) for field, value in asdict(loaded.info).items()}
        parse_cache.put(key, loaded.words, loaded.vectors, described)
    return loaded


def cached(file: VectorFile, skip_bad: bool = False) -> Loaded | None:
    """Memory-map the cache entry of a file; None if there is none, or it is damaged."""
    hit = parse_cache.get(parse_cache.Key.of(file.source, skip_bad))
    if hit is not None:
        words, vectors, stored = hit
        with suppress(KeyError, ValueError):  # its description is damaged
            info = FileInfo(
                file.source.name,
                file.layout.kind,
                stored["sha256"],
                int(stored["words"]),
                int(stored["dim"]),
                int(stored["duplicates"]),
                int(stored["skipped"]),
                stored["first_problem"],
            )
            return Loaded(words, vectors, info, file.source.stem)
    return None


def _load_rows(file: VectorFile, skip_bad: bool) -> Loaded:
    dim, tally = file.layout.dim, Tally()
    blocks = file.blocks(tally, what=f"reading {file.source.path.name}", skip_bad=skip_bad)
    words, vectors = collect(blocks, dim, guess_rows(file))
    return _without_duplicates(Loaded(words, vectors, _info(file, tally), file.source.stem))


def _load_whole(file: VectorFile, allow_pickle: bool) -> Loaded:
    path, kind = file.source.path, file.layout.kind
    if kind == "static-model":
        return _load_static(path)
    if kind == "safetensors":
        words, vectors, _ = tensors.read(path)
    elif kind == "gensim":
        words, vectors = gensim.read_kv(path, allow_pickle)
    else:
        words, vectors = gensim.read_fasttext(path)
    _check_finite(path, words, vectors)
    info = FileInfo(file.source.name, kind, sha256_of(path), len(words), vectors.shape[1])
    return _without_duplicates(Loaded(words, vectors, info, file.source.stem))


def _load_static(folder: Path) -> Loaded:
    """Load the words of a static model."""
    model = StaticModel.open(folder)
    tokens = model.tokens
    if not len(tokens.words):
        raise WordbiasError(f"{folder}: none of its {len(tokens.names)} tokens is a word")
    vectors = model.vectors(tokens.ids)
    info = FileInfo(
        str(folder),
        KIND,
        model.sha256(),
        len(vectors),
        vectors.shape[1],
        parts=tokens.parts,
        others=tokens.others,
    )
    return Loaded(list(tokens.words), vectors, info, Source(Path(os.path.abspath(folder))).stem)


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


def first_of_each(words: list[str]) -> NDArray[np.intp] | None:
    """Return the indices of the first occurrence of every word; None if all are distinct."""
    if len(set(words)) == len(words):
        return None
    first: dict[str, int] = {}
    for i, word in enumerate(words):
        first.setdefault(word, i)
    return np.fromiter(first.values(), np.intp, len(first))


# Selected rows


def scan(file: VectorFile, *, head: int, wanted: Collection[str], skip_bad: bool = False) -> Loaded:
    """Load the first `head` distinct words and the `wanted` ones, in the order of the file."""
    # The first pass of a streamed run; the second is `wordbias.formats.stream`. The memory needed
    # does not depend on the size of the file. Rows that are not selected are counted, not parsed;
    # `info.words` is the number of all rows, and the hash of the file is left to the second pass.
    tally, selection = Tally(), _Selection(head, wanted)
    what = f"scanning {file.source.path.name}"
    if skip_bad:  # every row must be parsed to know how many are good
        blocks: Iterator[Block] = file.blocks(tally, what=what, skip_bad=True)
    else:
        blocks = _sparse_blocks(file, selection, tally, what)
    guess = min(head + len(wanted), guess_rows(file))
    words, vectors = collect(map(selection.take, blocks), file.layout.dim, guess)
    return Loaded(words, vectors, _info(file, tally), file.source.stem)


class _Selection:
    """The rows that are still to be selected."""

    def __init__(self, head: int, wanted: Collection[str]) -> None:
        self.head = head
        self.wanted = frozenset(map(as_bytes, wanted))
        self.beginnings = frozenset(word.partition(b" ")[0] for word in self.wanted)
        self._taken: set[bytes] = set()

    def take(self, block: Block) -> Block:
        """Return the selected rows of a block; of a repeated word the first."""
        keep = [i for i, word in enumerate(block.words) if self._selects(word)]
        return Block([block.words[i] for i in keep], block.rows[np.array(keep, np.intp)])

    def _selects(self, word: bytes) -> bool:
        if word in self._taken or not (self.head > 0 or word in self.wanted):
            return False
        self.head -= 1
        self._taken.add(word)
        return True


def _sparse_blocks(
    file: VectorFile, selection: _Selection, tally: Tally, what: str
) -> Iterator[Block]:
    """Yield the rows of a file; after the first `head` words only the wanted ones are parsed."""
    format_: Any = text if file.layout.is_text else binary
    parse_wanted = _wanted_lines if file.layout.is_text else _wanted_words
    dim = file.layout.dim
    for job in format_.jobs(file.source, file.layout, what):
        if selection.head > 0:
            block = format_.parse(job, dim)
            rows = len(block.words) + block.bad
        else:
            block, rows = parse_wanted(job, dim, selection)
        file.check(block, tally)
        tally.rows += rows
        yield block
    file.check_count(tally)


def _wanted_lines(job: bytes, dim: int, selection: _Selection) -> tuple[Block, int]:
    """Parse the lines that may begin with a wanted word; return also the number of all lines."""
    lines = job[:-1].split(b"\n")
    beginnings = selection.beginnings
    chosen = [i for i, line in enumerate(lines) if line[: line.find(b" ")] in beginnings]
    block = text.parse(b"".join([lines[i] + b"\n" for i in chosen]), dim)
    return _with_place(block, chosen), len(lines)


def _wanted_words(job: BinaryJob, dim: int, selection: _Selection) -> tuple[Block, int]:
    """Parse the rows of wanted words; return also the number of all rows."""
    chosen = [i for i, word in enumerate(job.words) if word in selection.wanted]
    values = np.frombuffer(job.values, "<f4").reshape(-1, dim)[chosen]
    block = binary.parse(BinaryJob([job.words[i] for i in chosen], values.tobytes()), dim)
    return _with_place(block, chosen), len(job.words)


def _with_place(block: Block, chosen: list[int]) -> Block:
    """Count the position of the first unusable row in the whole job, not among the chosen rows."""
    if block.problem is None:
        return block
    place, message = block.problem
    return replace(block, problem=Problem(chosen[place], message))


# Steps of both


def _info(file: VectorFile, tally: Tally) -> FileInfo:
    return FileInfo(
        file.source.name,
        file.layout.kind,
        tally.sha256,
        tally.rows,
        file.layout.dim,
        skipped=tally.skipped,
        first_problem=tally.first_problem,
    )


def collect(blocks: Iterable[Block], dim: int, guess: int) -> tuple[list[str], NDArray[np.float32]]:
    """Concatenate blocks; the matrix is resized in place and never held twice."""
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


def guess_rows(file: VectorFile) -> int:
    """Guess the number of rows from the first ones; a wrong guess costs only a resize."""
    # The number in a header only bounds the guess: it may be wrong, and memory is not spent on it.
    head = file.source.head()
    lines, binary = head.count(b"\n"), 4 * file.layout.dim + 2
    text = len(head) / lines if lines else max(len(head), file.layout.first_row)
    row = text if file.layout.is_text else binary
    guess = max(16, int(file.source.path.stat().st_size / row * 1.1))
    return min(guess, file.layout.count or guess)
