"""Encoders from a folder or the hub: what they are, and which are refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from encoder_folders import POSITIONS, TEXTS
from safetensors.numpy import load_file, save_file
from tiny_encoders import COUNTED_FROM_TWO, FAMILIES, ROTARY

from wordbias import WordbiasError, errors
from wordbias.models.encoder import PRECISIONS, Encoder
from wordbias.models.encoding import encode
from wordbias.models.loading import position_limit

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

Find = Callable[[str], Path]
LIMITS = dict.fromkeys(COUNTED_FROM_TWO, POSITIONS - 2) | dict.fromkeys(("deberta-v2", *ROTARY))


@pytest.fixture
def folder(encoder_folder: Find, tmp_path: Path) -> Path:
    """Return a copy of the tiny BERT, which a test may spoil."""
    return Path(shutil.copytree(encoder_folder("bert"), tmp_path / "bert"))


def without(folder: Path, *parts: str) -> None:
    """Take weights out of a file, those whose name has one of `parts`."""
    weights = load_file(folder / "model.safetensors")
    rest = {name: w for name, w in weights.items() if not any(part in name for part in parts)}
    assert len(rest) < len(weights)
    save_file(rest, folder / "model.safetensors", {"format": "pt"})


def test_a_special_token_that_no_text_has_needs_no_vector(folder: Path) -> None:
    """Models of text of Gemma 3 have a tokenizer with a token for images."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder)
    tokenizer.add_special_tokens({"additional_special_tokens": ["<image_soft_token>"]})
    assert len(tokenizer) == model.get_input_embeddings().weight.shape[0] + 1
    assert Encoder.load((model, tokenizer), device="cpu").dim == 16


def test_a_tokenizer_with_more_tokens_than_the_model_is_refused(folder: Path) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tokenizer.add_tokens(["wordbias"])
    model = transformers.AutoModel.from_pretrained(folder)
    with pytest.raises(WordbiasError, match=r"the tokenizer has the token 'wordbias' of number"):
        Encoder.load((model, tokenizer), device="cpu")
    tokenizer.save_pretrained(folder)
    with pytest.raises(WordbiasError, match=r"give them one tokenizer, or add vectors"):
        Encoder.load(folder, device="cpu")
    model.resize_token_embeddings(len(tokenizer))
    assert Encoder.load((model, tokenizer), device="cpu").dim == 16


@pytest.mark.parametrize("family", FAMILIES)
def test_layers_dimensions_and_length(encoder_folder: Find, family: str) -> None:
    encoder = Encoder.load(encoder_folder(family), device="cpu")
    assert (encoder.layers, encoder.dim) == (3, 16)
    assert encoder.limit == LIMITS.get(family, POSITIONS)
    assert encoder.max_length == (encoder.limit or 512)
    assert (encoder.device, encoder.precision, encoder.random_init) == ("cpu", "float32", None)
    assert not encoder.model.training
    assert encoder.choose_layers(None) == (0, 1, 2, 3)


@pytest.mark.parametrize("family", [name for name in FAMILIES if LIMITS.get(name, 0) is not None])
def test_the_limit_is_the_longest_that_the_model_can_read(
    encoder_folder: Find, family: str
) -> None:
    encoder = Encoder.load(encoder_folder(family), device="cpu")

    def read(length: int) -> Any:
        ids = np.full((1, length), 7)
        return encoder.hidden_states({"input_ids": ids, "attention_mask": np.ones_like(ids)})

    assert len(read(encoder.limit or 0)) == 4
    with pytest.raises((RuntimeError, IndexError)):
        read((encoder.limit or 0) + 1)


def test_a_model_without_a_table_of_positions_has_no_limit() -> None:
    assert position_limit(torch.nn.Linear(2, 2)) is None


def test_a_shorter_length_of_the_tokenizer_counts(folder: Path) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, model_max_length=11)
    tokenizer.save_pretrained(folder)
    encoder = Encoder.load(folder, device="cpu")
    assert (encoder.max_length, encoder.limit) == (11, POSITIONS)


def test_a_model_saved_with_a_head_is_an_encoder_without_it(
    encoder_folder: Find, tmp_path: Path
) -> None:
    """Its pooler is missing then, and no layer needs it."""
    source = encoder_folder("bert")
    masked = transformers.BertForMaskedLM(transformers.AutoConfig.from_pretrained(source))
    masked.bert.load_state_dict(
        transformers.AutoModel.from_pretrained(source).state_dict(), strict=False
    )
    masked.save_pretrained(tmp_path)
    transformers.AutoTokenizer.from_pretrained(source).save_pretrained(tmp_path)
    assert not any("pooler" in name for name in load_file(tmp_path / "model.safetensors"))
    vectors = encode(Encoder.load(tmp_path, device="cpu"), TEXTS)
    np.testing.assert_array_equal(vectors, encode(Encoder.load(source, device="cpu"), TEXTS))


