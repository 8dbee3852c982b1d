"""Correlations between measures: Table 5 from Table 6, the definition by hand, invariances."""

from __future__ import annotations

import math
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from wordbias import WordbiasError
from wordbias.comparison import Comparison, correlation_row, correlations, joined
from wordbias.correlation import Correlation, correlation
from wordbias.rows import read_source

# Dawkins (2021), Marked Attribute Bias in Natural Language Inference, appendix B, Table 6.
TABLE_6 = """\
emb,DB,MIDB,Clus_v1500,Rec_LR,SB_def,SB_stereo,GIPE_0.03,E
w2v,0.052,0.023,0.933,0.992,0.830,0.134,0.021,0.206
w2v.HD,0.000,0.007,0.440,0.887,0.759,0.114,0.014,0.163
w2v.DHD,NA,0.025,0.271,0.881,0.295,0.373,0.014,0.164
w2v.BAM,0.061,0.038,0.844,0.974,0.814,0.136,0.023,0.131
w2v.OSCaR,0.050,0.024,0.928,0.993,0.830,0.134,0.021,0.188
GloVe,0.055,-0.032,0.984,1.000,0.802,0.109,0.115,0.198
GloVe.HD,0.000,-0.004,0.302,0.927,0.786,0.130,0.070,0.155
GN-GloVe,0.038,0.172,0.588,0.999,0.977,0.014,0.141,0.301
GN-GloVe(w_a),0.068,-0.096,0.497,0.989,0.939,0.011,0.117,0.149
GloVe.DHD,NA,0.201,0.258,0.903,0.250,0.123,0.064,0.247
GloVe.GP,0.059,0.068,0.996,1.000,0.843,0.080,0.145,0.336
GN-GloVe.GP,0.036,0.006,0.601,0.999,0.984,0.011,0.118,0.179
GloVe.BAM,0.068,-0.019,0.964,0.999,0.775,0.145,0.137,0.175
GloVe.OSCaR,0.056,-0.012,0.984,1.000,0.814,0.102,0.117,0.154
GloVe.RAN,0.044,-0.001,0.419,0.951,0.927,0.011,0.040,0.193
GloVe.INLP,NA,-0.001,0.015,0.660,0.198,0.160,0.080,0.167
"""
# The same, Table 5: the upper triangle, row by row. GIPE has θ = .05 there, by its footnote 15.
TABLE_5 = """
-.166  .694  .814  .161 -.045  .350  .104
      -.145 -.020 -.273  .005 -.003  .667
             .776  .600 -.185  .271  .184
                   .786 -.390  .290  .223
                        -.693  .304  .091
                              -.487 -.270
                                     .432
"""


@pytest.fixture
def table_6(tmp_path: Path) -> Comparison:
    path = tmp_path / "table6.csv"
    path.write_text(TABLE_6, encoding="utf-8")
    return joined([read_source(path)])


def _made(values: NDArray[np.float64]) -> Comparison:
    subjects, measures = values.shape
    return Comparison(
        [f"e{i}" for i in range(subjects)], [f"m{i}" for i in range(measures)], values
    )


def _random(seed: int, subjects: int = 9, measures: int = 4, missing: float = 0.0) -> Comparison:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(subjects, measures))
    values[rng.uniform(size=values.shape) < missing] = np.nan
    return _made(values)


def _by_hand(x: list[float], y: list[float]) -> float:
    """r = Σ(x−x̄)(y−ȳ) / √(Σ(x−x̄)² Σ(y−ȳ)²)."""
    mx, my = math.fsum(x) / len(x), math.fsum(y) / len(y)
    xy = math.fsum((a - mx) * (b - my) for a, b in zip(x, y, strict=True))
    xx, yy = math.fsum((a - mx) ** 2 for a in x), math.fsum((b - my) ** 2 for b in y)
    return xy / math.sqrt(xx * yy)


def test_table_6_gives_table_5(table_6: Comparison) -> None:
    assert table_6.values.shape == (16, 8)
    printed = np.array(TABLE_5.split(), float)
    got = np.array([pair.r for pair in correlations(table_6).pairs], float)
    assert len(got) == len(printed) == 28
    np.testing.assert_allclose(got, printed, rtol=0, atol=0.005)


