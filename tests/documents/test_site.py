"""The site holds every document once, its links lead somewhere, and its search finds options."""

from __future__ import annotations

import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from html import unescape
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest
from fences import ROOT
from headless import Browser

import wordbias
from wordbias.docstrings import docstring_of

_BUILT = (".md", ".ipynb")


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


def navigation() -> list[str]:
    """Return the pages that the settings of the site list, without running them."""
    text = (ROOT / "docs" / "site" / "conf.py").read_text(encoding="utf-8")
    table = text.partition("NAVIGATION: dict[str, tuple[str, ...]] = ")[2].partition("\n}\n")[0]
    return re.findall(r'"([\w./-]+/[\w./-]+|CHANGELOG|CONTRIBUTING)"', table)


PAGES = navigation()


def test_every_document_has_one_place_in_the_navigation() -> None:
    paths = [path for path in (ROOT / "docs").rglob("*.*") if path.suffix in _BUILT]
    others = ("CHANGELOG", "CONTRIBUTING", "benchmarks/README")
    generated = [f"reference/{name}" for name in ("commands", "options", "python", "measures")]
    pages = [path.relative_to(ROOT).with_suffix("").as_posix() for path in paths]
    assert sorted(PAGES) == sorted([*pages, *others, *generated])


def _run(*command: object) -> subprocess.CompletedProcess[str]:
    beside = str(Path(sys.executable).parent)
    env = {**os.environ, "PATH": os.pathsep.join([beside, os.environ["PATH"]])}
    texts = [str(word) for word in command]
    return subprocess.run(texts, env=env, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site as a reader does; a warning of Sphinx is an error there."""
    for name in ("sphinx", "myst_nb", "furo", "sphinx_copybutton"):
        pytest.importorskip(name)
    folder = tmp_path_factory.mktemp("built") / "site"
    done = _run(ROOT / "tools" / "build_site.sh", folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{folder}/index.html\n"
    return folder


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Serve the site, with a release in a folder of its own, as it is published."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *said: Any) -> None:
            """Print nothing."""

    folder = site.with_name("served")
    for place in (folder, folder / "0.0.9"):
        shutil.copytree(site, place)
    (folder / "favicon.ico").touch()  # browsers ask for it
    assert _run(sys.executable, ROOT / "tools" / "site_versions.py", folder).returncode == 0
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.slow
def test_every_link_of_the_site_leads_somewhere(site: Path) -> None:
    pages = {path: Page(path) for path in site.rglob("*.html")}
    assert {site / f"{page}.html" for page in [*PAGES, "index", "README"]} <= set(pages)
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
def test_a_page_of_python_has_all_of_its_docstring(site: Path) -> None:
    for name in {*wordbias.__all__} - {"__version__"}:
        thing = getattr(wordbias, name)
        folder = "classes" if inspect.isclass(thing) else "python"
        text = (site / "reference" / folder / f"{name}.html").read_text(encoding="utf-8")
        texts = " ".join(re.sub(r"<[^>]+>", gap, text) for gap in ("", " "))
        page_words = set(re.sub(r"[^\w\s]", " ", unescape(texts)).split())
        prose = _FORMULA.sub("", inspect.getdoc(thing) or "")
        words = re.sub(r"[^\w\s]", " ", prose).split()
        assert {word for word in words if word.strip("_")} - page_words - _MARKUP == set(), name
        for parameter in docstring_of(thing)[1]:
            assert re.search(rf"<strong>\*?{parameter}</strong>", text), (name, parameter)


_FORMULA = re.compile(r":math:`[^`]+`|\.\. math::.+(?:\n +\S.*)*")
_MARKUP = {"Also", "doctest", "SKIP"}
"""Words of a docstring that are markup, or a heading in other letters."""


@pytest.mark.slow
def test_code_that_is_a_name_leads_to_its_page_and_a_pencil_to_the_source(site: Path) -> None:
    guide = (site / "docs" / "which-measure.html").read_text(encoding="utf-8")
    assert 'href="../reference/commands/weat.html"><code' in guide
    repository = re.findall(
        r"^\s+Repository = (\S+)$", (ROOT / "setup.cfg").read_text(encoding="utf-8"), re.M
    )
    edited = f'href="{repository[0]}/edit/main/'
    assert f"{edited}docs/which-measure.md" in guide
    for page, source in (
        ("commands/misp", "wordbias/functions/misp.py"),
        ("classes/MISP", "wordbias/estimators.py"),
        ("measures/midb", "wordbias/measures/measures.toml"),
    ):
        text = (site / "reference" / f"{page}.html").read_text(encoding="utf-8")
        assert f'{edited}{source}"' in text
        assert (ROOT / source).is_file()


SEARCHES = {
    "--null": ["Options", "wordbias debias", "wordbias mab-study", "wordbias misp"],
    "null": ["Options", "wordbias debias", "wordbias mab-study", "wordbias misp"],
    "--seed-lists": ["Options"],
    "--by": ["Options", "wordbias choose"],
    "--device": ["Options"],
    "train-vectors": ["wordbias train-vectors"],
    "misp": ["wordbias misp"],
    "midb-rms": ["MIDB"],
}


@pytest.mark.slow
def test_the_search_finds_an_option_a_command_a_measure(address: str) -> None:
    title = "document.querySelector('#search-results h2')?.innerText"
    links = "[...document.querySelectorAll('#search-results li > a')]"
    with Browser() as browser:
        for query, first in SEARCHES.items():
            _open(browser, f"{address}/search.html?q={quote(query)}")
            _wait(browser, f"{title} == 'Search Results'")
            titles = browser.evaluate(f"{links}.map(one => one.innerText)")
            assert titles[: len(first)] == first, query
            if query.startswith("--"):
                place = f"#cmdoption-wordbias-{query.removeprefix('--')}"
                assert browser.evaluate(f"{links}[0].hash") == place
            assert browser.errors == []


@pytest.mark.slow
def test_what_is_copied_has_no_prompt_and_no_output(address: str) -> None:
    with Browser() as browser:
        _open(browser, f"{address}/docs/tutorials/vectors.html")
        copied = browser.evaluate(
            "document.execCommand = () => { window.copied = document.activeElement.value };"
            "document.querySelector('.highlight-console button.copybtn').click(); window.copied"
        )
        assert copied == "wordbias weat --query 6-8"


@pytest.mark.slow
def test_the_switch_leads_to_the_same_page_of_another_version(address: str) -> None:
    with Browser() as browser:
        _open(browser, f"{address}/docs/install.html")
        options = "[...document.querySelectorAll('#versions option')].map(one => one.text).join()"
        _wait(browser, f"({options}) == 'development,0.0.9'")
        choose = (
            "{{ const one = document.getElementById('versions'); one.selectedIndex = {};"
            " one.dispatchEvent(new Event('change')) }}"
        )
        browser.evaluate(choose.format(1))
        _wait(browser, f"location.href == '{address}/0.0.9/docs/install.html'")
        _wait(browser, "document.getElementById('versions')?.selectedIndex == 1")
        browser.evaluate(choose.format(0))
        _wait(browser, f"location.href == '{address}/docs/install.html'")
        assert browser.errors == []


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1280])
def test_no_page_is_wider_than_its_window(site: Path, width: int) -> None:
    with Browser() as browser:
        browser.show(width)
        for page in ("index", "README", "docs/designs", "docs/README", "reference/commands/audit"):
            browser.open(site / f"{page}.html")
            assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth"), page
        assert browser.errors == []


def _open(browser: Browser, address: str) -> None:
    browser.call("Page.navigate", url=address)
    _wait(browser, f"location.href == '{address}' && document.readyState == 'complete'")


def _wait(browser: Browser, condition: str) -> None:
    """Ask until an expression is true."""
    for _ in range(5000):
        if browser.evaluate(condition):
            return
        time.sleep(0.02)
    pytest.fail(f"never true: {condition}")


def test_versions_are_the_folders_the_newest_first(tmp_path: Path) -> None:
    for name in ("0.9.0", "0.10.0", "docs"):
        (tmp_path / name).mkdir()
    done = _run(sys.executable, ROOT / "tools" / "site_versions.py", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    paths = [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("versions.json")]
    assert sorted(paths) == ["0.10.0/versions.json", "0.9.0/versions.json", "versions.json"]
    listed = json.loads((tmp_path / "versions.json").read_text(encoding="utf-8"))
    assert [(version["name"], version["url"]) for version in listed] == [
        ("development", "./"),
        ("0.10.0", "0.10.0/"),
        ("0.9.0", "0.9.0/"),
    ]
    old = json.loads((tmp_path / "0.9.0" / "versions.json").read_text(encoding="utf-8"))
    assert [version["url"] for version in old] == ["../", "../0.10.0/", "./"]
