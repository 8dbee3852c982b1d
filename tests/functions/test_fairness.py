"""`wordbias.fairness`: arrays, frames and files of the same examples have the same values."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordbias as wb
from wordbias.errors import UsageError, WordbiasError
from wordbias.functions.fairness import fairness

CLASSES = ("model", "nurse", "surgeon")


def _examples(n: int = 200, seed: int = 0) -> tuple[list[str], list[str], list[str]]:
    rng = np.random.default_rng(seed)
    y, r, z = (rng.choice(names, n).tolist() for names in (CLASSES, CLASSES, ("F", "M")))
    return y, [a if rng.random() < 0.6 else b for a, b in zip(y, r, strict=True)], z


@pytest.fixture
def file(tmp_path: Path) -> Path:
    lines = ["y,r,z", *map(",".join, zip(*_examples(), strict=True))]
    path = tmp_path / "predictions.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def _rows(found: Any) -> list[dict[str, Any]]:
    """Return rows without what says where the examples are from."""
    rows = [row if isinstance(row, dict) else row.to_dict() for row in found]
    return [{**json.loads(json.dumps(row)), "subject": ""} for row in rows]


@pytest.fixture
def of_file(file: Path) -> Callable[..., list[dict[str, Any]]]:
    """Measure the examples of the file."""
    named: dict[str, Any] = {"labels": "y", "predicted": "r", "sensitive": "z", "draws": 20}
    return lambda **given: _rows(fairness(file, **named, **given))


def test_arrays_lists_series_frames_and_files(
    of_file: Callable[..., list[dict[str, Any]]], file: Path
) -> None:
    expected = of_file()
    y, r, z = _examples()
    report = fairness(y, r, z, draws=20)
    assert _rows(report) == expected
    assert (report.command, report.seed) == ("fairness", 0)
    assert report.heading == ["Group fairness: 200 predictions, 3 classes, F − M."]
    assert report.inputs["predictions"] == {
        "path": "memory",
        "sha256": "",
        "rows": 200,
        "dropped": 0,
    }
    assert _rows(fairness(np.array(y), np.array(r), np.array(z), draws=20)) == expected
    named = {"labels": "y", "predicted": "r", "sensitive": "z", "draws": 20}
    assert _rows(fairness({"y": y, "r": r, "z": z}, **named)) == expected
    file_report = fairness(file, **named)
    assert _rows(file_report) == expected
    assert {row.subject for row in file_report} == {str(file)}
    assert file_report.arguments["predictions"] == str(file)
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(file)
    assert _rows(fairness(frame, **named)) == expected
    assert _rows(fairness(frame["y"], frame["r"], frame["z"], draws=20)) == expected


def test_rows_of_one_unit_are_drawn_together(
    of_file: Callable[..., list[dict[str, Any]]], file: Path
) -> None:
    """The same examples twice: as units they say what one copy says, as rows they say more."""
    y, r, z = _examples()
    unit = [str(i) for i in range(len(y))]
    once = _rows(fairness(y, r, z, draws=20))
    twice = fairness(y * 2, r * 2, z * 2, unit=unit * 2, draws=20)
    lines = ["y,r,z,person", *map(",".join, zip(y * 2, r * 2, z * 2, unit * 2, strict=True))]
    file.write_text("\n".join(lines) + "\n")
    by_column = of_file(unit="person")
    for row, other, column_row in zip(once, _rows(twice), by_column, strict=True):
        assert other["value"] == pytest.approx(row["value"])
        assert (row["unit"], other["unit"]) == ("examples", "unit")
        assert column_row == {**other, "unit": "person"}
    assert "exchanged within units" in str(twice)
    accuracy = [
        fairness(y * 2, r * 2, z * 2, **units)["accuracy"][0].details
        for units in ({}, {"unit": unit * 2})
    ]
    widths = [details["high"] - details["low"] for details in accuracy]
    # ends of 1,000 draws have an error of .09 σ, five of both ends are half the width's 1.96 σ
    assert widths[1] / widths[0] == pytest.approx(2**0.5, rel=0.25)
    with pytest.raises(UsageError, match="sensitive=, and unit= are arrays too"):
        fairness(y, r, z, unit="person")
    with pytest.raises(UsageError, match="sensitive= and unit= both name the column 'z'"):
        fairness(file, "r", "z", labels="y", unit="z")


def test_classes_and_groups_that_are_numbers() -> None:
    y, r, z = ([names.index(label) for label in values] for names, values in _numbered())
    report = fairness(np.array(y), np.array(r), np.array(z), draws=0, values=[1, 0])  # type: ignore[list-item]
    sets = {row.details["set"] for row in report["tpr-gap"]}
    assert sets == {"sum", "pearson", "0", "1", "2"}
    assert report["tpr-gap"][0].details["groups"] == ["1", "0"]


def _numbered() -> list[tuple[list[str], list[str]]]:
    y, r, z = _examples()
    return [(sorted(CLASSES), y), (sorted(CLASSES), r), (["F", "M"], z)]


def test_shares_costs_and_training_data_in_memory(
    of_file: Callable[..., list[dict[str, Any]]], tmp_path: Path
) -> None:
    y, r, z = _examples()
    shares = {"model": 0.9, "nurse": 0.8, "surgeon": 0.1}
    (tmp_path / "shares.json").write_text(json.dumps(shares))
    expected = [
        {**row, **({"shares_from": "the shares given"} if "shares_from" in row else {})}
        for row in of_file(shares=tmp_path / "shares.json")
    ]
    assert _rows(fairness(y, r, z, draws=20, shares=shares)) == expected
    y_train, _, z_train = _examples(seed=1)
    lines = ["y,z", *(f"{a},{b}" for a, b in zip(y_train, z_train, strict=True))]
    (tmp_path / "train.csv").write_text("\n".join(lines))
    trained = fairness(y, r, z, draws=20, train=(y_train, z_train))
    assert [row["value"] for row in _rows(trained)] == [
        row["value"] for row in of_file(train=tmp_path / "train.csv")
    ]


def test_costs_in_memory() -> None:
    pytest.importorskip("ot")
    y, r, z = _examples()
    costs = np.abs(np.subtract.outer(range(3), range(3)))
    along = fairness(y, r, z, draws=0, distance="positions")["sufficiency"][0].value
    row = fairness(y, r, z, draws=0, costs=costs)["sufficiency"][0]
    assert row.value == pytest.approx(along)
    pandas = pytest.importorskip("pandas")
    order = ["surgeon", "model", "nurse"]
    frame = pandas.DataFrame(costs, CLASSES, CLASSES).loc[order, order]
    assert fairness(y, r, z, draws=0, costs=frame)["sufficiency"][0].value == row.value


@pytest.mark.parametrize("none", [None, "", float("nan")])
def test_missing_values(none: object) -> None:
    y, r, z = _examples(50)
    predictions = [*r[:-1], none]
    with pytest.raises(
        WordbiasError, match=r"row 50: has no 'predicted'; .* wb.config.skip_bad=True.$"
    ):
        fairness(y, predictions, z)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with wb.config(skip_bad=True):
            report = fairness(y, predictions, z, draws=0)
    assert report.notes[0] == "1 row dropped, the first: row 50: has no 'predicted'"
    assert _rows(report) == _rows(fairness(y[:-1], r[:-1], z[:-1], draws=0))


def test_it_names_what_is_wrong_as_python_does() -> None:
    y, r, z = _examples(20)
    with pytest.raises(UsageError, match=r"^choose one of train= and shares=$"):
        fairness(y, r, z, train=(y, z), shares={"nurse": 1})
    with pytest.raises(UsageError, match=r"predicted= and sensitive= are arrays too: the"):
        fairness(y, r)
    with pytest.raises(UsageError, match=r"values= names those to compare"):
        fairness(y, r, values=z)
    with pytest.raises(UsageError, match=r"^labels= names a column"):
        fairness(y, r, z, labels="y")
    with pytest.raises(UsageError, match=r"predicted= and sensitive= name columns"):
        fairness({"label": y}, r, z)
    with pytest.raises(UsageError, match=r"^train=: expected two arrays"):
        fairness(y, r, z, train="train.csv")
    with pytest.raises(WordbiasError, match="found labels 20, predicted 19, sensitive 20"):
        fairness(y, r[1:], z)
    with pytest.raises(WordbiasError, match=r"'predicted': .* the shape \(20, 1\)"):
        fairness(y, np.array(r)[:, None], z)
    with pytest.raises(WordbiasError, match="has no columns 'predicted', 'group'; it has label"):
        fairness({"label": y})
    with pytest.raises(WordbiasError, match=r"^costs=: expected a cost for each two of model"):
        fairness(y, r, z, costs=np.zeros((2, 2)))
    with pytest.raises(WordbiasError, match=r"^shares=: the share of 'nurse' is 'most'"):
        fairness(y, r, z, shares={"nurse": "most"})  # type: ignore[dict-item]
