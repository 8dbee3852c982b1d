"""Run the golden calls at two commits, and list those whose outputs differ by a byte.

python tools/byte_equal.py main HEAD                  # every call
python tools/byte_equal.py main HEAD 'misp-*' weat-table

Each commit runs its own calls, on files that it made itself. Seconds are left out. A call that
differs between a commit and itself depends on more than its input.
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    """Compare two commits; exit with 1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("first", metavar="COMMIT")
    parser.add_argument("second", metavar="COMMIT")
    parser.add_argument("names", nargs="*", metavar="NAME", help="calls, or patterns of them")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folders = []
        for i, commit in enumerate((given.first, given.second)):
            folders.append(Path(folder) / f"kept{i}")
            _run(commit, Path(folder) / f"tree{i}", folders[i], given.names or ["*"])
        differences = list(_differences(*folders))
    print("\n".join(differences) or "equal, byte for byte")
    sys.exit(bool(differences))


def _run(commit: str, tree: Path, kept: Path, patterns: list[str]) -> None:
    """Check out a commit, run its calls, return their outputs, and remove it."""
    _git("worktree", "add", "--detach", "--quiet", str(tree), commit)
    try:
        known = sorted(path.stem for path in tree.glob("tests/golden/expected/*.json"))
        names = [
            name for name in known if any(fnmatch.fnmatch(name, pattern) for pattern in patterns)
        ]
        if not names:
            sys.exit(f"{commit} has no golden call {', '.join(patterns)}")
        environment = {"PYTHONPATH": str(tree), "WORDBIAS_KEEP_GOLDEN": str(kept)}
        test = "tests/golden/test_golden.py::test_a_call_gives_what_it_gave"
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-qm", "", *(f"{test}[{name}]" for name in names)],
            cwd=tree,
            env={**os.environ, **environment},
            check=False,
        )
        if done.returncode:
            sys.exit(f"the calls of {commit} could not be run")
    finally:
        _git("worktree", "remove", "--force", str(tree))


def _git(*words: str) -> None:
    done = subprocess.run(["git", *words], cwd=ROOT, check=False)
    if done.returncode:
        sys.exit(done.returncode)


def _differences(first: Path, second: Path) -> Iterator[str]:
    """Yield a line for every output that differs."""
    ours, theirs = _contents(first), _contents(second)
    for name in sorted({*ours, *theirs}):
        if name not in ours or name not in theirs:
            yield f"only at the {'first' if name in ours else 'second'} commit: {name}"
        elif ours[name] != theirs[name]:
            yield f"differs: {name}"


def _contents(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


if __name__ == "__main__":
    main()
