"""Values that the command line refuses by the types of its options, refused in Python too."""

from __future__ import annotations

import os
from collections.abc import Sequence

from wordbias.errors import UsageError, WordbiasError


def path_named(option: str, given: object) -> str:
    """Return a path or name, where nothing else will do.

    Raises
    ------
    WordbiasError
        Naming the option, which is written as it is typed.
    """
    if isinstance(given, (str, os.PathLike)):
        return os.fspath(given)
    raise WordbiasError(f"{option}: expected a path or a name, got {type(given).__name__}")


def check_choice(option: str, value: str | None, known: Sequence[str]) -> None:
    """Refuse what is none of the known values; None is none given.

    Raises
    ------
    UsageError
        Naming the option, which is written as it is typed, and the values.
    """
    if value is not None and value not in known:
        raise UsageError(f"{option}: expected one of {', '.join(known)}, got {value!r}")


def check_number(
    option: str, value: float | None, low: float, high: float = float("inf"), *, above: bool = False
) -> None:
    """Refuse a number outside of its range, and what is no number; None is none given.

    Parameters
    ----------
    above
        The lowest value itself is outside.

    Raises
    ------
    UsageError
        Naming the option, which is written as it is typed, and the range.
    """
    if value is None or (low < value <= high) or (value == low and not above):
        return
    least = f"above {low:g}" if above else f"of at least {low:g}"
    most = "" if high == float("inf") else f" and at most {high:g}"
    raise UsageError(f"{option}: expected a number {least}{most}, got {value}")
