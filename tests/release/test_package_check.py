"""The check of the package sees what is wrong, and a checkout without links is complete."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
import tarfile
import zipfile
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINKS = ("nli", "probes", "wordlists")


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "tools")
    return import_module("check_package")


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_an_archive_is_read_without_what_building_adds(check: ModuleType, tmp_path: Path) -> None:
    contents = {
        "PKG-INFO": b"1",
        "setup.cfg": b"2",
        "wordbias.egg-info/SOURCES.txt": b"3",
        "docs/a.md": b"4",
    }
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        for name, content in contents.items():
            member = tarfile.TarInfo(f"wordbias-1/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    files = check.archive_files(tmp_path / "a.tar.gz", "as written")
    assert files == {"setup.cfg": "as written", "docs/a.md": digest(b"4")}


def test_a_wheel_is_read(check: ModuleType, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as wheel:
        wheel.writestr("wordbias/py.typed", b"5")
    assert check.wheel_files(tmp_path / "a.whl") == {"wordbias/py.typed": digest(b"5")}


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ({"a": "1"}, "missing ['b'], unexpected nothing, different nothing"),
        ({"a": "1", "b": "2", "c": "3"}, "missing nothing, unexpected ['c'], different nothing"),
        ({"a": "1", "b": "9"}, "missing nothing, unexpected nothing, different ['b']"),
    ],
)
def test_a_difference_ends_the_check(
    check: ModuleType, found: dict[str, str], message: str
) -> None:
    with pytest.raises(SystemExit, match=r"^wheel: ") as caught:
        check.compare_files("wheel", found, {"a": "1", "b": "2"})
    assert message in str(caught.value)
    check.compare_files("wheel", {"a": "1", "b": "2"}, {"a": "1", "b": "2"})


def test_a_command_that_fails_ends_the_check_with_its_output(check: ModuleType) -> None:
    with pytest.raises(SystemExit, match="exit status 3\nbroken"):
        check.run(sys.executable, "-c", "print('broken'); raise SystemExit(3)")


@pytest.mark.slow
def test_a_checkout_without_links_is_complete(tmp_path: Path) -> None:
    """Git on Windows writes a link as a file with the name of its target."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git repository")
    clone = tmp_path / "clone"
    command = ["git", "-c", "core.symlinks=false", "clone", "-q", "--depth", "1", ROOT.as_uri()]
    subprocess.run([*command, str(clone)], check=True)
    for name in LINKS:
        assert (clone / name).read_text(encoding="utf-8") == f"wordbias/{name}"
        assert not (clone / name).is_symlink()
    there = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    where = [sys.executable, "-c", "import wordbias; print(wordbias.__file__)"]
    for command in (where, [sys.executable, "cli.py", "misp", "--format", "csv"]):
        done = subprocess.run(
            command, cwd=clone, env=there, capture_output=True, encoding="utf-8", check=False
        )
        assert done.returncode == 0, done.stderr
        if command is where:
            assert Path(done.stdout.strip()) == clone / "wordbias" / "__init__.py"
