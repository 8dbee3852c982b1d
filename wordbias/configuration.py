"""How to read and compute: settings of all calls, or of the calls inside a block.

A function says what it measures by its parameters, and reads from here how. The settings of a block
are those of the thread that opened it and of its tasks; a thread without a block of its own has
those of the main thread. Worker processes and clusters get those of their caller.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from typing import Any, Literal, TypeVar, get_args

from wordbias.arguments import AUTO, accepted, refuse_odd
from wordbias.devices import restore_threads, set_threads
from wordbias.errors import UsageError, WordbiasError, without_secrets
from wordbias.progress import is_quiet, set_quiet
from wordbias.text_files import LONGEST, parse_size, set_longest_line
from wordbias.text_files import longest_line as longest_line_now

F = TypeVar("F", bound=Callable[..., Any])
Backend = Literal["loky", "dask", "ray"]
BACKENDS: tuple[str, ...] = get_args(Backend)
Precision = Literal["float32", "bfloat16", "float16"]
PRECISIONS: tuple[str, ...] = get_args(Precision)

READS_VECTORS = ("skip_bad", "cache", "allow_pickle")
"""Settings of functions that read vectors."""
ASKS_ENCODERS = ("endpoint", "key_variable", "batch_texts")
"""Settings of functions that take an encoder whose output alone is needed."""
STARTS_PROCESSES = ("jobs", "backend")
"""Settings of functions that start processes."""
EVERYWHERE = ("threads", "longest_line", "progress")
"""Settings that every function uses, and that hold for the whole process."""


@dataclass(frozen=True)
class Config:
    """How to read and compute; see `config` for what each is."""

    skip_bad: bool = False
    cache: bool = True
    allow_pickle: bool = False
    device: str | None = None
    jobs: int | None = None
    backend: str = "loky"
    precision: str | None = None
    endpoint: str | None = None
    key_variable: str = "OPENAI_API_KEY"
    batch_texts: int = 32
    threads: int | None = None
    longest_line: int = LONGEST
    progress: bool = True

    def changed(self) -> dict[str, Any]:
        """Return those that differ from the defaults, as a report records them."""
        return {
            name: without_secrets(setting) if isinstance(setting, str) else setting
            for name, setting in asdict(self).items()
            if name != "progress" and setting != getattr(DEFAULTS, name)
        }


DEFAULTS = Config()
_everywhere = DEFAULTS
"""Settings of this process outside of blocks."""
_open: list[tuple[object, dict[str, Any]]] = []
"""Blocks that the main thread has open, which other threads see."""
_here: ContextVar[Config | None] = ContextVar("settings", default=None)
_waiting = threading.local()
"""The settings with allow_pickle that no block has opened yet, as `one`."""


def current_config() -> Config:
    """Return the settings that hold here."""
    if getattr(_waiting, "one", None) is not None:
        _waiting.one = None
        raise WordbiasError(
            "config(allow_pickle=True): is for a block, as a pickle can run any code; write: "
            "with wb.config(allow_pickle=True):"
        )
    here = _here.get()
    if here is not None:
        return here
    settings = _everywhere
    if threading.current_thread() is not threading.main_thread():
        for _, given in tuple(_open):
            settings = replace(settings, **given)
    return settings


def config(
    *,
    skip_bad: bool | None = None,
    cache: bool | None = None,
    allow_pickle: bool | None = None,
    device: str | None = None,
    jobs: int | None = None,
    backend: Backend | None = None,
    precision: Precision | None = None,
    endpoint: str | None = None,
    key_variable: str | None = None,
    batch_texts: int | None = None,
    threads: int | None = None,
    longest_line: str | int | None = None,
    progress: bool | None = None,
) -> Configured:
    """Set how all later calls read and compute; after ``with``, the calls inside the block.

    What is left out does not change. On the command line these are options of every command that
    can use them. A report records what differs from the defaults. A thread that starts inside a
    block sees the settings of the main thread; worker processes get those of their caller.

    Parameters
    ----------
    skip_bad : bool, optional
        Drop and count rows that cannot be used, instead of refusing the file.
    cache : bool, optional
        Cache parsed text of vectors, which later calls memory-map, and the answers of ``endpoint``
        and of functions with a name, which are not asked again.  [default: True]
    allow_pickle : bool, optional
        Open gensim .kv files, which are pickles and can run any code. Only for a block, or for one
        call of the command line.
    device : str, optional
        Where torch computes: auto, cpu, cuda, cuda:1 or mps.  [default: auto, the first available
        of cuda, mps, cpu]
    jobs : int, optional
        Number of processes; for nli-train and mab-study of models trained at once on a CPU.
        [default: 1; audit: the number of cores; models: the threads; on a cluster all workers]
    backend : {"loky", "dask", "ray"}, optional
        Where processes run: here (loky), or on the cluster of DASK_SCHEDULER_ADDRESS or
        RAY_ADDRESS.  [default: loky]
    precision : {"float32", "bfloat16", "float16"}, optional
        Precision of matrix products.  [default: float32; likelihood: that of the weights]
    endpoint : str, optional
        Address of a server with OpenAI's /embeddings, such as https://api.openai.com/v1. A model's
        name is then that of one there.
    key_variable : str, optional
        Environment variable with the key of ``endpoint``. The key itself is never printed or
        stored.  [default: OPENAI_API_KEY]
    batch_texts : int, optional
        Texts of one request to ``endpoint``, or of one call of a function that encodes.  [default:
        32]
    threads : int, optional
        Number of threads, also of torch and BLAS, and in the environment (OMP_NUM_THREADS and its
        like) for processes that are started later.  [default: what the machine allows]
    longest_line : str or int, optional
        Longest line of a table, a text or JSON lines, in bytes or as 500MB.  [default: 64MB]
    progress : bool, optional
        Show progress bars on a terminal and in a notebook.  [default: True]

    Returns
    -------
    Configured
        For ``with``; its `settings` are those that hold now.

    Raises
    ------
    WordbiasError
        If a value cannot be used. allow_pickle without a block is refused at the next call.

    Examples
    --------
    >>> import wordbias as wb
    >>> with wb.config(jobs=2, device="cpu"):
    ...     report = wb.measure(only=["midb"])
    >>> report.config
    {'device': 'cpu', 'jobs': 2}
    >>> wb.config().settings.jobs is None
    True
    """
    given = {name: setting for name, setting in locals().items() if setting is not None}
    return Configured(_checked(given))


def _checked(given: dict[str, Any]) -> dict[str, Any]:
    """Check values by the annotations of `config`; return them as stored."""
    annotations, namespace = config.__annotations__, globals()
    for name, value in given.items():
        refuse_odd(f"{name}=", value)
        if isinstance(value, str) and not value:
            raise WordbiasError(f"{name}=: is empty; give a value, or leave it out")
    settings = {
        name: accepted(name, annotations[name], setting, namespace)
        for name, setting in given.items()
        if not (name == "device" and isinstance(setting, str) and setting == AUTO)
    }
    if "device" in given:
        settings.setdefault("device", None)
    if isinstance(settings.get("longest_line"), str):
        settings["longest_line"] = parse_size(settings["longest_line"])
    return settings


class Configured:
    """Settings in force; as a context manager they hold inside its block only."""

    def __init__(self, given: dict[str, Any]) -> None:
        """Put values into force, but for allow_pickle, which waits for the block."""
        self._given = given
        self._token: Token[Config | None] | None = None
        self._before = current_config()
        self._inside = _here.get() is not None
        self._outside = _everywhere
        self._process = _in_process(given)
        self._set({name: setting for name, setting in given.items() if name != "allow_pickle"})
        if given.get("allow_pickle"):
            _waiting.one = self

    @property
    def settings(self) -> Config:
        """Return the settings that hold now."""
        return current_config()

    def __repr__(self) -> str:
        """Show the settings that differ from the defaults."""
        changed = ", ".join(
            f"{name}={setting!r}" for name, setting in current_config().changed().items()
        )
        return f"<config {changed or 'as by default'}>"

    def __enter__(self) -> Configured:
        """Let the values hold inside the block only."""
        if self._token is not None:
            raise UsageError("config: this block is open already; write wb.config(...) again")
        if getattr(_waiting, "one", None) is self:
            _waiting.one = None
        around = self._before if self._inside else self._outside
        self._set({name: getattr(around, name) for name in self._given})
        self._token = _here.set(replace(self._before, **self._given))
        if threading.current_thread() is threading.main_thread():
            _open.append((self, self._given))
        return self

    def __exit__(self, *error: object) -> None:
        """Put back what held before the block."""
        _open[:] = [opened for opened in _open if opened[0] is not self]
        if self._token is not None:
            _here.reset(self._token)
            self._token = None
        for undo in self._process:
            undo()

    def _set(self, values: dict[str, Any]) -> None:
        """Put values into force in the block around, or everywhere if there is none."""
        global _everywhere
        if self._inside:
            _here.set(replace(current_config(), **values))
        else:
            _everywhere = replace(_everywhere, **values)


def _in_process(given: dict[str, Any]) -> list[Callable[[], None]]:
    """Carry out the settings of the whole process; return what undoes each."""
    undos: list[Callable[[], None]] = []
    if "threads" in given:
        undos.append(partial(restore_threads, set_threads(given["threads"])))
    if "longest_line" in given:
        undos.append(partial(set_longest_line, longest_line_now()))
        set_longest_line(given["longest_line"])
    if "progress" in given:
        undos.append(partial(set_quiet, is_quiet()))
        set_quiet(not given["progress"])
    return undos


@contextmanager
def in_worker(given: Config) -> Iterator[None]:
    """Use the settings of a caller in another process: one job here, and no progress."""
    token = _here.set(replace(given, jobs=None, backend=DEFAULTS.backend, progress=False))
    set_longest_line(given.longest_line)
    set_quiet(True)
    try:
        yield
    finally:
        _here.reset(token)


def uses(*names: str) -> Callable[[F], F]:
    """Declare the settings that a public function uses in addition to those of every function."""
    unknown = {*names} - {setting.name for setting in fields(Config)}
    if unknown:
        raise TypeError(f"no such settings: {sorted(unknown)}")

    def marked(function: F) -> F:
        vars(function)["uses"] = names
        about = f"config : how it reads and computes, by {', '.join(names)}"
        text = inspect.cleandoc(function.__doc__ or "")  # Python 3.13 has done so, 3.12 has not
        function.__doc__ = f"{text}\n\nSee Also\n--------\n{about}\n"
        return function

    return marked
