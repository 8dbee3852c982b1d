"""The command line as a process that is forked from one that has imported the large libraries.

A new interpreter spends seconds on importing torch and transformers. A forked process has them,
and nothing of wordbias. Tests of what a new interpreter does (imports, warnings, signals, the hash
seed) start one.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

LIBRARIES = (
    "numpy",
    "scipy.stats",
    "sklearn.linear_model",
    "torch",
    "torch.utils.data",
    "transformers.modeling_utils",
    "transformers.models.auto.modeling_auto",
    "transformers.models.auto.tokenization_auto",
    "transformers.models.bert.modeling_bert",
    "safetensors.torch",
)
"""Modules that the first process imports; those that are not installed are left out."""

_METHODS = multiprocessing.get_all_start_methods()
_forks: Any = multiprocessing.get_context("forkserver" if "forkserver" in _METHODS else "spawn")
_forks.set_forkserver_preload(list(LIBRARIES))


class Forked:
    """A command line that runs in a process of its own, from the moment when it is made."""

    def __init__(self, *arguments: object, before: str = "") -> None:
        """Start it; ``before`` is run ahead of it in the same process."""
        self._folder = tempfile.TemporaryDirectory()
        self._said = [Path(self._folder.name, name) for name in ("out", "err")]
        given = [str(argument) for argument in arguments]
        self.process: BaseProcess = _forks.Process(
            target=_call, args=(given, before, os.getcwd(), dict(os.environ), self._said)
        )
        self.process.start()

    def ended(self) -> tuple[int, str, str]:
        """Wait; return its exit code, what it printed, and its errors."""
        self.process.join()
        out, err = (
            path.read_text(encoding="utf-8") if path.exists() else "" for path in self._said
        )
        self._folder.cleanup()
        assert self.process.exitcode is not None
        return self.process.exitcode, out, err


def fork(target: Callable[..., object], *arguments: object, **environment: str) -> BaseProcess:
    """Start a function in a process of its own, with more variables in its environment."""
    changed = {**os.environ, **environment}
    process: BaseProcess = _forks.Process(target=_within, args=(changed, target, arguments))
    process.start()
    return process


def _within(
    environment: dict[str, str], target: Callable[..., object], arguments: tuple[object, ...]
) -> None:
    os.environ.clear()
    os.environ.update(environment)
    target(*arguments)


def _call(
    given: list[str], before: str, folder: str, environment: dict[str, str], said: list[Path]
) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    for stream, path in zip((sys.stdout, sys.stderr), said, strict=True):
        with path.open("wb") as file:
            os.dup2(file.fileno(), stream.fileno())
    assert "wordbias.cli" not in sys.modules
    sys.argv = ["wordbias", *given]
    exec(before)
    from wordbias.__main__ import main
    from wordbias.devices import set_threads

    set_threads(1)
    main()
