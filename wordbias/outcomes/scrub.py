"""Scrubbing: texts without the words that tell somebody's gender (De-Arteaga et al. 2019)."""

from __future__ import annotations

import re
import sys
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.outcomes.records import Record
from wordbias.outcomes.rewrite import Change
from wordbias.progress import progress
from wordbias.rendering import how_many
from wordbias.wordlists import names
from wordbias.wordlists.rewriting import swaps, words_of_people

MASK = "_"
PUBLISHED = frozenset(
    ("he", "she", "her", "his", "him", "hers", "himself", "herself", "mr", "mrs", "ms")
)
"""Words that the released code of De-Arteaga et al. removes; "husband" and "women" stay."""
_TITLES = frozenset(("mr", "mrs", "ms"))
_OTHER_TITLES = frozenset(("miss", "mx"))
DEGREES = frozenset(("MS", "MA", "PA"))
"""Words that in capitals are degrees, professions and places, not forms of address."""
_WORD = re.compile(r"([^\W\d_]+)")
_PUBLISHED_WORD = re.compile(r"(\w+)")


@cache
def gendered_words(as_published: bool = False) -> frozenset[str]:
    """Return the words to scrub, lower-cased."""
    # By default titles and every gender-specific word of the project's list about people, but no
    # first names and no words of medicine; as published the eleven words that the released code
    # removes. Orgad et al. (2022, Table 9) find husband and women among the strongest features that
    # these leave.
    if as_published:
        return PUBLISHED
    return words_of_people() | _OTHER_TITLES | PUBLISHED


