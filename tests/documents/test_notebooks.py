"""The notebooks run from the first cell to the last, and what is stored in them is what ran."""

from __future__ import annotations

import ast
import configparser
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import stand_ins
from fences import ROOT

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
LARGEST = 200_000
"""Bytes, pictures included."""
OF_A_MACHINE = re.compile(
    r"(?<![\w.])/(?:home|root|tmp|usr|var|work|Users|private)/|[A-Z]:\\|site-packages|ipykernel_"
)
Execute = Callable[[Any], Any]
NUMBER = re.compile(r"-?\d*\.?\d+(?:e-?\d+)?")


def table_6(path: Path) -> None:
    """Write a table of the shape of Dawkins (2021), Table 6: 8 measures of 16 embeddings."""
    rows = np.random.default_rng(0).random((16, 8))
    names = "emb,DB,MIDB,Clus_v1500,Rec_LR,SB_def,SB_stereo,GIPE_0.03,E"
    lines = [f"e{i}," + ",".join(f"{value:.3f}" for value in row) for i, row in enumerate(rows)]
    path.write_text("\n".join([names, *lines]) + "\n")


STAND_INS: dict[str, Callable[[Path], None]] = {
    "paper1_table6.csv": table_6,
    "paper2_table7_clean.csv": stand_ins.table_of_settings,
    "sentence-transformers/all-MiniLM-L6-v2": stand_ins.encoder,
}
"""By the values of parameters."""


@pytest.fixture
def execute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Execute:
    """Run all cells in a kernel of one thread in an empty folder; raise an error in one of them."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "MPLCONFIGDIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.delenv("MPLBACKEND", raising=False)
    profile = tmp_path / "ipythondir" / "profile_default"
    profile.mkdir(parents=True)
    first = ["import wordbias", "wordbias.config(threads=1)"]
    (profile / "ipython_kernel_config.py").write_text(f"c.IPKernelApp.exec_lines = {first}\n")
    where = {"metadata": {"path": str(tmp_path)}}

    def run(notebook: Any) -> Any:
        client = nbclient.NotebookClient(
            notebook,
            kernel_name="python3",
            resources=where,
            startup_timeout=3600,  # the default of 60 is too short on a busy machine
        )
        return client.execute()

    return run


def read(path: Path) -> Any:
    return nbformat.read(path, nbformat.NO_CONVERT)


def code_of(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def parameters(notebook: Any) -> list[str]:
    """Return the values in the cells that are tagged as parameters."""
    tagged = [cell for cell in code_of(notebook) if "parameters" in cell.metadata.get("tags", ())]
    nodes = [node for cell in tagged for node in ast.parse(cell.source).body]
    return [ast.literal_eval(node.value) for node in nodes if isinstance(node, ast.Assign)]


def shown(cell: Any, kind: str) -> list[str]:
    """Return what of a kind, such as ``image/png``, a cell shows."""
    return [output.data[kind] for output in cell.outputs if kind in output.get("data", {})]


def said(cell: Any) -> tuple[str, list[float]]:
    """Return the text that a cell shows or prints, without its numbers, and these."""
    printed = [output.text for output in cell.outputs if output.get("name") == "stdout"]
    results = [] if shown(cell, "image/png") else shown(cell, "text/plain")
    text = " ".join(" ".join([*printed, *results]).split())
    return NUMBER.sub("#", text), [float(number) for number in NUMBER.findall(text)]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, execute: Execute, tmp_path: Path) -> None:
    notebook = read(path)
    for value in parameters(notebook):
        (tmp_path / value).parent.mkdir(exist_ok=True)
        STAND_INS[value](tmp_path / value)
    stored = code_of(read(path))
    done = code_of(execute(notebook))
    assert [cell.source for cell in done] == [cell.source for cell in stored]
    if not parameters(notebook):  # on what comes with wordbias, so that the same is found
        for cell, before in zip(done, stored, strict=True):
            assert said(cell)[0] == said(before)[0]
            assert said(cell)[1] == pytest.approx(said(before)[1], rel=0.01, abs=0.01)
    for cell in done:
        assert not [
            output for output in cell.outputs if "WordbiasWarning" in output.get("text", "")
        ]
        assert (".plot()" in cell.source) == bool(shown(cell, "image/png")), cell.source


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_is_stored_in_a_notebook(path: Path) -> None:
    notebook = read(path)
    nbformat.validate(notebook)
    cells = code_of(notebook)
    assert path.stat().st_size < LARGEST
    assert [cell.execution_count for cell in cells] == [*range(1, len(cells) + 1)]
    for cell in cells:
        assert not any(output.output_type == "error" for output in cell.outputs)
        assert not any(output.get("name") == "stderr" for output in cell.outputs)
        assert (".plot()" in cell.source) == bool(shown(cell, "image/png"))
        for output in cell.outputs:
            output.get("data", {}).pop("image/png", None)
    trace = OF_A_MACHINE.search(nbformat.writes(notebook))
    assert not trace, trace


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_first_cell_installs_wordbias_only_where_it_is_not(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs as IPython runs it, with a pip that only records what it is asked for."""
    transformer = pytest.importorskip("IPython.core.inputtransformer2").TransformerManager()
    requirements = pytest.importorskip("packaging.requirements")
    notebook = read(path)
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg", encoding="utf-8")
    urls = settings["metadata"]["project_urls"]
    address = urls.partition("Repository = ")[2].splitlines()[0]
    calls: list[tuple[str, str]] = []
    kernel = SimpleNamespace(run_line_magic=lambda name, line: calls.append((name, line)))
    code = transformer.transform_cell(code_of(notebook)[0].source)
    exec(code, {"get_ipython": lambda: kernel})
    assert calls == []
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    exec(code, {"get_ipython": lambda: kernel})
    ((magic, line),) = calls
    *options, requirement = shlex.split(line)
    parsed = requirements.Requirement(requirement)
    assert (magic, options) == ("pip", ["install", "--quiet"])
    assert (parsed.name, parsed.url) == ("wordbias", f"git+{address}")
    assert parsed.extras <= set(settings["options.extras_require"])
    shown_at = f"{address.replace('github.com', 'colab.research.google.com/github')}/blob/main"
    link = f"({shown_at}/docs/notebooks/{path.name})"
    assert notebook.cells[0].source.count(link) == 1
    assert notebook.cells[1] == code_of(notebook)[0]


