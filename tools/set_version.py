"""Set the version and its date where a release reads them.

Usage: python tools/set_version.py VERSION [DATE]

Writes `__version__` of wordbias/__init__.py, from which the package takes it, version and date of
CITATION.cff, the version of conda/meta.yaml, and the heading and the links of CHANGELOG.md, where
what stands under [Unreleased] becomes this version. DATE is today where it is not given. Run again,
it sets another date.
"""

from __future__ import annotations

import argparse
import re
import sys
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_VERSION = re.compile(r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?")


def main() -> None:
    """Write the version and the date that were typed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("version", type=_version, help="such as 1.2.3")
    parser.add_argument("date", type=date.fromisoformat, nargs="?", default=date.today())
    options = parser.parse_args()
    set_version(ROOT, options.version, options.date.isoformat())


def _version(text: str) -> str:
    if not _VERSION.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a version such as 1.2.3 or 1.2.3rc1")
    return text


def set_version(folder: Path, version: str, day: str) -> None:
    """Write a version and its date to the files of a repository."""
    package, citation = folder / "wordbias" / "__init__.py", folder / "CITATION.cff"
    _replace(package, r'^__version__ = ".*"$', f'__version__ = "{version}"')
    _replace(citation, r"^version: .*$", f"version: {version}")
    _replace(citation, r"^date-released: .*$", f"date-released: {day}")
    _replace(
        folder / "conda" / "meta.yaml",
        r'^\{% set version = ".*" %\}$',
        f'{{% set version = "{version}" %}}',
    )
    changes = folder / "CHANGELOG.md"
    heading = rf"^## \[{re.escape(version)}\] - .*$"
    if re.search(heading, changes.read_text(encoding="utf-8"), re.MULTILINE):
        _replace(changes, heading, f"## [{version}] - {day}")
        return
    _replace(changes, r"^## \[Unreleased\]$", f"## [Unreleased]\n\n## [{version}] - {day}")
    _replace(
        changes,
        r"^\[Unreleased\]: (.*)/compare/(.*)\.\.\.HEAD$",
        rf"[Unreleased]: \1/compare/v{version}...HEAD\n[{version}]: \1/compare/\2...v{version}",
    )


def _replace(path: Path, pattern: str, replacement: str) -> None:
    """Replace the one line of a file that has a pattern."""
    old = path.read_text(encoding="utf-8")
    new, count = re.subn(pattern, replacement, old, flags=re.MULTILINE)
    if count != 1:
        sys.exit(f"{path}: {count} lines match {pattern}; expected one")
    path.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
