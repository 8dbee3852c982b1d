"""Which queries the option `--stimuli` means."""

from __future__ import annotations

from pathlib import Path

from wordbias.wordlists.queries import Query, choose_query
from wordbias.wordlists.query_files import load_queries

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
    known = load_queries()
    listed = f"choose among 1-{len(known)} ({', '.join(query.name for query in known)})"
    remedy = f"{listed}, or name a .toml or .json file"
    return choose_query(known, asked, what="stimulus", remedy=remedy)
