"""The training loop: the best is a copy, stacks stop as if alone, interruptions cost little."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quick_cases import examples

pytest.importorskip("torch", reason="the extra `torch` is not installed")

import torch
from torch import Tensor, nn

from wordbias import training
from wordbias.errors import WordbiasError
from wordbias.training import TrainingState, train

STEPS, WIDTH = 5, 3
Optimizer = Callable[[nn.Module], torch.optim.Optimizer]
OPTIMIZERS: dict[str, Optimizer] = {
    "adam": lambda model: torch.optim.Adam(model.parameters(), lr=0.05),
    "adagrad": lambda model: torch.optim.Adagrad(model.parameters(), lr=0.05, weight_decay=0.01),
    "sgd": lambda model: torch.optim.SGD(model.parameters(), lr=0.05),
}


class Stack(nn.Module):
    """K points in space."""

    def __init__(self, seeds: Sequence[int]) -> None:
        super().__init__()
        drawn = [torch.randn(WIDTH, generator=torch.Generator().manual_seed(s)) for s in seeds]
        self.place = nn.Parameter(torch.stack(drawn).double())


class Walk:
    """Each point is drawn to targets of its own; its scores are given."""

    def __init__(self, model: Stack, seeds: Sequence[int], scores: Sequence[Sequence[float]]):
        self.model, self.seeds, self.scores = model, seeds, scores
        self.epoch = -1
        self.seen: list[Tensor] = []
        self.begun: list[int] = []
        self.interrupt: tuple[int, int] | None = None

    def steps(self) -> int:
        return STEPS

    def losses(self, epoch: int) -> Iterator[Tensor]:
        assert self.model.training
        self.epoch = epoch
        self.begun.append(epoch)
        sources = [torch.Generator().manual_seed(1000 * s + epoch) for s in self.seeds]
        for step in range(STEPS):
            if (epoch, step) == self.interrupt:
                raise KeyboardInterrupt
            targets = torch.stack([torch.randn(WIDTH, generator=g) for g in sources])
            yield ((self.model.place - targets) ** 2).sum(1)

    def score(self) -> Tensor:
        assert not self.model.training
        assert not torch.is_grad_enabled()
        self.seen.append(self.model.place.detach().clone())
        return torch.tensor(self.scores[self.epoch], dtype=torch.float64)


def _train(
    scores: Sequence[Sequence[float]],
    seeds: Sequence[int] = (0,),
    optimizer: str = "adam",
    interrupt: tuple[int, int] | None = None,
    epochs: int | None = None,
    **options: Any,
) -> tuple[TrainingState, Walk]:
    model = Stack(seeds)
    task = Walk(model, seeds, scores)
    task.interrupt = interrupt
    fresh_optimizer = OPTIMIZERS[optimizer](model)
    return train(model, fresh_optimizer, task, epochs=epochs or len(scores), **options), task


def _column(*values: float) -> list[list[float]]:
    return [[value] for value in values]


def _without_seconds(state: TrainingState) -> list[dict[str, Any]]:
    return [{**entry, "seconds": 0} for entry in state.history]


def _assert_equal(one: TrainingState, other: TrainingState) -> None:
    """Bit for bit, but for how long it took."""
    for name in ("score", "epoch", "waited"):
        assert torch.equal(getattr(one, name), getattr(other, name))
    assert one.best.keys() == other.best.keys()
    assert all(torch.equal(one.best[name], other.best[name]) for name in one.best)
    assert one.done == other.done
    assert _without_seconds(one) == _without_seconds(other)


def test_the_best_epoch_is_kept_and_not_the_last() -> None:
    state, task = _train(_column(0.5, 0.9, 0.7, 0.6))
    assert (state.epoch.tolist(), state.score.tolist()) == ([2], [0.9])
    assert torch.equal(state.best["place"], task.seen[1])
    assert torch.equal(task.model.place.detach(), task.seen[3])
    assert not torch.equal(state.best["place"], task.seen[3])


def test_the_first_of_equal_epochs_is_kept() -> None:
    state, task = _train(_column(0.2, 0.8, 0.8))
    assert state.epoch.tolist() == [2]
    assert torch.equal(state.best["place"], task.seen[1])


def test_training_that_goes_on_does_not_change_the_best() -> None:
    state, task = _train(_column(0.9, 0.1))
    best = state.best["place"].clone()
    with torch.no_grad():
        task.model.place.zero_()
    assert torch.equal(state.best["place"], best)


def test_patience_counts_epochs_without_a_better_one() -> None:
    falling = _column(0.3, 0.5, 0.4, 0.5, 0.2, 0.9)
    state, task = _train(falling, patience=3)
    assert task.begun == [0, 1, 2, 3, 4]
    assert (state.epoch.tolist(), state.waited.tolist()) == ([2], [3])
    assert _train(falling)[1].begun == [0, 1, 2, 3, 4, 5]


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(
        st.tuples(*[st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])] * 3), min_size=1, max_size=9
    ),
    st.one_of(st.none(), st.integers(1, 4)),
    st.sampled_from(list(OPTIMIZERS)),
)
def test_a_stack_comes_out_as_its_models_alone(
    scores: list[tuple[float, ...]], patience: int | None, optimizer: str
) -> None:
    together, _ = _train(scores, (3, 4, 5), optimizer, patience=patience)
    for k, seed in enumerate((3, 4, 5)):
        own = [[score[k]] for score in scores]
        alone, _ = _train(own, (seed,), optimizer, patience=patience)
        assert together.epoch[k] == alone.epoch[0]
        assert together.score[k] == alone.score[0]
        assert together.waited[k] == alone.waited[0]
        assert together.epoch[k] + together.waited[k] == alone.done
        assert torch.equal(together.best["place"][k], alone.best["place"][0])
        lines = [[{**json.loads(line), "seconds": 0} for line in state.lines(i)]
                 for state, i in ((together, k), (alone, 0))]  # fmt: skip
        assert lines[0] == lines[1]
        assert len(lines[0]) == alone.done


@pytest.mark.parametrize("optimizer", list(OPTIMIZERS))
@pytest.mark.parametrize("interrupt", [(0, 3), (1, 0), (2, 4), (3, 2)])
def test_an_interrupted_training_ends_as_one_that_was_not(
    optimizer: str, interrupt: tuple[int, int], tmp_path: Path
) -> None:
    scores, seeds = [[0.1, 0.9], [0.4, 0.3], [0.2, 0.2], [0.8, 0.1], [0.3, 0.1]], (1, 2)
    whole, task = _train(scores, seeds, optimizer)
    files = {"checkpoint": tmp_path / "c", "logs": [tmp_path / "a", tmp_path / "b"]}
    with pytest.raises(KeyboardInterrupt):
        _train(scores, seeds, optimizer, interrupt, **files)
    resumed, rest = _train(scores, seeds, optimizer, **files)
    _assert_equal(resumed, whole)
    assert torch.equal(rest.model.place, task.model.place)
    assert rest.begun == list(range(interrupt[0], 5))  # the epoch it fell into, and the others
    for k, log in enumerate(files["logs"]):
        assert log.read_text().splitlines() == resumed.lines(k)


def test_an_interruption_between_log_and_checkpoint_leaves_no_line_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"checkpoint": tmp_path / "c", "logs": [tmp_path / "log"]}
    save, count = training.write_checkpoint, 0

    def interrupted(*arguments: Any) -> None:
        nonlocal count
        count += 1
        if count == 3:
            raise KeyboardInterrupt
        save(*arguments)

    monkeypatch.setattr(training, "write_checkpoint", interrupted)
    with pytest.raises(KeyboardInterrupt):
        _train(_column(*range(5)), **files)
    assert len(files["logs"][0].read_text().splitlines()) == 3
    _train(_column(*range(5)), **files)
    entries = [json.loads(line) for line in files["logs"][0].read_text().splitlines()]
    assert [entry["epoch"] for entry in entries] == [1, 2, 3, 4, 5]


def test_a_finished_training_is_not_begun_again(tmp_path: Path) -> None:
    first, _ = _train(_column(0.1, 0.3, 0.2), checkpoint=tmp_path / "c")
    assert (tmp_path / "c").exists()  # until its result is stored
    repeated, task = _train(_column(0.1, 0.3, 0.2), checkpoint=tmp_path / "c")
    assert task.begun == []
    _assert_equal(repeated, first)


def test_the_log_has_a_line_an_epoch(tmp_path: Path) -> None:
    state, _ = _train([[0.5, 0.1], [0.4, 0.2]], (0, 1), logs=[tmp_path / "a", tmp_path / "b"])
    a, b = (
        [json.loads(line) for line in (tmp_path / name).read_text().splitlines()] for name in "ab"
    )
    assert [(e["epoch"], e["dev"], e["best"]) for e in a] == [(1, 0.5, 0.5), (2, 0.4, 0.5)]
    assert [(e["epoch"], e["dev"], e["best"]) for e in b] == [(1, 0.1, 0.1), (2, 0.2, 0.2)]
    assert [e["loss"] for e in b] == [entry["loss"][1] for entry in state.history]
    assert all(e["seconds"] >= 0 for e in a + b)


def test_an_old_log_is_not_added_to(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("old\n")
    state, _ = _train(_column(0.5), logs=[tmp_path / "log"])
    assert (tmp_path / "log").read_text().splitlines() == state.lines(0)


def test_a_log_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(WordbiasError, match=r"none/log: could not be written: No such file .*; m"):
        _train(_column(0.5), logs=[tmp_path / "none" / "log"])
    with pytest.raises(WordbiasError, match="could not be written: Is a directory"):
        _train(_column(0.5), logs=[tmp_path])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
def test_a_disk_that_fills_up_while_it_trains(tmp_path: Path) -> None:
    with pytest.raises(WordbiasError, match="full: could not be written: No space left on device"):
        _train(_column(0.5), logs=[Path("/dev/full")], checkpoint=tmp_path / "c")


def test_the_loss_is_the_mean_over_batches() -> None:
    recorded = []

    class Recorded(Walk):
        def losses(self, epoch: int) -> Iterator[Tensor]:
            for loss in super().losses(epoch):
                recorded.append(float(loss.detach().sum()))
                yield loss

    model = Stack([0])
    task = Recorded(model, [0], _column(0.1))
    state = train(model, OPTIMIZERS["sgd"](model), task, epochs=1)
    assert state.history[0]["loss"] == pytest.approx([sum(recorded) / STEPS])


class Counted:
    """A progress bar."""

    def __init__(self) -> None:
        self.steps, self.said = 0, ""

    def update(self, n: int = 1) -> None:
        self.steps += n

    def set_postfix_str(self, s: str) -> None:
        self.said = s


def test_a_bar_shows_every_batch_the_loss_and_the_score() -> None:
    bar = Counted()
    _train(_column(0.25, 0.75), bar=bar)
    assert bar.steps == 2 * STEPS
    assert bar.said.startswith("loss ")
    assert bar.said.endswith("dev 0.7500")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"recipe": {"rate": 0.2, "epochs": 5}, "seed": 1}, "its recipe.rate is 0.1, not 0.2"),
        ({"recipe": {"rate": 0.1, "epochs": 5}, "seed": 2}, "its seed is 1, not 2"),
        ({"recipe": {"rate": 0.1, "epochs": 5}}, "its seed is 1, not None"),
    ],
)
def test_a_checkpoint_of_another_training_is_refused(
    changed: dict[str, Any], said: str, tmp_path: Path
) -> None:
    about = {"recipe": {"rate": 0.1, "epochs": 5}, "seed": 1}
    path = tmp_path / "c"
    _train(_column(0.5), checkpoint=path, about=about)
    before = path.read_bytes()
    with pytest.raises(WordbiasError) as raised:
        _train(_column(0.5), checkpoint=path, about=changed)
    assert str(raised.value).startswith(f"{path}: is of another training: {said}; remove it")
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"nonsense", b"\xff" * 200])
def test_a_file_that_is_no_checkpoint_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "c"
    path.write_bytes(content)
    with pytest.raises(
        WordbiasError, match=r"cannot be read as a checkpoint: is no saf.*; remove it"
    ):
        _train(_column(0.5), checkpoint=path)
    assert path.read_bytes() == content


def test_a_checkpoint_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "c"
    _train([[0.5, 0.5]], (0, 1), checkpoint=path)
    with pytest.raises(WordbiasError, match="holds a damaged checkpoint: RuntimeError"):
        _train(_column(0.5), checkpoint=path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(WordbiasError, match="cannot be read as a checkpoint: is cut off"):
        _train([[0.5, 0.5]], (0, 1), checkpoint=path)


@pytest.mark.parametrize(
    ("seeds", "said"),
    [
        ((0,), "training diverged in epoch 2: the loss is nan; lower the learning rate"),
        ((0, 7, 2), "training diverged in epoch 2: the loss of model 2 of 3 is nan; lower"),
    ],
)
def test_a_loss_that_is_no_number_is_named(
    seeds: tuple[int, ...], said: str, tmp_path: Path
) -> None:
    lost = seeds[len(seeds) // 2]

    class Diverging(Walk):
        def losses(self, epoch: int) -> Iterator[Tensor]:
            factor = torch.tensor([torch.nan if epoch and s == lost else 1.0 for s in self.seeds])
            return (loss * factor for loss in super().losses(epoch))

    model = Stack(seeds)
    task = Diverging(model, seeds, [[0.5] * len(seeds)] * 3)
    log = [tmp_path / str(seed) for seed in seeds]
    with pytest.raises(WordbiasError) as raised:
        train(model, OPTIMIZERS["adam"](model), task, epochs=3, logs=log)
    assert str(raised.value).startswith(said)
    assert len(log[0].read_text().splitlines()) == 1


def test_a_score_that_is_no_number_is_named() -> None:
    with pytest.raises(WordbiasError, match="in epoch 2: the score on dev is nan; take other data"):
        _train(_column(0.5, float("nan")), remedy="take other data")


# Short epochs, and trainings that share a checkpoint


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(training, "time", clock)
    return clock


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The epochs after which a checkpoint is written."""
    write, epochs = training.write_checkpoint, []

    def noted(path: Path, parts: Any, known: Any) -> None:
        write(path, parts, known)
        epochs.append(known["done"])

    monkeypatch.setattr(training, "write_checkpoint", noted)
    return epochs


