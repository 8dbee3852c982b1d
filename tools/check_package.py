"""Build the source archive and the wheel, compare them, and install the wheel where nothing is.

Usage: python tools/check_package.py [--output FOLDER]

What it says yes to is what a release publishes: the archive has every file of the repository but
the links at the top level, the wheel built from the archive is the one built from the repository,
the long description can be shown, and in an empty environment without extras the command
debiases the vectors that come with it. With --output the archive and the wheel are left in FOLDER.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SAVE = "import wordbias; wordbias.load().save('vectors.txt')"


def main() -> None:
    """Check the package, and exit with 1 and a line that says what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output", type=Path, help="leave the archive and the wheel here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="wordbias-package-") as name:
        folder = Path(name)
        tree, dist = folder / "tree", folder / "made"
        files = copy_repository(tree)
        run(sys.executable, "-m", "build", "--outdir", str(dist), str(tree))
        run(sys.executable, "-m", "build", "--wheel", "--outdir", str(folder / "again"), str(tree))
        (archive,), (wheel,) = dist.glob("*.tar.gz"), dist.glob("*.whl")
        (rebuilt,) = (folder / "again").glob("*.whl")
        compare_files("source archive", archive_files(archive, files["setup.cfg"]), files)
        compare_files("wheel from the archive", wheel_files(wheel), wheel_files(rebuilt))
        run(sys.executable, "-m", "twine", "check", "--strict", str(archive), str(wheel))
        use_installed(wheel, folder / "empty")
        if options.output:
            options.output.mkdir(parents=True, exist_ok=True)
            for built in (archive, wheel):
                shutil.copy(built, options.output)
        print(f"{archive.name} and {wheel.name}: built, compared, installed, used")


def copy_repository(target: Path) -> dict[str, str]:
    """Copy the files that git knows, or all of an unpacked archive; return them with hashes.

    A copy, because a folder `build` that stands there would get into the wheel.
    """
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    names = listed.stdout.split("\0")[:-1] if (ROOT / ".git").exists() else None
    if names is None:
        paths = (path for path in ROOT.rglob("*") if path.is_file())
        names = [path.relative_to(ROOT).as_posix() for path in paths]
    hashes = {}
    for name in names:
        source = ROOT / name
        if not source.exists() or is_link(source) or name == "PKG-INFO" or ".egg-info/" in name:
            continue
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target / name)
        hashes[name] = hashlib.sha256(source.read_bytes()).hexdigest()
    return hashes


def is_link(path: Path) -> bool:
    """Say whether a path is one of the links at the top level, also as the text that git writes."""
    return path.parent == ROOT and path.name in ("nli", "probes", "wordlists")


def archive_files(archive: Path, written: str) -> dict[str, str]:
    """Return the files of a source archive with their hashes, but for what building adds.

    setuptools writes setup.cfg again, without its comments; its hash is taken as `written`.
    """
    hashes = {}
    with tarfile.open(archive) as opened:
        for member in opened:
            name = member.name.partition("/")[2]
            content = opened.extractfile(member)
            if content and name != "PKG-INFO" and ".egg-info/" not in name:
                hashes[name] = hashlib.sha256(content.read()).hexdigest()
    return hashes | ({"setup.cfg": written} if "setup.cfg" in hashes else {})


def wheel_files(wheel: Path) -> dict[str, str]:
    """Return the files of a wheel with their hashes."""
    with zipfile.ZipFile(wheel) as opened:
        return {name: hashlib.sha256(opened.read(name)).hexdigest() for name in opened.namelist()}


def compare_files(title: str, found: dict[str, str], expected: dict[str, str]) -> None:
    """Exit with a list of the files that are missing, unexpected or different."""
    missing, more = sorted({*expected} - {*found}), sorted({*found} - {*expected})
    other = sorted(name for name in {*found} & {*expected} if found[name] != expected[name])
    if missing or more or other:
        sys.exit(
            f"{title}: missing {missing or 'nothing'}, unexpected {more or 'nothing'}, "
            f"different {other or 'nothing'}; name files in MANIFEST.in or setup.cfg"
        )


def use_installed(wheel: Path, folder: Path) -> None:
    """Install a wheel without extras in an empty environment, and use it on a small file."""
    venv.create(folder / "venv", with_pip=True)
    programs = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    run(str(programs / "python"), "-m", "pip", "install", "--quiet", str(wheel), at=folder)
    wordbias = str(programs / "wordbias")
    version = run(wordbias, "--version", at=folder)
    if wheel.name.split("-")[1] not in version:
        sys.exit(f"--version prints {version.strip()!r}; the wheel is {wheel.name}")
    run(str(programs / "python"), "-c", SAVE, at=folder)  # the vectors that come with the wheel
    run(wordbias, "misp", "vectors.txt", "-o", "clean.txt", at=folder)
    before, after = (
        [line.split(" ")[0] for line in (folder / name).read_text(encoding="utf-8").splitlines()]
        for name in ("vectors.txt", "clean.txt")
    )
    if before != after:
        sys.exit("misp: clean.txt has other words than vectors.txt")


def run(*command: str, at: Path | None = None) -> str:
    """Run a command away from the repository and return its output; on failure exit with it."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        command, cwd=at or tempfile.gettempdir(), env=clean, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout}")
    return done.stdout


if __name__ == "__main__":
    main()
