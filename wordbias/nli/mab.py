"""Marked attribute bias: does "a person" entail "he" but not "she"? (Dawkins 2021, section 3).

Every probability vector is (N, E, C). The ideal one is (1, 0, 0), and (0, 1, 0) where a word
says no more than the premise, as *they* of a person.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.draws import LISTS, by_bootstrap, drawn, items_of, spread_keys
from wordbias.errors import WordbiasError
from wordbias.measures.registry import ideal
from wordbias.nli.test_sets import Filler, Template, TestSet
from wordbias.results import Row
from wordbias.statistics import PValue, permutation_test, resampled_means

Float = NDArray[np.float64]

MEANS = ("mab-neutral", "mab-entailment", "mab-contradiction")
"""Measures that hold a mean (N, E, C)."""
BIAS = ("mab-distance", "mab-error", "mab-error-per-pair")
IDEAL = np.array([1.0, 0.0, 0.0])
ENTAILED = np.array([0.0, 1.0, 0.0])
"""Ideal of words that say no more than the premise."""
_BOTH = np.stack([IDEAL, IDEAL])
_UNLIKE = "the right answers of the two groups differ, so that no distance is neutral"
PARTITIONS = 10_000
_LISTS = 4
"""Key of the random numbers of redrawn lists."""
_REDRAWS = 64
"""Redraws at a time, so that their probabilities fit into memory."""


@dataclass(frozen=True)
class Settings:
    """Settings of the permutation test and the intervals."""

    draws: int = PARTITIONS
    strict: bool = False
    seed: int = 0
    lists: int = 0  # number of redraws of the word lists; see `over_lists`


def mab_rows(
    test: TestSet,
    probabilities: NDArray[np.float32],
    subject: str,
    settings: Settings | None = None,
) -> list[Row]:
    """Measure marked attribute bias of (N, E, C) of each pair: Dawkins (2021), Tables 1, 2, 4."""
    # Nouns and pronouns are measured separately, as there. `low` and `high` draw the premises
    # again, with the words fixed.
    settings = settings or Settings()
    return [
        row
        for part in _parts(test, probabilities)
        for row in (*_mean_rows(part, subject), *_bias_rows(part, subject, settings))
    ]


def word_rows(test: TestSet, probabilities: NDArray[np.float32], subject: str) -> list[Row]:
    """Measure each word of a set: mean (N, E, C), and both errors; see `mab_rows`."""
    rows: list[Row] = []
    for part in _parts(test, probabilities):
        for word, p in zip(part.words, part.p, strict=True):
            mean = p.mean(0)
            about = {**part.about, "group": word.group, "word": word.word, "n": len(p)}
            rows += _means(mean, about, subject)
            ideal_ = part.ideals[part.groups.index(word.group)]
            errors = (distance_to_ideal(mean, ideal_), distance_to_ideal(p, ideal_).mean())
            rows += (
                Row(subject, measure, float(value), {**about, **ideal(measure)})
                for measure, value in zip(BIAS[1:], errors, strict=True)
            )
    return rows


class _Part(NamedTuple):
    """Words of one kind in a set, such as the nouns; probabilities of shape ``(w, t, 3)``."""

    about: dict[str, Any]
    groups: tuple[str, str]
    words: Sequence[Filler]
    templates: Sequence[Template]
    p: Float
    ideals: Float

    def side(self, group: str) -> Float:
        """Return the probabilities of one group, shape ``(m, t, 3)``."""
        return self.p[[word.group == group for word in self.words]]


def _parts(test: TestSet, probabilities: NDArray[np.float32]) -> Iterator[_Part]:
    if len(test.premises) != 1:
        raise WordbiasError(
            f"{test.name}: its premises are about {len(test.premises)} words; marked attribute "
            "bias is measured on explicit, occupations or names"
        )
    p = by_word(probabilities, len(test.hypotheses), len(test.templates))
    ideals = np.stack([ENTAILED if group in test.unmarked else IDEAL for group in test.groups])
    for kind in dict.fromkeys(filler.kind for filler in test.hypotheses):
        chosen = [filler.kind == kind for filler in test.hypotheses]
        words = [filler for filler in test.hypotheses if filler.kind == kind]
        about = {
            "attribute": test.attribute, "set": test.name, "setting": f"{kind}s",
            "units": len(test.templates),
        }  # fmt: skip
        yield _Part(about, test.groups, words, test.templates, p[chosen], ideals)


def _mean_rows(part: _Part, subject: str) -> Iterator[Row]:
    for group in part.groups:
        p = part.side(group)
        about = {**part.about, "group": group, "n": p.shape[0] * p.shape[1]}
        yield from _means(p.mean((0, 1)), about, subject)


def _bias_rows(part: _Part, subject: str, settings: Settings) -> Iterator[Row]:
    first, second = map(part.side, part.groups)
    bias = marked(first, second, part.ideals)
    values = (bias.distance, bias.error, bias.error_per_pair)
    of_premises = resampled(first, second, np.random.default_rng(settings.seed), part.ideals)
    tested = _test(first, second, settings) if can_be_significant(len(first), len(second)) else {}
    about = {**part.about, "n": part.p.shape[0] * part.p.shape[1]}
    items = items_of(part.words, part.templates, settings.seed)
    redrawn: Sequence[Float | None] = [None] * len(BIAS)
    if settings.lists:
        rng = np.random.default_rng([settings.seed, _LISTS])
        redrawn = over_lists(first, second, part.templates, settings.lists, rng, part.ideals)
    for measure, value, samples, lists in zip(BIAS, values, of_premises, redrawn, strict=True):
        if measure == BIAS[0] and (part.ideals[0] != part.ideals[1]).any():
            yield Row(subject, measure, None, {**about, **ideal(measure), "reason": _UNLIKE})
            continue
        details = {**about, **ideal(measure), **by_bootstrap(samples, "premises")}
        details |= tested if measure == BIAS[0] else {}
        details |= {} if lists is None else spread_keys(LISTS, lists)
        draws = {**drawn(samples, "premises", items), **drawn(lists, LISTS, items, LISTS)}
        yield Row(subject, measure, value, details, draws)


def _test(first: Float, second: Float, settings: Settings) -> dict[str, Any]:
    words = np.concatenate([first.mean(1), second.mean(1)])  # (w, 3)
    rng = np.random.default_rng(settings.seed)
    test = distance_test(words, len(first), rng, draws=settings.draws, strict=settings.strict)
    method = ("exact" if test.exact else "sampled") + ", as published" * settings.strict
    return {"p": test.p, "partitions": test.partitions, "method": method}


def _means(mean: Float, about: dict[str, Any], subject: str) -> Iterator[Row]:
    for measure, value in zip(MEANS, mean, strict=True):
        yield Row(subject, measure, float(value), {**about, **ideal(measure)})


# The mathematics, on arrays


class Marked(NamedTuple):
    """Bias between two groups of words."""

    # mean probability vector of each group, shape `(3,)`; male and female words in the paper
    first: Float
    second: Float
    # `‖mean_M − mean_F‖`: what all printed tables show; eq. (2) of the paper is a quarter of it.
    # Neutral: 0.
    distance: float
    # `½ Σ ‖(1, 0, 0) − mean‖` over the two groups: what the printed tables show. Neutral: 0.
    error: float
    # mean of `‖(1, 0, 0) − p‖` over the pairs, as eq. (1) says; never below `error`, for the norm
    # is convex. Neutral: 0.
    error_per_pair: float


def marked(first: Float, second: Float, ideals: Float = _BOTH) -> Marked:
    """Compare two groups of words, (m, t, 3) and (f, t, 3), with the ideal of each, (2, 3)."""
    m, f = first.mean((0, 1)), second.mean((0, 1))
    error = (distance_to_ideal(m, ideals[0]) + distance_to_ideal(f, ideals[1])) / 2
    both = zip((first, second), ideals, strict=True)
    per_pair = [distance_to_ideal(p, target).mean() for p, target in both]
    return Marked(m, f, float(_norm(m - f)), float(error), float(np.mean(per_pair)))


def distance_to_ideal(p: Float, ideal_: Float = IDEAL) -> Float:
    """Return ``‖ideal − p‖`` of probability vectors ``(…, 3)``; by default of (1, 0, 0)."""
    return _norm(ideal_ - p)


class Resampled(NamedTuple):
    """Bootstrap values of the three numbers of `Marked`, shape ``(b,)`` each."""

    distance: Float
    error: Float
    error_per_pair: Float


def resampled(
    first: Float, second: Float, rng: np.random.Generator, ideals: Float = _BOTH
) -> Resampled:
    """Bootstrap over templates: the words are fixed, the sentences a sample."""
    # A distance is never negative and its interval never holds 0; whether groups of words differ at
    # all is tested by `distance_test`.
    m, f = first.mean(0), second.mean(0)  # (t, 3)
    both = zip((first, second), ideals, strict=True)
    norms = [distance_to_ideal(p, target).mean(0)[:, None] for p, target in both]
    drawn = resampled_means(np.concatenate([m, f, *norms], axis=1), rng)  # (b, 8)
    m, f = drawn[:, :3], drawn[:, 3:6]
    error = (distance_to_ideal(m, ideals[0]) + distance_to_ideal(f, ideals[1])) / 2
    return Resampled(_norm(m - f), error, drawn[:, 6:].mean(1))


def over_lists(
    first: Float,
    second: Float,
    templates: Sequence[Template],
    draws: int,
    rng: np.random.Generator,
    ideals: Float = _BOTH,
) -> Resampled:
    """Bootstrap over all word lists: both groups' words, the verbs and the objects."""
    # Each list is drawn again at its length, with replacement. The sentences are those of the drawn
    # words, weighted by how often their words are drawn; nan where none has a drawn verb and a
    # drawn object.
    verbs, objects = (
        np.unique(column, return_inverse=True)[1]
        for column in (
            [template.verb for template in templates],
            [template.thing for template in templates],
        )
    )
    sizes = (verbs.max() + 1, objects.max() + 1, len(first), len(second))
    counts = [rng.multinomial(n, np.full(n, 1 / n), size=draws) for n in sizes]
    both = zip((first, second), ideals, strict=True)
    norms = [distance_to_ideal(p, target)[..., None] for p, target in both]
    values = [np.concatenate(both, axis=-1) for both in zip((first, second), norms, strict=True)]
    chunks = []
    for start in range(0, draws, _REDRAWS):
        of_verbs, of_objects, *of_words = (count[start : start + _REDRAWS] for count in counts)
        weights = of_verbs[:, verbs] * of_objects[:, objects].astype(float)  # (b, t)
        weights[weights.sum(1) == 0] = np.nan
        weights /= weights.sum(1, keepdims=True)
        means = []
        for times, of_group in zip(of_words, values, strict=True):
            drawn = np.tensordot(times / len(of_group), of_group, axes=1)  # (b, t, 4)
            means.append(np.einsum("btk,bt->bk", drawn, weights))
        m, f = (mean[:, :3] for mean in means)
        error = (distance_to_ideal(m, ideals[0]) + distance_to_ideal(f, ideals[1])) / 2
        chunks.append((_norm(m - f), error, (means[0][:, 3] + means[1][:, 3]) / 2))
    return Resampled(*(np.concatenate(column) for column in zip(*chunks, strict=True)))