class Timed(Walk):
    """Epochs of four seconds."""

    clock: Clock

    def score(self) -> Tensor:
        self.clock.now += 4
        return super().score()


def test_checkpoints_of_short_epochs_are_written_now_and_then(
    tmp_path: Path, clock: Clock, written: list[int]
) -> None:
    """Every ten seconds at most, and at the end."""
    model = Stack([0])
    task = Timed(model, [0], _column(*range(10)))
    task.clock = clock
    train(model, OPTIMIZERS["adam"](model), task, epochs=10, checkpoint=tmp_path / "c", seconds=10)
    assert written == [3, 6, 9, 10]


@pytest.mark.parametrize("optimizer", list(OPTIMIZERS))
@pytest.mark.parametrize("interrupt", [(1, 0), (2, 4), (3, 2)])
def test_an_interruption_writes_the_last_finished_epoch(
    optimizer: str, interrupt: tuple[int, int], tmp_path: Path, written: list[int]
) -> None:
    scores = _column(0.1, 0.4, 0.2, 0.8, 0.3)
    whole, task = _train(scores, optimizer=optimizer)
    checkpoint_options: dict[str, Any] = {"checkpoint": tmp_path / "c", "seconds": 1000}
    with pytest.raises(KeyboardInterrupt):
        _train(scores, optimizer=optimizer, interrupt=interrupt, **checkpoint_options)
    assert written == [interrupt[0]]
    resumed, rest = _train(scores, optimizer=optimizer, **checkpoint_options)
    _assert_equal(resumed, whole)
    assert torch.equal(rest.model.place, task.model.place)
    assert written == [interrupt[0], 5]


