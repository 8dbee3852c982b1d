"""`wordbias.ceat`: models, sentences, stimuli and vectors as files and in memory."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_encoders import build, make_tokenizer, save, words_of

from wordbias.columns import Column
from wordbias.errors import WordbiasError
from wordbias.functions.ceat import ceat
from wordbias.functions.encode import encode
from wordbias.models.encoder import Encoder
from wordbias.models.representations import Representations
from wordbias.reports import Report
from wordbias.wordlists.queries import Query

pytestmark = pytest.mark.usefixtures("one_thread")

STIMULI = {
    "targets": {"men": ["john", "bill"], "women": ["amy", "ann"]},
    "attributes": {"career": ["office", "salary"], "family": ["home", "wedding"]},
}
WORDS = [word for sets in STIMULI.values() for words in sets.values() for word in words]
FILLERS = ("he", "she", "the", "saw", "of", "in", "at", "a")
MINE = (
    "[sets]\n"
    + "".join(
        f"{name} = {json.dumps(words)}\n" for s in STIMULI.values() for name, words in s.items()
    )
    + '[queries."men/women × career/family"]\n'
    + "".join(f"{key} = {json.dumps(list(sets))}\n" for key, sets in STIMULI.items())
)


@pytest.fixture(scope="module")
def sentences() -> list[str]:
    pick = random.Random(0)
    return [
        " ".join([*pick.choices(FILLERS, k=2), word, *pick.choices(FILLERS, k=2)])
        for word in WORDS
        for _ in range(6)
    ]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("ceat") / "tiny"
    save(build("bert", "Model"), make_tokenizer(words_of(*WORDS, *FILLERS)), folder)
    return folder


@pytest.fixture
def reps() -> Representations:
    cells = [word for word in WORDS for _ in range(5)]
    vectors = np.random.default_rng(0).standard_normal((2, len(cells), 6)).astype(np.float32)
    return Representations(vectors, (0, 5), {"word": Column.of(cells)}, {}, "words")


def rows(report: Report) -> Any:
    return json.loads(json.dumps(report.to_dict()["rows"]))


def test_files_and_what_is_in_memory_give_the_same(
    model: Path, sentences: list[str], tmp_path: Path
) -> None:
    pandas = pytest.importorskip("pandas")
    mine, text = tmp_path / "mine.toml", tmp_path / "text.txt"
    mine.write_text(MINE, encoding="utf-8")
    text.write_text("\n".join(sentences) + "\n", encoding="utf-8")
    encoder = Encoder.load(model, device="cpu")
    frame = pandas.DataFrame({"premise": sentences, "label": "x"})
    expected, *reports = (
        ceat(source, sentences=corpus, query=stimuli, text_column=column, draws=100, layers="all")
        for source, corpus, stimuli, column in (
            (model, text, mine, None),
            (str(model), sentences, STIMULI, None),
            ((encoder.model, encoder.tokenizer), frame["premise"], [STIMULI], None),
            (model, frame, str(mine), "premise"),
        )
    )
    assert len(expected.rows) == 4
    for report in reports:
        assert rows(report) == rows(expected)
        assert report.notes == expected.notes
    counts = report.inputs["sentences"]
    assert counts == {"lines": len(sentences), "contexts": len(sentences)}


def test_representations_of_words(reps: Representations, tmp_path: Path) -> None:
    path, mine = tmp_path / "words.st", tmp_path / "mine.toml"
    reps.save(path)
    mine.write_text(MINE, encoding="utf-8")
    expected = ceat(reps, query=STIMULI, draws=100)
    assert [row.details["layer"] for row in expected] == [0, 5]
    for source, stimuli in ((path, mine), (str(path), STIMULI)):
        assert rows(ceat(source, query=stimuli, draws=100)) == rows(expected)
    assert [row.details["layer"] for row in ceat(reps, query=STIMULI, layers=[5, 0], draws=9)] == [
        5,
        0,
    ]
    swapped = ceat(reps, query=STIMULI, draws=9, swap_roles=True)
    assert list(swapped.rows[0].details["n"]) == ["career", "family", "men", "women"]


def test_representations_of_encode_are_accepted(model: Path, sentences: list[str]) -> None:
    words = [word for word in WORDS for _ in range(6)]
    encoded = encode(model, {"text": sentences, "word": words}, word_column="word", layers="last")
    report = ceat(encoded, query=STIMULI, draws=50)
    assert report.inputs["vectors"]["pooling"] == "word"
    assert report.rows[0].subject == "tiny"


def test_a_query_with_own_words(reps: Representations) -> None:
    x, y = ((name, tuple(words)) for name, words in STIMULI["targets"].items())
    a, b = ((name, tuple(words)) for name, words in STIMULI["attributes"].items())
    query = Query("mine", (x, y), (a, b))
    report = ceat(reps, query=[query, STIMULI], draws=20, layers=0)
    assert [row.details["set"] for row in report] == ["mine", "men/women × career/family"]
    assert report.rows[0].value == report.rows[1].value


def test_notes_are_in_the_report_once(model: Path, sentences: list[str]) -> None:
    more = {**STIMULI, "targets": {**STIMULI["targets"], "men": ["john", "bill", "zed"]}}
    report = ceat(model, sentences=sentences, query=more, draws=20)  # warnings are errors
    assert "sentences: no sentence has 1 of 9 words" in report.notes
    assert "no sentence has zed; fewer than 10 sentences have" in " ".join(str(report).split())


def test_vectors_are_kept(model: Path, sentences: list[str], tmp_path: Path) -> None:
    path = tmp_path / "kept.st"
    report = ceat(model, sentences=sentences, query=STIMULI, draws=20, output=path)
    assert rows(ceat(path, query=STIMULI, draws=20))[0]["value"] == report.rows[0].value
    assert f"Written: {path}" in " ".join(report.closing)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"subword": "last"}, r"<Representations 'words'.*; subword= is only for a model"),
        ({"query": {"targets": {"a": ["x"]}}}, "targets=: expected two sets of words, found 1"),
        ({"query": "11"}, "query 'weat11': expected one of"),
        ({"draws": 0}, "0 draws of words with at least 1 sentences: expected two draws"),
        ({"draws": 1}, "1 draws of words with at least 1 sentences: expected two draws"),
        ({"variance": "large"}, "variance 'large': expected one of standard-error, released"),
        ({"layers": 3}, "words: no layer 3; it holds 0, 5"),
    ],
)
def test_bad_arguments_are_refused(reps: Representations, arguments: Any, message: str) -> None:
    with pytest.raises(WordbiasError, match=message):
        ceat(reps, **{"query": STIMULI, **arguments})


def test_a_model_needs_sentences(model: Path, sentences: list[str]) -> None:
    with pytest.raises(WordbiasError, match="needs sentences to find words in: sentences=FILE"):
        ceat(model, query=STIMULI)
    with pytest.raises(WordbiasError, match="per_word=: expected a whole number from 1 on"):
        ceat(model, sentences=sentences, query=STIMULI, per_word=0)
    table = {"premise": sentences, "label": sentences}
    with pytest.raises(WordbiasError, match="which column holds the sentences"):
        ceat(model, sentences=table, query=STIMULI)  # type: ignore[arg-type]
    with pytest.raises(WordbiasError, match=r"sentences: row 1: expected a text, found 3"):
        ceat(model, sentences=[3], query=STIMULI)  # type: ignore[list-item]
