"""What makes one training the same as another: data, vectors, recipe, seed and conventions."""

from __future__ import annotations

import hashlib
from typing import Any

from wordbias.embedding import Embedding
from wordbias.nli.lexicon import NULL, UNKNOWN, Table
from wordbias.nli.pairs import Pairs
from wordbias.nli.recipes import Recipe


def specify(
    embedding: Embedding,
    table: Table,
    data: dict[str, Pairs],
    recipe: Recipe,
    seed: int,
    half: bool = False,
) -> dict[str, Any]:
    """Describe a training so that JSON can hold it, and equal ones are equal."""
    known = embedding.info.sha256 if embedding.info else ""
    return {
        "embedding": {
            "name": embedding.name,
            "sha256": known,
            "words": len(embedding),
            "dim": embedding.dim,
        },
        "vectors": hashlib.sha256(table.vectors.tobytes()).hexdigest(),
        "data": {
            name: {"sha256": pairs.sha256, "pairs": len(pairs), "dropped": pairs.dropped}
            for name, pairs in data.items()
        },
        "recipe": recipe.to_dict(),
        "precision": "bfloat16" if half else "float32",
        "seed": seed,
        "conventions": {
            "length": "unit",
            "lower": table.lower,
            "first token": NULL,
            "unknown vectors": UNKNOWN,
        },
    }
