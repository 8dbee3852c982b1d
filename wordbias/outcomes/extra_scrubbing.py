"""Extra scrubbing of records: find words over all or within the values of a column, mask them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from wordbias.errors import WordbiasError
from wordbias.outcomes.bags import BagCounter
from wordbias.outcomes.iterative_scrubbing import Found, Settings, strongest_words
from wordbias.outcomes.records import Record
from wordbias.outcomes.rewriting import Change
from wordbias.outcomes.scrubbing import MASK, Scrubber


def find_words(
    records: Iterable[Record], text: str, group: str, within: str | None, settings: Settings
) -> dict[str, Found]:
    """Find words in a column of texts, for each value of another column apart.

    Parameters
    ----------
    records
        Read once.
    text, group
        Columns.
    within
        Look for words within each value of this column; None: over all texts.
    settings
        How.

    Returns
    -------
    dict of str to Found
        By value, in order; over all texts under the empty name.

    Raises
    ------
    WordbiasError
        As `strongest_words` does, naming the value.
    """
    counters: dict[str, BagCounter] = {}
    groups: dict[str, list[str]] = {}
    for record in records:
        value = "" if within is None else record[within]
        counters.setdefault(value, BagCounter()).add(record[text])
        groups.setdefault(value, []).append(sys.intern(record[group]))
    found = {}
    for value in sorted(counters) or [""]:
        try:
            found[value] = strongest_words(
                counters.get(value, BagCounter()).bags(), groups.get(value, []), settings
            )
        except WordbiasError as error:
            where = f" where {within} is {value!r}" if within is not None else ""
            raise WordbiasError(f"extra scrubbing by {group!r}{where}: {error}") from None
    return found


@dataclass(frozen=True)
class ExtraScrubber:
    """Takes the words that were found out of texts.

    Attributes
    ----------
    words
        By the value of `column`; of one entry, under the empty name, where there is none.
    column
        Within whose values they were found.
    mask
        What stands there instead.
    """

    words: Mapping[str, frozenset[str]] = field(repr=False)
    column: str | None = None
    mask: str = MASK

    def __call__(self, text: str, cells: Record | Mapping[str, str] | None = None) -> Change:
        """Return the text without them, and what was replaced."""
        value = "" if self.column is None or cells is None else cells[self.column]
        words = self.words.get(value, frozenset())
        nothing = frozenset[str]()
        return Scrubber(words, nothing, mask=self.mask, kept=nothing)(text)
