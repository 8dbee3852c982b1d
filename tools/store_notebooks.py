"""Execute notebooks of docs/notebooks and store the outputs of their cells.

python tools/store_notebooks.py FOLDER [NAME ...]    # by default all of them

FOLDER holds the files that the notebooks name: the published tables, and a folder or link for each
model that is not on the hub.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).resolve().parent.parent / "docs" / "notebooks"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def store(path: Path, folder: Path) -> None:
    """Execute one notebook and write it with its outputs, except those on stderr."""
    notebook = nbformat.read(path, 4)
    start = time.perf_counter()
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, kernel_name="python3", resources=resources).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = [
                cell_output for cell_output in cell.outputs if cell_output.get("name") != "stderr"
            ]
    notebook.metadata = METADATA
    text = nbformat.writes(notebook, indent=1).rstrip("\n") + "\n"
    if str(folder) in text or str(Path.home()) in text:
        raise SystemExit(f"{path.name}: shows a path of this machine; nothing was stored")
    path.write_text(text, encoding="utf-8")
    print(f"{path.name}: {time.perf_counter() - start:.1f} s, {len(text.encode()) / 1000:.0f} KB")


def main() -> None:
    """Store the notebooks that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    for name in given.names or sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb")):
        store(NOTEBOOKS / f"{name}.ipynb", given.folder.resolve())


if __name__ == "__main__":
    main()
