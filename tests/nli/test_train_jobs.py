"""Training jobs: in processes or one by one, interrupted and resumed, never overwritten."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra `torch` is not installed")

import torch

from wordbias import Embedding
from wordbias.devices import set_threads
from wordbias.errors import WordbiasError
from wordbias.nli import train as trainer
from wordbias.nli.files import Model
from wordbias.nli.jobs import ARITHMETIC, Data, Job, accuracy_rows, plan_jobs, vocabulary_hash
from wordbias.nli.pairs import Pairs
from wordbias.nli.recipes import FAST
from wordbias.nli.scoring import probabilities
from wordbias.nli.train import (
    NLITask,
    Setup,
    SharedCounter,
    epochs_logged,
    shared_progress,
    train_all,
    train_stacked,
)
from wordbias.workers import Workers

pytestmark = pytest.mark.usefixtures("one_thread")

WORDS = [f"w{i}" for i in range(20)]
RECIPE = replace(FAST, batch=16, epochs=4, hidden=6, rate=0.02)


def toy(count: int, seed: int) -> Pairs:
    """Entailment repeats a word of the premise; contradiction has one word, neutral others."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, count)
    premises = [tuple(rng.choice(WORDS[:10], rng.integers(2, 7)).tolist()) for _ in labels]
    third = {0: lambda p: WORDS[12], 1: lambda p: p[0], 2: lambda p: WORDS[19]}
    hypotheses = [(third[int(i)](p),) for i, p in zip(labels, premises, strict=True)]
    return Pairs(premises, hypotheses, labels, sha256=f"{count}-{seed}")


DATA = Data.of({"train": toy(100, 0), "dev": toy(60, 1), "test": toy(50, 2)})


def embedding(name: str, seed: int, dim: int = 8, words: Sequence[str] = WORDS) -> Embedding:
    x = np.random.default_rng(seed).normal(size=(len(words), dim))
    return Embedding(words, x, name)


def planned(folder: Path, seeds: Sequence[int] = (0, 1), **changes: Any) -> list[Job]:
    vectors = [embedding("one", 0), embedding("two", 1)]
    return plan_jobs(vectors, seeds, DATA, replace(RECIPE, **changes), folder)


def run(jobs: Sequence[Job], recipe: Any = RECIPE, **options: Any) -> None:
    train_all(jobs, DATA.encoded["train"], DATA.encoded["dev"], recipe, device="cpu", **options)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> list[Job]:
    """Four models, trained one by one."""
    chosen = planned(tmp_path_factory.mktemp("models"))
    run(chosen, workers=Workers(1))
    return chosen


def assert_equal(one: Path, other: Path) -> None:
    a, b = Model.load(one), Model.load(other)
    assert a.about == b.about
    for name, weight in a.weights.items():
        np.testing.assert_array_equal(weight, b.weights[name])


def without_seconds(job: Job) -> list[dict[str, Any]]:
    lines = job.log.read_text().splitlines()
    return [{**json.loads(line), "seconds": 0} for line in lines]


def test_every_embedding_and_seed_has_a_model_and_a_log(trained: list[Job]) -> None:
    folder = trained[0].output.parent
    names = [f"{name}.seed{seed}.safetensors" for name in ("one", "two") for seed in (0, 1)]
    assert [job.output.name for job in trained] == names
    logs = [f"{name}.log.jsonl" for name in names]
    assert sorted(path.name for path in folder.iterdir()) == sorted([*names, *logs])
    for job in trained:
        entries = without_seconds(job)
        assert [entry["epoch"] for entry in entries] == [1, 2, 3, 4]


def test_the_file_describes_the_training(trained: list[Job]) -> None:
    job = trained[3]
    about = Model.load(job.output).about
    entries = without_seconds(job)
    assert about["embedding"] == {
        "name": "two",
        "sha256": "",
        "words": 20,
        "dim": 8,
        "vocabulary": vocabulary_hash(WORDS),
    }
    assert about["recipe"] == RECIPE.to_dict()
    assert about["seed"] == 1
    assert about["data"]["train"] == {"sha256": "100-0", "pairs": 100, "dropped": 0}
    assert set(about["data"]) == {"train", "dev"}
    assert about["conventions"]["length"] == "unit"
    assert about["conventions"]["lower"] is True
    assert about["dev_accuracy"] == max(entry["dev"] for entry in entries)
    assert about["best_epoch"] == 1 + [e["dev"] for e in entries].index(about["dev_accuracy"])
    assert (about["epochs"], about["device"], about["torch"]) == (4, "cpu", torch.__version__)


