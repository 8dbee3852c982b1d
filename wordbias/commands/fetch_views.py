"""The rows and tables of `wordbias fetch`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from wordbias.rendering import Table
from wordbias.resources import Fetched, Resource, folder, state
from wordbias.resources.catalogue import UNKNOWN
from wordbias.resources.obtaining import expected_hash
from wordbias.resources.storage import place
from wordbias.results import Row


def rows_of(resources: Sequence[Resource]) -> list[Row]:
    """One row a resource: the size of its download and everything that is known of it."""
    return [
        Row(resource.name, "download-bytes", resource.size, _about(resource))
        for resource in resources
    ]


def _about(resource: Resource) -> dict[str, Any]:
    record = state(resource)
    return {
        **({} if resource.size else {"reason": "the size is not known before the download"}),
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


def list_table(resources: Sequence[Resource]) -> Table:
    """Everything there is, and which of it is there."""
    cells = [
        [r.name, r.title, _size(r.size), _hash(r), _short(r.licence), _there(r)] for r in resources
    ]
    return Table(
        f"What can be fetched into {folder()}",
        ["name", "what", "size", "hash", "licence", "there"],
        cells,
        "Sizes are of the download, which the members of one archive share; ? is unknown. A "
        "download must have its hash where that is known. Where none is, the first download "
        "pins it: its own hash is recorded, and every later one must have it (own).",
    )


def _hash(resource: Resource) -> str:
    """Say by what the next download is checked."""
    if resource.how:
        return ""
    if resource.hash:
        return "known"
    return "own" if expected_hash(resource)[0] else "none"


def _there(resource: Resource) -> str:
    return "by hand" if resource.how else "yes" if state(resource) else "–"


def _short(licence: str) -> str:
    """Cut what stands behind a licence's name."""
    return re.split(r" \(|;", licence)[0]


def _size(size: int | None) -> str:
    """Format bytes for people, in decimal units."""
    if size is None:
        return "?"
    for unit, bytes_ in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= bytes_:
            return f"{size / bytes_:.1f} {unit}"
    return f"{size} B"


def about_lines(resources: Sequence[Resource]) -> list[str]:
    """Say what is known of each resource, one fact a line."""
    return [line for resource in resources for line in (*_facts(resource), "")][:-1]


def _facts(resource: Resource) -> list[str]:
    about = _about(resource)
    shown = ("url", "member", "hash", "licence", "citation", "note", "path", "fetched", "origin")
    facts = [f"{resource.name}: {resource.title}", f"size: {_size(resource.size)}"]
    for key in (*shown, "sha256"):
        value = about[key]
        values = value if isinstance(value, list) else [value] * (value is not None)
        facts += [f"{key}: {one}" for one in values]
    return facts


def fetched_table(done: Sequence[Fetched]) -> Table:
    """Say what this call fetched, and what was there before."""
    cells = [
        [
            found.resource.name,
            "fetched" if found.new else "was there",
            _size(sum(found.record.files.values())),
            found.record.sha256[0][:12] + "…",
            _short(found.resource.licence),
        ]
        for found in done
    ]
    return Table(
        f"In {folder()}",
        ["name", "", "size", "sha256 of the download", "licence"],
        cells,
        "Give the name wherever a command takes such a file; wordbias fetch --where NAME prints "
        "its path.",
    )
