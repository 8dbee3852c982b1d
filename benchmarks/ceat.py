"""Time CEAT on vectors, and the search for words in sentences, beside plain loops.

    python benchmarks/ceat.py [SENTENCES] [--column NAME]

Vectors are random: 32 words of 1,000 sentences, 768 dimensions. Ours is everything that `wordbias
ceat` does once words are encoded: unit vectors, 10,000 draws, their effect sizes, the random
effects and the spread over sentences. The peer is the loop that one writes first, which is also how
the released code counts: draw after draw, word after word, `scipy`'s cosine for every pair of
words, and every association once for the means and once for the deviation; it computes effect sizes
only, on few draws, and its time is scaled. Ours and the peer run in turn. With SENTENCES, a file as
for `wordbias ceat`, the search for the words of all ten stimuli is timed beside one regular
expression of all words (read once, in memory). Prints Markdown tables.
"""

from __future__ import annotations

import argparse
import re
import statistics
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cosine

from wordbias.probes.ceat import Contexts, associate
from wordbias.probes.ceat.association import draw_places, drawn_effects
from wordbias.probes.ceat.sentences import Scanner, find_sentences, read_sentences
from wordbias.progress import set_quiet
from wordbias.wordlists.queries import as_queries

DRAWS, SET, SENTENCES, DIM = 10_000, 8, 1_000, 768
PEER_DRAWS = 20
ROUNDS = 5
Word = NDArray[np.float32]


def made() -> list[list[Word]]:
    """Return four sets of random words, each with another mean."""
    rng = np.random.default_rng(0)
    return [
        [
            rng.standard_normal(DIM, np.float32) + rng.standard_normal((SENTENCES, DIM), np.float32)
            for _ in range(SET)
        ]
        for _ in range(4)
    ]


def plain_loop(sets: list[list[Word]], places: NDArray[np.intp]) -> list[float]:
    """Return effect sizes by the definition."""

    def s(w: Word, a: list[Word], b: list[Word]) -> float:
        return float(
            np.mean([1 - cosine(w, v) for v in a]) - np.mean([1 - cosine(w, v) for v in b])
        )

    effects = []
    for row in places:
        chosen = iter(row)
        x, y, a, b = ([word[next(chosen)] for word in words] for words in sets)
        gap = np.mean([s(w, a, b) for w in x]) - np.mean([s(w, a, b) for w in y])
        effects.append(float(gap / np.std([s(w, a, b) for w in x + y], ddof=1)))
    return effects


def seconds(work: Callable[[], object]) -> float:
    """Time one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def print_draws() -> None:
    """Time draws."""
    sets = made()
    contexts = Contexts.of(sets)
    places = draw_places(contexts.counts, PEER_DRAWS, np.random.default_rng(1))
    difference = np.abs(drawn_effects(contexts, places).effects - plain_loop(sets, places)).max()
    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours.append(seconds(lambda: associate(Contexts.of(sets), draws=DRAWS)))
        theirs.append(seconds(lambda: plain_loop(sets, places)) * DRAWS / PEER_DRAWS)
    fast, slow = statistics.median(ours), statistics.median(theirs)
    print(f"| {DRAWS:,} draws, {4 * SET} words × {SENTENCES:,} × {DIM} | seconds | ratio |")
    print("| --- | ---: | ---: |")
    print(f"| wordbias, with intervals and p | {fast:.2f} | 1 |")
    print(
        f"| plain loop, effect sizes alone, from {PEER_DRAWS} draws | {slow:.0f} "
        f"| {slow / fast:.0f} |"
    )
    print(f"\nLargest difference between the effect sizes of both: {difference:.1e}\n")


def print_search(path: str, column: str | None) -> None:
    """Time the search for words."""
    queries = as_queries("all")
    words = sorted({w for q in queries for _, ws in (*q.targets, *q.attributes) for w in ws})
    texts = list(read_sentences(path, column))
    scan, pattern = (
        Scanner(words),
        re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, words))})(?!\w)"),
    )
    works: dict[str, Callable[[], object]] = {
        "one regular expression": lambda: [pattern.findall(text) for text in texts],
        "wordbias, places of words": lambda: [list(scan(text)) for text in texts],
        "wordbias, sentences drawn and kept": lambda: find_sentences(texts, words),
        "wordbias, from the file": lambda: find_sentences(read_sentences(path, column), words),
    }
    times = {name: [seconds(work) for _ in range(ROUNDS)] for name, work in works.items()}
    middle = {name: statistics.median(durations) for name, durations in times.items()}
    first = next(iter(middle.values()))
    print(f"| {len(texts):,} lines, {len(words)} words | lines/s | times as fast |")
    print("| --- | ---: | ---: |")
    for name, value in middle.items():
        print(f"| {name} | {len(texts) / value:,.0f} | {first / value:.1f} |")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sentences", nargs="?")
    parser.add_argument("--column")
    given = parser.parse_args()
    set_quiet(True)
    print_draws()
    if given.sentences:
        print_search(given.sentences, given.column)


if __name__ == "__main__":
    main()
