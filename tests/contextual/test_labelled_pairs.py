"""Labelled pairs: inferences, next sentences, and pairs drawn from running text."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordbias.contextual.labelled_pairs import NEXT, from_documents, load_inferences, load_labelled
from wordbias.errors import WordbiasError
from wordbias.nli.pairs import LABELS, load_pairs

DOCUMENTS = st.lists(st.integers(1, 6), min_size=2, max_size=8).map(
    lambda sizes: [[f"{i}.{j}" for j in range(size)] for i, size in enumerate(sizes)]
)


@given(DOCUMENTS, st.integers(0, 5))
def test_a_sentence_is_followed_by_its_next_or_by_one_of_another_document(
    documents: list[list[str]], seed: int
) -> None:
    pairs, labels = from_documents(documents, seed)
    assert [first for first, _ in pairs] == [sentence for doc in documents for sentence in doc[:-1]]
    for (first, second), label in zip(pairs, labels, strict=True):
        document, place = map(int, first.split("."))
        if label == 0:
            assert second == f"{document}.{place + 1}"
        else:
            assert second.split(".")[0] != str(document)


@given(st.integers(4, 12), st.integers(0, 5))
def test_in_a_single_document_it_is_another_sentence(size: int, seed: int) -> None:
    pairs, labels = from_documents([[str(i) for i in range(size)]], seed)
    for (first, second), label in zip(pairs, labels, strict=True):
        assert (int(second) == int(first) + 1) == (label == 0)
        assert first != second


def test_every_other_sentence_can_be_drawn_and_half_are_next() -> None:
    documents = [["a", "b"], ["c"], ["d", "e"]]
    drawn = [from_documents(documents, seed) for seed in range(400)]
    seconds = {pairs[0][1] for pairs, labels in drawn if labels[0] == 1}
    assert seconds == {"c", "d", "e"}
    share = np.mean([labels for _, labels in drawn])
    assert abs(share - 0.5) < 4 * 0.5 / np.sqrt(800)  # four standard errors


def test_running_text(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("\n\nOne.\nTwo.\n\n\nThree.\nFour.\nFive.\n\n")
    read = load_labelled("nsp", path, 3)
    assert read.names == NEXT == ("is_next", "not_next")
    assert [first for first, _ in read.pairs] == ["One.", "Three.", "Four."]
    assert read.to_dict()["kind"] == "running text, 2 documents, seed 3"
    assert load_labelled("nsp", path, 3).pairs == read.pairs
    others = [load_labelled("nsp", path, seed).pairs for seed in range(8)]
    assert any(pairs != read.pairs for pairs in others)


def test_labelled_pairs(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("label\tfirst\tsecond\nis_next\ta\tb\n\nNOT_NEXT\tc\td\n")
    read = load_labelled("nsp", path)
    assert read.pairs == [("a", "b"), ("c", "d")]
    assert read.labels.tolist() == [0, 1]
    assert read.head(1).pairs == [("a", "b")]
    assert len(read.head(None)) == 2


def test_inferences(tmp_path: Path) -> None:
    path = tmp_path / "nli.tsv"
    path.write_text("neutral\ta\tb\n-\tc\td\ncontradiction\te\tf\n")
    read = load_labelled("nli", path)
    assert read.names == LABELS
    assert read.pairs == [("a", "b"), ("e", "f")]
    assert read.to_dict() == {
        "path": str(path),
        "sha256": read.sha256,
        "kind": "inferences",
        "pairs": 2,
        "dropped": 1,
        "labels": {"neutral": 1, "entailment": 0, "contradiction": 1},
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("One.\n\nTwo.\n", "no two sentences follow each other"),
        ("", "no two sentences follow each other"),
        (
            "is_next\ta\tb\nnext\tc\td\n",
            "line 2: unknown label 'next'; expected one of is_next, not_next",
        ),
        ("is_next\ta\t\n", "line 1: has no 'second'"),
    ],
)
def test_bad_files(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.txt"
    path.write_text(text)
    with pytest.raises(WordbiasError, match=message):
        load_labelled("nsp", path)


def test_inferences_are_those_of_the_tokenising_reader(shared_data: Path) -> None:
    path = shared_data / "nli" / "snli_test.tsv.gz"
    texts, tokens = load_inferences(path), load_pairs(path)
    assert (len(texts), texts.dropped, texts.sha256) == (len(tokens), tokens.dropped, tokens.sha256)
    np.testing.assert_array_equal(texts.labels, tokens.labels)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        raw = Counter(line.rstrip("\n").split("\t")[1] for line in file)
    assert all(raw[premise] for premise, _ in texts.pairs[:500])


def test_inferences_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("-\tA.\tB.\n")
    with pytest.raises(WordbiasError, match="holds no labelled pair among 1 without a label"):
        load_inferences(tmp_path / "a.tsv")
    (tmp_path / "b.tsv").write_text("perhaps\tA.\tB.\n")
    with pytest.raises(WordbiasError, match=r"b\.tsv: line 1: unknown label 'perhaps'"):
        load_inferences(tmp_path / "b.tsv")
