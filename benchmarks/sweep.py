"""Time all 74 settings against one plain pass of the model, and against hooks setting by setting.

    python benchmarks/sweep.py [--family bert] [--pairs 256] [--rounds 3] [--threads 2]

The model has 12 layers of the shape of BERT-base and random weights, for time does not depend on
them; pairs are random tokens, as many in a batch and as long as those of the NLI data are. The
plain pass and the sweep (74 settings and the model as it is) take turns over the same batches; the
median of the ratios of neighbours is printed, by the clock and by processor time, which a busy
machine changes less. Hooks, a whole pass a setting, are timed once. The largest difference between
the outputs of the sweep and of the hooks is printed too. Prints Markdown.
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

from wordbias.contextual.sweep.forward import Forward, Plan, one_by_one
from wordbias.contextual.sweep.sweep import models_of
from wordbias.models.adapters import Adapter
from wordbias.models.families import PARTS, head_count, layer_count, width
from wordbias.models.fingerprint import Fingerprint
from wordbias.models.hooks import of_heads
from wordbias.models.sites import PUBLISHED_SITES, locate_all
from wordbias.subspace import Subspace


def made(family: str) -> Any:
    """Return a classifier of BERT-base's shape."""
    torch.manual_seed(0)
    shape = {"n_layers": 12} if family == "distilbert" else {}
    if family == "albert":
        shape = {"hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072}
    if family == "electra":
        shape = {"hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072}
    if family == "deberta-v2":
        shape = {"hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072}
        shape |= {"num_hidden_layers": 12, "relative_attention": True, "position_buckets": 256}
        shape |= {"pos_att_type": ["p2c", "c2p"], "share_att_key": True, "vocab_size": 30522}
    config = transformers.AutoConfig.for_model(family, num_labels=3, **shape)
    return transformers.AutoModelForSequenceClassification.from_config(config).eval()


def adapter_of(model: Any) -> Adapter:
    """Return random subspaces at the published sites."""
    rng = np.random.default_rng(0)

    def one(k: int, d: int) -> Subspace:
        return Subspace(np.linalg.qr(rng.normal(size=(d, k)))[0].T, np.full(k, 0.5))

    subspaces = {}
    for place in locate_all(model, PUBLISHED_SITES):
        parts = [one(1, width(model) // head_count(model)) for _ in range(head_count(model))]
        whole = place.site.kind not in PARTS
        subspaces[place.site] = one(2, width(model)) if whole else of_heads(parts)
    return Adapter(subspaces, Fingerprint.of(model))


def batches(pairs: int, size: int, tokens: int) -> list[dict[str, torch.Tensor]]:
    """Return random inputs, without padding, as of pairs of like length."""
    inputs = []
    for start in range(0, pairs, size):
        ids = torch.randint(5, 20_000, (min(size, pairs - start), tokens))
        inputs.append({"input_ids": ids, "attention_mask": torch.ones_like(ids)})
    return inputs


def timed(work: Callable[[], Any]) -> tuple[float, float]:
    """Return the seconds of a call, by the clock and of the processors."""
    clock, used = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - clock, time.process_time() - used


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--family", default="bert")
    parser.add_argument("--pairs", type=int, default=256)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--tokens", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--no-hooks", action="store_true", help="leave out the naive way")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    model = made(given.family)
    plan = Plan.of(models_of(adapter_of(model)), layer_count(model))
    forward = Forward(model, plan)
    data = batches(given.pairs, given.batch, given.tokens)
    ratios: list[tuple[float, float]] = []
    plains: list[float] = []
    with torch.inference_mode():
        model(**data[0])
        forward(data[0])
        for _ in range(given.rounds):
            plain = timed(lambda: [model(**batch) for batch in data])
            swept = timed(lambda: [forward(batch) for batch in data])
            ratios.append((swept[0] / plain[0], swept[1] / plain[1]))
            plains.append(plain[0])
        clock, used = (statistics.median(column) for column in zip(*ratios, strict=True))
        plain_pass = statistics.median(plains)
        print(f"| {given.family}, 12 layers, {given.pairs} × {given.tokens} tokens | value |")
        print("| --- | ---: |")
        print(f"| plain pass | {plain_pass:.2f} s |")
        print(f"| 74 settings / plain, by the clock | {clock:.2f} |")
        print(f"| … by processor time | {used:.2f} |")
        if not given.no_hooks:
            expected: list[Any] = []
            naive = timed(lambda: expected.extend(one_by_one(model, plan, batch) for batch in data))
            logits = [forward(batch) for batch in data]
            apart = max(float((a - b).abs().max()) for a, b in zip(logits, expected, strict=True))
            print(f"| hooks, setting by setting / plain | {naive[0] / plain_pass:.1f} |")
            print(f"| largest difference of logits | {apart:.1e} |")


if __name__ == "__main__":
    main()
