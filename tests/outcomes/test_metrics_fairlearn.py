"""Rates and gaps beside fairlearn's MetricFrame."""

from __future__ import annotations

import numpy as np
import pytest
from rates_of_counts import rates

from wordbias.outcomes.confusion import RATES, Confusion
from wordbias.outcomes.metrics import gaps


@pytest.mark.parametrize("groups", ["FM", "FMX"])
def test_rates_and_gaps_are_those_of_fairlearn(groups: str) -> None:
    metrics = pytest.importorskip("fairlearn.metrics")
    from sklearn.metrics import f1_score, precision_score

    functions = (
        metrics.true_positive_rate,
        metrics.false_positive_rate,
        precision_score,
        f1_score,
    )
    rng = np.random.default_rng(len(groups))
    classes = ["nurse", "poet", "surgeon", "teacher"]
    y = rng.choice(classes, 3000)
    r = np.where(rng.random(3000) < 0.7, y, rng.choice(classes, 3000, p=[0.4, 0.3, 0.2, 0.1]))
    z = rng.choice(list(groups), 3000)
    ours = Confusion.of(y, r, z)
    our_rates = rates(ours.counts)
    for j, label in enumerate(ours.classes):
        theirs = metrics.MetricFrame(
            metrics=dict(zip(RATES, functions, strict=True)),
            y_true=y == label,
            y_pred=r == label,
            sensitive_features=z,
        )
        for name in RATES:
            expected = [theirs.by_group[name][group] for group in ours.groups]
            np.testing.assert_allclose(our_rates[name][:, j], expected, rtol=1e-12)
            # two groups have a sign here, and none there
            gap = abs(gaps(our_rates[name])[j])
            assert gap == pytest.approx(theirs.difference()[name], abs=1e-12)
