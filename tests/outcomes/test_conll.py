"""MUC, B³, CEAFφ4 and LEA: the reference scorer's own cases, second definitions, and theorems."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, permutations

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


# Published with the reference scorer, TC-A: key and response, then recall and precision of MUC,
# B³, CEAFφ4 and LEA. A response repeats mentions in the last three, counted where they come first.
KEY = "a bc def"
CASES = {
    "perfect": ("a bc def", "1 1", "1 1", "1 1", "1 1"),
    "missing": ("a de", "1/3 1", "7/18 1", "3/5 9/10", "1/3 1"),
    "false alarms": ("a bcx defy z", "1 3/5", "1 55/108", "31/35 93/140", "1 4/9"),
    "both": ("a bcx dy z", "1/3 1/3", "5/9 17/42", "11/15 11/20", "1/2 2/7"),
    "overlap, aligned": ("a bcxB dy z", "1/3 1/4", "5/9 5/16", "31/45 31/60", "1/2 5/24"),
    "overlap, unaligned": ("a bcx dy Bz", "1/3 1/4", "5/9 17/48", "11/15 11/20", "1/2 1/4"),
    "repeated inside": ("a bcxb dy z", "1/3 1/3", "5/9 17/42", "11/15 11/20", "1/2 2/7"),
    "repeated elsewhere": ("a bcx dy bz", "1/3 1/3", "5/9 17/42", "11/15 11/20", "1/2 2/7"),
    "repeated ten times": (
        "a bcx dy bbbbbbbbbbz",
        "1/3 1/3",
        "5/9 17/42",
        "11/15 11/20",
        "1/2 2/7",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_cases_of_the_reference_scorer(case: str) -> None:
    response, *expected = CASES[case]
    scored = scores(tally(_clusters(KEY), _clusters(response)))
    for i, both in enumerate(expected):
        recall, precision = map(Fraction, both.split())
        values = [float(recall), float(precision), float(_f1(recall, precision))]
        np.testing.assert_allclose(scored[i], values, rtol=1e-12, err_msg=METRICS[i])


# Further cases published with it: of each metric that they have values of, recall and precision.
FURTHER = {
    "A10": (KEY, "a b c d e f", {"muc": "0 0", "b3": "1/2 1", "lea": "1/6 1/6"}),
    "A11": (KEY, "abcdef", {"muc": "1 3/5", "b3": "1 7/18", "lea": "5/6 4/15"}),
    "A12": (KEY, "a x y c d e z", {"muc": "0 0", "b3": "13/36 4/7", "lea": "1/6 1/7"}),
    "A13": (KEY, "axycdez", {"muc": "1/3 1/6", "b3": "17/36 6/49", "lea": "1/6 1/21"}),
    "B1": ("ab cde", "bcx de", {"lea": "1/5 2/5"}),
    "C1": ("ab cde fg", "bcx de fg", {"lea": "3/7 4/7"}),
    "D1": (
        "12345 67 89ABC",
        "12345 6789ABC",
        {"muc": "1 9/10", "b3": "1 16/21", "lea": "1 13/18"},
    ),
    "E1": (
        "12345 67 89ABC",
        "1234589ABC 67",
        {"muc": "1 9/10", "b3": "1 7/12", "lea": "1 29/54"},
    ),
    "F1": ("ABCD", "AB CD", {"muc": "2/3 1", "lea": "1/3 1"}),
    "G1": ("AB CD", "ABCD", {"muc": "1 2/3", "lea": "1 1/3"}),
    "H1": ("ABCD", "ABCD", {"muc": "1 1", "lea": "1 1"}),
    "J1": ("ABC", "AC", {"muc": "1/2 1", "lea": "1/3 1"}),
    "K1": ("BCDEGHJ", "ABC DEF GHI", {"muc": "1/2 1/2", "lea": "1/7 1/3"}),
    "L1": ("ABC DEFG", "AB CD FGH", {"muc": "2/5 1/2", "lea": "5/21 3/7"}),
    "M1": ("abcdef", "abcdef", dict.fromkeys(METRICS, "1 1")),
    "M2": ("abcdef", "a b c d e f", {"muc": "0 0", "lea": "0 0"}),
    "M3": ("abcdef", "ab cde f", {"lea": "4/15 5/6"}),
    "M4": ("abcdef", "abcxyz", {"lea": "1/5 1/5"}),
    "M5": ("abcdef", "a b c x y z", {"muc": "0 0", "lea": "0 0"}),
    "M6": ("abcdef", "ab cxy z", {"lea": "1/15 1/3"}),
    "N1": ("a b c d e f", "a b c d e f", {"muc": "0 0", "lea": "1 1"}),
    "N2": ("a b c d e f", "abcdef", {"muc": "0 0", "lea": "0 0"}),
    "N3": ("a b c d e f", "ab cde f", {"lea": "1/6 1/6"}),
    "N4": ("a b c d e f", "a b c x y z", {"muc": "0 0", "lea": "1/2 1/2"}),
    "N5": ("a b c d e f", "abcxyz", {"lea": "0 0"}),
    "N6": ("a b c d e f", "ab cxy z", {"lea": "0 0"}),
}


@pytest.mark.parametrize("case", FURTHER)
def test_further_cases_of_the_reference_scorer(case: str) -> None:
    key, response, expected = FURTHER[case]
    scored = scores(tally(_clusters(key), _clusters(response)))
    for name, both in expected.items():
        values = [float(Fraction(x)) for x in both.split()]
        np.testing.assert_allclose(scored[METRICS.index(name), :2], values, rtol=1e-12)


def test_the_worked_example_of_the_paper() -> None:
    """Pradhan et al. (2014): recall .40, .42, .65 and precision .40, .50, .43 as printed there."""
    scored = scores(tally(_clusters("abc defg"), _clusters("ab cd fghi")))
    np.testing.assert_array_equal(scored[:3, 0].round(2), [0.40, 0.42, 0.65])
    np.testing.assert_array_equal(scored[:3, 1].round(2), [0.40, 0.50, 0.43])


partition = st.lists(st.integers(0, 3), min_size=1, max_size=7).map(
    lambda labels: [
        {"abcdefg"[i] for i, label in enumerate(labels) if label == cluster}
        for cluster in set(labels)
    ]
)


@settings(deadline=None)
@given(partition, partition)
def test_recall_and_precision_change_places_with_key_and_response(k: Clusters, r: Clusters) -> None:
    there, back = tally(k, r), tally(r, k)
    np.testing.assert_allclose(there[:, :2], back[:, 2:], rtol=1e-12)
    scored = scores(there)
    assert np.all((scored >= 0) & (scored <= 1 + 1e-12))
    np.testing.assert_allclose(conll_f1(there), conll_f1(back), rtol=1e-12)


@settings(deadline=None)
@given(partition)
def test_what_is_found_as_it_is_has_100_percent(k: Clusters) -> None:
    scored = scores(tally(k, k))
    linked = any(len(cluster) > 1 for cluster in k)
    np.testing.assert_allclose(scored[1:], 1)
    np.testing.assert_allclose(scored[0], 1 if linked else 0)


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
    ceaf = tally(k, r)[2]
    np.testing.assert_allclose(ceaf, [best, len(k), best, len(r)])


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


@settings(deadline=None)
@given(partition, partition)
def test_lea_is_a_mean_over_mentions_of_the_links_that_are_found(k: Clusters, r: Clusters) -> None:
    """Moosavi and Strube (2016), eq. 3 and 4, with the links written out."""

    def links(cluster: set[str]) -> set[tuple[str, ...]]:
        pairs = set(combinations(sorted(cluster), 2))
        return pairs or {tuple(cluster)}  # of one mention: to itself

    every = set().union(*map(links, r))
    right = sum(len(c) * len(links(c) & every) / len(links(c)) for c in k)
    assert scores(tally(k, r))[3, 0] == pytest.approx(right / sum(map(len, k)))


def test_documents_add_up() -> None:
    """Mentions of two documents never meet: scored together or added up is the same."""
    first = _clusters("ab c"), _clusters("a bc")
    second = _clusters("xyz"), _clusters("xy z")
    apart = tally(*first) + tally(*second)
    together = tally(first[0] + second[0], first[1] + second[1])
    np.testing.assert_allclose(apart, together)
    assert conll_f1(np.stack([apart, apart])) == pytest.approx([conll_f1(apart)] * 2)


def test_nothing_found_is_0_and_not_undefined() -> None:
    np.testing.assert_array_equal(scores(tally(_clusters("ab"), [])), np.zeros((4, 3)))
    np.testing.assert_array_equal(scores(tally([], [])), np.zeros((4, 3)))
    assert distinct([["a", "b"], ["b"], ["b", "c"]]) == [{"a", "b"}, {"c"}]
