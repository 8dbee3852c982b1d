"""Table of measures: everything there is to say about each, in one place, `measures.toml`.

Nothing of the package's measures is imported here: they ask for their own entry.
`wordbias.measures.evaluate` has the functions that take the measures of embeddings.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal, TypeVar

from wordbias.errors import WordbiasError

Better = Literal["lower", "higher", "neutral", ""]
Kind = Literal["bias", "change", "quality"]
F = TypeVar("F", bound=Callable[..., object])


@dataclass(frozen=True, kw_only=True)
class Measure:
    """One measure, that is one name in the rows."""

    name: str
    title: str  # title among the other measures of its family
    question: str
    scale: str  # range of its values
    # value where it finds nothing; a text where that depends on the data, None where there is no
    # such value
    neutral: float | str | None = None
    # better values: `lower`, `higher`, or `neutral`, the nearer to it; empty for a measure that
    # only describes
    better: Better = ""
    caution: str = ""  # wrong conclusion from a value near neutral
    number: str = ""  # description of the number, where the title is not enough
    short: str = ""  # title in tables of several families; by default `title`
    # title in tables of before and after, in which `{axis}` and `{k}` stand for the axis and the
    # setting; by default `short`
    staged: str = ""
    # title in the tables of the command that measures it, as a heading or before a value; by
    # default `short`
    column: str = ""
    symbol: str = ""
    # name in a sentence, where readers do not know the paper; by default `short`
    in_words: str = ""
    variant: str = "set"  # key of a row that distinguishes values of this measure
    two_sided: bool = False  # lower is better, and values lie below neutral by chance too
    listed: bool = True  # a report lists it with its family; else a view of its own shows it
    # the value grows with the length of the vectors: those of two embeddings do not compare
    by_length: bool = False

    @property
    def ideal(self) -> dict[str, float | str]:
        """Details of rows: the neutral value, if there is one, and the better way."""
        fixed = isinstance(self.neutral, (int, float))
        known = {"neutral": self.neutral} if fixed else {}
        return {**known, **({"better": self.better} if self.better else {})}  # type: ignore[dict-item]

    @property
    def neutral_text(self) -> str:
        """The neutral value in a table."""
        fixed = isinstance(self.neutral, (int, float))
        return f"{self.neutral:g}" if fixed else str(self.neutral or "–")

    @property
    def better_text(self) -> str:
        """The better way in a table."""
        if self.better == "neutral":
            return "–" if self.neutral is None else "nearer"
        return self.better or "–"


@dataclass(frozen=True, kw_only=True)
class Family:
    """Measures that answer one question, with all texts about them."""

    key: str  # name in `--only`, and anchor in a report
    title: str  # name, a colon, and the question in brief
    measures: tuple[Measure, ...]
    area: str  # what it measures, a heading of the site's list of measures
    question: str  # question that it answers, in words for a reader who does not know the paper
    limits: str
    method: str
    source: str
    # measure that stands for the family in a summary, and the start of its variant, such as
    # `θ=0.03`
    main: str
    main_variant: str = ""
    kind: Kind = "bias"  # kind of the values: of bias, of change by debiasing, or of quality
    common: bool = False  # the values share one scale, and one picture
    # a report has a section for it; else its rows are shown as those of no known measure
    section: bool = True
    # functions of `wordbias.measures` that evaluate it on a `Panel`, as `same.same_rows`: one takes
    # the panel and returns the rows, the other takes the panel and random axes and returns the
    # values along them, see `wordbias.measures.chance`. Without `rows` a command of its own
    # evaluates it, without `chance` it has a test of its own. Families with the same functions are
    # evaluated together.
    rows: str = ""
    chance: str = ""
    standard: bool = False  # evaluated where no family is named, and part of an audit
    options: tuple[str, ...] = ()  # arguments of `wordbias.measure` that it uses
    needs: str = ""  # data that it cannot do without, and their names for `wordbias fetch`
    fetch: str = ""
    draws: int | None = None  # number of axes of its chance level, if not all
    # a debiased embedding is measured along its own directions, as in the papers' tables
    own_axis: bool = False
    own_words: bool = False  # measured on words of its own, whatever the vocabulary
    in_words: str = ""  # name in a sentence; by default the title's
    # part of the variant that a sentence names, from 0 or from −1; None is none
    names_variant: int | None = None

    @property
    def short(self) -> str:
        """Title without its question."""
        return self.title.partition(":")[0]

    @property
    def description(self) -> str:
        """Computation and source."""
        return f"{self.method} {self.source}"


# Reading

_NAMES = ("title", "number", "short", "staged", "column", "symbol", "in_words")
"""What is said of one measure only, and not of another that is like it."""


def read_families(text: str) -> Iterator[Family]:
    """Yield the families of a table in TOML, in its order."""
    for key, table in tomllib.loads(text).items():
        texts: dict[str, dict[str, Any]] = {}
        try:
            for name, own in table.pop("measures", {}).items():
                other = texts[own.pop("like")] if "like" in own else {}
                shared = {key: text for key, text in other.items() if key not in _NAMES}
                texts[name] = {**shared, **own}
            measures = tuple(Measure(name=name, **fields) for name, fields in texts.items())
            options = tuple(table.pop("options", ()))
            yield Family(key=key, measures=measures, options=options, **table)
        except (KeyError, TypeError) as error:
            raise WordbiasError(f"measures.toml: {key}: {error}; correct the entry") from None


FAMILIES = tuple(
    read_families((files("wordbias.measures") / "measures.toml").read_text(encoding="utf-8"))
)

# Look-ups

BY_KEY: Mapping[str, Family] = {family.key: family for family in FAMILIES}
FAMILY_OF: Mapping[str, Family] = {
    measure.name: family for family in FAMILIES for measure in family.measures
}
MEASURES: Mapping[str, Measure] = {
    measure.name: measure for family in FAMILIES for measure in family.measures
}
SECTIONS = tuple(family for family in FAMILIES if family.section)
"""Families that have a section in a report, in their order."""
LISTED = tuple(measure.name for family in SECTIONS for measure in family.measures if measure.listed)
"""Measures that these sections list."""
SELECTABLE = tuple(family.key for family in FAMILIES if family.rows)
"""Keys of the families that ``--only`` takes."""
STANDARD = tuple(family.key for family in FAMILIES if family.standard)
"""Keys of the families that are taken by default."""


def ideal(measure: str, neutral: float | None = None) -> dict[str, Any]:
    """Return the keys of a measure's rows about its neutral value and what is better."""
    known = {} if neutral is None else {"neutral": neutral}
    return {**known, **MEASURES[measure].ideal, **known}


