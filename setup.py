"""Make the long description: the README, with links that work outside of the repository."""

from __future__ import annotations

import re
from configparser import ConfigParser
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).resolve().parent
_RELATIVE = re.compile(r"\]\((?!https?://|mailto:)([^)\s]+)\)")
PICTURES = (".png", ".svg", ".jpg", ".gif")


def long_description() -> str:
    """Return the README with absolute links: files as they are at the tag of this version."""
    settings = ConfigParser(interpolation=None)
    settings.read(ROOT / "setup.cfg", encoding="utf-8")
    urls = dict(re.findall(r"^(\w+) = (\S+)$", settings["metadata"]["project_urls"], re.MULTILINE))
    source = (ROOT / "wordbias" / "__init__.py").read_text(encoding="utf-8")
    (version,) = re.findall(r'^__version__ = "(.+)"$', source, re.MULTILINE)

    def absolute(link: re.Match[str]) -> str:
        target = f"README.md{link[1]}" if link[1].startswith("#") else link[1]
        kind = "raw" if target.lower().endswith(PICTURES) else "blob"
        return f"]({urls['Repository']}/{kind}/v{version}/{target})"

    return _RELATIVE.sub(absolute, (ROOT / "README.md").read_text(encoding="utf-8"))


setup(long_description=long_description(), long_description_content_type="text/markdown")
