"""Entries of the table of measures, `wordbias.measures.registry`: measures and their families."""

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
"""Values of each measure along several axes, nan where one is undefined."""
Better = Literal["lower", "higher", "neutral", ""]
Kind = Literal["bias", "change", "quality"]


@dataclass(frozen=True, kw_only=True)
class Measure:
    """One measure, that is one name in the rows.

    Attributes
    ----------
    name
        Name in the rows.
    title
        Title beside the other measures of its family.
    question
        Question that it answers, in a line.
    scale
        Range of its values.
    neutral
        Value where it finds nothing; a text where that depends on the data, None where there is no
        such value.
    better
        Better values: ``lower``, ``higher``, or ``neutral``, the nearer to it; empty for a measure
        that only describes.
    caution
        Wrong conclusion from a value near neutral.
    number
        Description of the number, where the title is not enough.
    short
        Title in tables of several families; by default `title`.
    staged
        Title in tables of before and after, in which ``{axis}`` and ``{k}`` stand for the axis and
        the setting; by default `short`.
    variant
        Key of a row that distinguishes values of this measure.
    two_sided
        Lower is better, and values lie below neutral by chance too.
    listed
        A report lists it with its family; else a view of its own shows it.
    by_length
        The value grows with the length of the vectors: those of two embeddings do not compare.
    """

    name: str
    title: str
    question: str
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
    by_length: bool = False

    @property
    def ideal(self) -> dict[str, float | str]:
        """Details of rows: the neutral value, if there is one, and the better way."""
        fixed = isinstance(self.neutral, (int, float))
        known = {"neutral": self.neutral} if fixed else {}
        return {**known, **({"better": self.better} if self.better else {})}  # type: ignore[dict-item]


@dataclass(frozen=True, eq=False)
class MeasureInputs:
    """Inputs of the measures of an embedding.

    Attributes
    ----------
    panel
        Embedding, its original, the vocabulary and the direction.
    sembias
        Questions of SemBias.
    isolated
        Weight of a word that is nobody's neighbour; see `wordbias.measures.gipe.gipe`.
    """

    panel: Panel
    sembias: SemBias | None = None
    isolated: float = 1.0

    @cached_property
    def neighbourhood(self) -> Neighbourhood | None:
        """Neighbours of GIPE, shared by values and chance levels; None without a direction."""
        from wordbias.measures.gipe import find_neighbourhood

        if self.panel.original_direction.subspace is None:
            return None
        return find_neighbourhood(self.panel)


class Evaluator(NamedTuple):
    """Functions that evaluate the measures of a family on an embedding.

    Attributes
    ----------
    rows
        Returns the rows.
    chance
        Returns the values along axes that do not mean the attribute, see
        `wordbias.measures.chance`; None where a measure has a test of its own.
    """

    rows: Callable[[MeasureInputs], list[Row]]
    chance: Callable[[MeasureInputs, Sequence[Null]], Values] | None = None


@dataclass(frozen=True, kw_only=True)
class Family:
    """Measures that answer one question, with all texts about them.

    Attributes
    ----------
    key
        Name in ``--only``, and anchor in a report.
    title
        Name, a colon, and the question in brief.
    measures
        Measures, one or more.
    area
        Heading of `docs/measures.md` under which it stands.
    question
        Question that it answers, in words for a reader who does not know the paper.
    limits
        Limits of the numbers.
    method, source
        Computation, and the paper that proposed it.
    main, main_variant
        Measure that stands for the family in a summary, and the start of its variant, such as
        ``θ=0.03``.
    kind
        Kind of the values: of bias, of change by debiasing, or of quality.
    common
        The values share one scale, and one picture.
    section
        A report has a section for it; else its rows are shown as those of no known measure.
    evaluator
        Loads the functions that evaluate it on an embedding; None where a command of its own does.
        Families with the same evaluator are evaluated together.
    standard
        Evaluated where no family is named.
    options
        Arguments of `wordbias.measure` that it uses.
    needs, fetch
        Data that it cannot do without, and their names for ``wordbias fetch``.
    draws
        Number of axes of its chance level, if not all.
    own_axis
        A debiased embedding is measured along its own directions, as in the papers' tables.
    own_words
        Measured on words of its own, whatever the vocabulary.
    in_words
        Name in a sentence; by default the title's.
    names_variant
        Part of the variant that a sentence names, from 0 or from −1; None is none.
    """

    key: str
    title: str
    measures: tuple[Measure, ...]
    area: str
    question: str
    limits: str
    method: str
    source: str
    main: str
    main_variant: str = ""
    kind: Kind = "bias"
    common: bool = False
    section: bool = True
    evaluator: Callable[[], Evaluator] | None = None
    standard: bool = False
    options: tuple[str, ...] = ()
    needs: str = ""
    fetch: str = ""
    draws: int | None = None
    own_axis: bool = False
    own_words: bool = False
    in_words: str = ""
    names_variant: int | None = None

    @property
    def short(self) -> str:
        """Title without its question."""
        return self.title.partition(":")[0]

    @property
    def description(self) -> str:
        """Computation and source."""
        return f"{self.method} {self.source}"
