"""Time the training of a coreference model, beside spans that are put together one by one.

    python benchmarks/coreference.py MODEL_FOLDER ontogum.train.conll.gz --documents 8
    python benchmarks/coreference.py MODEL_FOLDER ontogum.train.conll.gz --winobias winobias/
    python benchmarks/coreference.py MODEL_FOLDER ontogum.train.conll.gz --joined 5 50
    python benchmarks/coreference.py MODEL_FOLDER ontogum.train.conll.gz --precisions

The peer scores mentions as published code does: it builds the vector of every span, with a softmax
over all word pieces of the document, and multiplies it by the first layer. Ours multiplies each
piece once and adds up. Each runs in a process of its own, on the same documents, in turn. Prints a
Markdown table: seconds of a training step and of prediction, in processor time of all threads; peak
memory beyond the loaded model; and the loss of the first document without dropout, which is the
same.

With --winobias it prints the time of a sentence in prediction instead. With --joined N M it prints
the peak memory of whole processes, of N documents put together for training and prediction, and of
M for prediction. With --precisions it prints the time of a training step whose encoder multiplies
in float32 and in bfloat16.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import MethodType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from wordbias.coreference.documents import Document
from wordbias.coreference.experiment import predict_sentences
from wordbias.coreference.model import Settings, SpanRanker
from wordbias.coreference.reading import read_documents
from wordbias.coreference.resolver import Coreference
from wordbias.coreference.segments import Segmented
from wordbias.coreference.training import Recipe, Task
from wordbias.devices import set_threads, threads
from wordbias.progress import set_quiet
from wordbias.stereotypes.winobias import load_winobias

NAMES = ("wordbias", "peer")


def plain_scores(
    ranker: SpanRanker, x: Tensor, document: Segmented, start: Any, end: Any, width: Tensor
) -> Tensor:
    """Score all spans by their whole vectors, as `SpanRanker.mention_scores` does by parts."""
    first = torch.from_numpy(document.first[start])  # (S,)
    last = torch.from_numpy(document.last[end - 1])  # (S,)
    piece = torch.arange(len(x))  # (P,)
    outside = (piece < first[:, None]) | (piece > last[:, None])  # (S, P)
    logits = ranker.attention(x)[:, 0].expand(len(first), -1)  # (S, P)
    head = logits.masked_fill(outside, -torch.inf).softmax(1) @ x  # (S, d)
    g = torch.cat([x[first], x[last], head, width], 1)  # (S, g)
    maps = ranker.mention_start, ranker.mention_end, ranker.mention_head, ranker.mention_width
    weight = torch.cat([layer.weight for layer in maps], 1)  # (h, g)
    hidden = torch.nn.functional.linear(g, weight, ranker.mention_start.bias).relu()  # (S, h)
    prior = ranker.dropout(ranker.width_hidden(ranker.width_prior.weight).relu())  # (width, h)
    of_width: Tensor = ranker.width_score(prior)[:, 0]  # (width,)
    score: Tensor = ranker.mention_score(ranker.dropout(hidden))[:, 0]  # (S,)
    return score + of_width[torch.from_numpy(end - start - 1)]


def measured(
    name: str, folder: str, documents: list[Document], hidden: int, count: int, half: bool = False
) -> Any:
    """Return what a side takes: seconds of each step and prediction, MB, and the first loss."""
    set_quiet(True)
    set_threads(count)
    torch.set_num_threads(count)
    model = Coreference.new(folder, Settings(hidden=hidden), device="cpu")
    ranker = model.ranker
    if name == NAMES[1]:
        ranker.mention_scores = MethodType(plain_scores, ranker)  # type: ignore[method-assign]
    with torch.no_grad():
        read = model.segmenter.cut(documents[0])
        loss = float(ranker.loss(ranker(read), read.clusters))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    task = Task(model, documents, documents[:1], Recipe(epochs=2, half=half))
    ranker.train()
    steps, start = [], time.process_time()
    for epoch in range(2):
        for losses in task.losses(epoch):
            task.optimizer.zero_grad(set_to_none=True)
            losses.sum().backward()  # type: ignore[no-untyped-call]
            task.optimizer.step()
            steps.append(time.process_time() - start)
            start = time.process_time()
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    start = time.process_time()
    model.predict(documents)
    predicted = (time.process_time() - start) / len(documents)
    return statistics.median(steps[len(documents) :]), predicted, peak, loss


def sentence_time(folder: str, winobias: str, hidden: int, count: int) -> tuple[int, float]:
    """Return the number of sentences of WinoBias, and the processor time of one in prediction."""
    set_quiet(True)
    set_threads(count)
    model = Coreference.new(folder, Settings(hidden=hidden), device="cpu")
    sentences = load_winobias(winobias)
    predict_sentences(model, sentences[:32])
    start = time.process_time()
    predict_sentences(model, sentences)
    return len(sentences), (time.process_time() - start) / len(sentences)


def joined(documents: Sequence[Document]) -> Document:
    """Put documents together to one."""
    clusters, before = [], 0
    for document in documents:
        clusters += [
            tuple((a + before, b + before) for a, b in cluster) for cluster in document.clusters
        ]
        before += len(document.tokens)
    sentences = [sentence for part in documents for sentence in part.sentences]
    return Document("joined", tuple(sentences), tuple(clusters))


def as_bert_base(folder: str, made: str) -> None:
    """Write an encoder of the size of BERT-base with random weights, and the same tokenizer."""
    from transformers import AutoTokenizer, BertConfig, BertModel

    tokenizer = AutoTokenizer.from_pretrained(folder)
    BertModel(BertConfig(vocab_size=len(tokenizer))).save_pretrained(made)
    tokenizer.save_pretrained(made)


def peak(folder: str, document: Document, window: int | None, hidden: int, count: int) -> float:
    """Return the peak memory in MB of two steps of training, or of prediction without a window."""
    set_quiet(True)
    set_threads(count)
    torch.set_num_threads(count)
    model = Coreference.new(folder, Settings(hidden=hidden), device="cpu")
    if window is None:
        model.predict([document])
    else:
        task = Task(model, [document], [document], Recipe(epochs=2, window=window))
        model.ranker.train()
        for epoch in range(2):
            for losses in task.losses(epoch):
                task.optimizer.zero_grad(set_to_none=True)
                losses.sum().backward()  # type: ignore[no-untyped-call]
                task.optimizer.step()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def in_process(function: Any, *given: Any) -> Any:
    """Call a function in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, given)


