"""Embeddings and pairs for studies of marked attribute bias, too few to learn from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import stand_ins

from wordbias.wordlists import Templates


def write(folder: Path, **shares: float) -> Path:
    """Write an embedding for each name, the sample with a share of noise; pairs; a test set."""
    sample, rng = stand_ins.small(), np.random.default_rng(0)
    for name, share in shares.items():
        noise = rng.normal(size=sample.vectors.shape)
        sample.with_vectors(sample.vectors + share * noise).save(folder / f"{name}.safetensors")
    line = "{}\tA man is eating an apple.\tA {} is eating."
    labels = ("neutral", "entailment", "contradiction")
    rows = [line.format(labels[i % 3], word) for i, word in enumerate(("person", "dog", "man") * 8)]
    (folder / "pairs.tsv").write_text("\n".join(rows) + "\n")
    words = sample.words[100:112]
    scored = (f"{a}\t{b}\t{i}" for i, (a, b) in enumerate(zip(words[:6], words[6:], strict=True)))
    (folder / "similar.txt").write_text("\n".join(scored) + "\n")
    return folder


def five_premises(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let studies score one set with five premises."""
    monkeypatch.setattr("wordbias.nli.study.marked_sets", lambda _: ("explicit",))
    first = tuple(Templates.load().premises()[:5])
    monkeypatch.setattr(Templates, "premises", lambda _: first)
