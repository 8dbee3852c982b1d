"""Rows that took long to get are kept in a file, together with what they are about."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from wordbias import __version__
from wordbias.formats.atomic import replacing
from wordbias.results import Row


def kept(path: Path, about: Mapping[str, Any], make: Callable[[], list[Row]]) -> list[Row]:
    """Return rows from a file that is about the same, or make and write them.

    What another version of wordbias measured is measured again: it may have mended a measure.
    """
    wanted = json.loads(json.dumps({**about, "wordbias": __version__}))
    rows = _read(path, wanted)
    if rows is not None:
        return rows
    rows = make()
    text = json.dumps({"about": wanted, "rows": [row.to_dict() for row in rows]})
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(text.encode())
    return rows


def kept_about(path: Path) -> Mapping[str, Any]:
    """Return what the rows of a file are about; nothing if there is no such file."""
    try:
        about: Mapping[str, Any] = dict(json.loads(path.read_text(encoding="utf-8"))["about"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}
    return about


def _read(path: Path, wanted: Any) -> list[Row] | None:
    """Return the rows of a file, or None if there is none about this, or it is damaged."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["about"] != wanted:
            return None
        return [
            Row(row.pop("subject"), row.pop("measure"), row.pop("value"), row)
            for row in found["rows"]
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
