"""The training of gender-preserving debiasing: it learns, is seeded, is resumed bit for bit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordbias.errors import WordbiasError

pytest.importorskip("torch", reason="the extra `torch` is not installed")

import torch

from wordbias.methods.gender_preserving import training
from wordbias.methods.gender_preserving.networks import Networks, by_name, generator
from wordbias.methods.gender_preserving.training import (
    Autoencoding,
    Classifying,
    Corpus,
    Debiasing,
    Trained,
    train,
)
from wordbias.methods.gender_preserving.words import Part

PHASES: tuple[Any, ...] = (Autoencoding, Classifying, Debiasing)

N, D = 1500, 8
PLAN: dict[str, Any] = {
    "pretrain_epochs": 4, "classifier_epochs": 3, "epochs": 3, "weight": 0.1,
}  # fmt: skip
PHASES = (Autoencoding, Classifying, Debiasing)
Words = tuple[Part, Part]


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    """Words whose pairs differ along the first axis, along which stereotypes and others lean."""
    rng = np.random.default_rng(0)
    vectors = (rng.normal(size=(N, D)) * np.linspace(0.5, 0.1, D)).astype(np.float32)
    vectors[0:60:2, 0], vectors[1:60:2, 0] = 0.8, -0.8
    return Corpus(vectors)


@pytest.fixture(scope="module")
def words() -> Words:
    train = Part(np.arange(40).reshape(20, 2), np.arange(60, 75), np.arange(80, 110))
    return train, Part(np.arange(40, 60).reshape(10, 2), np.arange(75, 80), np.arange(110, 120))


@pytest.fixture(scope="module")
def uninterrupted(corpus: Corpus, words: Words) -> Trained:
    return train(corpus, words, **PLAN)


def _equal(one: Networks, other: Networks) -> bool:
    pairs = zip(by_name(one).values(), by_name(other).values(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


def _assert_same(one: Trained, other: Trained) -> None:
    assert _equal(one.before, other.before)
    assert _equal(one.after, other.after)
    assert _found(one) == _found(other)


def _found(trained: Trained) -> list[tuple[str, int, list[int], list[float]]]:
    """Return epochs, best epochs and their losses of each phase."""
    return [
        (phase.name, state.done, state.epoch.tolist(), (-state.score).tolist())
        for phase, state in zip(trained.phases, trained.states, strict=True)
    ]


@pytest.mark.slow
def test_training_is_decided_by_the_seed(
    corpus: Corpus, words: Words, uninterrupted: Trained
) -> None:
    torch.manual_seed(123)  # nothing is drawn from the global generator
    _assert_same(train(corpus, words, **PLAN), uninterrupted)
    other = train(corpus, words, **PLAN | {"seed": 1})
    assert not _equal(other.after, uninterrupted.after)


def test_every_epoch_has_a_generator_of_its_own() -> None:
    keys = [(seed, phase, epoch) for seed in range(3) for phase in range(4) for epoch in range(4)]
    drawn = {generator(*key).initial_seed() for key in keys}
    assert len(drawn) == len(keys)


def test_every_epoch_uses_its_own(
    corpus: Corpus, words: Words, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[tuple[int, int, int]] = []

    def spy(*key: int) -> Any:
        drawn.append(key)
        return generator(*key)

    monkeypatch.setattr(training, "generator", spy)
    train(corpus, words, **PLAN | {"seed": 7})
    epochs = [(3, 1), (0, 4), (1, 3), (2, 3)]
    assert drawn == [(7, phase, epoch) for phase, n in epochs for epoch in range(n)]


def test_the_weights_at_the_start_are_drawn_from_the_seed(
    corpus: Corpus, words: Words, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Begun(Exception):
        """Enough was seen."""

    started = []

    def begin(self: Autoencoding, _: int) -> Any:
        started.append(self.networks)
        raise Begun

    monkeypatch.setattr(Autoencoding, "losses", begin)
    for seed in (0, 0, 1):
        with pytest.raises(Begun):
            train(corpus, words, **PLAN | {"seed": seed})
    assert _equal(started[0], started[1])
    assert not _equal(started[0], started[2])


def test_epochs_are_run_as_asked(uninterrupted: Trained) -> None:
    expected = [("autoencoder", 4), ("classifiers", 3), ("debiasing", 3)]
    assert [phase[:2] for phase in _found(uninterrupted)] == expected


def test_as_published_the_pretraining_stops_an_epoch_early(corpus: Corpus, words: Words) -> None:
    published = train(corpus, words, **PLAN, as_published=True)
    assert [state.done for state in published.states] == [3, 2, 3]


def test_it_learns_to_reconstruct(
    corpus: Corpus, words: Words, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "RATE", 0.01)
    losses = []
    for epochs in (1, 40):
        trained = train(corpus, words, **PLAN | {"pretrain_epochs": epochs})
        losses.append(-trained.states[0].score.item())
    without = float((corpus.vectors[trained.phases[0].dev].astype(float) ** 2).mean())
    assert losses[1] < without / 2 < losses[0]


def test_it_learns_to_classify(
    corpus: Corpus, words: Words, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "RATE", 0.01)
    trained = train(corpus, words, **PLAN | {"pretrain_epochs": 40, "classifier_epochs": 10})
    accuracy = trained.phases[1].accuracy(trained.before)
    assert (accuracy > 0.9).all()  # the words differ by construction


def test_a_large_weight_takes_stereotypes_off_the_difference(
    corpus: Corpus, words: Words, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "RATE", 0.01)
    trained = train(corpus, words, **PLAN | {"pretrain_epochs": 40, "weight": 1.0})
    before, after = (
        trained.phases[2].stereotypes_along(networks)
        for networks in (trained.before, trained.after)
    )
    for part in ("train", "held-out"):
        assert after[part][0].mean() < before[part][0].mean() / 2


def test_the_classifiers_phase_leaves_the_autoencoder_alone(
    corpus: Corpus, words: Words, uninterrupted: Trained
) -> None:
    longer = train(corpus, words, **PLAN | {"classifier_epochs": 5})
    assert torch.equal(longer.before.encoder.weight, uninterrupted.before.encoder.weight)
    assert torch.equal(longer.before.decoder.bias, uninterrupted.before.decoder.bias)
    assert not torch.equal(
        longer.before.classifiers.weight, uninterrupted.before.classifiers.weight
    )


def _scripted(
    monkeypatch: pytest.MonkeyPatch, phase: type, losses: list[list[float]]
) -> list[dict[str, Any]]:
    """Judge a phase's epochs by given losses; return what the networks were at each of them."""
    seen: list[dict[str, Any]] = []

    def judge(self: Any) -> Any:
        tensors = by_name(self.networks)
        seen.append({key: t.detach().numpy().copy() for key, t in tensors.items()})
        return -torch.tensor(losses[len(seen) - 1])

    monkeypatch.setattr(phase, "score", judge)
    return seen


