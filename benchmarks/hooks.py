"""Time the cost of interventions in a forward pass of a 12-layer encoder.

    python benchmarks/hooks.py [--batch 8] [--tokens 64] [--rounds 5]

The model has the shape of BERT-base and random weights, for time does not depend on them. Plain
passes and passes with the deepest setting (attention and tokens of layer 11, CLS of layer 12, the
sentence; 41 directions in six sites) run in turn, on one thread and in processor time, so that
other load on the machine counts less; the median of the ratios is printed, and how far the logits
of the folded model are from those of the hooks. Prints Markdown.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import transformers

from wordbias.models.adapters import Adapter
from wordbias.models.families import PARTS, head_count, width
from wordbias.models.fingerprint import Fingerprint
from wordbias.models.folding import fold
from wordbias.models.hooks import applied, of_heads
from wordbias.models.sites import PUBLISHED_SITES, locate_all
from wordbias.subspace import Subspace

SETTING = "attn-01010"


def made() -> Any:
    """Return a classifier of BERT-base's shape."""
    torch.manual_seed(0)
    config = transformers.BertConfig(num_labels=3)
    return transformers.BertForSequenceClassification(config).eval()


def adapter_of(model: Any) -> Adapter:
    """Return random subspaces at the published sites."""
    rng = np.random.default_rng(0)

    def one(k: int, d: int) -> Subspace:
        return Subspace(np.linalg.qr(rng.normal(size=(d, k)))[0].T, np.full(k, 0.5))

    heads = head_count(model)
    subspaces = {}
    for place in locate_all(model, PUBLISHED_SITES):
        whole = place.site.kind not in PARTS
        parts = [one(1, width(model) // heads) for _ in range(heads)]
        subspaces[place.site] = one(2, width(model)) if whole else of_heads(parts)
    return Adapter(subspaces, Fingerprint.of(model))


def seconds(work: Callable[[], Any]) -> float:
    """Return the processor time of a call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    torch.set_num_threads(1)
    model = made()
    interventions = adapter_of(model).interventions(SETTING)
    ids = torch.randint(5, 30_000, (given.batch, given.tokens))
    with torch.inference_mode():
        model(ids)
        ratios, plains = [], []
        for _ in range(given.rounds):
            plain = seconds(lambda: model(ids))
            with applied(model, interventions):
                hooked = seconds(lambda: model(ids))
            ratios.append(hooked / plain)
            plains.append(plain)
        with applied(model, interventions):
            expected = model(ids).logits
        switching = seconds(lambda: applied(model, interventions).__enter__())
        folded = fold(made(), interventions)
        with applied(folded.model, [it for it, _ in folded.left]):
            apart = (folded.model(ids).logits - expected).abs().max()
    print("| what | value |\n| --- | ---: |")
    print(
        f"| plain pass, {given.batch} × {given.tokens} tokens | {statistics.median(plains):.3f} s |"
    )
    print(f"| hooked / plain, median of {given.rounds} | {statistics.median(ratios):.3f} |")
    print(f"| lowest and highest | {min(ratios):.3f} … {max(ratios):.3f} |")
    print(f"| putting {len(interventions)} interventions on | {1000 * switching:.2f} ms |")
    print(f"| folded against hooked, largest difference of logits | {float(apart):.1e} |")


if __name__ == "__main__":
    main()
