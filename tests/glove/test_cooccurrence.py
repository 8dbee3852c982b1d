"""Co-occurrences: equal to a plain double loop, whatever the memory, the lines and the window."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wordbias.data import sample_path
from wordbias.errors import WordbiasError
from wordbias.glove import Cooccurrences, Corpus, count
from wordbias.glove import cooccurrence as module
from wordbias.glove import corpus as corpus_module
from wordbias.glove.corpus import count_words

TEXTS = st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=12), min_size=1, max_size=30)


def write(folder: Path, lines: Sequence[Sequence[str]]) -> Path:
    path = folder / "corpus.txt"
    path.write_text("".join(f"{' '.join(line)}\n" for line in lines))
    return path


def plain_loop(
    lines: Sequence[Sequence[str]], words: Sequence[str], window: int
) -> dict[tuple[int, int], float]:
    """Add 1/k for every pair of tokens k apart, once for each of both as the centre."""
    row = {word: i for i, word in enumerate(words)}
    sums: Counter[tuple[int, int]] = Counter()
    for line in lines:
        known = [row[word] for word in line if word in row]
        for i, centre in enumerate(known):
            for j, context in enumerate(known):
                if i != j and abs(i - j) <= window:
                    sums[centre, context] += 1 / abs(i - j)  # type: ignore[assignment]
    return dict(sums)


def matrix(counts: Cooccurrences) -> dict[tuple[int, int], float]:
    sums: dict[tuple[int, int], float] = {}
    for i in range(len(counts.sizes)):
        for row, column, value in zip(*(part.tolist() for part in counts.read(i)), strict=True):
            assert (row, column) not in sums
            sums[row, column] = value
    return sums


@settings(max_examples=25, deadline=None)
@given(lines=TEXTS, window=st.integers(1, 12), memory=st.sampled_from([1, 3_000, 1 << 20]))
def test_counts_are_those_of_a_plain_double_loop(
    tmp_path_factory: pytest.TempPathFactory, lines: list[list[str]], window: int, memory: int
) -> None:
    folder = tmp_path_factory.mktemp("counts")
    frequency = Counter(word for line in lines for word in line)
    words = sorted((w for w in frequency if frequency[w] >= 2), key=lambda w: (-frequency[w], w))
    expected = plain_loop(lines, words, window)
    corpus = Corpus.open([write(folder, [["z"], *lines])])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("wordbias.formats.files._sync", lambda _: None)  # a disk takes its time
        patch.setattr(module, "_LEAST", 7)  # pairs in memory: many runs, merged by sixteens
        if not expected:
            with pytest.raises(WordbiasError, match="min-count"):
                count(corpus, folder / "made", window=window, min_count=2, memory=memory)
            assert not (folder / "made").exists()
            return
        counts = count(corpus, folder / "made", window=window, min_count=2, memory=memory)
    assert counts.vocabulary.words == tuple(words)
    assert counts.vocabulary.counts == tuple(frequency[word] for word in words)
    assert counts.vocabulary.tokens == sum(frequency.values()) + 1
    sums = matrix(counts)
    assert sums.keys() == expected.keys()
    for cell, value in expected.items():
        assert sums[cell] == pytest.approx(value, rel=1e-6)
    assert counts.most == max(Counter(row for row, _ in expected).values())
    assert not list(folder.glob("**/work"))


def test_long_text_in_chunks_is_counted_as_in_one_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    lines = [[f"é{i}" for i in rng.integers(40, size=n)] for n in (700, 1, 0, 300)]
    corpus = Corpus.open([write(tmp_path, lines)])
    monkeypatch.setattr("wordbias.formats.source.CHUNK", 17)
    counts = count(corpus, tmp_path / "made", min_count=1, memory=1 << 16)
    expected = plain_loop(lines, counts.vocabulary.words, 10)
    sums = matrix(counts)
    assert sums.keys() == expected.keys()
    np.testing.assert_allclose([sums[cell] for cell in expected], [*expected.values()], rtol=1e-6)


def test_merging_takes_no_more_than_fits_into_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    corpus = Corpus.open([write(tmp_path, rng.integers(300, size=(40, 400)).astype(str).tolist())])
    longest: list[int] = []
    reduced = module._reduced

    def watched(keys: module.Ints, values: module.Sums) -> tuple[module.Ints, module.Sums]:
        longest.append(len(keys))
        return reduced(keys, values)

    monkeypatch.setattr(module, "_reduced", watched)
    memory = 1 << 19
    counts = count(corpus, tmp_path / "made", min_count=1, memory=memory)
    assert len(longest) > 20
    assert max(longest) <= memory // module._PAIR_BYTES
    assert max(counts.sizes) * module._CELL_BYTES < 1.2 * memory


def test_words_that_do_not_fit_into_memory_are_counted_on_disk(tmp_path: Path) -> None:
    lines = [[f"w{i % 97}", "the", "\u00e9t\u00e9"] for i in range(5_000)]
    corpus = Corpus.open([write(tmp_path, lines)])
    large = count(corpus, tmp_path / "large", min_count=52)
    small = count(corpus, tmp_path / "small", min_count=52, memory=1_000)
    assert large.vocabulary == small.vocabulary
    assert large.vocabulary.words[:2] == ("the", "\u00e9t\u00e9")
    assert large.vocabulary.distinct == 99
    assert 0 < len(large.vocabulary.words) < 99


def test_words_in_more_parts_than_files_can_be_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [[f"w{i % 97}", "the", "\u00e9t\u00e9"] for i in range(600)]
    corpus = Corpus.open([write(tmp_path, lines)])
    large = count_words(corpus, tmp_path)
    monkeypatch.setattr("wordbias.formats.source.CHUNK", 64)
    monkeypatch.setattr("wordbias.glove.corpus._AT_ONCE", 5)
    opened: list[int] = []
    original = corpus_module._read_part

    def read_part(path: Path, stack: Any) -> Any:
        opened.append(len(list(tmp_path.glob("words-*"))))
        return original(path, stack)

    monkeypatch.setattr(corpus_module, "_read_part", read_part)
    assert count_words(corpus, tmp_path, memory=1) == large
    assert len(opened) > 50
    assert max(opened) == 5
    assert [path.name for path in tmp_path.iterdir()] == ["corpus.txt"]


@pytest.mark.parametrize("limit", [256, 4096])
def test_a_disk_that_is_full_is_named(tmp_path: Path, limit: int) -> None:
    resource = pytest.importorskip("resource", reason="no limits of files on this system")
    rng = np.random.default_rng(2)
    corpus = Corpus.open([write(tmp_path, rng.integers(60, size=(20, 90)).astype(str).tolist())])
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        with pytest.raises(WordbiasError, match="made: could not be written: File too large"):
            count(corpus, tmp_path / "made", min_count=1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [path.name for path in tmp_path.iterdir()] == ["corpus.txt"]


def test_batches_have_every_cell_once_in_an_order_of_seed_and_epoch(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    corpus = Corpus.open([write(tmp_path, rng.integers(60, size=(20, 90)).astype(str).tolist())])
    counts = count(corpus, tmp_path / "made", min_count=1, memory=1 << 16)
    assert len(counts.sizes) > 1

    def drawn(seed: int, epoch: int) -> list[tuple[int, int, float]]:
        batches = list(counts.batches(seed, epoch, 100))
        assert len(batches) == counts.steps(100)
        columns = [np.concatenate(part).tolist() for part in zip(*batches, strict=True)]
        return list(zip(*columns, strict=True))

    first = drawn(0, 0)
    assert first == drawn(0, 0)
    assert first != drawn(0, 1)
    assert first != drawn(1, 0)
    assert {(i, j): x for i, j, x in first} == matrix(counts)
    assert sorted(first) == sorted(drawn(0, 1))
    rows = [row for row, *_ in first]
    assert rows != sorted(rows)


def test_files_and_their_lines_are_separate(tmp_path: Path) -> None:
    for name, text in (("one", "a b\nc"), ("two", "d e")):
        (tmp_path / name).write_text(text)
    counts = count(
        Corpus.open([tmp_path / "one", tmp_path / "two"]), tmp_path / "made", min_count=1
    )
    words = counts.vocabulary.words
    assert {(words[i], words[j]) for i, j in matrix(counts)} == {
        *(("a", "b"), ("b", "a"), ("d", "e"), ("e", "d"))
    }


@pytest.fixture
def counts(tmp_path: Path) -> Cooccurrences:
    return count(Corpus.open([write(tmp_path, [["a", "b", "a"]])]), tmp_path / "made", min_count=1)


def test_stored_counts_are_loaded_as_they_were(counts: Cooccurrences) -> None:
    loaded = Cooccurrences.load(counts.folder)
    assert loaded == counts
    assert matrix(loaded) == {(0, 1): 2.0, (1, 0): 2.0, (0, 0): 1.0}


def test_damaged_counts_are_refused(counts: Cooccurrences) -> None:
    cells = counts.folder / "cells-0000.bin"
    facts = counts.folder / "counts.json"
    cells.write_bytes(cells.read_bytes()[:-1])
    with pytest.raises(WordbiasError, match="incomplete; remove the folder"):
        Cooccurrences.load(counts.folder)
    known = json.loads(facts.read_text())
    for broken in ("{", "[]", json.dumps({**known, "sizes": 3})):
        facts.write_text(broken)
        with pytest.raises(WordbiasError, match="damaged co-occurrences"):
            Cooccurrences.load(counts.folder)
    facts.unlink()
    with pytest.raises(WordbiasError, match="holds no co-occurrences"):
        Cooccurrences.load(counts.folder)


@pytest.mark.parametrize(
    "wrong",
    [
        {"most": 0},
        {"most": -1},
        {"most": "many"},
        {"most": 10**9},
        {"tokens": None},
        {"distinct": 1.5},
        {"sizes": []},
        {"sizes": ["1"]},
        {"about": None},
        {"about": "text"},
    ],
)
def test_facts_that_no_count_writes_are_refused(
    wrong: dict[str, Any], counts: Cooccurrences
) -> None:
    path = counts.folder / "counts.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **wrong}))
    with pytest.raises(WordbiasError, match=r"co-occurrences .*remove the folder"):
        Cooccurrences.load(counts.folder)


def test_facts_nested_too_deep_and_words_named_twice_are_refused(counts: Cooccurrences) -> None:
    words = counts.folder / "vocabulary.txt"
    first, second, *others = words.read_text().splitlines(keepends=True)
    words.write_text("".join([first, first, *others]))
    with pytest.raises(WordbiasError, match="incomplete; remove the folder"):
        Cooccurrences.load(counts.folder)
    words.write_text("".join([first, second, *others]))
    (counts.folder / "counts.json").write_text("[" * 100_000)
    with pytest.raises(WordbiasError, match=r"damaged co-occurrences .*remove the folder"):
        Cooccurrences.load(counts.folder)


@pytest.mark.parametrize(
    ("column", "value"),
    [(0, 10**6), (0, -1), (1, 10**6), (1, -7)] + [(2, x) for x in (0.0, -1.0, np.nan, np.inf)],
)
def test_cells_that_no_count_writes_are_refused(
    column: int, value: float, counts: Cooccurrences
) -> None:
    path = counts.folder / "cells-0000.bin"
    cells = np.fromfile(path, "<i4").reshape(-1, 3)
    if column == 2:
        cells[:, 2].view("<f4")[1] = value
    else:
        cells[1, column] = value
    cells.tofile(path)
    damaged = Cooccurrences.load(counts.folder)
    with pytest.raises(WordbiasError, match=r"cells-0000\.bin: holds damaged .*remove the folder"):
        list(damaged.batches(0, 0, 100))
    with pytest.raises(WordbiasError, match=r"cells-0000\.bin: holds damaged"):
        damaged.read(0)


def test_a_folder_that_exists_is_not_written_over(counts: Cooccurrences, tmp_path: Path) -> None:
    with pytest.raises(WordbiasError, match="exists already"):
        count(Corpus.open([tmp_path / "corpus.txt"]), counts.folder, min_count=1)


def test_an_interrupted_count_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "_deal", interrupt)
    corpus = Corpus.open([write(tmp_path, [["a", "b"]])])
    with pytest.raises(KeyboardInterrupt):
        count(corpus, tmp_path / "made", min_count=1)
    assert [path.name for path in tmp_path.iterdir()] == ["corpus.txt"]


def test_too_many_words_for_64_bits_are_refused(tmp_path: Path) -> None:
    with pytest.raises(WordbiasError, match="--max-vocab"):
        module._Runs(tmp_path, 1 << 31, 10, 1 << 20)


def test_vectors_are_no_text(tmp_path: Path) -> None:
    with pytest.raises(WordbiasError, match=r"sample\.safetensors: line 1: "):
        count(Corpus.open([sample_path()]), tmp_path / "made")
