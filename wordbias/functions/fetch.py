"""Download of published data, which commands then take by name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from typing import Any

from wordbias import resources
from wordbias.calls import note, public
from wordbias.errors import WordbiasError
from wordbias.functions.inputs import Written
from wordbias.rendering import Table, how_many
from wordbias.reports import Report
from wordbias.resources import Fetched, Resource, available, folder, located
from wordbias.resources.catalogue import UNKNOWN
from wordbias.resources.fetching import expected_hash
from wordbias.resources.storage import place
from wordbias.results import Row


class SeveralWritten(list[Written]):
    """Files and folders, with one report of them all."""

    def __init__(self, files: Iterable[Written], report: Report) -> None:
        super().__init__(files)
        self.report = report


@public
def fetch(
    *names: str,
    about: bool = False,
    paths: bool = False,
    mirror: str | None = None,
    source: str | os.PathLike[str] | None = None,
    again: bool = False,
    keep_archives: bool = False,
    timeout: float = 60,
) -> Written | SeveralWritten | Report:
    """Download published vectors, test sets and word lists, or list what there is.

    Every command that takes such a file then takes its name. An interrupted download is resumed. A
    file appears only when it is complete and verified. The folder is $WORDBIAS_DATA, or the user's
    data folder.

    Parameters
    ----------
    *names : str
        Names in the catalogue; without any, the catalogue is listed.
    about : bool
        Show what is known about each name; download nothing.
    paths : bool
        Print the path of each name; download nothing.
    mirror : str, optional
        Mirror to use instead of https://HOST in every URL.  [default: $WORDBIAS_MIRROR]
    source : path, optional
        Folder of files that you downloaded yourself; wordbias verifies them.
    again : bool
        Download again what is already there.
    keep_archives : bool
        Keep archives, to extract other files from them later.
    timeout : float
        Give up after this many seconds in which less than 1 kB arrives.

    Returns
    -------
    Written, list of Written, or Report
        The file or folder of one name, or a list of them; every function takes one as a path. Its
        ``report`` says where they are from. Without names, and with ``about``, the report.

    Raises
    ------
    WordbiasError
        If a name is unknown, a download fails, or a file is not what was published.

    Examples
    --------
    >>> import wordbias as wb
    >>> wb.fetch()["download-bytes"][0].subject
    'glove.6B.50d'
    >>> wb.fetch("men", about=True).inputs["men"]["licence"]
    'MIT (the repository)'
    """
    chosen = resources.choose(names)
    if (about or paths) and not names:
        raise WordbiasError(f"--{'about' if about else 'paths'}: give a name")
    if source is not None and not names:
        raise WordbiasError(f"--from={source}: give the names to take from there")
    if mirror is not None and not names:
        raise WordbiasError("--mirror: give the names to fetch from there")
    if about and paths:
        raise WordbiasError("choose one of --about and --paths")
    if source is not None and not os.path.isdir(source):
        raise WordbiasError(f"--from={source}: there is no such folder")
    if not timeout > 0:
        raise WordbiasError(f"--timeout: expected seconds, more than 0, got {timeout!r}")
    if paths:
        places = [located(resource.name) for resource in chosen]
        return _written(places, _report(chosen, heading=places))
    if about:
        heading = [line for resource in chosen for line in (*_facts(resource), "")][:-1]
        return _report(chosen, heading=heading)
    if not names:
        chosen = list(resources.catalogue().values())
        return _report(chosen, tables=[_catalogue_table(chosen)], closing=[_LICENCES])
    mirror = os.environ.get("WORDBIAS_MIRROR", "") if mirror is None else mirror
    options = resources.FetchOptions(mirror, os.fspath(source or ""), again, keep_archives, timeout)
    _note_sizes(() if source else chosen, again)
    done = list(resources.fetch(chosen, options))
    report = _report(chosen, tables=[_fetched_table(done)], closing=[_LICENCES])
    return _written([str(place(resource)) for resource in chosen], report)


def _note_sizes(chosen: Sequence[Resource], refetch: bool) -> None:
    """Say how large each large download is, and how long it takes, before it begins."""
    for group, size in {resource.group: resource.size or 0 for resource in chosen}.items():
        missing = refetch or any(
            available(resource) is None for resource in chosen if resource.group == group
        )
        if size >= _LARGE and missing:
            time = how_many(max(1, round(size / _RATE / 60)), "minute")
            note(f"{group}: takes {_size(size)}, about {time} at 10 MB/s", reported=True)


_LARGE, _RATE = 100_000_000, 10_000_000
"""Bytes of a download that is announced, and bytes a second of a common connection."""
_LICENCES = (
    "The licences are those that the sources state; check yourself whether they allow your use. "
    "--about NAME shows URL, hash and citation."
)


def _written(paths: Sequence[str], report: Report) -> Written | SeveralWritten:
    files = [Written(path, report) for path in paths]
    return files[0] if len(files) == 1 else SeveralWritten(files, report)


def _report(chosen: Sequence[Resource], **fields: Any) -> Report:
    """Return a report with the size of each download, and what is known about each resource now."""
    unknown = {"reason": "the size is not known before the download"}
    rows = [
        Row(resource.name, "download-bytes", resource.size, {} if resource.size else unknown)
        for resource in chosen
    ]
    return Report(
        inputs={resource.name: _known(resource) for resource in chosen}, rows=rows, **fields
    )


def _known(resource: Resource) -> dict[str, Any]:
    record = available(resource)
    return {
        "title": resource.title,
        "url": list(resource.urls),
        "member": resource.member or None,
        "hash": resource.hash or UNKNOWN,
        "licence": resource.licence,
        "citation": resource.citation,
        "note": resource.note or resource.how or None,
        "path": str(place(resource)) if record else None,
        "fetched": record.fetched if record else None,
        "origin": record.origin if record else None,
        "sha256": list(record.sha256) if record else None,
    }


def _facts(resource: Resource) -> list[str]:
    """Say what is known about a resource, one fact per line."""
    known = _known(resource)
    facts = [f"{resource.name}: {resource.title}", f"size: {_size(resource.size)}"]
    for key, value in list(known.items())[1:]:
        values = value if isinstance(value, list) else [value] * (value is not None)
        facts += [f"{key}: {fact}" for fact in values]
    return facts


def _catalogue_table(chosen: Sequence[Resource]) -> Table:
    """Show the catalogue, and what of it has been fetched."""
    cells = [
        [
            resource.name,
            resource.title,
            _size(resource.size),
            _hash(resource),
            _short(resource.licence),
            _there(resource),
        ]
        for resource in chosen
    ]
    return Table(
        f"Available data, to be fetched into {folder()}",
        ["name", "title", "size", "hash", "licence", "local"],
        cells,
        "Sizes are those of the download, which the members of one archive share; ? is unknown. A "
        "download must have its hash if that is known. If not, the hash of the first download is "
        "recorded, and every later one must have it (own).",
    )


def _fetched_table(done: Sequence[Fetched]) -> Table:
    """Show what this call fetched, and what was already there."""
    cells = [
        [
            fetched.resource.name,
            "fetched" if fetched.new else "already there",
            _size(sum(fetched.record.files.values())),
            fetched.record.sha256[0][:12] + "…",
            _short(fetched.resource.licence),
        ]
        for fetched in done
    ]
    return Table(
        f"In {folder()}",
        ["name", "", "size", "sha256 of the download", "licence"],
        cells,
        "Give the name wherever a command takes such a file; wordbias fetch --paths NAME prints "
        "its path.",
    )


def _hash(resource: Resource) -> str:
    """Return what the next download is checked against."""
    if resource.how:
        return ""
    if resource.hash:
        return "known"
    return "own" if expected_hash(resource)[0] else "none"


def _there(resource: Resource) -> str:
    return "by hand" if resource.how else "yes" if available(resource) else "–"


def _short(licence: str) -> str:
    """Return the name of a licence only."""
    return re.split(r" \(|;", licence)[0]


def _size(size: int | None) -> str:
    """Format bytes for people, in decimal units."""
    if size is None:
        return "?"
    for unit, bytes_ in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= bytes_:
            return f"{size / bytes_:.1f} {unit}"
    return f"{size} B"
