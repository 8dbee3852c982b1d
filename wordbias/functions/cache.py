"""The cache of parsed vectors and of answers: its entries and its size."""

from __future__ import annotations

from wordbias.calls import public
from wordbias.formats import answers
from wordbias.formats import cache as kept
from wordbias.pages.unfinished import remove_abandoned
from wordbias.rendering import Table, how_many
from wordbias.reports import Report
from wordbias.results import Row
from wordbias.text_files import parse_size


@public
def cache(*, clear: bool = False, max_size: int | str | None = None) -> Report:
    """List, limit or clear the cache of parsed vectors, and of answers of encoders.

    Text vectors are parsed once and memory-mapped afterwards. When the cache is full, the least
    recently used of them are removed. Answers of an endpoint or a function with a name may have
    cost money: only ``clear`` removes them. The folder is $WORDBIAS_CACHE, or the user's cache
    folder.

    Parameters
    ----------
    clear : bool
        Remove all entries, and what interrupted audits left.
    max_size : int of bytes, or size such as "5GB", optional
        Maximum size of the parsed vectors, now and in later calls.

    Returns
    -------
    Report
        A row for each entry that is left, with its size and its file.

    Raises
    ------
    WordbiasError
        If the limit is no size, or the folder cannot be written.

    Examples
    --------
    >>> import wordbias as wb
    >>> report = wb.cache()
    >>> report.command
    'cache'
    """
    size = parse_size(max_size) if isinstance(max_size, str) else max_size
    removed = [*kept.shrink(0), *answers.clear()] if clear else []
    if clear:
        remove_abandoned(kept.folder() / "audits", age=0)
    if size is not None:
        removed += kept.set_limit(size)
    entries = [*kept.entries(), *answers.entries()]
    total = sum(entry.size for entry in entries)
    size_of_all = f"{total / 1e6:,.1f} of {kept.limit() / 1e6:,.0f} MB"
    heading = [f"{how_many(len(entries), 'entry', 'entries')}, {size_of_all}"]
    if removed:
        freed = sum(entry.size for entry in removed)
        gone = how_many(len(removed), "entry", "entries")
        heading.insert(0, f"removed {gone}, {freed / 1e6:,.1f} MB")
    cells = [
        [entry.source, f"{entry.size / 1e6:,.1f} MB", f"{kept.age(entry):.1f} days"]
        for entry in entries
    ]
    return Report(
        rows=[
            Row(entry.source, "cached-bytes", entry.size, {"file": str(entry.path)})
            for entry in entries
        ],
        tables=[Table(str(kept.folder()), ["source", "size", "unused for"], cells)],
        heading=heading,
    )
