"""A folder of a tiny Llama in whose embeddings gender is planted, and in what it predicts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from planted_encoder import genders
from tiny_decoders import build_decoder, word_tokenizer
from tiny_encoders import save

SIZE, WIDTH, LAYERS = 8.0, 64, 2
"""Length of the direction of gender, in the unit of the embeddings; dimensions, and layers."""
EXPECTED = 3.0
"""Size of the rows of the pronouns in the language-modelling head."""


def texts() -> list[str]:
    """Return every text of an audit that a decoder reads."""
    from wordbias.contextual.audit.texts import AuditTexts
    from wordbias.wordlists.model_sentences import ModelSentences, before_pronoun

    lists = ModelSentences.load()
    pronoun_texts = [f"{text} she he" for text in before_pronoun(lists, "Somebody")]
    return [*AuditTexts.load().all(), *pronoun_texts, *(text for text in ("she", "he"))]


def planted(seed: int = 0) -> tuple[Any, Any]:
    """Return a model and its tokenizer.

    A token attends to all before it alike and adds the mean of their vectors to its own, so that
    the gender of the subject reaches the last token.
    """
    torch = pytest.importorskip("torch")
    tokenizer = word_tokenizer(*texts())
    shape = {"hidden_size": WIDTH, "num_hidden_layers": LAYERS, "intermediate_size": 8}
    shape |= {"num_key_value_heads": 4, "max_position_embeddings": 128}
    model = build_decoder("llama", len(tokenizer), seed, tie_word_embeddings=False, **shape)
    known = tokenizer.get_vocab()
    direction = torch.zeros(WIDTH)
    direction[:2] = 1 / 2**0.5
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("norm.weight"):
                parameter.fill_(1)
            elif name.endswith(("q_proj.weight", "k_proj.weight")):
                parameter.zero_()
            elif name.endswith(("v_proj.weight", "o_proj.weight")):
                parameter.copy_(torch.eye(WIDTH))
            elif "embed_tokens" in name:
                drawn = torch.Generator().manual_seed(seed)
                parameter.copy_(torch.randn(parameter.shape, generator=drawn))
                for word, gender in genders().items():
                    for spelled in {word, word.capitalize()} & known.keys():
                        parameter[known[spelled]] += gender * SIZE * direction
            else:
                parameter.mul_(0.1)
        head = model.get_output_embeddings().weight
        for pronoun, sign in (("she", 1), ("he", -1)):
            head[known[pronoun]] = sign * EXPECTED * direction
    return model.eval(), tokenizer


def write_folder(folder: Path, seed: int = 0) -> Path:
    """Write the model as a folder of transformers."""
    save(*planted(seed), folder)
    return folder
