"""`wordbias nli-train`: what it writes and prints, how it goes on, and what it refuses."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra `torch` is not installed")

import wordbias as wb
from wordbias import Embedding
from wordbias.formats.files import locked
from wordbias.nli.files import Model
from wordbias.nli.pairs import load_pairs
from wordbias.nli.recipes import PUBLISHED
from wordbias.nli.scoring import accuracy
from wordbias.nli.train import NLITask
from wordbias.workers import Workers

Run = Callable[..., Any]
Refused = Callable[..., str]
WORDS = [f"w{i}" for i in range(20)]
QUICK = ("--epochs", 2, "--hidden", 6, "--batch-size", 16, "--threads", 1)


def toy(path: Path, count: int, seed: int) -> Path:
    """Write pairs: entailment repeats a word of the premise, contradiction has its own."""
    rng = np.random.default_rng(seed)
    lines = ["label\tpremise\thypothesis"]
    for label in rng.choice(["neutral", "entailment", "contradiction", "-"], count):
        premise = rng.choice(WORDS[:10], rng.integers(2, 6)).tolist()
        own = {"entailment": premise[0], "contradiction": WORDS[19]}.get(label, WORDS[12])
        lines.append(f"{label}\t{' '.join(premise)}\t{own}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def vectors(path: Path, seed: int, dim: int = 8) -> Path:
    x = np.random.default_rng(seed).normal(size=(len(WORDS), dim))
    Embedding(WORDS, x).save(path)
    return path


@pytest.fixture
def files(tmp_path: Path) -> list[object]:
    """The options that name three sets of pairs."""
    sets = {"train": 60, "dev": 30, "test": 20}
    paths = {
        name: toy(tmp_path / f"{name}.tsv", count, i)
        for i, (name, count) in enumerate(sets.items())
    }
    return [part for name, path in paths.items() for part in (f"--{name}", path)]


@pytest.fixture
def glove(tmp_path: Path) -> Path:
    return vectors(tmp_path / "glove.txt", 0)


@pytest.mark.slow
def test_one_model_is_a_file(cli: Run, files: list[object], glove: Path, tmp_path: Path) -> None:
    output = tmp_path / "m.st"
    done = cli("nli-train", glove, *files, *QUICK, "-o", output, "--format", "json")
    assert (done.code, done.err) == (0, "")
    report = json.loads(done.out)
    model = Model.load(output)
    dev, test = report["rows"]
    about = {"subject": "m.st", "measure": "snli-accuracy", "embedding": "glove", "seed": 0}
    assert {**dev, **about, "set": "dev", "value": model.about["dev_accuracy"]} == dev
    assert {**test, **about, "set": "test"} == test
    assert dev["epoch"] == model.about["best_epoch"]
    for row in (dev, test):
        pairs = load_pairs(tmp_path / f"{row['set']}.tsv")
        assert row["n"] == len(pairs)
        assert row["value"] == accuracy(model, wb.load(glove), pairs)
    assert report["inputs"]["glove"]["dim"] == 8
    train = load_pairs(tmp_path / "train.tsv")
    assert report["inputs"]["pairs: train"] == {
        "path": str(tmp_path / "train.tsv"),
        "pairs": len(train),
        "dropped": train.dropped,
        "sha256": train.sha256,
    }
    assert train.dropped > 0
    assert model.about["embedding"]["sha256"] == report["inputs"]["glove"]["sha256"]
    assert model.about["data"]["train"]["sha256"] == train.sha256
    log = (tmp_path / "m.st.log.jsonl").read_text().splitlines()
    assert [json.loads(line)["epoch"] for line in log] == [1, 2]
    assert sorted(path.name for path in tmp_path.glob("m.*")) == ["m.st", "m.st.log.jsonl"]


@pytest.mark.slow
def test_several_models_are_files_in_a_folder(
    cli: Run, files: list[object], glove: Path, tmp_path: Path
) -> None:
    hard = vectors(tmp_path / "hard.txt", 1)
    call = ("nli-train", glove, hard, *files, *QUICK, "--seed", "2, 0,2", "-o", tmp_path / "out")
    done = cli(*call)
    assert (done.code, done.err) == (0, "")
    names = [f"{name}.seed{seed}" for name in ("glove", "hard") for seed in (2, 0)]
    for name in names:
        model = Model.load(tmp_path / "out" / f"{name}.safetensors")
        assert model.about["seed"] == int(name[-1])
        assert (tmp_path / "out" / f"{name}.safetensors.log.jsonl").exists()
    table = [line.split() for line in done.out.splitlines()]
    assert ["model", "seed", "best", "epoch", "dev", "test"] in table
    model_rows = [row for row in table if row and row[0] in names]
    assert [row[:2] for row in model_rows] == [[name, name[-1]] for name in names]
    dev = [Model.load(tmp_path / "out" / f"{name}.safetensors").about["dev_accuracy"] for name in
           names]  # fmt: skip
    assert [float(row[3]) for row in model_rows] == pytest.approx(dev, abs=5e-4)

    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").iterdir()}
    rerun = cli(*call)
    assert (rerun.code, rerun.out) == (0, done.out)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "out").iterdir()} == before
    rows = list(csv.DictReader(io.StringIO(cli(*call, "--format", "csv").out)))
    assert [(row["subject"], row["set"]) for row in rows] == [
        (name, part) for name in names for part in ("dev", "test")
    ]


def test_without_test_there_is_no_test_and_no_other_model_is_written_over(
    cli: Run, refused: Refused, files: list[object], glove: Path, tmp_path: Path
) -> None:
    output = tmp_path / "m"
    call = ("nli-train", glove, *files[:4], *QUICK, "-o", output)
    done = cli(*call, "--format", "jsonl")
    assert [json.loads(line)["set"] for line in done.out.splitlines()] == ["dev"]
    assert "test" not in Model.load(output).about
    done = cli(*call, *files[4:], "--format", "jsonl")
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert [row["set"] for row in rows] == ["dev", "test"]
    assert Model.load(output).about["test"]["accuracy"] == rows[1]["value"]
    whole = output.read_bytes()
    message = refused(*call, "--lr", 0.5)
    assert (
        f"{output}: holds a model that was trained otherwise: its recipe.rate is 0.025" in message
    )
    assert "not 0.5; remove it, or name another output" in message
    assert output.read_bytes() == whole
    output.write_bytes(whole[:-9])
    assert f"{output}: cannot be read as an NLI model" in refused(*call)
    assert output.read_bytes() == whole[:-9]


def test_the_sample_is_used_where_nothing_is_given(
    cli: Run, tmp_path: Path, files: list[object]
) -> None:
    words = Embedding.sample().words
    pairs = tmp_path / "p.tsv"
    both = zip(["neutral", "entailment"] * 20, words[:40], words[40:80], strict=True)
    pairs.write_text("".join("\t".join(row) + "\n" for row in both))
    done = cli("nli-train", "--train", pairs, "--dev", pairs, *QUICK, "-o", tmp_path / "m")
    assert (done.code, done.err) == (0, "")
    about = Model.load(tmp_path / "m").about["embedding"]
    assert (about["name"], about["dim"]) == ("sample", 100)
    assert "sample 100.0%" in " ".join(done.out.split())


def test_the_published_settings_are_the_default(
    cli: Run, files: list[object], glove: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from wordbias.nli import train as trainer

    seen: list[Any] = []
    monkeypatch.setattr(
        trainer, "train_all", lambda *args, **more: seen.append((args[3], more)) or 1 / 0
    )
    common = ("nli-train", glove, *files, "-o", tmp_path / "m")
    cli(*common)
    changes = ("--epochs", 3, "--batch-size", 7, "--lr", 0.5, "--dropout", 0.25, "--hidden", 9,
               "--no-intra", "--patience", 2)  # fmt: skip
    cli(*common, *changes, "--precision", "bfloat16", "--jobs", 3, "--device", "cpu")
    cli(*common, "--recipe", "fast")
    assert seen[0] == (PUBLISHED, {"device": None, "half": False, "workers": Workers()})
    assert seen[1] == (
        PUBLISHED.with_changes(
            epochs=3, batch=7, rate=0.5, dropout=0.25, hidden=9, intra=False, patience=2
        ),
        {"device": "cpu", "half": True, "workers": Workers(3)},
    )
    assert (seen[2][0].optimizer, seen[2][0].patience) == ("adam", 4)


def test_other_settings_make_other_models(
    cli: Run, files: list[object], glove: Path, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()  # a folder takes a single model too
    changes = ("--no-intra", "--hidden", 5, "--precision", "bfloat16", "--recipe", "fast")
    done = cli("nli-train", glove, *files, *QUICK, *changes, "-o", tmp_path / "out")
    assert done.code == 0, done.err
    model = Model.load(tmp_path / "out" / "glove.seed0.safetensors")
    assert (model.hidden, model.intra, model.dim) == (5, False, 8)
    assert (model.about["precision"], model.about["recipe"]["optimizer"]) == ("bfloat16", "adam")
    assert "intra False" in " ".join(done.out.split())


def test_an_interrupted_training_is_resumed(
    cli: Run, files: list[object], glove: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = ("nli-train", glove, *files, *QUICK, "--format", "csv", "-o")
    whole = cli(*call, tmp_path / "whole")
    losses = NLITask.losses

    def interrupted(self: NLITask, epoch: int) -> Iterator[Any]:
        for i, loss in enumerate(losses(self, epoch)):
            if (epoch, i) == (1, 2):
                raise KeyboardInterrupt
            yield loss

    monkeypatch.setattr(NLITask, "losses", interrupted)
    done = cli(*call, tmp_path / "m")
    assert (done.code, done.out) == (130, "")
    assert done.err.endswith("interrupted; the same call resumes after the last whole epoch\n")
    assert not (tmp_path / "m").exists()
    assert (tmp_path / "m.checkpoint").exists()
    monkeypatch.undo()
    resumed = cli(*call, tmp_path / "m")
    assert resumed.out == whole.out.replace("whole,", "m,")
    assert not (tmp_path / "m.checkpoint").exists()
    model, other = (Model.load(tmp_path / name) for name in ("whole", "m"))
    for name, weight in model.weights.items():
        np.testing.assert_array_equal(weight, other.weights[name])


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs a process group to interrupt")
def test_ctrl_c_stops_all_processes_with_one_line(
    files: list[object], glove: Path, tmp_path: Path
) -> None:
    """As a terminal does it: the signal reaches the parent and the workers."""
    hard = vectors(tmp_path / "hard.txt", 1)
    call = [sys.executable, "-m", "wordbias", "nli-train", glove, hard, *files, "--epochs", 100_000,
            "--hidden", 6, "--batch-size", 16, "--threads", 2, "-o", tmp_path / "out"]  # fmt: skip
    child = subprocess.Popen(
        list(map(str, call)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    checkpoints = [tmp_path / "out" / f"{name}.seed0.safetensors.checkpoint" for name in
                   ("glove", "hard")]  # fmt: skip
    while not all(path.exists() for path in checkpoints) and child.poll() is None:
        time.sleep(0.1)
    os.killpg(child.pid, signal.SIGINT)
    out, err = child.communicate()
    assert all(path.exists() for path in checkpoints)
    assert (child.returncode, out) == (130, "")
    assert err.split("\n") == [
        "wordbias: interrupted; the same call resumes after the last whole epoch",
        "",
    ]
    sizes = [path.stat().st_mtime_ns for path in checkpoints]
    time.sleep(1)  # many epochs
    assert [path.stat().st_mtime_ns for path in checkpoints] == sizes


@pytest.mark.parametrize(
    ("which", "content", "said"),
    [
        ("--train", "neutral\ta\tb\nnuetral\ta\tb\n", "bad.tsv: line 2: unknown label 'nuetral'"),
        (
            "--dev",
            "neutral\ta\tb\nneutral\ta\n",
            "bad.tsv: line 2: expected the columns",
        ),
        ("--test", "", "bad.tsv: holds no labelled pair"),
        ("--train", "entailment\ta\tb\n" * 3, "all 3 pairs to train on are labelled entailment"),
    ],
)
def test_bad_pairs_are_one_line(
    content: str,
    said: str,
    which: str,
    refused: Refused,
    files: list[object],
    glove: Path,
    tmp_path: Path,
) -> None:
    bad = tmp_path / "bad.tsv"
    bad.write_text(content)
    given = [*files]
    given[given.index(which) + 1] = bad
    assert said in refused("nli-train", glove, *given, "-o", tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_one_process_trains_at_an_output(
    refused: Refused, files: list[object], glove: Path, tmp_path: Path
) -> None:
    with locked(tmp_path / "m"):
        message = refused("nli-train", glove, *files, *QUICK, "-o", tmp_path / "m")
    assert f"{tmp_path / 'm'}: another" in message
    assert list(tmp_path.glob("m*")) == []


def test_bad_calls_are_one_line(
    refused: Refused, files: list[object], glove: Path, tmp_path: Path
) -> None:
    def said(*more: object, output: Path = tmp_path / "m") -> str:
        return refused("nli-train", glove, *more, *files, *QUICK, "-o", output)

    wide = vectors(tmp_path / "wide.txt", 0, 9)
    assert "glove has 8 dimensions and wide 9; train them in calls of their own" in said(wide)
    (tmp_path / "b").mkdir()
    other = vectors(tmp_path / "b" / "glove.txt", 1)
    assert "two embeddings are called glove" in said(other, output=tmp_path / "x")
    assert "device 'cuda:99': " in said("--device", "cuda:99")
    early = refused(  # before anything is read
        "nli-train", "--device", "tpu", "--train", "x", "--dev", "y", "-o", tmp_path / "m"
    )
    assert "device 'tpu': " in early
    assert "none does not exist" in said(output=tmp_path / "none" / "m")
    assert "none does not exist" in said("--seed", "0,1", output=tmp_path / "none" / "m")
    other = tmp_path / "other.txt"
    other.write_text("not vectors", encoding="utf-8")
    assert f"{other}: is a file; 2 models need a folder" in said("--seed", "0,1", output=other)
    assert "is both EMBEDDING" in said(output=glove)
    assert "none.txt" in said(tmp_path / "none.txt")
    absent = refused("nli-train", glove, "--train", "none.tsv", *files[2:], "-o", tmp_path / "m")
    assert "none.tsv: cannot be read: No such file or directory" in absent
    assert f"{other}: cannot be read as an NLI model" in said(output=other)
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("missing", ["--train", "--dev", "-o"])
def test_missing_options_are_named(missing: str, cli: Run, tmp_path: Path) -> None:
    given = {"--train": "t", "--dev": "d", "-o": "m"}
    del given[missing]
    done = cli("nli-train", *(part for pair in given.items() for part in pair))
    assert done.code == 2
    assert f"Missing option '{missing}'" in done.err


def test_without_torch_the_extra_is_named(
    refused: Refused, files: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    message = refused("nli-train", *files, "-o", tmp_path / "m")
    assert 'needs torch; install it with: pip install "wordbias[torch]"' in message