def test_missing_weights_are_refused(folder: Path) -> None:
    without(folder, "layer.1.output", "layer.2.output.dense")
    with pytest.raises(WordbiasError) as caught:
        Encoder.load(folder, device="cpu")
    message = str(caught.value)
    assert "has no trained weights for encoder.layer.1." in message
    assert "others; give a folder whose weights are of this model" in message
    assert "\n" not in message


def test_a_folder_without_weights_is_refused_but_can_be_drawn_at_random(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    with pytest.raises(WordbiasError, match=r"it has no weights .*safetensors.*; give a folder"):
        Encoder.load(folder, device="cpu")
    assert Encoder.load(folder, device="cpu", random_init=0).layers == 3


@pytest.mark.parametrize("random_init", [None, 0])
def test_a_folder_without_a_tokenizer_is_refused(folder: Path, random_init: int | None) -> None:
    for path in folder.glob("*token*"):
        path.unlink()
    with pytest.raises(WordbiasError, match=r"cannot be loaded as an encoder: .+") as caught:
        Encoder.load(folder, device="cpu", random_init=random_init)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "{}", '{"version":'])
def test_a_damaged_tokenizer_is_refused(folder: Path, text: str) -> None:
    (folder / "tokenizer.json").write_text(text)
    with pytest.raises(WordbiasError, match=r"its tokenizer is damaged \(.+\); fetch or write"):
        Encoder.load(folder, device="cpu")


def test_a_config_without_settings_is_refused(folder: Path) -> None:
    (folder / "config.json").write_text("[]")
    with pytest.raises(WordbiasError, match=r"its config\.json holds no settings"):
        Encoder.load(folder, device="cpu")


@pytest.mark.parametrize("family", FAMILIES)
def test_weights_of_more_layers_than_the_config_has_are_refused(
    encoder_folder: Find, family: str, tmp_path: Path
) -> None:
    if family == "albert":
        pytest.skip("its layers share their weights")
    folder = shutil.copytree(encoder_folder(family), tmp_path / family)
    config = json.loads((folder / "config.json").read_text())
    count = "n_layers" if family == "distilbert" else "num_hidden_layers"
    assert config[count] > 1
    (folder / "config.json").write_text(json.dumps(config | {count: 1}))
    message = r"a layer that its config does not \(.*\.1\..*\); give"
    if family == "modernbert":  # its config also has the kind of each layer
        message = "its config.json holds settings that contradict each other; give a folder"
    with pytest.raises(WordbiasError, match=message):
        Encoder.load(folder, device="cpu")


def test_a_damaged_file_of_weights_is_refused(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(WordbiasError, match="cannot be loaded as an encoder"):
        Encoder.load(folder, device="cpu")


def test_folders_without_a_model_are_refused(tmp_path: Path) -> None:
    with pytest.raises(WordbiasError, match="no such folder"):
        Encoder.load(tmp_path / "gone")
    with pytest.raises(WordbiasError, match=r"a folder without a config\.json"):
        Encoder.load(tmp_path)
    (tmp_path / "a.txt").write_text("he")
    with pytest.raises(WordbiasError, match="is a file, and a model is a folder"):
        Encoder.load(tmp_path / "a.txt")
    for name in ("", " ", "./gone", "a/b/c", "../gone"):
        with pytest.raises(WordbiasError, match="give a folder, or a model's name on the hub"):
            Encoder.load(name)


class Attack:
    """A pickle that makes a file when it is loaded."""

    def __init__(self, made: Path) -> None:
        self.made = made

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.made,)


@pytest.mark.parametrize("zipped", [True, False])
def test_a_pickle_that_runs_code_is_refused(folder: Path, tmp_path: Path, zipped: bool) -> None:
    marker = tmp_path / "made"
    file = folder / "pytorch_model.bin"
    (folder / "model.safetensors").unlink()
    torch.save({"a": Attack(marker)}, file, _use_new_zipfile_serialization=zipped)
    with pytest.raises(WordbiasError) as caught:
        Encoder.load(folder, device="cpu")
    assert "asks to run code, which is never done; give a folder with" in str(caught.value)
    assert "weights_only" not in str(caught.value)
    assert not marker.exists()
    torch.load(file, weights_only=False)
    assert marker.exists()


def test_weights_of_another_shape_are_refused(folder: Path) -> None:
    path = folder / "model.safetensors"
    weights = load_file(path)
    name = next(name for name in weights if name.endswith("query.weight"))
    save_file({**weights, name: weights[name][:, :-1].copy()}, path, {"format": "pt"})
    with pytest.raises(WordbiasError, match="weights have other shapes than its config says"):
        Encoder.load(folder, device="cpu")


def test_a_model_that_is_no_encoder_is_refused(tmp_path: Path, encoder_folder: Find) -> None:
    sizes = {"vocab_size": 90, "d_model": 8, "d_kv": 4, "d_ff": 8, "num_layers": 1, "num_heads": 2}
    transformers.T5Model(transformers.T5Config(**sizes)).save_pretrained(tmp_path)
    transformers.AutoTokenizer.from_pretrained(encoder_folder("bert")).save_pretrained(tmp_path)
    with pytest.raises(WordbiasError, match="is no text encoder that shows its layers"):
        Encoder.load(tmp_path, device="cpu")


