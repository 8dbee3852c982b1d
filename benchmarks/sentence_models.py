"""Compare the vectors of sentence models, and of folders with a label erased, with the library's.

    python benchmarks/sentence_models.py bios_surgeon_nurse.tsv.gz MODEL_FOLDER... --texts 500

For each folder: the smallest cosine of `encode` with `SentenceTransformer.encode`, with the default
prompt and each other one of the model; and, with the column `gender` erased by LEACE, the largest
difference between what sentence-transformers makes with the written folder and what wordbias
computes, and the smallest cosine of `encode` on it. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import wordbias as wb
from wordbias.functions.encode import encode as wb_encode
from wordbias.functions.erase_model import erase_model
from wordbias.models.encoder import Encoder
from wordbias.models.encoding import encode
from wordbias.models.sentence_folder import SentenceVectors
from wordbias.models.texts import Choice, load_texts
from wordbias.progress import set_quiet


def library(folder: Path, texts: list[str], prompt: str | None = None) -> NDArray[np.float32]:
    """Return the vectors by sentence-transformers, with a prompt by its name."""
    from sentence_transformers import SentenceTransformer

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        encoded: Any = SentenceTransformer(str(folder), device="cpu").encode(
            texts, prompt_name=prompt, show_progress_bar=False
        )
    vectors: NDArray[np.float32] = encoded
    return vectors


def smallest_cosine(x: NDArray[np.float32], y: NDArray[np.float32]) -> float:
    """Return the smallest cosine of rows of the same texts."""
    wide, other = x.astype(np.float64), y.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=1) * np.linalg.norm(other, axis=1)
    return float((np.einsum("nd,nd->n", wide, other) / lengths).min())


def compared(folder: Path, file: Path, limit: int) -> list[str]:
    """Return the cells of a model."""
    given = load_texts(file, Choice(limit=limit))
    texts = list(given.texts)
    encoder = Encoder.load(folder, device="cpu")
    prompts = {} if encoder.sentence is None else encoder.sentence.prompts
    first = smallest_cosine(encode(encoder, texts)[-1], library(folder, texts))
    for prompt in prompts:
        with wb.config(device="cpu"):
            ours = wb_encode(folder, texts, layers="last", prompt=prompt)
        first = min(first, smallest_cosine(ours.vectors[-1], library(folder, texts, prompt)))
    columns = {"text": texts, "gender": given.columns["gender"].cells()}
    with tempfile.TemporaryDirectory() as scratch:
        written = Path(scratch) / "erased"
        erased = erase_model(folder, columns, "gender", output=written, device="cpu")
        model = SentenceVectors.of(encoder)
        x = model.job(texts).vectors()[0]
        expected = model.outputs(np.asarray(erased.method.fitted_(x), np.float32))
        theirs = library(written, texts)
        reloaded = encode(Encoder.load(written, device="cpu"), texts)[-1]
    difference = float(np.abs(theirs - expected).max())
    second = smallest_cosine(reloaded, theirs)
    name = folder.resolve()
    title = name.parent.name if name.name == "model" else name.name
    return [title, f"{1 - first:.1e}", f"{difference:.1e}", f"{1 - second:.1e}"]


def main() -> None:
    """Compare the folders and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("texts_file", type=Path)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--texts", type=int, default=500)
    given = parser.parse_args()
    set_quiet(True)
    print("| model | 1 − cosine | difference, written folder | 1 − cosine, written folder |")
    print("| --- | ---: | ---: | ---: |")
    for folder in given.folders:
        print(f"| {' | '.join(compared(folder, given.texts_file, given.texts))} |", flush=True)


if __name__ == "__main__":
    main()
