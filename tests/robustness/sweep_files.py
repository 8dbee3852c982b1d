"""Two tiny models and the small files of a sweep."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import small_word_lists
import tiny_encoders

from wordbias.models.sentence_pairs import sentence_pairs

HEADER = (
    "context_id,context,next_sentence,label,gender,gender_swapped_context,"
    "gender_swapped_next_sentence"
)
FOLLOWING = (
    ("stereotype", "She cooked.", "He cooked."),
    ("anti-stereotype", "She drove.", "He drove."),
    ("unrelated", "Tea is hot.", "Tea is hot."),
)
SNLI = """neutral\tThe man ate.\tThe man ate a pie.
entailment\tThe nurse saw the car.\tThe nurse saw a car.
contradiction\tTea is hot.\tTea is cold.
"""
OCCUPATIONS = "nurse baker"


def write(folder: Path) -> dict[str, Path]:
    """Write all of it; return where what is."""
    names = ("nsp", "nli", "gsss.csv", "snli.tsv", "lists")
    paths = {name.partition(".")[0]: folder / name for name in names}
    rows = [HEADER]
    for i, thing in enumerate(("hat", "cow", "cup", "pie")):
        rows += [
            f"{i},The woman saw a {thing}.,{text},{label},F,The man saw a {thing}.,{other}"
            for label, text, other in FOLLOWING
        ]
    paths["gsss"].write_text("\n".join(rows) + "\n")
    paths["snli"].write_text(SNLI)
    small_word_lists.write(paths["lists"], OCCUPATIONS)
    texts = [text for pair in sentence_pairs() for text in pair]
    words = tiny_encoders.words_of(
        *texts, *rows, SNLI, *small_word_lists.words(OCCUPATIONS), "the a an ."
    )
    tokenizer, size = tiny_encoders.make_tokenizer(words), len(set(words)) + 5
    nli: dict[str, Any] = {"id2label": {0: "contradiction", 1: "entailment", 2: "neutral"}}
    for name, purpose, more in (
        ("nsp", "NextSentencePrediction", {"num_labels": 2}),
        ("nli", "SequenceClassification", nli),
    ):
        model = tiny_encoders.build("bert", purpose, vocabulary=size, **more)
        tiny_encoders.save(model, tokenizer, paths[name])
    return paths


def arguments(files: dict[str, Path]) -> list[object]:
    """Return the command line of a sweep over them, but for its options."""
    return [
        "sweep", files["nsp"], "--stereoset", files["gsss"], "--nli", files["nli"],
        "--snli", files["snli"], "--lists", files["lists"], "--top", 0.5,
    ]  # fmt: skip
