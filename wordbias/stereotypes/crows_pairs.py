"""CrowS-Pairs (Nangia et al. 2020): pairs of a more and a less stereotyping sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.measures.registry import ideal
from wordbias.results import Row
from wordbias.stereotypes.scores import ALL, Float, Settings, preferred
from wordbias.text_files import Source, read_text
from wordbias.text_pairs import STEREOTYPES, read_pairs

_DIGITS = 3
"""Digits to which CrowS-Pairs' own metric rounds the scores that it compares."""
DIRECTIONS = ("stereo", "antistereo")


@dataclass(frozen=True)
class CrowsPair:
    """The more and the less stereotyping sentence, their direction and type of bias."""

    more: str
    less: str
    direction: str
    bias_type: str


@dataclass(frozen=True)
class CrowsPairs:
    """The pairs of a file, with its path and hash."""

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
    """Parse the published CSV; errors are those of `load_crows_pairs`."""
    pairs = [
        CrowsPair(more, less, direction, bias)
        for direction, more, less, bias in read_pairs(source, STEREOTYPES)
    ]
    if not pairs:
        raise WordbiasError(f"{source.path}: holds no pair, only a line of names")
    return CrowsPairs(source.path, source.sha256, pairs)


def crows_rows(
    data: CrowsPairs, scores: Float, subject: str, settings: Settings | None = None
) -> list[Row]:
    """Measure how often the more stereotyping sentence is the likelier one: neutral .5.

    Parameters
    ----------
    scores
        Pseudo-log-likelihoods, shape ``(n, 2)``: more, less.

    Returns
    -------
    list of Row
        ``crows`` of all pairs, of each direction and of each type of bias.
    """
    settings = settings or Settings()
    compared = np.round(scores, _DIGITS) if settings.as_published else scores
    better = preferred(compared[:, 0], compared[:, 1], settings.ties)
    rows = []
    for subset, chosen in subsets(data).items():
        if chosen.any():
            about = {"subset": subset, "n": int(chosen.sum()), **ideal("crows")}
            interval = settings.interval(better[chosen], lambda x: x.mean(-1))
            value = float(better[chosen].mean())
            rows.append(Row(subject, "crows", value, {**about, **interval}))
    return rows


def subsets(data: CrowsPairs) -> dict[str, NDArray[np.bool_]]:
    """Return the places of all pairs, of each direction and of each type of bias."""
    direction = np.array([pair.direction for pair in data.pairs])
    bias = np.array([pair.bias_type for pair in data.pairs])
    found: dict[str, NDArray[np.bool_]] = {ALL: np.ones(len(bias), bool)}
    found |= {one: direction == one for one in DIRECTIONS}
    return found | {one: bias == one for one in dict.fromkeys(bias.tolist())}
