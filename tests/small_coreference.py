"""Small encoders and made documents whose mentions corefer by rules."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_encoders

from wordbias.coreference.documents import Document

NAMES = {"Ann": "she", "Eve": "she", "Bob": "he", "Tom": "he"}
THINGS = ("dog", "car", "tea")
VERBS = ("saw", "liked", "took", "left")
WORDS = [*NAMES, "she", "he", *THINGS, *VERBS, "the", "it", "very", "old", "then", "."]


def story(seed: int, sentences: int = 8) -> Document:
    """Return a document: a name or thing is mentioned, then mentioned again, or by its pronoun."""
    rng = np.random.default_rng(seed)
    text: list[tuple[str, ...]] = []
    clusters: dict[str, list[tuple[int, int]]] = {}
    last: dict[str, str] = {}
    count = 0
    for _ in range(sentences):
        name, thing = rng.choice(list(NAMES)), rng.choice(THINGS)
        pronoun = NAMES[str(name)]
        subject = [str(name)]
        if rng.random() < 0.4 and pronoun in last:
            name, subject = last[pronoun], [pronoun]
        last[pronoun] = str(name)
        old = ["the", "old", str(thing)] if rng.random() < 0.5 else ["the", str(thing)]
        if rng.random() < 0.4 and "it" in last:
            thing, old = last["it"], ["it"]
        last["it"] = str(thing)
        words = [*subject, str(rng.choice(VERBS)), *old, "."]
        clusters.setdefault(str(name), []).append((count, count + 1))
        start = count + 2
        clusters.setdefault(str(thing), []).append((start, start + len(old)))
        text.append(tuple(words))
        count += len(words)
    linked = tuple(tuple(spans) for spans in clusters.values() if len(spans) > 1)
    return Document(f"story/{seed}", tuple(text), linked)


def conll(documents: list[Document]) -> str:
    """Return documents in the columns of CoNLL-2012; no two spans of them are nested."""
    lines = []
    for document in documents:
        lines.append(f"#begin document ({document.name}); part 000")
        opens = {span[0]: i for i, cluster in enumerate(document.clusters) for span in cluster}
        closes = {span[1] - 1: i for i, cluster in enumerate(document.clusters) for span in cluster}
        count = 0
        for sentence in document.sentences:
            for i, token in enumerate(sentence):
                begin = f"({opens[count]}" if count in opens else ""
                end = (")" if begin else f"{closes[count]})") if count in closes else ""
                mark = begin + end or "-"
                lines.append("\t".join([document.name, "0", str(i), token, *"-------", mark]))
                count += 1
            lines.append("")
        lines.append("#end document")
    return "\n".join(lines) + "\n"


def learning_folder(path: Path, words: Sequence[str] = WORDS) -> str:
    """Write a small encoder as BERT begins, which learns more easily than one of large weights."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    tokenizer = tiny_encoders.make_tokenizer(list(words), lower=False)
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        max_position_embeddings=64,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        tiny_encoders.save(transformers.BertModel(config), tokenizer, path)
    return str(path)


def encoder_folder(path: Path, family: str = "bert", **options: Any) -> str:
    """Write a small encoder with random weights that knows the words of the stories."""
    tokenizer = tiny_encoders.make_tokenizer(WORDS, lower=False)
    shape = {"vocabulary": len(tokenizer), **options}
    tiny_encoders.save(tiny_encoders.build(family, "Model", **shape), tokenizer, path)
    return str(path)


def with_large_head(model: Any) -> Any:
    """Multiply the parameters of a head, so that what it links depends on the vectors."""
    with pytest.importorskip("torch").no_grad():
        for parameter in model.ranker.head().values():
            parameter.mul_(20)
    return model
