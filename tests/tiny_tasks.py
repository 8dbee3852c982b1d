"""A small classifier of occupations that reads gender too, and labelled texts for it."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import tiny_heads

CLASSES = ("nurse", "doctor")
_OF_GROUP = {"F": ("woman", "girl", "she", "her"), "M": ("man", "boy", "he", "his")}
_OF_CLASS = {"nurse": ("kind", "tea", "cup", "slept"), "doctor": ("stern", "car", "dog", "fixed")}
_SHAPE = {"hidden_size": 64, "intermediate_size": 64, "initializer_range": 0.5}
_OTHERS = ("cooked", "ice", "meal", "hot", "melted", "very", "in", "and", "sat", "was")


class Text(NamedTuple):
    """A text with its class, group and person."""

    label: str
    group: str
    person: str
    text: str


def texts(n: int, seed: int, *, biased: float = 0.8) -> list[Text]:
    """Draw distinct texts; a share `biased` of each class has the group of its stereotype."""
    rng, by_line = random.Random(seed), dict[str, Text]()
    while len(by_line) < n:
        label = rng.choice(CLASSES)
        usual = "F" if label == "nurse" else "M"
        group = usual if rng.random() < biased else ("M" if usual == "F" else "F")
        hinted = label if rng.random() < 0.75 else rng.choice(CLASSES)
        words = [rng.choice(_OF_CLASS[hinted]), *(rng.choice(_OTHERS) for _ in range(3))]
        rng.shuffle(words)
        line = f"the {rng.choice(_OF_GROUP[group])} {' '.join(words)} ."
        by_line[line] = Text(label, group, str(len(by_line) // 2), line)
    return list(by_line.values())


def table(path: Path, rows: list[Text], **names: str) -> Path:
    """Write texts as a table; `names` are other names of columns."""
    head = [names.get(field, field) for field in Text._fields]
    lines = ["\t".join(head), *("\t".join(row) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def classifier(seed: int = 0, family: str = "bert", **options: Any) -> Any:
    """Make a model of random weights whose last layer was trained on biased texts."""
    torch = pytest.importorskip("torch")
    from sklearn.linear_model import LogisticRegression

    from wordbias.models.families import final_of
    from wordbias.models.hooks import recording
    from wordbias.models.sites import Site

    named = {"id2label": dict(enumerate(CLASSES)), "label2id": {"nurse": 0, "doctor": 1}}
    model = tiny_heads.model(
        family, "SequenceClassification", seed, **{**_SHAPE, **named, **options}
    )
    rows = texts(800, 1000 + seed)
    inputs = tiny_heads.tokenizer()([row.text for row in rows], padding=True, return_tensors="pt")
    if family == "distilbert":
        inputs.pop("token_type_ids")
    with torch.inference_mode(), recording(model, [Site("sentence")]) as values:
        model(**inputs)
        x = values[Site("sentence")].double().numpy()
    labels = np.array([CLASSES.index(row.label) for row in rows])
    # to the last digits: another processor fits the same
    fitted = LogisticRegression(C=100, solver="newton-cholesky", tol=1e-10).fit(x, labels)
    final = final_of(model)
    with torch.no_grad():
        weight = torch.tensor(np.concatenate([-fitted.coef_, fitted.coef_]) / 2)
        bias = torch.tensor(np.concatenate([-fitted.intercept_, fitted.intercept_]) / 2)
        final.weight.copy_(weight)
        final.bias.copy_(bias)
    return model


def folder(path: Path, seed: int = 0, **options: Any) -> str:
    """Save such a classifier; return its folder."""
    return tiny_heads.folder(path, classifier(seed, **options))
