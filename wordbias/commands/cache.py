"""`wordbias cache`: what is kept, how much of it, and away with it."""

from __future__ import annotations

import click

from wordbias.commands.options import common_options, format_option, parse_size, show
from wordbias.formats import cache
from wordbias.rendering import Table, how_many
from wordbias.results import Report, Row


@click.command()
@click.option("--clear", is_flag=True, help="Remove everything.")
@click.option(
    "--limit", callback=parse_size, metavar="SIZE", help="Largest size, now and from now on."
)
@format_option
@common_options
def command(clear: bool, limit: int | None, to: str, quiet: bool) -> None:
    """List, limit or clear the cache of parsed vectors.

    Text vectors are parsed once and memory-mapped afterwards. Least recently used entries make
    room for new ones. The folder is $WORDBIAS_CACHE, or the user's own for caches.

    \b
    Examples:
      wordbias cache
      wordbias cache --limit 5GB
      wordbias cache --clear
    """
    removed = []
    if clear:
        removed += cache.shrink(0)
    if limit is not None:
        removed += cache.set_limit(limit)
    entries = cache.entries()
    rows = [
        Row(entry.source, "cached-bytes", entry.size, {"file": str(entry.path)})
        for entry in entries
    ]
    cells = [
        [entry.source, f"{entry.size / 1e6:,.1f} MB", f"{cache.age(entry):.1f} days"]
        for entry in entries
    ]
    total = sum(entry.size for entry in entries)
    room = f"{total / 1e6:,.1f} of {cache.limit() / 1e6:,.0f} MB"
    heading = [f"{how_many(len(entries), 'entry', 'entries')}, {room}"]
    if removed:
        freed = sum(entry.size for entry in removed)
        gone = how_many(len(removed), "entry", "entries")
        heading.insert(0, f"removed {gone}, {freed / 1e6:,.1f} MB")
    table = Table(str(cache.folder()), ["source", "size", "unused for"], cells)
    arguments = {"clear": clear, "limit": limit}
    show(Report("cache", arguments, {}, rows, [table], heading), to)
