"""Time log-likelihoods in batches against a loop of single texts.

python benchmarks/likelihood.py MODEL --crows-pairs FILE --bbq FILE [--items 40]

Both score the same items with the same model, alternately, and print a line of the table in
`benchmarks/README.md`: seconds of the processor on one thread, which a busy machine changes less
than those of the clock. The loop runs the model once for each sentence and each answer, as programs
without batches do, and takes the logarithms with torch's own log_softmax.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence

import numpy as np
import torch

from wordbias.devices import set_threads
from wordbias.models.causal_model import CausalModel, Float, Tokens
from wordbias.stereotypes.bbq import UNKNOWN, load_bbq
from wordbias.stereotypes.crows_pairs import parse_crows_pairs
from wordbias.text_files import read_text


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model")
    parser.add_argument("--crows-pairs", required=True)
    parser.add_argument("--bbq", required=True)
    parser.add_argument("--items", type=int, default=40)
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    set_threads(1)
    model = CausalModel.load(given.model, device="cpu")
    pairs = parse_crows_pairs(read_text(given.crows_pairs)).pairs[: given.items]
    model.score_texts(["The first run reads the weights."])
    sentences = model.texts([text for pair in pairs for text in (pair.more, pair.less)])
    questions = load_bbq(given.bbq).questions[: given.items]
    for name, answers in (("three answers", ()), ("13 answers", UNKNOWN)):
        continuations = model.continuations(
            [
                (question.prompt, f" {text}")
                for question in questions
                for text in (*question.answers, *answers)
            ]
        )
        measured(model, continuations, f"BBQ, {len(questions)} questions, {name}", given.repeat)
    measured(model, sentences, f"CrowS-Pairs, {len(sentences)} sentences", given.repeat)


def measured(model: CausalModel, tokens: Sequence[Tokens], what: str, repeat: int) -> None:
    """Time both alternately, and print the medians and the largest difference."""
    seconds: dict[str, list[float]] = {"batches": [], "loop": []}
    ways: dict[str, Callable[[], Float]] = {
        "batches": lambda: model.score(tokens).total,
        "loop": lambda: loop(model, tokens),
    }
    scores: dict[str, Float] = {}
    for _ in range(repeat):
        for name, way in ways.items():
            start = time.process_time()
            scores[name] = way()
            seconds[name].append(time.process_time() - start)
    ours, theirs = (statistics.median(seconds[name]) for name in ways)
    difference = np.abs(scores["batches"] - scores["loop"]).max()
    print(
        f"| {what} | {ours:.2f} s | {theirs:.2f} s | {theirs / ours:.1f}× | {difference:.0e} |",
        flush=True,
    )


def loop(model: CausalModel, tokens: Sequence[Tokens]) -> Float:
    """Score one text after the other."""
    scores = []
    with torch.inference_mode():
        for text in tokens:
            ids = torch.tensor([text.ids])
            log_p = model.model(input_ids=ids).logits[0].float().log_softmax(-1)
            places = torch.arange(text.given - 1, len(text.ids) - 1)
            scores.append(float(log_p[places, ids[0, text.given :]].double().sum()))
    return np.array(scores)


if __name__ == "__main__":
    main()
