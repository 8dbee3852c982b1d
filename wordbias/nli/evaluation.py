"""From the probabilities of a marked-attribute set to rows: means, distances, errors, p-values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.measures.registry import ideal
from wordbias.nli.fillers import Filler
from wordbias.nli.marked_attribute import (
    PARTITIONS,
    Float,
    by_word,
    can_be_significant,
    distance_test,
    distance_to_ideal,
    intervals,
    marked,
)
from wordbias.nli.test_sets import TestSet
from wordbias.results import Row

MEANS = ("mab-neutral", "mab-entailment", "mab-contradiction")
"""The measures that hold a mean (N, E, C)."""
BIAS = ("mab-distance", "mab-error", "mab-error-per-pair")


@dataclass(frozen=True)
class Settings:
    """How the permutation test is made, and the seed of everything random."""

    draws: int = PARTITIONS
    strict: bool = False
    seed: int = 0


class _Part(NamedTuple):
    """The words of one kind in a set: the nouns, say. Probabilities ``(w, t, 3)``."""

    about: dict[str, Any]
    groups: tuple[str, str]
    words: Sequence[Filler]
    p: Float

    def side(self, group: str) -> Float:
        """Return the probabilities of one group, shape ``(m, t, 3)``."""
        return self.p[[word.group == group for word in self.words]]


def mab_rows(
    test: TestSet,
    probabilities: NDArray[np.float32],
    subject: str,
    settings: Settings | None = None,
) -> list[Row]:
    """Measure marked attribute bias: the numbers of Dawkins (2021), Tables 1, 2 and 4.

    Nouns and pronouns are kept apart, as there.

    Parameters
    ----------
    test
        One of the three marked sets.
    probabilities
        (N, E, C) of each of its pairs in its order, shape ``(n, 3)``.
    subject
        What made the predictions.
    settings
        Of the permutation test; the intervals draw the premises again.

    Returns
    -------
    list of Row
        For each `setting` (``nouns``, …): the means of each `group` (``male`` and ``female``,
        say), the distance between them, and the error of the means and of the pairs.

    Raises
    ------
    WordbiasError
        If the shape does not fit the set, or the set has more than one word in its premises.
    """
    settings = settings or Settings()
    return [
        row
        for part in _parts(test, probabilities)
        for row in (*_mean_rows(part, subject), *_bias_rows(part, subject, settings))
    ]


def word_rows(test: TestSet, probabilities: NDArray[np.float32], subject: str) -> list[Row]:
    """Measure every word of a set by itself: mean (N, E, C), and both errors.

    Parameters and errors are those of `mab_rows`.
    """
    return [
        row
        for part in _parts(test, probabilities)
        for word, p in zip(part.words, part.p, strict=True)
        for row in _word_rows(word, p, part.about, subject)
    ]


def _parts(test: TestSet, probabilities: NDArray[np.float32]) -> Iterator[_Part]:
    if len(test.premises) != 1:
        raise WordbiasError(
            f"{test.name}: its premises are about {len(test.premises)} words; marked attribute "
            "bias is measured on explicit, occupations or names"
        )
    p = by_word(probabilities, len(test.hypotheses), len(test.templates))
    for kind in dict.fromkeys(filler.kind for filler in test.hypotheses):
        chosen = [filler.kind == kind for filler in test.hypotheses]
        words = [filler for filler in test.hypotheses if filler.kind == kind]
        about = {
            "attribute": test.attribute, "set": test.name, "setting": f"{kind}s",
            "premises": len(test.templates),
        }  # fmt: skip
        yield _Part(about, test.groups, words, p[chosen])


def _mean_rows(part: _Part, subject: str) -> Iterator[Row]:
    for group in part.groups:
        p = part.side(group)
        about = {**part.about, "group": group, "n": p.shape[0] * p.shape[1]}
        yield from _means(p.mean((0, 1)), about, subject)


def _bias_rows(part: _Part, subject: str, settings: Settings) -> Iterator[Row]:
    first, second = map(part.side, part.groups)
    found = marked(first, second)
    values = (found.distance, found.error, found.error_per_pair)
    around = intervals(first, second, np.random.default_rng(settings.seed))
    tested = _test(first, second, settings) if can_be_significant(len(first), len(second)) else {}
    about = {**part.about, "n": part.p.shape[0] * part.p.shape[1]}
    for measure, value, interval in zip(BIAS, values, around, strict=True):
        more = tested if measure == BIAS[0] else {}
        said = {**about, **ideal(measure), **interval._asdict(), **more}
        yield Row(subject, measure, value, said)


def _test(first: Float, second: Float, settings: Settings) -> dict[str, Any]:
    words = np.concatenate([first.mean(1), second.mean(1)])  # (w, 3)
    rng = np.random.default_rng(settings.seed)
    found = distance_test(words, len(first), rng, draws=settings.draws, strict=settings.strict)
    method = "exact" if found.exact else "sampled"
    return {
        "p": found.p, "partitions": found.partitions, "method": method, "strict": settings.strict
    }  # fmt: skip


def _word_rows(word: Filler, p: Float, about: dict[str, Any], subject: str) -> Iterator[Row]:
    mean = p.mean(0)
    about = {**about, "group": word.group, "word": word.word, "n": len(p)}
    yield from _means(mean, about, subject)
    errors = (distance_to_ideal(mean), distance_to_ideal(p).mean())
    for measure, value in zip(BIAS[1:], errors, strict=True):
        yield Row(subject, measure, float(value), {**about, **ideal(measure)})


def _means(mean: Float, about: dict[str, Any], subject: str) -> Iterator[Row]:
    for measure, value in zip(MEANS, mean, strict=True):
        yield Row(subject, measure, float(value), {**about, **ideal(measure)})
