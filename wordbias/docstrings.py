"""Numpydoc docstrings as data: texts, and the type and text of each parameter.

A file of its own since the options of the commands and the settings of methods are made from them.
"""

from __future__ import annotations

import inspect
import re
from typing import NamedTuple

_SECTION = re.compile(r"^(\w[\w ]+)\n-{3,}$", re.MULTILINE)


class Documented(NamedTuple):
    """The type and the text of a parameter."""

    kind: str
    text: str


def docstring_of(thing: object) -> tuple[str, dict[str, Documented]]:
    """Return the text of a docstring above its sections, and its parameters by name."""
    parts = _SECTION.split(inspect.getdoc(thing) or "")
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    parameters: dict[str, Documented] = {}
    names: list[str] = []
    for line in sections.get("Parameters", "").splitlines():
        if line and not line.startswith(" "):
            head, _, kind = line.partition(" : ")
            names = [name.strip(" *") for name in head.split(",")]
            parameters |= dict.fromkeys(names, Documented(kind, ""))
        elif line.strip():
            for name in names:
                parameters[name] = Documented(
                    parameters[name].kind, f"{parameters[name].text} {line.strip()}".strip()
                )
    return parts[0].strip(), parameters
