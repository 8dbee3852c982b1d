"""An experiment of a user: arms are what they say, changes are paired, and it resumes."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordbias as wb
from wordbias import Embedding, Experiment, Row, WordbiasError
from wordbias.draws import seed_keys
from wordbias.errors import UsageError
from wordbias.formats.files import locked
from wordbias.measures.word_lists import redraws
from wordbias.methods.words import listed_words
from wordbias.nli.arms import drawn_arm
from wordbias.wordlists import Attribute

CALLS: list[tuple[str, int]] = []


def lean(embedding: Embedding, seed: int) -> Mapping[str, float | None]:
    """Return the mean lean of some words, and a value that nothing defines."""
    CALLS.append((embedding.name, seed))
    words = np.random.default_rng(seed).choice(len(embedding.words), 200, replace=False)
    axis = embedding["she"] - embedding["he"]
    return {"lean": float(np.abs(embedding.vectors[words] @ axis).mean()), "none": float("nan")}


def means(report: wb.Report, measure: str = "lean") -> dict[str, Row]:
    return {row.subject: row for row in report[measure] if "seeds" in row.details}


@pytest.fixture(autouse=True)
def _no_calls() -> None:
    CALLS.clear()


def test_arms_are_what_their_texts_say() -> None:
    sample = Embedding.sample()
    texts = ("@misp:dims=2", "@hard,misp", "@null:2", "@lists:2")
    report = Experiment([sample, *texts], lean, seeds=(0, 1)).run()
    seeds = dict.fromkeys((0, 1), sample)
    expected: dict[str, Mapping[int, Embedding]] = {
        "sample": seeds,
        "sample@misp:dims=2": dict.fromkeys(seeds, wb.debias(sample, "misp:dims=2")),
        "sample@hard,misp": dict.fromkeys(seeds, wb.debias(sample, "hard,misp")),
        "sample@null:2": drawn_arm("null", seeds, 2),
        "sample@lists:2": drawn_arm("lists", seeds, 2),
    }
    measured = {(row.subject, row.details["seed"]): row.value for row in report["lean"] if
             "seed" in row.details}  # fmt: skip
    assert measured == {
        (name, seed): pytest.approx(lean(embedding, seed)["lean"], rel=1e-6)
        for name, arm in expected.items()
        for seed, embedding in arm.items()
    }
    assert len({round(value or 0, 6) for value in measured.values()}) == len(measured)
    assert len(redraws(Attribute.load(), 2)) == 2


def test_changes_are_paired_by_seed() -> None:
    report = Experiment({"a": Embedding.sample(), "b": "@misp"}, lean, seeds=range(4)).run()
    values = {
        name: [row.value for row in report["lean"] if row.subject == name and "seed" in row.details]
        for name in "ab"
    }
    mean = means(report)["b"].details
    differences = np.subtract(values["b"], values["a"])
    tested = seed_keys(differences)
    assert mean["change"] == pytest.approx(differences.mean(), abs=1e-12)
    assert (mean["change_low"], mean["change_high"]) == (tested["low"], tested["high"])
    assert mean["p"] == tested["p"]
    assert mean["sd"] == pytest.approx(np.std(values["b"], ddof=1))
    assert "change" not in means(report)["a"].details
    assert means(report, "none")["b"].value is None


def test_one_seed_has_a_change_and_no_test() -> None:
    report = Experiment([Embedding.sample(), "@misp"], lean).run()
    assert len(report["lean"]) == 2
    details = report["lean"][1].details
    assert details["change"] < 0
    assert "p" not in details
    assert repr(Experiment("v.txt", lean)) == "<Experiment lean: 1 arm, 1 seed>"


def test_rows_of_a_measure_keep_their_sets() -> None:
    def measured(embedding: Embedding, seed: int) -> list[Row]:
        return [Row("x", "midb", float(seed + i), {"set": str(i), "n": 3}) for i in range(2)]

    report = Experiment([Embedding.sample(), "@misp"], measured, seeds=(1, 3)).run()
    seed_means = [(row.subject, row.details["set"], row.value) for row in report["midb"] if
             "seeds" in row.details]  # fmt: skip
    assert seed_means == [("sample", "0", 2), ("sample@misp", "0", 2),
                     ("sample", "1", 3), ("sample@misp", "1", 3)]  # fmt: skip


@pytest.mark.slow
def test_it_resumes_and_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output, arms = tmp_path / "lean.jsonl", {"a": Embedding.sample(), "b": "@misp"}
    whole = Experiment(arms, lean, seeds=range(3)).run()
    monkeypatch.setattr("wordbias.experiment.Arm.embedding_of", _stopping(3))
    with pytest.raises(wb.errors.Interrupted, match=r"resumes from lean\.jsonl"):
        Experiment(arms, lean, seeds=range(3)).run(output)
    monkeypatch.undo()
    assert len(output.read_bytes().splitlines()) == 3
    CALLS.clear()
    report = Experiment(arms, lean, seeds=range(3)).run(output)
    assert [row.to_dict() for row in report.rows] == [row.to_dict() for row in whole.rows]
    assert CALLS == [("b", 0), ("b", 1), ("b", 2)]
    CALLS.clear()
    Experiment({**arms, "b": "@hard", "c": "@misp"}, lean, seeds=range(3)).run(output)
    assert [name for name, _ in CALLS] == ["b"] * 3 + ["c"] * 3  # what is done to b is another
    assert len(output.read_bytes().splitlines()) == 12


def _stopping(after: int) -> Any:
    from wordbias.experiment import Arm

    real, calls = Arm.embedding_of, []

    def made(arm: Any, *given: Any) -> Any:
        if len(calls) == after:
            raise KeyboardInterrupt
        calls.append(arm)
        return real(arm, *given)

    return made


def test_an_output_of_another_function_is_refused(tmp_path: Path) -> None:
    output, sample = tmp_path / "lean.jsonl", Embedding.sample()
    Experiment([sample], lean).run(output)
    with pytest.raises(WordbiasError, match=r"another experiment: its measure\.name is 'lean', "):
        Experiment([sample], lambda _, seed: {"seed": seed}).run(output)
    with pytest.raises(WordbiasError, match="its groups is None, not '"):
        Experiment([sample], lean, groups="age").run(output)
    with locked(output), pytest.raises(WordbiasError, match="another process is writing it"):
        Experiment([sample], lean).run(output)


@pytest.mark.parametrize(
    ("arms", "message"),
    [
        (["@misp"], "the first, '@misp', has no embedding; name one before the @"),
        ([Embedding.sample(), "@null"], "'null': expected a number of draws from 1, as in null:3"),
        ([Embedding.sample(), "@mips"], "mips"),
        ([Embedding.sample(), "@misp", "@misp"], "two are called sample@misp; give a mapping"),
        ([], "arms: expected one at least"),
        (["none.txt@misp"], r"none\.txt: there is no such file"),
    ],
)
def test_arms_that_are_none_are_refused(arms: Any, message: str) -> None:
    with pytest.raises((WordbiasError, UsageError), match=message):
        Experiment(arms, lean).run()


def test_an_arm_has_a_file_for_each_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = [*Embedding.sample().words[:3000], *sorted(listed_words(Attribute.load()))]
    sample = Embedding.sample().subset(words)
    for seed in range(2):
        sample.with_vectors((1 + seed) * sample.vectors).save(f"glove{seed}.safetensors")
    report = Experiment(["glove{seed}.safetensors", "@misp"], lean, seeds=(0, 1)).run()
    for name, of in (("glove", lambda x: x), ("glove@misp", lambda x: wb.debias(x, "misp"))):
        values = [row.value for row in report["lean"] if row.subject == name]
        wanted = [lean(of(wb.load(f"glove{seed}.safetensors")), seed)["lean"] for seed in range(2)]
        assert values[:2] == pytest.approx(wanted, rel=1e-6)
    assert list(report.inputs) == ["glove0", "glove1"]
    of_seeds = {"glove": {0: wb.load("glove0.safetensors"), 1: wb.load("glove1.safetensors")}}
    from_mapping = Experiment(of_seeds, lean, seeds=(0, 1)).run()
    assert [row.value for row in from_mapping["lean"]] == [
        row.value for row in report["lean"] if row.subject == "glove"
    ]


@pytest.mark.slow
def test_several_processes_change_nothing(tmp_path: Path) -> None:
    arms = {"a": Embedding.sample(), "b": "@misp"}
    sequential = Experiment(arms, lean, seeds=range(2)).run()
    with wb.config(jobs=2):
        two = Experiment(arms, lean, seeds=range(2)).run()
    assert [row.to_dict() for row in sequential.rows] == [row.to_dict() for row in two.rows]


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (None, "measure: expected values by name, or rows, got None"),
        ({"x": "high"}, "measure: x: expected a number, got 'high'"),
        ([0.5], "measure: expected values by name, or rows, got 0.5"),
    ],
)
def test_what_a_measure_may_not_return_is_said(returned: Any, message: str) -> None:
    experiment = wb.Experiment(wb.load(), lambda *_: returned)
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        experiment.run()


def test_a_value_that_is_not_finite_is_undefined() -> None:
    experiment = wb.Experiment(wb.load(), lambda *_: {"x": math.inf, "y": np.float32(1)})
    assert [row.value for row in experiment.run()] == [None, 1.0]


def test_seeds_are_whole_numbers() -> None:
    for seeds, message in (([], "seeds: expected one"), (["a"], "seeds: expected whole .* 'a'")):
        with pytest.raises(UsageError, match=message):
            wb.Experiment(wb.load(), lean, seeds=seeds).run()
