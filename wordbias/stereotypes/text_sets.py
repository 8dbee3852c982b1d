"""The tests of stereotypes: the test and the model that a text, file or folder is for."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, cast

from wordbias.calls import path_of
from wordbias.errors import WordbiasError
from wordbias.models.causal_model import CausalModel
from wordbias.rendering import how_many
from wordbias.resources import located
from wordbias.stereotypes import bbq, crows_pairs, gsss, stereoset, winobias_likelihood, winogender
from wordbias.stereotypes.entry import StereotypeTest
from wordbias.stereotypes.next_sentence import NextSentence
from wordbias.text_files import Source, read_text

TESTS: list[StereotypeTest] = [
    crows_pairs.TEST,
    stereoset.TEST,
    gsss.TEST,
    winobias_likelihood.TEST,
    winogender.TEST,
    bbq.TEST,
]
"""The tests in the order of messages; a file is of the first that recognises it."""


class TextsFrame(Protocol):
    """A pandas frame with the columns of a file."""

    def to_csv(self, *, index: bool) -> str:
        """Return it as CSV."""


class TextSet(Protocol):
    """The data that one of the tests read of a file or folder."""

    @property
    def path(self) -> str:
        """File or folder."""


TextSetLike = str | os.PathLike[str] | TextsFrame | TextSet
"""A file or folder, a frame with the columns of a file, or the data that were read from one."""


def load_text_set(given: TextSetLike, *, as_published: bool = False) -> TextSet:
    """Read a data set, recognised by its content; one that was read is returned."""
    if isinstance(given, tuple(known_test.data for known_test in TESTS)):
        return cast("TextSet", given)
    line, names, content = "", set[str](), "a folder with none of their files"
    path = path_of(given)
    place = given if path is None else Path(located(path))
    if isinstance(place, Path) and place.is_dir():
        source = Source(str(place), "", "")
        names = {file.name for file in place.iterdir()}
    else:
        source = _text(place)
        line = source.text.lstrip().partition("\n")[0].rstrip("\r")
        content = repr(line[:60])
    for test in TESTS:
        if test.recognised(line, names):
            data: TextSet = test.read(source, as_published)
            return data
    raise WordbiasError(f"{source.path}: {_expected()}; found {content}")


def _text(given: object) -> Source:
    if isinstance(given, Path):
        return read_text(given)
    if hasattr(given, "to_csv"):
        text = given.to_csv(index=False)
        return Source("a frame", text, hashlib.sha256(text.encode()).hexdigest())
    raise WordbiasError(f"{_expected()}, or a frame; got {type(given).__name__}")


def _expected() -> str:
    return f"expected {_either([f'{test.title} ({test.form})' for test in TESTS])}"


def _either(names: Sequence[str]) -> str:
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def entry_of(data: TextSet) -> StereotypeTest:
    """Return the test whose reader read data."""
    return next(test for test in TESTS if isinstance(data, test.data))


def heads_for(data: TextSet, *, causal: bool) -> list[Any]:
    """Return the classes of the heads that score data: of encoders, or the decoder."""
    test = entry_of(data)
    return [
        head for head in test.scores if (head is CausalModel) == causal and test.holds(data, head)
    ]


def for_model(data: TextSet, model: str, *, causal: bool) -> TextSet:
    """Return a data set that a decoder or an encoder scores; for a decoder items are parsed."""
    test = entry_of(data)
    if heads := heads_for(data, causal=causal):
        if causal:
            test.check(data, heads)
        return data
    reason = f"{test.title} is scored by the likelihood of a decoder, and {model} is an encoder"
    if causal:
        head = "holds pairs of sentences, which a next-sentence head scores"
        if NextSentence not in test.scores:
            head = "is scored by the masked-language head of an encoder"
        reason = f"{head}, and {model} is a decoder"
    names = [
        other.title + (f" with items {other.part}" if causal and other.part else "")
        for other in TESTS
        if any((head is CausalModel) == causal for head in other.scores)
    ]
    raise WordbiasError(f"{data.path}: {reason}; give {_either(names)}")


def facts(data: TextSet) -> Mapping[str, object]:
    """Return what a report on a decoder says of a data set."""
    test = entry_of(data)
    return {"data": test.title, **source_of(data), test.items: len(getattr(data, test.items))}


def source_of(data: TextSet) -> dict[str, object]:
    """Return the path of a data set, and the hash if it has one."""
    return {name: value for name, value in vars(data).items() if name in ("path", "sha256")}


def described(data: TextSet) -> str:
    """Name a data set and what is in it."""
    test = entry_of(data)
    if test.described is not None:
        return test.described(data)
    count = how_many(len(getattr(data, test.items)), test.items.removesuffix("s"))
    return f"{test.title}, {count} ({data.path})"
