"""Running a sweep over pairs: equal pairs once, kept when interrupted, the same in several jobs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_heads

from wordbias import devices
from wordbias.contextual.fitting import fit_adapter
from wordbias.errors import WordbiasError
from wordbias.models.sentence_pairs import SentencePair

torch = pytest.importorskip("torch")

from wordbias.contextual.sweep import run  # noqa: E402
from wordbias.contextual.sweep.forward import Forward, Plan  # noqa: E402
from wordbias.contextual.sweep.run import ModelSource, Workers  # noqa: E402
from wordbias.contextual.sweep.sweep import models_of  # noqa: E402
from wordbias.models.sites import Site  # noqa: E402
from wordbias.models.token_batches import TokenisedTexts  # noqa: E402


def outputs(*given: Any, **options: Any) -> Any:
    return run.outputs(*given, **options)["logits"]


PAIRS = [
    ("the woman sat .", "she slept ."),
    ("the man sat in the car .", "he fixed the very hot tea ."),
    ("the nurse cooked .", "the meal was hot ."),
    ("the woman sat .", "she slept ."),
    ("a doctor fixed her cup in the car .", "he is kind and stern ."),
    ("a girl .", "a boy ."),
]
FITTED = [
    SentencePair("she sat .", "he sat ."),
    SentencePair("the woman slept .", "the man slept ."),
    SentencePair("her tea was hot .", "his tea was hot ."),
    SentencePair("a girl cooked .", "a boy cooked ."),
]


@pytest.fixture
def source(tmp_path: Path) -> ModelSource:
    labels = {0: "entailment", 1: "neutral", 2: "contradiction"}
    classifier = tiny_heads.model("bert", "SequenceClassification", id2label=labels)
    return ModelSource("inference", tiny_heads.folder(tmp_path / "nli", classifier), device="cpu")


@pytest.fixture
def model(source: ModelSource) -> Any:
    return source.load()


@pytest.fixture
def plan(model: Any) -> Plan:
    adapter = fit_adapter(model.model, model.tokenizer, FITTED)
    whole = models_of(adapter)
    return Plan.of({name: whole[name] for name in list(whole)[::7]}, Site("cls", 2))


@pytest.fixture
def pairs(model: Any) -> TokenisedTexts:
    return TokenisedTexts.of(model, PAIRS, truncate=False, budget=30)


def straight(model: Any, plan: Plan) -> np.ndarray:
    """Each pair alone, each model with hooks in a pass of its own."""
    from wordbias.models.hooks import applied

    logits = np.empty((len(PAIRS), len(plan.names), 3))
    for k in range(len(plan.names)):
        for i, pair in enumerate(PAIRS):
            with applied(model.model, plan.steps_of(k)), torch.inference_mode():
                inputs = model.tokenizer(*pair, return_tensors="pt")
                logits[i, k] = model.model(**inputs).logits[0].numpy()
    return logits


def test_a_batch_does_not_change_the_logits_of_its_pairs(
    source: ModelSource, model: Any, plan: Plan, pairs: TokenisedTexts
) -> None:
    logits = outputs(source, model, plan, pairs)
    assert logits.shape == (6, len(plan.names), 3)
    np.testing.assert_allclose(logits, straight(model, plan), rtol=0, atol=1e-5)


def test_equal_pairs_are_read_once_and_batches_have_a_largest_size(pairs: TokenisedTexts) -> None:
    assert len(pairs.tokens) == 5
    assert pairs.places[0] == pairs.places[3]
    assert sorted(np.concatenate(pairs.batches).tolist()) == list(range(5))
    sizes = [len(batch) * max(len(pairs.tokens[i]["input_ids"]) for i in batch)
             for batch in pairs.batches]  # fmt: skip
    assert len(sizes) > 1
    assert all(
        size <= 30 or len(batch) == 1 for size, batch in zip(sizes, pairs.batches, strict=True)
    )


def test_long_pairs_are_cut_or_refused(model: Any) -> None:
    long = [("the " * 30, "a cup"), ("a", "the")]
    with pytest.raises(WordbiasError, match=r"reads at most 40 tokens; a pair has 73: .the the"):
        TokenisedTexts.of(model, [("the " * 30, "a cup " * 20)], truncate=False)
    cut = TokenisedTexts.of(model, [("the " * 30, "a cup " * 20), *long], truncate=True)
    assert max(len(encoding["input_ids"]) for encoding in cut.tokens) == 40


class Interrupting:
    """Stops like a user, after so many batches."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
        self.left, self.read, real = after, 0, Forward.__call__

        def batch(forward: Forward, *given: Any) -> Any:
            if self.left == 0:
                raise KeyboardInterrupt
            self.left -= 1
            self.read += 1
            return real(forward, *given)

        monkeypatch.setattr(Forward, "__call__", batch)


