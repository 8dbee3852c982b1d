"""Compare the rows of golden results at two commits as sets.

The order of rows and keys does not count, nor do keys that are named apart.

python tools/same_rows.py main HEAD
python tools/same_rows.py main . --apart setting --renamed nli-fairness-json=mab-eval-neutral-json

``.`` is the working tree. Exits with 1 if a row of one is not a row of the other.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
EXPECTED = "tests/golden/expected"


def main() -> None:
    """List the calls whose rows differ, with the first rows that only one commit has."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("first", metavar="COMMIT")
    parser.add_argument("second", metavar="COMMIT")
    parser.add_argument("--apart", nargs="*", default=[], metavar="KEY", help="keys left out")
    parser.add_argument("--renamed", nargs="*", default=[], metavar="OLD=NEW", help="calls")
    given = parser.parse_args()
    renamed = dict(pair.split("=", 1) for pair in given.renamed)
    before = {renamed.get(name, name): report for name, report in _results(given.first).items()}
    after = _results(given.second)
    for name in sorted(before.keys() - after.keys()):
        print(f"gone: {name}")
    differing, count = 0, 0
    for name in sorted(before.keys() & after.keys()):
        first, other = (_rows(reports[name], given.apart) for reports in (before, after))
        count += first.total()
        if first != other:
            differing += 1
            print(f"{name}: {(first - other).total()} rows gone, {(other - first).total()} new")
            for sign, rows in (("-", first - other), ("+", other - first)):
                print("\n".join(f"  {sign} {row}" for row in [*rows][:3]))
    print(f"{count} rows of {len(before.keys() & after.keys())} calls; {differing} calls differ")
    sys.exit(bool(differing))


def _results(commit: str) -> dict[str, Any]:
    if commit == ".":
        paths = sorted((ROOT / EXPECTED).glob("*.json"))
        return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in paths}
    names = _git("ls-tree", "--name-only", commit, f"{EXPECTED}/").split()
    return {Path(name).stem: json.loads(_git("show", f"{commit}:{name}")) for name in names}


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True)
    return done.stdout.decode()


def _rows(result: Any, apart: list[str]) -> Counter[str]:
    return Counter(
        json.dumps({key: value for key, value in row.items() if key not in apart}, sort_keys=True)
        for row in _found(result)
    )


def _found(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the rows anywhere in a result."""
    if isinstance(value, dict):
        if {"subject", "measure", "value"} <= value.keys():
            yield value
            return
        value = list(value.values())
    if isinstance(value, list):
        for child in value:
            yield from _found(child)


if __name__ == "__main__":
    main()
