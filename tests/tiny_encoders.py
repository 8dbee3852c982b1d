"""Small encoders of every supported family, with random weights, and tokenizers for them."""

from __future__ import annotations

import re
from typing import Any

import pytest

LAYERS = 3
SHAPE = {
    "hidden_size": 16,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 4,
    "intermediate_size": 24,
    "max_position_embeddings": 64,
    "num_labels": 3,
}
FAMILIES = (
    "bert",
    "roberta",
    "camembert",
    "electra",
    "distilbert",
    "deberta-v2",
    "mpnet",
    "albert",
    "modernbert",
    "eurobert",
    "nomic_bert",
    "gte",
    "xlm-roberta-xl",
)
NORMS = {
    "modernbert": "attn_norm",
    "eurobert": "input_layernorm",
    "xlm-roberta-xl": "attention.self_attn_layer_norm",
}
"""The norm before the attention of a layer, in families that have one there."""
ROTARY = ("modernbert", "eurobert", "nomic_bert", "gte")
"""Families that turn queries and keys by their positions, and have no table of them."""
COUNTED_FROM_TWO = ("roberta", "camembert", "mpnet", "xlm-roberta-xl")
"""Families whose table of positions has two rows that no token reads."""
_DISTILBERT = {
    "dim": 16,
    "n_layers": LAYERS,
    "n_heads": 4,
    "hidden_dim": 24,
    "max_position_embeddings": 64,
    "num_labels": 3,
}
_OWN: dict[str, dict[str, Any]] = {
    "electra": {"embedding_size": 8},
    "albert": {"embedding_size": 8, "num_hidden_groups": 1, "inner_group_num": 1},
    "deberta-v2": {
        "relative_attention": True,
        "position_buckets": 8,
        "pos_att_type": ["c2p", "p2c"],
        "share_att_key": True,
        "norm_rel_ebd": "layer_norm",
        "conv_kernel_size": 3,
        "pooler_hidden_size": 16,
        "position_biased_input": False,
    },
    "modernbert": {
        "local_attention": 4,
        "global_attn_every_n_layers": 3,
        "pad_token_id": 0,
        "classifier_pooling": "cls",
    },
    "eurobert": {"classifier_pooling": "bos", "pad_token_id": 0},
}


def build(
    family: str,
    purpose: str = "SequenceClassification",
    seed: int = 0,
    vocabulary: int = 400,
    **options: Any,
) -> Any:
    """Make a model of a family with random weights, of which none is near zero by design.

    ``purpose`` is what follows ``For`` in the name of its class, or ``Model``.
    """
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    if family not in transformers.CONFIG_MAPPING:
        pytest.skip(f"transformers {transformers.__version__} has no {family}")
    shape = _DISTILBERT if family == "distilbert" else SHAPE
    config = transformers.AutoConfig.for_model(
        family, **{"vocab_size": vocabulary, **shape, **_OWN.get(family, {}), **options}
    )
    name = transformers.MODEL_MAPPING[type(config)].__name__.removesuffix("Model")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        cls = getattr(transformers, name + (purpose if purpose == "Model" else f"For{purpose}"))
        model = cls(config)
        with torch.no_grad():  # the usual initialisation is so small that layers do nothing
            for parameter in model.parameters():
                parameter.add_(0.3 * torch.randn_like(parameter))
    return model.eval()


def words_of(*texts: str) -> list[str]:
    return re.findall(r"\w+|[^\w\s]", " ".join(texts).lower())


def make_tokenizer(words: list[str], *, lower: bool = True) -> Any:
    """Make a word-level tokenizer in BERT's format."""
    pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    from transformers import PreTrainedTokenizerFast

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary = {word: i for i, word in enumerate(dict.fromkeys([*special, *words]))}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=lower)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_max_length=64,
    )


def save(model: Any, tokenizer: Any, folder: Any, **options: Any) -> None:
    """Write a model folder without a word on stderr."""
    from wordbias.models.model_like import silent

    with silent(pytest.importorskip("transformers")):
        model.save_pretrained(folder, **options)
        tokenizer.save_pretrained(folder)
