from __future__ import annotations

import csv
import gzip
import io
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from wordbias.errors import WordbiasError
from wordbias.stereotypes.gsss import LABELS, Gsss, load_gsss
from wordbias.stereotypes.next_sentence import Sentences

COLUMNS = [
    "context_id",
    "context",
    "next_sentence",
    "label",
    "gender",
    "gender_swapped_context",
    "gender_swapped_next_sentence",
]
ROWS = [
    ["7", "Her car broke.", "She wept.", "stereotype", "F", "His car broke.", "He wept."],
    ["7", "Her car broke.", "She coped.", "anti-stereotype", "F", "His car broke.", "He coped."],
    ["7", "Her car broke.", "Tea is hot.", "unrelated", "F", "His car broke.", "Tea is hot."],
    ["9", "A man, \"so\".", "He ruled.", "stereotype", "M", "A woman, so.", "She ruled."],
    ["9", "A man, \"so\".", "He cooked.", "anti-stereotype", "M", "A woman, so.", "She cooked."],
    ["9", "A man, \"so\".", "Ice melts.", "unrelated", "M", "A woman, so.", "Ice melted."],
]  # fmt: skip
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(
        rows: Sequence[Sequence[str]] = ROWS,
        columns: Sequence[str] = COLUMNS,
        name: str = "gsss.csv",
        end: str = "\n",
    ) -> Path:
        text = io.StringIO()
        csv.writer(text, lineterminator=end).writerows([columns, *rows])
        data = text.getvalue().encode()
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return tmp_path / name

    return written


def changed(row: int, **cells: str) -> list[list[str]]:
    rows = [list(record) for record in ROWS]
    for column, cell in cells.items():
        rows[row][COLUMNS.index(column)] = cell
    return rows


def test_a_triple_has_its_items_in_the_order_of_the_labels(write: Write) -> None:
    first, second = load_gsss(write()).triples
    assert (first.id, first.gender, second.id, second.gender) == ("7", "F", "9", "M")
    assert [item.original.following for item in first.items] == [
        "She wept.",
        "She coped.",
        "Tea is hot.",
    ]
    assert list(second.pairs()) == [
        Sentences('A man, "so".', "He ruled."),
        Sentences("A woman, so.", "She ruled."),
        Sentences('A man, "so".', "He cooked."),
        Sentences("A woman, so.", "She cooked."),
        Sentences('A man, "so".', "Ice melts."),
        Sentences("A woman, so.", "Ice melted."),
    ]


def test_the_order_of_rows_does_not_matter_within_a_triple(write: Write) -> None:
    shuffled = list(ROWS)
    random.Random(3).shuffle(shuffled)
    assert shuffled != ROWS
    by_id = {triple.id: triple for triple in load_gsss(write(shuffled, name="b.csv")).triples}
    assert by_id == {triple.id: triple for triple in load_gsss(write()).triples}


@pytest.mark.parametrize(
    ("name", "end", "columns"),
    [
        ("a.csv", "\r\n", COLUMNS),
        ("a.csv.gz", "\n", COLUMNS),
        ("a.csv", "\n", ["\ufeffcontext_id", *COLUMNS[1:]]),
        ("test.csv", "\n", [*COLUMNS[:5], "gender_swapped_conext", COLUMNS[6]]),
    ],
    ids=["CRLF", "compressed", "byte order mark", "misspelt header of the test file"],
)
def test_spellings_of_a_file(write: Write, name: str, end: str, columns: list[str]) -> None:
    assert load_gsss(write(ROWS, columns, name, end)).triples == load_gsss(write()).triples


def test_columns_may_have_any_order_among_others(write: Write) -> None:
    rows = [["x", *reversed(row)] for row in ROWS]
    reordered = load_gsss(write(rows, ["note", *reversed(COLUMNS)], "other.csv"))
    assert reordered.triples == load_gsss(write()).triples


