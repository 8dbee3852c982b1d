"""What the package says of itself: one version, date and address, links that lead somewhere."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from configparser import ConfigParser
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import wordbias

ROOT = Path(__file__).resolve().parents[2]
ADDRESS = re.compile(
    r"github\.com/[\w-]+/wordbias(?![\w-])|[\w-]+\.github\.io/wordbias(?![\w-])"
    r"|colab\.research\.google\.com/github/[\w-]+/wordbias(?![\w-])"
)
NOTEBOOK = "docs/notebooks/vectors.ipynb"


def settings() -> ConfigParser:
    parser = ConfigParser(interpolation=None)
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    return parser


def urls() -> dict[str, str]:
    return dict(re.findall(r"^(\w+) = (\S+)$", settings()["metadata"]["project_urls"], re.M))


def tool(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "tools")
    return import_module(name)


def long_description(monkeypatch: pytest.MonkeyPatch) -> str:
    """Return what setup.py gives to setuptools."""
    setuptools = pytest.importorskip("setuptools")
    given: dict[str, Any] = {}
    monkeypatch.setattr(setuptools, "setup", given.update)
    spec = importlib.util.spec_from_file_location("wordbias_setup", ROOT / "setup.py")
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    text = given["long_description"]
    assert isinstance(text, str)
    return text


class Links(HTMLParser):
    """Collects what a page links to and shows."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [(tag, value) for name, value in attrs if name in ("href", "src") and value]


