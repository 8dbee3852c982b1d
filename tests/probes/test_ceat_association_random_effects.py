"""DerSimonian and Laird's random effects: by their definition, a peer, and what must hold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from wordbias.errors import WordbiasError
from wordbias.probes.ceat import combine_effects

COUNT = st.integers(2, 12)


@st.composite
def studies(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    n = draw(COUNT)
    effects = draw(arrays(float, n, elements=st.floats(-3, 3)))
    return effects, draw(arrays(float, n, elements=st.floats(0.01, 4)))


def _by_definition(effects: np.ndarray, variances: np.ndarray) -> tuple[float, float, float]:
    w = [1 / v for v in variances]
    q = sum(a * e * e for a, e in zip(w, effects, strict=True))
    q -= sum(a * e for a, e in zip(w, effects, strict=True)) ** 2 / sum(w)
    c = sum(w) - sum(a * a for a in w) / sum(w)
    tau2 = max(0.0, (q - (len(w) - 1)) / c)
    v = [1 / (x + tau2) for x in variances]
    return sum(a * e for a, e in zip(v, effects, strict=True)) / sum(v), 1 / math.sqrt(sum(v)), tau2


@settings(deadline=None)
@given(studies())
def test_the_combined_effect_is_that_of_the_definition(
    study: tuple[np.ndarray, np.ndarray],
) -> None:
    combined = combine_effects(*study)
    effect, se, tau2 = _by_definition(*study)
    assert combined.tau2 == pytest.approx(tau2, rel=1e-9, abs=1e-9)
    assert combined.effect == pytest.approx(effect, rel=1e-8, abs=1e-8)
    assert combined.se == pytest.approx(se, rel=1e-8)


@settings(deadline=None)
@given(studies())
def test_statsmodels_finds_the_same(study: tuple[np.ndarray, np.ndarray]) -> None:
    """It lets τ² be negative; where it is, fixed effects are what is meant."""
    peer = pytest.importorskip("statsmodels.stats.meta_analysis")
    with np.errstate(all="ignore"):
        theirs = peer.combine_effects(*study, method_re="dl", use_t=False)
        intervals = theirs.conf_int(alpha=0.05)
    kind = "re" if theirs.tau2 > 0 else "fe"
    combined = combine_effects(*study)
    assert combined.tau2 == pytest.approx(max(0.0, float(theirs.tau2)), rel=1e-9, abs=1e-9)
    assert combined.q == pytest.approx(float(theirs.q), rel=1e-9, abs=1e-9)
    assert combined.effect == pytest.approx(float(getattr(theirs, f"mean_effect_{kind}")), abs=1e-8)
    assert combined.se == pytest.approx(float(getattr(theirs, f"sd_eff_w_{kind}")), rel=1e-8)
    low, high = intervals[kind == "re"]
    assert combined.interval == pytest.approx((low, high), rel=1e-8, abs=1e-8)


@settings(deadline=None)
@given(studies(), st.floats(-5, 5), st.floats(0.1, 10))
def test_the_combined_effect_moves_and_grows_with_the_effects(
    study: tuple[np.ndarray, np.ndarray], shift: float, scale: float
) -> None:
    e, v = study
    plain, moved = combine_effects(e, v), combine_effects(scale * e + shift, scale**2 * v)
    assert moved.effect == pytest.approx(scale * plain.effect + shift, abs=1e-9)
    assert moved.se == pytest.approx(scale * plain.se, rel=1e-6)


@settings(deadline=None)
@given(studies())
def test_p_of_both_directions(study: tuple[np.ndarray, np.ndarray]) -> None:
    e, v = study
    plain, turned = combine_effects(e, v), combine_effects(-e, v)
    assert plain.p + turned.p == pytest.approx(1)
    two_sided = 2 * min(plain.p, turned.p)
    assert (plain.interval.low > 0 or plain.interval.high < 0) == (two_sided < 0.05)


def test_equal_effects_leave_nothing_between_them() -> None:
    combined = combine_effects([0.4, 0.4, 0.4], [1.0, 2.0, 4.0])
    assert combined.tau2 == 0
    assert combined.effect == pytest.approx(0.4)
    assert combined.se == pytest.approx(math.sqrt(1 / 1.75))


@pytest.mark.parametrize("times", [4, 100])
def test_the_standard_error_falls_with_the_number_of_draws_alone(times: int) -> None:
    e, v = np.array([0.1, 0.2, 0.3]), np.array([0.5, 0.6, 0.7])
    once, often = combine_effects(e, v), combine_effects(np.tile(e, times), np.tile(v, times))
    assert once.tau2 == often.tau2 == 0
    assert often.effect == pytest.approx(once.effect)
    assert often.se == pytest.approx(once.se / math.sqrt(times))
    assert often.p < once.p


def test_p_far_out_is_exact_or_zero_and_never_nan() -> None:
    from scipy.stats import norm

    combined = combine_effects([10.0, 10.0], [1.0, 1.0])
    assert combined.p == pytest.approx(norm.sf(10 * math.sqrt(2)), rel=1e-12)
    far = combine_effects([1e3, 1e3], [1.0, 1.0])
    assert far.p == 0
    assert combine_effects([-1e3, -1e3], [1.0, 1.0]).p == 1


@pytest.mark.parametrize(
    ("effects", "variances", "message"),
    [
        ([1.0], [1.0], "at least two effect sizes"),
        ([1.0, 2.0], [1.0], "got shapes \\(2,\\) and \\(1,\\)"),
        ([1.0, 2.0], [1.0, 0.0], "positive variances, found 0"),
        ([1.0, np.nan], [1.0, 1.0], "expected finite"),
        ([1.0, 2.0], [1.0, np.inf], "expected finite"),
    ],
)
def test_effects_that_cannot_be_combined_are_refused(
    effects: list[float], variances: list[float], message: str
) -> None:
    with pytest.raises(WordbiasError, match=message):
        combine_effects(effects, variances)
