"""Write docs/api.md, the reference of all public names, from their docstrings.

python tools/api_reference.py            # write it
python tools/api_reference.py --check    # fail if it is not what would be written
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import wordbias
from wordbias.cli import SECTIONS
from wordbias.outcomes.settings import METHODS

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "docs" / "api.md"
HEAD = """# Python reference

Written by `python tools/api_reference.py` from the docstrings; `help(wordbias.NAME)` says the same. These are all
names that wordbias promises to keep; what is not listed here may change. Every command of the
[command line](cli.md) is a function of the same name, with the same options and defaults;
some functions have further parameters that are for Python only.
"""
TYPES = (
    "Embedding",
    "Subspace",
    "Attribute",
    "Query",
    "Representations",
    "Adapter",
    "Report",
    "Row",
)
ERRORS = ("WordbiasError",)
REWRITING = tuple(one.__name__ for one in METHODS.values())
_HEADING = re.compile(r"^(\w[\w ]+)\n-{3,}\n", re.MULTILINE)


def reference() -> str:
    """Return the whole text."""
    parts = [HEAD]
    for title, names in sections().items():
        parts.append(f"## {title}\n")
        parts += ["\n".join(_entry(name)) for name in names]
    return "\n".join(parts).rstrip("\n") + "\n"


def sections() -> dict[str, list[str]]:
    """Return the public names under their titles; each stands under one."""
    found: dict[str, list[str]] = {"Load vectors": ["load"]}
    for title, commands in SECTIONS.items():
        found[title] = [name.replace("-", "_") for name in commands]
    known = {name for names in found.values() for name in names}
    known |= {*TYPES, *ERRORS, *REWRITING, "config", "__version__"}
    found["Methods with fit and transform"] = [n for n in wordbias.__all__ if n not in known]
    found["Methods of rewriting"] = list(REWRITING)
    found["Types"] = list(TYPES)
    found["Settings"] = ["config"]
    found["Errors"] = list(ERRORS)
    return found


def _entry(name: str) -> Iterator[str]:
    """Yield one name: its signature and its docstring; of a class also its methods."""
    thing = getattr(wordbias, name)
    yield f"### {name}\n"
    yield f"```text\n{_signature(f'wordbias.{name}', thing)}\n```\n"
    yield from _markdown(thing)
    if inspect.isclass(thing):
        yield from _members(name, thing)


def _members(name: str, cls: type) -> Iterator[str]:
    """Yield the public methods and properties of a class of ours, a line each."""
    lines = []
    for key, member in inspect.getmembers(cls):
        ours = str(getattr(member, "__module__", "wordbias")).startswith("wordbias")
        if key.startswith("_") or not ours or not (callable(member) or _is_property(member)):
            continue
        text = inspect.getdoc(member) or ""
        if text:
            lines.append(f"- `{key}`: {' '.join(text.split(chr(10) * 2)[0].split())}")
    if lines:
        yield "\n".join(lines) + "\n"


def _is_property(member: object) -> bool:
    return isinstance(member, property) or type(member).__name__ == "cached_property"


def _signature(name: str, thing: object) -> str:
    """Return a signature, one parameter a line where it is long."""
    if not callable(thing):
        return name
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return f"{name}(message)"
    parts: list[str] = []
    star = False
    for one in inspect.signature(thing).parameters.values():
        parts += ["*"] if one.kind is one.KEYWORD_ONLY and not star else []
        star = star or one.kind in (one.KEYWORD_ONLY, one.VAR_POSITIONAL)
        parts.append(_bare(one))
    short = f"{name}({', '.join(parts)})"
    if len(short) <= 88:
        return short
    return "\n".join([f"{name}(", *(f"    {part}," for part in parts), ")"])


def _bare(one: inspect.Parameter) -> str:
    return str(one.replace(annotation=inspect.Parameter.empty))


def _markdown(thing: object) -> Iterator[str]:
    """Yield a numpydoc docstring as Markdown."""
    text = inspect.getdoc(thing) or ""
    parts = _HEADING.split(text)
    yield _code(parts[0].strip()) + "\n"
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        if title == "Examples":
            yield f"```pycon\n{body.strip()}\n```\n"
        elif title in ("Notes", "References"):
            yield _code(body.strip()) + "\n"
        else:
            yield f"**{title}**\n"
            yield "\n".join(_listed(body)) + "\n"


def _listed(body: str) -> Iterator[str]:
    """Yield the entries of a section, a line each."""
    entries: list[tuple[str, list[str]]] = []
    for line in body.strip("\n").splitlines():
        if line.startswith(" ") and entries:
            entries[-1][1].append(line.strip())
        elif line.strip():
            entries.append((line.strip(), []))
    for head, lines in entries:
        name, colon, kind = head.partition(" : ")
        said = " ".join(part for part in lines if part)
        yield f"- `{name}`{f' ({_code(kind)})' if colon else ''}: {_code(said)}".rstrip(": ")


def _code(text: str) -> str:
    return text.replace("``", "`")


def main() -> None:
    """Write the file, or check it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    text = reference()
    if not parser.parse_args().check:
        OUTPUT.write_text(text, encoding="utf-8")
    elif OUTPUT.read_text(encoding="utf-8") != text:
        sys.exit("api.md is not up to date; run python tools/api_reference.py")


if __name__ == "__main__":
    main()
