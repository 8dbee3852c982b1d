"""Keys of 2,000 parts and integers of 400 digits: one line, or undefined."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from wordbias.pages.document import read_documents

Run = Callable[..., Any]
PARTS = ".".join(["a"] * 2_000)  # twice what Python calls into each other; tomllib takes its square
HUGE = 10**400


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", [f"{PARTS} = 1", f"[{PARTS}]\nx = 1", f'name = "x"\nspecific = {{ {PARTS} = 1 }}']
)
@pytest.mark.parametrize(
    "call",
    [
        ("misp", "--groups"),
        ("measure", "--groups"),
        ("mab-eval", "--write", "out.csv", "--groups"),
        ("weat", "--query"),
    ],
    ids=lambda call: " ".join(call),
)
def test_a_key_of_2000_parts(cli: Run, call: tuple[str, ...], text: str, tmp_path: Path) -> None:
    path = tmp_path / "deep.toml"
    path.write_text(text)
    call = tuple(
        str(tmp_path / argument) if argument == "out.csv" else argument for argument in call
    )
    done = cli(*call, path)
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    key = "specific" if "specific" in text else "a"
    assert f"{path}: the key '{key}' leads more than 20 tables or lists deep" in done.err


def rows(path: Path, **changes: Any) -> Path:
    row = {"subject": "a", "measure": "midb", "value": 0.1, **changes}
    if path.suffix == ".csv":
        path.write_text(f"{','.join(row)}\n{','.join(map(str, row.values()))}\n")
    else:
        path.write_text(json.dumps({"rows": [row]} if path.suffix == ".json" else row))
    return path


@pytest.mark.parametrize("name", ["r.json", "r.jsonl", "r.csv"])
@pytest.mark.parametrize("command", ["report", "compare"])
def test_a_value_of_400_digits(cli: Run, name: str, command: str, tmp_path: Path) -> None:
    output = ["-o", tmp_path / "out.html"] if command == "report" else []
    done = cli(command, rows(tmp_path / name, value=HUGE), *output)
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    assert "is not finite; write NA for what is undefined" in done.err
    assert not (tmp_path / "out.html").exists()


@pytest.mark.parametrize("name", ["r.json", "r.jsonl", "r.csv"])
def test_details_of_400_digits_are_undefined(cli: Run, name: str, tmp_path: Path) -> None:
    path = rows(tmp_path / name, low=HUGE, high=2, n=HUGE, neutral=0, p=-HUGE)
    done = cli("report", path, "-o", tmp_path / "out.html")
    assert done.code == 0, done.err
    (document,) = read_documents(path)
    assert [document.rows[0][key] for key in ("low", "high", "n", "p")] == [None, 2, None, None]
