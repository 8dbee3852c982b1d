"""Set the address of the repository in every file that has it.

Usage: python tools/set_address.py OWNER/NAME

The address stands in setup.cfg, under project_urls; the long description takes it from there when
the package is built. Files that cannot read setup.cfg have a copy. This changes them all.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_ADDRESS = re.compile(r"^\s+Repository = https://github\.com/([\w.-]+)/([\w.-]+)$", re.MULTILINE)


def main() -> None:
    """Change the address in the files that git knows, and name them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("address", type=_address, metavar="OWNER/NAME")
    for name in change(ROOT, *parser.parse_args().address):
        print(name)


def _address(text: str) -> tuple[str, ...]:
    address = re.fullmatch(r"([A-Za-z0-9-]+)/([\w.-]+)", text)
    if address is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not OWNER/NAME")
    return address.groups()


def change(folder: Path, owner: str, name: str) -> list[str]:
    """Write the new address to the files of a repository; return the names of those changed."""
    address = _ADDRESS.search((folder / "setup.cfg").read_text(encoding="utf-8"))
    if address is None:
        sys.exit("setup.cfg: no line 'Repository = https://github.com/OWNER/NAME'")
    old_owner, old_name = address.groups()
    end = r"(?![\w-])"
    pages = rf"\b{re.escape(old_owner)}\.github\.io/{re.escape(old_name)}{end}"
    in_colab = r"colab\.research\.google\.com/github"
    source = rf"(github\.com|{in_colab})/{re.escape(old_owner)}/{re.escape(old_name)}{end}"
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=folder, capture_output=True, encoding="utf-8", check=True
    )
    changed = []
    for file in listed.stdout.split("\0")[:-1]:
        path = folder / file
        if path.is_symlink() or not path.is_file():
            continue
        old = path.read_bytes().decode("utf-8", errors="surrogateescape")
        new = re.sub(source, rf"\g<1>/{owner}/{name}", old)
        new = re.sub(pages, f"{owner}.github.io/{name}", new)
        if new != old:
            path.write_bytes(new.encode("utf-8", errors="surrogateescape"))
            changed.append(file)
    return changed


if __name__ == "__main__":
    main()
