"""Tiny untrained encoders of seven families, with tokenizers that cut words into pieces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

TEXTS = (
    "The surgeon spoke to the microbiologist about her patient.",
    "A nurse",
    "He said that she's a New York-based economist; nobody believed it at all, and nobody asked.",
    "",
    "Électricienne naïve, 12 years: «très bien» 🙂 she said.",
    "A nurse",
    "The Surgeon spoke.  Then  the surgeon left the room , the house and the town for good .",
    "x",
)
FAMILIES = ("bert", "roberta", "electra", "distilbert", "deberta-v2", "mpnet", "albert")
POSITIONS = 24
"""Rows of the tables of positions, so that a text of some words is too long."""


def _sizes(**more: Any) -> dict[str, Any]:
    return {
        "hidden_size": 16,
        "num_hidden_layers": 3,
        "num_attention_heads": 2,
        "intermediate_size": 24,
        "max_position_embeddings": POSITIONS,
        "initializer_range": 0.5,  # so that what a text says can be seen in its vectors
        **more,
    }


def config_of(family: str, vocabulary: int) -> Any:
    """Return the config of a tiny model; where its real ones differ from BERT, this differs."""
    import transformers as t

    sizes = _sizes(vocab_size=vocabulary)
    if family == "distilbert":
        return t.DistilBertConfig(
            vocab_size=vocabulary,
            dim=16,
            n_layers=3,
            n_heads=2,
            hidden_dim=24,
            max_position_embeddings=POSITIONS,
            initializer_range=0.5,
        )
    if family == "deberta-v2":
        return t.DebertaV2Config(
            **sizes,
            relative_attention=True,
            position_biased_input=False,
            pos_att_type=["p2c", "c2p"],
            position_buckets=8,
        )
    makers: dict[str, tuple[Any, dict[str, Any]]] = {
        "bert": (t.BertConfig, {}),
        "roberta": (t.RobertaConfig, {}),
        "electra": (t.ElectraConfig, {"embedding_size": 8}),
        "mpnet": (t.MPNetConfig, {}),
        "albert": (t.AlbertConfig, {"embedding_size": 8}),
    }
    make, more = makers[family]
    return make(**sizes, **more)


def tokenizer_of(family: str) -> Any:
    """Train a tokenizer of the family's kind on `TEXTS`."""
    from tokenizers import (
        Tokenizer,
        decoders,
        models,
        normalizers,
        pre_tokenizers,
        processors,
        trainers,
    )
    from transformers import PreTrainedTokenizerFast

    round_brackets = family in ("roberta", "mpnet")
    special = (
        ["<s>", "<pad>", "</s>", "<unk>"]
        if round_brackets
        else ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    )
    first, last = ("<s>", "</s>") if round_brackets else ("[CLS]", "[SEP]")
    unknown, pad = ("<unk>", "<pad>") if round_brackets else ("[UNK]", "[PAD]")
    made = Tokenizer(models.WordPiece(unk_token=unknown))
    trainer: Any = trainers.WordPieceTrainer(
        vocab_size=90, special_tokens=special, show_progress=False
    )
    if family == "roberta":
        made = Tokenizer(models.BPE(unk_token=unknown))
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        made.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=320,
            special_tokens=special,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
    elif family in ("albert", "deberta-v2"):
        made = Tokenizer(models.Unigram())
        made.pre_tokenizer = pre_tokenizers.Metaspace()
        trainer = trainers.UnigramTrainer(
            vocab_size=90, special_tokens=special, unk_token=unknown, show_progress=False
        )
    else:
        made.normalizer = normalizers.BertNormalizer()
        made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.train_from_iterator(TEXTS, trainer)
    ids = {name: made.token_to_id(name) for name in (first, last)}
    if family == "roberta":
        made.post_processor = processors.RobertaProcessing(
            (last, ids[last]), (first, ids[first]), trim_offsets=True, add_prefix_space=False
        )
    else:
        made.post_processor = processors.TemplateProcessing(
            single=f"{first} $A {last}",
            pair=f"{first} $A {last} $B:1 {last}:1",
            special_tokens=list(ids.items()),
        )
    types = [] if family in ("roberta", "distilbert", "mpnet") else ["token_type_ids"]
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        pad_token=pad,
        unk_token=unknown,
        cls_token=first,
        sep_token=last,
        model_input_names=["input_ids", *types, "attention_mask"],
    )


def make_encoder(family: str, folder: Path, seed: int = 0) -> Path:
    """Save a tiny untrained model of a family and its tokenizer in a folder."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    transformers.utils.logging.disable_progress_bar()
    tokenizer = tokenizer_of(family)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = transformers.AutoModel.from_config(config_of(family, len(tokenizer)))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
