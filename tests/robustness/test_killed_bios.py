"""An occupation study that is killed at any moment goes on, and ends as if it had not been."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest
import tiny_encoders
from killing import finished, killed, replaced

from wordbias.biographies.synthetic import synthetic

pytest.importorskip("transformers")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
SMALL = ("--limit", 300, "--max-tokens", 20, "--draws", 20, "--seeds", "0", "--no-baselines")
QUICK = ("--epochs", 6, "--retrain-epochs", 2, "--batch", 32, "--every", 3, "--device", "cpu")


def made_encoder(folder: Path) -> Path:
    words = sorted(set(tiny_encoders.words_of(*synthetic().texts)))
    model = tiny_encoders.build("bert", "Model", vocabulary=len(words) + 5)
    tiny_encoders.save(model, tiny_encoders.make_tokenizer(words), folder)
    return folder


def test_bios(cli: Any, tmp_path: Path) -> None:
    rng = random.Random(4)
    call = ("bios", "--model", made_encoder(tmp_path / "bert"), *SMALL, *QUICK, "--threads", 1)
    call = (*call, "--strategies", "none,subsample", "-q", "--format", "jsonl", "-o")
    whole, study = tmp_path / "whole", tmp_path / "study"
    undisturbed = cli(*call, whole)
    assert undisturbed.code == 0, undisturbed.err
    moments = [
        replaced(study / "none-0.checkpoint", 1 + rng.randrange(3)),
        replaced(study / "subsample-0.checkpoint", 1 + rng.randrange(3)),
    ]
    landed = [killed([*call, study], moment, 0.05 * rng.random()) for moment in moments]
    assert any(landed), "none of them was killed before its end"
    if landed[1]:
        lines = (study / "results.jsonl").read_text().splitlines()
        assert [json.loads(line)["strategy"] for line in lines] == ["none"]
    assert finished([*call, study]) == undisturbed.out
    assert {path.name for path in study.iterdir()} == {path.name for path in whole.iterdir()}
