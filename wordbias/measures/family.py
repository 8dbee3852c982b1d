"""What an entry of the table of measures holds: see `wordbias.measures.registry`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

from wordbias.results import Row

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from wordbias.measures.chance import Null
    from wordbias.measures.gipe import Neighbourhood
    from wordbias.measures.panel import Panel
    from wordbias.measures.sembias import SemBias

Key = tuple[str, str]
"""A measure with its set or setting."""
Values = Mapping[Key, "NDArray[np.float64]"]
"""Of a measure its values along several axes, nan where one is undefined."""
Better = Literal["lower", "higher", "neutral", ""]
Kind = Literal["bias", "change", "quality"]


@dataclass(frozen=True, kw_only=True)
class Measure:
    """One measure, that is one name in the rows.

    Attributes
    ----------
    name
        In the rows.
    title
        For people, beside the other measures of its family.
    asks
        Its question, in a line.
    scale
        The values that it can have.
    neutral
        Its value where it finds nothing; a text where that depends on the data, None where there is
        no such value.
    better
        Which way is better: ``lower``, ``higher``, or ``neutral``, the nearer to it; empty for what
        describes.
    caution
        What a value near neutral does not mean.
    number
        What its number is, where the title does not say it.
    short
        Its title in tables of several families; by default `title`.
    staged
        Its title in tables of before and after, in which ``{axis}`` and ``{k}`` stand for the axis
        and the setting; by default `short`.
    variant
        Which key of a row tells values of this measure apart.
    two_sided
        Lower is better, and values lie below neutral by chance too.
    listed
        A report lists it with its family; else a view of its own shows it.
    """

    name: str
    title: str
    asks: str
    scale: str
    neutral: float | str | None
    better: Better
    caution: str = ""
    number: str = ""
    short: str = ""
    staged: str = ""
    variant: str = "set"
    two_sided: bool = False
    listed: bool = True

    @property
    def ideal(self) -> dict[str, float | str]:
        """What a row says of this measure: its neutral value, if it has one, and what is better."""
        fixed = isinstance(self.neutral, (int, float))
        known = {"neutral": self.neutral} if fixed else {}
        return {**known, **({"better": self.better} if self.better else {})}  # type: ignore[dict-item]


@dataclass(frozen=True, eq=False)
class MeasureInputs:
    """What the measures of a family are taken of.

    Attributes
    ----------
    panel
        The embedding, its original, the vocabulary and the direction.
    sembias
        The questions of SemBias.
    isolated
        GIPE's weight of a word that is nobody's neighbour; see `wordbias.measures.gipe.gipe`.
    """

    panel: Panel
    sembias: SemBias | None = None
    isolated: float = 1.0

    @cached_property
    def neighbourhood(self) -> Neighbourhood | None:
        """The neighbours of GIPE, which values and chance share; None without a direction."""
        from wordbias.measures.gipe import find_neighbourhood

        if self.panel.original_direction.subspace is None:
            return None
        return find_neighbourhood(self.panel)


class Taken(NamedTuple):
    """How the measures of a family are taken of an embedding.

    Attributes
    ----------
    rows
        Measures.
    chance
        Measures along axes that do not mean the attribute, see `wordbias.measures.chance`; one
        value for each. None where a measure has a test of its own.
    """

    rows: Callable[[MeasureInputs], list[Row]]
    chance: Callable[[MeasureInputs, Sequence[Null]], Values] | None = None


@dataclass(frozen=True, kw_only=True)
class Family:
    """Measures that ask one question, and what there is to say about them.

    Attributes
    ----------
    key
        What ``--only`` calls it; its place in a report's address.
    title
        For people: its name, a colon, its question in brief.
    measures
        One or more.
    area
        The heading of `docs/measures.md` under which it stands.
    asks
        What it asks, in words for who has not read the paper.
    limits
        What the numbers do not say.
    method, source
        How it is computed, and who proposed it.
    main, main_variant
        The measure that stands for the family at a glance, and the start of its variant, such as
        ``θ=0.03``.
    kind
        Whether the values are of bias, of what debiasing changed, or of quality.
    common
        The values share one scale, and one picture.
    section
        A report has a section for it; else its rows are shown as those of no known measure.
    taken
        Loads what takes it of an embedding; None where commands of its own do. Families with the
        same function are taken together.
    standard
        It is taken where no family is named.
    options
        Arguments of `wordbias.measure` that play a part in it.
    needs, fetch
        What it cannot be taken without, and the names by which ``wordbias fetch`` gets that.
    draws
        Along how many axes chance is taken, if not along all.
    own_axis
        A debiased embedding is measured along what it gives itself, as in the papers' tables.
    in_words
        Its name in a sentence; by default the title's.
    names_variant
        Which part of the variant a sentence names, from 0 or from −1; None is none.
    """

    key: str
    title: str
    measures: tuple[Measure, ...]
    area: str
    asks: str
    limits: str
    method: str
    source: str
    main: str
    main_variant: str = ""
    kind: Kind = "bias"
    common: bool = False
    section: bool = True
    taken: Callable[[], Taken] | None = None
    standard: bool = False
    options: tuple[str, ...] = ()
    needs: str = ""
    fetch: str = ""
    draws: int | None = None
    own_axis: bool = False
    in_words: str = ""
    names_variant: int | None = None

    @property
    def short(self) -> str:
        """The title without its question."""
        return self.title.partition(":")[0]

    @property
    def told(self) -> str:
        """How it is computed, and the source."""
        return f"{self.method} {self.source}"
