"""Batches: every pair once, in an order that the seed decides, with pairs of like length."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wordbias.nli import lexicon as batches
from wordbias.nli.lexicon import Encoded, Ints, Lexicon
from wordbias.nli.pairs import Pairs

SENTENCES = st.lists(st.lists(st.sampled_from("abcdef"), max_size=7).map(tuple), min_size=1)


def encoded(count: int, seed: int = 0) -> Encoded:
    """Pairs with lengths as real ones have them."""
    rng = np.random.default_rng(seed)
    sides = [
        [tuple(rng.choice(list("abcdefghij"), n)) for n in rng.poisson(mean, count)]
        for mean in (14, 8)
    ]
    pairs = Pairs(*sides, rng.integers(0, 3, count))
    return Encoded.of(pairs, Lexicon.of([*sides[0], *sides[1]]))


@settings(deadline=None)
@given(SENTENCES, st.data())
def test_each_distinct_sentence_is_encoded_once(
    sentences: list[tuple[str, ...]], data: st.DataObject
) -> None:
    hypotheses = data.draw(st.permutations(sentences))
    labels = np.arange(len(sentences)) % 3
    lexicon = Lexicon.of(sentences)
    encoding = Encoded.of(Pairs(sentences, hypotheses, labels), lexicon)
    assert len(encoding) == len(sentences)
    assert len(encoding.sentences.length) == len(set(sentences))
    for side, texts in ((encoding.premise, sentences), (encoding.hypothesis, hypotheses)):
        for row, text in zip(side, texts, strict=True):
            start, length = encoding.sentences.start[row], encoding.sentences.length[row]
            ids = encoding.sentences.flat[start : start + length]
            np.testing.assert_array_equal(ids, lexicon.encode(text))


@pytest.mark.parametrize("count", [1, 31, 32, 33, 300])
@pytest.mark.parametrize("pool", [1, 96, 1 << 16])
def test_an_epoch_has_every_pair_once(
    count: int, pool: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "POOL", pool)
    pairs = encoded(count)
    order = pairs.order(32, seed=0, epoch=0)
    assert sorted(np.concatenate(order)) == list(range(count))
    sizes = [len(batch) for batch in order]
    assert sizes == [32] * (count // 32) + [count % 32] * (count % 32 > 0)


def _same(one: list[Ints], other: list[Ints]) -> bool:
    return all(map(np.array_equal, one, other))


def test_the_order_depends_on_seed_and_epoch() -> None:
    pairs = encoded(400)
    first = pairs.order(16, 1, 0)
    assert _same(first, pairs.order(16, 1, 0))
    assert not _same(first, pairs.order(16, 1, 1))
    assert not _same(first, pairs.order(16, 2, 0))


def test_batches_come_in_random_order_of_length() -> None:
    """A correlation of place and length as far from 0 as this has p < 1e-6 by chance."""
    pairs = encoded(3200)
    length = pairs.sentences.length
    order = pairs.order(16, 0, 0)
    means = [length[pairs.premise[batch]].mean() for batch in order]
    r = np.corrcoef(np.arange(len(means)), means)[0, 1]
    assert abs(r) < 5 / np.sqrt(len(means))


def _padded(pairs: Encoded, order: list[Ints]) -> int:
    """Count the places of padded batches."""
    return sum(
        len(batch) * int(pairs.sentences.length[side[batch]].max())
        for batch in order
        for side in (pairs.premise, pairs.hypothesis)
    )


def test_batches_of_like_length_need_little_padding() -> None:
    """Premises are sorted: a batch spans two lengths at most, unless they are rare."""
    pairs = encoded(6400)
    length = pairs.sentences.length[pairs.premise]
    order = pairs.order(32, 0, 0)
    spans = [length[batch].max() - length[batch].min() for batch in order]
    common = np.bincount(length).max() // 32
    assert np.median(spans) <= 1 < common
    drawn = np.array_split(np.random.default_rng(0).permutation(6400), 200)
    assert _padded(pairs, order) < _padded(pairs, drawn)
    real = length.sum() + pairs.sentences.length[pairs.hypothesis].sum()
    assert real <= _padded(pairs, order)


def test_reading_in_order_of_length_reads_every_pair_once() -> None:
    pairs = encoded(333)
    order = list(pairs.in_order_of_length(50))
    assert sorted(np.concatenate(order)) == list(range(333))
    length = pairs.sentences.length[pairs.premise[np.concatenate(order)]]
    assert (np.diff(length) >= 0).all()
