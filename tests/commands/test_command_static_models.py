"""Static models through the commands: folders in, folders out, words and parts told apart."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model2vec import StaticModel as Model2Vec
from quick_cases import first_quick
from static_folders import (
    PARTS,
    TEXTS,
    known_words,
    model2vec_folder,
    sentence_folder,
    sentence_transformer,
)

import wordbias as wb
from wordbias import WordbiasError
from wordbias.calls import WordbiasWarning
from wordbias.formats import StaticModel
from wordbias.functions.audit_model import model_among

Run = Callable[..., Any]
COUNTS = "kept apart from them: 6 parts of words and 6 other tokens"


@pytest.fixture(scope="module")
def _made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return model2vec_folder(tmp_path_factory.mktemp("static") / "model", normalize=False)


@pytest.fixture
def folder(_made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(_made, "model")
    return Path("model")


def texts_of(path: Path | str) -> Any:
    return Model2Vec.from_pretrained(path).encode(list(TEXTS), normalize=False).astype(float)


def all_rows(path: Path | str) -> Any:
    model = StaticModel.open(path)
    return model.vectors(np.arange(model.count)).astype(float)


@pytest.mark.slow
def test_misp_debiases_every_token_and_every_text(cli: Run, folder: Path) -> None:
    done = cli("misp", folder, "-o", "clean", "--format", "json")
    assert done.code == 0
    assert COUNTS in done.err
    facts = json.loads(done.out)["inputs"]["model"]
    assert (facts["words"], facts["parts"], facts["others"]) == (len(known_words()), 6, 6)
    assert facts["format"] == "static-model"
    fitted = wb.MISP().fit(wb.load(folder)).fitted_
    before, after = texts_of(folder), texts_of("clean")
    np.testing.assert_allclose(after, fitted(before), atol=1e-5)
    assert np.abs(after - before)[2].max() > 1e-3  # a text of parts too
    rows, new = all_rows(folder), all_rows("clean")
    np.testing.assert_allclose(new, fitted(rows), atol=1e-5)
    assert (np.abs(new - rows).max(1) > 1e-4).mean() > 0.99
    whole = sentence_transformer("clean").encode(list(TEXTS[-2:])).astype(float)
    np.testing.assert_allclose(whole, after[-2:], atol=1e-5)


def test_the_table_says_how_many_tokens_are_no_words(cli: Run, folder: Path) -> None:
    done = cli("misp", folder, "-o", "clean")
    assert f"MISP on model: {len(known_words()):,} words × 100 (static-model)" in done.out
    assert "(static-model), beside 12 other tokens" in done.out.replace("\n", " ")
    assert "Written: clean (static-model), with 12 other tokens" in done.out


def test_no_part_of_a_word_is_in_a_vocabulary_and_a_split_word_is_missing(
    cli: Run, folder: Path
) -> None:
    call = ("measure", folder, "--only", "midb", "--words", "nurse,zqnurse", "--no-chance")
    done = cli(*call, "--format", "json")
    assert done.code == 0
    assert "model does not have: zqnurse" in done.err
    sizes = {row["n"] for row in json.loads(done.out)["rows"] if row["measure"] == "midb-abs"}
    vocabulary = set(wb.load(folder).words)
    assert vocabulary.isdisjoint(PARTS)
    assert "zq" not in vocabulary
    assert max(sizes) < len(vocabulary)
    words = wb.load(folder).most_similar("nurse", 5_000)
    assert {word for word, _ in words} <= vocabulary


@pytest.mark.parametrize(
    "method", first_quick(["hard", "leace", "inlp:rounds=2", "hard,misp", "half-sibling"])
)
def test_debias_and_apply_write_one_thing(method: str, cli: Run, folder: Path) -> None:
    assert cli("debias", method, folder, "-o", "one", "--save-transform", "t.st").code == 0
    assert cli("apply", "t.st", folder, "-o", "two").code == 0
    files = ("model.safetensors", "tokenizer.json", "config.json", "modules.json")
    for file in files:
        assert Path("one", file).read_bytes() == Path("two", file).read_bytes()
    clean = wb.load("one")
    expected = wb.debias(wb.load(folder), method)
    ours, theirs = clean.vectors.astype(float), expected.vectors.astype(float)
    cosines = np.einsum("nd,nd->n", ours, theirs) / (
        np.linalg.norm(ours, axis=1) * np.linalg.norm(theirs, axis=1)
    )
    np.testing.assert_allclose(cosines, 1, atol=1e-5)
    if "hard" in method:  # lengths are weights in a mean of tokens, and hard brings all to one
        before = np.linalg.norm(all_rows(folder), axis=1)
        np.testing.assert_allclose(np.linalg.norm(all_rows("one"), axis=1), before, rtol=1e-4)
    else:
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_leace_of_texts_is_leace_of_their_tokens(folder: Path) -> None:
    debiased = wb.debias(folder, "leace", output="clean")
    fitted = wb.LEACE().fit(wb.load(folder)).fitted_
    known = [0, 1, 2, 4, 5]  # text 3 has no token that is known, and no vector
    np.testing.assert_allclose(texts_of("clean")[known], fitted(texts_of(folder)[known]), atol=1e-4)
    assert debiased.report is not None
    np.testing.assert_array_equal(debiased.vectors, wb.load("clean").vectors)


def test_exempt_words_stay_as_they_were_in_the_folder(folder: Path) -> None:
    with pytest.warns(WordbiasWarning, match="each token keeps its original length"):
        wb.debias(folder, "hard:equalise=no", output="clean")
    old, new = wb.load(folder), wb.load("clean")
    np.testing.assert_allclose(new["queen"], old["queen"], rtol=1e-5)
    assert not np.allclose(new["nurse"], old["nurse"], rtol=1e-3)


@pytest.mark.slow
def test_an_embedding_in_memory_keeps_its_folder(folder: Path) -> None:
    wb.misp(folder, output="one")
    wb.misp(wb.load(folder), output="two")
    first, two = (Path(name, "model.safetensors").read_bytes() for name in ("one", "two"))
    assert first == two
    subset = wb.load(folder).subset(known_words()[:4_000])
    wb.misp(subset, output="some.txt")
    assert len(wb.load("some.txt")) == 4_000
    loaded = wb.load(folder)
    Path("one", "model.safetensors").replace(folder / "model.safetensors")
    with pytest.raises(WordbiasError, match="has changed since it was read"):
        wb.misp(loaded, output="three")


@pytest.mark.slow
def test_convert(cli: Run, folder: Path) -> None:
    for target in ("words.txt", "words.safetensors", "words.vec.gz"):
        done = cli("convert", folder, target)
        assert done.code == 0
        assert ", words only, without 12 other tokens" in done.out
        assert wb.load(target).words == wb.load(folder).words
        np.testing.assert_array_equal(wb.load(target).vectors, wb.load(folder).vectors)
    done = cli("convert", folder, "copy")
    assert done.out.endswith("words × 100 (static-model), with 12 other tokens\n")
    for file in folder.iterdir():
        assert Path("copy", file.name).read_bytes() == file.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("convert", "words.txt", "new", "--to", "static-model"),
            "new: a static model needs a tok",
        ),
        (("misp", "model", "-o", "model"), "model: exists already; name a new folder"),
        (("misp", "model", "-o", "model/new"), "model/new: is inside of model"),
        (("misp", "model", "-o", "new.zip"), "new.zip: a static model is a folder; drop .zip"),
        (("misp", "model", "-o", "new.model"), "new.model: vectors are not written as .model"),
        (("misp", "model/tokenizer.json"), "model/tokenizer.json: is not an embedding"),
        (("misp", "model/model.safetensors"), "expected the tensors 'vectors' and 'words', found"),
    ],
)
def test_what_cannot_be_written_or_read(
    arguments: tuple[str, ...], message: str, cli: Run, folder: Path
) -> None:
    wb.Embedding(["she", "he"], np.eye(2)).save("words.txt")
    before = sorted(Path().rglob("*"))
    done = cli(*arguments)
    assert done.code == 1
    assert message in done.err.splitlines()[-1]
    assert sorted(Path().rglob("*")) == before


@pytest.mark.slow
def test_every_command_on_vectors_takes_the_folder(cli: Run, folder: Path) -> None:
    sentence_folder(Path("other"))
    Path("sets").mkdir()
    Path("sets/pairs.txt").write_text("nurse doctor 5\nking queen 8\nman woman 7\nhouse the 1\n")
    for call in (
        ("measure", folder, "other", "--only", "midb,direct-bias", "--no-chance"),
        ("weat", folder, "--query", "weat7"),
        ("quality", folder, "--benchmarks", "sets"),
        ("compare", "--measure", folder, "other", "third", "--only", "midb-abs,direct-bias"),
        ("audit", folder, "--methods", "misp", "--skip", _SKIP, "-o", "page.html"),
        ("report", "page.json", "-o", "report.html"),
    ):
        if call[0] == "compare":
            assert cli("debias", "mhd", folder, "-o", "third").code == 0
        if call[0] == "report":
            assert cli("misp", folder, "--format", "json").code == 0
            wb.misp(folder).report.save("page.json")  # type: ignore[union-attr]
        done = cli(*call)
        assert done.code == 0, (call, done.err)
    assert "static-model" in Path("page.html").read_text(encoding="utf-8")


_SKIP = "clustering,recoverability,gipe,weat,mab,map,neighbours,quality,sembias"


@pytest.mark.slow
def test_audit_takes_the_folder_as_vectors(folder: Path) -> None:
    assert model_among(folder) is None
    assert model_among(str(sentence_folder(Path("other")))) is None
    with wb.config(jobs=1):
        report = wb.audit(folder, methods="none", skip=_SKIP.split(","), chance=False)
    assert report["midb-abs"][0].subject == "model"


@pytest.mark.parametrize("library", first_quick(["model2vec", "sentence-transformers"]))
def test_a_loaded_model_has_no_words_and_the_same_vectors_of_texts(
    library: str, folder: Path
) -> None:
    if library == "model2vec":
        model = Model2Vec.from_pretrained(folder)
    else:
        folder = sentence_folder(Path("other"))
        model = sentence_transformer(folder)
    texts = ["a nurse", "the teachers"]
    for call in (wb.measure, wb.load):
        with pytest.raises(WordbiasError, match=r"save it with model\.save_pretrained\(folder\)"):
            call(model)  # type: ignore[operator]
    with pytest.warns(UserWarning, match="is read as an encoder of texts"):
        encoded = wb.encode(model, texts)
    np.testing.assert_allclose(encoded[0], wb.encode(folder, texts)[0], atol=1e-6)
    assert model_among(model) is model


def test_probe_reads_the_names_of_a_folder(cli: Run, folder: Path) -> None:
    done = cli("probe", folder, "--accuracy", "--epochs", "2", "--seed", "0", "--format", "json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["inputs"]["model"]["parts"] == 6


def test_a_real_model(cli: Run, tmp_path: Path) -> None:
    path = os.environ.get("WORDBIAS_STATIC_MODEL")
    if path is None:
        pytest.skip("set WORDBIAS_STATIC_MODEL to a folder of potion-base-8M")
    done = cli("debias", "mhd:dims=1", path, "-o", tmp_path / "clean", "--format", "json")
    assert done.code == 0
    texts = ["The nurse smiled.", "Unbelievably headstrong homemakers.", "He is a programmer."]
    old, new = (
        Model2Vec.from_pretrained(source).encode(texts, normalize=False).astype(float)
        for source in (path, tmp_path / "clean")
    )
    removed = np.linalg.svd(old - new)
    assert removed.S[1] < 1e-5 * removed.S[0]  # all texts moved along one direction
    np.testing.assert_allclose(new @ removed.Vh[0], 0, atol=1e-4)
    ours = sentence_transformer(tmp_path / "clean").encode(texts)
    units = new / np.linalg.norm(new, axis=1, keepdims=True)
    np.testing.assert_allclose(ours, units, atol=1e-5)
