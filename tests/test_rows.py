"""Reading results: rows as the commands print them, and published tables."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordbias import WordbiasError
from wordbias.comparison import Comparison, joined
from wordbias.reports import Report
from wordbias.results import Row
from wordbias.rows import Source, read_source

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def call(text: str | bytes, name: str = "rows.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return call


def _rows(*rows: dict[str, Any]) -> str:
    return json.dumps({"rows": rows})


def _row(measure: str, value: float | None, subject: str = "a", **details: Any) -> dict[str, Any]:
    return {"subject": subject, "measure": measure, "value": value, **details}


def read(paths: Sequence[Path]) -> tuple[Comparison, list[Source]]:
    sources = [read_source(path) for path in paths]
    return joined(sources), sources


def _read(*paths: Path) -> Comparison:
    return read(paths)[0]


VARIANTS = [
    (_row("clustering-v", 0.1, original="a"), "clustering-v"),
    (_row("gipe", 0.2, setting="θ=0.03"), "gipe[θ=0.03]"),
    (_row("midb", 0.3, stage="before"), "midb (before)"),
    (_row("midb", 0.4, stage="after", reference="self"), "midb (after, self)"),
    (_row("fairness", 0.5, set="explicit"), "fairness (explicit)"),
    (_row("gipe", None, setting="θ=0.07", stage="after", reason="none"), "gipe[θ=0.07] (after)"),
]


@pytest.mark.parametrize("to", ["json", "jsonl", "csv"])
def test_columns_are_named_by_what_differs_between_variants(write: Write, to: str) -> None:
    rows = [
        Row(row["subject"], row["measure"], row["value"], dict(list(row.items())[3:]))
        for row, _ in VARIANTS
    ]
    table = _read(write(Report("x", {}, {}, rows).render(to), f"rows.{to}"))
    assert list(table.measures) == [name for _, name in VARIANTS]
    np.testing.assert_array_equal(table.values, [[0.1, 0.2, 0.3, 0.4, 0.5, np.nan]])


@pytest.mark.parametrize("detail", [{"word": "he"}, {"component": 1}, {"layer": 0}])
def test_details_are_left_out(write: Write, detail: dict[str, Any]) -> None:
    path = write(_rows(_row("midb", 1), _row("midb", 2, **detail)), "rows.json")
    assert _read(path).values.tolist() == [[1]]


def test_formats_are_recognised_by_content(write: Write) -> None:
    line = json.dumps(_row("midb", 1.5))
    for text, kind in (
        (_rows(_row("midb", 1.5)), "JSON"),
        (f"[{line}]", "JSON"),
        (line, "JSONL"),
        (f"{line}\n\n{line}\n", "JSONL"),
        ("subject,measure,value\na,midb,1.5\n", "CSV rows"),
        (",midb\na,1.5\n", "CSV table"),
    ):
        table, (source,) = read([write(text, "results")])
        assert (table.values.tolist(), source.kind) == ([[1.5]], kind)


def test_one_embedding_in_several_files_is_one_row(write: Write) -> None:
    first = write(_rows(_row("midb", 1), _row("midb", 2, "b")), "one.json")
    two = write("emb,E,midb\nb,.5,2\na,.25,\n", "two.csv")
    table, sources = read([first, two, first])
    assert (table.subjects, table.measures) == (["a", "b"], ["midb", "E"])
    assert table.values.tolist() == [[1, 0.25], [2, 0.5]]
    assert len(sources) == 3
    assert len(sources[0].sha256) == 64


def test_a_number_replaces_an_undefined_value_in_any_order(write: Write) -> None:
    first, two = write(",m\na,NA\n", "1.csv"), write(",m\na,3\n", "2.csv")
    assert _read(first, two).values.tolist() == _read(two, first).values.tolist() == [[3]]


def test_an_undefined_row_without_the_setting_of_others_is_no_column(write: Write) -> None:
    rows = [_row("midb", 0.1, "a", setting="d=4"), _row("midb", None, "b", reason="too few")]
    table = _read(write(_rows(*rows, _row("rnd", None, "b", reason="too few"))))
    assert (list(table.subjects), list(table.measures)) == (["a", "b"], ["midb[d=4]", "rnd"])
    np.testing.assert_equal(table.values, [[0.1, np.nan], [np.nan, np.nan]])


def test_a_conflict_names_both_files(write: Write) -> None:
    first, two = write(",m\na,1\n", "1.csv"), write(",m\na,2\n", "2.csv")
    with pytest.raises(WordbiasError, match=r"a: m is 1\.0 in .*1\.csv but 2\.0 in .*2\.csv"):
        read([first, two])
    with pytest.raises(WordbiasError, match=r"a: m is both 1\.0 and 2\.0 in .*3\.csv; rows of"):
        read([write(",m\na,1\na,2\n", "3.csv")])


def test_columns_name_originals_only_where_one_embedding_has_several(write: Write) -> None:
    def found(*originals: tuple[str, str]) -> Sequence[str]:
        rows = [_row("c", i, subject, original=o) for i, (subject, o) in enumerate(originals)]
        return _read(write(_rows(*rows), "rows.json")).measures

    assert found(("w2v.HD", "w2v"), ("GloVe.HD", "GloVe")) == ["c"]
    assert found(("a", "a"), ("a", "b"), ("b", "b")) == ["c (a)", "c (b)"]


@pytest.mark.parametrize("cell", ["NA", "NaN", "nan", "", " ", "–", "null", "None", "n/a", "-"])
def test_undefined_cells(write: Write, cell: str) -> None:
    assert np.isnan(_read(write(f"e,m,k\na,{cell},1\n")).values[0, 0])


def test_excels_habits(write: Write) -> None:
    path = write('\ufeffemb,MIDB,"E, mean"\r\n"GN, w", −0.5 ,1e-3\r\n,,\r\n\r\n')
    table = _read(path)
    assert (table.subjects, table.measures) == (["GN, w"], ["MIDB", "E, mean"])
    assert table.values.tolist() == [[-0.5, 0.001]]
    bom = write(b"\xef\xbb\xbf" + _rows(_row("m", 1)).encode(), "bom.json")
    assert _read(bom).values.tolist() == [[1]]


BAD = [
    ("", "x.csv", "empty; expected results as JSON or CSV"),
    ("just some words\n", "x.txt", "neither JSON nor CSV .* line 1 has no comma: 'just some"),
    ("emb,m,m\na,1,2\n", "x.csv", "line 1: two columns are named 'm'"),
    ("emb,m,\na,1,2\n", "x.csv", "line 1: column 3 has no name"),
    ("emb,m\n", "x.csv", "no values"),
    ("emb,m\na,1\nb,high\n", "x.csv", r"line 3, column m: expected a number or NA, got 'high'"),
    ("emb,m\na,1_0\n", "x.csv", "line 2, column m: expected a number"),
    ("emb,m\na,inf\n", "x.csv", "line 2, column m: inf is not finite"),
    ("emb,m\na,1,2\n", "x.csv", "line 2: 3 cells, but the header has 2"),
    ("emb,m\n,1\n", "x.csv", "line 2: the first column does not name the embedding"),
    ('emb,m\n"a,1\n', "x.csv", "line 3: is no CSV"),
    ("subject,measure,value\na,m,x\n", "x.csv", "line 2, column value: expected a number"),
    ("not json", "x.json", "not JSON: line 1, column 1: "),
    ('{"rows": [\n1,,2]}', "x.json", "not JSON: line 2, column 3: "),
    ('{"subject":"a","measure":"m","value":1}\n{"a":}\n', "x.jsonl", "not JSON: line 2, column 6"),
    ('{"row": []}', "x.json", 'JSON without "rows"'),
    ("3", "x.json", 'JSON without "rows"'),
    ('{"rows": []}', "x.json", "no values"),
    ('{"rows": [3]}', "x.json", "row 1: expected an object with subject, measure and value"),
    (_rows({"subject": "a", "measure": "m"}), "x.json", "row 1: expected an object"),
    (_rows(_row("m", 1), _row("m", 1, subject=3)), "x.json", "row 2: subject and measure must"),  # type: ignore[arg-type]
    (_rows(_row("m", "1")), "x.json", "row 1: value: expected a number or null, got '1'"),  # type: ignore[arg-type]
    (_rows(_row("m", True)), "x.json", "row 1: value: expected a number or null, got True"),
    (_rows(_row("m", float("inf"))), "x.json", "row 1: inf is not finite"),
    ('{"rows": [' + "[" * 200_000, "x.json", "not usable JSON"),
    ('{"rows": ' + "1" * 5000 + "}", "x.json", "not usable JSON"),
    (b"emb,m\n\xff,1\n", "x.csv", "line 2: is not UTF-8"),
    ("emb,m\na,1\n".encode("utf-16"), "x.csv", "line 1: is not UTF-8"),
]


@pytest.mark.parametrize(("text", "name", "said"), BAD, ids=[f"{b[1]}-{b[2][:20]}" for b in BAD])
def test_bad_files(write: Write, text: str | bytes, name: str, said: str) -> None:
    path = write(text, name)
    with pytest.raises(WordbiasError, match=said) as caught:
        read([path])
    assert str(caught.value).startswith(f"{path}: ")
    assert len(str(caught.value).split("\n")) == 1


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(WordbiasError, match=r"gone\.json: cannot be read: No such file"):
        read([tmp_path / "gone.json"])
    with pytest.raises(WordbiasError, match="is a folder; name the files of results in it"):
        read([tmp_path])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable(write: Write) -> None:
    path = write("emb,m\na,1\n")
    path.chmod(0)
    with pytest.raises(WordbiasError, match="cannot be read: Permission denied"):
        read([path])


def test_the_centred_subspace_and_the_other_are_two_measures(write: Write) -> None:
    centred = write(_rows(_row("midb", 0.1, centred=True)), "a.json")
    other = write(_rows(_row("midb", 0.2, "b", centred=False)), "b.json")
    csv = write("subject,measure,value,centred\nc,midb,0.3,False\n", "c.csv")
    assert _read(centred).values.tolist() == [[0.1]]
    assert _read(other, csv).values.tolist() == [[0.2], [0.3]]
    for paths in ((centred, other), (csv, centred)):
        with pytest.raises(WordbiasError, match="midb is along the centred subspace"):
            _read(*paths)
    published = write("emb,MIDB\nx,0.5\ny,0.6\n")  # a printed table does not say
    assert _read(published, centred).subjects == ["x", "y", "a"]
