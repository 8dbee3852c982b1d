"""Folders of static models, small, as model2vec and sentence-transformers themselves write them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from stand_ins import small

PARTS = ("##s", "##ing", "##ed", "##er", "##zq", "##house")
SPECIAL = ("[PAD]", "[UNK]")
OTHERS = ("[unused0]", "Nurse", "naïve", "...")
"""Tokens that no text becomes: unused, in capitals, with an accent, of several signs."""


@cache
def known_words() -> tuple[str, ...]:
    """Return the words of the sample that WordPiece leaves whole: lower-case letters only."""
    return tuple(word for word in small().words if word.isascii() and word.isalpha())


@cache
def token_vectors() -> tuple[tuple[str, ...], Any]:
    """Return tokens and their vectors: words have those of GloVe, at different lengths."""
    words = known_words()
    rng = np.random.default_rng(5)
    around = [*SPECIAL, *OTHERS[:2]], [*PARTS, *OTHERS[2:]]
    first, last = (rng.standard_normal((len(tokens), small().dim)) for tokens in around)
    vectors = np.concatenate([first, small().take(words), last]).astype(np.float32)
    vectors *= np.exp(rng.standard_normal(len(vectors)) / 2).astype(np.float32)[:, None]
    return (*around[0], *words, *around[1]), vectors


def tokenizer(tokens: tuple[str, ...] | None = None) -> Any:
    """Return the tokenizer of lower-cased BERT over the tokens."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    names = token_vectors()[0] if tokens is None else tokens
    wordpiece = Tokenizer(
        models.WordPiece({name: i for i, name in enumerate(names)}, unk_token="[UNK]")
    )
    wordpiece.normalizer = normalizers.BertNormalizer(lowercase=True)
    wordpiece.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    wordpiece.add_special_tokens(list(SPECIAL))
    return wordpiece


def model2vec_folder(
    path: Path,
    *,
    clusters: int | None = None,
    dtype: Any = np.float32,
    normalize: bool = True,
) -> Path:
    """Write a folder as model2vec does; with `clusters`, tokens share rows and have weights."""
    from model2vec import StaticModel

    vectors = token_vectors()[1]
    mapping = weights = None
    if clusters is not None:
        weights = np.linalg.norm(vectors, axis=1)
        mapping = np.arange(len(vectors)) % clusters
        rows = vectors[:clusters] / weights[:clusters, None]
    else:
        rows = vectors
    StaticModel(
        rows.astype(dtype) if dtype != np.int8 else np.rint(rows * 10).astype(np.int8),
        tokenizer(),
        {"model_type": "model2vec", "hidden_dim": vectors.shape[1]},
        normalize=normalize,
        weights=weights,
        token_mapping=mapping,
    ).save_pretrained(path)
    return path


def sentence_folder(path: Path, *, normalize: bool = True) -> Path:
    """Write a folder as sentence-transformers does."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import modules

    pipeline = [modules.StaticEmbedding(tokenizer(), embedding_weights=token_vectors()[1])]
    SentenceTransformer(modules=[*pipeline, *([modules.Normalize()] if normalize else [])]).save(
        str(path)
    )
    return path


def nested_folder(path: Path, *, listed: bool = True) -> Path:
    """Write what older sentence-transformers wrote, with its list of modules or without."""
    sentence_folder(path, normalize=False)
    inner = path / "0_StaticEmbedding"
    inner.mkdir()
    for name in ("model.safetensors", "tokenizer.json"):
        (path / name).rename(inner / name)
    kind = "sentence_transformers.models.StaticEmbedding"
    modules = [{"idx": 0, "name": "0", "path": inner.name, "type": kind}]
    (path / "modules.json").write_text(json.dumps(modules))
    if not listed:
        (path / "modules.json").unlink()
    return path


TEXTS = (
    "she is a nurse",
    "nurses and teachers housed kings",
    "he bought the house, the king's engineering",
    "zqzqzq",
    "mother father daughter son",
    "nurse",
)
"""Texts of words, of words in parts, and of what is unknown."""


def sentence_transformer(path: Path | str) -> Any:
    """Load a folder with sentence-transformers, which takes seconds to import."""
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(path), device="cpu")