def distance_test(
    words: Float,
    first: int,
    rng: np.random.Generator,
    *,
    draws: int = PARTITIONS,
    strict: bool = False,
) -> PValue:
    """Test whether words grouped at random are as distant as the two groups are.

    If there are at most `draws` partitions into groups of the same sizes, all of them are counted
    and p = #{d* ≥ d} / N, the observed one among them. Otherwise `draws` of them are drawn and p =
    (1 + #{d* ≥ d}) / (1 + N). The words are sorted first: p does not depend on their order in a
    group. `strict` computes the published ``#{d* > d} / N``, which can be 0.
    """
    n = len(words)
    if not 0 < first < n:
        raise WordbiasError(f"expected words of both groups, found {first} and {n - first}")
    total = words.sum(0)

    def distance(sums: Float) -> Float:
        """Return the distance of the means of both groups, from sums over the first one."""
        return _norm(sums / first - (total - sums) / (n - first))

    return permutation_test(
        words[np.lexsort(words.T)],
        first,
        distance,
        float(distance(words[:first].sum(0))),
        rng,
        samples=draws,
        max_exact=draws,
        strict=strict,
    )


def can_be_significant(first: int, second: int, level: float = 0.05) -> bool:
    """Return whether a permutation test of so many words can reach a level at all."""
    # If the groups have one size, a partition and its mirror image have the same distance.
    equal = 2 if first == second else 1
    return equal / comb(first + second, first) <= level


def by_word(probabilities: NDArray[np.float32], words: int, templates: int) -> Float:
    """Arrange (w · t, 3) probabilities of a test set by word and template, shape ``(w, t, 3)``."""
    p = np.asarray(probabilities, np.float64)
    if p.shape != (words * templates, 3):
        raise WordbiasError(
            f"expected probabilities of shape ({words * templates}, 3), one row a pair, "
            f"got {p.shape}"
        )
    return p.reshape(words, templates, 3)


def _norm(x: Float) -> Float:
    length: Float = np.sqrt(np.einsum("...i,...i->...", x, x))
    return length
