"""Training: it fits log X, resumes as if it had not been interrupted, and refuses to diverge."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from wordbias.errors import Interrupted, WordbiasError  # noqa: E402
from wordbias.glove import Cooccurrences, Corpus, count  # noqa: E402
from wordbias.glove.cooccurrence import Batch  # noqa: E402
from wordbias.glove.objectives import (  # noqa: E402
    Gendered,
    GloVe,
    GNGloVe,
    PublishedGNGloVe,
    Recipe,
)
from wordbias.glove.training import batch_size, train  # noqa: E402
from wordbias.training import write_checkpoint  # noqa: E402

GENDERED = Gendered((0, 2), (1, 3), ((0, 1), (2, 3)), 3)
RECIPE = Recipe(dim=6, rate=0.1, x_max=3)
KINDS = {"glove": GloVe, "gn-glove": GNGloVe, "published": PublishedGNGloVe}


@pytest.fixture
def counts(tmp_path: Path) -> Cooccurrences:
    rng = np.random.default_rng(0)
    weights = 1 / np.arange(1, 31)
    tokens = rng.choice(30, size=(60, 40), p=weights / weights.sum())
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(" ".join(map(str, line)) for line in tokens.tolist()))
    return count(Corpus.open([path]), tmp_path / "counts", window=4, min_count=1, memory=1 << 19)


def model(kind: str, recipe: Recipe = RECIPE) -> GloVe:
    given: tuple[Any, ...] = () if kind == "glove" else (GENDERED,)
    return KINDS[kind](30, recipe, *given)


@pytest.mark.slow
def test_with_enough_dimensions_glove_fits_log_x(counts: Cooccurrences) -> None:
    assert len(counts.vocabulary.words) == 30
    trained = model("glove", Recipe(dim=40, rate=0.3, x_max=1e-3))  # all cells weigh the same
    history = train(trained, counts, epochs=250, batch=40)
    assert history[-1]["loss"] < 1e-4 < history[0]["loss"]
    w, c = (table.values.numpy() for table in (trained.words, trained.contexts))
    for i in range(len(counts.sizes)):
        rows, columns, x = counts.read(i)
        fitted = (w[rows, :-1] * c[columns, :-1]).sum(1) + w[rows, -1] + c[columns, -1]
        np.testing.assert_allclose(fitted, np.log(x), atol=0.1)


def test_loss_is_the_mean_over_cells_of_the_formula(counts: Cooccurrences) -> None:
    untrained = model("glove", Recipe(dim=6, rate=1e-12, x_max=3))
    (entry,) = train(untrained, counts, epochs=1)
    w, c = (table.values.numpy() for table in (untrained.words, untrained.contexts))
    total = 0.0
    for i in range(len(counts.sizes)):
        rows, columns, x = counts.read(i)
        difference = (w[rows, :-1] * c[columns, :-1]).sum(1) + w[rows, -1] + c[columns, -1]
        weight = np.minimum(1, (x / 3) ** 0.75)
        total += float((weight * (difference - np.log(x)) ** 2).sum()) / 2
    assert entry["loss"] == pytest.approx(total / counts.cells, rel=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_an_interrupted_training_ends_where_an_undisturbed_one_does(
    kind: str, counts: Cooccurrences, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = model(kind)
    expected = train(whole, counts, epochs=4)
    checkpoint, log = tmp_path / "checkpoint", tmp_path / "log.jsonl"
    broken, steps = model(kind), 0
    original = GloVe.step

    def interrupted(self: GloVe, batch: Batch) -> Any:
        nonlocal steps
        steps += 1
        if steps == 2 * counts.steps(batch_size(broken, counts)) + 2:  # in the third epoch
            raise KeyboardInterrupt
        return original(self, batch)

    with monkeypatch.context() as patch:
        patch.setattr(GloVe, "step", interrupted)
        with pytest.raises(Interrupted, match="resumes after epoch 2"):
            train(broken, counts, epochs=4, checkpoint=checkpoint, log=log)
    assert len(log.read_text().splitlines()) == 2
    resumed = model(kind, RECIPE)
    history = train(resumed, counts, epochs=4, checkpoint=checkpoint, log=log)
    for name, value in whole.state().items():
        assert torch.equal(value, resumed.state()[name]), name
    assert [entry["loss"] for entry in history] == [entry["loss"] for entry in expected]
    assert [json.loads(line)["epoch"] for line in log.read_text().splitlines()] == [1, 2, 3, 4]


def test_a_checkpoint_of_other_settings_is_refused(counts: Cooccurrences, tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    train(model("glove"), counts, epochs=1, checkpoint=checkpoint, about={"rate": 0.1})
    with pytest.raises(WordbiasError, match=r"its rate is 0\.1, not 0\.2; remove it"):
        train(model("glove"), counts, epochs=2, checkpoint=checkpoint, about={"rate": 0.2})
    with pytest.raises(WordbiasError, match="its batch is"):
        train(model("glove"), counts, epochs=2, checkpoint=checkpoint, about={"rate": 0.1}, batch=3)
    checkpoint.write_bytes(b"?")
    with pytest.raises(WordbiasError, match="cannot be read as a checkpoint"):
        train(model("glove"), counts, epochs=2, checkpoint=checkpoint)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda values: values[:1], "words: expected torch.float32 of shape"),
        (lambda values: values[0, 0], "words: expected torch.float32 of shape"),
        (lambda values: values.double(), "words: expected torch.float32 of shape"),
        (lambda values: values / 0, "words: has a value that is not finite"),
    ],
)
def test_a_checkpoint_with_other_tensors_is_refused(
    kind: str, change: Any, message: str, counts: Cooccurrences, tmp_path: Path
) -> None:
    path = tmp_path / "checkpoint"
    history = train(model(kind), counts, epochs=1, checkpoint=path, batch=500)
    state = model(kind).state()
    known = {"about": {"batch": 500}, "history": history}
    write_checkpoint(path, {"model": {**state, "words": change(state["words"])}}, known)
    with pytest.raises(WordbiasError, match=rf"damaged checkpoint: .*{message}.*; remove it"):
        train(model(kind), counts, epochs=2, checkpoint=path, batch=500)


@pytest.mark.parametrize(
    "history",
    [
        5,
        "text",
        [1],
        [{}],
        [{"epoch": 1}],
        [{"epoch": 1, "loss": "small", "seconds": 0.1}],
        [{"epoch": 1, "loss": float("nan"), "seconds": 0.1}],
        [{"epoch": 2, "loss": 0.1, "seconds": 0.1}],
        [{"epoch": 1, "loss": 0.1, "seconds": 0.1}] * 2,
    ],
)
def test_a_checkpoint_with_another_history_is_refused(
    history: Any, counts: Cooccurrences, tmp_path: Path
) -> None:
    path = tmp_path / "checkpoint"
    known = {"about": {"batch": 500}, "history": history}
    write_checkpoint(path, {"model": model("glove").state()}, known)
    with pytest.raises(WordbiasError, match=r"checkpoint: holds a damaged checkpoint: .*remove it"):
        train(model("glove"), counts, epochs=3, checkpoint=path, batch=500)


def test_a_log_is_complete_wherever_training_was_killed(
    counts: Cooccurrences, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No epoch has a checkpoint before it is in the log."""
    log, path, original = tmp_path / "log.jsonl", tmp_path / "checkpoint", write_checkpoint

    def watched(file: Path, parts: Any, known: Any) -> None:
        assert len(log.read_text().splitlines()) == len(known["history"])
        original(file, parts, known)

    monkeypatch.setattr("wordbias.glove.training.write_checkpoint", watched)
    train(model("glove"), counts, epochs=2, checkpoint=path, log=log)
    assert path.exists()


