"""Small models with heads, random weights far from zero, and a WordPiece tokenizer for them."""

from __future__ import annotations

import string
from pathlib import Path
from typing import Any

import pytest

_SENTENCES = """
the a woman man girl boy she he her his nurse doctor was is sat cooked fixed slept car tea ice kind
stern cup meal dog in and very hot melted .
"""
WORDS = _SENTENCES.split()
PIECES = [*string.ascii_lowercase, *(f"##{letter}" for letter in string.ascii_lowercase)]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
VOCABULARY = list(dict.fromkeys([*SPECIAL, *PIECES, *WORDS]))
SHAPE = {
    "vocab_size": len(VOCABULARY),
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 40,
    "pad_token_id": 0,
}
OWN: dict[str, dict[str, Any]] = {
    "electra": {"embedding_size": 8},
    "albert": {"embedding_size": 8},
    "distilbert": {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24},
}
FAMILIES = (
    "bert",
    "roberta",
    "electra",
    "distilbert",
    "deberta-v2",
    "mpnet",
    "albert",
    "modernbert",
)


def tokenizer() -> Any:
    transformers = pytest.importorskip("transformers")
    return transformers.BertTokenizerFast(
        vocab={token: i for i, token in enumerate(VOCABULARY)}, model_max_length=40
    )


def model(family: str, purpose: str, seed: int = 0, **options: Any) -> Any:
    """Make a model of the class that `AutoModelFor…` finds for a family."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    shape = {"max_position_embeddings": 40} if family == "distilbert" else SHAPE
    config = transformers.AutoConfig.for_model(
        family, **{**shape, "vocab_size": len(VOCABULARY), **OWN.get(family, {}), **options}
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = getattr(transformers, f"AutoModelFor{purpose}").from_config(config)
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.add_(0.2 * torch.randn_like(parameter))
    return network.eval()


def folder(path: Path, made: Any) -> str:
    """Save a model and its tokenizer; return the folder as a name."""
    made.save_pretrained(path)
    tokenizer().save_pretrained(path)
    return str(path)