def variant_of(measure: str, details: Mapping[str, Any]) -> str:
    """Return the variant of a row within its measure: its set or, for GIPE, its setting."""
    known = MEASURES.get(measure)
    return str(details.get("set" if known is None else known.variant) or "")


def measure_title(measure: str) -> str:
    """Return a measure's name for people; an unknown measure keeps its own name."""
    known = MEASURES.get(measure)
    return known.title if known else measure


def short_title(measure: str) -> str:
    """Return a measure's name in a table of several families."""
    known = MEASURES.get(measure)
    return known.short or known.title if known else measure


def staged_title(measure: str, *, axis: str, k: str) -> str:
    """Return a measure's name in a table of before and after, with the axis and the setting."""
    known = MEASURES.get(measure)
    return known.staged.format(axis=axis, k=k) if known and known.staged else short_title(measure)


def column_title(measure: str) -> str:
    """Return a measure's name in the tables of the command that measures it."""
    known = MEASURES.get(measure)
    return known.column if known and known.column else short_title(measure)


def symbol(measure: str) -> str:
    """Return the letter of the papers, or the title in the tables of the command."""
    known = MEASURES.get(measure)
    return known.symbol if known and known.symbol else column_title(measure)


def in_words(measure: str) -> str:
    """Return a measure's name in a sentence."""
    known = MEASURES.get(measure)
    return known.in_words if known and known.in_words else short_title(measure)


def full_title(measure: str) -> str:
    """Return a measure's name with its family, unless the name includes it."""
    family, named = FAMILY_OF.get(measure), measure_title(measure)
    if family is None or family.short.lower().split()[0] in named.lower():
        return named
    return f"{family.short}: {named}"


def meaning(measure: str) -> str:
    """Describe the number of a measure, its neutral value and the better direction."""
    spec = MEASURES[measure]
    notes = [f"neutral {spec.neutral:g}"] if isinstance(spec.neutral, (int, float)) else []
    notes += [f"{spec.better} is better"] if spec.better in ("lower", "higher") else []
    return "; ".join(filter(None, [f"{measure}: {spec.number or spec.title}", ", ".join(notes)]))


def names_families(function: F) -> F:
    """Fill in a docstring's families: ``{measures}``, ``{standard}``, ``{others}``."""
    lists = {
        "measures": SELECTABLE,
        "standard": STANDARD,
        "others": [key for key in SELECTABLE if key not in STANDARD],
    }
    text = function.__doc__ or ""
    for name, keys in lists.items():
        text = text.replace(f"{{{name}}}", ", ".join(keys))
    function.__doc__ = text
    return function


ROW_KEYS: Mapping[str, Mapping[str, str]] = tomllib.loads(
    (files("wordbias.measures") / "rows.toml").read_text(encoding="utf-8")
)
"""What each key of rows says: names of what was measured, values, and kinds of draws."""
