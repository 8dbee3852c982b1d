"""What one test of stereotypes is: how it is recognised and read, and what each head measures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from wordbias.rendering import Table
from wordbias.results import Row
from wordbias.stereotypes.scores import Settings
from wordbias.text_files import Source

Record = dict[str, Any]


@dataclass
class Found:
    """Measures of a model, and one record an item.

    Attributes
    ----------
    cut
        Number of contexts that were cut because the model cannot read them whole.
    notes
        Notes on the data.
    about
        Facts about the data that only this head asks for.
    """

    rows: list[Row] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    cut: int = 0
    notes: list[str] = field(default_factory=list)
    about: dict[str, object] = field(default_factory=dict)

    @classmethod
    def joined(cls, parts: Sequence[Found]) -> Found:
        """Return what was found in turn as one."""
        return cls(
            [row for part in parts for row in part.rows],
            [record for part in parts for record in part.records],
            sum(part.cut for part in parts),
            [note for part in parts for note in part.notes],
            {name: value for part in parts for name, value in part.about.items()},
        )


Score = Callable[[Any, Any, str, Settings], Found]
"""A function of a model, the data, the subject of the rows and settings."""


class Beginning(NamedTuple):
    """What a test is recognised by: of a file its first line, of a folder the names in it.

    Attributes
    ----------
    columns
        Names in the first line of a file of CSV.
    """

    line: str = ""
    columns: Set[str] = frozenset()
    names: Set[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Likelihood:
    """What a decoder is measured by, and what its tables and closing lines say.

    Attributes
    ----------
    task
        Name of the data in rows.
    note
        Note below the table: values without bias.
    bias, cost
        Measures of which the closing lines say the change.
    part
        Part of the data that is scored.
    """

    score: Score
    task: str
    title: str
    note: str
    bias: Sequence[str]
    cost: Sequence[str] = ()
    part: str = ""


@dataclass(frozen=True, kw_only=True)
class StereotypeTest:
    """A test of stereotypes: its reader, and what the heads of models are measured by.

    Attributes
    ----------
    title, form
        Its name, and what its file or folder is, in messages.
    data
        Class of the data that are read, which have a path.
    recognised
        Return whether a file or folder is of this test.
    read
        Read a text, with the settings `as_published`; of a folder it has only a path.
    unit, items
        Name of an item, and the items.
    heads
        Scores of an encoder, by the class of the head.
    table
        Table of the rows of an encoder, with the setting `as_published`.
    likelihood
        Measures of a decoder.
    holds
        Return whether data have items for a head of this class, before they are parsed.
    check
        Parse the items for heads of these classes; refuse data without an item for them.
    described
        Name data and what is in them; by default the number of items.
    """

    title: str
    form: str
    data: type
    recognised: Callable[[Beginning], bool]
    read: Callable[[Source, bool], Any]
    unit: str
    items: Callable[[Any], Sequence[Any]]
    heads: Mapping[type, Score] = field(default_factory=dict)
    table: Callable[[Sequence[Row], bool], Table] | None = None
    likelihood: Likelihood | None = None
    holds: Callable[[Any, type], bool] = lambda data, head: True
    check: Callable[[Any, Sequence[type]], None] = lambda data, heads: None
    described: Callable[[Any], str] | None = None
