"""Models of the last epochs: which are kept, and that values are their means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from interrupted_trainings import interrupted_in

pytest.importorskip("torch", reason="the extra `torch` is not installed")

import torch

from wordbias import Embedding
from wordbias.draws import drawn
from wordbias.errors import UsageError, WordbiasError
from wordbias.functions.mab_eval import mab_eval
from wordbias.functions.mab_study import mab_study
from wordbias.nli.files import Model
from wordbias.nli.jobs import Data, Job, plan_jobs
from wordbias.nli.pairs import Pairs
from wordbias.nli.recipes import FAST
from wordbias.nli.study import last_models, over_epochs
from wordbias.nli.train import NLITask, Setup, train_all, train_stacked
from wordbias.results import Row
from wordbias.wordlists import Templates
from wordbias.workers import Workers

pytestmark = pytest.mark.usefixtures("one_thread")

WORDS = [f"w{i}" for i in range(12)]
RECIPE = replace(FAST, batch=16, epochs=5, hidden=6, rate=0.02, patience=None)


def _pairs(count: int, seed: int) -> Pairs:
    rng = np.random.default_rng(seed)
    premises = [tuple(rng.choice(WORDS, 3).tolist()) for _ in range(count)]
    hypotheses = [tuple(rng.choice(WORDS, 2).tolist()) for _ in range(count)]
    return Pairs(premises, hypotheses, rng.integers(0, 3, count), sha256=f"{count}-{seed}")


DATA = Data.of({"train": _pairs(60, 0), "dev": _pairs(40, 1)})


def _job(folder: Path, **changes: Any) -> Job:
    x = np.random.default_rng(0).normal(size=(len(WORDS), 8))
    recipe = replace(RECIPE, **changes)
    (job,) = plan_jobs([Embedding(WORDS, x, "one")], [0], DATA, recipe, folder)
    return job


def _train(job: Job, kept: int, **changes: Any) -> None:
    recipe, workers = replace(RECIPE, **changes), Workers(1)
    pairs = DATA.encoded["train"], DATA.encoded["dev"]
    train_all([job], *pairs, recipe, device="cpu", kept=kept, workers=workers)


def _names(job: Job) -> list[str]:
    paths = job.output.parent.glob("*.epoch*")
    return sorted(path.name for path in paths)


def test_the_last_epochs_are_kept_and_no_others(tmp_path: Path) -> None:
    job = _job(tmp_path)
    _train(job, 2)
    assert _names(job) == ["one.seed0.epoch4.safetensors", "one.seed0.epoch5.safetensors"]
    assert [epoch for epoch, _ in last_models(job, 2)] == [4, 5]
    assert [epoch for epoch, _ in last_models(job, 1)] == [5]
    with pytest.raises(WordbiasError, match=r"of its 5 epochs the model of epoch 3 was not kept"):
        list(last_models(job, 3))


def test_a_kept_model_is_that_of_its_epoch(tmp_path: Path) -> None:
    """The model after three epochs of five is the last one of a training of three."""
    long, short = _job(tmp_path / "long"), _job(tmp_path / "short", epochs=3)
    _train(long, 5)
    _train(short, 1, epochs=3)
    (of_short,) = (model for _, model in last_models(short, 1))
    of_long = Model.load(long.epoch_file(3))
    assert (of_long.about["epoch"], of_short.about["epoch"]) == (3, 3)
    for name, weight in of_short.weights.items():
        np.testing.assert_array_equal(weight, of_long.weights[name])
    best = Model.load(long.output)
    chosen = Model.load(long.epoch_file(best.about["best_epoch"]))
    for name, weight in best.weights.items():
        np.testing.assert_array_equal(weight, chosen.weights[name])


def test_keeping_changes_nothing_else(tmp_path: Path) -> None:
    with_epochs, without = _job(tmp_path / "a"), _job(tmp_path / "b")
    _train(with_epochs, 2)
    _train(without, 0)
    assert with_epochs.output.read_bytes() == without.output.read_bytes()
    assert _names(without) == []


def test_each_model_of_a_stack_keeps_the_last_epochs_of_its_own_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first stops after its third epoch, for its accuracy falls; the second goes on."""
    x = np.random.default_rng(0).normal(size=(2, len(WORDS), 8))
    vectors = [Embedding(WORDS, matrix, f"e{i}") for i, matrix in enumerate(x)]
    recipe = replace(RECIPE, patience=2)
    jobs = plan_jobs(vectors, [0], DATA, recipe, tmp_path)
    scores = iter([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4], [0.5, 0.5]])
    monkeypatch.setattr(NLITask, "score", lambda _: torch.tensor(next(scores), dtype=torch.float64))
    setup = Setup(DATA.encoded["train"], DATA.encoded["dev"], recipe, False, 2)
    train_stacked(jobs, setup, torch.device("cpu"))
    assert [[epoch for epoch, _ in last_models(job, 2)] for job in jobs] == [[2, 3], [4, 5]]
    assert len(_names(jobs[0])) == 4


