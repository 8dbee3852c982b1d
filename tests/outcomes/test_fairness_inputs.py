"""Predictions, shares and costs: what is read of which file, and what is said of a bad one."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from wordbias import WordbiasError
from wordbias.columns import read
from wordbias.outcomes.inputs import load_costs, load_shares, shares_for, shares_of

ROWS = [("nurse", "nurse", "F"), ("surgeon", "nurse", "F"), ("surgeon", "surgeon", "M")]
NAMES = ("y", "r", "z")


def _text(kind: str) -> str:
    if kind == "jsonl":
        lines = [json.dumps(dict(zip(NAMES, row, strict=True)) | {"n": [1]}) for row in ROWS]
        return "\n".join(lines)
    joint = {"csv": ",", "tsv": "\t"}[kind]
    return "\n".join(joint.join(row) for row in [NAMES, *ROWS]) + "\n"


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl"])
@pytest.mark.parametrize("packed", [False, True])
def test_columns_are_the_same_in_every_form(tmp_path: Path, kind: str, packed: bool) -> None:
    path = tmp_path / f"p.{kind}{'.gz' * packed}"
    text = _text(kind).encode()
    path.write_bytes(gzip.compress(text) if packed else text)
    columns = read(path, ["z", "y"])
    assert columns.cells == {"z": ["F", "F", "M"], "y": ["nurse", "surgeon", "surgeon"]}
    assert (len(columns), columns.dropped) == (3, 0)


def test_numbers_and_truth_values_are_texts(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text('{"y": 1, "r": true, "z": "F"}\n\n{"y": 0, "r": false, "z": "M"}\n')
    assert read(path, NAMES, skip_bad=False).cells == {
        "y": ["1", "0"],
        "r": ["true", "false"],
        "z": ["F", "M"],
    }


BAD = [
    (
        "p.jsonl",
        '{"y": "a", "r": "b", "z": "F"}\n{"y": "a", "r":',
        "line 2: expected a JSON object",
    ),
    ("p.jsonl", '{"y": "a", "r": "b", "z": "F"}\n{"y": "a", "r": "b"}\n', "line 2: has no 'z'"),
    (
        "p.jsonl",
        '{"y": "a", "r": "b", "z": "F"}\n{"y": null, "r": "b", "z": "F"}',
        "line 2: has no 'y'",
    ),
    ("p.csv", "y,r,z\na,b,F\na,,F\n", "line 3: has no 'r'"),
    ("p.csv", "y,r,z\na,b,F\na,b\n", "line 3: expected 3 columns, found 2"),
    ("p.tsv", "y\tr\tz\na\tb\tF\na\tb\tF\t1\n", "line 3: expected 3 columns, found 4"),
]


@pytest.mark.parametrize(("name", "text", "message"), BAD)
def test_a_bad_row_is_named_and_can_be_dropped(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(WordbiasError, match=message) as refused:
        read(path, NAMES, skip_bad=False)
    assert str(refused.value).startswith(f"{path}: ")
    assert str(refused.value).endswith("drop such rows with --skip-bad")
    columns = read(path, NAMES, skip_bad=True)
    assert (len(columns), columns.dropped, columns.problem) == (1, 1, message)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("p.csv", "y,r,group\na,b,F\n", "has no column 'z'; it has y, r, group"),
        (
            "p.jsonl",
            '{"y": "a", "r": "b", "group": "F"}\n',
            "has no column 'z'; it has y, r, group",
        ),
        ("p.csv", "y,r,z\n", "holds no rows"),
        ("p.csv", "", "is empty; expected a header, a name for each column"),
        ("p.csv", "y,r,z,y\na,b,F,c\n", "line 1: expected one column, found 'y' and 'y'; leave"),
        ("p.txt", "a b F\n", "expected a file with columns"),
        ("p.parquet", "PAR", "cannot be read as Parquet|needs pyarrow"),
    ],
)
def test_a_file_without_the_columns(tmp_path: Path, name: str, text: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(WordbiasError, match=message):
        read(path, NAMES, skip_bad=False)


def test_a_file_without_a_row_that_can_be_used(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("y,r,z\na,,F\n,b,F\n")
    with pytest.raises(WordbiasError, match="no rows; 2 rows cannot be used, the first: line 2"):
        read(path, NAMES, skip_bad=True)
    with pytest.raises(WordbiasError, match=r"nowhere\.csv: cannot be read"):
        read(tmp_path / "nowhere.csv", NAMES, skip_bad=False)


def test_parquet_without_pyarrow_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(
        WordbiasError, match=r"Reading Parquet needs pyarrow; .*wordbias\[parquet\]"
    ):
        read(tmp_path / "p.parquet", NAMES, skip_bad=False)


def test_a_table_of_parquet(tmp_path: Path) -> None:
    """Whole numbers stay whole beside missing ones, and vectors are no column of text."""
    parquet = pytest.importorskip("pyarrow.parquet")
    pyarrow = pytest.importorskip("pyarrow")
    path = tmp_path / "p.parquet"
    table = {"y": [1, 2, 1, None], "r": ["1", None, "2", "1"], "z": ["F", "M", "F", "F"]}
    v = {"v": [[1.0, 2.0]] * 4, "score": [float("nan"), 1.0, 1.5, 2.0]}
    parquet.write_table(pyarrow.table(table | v), path, row_group_size=2)
    with pytest.raises(WordbiasError, match="row 2: has no 'r'; mend it"):
        read(path, NAMES, skip_bad=False)
    columns = read(path, NAMES, skip_bad=True)
    assert columns.cells == {"y": ["1", "1"], "r": ["1", "2"], "z": ["F", "F"]}
    assert (columns.dropped, columns.problem) == (2, "row 2: has no 'r'")
    assert read(path, ["score"], skip_bad=True).cells == {"score": ["1.0", "1.5", "2.0"]}
    with pytest.raises(WordbiasError, match="has no column 'q'; it has y, r, z, score"):
        read(path, ["q"])


_WITHOUT_PANDAS = """
import sys
from importlib.abc import MetaPathFinder
class Refuse(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "pandas":
            raise ModuleNotFoundError("no pandas", name="pandas")
sys.meta_path.insert(0, Refuse())
from wordbias.columns import read
print(read(sys.argv[1], ["y"]).cells["y"])
"""


def test_parquet_is_read_without_pandas(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    pyarrow = pytest.importorskip("pyarrow")
    path = tmp_path / "p.parquet"
    parquet.write_table(pyarrow.table({"y": ["a", "b"]}), path)
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT_PANDAS, path], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("['a', 'b']\n", "")


def test_parquet_of_pandas(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    path = tmp_path / "p.parquet"
    pandas.DataFrame([dict(zip(NAMES, row, strict=True)) for row in ROWS]).to_parquet(path)
    assert read(path, NAMES, skip_bad=False).cells["r"] == ["nurse", "nurse", "surgeon"]


@pytest.mark.parametrize(
    ("name", "text", "column"),
    [
        ("s.json", '{"nurse": 90, "surgeon": 15.5}', None),
        ("s.csv", "job,share\nnurse,90\nsurgeon,15.5\n", None),
        ("s.tsv", "job\told\tnew\nnurse\t1\t90\nsurgeon\t2\t15.5\n", "new"),
    ],
)
def test_shares_of_a_file(tmp_path: Path, name: str, text: str, column: str | None) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert load_shares(path, column) == {"nurse": 90, "surgeon": 15.5}


@pytest.mark.parametrize(
    ("name", "text", "column", "message"),
    [
        ("s.json", '{"nurse": 190}', None, "share of 'nurse' is 190; expected 0 to 1, or 0 to 100"),
        ("s.json", '{"nurse": true}', None, "share of 'nurse' is True"),
        ("s.json", '{"nurse": null}', None, "share of 'nurse' is None"),
        ("s.json", "{}", None, "holds no shares"),
        ("s.json", "[1]", None, "expected an object such as"),
        ("s.json", '{"nurse": 1', None, "is no JSON"),
        ("s.csv", "job,share\nnurse,much\n", None, "line 2: the share of 'nurse' is 'much'"),
        ("s.csv", "job,share\nnurse,nan\n", None, "line 2: the share of 'nurse' is 'nan'"),
        ("s.csv", "job,share\nnurse,1\nnurse,2\n", None, "line 3: the class 'nurse' comes twice"),
        ("s.csv", "job,share\nnurse\n", None, "line 2: expected 2 columns, found 1"),
        (
            "s.csv",
            "job,a,b\nnurse,1,2\n",
            None,
            "holds the shares[?] Name one of a, b",
        ),
        ("s.csv", "job,a,b\nnurse,1,2\n", "c", "has no column 'c'; it has a, b"),
        (
            "s.csv",
            "job\nnurse\n",
            None,
            "holds the shares[?] Found none; name one",
        ),
        ("s.csv", "job,share\n", None, "holds no shares"),
        ("s.txt", "nurse 1\n", None, "expected shares in a .json, .csv or .tsv file"),
    ],
)
def test_shares_that_cannot_be_read(
    tmp_path: Path, name: str, text: str, column: str | None, message: str
) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(WordbiasError, match=message) as refused:
        load_shares(path, column)
    assert str(path) in str(refused.value)


def test_shares_of_training_data() -> None:
    labels = ["nurse", "nurse", "surgeon", "nurse", "surgeon"]
    groups = ["F", "M", "M", "F", "X"]
    assert shares_of(labels, groups, "F", "M") == {"nurse": 2 / 3, "surgeon": 0}
    with pytest.raises(WordbiasError, match="nobody of the groups 'w' and 'm'"):
        shares_of(labels, groups, "w", "m")


def test_shares_are_put_in_order_and_every_class_needs_one() -> None:
    shares = {"surgeon": 0.2, "nurse": 0.9, "poet": 0.5}
    values, beside = shares_for(("nurse", "surgeon"), shares, "s.csv")
    np.testing.assert_array_equal(values, [0.9, 0.2])
    assert beside == ["poet"]
    with pytest.raises(WordbiasError, match=r"s.csv: has no share of Nurse \(is it 'nurse'\?\)"):
        shares_for(("Nurse", "surgeon"), shares, "s.csv")


COSTS = "class,b,a,c\na,1,0,3\nb,0,1,2\nc,2,3,0\n"


def test_costs_are_put_in_order(tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    path.write_text(COSTS)
    np.testing.assert_array_equal(load_costs(path, "ab"), [[0, 1], [1, 0]])
    np.testing.assert_array_equal(load_costs(path, "cab"), [[0, 3, 2], [3, 0, 1], [2, 1, 0]])


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("c.csv", COSTS.replace("c,2,3,0", "c,2,4,0"), "a to c costs 3, but 4 the other way"),
        ("c.csv", COSTS.replace("b,0", "b,9"), "b to itself costs 9; expected 0"),
        ("c.csv", COSTS + COSTS.splitlines()[1] + "\n", "line 5: the class 'a' comes twice"),
        ("c.csv", COSTS.replace("a,1", "a,-1"), "line 2: expected a cost, 0 or more; found '-1'"),
        ("c.csv", COSTS.replace("a,1", "a,x"), "line 2: expected a cost, 0 or more; found 'x'"),
        ("c.csv", COSTS.replace("c,2,3,0\n", ""), "a row and a column for each class.* for c"),
        ("c.csv", COSTS.replace("c,2,3,0", "c,2,3"), "line 4: expected 4 columns, found 3"),
        ("c.txt", COSTS, "expected costs in a .csv or .tsv file"),
    ],
)
def test_costs_that_are_none(tmp_path: Path, name: str, text: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(WordbiasError, match=message):
        load_costs(path, "abc")
