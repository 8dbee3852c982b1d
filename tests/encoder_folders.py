"""Folders of tiny encoders of every family, with tokenizers of its kind that cut words up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tiny_encoders import build, save

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
POSITIONS = 24
"""Rows of the tables of positions, so that a text of some words is too long."""


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
    tokenizer = Tokenizer(models.WordPiece(unk_token=unknown))
    trainer: Any = trainers.WordPieceTrainer(
        vocab_size=90, special_tokens=special, show_progress=False
    )
    if family == "roberta":
        tokenizer = Tokenizer(models.BPE(unk_token=unknown))
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=320,
            special_tokens=special,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
    elif family in ("albert", "deberta-v2"):
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        trainer = trainers.UnigramTrainer(
            vocab_size=90, special_tokens=special, unk_token=unknown, show_progress=False
        )
    else:
        tokenizer.normalizer = normalizers.BertNormalizer()
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.train_from_iterator(TEXTS, trainer)
    ids = {name: tokenizer.token_to_id(name) for name in (first, last)}
    if family == "roberta":
        tokenizer.post_processor = processors.RobertaProcessing(
            (last, ids[last]), (first, ids[first]), trim_offsets=True, add_prefix_space=False
        )
    else:
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{first} $A {last}",
            pair=f"{first} $A {last} $B:1 {last}:1",
            special_tokens=list(ids.items()),
        )
    types = [] if family in ("roberta", "distilbert", "mpnet") else ["token_type_ids"]
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=pad,
        unk_token=unknown,
        cls_token=first,
        sep_token=last,
        model_input_names=["input_ids", *types, "attention_mask"],
    )


def make_encoder(family: str, folder: Path, seed: int = 0) -> Path:
    """Save a tiny untrained model of a family and its tokenizer in a folder."""
    tokenizer = tokenizer_of(family)
    vocabulary = len(tokenizer)
    sizes = {"max_position_embeddings": POSITIONS, "initializer_range": 0.5}
    model = build(family, "Model", seed, vocabulary, **sizes)
    save(model, tokenizer, folder)
    return folder