def test_nothing_is_written_before_the_first_epoch(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        _train(_column(0.1), interrupt=(0, 1), checkpoint=tmp_path / "c", seconds=1000)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("interrupted", [0, 1, 2])
def test_trainings_in_a_row_share_a_checkpoint(tmp_path: Path, interrupted: int) -> None:
    """What is finished is not repeated, whichever of them was interrupted."""
    scores = [_column(0.2, 0.1), _column(0.5, 0.9, 0.4), _column(0.3, 0.7)]

    def run(stop: int | None, **options: Any) -> tuple[list[TrainingState], list[list[int]]]:
        states: list[TrainingState] = []
        epochs = []
        for i, column in enumerate(scores):
            at = (1, 2) if i == stop else None
            state, task = _train(column, (i,), interrupt=at, earlier=states, **options)
            states.append(state)
            epochs.append(task.begun)
        return states, epochs

    whole, _ = run(None)
    checkpoint_options: dict[str, Any] = {
        "checkpoint": tmp_path / "c",
        "about": {"seed": 1},
        "seconds": 1000,
    }
    with pytest.raises(KeyboardInterrupt):
        run(interrupted, **checkpoint_options)
    resumed, epochs = run(None, **checkpoint_options)
    for resumed_state, other in zip(resumed, whole, strict=True):
        _assert_equal(resumed_state, other)
    assert [len(begun) for begun in epochs] == [
        0 if i < interrupted else len(column) - (i == interrupted)
        for i, column in enumerate(scores)
    ]
    content = (tmp_path / "c").read_bytes()
    assert run(None, **checkpoint_options)[1] == [[], [], []]
    assert (tmp_path / "c").read_bytes() == content


def test_a_checkpoint_that_cannot_be_written_is_refused_before_training(tmp_path: Path) -> None:
    for path, message in ((tmp_path / "none" / "c", "does not exist"), (tmp_path, "is a folder")):
        with pytest.raises(WordbiasError, match=message):
            _train(_column(0.5), interrupt=(0, 0), checkpoint=path)


def test_a_failed_write_leaves_the_old_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "c"
    _train(_column(0.5), checkpoint=path)
    content = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(WordbiasError, match="No space left"):
        _train(_column(0.5, 0.6), checkpoint=path)
    assert path.read_bytes() == content
