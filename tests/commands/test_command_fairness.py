"""`wordbias fairness`: its options, its formats, and what it says when something is wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordbias.outcomes.confusion import Confusion
from wordbias.outcomes.fairness import fairness_rows

Run = Callable[..., Any]
Refused = Callable[..., str]
CLASSES = ("model", "nurse", "poet", "surgeon")
NAMES = ("--labels", "y", "--predicted", "r", "--sensitive", "z")


def _examples(n: int = 400, groups: str = "FM") -> list[tuple[str, str, str]]:
    rng = np.random.default_rng(0)
    z = rng.choice(list(groups), n)
    p = {"F": [0.3, 0.4, 0.2, 0.1], "M": [0.2, 0.1, 0.3, 0.4], "X": [0.25] * 4}
    y = [rng.choice(CLASSES, p=p[group]) for group in z]
    r = [
        label if rng.random() < 0.7 else ("nurse" if group == "F" else "surgeon")
        for label, group in zip(y, z, strict=True)
    ]
    return [(str(a), str(b), str(c)) for a, b, c in zip(y, r, z, strict=True)]


def _write(path: Path, rows: list[tuple[str, str, str]], header: str = "y,r,z") -> Path:
    path.write_text("\n".join([header, *map(",".join, rows)]) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def predictions(tmp_path: Path) -> Path:
    return _write(tmp_path / "predictions.csv", _examples())


def test_the_numbers_are_those_of_the_library(cli: Run, predictions: Path) -> None:
    rows = fairness_rows(Confusion.of(*zip(*_examples(), strict=True)), "x")  # type: ignore[arg-type]
    done = cli("fairness", predictions, *NAMES, "--format", "json")
    values = {(row["measure"], row["set"]): row["value"] for row in json.loads(done.out)["rows"]}
    assert values == {(row.measure, row.details["set"]): row.value for row in rows}


def test_columns_have_usual_names(cli: Run, tmp_path: Path) -> None:
    path = _write(tmp_path / "p.csv", _examples(), "label,predicted,group")
    assert cli("fairness", path, "--draws", 0).code == 0


def test_three_groups_and_two_of_them(cli: Run, refused: Refused, tmp_path: Path) -> None:
    path = _write(tmp_path / "p.csv", _examples(600, "FMX"))
    text = " ".join(cli("fairness", path, *NAMES, "--draws", 5).out.split())
    assert "P undefined: 3 groups have no signed gap; name two with --values" in text
    assert text.count("3 groups have no signed gap") == 1, "one reason for all gaps stands once"
    done = cli("fairness", path, *NAMES, "--draws", 5, "--values", "F,M")
    assert "rows of other groups left out" in done.err
    assert "name two with --values" in refused("fairness", path, *NAMES, "--as-published")


def test_shares_that_lack_a_class_or_have_more(
    cli: Run, refused: Refused, predictions: Path, tmp_path: Path
) -> None:
    path = tmp_path / "shares.json"
    path.write_text('{"models": 0.9, "nurse": 0.8, "poet": 0.4, "surgeon": 0.1}')
    message = refused("fairness", predictions, *NAMES, "--shares", path)
    assert "has no share of model (is it 'models'?)" in message
    path.write_text('{"model": 0.9, "nurse": 0.8, "poet": 0.4, "surgeon": 0.1, "baker": 0.5}')
    done = cli("fairness", predictions, *NAMES, "--shares", path, "--draws", 5)
    assert "names that are not a class of the predictions: baker" in done.err


def test_as_published(cli: Run, predictions: Path) -> None:
    done = cli("fairness", predictions, *NAMES, "--as-published", "--draws", 5)
    text = " ".join(done.out.split())
    assert "precision is TP/N, as published" in text
    assert "alphabetical positions" in text
    assert "0 for mirror images" in text


def test_empty_cells_are_said(cli: Run, tmp_path: Path) -> None:
    rows = [row for row in _examples() if row[::2] != ("poet", "F")]
    rows = [(y, "nurse" if r == "model" else r, z) for y, r, z in rows]
    done = cli("fairness", _write(tmp_path / "p.csv", rows), *NAMES, "--by-class")
    assert done.code == 0
    assert "no example of F in: poet" in done.err
    assert "never predicted: model" in done.err
    line = next(x for x in done.out.splitlines() if x.split()[:1] == ["poet"])
    assert "–" in line


def test_bad_rows_are_named_and_can_be_dropped(cli: Run, refused: Refused, tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    lines = [json.dumps(dict(zip("yrz", row, strict=True))) for row in _examples(50)]
    path.write_text("\n".join([*lines, '{"y": "nurse", "r": ']))
    assert f"{path}: line 51: expected a JSON object; mend it" in refused("fairness", path, *NAMES)
    done = cli("fairness", path, *NAMES, "--skip-bad", "--draws", 5)
    assert done.code == 0
    assert "note: 1 row dropped, the first: line 51" in done.err


@pytest.mark.parametrize(
    ("rows", "arguments", "message"),
    [
        ([("a", "b", "F"), ("b", "a", "F")], NAMES, "two groups at least, found only 'F'"),
        (
            [("a", "b", "F"), ("b", "a", "M")],
            (),
            "has no columns 'label', 'predicted', 'group'; it",
        ),
        ([("a", "a", "F"), ("a", "a", "M")], NAMES, "to classify takes two classes"),
        (
            [("a", "b", "F"), ("b", "a", "M")],
            (*NAMES, "--values", "F,W"),
            "no example is of the group 'W'; groups there are: F, M",
        ),
    ],
)
def test_predictions_without_what_it_takes(
    refused: Refused,
    tmp_path: Path,
    rows: list[tuple[str, str, str]],
    arguments: tuple[str, ...],
    message: str,
) -> None:
    assert message in refused("fairness", _write(tmp_path / "p.csv", rows), *arguments)


def test_missing_files_are_named(refused: Refused, predictions: Path, tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere.csv"
    for option in ("--train", "--shares", "--costs"):
        message = refused("fairness", predictions, *NAMES, option, nowhere)
        assert f"{nowhere}: cannot be read" in message
    assert f"{nowhere}: cannot be read" in refused("fairness", nowhere, *NAMES)


@pytest.mark.slow
def test_it_needs_none_of_the_heavy_libraries(predictions: Path) -> None:
    arguments = ["fairness", str(predictions), *NAMES, "--format", "jsonl"]
    code = (
        "import sys\n"
        "from wordbias.cli import run\n"
        f"assert run({arguments!r}) == 0\n"
        "heavy = {'scipy', 'sklearn', 'torch', 'transformers', 'ot', 'pandas', 'matplotlib'}\n"
        "assert not heavy & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, capture_output=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*NAMES, "--predicted", "y"), "--labels and --predicted both name"),
        ((*NAMES, "--sensitive", "y"), "--labels and --sensitive both name"),
        ((*NAMES, "--predicted", "z"), "--predicted and --sensitive both name"),
        (("--predicted", "label"), "--labels and --predicted both name the column 'label'"),
        ((*NAMES, "--train", "a", "--shares", "b"), "choose one of --train and --shares"),
        ((*NAMES, "--share-column", "a"), "--share-column"),
        ((*NAMES, "--costs", "a", "--distance", "positions"), "--costs"),
    ],
)
def test_what_does_not_go_together_is_wrong_usage(
    cli: Run, predictions: Path, arguments: tuple[str, ...], message: str
) -> None:
    """A classifier would be perfect, or a group its class."""
    done = cli("fairness", predictions, *arguments)
    assert (done.code, done.out) == (2, "")
    assert message in " ".join(done.err.split())