def test_the_model_is_the_best_epoch(trained: list[Job]) -> None:
    for job in trained:
        model = Model.load(job.output)
        predicted = probabilities(model, job.vectors, DATA.encoded["dev"])
        right = (predicted.argmax(1) == DATA.pairs["dev"].labels).mean()
        assert right == model.about["dev_accuracy"] == float(without_seconds(job)[-1]["best"])


def test_seeds_and_embeddings_make_different_models(trained: list[Job]) -> None:
    first = [Model.load(job.output).weights["attend.first.weight"] for job in trained]
    for i in range(4):
        for j in range(i):
            assert not np.allclose(first[i], first[j], atol=1e-4)


@pytest.mark.slow
def test_processes_make_the_same_models(trained: list[Job], tmp_path: Path) -> None:
    retrained = planned(tmp_path / "new" / "folder")
    set_threads(2)  # two processes of one thread
    ended: list[Job] = []
    run(retrained, finished=ended.append)
    assert {job.output for job in ended} == {job.output for job in retrained}
    for original, other in zip(trained, retrained, strict=True):
        assert_equal(original.output, other.output)
        assert without_seconds(original) == without_seconds(other)
        assert not other.checkpoint.exists()


SCORES = {0: [0.5, 0.4, 0.6, 0.1, 0.2], 1: [0.1, 0.2, 0.3, 0.4, 0.5], 2: [0.9, 0.1, 0.1, 0.1, 0.1]}
"""Of each seed on dev, epoch by epoch."""


