"""`wordbias mab-study`: its folder, and what is refused before anything is opened."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import stand_ins

from wordbias import Embedding
from wordbias.errors import WordbiasError
from wordbias.formats.files import locked
from wordbias.measures.sembias import SemBias

pytest.importorskip("torch", reason="the study trains models")

from wordbias.measures.evaluate import evaluate
from wordbias.nli.study import Plan, study_rows
from wordbias.workers import Workers

Run = Callable[..., Any]


@pytest.fixture
def refused(cli: Run, tmp_path: Path) -> Callable[..., str]:
    """Call the command with files that are not there; return its line."""

    def call(output: Path, *more: object) -> str:
        none = tmp_path / "none.txt"
        done = cli("mab-study", none, "--train", none, "--dev", none, "-o", output, *more)
        assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
        return str(done.err)

    return call


def test_outputs_that_cannot_be_folders(refused: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("my thesis")
    assert "file: is a file; name a folder" in refused(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "my thesis"
    assert "gone does not exist" in refused(tmp_path / "gone" / "study")
    (tmp_path / "old" / "study.json").mkdir(parents=True)
    assert "study.json: is a folder" in refused(tmp_path / "old")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "old"]


def test_figures_that_cannot_be_drawn(
    refused: Callable[..., str], cli: Run, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    study = tmp_path / "study"
    assert ".png, .pdf, .svg" in refused(study, "--plot", tmp_path / "x.jpeg")
    given = ("--train", study, "--dev", study, "-o", study, "--plot", tmp_path / "x.svg")
    done = cli("mab-study", study, *given, "--seed", "3")
    assert (done.code, done.out) == (2, "")
    assert "--plot: a difference needs two seeds" in done.err
    named = tmp_path / "pairs.svg"
    named.write_text("my pairs")
    assert "--plot" in refused(study, "--plot", named, "--test", named)
    assert named.read_text() == "my pairs"
    assert [path.name for path in tmp_path.iterdir()] == ["pairs.svg"]


@pytest.mark.slow
def test_a_locked_folder_is_refused(cli: Run, tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    pairs, study = tmp_path / "pairs.tsv", tmp_path / "study"
    pairs.write_text("neutral\ta man\ta woman\nentailment\ta man\ta man\n")
    stand_ins.small().save(tmp_path / "v.safetensors")
    study.mkdir()
    given = ("mab-study", tmp_path / "v.safetensors", "--train", pairs, "--dev", pairs)
    with locked(study / "study"):
        done = cli(*given, "-o", study)
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert "another process is writing it; wait for that one" in done.err
    assert not list(study.iterdir())


def _plan(folder: Path, vectors: list[Any], **more: Any) -> Any:
    folder.mkdir(exist_ok=True)
    sample = Embedding.sample().subset(Embedding.sample().words[:400])
    arms = {f"e{i}": {0: Embedding(sample.words, x, f"e{i}")} for i, x in enumerate(vectors)}
    return Plan(arms, {}, folder, seeds=(0,), families=("direct-bias",), **more)


def _with_vectors(plan: Any, name: str, change: float) -> Any:
    arm = {
        seed: embedding.with_vectors(change * embedding.vectors)
        for seed, embedding in plan.arms[name].items()
    }
    return replace(plan, arms={**plan.arms, name: arm})


def test_cached_measures_depend_on_the_vectors(tmp_path: Path) -> None:
    """Vectors that come from no file, and the original that others are compared with, count."""
    plan = _plan(tmp_path, [Embedding.sample().vectors[:400], Embedding.sample().vectors[1:401]])

    def about(plan: Any, place: int, **more: Any) -> Any:
        plan = replace(plan, **more)
        study_rows(plan, [])
        return json.loads((tmp_path / f"e{place}.measures.json").read_text())["about"]

    first = about(plan, 1)
    assert about(plan, 1) == first
    assert about(_with_vectors(plan, "e1", 2), 1)["sha256"] != first["sha256"]
    assert about(_with_vectors(plan, "e0", 2), 1)["original"] != first["original"]
    keys = [about(plan, 1, sembias=SemBias(questions)) for questions in ((), (None,))]
    assert keys[0] != keys[1] != first


@pytest.mark.slow
def test_each_measured_embedding_is_kept_and_no_other_is_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = Embedding.sample().vectors
    plan = _plan(tmp_path / "one", [vectors[i : 400 + i] for i in range(3)])
    rows = study_rows(plan, [])
    both = replace(plan, folder=tmp_path / "both")
    both.folder.mkdir()
    assert study_rows(both, [], Workers(2)) == rows
    assert {path.read_bytes() for path in both.folder.iterdir()} == {
        path.read_bytes() for path in plan.folder.iterdir()
    }
    measured: list[str] = []

    def counted(panel: Any, *given: Any, **more: Any) -> Any:
        if measured:
            raise KeyboardInterrupt
        measured.append(panel.embedding.name)
        return evaluate(panel, *given, **more)

    monkeypatch.setattr("wordbias.measures.evaluate.evaluate", counted)
    for name in ("e0", "e2"):
        (plan.folder / f"{name}.measures.json").unlink()
    with pytest.raises(KeyboardInterrupt):
        study_rows(plan, [])
    assert measured == ["e0"]
    assert sorted(path.name[:2] for path in plan.folder.iterdir()) == ["e0", "e1"]
    measured.clear()
    assert study_rows(plan, []) == rows
    assert measured == ["e2"]


def test_centred_and_not_centred_are_not_mixed_in_a_folder(tmp_path: Path) -> None:
    plan = _plan(tmp_path, [Embedding.sample().vectors[:400]])

    def measured(**more: Any) -> Any:
        return study_rows(replace(plan, **more), [])

    assert measured() == measured()
    with pytest.raises(WordbiasError, match="were taken without --centre, and these are with"):
        measured(centre=True)
    other = tmp_path / "other"
    other.mkdir()
    assert measured(centre=True, as_published=True, folder=other)
    with pytest.raises(WordbiasError, match="taken with --centre or --as-published, and these"):
        measured(folder=other)


@pytest.mark.slow
def test_an_interruption_after_training_names_the_remedy(
    cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    def stop(*_: Any) -> Any:
        raise KeyboardInterrupt

    stand_ins.few_premises(monkeypatch)
    monkeypatch.setattr("wordbias.nli.study.study_rows", stop)
    pairs, study = tmp_path / "pairs.tsv", tmp_path / "study"
    pairs.write_text("neutral\ta man\ta woman\nentailment\ta man\ta man\n")
    stand_ins.small().save(tmp_path / "v.safetensors")
    given = ("--train", pairs, "--dev", pairs, "--epochs", 1, "--seed", 0)
    done = cli("mab-study", tmp_path / "v.safetensors", *given, "-o", study)
    assert done.code == 130
    assert "the same call resumes from study" in done.err
    names = sorted(path.name for path in study.iterdir())
    model = "v.seed0.safetensors"
    assert names == [model, f"{model}.log.jsonl", f"{model}.rows.json"]
