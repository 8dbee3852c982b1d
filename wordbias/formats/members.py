"""Which file in a zip archive is meant."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wordbias.errors import WordbiasError

_LISTED = 20


def choose_member(path: Path, members: Sequence[str], asked: str) -> str:
    """Return the member of an archive that is asked for, or the only one.

    Raises
    ------
    WordbiasError
        If there is no such member, or none is asked for and there are several.
    """
    if asked in members:
        return asked
    if not asked and len(members) == 1:
        return members[0]
    problem = f"has no member {asked!r}" if asked else f"holds {len(members)} files"
    listed = ", ".join(f"{path.name}::{name}" for name in members[:_LISTED])
    if len(members) > _LISTED:
        listed += f", … and {len(members) - _LISTED} more"
    raise WordbiasError(f"{path}: {problem}; name one of: {listed or '(it is empty)'}")
