"""Small decoders of several families, with random weights, and tokenizers for them."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tiny_encoders import save

_SIZES: dict[str, dict[str, Any]] = {
    "llama": {"num_key_value_heads": 2},
    "gpt2": {"n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 64},
    "gpt_neox": {},
    "qwen2": {"num_key_value_heads": 2},
    "mistral": {"num_key_value_heads": 2, "sliding_window": 6},
    "bloom": {"hidden_size": 16, "n_layer": 2, "n_head": 4},
    "gemma2": {"num_key_value_heads": 2, "head_dim": 4, "sliding_window": 6},
    "gemma3_text": {"num_key_value_heads": 2, "head_dim": 6, "sliding_window": 6},
    "qwen3": {"num_key_value_heads": 2, "head_dim": 6},
    "phi": {"num_key_value_heads": 2},
    "phi3": {"num_key_value_heads": 2},
    "mamba": {"state_size": 4},
}
FAMILIES = tuple(_SIZES)
WITH_SITES = tuple(name for name in _SIZES if name not in ("bloom", "mamba"))
"""Families of the table, whose layers can be changed."""
_SHAPE = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 24,
    "max_position_embeddings": 64,
}


def build_decoder(
    family: str, vocabulary: int, seed: int = 0, purpose: str = "CausalLM", **options: Any
) -> Any:
    """Make a decoder of a family with random weights, of which none is near zero by design.

    ``purpose`` is what follows ``AutoModelFor`` in the name of its class.
    """
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    shape = {} if family in ("gpt2", "bloom") else _SHAPE
    special = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None}
    config = transformers.AutoConfig.for_model(
        family, **{"vocab_size": vocabulary, **shape, **special, **_SIZES[family], **options}
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = getattr(transformers, f"AutoModelFor{purpose}").from_config(config)
        with torch.no_grad():  # the usual initialisation is so small that layers do nothing
            for parameter in model.parameters():
                parameter.add_(0.2 * torch.randn_like(parameter))
    return model.eval()


def word_tokenizer(*texts: str, bos: str = "<s>", front: bool = False, **options: Any) -> Any:
    """Make a word-level tokenizer with a BOS token, which it puts in front if `front`.

    Without `bos` it has none, nor another special token but that of unknown words.
    """
    tokenizers = pytest.importorskip("tokenizers")
    pytest.importorskip("transformers")
    from transformers import PreTrainedTokenizerFast

    words = re.findall(r"\w+|[^\w\s]", " ".join(texts))
    special = ["[UNK]", *([bos] if bos else [])]
    vocabulary = {word: i for i, word in enumerate(dict.fromkeys([*special, *words]))}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    if front:
        tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
            single=f"{bos} $A", special_tokens=[(bos, vocabulary[bos])]
        )
    named = {"bos_token": bos} if bos else {}
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="[UNK]", **{**named, **options}
    )


def byte_tokenizer() -> Any:
    """Make a tokenizer of bytes, which reads any text, with a BOS token."""
    tokenizers = pytest.importorskip("tokenizers")
    from transformers import PreTrainedTokenizerFast

    letters = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: i for i, letter in enumerate(["<s>", *letters])}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, []))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>")


def save_decoder(folder: Any, **options: Any) -> None:
    """Write a tiny Llama that reads bytes."""
    tokenizer = byte_tokenizer()
    shape = {"max_position_embeddings": 1024, **options}
    save(build_decoder("llama", len(tokenizer), **shape), tokenizer, folder)
