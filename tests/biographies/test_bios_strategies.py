"""Strategies: what each changes, what it leaves unchanged, and the views of its data."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import hypergeom

from wordbias import WordbiasError
from wordbias.biographies.data import (
    DEV_SHARE,
    TEST_SHARE,
    Biographies,
    Parts,
    load_biographies,
    split,
)
from wordbias.biographies.strategies import STRATEGIES, check_strategy, prepare
from wordbias.biographies.synthetic import synthetic
from wordbias.retraining.arms import ORIGINAL, OWN, with_random_changes

PRONOUN = re.compile(r"\b(he|she|him|her|his|hers|himself|herself|mr|mrs|ms)\b", re.IGNORECASE)
BIOS = synthetic(800, seed=3)
PARTS = split(BIOS, 5)


def people(bios: Biographies) -> list[tuple[str, str, str, str]]:
    names = bios.names or ("",) * len(bios)
    columns = (bios.texts, names, bios.label_names(), bios.gender_names())
    return list(zip(*columns, strict=True))


def with_splits(*kinds: str) -> Biographies:
    n = 12 * len(kinds)
    return Biographies.of(
        "made up",
        [f"text {i}" for i in range(n)],
        [("x", "y")[i % 2] for i in range(n)],
        [("F", "F", "M", "M")[i % 4] for i in range(n)],
        splits=[kinds[i // 12] for i in range(n)],
    )


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_a_drawn_split_is_a_partition_with_the_shares_of_the_classes(seed: int) -> None:
    parts = split(BIOS, seed)
    assert sorted(person for part in parts for person in people(part)) == sorted(people(BIOS))
    sizes = np.array([part.counts().sum(axis=1) for part in parts])
    # scikit-learn gives each class its share, rounded down or up
    expected = BIOS.counts().sum(axis=1) * TEST_SHARE
    assert (np.abs(sizes[2] - expected) < 1).all()
    rest = sizes[0] + sizes[1]
    assert (np.abs(sizes[1] - rest * DEV_SHARE) < 1).all()
    assert len(parts.test) == np.ceil(TEST_SHARE * len(BIOS))
    assert len(parts.dev) == np.ceil(DEV_SHARE * rest.sum())
    redrawn = split(BIOS, seed)
    assert [part.sha256 for part in parts] == [part.sha256 for part in redrawn]


def test_another_seed_draws_another_split() -> None:
    assert split(BIOS, 6).test.sha256 != PARTS.test.sha256


def test_the_split_of_the_file_is_kept_whatever_the_seed() -> None:
    bios = with_splits("test", "train", "dev", "train")
    for seed in (0, 1):
        train, dev, test = split(bios, seed)
        assert test.texts == bios.texts[:12]
        assert dev.texts == bios.texts[24:36]
        assert train.texts == bios.texts[12:24] + bios.texts[36:]


def test_a_missing_development_part_is_drawn_of_the_training_part() -> None:
    bios = with_splits("train", "test", "train")
    train, dev, test = split(bios, 0)
    assert test.texts == bios.texts[12:24]
    assert len(dev) == np.ceil(DEV_SHARE * 24)
    assert sorted(train.texts + dev.texts) == sorted(bios.texts[:12] + bios.texts[24:])
    assert train.texts == tuple(t for t in bios.texts if t in train.texts)  # the file's order


@pytest.mark.parametrize("kinds", [("dev", "train"), ("dev", "test")])
def test_a_split_without_training_or_test_part(kinds: Sequence[str]) -> None:
    lacking = "test" if "test" not in kinds else "train"
    message = (
        f"of 24 biographies none is for {lacking}: the column of splits says {', '.join(kinds)}"
    )
    with pytest.raises(WordbiasError, match=message):
        split(with_splits(*kinds), 0)


def test_a_class_too_small_to_be_split_is_named() -> None:
    bios = Biographies.of("made up", "abcdef", "xxxxxy", "FMFMFM")
    with pytest.raises(WordbiasError, match=r"made up: 25 % cannot be drawn of 6 .* y has 1, "):
        split(bios, 0)


@pytest.mark.parametrize("strategy", [*STRATEGIES, "scrub+subsample", "swap+oversample"])
def test_tests_are_balanced_and_retraining_is_not(strategy: str) -> None:
    prepared = prepare(PARTS, strategy, 2)
    rewrites = strategy.startswith("scrub")
    assert set(prepared.views) == ({OWN, ORIGINAL} if rewrites else {OWN})
    for name, view in prepared.views.items():
        counts = view.test.counts()
        assert (counts[:, 0] == counts[:, 1]).all()
        assert counts[:, 0].tolist() == PARTS.test.counts().min(axis=1).tolist()
        for part, whole in zip(view, (PARTS.train, PARTS.dev, None, PARTS.test), strict=True):
            if whole is not None:
                assert part.labels.tolist() == whole.labels.tolist()
                assert part.genders.tolist() == whole.genders.tolist()
                assert (part.texts == whole.texts) == (name == ORIGINAL or not rewrites)
        assert set(people(view.test)) <= set(people(view.probe))


def test_every_strategy_is_tested_on_the_same_people() -> None:
    tested = {prepare(PARTS, name, 2).views[OWN].test.names for name in STRATEGIES}
    assert len(tested) == 1


def test_none_changes_nothing() -> None:
    prepared = prepare(PARTS, "none", 2)
    assert prepared.train is PARTS.train
    assert prepared.dev is PARTS.dev


def test_subsampling_keeps_as_many_of_each_as_there_are_of_the_fewer() -> None:
    prepared = prepare(PARTS, "subsample", 2)
    for part, whole in ((prepared.train, PARTS.train), (prepared.dev, PARTS.dev)):
        fewer = whole.counts().min(axis=1)
        assert part.counts().T.tolist() == [fewer.tolist()] * 2
        assert not Counter(people(part)) - Counter(people(whole))


def test_oversampling_leaves_nobody_out_and_repeats_only_the_fewer() -> None:
    prepared = prepare(PARTS, "oversample", 2)
    for part, whole in ((prepared.train, PARTS.train), (prepared.dev, PARTS.dev)):
        counts = whole.counts()
        more = np.where(counts > 0, counts.max(axis=1, keepdims=True), 0)  # of nobody, nobody
        assert part.counts().tolist() == more.tolist()
        given, drawn = Counter(people(whole)), Counter(people(part))
        assert not given - drawn
        larger = {(label, "FM"[int(g)]) for label, g in enumerate(whole.counts().argmax(axis=1))}
        for person in drawn - given:
            assert (whole.classes.index(person[2]), person[3]) not in larger


def test_balancing_draws_by_its_seed() -> None:
    first, same, other = (prepare(PARTS, "subsample", seed).train for seed in (0, 0, 1))
    assert first.sha256 == same.sha256 != other.sha256


def test_scrubbing_takes_gendered_words_and_own_names() -> None:
    prepared = prepare(PARTS, "scrub", 0)
    own, original = prepared.views[OWN], prepared.views[ORIGINAL]
    assert prepared.train.texts == own.original_train.texts
    assert prepared.dev.texts == own.original_dev.texts
    husbands = [text for text in original.probe.texts if "husband" in text]
    assert husbands
    assert original.probe.names is not None
    for text, was, name in zip(
        own.probe.texts, original.probe.texts, original.probe.names, strict=True
    ):
        assert not PRONOUN.search(text)
        assert not set(re.findall(r"\w+", text)) & {"husband", "wife", *name.split()}
        pieces = [re.escape(part) for part in re.split(r"_", text)]
        assert re.fullmatch(r"[^\W_]+".join(pieces), was)


def test_scrubbing_as_published_leaves_husbands() -> None:
    texts = prepare(PARTS, "scrub-as-published", 0).train.texts
    assert any("husband" in text for text in texts)
    assert not any(PRONOUN.search(text) for text in texts)


def test_without_names_only_gendered_words_are_scrubbed() -> None:
    bios = Biographies.of("made up", ["Ann says her piece."] * 4, "xxyy", "FMFM")
    prepared = prepare(Parts(bios, bios, bios), "scrub", 0)
    assert set(prepared.train.texts) == {"Ann says _ piece."}


def test_swapping_adds_everyone_with_the_other_gender() -> None:
    prepared = prepare(PARTS, "swap", 0)
    for part, whole in ((prepared.train, PARTS.train), (prepared.dev, PARTS.dev)):
        n = len(whole)
        assert people(part)[:n] == people(whole)
        assert part.labels[n:].tolist() == whole.labels.tolist()
        assert (part.genders[n:] == 1 - whole.genders).all()
        assert (part.counts()[:, 0] == part.counts()[:, 1]).all()
    words = [set(re.findall(r"\w+", text.lower())) for text in prepared.train.texts]
    for here, there in zip(words, words[len(PARTS.train) :], strict=False):
        assert ("she" in here) == ("he" in there)
        assert ("husband" in here) == ("wife" in there)


def test_joined_strategies_do_both() -> None:
    prepared = prepare(PARTS, "scrub+subsample", 2)
    alone = prepare(PARTS, "subsample", 2)
    assert prepared.train.names == alone.train.names
    assert not any(PRONOUN.search(text) for text in prepared.train.texts)
    both = prepare(PARTS, "subsample+scrub", 2)
    assert both.train.sha256 == prepared.train.sha256


@pytest.mark.parametrize(
    ("strategy", "said"),
    [
        ("scrubbing", "expected none, subsample, oversample, scrub, scrub-as-published, swap, or"),
        ("", "found ''"),
        ("scrub+", "found ''"),
        ("subsample+oversample", "do not go together"),
        ("scrub+scrub-as-published", "do not go together"),
        ("none+scrub", "none alone"),
        ("swap+swap", "do not go together"),
    ],
)
def test_a_strategy_that_makes_no_sense(strategy: str, said: str) -> None:
    with pytest.raises(WordbiasError, match=said):
        check_strategy(strategy)
    with pytest.raises(WordbiasError, match=said):
        prepare(PARTS, strategy, 0)


JOINED = ("scrub+subsample", "swap+oversample", "swap+subsample", "scrub-as-published+swap")


@pytest.mark.parametrize("strategy", [*STRATEGIES[1:], *JOINED])
def test_a_random_change_has_the_size_of_its_strategy(strategy: str) -> None:
    """Each class keeps as many people, and each text as many words."""
    of_strategy, random = (prepare(PARTS, name, 2) for name in (strategy, f"random-{strategy}"))
    assert of_strategy.views.keys() == random.views.keys()
    for by_strategy, other in ((of_strategy.train, random.train), (of_strategy.dev, random.dev)):
        assert by_strategy.counts().sum(axis=1).tolist() == other.counts().sum(axis=1).tolist()
    for name, view in of_strategy.views.items():
        for part, masked in zip(view, random.views[name], strict=True):
            assert part.names == masked.names
            for text, at_random in zip(part.texts, masked.texts, strict=True):
                assert text.count("_") == at_random.count("_")
                assert len(text.split()) == len(at_random.split())


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_a_random_balance_does_not_regard_gender(seed: int) -> None:
    """The number of women it keeps is hypergeometric, class by class: within five deviations."""
    prepared, whole = prepare(PARTS, "random-subsample", seed).train, PARTS.train
    women, sizes = whole.counts()[:, 0], whole.counts().sum(axis=1)
    drawn = prepared.counts().sum(axis=1)
    assert not Counter(people(prepared)) - Counter(people(whole))
    known = hypergeom(sizes, women, drawn)
    assert (np.abs(prepared.counts()[:, 0] - known.mean()) <= 5 * known.std() + 1e-9).all()


def test_a_random_mask_depends_on_text_and_seed_alone() -> None:
    first, other = prepare(PARTS, "random-scrub", 2), prepare(PARTS, "random-scrub", 3)
    own, original = first.views[OWN], first.views[ORIGINAL]
    masked = dict(zip(original.probe.texts, own.probe.texts, strict=True))
    assert own.test.texts == tuple(masked[text] for text in original.test.texts)
    assert own.probe.texts != other.views[OWN].probe.texts
    left = sum(len(PRONOUN.findall(text)) for text in own.probe.texts)
    whole = sum(len(PRONOUN.findall(text)) for text in original.probe.texts)
    assert 0 < left < whole


def test_a_random_repeat_changes_no_text() -> None:
    prepared = prepare(PARTS, "random-swap", 0)
    assert prepared.train.texts == (*PARTS.train.texts, *PARTS.train.texts)


def test_what_changes_nothing_has_no_random_change() -> None:
    with pytest.raises(WordbiasError, match="'random-none': none changes nothing"):
        check_strategy("random-none")
    strategies = ("none", "scrub", "random-scrub", "subsample")
    assert with_random_changes(strategies) == (*strategies, "random-subsample")
    with pytest.raises(WordbiasError, match="no strategy given changes anything"):
        with_random_changes(["none"])


def test_what_cannot_be_balanced_is_told() -> None:
    bios = Biographies.of("made up", "abcd", "xxyy", "FFMM")
    with pytest.raises(WordbiasError, match=r"made up: no class has both women and men among 4"):
        prepare(Parts(bios, bios, bios), "none", 0)


def test_the_real_biographies(shared_data: Path) -> None:
    bios = load_biographies(shared_data / "bios" / "bios_surgeon_nurse.tsv.gz")
    parts = split(bios, 0)
    assert [len(part) for part in parts] == [bios.splits.count(k) for k in ("train", "dev", "test")]
    prepared = prepare(parts, "scrub+subsample", 0)
    assert (np.diff(prepared.train.counts(), axis=1) == 0).all()
    left = {word for text in prepared.train.texts for word in PRONOUN.findall(text)}
    assert left <= {"MS"}  # the degree
