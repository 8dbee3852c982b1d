"""`integrations/evaluate`: loaded by evaluate, it says what `wordbias.fairness` says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from integrations_page import ROOT, put_integrations, python_block

import wordbias as wb

pytestmark = pytest.mark.slow  # in processes of their own
MODULE = ROOT / "integrations" / "evaluate" / "fairness_gaps"
SAY = "\nimport json, sys; json.dump([found], sys.stdout)"
LOAD = """
import json, sys, evaluate
metric = evaluate.load(sys.argv[1], cache_dir=sys.argv[2])
given = json.load(sys.stdin)
json.dump([metric.compute(**one) for one in given], sys.stdout)
"""


def _computed(folder: Path, code: str, *given: dict[str, Any]) -> Any:
    """Run code in an interpreter of its own, whose cache of modules is a new folder."""
    pytest.importorskip("evaluate")
    places = {"HF_MODULES_CACHE": str(folder / "modules"), "HF_HOME": str(folder / "home")}
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", code, str(MODULE), str(folder / "cache")],
        env={**os.environ, **places, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1"},
        cwd=folder,
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_values_are_those_of_fairness(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y, r = (rng.choice(["model", "nurse", "surgeon"], 200).tolist() for _ in range(2))
    z = rng.choice(["F", "M"], 200).tolist()
    given = {"predictions": r, "references": y, "groups": z, "draws": 50, "seed": 3}
    numbers = {
        **{"predictions": [0, 1] * 30, "references": [1, 1, 0] * 20},
        **{"groups": ["F", "M", "X", "M"] * 15, "compare": ["M", "F"], "draws": 0},
    }
    words, of_numbers = _computed(tmp_path, LOAD, given, numbers)
    expected = wb.fairness(y, r, z, draws=50, seed=3)
    for gap in ("tpr-gap", "fpr-gap", "precision-gap", "f1-gap"):
        name = gap.replace("-", "_")
        rows = {row.details["set"]: row for row in expected[gap]}
        of_sum = rows["sum"].details
        assert words[name] == rows["sum"].value
        assert words[f"{name}_low"] == of_sum["low"]
        assert words[f"{name}_alike"] == of_sum["chance"]
        assert words[f"{name}_p"] == of_sum["p"]
        nurse = {"gap": rows["nurse"].value, "low": rows["nurse"].details["low"]}
        assert words[f"{name}_by_class"]["nurse"] == nurse | {"high": rows["nurse"].details["high"]}
    chosen = wb.fairness(
        *(numbers[key] for key in ("references", "predictions", "groups")),
        values=["M", "F"],
        draws=0,
    )
    (gap_row,) = (row for row in chosen["tpr-gap"] if row.details["set"] == "1")
    assert of_numbers["tpr_gap_by_class"]["1"] == {"gap": gap_row.value, "low": None, "high": None}
    assert set(of_numbers["accuracy_by_group"]) == {"F", "M"}


def test_the_call_of_the_page(tmp_path: Path) -> None:
    put_integrations(tmp_path)
    (computed,) = _computed(tmp_path, python_block("evaluate") + SAY)
    assert computed["tpr_gap"] == 1
    assert computed["tpr_gap_by_class"]["surgeon"] == {"gap": -1, "low": -1, "high": -1}
