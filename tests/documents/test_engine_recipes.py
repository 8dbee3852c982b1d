"""The recipes of docs/scaling.md run on their engines, and give the bytes of `wordbias apply`."""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fences import ROOT
from quicker import ENGINES

# engines log and warn on their own account
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]


@pytest.fixture
def recipes(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the tool that makes shards and compares what is written."""
    pytest.importorskip("pyarrow.parquet")
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return importlib.import_module("pyspark_recipe")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_recipe_gives_the_bytes_of_apply(
    engine: str,
    recipes: Any,
    join: Callable[[str], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip(engine)
    if engine == "pyspark" and shutil.which("java") is None:
        pytest.skip("pyspark needs Java")
    recipes.write_shards(tmp_path / "shards")
    monkeypatch.chdir(tmp_path)
    if engine == "ray":
        pytest.importorskip("ray.data")
        importlib.import_module("ray").shutdown()  # its workers read in the folder of their start
        join("ray")
    if engine == "dask":
        pytest.importorskip("dask.dataframe")
        join("dask")
        config = importlib.import_module("dask.config")
        address = config.collect_env()["scheduler_address"]
        monkeypatch.setitem(config.config, "scheduler-address", address)
    if engine == "datasets":
        monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    exec(recipes.recipe(engine), {"__name__": "recipe"})
    recipes.compare(tmp_path)


def test_vectors_that_differ_in_one_bit_are_seen(recipes: Any, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    import wordbias as wb

    recipes.write_shards(tmp_path / "shards")
    others, x = recipes.read(tmp_path / "shards")
    leace = wb.LEACE().fit(x, others["gender"])
    leace.save(tmp_path / "leace.safetensors")
    (tmp_path / "clean").mkdir()
    for path in (tmp_path / "shards").iterdir():
        pq.write_table(leace(pq.read_table(path)), tmp_path / "clean" / path.name)
    recipes.compare(tmp_path)
    table = pq.read_table(path)
    clean = leace(table).column("embedding").to_pylist()
    clean[7][3] = float(clean[7][3]) * (1 + 2**-22)
    column = recipes.pa.array(clean, table.schema.field("embedding").type)
    at = table.schema.get_field_index("embedding")
    pq.write_table(table.set_column(at, "embedding", column), tmp_path / "clean" / path.name)
    with pytest.raises(ValueError, match="1 values differ from those of the method called here"):
        recipes.compare(tmp_path)
