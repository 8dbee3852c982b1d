"""A call of a public function: its arguments, and how its messages name them.

Every command of the command line is a public function of the same name. A message names an
argument as the command line spells it, ``--only``; to a caller in Python, `public` spells it
``only=`` on the message's way out, so that each message is written once.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import wraps
from typing import ParamSpec, TypeVar, cast

from wordbias.arguments import accepted
from wordbias.errors import WordbiasError

P = ParamSpec("P")
R = TypeVar("R")

Note = Callable[[str], None]

_MAY_BE_EMPTY = ("mask", "mirror")
"""An empty mask deletes words; an empty mirror overrules that of the environment."""
_LISTS = ("Sequence[str]", "Sequence[Any]")
"""The annotations of lists that may also be one text with commas."""
_OPTION = re.compile(
    r"wordbias [a-z][^;,)]*|(?<![\w-])(?:--(?=[a-z])|-(?=o\b))(?P<option>[a-z][a-z-]*)"
    r"(?: (?P<value>[A-Z][A-Z|,=]+\b)|(?:=| (?=\S+:\w))(?P<text>[\w,.:/|-]*\w)"
    r"| (?P<same>(?P=option)\b)| (?='))?"
)
"""An option, perhaps with the value it takes or has; or a whole command, whose options stay."""
_MANY = 1_000
_SPELLED = {"o": "output", "from": "source"}
"""Arguments that have another name than their option."""
_ELSEWHERE = {
    "n_jobs": "jobs",
    "query": "stimuli",
    "random_state": "seed",
    "sensitive_features": "group",
    "stimuli": "query",
    "topn": "k",
    "y_pred": "predicted",
    "y_true": "predictions",
}
"""Names of an argument in other libraries, or in another function."""
_FETCH = re.compile(r"\bwordbias fetch (?!without\b)([a-z][\w.-]*(?: [a-z][\w.-]*)*)(?=[,;)]|$)")
_UNSET = {"accuracy": "mdl"}
"""Options that set an argument to false, besides those that begin with ``--no-``."""


class Readable(str):
    """An annotation that ``help`` shows without quotation marks."""

    def __repr__(self) -> str:
        return str(self)


class WordbiasWarning(UserWarning):
    """A warning to a caller in Python about something that no report can say yet."""


@dataclass(frozen=True)
class Typed:
    """Arguments typed on the command line.

    Attributes
    ----------
    given
        Names of the arguments that were typed, rather than left at their defaults.
    spelled
        Name of each argument on the command line.
    note
        Function that shows one line at the terminal.
    format
        The ``--format`` of a command that writes a page.
    """

    given: frozenset[str]
    spelled: Mapping[str, str]
    note: Note
    format: str | None = None


@dataclass(frozen=True)
class Call:
    """One call of a public function.

    Attributes
    ----------
    command
        Name of the command: ``mab-eval``.
    arguments
        Arguments by name, in the form that a result stores.
    given
        Names of the arguments that were given.
    note
        Function that shows one line; None for calls from Python, which get a warning.
    flags
        Names of the arguments that are true or false.
    format
        Format of the page to write, if the command line gives one.
    """

    command: str = ""
    arguments: Mapping[str, object] = field(default_factory=dict)
    given: frozenset[str] = frozenset()
    note: Note | None = None
    flags: frozenset[str] = frozenset()
    format: str | None = None

    def spelled(self, text: str) -> str:
        """Return a message that names arguments as the caller does."""
        in_shell = not self.command or self.note is not None
        return text if in_shell else in_python(text, self.flags)


_NO_CALL = Call()
_call: ContextVar[Call] = ContextVar("call", default=_NO_CALL)
_typed: ContextVar[Typed | None] = ContextVar("typed", default=None)


def current() -> Call:
    """Return the public call that is running, the innermost one."""
    return _call.get()


def is_given(name: str) -> bool:
    """Say whether the caller gave an argument: typed it, or in Python changed its default."""
    return name in _call.get().given


def note(text: str, *, reported: bool = False) -> None:
    """Show the caller a note before the report: a line on stderr, or in Python a warning.

    Parameters
    ----------
    reported
        The report will contain it too: in Python no warning is needed.
    """
    call = _call.get()
    if call.note is not None:
        call.note(text)
    elif call.command and not reported:
        warnings.warn(call.spelled(text), WordbiasWarning, stacklevel=_outside())


def _outside() -> int:
    """Return the stack level of the code that called wordbias, counted from `note`."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("wordbias."):
        frame, level = frame.f_back, level + 1
    return level


