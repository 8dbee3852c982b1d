"""Several processes train as one does with a batch of them all; one of them writes and prints."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_heads
from forks import fork
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("accelerate", reason="joins the processes")

import several_processes as made  # noqa: E402

from wordbias.distributed import (  # noqa: E402
    SINGLE,
    Processes,
    joined,
)
from wordbias.errors import WordbiasError  # noqa: E402

STILL = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
ROOT = Path(__file__).resolve().parents[2]


def launch(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Start the command line in processes as a user does, but without GPUs."""
    launcher = [
        sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes",
        made.COUNT, "--num_machines", 1, "--mixed_precision", "no", "--dynamo_backend", "no",
        "--main_process_port", 0,
    ]  # fmt: skip
    environment = {
        **os.environ,
        "CUDA_VISIBLE_DEVICES": "",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    return subprocess.run(
        [*map(str, launcher), *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        check=False,
        env=environment,
    )


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a model's folder; beside it lies one that drops nothing out."""
    folder = tmp_path_factory.mktemp("several") / "bert"
    for path, options in ((f"{folder}-still", STILL), (str(folder), {})):
        tiny_heads.folder(Path(path), tiny_heads.model("bert", "SequenceClassification", **options))
    return str(folder)


@pytest.fixture(scope="module")
def seen(model: str, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Return what each process saw."""
    out = tmp_path_factory.mktemp("seen")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    common = {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "WORLD_SIZE": str(made.COUNT),
        "LOCAL_WORLD_SIZE": str(made.COUNT),
        "CUDA_VISIBLE_DEVICES": "",
        "OMP_NUM_THREADS": "1",
    }
    started = [
        fork(made.main, model, out, RANK=str(rank), LOCAL_RANK=str(rank), **common)
        for rank in range(made.COUNT)
    ]
    for process in started:
        process.join(timeout=300)
    ended = [process.exitcode for process in started]
    for process in started:
        process.kill()  # where another failed, it waits for that one
    assert ended == [0] * made.COUNT
    assert not (out / "checkpoint.log1").exists()
    assert (out / "checkpoint.log0").exists()
    return [torch.load(out / f"{rank}.pt") for rank in range(made.COUNT)]


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[key], other[key]) for key in one)


@pytest.mark.slow
@pytest.mark.parametrize(("what", "head_only"), [("still", False), ("head", True)])
def test_gradients_are_those_of_one_process_with_all_rows(
    seen: list[dict[str, Any]], model: str, what: str, head_only: bool
) -> None:
    recipe = replace(made.RECIPE, batch=made.COUNT * made.RECIPE.batch, head_only=head_only)
    alone = made.trained(f"{model}-still", recipe, SINGLE)
    together = seen[0][what]
    assert len(alone["gradients"]) == len(together["gradients"]) >= 6  # an odd batch among them
    first, same_first = alone["gradients"][0], together["gradients"][0]
    assert first.keys() == same_first.keys()
    norm = float(torch.stack([gradient.norm() for gradient in first.values()]).norm())
    for key, gradient in first.items():  # two orders of adding: the roundings of float32
        away = float((gradient - same_first[key]).abs().max())
        assert away < 8 * torch.finfo(torch.float32).eps * norm, key
    assert together["accuracy"] == alone["accuracy"]
    for key, weight in alone["weights"].items():  # AdamW moves a weight by the rate at most
        moved = len(alone["gradients"]) * made.RECIPE.rate
        assert float((weight - together["weights"][key]).abs().max()) < 0.1 * moved, key


@pytest.mark.slow
def test_all_processes_end_alike(seen: list[dict[str, Any]]) -> None:
    first, *others = seen
    for other in others:
        for what in ("still", "head", "straight", "resumed"):
            assert same(first[what]["weights"], other[what]["weights"])
            for key in ("accuracy", "round"):
                assert first[what][key] == other[what][key]
            pairs = zip(first[what]["gradients"], other[what]["gradients"], strict=True)
            assert all(same(*pair) for pair in pairs)


@pytest.mark.slow
def test_a_resumed_training_ends_as_if_it_had_not_stopped(seen: list[dict[str, Any]]) -> None:
    straight, resumed = seen[0]["straight"], seen[0]["resumed"]
    assert len(resumed["gradients"]) < len(straight["gradients"])
    assert same(straight["weights"], resumed["weights"])
    assert (straight["accuracy"], straight["round"]) == (resumed["accuracy"], resumed["round"])


@pytest.mark.slow
def test_a_checkpoint_that_only_one_process_has_is_refused(seen: list[dict[str, Any]]) -> None:
    assert {process["refused"] for process in seen} == {
        "made.checkpoint: only 1 of 2 processes see it; name an output in a folder that all "
        "machines share"
    }


@pytest.mark.slow
def test_the_command_line(model: str, tmp_path: Path) -> None:
    """One report, one folder, one line of log a round; nothing of the second process."""
    pairs = tmp_path / "pairs.tsv"
    labels = ["entailment", "neutral", "contradiction"]
    rows = zip(made.DATA.labels, made.DATA.pairs, strict=True)
    pairs.write_text("".join(f"{labels[k]}\t{a}\t{b}\n" for k, (a, b) in rows))
    output = tmp_path / "tuned"
    given = [
        "-m", "wordbias", "fine-tune", model, "--head", "nli", "--train", pairs, "--dev", pairs,
        "-o", output, "--batch-size", 4, "--epochs", 2, "--device", "cpu",
    ]  # fmt: skip
    done = launch(*given)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.count("Accuracy on dev, of the best weights") == 1
    assert "In each of 2 processes, which train together." in " ".join(done.stdout.split())
    about = json.loads((output / "training.json").read_text())
    assert about["processes"] == made.COUNT
    assert about["rounds"]["batches"] == 3  # of 17 pairs, 8 at a time
    log = [json.loads(line) for line in (tmp_path / "tuned.log.jsonl").read_text().splitlines()]
    assert [line["epoch"] for line in log] == [1, 2]
    assert about["dev_accuracy"] == max(line["dev"] for line in log)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "pairs.tsv", "tuned", "tuned.log.jsonl",
    ]  # fmt: skip


@given(st.integers(1, 40), st.integers(1, 9))
def test_shares_and_their_weights(rows: int, count: int) -> None:
    """The weighted mean over processes of the means over their rows is the mean over all rows."""
    values = np.random.default_rng(rows).normal(size=rows)
    shares = [Processes(count, rank).share(np.arange(rows)) for rank in range(count)]
    read = [i for own, weight in shares if weight for i in own]
    assert sorted(read) == list(range(rows))
    assert all(len(own) for own, _ in shares)
    mean = np.mean([weight * values[own].mean() for own, weight in shares])
    assert mean == pytest.approx(values.mean(), abs=rows * np.finfo(float).eps)


def test_a_single_process_joins_no_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "accelerate", None)
    for size in (None, "1"):
        if size is not None:
            monkeypatch.setenv("WORLD_SIZE", size)
        with joined("cpu") as processes:
            assert processes is SINGLE
    loss = torch.ones(1)
    assert SINGLE.mean_loss(loss) is loss
    assert SINGLE.summed(loss) is loss
    assert SINGLE.first
    SINGLE.wait()
    SINGLE.check_same(True, "a file")


def test_what_cannot_be_joined_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "1")
    with pytest.raises(WordbiasError, match="'cuda:1' is one, and there are 2"), joined("cuda:1"):
        pass
    monkeypatch.setitem(sys.modules, "accelerate", None)
    wanted = r"several processes needs accelerate; install it with: pip install \"wordbias\[context"
    with pytest.raises(WordbiasError, match=wanted), joined("cpu"):
        pass
