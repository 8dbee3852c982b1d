"""Catalogue of the published data that can be fetched, with addresses and licences."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import urljoin, urlsplit

from wordbias.errors import WordbiasError

UNKNOWN = "unknown: recorded at the first download"


@dataclass(frozen=True)
class Resource:
    """A published resource: a file, or several files in one folder."""

    name: str
    group: str  # name of the download; resources of one group share an archive
    title: str  # texts for the reader. The licence is what the source states, which may be nothing.
    licence: str
    citation: str
    urls: tuple[str, ...] = ()  # addresses of the downloads; empty if only a person can download it
    # names of the stored files, one for each download; a single one may be unpacked
    files: tuple[str, ...] = ()
    # name or pattern of the file in a zip archive; empty if the download is the file
    member: str = ""
    gunzip: bool = False  # True if the file is stored unpacked
    size: int | None = None  # bytes of all downloads; None if unknown
    hash: str = ""  # `sha256:…` or `md5:…` of the only download; empty if unknown
    how: str = ""  # instructions for a person, if a program cannot download it
    note: str = ""

    @property
    def is_folder(self) -> bool:
        """True if the resource is a folder of files instead of a file."""
        return len(self.urls) > 1


@cache
def catalogue() -> Mapping[str, Resource]:
    """Return all resources by name."""
    text = (files("wordbias.resources") / "catalogue.toml").read_text(encoding="utf-8")
    resources = [
        r for group, table in tomllib.loads(text).items() for r in read_group(group, table)
    ]
    return {resource.name: resource for resource in resources}


def read_group(group: str, table: Mapping[str, Any]) -> list[Resource]:
    """Read one table of the catalogue: one resource, or one for each member of an archive."""
    facts = {key: table[key] for key in _FACTS if key in table}
    about = {"group": group, "licence": table["licence"], **facts}
    if "how" in table:
        return [Resource(group, **about)]
    urls = tuple(urljoin(table["url"], name) for name in table.get("files", [""]))
    if "members" in table:
        return [
            Resource(name, urls=urls, files=(_stored_name(name, member),), member=member, **about)
            for name, member in table["members"].items()
        ]
    file_names = tuple(_base(name) for name in table.get("files", [table.get("keep") or urls[0]]))
    return [Resource(group, urls=urls, files=file_names, **about)]


_FACTS = ("title", "citation", "size", "hash", "how", "note", "gunzip")


def _base(name: str) -> str:
    """Return the stored path of a file of a set: as published, or the end of its URL."""
    return name.rpartition("/")[2] if urlsplit(name).scheme else name


def _stored_name(name: str, member: str) -> str:
    """Return the stored name of an archive's member; for a pattern, one after the resource."""
    base = member.rpartition("/")[2]
    return f"{name}.txt" if "*" in base else base


def choose(names: Sequence[str]) -> list[Resource]:
    """Return the resources of these names; the name of an archive means all its members."""
    return list(dict.fromkeys(resource for name in names for resource in _named(name)))


def _named(name: str) -> list[Resource]:
    known = catalogue()
    if name in known:
        return [known[name]]
    group = [resource for resource in known.values() if resource.group == name]
    if group:
        return group
    meant = resembling(name, [*known, *(resource.group for resource in known.values())])
    raise WordbiasError(
        f"{name}: is not in the catalogue, which wordbias fetch without names lists{meant}"
    )


def resembling(name: str, known: Iterable[str], cutoff: float = 0.5) -> str:
    """Return a question for a message, whether one of the similar known names was meant, or ""."""
    # Case, dots and dashes do not count: glove-6b and glove.6B are the same.
    plain = {_plain(other): other for other in reversed(list(known))}
    near = difflib.get_close_matches(_plain(name), plain, 3, cutoff)
    return f"; did you mean {', '.join(plain[key] for key in near)}?" if near else ""


def _plain(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalnum())
