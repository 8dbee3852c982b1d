"""Iterative extra scrubbing: it finds the words that say the group, and takes them out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wordbias.errors import WordbiasError
from wordbias.outcomes.records import RecordFile
from wordbias.outcomes.scrub import (
    MIN_TEXTS,
    BagCounter,
    Bags,
    ExtraScrubber,
    Settings,
    find_words,
    held_out,
    strongest_words,
)

QUICK = Settings(rounds=3, per_round=1, splits=2)
TEXTS = st.lists(st.text("abA .1'é", max_size=12), min_size=1, max_size=8)


def bags_of_words(texts: Iterable[str], min_texts: int = MIN_TEXTS) -> Bags:
    """Count the words of texts, without those of fewer than `min_texts`."""
    counter = BagCounter()
    for text in texts:
        counter.add(text)
    return counter.bags(min_texts)


def planted(n: int = 120, seed: int = 0) -> tuple[list[str], list[str]]:
    """Texts of neutral words; one word says F nearly always, a second one often."""
    rng = np.random.default_rng(seed)
    texts, groups = [], []
    for i in range(n):
        group = "FM"[i % 2]
        words = list(rng.choice(["alpha", "beta", "gamma", "delta", "eps"], 6))
        words += ["Sorority"] * (group == "F" and rng.random() < 0.95)
        words += ["ballet"] * (rng.random() < (0.75 if group == "F" else 0.1))
        texts.append(" ".join(rng.permutation(words)))
        groups.append(group)
    return texts, groups


@settings(deadline=None)
@given(TEXTS, st.integers(1, 3))
def test_bags_are_counts(texts: list[str], least: int) -> None:
    """Written from the definition."""
    counted = [
        Counter("".join(c if c.isalpha() else " " for c in t).lower().split()) for t in texts
    ]
    often = Counter(word for bag in counted for word in bag)
    words = sorted(word for word, count in often.items() if count >= least)
    bags = bags_of_words(texts, least)
    assert list(bags.words) == words
    assert bags.counts.toarray().tolist() == [[bag[word] for word in words] for bag in counted]


@settings(deadline=None)
@given(TEXTS, st.sets(st.sampled_from(["a", "b", "ab", "aé", "é"])))
def test_scrubbing_words_is_leaving_out_their_columns(texts: list[str], words: set[str]) -> None:
    """Which is why no text is read twice."""
    scrubber = ExtraScrubber({"": frozenset(words)})
    scrubbed = bags_of_words((scrubber(text)[0] for text in texts), 1)
    without = bags_of_words(texts, 1).without(words)
    assert scrubbed.words == without.words
    assert (scrubbed.counts != without.counts).nnz == 0


@given(st.lists(st.integers(0, 2), min_size=3, max_size=60))
def test_a_quarter_of_each_group_is_held_out(codes: list[int]) -> None:
    groups = np.array(codes)
    held = held_out(groups, np.random.default_rng(0))
    for group in set(codes):
        n = int((groups == group).sum())
        assert held[groups == group].sum() == max(1, round(n / 4))


def test_the_planted_words_are_found_the_stronger_one_first() -> None:
    texts, groups = planted()
    strongest = strongest_words(bags_of_words(texts), groups, QUICK)
    assert [turn.words["F"][0][0] for turn in strongest.rounds[:2]] == ["sorority", "ballet"]
    accuracies = [turn.accuracy for turn in strongest.rounds]
    assert accuracies[0] > accuracies[1] > accuracies[2]
    assert strongest.rounds[-1].words == {} or len(strongest.rounds) == QUICK.rounds + 1
    assert {"sorority", "ballet"} <= strongest.words()


def test_a_word_that_is_taken_out_is_not_found_again() -> None:
    texts, groups = planted()
    strongest = strongest_words(bags_of_words(texts), groups, Settings(3, 1, 2, until=0))
    taken = [w for turn in strongest.rounds for words in turn.words.values() for w, _ in words]
    assert len(taken) == len(set(taken)) >= 3
    assert strongest.stopped == "3 rounds"
    assert len(strongest.rounds) == 4
    assert strongest.rounds[-1].words == {}


def test_why_it_stops() -> None:
    texts, groups = planted()
    bags = bags_of_words(texts)
    done = strongest_words(bags, groups, Settings(splits=1, until=1))
    assert (len(done.rounds), done.stopped) == (1, "the accuracy fell to 1.000")
    assert done.words() == frozenset()
    done = strongest_words(bags, groups, Settings(rounds=50, per_round=9, splits=1, until=0))
    assert done.stopped in ("no word is left that says the group", "the accuracy fell to 0.000")


def test_it_is_deterministic_and_seeds_decide() -> None:
    texts, groups = planted()
    bags = bags_of_words(texts)
    first, repeat = (strongest_words(bags, groups, QUICK) for _ in range(2))
    assert first == repeat
    other = strongest_words(bags, groups, Settings(3, 1, 2, seed=1))
    assert [turn.words for turn in other.rounds] != [turn.words for turn in first.rounds]


def test_three_groups() -> None:
    rng = np.random.default_rng(0)
    groups = [f"g{i % 3}" for i in range(90)]
    words = ["one", "two", "three"]
    texts = [f"{rng.choice(words)} word{'abc'[i % 3]}" for i in range(90)]
    strongest = strongest_words(bags_of_words(texts), groups, Settings(1, 1, 2))
    assert {g: w[0][0] for g, w in strongest.rounds[0].words.items()} == {
        "g0": "worda",
        "g1": "wordb",
        "g2": "wordc",
    }
    assert strongest.rounds[0].accuracy == 1


def test_a_small_group_does_not_go_unheard() -> None:
    """Of 20 in 200 the accuracy is balanced: naming the larger group always would be 1/2."""
    texts = ["alpha beta"] * 180 + ["alpha gamma"] * 20
    groups = ["M"] * 180 + ["F"] * 20
    strongest = strongest_words(bags_of_words(texts), groups, Settings(2, 2, 2))
    assert strongest.rounds[0].accuracy == 1
    assert strongest.rounds[1].accuracy == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (["F"] * 20, "expected two groups or more, found only 'F'"),
        ([], "expected two groups or more, found no text"),
        (["F"] * 20 + ["M"] * 7, "group 'M' has 7 texts, and a part is held out; at least 8"),
    ],
)
def test_groups_that_are_too_few(groups: list[str], message: str) -> None:
    with pytest.raises(WordbiasError, match=message):
        strongest_words(bags_of_words(["a b"] * len(groups)), groups, QUICK)


@pytest.fixture
def file(tmp_path: Path) -> RecordFile:
    """Return texts in which what says the group depends on the job."""
    lines = []
    for job, swapped in (("nurse", False), ("surgeon", True)):
        texts, groups = planted(80)
        groups = ["MF"[g == "M"] if swapped else g for g in groups]
        lines += [f"{job}\t{g}\t{text}\n" for g, text in zip(groups, texts, strict=True)]
    path = tmp_path / "in.tsv"
    path.write_text("job\tg\ttext\n" + "".join(lines))
    return RecordFile.open(path, columns=["job", "g"])


def test_words_are_found_within_each_occupation(file: RecordFile) -> None:
    within = find_words(file, "text", "g", "job", QUICK)
    assert list(within) == ["nurse", "surgeon"]
    assert within["nurse"].rounds[0].words["F"][0][0] == "sorority"
    assert within["surgeon"].rounds[0].words["M"][0][0] == "sorority"
    over_all = find_words(file, "text", "g", None, QUICK)[""]
    assert over_all.n == 160
    assert over_all.rounds[0].accuracy < within["nurse"].rounds[0].accuracy


def test_the_words_of_a_job_are_taken_out_of_its_texts_only() -> None:
    scrubber = ExtraScrubber({"nurse": frozenset(("ma",))}, "job", "#")
    assert scrubber("An MA of man", {"job": "nurse"}) == ("An # of man", ["ma"])
    assert scrubber("An MA of man", {"job": "surgeon"}) == ("An MA of man", [])


def test_which_job_has_too_few(file: RecordFile) -> None:
    rows = [record for record in file if record["job"] == "nurse" or record["g"] == "M"]
    with pytest.raises(WordbiasError, match="by 'g' where job is 'surgeon': expected two groups"):
        find_words(rows, "text", "g", "job", QUICK)
