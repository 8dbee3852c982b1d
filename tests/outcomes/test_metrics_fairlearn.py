"""Rates and gaps beside fairlearn's MetricFrame, which runs in an interpreter of its own.

WORDBIAS_FAIRLEARN_PYTHON names a Python that has fairlearn; without it the tests are skipped.
"""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

import numpy as np
import pytest

from wordbias.outcomes.confusion import RATES, Confusion, rates
from wordbias.outcomes.metrics import gaps

_THEIRS = """
import json, sys
from fairlearn.metrics import MetricFrame, false_positive_rate, true_positive_rate
from sklearn.metrics import accuracy_score, f1_score, precision_score
given = json.load(sys.stdin)
metrics = {"tpr": true_positive_rate, "fpr": false_positive_rate,
           "precision": precision_score, "f1": f1_score, "accuracy": accuracy_score}
found = {}
for name in given["classes"]:
    y, r = ([one == name for one in given[key]] for key in ("y", "r"))
    frame = MetricFrame(metrics=metrics, y_true=y, y_pred=r, sensitive_features=given["z"])
    found[name] = {"by_group": {k: v.to_dict() for k, v in frame.by_group.items()},
                   "difference": frame.difference(method="between_groups").to_dict()}
json.dump(found, sys.stdout)
"""


def _theirs(given: dict[str, list[str]]) -> dict[str, Any]:
    python = os.environ.get("WORDBIAS_FAIRLEARN_PYTHON")
    if not python:
        pytest.skip("WORDBIAS_FAIRLEARN_PYTHON names no Python with fairlearn")
    done = subprocess.run(
        [python, "-c", _THEIRS], input=json.dumps(given), capture_output=True, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("groups", ["FM", "FMX"])
def test_rates_and_gaps_are_those_of_fairlearn(groups: str) -> None:
    rng = np.random.default_rng(len(groups))
    classes = ["nurse", "poet", "surgeon", "teacher"]
    y = rng.choice(classes, 3000)
    r = np.where(rng.random(3000) < 0.7, y, rng.choice(classes, 3000, p=[0.4, 0.3, 0.2, 0.1]))
    z = rng.choice(list(groups), 3000)
    given = {"classes": classes, "y": y.tolist(), "r": r.tolist(), "z": z.tolist()}
    theirs = _theirs(given)
    ours = Confusion.of(y, r, z)
    found = rates(ours.counts)
    for name in RATES:
        gap = gaps(found[name])
        for j, label in enumerate(ours.classes):
            by_group = theirs[label]["by_group"][name]
            expected = [by_group[group] for group in ours.groups]
            np.testing.assert_allclose(found[name][:, j], expected, rtol=1e-12)
            # two groups have a sign here, and none there
            assert abs(gap[j]) == pytest.approx(theirs[label]["difference"][name], abs=1e-12)
