"""A control of StereoSet: what is swapped, what people are told to look at, and the file."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tiny_heads
from hypothesis import given
from hypothesis import strategies as st

import wordbias as wb
from wordbias.errors import WordbiasError
from wordbias.stereotypes.control import (
    AGREEMENT,
    ARTICLE,
    BOTH,
    LEFT,
    NEITHER,
    NOTHING,
    UNRELATED,
    Lists,
    control_records,
    problems,
    propose,
    with_articles,
)
from wordbias.stereotypes.gsss import LABELS, Item, Triple, load_gsss
from wordbias.stereotypes.next_sentence import Sentences
from wordbias.stereotypes.stereoset import parse_stereoset
from wordbias.stereotypes.text_sets import load_text_set
from wordbias.text_files import Source
from wordbias.wordlists import Attribute

RELIGION = "religion:christian,muslim"
PAIRS = (("bible", "quran"), ("christian", "muslim"), ("church", "mosque"), ("priest", "imam"))


def stereoset(*contexts: str, kind: str = "religion") -> dict[str, Any]:
    following = ("The imam is kind.", "The imams are loud.", "Tea is hot.")
    items = [
        {
            "id": f"{i}", "target": "t", "bias_type": kind, "context": context,
            "sentences": [
                {"sentence": text, "gold_label": label}
                for text, label in zip(following, LABELS, strict=True)
            ],
        }
        for i, context in enumerate(contexts)
    ]  # fmt: skip
    return {"data": {"intersentence": items, "intrasentence": []}}


def proposed(*contexts: str) -> list[Triple]:
    data = parse_stereoset(Source("s.json", json.dumps(stereoset(*contexts)), ""))
    return propose(data, Lists.of(Attribute.load(RELIGION)))


def found(original: str, swapped: str, groups: str = RELIGION) -> list[str]:
    """Return the problems of a context and its swapped one; the next sentences have none."""
    same = Sentences(original, "He met a priest."), Sentences(swapped, "He met an imam.")
    plain = Item(same[0]._replace(following="Tea."), same[1]._replace(following="Tea."))
    triple = Triple("0", "x", (Item(*same), Item(*same), plain))
    return dict(problems(triple, Lists.of(Attribute.load(groups))))[LABELS[0]]


def test_words_are_swapped_in_their_case_and_the_unrelated_sentence_stays() -> None:
    (triple,) = proposed("A Christian met an imam at church.")
    assert triple.items[0].swapped == ("A Muslim met a priest at mosque.", "The priest is kind.")
    assert triple.items[1].swapped.following == "The priests are loud."
    assert triple.items[2].swapped == ("A Muslim met a priest at mosque.", "Tea is hot.")
    triples = proposed("A bible.", "Two mosques, a church.", "A mosque.")
    assert [triple.gender for triple in triples] == ["christian", NEITHER, "muslim"]


@given(st.lists(st.sampled_from([word for pair in PAIRS for word in pair]), min_size=1))
def test_a_text_that_is_swapped_twice_is_as_before(words: list[str]) -> None:
    swap = Lists.of(Attribute.load(RELIGION)).swap
    text = " ".join(f"{'an' if word[0] in 'aeiou' else 'a'} {word}," for word in words)
    assert swap(text) != text
    assert swap(swap(text)) == text


@pytest.mark.parametrize(
    ("original", "swapped", "expected"),
    [
        ("The priest left.", "The imam left.", []),
        ("A priest left.", "A imam left.", [ARTICLE]),
        ("An hour with the priest.", "An hour with the imam.", []),
        ("The Muslim is here.", "The Christians is here.", [f"{AGREEMENT}: christians is"]),
        ("Muslims are here.", "Christian are here.", [f"{AGREEMENT}: christian are"]),
        ("Muslims are here.", "Christians are here.", []),
        ("These mosques stand.", "These church stand.", [f"{AGREEMENT}: these church"]),
        ("The imam met a priest.", "The priest met an imam.", [BOTH]),
        ("An imam in Ramadan.", "A priest in Ramadan.", [f"{LEFT}: ramadan"]),
    ],
)
def test_what_people_should_look_at(original: str, swapped: str, expected: list[str]) -> None:
    assert found(original, swapped) == expected


def test_published_mistakes_of_pronouns_are_found() -> None:
    wrong = Item(
        Sentences("She walked into her kitchen.", "She sat."),
        Sentences("He walked into him kitchen.", "He sat."),
    )
    lists = Lists.of(Attribute.load())
    checks = dict(problems(Triple("0", "F", (wrong, wrong, wrong)), lists))
    assert checks[LABELS[0]] == ["him → his"]


def test_unswapped_triples_and_changed_unrelated_sentences_are_found() -> None:
    lists = Lists.of(Attribute.load(RELIGION))
    item = Item(Sentences("Rain.", "Tea."), Sentences("Rain.", "Tea."))
    other = Item(Sentences("Rain.", "Tea."), Sentences("Rain.", "Milk."))
    checks = dict(problems(Triple("0", "x", (item, item, other)), lists))
    assert checks[LABELS[0]] == [NOTHING]
    assert checks[LABELS[2]] == [NOTHING, UNRELATED]


def test_articles_are_corrected_before_new_words_only() -> None:
    assert with_articles("He met an imam.", "He met an priest.") == "He met a priest."
    assert with_articles("AN IMAM.", "AN PRIEST.") == "A PRIEST."
    assert with_articles("a hour of a imam", "a hour of a priest") == "a hour of a priest"
    assert with_articles("An African.", "An European.") == "A European."
    assert with_articles("A Japanese man.", "A English man.") == "An English man."
    assert with_articles("A Persian.", "A Ukrainian.") == "A Ukrainian."
    assert with_articles("A cap.", "A jeans.") == "A jeans."


@pytest.mark.slow
def test_proposals_for_gender_are_mostly_those_that_people_made(shared_data: Path) -> None:
    """The published swaps are by hand: people also exchanged names and clothes."""
    published = load_gsss(shared_data / "gsss" / "dev.csv").repaired.gsss
    data = load_text_set(shared_data / "stereoset" / "dev_gender.json.gz")
    lists = Lists.of(Attribute.load())
    mine = {item.original: item.swapped for triple in propose(data, lists) for item in triple.items}
    both = [
        (item.swapped, mine[item.original])
        for triple in published.triples
        for item in triple.items
        if item.original in mine
    ]
    assert len(both) > 600
    assert sum(a == b for a, b in both) / len(both) > 0.9


# The file and the command


def test_a_control_is_written_corrected_checked_and_scored(
    cli: Callable[..., Any], tmp_path: Path
) -> None:
    source, file = tmp_path / "dev.json", tmp_path / "control.csv"
    source.write_text(json.dumps(stereoset("A Christian sat.", "A mosque.", "It rained.")))
    done = cli("control", source, "--groups", RELIGION, "-o", file)
    assert done.code == 0, done.err
    report = wb.control(source, groups=RELIGION)
    assert {row.details["set"]: row.value for row in report.rows} == {
        "triples": 3, "swapped": 3, "to look at": 0,
    }  # fmt: skip
    with file.open(newline="") as opened:
        rows = list(csv.DictReader(opened))
    assert [row["swapped_context"] for row in rows[::3]] == [
        "A Muslim sat.", "A church.", "It rained.",
    ]  # fmt: skip
    read = load_gsss(file)
    assert read.groups == ("christian", "muslim", NEITHER)
    lists = Lists.of(Attribute.load(RELIGION))
    checks = {triple.id: dict(problems(triple, lists)) for triple in read.triples}
    assert [
        {k: str(v) for k, v in record.items()} for record in control_records(read.triples, checks)
    ] == (rows)
    file.write_text(file.read_text().replace("A Muslim sat", "A Imam sat"))
    done = cli("control", file, "--groups", RELIGION, "-o", tmp_path / "again.csv")
    assert done.code == 0, done.err
    assert "a/an" in done.out
    assert "a/an" in (tmp_path / "again.csv").read_text()


def test_a_control_is_scored_and_exchanged_sides_turn_its_strength(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    model = (tiny_heads.model("bert", "NextSentencePrediction"), tiny_heads.tokenizer())
    source, file = tmp_path / "dev.json", tmp_path / "control.csv"
    source.write_text(json.dumps(stereoset("A Christian sat.", "A mosque.", "The bible.")))
    wb.control(source, groups=RELIGION, output=file)
    report = wb.likelihood(model, data=file, top=1)
    assert {row.details["subset"] for row in report.rows} == {"all", "christian", "muslim"}
    assert {row.details["version"] for row in report.rows} == {"original"}
    header, *lines = file.read_text().splitlines(keepends=True)
    names = ("context", "next_sentence")
    for name in names:
        header = header.replace(f",{name}", f",x_{name}").replace(f"swapped_{name}", name)
        header = header.replace(f"x_{name}", f"swapped_{name}")
    file.write_text("".join([header, *lines]))
    turned = wb.likelihood(model, data=file, top=1)
    for row, other in zip(report["mean-strength"], turned["mean-strength"], strict=True):
        assert row.value
        assert other.value == pytest.approx(-row.value, abs=1e-6)  # float32


def test_what_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "dev.json"
    source.write_text(json.dumps(stereoset("A Christian sat.")))
    wb.control(source, groups=RELIGION, output=tmp_path / "c.csv")
    for arguments, message in (
        ({"where": {"bias_type": "race"}}, "has no triple of two sentences with bias_type race"),
        ({"where": {"target": "t"}}, "StereoSet is chosen by bias_type"),
        ({"groups": "ethnicity:white,black"}, "has no pairs of words to swap"),
        ({"groups": "religion"}, "expected exactly two groups, found 5"),
        ({"output": tmp_path / "c.json"}, r"expected a name that ends in \.csv"),
        ({"data": tmp_path / "c.csv", "where": {"bias_type": "race"}}, "is for StereoSet"),
    ):
        with pytest.raises(WordbiasError, match=message):
            wb.control(**{"data": source, "groups": RELIGION, **arguments})  # type: ignore[arg-type]
    crows = tmp_path / "crows.csv"
    crows.write_text(
        ",sent_more,sent_less,stereo_antistereo,bias_type,annotations,anon_writer,anon_annotators\n"
        "0,A man.,A woman.,stereo,gender,x,y,z\n"
    )
    with pytest.raises(WordbiasError, match=r"expected StereoSet \(JSON\), or a control of it"):
        wb.control(crows)
