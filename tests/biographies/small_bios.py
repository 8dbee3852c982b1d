"""Few biographies of three professions, and a tiny encoder that knows their words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tiny_encoders

from wordbias.biographies.data import Biographies
from wordbias.results import Row

SIZES = {"dancer": (40, 16), "nurse": (36, 12), "surgeon": (14, 38)}
"""Women and men of each."""
TELLING = {"dancer": "dances on a stage", "nurse": "cares for the sick", "surgeon": "cuts bones"}
MORE = ("in town", "and travels", "at home", "with the family", "since long", "for an office")
NAMES = {"F": ("Amy", "Kate", "Sarah", "Ann"), "M": ("John", "Paul", "Bill", "Mike")}


def small_bios(seed: int = 0, splits: bool = True) -> Biographies:
    """Make biographies; what a profession does and a pronoun are told by each text."""
    rng = np.random.default_rng(seed)
    rows = [
        (name, gender)
        for name, sizes in SIZES.items()
        for gender, n in zip("FM", sizes, strict=True)
        for _ in range(n)
    ]
    rows = [rows[i] for i in rng.permutation(len(rows))]
    texts = [_text(name, gender, rng) for name, gender in rows]
    kinds = rng.choice(["train", "dev", "test"], len(rows), p=[0.5, 0.15, 0.35])
    return Biographies.of(
        "small",
        texts,
        [name for name, _ in rows],
        [gender for _, gender in rows],
        splits=kinds.tolist() if splits else None,
    )


def _text(name: str, gender: str, rng: np.random.Generator) -> str:
    phrase = TELLING[name] if rng.random() < 0.8 else TELLING[str(rng.choice(list(TELLING)))]
    pronoun = "She" if gender == "F" else "He"
    more = " ".join(rng.choice(MORE, rng.integers(1, 4)))
    return f"{rng.choice(NAMES[gender])} {phrase}. {pronoun} works {more}."


def encoder_folder(path: Path, texts: tuple[str, ...] = (), family: str = "bert") -> str:
    """Write a tiny encoder whose tokenizer knows the words, and return its folder."""
    words = sorted(set(tiny_encoders.words_of(*(texts or small_bios().texts), "_ he she they")))
    model = tiny_encoders.build(family, "Model", vocabulary=len(words) + 5)
    tiny_encoders.save(model, tiny_encoders.make_tokenizer(words), path)
    return str(path)


def as_json(rows: Sequence[Row]) -> list[Any]:
    """Return rows as they are read from a file."""
    return [json.loads(json.dumps(row.to_dict())) for row in rows]
