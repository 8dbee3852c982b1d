"""`wordbias mab-study`, stopped and begun again: here, and on a machine that has only the rows."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_study

pytest.importorskip("torch", reason="the study trains models")

import wordbias as wb
from wordbias.calls import WordbiasWarning
from wordbias.errors import WordbiasError
from wordbias.functions.mab_study import mab_study
from wordbias.nli import study, train
from wordbias.nli.train import NLITask

pytestmark = pytest.mark.slow

Run = Callable[..., Any]
NAMES = ("base", "one")
MODELS = [f"{name}.seed{seed}.safetensors" for seed in (0, 1) for name in NAMES]
"""In the order in which they are trained."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_study.write(tmp_path_factory.mktemp("resume"), base=0.0, one=0.3)


@pytest.fixture
def call(cli: Run, files: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Call the command with two embeddings and seeds; five premises, so that scoring is short."""
    small_study.five_premises(monkeypatch)
    vectors = [files / f"{name}.safetensors" for name in NAMES]
    pairs = ("--train", files / "pairs.tsv", "--dev", files / "pairs.tsv", "--epochs", 2)
    options = ("--seed", "0,1", "--only", "direct-bias", "--format", "json")

    def study(out: Path, *more: object, jobs: int = 1, vectors: list[Path] = vectors) -> Any:
        given = ("--jobs", jobs, "-o", out, *more)
        return cli("mab-study", *vectors, *pairs, *options, *given)

    return study


@pytest.fixture
def straight(call: Run, files: Path, tmp_path: Path) -> Path:
    """Return the folder of a study that nothing stopped, a copy of one for all tests."""
    if not (files / "straight").exists():
        done = call(files / "straight")
        assert done.code == 0, done.err
    return Path(shutil.copytree(files / "straight", tmp_path / "straight"))


def _names(folder: Path, pattern: str) -> set[str]:
    return {path.name for path in folder.glob(pattern)}


def _rows(done: Any) -> Any:
    assert done.code == 0, done.err
    return json.loads(done.out)["rows"]


def _stored(folder: Path) -> Any:
    return json.loads((folder / "study.json").read_text())["rows"]


def _about_files(notes: str) -> list[str]:
    return [line for line in notes.splitlines() if "safetensors" in line]


def _trained(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list to which each model is added when its training begins."""
    begun: list[str] = []
    trained = train.train_stacked

    def begin(jobs: Any, *more: Any) -> None:
        begun.extend(job.output.name for job in jobs)
        trained(jobs, *more)

    monkeypatch.setattr(train, "train_stacked", begin)
    return begun


@pytest.mark.parametrize("more", [(), ("--average-epochs", 2)])
def test_a_stopped_study_has_the_rows_of_all_its_models(
    more: tuple[object, ...], call: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is stopped in the last epoch of its third model."""
    whole, out = _rows(call(tmp_path / "whole", *more)), tmp_path / "study"
    losses, begun = NLITask.losses, []

    def interrupted(self: NLITask, epoch: int) -> Iterator[Any]:
        begun.append(epoch)
        if len(begun) == 6:
            raise KeyboardInterrupt
        yield from losses(self, epoch)

    with monkeypatch.context() as patch:
        patch.setattr(NLITask, "losses", interrupted)
        done = call(out, *more)
    assert (done.code, done.out, done.err.count("\n")) == (130, "", 1)
    assert "the same call resumes" in done.err
    assert _names(out, "*.rows.json") == {f"{name}.rows.json" for name in MODELS[:2]}
    for name in MODELS[:2]:
        written = (tmp_path / "whole" / f"{name}.rows.json").read_bytes()
        assert (out / f"{name}.rows.json").read_bytes() == written
    trained = _trained(monkeypatch)
    assert _rows(call(out, *more)) == whole
    assert trained == MODELS[2:]


def test_scoring_is_stopped_while_processes_train(
    call: Run, straight: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "study"

    def stop(*_: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(study, "score_set", stop)
        done = call(out, "--threads", 2, jobs=2)
    assert (done.code, done.out, done.err.count("\n")) == (130, "", 1)
    assert not _names(out, "*.rows.json")
    assert _rows(call(out, "--threads", 2, jobs=2)) == _stored(straight)
    for name in MODELS:
        for file in (name, f"{name}.rows.json"):
            assert (out / file).read_bytes() == (straight / file).read_bytes()


def test_models_without_rows_are_scored_and_not_trained(
    call: Run, straight: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those of a version that scored models after the last was trained."""
    rows = _stored(straight)
    for path in straight.glob("*.rows.json"):
        path.unlink()
    trained = _trained(monkeypatch)
    assert _rows(call(straight)) == rows
    assert trained == []
    assert len(_names(straight, "*.rows.json")) == 4


def test_rows_without_models_are_enough(
    call: Run, straight: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "elsewhere"
    out.mkdir()
    for path in (*straight.glob("*.rows.json"), *straight.glob("*.measures.json")):
        shutil.copy(path, out)
    trained = _trained(monkeypatch)
    assert _rows(call(out)) == _stored(straight)
    assert trained == []
    assert not _names(out, "*.safetensors")
    (out / f"{MODELS[1]}.rows.json").unlink()
    assert _rows(call(out)) == _stored(straight)
    assert trained == [MODELS[1]]
    assert _names(out, "*.safetensors") == {MODELS[1]}


@pytest.fixture
def elsewhere(straight: Path, files: Path, tmp_path: Path) -> tuple[Path, list[Path]]:
    """Return a folder that has the rows alone, and the vectors with other last digits."""
    out = tmp_path / "elsewhere"
    out.mkdir()
    for path in straight.glob("*.rows.json"):
        shutil.copy(path, out)
    vectors = []
    for name in NAMES:
        embedding = wb.load(files / f"{name}.safetensors")
        vectors.append(out / f"{name}.safetensors")
        embedding.with_vectors(np.nextafter(embedding.vectors, 9, dtype=np.float32)).save(
            vectors[-1]
        )
    return out, vectors


def test_rows_of_vectors_with_other_last_digits_are_taken_if_they_are_trusted(
    call: Run,
    straight: Path,
    elsewhere: tuple[Path, list[Path]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out, vectors = elsewhere
    before = _stored(straight)
    trained = _trained(monkeypatch)
    done = call(out, "--trust-rows", vectors=vectors)
    (line,) = [line for line in done.err.splitlines() if "other values" in line]
    assert (
        line == "note: 4 models read vectors with other values than those given: the rows are taken"
    )
    assert trained == []
    rows = _rows(done)
    models = [row for row in rows if "seed" in row]
    assert models
    assert all(row.pop("trusted") for row in models)
    assert models == [row for row in before if "seed" in row]
    table = call(out, "--trust-rows", "--format", "table", vectors=vectors)
    note = "4 models read vectors with other values than those given; the rows were taken"
    assert note in " ".join(table.out.split())
    assert "trusted" not in call(straight, "--trust-rows").out


def test_without_trust_they_are_trained_anew_and_the_note_says_what_takes_them(
    call: Run, elsewhere: tuple[Path, list[Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    out, vectors = elsewhere
    trained = _trained(monkeypatch)
    (line,) = _about_files(call(out, vectors=vectors).err)
    assert "its embedding.sha256 is '" in line
    assert "(--trust-rows takes rows of vectors with other values); its model is not" in line
    assert trained == MODELS


@pytest.mark.parametrize("removed", ["vectors", "embedding"])
def test_a_key_without_its_hashes_ends_in_no_error(
    call: Run, elsewhere: tuple[Path, list[Path]], monkeypatch: pytest.MonkeyPatch, removed: str
) -> None:
    out, vectors = elsewhere
    path = out / f"{MODELS[1]}.rows.json"
    stored = json.loads(path.read_text())
    del stored["about"][removed]
    path.write_text(json.dumps(stored))
    trained = _trained(monkeypatch)
    rows = _rows(call(out, "--trust-rows", vectors=vectors))
    assert trained == MODELS[1:2] * (removed == "embedding")  # words and dimension are not known
    trusted = {(row["subject"], row["seed"]) for row in rows if row.get("trusted")}
    assert len(trusted) == 4 - len(trained)


@pytest.mark.parametrize("what", ["words", "damaged", "epochs"])
def test_trusted_rows_agree_in_all_but_the_values(
    call: Run,
    elsewhere: tuple[Path, list[Path]],
    monkeypatch: pytest.MonkeyPatch,
    what: str,
) -> None:
    out, vectors = elsewhere
    path = out / f"{MODELS[1]}.rows.json"
    stored = json.loads(path.read_text())
    if what == "words":
        stored["about"]["embedding"]["vocabulary"] = "0"
    elif what == "epochs":
        stored["about"]["recipe"]["epochs"] = 3
    else:
        stored["rows"] = [1]
    path.write_text(json.dumps(stored))
    trained = _trained(monkeypatch)
    done = call(out, "--trust-rows", vectors=vectors)
    rows = _rows(done)
    assert trained == [MODELS[1]]
    (line,) = _about_files(done.err)
    assert "--trust-rows" not in line
    assert ("has no rows" in line) == (what == "damaged")
    about = json.loads(path.read_text())["about"]
    assert about["embedding"]["vocabulary"] != "0"
    trusted = {(row["subject"], row["seed"]) for row in rows if row.get("trusted")}
    assert trusted == {("base", 0), ("base", 1), ("one", 1)}


def test_models_are_trained_anew_for_other_rows_with_a_note(
    call: Run, straight: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of another test set are made from the model; without it, it is trained first."""
    before = [(straight / name).read_bytes() for name in MODELS]
    trained = _trained(monkeypatch)
    done = call(straight, "--set", "explicit")
    assert (done.code, _about_files(done.err), trained) == (0, [], [])
    for name in MODELS[1:]:
        (straight / name).unlink()
    (straight / f"{MODELS[3]}.rows.json").write_text('{"about": {}')
    done = call(straight)
    assert done.code == 0
    (line,) = _about_files(done.err)
    key = json.loads((straight / f"{MODELS[0]}.rows.json").read_text())["about"]
    assert "sets" not in key
    assert f"note: {straight / MODELS[1]}.rows.json: its sets is '" in line
    assert line.endswith("its model is not here either, and is trained anew, as 2 others")
    assert trained == MODELS[1:]
    assert [(straight / name).read_bytes() for name in MODELS] == before


def test_damaged_rows_and_a_model_of_another_training(
    call: Run, straight: Path, files: Path
) -> None:
    (straight / MODELS[0]).write_bytes((straight / MODELS[1]).read_bytes())
    assert call(straight).code == 0  # its rows are here
    (straight / f"{MODELS[0]}.rows.json").write_text("mine")
    done = call(straight)
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    assert "holds a model that was trained otherwise" in done.err
    (straight / MODELS[0]).unlink()
    pairs = str(files / "pairs.tsv")
    given = {"train": pairs, "dev": pairs, "epochs": 2, "only": ["direct-bias"]}
    with pytest.warns(WordbiasWarning, match=r"rows\.json: has no rows; its model is not here"):
        mab_study(files / "base.safetensors", output=straight, seed=[0], **given)
    (straight / "base.seed0.safetensors.rows.json").unlink()
    (straight / "base.seed0.safetensors.rows.json").mkdir()
    with pytest.raises(WordbiasError, match=r"rows\.json: is a folder"):
        mab_study(files / "base.safetensors", output=straight, seed=[0], **given)
