"""`pytest --without-extras` skips what needs a package that only an extra installs.

So the base is tested as people have it who install no extra. A package that is there is used. What
only looks whether a package is there, or goes on without it, is not skipped; and
`tests/test_optional.py` tests that every name and every help is there without them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

import wordbias

PACKAGES = frozenset(
    (
        *("accelerate", "concept_erasure", "dask", "datasets", "distributed", "evaluate"),
        *("gensim", "huggingface_hub", "matplotlib", "model2vec", "ot", "pandas"),
        *("polars", "pooch", "pyarrow", "ray", "sentence_transformers", "spacy", "statsmodels"),
        *("tokenizers", "torch", "transformers", "yaml"),
    )
)
_OURS = tuple(f"{Path(file).parent}{os.sep}" for file in (__file__, wordbias.__file__))
_REMEDY = 'install it with: pip install "wordbias['


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--without-extras",
        action="store_true",
        help="skip what needs a package that only an extra installs and that is not here",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--without-extras"):
        sys.meta_path.append(_Missing())


class _Missing:
    """Stands behind all that find modules, so that it is asked only for those that nobody has."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name in PACKAGES and _is_imported_here():
            pytest.skip(f"needs {name}", allow_module_level=True)


def _is_imported_here() -> bool:
    """Say whether a test or wordbias imports it, rather than looks for it, or another package."""
    frame = sys._getframe(2)
    while frame.f_back is not None:
        file = frame.f_code.co_filename
        if file.endswith(("importlib/util.py", "importlib\\util.py")):
            return False
        if "importlib" not in file:
            return file.startswith(_OURS)
        frame = frame.f_back
    return False


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, Any]:
    """Skip a test whose command line, in a process of its own, has named a missing extra."""
    report = yield
    if item.config.getoption("--without-extras") and report.failed:
        text = report.longreprtext
        named = text.partition(_REMEDY)[2].partition("]")[0]
        if named:
            report.outcome = "skipped"
            report.longrepr = (str(item.path), 0, f"Skipped: needs the extra {named}")
    return report
