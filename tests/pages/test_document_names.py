"""Values of one subject from several files."""

from __future__ import annotations

from typing import Any

from wordbias.pages.document import Document, with_distinct_subjects


def document(*values: float, subject: str = "glove", measure: str = "gipe") -> Document:
    rows = [
        {"subject": subject, "measure": measure, "value": value, "layer": i}
        for i, value in enumerate(values)
    ]
    return Document(rows, {"command": "measure"})


def subjects(found: list[Document]) -> list[set[Any]]:
    return [{row["subject"] for row in file.rows} for file in found]


def test_files_that_agree_or_add_are_left_alone() -> None:
    given = [
        ("a.json", document(1, 2)),
        ("b.json", document(1)),
        ("c.json", document(5, measure="x")),
    ]
    assert with_distinct_subjects(given) == [content for _, content in given]


def test_a_subject_with_two_values_bears_the_files_names() -> None:
    other = document(7, subject="hd")
    distinct = with_distinct_subjects(
        [("x/a.json", document(1, 2)), ("x/b.json", document(1, 3)), ("c.json", other)]
    )
    assert subjects(distinct) == [{"glove (a.json)"}, {"glove (b.json)"}, {"hd"}]
    assert distinct[0].about == {"command": "measure"}
    assert [row["value"] for row in distinct[1].rows] == [1, 3]


def test_files_of_one_name_are_told_by_their_paths() -> None:
    distinct = with_distinct_subjects([("x/a.json", document(1)), ("y/a.json", document(2))])
    assert subjects(distinct) == [{"glove (x/a.json)"}, {"glove (y/a.json)"}]


def test_two_values_within_one_file_are_its_own_affair() -> None:
    twice = Document([*document(1).rows, *document(2).rows])
    assert with_distinct_subjects([("a.json", twice)]) == [twice]
    assert with_distinct_subjects([("a.json", twice), ("b.json", twice)]) == [twice, twice]
