"""Biographies from files: the forms, the columns, the values, and every bad input."""

from __future__ import annotations

import csv
import gzip
import json
import pickle
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quick_cases import examples

from wordbias import WordbiasError
from wordbias.biographies.data import Biographies, load_biographies

RECORDS = (
    ("train", "nurse", "F", "She cares for children."),
    ("train", "surgeon", "M", 'He "operates" in Fairview.'),
    ("validation", "nurse", "M", "He works at night."),
    ("test", "surgeon", "F", "She trained, and teaches, in Riverton."),
)
HEADS = ("split", "profession", "gender", "text")
RAW = "Dr. Ann Lee is a surgeon. She lives in Fairview."


def write_tsv(path: Path, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    path.write_text("".join("\t".join(cells) + "\n" for cells in (heads, *rows)))


def write_csv(path: Path, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([heads, *rows])


def write_jsonl(path: Path, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    records = [dict(zip(heads, cells, strict=True)) for cells in rows]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def write_pickle(path: Path, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    path.write_bytes(pickle.dumps([dict(zip(heads, cells, strict=True)) for cells in rows]))


WRITERS = {".tsv": write_tsv, ".csv": write_csv, ".jsonl": write_jsonl, ".pkl": write_pickle}


def pickled(path: Path, *records: Any) -> Path:
    path.write_bytes(pickle.dumps(list(records)))
    return path


def published(**other: Any) -> dict[str, Any]:
    """A record as the published scripts write it."""
    record: dict[str, Any] = {
        "raw": RAW,
        "start_pos": 25,
        "name": ("Ann", "", "Lee"),
        "gender": "F",
        "title": "surgeon",
        "bio": " _ lives in Fairview.",
        "path": "crawl-1",
        "URI": "http://example.org",
    }
    return {**record, **other}


def nested() -> tuple[Any, ...]:
    """Return a pair of the same pair of the same pair …: 200 objects, 2²⁰⁰ to print."""
    pair: tuple[Any, ...] = ()
    for _ in range(200):
        pair = (pair, pair)
    return pair


MAN = {"gender": "M", "title": "nurse", "name": ("Bob", "J.", "Ray")}


@pytest.mark.parametrize("suffix", WRITERS)
def test_the_forms_hold_the_same(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"bios{suffix}"
    WRITERS[suffix](file, HEADS, RECORDS)
    bios = load_biographies(file)
    assert bios.path == str(file)
    assert bios.texts == tuple(text for *_, text in RECORDS)
    assert bios.classes == ("nurse", "surgeon")
    assert bios.groups == ("F", "M")
    assert bios.label_names() == ["nurse", "surgeon", "nurse", "surgeon"]
    assert bios.gender_names() == ["F", "M", "M", "F"]
    assert bios.splits == ("train", "train", "dev", "test")
    assert bios.names is None
    assert bios.counts().tolist() == [[1, 1], [1, 1]]
    assert bios.shares().tolist() == [0.5, 0.5]
    tsv = tmp_path / "same.tsv"
    write_tsv(tsv, HEADS, RECORDS)
    assert bios.sha256 == load_biographies(tsv).sha256


def test_a_compressed_file_is_read(tmp_path: Path) -> None:
    write_tsv(tmp_path / "bios.tsv", HEADS, RECORDS)
    packed = tmp_path / "packed.tsv.gz"
    packed.write_bytes(gzip.compress((tmp_path / "bios.tsv").read_bytes()))
    assert load_biographies(packed).sha256 == load_biographies(tmp_path / "bios.tsv").sha256


def test_the_published_pickle_is_read_behind_its_first_sentence(tmp_path: Path) -> None:
    bios = load_biographies(pickled(tmp_path / "BIOS.pkl", published(), published(**MAN)))
    assert bios.texts == (RAW[25:].strip(),) * 2
    assert bios.names == ("Ann Lee", "Bob J. Ray")
    assert bios.label_names() == ["surgeon", "nurse"]
    assert bios.splits is None


def test_the_text_without_its_first_sentence_goes_before_the_whole(tmp_path: Path) -> None:
    nurse = {
        "g": "f",
        "p": "nurse",
        "text": "She is a nurse. She sings.",
        "hard_text": "She sings.",
    }
    two = {"g": "m", "p": "surgeon", "text": "He is a surgeon.", "hard_text": "He is known."}
    bios = load_biographies(pickled(tmp_path / "train.pickle", nurse, two))
    assert bios.texts == ("She sings.", "He is known.")
    named = load_biographies(tmp_path / "train.pickle", text="text")
    assert named.texts == (nurse["text"], two["text"])


def test_raw_without_a_start_is_the_last_choice(tmp_path: Path) -> None:
    records = [{**published(**other), "raw": RAW} for other in ({}, MAN)]
    for record in records:
        del record["start_pos"]
    assert (
        load_biographies(pickled(tmp_path / "a.pkl", *records)).texts[0] == "_ lives in Fairview."
    )
    for record in records:
        del record["bio"]
    assert load_biographies(pickled(tmp_path / "b.pkl", *records)).texts[0] == RAW


def test_columns_can_be_named(tmp_path: Path) -> None:
    file = tmp_path / "bios.csv"
    write_csv(
        file,
        ("part", "job", "sex", "story", "who"),
        [("train", "a", "woman", "x", "Ann"), ("test", "b", "Man", "y", "Bob")],
    )
    bios = load_biographies(file, text="story", label="job", gender="sex", split="part", name="who")
    assert (bios.texts, bios.names, bios.splits) == (("x", "y"), ("Ann", "Bob"), ("train", "test"))
    assert bios.gender_names() == ["F", "M"]


def test_numbers_for_genders_need_to_be_told(tmp_path: Path) -> None:
    file = tmp_path / "bios.jsonl"
    file.write_text(
        '{"hard_text": "x", "profession": 13, "gender": 1}\n'
        '{"hard_text": "y", "profession": 25, "gender": 0}\n'
    )
    with pytest.raises(WordbiasError, match=r"line 1: 'gender': expected F or M .* found '1'; say"):
        load_biographies(file)
    bios = load_biographies(file, female="1")
    assert bios.gender_names() == ["F", "M"]
    assert bios.classes == ("13", "25")


def test_only_the_value_that_was_told_is_female(tmp_path: Path) -> None:
    file = tmp_path / "a.tsv"
    heads = ("text", "profession", "gender")
    rows = [("a", "nurse", "F"), ("b", "surgeon", "M"), ("c", "nurse", "F")]
    write_tsv(file, heads, rows)
    bios = load_biographies(file, female="M")
    assert [bios.groups[gender] for gender in bios.genders] == ["M", "F", "M"]
    with pytest.raises(WordbiasError, match="nobody has 'X', which is to mean female; found F, M"):
        load_biographies(file, female="X")
    write_tsv(file, heads, [*rows, ("d", "nurse", "X")])
    with pytest.raises(WordbiasError, match="expected 'X' and one other value, found F, M"):
        load_biographies(file, female="X")


@pytest.mark.parametrize(
    ("female", "said"),
    [
        ("2", "nobody has '2', which is to mean female; found 0, 1, 3"),
        ("1", "expected '1' and one other value, found 0, 3"),
    ],
)
def test_a_value_for_women_that_does_not_fit(tmp_path: Path, female: str, said: str) -> None:
    file = tmp_path / "bios.tsv"
    rows = [("a", "0", "x"), ("b", "1", "y"), ("b", "3", "z")]
    write_tsv(file, ("label", "gender", "text"), rows)
    with pytest.raises(WordbiasError, match=said):
        load_biographies(file, female=female)


BAD: dict[str, tuple[Callable[[Path], Any], str]] = {
    "a record that is no dict": (
        lambda path: pickled(path, published(), ["x"]),
        "record 2: expected a dict, found list",
    ),
    "no such gender": (
        lambda path: pickled(path, published(), published(gender="X")),
        "record 2: 'gender': expected F or M (female, male, woman, man), found 'X'",
    ),
    "no gender": (
        lambda path: pickled(path, published(), published(gender=None)),
        "record 2: has no 'gender'",
    ),
    "an object for a title": (
        lambda path: pickled(path, published(), published(title=["nurse"])),
        "record 2: 'title': expected text, found list",
    ),
    "a truth for a title": (
        lambda path: pickled(path, published(), published(title=True)),
        "record 2: 'title': expected text, found bool",
    ),
    "a start behind the end": (
        lambda path: pickled(path, published(), published(start_pos=900)),
        f"record 2: 'start_pos': expected a place in its text of {len(RAW)} characters, "
        "found '900'",
    ),
    "a start before the beginning": (
        lambda path: pickled(path, published(), published(start_pos=-3)),
        "found '-3'",
    ),
    "a start that takes for ever to print": (
        lambda path: pickled(path, published(), published(start_pos=nested())),
        "record 2: 'start_pos': expected text, found tuple",
    ),
    "a number for a title that is no code": (
        lambda path: pickled(path, published(), published(title=10**5000)),
        "record 2: 'title': expected text, found int",
    ),
    "a start at the end": (
        lambda path: pickled(path, published(), published(start_pos=len(RAW))),
        f"record 2: has no text from 'start_pos', {len(RAW)}, on",
    ),
    "no such split": (
        lambda path: pickled(path, published(split="train"), published(split="held out")),
        "record 2: the split: expected train, dev or test, found 'held out'",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_record_is_named_or_dropped(tmp_path: Path, case: str) -> None:
    write, message = BAD[case]
    file: Path = write(tmp_path / "bios.pkl")
    with pytest.raises(WordbiasError) as caught:
        load_biographies(file)
    assert str(caught.value).startswith(f"{file}: ")
    assert message in str(caught.value)
    assert str(caught.value).endswith("mend it, or drop such rows with --skip-bad")
    first, bad = pickle.loads(file.read_bytes())
    pickled(file, first, bad, {**first, **MAN})
    bios = load_biographies(file, skip_bad=True)
    assert (len(bios), bios.dropped) == (2, 1)
    assert message in bios.problem


def test_a_cut_line_of_jsonl_is_named_by_its_number(tmp_path: Path) -> None:
    file = tmp_path / "bios.jsonl"
    write_jsonl(file, HEADS, RECORDS)
    file.write_text(file.read_text()[:-20])
    with pytest.raises(WordbiasError, match="line 4: expected a JSON object; mend it, or drop"):
        load_biographies(file)
    assert len(load_biographies(file, skip_bad=True)) == 3


def test_an_empty_cell_is_named_by_its_line(tmp_path: Path) -> None:
    file = tmp_path / "bios.tsv"
    write_tsv(file, HEADS, [*RECORDS[:2], ("train", "", "F", "x")])
    with pytest.raises(WordbiasError, match="line 4: has no 'profession'"):
        load_biographies(file)


@pytest.mark.parametrize(
    ("heads", "said"),
    [
        (
            ("split", "job", "gender", "text"),
            r"which column holds the label .*, text with --labels",
        ),
        (
            ("split", "title", "sex", "text"),
            r"which column holds the gender \(gender or g\)\?",
        ),
        (
            ("split", "title", "gender", "story"),
            r"holds the text .* story with --text-column",
        ),
    ],
)
def test_a_column_that_is_not_found(tmp_path: Path, heads: Sequence[str], said: str) -> None:
    file = tmp_path / "bios.tsv"
    write_tsv(file, heads, RECORDS)
    with pytest.raises(WordbiasError, match=said):
        load_biographies(file)


def test_a_named_column_that_is_not_there(tmp_path: Path) -> None:
    file = tmp_path / "bios.tsv"
    write_tsv(file, HEADS, RECORDS)
    with pytest.raises(WordbiasError, match="has no column 'job'; it has split, profession, gend"):
        load_biographies(file, label="job")


@pytest.mark.parametrize(
    ("place", "said"),
    [(1, "every biography has the same occupation, 'nurse'"), (2, "the same gender, 'F'")],
)
def test_only_one_class_or_gender(tmp_path: Path, place: int, said: str) -> None:
    file = tmp_path / "bios.tsv"
    write_tsv(file, HEADS, [row for row in RECORDS if row[place] == RECORDS[0][place]])
    with pytest.raises(WordbiasError, match=said):
        load_biographies(file)


def test_files_that_are_something_else(tmp_path: Path) -> None:
    plain = tmp_path / "bios.txt"
    plain.write_text("She is known.\n")
    with pytest.raises(WordbiasError, match=r"expected \.tsv, \.csv or \.jsonl, compressed or not"):
        load_biographies(plain)
    empty = tmp_path / "bios.jsonl"
    empty.write_text("")
    with pytest.raises(WordbiasError, match=r"holds no biographies$"):
        load_biographies(empty)
    empty.write_text("[]\n")
    with pytest.raises(
        WordbiasError, match=r"holds no biographies; 1 rows cannot be used, the first: l"
    ):
        load_biographies(empty, skip_bad=True)
    with pytest.raises(WordbiasError, match=r"none\.tsv: cannot be read: No such file"):
        load_biographies(tmp_path / "none.tsv")
    with pytest.raises(WordbiasError, match=r"holds no biographies$"):
        load_biographies(pickled(tmp_path / "empty.pkl"))


def test_columns_of_different_lengths_are_no_biographies() -> None:
    with pytest.raises(WordbiasError, match="made up: 2 texts, but 1 genders"):
        Biographies("made up", ("a", "b"), np.zeros(2, np.intp), ("x",), np.zeros(1, np.intp))


def test_taking_keeps_columns_together() -> None:
    bios = Biographies.of(
        "made up", "abcd", ["x", "y", "x", "z"], "FMMF", names="ABCD", splits=["train"] * 4
    )
    taken = bios.take([3, 1, 1])
    assert taken.texts == ("d", "b", "b")
    assert taken.names == ("D", "B", "B")
    assert taken.label_names() == ["z", "y", "y"]
    assert taken.gender_names() == ["F", "M", "M"]
    assert taken.classes == bios.classes
    assert taken.counts().tolist() == [[0, 0], [0, 2], [1, 0]]
    assert np.isnan(taken.shares()[0])
    masked = bios.take(np.array([False, True, False, True]))
    assert masked.texts == ("b", "d")
    assert len(bios.take([])) == 0
    assert len({bios.sha256, taken.sha256, masked.sha256, bios.with_texts("abce").sha256}) == 4
    assert bios.take(range(4)).sha256 == bios.sha256


@pytest.mark.slow
def test_the_real_biographies(shared_data: Path) -> None:
    file = shared_data / "bios" / "bios_surgeon_nurse.tsv.gz"
    bios = load_biographies(file)
    with gzip.open(file, "rt", encoding="utf-8", newline="\n") as stream:
        heads, *lines = (line.rstrip("\n").split("\t") for line in stream)
    rows = [dict(zip(heads, line, strict=True)) for line in lines]
    assert len(bios) == len(rows) == 6387
    cells = Counter((row["profession"], row["gender"]) for row in rows)
    for i, name in enumerate(bios.classes):
        assert bios.counts()[i].tolist() == [cells[name, "F"], cells[name, "M"]]
    assert Counter(bios.splits or ()) == Counter(
        row["split"].replace("validate", "dev") for row in rows
    )
    assert bios.texts[100] == rows[100]["text"].strip()


@settings(deadline=None, max_examples=examples(50))
@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["raw", "start_pos", "title", "gender", "name", "split"]) | st.text(),
            st.sampled_from(["F", "M", "nurse", "train"])
            | st.integers()
            | st.text()
            | st.none()
            | st.lists(st.text() | st.none()).map(tuple)
            | st.floats(),
        ),
        max_size=4,
    ),
    st.booleans(),
)
def test_whatever_a_pickle_holds_is_read_or_told(
    tmp_path_factory: pytest.TempPathFactory, records: list[Any], skip: bool
) -> None:
    file = pickled(tmp_path_factory.mktemp("pickles") / "bios.pkl", *records)
    message = ""
    try:
        bios = load_biographies(file, skip_bad=skip)
    except WordbiasError as error:
        message = str(error)
    assert message.startswith(f"{file}: ") or len(bios) + bios.dropped == len(records)
    assert len(message.splitlines()) <= 1


def test_parquet_is_read_as_the_same_table(tmp_path: Path) -> None:
    """With numbers for occupations and genders, as a published copy has them."""
    pandas = pytest.importorskip("pandas", reason="writes Parquet and text")
    pytest.importorskip("pyarrow", reason="reads Parquet")
    frame = pandas.DataFrame(
        {
            "hard_text": ["She works nights.", "He operates.", "She operates.", "He helps."],
            "profession": [13, 25, 25, 13],
            "gender": [1, 0, 1, 0],
        }
    )
    frame.to_parquet(tmp_path / "bios.parquet")
    frame.to_csv(tmp_path / "bios.tsv", sep="\t", index=False)
    parquet, other = (
        load_biographies(tmp_path / name, female="1") for name in ("bios.parquet", "bios.tsv")
    )
    assert parquet.classes == ("13", "25")
    assert (parquet.texts, parquet.sha256) == (other.texts, other.sha256)
    assert parquet.genders.tolist() == other.genders.tolist() == [0, 1, 0, 1]


def test_a_row_of_parquet_that_lacks_something(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="reads Parquet")
    pyarrow = pytest.importorskip("pyarrow", reason="reads Parquet")
    cells = {"text": ["She is in.", None], "title": ["nurse", "surgeon"], "gender": ["F", "M"]}
    parquet.write_table(pyarrow.table(cells), tmp_path / "bios.parquet")
    with pytest.raises(WordbiasError, match=r"bios\.parquet: row 2: "):
        load_biographies(tmp_path / "bios.parquet")


def test_what_is_called_parquet_and_is_none(tmp_path: Path) -> None:
    (tmp_path / "bios.parquet").write_bytes(b"PAR1 not at all")
    with pytest.raises(WordbiasError, match=r"bios\.parquet: cannot be|needs pyarrow"):
        load_biographies(tmp_path / "bios.parquet")