@pytest.mark.parametrize("as_one", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_each_model_of_a_stack_stops_by_itself(
    as_one: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a GPU, models are one stack: files and logs are those of models trained alone."""
    done: dict[NLITask, int] = {}

    def score(self: NLITask) -> torch.Tensor:
        done[self] = done.get(self, 0) + 1
        return torch.tensor([SCORES[seed][done[self] - 1] for seed in self.seeds]).double()

    monkeypatch.setattr(NLITask, "score", score)
    recipe = replace(RECIPE, patience=2, epochs=5)
    chosen = plan_jobs([embedding("one", 0)], (0, 1, 2), DATA, recipe, tmp_path)
    data = Setup(DATA.encoded["train"], DATA.encoded["dev"], recipe, False)
    for jobs in [chosen] if as_one else [[job] for job in chosen]:
        train_stacked(jobs, data, torch.device("cpu"))
    about = [Model.load(job.output).about for job in chosen]
    assert [record["best_epoch"] for record in about] == [3, 5, 1]
    assert [record["epochs"] for record in about] == [5, 5, 3]
    assert [record["dev_accuracy"] for record in about] == [
        pytest.approx(x) for x in (0.6, 0.5, 0.9)
    ]
    assert [epochs_logged(job.log) for job in chosen] == [5, 5, 3]
    assert not any(job.checkpoint.exists() for job in chosen)


def test_a_finished_model_is_not_trained_again(
    trained: list[Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trainer, "train_stacked", lambda *_: pytest.fail("trained again"))
    before = [job.output.stat().st_mtime_ns for job in trained]
    run(trained)
    assert [job.output.stat().st_mtime_ns for job in trained] == before


def test_each_model_is_handed_on_before_the_next_is_trained(tmp_path: Path) -> None:
    chosen, there = planned(tmp_path, (0,), epochs=1), []
    recipe = replace(RECIPE, epochs=1)
    run(chosen[:1], recipe)

    def finished(job: Job) -> None:
        there.append([job.output.name, *(planned_job.output.exists() for planned_job in chosen)])

    run(chosen, recipe, finished=finished)  # the first was trained already
    assert there == [[chosen[1].output.name, True, True]]
    other = planned(tmp_path / "other", (0,), epochs=1)
    chosen, there = other, []
    run(chosen, recipe, finished=finished)
    names = [job.output.name for job in chosen]
    assert there == [[names[0], True, False], [names[1], True, True]]


@pytest.mark.slow
def test_an_error_while_others_train_ends_them(tmp_path: Path) -> None:
    """Without a warning of joblib that jobs were cancelled."""
    chosen = planned(tmp_path)

    def refuse(job: Job) -> None:
        raise WordbiasError(f"{job.output.name} cannot be scored")

    set_threads(2)
    with pytest.raises(WordbiasError, match="cannot be scored"):
        run(chosen, finished=refuse)
    run(chosen)
    assert all(job.is_done() for job in chosen)


def test_pairs_that_may_not_be_written_to_are_read(trained: list[Job], tmp_path: Path) -> None:
    """As those that another process maps into its memory."""

    def closed(x: Any) -> Any:
        copied = x.copy()
        copied.flags.writeable = False
        return copied

    def read_only(pairs: Any) -> Any:
        own = pairs.sentences
        sentences = replace(own, **{f.name: closed(getattr(own, f.name)) for f in fields(own)})
        sides = {name: closed(getattr(pairs, name)) for name in ("premise", "hypothesis", "labels")}
        return replace(pairs, sentences=sentences, **sides)

    (job, *_) = planned(tmp_path)
    job = replace(job, vectors=closed(job.vectors))
    pairs = [read_only(DATA.encoded[name]) for name in ("train", "dev")]
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    try:
        train_stacked([job], Setup(*pairs, RECIPE, False), torch.device("cpu"))
    finally:
        torch.set_warn_always(before)
    assert_equal(trained[0].output, job.output)


def stacked_run(
    jobs: Sequence[Job],
    monkeypatch: pytest.MonkeyPatch,
    written: int | None = None,
    finished: Callable[[Job], object] = lambda _: None,
) -> list[list[Job]]:
    """Train as on a GPU, all models stacked; stop when so many are written; return the stacks."""
    trained_now: list[list[Job]] = []
    save = Model.save

    def train(jobs: Sequence[Job], data: Setup, device: torch.device) -> None:
        trained_now.append(list(jobs))
        train_stacked(jobs, data, torch.device("cpu"))

    def stopping(model: Model, path: Path) -> None:
        if written is not None and sum(job.output.exists() for job in jobs) == written:
            raise KeyboardInterrupt
        save(model, path)

    with monkeypatch.context() as patch:
        patch.setattr(trainer, "find_device", lambda _: torch.device("meta"))
        patch.setattr(trainer, "train_stacked", train)
        patch.setattr(Model, "save", stopping)
        if written is None:
            run(jobs, finished=finished)
        else:
            with pytest.raises(KeyboardInterrupt):
                run(jobs)
    return trained_now


@pytest.mark.slow
@pytest.mark.parametrize("written", [0, 1, 3])
def test_a_stack_that_was_killed_between_two_files_is_resumed_from_its_checkpoint(
    written: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    straight, chosen = planned(tmp_path / "straight"), planned(tmp_path)
    ended: list[Job] = []
    stacked_run(straight, monkeypatch, finished=ended.append)
    assert ended == straight
    stacked_run(chosen, monkeypatch, written)
    assert sum(job.output.exists() for job in chosen) == written
    monkeypatch.setattr(NLITask, "losses", lambda *_: pytest.fail("trained again"))
    assert stacked_run(chosen, monkeypatch) == [chosen]
    for straight_job, other in zip(straight, chosen, strict=True):
        assert straight_job.output.read_bytes() == other.output.read_bytes()
    assert not list(tmp_path.rglob("*.checkpoint"))


@pytest.mark.slow
def test_a_model_that_is_not_wanted_is_trained_with_its_stack_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = planned(tmp_path)
    stacked_run(jobs[:2], monkeypatch, 0)
    jobs = [replace(job, wanted=job is jobs[1]) for job in jobs]
    assert stacked_run(jobs, monkeypatch) == [jobs[:2]]
    assert [job.output.exists() for job in jobs] == [True, True, False, False]
    assert not list(tmp_path.glob("*.checkpoint"))
    alone = planned(tmp_path / "alone", (0,))
    alone = [replace(job, wanted=job is alone[1]) for job in alone]
    run(alone)
    assert [job.output.exists() for job in alone] == [False, True]


@pytest.mark.slow
def test_new_models_do_not_join_a_stack_that_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = planned(tmp_path)
    stacked_run(jobs[1:3], monkeypatch, 1)
    assert stacked_run(jobs, monkeypatch) == [jobs[1:3], [jobs[0], jobs[3]]]
    assert not list(tmp_path.glob("*.checkpoint"))


@pytest.mark.slow
def test_the_checkpoint_of_a_finished_stack_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = planned(tmp_path)
    stacked_run(jobs, monkeypatch, 0)
    checkpoint = jobs[0].checkpoint.read_bytes()
    stacked_run(jobs, monkeypatch)
    jobs[0].checkpoint.write_bytes(checkpoint)  # killed before it was removed
    assert stacked_run(jobs, monkeypatch) == []
    assert not jobs[0].checkpoint.exists()


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_an_interrupted_training_is_resumed(
    processes: int, trained: list[Job], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The third model is interrupted in its third epoch; the same call does the rest."""
    chosen = planned(tmp_path)
    losses, begun = NLITask.losses, []

    def interrupted(self: NLITask, epoch: int) -> Iterator[torch.Tensor]:
        begun.append(epoch)
        if len(begun) == 11:
            raise KeyboardInterrupt
        yield from losses(self, epoch)

    monkeypatch.setattr(NLITask, "losses", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(chosen, workers=Workers(1))
    assert [job.output.exists() for job in chosen] == [True, True, False, False]
    assert chosen[2].checkpoint.exists()
    monkeypatch.undo()
    set_threads(processes)
    run(chosen, workers=Workers(processes))
    for original, other in zip(trained, chosen, strict=True):
        assert_equal(original.output, other.output)
        assert without_seconds(original) == without_seconds(other)
        assert not other.checkpoint.exists()


def test_a_checkpoint_of_another_training_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (job, *_) = planned(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(Model, "save", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            run([job])
    (other, *_) = planned(tmp_path, rate=0.5)
    with pytest.raises(WordbiasError) as raised:
        run([other], replace(RECIPE, rate=0.5))
    assert str(raised.value) == (
        f"{job.checkpoint}: is of another training: its model.1.recipe.rate is 0.02, not 0.5; "
        "remove it, or name another output"
    )
    run([job])
    assert not job.checkpoint.exists()


@pytest.mark.parametrize(
    ("seeds", "changes", "said"),
    [
        ((7,), {}, "its seed is 0, not 7"),
        ((0,), {"epochs": 9}, "its recipe.epochs is 4, not 9"),
    ],
)
def test_another_model_is_not_overwritten(
    seeds: tuple[int], changes: dict[str, Any], said: str, trained: list[Job], tmp_path: Path
) -> None:
    path = tmp_path / "m"
    path.write_bytes(trained[0].output.read_bytes())
    (job, *_) = planned(tmp_path, seeds, **changes)
    with pytest.raises(WordbiasError, match=f"^{path}: holds a model that was trained otherwise: "
                       f"{said}; remove it, or name another output"):  # fmt: skip
        run([replace(job, output=path)])
    assert path.read_bytes() == trained[0].output.read_bytes()


@pytest.mark.parametrize("arithmetic", [None, ARITHMETIC - 1, ARITHMETIC + 1])
def test_a_model_of_another_arithmetic_is_not_overwritten(
    arithmetic: int | None, trained: list[Job], tmp_path: Path
) -> None:
    """So that models of versions that compute otherwise do not stand in one study."""
    known = Model.load(trained[0].output)
    about = {key: value for key, value in known.about.items() if key != "arithmetic"}
    if arithmetic is not None:
        about["arithmetic"] = arithmetic
    path = tmp_path / "m"
    replace(known, about=about).save(path)
    (job, *_) = planned(tmp_path)
    with pytest.raises(WordbiasError) as raised:
        run([replace(job, output=path)])
    assert str(raised.value) == (
        f"{path}: holds a model that was trained otherwise: its arithmetic is {arithmetic}, not "
        f"{ARITHMETIC}; remove it, or name another output"
    )


@pytest.mark.parametrize("content", [b"", b"mine"])
def test_another_file_is_not_overwritten(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "m"
    path.write_bytes(content)
    (job, *_) = planned(tmp_path)
    with pytest.raises(WordbiasError, match=f"{path}: cannot be read .*remove this file, or name"):
        run([replace(job, output=path)])
    assert path.read_bytes() == content


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # of clusters that start and stop
def test_a_cluster_trains_the_same(trained: list[Job], tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="starts the processes")
    chosen = planned(tmp_path)
    ended: list[Job] = []
    run(chosen, workers=Workers(2, "dask"), finished=ended.append)
    assert {job.output for job in ended} == {job.output for job in chosen}
    for original, other in zip(trained, chosen, strict=True):
        assert_equal(original.output, other.output)


def test_a_cluster_that_writes_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Workers, "unordered", lambda *_, **__: (job for job in ()))
    with pytest.raises(WordbiasError, match="another folder; name an output that all machines"):
        run(planned(tmp_path), workers=Workers(2, "dask"))


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2])
def test_a_training_that_diverges_is_an_error(processes: int, tmp_path: Path) -> None:
    chosen = planned(tmp_path, (0,), rate=1e30)
    with pytest.raises(WordbiasError, match=r"^training diverged in epoch 1: the loss is nan"):
        run(chosen, replace(RECIPE, rate=1e30), workers=Workers(processes))
    assert not any(job.output.exists() for job in chosen)


def test_the_number_of_torch_threads_is_restored(tmp_path: Path) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        run(planned(tmp_path, epochs=1)[:1], replace(RECIPE, epochs=1))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_accuracies_are_rows(trained: list[Job]) -> None:
    job = trained[1]
    before = Model.load(job.output)
    rows = accuracy_rows(job, DATA)
    about = {"embedding": "one", "seed": 1, "epoch": before.about["best_epoch"], "better": "higher"}
    assert [row.to_dict() for row in rows] == [
        {"subject": "one.seed1", "measure": "snli-accuracy", "value": before.about["dev_accuracy"],
         "set": "dev", "n": 60, **about},
        {"subject": "one.seed1", "measure": "snli-accuracy", "value": rows[1].value,
         "set": "test", "n": 50, **about},
    ]  # fmt: skip
    predicted = probabilities(before, job.vectors, DATA.encoded["test"])
    assert rows[1].value == (predicted.argmax(1) == DATA.pairs["test"].labels).mean()
    after = Model.load(job.output)
    assert after.about["test"] == {"sha256": "50-2", "pairs": 50, "accuracy": rows[1].value}
    assert {**after.about, "test": 0} == {**before.about, "test": 0}
    stamp = job.output.stat().st_mtime_ns
    assert accuracy_rows(job, DATA) == rows
    assert job.output.stat().st_mtime_ns == stamp
    assert job.is_done()
    other = Data.of({**DATA.pairs, "test": toy(50, 3)})
    predicted = probabilities(before, job.vectors, other.encoded["test"])
    (_, anew) = accuracy_rows(job, other)
    assert anew.value == (predicted.argmax(1) == other.pairs["test"].labels).mean()
    assert Model.load(job.output).about["test"]["sha256"] == "50-3"


def test_the_words_an_embedding_knows_are_counted(tmp_path: Path) -> None:
    part = embedding("part", 0, words=WORDS[:10])
    chosen = plan_jobs([part], (0,), DATA, RECIPE, tmp_path)
    texts = {text for side in (DATA.pairs["train"].premises, DATA.pairs["train"].hypotheses)
             for text in side}  # fmt: skip
    tokens = [token for text in texts for token in text]
    share = sum(token in WORDS[:10] for token in tokens) / len(tokens)
    assert [job.known for job in chosen] == [pytest.approx(share)]
    with pytest.raises(WordbiasError, match=r"foreign has none of the .* words of the training"):
        plan_jobs([embedding("foreign", 0, words=["x", "y"])], (0,), DATA, RECIPE, tmp_path)


def test_embeddings_that_do_not_go_together_are_named(tmp_path: Path) -> None:
    with pytest.raises(WordbiasError, match=r"^one has 8 dimensions and three 9; train them in"):
        plan_jobs([embedding("one", 0), embedding("three", 0, 9)], (0,), DATA, RECIPE, tmp_path)
    with pytest.raises(WordbiasError, match="two embeddings are called one; models are named"):
        plan_jobs([embedding("one", 0), embedding("one", 1)], (0,), DATA, RECIPE, tmp_path)


def test_a_single_model_may_have_any_name(tmp_path: Path) -> None:
    chosen = plan_jobs([embedding("one", 0)], (3,), DATA, RECIPE, tmp_path)
    job = replace(chosen[0], output=tmp_path / "m.st")
    assert job.output == tmp_path / "m.st"
    assert job.log == tmp_path / "m.st.log.jsonl"
    assert job.about == chosen[0].about


def test_words_and_their_order_decide_the_hash_of_a_vocabulary() -> None:
    assert vocabulary_hash(["a", "b"]) == vocabulary_hash(iter(["a", "b"]))
    hashes = {vocabulary_hash(words) for words in (["a", "b"], ["b", "a"], ["ab"], ["\ud800"], [])}
    assert len(hashes) == 5


def test_steps_of_other_processes_are_counted(tmp_path: Path) -> None:
    file, logs = tmp_path / "steps", [tmp_path / "a", tmp_path / "b"]
    np.zeros(2, np.int64).tofile(file)
    logs[0].write_text('{"loss": 0.5, "dev": 0.25}\n{"half a li')
    with shared_progress(file, logs, 10):
        for i in (0, 1):
            SharedCounter(file, i).update(3)
        SharedCounter(file, 1).update()
    assert np.fromfile(file, np.int64).tolist() == [3, 4]
    assert [epochs_logged(log) for log in logs] == [1, 0]
