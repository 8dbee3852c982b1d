"""Write versions.json, from which the pages of a site know its versions.

Usage: python tools/site_versions.py FOLDER

The site in the folder is that of development. A folder in it whose name is a version, such as
0.1.0, has the site of that release. Each gets a list of all, with addresses relative to itself.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    folder = parser.parse_args().folder
    names = [path.name for path in folder.iterdir() if re.fullmatch(r"\d+(\.\d+)+\w*", path.name)]
    names.sort(key=lambda name: [int(part) for part in re.findall(r"\d+", name)], reverse=True)
    for here in ("", *names):
        up = "../" if here else ""
        versions = [{"name": "development", "url": up or "./"}]
        versions += [
            {"name": version, "url": "./" if version == here else f"{up}{version}/"}
            for version in names
        ]
        text = json.dumps(versions, indent=1) + "\n"
        (folder / here / "versions.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