def test_training_that_diverges_is_refused(counts: Cooccurrences, tmp_path: Path) -> None:
    wild = model("glove", Recipe(dim=6, rate=1e30))
    with pytest.raises(WordbiasError, match=r"diverged in epoch \d+: .*lower --lr"):
        train(wild, counts, epochs=5, checkpoint=tmp_path / "checkpoint")


@pytest.mark.parametrize("kind", KINDS)
def test_the_last_step_is_checked_too(
    kind: str, counts: Cooccurrences, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    trained = model(kind)
    original = type(trained).step

    def step(self: GloVe, batch: Batch) -> torch.Tensor:
        loss = original(self, batch)
        self.contexts.values[3, 2] = float("inf")
        return loss

    monkeypatch.setattr(type(trained), "step", step)
    with pytest.raises(WordbiasError, match="diverged in epoch 1: a vector is not finite"):
        train(trained, counts, epochs=1, batch=counts.cells, checkpoint=tmp_path / "checkpoint")
    assert not (tmp_path / "checkpoint").exists()


def test_without_neutral_words_the_log_has_no_orthogonality(counts: Cooccurrences) -> None:
    every = Gendered(tuple(range(0, 30, 2)), tuple(range(1, 30, 2)), ((0, 1),), 1)
    (entry,) = train(GNGloVe(30, RECIPE, every), counts, epochs=1)
    assert "orthogonality" not in entry
    assert np.isfinite(entry["distance"])


@pytest.mark.parametrize(
    "pairs", [[("a", "b"), ("b", "a")], [("a", "b"), ("b", "b")], [("a", "a"), ("a", "b")]]
)
def test_a_group_without_a_word_of_its_own_is_refused(pairs: list[tuple[str, str]]) -> None:
    with pytest.raises(WordbiasError, match="words of one group are in the other too"):
        Gendered.find(pairs, {"a": 0, "b": 1, "c": 2}, "text: pairs")
    groups = Gendered.find([*pairs, ("c", "d"), ("e", "f")], {x: i for i, x in enumerate("abcdef")})
    assert len(groups.first) >= 3


def test_gn_glove_separates_the_groups_in_w_g_alone(counts: Cooccurrences) -> None:
    shares = {}
    for weight in (0.0, 20.0):
        trained = model("gn-glove", Recipe(dim=6, rate=0.1, x_max=3, lambda_e=weight))
        history = train(trained, counts, epochs=30)
        assert history[-1]["distance"] == pytest.approx(2.0)
        vectors = trained.vectors()
        np.testing.assert_allclose(vectors[:4, -1], [2, -2, 2, -2], rtol=1e-6)
        w_a = vectors[:, :-1]
        v = (w_a[0] - w_a[1] + w_a[2] - w_a[3]) / 2
        neutral = w_a[4:]
        share = (neutral @ v / np.linalg.norm(v)) ** 2 / (neutral**2).sum(1)
        shares[weight] = float(share.mean())
        orthogonality = float(np.mean((neutral / 2 @ (v / 2)) ** 2))
        assert history[-1]["orthogonality"] == pytest.approx(orthogonality, rel=1e-4)
    assert shares[20.0] < shares[0.0] / 10


def test_default_batches_have_the_most_frequent_word_as_often_as_they_should(
    counts: Cooccurrences,
) -> None:
    for kind in KINDS:
        trained = model(kind)
        often = 1 if kind == "published" else 10
        size = batch_size(trained, counts)
        assert size * counts.most / counts.cells == pytest.approx(often, rel=0.1)
