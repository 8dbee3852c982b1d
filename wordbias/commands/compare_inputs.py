"""What `wordbias compare` compares: rows from files, or embeddings that it measures first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wordbias.commands.measure_inputs import Subjects
from wordbias.comparison import Comparison, joined, read
from wordbias.functions.inputs import Reading
from wordbias.measures.apart import panel_rows
from wordbias.results import Row
from wordbias.rows import Source
from wordbias.wordlists import Attribute
from wordbias.workers import Workers


@dataclass(frozen=True)
class Compared:
    """A table, where it is from, and the rows that were measured for it."""

    table: Comparison
    inputs: Mapping[str, Mapping[str, Any]]
    rows: Sequence[Row] = ()


def from_files(paths: Sequence[str]) -> Compared:
    """Read results; errors are those of `wordbias.comparison.read`."""
    table, sources = read(paths)
    inputs = {
        source.path: {"path": source.path, "format": source.kind, "sha256": source.sha256}
        for source in sources
    }
    return Compared(table, inputs)


def measured(
    names: Sequence[str],
    original: str | None,
    attribute_file: str | None,
    reading: Reading,
    workers: Workers,
    *,
    seed: int,
    quiet: bool,
) -> Compared:
    """Take the classic measures of embeddings, as `wordbias measure` does."""
    subjects = Subjects.open(names, original, reading, quiet=quiet)
    panels = subjects.panels(Attribute.load(attribute_file), seed=seed)
    rows = panel_rows(panels, chance=False, workers=workers)
    source = Source("what was measured", "measured", "", [row.to_dict() for row in rows])
    return Compared(joined([source]), subjects.about(), rows)
