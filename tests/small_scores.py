"""Small files for the scores of a coreference system: gold documents, GAP, what a system found."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import small_likelihood

from wordbias.coreference.documents import Document
from wordbias.coreference.pronouns import PronounSentences, winogender_sentences
from wordbias.coreference.writing import conll_lines, json_lines
from wordbias.stereotypes.winobias import tokens
from wordbias.stereotypes.winogender import load_winogender

_WORDS = ("Ann", "said", "that", "she", "saw", "Eve", ",", "and", "Eve", "saw", "her", ".")
_GAP = (
    ("Ann", "Eve", "she", "{a} met {b} before {p} left."),
    ("Bob", "Joe", "he", "{a} met {b} before {p} left."),
    ("Ann", "Eve", "her", "{a} sold {b} the house of {p} aunt."),
    ("Bob", "Joe", "his", "{a} sold {b} the house of {p} aunt."),
)
_HEAD = "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL\n"


def gold(path: Path) -> None:
    """Write four documents with two clusters each."""
    clusters = (((0, 1), (3, 4), (10, 11)), ((5, 6), (8, 9)))
    documents = [Document(f"d{i}", (_WORDS,), clusters) for i in range(4)]
    path.write_text("".join(conll_lines(documents)), encoding="utf-8")


def found(path: Path) -> None:
    """Write what a system found in them, which misses a mention in each, and once a cluster."""
    documents = [
        Document(
            f"d{i}", (_WORDS,), (((0, 1), (3, 4)), ((5, 6), (8 + 2 * (i % 2), 9 + 2 * (i % 2))))
        )
        for i in range(3)
    ]
    documents.append(Document("d3", (_WORDS,)))
    path.write_text("".join(conll_lines(documents)), encoding="utf-8")


def gap(path: Path) -> None:
    """Write twelve texts in the columns of GAP; every third time no name is the antecedent."""
    lines = []
    for i in range(12):
        a, b, pronoun, form = _GAP[i % 4]
        text = form.format(a=a, b=b, p=pronoun)
        right = ("TRUE\tFALSE", "FALSE\tTRUE", "FALSE\tFALSE")[i % 3].split("\t")
        places = [str(text.index(name)) for name in (f" {pronoun} ", a, b)]
        cells = (f"t-{i}", text, pronoun, str(int(places[0]) + 1), a, places[1], right[0])
        lines.append("\t".join((*cells, b, places[2], right[1], "http://example.org")))
    path.write_text(_HEAD + "\n".join(lines) + "\n", encoding="utf-8")


def answers(path: Path) -> None:
    """Write a system's answers: always A, and in one text none."""
    lines = [f"t-{i}\t{'FALSE' if i == 4 else 'TRUE'}\tFALSE\n" for i in range(12)]
    path.write_text("".join(lines), encoding="utf-8")


def pronouns_found(path: Path) -> None:
    """Write clusters in the sentences of the small Winogender: *they* is never resolved."""
    with tempfile.TemporaryDirectory() as folder:
        small_likelihood.winogender(Path(folder))
        data = winogender_sentences(load_winogender(folder))
    path.write_text("".join(json_lines(resolved(data))), encoding="utf-8")


def resolved(data: PronounSentences) -> list[Document]:
    """Resolve each pronoun to the right person, but not *they*, nor *she* to the occupation."""
    documents = []
    for sentence, document in zip(data.sentences, data.documents, strict=True):
        wrong = sentence.pronouns == "she" and sentence.template[-1] == "occupation"
        places = [span for _, span in tokens(sentence.text)]
        pronoun, person = (places.index(s) for s in (sentence.pronoun, sentence.people[wrong]))
        cluster = tuple(sorted(((pronoun, pronoun + 1), (person - 1, person + 1))))
        documents.append(
            replace(document, clusters=() if sentence.pronouns == "they" else (cluster,))
        )
    return documents
