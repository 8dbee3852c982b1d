"""First names of US births in 2020."""

from functools import cache
from typing import Any

from wordbias.wordlists._toml import as_words, packaged, read_toml


def names() -> dict[str, float]:
    """Return the share of female bearers of each name, the most frequent name first.

    Returns
    -------
    dict of str to float
        ``F / (F + M)`` among US births registered in 2020. A fresh copy at each call.
    """
    return dict(_file()["share"])


def common_names() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return 100 female and 100 male names that span the gender subspace.

    Returns
    -------
    female, male : tuple of str
        The most frequent names of (almost) one sex that are nothing else in lower-cased vectors.
    """
    return _both("subspace")


def test_names() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return 32 female and 32 male names for testing, none of them in :func:`common_names`.

    Returns
    -------
    female, male : tuple of str
    """
    return _both("test")


# Its name must not make pytest run it where it is imported.
test_names.__test__ = False  # type: ignore[attr-defined]


@cache
def _file() -> dict[str, Any]:
    return read_toml(packaged("names.toml"))


def _both(table: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    lists = _file()[table]
    return (
        as_words(lists["female"], f"names.toml: {table}.female"),
        as_words(lists["male"], f"names.toml: {table}.male"),
    )