def test_an_interrupted_sweep_is_resumed_with_the_same_result(
    source: ModelSource, model: Any, plan: Plan, pairs: TokenisedTexts, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    expected = outputs(source, model, plan, pairs)
    file = tmp_path / "sweep.part"
    stopping = Interrupting(monkeypatch, 1)
    with pytest.raises(KeyboardInterrupt):
        outputs(source, model, plan, pairs, file=file)
    assert file.exists()
    stopping.left = -1
    logits = outputs(source, model, plan, pairs, file=file)
    assert stopping.read == len(pairs.batches)  # none was read twice
    np.testing.assert_array_equal(logits, expected)
    stopping.left = 0  # all is done: nothing is read again
    np.testing.assert_array_equal(outputs(source, model, plan, pairs, file=file), expected)


def test_a_file_of_another_sweep_is_refused(
    source: ModelSource, model: Any, plan: Plan, pairs: TokenisedTexts, tmp_path: Path
) -> None:
    file = tmp_path / "sweep.part"
    outputs(source, model, plan, pairs, file=file)
    other = TokenisedTexts.of(model, PAIRS[:3], truncate=False)
    with pytest.raises(WordbiasError, match=r"is of another sweep: its texts"):
        outputs(source, model, plan, other, file=file)
    fewer = Plan.of(
        {name: plan.steps_of(i) for i, name in enumerate(plan.names[:2])}, Site("cls", 2)
    )
    with pytest.raises(WordbiasError, match="its interventions"):
        outputs(source, model, fewer, pairs, file=file)
    with torch.no_grad():
        model.model.classifier.weight.mul_(2)
    with pytest.raises(WordbiasError, match=r"its model\.weights"):
        outputs(source, model, plan, pairs, file=file)


@pytest.mark.slow
def test_a_sweep_that_fails_is_resumed(
    source: ModelSource, model: Any, plan: Plan, pairs: TokenisedTexts, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    def dying(self: Workers, function: Any, items: Any, *, shared: Any, lost: str) -> Any:
        yield 0, function(*shared, items[0])
        raise WordbiasError(f"a worker process died; {lost}")

    monkeypatch.setattr(run, "BATCHES_TOGETHER", 1)
    monkeypatch.setattr(Workers, "unordered", dying)
    file = tmp_path / "part"
    with pytest.raises(WordbiasError, match="a worker process died"):
        outputs(source, model, plan, pairs, file=file, workers=Workers(2))
    monkeypatch.undo()
    resumed = Interrupting(monkeypatch, -1)
    logits = outputs(source, model, plan, pairs, file=file)
    assert resumed.read == len(pairs.batches) - 1
    np.testing.assert_allclose(logits, straight(model, plan), rtol=0, atol=1e-5)


def test_few_batches_are_read_here(
    source: ModelSource,
    model: Any,
    plan: Plan,
    pairs: TokenisedTexts,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Workers, "unordered", None)
    assert len(pairs.batches) <= run.BATCHES_TOGETHER
    outputs(source, model, plan, pairs, workers=Workers(64))


@pytest.fixture
def one_batch_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each batch to a process by itself."""
    monkeypatch.setattr(run, "BATCHES_TOGETHER", 1)


@pytest.mark.slow
@pytest.mark.usefixtures("one_batch_each")
def test_several_jobs_give_the_same(
    source: ModelSource, model: Any, plan: Plan, pairs: TokenisedTexts
) -> None:
    devices.set_threads(2)
    expected = outputs(source, model, plan, pairs)
    logits = outputs(source, model, plan, pairs, workers=Workers(2))
    np.testing.assert_allclose(logits, expected, rtol=0, atol=1e-6)


@pytest.mark.slow
@pytest.mark.usefixtures("one_batch_each")
@pytest.mark.filterwarnings("default")  # of clusters that start and stop
def test_a_cluster_gives_what_processes_give(
    join: Callable[[str], None],
    source: ModelSource,
    model: Any,
    plan: Plan,
    pairs: TokenisedTexts,
) -> None:
    join("dask")
    devices.set_threads(2)
    expected = outputs(source, model, plan, pairs, workers=Workers(2))
    logits = outputs(source, model, plan, pairs, workers=Workers(2, "dask"))
    np.testing.assert_array_equal(logits, expected)


@pytest.mark.usefixtures("one_batch_each")
def test_a_cluster_that_is_not_installed(
    source: ModelSource,
    model: Any,
    plan: Plan,
    pairs: TokenisedTexts,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import importlib

    real = importlib.import_module

    def absent(name: str, *given: Any) -> Any:
        if name.startswith("ray"):
            raise ModuleNotFoundError(name=name.partition(".")[0])
        return real(name, *given)

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(WordbiasError, match=r"Computing on a cluster needs ray; install it"):
        outputs(source, model, plan, pairs, workers=Workers(2, "ray"))


def test_damaged_weights_are_noticed(
    source: ModelSource, model: Any, plan: Plan, pairs: TokenisedTexts
) -> None:
    with torch.no_grad():
        model.model.classifier.bias.fill_(torch.nan)
    with pytest.raises(WordbiasError, match="its weights are damaged"):
        outputs(source, model, plan, pairs)


def test_a_source_can_be_given_its_labels(source: ModelSource) -> None:
    other = replace(source, labels=("contradiction", "entailment", "neutral"))
    assert other.load().places == (2, 1, 0)
    assert source.load().places == (1, 0, 2)
