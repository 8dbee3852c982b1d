"""A sentence-transformers folder of a tiny encoder in whose embeddings groups are planted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tiny_encoders import build, make_tokenizer, save, words_of

SIZE, WIDTH = 3.0, 64
"""Length of the direction of gender, in the unit of the embeddings, and their dimensions."""


def tokenizer_of_audit(groups: Any = None) -> Any:
    """Make a tokenizer that knows every word of an audit's texts."""
    from wordbias.contextual.audit.texts import AuditTexts

    return make_tokenizer(words_of(*AuditTexts.load(groups).all()))


def genders() -> dict[str, float]:
    """Return the gender of words: 1 female, −1 male, of occupations by their share of women."""
    from wordbias.wordlists.model_sentences import ModelSentences
    from wordbias.wordlists.templates import unambiguous_names

    names = unambiguous_names()
    gender_by_word = {name.lower(): 1.0 for name in names.female} | {
        n.lower(): -1.0 for n in names.male
    }
    gender_by_word |= {"she": 1.0, "her": 1.0, "woman": 1.0, "he": -1.0, "his": -1.0, "man": -1.0}
    return gender_by_word | {
        occupation: (w - 50) / 50 for occupation, w in ModelSentences.load().women.items()
    }


def directions(groups: Any = None) -> dict[str, Any]:
    """Return what is added to the embedding of each word: along one axis, or one for a group."""
    import torch

    from wordbias.wordlists.groups import load_attribute

    if groups is None:
        axis = torch.zeros(WIDTH)
        axis[:2] = 1
        return {word: gender * axis for word, gender in genders().items()}
    axes = 2 * torch.eye(WIDTH)
    members = load_attribute(groups).members
    return {word.lower(): axes[i] for i, words in enumerate(members) for word in words}


def planted(seed: int = 0, size: float = SIZE, groups: Any = None) -> tuple[Any, Any]:
    """Return a model and its tokenizer; with `size` 0 nothing is planted.

    The layers change little, so that what is planted in the embeddings is there in all of them.
    """
    torch = pytest.importorskip("torch")
    tokenizer = tokenizer_of_audit(groups)
    model = build("bert", "Model", seed, vocabulary=len(tokenizer), hidden_size=WIDTH)
    known = tokenizer.get_vocab()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("LayerNorm.weight"):
                parameter.fill_(1)
            elif name.endswith("word_embeddings.weight"):
                drawn = torch.Generator().manual_seed(seed)
                parameter.copy_(torch.randn(parameter.shape, generator=drawn))
                for word, direction in directions(groups).items():
                    if word in known:
                        parameter[known[word]] += size * direction
            else:
                parameter.mul_(0.1)
    return model.eval(), tokenizer


def write_folder(
    folder: Path, seed: int = 0, size: float = SIZE, pooling: str = "mean", groups: Any = None
) -> Path:
    """Write the model as a folder of sentence-transformers that pools and normalises."""
    folder.mkdir()
    save(*planted(seed, size, groups), folder)
    library = "sentence_transformers.models"
    kinds = ("Transformer", "Pooling", "Normalize")
    modules = [
        {"idx": i, "name": str(i), "path": f"{i}_{kind}" if i else "", "type": f"{library}.{kind}"}
        for i, kind in enumerate(kinds)
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    config = {"word_embedding_dimension": WIDTH, "pooling_mode": pooling}
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(config))
    return folder