def print_peaks(folder: str, data: str, numbers: Sequence[int], hidden: int, count: int) -> None:
    """Print the table of peak memory."""
    every = read_documents(data)
    short, long = (joined(every[:number]) for number in numbers)
    window = Recipe().window
    with tempfile.TemporaryDirectory() as large:
        as_bert_base(folder, large)
        trained = f"training on a document of {len(short.tokens):,} tokens, in windows of"
        lines = [
            (f"{trained} {window:,} word pieces", folder, short, window),
            ("… with an encoder of the size of BERT-base", large, short, window),
            ("… without windows", folder, short, 1 << 30),
            ("prediction for the same document", folder, short, None),
            (f"prediction for a document of {len(long.tokens):,} tokens", folder, long, None),
        ]
        print("| | MB |\n| --- | ---: |")
        for title, encoder, document, pieces in lines:
            memory = in_process(peak, encoder, document, pieces, hidden, count)
            print(f"| {title} | {memory:,.0f} |", flush=True)


def print_precisions(folder: str, documents: list[Document], hidden: int, count: int) -> None:
    """Print the table of training steps whose encoder multiplies in float32 and in bfloat16."""
    print("| training step | float32 | bfloat16 | ratio |\n| --- | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as large:
        as_bert_base(folder, large)
        for title, encoder in ((Path(folder).name, folder), ("of the size of BERT-base", large)):
            call = NAMES[0], encoder, documents, hidden, count
            single, half = (in_process(measured, *call, half)[0] for half in (False, True))
            print(f"| {title} | {single:.2f} s | {half:.2f} s | {single / half:.1f}× |", flush=True)


def main() -> None:
    """Run both in turn and print what they took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("data")
    parser.add_argument("--documents", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--hidden", type=int, default=1000)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--winobias", metavar="FOLDER")
    parser.add_argument("--precisions", action="store_true")
    parser.add_argument("--joined", type=int, nargs=2, metavar=("N", "M"))
    given = parser.parse_args()
    count = given.threads or threads()
    if given.winobias:
        call = given.model, given.winobias, given.hidden, count
        n, seconds = in_process(sentence_time, *call)
        print(f"{n:,} sentences of WinoBias, {count} threads: {1000 * seconds:.1f} ms each")
        return
    if given.joined:
        print_peaks(given.model, given.data, given.joined, given.hidden, count)
        return
    documents = read_documents(given.data)[: given.documents]
    if given.precisions:
        print_precisions(given.model, documents, given.hidden, count)
        return
    runs: dict[str, list[Any]] = {name: [] for name in NAMES}
    for _ in range(given.rounds):
        for name, several in runs.items():
            several.append(in_process(measured, name, given.model, documents, given.hidden, count))
    ours, peer = (np.median(np.array(runs[name]), axis=0) for name in NAMES)
    tokens = sum(len(document.tokens) for document in documents) / len(documents)
    print(f"{len(documents)} documents of {tokens:,.0f} tokens on average, {count} threads\n")
    print("| | wordbias | peer | ratio |\n| --- | ---: | ---: | ---: |")
    for i, title in enumerate(("training step of a document", "prediction of a document")):
        print(f"| {title} | {ours[i]:.2f} s | {peer[i]:.2f} s | {peer[i] / ours[i]:.1f}× |")
    print(f"| … tokens in a second | {tokens / ours[1]:,.0f} | {tokens / peer[1]:,.0f} |  |")
    print(f"| peak memory beyond the model | {ours[2]:,.0f} MB | {peer[2]:,.0f} MB |  |")
    print(f"| loss of the first document | {ours[3]:.4f} | {peer[3]:.4f} |  |")


if __name__ == "__main__":
    main()
