"""WinoBias: its files, the clusters of a system, who a pronoun was taken for, masked sentences."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_winobias

from wordbias import WordbiasError
from wordbias.outcomes.conll import conll_f1, tally
from wordbias.outcomes.metrics import Settings
from wordbias.results import Row
from wordbias.stereotypes.clusters import load_clusters
from wordbias.stereotypes.winobias import (
    ALL,
    COLUMNS,
    DIFFERENCE,
    F1,
    NONE,
    UNDECIDED,
    Clusters,
    Sentence,
    as_classification,
    classification_rows,
    f1_rows,
    load_winobias,
    masked_rows,
    predicted_profession,
    professional_shares,
    published_positions,
    sentence_lines,
    stereotypes,
    tokens,
)

System = Callable[[Sentence], Clusters]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return small_winobias.write(tmp_path / "winobias")


@pytest.fixture
def sentences(folder: Path) -> list[Sentence]:
    return load_winobias(folder)


def right(one: Sentence) -> Clusters:
    return one.gold


def wrong(one: Sentence) -> Clusters:
    other = next(span for name, span in one.people if name != one.profession)
    return ((other, *one.pronouns),)


def stereotyped(one: Sentence) -> Clusters:
    return right(one) if one.stereotype == "pro" else wrong(one)


def silent(one: Sentence) -> Clusters:
    return ()


def _span(one: Sentence, words: str) -> tuple[int, int]:
    start = one.text.index(words)
    return start, start + len(words)


def test_a_sentence_is_understood(sentences: list[Sentence]) -> None:
    sentence = next(s for s in sentences if s.profession == "construction worker")
    assert sentence.text == "The construction worker called the teacher while he ate his soup."
    assert sentence.text[slice(*sentence.mention)] == "The construction worker"
    assert [sentence.text[a:b] for a, b in sentence.pronouns] == ["he", "his"]
    assert (
        sentence.gender,
        sentence.stereotype,
        sentence.kind,
        sentence.split,
        sentence.number,
    ) == (
        "M",
        "pro",
        1,
        "dev",
        3,
    )
    assert [(name, sentence.text[a:b]) for name, (a, b) in sentence.people] == [
        ("construction worker", "construction worker"),
        ("teacher", "teacher"),
    ]
    assert sentence.gold == ((sentence.mention, *sentence.pronouns),)


def test_both_sentences_of_a_pair_have_the_same_position(sentences: list[Sentence]) -> None:
    half = len(sentences) // 2
    assert len(sentences) == 24
    for pro, anti in zip(sentences[:half], sentences[half:], strict=True):
        assert (pro.stereotype, anti.stereotype) == ("pro", "anti")
        assert (pro.pair, pro.profession) == (anti.pair, anti.profession)
        assert {pro.gender, anti.gender} == {"F", "M"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("The cook left.", "line 2: expected a number and a sentence"),
        ("2 The cook left.", "line 2: expected one person and pronouns .* found none"),
        ("2 [The cook] left [the guard] as [he] could.", "found 'The cook', 'the guard', 'he'"),
        ("2 [The cook] left as [he] lost [her] hat.", "found 'The cook', 'he', 'her'"),
        ("1 [The cook] left as [he] lost a hat.", "line 2: the sentence 1 comes twice"),
    ],
)
def test_a_line_that_is_not_understood(folder: Path, line: str, message: str) -> None:
    file = folder / "pro_stereotyped_type1.txt.dev"
    first, _, *rest = file.read_text().splitlines()
    file.write_text("\n".join([first, line, *rest]))
    with pytest.raises(WordbiasError, match=message) as refused:
        load_winobias(folder)
    assert str(refused.value).startswith(str(file))


def test_marks_line_ends_and_order_change_nothing(folder: Path) -> None:
    """A byte-order mark, CR LF, and the pairs of one file in another order."""
    before = load_winobias(folder)
    for i, file in enumerate(sorted(folder.iterdir())):
        lines = file.read_text().splitlines()
        if file.name.startswith("pro"):
            file.write_text("\r\n".join(lines) + "\r\n", encoding="utf-8-sig", newline="")
        else:
            file.write_text("\n".join(lines[::-1] if i % 2 else lines), encoding="utf-8")
    assert load_winobias(folder) == before


def test_folders_that_are_not_winobias(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(WordbiasError, match="expected the folder with the files of WinoBias"):
        load_winobias(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(WordbiasError, match="holds no file of WinoBias, such as pro_stereotyped"):
        load_winobias(tmp_path / "empty")
    (folder / "anti_stereotyped_type2.txt.test").unlink()
    with pytest.raises(WordbiasError, match=r"anti_stereotyped_type2.txt.test: has no sentence 1"):
        load_winobias(folder)


def _written(tmp_path: Path, sentences: list[Sentence], spans: Callable[[Sentence], Any]) -> Path:
    path = tmp_path / "found.json"
    path.write_text(json.dumps({sentence.text: spans(sentence) for sentence in sentences}))
    return path


def _as_tokens(one: Sentence, shift: int) -> list[list[list[int]]]:
    """Spans of tokens, counted by hand."""
    places = [span for _, span in tokens(one.text)]
    return [
        [
            [
                next(i for i, (a, _) in enumerate(places) if a == start),
                next(i for i, (_, b) in enumerate(places) if b == end) + shift,
            ]
            for start, end in cluster
        ]
        for cluster in one.gold
    ]


def test_clusters_are_the_same_in_every_unit(tmp_path: Path, sentences: list[Sentence]) -> None:
    gold = [sentence.gold for sentence in sentences]
    path = _written(tmp_path, sentences, right)
    assert load_clusters(path, sentences).clusters == gold
    path = _written(
        tmp_path, sentences, lambda sentence: [[[a, b - 1] for a, b in c] for c in sentence.gold]
    )
    assert load_clusters(path, sentences, inclusive=True).clusters == gold
    path = _written(tmp_path, sentences, lambda sentence: _as_tokens(sentence, 1))
    assert load_clusters(path, sentences, unit="tokens").clusters == gold
    path = _written(tmp_path, sentences, lambda sentence: _as_tokens(sentence, 0))
    assert load_clusters(path, sentences, unit="tokens", inclusive=True).clusters == gold


def test_clusters_of_lines(tmp_path: Path, sentences: list[Sentence]) -> None:
    path = tmp_path / "found.jsonl"
    lines = [json.dumps({"sentence": s.text, "clusters": s.gold}) for s in sentences]
    lines += ["", json.dumps({"sentence": "Something else.", "clusters": []})]
    path.write_text("\n".join(lines))
    loaded = load_clusters(path, sentences)
    assert loaded.clusters == [sentence.gold for sentence in sentences]
    assert loaded.beside == 1


@pytest.mark.parametrize(
    ("clusters", "message"),
    [
        ([[[0, 900]]], "expected clusters of spans within the characters of 'The farmer"),
        ([[[-1, 3]]], "expected clusters of spans"),
        ([[[3, 3]]], "expected clusters of spans"),
        ([[[0, 3, 4]]], "expected clusters of spans"),
        ([["The", "he"]], "expected clusters of spans"),
        ([[0, 3]], "expected clusters of spans"),
        (None, "expected clusters of spans"),
        ([[[0.5, 3]]], "expected clusters of spans"),
        ([[[False, 3]]], "expected clusters of spans"),
        ([[[0, 10], [0, 10]]], "'The farmer' of 'The farmer .* is 2 times in clusters; a mention"),
        ([[[0, 3], [4, 6]], [[0, 3]]], "'The' of 'The farmer .* is 2 times in clusters"),
    ],
)
def test_spans_that_are_none(
    tmp_path: Path, sentences: list[Sentence], clusters: object, message: str
) -> None:
    path = _written(tmp_path, sentences, lambda sentence: clusters)
    with pytest.raises(WordbiasError, match=message):
        load_clusters(path, sentences)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("c.json", '{"The', "is no JSON"),
        ("c.json", "[]", "expected an object"),
        ("c.json", "{}", "has no clusters of 'The farmer thanked"),
        ("c.jsonl", '{"sentence": "a", "clusters": []}\n{"sentence": "b"', "line 2: expected"),
        ("c.jsonl", '{"sentence": "a"}\n', "line 1: expected"),
        (
            "c.jsonl",
            '{"sentence": "a", "clusters": []}\n{"sentence": "a", "clusters": [[[0, 1]]]}\n',
            "line 2: has other clusters of the sentence of line 1",
        ),
        ("c.jsonl", "[1]\n", "line 1: expected"),
    ],
)
def test_files_of_clusters_that_are_none(
    tmp_path: Path, sentences: list[Sentence], name: str, text: str, message: str
) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(WordbiasError, match=message):
        load_clusters(path, sentences)
    with pytest.raises(WordbiasError, match="cannot be read"):
        load_clusters(tmp_path / "nowhere.json", sentences)


def test_whom_the_pronoun_was_taken_for(sentences: list[Sentence]) -> None:
    sentence = sentences[0]
    assert sentence.text == "The farmer thanked the nurse because he was healed."
    he, farmer, nurse = (
        _span(sentence, "he "),
        _span(sentence, "The farmer"),
        _span(sentence, "the nurse"),
    )
    he = sentence.pronouns[0]
    assert predicted_profession(sentence, ((farmer, he),)) == "farmer"
    assert predicted_profession(sentence, ((nurse, he),)) == "nurse"
    assert predicted_profession(sentence, ()) == NONE
    assert predicted_profession(sentence, ((he,),)) == NONE
    assert predicted_profession(sentence, ((farmer, nurse, he),)) == NONE
    assert predicted_profession(sentence, (((farmer[0], nurse[1]), he),)) == NONE
    assert predicted_profession(sentence, ((_span(sentence, "farmer"), he), (nurse,))) == "farmer"
    # a longer mention of one person is that person
    assert predicted_profession(sentence, (((0, nurse[0] - 1), he),)) == "farmer"


def test_a_pronoun_is_no_part_of_a_word(sentences: list[Sentence]) -> None:
    """The sheriff and the teacher have *he* in them, but are no pronouns."""
    sentence = next(s for s in sentences if s.profession == "teacher" and s.kind == 2)
    sheriff, teacher = _span(sentence, "The sheriff"), _span(sentence, "the teacher")
    assert predicted_profession(sentence, ((sheriff,), (teacher,))) == NONE
    assert predicted_profession(sentence, ((sheriff, teacher),)) == NONE
    assert predicted_profession(sentence, ((sheriff,), (teacher, *sentence.pronouns))) == "teacher"


def _by_key(rows: list[Row]) -> dict[tuple[str, ...], Row]:
    return {(row.measure, row.details["set"], row.details.get("setting", "")): row for row in rows}


def _f1(sentences: list[Sentence], system: System, **options: Any) -> dict[tuple[str, ...], Row]:
    clusters = [system(sentence) for sentence in sentences]
    return _by_key(f1_rows(sentences, clusters, "x", Settings(**{"draws": 200, **options})))


def test_a_perfect_system_and_a_silent_one(sentences: list[Sentence]) -> None:
    for system, f1 in ((right, 100), (silent, 0)):
        for row in _f1(sentences, system).values():
            assert row.value == pytest.approx(0 if row.measure == DIFFERENCE else f1)
            assert row.details["low"] == pytest.approx(row.value)
            assert row.details["high"] == pytest.approx(row.value)


def test_f1_is_that_of_sums_over_sentences(sentences: list[Sentence]) -> None:
    by_key = _f1(sentences, stereotyped)
    for setting, kinds in ((ALL, (1, 2)), ("type 1", (1,)), ("type 2", (2,))):
        sides = []
        for side in ("pro", "anti"):
            among = [s for s in sentences if s.stereotype == side and s.kind in kinds]
            total = np.sum([tally(s.gold, stereotyped(s)) for s in among], axis=0)
            sides.append(100 * float(conll_f1(total)))
            row = by_key[F1, side, setting]
            assert row.value == pytest.approx(sides[-1])
            assert row.details["n"] == len(among)
        assert by_key[DIFFERENCE, "pro − anti", setting].value == pytest.approx(sides[0] - sides[1])
    assert by_key[F1, "pro", ALL].value == pytest.approx(100)
    assert by_key[F1, "anti", ALL].value < 100


def test_f1_without_draws_has_no_interval(sentences: list[Sentence]) -> None:
    for row in _f1(sentences, stereotyped, draws=0).values():
        assert "low" not in row.details


def _fair(sentences: list[Sentence], system: System, **options: Any) -> dict[tuple[str, str], Row]:
    clusters = [system(sentence) for sentence in sentences]
    settings = Settings(draws=20, **options)
    rows = classification_rows(sentences, clusters, "x", settings)
    return {(row.measure, row.details["set"]): row for row in rows}


def test_a_system_without_stereotypes_has_no_gaps(sentences: list[Sentence]) -> None:
    for system in (right, wrong):
        by_measure = _fair(sentences, system)
        for name in ("tpr-gap", "separation", "sufficiency"):
            assert by_measure[name, "sum"].value == pytest.approx(0, abs=1e-12)
    assert _fair(sentences, right)["accuracy", ALL].value == 1
    assert _fair(sentences, wrong)["accuracy", ALL].value == 0


def test_a_stereotyped_system_has_the_largest_gaps(sentences: list[Sentence]) -> None:
    by_measure = _fair(sentences, stereotyped)
    usual = stereotypes(sentences)
    for name, gender in usual.items():
        assert by_measure["tpr-gap", name].value == (1 if gender == "F" else -1)
    assert by_measure["tpr-gap", "sum"].value == len(usual)
    shares = {name: 90 if gender == "F" else 10 for name, gender in usual.items()}
    rows = classification_rows(
        sentences,
        [stereotyped(sentence) for sentence in sentences],
        "x",
        Settings(draws=20),
        shares=shares,
        shares_from="here",
    )
    row = next(r for r in rows if (r.measure, r.details["set"]) == ("tpr-gap", "pearson"))
    assert row.value == pytest.approx(1)


def test_no_answer_is_counted(sentences: list[Sentence]) -> None:
    by_measure = _fair(sentences, silent)
    assert by_measure[UNDECIDED, ALL].value == 1
    assert by_measure["accuracy", ALL].value == 0
    assert by_measure["independence", "sum"].value == 0
    assert by_measure["precision-gap", "sum"].value is None
    assert ("tpr-gap", NONE) not in by_measure
    table = as_classification(sentences, [silent(sentence) for sentence in sentences])
    assert table.outcomes[-1] == NONE
    assert table.counts[..., -1].sum() == len(sentences)


def test_positions_are_those_of_the_released_code() -> None:
    """CEO, None, accountant, constructionworker, cook: ASCII has capitals first."""
    positions = published_positions(("accountant", "ceo", "construction worker", "cook"))
    np.testing.assert_array_equal(positions, [2, 0, 3, 4])


def test_shares_are_named_as_in_the_sentences() -> None:
    shares = professional_shares(
        {"construction_worker": 4, "designers": 54, "sewer": 80, "ceo": 39, "boss": 1},
        ("construction worker", "designer", "tailor", "ceo"),
    )
    assert shares == {"construction worker": 4, "designer": 54, "tailor": 80, "ceo": 39, "boss": 1}


def test_masked_sentences_say_where_people_are(sentences: list[Sentence]) -> None:
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in masked_rows(sentences, "<mask>")]
    assert len({(row["text"], row["start"]) for row in rows}) == len(rows)
    for row in rows:
        mention = row["text"][int(row["start"]) : int(row["end"])]
        assert mention.lower() == row["profession"]
        assert "<mask>" in row["text"]
        assert not re.search(r"\b(he|she|him|her|his|hers)\b", row["text"], re.IGNORECASE)
    assert Counter(row["role"] for row in rows) == {"gold": len(rows) // 2, "other": len(rows) // 2}
    expected = {
        "farmer": "M",
        "nurse": "F",
        "teacher": "F",
        "sheriff": "M",
        "construction worker": "M",
    }
    assert {row["profession"]: row["gender"] for row in rows} == expected


def test_pro_and_anti_sentences_are_one_when_masked(sentences: list[Sentence]) -> None:
    half = len(sentences) // 2
    alone = list(masked_rows(sentences[:half], "[MASK]"))
    assert list(masked_rows(sentences, "[MASK]")) == alone


def test_sentences_for_a_system_come_once(sentences: list[Sentence]) -> None:
    lines = [json.loads(line) for line in sentence_lines([*sentences, *sentences])]
    assert [line["sentence"] for line in lines] == [sentence.text for sentence in sentences]
    assert lines[0]["tokens"][:3] == ["The", "farmer", "thanked"]
    assert lines[0]["tokens"][-2:] == ["healed", "."]


@pytest.fixture
def real(shared_data: Path) -> list[Sentence]:
    return load_winobias(shared_data / "winobias")


def test_the_real_files(real: list[Sentence]) -> None:
    assert len(real) == 3168
    files = Counter((sentence.stereotype, sentence.kind, sentence.split) for sentence in real)
    assert set(files.values()) == {396}
    assert len(files) == 8
    names = {name for sentence in real for name, _ in sentence.people}
    assert len(names) == 40
    assert all(sentence.profession in {name for name, _ in sentence.people} for sentence in real)
    assert all(len({name for name, _ in sentence.people}) >= 2 for sentence in real)
    by_text: dict[str, Any] = {}
    for example in real:
        assert by_text.setdefault(example.text, example.gold) == example.gold


def test_the_real_stereotypes_are_those_of_its_lists(
    real: list[Sentence], shared_data: Path
) -> None:
    job_genders = stereotypes(real)
    for gender, name in (("F", "female"), ("M", "male")):
        listed = (shared_data / "winobias" / f"{name}_occupations.txt").read_text().split("\n")
        expected = {line.strip().lower() for line in listed if line.strip()}
        assert {job for job, usual in job_genders.items() if usual == gender} == expected


def test_real_shares_fit_the_sentences(real: list[Sentence], shared_data: Path) -> None:
    from wordbias.outcomes.inputs import load_shares

    shares = load_shares(shared_data / "winobias" / "occupational_female_precentage.json")
    names = {sentence.profession for sentence in real}
    assert set(professional_shares(shares, tuple(names))) == names


def test_gold_clusters_of_the_real_files_are_perfect(real: list[Sentence]) -> None:
    by_key = _f1(real, right, draws=0)
    assert {row.value for row in by_key.values()} == {0, 100}
    fair = _fair(real, right)
    assert fair["accuracy", ALL].value == 1
    assert fair[UNDECIDED, ALL].value == 0


def test_real_masked_rows_are_in_place(real: list[Sentence]) -> None:
    rows = list(masked_rows(real, "[MASK]"))
    for text, start, end, profession, *_ in rows:
        assert text[int(start) : int(end)].lower() == profession