def test_what_the_swap_did_is_known(write: Write) -> None:
    gsss = load_gsss(write())
    assert gsss.altered_unrelated() == ["9"]
    assert gsss.unswapped() == []
    rows = [[*row[:5], row[1], row[2]] if row[0] == "7" else row for row in ROWS]
    assert load_gsss(write(rows)).unswapped() == ["7"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (changed(1, label="anti"), "line 3: label: expected one of stereotype, anti-stereotype, "),
        (changed(1, gender="X"), "line 3: gender: expected one of M, F, found 'X'"),
        (changed(2, next_sentence=" "), "line 4: has no 'next_sentence'"),
        (changed(3, gender_swapped_context=""), "line 5: has no 'gender_swapped_context'"),
        (changed(4, gender="F"), "context_id 9 (line 5): is no triple: its gender is 'M' and 'F'"),
        (changed(4, context="No."), "context_id 9 (line 5): is no triple: its context is "),
        (changed(4, label="unrelated"), "it has 0 rows with the label anti-stereotype, "),
        ([*ROWS, ROWS[3]], "context_id 9 (line 5): is no triple: it has 2 rows with"),
        (ROWS[:5], "context_id 9 (line 5): is no triple: it has 0 rows with"),
        ([*ROWS, ["1", "2"]], "line 8: expected 7 columns, found 2"),
        ([], "holds no rows"),
    ],
)  # fmt: skip
def test_rows_that_cannot_be_used(write: Write, rows: list[list[str]], message: str) -> None:
    path = write(rows)
    with pytest.raises(WordbiasError) as error:
        load_gsss(path)
    assert str(error.value).startswith(f"{path}: ")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_missing_columns_are_all_named(write: Write) -> None:
    path = write([row[:3] for row in ROWS], COLUMNS[:3])
    expected = (
        "line 1: has no columns 'label', 'gender', 'gender_swapped_con.', "
        "'gender_swapped_next_sentence'; it has context_id, context, next_sentence"
    )
    with pytest.raises(WordbiasError, match=expected):
        load_gsss(path)


def test_other_bytes_are_refused_with_their_line(write: Write) -> None:
    path = write()
    path.write_bytes(path.read_bytes().replace(b"Tea", b"T\xe9"))
    with pytest.raises(WordbiasError, match=r"line 4: is not UTF-8 \(byte b'\\xe9'\)"):
        load_gsss(path)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(WordbiasError, match=r"none\.csv: cannot be read: No such file"):
        load_gsss(tmp_path / "none.csv")
    (tmp_path / "broken.csv.gz").write_bytes(gzip.compress(b"a,b\n")[:-4])
    with pytest.raises(WordbiasError, match=r"broken\.csv\.gz: cannot be read"):
        load_gsss(tmp_path / "broken.csv.gz")
    (tmp_path / "quote.csv").write_text(",".join(COLUMNS) + '\n1,"a"b,c,d,e,f,g\n')
    with pytest.raises(WordbiasError, match=r"quote\.csv: line 2: is no CSV"):
        load_gsss(tmp_path / "quote.csv")


@pytest.fixture
def published(shared_data: Path) -> Gsss:
    return load_gsss(shared_data / "gsss" / "dev.csv")


def test_the_published_file(published: Gsss, shared_data: Path) -> None:
    with (shared_data / "gsss" / "dev.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3 * len(published.triples) == 702
    assert sum(triple.gender == "M" for triple in published.triples) == 121
    at = {(row["context_id"], row["label"]): row for row in rows}
    for triple in published.triples:
        for label, item in zip(LABELS, triple.items, strict=True):
            row = at[triple.id, label]
            assert item.original == (row["context"].strip(), row["next_sentence"].strip())
    assert len(published.altered_unrelated()) == 12
    assert published.unswapped() == []
    (odd,) = [triple for triple in published.triples if triple.id == "131"]
    assert len({item.swapped.context for item in odd.items}) == 2


def test_the_published_file_under_the_misspelt_header(
    published: Gsss, shared_data: Path, tmp_path: Path
) -> None:
    data = (shared_data / "gsss" / "dev.csv").read_bytes()
    right, wrong = b"gender_swapped_context", b"gender_swapped_conext"
    (tmp_path / "test.csv").write_bytes(data.replace(right, wrong, 1))
    assert load_gsss(tmp_path / "test.csv").triples == published.triples


def test_the_published_test_file(shared_data: Path) -> None:
    path = shared_data / "gsss" / "test.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    triples = load_gsss(path).triples
    assert (len(rows), len(triples)) == (2247, 749)
    genders = [triple.gender for triple in triples]
    assert (genders.count("M"), genders.count("F")) == (374, 375)
    at = {(row["context_id"], row["label"]): row for row in rows}
    for triple in triples:
        for label, item in zip(LABELS, triple.items, strict=True):
            row = at.pop((triple.id, label))
            assert item.original == (row["context"].strip(), row["next_sentence"].strip())
            swapped = row["gender_swapped_conext"], row["gender_swapped_next_sentence"]
            assert item.swapped == tuple(map(str.strip, swapped))
    assert not at
    assert len(load_gsss(path).altered_unrelated()) == 69
    assert load_gsss(path).unswapped() == ["502"]


@pytest.mark.parametrize("again", ["label", "gender_swapped_context"])
def test_a_column_that_is_there_twice(write: Write, again: str) -> None:
    """Which of the two is meant cannot be told, also where one of them is misspelt."""
    other = "gender_swapped_conext" if again in COLUMNS else "gender_swapped_context"
    name = again if again == "label" else other
    path = write([[*row, row[3]] for row in ROWS], [*COLUMNS, name])
    with pytest.raises(WordbiasError, match=f"one column, found .* and '{name}'; leave one"):
        load_gsss(path)
