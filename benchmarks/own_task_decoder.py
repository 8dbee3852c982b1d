"""Choose a removal for a decoder that classifies by its last token: see docs/own-task-measured.md.

    python benchmarks/own_task_decoder.py bios.tsv.gz smollm2 -o decoder.json

The head is `LogisticRegression(C=.01)` on the last token's vectors of 600 training texts, stored
in a folder of `LlamaForSequenceClassification`. A setting is chosen on 300 texts of `validate` and
reported on 600 of `test`; the last layer is trained anew on the training texts.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from own_task import columns_of, read_parts
from sklearn.linear_model import LogisticRegression
from transformers import AutoTokenizer, LlamaForSequenceClassification

import wordbias as wb

SIZES = {"train": 600, "validate": 300, "test": 600}


def write_classifier(model: str, texts: dict[str, list[str]], folder: Path) -> None:
    """Write a decoder with a linear head fitted to its last token's vectors."""
    encoded = wb.encode(model, texts, columns=["profession"], pooling="last")
    x, y = encoded.vectors[-1].astype(float), np.array(encoded.columns["profession"].cells())
    head = LogisticRegression(C=0.01, max_iter=5000, fit_intercept=False).fit(x, y)
    classifier = LlamaForSequenceClassification.from_pretrained(model, num_labels=2)
    tokenizer = AutoTokenizer.from_pretrained(model)
    w = torch.tensor(head.coef_[0] / 2, dtype=torch.float32)
    classifier.score.weight.data = torch.stack([-w, w])
    classifier.config.id2label = dict(enumerate(map(str, head.classes_)))
    classifier.config.label2id = {name: i for i, name in enumerate(map(str, head.classes_))}
    pad = tokenizer.pad_token_id
    classifier.config.pad_token_id = tokenizer.eos_token_id if pad is None else pad
    classifier.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def main() -> None:
    """Make the classifier, unless it is there, and sweep it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data")
    parser.add_argument("model")
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    parts = read_parts(given.data)
    drawn = {}
    for name, size in SIZES.items():
        drawn[name] = columns_of([parts[name][i] for i in rng.permutation(len(parts[name]))[:size]])
    folder = given.output.with_suffix("")
    with wb.config(skip_bad=True, threads=1):
        if not folder.exists():
            write_classifier(given.model, drawn["train"], folder)
        report = wb.sweep(
            folder,
            task=drawn["validate"],
            test=drawn["test"],
            labels="profession",
            sensitive="gender",
            methods="leace misp:dims=2",
            null=1,
            retrain=drawn["train"],
        )
    print(report)
    report.save(given.output)


if __name__ == "__main__":
    main()
