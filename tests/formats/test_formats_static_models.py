"""Folders of static models, compared with model2vec and sentence-transformers themselves."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from model2vec import StaticModel as Model2Vec
from safetensors.numpy import load_file, save_file
from safetensors.torch import save_file as save_torch
from static_folders import (
    TEXTS,
    known_words,
    model2vec_folder,
    nested_folder,
    sentence_folder,
    sentence_transformer,
    token_vectors,
)

import wordbias as wb
from wordbias import WordbiasError
from wordbias.formats import StaticModel, is_static_model, load
from wordbias.methods.leace import Erasure

Make = Callable[..., Path]
FOLDERS: dict[str, Make] = {
    "model2vec": model2vec_folder,
    "not normalised": lambda path: model2vec_folder(path, normalize=False),
    "float16": lambda path: model2vec_folder(path, dtype=np.float16),
    "int8": lambda path: model2vec_folder(path, dtype=np.int8),
    "shared rows": lambda path: model2vec_folder(path, clusters=700),
    "sentence-transformers": sentence_folder,
    "a folder inside": nested_folder,
}


@pytest.fixture(params=FOLDERS)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return FOLDERS[request.param](tmp_path / "model")


def text_vectors(path: Path, texts: tuple[str, ...] = TEXTS) -> Any:
    """Return what model2vec makes of texts, before it normalises them, in double precision."""
    model = Model2Vec.from_pretrained(path)
    if model.embedding.dtype != np.int8:
        model.embedding = model.embedding.astype(np.float64)
    return model.encode(list(texts), normalize=False).astype(np.float64)


def sentence_vectors(path: Path, texts: tuple[str, ...] = TEXTS) -> Any:
    """Return what sentence-transformers makes of texts before it normalises them."""
    first = sentence_transformer(path)[0]
    with torch.no_grad():
        return first(first.preprocess(list(texts)))["sentence_embedding"].numpy().astype(float)


KNOWN = ("nurse", "nurses and teachers", "mother father daughter son")
"""Texts in which all is known: model2vec leaves out what is not, sentence-transformers does not."""


def folder_types(path: Path) -> set[Any]:
    return {x.dtype for x in load_file(next(path.rglob("*.safetensors"))).values()}


def units(x: Any) -> Any:
    return x / np.linalg.norm(x, axis=1, keepdims=True)


# Reading


def test_a_word_s_vector_is_that_of_the_text_of_this_word(folder: Path) -> None:
    loaded = load(folder)
    assert tuple(loaded.words) == known_words()
    texts = tuple(loaded.words)
    theirs = text_vectors(folder, texts)
    np.testing.assert_allclose(loaded.vectors, theirs, rtol=1e-6, atol=1e-7)
    encoded = Model2Vec.from_pretrained(folder).encode(list(texts[:50]), normalize=True)
    rounding = 2e-3 if encoded.dtype == np.float16 else 1e-6
    np.testing.assert_allclose(units(loaded.vectors[:50]), encoded, atol=rounding)


def test_sentence_transformers_has_the_same_words(folder: Path) -> None:
    if "int8" in str(folder_types(folder)):
        pytest.skip("its EmbeddingBag takes no int8")
    loaded = load(folder)
    words = tuple(loaded.words[:100])
    np.testing.assert_allclose(loaded.vectors[:100], sentence_vectors(folder, words), rtol=1e-6)


def test_what_is_told_of_the_folder(folder: Path) -> None:
    info = load(folder).info
    assert (info.format, info.path) == ("static-model", str(folder))
    assert (info.words, info.parts, info.others) == (len(known_words()), 6, 6)
    assert info.to_dict()["parts"] == 6
    assert load(folder).name == "model"


def test_a_real_model() -> None:
    path = os.environ.get("WORDBIAS_STATIC_MODEL")
    if path is None:
        pytest.skip("set WORDBIAS_STATIC_MODEL to a folder of potion-base-8M")
    loaded = load(path)
    assert loaded.vectors.shape == (23_694, 256)
    words = loaded.words[::97]
    theirs = Model2Vec.from_pretrained(path).encode(words, normalize=False)
    np.testing.assert_array_equal(loaded.vectors[::97], theirs)
    units_of = Model2Vec.from_pretrained(path).encode(words)
    np.testing.assert_allclose(
        np.einsum("nd,nd->n", units(loaded.vectors[::97]), units_of), 1, 1e-6
    )


def test_layouts_without_a_list_of_modules(tmp_path: Path) -> None:
    nested = nested_folder(tmp_path / "nested", listed=False)
    flat = sentence_folder(tmp_path / "flat")
    (flat / "modules.json").unlink()
    alone = nested / "0_StaticEmbedding"
    for model in (nested, flat, alone):
        assert is_static_model(model)
        np.testing.assert_array_equal(load(model).vectors, load(flat).vectors)
        theirs = Model2Vec.from_pretrained(nested).encode(list(known_words()[:20]))
        np.testing.assert_allclose(load(model).vectors[:20], theirs, rtol=1e-6)


def test_words_and_vectors_alone_do_not_become_one(tmp_path: Path) -> None:
    words = wb.Embedding(["she", "he"], np.eye(2))
    with pytest.raises(WordbiasError, match="a static model needs a tokenizer"):
        words.save(tmp_path / "new", "static-model")
    assert not list(tmp_path.iterdir())


def test_an_encoder_s_folder_is_none(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("{}")
    save_file({"embeddings.word_embeddings.weight": np.eye(3)}, tmp_path / "model.safetensors")
    (tmp_path / "modules.json").write_text(
        json.dumps([{"type": "sentence_transformers.models.Transformer", "path": ""}])
    )
    assert not is_static_model(tmp_path)
    assert not is_static_model(tmp_path / "model.safetensors")
    assert not is_static_model(tmp_path / "absent")
    with pytest.raises(WordbiasError, match="is the folder of a model, which has no vectors of w"):
        load(tmp_path)


@pytest.mark.parametrize("listed", ["{}", "[]", "[3]", '[{"type": 3}]', "[", '[{"type": "x.y"}]'])
def test_a_damaged_list_of_modules_leaves_the_content_to_decide(
    listed: str, tmp_path: Path
) -> None:
    model = model2vec_folder(tmp_path / "m")
    (model / "modules.json").write_text(listed)
    assert is_static_model(model)


# Writing


MATRIX = np.random.default_rng(1).standard_normal((100, 100)) / 10


def write(folder: Path, output: Path, change: Any, **how: Any) -> list[str]:
    settings = {"method": "test", "shared": True, "keep_lengths": False, **how}
    return StaticModel.open(folder).write(output, lambda _, x: change(x), **settings)


def test_a_linear_map_of_the_rows_is_that_of_every_text(folder: Path, tmp_path: Path) -> None:
    write(folder, tmp_path / "new", lambda x: x @ MATRIX.astype(np.float32))
    rounding = (
        3e-2 if StaticModel.open(folder).arrays.get("embeddings", MATRIX).itemsize < 4 else 1e-5
    )
    before, after = text_vectors(folder), text_vectors(tmp_path / "new")
    np.testing.assert_allclose(after, before @ MATRIX, atol=rounding * np.abs(before).max())
    assert np.abs(before[:3]).max() > 0.1
    old, new = StaticModel.open(folder), StaticModel.open(tmp_path / "new")
    assert new.arrays.keys() == old.arrays.keys()
    assert new.metadata == old.metadata
    for name in ("mapping", "weights"):
        if name in old.arrays:
            np.testing.assert_array_equal(new.arrays[name], old.arrays[name])


def test_sentence_transformers_loads_what_was_written(folder: Path, tmp_path: Path) -> None:
    write(folder, tmp_path / "new", lambda x: x @ MATRIX.astype(np.float32))
    written = tmp_path / "new"
    kind = next(iter(StaticModel.open(written).arrays.values())).dtype
    rounding = 3e-2 if kind == np.float16 else 1e-4
    theirs, ours = sentence_vectors(written, KNOWN), text_vectors(written, KNOWN)
    np.testing.assert_allclose(theirs, ours, atol=rounding * np.abs(ours).max())
    whole = sentence_transformer(written).encode(list(KNOWN))
    np.testing.assert_allclose(units(whole.astype(float)), units(ours), atol=rounding)
    if "int8" not in str(folder_types(folder)):  # with unknown words, which it does not leave out
        before, after = sentence_vectors(folder), sentence_vectors(written)
        np.testing.assert_allclose(after, before @ MATRIX, atol=rounding * np.abs(before).max())


def test_an_affine_map_of_the_rows_is_that_of_every_text(folder: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    erasure = Erasure(
        rng.normal(size=(100, 2)), rng.normal(size=(2, 100)) / 20, rng.normal(size=100)
    )
    notes = write(folder, tmp_path / "new", erasure, shared=False)
    before, after = text_vectors(folder), text_vectors(tmp_path / "new")
    known = [i for i, row in enumerate(before) if row.any()]  # an unknown text has no vector at all
    expected = erasure(before)[known]
    fine = load(tmp_path / "new").vectors.dtype == np.float32
    half = StaticModel.open(tmp_path / "new").arrays
    kind = half.get("embeddings", half.get("embedding.weight"))
    assert fine
    assert kind is not None
    rounding = 2e-2 if kind.dtype == np.float16 else 1e-5
    np.testing.assert_allclose(after[known], expected, atol=rounding * np.abs(expected).max())
    old = StaticModel.open(folder)
    assert ("of its own" in " ".join(notes)) == (old.mapping is not None)
    assert StaticModel.open(tmp_path / "new").mapping is None
    assert "vocabulary_quantization" not in (
        json.loads((tmp_path / "new" / "config.json").read_text())
        if (tmp_path / "new" / "config.json").is_file()
        else {}
    )


def test_a_copy_is_the_folder_byte_for_byte(folder: Path, tmp_path: Path) -> None:
    notes = write(folder, tmp_path / "new", lambda x: x, method="")
    is_int8 = any(x.dtype == np.int8 for x in StaticModel.open(folder).arrays.values())
    assert len(notes) == is_int8
    old, new = (
        {file.relative_to(root): file for file in root.rglob("*") if file.is_file()}
        for root in (folder, tmp_path / "new")
    )
    assert old.keys() == new.keys()
    for name, file in old.items():
        if not (is_int8 and name.name in ("model.safetensors", "config.json")):
            assert new[name].read_bytes() == file.read_bytes(), name
        assert new[name].stat().st_mode == file.stat().st_mode
    if is_int8:
        assert json.loads(new[Path("config.json")].read_text())["embedding_dtype"] == "float32"


def test_lengths_are_kept_where_a_method_takes_them_away(tmp_path: Path) -> None:
    model = model2vec_folder(tmp_path / "m", clusters=700)
    notes = write(model, tmp_path / "new", units, shared=False, keep_lengths=True)
    np.testing.assert_allclose(load(tmp_path / "new").vectors, load(model).vectors, rtol=1e-5)
    assert "in the output each token keeps its original length" in notes[-1]


def test_the_card_says_that_the_vectors_were_changed(tmp_path: Path) -> None:
    model = model2vec_folder(tmp_path / "m")
    write(model, tmp_path / "new", lambda x: 2 * x)
    old, new = ((path / "README.md").read_text() for path in (model, tmp_path / "new"))
    assert new.startswith(old.rstrip("\n"))
    assert f"changed by wordbias {wb.__version__} (test)" in new


def test_files_that_hold_the_vectors_before_are_left_out(tmp_path: Path) -> None:
    model = model2vec_folder(tmp_path / "m")
    (model / "onnx").mkdir()
    for name in ("onnx/model.onnx", "pytorch_model.bin", "onnx/notes.txt"):
        (model / name).write_text("x")
    notes = write(model, tmp_path / "new", lambda x: 2 * x)
    assert notes == [
        f"{model}: not copied, as no part of the model: pytorch_model.bin, onnx/model.onnx, "
        "onnx/notes.txt"
    ]
    assert not (tmp_path / "new" / "onnx").exists()


def test_links_out_of_the_folder_are_refused_before_work(tmp_path: Path) -> None:
    model = model2vec_folder(tmp_path / "m")
    (tmp_path / "token").write_text("secret")
    (model / "NOTES.md").symlink_to(tmp_path / "token")
    with pytest.raises(WordbiasError, match=r"NOTES\.md: is a link to .*token, outside"):
        wb.debias(str(model), "hard", output=str(tmp_path / "new"))
    assert not (tmp_path / "new").exists()


def test_values_too_large_for_the_type_are_refused(tmp_path: Path) -> None:
    model = model2vec_folder(tmp_path / "m", dtype=np.float16)
    with pytest.raises(WordbiasError, match=r"not finite, or too large for float16$"):
        write(model, tmp_path / "new", lambda x: x * 1e6)
    with pytest.raises(WordbiasError, match=r"the token '\[PAD\]' gets a value"):
        write(model, tmp_path / "new", lambda x: x * np.nan, shared=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m"]


def test_where_nothing_is_written(tmp_path: Path) -> None:
    model = model2vec_folder(tmp_path / "m")
    for output, message in (
        (model, "exists already"),
        (model / "new", "is inside of"),
        (tmp_path / "absent" / "new", "does not exist"),
    ):
        with pytest.raises(WordbiasError, match=message):
            write(model, output, lambda x: x)


# Damage


def test_damaged_settings_are_named_by_the_folder_that_is_read(tmp_path: Path) -> None:
    model = model2vec_folder(tmp_path / "m")
    (model / "config.json").write_text("[]")
    with pytest.raises(WordbiasError, match="expected settings, found list") as caught:
        write(model, tmp_path / "new", lambda x: 2 * x)
    assert str(caught.value).startswith(f"{model / 'config.json'}: ")
    assert not (tmp_path / "new").exists()


def test_weights_of_a_type_that_numpy_lacks_are_refused(tmp_path: Path) -> None:
    file = model2vec_folder(tmp_path / "m", clusters=700) / "model.safetensors"
    tensors = {name: torch.from_numpy(x) for name, x in load_file(file).items()}
    save_torch({**tensors, "weights": tensors["weights"].bfloat16()}, file)
    with pytest.raises(WordbiasError, match="'weights' holds BF16; expected one of"):
        StaticModel.open(tmp_path / "m")


Damage = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda t: t.pop("embeddings"), "expected the tensor embeddings or embedding.weight"),
        (lambda t: t.update(embeddings=t["embeddings"][:600]), r"'mapping' names rows 0 to 699 of"),
        (lambda t: t.update(embeddings=t["embeddings"][0]), r"expected vectors of shape \(n, d\)"),
        (lambda t: t.update(mapping=t["mapping"] * 1.0), "'mapping' holds no row numbers"),
        (lambda t: t.update(mapping=t["mapping"] - 1), r"'mapping' names rows -1 to 698"),
        (lambda t: t.update(weights=t["weights"][1:]), r"'weights' are not \d+ finite numbers"),
        (lambda t: t.update(weights=t["weights"] * np.nan), "'weights' are not"),
        (lambda t: [t.pop("mapping"), t.pop("weights")], r"vectors for 700 tokens, and tokenizer"),
        (
            lambda t: t["embeddings"].__setitem__((5, 3), np.inf),
            r"the vector of token 5, '\w+', has a nan, an infinity",
        ),
    ],
)
def test_damage_is_named(damage: Damage, message: str, tmp_path: Path) -> None:
    model = model2vec_folder(tmp_path / "m", clusters=700)
    file = model / "model.safetensors"
    tensors = {name: x.copy() for name, x in load_file(file).items()}
    damage(tensors)
    save_file(tensors, file)
    with pytest.raises(WordbiasError, match=message) as caught:
        StaticModel.open(model)
    assert str(file) in str(caught.value)


def test_numbers_that_numpy_lacks_are_refused(tmp_path: Path) -> None:
    model = sentence_folder(tmp_path / "m")
    file = next(model.rglob("model.safetensors"))
    save_torch({"embedding.weight": torch.from_numpy(token_vectors()[1]).bfloat16()}, file)
    with pytest.raises(WordbiasError, match="holds BF16; expected one of F64, F32, F16, I8"):
        load(model)


def test_a_pickle_is_not_run(tmp_path: Path) -> None:
    model = sentence_folder(tmp_path / "m")
    next(model.rglob("model.safetensors")).rename(model / "pytorch_model.bin")
    for inner in model.glob("0_*"):
        (model / "pytorch_model.bin").rename(inner / "pytorch_model.bin")
    with pytest.raises(WordbiasError, match="only a pickle, which is not run; write the model"):
        load(model)


def test_weights_that_are_cut_off(tmp_path: Path) -> None:
    model = sentence_folder(tmp_path / "m")
    file = next(model.rglob("model.safetensors"))
    file.write_bytes(file.read_bytes()[:5000])
    with pytest.raises(WordbiasError, match="cannot be read"):
        load(model)


def test_a_model_without_a_word(tmp_path: Path) -> None:
    model = sentence_folder(tmp_path / "m")
    file = next(model.rglob("tokenizer.json"))
    stored = json.loads(file.read_text(encoding="utf-8"))
    stored["model"]["vocab"] = {f"##{i}": i for i in range(5)}
    file.write_text(json.dumps(stored), encoding="utf-8")
    with pytest.raises(WordbiasError, match="none of its 5 tokens is a word"):
        load(model)
