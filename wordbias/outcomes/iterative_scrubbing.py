"""Iterative extra scrubbing: find the words that still say the group, take them out, and again.

Orgad et al. (2022, appendix C, Tables 9 and 10) train a logistic regression on the bag of words of
scrubbed biographies to predict the gender, scrub the n most significant words of each gender, and
repeat. Over all biographies most of what is found are words of professions with few men or few
women; within one profession the wording itself differs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.outcomes.bags import Bags
from wordbias.progress import progress
from wordbias.rendering import how_many

ROUNDS, PER_ROUND, SPLITS = 5, 10, 5
HELD_OUT = 0.25
_FEWEST = 8

Codes = NDArray[np.intp]


@dataclass(frozen=True)
class Settings:
    """How words are found.

    Attributes
    ----------
    rounds
        At most so many.
    per_round
        Words of each group to take out in a round (n).
    splits
        Random halves of the data into training and held-out texts in each round; the weights of a
        word are averaged over them.
    until
        Stop when the held-out balanced accuracy is at most this; None: chance, 1 / groups.
    seed
        Of the splits.
    """

    rounds: int = ROUNDS
    per_round: int = PER_ROUND
    splits: int = SPLITS
    until: float | None = None
    seed: int = 0


@dataclass(frozen=True)
class Round:
    """One round: how well the group could be read off, and the words that were then taken out.

    Attributes
    ----------
    accuracy, sd
        Balanced accuracy on held-out texts: mean and standard deviation over the splits.
    words
        By group, the strongest first, with their mean weights. Empty in the last round if it only
        measured.
    """

    accuracy: float
    sd: float
    words: Mapping[str, Sequence[tuple[str, float]]]


@dataclass(frozen=True)
class Found:
    """What was found in some texts.

    Attributes
    ----------
    groups
        Their names.
    n
        How many texts.
    rounds
        In order; the last one only measures what the others left.
    stopped
        Why there are no more.
    """

    groups: tuple[str, ...]
    n: int
    rounds: tuple[Round, ...] = field(repr=False)
    stopped: str

    def words(self) -> frozenset[str]:
        """Return all words that were taken out."""
        return frozenset(w for one in self.rounds for found in one.words.values() for w, _ in found)


def strongest_words(bags: Bags, groups: Sequence[str], settings: Settings | None = None) -> Found:
    """Find the words that say the group, round by round.

    In each round a logistic regression (L2, C = 1, classes weighted to be equal) is fitted for
    each split. Classes are weighted because the accuracy of a fit that is not would be that of
    naming the larger group; the paper does not say what it did.

    Parameters
    ----------
    bags
        Of the texts.
    groups
        One name for each text.
    settings
        How.

    Raises
    ------
    WordbiasError
        If there are fewer than two groups, or a group has too few texts.
    """
    settings = settings or Settings()
    names, codes = np.unique(np.array(groups), return_inverse=True)
    _check(names.tolist(), codes)
    until = 1 / len(names) if settings.until is None else settings.until
    done: list[Round] = []
    with progress("extra scrubbing", (settings.rounds + 1) * settings.splits, "fit") as bar:
        while True:
            accuracy, weights = _fits(bags, codes, settings, len(done), bar.update)
            stopped = _why_stop(len(done), float(accuracy.mean()), until, settings)
            words = {} if stopped else _top(bags.words, weights, names, settings.per_round)
            taken = [word for found in words.values() for word, _ in found]
            stopped = stopped or ("" if taken else "no word is left that says the group")
            sd = float(accuracy.std(ddof=1)) if len(accuracy) > 1 else 0.0
            done.append(Round(float(accuracy.mean()), sd, words))
            if stopped:
                return Found(tuple(names.tolist()), len(codes), tuple(done), stopped)
            bags = bags.without(taken)


def _check(names: Sequence[str], codes: Codes) -> None:
    if len(names) < 2:
        found = f"only {names[0]!r}" if len(names) else "no text"
        raise WordbiasError(f"expected two groups or more, found {found}")
    sizes = np.bincount(codes)
    if sizes.min() < _FEWEST:
        raise WordbiasError(
            f"group {names[int(sizes.argmin())]!r} has {how_many(int(sizes.min()), 'text')}, of "
            f"which a part is held out; at least {_FEWEST} are needed"
        )


def _why_stop(done: int, accuracy: float, until: float, settings: Settings) -> str:
    if accuracy <= until:
        return f"the accuracy fell to {until:.3f}"
    return how_many(settings.rounds, "round") if done == settings.rounds else ""


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
    found: dict[str, Sequence[tuple[str, float]]] = {}
    for name, row in zip(names.tolist(), weights, strict=True):
        best = np.argsort(-row, kind="stable")[:n].tolist()
        found[name] = [(words[int(i)], float(row[i])) for i in best if row[i] > 0]
    return found
