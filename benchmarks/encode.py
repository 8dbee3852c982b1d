"""Time the encoding of texts, beside the loop that one writes first.

    python benchmarks/encode.py MODEL_FOLDER bios_surgeon_nurse.tsv.gz --texts 1000

The peer reads the texts in the order of the file, 32 at a time, pads each batch to its longest text
and keeps the first token of every layer in memory, of a decoder the last one. Ours sorts by length,
fills batches up to a number of tokens and writes the file. Both use the same model, device,
precision and threads; the model is loaded before. They run in turn, and the median of the ratios is
printed, with the largest difference between their vectors. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from wordbias.devices import set_threads, threads
from wordbias.models.encoder import Encoder
from wordbias.models.encoding import EncodingJob, Settings
from wordbias.models.representations import load_representations
from wordbias.models.resume import encode_to
from wordbias.models.texts import Choice, load_texts
from wordbias.progress import set_quiet

BATCH = 32


def peer(encoder: Encoder, texts: list[str]) -> NDArray[np.float32]:
    """Encode batches of equally many texts in the order of the file; shape (L, n, d)."""
    batches = []
    tokenizer = encoder.tokenizer
    tokenizer.padding_side = "right"
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    for start in range(0, len(texts), BATCH):
        inputs = tokenizer(
            texts[start : start + BATCH],
            padding=True,
            truncation=True,
            max_length=encoder.max_length,
            return_tensors="pt",
        ).to(encoder.device)
        with torch.inference_mode():
            states = encoder.model(**inputs, output_hidden_states=True).hidden_states
        places = inputs["attention_mask"].sum(1) - 1 if encoder.causal else 0
        rows = torch.arange(len(states[0]), device=encoder.device)
        batches.append(torch.stack([state[rows, places] for state in states]).float().cpu().numpy())
    return np.concatenate(batches, axis=1)


def ours(encoder: Encoder, texts: list[str], path: Path, tokens: int) -> NDArray[np.float32]:
    """Encode into a file."""
    path.unlink(missing_ok=True)
    settings = Settings(pooling="last" if encoder.causal else "first")
    job = EncodingJob.of(encoder, texts, settings=settings)
    encode_to(path, job, {}, {}, batch_tokens=tokens)
    return load_representations(path).vectors


def timed(work: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    """Return the seconds and the result of a call."""
    start = time.perf_counter()
    returned = work(*arguments)
    return time.perf_counter() - start, returned


def main() -> None:
    """Run both in turn and print what they took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("data")
    parser.add_argument("--texts", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--device")
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--batch-tokens", type=int, nargs="+", default=[2048])
    given = parser.parse_args()
    set_quiet(True)
    set_threads(given.threads)
    torch.set_num_threads(threads())
    encoder = Encoder.load(given.model, device=given.device, precision=given.precision)
    texts = list(load_texts(given.data, Choice(limit=given.texts)).texts)
    peer(encoder, texts[:BATCH])
    print(
        f"{len(texts)} texts, {encoder.layers + 1} layers, {threads()} threads, {encoder.device}, "
        f"{encoder.precision}, torch {torch.__version__}\n"
    )
    print("| tokens in a batch | peer, texts/s | wordbias, texts/s | ratio | difference |")
    print("|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for tokens in given.batch_tokens:
            rounds = []
            for _ in range(given.rounds):
                theirs, expected = timed(peer, encoder, texts)
                own, vectors = timed(ours, encoder, texts, Path(folder) / "found.st", tokens)
                rounds.append((theirs, own, np.abs(vectors - expected).max()))
            theirs, own = (statistics.median(r[i] for r in rounds) for i in (0, 1))
            ratio = statistics.median(a / b for a, b, _ in rounds)
            gap = max(r[2] for r in rounds)
            print(
                f"| {tokens} | {len(texts) / theirs:.1f} | {len(texts) / own:.1f} | {ratio:.2f} "
                f"| {gap:.1e} |"
            )


if __name__ == "__main__":
    main()
