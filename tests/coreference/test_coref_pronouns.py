"""Winogender and WinoPron: sentences, answers of clusters, and scores by set and case."""

from __future__ import annotations

import itertools
import re
import zipfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import small_likelihood
from scipy.stats import binomtest

import wordbias as wb
from wordbias.coreference.documents import Document
from wordbias.coreference.pronouns import (
    CASES,
    SETS,
    PronounSentences,
    answers_of,
    mcnemar_p,
    nearest,
    parse_winopron,
    pronoun_rows,
    read_winopron,
    winogender_sentences,
)
from wordbias.errors import UsageError, WordbiasError
from wordbias.results import Row
from wordbias.stereotypes.winogender import load_winogender
from wordbias.text_files import Source

HEAD = "occupation(0)\tother-participant(1)\tanswer\tpronoun_type\ttemplate\tsingle_version\t\t\n"
LINES = [
    "baker\tguest\t0\t$NOM_PRONOUN\tThe $OCCUPATION told the $PARTICIPANT that $NOM_PRONOUN had "
    "baked.\tThe $OCCUPATION said that $NOM_PRONOUN had baked.",
    "baker\tguest\t1\t$NOM_PRONOUN\tThe $OCCUPATION told the $PARTICIPANT that $NOM_PRONOUN could "
    "sit.\tThe $PARTICIPANT heard that $NOM_PRONOUN could sit.",
    "baker\tguest\t1\t$POSS_PRONOUN\t$POSS_PRONOUN coat was kept for the $PARTICIPANT by the "
    "$OCCUPATION.\t$POSS_PRONOUN coat was kept for the $PARTICIPANT.",
]


def _winopron(lines: list[str] = LINES) -> PronounSentences:
    return parse_winopron(Source("new_templates.tsv", HEAD + "\n".join(lines) + "\n", ""))


def test_templates_are_filled_with_all_sets() -> None:
    data = _winopron()
    assert len(data.sentences) == len(LINES) * 2 * len(SETS)
    texts = {filled.id: filled.text for filled in data.sentences}
    assert texts["baker.guest.0.subject.xe"] == "The baker told the guest that xe had baked."
    assert texts["baker.guest.1.subject.they.one"] == "The guest heard that they could sit."
    assert texts["baker.guest.1.possessive.they"].startswith("Their coat was kept for the guest")
    for sentence in data.sentences:
        form = sentence.text[slice(*sentence.pronoun)].lower()
        assert form in SETS[sentence.pronouns]
        names = [sentence.text[slice(*span)] for span in sentence.people]
        right = ("baker", "guest")[int(sentence.id.split(".")[2])]
        assert names[0] == right
        assert len(names) == (1 if sentence.id.endswith(".one") else 2)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("guest\t0", "guest\t2", "line 2: expected an answer 0 or 1"),
        ("0\t$NOM", "0\t$REFL", "line 2: expected an answer 0 or 1 and one of"),
        ("that $NOM_PRONOUN had", "that he had", "line 2: expected .* once each in"),
        ("had baked.\tThe $OCC", "had baked.\tThe $PARTICIPANT or $OCC", "line 2: expected"),
    ],
)
def test_a_template_without_its_slots_is_refused(old: str, new: str, message: str) -> None:
    with pytest.raises(WordbiasError, match=f"^new_templates.tsv: {message}"):
        _winopron([LINES[0].replace(old, new, 1)])


def test_the_archive_is_read_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "data.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("new_templates.tsv", HEAD + LINES[0])
    assert parse_winopron(read_winopron(path)).sentences[0].text.startswith("The baker told")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("other.tsv", "")
    with pytest.raises(WordbiasError, match="expected the archive of WinoPron"):
        read_winopron(path)


@pytest.mark.parametrize(
    ("place", "change", "message"),
    [
        (6, b"\x01\x00\x63\x00", "it is encrypted by AES; unpack it, and name the folder"),
        (6, b"\x01\x00\x62\x00", "not supported; unpack it, and name the folder"),
        (47, b"\xff\xff\xff\xff", "cannot be read: .*is this the password"),
    ],
)
def test_what_is_no_such_archive_is_refused_with_a_remedy(
    tmp_path: Path, place: int, change: bytes, message: str
) -> None:
    path = tmp_path / "data.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("new_templates.tsv", HEAD + LINES[0])
    data = bytearray(path.read_bytes())
    directory = data.index(b"PK\x01\x02") + 2  # which repeats the flags and the method
    for start in (0, directory) if place == 6 else (0,):
        data[start + place : start + place + len(change)] = change
    path.write_bytes(data)
    with pytest.raises(WordbiasError, match=message):
        read_winopron(path, "hush")


