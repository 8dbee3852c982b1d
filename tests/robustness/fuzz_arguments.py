"""Calls of one public function with one odd argument each; runs in a process of its own.

The valid arguments are those of the small calls in `tests/test_public_names.py`. A parameter is
replaced by each odd value, and how the call ended is written down.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import re
import sys
import types
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from fuzz_guard import Hang, bounded

SECONDS = 0.5
"""A call that has not ended by then and need not be refused is at work, and is stopped."""
HANG = 120
"""Seconds that a refusal may take on any machine."""
ROOM = 3 << 30
LONGEST = 2_000
"""Characters of a message."""


OF_THE_CALLER = "the generator of the caller failed"


class Odd:
    """What no argument can be."""

    def __repr__(self) -> str:
        return "an odd one"


def _loop() -> list[Any]:
    loop: list[Any] = ["she"]
    loop.append(loop)
    return loop


def _ring() -> dict[str, Any]:
    ring: dict[str, Any] = {}
    ring["she"] = ring
    return ring


def _raising() -> Iterator[str]:
    yield "she"
    raise RuntimeError(OF_THE_CALLER)


def _folder() -> Path:
    Path("folder").mkdir(exist_ok=True)
    return Path("folder")


def _frame() -> Any:
    import pandas

    return pandas.DataFrame({"odd": [1.5, np.nan]})


def _series() -> Any:
    import pandas

    return pandas.Series([1.5, np.nan])


def _tensor() -> Any:
    import torch

    return torch.full((2, 2), float("nan"))


REFUSED, EITHER = "refused", "either"
VALUES: dict[str, tuple[Callable[[], Any], str]] = {
    # of no type that any parameter has
    "object": (Odd, REFUSED),
    "ellipsis": (lambda: ..., REFUSED),
    "complex": (lambda: 1j, REFUSED),
    "bytes": (lambda: b"she", REFUSED),
    "decimal": (lambda: Decimal("0.5"), REFUSED),
    "module": (lambda: types, REFUSED),
    "array of no dimension": (lambda: np.array(3.0), REFUSED),
    "masked array": (lambda: np.ma.masked_array(np.eye(3), np.eye(3, dtype=bool)), REFUSED),
    "structured array": (lambda: np.zeros(3, [("she", "f4"), ("he", "i4")]), REFUSED),
    "array of four dimensions": (lambda: np.full((2, 2, 2, 2), np.nan), REFUSED),
    "array of complex": (lambda: np.full((2, 2), 1j), REFUSED),
    "list that holds itself": (_loop, REFUSED),
    "mapping that holds itself": (_ring, REFUSED),
    "empty mapping": (dict, REFUSED),
    "list of objects": (lambda: [Odd()], REFUSED),
    "mapping of objects": (lambda: {"she": Odd()}, REFUSED),
    # numbers out of every range
    "nan": (lambda: float("nan"), REFUSED),
    "infinite": (lambda: float("inf"), REFUSED),
    "nan of numpy": (lambda: np.float32("nan"), REFUSED),
    "a half below zero": (lambda: -0.5, REFUSED),
    "beyond 64 bits": (lambda: 2**70, REFUSED),
    # texts that are no file and no name
    "null character": (lambda: "a\0b", REFUSED),
    # what some parameters take
    "None": (lambda: None, EITHER),
    "False": (lambda: False, EITHER),
    "True": (lambda: True, EITHER),
    "zero": (lambda: 0, EITHER),
    "minus one": (lambda: -1, EITHER),
    "one of numpy": (lambda: np.int64(1), EITHER),
    "a half": (lambda: 0.5, EITHER),
    "fraction": (lambda: Fraction(1, 3), EITHER),
    "empty text": (lambda: "", EITHER),
    "blank": (lambda: " ", EITHER),
    "unknown name": (lambda: "zq1z", EITHER),
    "lone surrogate": (lambda: "\udc80", EITHER),
    "two lines": (lambda: "zq1z\nzq2z", EITHER),
    "long text": (lambda: "z" * 100_000, EITHER),
    "folder": (_folder, EITHER),
    "no such file": (lambda: Path("no") / "such.txt", EITHER),
    "empty list": (list, EITHER),
    "list of an empty text": (lambda: [""], EITHER),
    "list of None": (lambda: [None], EITHER),
    "list of nan": (lambda: [float("nan")], EITHER),
    "one unknown name twice": (lambda: ["zq1z", "zq1z"], EITHER),
    "empty set": (set, EITHER),
    "mapping to None": (lambda: {"zq1z": None}, EITHER),
    "empty array": (lambda: np.zeros((0, 0)), EITHER),
    "array of nan": (lambda: np.full((3, 3), np.nan), EITHER),
    "array of objects": (lambda: np.array([None, "she"], dtype=object), EITHER),
    "array of no time": (lambda: np.array(["NaT"], "datetime64[s]"), EITHER),
    "frame": (_frame, EITHER),
    "series": (_series, EITHER),
    "tensor": (_tensor, EITHER),
    "failing generator": (_raising, EITHER),
    "type": (lambda: int, EITHER),
}
"""Odd values by name, and what each must give: every parameter refuses it, or some may take it."""
TAKEN = {
    ("random_state", "beyond 64 bits"),  # as scikit-learn takes it
    ("words", "null character"),  # a text is a list of words
}
"""Parameters and values that are taken although others refuse the value."""


def run(
    name: str, store: str, folder: str, answer: str, known: Sequence[tuple[str, str]] = ()
) -> None:
    """Call a function with every odd argument; write how each call ended as lines of JSON.

    Calls of a known fault have all the time to show it again.
    """
    import os

    import stand_ins
    import test_public_names as small

    import wordbias as wb
    from wordbias import devices, progress

    devices.set_threads(1)
    progress.set_quiet(True)
    os.chdir(folder)
    if constants := sys.modules.get("huggingface_hub.constants"):
        vars(constants)["HF_HUB_OFFLINE"] = True  # but for `push`, which has a hub here
    original = getattr(wb, name)
    with Path(answer).open("w", encoding="utf-8") as file:

        def tell(parameter: str, value: str, ended: str) -> None:
            file.write(json.dumps([parameter, value, ended]) + "\n")
            file.flush()

        def every(call: Callable[..., Any], given: inspect.BoundArguments) -> None:
            given.apply_defaults()
            for key, parameter in given.signature.parameters.items():
                for value in VALUES:
                    tell(key, value, "")  # known where the process ends in it
                    seconds = HANG if (key, value) in known else SECONDS
                    tell(key, value, attempt(call, given, parameter, value, seconds))

        class Recorder:
            """A class whose object is made, and fitted, with odd arguments."""

            def __init__(self, *args: Any, **kwargs: Any) -> None:
                self.bound = inspect.signature(original).bind(*args, **kwargs)

            def fit(self, *rows: Any) -> Any:
                make_fitted = lambda *args, **kwargs: original(*args, **kwargs).fit(*rows)  # noqa: E731
                every(make_fitted, self.bound)
                raise Done

        def recorder(*args: Any, **kwargs: Any) -> Any:
            every(original, inspect.signature(original).bind(*args, **kwargs))
            raise Done

        vars(wb)[name] = Recorder if hasattr(original, "fit") else recorder
        with contextlib.suppress(Done):
            small.CALLS[name](stand_ins.placed(Path(store), Path(folder)))
        tell("", "", "complete")


class Done(Exception):
    """All calls have been made."""


def attempt(
    call: Callable[..., Any],
    given: inspect.BoundArguments,
    parameter: inspect.Parameter,
    value: str,
    seconds: float,
) -> str:
    """Make one call; return "refused", "taken", or what is wrong with how it ended."""
    make, expected = VALUES[value]
    odd = make()
    several = parameter.kind is parameter.VAR_POSITIONAL
    arguments = {**given.arguments, parameter.name: (odd,) if several else odd}
    bound = inspect.BoundArguments(given.signature, arguments)  # type: ignore[arg-type]
    before, files, known = state(arguments), listing(), folders()
    if (parameter.name, value) in TAKEN:
        expected = EITHER
    seconds = HANG if expected == REFUSED else seconds
    printed = io.StringIO()
    with (
        warnings.catch_warnings(record=True) as warned,
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
    ):
        warnings.simplefilter("always")
        ended = ending(call, bound, seconds, odd)
    left = {path for path, facts in listing().items() if files.get(path) != facts}
    for path in left - files.keys():
        path.unlink()
    for folder in sorted(folders() - known, reverse=True):
        folder.rmdir()
    fine = ended in ("refused", "taken")
    if fine and (
        messages := [str(warning.message) for warning in warned if is_odd(warning.category)]
    ):
        return f"warns: {messages[0]}"
    stopped = "fuzz_guard.Hang" in printed.getvalue()  # where Python ignores what is raised
    if fine and "Traceback" in printed.getvalue() and not stopped:
        return f"prints a traceback: {printed.getvalue()[-300:]}"
    if fine and state(arguments) != before:
        return "changes an argument"
    changed = left & files.keys() or (left if ended == "refused" else set())
    if fine and (changed or any(path.match(".*.part") for path in left)):
        return f"{ended}, and leaves {sorted(map(str, left))}"
    return f"taken: {expected}" if ended == "taken" and expected == REFUSED else ended


def ending(
    call: Callable[..., Any], bound: inspect.BoundArguments, seconds: float, odd: object
) -> str:
    """Make a call; return "refused", "taken", or what else happened."""
    try:
        with bounded(seconds, ROOM):
            call(*bound.args, **bound.kwargs)
    except Hang:
        return "hangs" if seconds == HANG else "taken"
    except (ValueError, TypeError) as error:
        return refusal(error, bound.signature.parameters, odd)
    except BaseException as error:
        is_ours = isinstance(error, RuntimeError) and OF_THE_CALLER in str(error)
        return "refused" if is_ours else f"raises {type(error).__name__}: {error}"
    return "taken"


def refusal(error: Exception, parameters: Iterable[str], odd: object) -> str:
    """Return "refused", or what is wrong with a message.

    It names the argument, or one that contradicts it, or the text that was given, or says what is
    expected in its place.
    """
    from wordbias.errors import WordbiasError

    text = str(error)
    if not isinstance(error, (WordbiasError, TypeError)):
        return f"raises {type(error).__name__}: {text}"
    if not text or "\n" in text:
        return f"says {len(text.splitlines())} lines: {text}"
    if len(text) > LONGEST:
        return f"says {len(text):,} characters: {text}"
    names = "|".join(parameter.removesuffix("s").replace("_", "[_ -]") for parameter in parameters)
    named = re.search(rf"(?<!\w)({names})(e?s)?(?!\w)|(?<!\w)expected ", text)
    is_shown = any(form in text for form in texts_in(odd))
    return "refused" if named or is_shown else f"does not name it: {text}"


def texts_in(odd: object) -> list[str]:
    """Return how a message may show the texts and numbers of an argument, or their beginnings."""
    values = odd if isinstance(odd, list) else [odd]
    texts = [str(part) for part in values if isinstance(part, (str, Path, Integral))]
    return [repr(form)[1:-1][:50] for text in texts for form in (text, " ".join(text.split("\n")))]


def is_odd(category: type[Warning]) -> bool:
    """Say whether a warning is one of Python or numpy."""
    from wordbias.calls import WordbiasWarning

    return not issubclass(category, WordbiasWarning)


def state(value: Any, depth: int = 5) -> Any:
    """Return what a value holds, to see whether a call changed it."""
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, value.tobytes() if value.dtype != object else 0
    if depth and isinstance(value, dict):
        return [(state(key, depth - 1), state(part, depth - 1)) for key, part in value.items()]
    if depth and isinstance(value, (list, tuple)):
        return [state(part, depth - 1) for part in value]
    if type(value).__name__ == "Embedding":
        return repr(value), state(value.vectors)
    return type(value).__name__ if hasattr(value, "__next__") else repr(value)


def listing() -> dict[Path, tuple[int, int]]:
    """Return the files below this folder, with their size and time."""
    files = ((path, path.lstat()) for path in Path().rglob("*") if not path.is_dir())
    return {path: (facts.st_size, facts.st_mtime_ns) for path, facts in files}


def folders() -> set[Path]:
    return {path for path in Path().rglob("*") if path.is_dir()}