def test_midb_and_error(table_6: Comparison) -> None:
    """P of the two-sided t test, by the incomplete beta integral computed numerically."""
    (pair,) = correlations(table_6.only(["MIDB", "E"])).pairs
    assert pair.r is not None
    assert pair.p is not None
    assert (pair.x, pair.y, pair.n) == ("MIDB", "E", 16)
    assert pair.r == pytest.approx(0.667, abs=0.0015)
    t = abs(pair.r) * math.sqrt(14 / (1 - pair.r**2))
    step, df = 1e-3, 14
    grid = np.arange(0, t, step) + step / 2
    c = math.gamma((df + 1) / 2) / (math.sqrt(df * math.pi) * math.gamma(df / 2))
    inside = 2 * step * float((c * (1 + grid**2 / df) ** (-(df + 1) / 2)).sum())
    assert pair.p == pytest.approx(1 - inside, abs=2e-5)


def test_how_far_the_correlation_of_midb_and_error_can_be_trusted(table_6: Comparison) -> None:
    """Fisher's interval is .26 to .87; without one of the 16 embeddings r is .54; ρ is .465."""
    (pair,) = correlations(table_6.only(["MIDB", "E"])).pairs
    columns = table_6.column("MIDB"), table_6.column("E")
    details = correlation_row(pair, columns, table_6.subjects, "pearson").details
    assert details["low"] == pytest.approx(0.26, abs=0.005)
    assert details["high"] == pytest.approx(0.87, abs=0.005)
    assert details["spearman"] == pytest.approx(0.465, abs=0.0005)
    assert details["spearman_p"] == pytest.approx(0.07, abs=0.005)
    assert details["driver"] == "GN-GloVe"
    assert details["without_driver"] == pytest.approx(0.541, abs=0.0005)
    others = [name != "GN-GloVe" for name in table_6.subjects]
    assert details["without_driver"] == pytest.approx(
        stats.pearsonr(*np.array(columns)[:, others])[0]
    )
    assert details["without_low"] == details["without_driver"]
    assert details["without_high"] > (pair.r or 0)
    assert details["bootstrap_low"] < details["low"]
    assert details["high"] < details["bootstrap_high"] < 1


def test_the_documented_correlations_are_those_of_the_table(table_6: Comparison) -> None:
    def short(value: float) -> str:
        return f"{value:.3f}".replace("0.", ".", 1).replace("-", "−")

    text = (Path(__file__).parents[1] / "docs" / "known-embeddings.md").read_text(encoding="utf-8")
    for name in table_6.measures[:-1]:
        columns = table_6.column(name), table_6.column("E")
        pair = correlation((name, columns[0]), ("E", columns[1]), "pearson")
        row = correlation_row(pair, columns, table_6.subjects, "pearson")
        details = row.details
        ranges = [
            f"{short(details[f'{which}low'])} … {short(details[f'{which}high'])}"
            for which in ("", "bootstrap_", "without_")
        ]
        cells = [name, short(row.value or 0), *ranges[:2], short(details["spearman"]), ranges[2]]
        line = " | ".join([*cells, details["driver"], short(details["without_driver"])])
        assert f"| {line} |" in text


def test_the_driver_is_named_among_the_embeddings_that_have_both() -> None:
    x = np.array([np.nan, 0, 1, 0, 1, 9])
    y = np.array([5.0, 0, 0, 1, 1, 9])
    pair = correlation(("a", x), ("b", y), "pearson")
    row = correlation_row(pair, (x, y), list("uvwxyz"), "pearson")
    assert row.details["driver"] == "z"
    few = correlation(("a", x[:4]), ("b", y[:4]), "spearman")
    assert few.n == 3
    about = correlation_row(few, (x[:4], y[:4]), list("uvwx"), "spearman").details
    assert set(about) == {"x", "y", "n", "p", "method", "neutral", "pearson", "pearson_p"}
    none = correlation(("a", x[:3]), ("b", y[:3]), "pearson")
    undefined = correlation_row(none, (x[:3], y[:3]), list("uvw"), "pearson")
    assert (undefined.value, undefined.details["reason"]) == (None, none.reason)


def test_without_its_driver_a_correlation_may_be_undefined() -> None:
    x, y = np.array([0.0, 0, 0, 0, 1]), np.arange(5.0)
    pair = correlation(("a", x), ("b", y), "pearson")
    details = correlation_row(pair, (x, y), list("vwxyz"), "pearson").details
    assert (details["driver"], details["without_driver"]) == ("z", None)
    assert details["without_low"] <= details["without_high"] < 1


