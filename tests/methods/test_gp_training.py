"""The training loop of gender-preserving debiasing: it learns, is seeded, goes on bit for bit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordbias.errors import WordbiasError
from wordbias.methods.gender_preserving import pretraining, training
from wordbias.methods.gender_preserving.autoencoder import Networks, by_name
from wordbias.methods.gender_preserving.debiasing import Debiasing
from wordbias.methods.gender_preserving.phase import Corpus, Plan
from wordbias.methods.gender_preserving.pretraining import Autoencoding, Classifying
from wordbias.methods.gender_preserving.training import Trained, generator, train
from wordbias.methods.gender_preserving.words import Part

torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")

N, D = 1500, 8
PLAN = Plan(pretrain_epochs=4, classifier_epochs=3, epochs=3, weight=0.1)
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
    return train(corpus, words, PLAN)


def _equal(one: Networks, other: Networks) -> bool:
    pairs = zip(by_name(one).values(), by_name(other).values(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


def _assert_same(one: Trained, other: Trained) -> None:
    assert _equal(one.before, other.before)
    assert _equal(one.after, other.after)
    assert one.done == other.done


def test_training_is_decided_by_the_seed(
    corpus: Corpus, words: Words, uninterrupted: Trained
) -> None:
    torch.manual_seed(123)  # nothing is drawn from the global generator
    _assert_same(train(corpus, words, PLAN), uninterrupted)
    other = train(corpus, words, replace(PLAN, seed=1))
    assert not _equal(other.after, uninterrupted.after)


def test_every_epoch_has_a_generator_of_its_own() -> None:
    keys = [(seed, phase, epoch) for seed in range(3) for phase in range(4) for epoch in range(4)]
    drawn = {generator(*key).initial_seed() for key in keys}
    assert len(drawn) == len(keys)


def test_every_epoch_uses_its_own(
    corpus: Corpus, words: Words, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = []
    for phase in PHASES:

        def spy(self: Any, rng: Any, batches: Any = phase.batches) -> Any:
            drawn.append(rng.initial_seed())
            return batches(self, rng)

        monkeypatch.setattr(phase, "batches", spy)
    train(corpus, words, replace(PLAN, seed=7))
    epochs = [(0, 4), (1, 3), (2, 3)]
    expected = [generator(7, phase, epoch) for phase, n in epochs for epoch in range(n)]
    assert drawn == [rng.initial_seed() for rng in expected]


def test_the_weights_at_the_start_are_drawn_from_the_seed(
    corpus: Corpus, words: Words, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Begun(Exception):
        """Enough was seen."""

    started = []

    def begin(self: Autoencoding, networks: Networks) -> None:
        started.append(networks)
        raise Begun

    monkeypatch.setattr(Autoencoding, "begin", begin)
    for seed in (0, 0, 1):
        with pytest.raises(Begun):
            train(corpus, words, replace(PLAN, seed=seed))
    assert _equal(started[0], started[1])
    assert not _equal(started[0], started[2])


def test_epochs_are_run_as_asked(uninterrupted: Trained) -> None:
    assert [(done["phase"], done["epochs"]) for done in uninterrupted.done] == [
        ("autoencoder", 4),
        ("classifiers", 3),
        ("debiasing", 3),
    ]


def test_it_learns_to_reconstruct(
    corpus: Corpus, words: Words, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pretraining, "_RATE", 0.01)
    losses = []
    for epochs in (1, 40):
        trained = train(corpus, words, replace(PLAN, pretrain_epochs=epochs))
        losses.append(trained.done[0]["dev_loss"][0])
    without = float((corpus.vectors[trained.phases[0].dev].astype(float) ** 2).mean())
    assert losses[1] < without / 2 < losses[0]


def test_it_learns_to_classify(
    corpus: Corpus, words: Words, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pretraining, "_RATE", 0.01)
    trained = train(corpus, words, replace(PLAN, pretrain_epochs=40, classifier_epochs=10))
    accuracy = trained.phases[1].accuracy(trained.before)
    assert (accuracy > 0.9).all()  # the words differ by construction


def test_a_large_weight_takes_stereotypes_off_the_difference(
    corpus: Corpus, words: Words, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pretraining, "_RATE", 0.01)
    trained = train(corpus, words, replace(PLAN, pretrain_epochs=40, weight=1.0))
    before, after = (
        trained.phases[2].stereotypes_along(networks)
        for networks in (trained.before, trained.after)
    )
    for part in ("train", "held-out"):
        assert after[part][0].mean() < before[part][0].mean() / 2


def test_the_classifiers_phase_leaves_the_autoencoder_alone(
    corpus: Corpus, words: Words, uninterrupted: Trained
) -> None:
    longer = train(corpus, words, replace(PLAN, classifier_epochs=5))
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

    def judge(self: Any, networks: Networks) -> Any:
        seen.append({key: t.detach().numpy().copy() for key, t in by_name(networks).items()})
        return torch.tensor(losses[len(seen) - 1])

    monkeypatch.setattr(phase, "dev_loss", judge)
    return seen


@pytest.mark.parametrize("phase", [Autoencoding, Debiasing])
def test_the_best_epoch_is_kept_as_a_true_copy(
    corpus: Corpus, words: Words, monkeypatch: pytest.MonkeyPatch, phase: type
) -> None:
    seen = _scripted(monkeypatch, phase, [[3.0], [1.0], [2.0], [1.0]])
    trained = train(corpus, words, replace(PLAN, epochs=4))
    done = trained.done[PHASES.index(phase)]
    assert (done["best_epoch"], done["dev_loss"]) == ([2], [1.0])
    kept = by_name(trained.before if phase is Autoencoding else trained.after)
    for name in ("encoder.weight", "encoder.bias", "decoder.weight", "decoder.bias"):
        np.testing.assert_array_equal(kept[name], seen[1][name])
        assert (seen[1][name] != seen[3][name]).any()  # or this test shows nothing


def test_each_classifier_keeps_its_own_best_epoch(
    corpus: Corpus, words: Words, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = _scripted(monkeypatch, Classifying, [[3.0, 9.0], [1.0, 8.0], [2.0, 7.0]])
    trained = train(corpus, words, PLAN)
    done = trained.done[1]
    assert (done["best_epoch"], done["dev_loss"]) == ([2, 3], [1.0, 7.0])
    for name, kept in zip(("weight", "bias"), trained.before.classifiers, strict=True):
        second, third = (epoch[f"classifiers.{name}"] for epoch in seen[1:])
        np.testing.assert_array_equal(kept[..., 0], second[..., 0])
        np.testing.assert_array_equal(kept[..., 1], third[..., 1])
        assert (second != third).all()


def test_what_is_kept_has_the_loss_it_was_kept_for(uninterrupted: Trained) -> None:
    autoencoding, classifying, debiasing = uninterrupted.phases
    before, after = uninterrupted.before, uninterrupted.after
    for done, loss in zip(
        uninterrupted.done,
        (
            autoencoding.dev_loss(before),
            classifying.dev_loss(before),
            debiasing.dev_loss(after),
        ),
        strict=True,
    ):
        assert loss.reshape(-1).tolist() == done["dev_loss"]


def test_a_training_that_diverges_is_an_error(corpus: Corpus, words: Words) -> None:
    vectors = corpus.vectors.copy()
    vectors[::7, 3] = 1e30  # its square leaves the range of float32
    with pytest.raises(WordbiasError, match="training diverged: the loss of the phase autoencoder"):
        train(Corpus(vectors), words, PLAN)


def test_the_vectors_are_not_changed(corpus: Corpus, words: Words) -> None:
    before = corpus.vectors.copy()
    frozen = corpus.vectors.view()
    frozen.flags.writeable = False
    train(Corpus(frozen), words, PLAN)
    np.testing.assert_array_equal(corpus.vectors, before)


def test_threads_are_bounded_and_given_back(
    corpus: Corpus, words: Words, monkeypatch: pytest.MonkeyPatch
) -> None:
    during = []
    begin = Debiasing.begin

    def spy(self: Debiasing, networks: Networks) -> None:
        during.append(torch.get_num_threads())
        begin(self, networks)

    monkeypatch.setattr(Debiasing, "begin", spy)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        train(corpus, words, PLAN)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert during == [1] * PLAN.epochs


# Interruption and resumption


@contextmanager
def _interrupted_at(phase: type, call: int, method: str = "loss") -> Iterator[None]:
    """Press Ctrl-C at the n-th call of a phase's method."""
    original: Callable[..., Any] = getattr(phase, method)
    calls = 0

    def pressed(self: Any, *arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == call:
            raise KeyboardInterrupt
        return original(self, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(phase, method, pressed)
        with pytest.raises(KeyboardInterrupt):
            yield


STEPS = {Autoencoding: 3, Classifying: 70, Debiasing: 30}


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
    at = (STEPS[phase] + 2, "loss") if when == "in the second epoch" else (epochs, "dev_loss")
    with _interrupted_at(phase, *at):
        train(corpus, words, PLAN, path)
    assert path.is_file()
    _assert_same(train(corpus, words, PLAN, path), uninterrupted)
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
    train(corpus, words, PLAN, path)
    before = path.read_bytes()
    monkeypatch.setattr(training, "_epoch", lambda *_: pytest.fail("an epoch is run again"))
    _assert_same(train(corpus, words, PLAN, path), uninterrupted)
    assert path.read_bytes() == before


def test_between_two_phases(
    corpus: Corpus, words: Words, uninterrupted: Trained, tmp_path: Path
) -> None:
    path = tmp_path / "checkpoint"
    for phase in (Classifying, Debiasing):
        with _interrupted_at(phase, 1, "begin"):
            train(corpus, words, PLAN, path)
    _assert_same(train(corpus, words, PLAN, path), uninterrupted)


def test_an_epoch_at_a_time(
    corpus: Corpus, words: Words, uninterrupted: Trained, tmp_path: Path
) -> None:
    path, epoch, runs = tmp_path / "checkpoint", training._epoch, 0
    trained = None
    while trained is None:
        left, runs = 1, runs + 1

        def one_only(*arguments: Any) -> None:
            nonlocal left
            if not left:
                raise KeyboardInterrupt
            left -= 1
            epoch(*arguments)

        with pytest.MonkeyPatch.context() as patch, suppress(KeyboardInterrupt):
            patch.setattr(training, "_epoch", one_only)
            trained = train(corpus, words, PLAN, path)
    _assert_same(trained, uninterrupted)
    assert runs == 4 + 3 + 3


def test_a_training_without_a_checkpoint_keeps_nothing(
    corpus: Corpus, words: Words, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with _interrupted_at(Debiasing, 1):
        train(corpus, words, PLAN)
    assert list(tmp_path.iterdir()) == []


def test_nothing_to_keep_before_the_first_epoch(
    corpus: Corpus, words: Words, tmp_path: Path
) -> None:
    with _interrupted_at(Autoencoding, 1):
        train(corpus, words, PLAN, tmp_path / "checkpoint")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def checkpoint(corpus: Corpus, words: Words, tmp_path: Path) -> Path:
    with _interrupted_at(Classifying, 1):
        train(corpus, words, PLAN, tmp_path / "checkpoint")
    return tmp_path / "checkpoint"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"pretrain_epochs": 9}, "pretrain_epochs 4 there, 9 here"),
        ({"classifier_epochs": 9}, "classifier_epochs 3 there, 9 here"),
        ({"epochs": 9}, "epochs 3 there, 9 here"),
        ({"seed": 1}, "seed 0 there, 1 here"),
        ({"as_published": True}, "as_published False there, True here"),
        ({"weight": 1.0}, "weight 0.1 there, 1.0 here"),
    ],
)
def test_a_checkpoint_of_other_settings_is_refused(
    corpus: Corpus, words: Words, checkpoint: Path, changed: dict[str, Any], said: str
) -> None:
    with pytest.raises(WordbiasError, match=f"another training .*{said}.*remove the file"):
        train(corpus, words, replace(PLAN, **changed), checkpoint)
    assert checkpoint.exists()


def test_a_checkpoint_of_other_vectors_is_refused(
    corpus: Corpus, words: Words, checkpoint: Path
) -> None:
    vectors = corpus.vectors.copy()
    vectors[-1, -1] += 1
    with pytest.raises(WordbiasError, match=r"another training .*vectors '[0-9a-f]{64}' there"):
        train(Corpus(vectors), words, PLAN, checkpoint)


def test_a_checkpoint_of_other_words_is_refused(
    corpus: Corpus, words: Words, checkpoint: Path
) -> None:
    train_words, dev = words
    other = train_words._replace(neutral=train_words.neutral + 1)
    with pytest.raises(WordbiasError, match=r"another training .*lists '[0-9a-f]{64}' there"):
        train(corpus, (other, dev), PLAN, checkpoint)


def test_the_place_of_the_checkpoint_is_checked_before_the_training(
    corpus: Corpus, words: Words, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "_run", lambda *_: pytest.fail("trained"))
    with pytest.raises(WordbiasError, match="does not exist"):
        train(corpus, words, PLAN, tmp_path / "none" / "checkpoint")
