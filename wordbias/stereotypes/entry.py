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
    """Measures of a model, and one record an item."""

    rows: list[Row] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    cut: int = 0  # number of contexts that were cut because the model cannot read them whole
    notes: list[str] = field(default_factory=list)
    # facts about the data that only this head asks for
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
    """A test of stereotypes: its reader, and what each head of a model is measured by."""

    title: str  # its name, and what its file or folder is, in messages
    form: str = ""
    data: type = object  # class of the data that are read, which have a path
    # return whether a file or folder is of this test, by the first line of the file and the names
    # of the files in the folder
    recognised: Callable[[str, Set[str]], bool] = lambda line, names: False
    # read a text, with the setting `as_published`; of a folder it has only a path
    read: Callable[[Source, bool], Any] = lambda source, as_published: None
    items: str = "items"  # name of the items, and of the attribute that the data have them in
    # functions of a model, the data, the subject of the rows and settings, by the class of the
    # head; that of a decoder is `CausalModel`
    scores: Mapping[type, Score]
    # name data and what is in them; by default the number of items
    described: Callable[[Any], str] | None = None
    # return whether data have items for a head of this class, before they are parsed
    holds: Callable[[Any, type], bool] = lambda data, head: True
    # parse the items for heads of these classes; refuse data without an item for them
    check: Callable[[Any, Sequence[type]], None] = lambda data, heads: None
    # table of the rows of an encoder, measured with settings
    table: Callable[[Sequence[Row], Settings], Table] | None = None
    task: str = ""  # name of the data in the rows of a decoder, by default the title
    part: str = ""  # part of the data that a decoder scores
    note: str = ""  # note below the table of a decoder: values without bias
    bias: Sequence[str] = ()  # measures of a decoder; the closing lines say their changes
    cost: Sequence[str] = ()
