"""Getting hold of a download, from the network or from a folder, and verifying it."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from wordbias.errors import WordbiasError
from wordbias.formats.digest import hash_of, sha256_of
from wordbias.optional import need
from wordbias.resources import storage
from wordbias.resources.catalogue import Resource
from wordbias.resources.downloading import Resuming


@dataclass(frozen=True)
class Ways:
    """How to get at the data.

    Attributes
    ----------
    mirror
        URL that stands in for the scheme and the host of every URL; empty for none.
    source
        Folder of files that were downloaded by other means; nothing is downloaded then.
    again
        Fetch also what is there.
    keep
        Keep archives, to take other members out of them later.
    timeout
        Seconds without any answer after which a connection counts as broken.

    Raises
    ------
    WordbiasError
        If the mirror is no http or https URL, even where nothing needs to be downloaded.
    """

    mirror: str = ""
    source: str = ""
    again: bool = False
    keep: bool = False
    timeout: float = 60

    def __post_init__(self) -> None:
        if self.mirror and not self.mirror.startswith(("http://", "https://")):
            raise WordbiasError(
                f"{self.mirror}: is no mirror; expected a URL that begins with https:// or http://"
            )

    def origin(self, url: str) -> str:
        """Return the URL to ask instead of one of the catalogue."""
        return f"{self.mirror.rstrip('/')}{urlsplit(url).path}" if self.mirror else url


@dataclass(frozen=True)
class Got:
    """One verified download, and whether it is the user's own file."""

    path: Path
    sha256: str
    origin: str
    foreign: bool


def obtain(resource: Resource, i: int, downloads: Path, ways: Ways) -> Got:
    """Return the `i`-th download of a resource, whose hash is what it has to be."""
    url, what = resource.urls[i], resource.group
    base = urlsplit(url).path.rpartition("/")[2]
    known, why = expected_hash(resource, i)
    if ways.source:
        path = _in_folder(Path(ways.source), resource, i, base)
        _check_taken(path, known, why, what)
        return Got(path, sha256_of(path), str(path), True)
    # the files of one set may have one name in different folders
    name = base if len(resource.urls) == 1 else f"{i}-{base}"
    pooch = need("pooch", extra="data", purpose="Fetching data")
    pooch.get_logger().setLevel(logging.WARNING)
    downloader = Resuming(
        downloads / f"{name}.part", what, bool(known), ways.timeout, resource.size
    )
    origin = ways.origin(url)
    try:
        path = Path(pooch.retrieve(origin, known or None, name, downloads, downloader=downloader))
    except ValueError as error:
        if isinstance(error, WordbiasError):
            raise
        found = re.search(r"got (\w+)", str(error))
        raise _mismatch(what, origin, known, found[1] if found else "another", why) from None
    return Got(path, sha256_of(path), origin, False)


def expected_hash(resource: Resource, i: int = 0) -> tuple[str, str]:
    """Return the hash that the `i`-th download must have, if any, and who says so."""
    if resource.hash:
        return resource.hash, "published"
    record = storage.recorded(resource)
    if record is None:
        return "", ""
    return f"sha256:{record.sha256[i]}", f"recorded on {record.fetched}"


def _in_folder(folder: Path, resource: Resource, i: int, base: str) -> Path:
    """Find a file that was downloaded by other means."""
    kept = base if resource.member or resource.gunzip else resource.files[i]
    candidates = [folder / resource.name / kept, folder / kept, folder / base]
    for path in candidates:
        if path.is_file():
            if not path.stat().st_size:
                raise WordbiasError(f"{resource.name}: {path} is empty; download it again")
            return path
    raise WordbiasError(
        f"{resource.name}: {folder} has no {base}; download {resource.urls[i]} and put it there"
    )


def _check_taken(path: Path, known: str, why: str, what: str) -> None:
    if not known:
        return
    algorithm, _, expected = known.partition(":")
    found = hash_of(path, algorithm)
    if found != expected:
        raise _mismatch(what, str(path), known, found, why)


def _mismatch(what: str, origin: str, known: str, found: str, why: str) -> WordbiasError:
    algorithm, _, expected = known.partition(":")
    return WordbiasError(
        f"{what}: {origin} is not the file that was {why}: expected {algorithm} "
        f"{expected[:16]}…, found {found[:16]}…; nothing was kept, try another --mirror"
    )