def _found(data: PronounSentences, who: list[int]) -> list[Document]:
    """Return a system's documents: to whom each pronoun is resolved, 2 for both, -1 for none."""
    documents: list[Document] = []
    for sentence, document in zip(data.sentences, data.documents, strict=True):
        index = who[len(documents)]
        chosen = {0: sentence.people[:1], 1: sentence.people[1:], 2: sentence.people, -1: ()}[index]
        words = [sentence.text[slice(*span)] for span in (sentence.pronoun, *chosen)]
        spans = [(document.tokens.index(w), document.tokens.index(w) + 1) for w in words]
        # a mention with its article
        spans = [spans[0], *((start - 1, end) for start, end in spans[1:])]
        documents.append(replace(document, clusters=(tuple(sorted(spans)),)))
    return documents


def test_a_pronoun_is_resolved_to_one_person_or_is_undecided() -> None:
    data = _winopron()
    who = [
        (0, 1, 2, -1)[i % 4] if len(sentence.people) == 2 else (0, -1)[i % 2]
        for i, sentence in enumerate(data.sentences)
    ]
    expected = [-1 if index == 2 else index for index in who]
    assert answers_of(_found(data, who), data, "x").tolist() == expected


def _rows(data: PronounSentences, answers: list[int]) -> dict[tuple[str, ...], Row]:
    rows = pronoun_rows(data, np.array(answers), "x", draws=100, seed=0)
    return {(row.measure, row.details["subset"], row.details.get("set", "")): row for row in rows}


def test_a_system_that_does_not_know_a_pronoun() -> None:
    """*xe* is always undecided, all others are right."""
    data = _winopron()
    rows = _rows(data, [-1 if sentence.pronouns == "xe" else 0 for sentence in data.sentences])
    for case in ("all", "subject", "possessive", "one person"):
        assert rows["pronoun-accuracy", case, "xe"].value == 0
        assert rows["pronoun-accuracy", case, "she"].value == 1
        assert rows["pronoun-accuracy", case, "all"].value == 0.75
        assert rows["undecided", case, "xe"].value == 1
        assert rows["pronoun-set-gap", case, "xe − she"].value == -1
        assert rows["pronoun-set-gap", case, "she − he"].value == 0
        assert rows["pronoun-consistency", case, "all"].value == 0
    assert rows["pronoun-set-gap", "all", "xe − she"].details["p"] == 2 * 0.5**3
    assert rows["pronoun-set-gap", "all", "she − he"].details["p"] == 1
    assert rows["pronoun-disambiguation", "subject", "she"].value == 1
    assert rows["pronoun-disambiguation", "subject", "all"].value == 0.75
    assert ("pronoun-disambiguation", "possessive", "she") not in rows  # a template without a pair
    assert rows["pronoun-accuracy", "all", "he"].details["chance"] == 0.5
    assert "chance" not in rows["pronoun-accuracy", "one person", "he"].details
    assert rows["pronoun-consistency", "all", "all"].details["chance"] == 0.5**4


def test_who_always_takes_the_occupation_tells_no_pair_apart() -> None:
    data = _winopron()
    rows = _rows(
        data, [0 if sentence.id.split(".")[2] == "0" else 1 for sentence in data.sentences]
    )
    assert rows["pronoun-accuracy", "subject", "all"].value == 0.5
    assert rows["pronoun-disambiguation", "subject", "all"].value == 0
    assert rows["pronoun-consistency", "subject", "all"].value == 0.5


def test_mcnemar_is_the_binomial_test_of_the_templates_that_differ() -> None:
    for more, less, same in itertools.product(range(6), range(6), (0, 3)):
        d = np.array([1.0] * more + [-1.0] * less + [0.0] * same)
        n = more + less
        expected = binomtest(more, n).pvalue if n else 1.0
        assert mcnemar_p(d) == pytest.approx(min(1, expected))


def test_winogender_has_the_case_of_he(tmp_path: Path) -> None:
    path = tmp_path / "winogender"
    small_likelihood.winogender(path)
    data = winogender_sentences(load_winogender(path))
    assert {filled.pronouns for filled in data.sentences} == {"he", "she", "they"}
    by_template: dict[tuple[str, ...], set[str]] = {}
    for sentence in data.sentences:
        by_template.setdefault(sentence.template, set()).add(sentence.case)
        assert sentence.text[slice(*sentence.pronoun)].lower() in SETS[sentence.pronouns]
    assert all(len(cases) == 1 and cases < set(CASES) for cases in by_template.values())


