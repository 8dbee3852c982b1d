"""What one test of stereotypes is: how it is recognised and read, and what each head measures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

from wordbias.draws import with_items
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

    def of_items(self, data: Any, seed: int) -> Found:
        """Return the same, with draws that know from which data they are."""
        known = getattr(data, "sha256", "") or data
        return replace(self, rows=with_items(self.rows, known, seed))

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


@dataclass(frozen=True, kw_only=True)
class StereotypeTest:
    """A test of stereotypes: its reader, and what each head of a model is measured by.

    Attributes
    ----------
    title, form
        Its name, and what its file or folder is, in messages.
    data
        Class of the data that are read, which have a path.
    recognised
        Return whether a file or folder is of this test, by the first line of the file and the
        names of the files in the folder.
    read
        Read a text, with the setting `as_published`; of a folder it has only a path.
    items
        Name of the items, and of the attribute that the data have them in.
    scores
        Functions of a model, the data, the subject of the rows and settings, by the class of the
        head; that of a decoder is `CausalModel`.
    described
        Name data and what is in them; by default the number of items.
    holds
        Return whether data have items for a head of this class, before they are parsed.
    check
        Parse the items for heads of these classes; refuse data without an item for them.
    table
        Table of the rows of an encoder, measured with settings.
    task
        Name of the data in the rows of a decoder, by default the title.
    part
        Part of the data that a decoder scores.
    note
        Note below the table of a decoder: values without bias.
    bias, cost
        Measures of a decoder; the closing lines say their changes.
    """

    title: str
    form: str = ""
    data: type = object
    recognised: Callable[[str, Set[str]], bool] = lambda line, names: False
    read: Callable[[Source, bool], Any] = lambda source, as_published: None
    items: str = "items"
    scores: Mapping[type, Score]
    described: Callable[[Any], str] | None = None
    holds: Callable[[Any, type], bool] = lambda data, head: True
    check: Callable[[Any, Sequence[type]], None] = lambda data, heads: None
    table: Callable[[Sequence[Row], Settings], Table] | None = None
    task: str = ""
    part: str = ""
    note: str = ""
    bias: Sequence[str] = ()
    cost: Sequence[str] = ()
