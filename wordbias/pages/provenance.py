"""Where the values of a page came from: inputs, arguments, versions, and what to know of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from wordbias.pages.document import Document
from wordbias.pages.markup import Markup, element

_SHORT = 120


def notes(documents: Sequence[Document]) -> Markup:
    """List what the commands said that a reader must know."""
    said = [note for one in documents for note in said_by(one)]
    if not said:
        return Markup("")
    items = [element("li", note) for note in dict.fromkeys(said)]
    return Markup(element("h2", "Notes") + element("ul", *items))


def said_by(one: Document) -> list[str]:
    """Return the notes of one document."""
    found = one.about.get("notes")
    return [str(note) for note in found] if isinstance(found, list) else []


def provenance(documents: Sequence[Document]) -> Markup:
    """Fold away the inputs with their hashes, the arguments and the versions."""
    parts = [_document(one) for one in documents if one.about]
    if not parts:
        return Markup("")
    summary = element("summary", "Inputs, arguments and versions")
    return element("details", summary, *parts)


def _document(one: Document) -> Markup:
    about = dict(one.about)
    facts: list[tuple[str, Any]] = [
        ("command", f"wordbias {about.get('command', '')}".strip()),
        ("version", about.get("wordbias", "")),
        ("seed", about.get("seed")),
        *((f"input {name}", facts) for name, facts in _dict(about.get("inputs")).items()),
        *(
            (f"argument {name}", value)
            for name, value in _dict(about.get("arguments")).items()
            if value not in (None, False, [], "")
        ),
        *((f"version of {name}", value) for name, value in _dict(about.get("versions")).items()),
    ]
    told = [(name, _text(value)) for name, value in facts if value not in (None, "")]
    pairs = [Markup(element("dt", name) + element("dd", value)) for name, value in told]
    return element("dl", *pairs)


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_text(part)}" for key, part in value.items() if part != "")
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHORT else text[: _SHORT - 1] + "…"


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
