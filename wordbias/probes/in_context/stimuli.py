"""Which queries the option `--stimuli` means."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from wordbias.errors import WordbiasError
from wordbias.wordlists.queries import Query
from wordbias.wordlists.query_files import load_queries

_RANGE = re.compile(r"(\d+)-(\d+)")
_PREFIX = "weat"
_REMEDY = (
    "add a table [queries.NAME] with targets = [x, y] and attributes = [a, b], names of sets, in a "
    ".toml file"
)


def choose_stimuli(asked: str) -> tuple[Query, ...]:
    """Return queries: those of a file, or of the ten stimuli of WEAT and CEAT.

    Parameters
    ----------
    asked
        A file as `load_queries` reads it (.toml, .json); or numbers, ranges and names of the ten
        between commas: ``6``, ``1-10``, ``weat6,7``, ``all``.

    Raises
    ------
    WordbiasError
        If the file is of no use, or there is no such stimulus.
    """
    if Path(asked).suffix.lower() in (".toml", ".json") or Path(asked).is_file():
        return load_queries(asked, remedy=_REMEDY)
    known = {query.name: query for query in load_queries()}
    names = [name for part in asked.split(",") if part.strip() for name in _names(part.strip())]
    if "all" in names:
        return tuple(known.values())
    for name in names or [asked]:
        if name not in known:
            raise WordbiasError(
                f"no stimulus {name.removeprefix(_PREFIX)!r}; choose among 1-{len(known)} "
                f"({', '.join(known)}), or name a .toml or .json file"
            )
    return tuple(known[name] for name in dict.fromkeys(names))


def _names(part: str) -> Sequence[str]:
    if found := _RANGE.fullmatch(part):
        first, last = map(int, found.groups())
        if first <= last < 1000:
            return [f"{_PREFIX}{number}" for number in range(first, last + 1)]
    return [f"{_PREFIX}{int(part)}" if part.isdecimal() else part]
