"""Update tests/golden/expected after a change on purpose: only outputs that differ are written.

python tools/golden.py misp-sample-json 'help-*'   # these calls; a pattern names several
python tools/golden.py --all                       # every call
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXPECTED = ROOT / "tests" / "golden" / "expected"
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "golden")]


def main() -> None:
    """Run the calls, and list the files that changed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="calls, or patterns of them")
    parser.add_argument("--all", action="store_true", help="every call")
    given = parser.parse_args()
    if bool(given.names) == given.all:
        parser.error("name calls, or give --all")
    before = _contents()
    code = _run(_chosen(["*"] if given.all else given.names))
    after = _contents()
    for name in sorted(after):
        if before.get(name) != after[name]:
            print(f"{'changed' if name in before else 'new'}: tests/golden/expected/{name}")
    if before == after:
        print("nothing changed")
    sys.exit(code)


def _contents() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in EXPECTED.glob("*.json")}


def _chosen(patterns: list[str]) -> list[str]:
    """Return the calls that match patterns."""
    from calls import CALLS

    names = [call.name for call in CALLS]
    for pattern in patterns:
        if not fnmatch.filter(names, pattern):
            sys.exit(f"no golden call {pattern!r}; they stand in tests/golden/calls.py")
    return [name for name in names if any(fnmatch.fnmatch(name, glob) for glob in patterns)]


def _run(names: list[str]) -> int:
    test = "tests/golden/test_golden.py::test_a_call_gives_what_it_gave"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-qm", "", *(f"{test}[{name}]" for name in names)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "WORDBIAS_WRITE_GOLDEN": "1"},
        check=False,
    )
    return done.returncode


if __name__ == "__main__":
    main()