def test_na_leaves_out_an_embedding_from_its_pairs_only(table_6: Comparison) -> None:
    sizes = {(pair.x, pair.y): pair.n for pair in correlations(table_6).pairs}
    assert {n for (x, _), n in sizes.items() if x == "DB"} == {13}
    assert {n for (x, _), n in sizes.items() if x != "DB"} == {16}


@pytest.mark.parametrize("seed", range(5))
def test_pearson_is_the_formula_over_the_complete_pairs(seed: int) -> None:
    table = _random(seed, subjects=14, missing=0.2)
    for pair in correlations(table).pairs:
        x, y = (table.column(name).tolist() for name in (pair.x, pair.y))
        both = [(a, b) for a, b in zip(x, y, strict=True) if a == a and b == b]
        assert pair.n == len(both)
        assert pair.r == pytest.approx(_by_hand([a for a, _ in both], [b for _, b in both]))


@pytest.mark.parametrize("seed", range(5))
def test_spearman_is_scipys_and_pearson_of_ranks(seed: int) -> None:
    table = _random(seed, subjects=12, missing=0.15)
    table = Comparison(table.subjects, table.measures, np.round(table.values, 0))  # ties
    for pair in correlations(table, "spearman").pairs:
        x, y = table.column(pair.x), table.column(pair.y)
        both = ~np.isnan(x) & ~np.isnan(y)
        want = stats.spearmanr(x[both], y[both])
        assert pair.r == pytest.approx(want.statistic)
        assert pair.p == pytest.approx(want.pvalue) or pair.n < 8
        ranks = [stats.rankdata(column[both]).tolist() for column in (x, y)]
        assert pair.r == pytest.approx(_by_hand(*ranks))


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    method=st.sampled_from(["pearson", "spearman"]),
    scale=st.floats(1e-3, 1e3),
    shift=st.floats(-10, 10),
)
def test_invariances(seed: int, method: str, scale: float, shift: float) -> None:
    table = _random(seed, missing=0.1)
    matrix = correlations(table, method).matrix()
    np.testing.assert_array_equal(matrix, matrix.T)
    defined = np.isfinite(matrix)
    assert (np.abs(matrix[defined]) <= 1).all()
    np.testing.assert_array_equal(np.diag(matrix), 1)
    order = np.random.default_rng(seed).permutation(len(table.subjects))
    for other, sign in (
        (table.values[order], 1),
        (table.values * scale + shift, 1),
        (np.hstack([-scale * table.values[:, :1], table.values[:, 1:]]), -1),
    ):
        want = matrix.copy()
        want[0, 1:] *= sign
        want[1:, 0] *= sign
        got = correlations(_made(other), method).matrix()
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-7)


@pytest.mark.parametrize("n", [3, 4, 5, 6, pytest.param(7, marks=pytest.mark.slow)])
def test_spearmans_p_is_exact_for_few_embeddings(n: int) -> None:
    table = _random(n, subjects=n, measures=2)
    values = np.round(table.values, 0) + np.eye(n, 2)  # ties, none constant
    (pair,) = correlations(_made(values), "spearman").pairs
    x = values[:, 0]
    want = stats.permutation_test(
        (values[:, 1],),
        lambda y: stats.spearmanr(x, y).statistic,
        permutation_type="pairings",
        n_resamples=np.inf,
    )
    all_r = want.null_distribution
    assert pair.p == pytest.approx((np.abs(all_r) >= abs(pair.r or 0) - 1e-9).mean())


def test_a_line_correlates_fully_and_large_numbers_do_not_overflow() -> None:
    x = np.array([1.0, 2, 3, 5])
    for method in ("pearson", "spearman"):
        pairs = correlations(_made(np.stack([x, 1e300 * x, -1e-300 * x], 1)), method).pairs
        assert [pair.r for pair in pairs] == pytest.approx([1, -1, -1])
        want = 0 if method == "pearson" else 2 / math.factorial(4)
        assert [pair.p for pair in pairs] == pytest.approx([want] * 3, abs=1e-7)


