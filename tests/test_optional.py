"""Optional packages and what importing the package loads."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import wordbias
from wordbias import WordbiasError
from wordbias.cli import SECTIONS
from wordbias.errors import need

HEAVY = ("numpy", "scipy", "sklearn", "gensim", "torch", "transformers", "ot", "matplotlib")


def _loaded(code: str) -> set[str]:
    """Return which heavy packages a fresh interpreter has after running some code."""
    report = f"import sys; print('HEAVY', *sorted(set(sys.modules) & set({HEAVY!r})))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{report}"], capture_output=True, text=True, check=True
    )
    return set(done.stdout.rpartition("HEAVY")[2].split())


WITHOUT = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {packages!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
"""
EXTRAS = {
    *("torch", "transformers", "accelerate", "gensim", "ot", "spacy", "pyarrow", "pandas"),
    *("matplotlib", "pooch", "huggingface_hub", "dask", "distributed", "ray", "tokenizers"),
}


def test_the_check_sees_what_is_loaded() -> None:
    assert _loaded("import numpy") == {"numpy"}


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert _loaded("import wordbias; dir(wordbias); wordbias.__version__") == set()


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["--version"], []])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    assert _loaded(f"from wordbias.cli import run; run({arguments!r})") == set()


def test_only_the_library_itself_loads_numpy() -> None:
    lean = "import wordbias; wordbias.Attribute, wordbias.WordbiasError"
    assert _loaded(lean) == set()
    assert "numpy" in _loaded("import wordbias; wordbias.Embedding")


@pytest.mark.slow
def test_a_run_loads_none_of_the_extras() -> None:
    run = "from wordbias.cli import run; run(['misp', '--format', 'json', '-q'])"
    assert _loaded(run) <= {"numpy"}


@pytest.mark.parametrize("name", sorted({*wordbias.__all__} - {"__version__"}))
def test_a_lazy_name_is_the_object_of_the_module_that_defines_it(name: str) -> None:
    value = getattr(wordbias, name)
    assert value is getattr(importlib.import_module(value.__module__), name)


@pytest.mark.slow
def test_what_misp_loads_on_the_sample_is_numpy_from_python_too() -> None:
    assert _loaded("import wordbias; wordbias.misp()") <= {"numpy"}


ALL_HELP = """
from wordbias.cli import SECTIONS, run
import wordbias
for section in SECTIONS.values():
    for name in section:
        assert run([name, "--help"]) == 0, name
assert not {"scipy", "sklearn"} & set(sys.modules)
for name in wordbias.__all__:
    getattr(wordbias, name)
"""


@pytest.mark.slow
def test_without_extras_every_name_is_there_and_every_command_has_its_help() -> None:
    code = WITHOUT.format(packages=EXTRAS) + ALL_HELP
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Usage: wordbias ") == sum(map(len, SECTIONS.values()))


@pytest.mark.slow
def test_without_extras_a_call_that_needs_one_names_it(tmp_path: Path) -> None:
    calls = (
        ["coref-train", "a", "--dev", "b", "--model", "c", "-o", "d"],
        ["fine-tune", "bert", "--head", "nli", "--train", "a", "--dev", "b", "-o", "c"],
        [
            *("coref-study", "a", "--dev", "b", "--test", "c", "--winobias", "d"),
            *("--model", "e", "-o", "f"),
        ],
        ["sweep", "bert", "--stereoset", "a", "--nli", "b", "--snli", "c", "-o", "d.csv"],
    )
    for arguments in calls:
        code = WITHOUT.format(packages=EXTRAS)
        code += f"from wordbias.cli import run; sys.exit(run({arguments!r}))"
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False
        )
        assert (done.returncode, done.stdout) == (1, ""), done.stderr
        assert 'install it with: pip install "wordbias[contextual]"' in done.stderr
        assert [*tmp_path.iterdir()] == []


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'wordbias' has no attribute 'nothing'"):
        wordbias.nothing  # noqa: B018


def test_a_package_that_is_there_is_imported() -> None:
    assert need("json.decoder", extra="x", purpose="X").__name__ == "json.decoder"


def test_a_missing_package_names_what_needs_it_and_the_line_that_installs_it() -> None:
    with pytest.raises(WordbiasError) as caught:
        need("no_such_package.part", extra="torch", purpose="Training")
    assert str(caught.value) == (
        'Training needs no_such_package; install it with: pip install "wordbias[torch]" '
        '(in a checkout: pip install ".[torch]")'
    )


def test_a_package_that_lacks_a_package_of_its_own_is_not_called_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(name: str) -> Any:
        raise ModuleNotFoundError("No module named 'inner'", name="inner")

    monkeypatch.setattr(importlib, "import_module", broken)
    with pytest.raises(ModuleNotFoundError, match="inner"):
        need("gensim.models", extra="gensim", purpose="Reading")


def test_every_command_of_the_help_exists_and_has_its_short_help(
    process: Callable[..., Any],
) -> None:
    done = process("--help")
    assert done.code == 0
    for title, commands in SECTIONS.items():
        assert f"{title}:" in done.out
        for name, short in commands.items():
            flat = re.sub(r"\s+", " ", done.out)
            assert f"{name} {short}" in flat
            module = importlib.import_module(f"wordbias.commands.{name.replace('-', '_')}")
            assert module.command.help
