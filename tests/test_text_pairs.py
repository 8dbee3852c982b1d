"""Pairs of texts: a data set is one entry of the table of layouts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from wordbias.contextual.labelled_pairs import load_labelled
from wordbias.errors import WordbiasError
from wordbias.nli.pairs import load_pairs
from wordbias.probes.sentence_tasks import load_text_pairs
from wordbias.text_pairs import INFERENCE, LAYOUTS, RATED, Layout, read_pairs


def test_a_data_set_is_one_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read by all that read inferences, in every form."""
    words = {"SUPPORTS": "entailment", "REFUTES": "contradiction", "NOT ENOUGH INFO": "neutral"}
    fever = Layout(INFERENCE, ("evidence",), ("claim",), ("verdict",),
                   {word.lower(): label for word, label in words.items()})  # fmt: skip
    rows = [("SUPPORTS", "It is red.", "It has a colour."), ("NOT ENOUGH INFO", "A.", "B.")]
    path = tmp_path / "fever.jsonl"
    keys = ("verdict", "evidence", "claim")
    path.write_text("".join(json.dumps(dict(zip(keys, row, strict=True))) + "\n" for row in rows))
    table = tmp_path / "fever.csv"
    table.write_text("id,claim,evidence,verdict\n1,It has a colour.,It is red.,SUPPORTS\n"
                     "2,B.,A.,not enough info\n")  # fmt: skip
    with pytest.raises(WordbiasError, match="line 1: has no columns 'label', 'premise', 'hypo"):
        load_pairs(path)
    monkeypatch.setattr("wordbias.text_pairs.LAYOUTS", [*LAYOUTS, fever])
    for source in (path, table):
        labelled = load_labelled("nli", source)
        assert labelled.pairs == [("It is red.", "It has a colour."), ("A.", "B.")]
        assert [labelled.names[i] for i in labelled.labels] == ["entailment", "neutral"]
        tokens = load_pairs(source)
        assert tokens.premises[0] == ("It", "is", "red", ".")
        np.testing.assert_array_equal(tokens.labels, labelled.labels)
    path.write_text(path.read_text().replace("SUPPORTS", "PERHAPS"))
    with pytest.raises(WordbiasError, match="unknown label 'PERHAPS'; expected one of entailment"):
        load_pairs(path)


def test_a_data_set_of_ratings_is_one_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "mine.tsv"
    rows = ["id\tleft\tright\tgold", *(f"{i}\tA {i}.\tB {i}.\t{i % 3}" for i in range(9))]
    path.write_text("\n".join(rows))
    with pytest.raises(WordbiasError, match="has the columns id, left, right, gold; expected"):
        load_text_pairs(path)
    entry = Layout(RATED, ("left",), ("right",), ("gold",))
    monkeypatch.setattr("wordbias.text_pairs.LAYOUTS", [*LAYOUTS, entry])
    pairs = load_text_pairs(path)
    assert pairs.first[:2] == ("A 0.", "A 1.")
    assert pairs.ratings is not None
    assert pairs.ratings.tolist() == [0, 1, 2] * 3


def test_anli_and_data_sets_of_hugging_face(tmp_path: Path) -> None:
    path = tmp_path / "anli.jsonl"
    row = {"uid": "1", "context": "A.", "hypothesis": "B.", "label": "e", "reason": ""}
    path.write_text(json.dumps(row))
    assert list(read_pairs(path, INFERENCE)) == [("entailment", "A.", "B.")]
    datasets = pytest.importorskip("datasets")
    names = datasets.ClassLabel(names=["entailment", "neutral", "contradiction"])
    text = datasets.Value("string")
    features = datasets.Features({"premise": text, "hypothesis": text, "label": names})
    columns = {"premise": ["A.", "C."], "hypothesis": ["B.", "D."], "label": [1, -1]}
    labelled = load_labelled("nli", datasets.Dataset.from_dict(columns, features=features))
    assert labelled.pairs == [("A.", "B.")]
    assert (labelled.labels.tolist(), labelled.dropped) == ([0], 1)
