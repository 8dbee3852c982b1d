"""The documents, and what stands between their fences."""

from __future__ import annotations

import re
import shlex
import textwrap
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DOCUMENTS = (
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "benchmarks" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
)
_FENCE = re.compile(r"^( *)```([^\n]*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_CALL = re.compile(r"`(wordbias [^`]+)`")


@dataclass(frozen=True)
class Block:
    """One fenced block, and where its first line stands."""

    language: str
    text: str
    line: int
    before: str


@dataclass(frozen=True)
class Command:
    """One command of a shell block, its words without redirections, and where it stands.

    ``source`` is what a shell would be given.
    """

    words: tuple[str, ...]
    line: int
    source: str
    redirected: str | None = None


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def blocks(path: Path) -> list[Block]:
    """Return the fenced blocks of a document in their order."""
    text = path.read_text(encoding="utf-8")
    return [
        Block(
            fence[2].strip(),
            textwrap.dedent(fence[3]),
            text.count("\n", 0, fence.start(3)) + 1,
            text[: fence.start()],
        )
        for fence in _FENCE.finditer(text)
    ]


def prose(path: Path) -> str:
    """Return what stands outside of the fences."""
    return _FENCE.sub("", path.read_text(encoding="utf-8"))


def inline_calls(path: Path) -> list[str]:
    """Return the calls of `wordbias` that stand inside of sentences."""
    return [" ".join(call.split()) for call in _CALL.findall(prose(path))]


def last_call(text: str) -> str:
    """Return the last call of `wordbias` in a text."""
    return _CALL.findall(text)[-1]


def commands(block: Block) -> list[Command]:
    """Return the commands of a shell block; in a console block only what follows a prompt."""
    calls, lines = [], block.text.split("\n")
    while lines:
        line = block.line + block.text.count("\n") + 1 - len(lines)
        source = lines.pop(0)
        while source.endswith("\\") and lines:
            source = source[:-1] + lines.pop(0)
        prompted = source.lstrip().startswith("$ ")
        if prompted or block.language != "console":
            calls += _split(source.strip().removeprefix("$ "), line)
    return calls


def _split(source: str, line: int) -> list[Command]:
    """Take a line apart at && and at redirections; a pipe is left to the shell."""
    lexer = shlex.shlex(source, posix=True, punctuation_chars="&>|")
    lexer.whitespace_split, lexer.commenters = True, "#"
    parts: list[list[str]] = [[]]
    for word in lexer:
        if word == "&&":
            parts.append([])
        else:
            parts[-1].append(word)
    if len(parts) > 1:
        return [Command(tuple(words), line, shlex.join(words)) for words in parts]
    (words,) = parts
    if "|" in words or not words:
        return [Command(tuple(words), line, source)] if words else []
    if ">" in words:
        at = words.index(">")
        return [Command(tuple(words[:at]), line, source, words[at + 1])]
    return [Command(tuple(words), line, source)]
