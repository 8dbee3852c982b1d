"""Time `apply` of a method to rows beside pyarrow, which reads and writes the file, and `erase`.

    python benchmarks/erase.py                    # 1,000,000 rows of 768 float32, 3 GB a file
    python benchmarks/erase.py --rows 100000

The rows are normal numbers, with a label by which one direction differs, in row groups of 10,000;
LEACE is fitted on the first group. Peers: pyarrow reads each row group of the Parquet file and
writes it with the file's compression; numpy copies the .npy file block by block, which computes
nothing. Each runs in a process of its own, in turn with ours, `wordbias.apply`; seconds are those
of reading, computing and writing until the data is on the disk, without starting Python. The last
lines are a whole call of `wordbias.erase` of the .npy file with a file of labels: the fit, the
report on held-out rows and the written file. Files are written below --folder (four times the size
of one, in the end removed). Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

GROUP, BLOCK = 10_000, 16_384

MAKE = """
import sys
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import wordbias as wb
n, dim, group = map(int, sys.argv[1:4])
rng = np.random.default_rng(0)
direction = rng.standard_normal(dim, np.float32)
whole = np.lib.format.open_memmap("a.npy", "w+", np.float32, (n, dim))
kind = pa.list_(pa.float32())
schema = pa.schema([("id", pa.int64()), ("gender", pa.string()), ("embedding", kind)])
with pq.ParquetWriter("a.parquet", schema) as file, open("gender.txt", "w") as listed:
    for start in range(0, n, group):
        count = min(group, n - start)
        labels = rng.integers(0, 2, count)
        x = rng.standard_normal((count, dim), np.float32) + np.outer(labels, direction)
        x = x.astype(np.float32)
        whole[start : start + count] = x
        offsets = pa.array(np.arange(count + 1, dtype=np.int32) * dim)
        vectors = pa.ListArray.from_arrays(offsets, pa.array(x.reshape(-1)))
        genders = pa.array(np.array(["f", "m"])[labels])
        listed.writelines(f"{gender}\\n" for gender in genders.to_pylist())
        ids = pa.array(range(start, start + count))
        file.write_table(pa.table([ids, genders, vectors], schema=schema))
        if not start:
            wb.LEACE().fit(x, labels).save("leace.safetensors")
whole.flush()
"""

END = """
import json, os, resource
print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024]))
"""
PYARROW = (
    """
import os, time
import pyarrow.parquet as pq
start = time.perf_counter()
with pq.ParquetFile("a.parquet") as source, open("peer.parquet", "wb") as file:
    with pq.ParquetWriter(file, source.schema_arrow) as writer:
        for group in range(source.num_row_groups):
            writer.write_table(source.read_row_group(group))
    file.flush()
    os.fsync(file.fileno())
seconds = time.perf_counter() - start
"""
    + END
)
NUMPY = (
    """
import os, time
import numpy as np
start = time.perf_counter()
whole = np.load("a.npy", mmap_mode="r")
(n, dim), step = whole.shape, BLOCK
with open("a.npy", "rb") as source, open("peer.npy", "wb") as file:
    np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(whole))
    source.seek(whole.offset)
    for first in range(0, n, step):
        np.fromfile(source, np.float32, min(step, n - first) * dim).tofile(file)
    os.fsync(file.fileno())
seconds = time.perf_counter() - start
""".replace("BLOCK", str(BLOCK))
    + END
)
OURS = (
    """
import sys
import wordbias as wb
made = wb.apply("leace.safetensors", f"a.{sys.argv[1]}", output=f"ours.{sys.argv[1]}")
(row,) = made.report["rows-changed"]
seconds = row.details["seconds"]
"""
    + END
)
ERASE = (
    """
import time
import wordbias as wb
start = time.perf_counter()
wb.erase("a.npy", "gender.txt", output="ours.npy")
seconds = time.perf_counter() - start
"""
    + END
)


def main() -> None:
    """Make the files, time everything in turn, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--dim", type=int, default=768)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=None)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="wordbias-", dir=given.folder))
    try:
        size = [str(value) for value in (given.rows, given.dim, GROUP)]
        subprocess.run([sys.executable, "-c", MAKE, *size], cwd=folder, check=True)
        print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}")
        print(f"\n{given.rows:,} × {given.dim} float32, one of {given.runs} run(s), in turn\n")
        print("| | wordbias | peer | ratio | target |")
        print("| --- | ---: | ---: | ---: | ---: |")
        for suffix, peer, name in (("parquet", PYARROW, "pyarrow"), ("npy", NUMPY, "numpy")):
            ours, theirs = [], []
            for _ in range(given.runs):
                theirs.append(_timed(folder, peer, suffix))
                ours.append(_timed(folder, OURS, suffix))
            target = "≤ 2×" if suffix == "parquet" else ""
            _print(f"{suffix}, peer {name}", target, given.rows, ours, theirs)
        runs = [_timed(folder, ERASE, "npy") for _ in range(given.runs)]
        seconds, peak = (statistics.median(values) for values in zip(*runs, strict=True))
        print(f"| npy, a whole call of erase | {seconds:.1f} s | | | |")
        print(f"| … peak memory | {peak / 1e6:.0f} MB | | | |")
    finally:
        shutil.rmtree(folder)


def _timed(folder: Path, program: str, suffix: str) -> tuple[float, float]:
    """Run a program in a process of its own; return its seconds and its peak memory in bytes."""
    call = [sys.executable, "-c", program, suffix]
    done = subprocess.run(call, cwd=folder, check=True, capture_output=True, text=True)
    seconds, peak = json.loads(done.stdout.splitlines()[-1])
    for name in ("ours", "peer"):
        (folder / f"{name}.{suffix}").unlink(missing_ok=True)
    return seconds, peak


def _print(
    what: str,
    target: str,
    rows: int,
    ours: list[tuple[float, float]],
    theirs: list[tuple[float, float]],
) -> None:
    (s, m), (t, p) = (
        [statistics.median(values) for values in zip(*runs, strict=True)] for runs in (ours, theirs)
    )
    print(f"| {what} | {s:.1f} s | {t:.1f} s | {s / t:.2f}× | {target} |")
    print(f"| … rows a second | {rows / s:,.0f} | {rows / t:,.0f} | | |")
    print(f"| … peak memory | {m / 1e6:.0f} MB | {p / 1e6:.0f} MB | | ≤ 500 MB |")


if __name__ == "__main__":
    main()
