"""CrowS-Pairs (Nangia et al. 2020): two sentences, of which one says more of a stereotype."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wordbias.contextual.stereoset.tables import Source, read_text, records
from wordbias.errors import WordbiasError

DIRECTIONS = ("stereo", "antistereo")
_COLUMNS = {name: [name] for name in ("sent_more", "sent_less", "stereo_antistereo", "bias_type")}


@dataclass(frozen=True)
class CrowsPair:
    """The sentence that is more of a stereotype, the one that is less, and what they are about."""

    more: str
    less: str
    direction: str
    bias_type: str


@dataclass(frozen=True)
class CrowsPairs:
    """The pairs of a file, and where they came from."""

    path: str
    sha256: str
    pairs: Sequence[CrowsPair]


def load_crows_pairs(path: str | Path) -> CrowsPairs:
    """Read the published CSV.

    Raises
    ------
    WordbiasError
        If columns are missing, or a row cannot be used (with its line).
    """
    return parse_crows_pairs(read_text(path))


def parse_crows_pairs(source: Source) -> CrowsPairs:
    """Read the text of such a file; errors are those of `load_crows_pairs`."""
    pairs = []
    for line, row in records(source, _COLUMNS):
        if row["stereo_antistereo"] not in DIRECTIONS:
            raise WordbiasError(
                f"{source.path}: line {line}: stereo_antistereo: expected one of "
                f"{', '.join(DIRECTIONS)}, found {row['stereo_antistereo']!r}"
            )
        pairs.append(CrowsPair(*row.values()))
    if not pairs:
        raise WordbiasError(f"{source.path}: holds no pair, only a line of names")
    return CrowsPairs(source.path, source.sha256, pairs)
