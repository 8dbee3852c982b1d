"""Subjects of which two files say different things are told apart by the files' names."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from wordbias.pages.document import Document
from wordbias.rows import Found

Read = tuple[str, Document]
"""A document with the path that it was read from."""
_SAME = (
    *("subject", "measure", "stage", "reference", "set", "setting", "original", "view"),
    *("word", "component", "layer", "seed", "x", "y"),
)


def told_apart(found: Sequence[Read]) -> list[Document]:
    """Return the documents; a subject that would have two values bears the file's name too."""
    values: dict[tuple[str, ...], dict[Any, set[str]]] = {}
    for path, document in found:
        for row in document.rows:
            values.setdefault(_key(row), {}).setdefault(row["value"], set()).add(path)
    several = {key[0] for key, told in values.items() if _differ(told)}
    names = _short(list(dict.fromkeys(path for path, _ in found)))
    return [
        replace(document, rows=[_named(row, several, names[path]) for row in document.rows])
        for path, document in found
    ]


def _key(row: Found) -> tuple[str, ...]:
    return tuple(str(row.get(name)) for name in _SAME)


def _differ(told: dict[Any, set[str]]) -> bool:
    """Return whether one file has a value that another does not."""
    files: set[str] = set().union(*told.values())
    return len(files) > 1 and any(having != files for having in told.values())


def _short(paths: Sequence[str]) -> dict[str, str]:
    names = [os.path.basename(path) for path in paths]
    return {
        path: name if names.count(name) == 1 else path
        for path, name in zip(paths, names, strict=True)
    }


def _named(row: Found, several: set[str], name: str) -> Found:
    subject = str(row["subject"])
    return {**row, "subject": f"{subject} ({name})"} if subject in several else row
