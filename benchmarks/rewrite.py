"""Time `wordbias rewrite` on real biographies, repeated until there are 100,000.

    python benchmarks/rewrite.py bios_surgeon_nurse.tsv.gz

Each method runs in a process of its own, on two cores at most, from a tabbed file to a tabbed file;
the peer is the regular expression that the released code of De-Arteaga et al. scrubs with, read,
applied and written by a script of ten lines. Prints a Markdown table of seconds and peak memory,
the latter also for a file twice as long. Target: 100,000 biographies scrubbed in at most 10 s.
"""

from __future__ import annotations

import argparse
import gzip
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROWS = 100_000
PEER = r"""
import re, sys
pattern = re.compile(
    r"\b(?:[Hh]e|[Ss]he|[Hh]er|[Hh]is|[Hh]im|[Hh]ers|[Hh]imself|[Hh]erself"
    r"|[Mm][Rr]|[Mm][Rr][Ss]|[Mm][Ss])\b"
)
with open(sys.argv[1], encoding="utf-8") as read, open(sys.argv[2], "w", encoding="utf-8") as out:
    for line in read:
        *cells, text = line.split("\t")
        out.write("\t".join([*cells, pattern.sub("_", text)]))
"""
BALANCE = ":label=profession:group=gender"
RUNS = {
    "scrub": ("scrub",),
    "scrub:first-names": ("scrub:first-names",),
    "scrub:as-published": ("scrub:as-published",),
    "swap": ("swap",),
    "swap:keep-original --shuffle": ("swap:keep-original", "--shuffle"),
    "subsample": (f"subsample{BALANCE}",),
    "oversample --shuffle": (f"oversample{BALANCE}", "--shuffle"),
}


def main() -> None:
    """Run everything and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bios", help="biographies: TSV with a column text, gzipped")
    parser.add_argument("--rows", type=int, default=ROWS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bios, longer = Path(folder) / "bios.tsv", Path(folder) / "longer.tsv"
        repeat(arguments.bios, bios, arguments.rows)
        repeat(arguments.bios, longer, 2 * arguments.rows)
        out = str(Path(folder) / "out.tsv")
        print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}")
        print(f"{arguments.rows:,} biographies, {bios.stat().st_size / 1e6:.0f} MB\n")
        print("| what | seconds | of the processor | peak MB |")
        print("| --- | ---: | ---: | ---: |")
        line("the published expression, ten lines of Python", [PEER, str(bios), out])
        for name, (method, *options) in RUNS.items():
            line(f"wordbias rewrite {name}", rewriting(method, bios, out, options))
        line("wordbias rewrite scrub, twice as long", rewriting("scrub", longer, out, []))


def repeat(packed: str, path: Path, rows: int) -> None:
    """Write the rows of a file again and again."""
    with gzip.open(packed, "rt", encoding="utf-8") as file:
        header, *lines = file.readlines()
    with path.open("w", encoding="utf-8") as out:
        out.write(header)
        out.writelines(lines[i % len(lines)] for i in range(rows))


def rewriting(method: str, path: Path, out: str, options: list[str]) -> list[str]:
    """Return a script that runs the command, and its arguments."""
    script = "import sys; from wordbias.cli import main; sys.exit(main())"
    return [script, "rewrite", method, str(path), "-o", out, "-q", *options]


def line(name: str, arguments: list[str]) -> None:
    """Run a script in a process of its own, and print its time and memory."""
    start = time.perf_counter()
    child = subprocess.Popen([sys.executable, "-c", *arguments], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    if status:
        raise SystemExit(f"{name} failed")
    busy = used.ru_utime + used.ru_stime
    print(f"| {name} | {seconds:.1f} | {busy:.1f} | {peak(used):.0f} |")


def peak(used: resource.struct_rusage) -> float:
    """Return the peak memory of a process in megabytes."""
    return used.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


if __name__ == "__main__":
    main()