@contextmanager
def typed(
    given: frozenset[str], spelled: Mapping[str, str], note: Note, format: str | None = None
) -> Iterator[None]:
    """Pass the typed arguments of the command line to the next public call."""
    token = _typed.set(Typed(given, spelled, note, format))
    try:
        yield
    finally:
        _typed.reset(token)


@contextmanager
def python_messages(*flags: str) -> Iterator[None]:
    """Spell the options in an error as Python's, for methods of the objects that functions return.

    Parameters
    ----------
    flags
        Arguments of the method that are true or false.
    """
    try:
        yield
    except WordbiasError as error:
        if _call.get().note is None:
            error.args = (in_python(str(error), flags),)
        raise


def public(function: Callable[P, R]) -> Callable[P, R]:
    """Make a function public, as a command is: its report stores how it was called.

    Parameters
    ----------
    function
        A function that returns a `wordbias.results.Report`, or an object with one as its `report`.

    Raises
    ------
    WordbiasError
        On a call, if an argument is an empty text, as from an unset variable of a script; and the
        errors of the function, with arguments spelled as Python's.
    """
    signature = inspect.signature(function)
    defaults = {
        name: () if one.kind is one.VAR_POSITIONAL else one.default
        for name, one in signature.parameters.items()
    }
    annotations = {name: str(one.annotation) for name, one in signature.parameters.items()}

    def take(name: str, value: object, called: str) -> object:
        one = signature.parameters[name]
        several = one.kind is one.VAR_POSITIONAL
        found = [
            accepted(name, annotations[name], each, function.__globals__, called)
            for each in (cast("Sequence[object]", value) if several else [value])
        ]
        return tuple(found) if several else found[0]

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(_misfit(function.__name__, signature, kwargs, error)) from None
        bound.apply_defaults()
        for name in [
            n for n, kind in annotations.items() if kind.removesuffix(" | None") in _LISTS
        ]:
            bound.arguments[name] = _split(bound.arguments[name])
        found = bound.arguments
        line, outer = _typed.get(), _call.get()
        changed = frozenset(n for n, value in found.items() if not _same(value, defaults[n]))
        spelled = {} if line is None else line.spelled
        _refuse_empty(found, changed, spelled)
        for name in changed:
            found[name] = take(name, found[name], spelled.get(name, ""))
        token = _call.set(
            Call(
                function.__name__.replace("_", "-"),
                {name: plain(value) for name, value in found.items()},
                changed if line is None else line.given,
                outer.note if line is None else line.note,
                frozenset(name for name, value in defaults.items() if isinstance(value, bool)),
                None if line is None else line.format,
            )
        )
        nested = _typed.set(None)
        try:
            return function(*bound.args, **bound.kwargs)
        except WordbiasError as error:
            error.args = (_call.get().spelled(str(error)),)
            raise
        except OSError as error:
            if error.filename is None:
                raise
            raise WordbiasError(f"{error.filename}: {error.strerror}") from error
        finally:
            _typed.reset(nested)
            _call.reset(token)

    vars(call)["__signature__"] = _readable(signature)
    return call


def _readable(signature: inspect.Signature) -> inspect.Signature:
    parameters = [
        one.replace(annotation=Readable(one.annotation)) for one in signature.parameters.values()
    ]
    return signature.replace(
        parameters=parameters, return_annotation=Readable(signature.return_annotation)
    )


