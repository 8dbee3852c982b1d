"""Train the NLI model that comes with the package, on the embedded sample.

    python tools/train_nli_sample.py --train snli_train.tsv.gz --dev snli_dev.tsv.gz \\
        --test snli_test.tsv.gz [--out wordbias/data/nli_sample.safetensors]

The pairs are the first 100,000 of SNLI's training set (Bowman et al. 2015, CC BY-SA 4.0), and its
dev and test sets. The same seed on the same processor gives the same file. What the model is stands
in its header; its accuracies are those of the file as written, in float16, by the numpy forward.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import replace
from pathlib import Path

from wordbias import Embedding
from wordbias.data import nli_sample_path
from wordbias.devices import set_threads
from wordbias.nli.files import Model
from wordbias.nli.jobs import Data, plan_jobs
from wordbias.nli.pairs import load_pairs
from wordbias.nli.recipes import FAST
from wordbias.nli.scoring import accuracy
from wordbias.nli.train import train_all

EPOCHS = 12
LICENCE = "trained on SNLI (Bowman et al. 2015), CC BY-SA 4.0"


def main() -> None:
    """Train, round, test and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--train", required=True, type=Path)
    parser.add_argument("--dev", required=True, type=Path)
    parser.add_argument("--test", required=True, type=Path)
    parser.add_argument("--out", type=Path, default=nli_sample_path())
    arguments = parser.parse_args()
    set_threads(1)
    sample = Embedding.sample()
    data = Data.of({"train": load_pairs(arguments.train), "dev": load_pairs(arguments.dev)})
    recipe = FAST.with_changes(epochs=EPOCHS)
    with tempfile.TemporaryDirectory() as folder:
        jobs = plan_jobs([sample], [0], data, recipe, Path(folder), half=True)
        train_all(jobs, data.encoded["train"], data.encoded["dev"], recipe, device="cpu", half=True)
        trained = Model.load(jobs[0].output)
    trained.save(arguments.out, "float16")
    rounded = Model.load(arguments.out)
    about = {**trained.about, "licence": LICENCE}
    for name in ("dev", "test"):
        pairs = load_pairs(getattr(arguments, name))
        about[f"{name}_accuracy"] = accuracy(rounded, sample, pairs)
        about["data"] = {**about["data"], name: {"sha256": pairs.sha256, "pairs": len(pairs)}}
    replace(rounded, about=about).save(arguments.out, "float16")
    print(json.dumps(about, indent=2))


if __name__ == "__main__":
    main()
