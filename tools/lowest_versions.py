"""Print the lowest versions that setup.cfg allows, as constraints for pip.

Usage: python tools/lowest_versions.py dev > lowest.txt
       pip install -e '.[dev]' -c lowest.txt

Continuous integration tests with them that the lower bounds are true. Only what setup.cfg names is
pinned; packages that those need are the newest that fit.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from configparser import ConfigParser
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    """Print a line for each requirement of the base and of the extras that were typed."""
    print("\n".join(lowest(sys.argv[1:])))


def lowest(extras: Sequence[str] = ()) -> list[str]:
    """Return ``name==version`` for each requirement of the base and of some extras, and theirs."""
    settings = ConfigParser(interpolation=None)
    settings.read(ROOT / "setup.cfg", encoding="utf-8")
    known = settings["options.extras_require"]
    if unknown := [extra for extra in extras if extra not in known]:
        sys.exit(f"setup.cfg: no extra {unknown[0]}; there are {', '.join(known)}")
    texts = [settings["options"]["install_requires"], *(known[extra] for extra in extras)]
    versions = {}
    for line in "\n".join(texts).splitlines():
        name = line.strip()
        if not name or name.startswith("#"):
            continue
        if ours := re.match(r"wordbias\[([\w,]+)\]", name):
            versions |= dict(line.split("==") for line in lowest(ours[1].split(",")))
            continue
        bound = re.fullmatch(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", name)
        if bound is None:
            sys.exit(f"setup.cfg: {name}: expected NAME>=VERSION, so that a lowest one is known")
        versions[bound[1]] = bound[2]
    return [f"{name}=={version}" for name, version in versions.items()]


if __name__ == "__main__":
    main()