@dataclass(frozen=True)
class Scrubber:
    """Method that replaces gendered words, and the person's names, by a mask."""

    # words to replace, lower-cased. A word of the text matches in any case, but only as a whole:
    # *he* is not replaced in *the*, but it is in *he's*.
    words: frozenset[str] = field(default_factory=gendered_words, repr=False)
    # words that are not replaced if they begin with a capital: Duke University
    small_only: frozenset[str] = field(default_factory=lambda: swaps().small_only, repr=False)
    columns: tuple[str, ...] = ()  # columns with the names of the person that a text is about
    # names of anybody, matched as they are written
    first_names: frozenset[str] = field(default=frozenset(), repr=False)
    mask: str = MASK
    # words that are not replaced if written like this: MS, MA and PA are degrees and places
    kept: frozenset[str] = field(default=DEGREES, repr=False)
    # match as the released code does. Pronouns match in small letters or with a capital (HE stays),
    # and titles in any case (an MS in Nursing goes). Names match as they are written, initials too.
    # A word ends where no letter, digit or underscore follows. A name of several words goes word by
    # word.
    as_published: bool = False

    def __call__(self, text: str, cells: Record | Mapping[str, str] | None = None) -> Change:
        """Return the scrubbed text, and the words that were replaced, lower-cased."""
        names = self.first_names
        if self.columns and cells is not None:
            names |= self._own_names(cells[column] for column in self.columns)
        parts, words, replaced = self._pattern.split(text), self.words, []
        for i in range(1, len(parts), 2):  # every second part is a word
            word = parts[i]
            lower = word.lower()
            if (lower in words and not self._stays(word, lower)) or word in names:
                parts[i] = self.mask
                replaced.append(lower)
        return "".join(parts) if replaced else text, replaced

    def mask_random(self, text: str, count: int, rng: np.random.Generator) -> str:
        """Replace this number of words, drawn from all words of the text."""
        if not count:
            return text
        parts = self._pattern.split(text)
        for i in rng.choice(len(parts) // 2, count, replace=False).tolist():
            parts[2 * i + 1] = self.mask
        return "".join(parts)

    @property
    def _pattern(self) -> re.Pattern[str]:
        return _PUBLISHED_WORD if self.as_published else _WORD

    def _stays(self, word: str, lower: str) -> bool:
        """Return whether a word is not replaced because of how it is written."""
        if self.as_published:
            return lower not in _TITLES and not word[1:].islower()
        return word in self.kept or (lower in self.small_only and word[0].isupper())

    def _own_names(self, cells: Iterable[str]) -> frozenset[str]:
        """Return the parts of names, as they are written and in capitals; initials are left out."""
        # An initial is a word of many meanings (A, I) and says no gender.
        parts = [part for cell in cells for part in self._pattern.findall(cell)]
        if self.as_published:
            return frozenset(parts)
        longer = [part for part in parts if len(part) > 1]
        return frozenset((*longer, *(part.upper() for part in longer)))


def register() -> frozenset[str]:
    """Return the built-in first names, of US births in 2020, as they are written."""
    return frozenset(names())


# extra scrubbing


ROUNDS, PER_ROUND, SPLITS = 5, 10, 5
HELD_OUT = 0.25
_FEWEST = 8
Codes = NDArray[np.intp]


@dataclass(frozen=True)
class Settings:
    """Settings of extra scrubbing."""

    rounds: int = ROUNDS  # largest number of rounds
    per_round: int = PER_ROUND  # number of words of each group to remove in a round (n)
    # number of random splits into training and held-out texts in each round; the weights of a word
    # are averaged over them
    splits: int = SPLITS
    # stop when the held-out balanced accuracy is at most this; None: chance, 1 / groups
    until: float | None = None
    seed: int = 0


@dataclass(frozen=True)
class Round:
    """One round: the accuracy of predicting the group, and the words that were then removed."""

    # balanced accuracy on held-out texts: mean and standard deviation over the splits
    accuracy: float
    sd: float
    # words by group, the strongest first, with their mean weights. Empty in the last round if it
    # only measured.
    words: Mapping[str, Sequence[tuple[str, float]]]


@dataclass(frozen=True)
class Found:
    """Words that extra scrubbing found in some texts."""

    groups: tuple[str, ...]
    n: int
    # rounds in order; the last one may only measure what the others left
    rounds: tuple[Round, ...] = field(repr=False)
    stopped: str  # reason why there are no more rounds

    def words(self) -> frozenset[str]:
        """Return all words that were removed."""
        return frozenset(
            w for turn in self.rounds for weighted in turn.words.values() for w, _ in weighted
        )


@dataclass(frozen=True)
class ExtraScrubber:
    """Method that replaces the words that extra scrubbing found."""

    # words by the value of `column`; under the empty name if there is none
    words: Mapping[str, frozenset[str]] = field(repr=False)
    column: str | None = None  # column within whose values they were found
    mask: str = MASK

    def __call__(self, text: str, cells: Record | Mapping[str, str] | None = None) -> Change:
        """Return the text without the words, and those that were replaced."""
        value = "" if self.column is None or cells is None else cells[self.column]
        words = self.words.get(value, frozenset())
        nothing = frozenset[str]()
        return Scrubber(words, nothing, mask=self.mask, kept=nothing)(text)


def find_words(
    records: Iterable[Record], text: str, group: str, within: str | None, settings: Settings
) -> dict[str, Found]:
    """Find words in a column of texts, separately for each value of another column, or over all."""
    counters: dict[str, BagCounter] = {}
    groups: dict[str, list[str]] = {}
    for record in records:
        value = "" if within is None else record[within]
        counters.setdefault(value, BagCounter()).add(record[text])
        groups.setdefault(value, []).append(sys.intern(record[group]))
    by_value = {}
    for value in sorted(counters) or [""]:
        try:
            by_value[value] = strongest_words(
                counters.get(value, BagCounter()).bags(), groups.get(value, []), settings
            )
        except WordbiasError as error:
            where = f" where {within} is {value!r}" if within is not None else ""
            raise WordbiasError(f"extra scrubbing by {group!r}{where}: {error}") from None
    return by_value


def strongest_words(bags: Bags, groups: Sequence[str], settings: Settings | None = None) -> Found:
    """Find the words that predict the group, round by round.

    Orgad et al. (2022, appendix C, Tables 9 and 10) train a logistic regression on the bag of words
    of scrubbed biographies to predict the gender, scrub the n most significant words of each
    gender, and repeat. Over all biographies most of the words found are those of professions with
    few men or few women; within one profession the wording itself differs.

    In each round a logistic regression (L2, C = 1, classes weighted to be equal) is fitted for
    each split. Classes are weighted because the accuracy of a fit that is not would be that of
    naming the larger group; the paper does not say whether it weights them.
    """
    settings = settings or Settings()
    names, codes = np.unique(np.array(groups), return_inverse=True)
    _check(names.tolist(), codes)
    until = 1 / len(names) if settings.until is None else settings.until
    done: list[Round] = []
    with progress("extra scrubbing", (settings.rounds + 1) * settings.splits, "fit") as bar:
        while True:
            accuracy, weights = _fits(bags, codes, settings, len(done), bar.update)
            stopped = ""
            if accuracy.mean() <= until:
                stopped = f"the accuracy fell to {until:.3f}"
            elif len(done) == settings.rounds:
                stopped = how_many(settings.rounds, "round")
            words = {} if stopped else _top(bags.words, weights, names, settings.per_round)
            taken = [word for weighted in words.values() for word, _ in weighted]
            stopped = stopped or ("" if taken else "no word is left that says the group")
            sd = float(accuracy.std(ddof=1)) if len(accuracy) > 1 else 0.0
            done.append(Round(float(accuracy.mean()), sd, words))
            if stopped:
                return Found(tuple(names.tolist()), len(codes), tuple(done), stopped)
            bags = bags.without(taken)


def _check(names: Sequence[str], codes: Codes) -> None:
    if len(names) < 2:
        present = f"only {names[0]!r}" if len(names) else "no text"
        raise WordbiasError(f"expected two groups or more, found {present}")
    sizes = np.bincount(codes)
    if sizes.min() < _FEWEST:
        raise WordbiasError(
            f"group {names[int(sizes.argmin())]!r} has {how_many(int(sizes.min()), 'text')}, and a "
            f"part is held out; at least {_FEWEST} are needed"
        )


def _fits(
    bags: Bags, codes: Codes, settings: Settings, done: int, tick: Callable[[], object]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the accuracy of each split, and the mean weights, shape ``(groups, words)``."""
    from sklearn.linear_model import LogisticRegression

    kinds = np.unique(codes)
    if not bags.words:  # all that is left is to name one group always
        return np.full(settings.splits, 1 / len(kinds)), np.empty((len(kinds), 0))
    scores, weights = [], []
    for split in range(settings.splits):
        held = held_out(codes, np.random.default_rng([settings.seed, done, split]))
        model = LogisticRegression(class_weight="balanced", max_iter=2_000, tol=1e-3)
        model.fit(bags.counts[~held], codes[~held])
        right = model.predict(bags.counts[held]) == codes[held]
        scores.append(np.mean([right[codes[held] == g].mean() for g in kinds]))
        coef = model.coef_
        weights.append(np.vstack([-coef, coef]) if len(coef) == 1 else coef)
        tick()
    return np.array(scores), np.mean(weights, axis=0)


def held_out(codes: Codes, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Choose a quarter of each group at random, at least one example of each."""
    held = np.zeros(len(codes), bool)
    for group in np.unique(codes):
        rows = np.flatnonzero(codes == group)
        held[rng.choice(rows, max(1, round(HELD_OUT * len(rows))), replace=False)] = True
    return held


def _top(
    words: Sequence[str], weights: NDArray[np.float64], names: NDArray[np.str_], n: int
) -> dict[str, Sequence[tuple[str, float]]]:
    """Return the n words of the largest positive weight for each group."""
    by_group: dict[str, Sequence[tuple[str, float]]] = {}
    for name, row in zip(names.tolist(), weights, strict=True):
        best = np.argsort(-row, kind="stable")[:n].tolist()
        by_group[name] = [(words[int(i)], float(row[i])) for i in best if row[i] > 0]
    return by_group


# bags of words


_BAG_WORD = re.compile(r"[^\W\d_]+")
MIN_TEXTS = 5
"""Smallest number of texts of a word; rarer ones cannot be found again in held-out texts."""


@dataclass(frozen=True)
class Bags:
    """Bags of words: counts of each word in each text."""

    # sparse matrix, shape `(texts, words)`, a scipy CSR array of float64
    counts: Any = field(repr=False)
    # words, lower-cased and sorted. To remove a word from the texts is to leave out its column.
    words: tuple[str, ...] = field(repr=False)

    def without(self, words: Iterable[str]) -> Bags:
        """Return the bags without some words."""
        gone = frozenset(words)
        columns = [i for i, word in enumerate(self.words) if word not in gone]
        return Bags(self.counts[:, columns], tuple(self.words[i] for i in columns))


class BagCounter:
    """Counter of the words of texts, which are added one by one and not kept."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._columns, self._starts = array("i"), array("q", [0])

    def add(self, text: str) -> None:
        """Count the words of one more text."""
        places = self._places
        for word in _BAG_WORD.findall(text):
            self._columns.append(places.setdefault(word.lower(), len(places)))
        self._starts.append(len(self._columns))

    def bags(self, min_texts: int = MIN_TEXTS) -> Bags:
        """Return the bags of all texts, without the words of fewer than `min_texts`."""
        from scipy.sparse import csr_array

        shape = (len(self._starts) - 1, len(self._places))
        cells = np.ones(len(self._columns)), np.array(self._columns), np.array(self._starts)
        counts = csr_array(cells, shape=shape)
        counts.sum_duplicates()
        words = np.array(list(self._places), dtype=object)
        order = np.flatnonzero(np.bincount(counts.indices, minlength=shape[1]) >= min_texts)
        order = order[np.argsort(words[order])]
        return Bags(counts[:, order], tuple(words[order].tolist()))
