"""What the tests of bad input share: real-looking files, and what every refusal must keep to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from wordbias.formats import save
from wordbias.wordlists import common_names

People = tuple[list[str], NDArray[np.float32]]
OLD = b"what was here before"


@pytest.fixture(scope="session")
def people() -> People:
    """Return an embedding that misp can work on: names, pronouns and made-up words."""
    female, male = common_names()
    words = [name.lower() for name in (*female, *male)] + ["she", "he", "woman", "man"]
    letters = "abcdefghijklmnopqrstuvwxyz"
    words += [f"zq{letters[i // 26]}{letters[i % 26]}" for i in range(300)]
    vectors = np.random.default_rng(3).standard_normal((len(words), 8)).astype(np.float32)
    return words, vectors


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    """Return a folder for the input."""
    folder = tmp_path / "inputs"
    folder.mkdir()
    return folder


@pytest.fixture
def outputs(tmp_path: Path) -> Path:
    """Return a folder for the output."""
    folder = tmp_path / "outputs"
    folder.mkdir()
    return folder


@pytest.fixture
def good(inputs: Path, people: People) -> Path:
    """Return a good GloVe file."""
    save(inputs / "good.txt", *people)
    return inputs / "good.txt"


@pytest.fixture
def refused(cli: Any, outputs: Path) -> Callable[..., str]:
    """Run a command that must fail as promised; return its one line.

    ``OUT.suffix`` among the arguments becomes an output that exists already.
    """

    def call(*arguments: object, run: Any = cli) -> str:
        given = []
        for argument in map(str, arguments):
            if argument.startswith("OUT"):
                path = outputs / argument
                path.write_bytes(OLD)
                given.append(str(path))
            else:
                given.append(argument)
        before = sorted(file.name for file in outputs.iterdir())
        done = run(*given)
        assert done.code == 1, done
        assert done.out == ""
        assert done.err.startswith("wordbias: ")
        assert done.err.endswith("\n")
        assert len(done.err.splitlines()) == 1, done.err
        assert "Traceback" not in done.err
        assert "unexpected" not in done.err
        assert sorted(file.name for file in outputs.iterdir()) == before
        for name in before:
            if name.startswith("OUT"):
                assert (outputs / name).read_bytes() == OLD
        message: str = done.err
        return message

    return call
