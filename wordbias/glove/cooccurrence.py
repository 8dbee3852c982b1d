"""Co-occurrences of words in a corpus of any size, counted in bounded memory, stored in a folder.

Two tokens of a line that are k apart, k at most the window, add 1/k to the co-occurrence of their
words, in both directions. A word that is near itself therefore gets 2/k. Words that are not in the
vocabulary are dropped before the distance is counted, and no window crosses the end of a line: both
as in GloVe's own program `cooccur`.

What fits into memory is sorted and summed there, and written as a run: pairs in order, with their
sums. Runs are merged by sixteens into longer ones. The last merge deals all cells at random into
files that fit into memory one at a time; training can then shuffle each of them.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from operator import index
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.formats.files import new_folder
from wordbias.glove.corpus import END, Corpus, Vocabulary, count_words
from wordbias.progress import progress

Ints = NDArray[np.int64]
Sums = NDArray[np.float64]

_AT_ONCE = 16
"""Number of runs that are merged into one."""
_PAIR_BYTES = 96
"""Memory for a pair of tokens while it is sorted and summed."""
_MERGED_BYTES = 4 * _PAIR_BYTES
"""Memory for a pair of words while runs are merged and dealt into files."""
_CELL_BYTES = 48
"""Memory for a cell while its file is shuffled."""
_LEAST = 1 << 12
"""Least number of pairs in memory."""
_UNKNOWN, _LINE_ENDS = -1, -2
_FACTS, _WORDS = "counts.json", "vocabulary.txt"
_VERSION = 2
_ANEW = "remove the folder, and they are counted again"


class Batch(NamedTuple):
    """Cells of the matrix: rows, columns and counts X, shape ``(n,)`` each."""

    rows: NDArray[np.int32]
    columns: NDArray[np.int32]
    counts: NDArray[np.float32]


@dataclass(frozen=True)
class Cooccurrences:
    """A symmetric matrix of co-occurrences, in files that are read one at a time."""

    folder: Path
    vocabulary: Vocabulary = field(repr=False)
    about: Mapping[str, Any] = field(repr=False)  # corpus and options that they were counted with
    sizes: tuple[int, ...]  # number of cells in each file
    most: int  # greatest number of cells in a row
    memory: int  # bytes that they were counted in; the order of cells depends on it
    kept: bool  # whether a user named the folder, to keep it

    @property
    def cells(self) -> int:
        """Number of cells that are not zero."""
        return sum(self.sizes)

    @classmethod
    def load(cls, folder: str | Path) -> Cooccurrences:
        """Open what `count` wrote."""
        folder = Path(folder)
        try:
            facts = json.loads((folder / _FACTS).read_text(encoding="utf-8"))
            lines = (folder / _WORDS).read_text(encoding="utf-8").split("\n")[:-1]
            words, counts = zip(*(line.rsplit(" ", 1) for line in lines), strict=True)
            tokens, distinct, most, *sizes = map(
                index, (facts["tokens"], facts["distinct"], facts["most"], *facts["sizes"])
            )
            vocabulary = Vocabulary(words, tuple(map(int, counts)), tokens, distinct)
            about, memory = dict(facts["about"]), index(facts.get("memory", 0))  # version 1: none
            is_kept = bool(facts.get("kept", True))
            loaded = cls(folder, vocabulary, about, tuple(sizes), most, memory, is_kept)
            right = len(set(words)) == len(words) == facts["words"] and 0 < most <= loaded.cells
        except OSError as error:
            raise WordbiasError(
                f"{folder}: holds no co-occurrences ({error.strerror or error}); rename it, or "
                "name another folder"
            ) from None
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise WordbiasError(
                f"{folder}: holds damaged co-occurrences ({type(error).__name__}: {error}); {_ANEW}"
            ) from None
        for i, size in enumerate(loaded.sizes):
            path = loaded._file(i)
            right = right and path.is_file() and path.stat().st_size == 12 * size
        if not right:
            raise WordbiasError(f"{folder}: holds co-occurrences that are incomplete; {_ANEW}")
        return loaded

    def _file(self, i: int) -> Path:
        return _cells_file(self.folder, i)

    def read(self, i: int) -> Batch:
        """Return the cells of one file."""
        cells = np.fromfile(self._file(i), "<i4").reshape(-1, 3)
        rows, columns, counts = (np.ascontiguousarray(cells[:, k]) for k in range(3))
        batch = Batch(rows, columns, counts.view("<f4"))
        places, n = cells[:, :2], len(self.vocabulary.words)
        if len(cells) and not (
            places.min() >= 0
            and places.max() < n
            and batch.counts.min() > 0
            and np.isfinite(batch.counts.max())
        ):
            raise WordbiasError(
                f"{self._file(i)}: holds damaged co-occurrences: expected rows of {n} words, and "
                f"counts above zero; {_ANEW}"
            )
        return batch

    def batches(self, seed: int, epoch: int, size: int) -> Iterator[Batch]:
        """Yield all cells in random order, in batches of at most `size`."""
        # The order depends on seed, epoch and files only: a resumed training continues as if it was
        # not interrupted.
        rng = np.random.default_rng([seed, epoch])
        for i in rng.permutation(len(self.sizes)).tolist():
            order = rng.permutation(self.sizes[i])
            cells = self.read(i)
            cells = Batch(cells.rows[order], cells.columns[order], cells.counts[order])
            for start in range(0, len(order), size):
                part = slice(start, start + size)
                yield Batch(cells.rows[part], cells.columns[part], cells.counts[part])

    def steps(self, size: int) -> int:
        """Return the number of batches of an epoch."""
        return sum(-(-cells // size) for cells in self.sizes)


def _cells_file(folder: Path, i: int) -> Path:
    return folder / f"cells-{i:04}.bin"


def counting_about(
    corpus: Corpus, *, window: int, min_count: int, max_vocab: int | None
) -> dict[str, Any]:
    """Return what co-occurrences depend on: the hash of each file, and the options."""
    return {
        "version": _VERSION,
        "corpus": corpus.about(),
        "cased": corpus.cased,
        "window": window,
        "min_count": min_count,
        "max_vocab": max_vocab,
    }


def count(
    corpus: Corpus,
    folder: str | Path,
    *,
    window: int = 10,
    min_count: int = 50,
    max_vocab: int | None = None,
    memory: int = 1 << 30,
    about: Mapping[str, Any] | None = None,
    kept: bool = True,
) -> Cooccurrences:
    """Count the words of a corpus and their co-occurrences, and store both in a new folder."""
    # `memory` is in bytes. It changes neither words nor counts, but for the last digit of a sum,
    # and the order in which cells are shuffled.
    about = about or counting_about(corpus, window=window, min_count=min_count, max_vocab=max_vocab)
    with new_folder(folder) as part:
        work = part / "work"
        work.mkdir()
        vocabulary = count_words(
            corpus, work, min_count=min_count, max_vocab=max_vocab, memory=memory
        )
        runs = _Runs(work, len(vocabulary.words), window, memory)
        for left, right, distance in _near(corpus, vocabulary, window):
            runs.add(left, right, distance)
        runs.flush()
        if not runs.files:
            raise WordbiasError(
                f"{corpus.name}: no line has two words that are frequent enough; give more text, "
                "or a lower --min-count"
            )
        sizes, most = _deal(runs, part)
        shutil.rmtree(work)
        lines = (
            f"{word} {n}\n" for word, n in zip(vocabulary.words, vocabulary.counts, strict=True)
        )
        (part / _WORDS).write_text("".join(lines), encoding="utf-8", newline="\n")
        facts = {
            "about": dict(about),
            "words": len(vocabulary.words),
            "tokens": vocabulary.tokens,
            "distinct": vocabulary.distinct,
            "sizes": sizes,
            "most": most,
            "memory": memory,
            "kept": kept,
        }
        (part / _FACTS).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    return Cooccurrences.load(folder)


def _near(corpus: Corpus, vocabulary: Vocabulary, window: int) -> Iterator[tuple[Ints, Ints, int]]:
    """Yield the words of all pairs of tokens at each distance up to the window, in arrays."""
    known = {**vocabulary.index, END: _LINE_ENDS}
    before = np.zeros((2, 0), np.int64)  # the last words, and the lines that they are in
    line = 0
    for tokens in corpus.tokens("counting co-occurrences"):
        ids = np.fromiter(map(known.get, tokens, repeat(_UNKNOWN)), np.int64, len(tokens))
        lines = line + np.cumsum(ids == _LINE_ENDS)
        line = int(lines[-1]) if len(lines) else line
        fresh = ids >= 0
        words, at = np.concatenate([before, [ids[fresh], lines[fresh]]], axis=1)
        done = before.shape[1]
        for distance in range(1, min(window, len(words) - 1) + 1):
            start = max(distance, done)  # pairs whose later token is new
            same = at[start:] == at[start - distance : len(at) - distance]
            later = words[start:][same]
            if len(later):
                yield words[start - distance : len(words) - distance][same], later, distance
        before = np.stack([words[-window:], at[-window:]])


class _Runs:
    """Sorted files of pairs and sums; sixteen are merged into one."""

    # level, keys and sums of each run. A key is `first * n + second` of the row numbers of two of
    # the n words, the smaller one first.
    files: list[tuple[int, Ints, Sums]]
    folder: Path
    words: int
    window: int
    capacity: int

    def __init__(self, folder: Path, words: int, window: int, memory: int) -> None:
        if words**2 * window >= 1 << 63:
            raise WordbiasError(
                f"{words:,} words and a window of {window}: too many for 64 bits; give a smaller "
                "--window, a higher --min-count, or --max-vocab"
            )
        self.folder, self.words, self.window = folder, words, window
        self.capacity = max(memory // _PAIR_BYTES, _LEAST)
        self.files = []
        try:
            self._pairs = np.empty(self.capacity, np.int64)
        except (MemoryError, ValueError):  # ValueError: more than an array can have
            raise WordbiasError(
                f"--memory: {memory:,} bytes are more than this machine has; give less"
            ) from None
        self._held = self._written = 0

    def add(self, left: Ints, right: Ints, distance: int) -> None:
        """Add pairs of tokens at one distance."""
        keys = np.minimum(left, right) * self.words + np.maximum(left, right)
        keys = keys * self.window + (distance - 1)
        while len(keys):
            fitting = keys[: self.capacity - self._held]
            self._pairs[self._held : self._held + len(fitting)] = fitting
            self._held += len(fitting)
            keys = keys[len(fitting) :]
            if self._held == self.capacity:
                self.flush()

    def flush(self) -> None:
        """Sort what is in memory, sum it, and write it as a run."""
        if not self._held:
            return
        pairs = self._pairs[: self._held]
        self._held = 0
        pairs.sort()
        starts = _starts(pairs)
        often = np.diff(starts, append=len(pairs))
        distinct = pairs[starts]
        keys, sums = _reduced(distinct // self.window, often / (distinct % self.window + 1))
        self._store(0, [(keys, sums)])
        while len(self.files) >= _AT_ONCE and len({run[0] for run in self.files[-_AT_ONCE:]}) == 1:
            merged = self.files[-_AT_ONCE:]
            del self.files[-_AT_ONCE:]
            self._store(merged[0][0] + 1, self.merged(merged))
            for _, *old in merged:
                for array in old:
                    Path(str(array.filename)).unlink()  # type: ignore[attr-defined]

    def _store(self, level: int, blocks: Any) -> None:
        """Write blocks of keys and sums as a run, and map it."""
        names = [self.folder / f"{self._written}.{what}" for what in ("keys", "sums")]
        self._written += 1
        with names[0].open("wb") as keys_file, names[1].open("wb") as sums_file:
            for keys, sums in blocks:
                keys_file.write(keys.data)  # tofile does not say why a write fails
                sums_file.write(sums.data)
        keys, sums = (
            np.memmap(name, kind, "r") for name, kind in zip(names, ("<i8", "<f8"), strict=True)
        )
        self.files.append((level, keys, sums))

    def merged(self, runs: Sequence[tuple[int, Ints, Sums]]) -> Iterator[tuple[Ints, Sums]]:
        """Yield the keys of several runs in order, each once, and their sums, in blocks."""
        # Blocks end at keys of an evenly spaced sample of every run, which lets each fit into
        # memory.
        longest = max(self.capacity * _PAIR_BYTES // _MERGED_BYTES, 1)
        step = max(1, longest // (2 * len(runs)))
        sample = np.sort(np.concatenate([keys[step - 1 :: step] for _, keys, _ in runs]))
        ends = np.unique(sample[len(runs) - 1 :: len(runs)])
        places = [
            [0, *np.searchsorted(keys, ends, "right").tolist(), len(keys)] for _, keys, _ in runs
        ]
        for block in range(len(ends) + 1):
            parts = [
                (keys[at[block] : at[block + 1]], sums[at[block] : at[block + 1]])
                for (_, keys, sums), at in zip(runs, places, strict=True)
            ]
            keys, sums = (np.concatenate(part) for part in zip(*parts, strict=True))
            order = np.argsort(keys, kind="stable")
            if len(order):
                yield _reduced(keys[order], sums[order])


def _starts(ordered: Ints) -> Ints:
    """Return where each distinct value of a sorted array begins."""
    return np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))


def _reduced(keys: Ints, values: Sums) -> tuple[Ints, Sums]:
    """Sum the values of equal keys, which are in order."""
    starts = _starts(keys)
    return keys[starts], np.add.reduceat(values, starts)


def _deal(runs: _Runs, folder: Path) -> tuple[list[int], int]:
    """Merge all runs and deal the cells at random into files; return sizes and longest row."""
    total = sum(len(keys) for _, keys, _ in runs.files)
    files = -(-2 * total * _CELL_BYTES // (runs.capacity * _PAIR_BYTES))
    rng = np.random.default_rng(files)
    sizes = np.zeros(files, np.int64)
    of_row = np.zeros(runs.words, np.int64)
    for i in range(files):
        _cells_file(folder, i).touch()
    with progress("sorting co-occurrences", total, "pair") as bar:
        for keys, sums in runs.merged(runs.files):
            first, second = keys // runs.words, keys % runs.words
            two = first != second
            rows = np.concatenate([first, second[two]])
            cells = np.empty((len(rows), 3), "<i4")
            cells[:, 0], cells[:, 1] = rows, np.concatenate([second, first[two]])
            values = np.concatenate([np.where(two, sums, 2 * sums), sums[two]])
            cells[:, 2] = values.astype("<f4").view("<i4")
            of_row += np.bincount(rows, minlength=runs.words)
            file_of = rng.integers(files, size=len(cells))
            order = np.argsort(file_of, kind="stable")
            ends = np.cumsum(np.bincount(file_of, minlength=files))
            for i, part in enumerate(np.split(cells[order], ends[:-1])):
                with _cells_file(folder, i).open("ab") as file:
                    file.write(part.data)
                sizes[i] += len(part)
            bar.update(len(keys))
    return sizes.tolist(), int(of_row.max())
