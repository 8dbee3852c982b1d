"""Differences between the embeddings of a study, paired by the seed of the NLI models.

The seed alone decides initial weights, order of the pairs and dropout, so that two models of one
seed differ in their vectors only. What they share is not in the spread of their differences.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wordbias.draws import seed_keys, with_holm
from wordbias.rendering import how_many
from wordbias.results import Row
from wordbias.statistics import POWER, pairs_needed, t_power
from wordbias.verdicts import LEVEL, LOWER, NOT_SHOWN, SEEDS, Seeds, decide, smallest_p

CHANGES = {"mab-error": "mab-error-change", "mab-distance": "mab-distance-change"}
"""Measures of marked attribute bias, and those of their paired differences."""
AGAINST_NULL = {
    "mab-error": "mab-error-against-null",
    "mab-distance": "mab-distance-against-null",
}
"""The same measures, and those of their paired differences to random removals."""
AGAINST_LISTS = {
    "mab-error": "mab-error-against-lists",
    "mab-distance": "mab-distance-against-lists",
}
"""The same measures, and those of their paired differences to MISP of redrawn word lists."""
PUBLISHED_EFFECT = 0.26
"""How much MISP lowers E in Dawkins (2021, section 5), as a share: .149 to .1107."""
SMALLER_EFFECTS = (0.15, 0.10)
_ABOUT = ("attribute", "set", "setting", "better")


class Reading(NamedTuple):
    """What the outcome of a study says of one arm."""

    change: Row  # its difference to the first embedding
    # its difference to the random removals, if the study has them; of that arm itself, None
    against: Row | None
    said: str  # what both allow to say, in a few words


def paired_differences(
    rows: Sequence[Row], null: str = "", lists: str = "", outcome: str | None = None
) -> list[Row]:
    """Compare E and d of each embedding with those of the first, seed by seed."""
    # The arm of random removals, `null`, is compared with the first as each is, and each other with
    # it; the arm of redrawn lists is not compared with the random removals a second time. Holm's
    # method corrects the p of the fixed `outcome` for each other only, else over all embeddings and
    # sets of the measure. Without a common seed a row has no value but a `reason`.
    values: dict[tuple[str, str, str], dict[str, dict[int, float | None]]] = {}
    about: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in rows:
        if row.measure in CHANGES and "seed" in row.details:
            key = row.measure, str(row.details["set"]), str(row.details["setting"])
            by_seed = values.setdefault(key, {}).setdefault(row.subject, {})
            by_seed[int(row.details["seed"])] = row.value
            about.setdefault(key, {name: row.details.get(name) for name in _ABOUT})
            if (row.measure, row.details["setting"]) == ("mab-error", outcome):
                about[key]["outcome"] = True
    first = next((subject for by_subject in values.values() for subject in by_subject), "")
    differences = [
        _difference(subject, other, names[measure], about[key], by_subject.get(other, {}), own)
        for names, other in ((CHANGES, first), (AGAINST_NULL, null), (AGAINST_LISTS, lists))
        if other == first or any(other in subjects for subjects in values.values())
        for measure in names
        for key, by_subject in values.items()
        if key[0] == measure
        for subject, own in by_subject.items()
        if subject not in (first, other) and (other, subject) != (lists, null)
    ]
    return with_holm(differences, lambda row: f"{row.measure} {row.details.get('outcome')}")


def readings(rows: Sequence[Row], error: float) -> list[Reading]:
    """Say of each arm what the outcome of the study shows, by the rules of `verdicts`."""
    # An arm lowers E if p is below .05 after Holm, for the first embedding and for the random
    # removals. Otherwise the smallest effect that the data exclude is what can be said; with so few
    # seeds that p cannot reach .05 it is nothing.
    tested = [row for row in rows if row.details.get("outcome") and "p" in row.details]
    against = {row.subject: row for row in tested if row.measure == AGAINST_NULL["mab-error"]}
    null = next((str(row.details["original"]) for row in against.values()), "")
    conclusions = []
    for row in tested:
        if row.measure == CHANGES["mab-error"]:
            other, about = against.get(row.subject), row.details
            beyond = other is None or decide(SEEDS, _seeds(other)).verdict == LOWER
            rule, excluded = decide(SEEDS, _seeds(row)._replace(is_beyond=beyond)), ""
            if rule.verdict == NOT_SHOWN and error:
                share = math.ceil(100 * about["excluded"] / error)
                excluded = f", {share} % or more excluded" * (share < 100)
            sentence = rule.says.format(first=about["original"], null=null, excluded=excluded)
            conclusions.append(Reading(row, other, sentence))
    return conclusions


def _seeds(row: Row) -> Seeds:
    least = smallest_p(row.details["n"], row.details["tests"])
    return Seeds(row.value or 0.0, row.details["p_holm"], least)


def _difference(
    subject: str,
    original: str,
    measure: str,
    about: dict[str, Any],
    before: dict[int, float | None],
    after: dict[int, float | None],
) -> Row:
    """Return the row of one embedding and measure, not yet corrected for the number of tests."""
    pairs = [(after[seed], before[seed]) for seed in after if seed in before]
    d = np.array([own - other for own, other in pairs if own is not None and other is not None])
    details = {**about, "original": original, "n": len(d), "neutral": 0}
    if not len(d):
        reason = f"undefined: {subject} and {original} have no value under the same seed"
        return Row(subject, measure, None, {**details, "reason": reason})
    return Row(subject, measure, float(d.mean()), {**details, **seed_keys(d)})


def fewest_seeds(tests: int) -> int:
    """Return the fewest seeds with which one of so many tests can be significant after Holm."""
    return math.ceil(math.log2(2 * tests / LEVEL))


def about_power(changes: Sequence[Row], error: float) -> list[str]:
    """Say in sentences which effects on E so many seeds can show, as shares of E."""
    # The power is that of a t test at .05 divided by the number of tests, as Holm's method asks of
    # the smallest p; with so few seeds that the sign-flip test has no such p it is 0.
    tested = [row for row in changes if row.measure == CHANGES["mab-error"] and "p" in row.details]
    tested = [row for row in tested if row.details.get("outcome")] or tested
    if not tested:
        return []
    n, tests = max(row.details["n"] for row in tested), len(tested)
    least = smallest_p(n, tests)
    sentences = []
    if least > LEVEL:
        sentences.append(
            f"p cannot reach .05: with {n} seeds the smallest is {_short(smallest_p(n))}, after "
            f"Holm over {tests} tests {_short(least)}. It takes {fewest_seeds(tests)} seeds; until "
            "then read the intervals."
        )
    kind = {key: tested[0].details[key] for key in ("set", "setting")}
    same = [row for row in tested if all(row.details[key] == kind[key] for key in kind)]
    df = sum(row.details["n"] - 1 for row in same)
    pooled = sum((row.details["n"] - 1) * row.details["sd"] ** 2 for row in same) / df
    spread = math.sqrt(pooled)
    if not spread or not error:
        return sentences
    effect, level = PUBLISHED_EFFECT * error, LEVEL / tests
    power = 0.0 if least > LEVEL else t_power(effect * math.sqrt(n) / spread, n - 1, level)
    needed = [
        max(pairs_needed(share * error, spread, level), fewest_seeds(tests))
        for share in (PUBLISHED_EFFECT, *SMALLER_EFFECTS)
    ]
    enough = "" if power >= POWER else "Too few seeds: "
    sentences.append(
        f"{enough}{n} seeds find a difference of {100 * PUBLISHED_EFFECT:g} % in E of the "
        f"{kind['setting']} ({effect:.3f}, the paper's effect of MISP) with power {_short(power)}, "
        f"after Holm over {how_many(tests, 'test')}. Power .8 takes {needed[0]} seeds, for 15 % "
        f"{needed[1]}, for 10 % {needed[2]}. The paired differences have a standard deviation of "
        f"{_short(spread)} ({how_many(df, 'degree')} of freedom)."
    )
    return sentences


def _short(value: float) -> str:
    """Write a number with three digits, as papers do: .031, 0, 1, and .999 for what is nearly 1."""
    if value in (0, 1):
        return f"{value:g}"
    return f"{min(value, 0.999) if value < 1 else value:.3f}".lstrip("0")