@pytest.mark.parametrize("phase", [Autoencoding, Debiasing])
def test_the_best_epoch_is_kept_as_a_true_copy(
    corpus: Corpus, words: Words, monkeypatch: pytest.MonkeyPatch, phase: type
) -> None:
    seen = _scripted(monkeypatch, phase, [[3.0], [1.0], [2.0], [1.0]])
    trained = train(corpus, words, **PLAN | {"epochs": 4})
    assert _found(trained)[PHASES.index(phase)][2:] == ([2], [1.0])
    tensors = by_name(trained.before if phase is Autoencoding else trained.after)
    for name in ("encoder.weight", "encoder.bias", "decoder.weight", "decoder.bias"):
        np.testing.assert_array_equal(tensors[name], seen[1][name])
        assert (seen[1][name] != seen[3][name]).any()  # or this test shows nothing


def test_each_classifier_keeps_its_own_best_epoch(
    corpus: Corpus, words: Words, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = _scripted(monkeypatch, Classifying, [[3.0, 9.0], [1.0, 8.0], [2.0, 7.0]])
    trained = train(corpus, words, **PLAN)
    assert _found(trained)[1][2:] == ([2, 3], [1.0, 7.0])
    for name, tensor in zip(("weight", "bias"), trained.before.classifiers, strict=True):
        second, third = (epoch[f"classifiers.{name}"] for epoch in seen[1:])
        np.testing.assert_array_equal(tensor[..., 0], second[..., 0])
        np.testing.assert_array_equal(tensor[..., 1], third[..., 1])
        assert (second != third).all()


def test_the_kept_parameters_have_the_best_loss(uninterrupted: Trained) -> None:
    autoencoding, _, debiasing = uninterrupted.phases
    with torch.no_grad():
        assert torch.equal(debiasing.score().double(), uninterrupted.states[2].score)
        loss = autoencoding.reconstruction(uninterrupted.before)
        assert -loss.item() == uninterrupted.states[0].score.item()
        classifying = Classifying(uninterrupted.before, debiasing.train, debiasing.dev)
        assert torch.equal(classifying.score().double(), uninterrupted.states[1].score)


def test_a_training_that_diverges_is_an_error(corpus: Corpus, words: Words) -> None:
    vectors = corpus.vectors.copy()
    vectors[::7, 3] = 1e30  # its square leaves the range of float32
    with pytest.raises(WordbiasError, match="training diverged in epoch 1: the loss is inf; bring"):
        train(Corpus(vectors), words, **PLAN)


def test_the_vectors_are_not_changed(corpus: Corpus, words: Words) -> None:
    before = corpus.vectors.copy()
    frozen = corpus.vectors.view()
    frozen.flags.writeable = False
    train(Corpus(frozen), words, **PLAN)
    np.testing.assert_array_equal(corpus.vectors, before)


def test_threads_are_bounded_and_given_back(
    corpus: Corpus, words: Words, monkeypatch: pytest.MonkeyPatch
) -> None:
    during = []
    losses = Debiasing.losses

    def spy(self: Debiasing, epoch: int) -> Any:
        during.append(torch.get_num_threads())
        return losses(self, epoch)

    monkeypatch.setattr(Debiasing, "losses", spy)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        train(corpus, words, **PLAN)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert during == [1] * PLAN["epochs"]


# Interruption and resumption


@contextmanager
def _interrupted_at(phase: type, call: int, method: str = "step") -> Iterator[None]:
    """Press Ctrl-C at the n-th step of a phase, or the n-th call of a method."""
    calls = 0

    def count() -> None:
        nonlocal calls
        calls += 1
        if calls == call:
            raise KeyboardInterrupt

    losses, score = phase.losses, phase.score  # type: ignore[attr-defined]

    def steps(self: Any, epoch: int) -> Iterator[Any]:
        for loss in losses(self, epoch):
            count()
            yield loss

    def judged(self: Any) -> Any:
        count()
        return score(self)

    def begun(self: Any, epoch: int) -> Any:
        count()
        return losses(self, epoch)

    with pytest.MonkeyPatch.context() as patch:
        name = "score" if method == "score" else "losses"
        patch.setattr(phase, name, {"step": steps, "score": judged, "losses": begun}[method])
        with pytest.raises(KeyboardInterrupt):
            yield


STEPS = {Autoencoding: 3, Classifying: 70, Debiasing: 30}


@pytest.mark.slow
@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("when", ["in the second epoch", "at the last epoch's end"])
def test_an_interrupted_training_goes_on_bit_for_bit(
    corpus: Corpus,
    words: Words,
    uninterrupted: Trained,
    tmp_path: Path,
    phase: type,
    when: str,
) -> None:
    path = tmp_path / "checkpoint"
    epochs = {Autoencoding: 4, Classifying: 3, Debiasing: 3}[phase]
    at = (STEPS[phase] + 2, "step") if when == "in the second epoch" else (epochs, "score")
    with _interrupted_at(phase, *at):
        train(corpus, words, **PLAN, checkpoint=path)
    assert path.is_file()
    _assert_same(train(corpus, words, **PLAN, checkpoint=path), uninterrupted)
    assert path.is_file()


def test_a_training_that_is_done_is_not_done_again(
    corpus: Corpus,
    words: Words,
    uninterrupted: Trained,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever is killed before the result is written somewhere else has lost nothing."""
    path = tmp_path / "checkpoint"
    train(corpus, words, **PLAN, checkpoint=path)
    before = path.read_bytes()
    for phase in PHASES:
        monkeypatch.setattr(phase, "losses", lambda *_: pytest.fail("an epoch is run again"))
    _assert_same(train(corpus, words, **PLAN, checkpoint=path), uninterrupted)
    assert path.read_bytes() == before


def test_between_two_phases(
    corpus: Corpus, words: Words, uninterrupted: Trained, tmp_path: Path
) -> None:
    path = tmp_path / "checkpoint"
    for phase in (Classifying, Debiasing):
        with _interrupted_at(phase, 1, "losses"):
            train(corpus, words, **PLAN, checkpoint=path)
    _assert_same(train(corpus, words, **PLAN, checkpoint=path), uninterrupted)


def test_an_epoch_at_a_time(
    corpus: Corpus, words: Words, uninterrupted: Trained, tmp_path: Path
) -> None:
    path, runs = tmp_path / "checkpoint", 0
    losses = {phase: phase.losses for phase in PHASES}
    trained = None
    while trained is None:
        left, runs = 1, runs + 1

        def one_only(phase: Any, epoch: int) -> Any:
            nonlocal left
            if not left:
                raise KeyboardInterrupt
            left -= 1
            return losses[type(phase)](phase, epoch)

        with pytest.MonkeyPatch.context() as patch, suppress(KeyboardInterrupt):
            for phase in PHASES:
                patch.setattr(phase, "losses", one_only)
            trained = train(corpus, words, **PLAN, checkpoint=path)
    _assert_same(trained, uninterrupted)
    assert runs == 4 + 3 + 3


def test_a_training_without_a_checkpoint_keeps_nothing(
    corpus: Corpus, words: Words, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with _interrupted_at(Debiasing, 1):
        train(corpus, words, **PLAN)
    assert list(tmp_path.iterdir()) == []


def test_nothing_to_keep_before_the_first_epoch(
    corpus: Corpus, words: Words, tmp_path: Path
) -> None:
    with _interrupted_at(Autoencoding, 1):
        train(corpus, words, **PLAN, checkpoint=tmp_path / "checkpoint")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def checkpoint(corpus: Corpus, words: Words, tmp_path: Path) -> Path:
    with _interrupted_at(Classifying, 1):
        train(corpus, words, **PLAN, checkpoint=tmp_path / "checkpoint")
    return tmp_path / "checkpoint"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"pretrain_epochs": 9}, "pretrain_epochs is 4, not 9"),
        ({"classifier_epochs": 9}, "classifier_epochs is 3, not 9"),
        ({"epochs": 9}, "epochs is 3, not 9"),
        ({"seed": 1}, "seed is 0, not 1"),
        ({"as_published": True}, "as_published is False, not True"),
        ({"weight": 1.0}, "weight is 0.1, not 1.0"),
    ],
)
def test_a_checkpoint_of_other_settings_is_refused(
    corpus: Corpus, words: Words, checkpoint: Path, changed: dict[str, Any], said: str
) -> None:
    with pytest.raises(WordbiasError, match=f"is of another training: its {said}; remove it"):
        train(corpus, words, **(PLAN | changed), checkpoint=checkpoint)
    assert checkpoint.exists()


def test_a_checkpoint_of_other_vectors_is_refused(
    corpus: Corpus, words: Words, checkpoint: Path
) -> None:
    vectors = corpus.vectors.copy()
    vectors[-1, -1] += 1
    with pytest.raises(WordbiasError, match=r"another training: its vectors is '[0-9a-f]{12}…'"):
        train(Corpus(vectors), words, **PLAN, checkpoint=checkpoint)


def test_a_checkpoint_of_other_words_is_refused(
    corpus: Corpus, words: Words, checkpoint: Path
) -> None:
    train_words, dev = words
    other = train_words._replace(neutral=train_words.neutral + 1)
    with pytest.raises(WordbiasError, match=r"another training: its lists is '[0-9a-f]{12}…'"):
        train(corpus, (other, dev), **PLAN, checkpoint=checkpoint)


def test_the_place_of_the_checkpoint_is_checked_before_the_training(
    corpus: Corpus, words: Words, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Autoencoding, "losses", lambda *_: pytest.fail("trained"))
    with pytest.raises(WordbiasError, match="does not exist"):
        train(corpus, words, **PLAN, checkpoint=tmp_path / "none" / "checkpoint")
    with pytest.raises(WordbiasError, match="is a folder"):
        train(corpus, words, **PLAN, checkpoint=tmp_path)
