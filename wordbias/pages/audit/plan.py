"""What an audit asks, and what it leaves out."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from wordbias.errors import WordbiasError
from wordbias.measures.registry import STANDARD
from wordbias.measures.sembias import SemBias
from wordbias.nli.files import Model
from wordbias.word_tasks.sets import AnalogySet, SimilaritySet

AFTER = "misp"
PARTS = (*STANDARD, "weat", "occupations", "map", "neighbours", "quality", "mab", AFTER)
"""What can be left out; without `misp` nothing is measured after it."""
GIPE_WORDS = 50_000
"""Words, from the most frequent on, among which GIPE looks for neighbours."""
MAB_SETS = ("explicit", "occupations")


@dataclass(frozen=True)
class Plan:
    """Settings of an audit.

    Attributes
    ----------
    skip
        Some of `PARTS`.
    sembias, sets
        Test sets that are not part of the package; None and none leave these parts out.
    model
        The NLI model of the marked attribute bias; None leaves it out.
    words
        Words whose neighbours are listed, beside the occupations that lean most.
    gipe_words
        See `GIPE_WORDS`.
    isolated
        GIPE's weight of a word that is nobody's neighbour; see `wordbias.measures.gipe.gipe`.
    chance
        Put beside the values what `wordbias.measures.chance` gives on the vectors before.

    Raises
    ------
    WordbiasError
        If something else is to be skipped.
    """

    skip: Collection[str] = ()
    sembias: SemBias | None = None
    sets: Sequence[SimilaritySet | AnalogySet] = ()
    model: Model | None = field(default=None, repr=False)
    words: Sequence[str] = ()
    gipe_words: int = GIPE_WORDS
    isolated: float = 1.0
    chance: bool = True

    def __post_init__(self) -> None:
        for name in self.skip:
            if name not in PARTS:
                raise WordbiasError(f"part {name!r}: expected some of {', '.join(PARTS)}")

    def asks(self, part: str) -> bool:
        """Whether a part is measured."""
        return part not in self.skip