@pytest.mark.slow
def test_an_interrupted_training_ends_with_the_same_files(tmp_path: Path) -> None:
    whole, resumed = _job(tmp_path / "whole"), _job(tmp_path / "resumed")
    _train(whole, 2)
    with pytest.raises(KeyboardInterrupt), interrupted_in(3, NLITask):
        _train(resumed, 2)
    assert _names(resumed) == ["one.seed0.epoch2.safetensors", "one.seed0.epoch3.safetensors"]
    _train(resumed, 2)
    assert _names(resumed) == _names(whole)
    for epoch in (4, 5):
        assert resumed.epoch_file(epoch).read_bytes() == whole.epoch_file(epoch).read_bytes()


@pytest.mark.slow
def test_a_model_of_another_training_is_refused(tmp_path: Path) -> None:
    job, other = _job(tmp_path / "a"), _job(tmp_path / "b", rate=0.5)
    _train(job, 1)
    _train(other, 1, rate=0.5)
    job.epoch_file(5).write_bytes(other.epoch_file(5).read_bytes())
    with pytest.raises(WordbiasError, match="holds a model of another training"):
        list(last_models(job, 1))


# --- means over epochs


def _row(value: float | None, samples: Sequence[float] | None, **more: Any) -> Row:
    draws = drawn(None if samples is None else np.array(samples), "premises")
    return Row("a", "mab-error", value, {"set": "explicit", **more}, draws)


def test_values_and_draws_are_averaged_and_the_p_of_one_model_is_dropped() -> None:
    first = _row(0.2, np.linspace(0.1, 0.3, 101), p=0.01, low=0.1, high=0.3, method="exact")
    two = _row(0.4, np.linspace(0.5, 0.3, 101), p=0.02, low=0.3, high=0.5, method="exact")
    (mean,) = over_epochs({7: [first], 8: [two]})
    assert mean.value == pytest.approx(0.3)
    assert mean.details == {
        "set": "explicit",
        "epochs": [7, 8],
        "low": pytest.approx(0.3),  # what one epoch has more of, the other has less
        "high": pytest.approx(0.3),
        "interval": "bootstrap",
        "unit": "premises",
    }
    (alone,) = over_epochs({8: [two]})
    assert alone.value == 0.4
    assert alone.details["low"] == pytest.approx(np.percentile(np.linspace(0.3, 0.5, 101), 2.5))


def test_an_undefined_value_stays_undefined() -> None:
    rows = [_row(None, None, reason="undefined: a lacks he") for _ in range(2)]
    (mean,) = over_epochs({1: rows[:1], 2: rows[1:]})
    assert (mean.value, mean.details["reason"]) == (None, "undefined: a lacks he")


# --- the study

LABELS = ("neutral", "entailment", "contradiction")
PAIRS = [
    (LABELS[i % 3], "A man is eating an apple.", f"A {word} is eating.")
    for i, word in enumerate(("person", "dog", "man") * 4)
]
CALL: dict[str, Any] = {
    "train": PAIRS, "dev": PAIRS, "epochs": 3, "seed": [0, 1],
    "only": ["direct-bias"], "set": "explicit",
}  # fmt: skip


@pytest.mark.slow
def test_the_study_averages_what_mab_eval_measures_of_each_epoch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    premises = Templates.load().premises()[:3]
    monkeypatch.setattr(Templates, "premises", lambda _: premises)
    sample, out = Embedding.sample(), tmp_path / "study"
    given = {**CALL, "output": out}
    report = mab_study(sample, average_epochs=2, **given)
    assert report.closing[0] == "Values of a model are means over its last 2 epochs."
    single = [row for row in report["mab-error"] if "seed" in row.details]
    assert [row.details["epochs"] for row in single] == [[2, 3]] * 4
    for seed in (0, 1):
        of_epochs = [
            mab_eval(out / f"sample.seed{seed}.epoch{epoch}.safetensors", embedding=sample)
            for epoch in (2, 3)
        ]
        for measure in ("mab-error", "mab-distance", "mab-entailment"):
            want = np.mean(
                [[row.value for row in epoch_report[measure]] for epoch_report in of_epochs], axis=0
            )
            got = [row.value for row in report[measure] if row.details.get("seed") == seed]
            np.testing.assert_allclose(got, want, rtol=1e-12)
    assert mab_study(sample, average_epochs=2, **given).rows == report.rows
    best = mab_study(sample, **given)
    assert "epochs" not in best["mab-error"][0].details
    assert {path.name for path in out.glob("*.epoch*")} == {
        f"sample.seed{seed}.epoch{epoch}.safetensors" for seed in (0, 1) for epoch in (2, 3)
    }
    with pytest.raises(WordbiasError, match=r"epoch 1 was not kept .* average_epochs= in another"):
        mab_study(sample, average_epochs=3, **given)


def test_more_epochs_than_a_training_has_are_refused(tmp_path: Path) -> None:
    given = {**CALL, "output": tmp_path / "study"}
    with pytest.raises(
        WordbiasError, match=r"average_epochs=: expected at most 3, .* got 4; .* more epochs="
    ):
        mab_study(Embedding.sample(), average_epochs=4, **given)
    with pytest.raises(UsageError, match=r"average_epochs=: expected a whole number from 1"):
        mab_study(Embedding.sample(), average_epochs=0, **given)
    assert not (tmp_path / "study").exists()