def test_three_notebooks_are_linked() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["encoder", "reproducing", "vectors"]
    guides = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    assert all(f"(notebooks/{path.name})" in guides for path in NOTEBOOKS)


CELLS = """
import wordbias as wb
row = wb.Row("a", "m", 1.0, {"low": 0.5, "high": 1.5})
report = wb.Report("measure", rows=[row])
report.plot();
---
report.plot();
---
report
---
import numpy as np
found = wb.probe(np.eye(60)[np.arange(300) % 60], np.arange(300) % 2, seed=0, epochs=2)
found.plot();
---
found.tables[0]
---
wb.rewrite("scrub", ["She is a nurse."])
"""


@pytest.mark.slow
def test_results_show_themselves_in_a_kernel(execute: Execute) -> None:
    written = [nbformat.v4.new_code_cell(source.strip()) for source in CELLS.split("---")]
    executed = execute(nbformat.v4.new_notebook(cells=written))
    first, repeated, bare, probed, table, texts = executed.cells
    for cell in (first, repeated, probed):
        assert len(shown(cell, "image/png")) == 1, cell
    assert shown(bare, "text/html") == ["<p>&lt;Report of measure: 1 value of 1 subject&gt;</p>"]
    assert shown(bare, "text/plain") == ["<Report of measure: 1 value of 1 subject>"]
    assert "<table>" in shown(table, "text/html")[0]
    assert shown(table, "text/plain")[0].startswith("MDL online code\n")
    assert "1 text" in shown(texts, "text/html")[0]
    assert not [
        output
        for cell in executed.cells
        for output in cell.outputs
        if output.get("name") == "stderr"
    ]
