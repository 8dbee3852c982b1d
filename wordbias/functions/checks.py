"""Values that the command line refuses by the types of its options, refused in Python too."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from wordbias.errors import UsageError, WordbiasError


def path_named(option: str, given: object) -> str:
    """Return a path or name, and refuse anything else.

    Raises
    ------
    WordbiasError
        If it is something else; the message names the option as it is typed.
    """
    if isinstance(given, (str, os.PathLike)):
        return os.fspath(given)
    raise WordbiasError(f"{option}: expected a path or a name, got {type(given).__name__}")


def check_choice(option: str, value: str | None, known: Sequence[str]) -> None:
    """Refuse a value that is not one of the known ones; None means not given.

    Raises
    ------
    UsageError
        If it is another value; the message names the option as it is typed, and the values.
    """
    if value is not None and value not in known:
        raise UsageError(f"{option}: expected one of {', '.join(known)}, got {value!r}")


def check_number(
    option: str, value: float | None, low: float, high: float = float("inf"), *, above: bool = False
) -> None:
    """Refuse a number outside its range, and nan; None means not given.

    Parameters
    ----------
    above
        Exclude the lowest value itself.

    Raises
    ------
    UsageError
        If it is outside; the message names the option as it is typed, and the range.
    """
    if value is None or (low < value <= high) or (value == low and not above):
        return
    least = f"above {low:g}" if above else f"of at least {low:g}"
    most = "" if high == float("inf") else f" and at most {high:g}"
    raise UsageError(f"{option}: expected a number {least}{most}, got {value}")


def seeds_of(given: int | Sequence[int]) -> list[int]:
    """Return one seed or several as a list.

    Raises
    ------
    UsageError
        If there is none.
    """
    found = list(given) if isinstance(given, Iterable) else [given]
    if not found:
        raise UsageError("--seeds: expected one at least")
    return found