def test_fewer_than_three_common_embeddings_are_undefined_with_a_reason() -> None:
    values = np.array([[1, 2, 1], [2, 3, 5], [4, 3, np.nan], [3, 1, np.nan]], float)
    first, second, _ = correlations(_made(values)).pairs
    assert first.r is not None
    assert second == Correlation(
        "m0", "m2", None, 2, None, "2 embeddings have both m0 and m2, needed are 3"
    )
    assert np.isnan(correlations(_made(values)).matrix()[0, 2])


def test_constant_among_the_common_embeddings_is_undefined() -> None:
    values = np.array([[1, 7, 1], [2, 7, 5], [4, 7, 2], [np.nan, 8, 3], [np.nan, 9, 7]], float)
    pair = correlations(_made(values)).pairs[0]
    assert (pair.r, pair.p, pair.n) == (None, None, 3)
    assert pair.reason == "m1 is constant over the 3 embeddings that have both"


@pytest.mark.parametrize("value", [0.0, 0.1, 1e300, -3.0])
def test_a_constant_measure_is_named(value: float) -> None:
    values = np.stack([np.arange(4.0), np.full(4, value)], axis=1)
    with pytest.raises(WordbiasError, match=r"^m1 is .* for all 4 embeddings that have it"):
        correlations(_made(values))


def test_rounding_noise_is_constant_too() -> None:
    noisy = np.array([0.3, 0.1 + 0.2, 0.3, 0.1 + 0.2])
    with pytest.raises(WordbiasError, match=r"m0 is 0\.3 for all 4"):
        correlations(_made(np.stack([noisy, np.arange(4.0)], axis=1)))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (np.ones((1, 3)), "at least 3 embeddings, found 1: e0;"),
        (np.ones((2, 3)), "at least 3 embeddings, found 2: e0, e1;"),
        (np.ones((3, 1)), "at least 2 measures, found 1: m0"),
        (
            np.array([[1, np.nan], [2, np.nan], [3, np.nan], [np.nan, 1], [np.nan, 2]]),
            "no two measures can be correlated: 0 embeddings have both m0 and m1.*m0 3, m1 2",
        ),
    ],
)
def test_too_little(values: NDArray[np.float64], said: str) -> None:
    with pytest.raises(WordbiasError, match=said):
        correlations(_made(values))


def test_unknown_method() -> None:
    with pytest.raises(WordbiasError, match="'kendall': expected one of pearson, spearman"):
        correlations(_random(0), "kendall")


def test_strongest(table_6: Comparison) -> None:
    coefficients = correlations(table_6)
    top = coefficients.strongest()
    assert (top.x, top.y) == ("DB", "Rec_LR")
    assert coefficients.strongest("E")[:2] == ("MIDB", "E")
    assert coefficients.strongest("E", "DB")[:2] == ("DB", "E")
    assert abs(top.r or 0) == max(abs(pair.r or 0) for pair in coefficients.pairs)
    undefined = np.array([[1, 2, 1], [2, 3, 5], [4, 3, np.nan], [3, 1, np.nan]], float)
    with pytest.raises(WordbiasError, match="m2: correlation undefined: 2 embeddings"):
        correlations(_made(undefined)).strongest("m2")


def test_columns_by_name() -> None:
    names = ["midb (before)", "midb (after, self)", "gipe[θ=0.03] (after)", "midb-abs (before)"]
    table = Comparison(["a", "b"], names, np.arange(8.0).reshape(2, 4))
    assert table.only(["midb"]).measures == names[:2]
    assert table.only(["gipe", "midb (before)"]).measures == [names[2], names[0]]
    assert table.only(["gipe", "midb", "gipe"]).values.tolist() == [[2, 0, 1], [6, 4, 5]]
    assert table.name("gipe") == names[2]
    with pytest.raises(WordbiasError, match=r"several variants.*midb \(before\), midb \(after, s"):
        table.name("midb")
    with pytest.raises(WordbiasError, match=r"no measure 'mid'; there are: midb \(before\), "):
        table.only(["mid"])


def test_long_lists_of_names_are_cut() -> None:
    table = _random(0, measures=30)
    with pytest.raises(WordbiasError, match=r"m11, … and 18 more$"):
        table.find("x")


def test_every_pair_once(table_6: Comparison) -> None:
    pairs = [(pair.x, pair.y) for pair in correlations(table_6).pairs]
    assert pairs == list(combinations(table_6.measures, 2))