def test_an_unknown_device_and_precision_are_refused(encoder_folder: Find) -> None:
    with pytest.raises(WordbiasError, match=r"device 'abacus': torch cannot .*; use cpu"):
        Encoder.load(encoder_folder("bert"), device="abacus")
    with pytest.raises(WordbiasError, match="precision 'int8': expected one of float32, bfloat16"):
        Encoder.load(encoder_folder("bert"), precision="int8")


@pytest.mark.parametrize("precision", PRECISIONS)
def test_precision_is_that_of_the_weights_and_vectors_are_float32(
    encoder_folder: Find, precision: str
) -> None:
    encoder = Encoder.load(encoder_folder("bert"), device="cpu", precision=precision)
    kinds = {parameter.dtype for parameter in encoder.model.parameters()}
    assert kinds == {getattr(torch, precision)}
    vectors = encode(encoder, TEXTS)
    assert vectors.dtype == np.float32
    trained = Encoder.load(encoder_folder("bert"), device="cpu")
    full = encode(trained, TEXTS)
    assert (encoder.sha256() == trained.sha256()) == (precision == "float32")
    np.testing.assert_array_equal(  # the input embeddings are normalised, so that they are rounded
        np.abs(vectors[0] - full[0]).max() == 0, precision == "float32"
    )


def test_random_weights_depend_on_the_seed(encoder_folder: Find) -> None:
    def drawn(seed: int | None) -> Encoder:
        return Encoder.load(encoder_folder("bert"), device="cpu", random_init=seed)

    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    first, repeat, other, trained = drawn(1), drawn(1), drawn(2), drawn(None)
    torch.testing.assert_close(torch.rand(3), expected, rtol=0, atol=0)
    assert first.sha256() == repeat.sha256()
    assert len({encoder.sha256() for encoder in (first, other, trained)}) == 3
    assert (first.random_init, first.layers, first.dim) == (1, 3, 16)
    np.testing.assert_array_equal(encode(first, TEXTS), encode(repeat, TEXTS))
    for (name, weight), (same, other_weight) in zip(
        first.model.state_dict().items(), trained.model.state_dict().items(), strict=True
    ):
        assert (name, weight.shape) == (same, other_weight.shape)


def test_random_weights_are_drawn_as_the_config_says(encoder_folder: Find) -> None:
    encoder = Encoder.load(encoder_folder("bert"), device="cpu", random_init=0)
    weights = torch.cat(
        [
            w.detach().flatten()
            for name, w in encoder.model.named_parameters()
            if "dense.weight" in name
        ]
    )
    rate = encoder.model.config.initializer_range
    deviation = float(weights.std())
    room = 5 * rate / np.sqrt(2 * len(weights))  # five standard errors of a normal's deviation
    assert abs(deviation - rate) < room


def test_the_hash_depends_on_every_weight(encoder_folder: Find) -> None:
    encoder = Encoder.load(encoder_folder("bert"), device="cpu")
    before = encoder.sha256()
    assert before == Encoder.load(encoder_folder("bert"), device="cpu").sha256()
    with torch.no_grad():
        encoder.model.encoder.layer[2].output.dense.bias[3] += 1
    assert encoder.sha256() != before


def test_a_folder_needs_no_network(encoder_folder: Find, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    def refuse(*arguments: object, **options: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    assert Encoder.load(encoder_folder("bert"), device="cpu").layers == 3


def test_loading_prints_nothing_and_does_not_change_the_log_level(
    encoder_folder: Find, capfd: pytest.CaptureFixture[str]
) -> None:
    logging = transformers.utils.logging
    logging.set_verbosity_info()
    logging.enable_progress_bar()
    try:
        encoder = Encoder.load(encoder_folder("bert"), device="cpu")
        encode(encoder, ["a " * 2000])
        assert logging.get_verbosity() == logging.INFO
        assert logging.is_progress_bar_enabled()
    finally:
        logging.set_verbosity_warning()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("package", ["torch", "transformers"])
def test_a_missing_package_is_named(
    encoder_folder: Find, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    folder = encoder_folder("bert")
    true = errors.importlib.import_module

    def lacking(name: str, *rest: Any) -> Any:
        if name == package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return true(name, *rest)

    monkeypatch.setattr(errors.importlib, "import_module", lacking)
    with pytest.raises(WordbiasError, match=rf"needs {package}; .* .wordbias\[contextual\]."):
        Encoder.load(folder)


def test_the_first_line_of_an_error_without_words_is_its_kind() -> None:
    from wordbias.errors import first_line

    assert first_line(ValueError(" a\nb")) == "a"
    assert first_line(KeyError()) == "KeyError"