def test_the_real_winogender(shared_data: Path) -> None:
    data = winogender_sentences(load_winogender(shared_data / "winogender"))
    assert Counter(sentence.pronouns for sentence in data.sentences) == {
        "he": 240,
        "she": 240,
        "they": 240,
    }
    assert sum(Counter(sentence.case for sentence in data.sentences).values()) == 720
    assert len({sentence.id for sentence in data.sentences}) == 720
    rows = _rows(data, [0] * 720)
    assert rows["pronoun-accuracy", "all", "all"].value == 1
    assert rows["pronoun-consistency", "all", "all"].details["n"] == 240
    assert rows["pronoun-disambiguation", "all", "all"].details["n"] == 360
    assert 0.3 < float(np.mean(nearest(data) == 0)) < 0.7


def test_the_real_winopron(shared_data: Path) -> None:
    stated = re.search(r"unzip -P (\w+)", (shared_data / "README.md").read_text(encoding="utf-8"))
    if stated is None:
        pytest.skip("the readme of the data does not state the password of WinoPron")
    data = parse_winopron(read_winopron(shared_data / "winopron" / "data.zip", stated[1]))
    counts = Counter((sentence.case, sentence.pronouns) for sentence in data.sentences)
    assert counts == {(case, name): 120 for case in CASES for name in SETS} | {
        ("one person", name): 360 for name in SETS
    }
    assert len({sentence.id for sentence in data.sentences}) == len(data.sentences)


def test_a_system_that_follows_the_shares_of_women(shared_data: Path) -> None:
    """It takes the occupation for *she* where most are women, and for *he* where most are men."""
    data = winogender_sentences(load_winogender(shared_data / "winogender"))
    assert data.winogender is not None
    answers = []
    for sentence, given in zip(data.sentences, data.winogender.sentences, strict=True):
        women = data.winogender.shares[given.occupation] > 50
        taken = (sentence.pronouns == "she") == women
        answers.append(-1 if sentence.pronouns == "they" else int(taken != given.to_occupation))
    rows = {row.measure: row for row in pronoun_rows(data, np.array(answers), "x", draws=0, seed=0)}
    assert rows["coreference-gap"].value == 1
    correlation = rows["coreference-correlation"]
    assert correlation.value is not None
    assert correlation.value > 0.7


def test_without_draws_there_is_no_interval(tmp_path: Path) -> None:
    path = tmp_path / "winogender"
    small_likelihood.winogender(path)
    data = winogender_sentences(load_winogender(path))
    answers = np.arange(len(data.sentences)) % 3 - 1
    rows = pronoun_rows(data, answers, "x", draws=0, seed=0)
    assert "coreference-gap" in {row.measure for row in rows}
    assert not any(row.draws or "low" in row.details for row in rows)
    drawn = pronoun_rows(data, answers, "x", draws=50, seed=0)
    assert [row.value for row in drawn] == [row.value for row in rows]
    assert {len(draws.values) for row in drawn for draws in row.draws.values()} == {50}


def test_a_report_does_not_repeat_the_password(tmp_path: Path) -> None:
    path = tmp_path / "data.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("new_templates.tsv", HEAD + LINES[0])
    report = wb.coref_score(path, password="hush")
    assert "hush" not in str(report.to_dict())
    assert report.arguments["password"] == "***"


def test_a_password_without_an_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "new_templates.tsv"
    path.write_text(HEAD + LINES[0], encoding="utf-8")
    document = Document("d", (("Ann", "left"),))
    for data in (path, tmp_path, [document]):
        with pytest.raises(UsageError, match=r"^password= goes with an archive of WinoPron, not"):
            wb.coref_score(data, password="hush")


def test_the_folder_is_read_as_its_file(tmp_path: Path) -> None:
    path = tmp_path / "new_templates.tsv"
    path.write_text(HEAD + LINES[0], encoding="utf-8")
    folder, file = wb.coref_score(tmp_path), wb.coref_score(path)
    assert folder.inputs["data"]["documents"] == file.inputs["data"]["documents"] == 2 * len(SETS)


def test_a_real_archive_needs_its_password(shared_data: Path) -> None:
    path = shared_data / "winopron" / "data.zip"
    for password, reason in ((None, "needs a"), ("other", "has another")):
        with pytest.raises(WordbiasError, match=rf"{reason} password, which .* --password"):
            read_winopron(path, password)
