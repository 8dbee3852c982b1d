"""What takes a path takes one of `pathlib`, too."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import wordbias as wb
from wordbias.arguments import accepted

FUNCTIONS = [one for name in wb.__all__ if inspect.isfunction(one := getattr(wb, name))]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: str(function.__name__))
def test_arguments_that_are_documented_as_paths_may_be_paths(function: Callable[..., Any]) -> None:
    names = inspect.unwrap(function).__globals__
    text, file = inspect.getdoc(function) or "", Path("file")
    for name, parameter in inspect.signature(function).parameters.items():
        description = re.search(rf"^\*?{name} : (.*)$", text, re.MULTILINE)
        if description is not None and re.search(
            r"\b(path|fetched name|folder|file)\b", description[1]
        ):
            assert accepted(name, str(parameter.annotation), file, names) is file, name


@pytest.mark.slow
def test_a_path_is_written_to_and_read_from(tmp_path: Path) -> None:
    words = tmp_path / "words.txt"
    words.write_text("nurse\ndoctor\nteacher\n")
    written = wb.misp(output=tmp_path / "after.vec", vocab=words, chance=False)
    assert written.report.closing[-1] == f"Written: {tmp_path / 'after.vec'} (word2vec)"
    (value,) = wb.measure(only=["direct-bias"], vocab=words, chance=False)["direct-bias"]
    assert value.details["n"] == 3
