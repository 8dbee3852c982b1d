"""The lexicon: numbers for tokens, unit vectors for numbers, the same unknown vectors for all."""

from __future__ import annotations

import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wordbias import Embedding
from wordbias.nli.lexicon import NULL, UNKNOWN, Lexicon, is_lower, unknown_vectors
from wordbias.nli.pairs import load_pairs

SENTENCES = [("A", "man", "sleeps"), ("A", "woman"), (), ("A", "man", "sleeps"), ("frisbee",)]
WORDS = st.lists(st.sampled_from(["A", "a", "man", "Man", "Tom", "it", "x1", "."]), max_size=6)
EPS = float(np.finfo(np.float32).eps)


def vectors(words: list[str], dim: int = 5, seed: int = 0) -> Embedding:
    x = np.random.default_rng(seed).normal(scale=3, size=(len(words), dim))
    return Embedding(words, x)


def test_tokens_are_numbered_as_they_come() -> None:
    lexicon = Lexicon.of(SENTENCES)
    assert lexicon.tokens == (NULL, "A", "man", "sleeps", "woman", "frisbee")
    assert lexicon.encode(("woman", "A")).tolist() == [0, 4, 1]
    assert lexicon.encode(()).tolist() == [0]


@settings(deadline=None)
@given(st.lists(WORDS, max_size=5), st.sets(st.sampled_from(["a", "man", "tom", "x1"]), min_size=1))
def test_a_token_has_its_unit_vector_or_an_unknown_one(
    sentences: list[list[str]], words: set[str]
) -> None:
    embedding = vectors(sorted(words))
    lexicon = Lexicon.of(sentences)
    table = lexicon.table(embedding)
    assert table.lower
    assert table.vectors.dtype == np.float32
    for token, vector, is_known in zip(lexicon.tokens, table.vectors, table.found, strict=True):
        assert is_known == (token.lower() in words)
        if is_known:
            x = embedding[token.lower()].astype(float)
            np.testing.assert_allclose(vector, x / np.linalg.norm(x), rtol=4 * EPS)
        else:
            np.testing.assert_array_equal(vector, unknown_vectors([token], 5)[0])


def test_the_embedding_is_not_changed() -> None:
    embedding = vectors(["a", "man"])
    before = embedding.vectors.copy()
    Lexicon.of(SENTENCES).table(embedding)
    np.testing.assert_array_equal(embedding.vectors, before)


def test_capitals_are_kept_where_the_embedding_has_some() -> None:
    table = Lexicon.of(SENTENCES).table(vectors(["a", "A", "man", "Woman"]))
    assert not table.lower
    assert table.found.tolist() == [False, True, True, False, False, False]


def test_special_tokens_do_not_make_a_vocabulary_cased() -> None:
    lower = [f"w{i}" for i in range(1000)]
    assert is_lower(vectors([*lower, "UNK", "PAD"]))
    assert not is_lower(vectors([*lower, *(f"W{i}" for i in range(20))]))
    assert is_lower(Embedding.sample())


def test_a_word_called_null_is_not_the_null_token() -> None:
    table = Lexicon.of(SENTENCES).table(vectors([NULL, "man"]))
    np.testing.assert_array_equal(table.vectors[0], unknown_vectors([NULL], 5)[0])
    assert not table.found[0]


def test_unknown_vectors_are_one_hundred_of_length_one_and_null_has_its_own() -> None:
    tokens = [f"token{i}" for i in range(5000)]
    unknown = unknown_vectors([*tokens, NULL], 30)
    distinct = np.unique(unknown[:-1], axis=0)
    assert len(distinct) == UNKNOWN == 100
    assert not (distinct == unknown[-1]).all(1).any()
    lengths = np.linalg.norm(unknown.astype(float), axis=1)
    np.testing.assert_allclose(lengths, 1, rtol=30 * EPS)


def test_unknown_words_are_spread_evenly() -> None:
    """Pearson's statistic of 100 classes has mean 99 and variance 2 · 99."""
    words = Embedding.sample().words
    rows = unknown_vectors(words, 20)
    _, counts = np.unique(rows, axis=0, return_counts=True)
    expected = len(words) / UNKNOWN
    statistic = ((counts - expected) ** 2 / expected).sum()
    assert abs(statistic - 99) < 5 * np.sqrt(2 * 99)


def test_the_hash_of_a_word_is_crc32() -> None:
    """The check value of CRC-32 is published: that of "123456789" is CBF43926."""
    same = next(
        word for i in range(10_000) if zlib.crc32((word := f"w{i}").encode()) % 100
        == 0xCBF43926 % 100
    )  # fmt: skip
    np.testing.assert_array_equal(*unknown_vectors(["123456789", same], 7))


def test_an_unknown_word_has_the_same_vector_in_every_embedding() -> None:
    lexicon = Lexicon.of([("Frisbee", "frisbee", "man")])
    lower, cased = vectors(["man", "x"]), vectors(["Man", "Tom", "y"], seed=1)
    table, other = lexicon.table(lower), lexicon.table(cased)
    assert (table.lower, other.lower) == (True, False)
    for i in (0, 1, 2):
        np.testing.assert_array_equal(table.vectors[i], other.vectors[i])
    np.testing.assert_array_equal(table.vectors[1], table.vectors[2])


@pytest.mark.slow
def test_unknown_vectors_are_the_same_in_every_process() -> None:
    code = (
        "from wordbias.nli.lexicon import unknown_vectors; import sys; "
        "sys.stdout.buffer.write(unknown_vectors(['<null>', 'frisbee', 'caf\\u00e9'], 9).tobytes())"
    )
    stdouts = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[2])},
        ).stdout
        for seed in ("1", "2")
    }
    assert stdouts == {unknown_vectors([NULL, "frisbee", "café"], 9).tobytes()}


@pytest.mark.parametrize("word", ["\ud800", "", "\x00", "日本"])
def test_unusual_words_have_vectors(word: str) -> None:
    assert np.isfinite(unknown_vectors([word], 3)).all()


def test_the_words_of_snli_are_looked_up_one_by_one(shared_data: Path) -> None:
    pairs = load_pairs(shared_data / "nli" / "snli_test.tsv.gz").head(500)
    lexicon = Lexicon.of([*pairs.premises, *pairs.hypotheses])
    sample = Embedding.sample()
    table = lexicon.table(sample)
    expected = [i > 0 and token.lower() in sample for i, token in enumerate(lexicon.tokens)]
    assert table.found.tolist() == expected
