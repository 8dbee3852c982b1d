"""Training of coreference: it learns by heart, resumes to the same bytes, stores what it loads."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from interrupted_trainings import interrupted_in
from small_coreference import encoder_folder, learning_folder, story, with_large_head

import wordbias as wb
from wordbias.coreference.documents import Document, facts
from wordbias.coreference.reading import read_documents
from wordbias.errors import Interrupted, WordbiasError
from wordbias.formats.stored import COREFERENCE, write
from wordbias.model_folder import own_files
from wordbias.outcomes.conll import conll_f1

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from wordbias.contextual.fine_tuning import store  # noqa: E402
from wordbias.coreference import training  # noqa: E402
from wordbias.coreference.model import Settings  # noqa: E402
from wordbias.coreference.resolver import Coreference  # noqa: E402
from wordbias.coreference.training import (  # noqa: E402
    Recipe,
    Task,
    Trained,
    tallies,
    train_coreference,
    train_model,
)

pytestmark = pytest.mark.usefixtures("one_thread")

SIZE = Settings(segment_length=32, width=5, hidden=30)
QUICK = Recipe(epochs=2, rate=1e-3, task_rate=3e-3)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return encoder_folder(tmp_path_factory.mktemp("coreference") / "encoder")


def trained_in(encoder: str, folder: Path, **changes: Any) -> tuple[Trained, Coreference]:
    data, dev = [story(i) for i in range(6)], [story(i) for i in range(10, 13)]
    recipe = replace(QUICK, **changes)
    return train_coreference(encoder, data, dev, folder, settings=SIZE, recipe=recipe, device="cpu")


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


@pytest.mark.slow
def test_ten_documents_are_learned_by_heart_and_stored(tmp_path: Path) -> None:
    documents, folder = [story(i) for i in range(10)], tmp_path / "o"
    encoder = learning_folder(tmp_path / "encoder")
    size = Settings(segment_length=32, width=5, hidden=100, kept=0.8, dropout=0.0)
    recipe = Recipe(epochs=20, rate=1e-3, task_rate=1e-3)
    trained, model = train_coreference(
        encoder, documents, documents, folder, settings=size, recipe=recipe, device="cpu"
    )
    assert trained.f1 > 0.95
    assert trained.epochs[-1]["loss"] < trained.epochs[0]["loss"] / 20
    known = model.predict(documents)
    assert float(conll_f1(tallies(documents, known).sum(0))) == trained.f1
    assert all(len(cluster) > 1 for document in known for cluster in document.clusters)
    loaded = wb.load(folder)
    assert {"coreference.json", "coreference.safetensors"} <= own_files(folder)[0].keys()
    assert loaded.predict(documents) == known
    assert [loaded(document.sentences) for document in documents] == [
        document.clusters for document in known
    ]
    (flat,) = loaded.predict([Document("", (documents[0].tokens,))])
    assert loaded(list(documents[0].tokens)) == flat.clusters
    texts = ["Ann saw the dog ."]
    assert not np.array_equal(wb.encode(folder, texts).vectors, wb.encode(encoder, texts).vectors)


def beginning(document: Document, tokens: int, width: int) -> Document:
    """Return the first sentences of a document, of so many tokens or fewer, and their mentions."""
    ends = [end for _, end in document.sentence_spans() if end <= tokens]
    inside = (
        tuple((start, end) for start, end in cluster if end <= ends[-1] and end - start <= width)
        for cluster in document.clusters
    )
    clusters = tuple(cluster for cluster in inside if len(cluster) > 1)
    return Document(document.name, document.sentences[: len(ends)], clusters)


@pytest.mark.slow
def test_ten_real_documents_are_learned_by_heart(tmp_path: Path, shared_data: Path) -> None:
    """Of their spans nearly all are kept: one that is not kept is not learned."""
    every = read_documents(shared_data / "coref" / "ontogum.train.conll.gz")
    documents = [beginning(document, 80, 3) for document in every[::18][:10]]
    words = [token for document in documents for token in document.tokens]
    encoder = learning_folder(tmp_path / "encoder", words)
    size = Settings(segment_length=64, width=3, hidden=100, kept=2.0, dropout=0.1)
    model = Coreference.new(encoder, size, device="cpu")
    trained = train_model(model, documents, documents, Recipe(epochs=25, rate=2e-3, task_rate=2e-3))
    assert trained.f1 > 0.95


def test_vectors_of_a_frozen_encoder_are_those_that_are_made_anew(
    encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = [story(i, 30) for i in range(3)]  # of several segments each
    recipe = replace(QUICK, head_only=True, window=64)
    losses = []
    for limit in (training.KEPT, 0):
        monkeypatch.setattr(training, "KEPT", limit)
        model = Coreference.new(encoder, replace(SIZE, dropout=0.0), device="cpu")
        model.ranker.eval()
        task = Task(model, documents, documents, recipe)
        assert max(len(document.segments) for document in task.data) > 2
        losses.append([float(loss.detach()) for loss in task.losses(0)])
        assert len(task.frozen) == (3 if limit else 0)
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


@pytest.mark.parametrize("head_only", [False, True])
def test_bfloat16_is_in_the_products_of_a_training_only(encoder: str, head_only: bool) -> None:
    documents, losses, gradients = [story(i) for i in range(3)], [], []
    for half in (False, True):
        model = Coreference.new(encoder, replace(SIZE, dropout=0.0), device="cpu")
        model.ranker.eval()
        task = Task(model, documents, documents, replace(QUICK, head_only=head_only, half=half))
        loss = next(task.losses(0))[0]
        loss.backward()
        losses.append(float(loss.detach()))
        gradients.append(
            torch.cat([tensor.grad.flatten() for tensor in model.ranker.head().values()])
        )
        assert {parameter.dtype for parameter in model.ranker.parameters()} == {torch.float32}
        assert float(task.score()) == float(
            conll_f1(tallies(documents, model.predict(documents)).sum(0))
        )
    assert losses[0] != losses[1]
    # eight bits of a number, in a few products that follow each other
    assert losses[1] == pytest.approx(losses[0], rel=2**-6)
    assert torch.cosine_similarity(*gradients, dim=0) > 0.99


@pytest.mark.slow
def test_a_frozen_encoder_stays_as_it_is(encoder: str, tmp_path: Path) -> None:
    _, model = trained_in(encoder, tmp_path / "frozen", head_only=True)
    _, whole = trained_in(encoder, tmp_path / "whole")
    new = Coreference.new(encoder, SIZE, device="cpu")
    for name, parameter in new.ranker.named_parameters():
        same = torch.equal(parameter, dict(model.ranker.named_parameters())[name])
        assert same == name.startswith("encoder."), name
    word = "embeddings.word_embeddings.weight"
    trained = whole.encoder.model.state_dict()[word]
    assert not torch.equal(trained, new.encoder.model.state_dict()[word])


@pytest.mark.slow
@pytest.mark.parametrize("head_only", [False, True])
def test_an_interrupted_training_ends_with_the_same_bytes(
    encoder: str, tmp_path: Path, head_only: bool
) -> None:
    straight, _ = trained_in(encoder, tmp_path / "straight", head_only=head_only)
    expected = pytest.raises(Interrupted, match="resumes after the last epoch")
    with expected, interrupted_in(1, Task):
        trained_in(encoder, tmp_path / "again", head_only=head_only)
    assert (tmp_path / "again.checkpoint").exists()
    assert not (tmp_path / "again").exists()
    with pytest.raises(WordbiasError, match=r"is of another training: its recipe\.rate"):
        trained_in(encoder, tmp_path / "again", rate=1.0, head_only=head_only)
    resumed, _ = trained_in(encoder, tmp_path / "again", head_only=head_only)
    assert resumed == straight
    assert bytes_of(tmp_path / "again") == bytes_of(tmp_path / "straight")
    assert not (tmp_path / "again.checkpoint").exists()
    log = (tmp_path / "again.log.jsonl").read_text().splitlines()
    assert [json.loads(line)["epoch"] for line in log] == [1, 2]


def test_a_finished_folder_is_loaded(encoder: str, tmp_path: Path) -> None:
    trained, model = trained_in(encoder, tmp_path / "o", epochs=1)
    loaded, same = trained_in(encoder, tmp_path / "o", epochs=1)
    assert loaded == trained
    for name, tensor in model.ranker.state_dict().items():
        assert torch.equal(tensor, same.ranker.state_dict()[name])
    with pytest.raises(WordbiasError, match="holds another training: its recipe seed is 0, not 1"):
        trained_in(encoder, tmp_path / "o", epochs=1, seed=1)


def test_a_damaged_folder_is_refused(encoder: str, tmp_path: Path) -> None:
    model, folder = Coreference.new(encoder, SIZE, device="cpu"), tmp_path / "o"
    store(model.encoder, folder, {}, model.write)
    assert Coreference.load(folder).settings == SIZE
    sizes = folder / "coreference.json"
    whole = sizes.read_text("utf-8")
    for name, value, message in (
        ("hidden", "30", ": hidden: expected a whole number"),
        ("hidden", 0, ": hidden: expected a whole number from 1 on, got 0"),
        ("kept", None, ": kept: expected a finite number from 0 on, got None"),
        ("other", 1, " cannot be read"),
    ):
        sizes.write_text(json.dumps({**json.loads(whole), name: value}))
        with pytest.raises(WordbiasError, match=rf"its coreference\.json{message}.*; train one"):
            Coreference.load(folder)
    sizes.write_text(json.dumps({**json.loads(whole), "dropout": 2}))
    with pytest.raises(WordbiasError, match=r"dropout probability .* train one with: wordbias"):
        Coreference.load(folder)
    sizes.write_text(whole)
    tensors = {name: tensor.detach() for name, tensor in model.ranker.head().items()}
    del tensors["pair_span.bias"]
    one_value = {"pair_span.bias": torch.ones(1)}
    for more, message in ((one_value, r"has the shape \(1,\), expected \(30,\)"), ({}, "KeyError")):
        write(folder / "coreference.safetensors", COREFERENCE, tensors | more, {}, "pt")
        with pytest.raises(WordbiasError, match=f"holds a damaged head .*: .*{message}"):
            Coreference.load(folder)


def test_a_long_document_is_trained_in_windows(
    encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    model = Coreference.new(encoder, SIZE, device="cpu")
    real = model.ranker.encode

    def encode(documents: Any) -> Any:
        if torch.is_grad_enabled():
            read.extend(len(document.segments) for document in documents)
        return real(documents)

    monkeypatch.setattr(model.ranker, "encode", encode)
    train_model(model, [story(0, 100), story(1, 4)], [story(2)], replace(QUICK, window=3 * 32))
    assert sorted(read) == [1, 1, 3, 3]


@pytest.mark.slow
def test_documents_together_are_as_by_themselves(encoder: str) -> None:
    model = with_large_head(Coreference.new(encoder, replace(SIZE, kept=2.0), device="cpu"))
    documents = [story(i, 1 + i % 7) for i in range(40)]
    together = model.predict(documents)
    assert sum(bool(document.clusters) for document in together) > 10
    assert together == [model.predict([document])[0] for document in documents]


def test_the_same_documents_have_the_same_facts() -> None:
    document = story(3)
    other = replace(document, name="other", speakers=("",) * len(document.sentences))
    turned = replace(document, clusters=tuple(cluster[::-1] for cluster in document.clusters[::-1]))
    assert facts([document]) == facts([other]) == facts([turned])
    assert facts([document])["sha256"] != facts([replace(document, speakers=("A",))])["sha256"]
    assert facts([document])["mentions"] == len(document.mentions)


def test_what_cannot_be_trained_on(encoder: str, tmp_path: Path) -> None:
    none = replace(story(1), clusters=(((0, 1),),))
    for data, dev, message in (
        (
            [none],
            [story(1)],
            "the training data: no cluster of two mentions or more in 1 document;",
        ),
        ([story(1)], [none, none], "dev: no cluster of two mentions or more in 2 documents;"),
        ([], [story(1)], "the training data: no cluster of two mentions or more in 0 documents"),
    ):
        with pytest.raises(WordbiasError, match=message):
            train_coreference(encoder, data, dev, tmp_path / "o", settings=SIZE, device="cpu")
    with pytest.raises(WordbiasError, match="holds no coreference model"):
        Coreference.load(encoder)
    with pytest.raises(WordbiasError, match="got a string; split it"):
        Coreference.new(encoder, SIZE, device="cpu")("Ann left.")
