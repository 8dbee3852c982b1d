"""Which files an argument makes a command read: its own, and those whose lists it names."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_LARGEST = 1 << 20


def files_of(argument: str) -> list[str]:
    """Return the file that an argument means, and the files that its word lists are in.

    Parameters
    ----------
    argument
        A path, which may be followed by ``::member`` or ``:group,group``. Where it is a TOML file,
        ``"FILE#key"`` in it is a list in another file beside it; see
        `wordbias.wordlists.WordGroups.load`.
    """
    forms = (argument, argument.partition("::")[0], argument.rpartition(":")[0])
    file = next((form for form in forms if form and os.path.exists(form)), argument)
    return [file, *(str(Path(file).parent / name) for name in _named_in(Path(file)))]


def _named_in(file: Path) -> list[str]:
    try:
        if not file.is_file() or file.stat().st_size > _LARGEST:
            return []
        tables = tomllib.loads(file.read_bytes().decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError):  # whoever reads it says what is wrong with it
        return []
    return [name for name, hash_, _ in (text.partition("#") for text in _texts(tables)) if hash_]


def _texts(tables: Any) -> Iterator[str]:
    """Yield every text in tables in tables, however deep."""
    left = [tables]
    while left:
        value = left.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            left += reversed(value.values())
