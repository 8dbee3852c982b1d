"""`wordbias.encode`: files and what is in memory, names and loaded models, all give the same."""

from __future__ import annotations

import importlib
import json
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tiny_encoders import build, make_tokenizer, save, words_of

import wordbias as wb
from wordbias.calls import WordbiasWarning
from wordbias.errors import WordbiasError
from wordbias.functions.encode import encode
from wordbias.models.encoder import Encoder
from wordbias.models.model_like import intervening, interventions_in
from wordbias.models.representations import Representations, load_representations

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.usefixtures("one_thread")
TEXTS = ["She is a nurse .", "He is a surgeon and she is not .", "A nurse", ""]
GENDER = ["F", "M", "F", "F"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("encode") / "tiny"
    save(build("bert", "Model"), make_tokenizer(words_of(*TEXTS)), folder)
    return folder


@pytest.fixture(scope="module")
def loaded(model: Path) -> tuple[Any, Any]:
    encoder = Encoder.load(model, device="cpu")
    return encoder.model, encoder.tokenizer


@pytest.fixture
def bios(tmp_path: Path) -> Path:
    path = tmp_path / "bios.tsv"
    rows = [f"{gender}\t{text}" for gender, text in zip(GENDER, TEXTS, strict=True)]
    path.write_text("\n".join(["gender\ttext", *rows]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("layers", [[0, 3], (3, 0), 2, "last", "all", -1, -9, np.int64(2)])
def test_layers(loaded: tuple[Any, Any], layers: Any) -> None:
    if layers == -9:
        with pytest.raises(WordbiasError, match="no layer -9; it has layers 0"):
            encode(loaded, TEXTS[:1], layers=layers)
        return
    reps = encode(loaded, TEXTS[:1], layers=layers)
    known = {"last": (3,), "all": (0, 1, 2, 3), 2: (2,), -1: (3,)}
    assert reps.layers == (tuple(layers) if isinstance(layers, (list, tuple)) else known[layers])
    np.testing.assert_array_equal(reps[reps.layers[0]], reps.vectors[0])


@pytest.mark.slow
def test_texts_and_columns_in_memory(model: Path, bios: Path) -> None:
    pandas = pytest.importorskip("pandas")
    expected = encode(model, bios, layers="last")
    frame = pandas.DataFrame({"gender": GENDER, "text": TEXTS})
    for texts in (TEXTS, tuple(TEXTS), frame["text"], np.array(TEXTS), iter(TEXTS)):
        reps = encode(model, texts, layers="last")
        np.testing.assert_array_equal(reps.vectors, expected.vectors)
        assert reps.columns == {}
    for columns in (frame, {"text": TEXTS, "gender": GENDER}):
        reps = encode(model, columns, layers="last", where={"gender": "F"}, limit=2)
        np.testing.assert_allclose(reps.vectors, expected.vectors[:, [0, 2]], atol=1e-5)
        assert reps.columns["gender"].cells() == ["F", "F"]
    assert reps.report is not None
    assert reps.report.arguments["where"] == {"gender": "F"}
    assert "path" not in reps.report.inputs["texts"]


def test_words_in_columns(model: Path) -> None:
    table = {"text": TEXTS[:3], "word": ["nurse", "surgeon", None]}
    with pytest.raises(WordbiasError, match=r"texts: row 3: has null as 'word'.*skip_bad=True"):
        encode(model, table, word_column="word")
    with (
        pytest.warns(WordbiasWarning, match="1 row dropped") as warned,
        wb.config(skip_bad=True),
    ):
        reps = encode(model, table, word_column="word")
    assert warned[0].filename == __file__
    assert (len(reps), reps.about["pooling"]) == (2, "word")
    assert reps.columns["word"].cells() == ["nurse", "surgeon"]


def test_a_loaded_model_is_as_its_folder_and_stays_as_it_is(
    model: Path, loaded: tuple[Any, Any]
) -> None:
    with wb.config(device="cpu"):
        expected = encode(model, TEXTS)
    body, tokenizer = loaded
    body.train()
    body.encoder.layer[0].eval()
    modes = [module.training for module in body.modules()]
    for given in (loaded, SimpleNamespace(model=body, tokenizer=tokenizer)):
        reps = encode(given, TEXTS)
        np.testing.assert_array_equal(reps.vectors, expected.vectors)
        assert reps.about["weights_sha256"] == expected.about["weights_sha256"]
        assert reps.name == "tiny"
    assert [module.training for module in body.modules()] == modes
    assert reps.report is not None
    assert reps.report.inputs["model"]["path"] == str(model)
    assert reps.report.arguments["model"] == "a SimpleNamespace"


def test_the_body_of_a_model_with_a_head_is_used(model: Path, loaded: tuple[Any, Any]) -> None:
    transformers = pytest.importorskip("transformers")
    headed = transformers.BertForSequenceClassification(loaded[0].config).eval()
    reps = encode((headed, loaded[1]), TEXTS)
    np.testing.assert_array_equal(reps.vectors, encode((headed.bert, loaded[1]), TEXTS).vectors)
    with intervening(headed, ["cls@3"]):
        assert interventions_in(headed.bert)
        assert not interventions_in(loaded[0])
        with pytest.raises(WordbiasError, match="the interventions at cls@3 change no vector"):
            encode((headed, loaded[1]), TEXTS)
    assert not interventions_in(headed.bert)


def test_a_loaded_model_is_not_changed(loaded: tuple[Any, Any]) -> None:
    with pytest.raises(WordbiasError, match=r"random_init= needs a name"):
        encode(loaded, TEXTS, random_init=0)
    with (
        pytest.raises(WordbiasError, match=r"is loaded on cpu; move it there, .* wb.config"),
        wb.config(device="cuda"),
    ):
        encode(loaded, TEXTS)
    with (
        pytest.raises(WordbiasError, match="is loaded in float32; convert it"),
        wb.config(precision="bfloat16"),
    ):
        encode(loaded, TEXTS)
    with wb.config(device="cpu", precision="float32"):
        encode(loaded, TEXTS[:1])


def test_inputs_that_are_no_models_are_refused(loaded: tuple[Any, Any]) -> None:
    for given, message in (
        (3, "expected a model: a folder.*; got int"),
        (loaded[0], "expected a model: .*; got BertModel without its tokenizer"),
        (loaded[::-1], "expected a model: a folder"),
    ):
        with pytest.raises(WordbiasError, match=message):
            encode(given, TEXTS)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("texts", "arguments", "message"),
    [
        (["a", None], {}, "texts: row 2: expected a text, found None; mend it, or drop such rows"),
        (["a"], {"columns": ["x"]}, "texts: is a list, which has no columns; give a dictionary or"),
        ({"text": ["a"], "b": []}, {}, "texts: expected columns of one length, found text 1, b 0"),
        ({"a": ["x"], "b": ["y"]}, {}, "Name one of a, b with text_column="),
        (3, {}, "texts: expected a file, a list of texts, or a dictionary or frame"),
        ([], {}, "texts: holds no text"),
        (["a"], {"layers": "first"}, "layers 'first': expected all, last, or numbers"),
        (["a"], {"pooling": "middle"}, "pooling 'middle': expected one of first"),
        (["a"], {"pooling": "word"}, 'pooling="word" needs word_column= or span_columns='),
    ],
)
def test_bad_arguments_are_refused(model: Path, texts: Any, arguments: Any, message: str) -> None:
    with pytest.raises(WordbiasError, match=message):
        encode(model, texts, **arguments)


def test_an_output_is_mapped_and_resumed(model: Path, bios: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.safetensors"
    reps = encode(model, bios, output=out, layers=[0, 3])
    expected = encode(model, bios, layers=[0, 3])
    np.testing.assert_array_equal(reps.vectors, expected.vectors)
    assert not reps.vectors.flags.owndata
    written, content = load_representations(out), out.read_bytes()
    assert json.loads(json.dumps(dict(expected.about))) == dict(written.about)
    assert (expected.name, written.name) == ("tiny", "out")
    assert expected.columns["gender"].cells() == written.columns["gender"].cells() == GENDER
    assert expected.report is not None
    assert expected.report.closing == ["Nothing written; output=FILE writes the vectors."]
    resumed = encode(model, bios, output=str(out), layers=[0, 3])
    assert resumed.report is not None
    (row,) = resumed.report.rows
    assert row.value is None
    assert row.details["reason"] == "the file was complete before"
    assert "is complete already" in " ".join(str(resumed.report).split())
    with pytest.raises(WordbiasError, match=r"of another run: its pooling is 'first', not 'mean'"):
        encode(model, bios, output=out, layers=[0, 3], pooling="mean")
    assert out.read_bytes() == content


def test_representations(model: Path, tmp_path: Path) -> None:
    reps = encode(model, {"text": TEXTS, "gender": GENDER}, layers=[0, 3])
    assert (len(reps), reps.layers, reps.dim) == (4, (0, 3), 16)
    assert reps[3].shape == (4, 16)
    np.testing.assert_array_equal(reps[-1], reps[3])
    with pytest.raises(KeyError, match="tiny has no layer 2; it holds 0, 3"):
        reps[2]
    assert repr(reps) == "<Representations 'tiny': 4 texts × 16, layers 0, 3>"
    assert "columns: gender" in reps._repr_html_()
    assert np.asarray(reps).shape == (2, 4, 16)
    with pytest.raises(TypeError):
        iter(reps)  # type: ignore[call-overload]
    reps.save(tmp_path / "a.safetensors")
    reloaded = load_representations(tmp_path / "a.safetensors")
    np.testing.assert_array_equal(reloaded.vectors, reps.vectors)
    many = Representations(np.zeros((6, 1, 2), np.float32), tuple(range(6)))
    assert repr(many) == "<Representations 'representations': 1 text × 2, 6 layers>"


@pytest.mark.slow
def test_a_sentence_transformer_object(model: Path, tmp_path: Path) -> None:
    """Its pooling, prompt, length, Dense and Normalize, as the library applies them."""
    library = pytest.importorskip("sentence_transformers")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        modules = importlib.import_module("sentence_transformers.models")
        first = modules.Transformer(str(model), max_seq_length=8)
        pooling = modules.Pooling(16, pooling_mode="mean")
        dense = modules.Dense(16, 5, activation_function=torch.nn.Tanh())
        transformer = library.SentenceTransformer(
            modules=[first, pooling, dense, modules.Normalize()],
            device="cpu",
            prompts={"ask": "is : "},
            default_prompt_name="ask",
        )
        expected = transformer.encode(TEXTS, show_progress_bar=False)
        reps = encode(transformer, TEXTS)
        assert reps.layers == (3,)
        assert reps.about["modules"] == (
            "Pooling(mean)",
            "Dense(16 to 5, Tanh)",
            "Normalize",
        )
        np.testing.assert_allclose(reps[3], expected, atol=1e-5)
        plain = encode((transformer[0].auto_model, transformer.tokenizer), TEXTS, pooling="mean")
        assert plain.layers == (0, 1, 2, 3)
        transformer.save(str(tmp_path / "saved"))
        with wb.config(device="cpu"):
            folder = encode(tmp_path / "saved", TEXTS)
        assert folder.about["weights_sha256"] == reps.about["weights_sha256"]
        np.testing.assert_allclose(folder[3], reps[3], atol=1e-6)
        other = library.SentenceTransformer(
            modules=[first, pooling, modules.LSTM(16, 4)], device="cpu"
        )
        with pytest.raises(WordbiasError, match="SentenceTransformer raised KeyError"):
            encode(other, TEXTS)
