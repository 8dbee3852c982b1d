"""Folders of models whose files do not belong together are refused before a model is built."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from wordbias.errors import WordbiasError
from wordbias.models.loading import load_pretrained, load_untrained
from wordbias.models.model_like import in_folder, to_float64

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "she", "he", "sat", "."]
SHAPE = {
    "vocab_size": len(WORDS),
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 8,
    "max_position_embeddings": 16,
}


def save(folder: Path, family: str = "bert", **options: Any) -> Path:
    """Write a small model of a family."""
    config = transformers.AutoConfig.for_model(family, **{**SHAPE, **options})
    transformers.AutoModel.from_config(config).save_pretrained(folder)
    vocabulary = {word: i for i, word in enumerate(WORDS)}
    tokenizer = transformers.BertTokenizerFast(vocab=vocabulary, model_max_length=16)
    tokenizer.save_pretrained(folder)
    return folder


def change(path: Path, **settings: Any) -> None:
    config = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**config, **settings}), encoding="utf-8")


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        (100_000, "says that it has 100,000 layers, its weights have at most 2"),
        (3, "says that it has 3 layers, its weights have at most 2"),
        (0, "says that it has 0 layers; expected at least 1"),
        (-1, "says that it has -1 layers; expected at least 1"),
    ],
)
@pytest.mark.parametrize("load", [load_pretrained, partial(load_untrained, seed=0)])
def test_a_config_with_more_layers_than_the_weights_is_refused(
    layers: int, message: str, load: Any, tmp_path: Path
) -> None:
    folder = save(tmp_path / "model")
    change(folder / "config.json", num_hidden_layers=layers)
    with pytest.raises(WordbiasError) as error:
        load("AutoModel", str(folder), "an encoder")
    assert str(error.value).startswith(f"{folder}: cannot be loaded as an encoder: ")
    assert message in str(error.value)


@pytest.mark.parametrize("load", [load_pretrained, partial(load_untrained, seed=0)])
@pytest.mark.parametrize(
    ("file", "settings"),
    [
        ("config.json", {"num_labels": 10**9}),
        ("config.json", {"intermediate_size": 10**9}),
        ("config.json", {"max_position_embeddings": 10**9}),
        ("config.json", {"text_config": {"vocab_size": 10**9}}),
        ("adapter_config.json", {"peft_type": "LORA", "r": 10**9}),
    ],
)
def test_a_size_that_no_weight_has_is_refused_before_anything_is_made(
    file: str, settings: dict[str, Any], load: Any, tmp_path: Path
) -> None:
    """A label of each that a config claims would be made: gigabytes, and no end."""
    folder = save(tmp_path / "model")
    if file != "config.json":
        (folder / file).write_text("{}")
    change(folder / file, **settings)
    with pytest.raises(WordbiasError, match=r"says that .* is 1,000,000,000, its weights have"):
        load("AutoModel", str(folder), "an encoder")


@pytest.mark.parametrize("shards", ["1GB", "1KB"])
def test_weights_in_several_files_are_compared(shards: str, tmp_path: Path) -> None:
    folder = save(tmp_path / "model")
    model = transformers.AutoModel.from_pretrained(folder)
    (folder / "model.safetensors").unlink()
    model.save_pretrained(folder, max_shard_size=shards)
    assert (folder / "model.safetensors.index.json").exists() == (shards == "1KB")
    load_pretrained("AutoModel", str(folder), "an encoder")
    change(folder / "config.json", num_hidden_layers=100_000)
    with pytest.raises(WordbiasError, match="its weights have at most 2"):
        load_pretrained("AutoModel", str(folder), "an encoder")


def test_pickled_weights_are_compared(tmp_path: Path) -> None:
    folder = save(tmp_path / "model")
    model = transformers.AutoModel.from_pretrained(folder)
    (folder / "model.safetensors").unlink()
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    load_pretrained("AutoModel", str(folder), "an encoder")
    change(folder / "config.json", num_hidden_layers=100_000)
    with pytest.raises(WordbiasError, match="its weights have at most 2"):
        load_pretrained("AutoModel", str(folder), "an encoder")


def test_layers_that_share_their_weights_may_be_many(tmp_path: Path) -> None:
    own = {"embedding_size": 4, "num_hidden_groups": 1, "num_hidden_layers": 30}
    folder = save(tmp_path / "model", "albert", **own)
    assert load_pretrained("AutoModel", str(folder), "an encoder").missing == ()
    change(folder / "config.json", num_hidden_groups=100_000, num_hidden_layers=100_000)
    with pytest.raises(WordbiasError, match="100,000 layers, its weights have at most"):
        load_pretrained("AutoModel", str(folder), "an encoder")


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    def item(context: str) -> dict[str, Any]:
        labels = ("stereotype", "anti-stereotype", "unrelated")
        texts = ("He sat.", "She sat.", "Sat he.")
        sentences = [
            {"sentence": text, "gold_label": label}
            for text, label in zip(texts, labels, strict=True)
        ]
        about = {"id": "1", "target": "she", "bias_type": "gender", "context": context}
        return {**about, "sentences": sentences}

    path = tmp_path / "pairs.json"
    path.write_text(json.dumps({"data": {"intersentence": [item("She sat. " * 20)]}}))
    return path


def with_head(folder: Path) -> Path:
    save(folder)
    config = transformers.BertConfig(**SHAPE)
    transformers.BertForNextSentencePrediction(config).save_pretrained(folder)
    return folder


def test_a_tokenizer_without_padding_is_refused(
    cli: Callable[..., Any], pairs: Path, tmp_path: Path
) -> None:
    folder = with_head(tmp_path / "model")
    change(folder / "tokenizer_config.json", pad_token=None)
    cli("--version")  # takes what saving the model wrote
    done = cli("likelihood", folder, "--data", pairs)
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    assert f"{folder}: its tokenizer has no padding token" in done.err


def test_a_classifier_without_padding_is_refused(cli: Callable[..., Any], tmp_path: Path) -> None:
    folder = save(tmp_path / "model")
    labels = {"id2label": {0: "entailment", 1: "neutral", 2: "contradiction"}}
    config = transformers.BertConfig(**SHAPE, num_labels=3, **labels)
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    change(folder / "tokenizer_config.json", pad_token=None)
    cli("--version")  # takes what saving the model wrote
    done = cli("mab-eval", folder)
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    assert f"{folder}: its tokenizer has no padding token" in done.err


@pytest.mark.slow
def test_no_line_of_a_library_precedes_ours(
    process: Callable[..., Any], pairs: Path, tmp_path: Path
) -> None:
    """The tokenizer logs that the pair is too long for the model."""
    done = process("likelihood", with_head(tmp_path / "model"), "--data", pairs)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("wordbias: ")
    assert done.err.count("\n") == 1
    assert "reads at most 16 tokens" in done.err


@pytest.mark.slow
def test_warnings_of_libraries_are_not_shown(process: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import sys, warnings\n"
        "class Warning_:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'numpy':\n"
        "            warnings.warn('of a library')\n"
        "sys.meta_path.insert(0, Warning_())\n"
    )
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    done = process("misp", "nowhere.txt", env=env)
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert "of a library" in process("misp", "nowhere.txt", "--debug", env=env).err


def test_a_loaded_model_is_taken_in_every_form(tmp_path: Path) -> None:
    folder = save(tmp_path / "model")
    model = transformers.AutoModel.from_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    for given in ((model, tokenizer), SimpleNamespace(model=model, tokenizer=tokenizer)):
        loaded = load_pretrained("AutoModel", given, "an encoder")
        assert (loaded.model, loaded.tokenizer, loaded.name) == (model, tokenizer, str(folder))
        assert (loaded.given, loaded.device, loaded.precision) == (True, "cpu", "float32")
        assert loaded.on(None) is loaded.on("cpu", "float32") is loaded
        with pytest.raises(WordbiasError, match=r"is loaded in float32; convert it"):
            loaded.on(None, "bfloat16")
    for other in (3, model, (tokenizer, model), (model,)):
        with pytest.raises(WordbiasError, match=r"expected a model: a folder, a name on the hub"):
            load_pretrained("AutoModel", other, "an encoder")
    with in_folder((model, tokenizer)) as written:
        assert load_pretrained("AutoModel", written, "an encoder").missing == ()
    assert not Path(written).exists()


def test_float64_is_on_the_cpu_where_mps_lacks_it() -> None:
    x = torch.ones(2)
    on_mps = SimpleNamespace(device=SimpleNamespace(type="mps"), cpu=lambda: x)
    for tensor in (x, on_mps):
        assert to_float64(tensor).dtype == torch.float64
