"""The methods of rewriting texts, with their settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from wordbias.outcomes.anonymise import PERSONS
from wordbias.outcomes.scrub import MASK, PER_ROUND, ROUNDS, SPLITS
from wordbias.settings import Settings, settings_of

Columns = str | Sequence[str]
Words = str | Path | Sequence[str]


class TextSettings(Settings):
    """Base class of the methods of rewriting."""

    def __repr__(self) -> str:
        given = {setting.name: getattr(self, setting.name) for setting in fields(self)}
        takes = settings_of(type(self))
        arguments = [
            f"{key}={value!r}" for key, value in given.items() if value != takes[key].default
        ]
        return f"{type(self).__name__}({', '.join(arguments)})"


@dataclass(kw_only=True, repr=False)
class Scrub(TextSettings):
    """Mask gendered words, and optionally names (De-Arteaga et al. 2019).

    Parameters
    ----------
    mask : text
        Mask that replaces a word; an empty one removes it.
    words : file or list of words, optional
        Further words, one per line.
    names_column : column or columns, optional
        Columns with the person's names, such as ``'first,last'``.
    first_names : bool
        Mask 1,250 first names too.
    as_published : bool
        Mask only the eleven words of De-Arteaga et al.

    Examples
    --------
    >>> import wordbias as wb
    >>> wb.rewrite(wb.Scrub(mask="*"), ["She is a nurse."]).texts
    ['* is a nurse.']
    """

    _name = "scrub"
    mask: str = MASK
    words: Words | None = None
    names_column: Columns | None = None
    first_names: bool = False
    as_published: bool = False


@dataclass(kw_only=True, repr=False)
class ExtraScrub(TextSettings):
    """Mask words that still reveal the group, in rounds (Orgad et al. 2022).

    Parameters
    ----------
    sensitive : column
        Column of the group.
    within : column, optional
        Column; words are found within each of its values.
    rounds : int
        Number of rounds at most.
    words_per_round : int
        Number of words of each group per round.
    splits : int
        Number of random splits per round.
    until : float from 0 to 1, optional
        Accuracy at which to stop, by default the chance level.
    mask : text
        Mask that replaces a word; an empty one removes it.

    Examples
    --------
    >>> import wordbias as wb
    >>> wb.ExtraScrub(sensitive="gender", rounds=2).rounds
    2
    """

    _name = "extra-scrub"
    sensitive: str
    within: str | None = None
    rounds: int = ROUNDS
    words_per_round: int = PER_ROUND
    splits: int = SPLITS
    until: float | None = None
    mask: str = MASK


@dataclass(kw_only=True, repr=False)
class Subsample(TextSettings):
    """Drop rows until each group of a class is as large as its smallest.

    Parameters
    ----------
    labels : column
        Column of the classes to balance within.
    sensitive : column
        Column of the group.

    Examples
    --------
    >>> import wordbias as wb
    >>> wb.Subsample(labels="profession", sensitive="gender").sensitive
    'gender'
    """

    _name = "subsample"
    labels: str
    sensitive: str


@dataclass(kw_only=True, repr=False)
class Oversample(TextSettings):
    """Repeat rows until each group of a class is as large as its largest.

    Parameters
    ----------
    labels : column
        Column of the classes to balance within.
    sensitive : column
        Column of the group.

    Examples
    --------
    >>> import wordbias as wb
    >>> wb.Oversample(labels="profession", sensitive="gender").labels
    'profession'
    """

    _name = "oversample"
    labels: str
    sensitive: str


@dataclass(kw_only=True, repr=False)
class Swap(TextSettings):
    """Swap genders: she becomes he, his becomes her or hers (Zhao et al. 2018).

    Parameters
    ----------
    first_names : bool
        Swap first names too, by frequency.
    keep_original : bool
        Write all rows, then all swapped ones.
    values : COLUMN=A,B, or mapping of columns to mappings, optional
        Values of a column to exchange in swapped rows, such as ``'gender=F,M'``; more follow after
        a semicolon.

    Examples
    --------
    >>> import wordbias as wb
    >>> wb.rewrite(wb.Swap(), ["She sold her car."]).texts
    ['He sold his car.']
    """

    _name = "swap"
    first_names: bool = False
    keep_original: bool = False
    values: str | Mapping[str, Mapping[str, str]] | None = None


@dataclass(kw_only=True, repr=False)
class Anonymise(TextSettings):
    """Replace names: Ann Hayes becomes ANON_0 (Zhao et al. 2018).

    Parameters
    ----------
    spans : column or columns, optional
        Column with a list of spans, or two columns with start and end, such as ``'start,end'``.
    spacy : name or spaCy pipeline, optional
        Model of spaCy that finds names, where there are no spans.
    entities : name or names
        Kinds of names, such as ``'PERSON,GPE'``.

    Examples
    --------
    >>> import wordbias as wb
    >>> wb.Anonymise(spans="entities").entities
    ('PERSON', 'PER')
    """

    _name = "anonymise"
    spans: Columns | None = None
    spacy: str | Callable[[str], Any] | None = None
    entities: Columns = PERSONS


METHODS: Mapping[str, type[TextSettings]] = {
    method._name: method for method in (Scrub, ExtraScrub, Subsample, Oversample, Swap, Anonymise)
}
"""The methods by their names."""
