"""Bad rows: refused with their line, or dropped and counted when asked."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordbias.formats import VectorFile, load, save
from wordbias.formats.loading import Tally

Refused = Callable[..., str]
COMMANDS = {
    "misp": ["misp", "IN"],
    "streamed": ["misp", "IN", "-o", "OUT.txt"],
    "convert": ["convert", "IN", "OUT.safetensors"],
    "convert-streamed": ["convert", "IN", "OUT.vec"],
}
BAD = {
    "too few": (b"zzz 1 2 3 4 5 6 7", "expected 8 values, found 7"),
    "none": (b"zzz", "expected 8 values, found 0"),
    "empty line": (b"", "expected 8 values, found 0"),
    "too many": (b"zzz 1 2 3 4 5 6 7 8 9", "expected 8 values, found 9"),
    "many too many": (b"zzz" + b" 1" * 20, "expected 8 values, found 20"),
    "no number": (b"zzz 1 2 x 4 5 6 7 8", "column 4: 'x' is not a number"),
    "two numbers": (b"zzz 1 2-3 4 5 6 7 8 9", "column 3: '2-3' is not a number"),
    "two spaces": (b"zzz 1 2 3 4  6 7 8", "column 6: '' is not a number"),
    "nan": (b"zzz 1 2 3 4 5 6 7 nan", "column 9: 'nan' is not a finite number"),
    "inf": (b"zzz -inf 2 3 4 5 6 7 8", "column 2: '-inf' is not a finite number"),
    "too large": (b"zzz 1 2 3 4 5 6 1e39 8", "column 8: '1e39' is beyond the range of float32"),
}
PLACES = [1, 100, 504]
CALLS = [
    (bad, place, list(COMMANDS)[i % len(COMMANDS)])
    for i, (bad, place) in enumerate(product(BAD, PLACES))
]
"""Each bad row at each place; commands in turn, as they read rows by the same two readers."""


def spoil(path: Path, line: int, row: bytes) -> None:
    """Replace a line, counted from 1, of a text file."""
    lines = path.read_bytes().split(b"\n")
    lines[line - 1] = row
    path.write_bytes(b"\n".join(lines))


@pytest.fixture(params=["v.txt", "v.vec", "v.vec.gz"])
def spoiled(request: pytest.FixtureRequest, inputs: Path, people: Any) -> Callable[..., Any]:
    """Make a text file with one bad row; return it and the number of that line."""
    import gzip

    def make(row: bytes, place: int) -> tuple[Path, int]:
        path = inputs / request.param
        plain = path.with_suffix("") if path.suffix == ".gz" else path
        save(plain, *people)
        # in a file without a header the first line tells the dimension
        line = place + 1 if ".vec" in request.param else max(place, 2)
        spoil(plain, line, row)
        if path != plain:
            path.write_bytes(gzip.compress(plain.read_bytes()))
        return path, line

    return make


@pytest.mark.each_once("spoiled")
@pytest.mark.parametrize(("bad", "place", "command"), CALLS)
def test_the_line_and_what_is_wrong_are_named(
    refused: Refused, spoiled: Callable[..., Any], bad: str, place: int, command: str
) -> None:
    if bad == "empty line" and place == PLACES[-1]:
        pytest.skip("a file may end in empty lines")
    row, problem = BAD[bad]
    path, line = spoiled(row, place)
    message = refused(*(path if part == "IN" else part for part in COMMANDS[command]))
    assert f"{path}: line {line}: {problem}; drop such rows with --skip-bad\n" in message


@pytest.mark.parametrize("value", ["nan", "-inf", "1e39"])
@pytest.mark.parametrize("command", COMMANDS)
def test_the_first_line_of_a_file_without_a_header(
    refused: Refused, good: Path, command: str, value: str
) -> None:
    spoil(good, 1, b"zzz 1 2 3 4 5 6 7 " + value.encode())
    message = refused(*(good if part == "IN" else part for part in COMMANDS[command]))
    assert f"line 1: column 9: '{value}'" in message


@pytest.mark.each_once("command", "target")
@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("target", ["out.txt", "out.vec", "out.bin", "out.safetensors"])
@pytest.mark.parametrize("command", ["misp", "convert"])
def test_skip_bad_drops_and_counts(
    cli: Any,
    inputs: Path,
    outputs: Path,
    people: Any,
    bad: str,
    target: str,
    command: str,
) -> None:
    row, problem = BAD[bad]
    words, vectors = people
    path = inputs / "v.vec"
    save(path, words, vectors)
    spoil(path, 301, row)
    spoil(path, 402, b"yyy 1")
    out = outputs / target
    arguments = ["misp", path, "-o", out] if command == "misp" else ["convert", path, out]
    done = cli(*arguments, "--skip-bad")
    assert done.code == 0, done.err
    notes = [line for line in done.err.splitlines() if "dropped" in line]
    assert notes == [f"note: 2 rows dropped, the first: {path}: line 301: {problem}"]
    remaining = [word for i, word in enumerate(words) if i not in (299, 400)]
    loaded = load(out, cache=False)  # the header's number of rows is checked here
    assert loaded.words == remaining
    if target in ("out.vec", "out.bin"):
        assert out.read_bytes().startswith(b"%d 8\n" % len(remaining))


def test_skip_bad_keeps_duplicates_of_a_streamed_file(
    cli: Any, good: Path, outputs: Path, people: Any
) -> None:
    with good.open("ab") as file:
        file.write(b"she 1 2 3 4 5 6 7 8\nbad 1\nshe 2 3 4 5 6 7 8 9\n")
    assert cli("misp", good, "-o", outputs / "out.vec", "--skip-bad").code == 0
    blocks = VectorFile.open(outputs / "out.vec").blocks(Tally())
    words = [word.decode() for block in blocks for word in block.words]
    assert words == [*people[0], "she", "she"]


def test_json_says_how_many_rows_were_dropped(cli: Any, good: Path) -> None:
    import json

    spoil(good, 300, b"zzz 1 2")
    done = cli("misp", good, "--skip-bad", "--format", "json")
    assert done.code == 0, done.err
    assert '"skipped": 1' in json.dumps(json.loads(done.out))


def test_nothing_but_bad_rows(refused: Refused, inputs: Path) -> None:
    path = inputs / "v.vec"
    path.write_bytes(b"2 3\nshe 1 2 nan\nhe 1 2 x\n")
    assert "line 2: column 4" in refused("convert", path, "OUT.txt")
    for output in ("OUT.txt", "OUT.safetensors"):
        assert "holds no usable row" in refused("convert", "--skip-bad", path, output)


@pytest.fixture
def bad_binary(inputs: Path, people: Any) -> Path:
    """Return a binary file whose rows 2 and 300 hold a nan and an infinity."""
    words, vectors = people
    rows = vectors.copy()
    rows[1, 3], rows[299, 7] = np.nan, np.inf
    body = [w.encode() + b" " + struct.pack("<8f", *r) for w, r in zip(words, rows, strict=True)]
    path = inputs / "v.bin"
    path.write_bytes(b"%d 8\n" % len(words) + b"".join(body))
    return path


@pytest.mark.parametrize("command", COMMANDS)
def test_a_nan_in_a_binary_file(refused: Refused, bad_binary: Path, command: str) -> None:
    message = refused(*(bad_binary if part == "IN" else part for part in COMMANDS[command]))
    assert f"{bad_binary}: word 2: its vector holds a nan or an infinity" in message


@pytest.mark.parametrize("target", ["out.vec", "out.bin", "out.safetensors"])
def test_skip_bad_on_a_binary_file(
    cli: Any, bad_binary: Path, outputs: Path, people: Any, target: str
) -> None:
    done = cli("misp", bad_binary, "--skip-bad", "-o", outputs / target)
    assert done.code == 0, done.err
    assert re.search("note: 2 rows dropped, the first: .*: word 2: ", done.err)
    remaining = [word for i, word in enumerate(people[0]) if i not in (1, 299)]
    assert load(outputs / target, cache=False).words == remaining


@pytest.mark.parametrize("output", [[], ["-o", "OUT.txt"], ["-o", "OUT.safetensors"]])
def test_more_components_than_dimensions(refused: Refused, good: Path, output: list[str]) -> None:
    message = refused("misp", good, "--dims", 9, *output)
    assert "9 components cannot be fitted: the vectors have 8 dimensions" in message
    assert "(dims)" in message


@pytest.mark.parametrize("output", [[], ["-o", "OUT.txt"]])
@pytest.mark.parametrize("found", [0, 1])
def test_a_group_with_fewer_than_two_words(
    refused: Refused, inputs: Path, people: Any, output: list[str], found: int
) -> None:
    words, vectors = people
    first = 100 - found  # the first hundred are the women's names
    save(inputs / "v.txt", words[first:], vectors[first:])
    message = refused("misp", inputs / "v.txt", *output)
    assert "100 female" in message
    assert re.search(rf"\b{found} of 100\b", message)


@pytest.mark.parametrize("output", [[], ["-o", "OUT.txt"]])
def test_an_embedding_without_neutral_words(
    refused: Refused, inputs: Path, people: Any, output: list[str]
) -> None:
    words = [f"w{i}" for i in range(len(people[0]))]
    save(inputs / "v.txt", words, people[1])
    assert "--vocab FILE" in refused("misp", inputs / "v.txt", *output)


def test_a_vocabulary_of_other_words(refused: Refused, good: Path, inputs: Path) -> None:
    (inputs / "vocabulary.txt").write_text("none\nof these\n")
    message = refused("misp", good, "--vocab", inputs / "vocabulary.txt", "-o", "OUT.txt")
    assert "--vocab" in message


def test_a_word_the_output_cannot_hold(refused: Refused, good: Path) -> None:
    with good.open("ab") as file:
        file.write(b". . . 1 2 3 4 5 6 7 8\n")
    for command in (["misp", "-q", good, "-o", "OUT.bin"], ["convert", good, "OUT.bin"]):
        message = refused(*command)
        assert "'. . .'" in message
        assert "write text (.txt, .vec) or .safetensors instead" in message


@pytest.mark.slow
@pytest.mark.parametrize("target", ["OUT.txt", "OUT.vec", "OUT.bin", "OUT.safetensors"])
def test_a_result_beyond_float32_is_refused_or_can_be_read(
    process: Any, refused: Refused, good: Path, outputs: Path, target: str
) -> None:
    with good.open("ab") as file:
        file.write(b"zzz" + b" 3.4e38 -3.4e38" * 4 + b"\n")
    done = process("misp", good, "-q", "-o", outputs / target)
    if done.code == 0:
        load(outputs / target, cache=False)
        return
    message = refused("misp", good, "-q", "-o", target, run=process)
    assert "'zzz'" in message


@pytest.mark.slow
def test_a_bad_row_through_a_process(refused: Refused, good: Path, process: Any) -> None:
    spoil(good, 400, b"zzz 1 2 3")
    message = refused("misp", good, "-o", "OUT.txt", run=process)
    assert "line 400: expected 8 values, found 3" in message
