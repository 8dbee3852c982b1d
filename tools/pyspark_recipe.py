"""Run a recipe of docs/scaling.md on its engine, and compare what it writes with `wordbias apply`.

``python tools/pyspark_recipe.py`` runs that of PySpark on this machine; it needs Java, and the
packages pyspark, pandas and pyarrow beside wordbias. Its shards are real vectors, those of the
sample. The tests run the other recipes by the same functions.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import wordbias as wb  # noqa: E402

GUIDE = ROOT / "docs" / "scaling.md"
SHARDS, ROWS = 3, 500
Vectors = np.ndarray[Any, Any]


def recipe(engine: str) -> str:
    """Return the block of the guide that imports an engine."""
    blocks = re.findall(
        r"^```python\n(.*?)^```$", GUIDE.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    (chosen,) = (
        block for block in blocks if re.search(rf"^(import|from) {engine}\b", block, re.MULTILINE)
    )
    return str(chosen)


def write_shards(folder: Path) -> None:
    """Write Parquet with vectors of words, and whether each leans to she or to he."""
    sample = wb.load()
    folder.mkdir()
    for i in range(SHARDS):
        at = slice(i * ROWS, (i + 1) * ROWS)
        x = sample.vectors[at]
        leans = x @ (sample["she"] - sample["he"]) > 0
        columns = {
            "id": pa.array(range(at.start, at.stop)),
            "text": pa.array(sample.words[at]),
            "embedding": pa.array(list(x), pa.list_(pa.float32())),
            "gender": pa.array(np.where(leans, "female", "male")),
        }
        pq.write_table(pa.table(columns), folder / f"{i}.parquet", row_group_size=200)


def read(folder: Path) -> tuple[Any, Vectors]:
    """Read a folder of Parquet: the other columns, and the vectors, in the order of ``id``."""
    tables = [pq.read_table(path) for path in sorted(folder.glob("*.parquet"))]
    table = pa.concat_tables(tables).sort_by("id")
    rows = table.column("embedding").combine_chunks()
    x = rows.flatten().to_numpy().reshape(len(rows), -1)
    others = {name: table.column(name).to_pylist() for name in ("id", "text", "gender")}
    return others, x


def compare(folder: Path) -> None:
    """Compare what a recipe wrote with the method called here, and with `wordbias apply`.

    Raises
    ------
    ValueError
        If a byte of the vectors or a value of another column differs, or the fit does.
    """
    others, x = read(folder / "shards")
    clean_others, cleaned = read(folder / "clean")
    method = wb.load(folder / "leace.safetensors")
    wb.apply(folder / "leace.safetensors", folder / "shards", output=folder / "applied")
    _, applied = read(folder / "applied")
    if cleaned.dtype != np.float32 or cleaned.tobytes() == x.tobytes():
        raise ValueError(f"the vectors are {cleaned.dtype}, and changed: {(cleaned != x).any()}")
    for name, vectors in {"the method called here": method(x), "wordbias apply": applied}.items():
        if vectors.tobytes() != cleaned.tobytes():
            raise ValueError(f"{(vectors != cleaned).sum()} values differ from those of {name}")
    if others != clean_others:
        raise ValueError("another column differs")
    expected = wb.LEACE().fit(x, others["gender"]).transform(x.astype(float))
    if not np.allclose(method.transform(x.astype(float)), expected, rtol=0, atol=1e-10):
        raise ValueError("the sum of moments gives another fit than the rows")


def main() -> None:
    """Run the recipe of PySpark and say what it took and gave."""
    parser = argparse.ArgumentParser(description="Run the recipe of PySpark in docs/scaling.md.")
    parser.add_argument("--engine", default="pyspark", help="Package whose recipe to run.")
    engine = parser.parse_args().engine
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    before = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), before]))  # of the workers
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_shards(folder / "shards")
        os.chdir(folder)
        start = time.perf_counter()
        exec(compile(recipe(engine), f"{GUIDE.name}, recipe of {engine}", "exec"), {})
        seconds = time.perf_counter() - start
        compare(folder)
        files = len(list((folder / "clean").glob("*.parquet")))
        os.chdir(ROOT)
    print(
        f"{engine} {version(engine)}, Python {platform.python_version()}, numpy "
        f"{version('numpy')}, pyarrow {version('pyarrow')}: {SHARDS * ROWS:,} rows in {files} "
        f"files, {seconds:.0f} s; every byte of the vectors is that of wordbias apply"
    )


if __name__ == "__main__":
    main()
