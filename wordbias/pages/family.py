"""What there is to say about a family of measures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class Family:
    """Measures that ask one question.

    Attributes
    ----------
    key, title
        In the page's address, and for people.
    measures
        Name of each measure for people, by its name in the rows.
    asks
        What it asks, in words for who has not read the paper.
    limits
        What the numbers do not say.
    method
        How it is computed, and the source.
    main
        The measure that stands for the family at a glance.
    main_variant
        Start of the variant that does, such as ``θ=0.03``.
    common
        Whether the values share one scale, and one picture.
    """

    key: str
    title: str
    measures: Mapping[str, str]
    asks: str
    limits: str
    method: str
    main: str
    main_variant: str = ""
    common: bool = False

    @property
    def short(self) -> str:
        """The title without its question."""
        return self.title.partition(":")[0]