def _misfit(
    name: str, signature: inspect.Signature, given: Collection[str], error: TypeError
) -> str:
    """Return the message on arguments that do not fit: the known ones, and a likely one."""
    known = signature.parameters
    shown = {
        kind: ", ".join(one.name for one in known.values() if one.kind is kind)
        for kind in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    }
    first, others = shown.values()
    takes = "; ".join(filter(None, [first, others and f"by name: {others}"]))
    for wrong in given:
        near = [_ELSEWHERE.get(wrong, ""), *get_close_matches(wrong, known, 1)]
        if wrong not in known and (meant := next((one for one in near if one in known), "")):
            return f"{name}(): {error}; did you mean {meant}=? It takes {takes}"
    return f"{name}(): {error}; it takes {takes}"


def _split(value: object) -> object:
    """Return ``"a,b"`` as a list, as it may be typed."""
    if not isinstance(value, str):
        return value
    return [part.strip() for part in value.split(",") if part.strip()]


def _refuse_empty(
    found: Mapping[str, object], changed: frozenset[str], spelled: Mapping[str, str]
) -> None:
    for name in sorted(changed, key=list(found).index):
        value = found[name]
        # in Python a list may be texts, of which some are empty
        values = value if spelled and isinstance(value, (tuple, list)) else (value,)
        if name not in _MAY_BE_EMPTY and any(isinstance(one, str) and not one for one in values):
            raise WordbiasError(
                f"{spelled.get(name, f'{name}=')}: is empty; give a value, or leave it out"
            )


def _same(value: object, default: object) -> bool:
    if value is default:
        return True
    alike = isinstance(value, bool) == isinstance(default, bool)
    plain_types = (str, int, float, tuple, list, dict)
    return alike and type(value) in plain_types and bool(value == default)


def plain(value: object) -> object:
    """Return an argument as a result stores it: numbers, texts and lists; for objects their repr.

    For a list of many values, such as texts, its length.
    """
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        if len(value) > _MANY:
            return f"a {type(value).__name__} of {len(value):,}"
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    if isinstance(value, Sequence) and type(value).__module__ == "builtins":
        if len(value) > _MANY:
            return f"a {type(value).__name__} of {len(value):,}"
        return [plain(one) for one in value]
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        return f"{type(value).__name__} of shape {shape}"
    text = repr(value)
    return text if len(text) <= 200 and "\n" not in text else f"a {type(value).__name__}"


def path_of(source: object) -> str | None:
    """Return an argument's path or name; None if it is an object."""
    return os.fspath(source) if isinstance(source, (str, os.PathLike)) else None


def in_python(text: str, flags: Collection[str] = ()) -> str:
    """Spell the options of a message as Python's arguments: ``--only`` as ``only=``.

    Parameters
    ----------
    flags
        The arguments that are true or false: ``--holm`` becomes ``holm=True``. ``--skip=gipe``
        becomes ``skip="gipe"``, ``--groups age:a,b`` ``groups="age:a,b"``, and ``wordbias fetch
        men`` ``wb.fetch("men")``. Other commands to type in a shell, ``wordbias nli-train``, do not
        change.
    """

    def spelled(found: re.Match[str]) -> str:
        option, value = found["option"], found["value"]
        if option is None:
            return found[0]
        name = option.lower().replace("-", "_")
        if name.startswith("no_") or name in _UNSET:
            return f"{_UNSET.get(name, name[3:])}=False"
        name = _SPELLED.get(name, name)
        if text := found["text"] or found["same"]:
            return f'{name}="{text}"'
        return f"{name}=True" if name in flags else f"{name}={value or ''}"

    return _OPTION.sub(spelled, _FETCH.sub(_fetched, text))


def _fetched(found: re.Match[str]) -> str:
    return f"wb.fetch({', '.join(map(repr, found[1].split()))})".replace("'", '"')
