"""MUC, B³ and CEAFφ4: the reference scorer's own cases, second definitions, and theorems."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wordbias.outcomes.conll import METRICS, conll_f1, distinct, scores, tally

Clusters = list[set[str]]


def _clusters(text: str) -> list[list[str]]:
    """Read ``a bc def``: a letter is a mention, a word a cluster."""
    return [list(word) for word in text.split()]


def _f1(recall: Fraction, precision: Fraction) -> Fraction:
    total = recall + precision
    return 2 * recall * precision / total if total else Fraction(0)


# Published with the reference scorer: key and response, then recall and precision of MUC, B³ and
# CEAFφ4. A response repeats mentions in the last two, which count where they come first.
KEY = "a bc def"
CASES = {
    "perfect": ("a bc def", "1 1", "1 1", "1 1"),
    "missing": ("a de", "1/3 1", "7/18 1", "3/5 9/10"),
    "false alarms": ("a bcx defy z", "1 3/5", "1 55/108", "31/35 93/140"),
    "both": ("a bcx dy z", "1/3 1/3", "5/9 17/42", "11/15 11/20"),
    "overlap, aligned": ("a bcxB dy z", "1/3 1/4", "5/9 5/16", "31/45 31/60"),
    "overlap, unaligned": ("a bcx dy Bz", "1/3 1/4", "5/9 17/48", "11/15 11/20"),
    "repeated inside": ("a bcxb dy z", "1/3 1/3", "5/9 17/42", "11/15 11/20"),
    "repeated elsewhere": ("a bcx dy bz", "1/3 1/3", "5/9 17/42", "11/15 11/20"),
    "repeated ten times": ("a bcx dy bbbbbbbbbbz", "1/3 1/3", "5/9 17/42", "11/15 11/20"),
}


@pytest.mark.parametrize("case", CASES)
def test_the_cases_of_the_reference_scorer(case: str) -> None:
    response, *expected = CASES[case]
    found = scores(tally(_clusters(KEY), _clusters(response)))
    for i, both in enumerate(expected):
        recall, precision = map(Fraction, both.split())
        values = [float(recall), float(precision), float(_f1(recall, precision))]
        np.testing.assert_allclose(found[i], values, rtol=1e-12, err_msg=METRICS[i])


@pytest.mark.parametrize(
    ("response", "muc", "b3"),
    [("a b c d e f", "0 0", "1/2 1"), ("abcdef", "1 3/5", "1 7/18")],
)
def test_singletons_and_one_cluster(response: str, muc: str, b3: str) -> None:
    found = scores(tally(_clusters(KEY), _clusters(response)))
    for row, both in zip(found, (muc, b3), strict=False):
        np.testing.assert_allclose(row[:2], [float(Fraction(x)) for x in both.split()])


def test_the_worked_example_of_the_paper() -> None:
    """Pradhan et al. (2014): recall .40, .42, .65 and precision .40, .50, .43 as printed there."""
    found = scores(tally(_clusters("abc defg"), _clusters("ab cd fghi")))
    np.testing.assert_array_equal(found[:, 0].round(2), [0.40, 0.42, 0.65])
    np.testing.assert_array_equal(found[:, 1].round(2), [0.40, 0.50, 0.43])


partition = st.lists(st.integers(0, 3), min_size=1, max_size=7).map(
    lambda labels: [
        {"abcdefg"[i] for i, label in enumerate(labels) if label == one} for one in set(labels)
    ]
)


@settings(deadline=None)
@given(partition, partition)
def test_recall_and_precision_change_places_with_key_and_response(k: Clusters, r: Clusters) -> None:
    there, back = tally(k, r), tally(r, k)
    np.testing.assert_allclose(there[:, :2], back[:, 2:], rtol=1e-12)
    found = scores(there)
    assert np.all((found >= 0) & (found <= 1 + 1e-12))
    np.testing.assert_allclose(conll_f1(there), conll_f1(back), rtol=1e-12)


@settings(deadline=None)
@given(partition)
def test_what_is_found_as_it_is_has_100_percent(k: Clusters) -> None:
    found = scores(tally(k, k))
    linked = any(len(cluster) > 1 for cluster in k)
    np.testing.assert_allclose(found[1:], 1)
    np.testing.assert_allclose(found[0], 1 if linked else 0)


@settings(deadline=None)
@given(partition, partition)
def test_b3_is_a_mean_over_mentions(k: Clusters, r: Clusters) -> None:
    """Bagga and Baldwin (1998): of each mention, the share of its cluster that is found."""
    shares = []
    for mention in (m for cluster in k for m in cluster):
        own = next(cluster for cluster in k if mention in cluster)
        other = next((cluster for cluster in r if mention in cluster), set())
        shares.append(len(own & other) / len(own))
    assert scores(tally(k, r))[1, 0] == pytest.approx(np.mean(shares))


@settings(deadline=None)
@given(partition, partition)
def test_ceaf_is_the_best_of_all_alignments(k: Clusters, r: Clusters) -> None:
    def phi(a: set[str], b: set[str]) -> float:
        return 2 * len(a & b) / (len(a) + len(b))

    few, many = sorted((k, r), key=len)
    best = max(
        sum(phi(a, b) for a, b in zip(few, order, strict=False))
        for order in permutations(many, len(few))
    )
    found = tally(k, r)[2]
    np.testing.assert_allclose(found, [best, len(k), best, len(r)])


@settings(deadline=None)
@given(partition, partition)
def test_muc_counts_the_links_that_are_missing(k: Clusters, r: Clusters) -> None:
    """A cluster of the key needs as many links as join its parts; the response lacks those."""
    missing = 0
    for cluster in k:
        parts = {
            next((i for i, other in enumerate(r) if mention in other), mention)
            for mention in cluster
        }
        missing += len(parts) - 1
    needed = sum(len(cluster) - 1 for cluster in k)
    np.testing.assert_array_equal(tally(k, r)[0, :2], [needed - missing, needed])


def test_documents_add_up() -> None:
    """Mentions of two documents never meet: scored together or added up is the same."""
    first = _clusters("ab c"), _clusters("a bc")
    second = _clusters("xyz"), _clusters("xy z")
    apart = tally(*first) + tally(*second)
    together = tally(first[0] + second[0], first[1] + second[1])
    np.testing.assert_allclose(apart, together)
    assert conll_f1(np.stack([apart, apart])) == pytest.approx([conll_f1(apart)] * 2)


def test_nothing_found_is_0_and_not_undefined() -> None:
    np.testing.assert_array_equal(scores(tally(_clusters("ab"), [])), np.zeros((3, 3)))
    np.testing.assert_array_equal(scores(tally([], [])), np.zeros((3, 3)))
    assert distinct([["a", "b"], ["b"], ["b", "c"]]) == [{"a", "b"}, {"c"}]
