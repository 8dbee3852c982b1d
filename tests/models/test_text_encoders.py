"""Encoders of texts of every kind give the same vectors; what is none is one line; answers stay."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentence_models
from embedding_server import toy

import wordbias as wb
from wordbias.errors import Interrupted, WordbiasError
from wordbias.formats import answers
from wordbias.models import text_encoders
from wordbias.models.text_encoders import ATTEMPTS, is_output_only, open_text_encoder

TEXTS = [f"text {i}" for i in range(10)]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_encoders, "FIRST_WAIT", 0.001)


class Documents:
    """An object as of LangChain."""

    model = "documents"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = toy(texts).tolist()
        return vectors


class Library:
    """An object as of model2vec and sentence-transformers."""

    def encode(self, texts: list[str]) -> Any:
        return toy(texts)


def tensors(texts: list[str]) -> Any:
    return pytest.importorskip("torch").tensor(toy(texts), requires_grad=True)


def sparse(texts: list[str]) -> Any:
    from scipy.sparse import csr_array

    return csr_array(toy(texts))


def frame(texts: list[str]) -> Any:
    return pytest.importorskip("pandas").DataFrame(toy(texts))


def transformer() -> Any:
    from sklearn.preprocessing import FunctionTransformer

    return FunctionTransformer(toy).fit(TEXTS)


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (toy, "toy"),
        (lambda texts: list(map(list, toy(texts))), "function"),
        (lambda texts: toy(texts).astype(np.float64), "function"),
        (Documents(), "documents"),
        (Documents().embed_documents, "embed_documents"),
        (Library(), "Library"),
        (transformer(), "FunctionTransformer"),
        ({"mine": Library()}, "mine"),
        (tensors, "tensors"),
        (sparse, "sparse"),
        (frame, "frame"),
    ],
)
def test_every_kind_gives_the_same_vectors(source: Any, name: str) -> None:
    assert is_output_only(source)
    encoder = open_text_encoder(source)
    vectors = encoder.encode([*TEXTS, TEXTS[0]])
    assert encoder.name == name
    assert vectors.dtype == np.float32
    assert np.array_equal(vectors, toy([*TEXTS, TEXTS[0]]))


@pytest.mark.parametrize(
    "source",
    ["all-MiniLM-L6-v2", Path("x"), np.eye(3), [1, 2], None, 3, int, {"a": [1.0]}, {}, (toy, toy)],
)
def test_what_is_no_encoder(source: object) -> None:
    assert not is_output_only(source)


def test_a_frame_is_no_transformer() -> None:
    assert not is_output_only(pytest.importorskip("pandas").DataFrame({"text": TEXTS}))


@pytest.mark.slow
def test_a_local_model_has_the_vectors_of_its_own_encode(tmp_path: Path) -> None:
    folder = sentence_models.sentence_folder(tmp_path / "small", "Normalize")
    texts = sentence_models.TEXTS[:5]
    own = sentence_models.encoded(folder, texts)
    assert not is_output_only(sentence_models.load(folder))
    for source in (folder, str(folder), sentence_models.load(folder)):
        assert np.allclose(open_text_encoder(source).encode(texts), own, atol=1e-6)


@pytest.mark.slow
def test_modules_that_are_not_known_are_run_by_their_library(tmp_path: Path) -> None:
    library = pytest.importorskip("sentence_transformers")
    modules = library.sentence_transformer.modules
    vocabulary = sorted({word.lower() for text in sentence_models.TEXTS for word in text.split()})
    model = library.SentenceTransformer(modules=[modules.BoW(vocabulary)], device="cpu")
    model.save(str(tmp_path / "bow"))
    own = sentence_models.encoded(model, sentence_models.TEXTS[:5])
    assert own.any()
    for source in (str(tmp_path / "bow"), model):
        encoder = open_text_encoder(source)
        assert "by its own encode" in encoder.notes[0]
        assert np.array_equal(encoder.encode(sentence_models.TEXTS[:5]), own)


def test_code_in_a_folder_is_not_run(tmp_path: Path) -> None:
    folder = sentence_models.sentence_folder(tmp_path / "odd")
    listed = (folder / "modules.json").read_text()
    (folder / "modules.json").write_text(listed.replace(f"{sentence_models.OLD}Pooling", "odd.Bad"))
    (folder / "odd.py").write_text("raise SystemExit('run')")
    with pytest.raises(WordbiasError, match=r"a module odd\.Bad, which is not understood"):
        open_text_encoder(str(folder))


# what is no array of vectors


def _fails(texts: list[str]) -> Any:
    raise RuntimeError("quota\nused up")


def _takes_nothing() -> Any:
    return None


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda texts: toy(texts)[:-1], r"an array of shape \(3, 4\) for 4 texts"),
        (lambda texts: toy(texts)[0], r"an array of shape \(4,\) for 4 texts"),
        (lambda texts: toy(texts)[None], r"an array of shape \(1, 4, 4\) for 4 texts"),
        (lambda texts: toy(texts)[:, :0], r"an array of shape \(4, 0\) for 4 texts"),
        (lambda texts: [[1.0] * i for i in range(1, 5)], r"list that is no array \(row 2"),
        (lambda texts: np.where(toy(texts) > 60, np.nan, 1.0), "not finite for text 1 of a batch"),
        (lambda texts: toy(texts) * np.float64(1e40), "not finite for text 1 of a batch"),
        (lambda texts: toy(texts).astype(str), "which are no numbers"),
        (lambda texts: toy(texts) + 1j, "complex64, which are no numbers"),
        (lambda texts: "vectors", r"an array of shape \(\) for 4 texts"),
        (lambda texts: None, "NoneType that is no array"),
        (lambda texts: {"data": []}, "dict that is no array"),
        (_takes_nothing, "raised TypeError: .* takes 0 positional arguments"),
        (_fails, "raised RuntimeError: quota; expected an array of 4 vectors for 4 texts"),
    ],
)
def test_what_a_function_returns_is_checked(function: Callable[..., Any], said: str) -> None:
    with pytest.raises(WordbiasError, match=said) as caught:
        open_text_encoder(function).encode(TEXTS[:4])
    assert "\n" not in str(caught.value)


def test_no_text() -> None:
    with pytest.raises(WordbiasError, match="there is no text to encode"):
        open_text_encoder(toy).encode([])


def test_texts_are_not_changed() -> None:
    def spoils(texts: list[str]) -> Any:
        vectors = toy(texts)
        texts.clear()
        return vectors

    given = list(TEXTS)
    assert np.array_equal(open_text_encoder(spoils).encode(given), toy(TEXTS))
    assert given == TEXTS


# again, and kept


class Counted:
    """A function that notes its texts, and fails at some of its calls."""

    def __init__(self, *failures: BaseException | None) -> None:
        self.failures = list(failures)
        self.answered: list[str] = []
        self.calls = 0

    def __call__(self, texts: list[str]) -> Any:
        self.calls += 1
        if self.failures and (failure := self.failures.pop(0)) is not None:
            raise failure
        self.answered += texts
        return toy(texts)


def encode(function: Any, texts: list[str] = TEXTS, **config: Any) -> Any:
    with wb.config(batch_texts=2, **config):
        return open_text_encoder({"counted": function}).encode(texts)


def test_an_error_that_passes() -> None:
    function = Counted(None, OSError("busy"), OSError("busy"), None, TimeoutError())
    assert np.array_equal(encode(function), toy(TEXTS))
    assert (function.answered, function.calls) == (TEXTS, 8)


def test_an_error_of_the_code_is_not_tried_again() -> None:
    function = Counted(*[NameError("name 'clien' is not defined")] * 9)
    with pytest.raises(WordbiasError, match="NameError: name 'clien'"):
        encode(function)
    assert function.calls == 1


def test_an_error_that_stays_keeps_what_was_paid_for() -> None:
    function = Counted(None, None, *[OSError("busy")] * ATTEMPTS)
    with pytest.raises(WordbiasError, match=r"OSError: busy; .*; 4 answers kept$"):
        encode(function)
    assert np.array_equal(encode(function), toy(TEXTS))
    assert function.answered == TEXTS


def test_ctrl_c_keeps_what_was_paid_for() -> None:
    function = Counted(None, KeyboardInterrupt())
    with pytest.raises(Interrupted, match="2 answers kept; the same call resumes"):
        encode(function)
    assert np.array_equal(encode(function), toy(TEXTS))
    assert function.answered == TEXTS


def test_without_a_name_and_without_the_cache_nothing_is_kept() -> None:
    function = Counted()
    for _ in range(2):
        open_text_encoder(function).encode(TEXTS)
        encode(function, cache=False)
    assert function.answered == TEXTS * 4
    assert not answers.entries()


def test_kept_answers_of_two_models_under_one_name_are_refused_before_any_is_asked() -> None:
    encode(Counted(), TEXTS[:2])
    encode(lambda texts: toy(texts)[:, :3], TEXTS[2:4])
    function = Counted()
    with pytest.raises(WordbiasError, match="3 and 4 values, some kept from before"):
        encode(function)
    assert not function.calls


def test_a_damaged_file_of_answers_is_one_line() -> None:
    encode(Counted())
    (entry,) = answers.entries()
    assert entry.source == "answers of function counted"
    entry.path.write_bytes(b"no database" * 99)
    with pytest.raises(
        WordbiasError, match=r"cannot be used: file is not a database; .*--no-cache"
    ):
        encode(Counted())
    assert [answer_file.source for answer_file in answers.entries()] == ["(damaged)"]
    assert np.array_equal(encode(Counted(), cache=False), toy(TEXTS))


def test_a_kept_vector_that_is_damaged_is_not_believed() -> None:
    encode(Counted())
    (entry,) = answers.entries()
    with sqlite3.connect(entry.path) as file:
        file.execute("UPDATE answers SET vector = x'0000c07f0000c07f0000c07f0000c07f'")
    file.close()
    function = Counted()
    assert np.array_equal(encode(function), toy(TEXTS))
    assert function.answered == TEXTS


@pytest.mark.skipif(not hasattr(__import__("os"), "geteuid"), reason="no rights of groups")
def test_a_file_that_others_may_write_is_not_used() -> None:
    encode(Counted())
    (entry,) = answers.entries()
    entry.path.chmod(0o666)
    with pytest.raises(WordbiasError, match=r"cannot be used: .*is not used"):
        encode(Counted())


@pytest.mark.skipif(not hasattr(__import__("os"), "O_NOFOLLOW"), reason="links are followed")
def test_no_link_is_written_through(tmp_path: Path) -> None:
    encode(Counted())
    (entry,) = answers.entries()
    entry.path.unlink()
    entry.path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(WordbiasError, match="cannot be used"):
        encode(Counted())
    assert not (tmp_path / "elsewhere").exists()


def test_the_cache_lists_answers_and_clears_them_on_request() -> None:
    encode(Counted())
    assert [row.subject for row in wb.cache(max_size=1 << 30)] == ["answers of function counted"]
    assert "1 entry" in wb.cache().heading[0]
    wb.cache(clear=True)
    assert not answers.entries()
