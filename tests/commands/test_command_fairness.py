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
        one if rng.random() < 0.7 else ("nurse" if group == "F" else "surgeon")
        for one, group in zip(y, z, strict=True)
    ]
    return [(str(a), str(b), str(c)) for a, b, c in zip(y, r, z, strict=True)]


def _write(path: Path, rows: list[tuple[str, str, str]], header: str = "y,r,z") -> Path:
    path.write_text("\n".join([header, *map(",".join, rows)]) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def predictions(tmp_path: Path) -> Path:
    return _write(tmp_path / "predictions.csv", _examples())


@pytest.fixture
def found(cli: Run, predictions: Path) -> Callable[..., dict[str, Any]]:
    """Run with few samples and return the parsed JSON."""

    def call(*arguments: object, file: Path = predictions) -> dict[str, Any]:
        done = cli(
            "fairness", file, *NAMES, "--draws", 20, "--format", "json", "--quiet", *arguments
        )
        assert (done.code, done.err) == (0, "")
        result: dict[str, Any] = json.loads(done.out)
        return result

    return call


def _values(result: dict[str, Any]) -> dict[tuple[str, str], Any]:
    return {(row["measure"], row["set"]): row["value"] for row in result["rows"]}


def test_the_numbers_are_those_of_the_library(found: Run) -> None:
    rows = fairness_rows(Confusion.of(*zip(*_examples(), strict=True)), "x")  # type: ignore[arg-type]
    expected = {(row.measure, row.details["set"]): row.value for row in rows}
    assert _values(found()) == expected


def test_columns_have_usual_names(cli: Run, tmp_path: Path) -> None:
    path = _write(tmp_path / "p.csv", _examples(), "label,predicted,group")
    assert cli("fairness", path, "--draws", 0).code == 0


def test_the_order_of_groups_is_the_sign(found: Run) -> None:
    there, back = _values(found()), _values(found("--values", "M,F"))
    for gap in ("tpr-gap", "fpr-gap", "precision-gap", "f1-gap"):
        for name in CLASSES:
            assert back[gap, name] == -there[gap, name]
        assert back[gap, "sum"] == pytest.approx(there[gap, "sum"])
        # both the gap and the share change their sign
        assert back[gap, "pearson"] == pytest.approx(there[gap, "pearson"])


def test_three_groups_and_two_of_them(
    cli: Run, refused: Refused, found: Run, tmp_path: Path
) -> None:
    path = _write(tmp_path / "p.csv", _examples(600, "FMX"))
    result = found(file=path)
    row = next(r for r in result["rows"] if r["measure"] == "tpr-gap" and r["set"] == "pearson")
    assert row["value"] is None
    assert row["reason"] == "3 groups have no signed gap; name two with --values"
    done = cli("fairness", path, *NAMES, "--draws", 5)
    text = " ".join(done.out.split())
    assert "P undefined: 3 groups have no signed gap" in text
    assert text.count("3 groups have no signed gap") == 1, "one reason for all gaps stands once"
    done = cli("fairness", path, *NAMES, "--draws", 5, "--values", "F,M")
    assert "rows of other groups left out" in done.err
    two = [row for row in _examples(600, "FMX") if row[2] != "X"]
    expected = _values(found(file=_write(tmp_path / "two.csv", two)))
    assert _values(found("--values", "F,M", file=path)) == expected
    assert "name two with --values" in refused("fairness", path, *NAMES, "--as-published")


def test_shares_of_training_data_and_of_a_file(found: Run, tmp_path: Path) -> None:
    shares = {"model": 0.9, "nurse": 0.8, "poet": 0.4, "surgeon": 0.1}
    train = [
        (name, "-", "F" if i < round(10 * share) else "M")
        for name, share in shares.items()
        for i in range(10)
    ]
    (tmp_path / "shares.json").write_text(json.dumps(shares))
    table = "job\tyear\twomen\n" + "".join(f"{k}\t2020\t{100 * v}\n" for k, v in shares.items())
    (tmp_path / "shares.tsv").write_text(table)
    results = [
        found("--train", _write(tmp_path / "train.csv", train)),
        found("--shares", tmp_path / "shares.json"),
        found("--shares", tmp_path / "shares.tsv", "--share-column", "women"),
    ]
    own = _values(found())
    first = _values(results[0])
    assert first["tpr-gap", "pearson"] != pytest.approx(own["tpr-gap", "pearson"], abs=1e-6)
    for result in results:
        for gap in ("tpr-gap", "f1-gap"):
            assert _values(result)[gap, "pearson"] == pytest.approx(first[gap, "pearson"])
    assert results[0]["inputs"]["train"]["path"] == str(tmp_path / "train.csv")
    assert set(results[0]["inputs"]) == {"predictions", "train"}


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


def test_as_published(cli: Run, found: Run, predictions: Path) -> None:
    plain, published = _values(found()), _values(found("--as-published"))
    assert published["tpr-gap", "sum"] == plain["tpr-gap", "sum"]
    assert published["independence", "sum"] == plain["independence", "sum"]
    assert published["precision-gap", "sum"] < plain["precision-gap", "sum"]
    for name in ("separation", "sufficiency"):
        assert published[name, "sum"] != pytest.approx(plain[name, "sum"])
    text = " ".join(cli("fairness", predictions, *NAMES, "--as-published").out.split())
    assert "precision is TP/N, as published" in text
    assert "alphabetical positions" in text
    assert "0 for mirror images" in text


def test_distances_of_sufficiency(cli: Run, found: Run, tmp_path: Path) -> None:
    along = _values(found("--distance", "positions"))["sufficiency", "sum"]
    usual = _values(found())["sufficiency", "sum"]
    assert _values(found("--distance", "total-variation"))["sufficiency", "sum"] == usual
    assert along > usual  # at least one step each
    pytest.importorskip("ot")
    costs = tmp_path / "costs.csv"
    lines = [",".join(["", *CLASSES])] + [
        ",".join([a, *(str(abs(i - j)) for j in range(4))]) for i, a in enumerate(CLASSES)
    ]
    lines[0] = "class" + lines[0]
    costs.write_text("\n".join(lines) + "\n")
    result = found("--costs", costs)
    assert _values(result)["sufficiency", "sum"] == pytest.approx(along)


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