def repository_files() -> list[str]:
    """Return the files that git knows, or skip where there is no repository."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git repository")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, encoding="utf-8", check=True
    )
    return listed.stdout.split("\0")[:-1]


def test_the_long_description_is_shown_and_has_no_relative_link(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    markdown = pytest.importorskip("readme_renderer.markdown")
    page = markdown.render(long_description(monkeypatch))
    if page is None:
        pytest.skip("readme_renderer without its extra md")
    reader = Links()
    reader.feed(page)
    links = [link for _, link in reader.found if not link.startswith("#")]
    assert links
    assert [link for link in links if not link.startswith(("https://", "mailto:"))] == []
    files = {tag: [] for tag in ("a", "img")}
    for tag, link in reader.found:
        if link.startswith(urls()["Repository"] + "/"):
            kind, version, name = link.removeprefix(urls()["Repository"] + "/").split("/", 2)
            assert (ROOT / name.partition("#")[0]).exists(), link
            assert version == f"v{wordbias.__version__}", link
            assert kind == ("raw" if tag == "img" else "blob"), link
            files[tag].append(name)
    assert files["a"]
    assert files["img"]


def test_every_relative_link_of_the_readme_became_absolute(monkeypatch: pytest.MonkeyPatch) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    relative = re.findall(r"\]\((?!https?:|mailto:)([^)\s]+)\)", readme)
    text = long_description(monkeypatch)
    assert re.findall(r"\]\((?!https?:|mailto:)([^)\s]+)\)", text) == []
    for link in relative:
        assert f"/v{wordbias.__version__}/{'README.md' * link.startswith('#')}{link})" in text


def test_version_and_date_agree() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    (version,) = re.findall(r"^version: (.+)$", citation, re.M)
    (day,) = re.findall(r"^date-released: (\d{4}-\d\d-\d\d)$", citation, re.M)
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## \[(.+?)\](?: - (\d{4}-\d\d-\d\d))?$", changes, re.M)
    assert version == wordbias.__version__
    assert headings[0] == ("Unreleased", "")
    assert headings[1] == (version, day)
    assert all(date for _, date in headings[1:])
    linked = re.findall(r"^\[(.+?)\]: https://\S+$", changes, re.M)
    assert linked == [name for name, _ in headings]
    kinds = set(re.findall(r"^### (.+)$", changes, re.M))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_the_recipe_has_version_and_requirements_of_the_package() -> None:
    recipe = (ROOT / "conda" / "meta.yaml").read_text(encoding="utf-8")
    assert f'{{% set version = "{wordbias.__version__}" %}}' in recipe
    run = recipe.partition("  run:\n")[2].partition("\n\n")[0]
    named = [line.strip().removeprefix("- ").replace(" ", "") for line in run.splitlines()]
    lines = settings()["options"]["install_requires"].splitlines()
    required = [line for line in lines if line and not line.startswith("#")]
    assert named == ["python>={{python_min}}", *required]
    (backend,) = re.findall(r'"(setuptools>=\d+)"', (ROOT / "pyproject.toml").read_text())
    assert f"- {backend.replace('>', ' >')}\n" in recipe


def test_authors_are_those_of_the_citation() -> None:
    yaml = pytest.importorskip("yaml")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    names = [
        author.get("name") or f"{author['given-names']} {author['family-names']}"
        for author in citation["authors"]
    ]
    assert settings()["metadata"]["author"] == ", ".join(names)
    assert citation["repository-code"] == urls()["Repository"]
    assert citation["url"] == urls()["Documentation"]
    assert citation["license"] == settings()["metadata"]["license"]


@pytest.mark.slow
def test_all_files_have_the_address_of_the_metadata() -> None:
    owner, name = urls()["Repository"].removeprefix("https://github.com/").split("/")
    known = {f"github.com/{owner}/{name}", f"{owner}.github.io/{name}"}
    known.add(f"colab.research.google.com/github/{owner}/{name}")
    addresses = {
        file: set(ADDRESS.findall((ROOT / file).read_text(encoding="utf-8", errors="ignore")))
        for file in repository_files()
        if (ROOT / file).is_file()
    }
    other = {file: names - known for file, names in addresses.items() if names - known}
    assert other == {}
    assert {file for file, names in addresses.items() if names} >= {"setup.cfg", "CITATION.cff"}


def copy_of_files_that_have_it(folder: Path) -> None:
    for name in ("wordbias", "conda", "docs/notebooks"):
        (folder / name).mkdir(parents=True)
    names = ("wordbias/__init__.py", "conda/meta.yaml", NOTEBOOK)
    for name in ("setup.cfg", "CITATION.cff", "CHANGELOG.md", *names):
        shutil.copy(ROOT / name, folder / name)


def test_one_command_sets_another_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy_of_files_that_have_it(tmp_path)
    other = f"{urls()['Repository']}-data/".encode() + b"\xff\r\n"
    (tmp_path / "bytes").write_bytes(other)
    for command in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    old = urls()["Repository"].removeprefix("https://")
    change = tool("set_address", monkeypatch).change
    assert {"setup.cfg", "CITATION.cff", "CHANGELOG.md"} <= set(change(tmp_path, "some", "thing"))
    for name in ("setup.cfg", "CITATION.cff", "CHANGELOG.md"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert old not in text
        assert "github.com/some/thing" in text
    notebook = (tmp_path / NOTEBOOK).read_text(encoding="utf-8")
    assert f"https://colab.research.google.com/github/some/thing/blob/main/{NOTEBOOK})" in notebook
    assert "git+https://github.com/some/thing" in notebook
    assert (tmp_path / "bytes").read_bytes() == other
    assert change(tmp_path, "some", "thing") == []
    change(tmp_path, *old.split("/")[1:])
    for name in ("setup.cfg", "CITATION.cff", "CHANGELOG.md", NOTEBOOK):
        assert (tmp_path / name).read_bytes() == (ROOT / name).read_bytes()


def test_one_command_sets_another_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy_of_files_that_have_it(tmp_path)
    tool("set_version", monkeypatch).set_version(tmp_path, "9.8.7", "2031-02-03")
    package = (tmp_path / "wordbias" / "__init__.py").read_text(encoding="utf-8")
    assert '\n__version__ = "9.8.7"\n' in package
    citation = (tmp_path / "CITATION.cff").read_text(encoding="utf-8")
    assert "\nversion: 9.8.7\ndate-released: 2031-02-03\n" in citation
    recipe = (tmp_path / "conda" / "meta.yaml").read_text(encoding="utf-8")
    assert '\n{% set version = "9.8.7" %}\n' in recipe
    changes = (tmp_path / "CHANGELOG.md").read_text(encoding="utf-8")
    before = f"v{wordbias.__version__}"
    assert "\n## [Unreleased]\n\n## [9.8.7] - 2031-02-03\n\n" in changes
    assert f"\n[9.8.7]: {urls()['Repository']}/compare/{before}...v9.8.7\n" in changes
    assert f"\n[Unreleased]: {urls()['Repository']}/compare/v9.8.7...HEAD\n" in changes
    tool("set_version", monkeypatch).set_version(tmp_path, "9.8.7", "2031-02-04")
    repeated = (tmp_path / "CHANGELOG.md").read_text(encoding="utf-8")
    assert repeated == changes.replace("2031-02-03", "2031-02-04")


@pytest.mark.parametrize("words", [[], ["1.0"], ["1.0.0", "3 May"], ["1.0.0", "2031-02-03", "x"]])
def test_a_version_that_is_none_changes_nothing(words: list[str]) -> None:
    files = [ROOT / name for name in ("wordbias/__init__.py", "CITATION.cff", "CHANGELOG.md")]
    before = [path.read_bytes() for path in files]
    command = [sys.executable, str(ROOT / "tools" / "set_version.py"), *words]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: set_version.py ")
    assert [path.read_bytes() for path in files] == before


@pytest.mark.parametrize("words", [[], ["wordbias"], ["a/b/c"], ["https://github.com/a/b"]])
def test_an_address_that_is_none_is_refused(words: list[str]) -> None:
    command = [sys.executable, str(ROOT / "tools" / "set_address.py"), *words]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: set_address.py ")


def test_the_source_archive_names_every_file() -> None:
    """What MANIFEST.in takes is all that git knows, but the links at the top level."""
    lines = (ROOT / "MANIFEST.in").read_text(encoding="utf-8").splitlines()
    grafted = {line.split()[1] for line in lines if line.startswith("graft ")}
    patterns = [
        pattern for line in lines if line.startswith("include ") for pattern in line.split()[1:]
    ]
    left_out = [
        name
        for name in repository_files()
        if name.split("/")[0] not in grafted
        and not ("/" not in name and any(Path(name).match(pattern) for pattern in patterns))
    ]
    assert sorted(left_out) == ["nli", "probes", "wordlists"]
