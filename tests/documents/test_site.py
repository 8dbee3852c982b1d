"""The site holds every document once, and every link of its pages leads somewhere."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from fences import ROOT

CONF = runpy.run_path(str(ROOT / "docs" / "site" / "conf.py"))
PAGES = [page for pages in CONF["NAVIGATION"].values() for page in pages]


class Page(HTMLParser):
    """The places of a page, and what it links to or loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.places: set[str] = set()
        self.links: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name == "id" and value:
                self.places.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


def test_every_document_has_one_place_in_the_navigation() -> None:
    found = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "docs").rglob("*.ipynb")]
    others = ("CHANGELOG", "CONTRIBUTING", "benchmarks/README")
    pages = [path.relative_to(ROOT).with_suffix("").as_posix() for path in found]
    assert sorted(PAGES) == sorted([*pages, *others])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site as a reader does; a warning of Sphinx is an error there."""
    for name in ("sphinx", "myst_nb", "furo"):
        pytest.importorskip(name)
    folder = tmp_path_factory.mktemp("built") / "site"
    beside = str(Path(sys.executable).parent)
    done = subprocess.run(
        [ROOT / "tools" / "build_site.sh", folder],
        env={**os.environ, "PATH": os.pathsep.join([beside, os.environ["PATH"]])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{folder}/index.html\n"
    return folder


@pytest.mark.slow
def test_every_link_of_the_site_leads_somewhere(site: Path) -> None:
    pages = {path: Page(path) for path in site.rglob("*.html")}
    assert {site / f"{page}.html" for page in PAGES} <= set(pages)
    for path, page in pages.items():
        for link in page.links:
            if link.startswith(("https://", "http://", "mailto:", "data:")):
                continue
            file, _, place = unquote(link).partition("#")
            target = (path.parent / file.partition("?")[0]).resolve() if file else path
            assert target.is_file(), f"{path.relative_to(site)}: {link}"
            if place and target in pages:
                assert place in pages[target].places, f"{path.relative_to(site)}: {link}"


@pytest.mark.slow
def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert 'src="http' not in text, path
        assert 'rel="stylesheet" href="http' not in text, path


@pytest.mark.slow
def test_the_search_finds_functions_and_commands(site: Path) -> None:
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    for heading in ("likelihood", "train-vectors", "mab_study"):
        assert f'"{heading}":[[' in index.replace(" ", "")
