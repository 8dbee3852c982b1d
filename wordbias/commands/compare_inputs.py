"""What `wordbias compare` compares: rows from files, or embeddings that it measures first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wordbias.commands.inputs import Reading, Subject, open_subject
from wordbias.comparison import Comparison, joined, read
from wordbias.measures.apart import panel_rows
from wordbias.measures.panel import make_panels
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

    def opened(name: str) -> Subject:
        return open_subject(name, reading, head=0, wanted=(), output=None, quiet=quiet)

    subjects = [opened(name) for name in names]
    before = opened(original) if original is not None else None
    panels = make_panels(
        [subject.embedding for subject in subjects],
        before.embedding if before else None,
        Attribute.load(attribute_file),
        seed=seed,
    )
    rows = panel_rows(panels, workers=workers)
    inputs = {subject.embedding.name: subject.info.to_dict() for subject in subjects}
    if before is not None:
        inputs[f"original: {before.embedding.name}"] = before.info.to_dict()
    source = Source("what was measured", "measured", "", [row.to_dict() for row in rows])
    return Compared(joined([source]), inputs, rows)
