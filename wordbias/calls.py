"""Calls of public functions: their arguments, and the spelling of options in messages.

Messages spell options as the command line does, ``--only``; for a caller in Python `public` changes
that to ``only=``.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from functools import wraps
from typing import Any, NoReturn, ParamSpec, TypeVar, cast

from wordbias.arguments import accepted, comma_separated, refuse_odd
from wordbias.configuration import Config, current_config
from wordbias.errors import UsageError, WordbiasError, without_secrets

P = ParamSpec("P")
R = TypeVar("R")

Note = Callable[[str], None]

_MAY_BE_EMPTY = ("mask", "mirror")
"""Arguments that may be empty: an empty mask removes words, an empty mirror means none."""
_LISTS = ("Sequence[str]", "Sequence[Any]")
"""Annotations of lists that may also be given as one text with commas."""
_OPTION = re.compile(
    r"wordbias [a-z][^;,)]*|(?<![\w-])(?:--(?=[a-z])|-(?=o\b))(?P<option>[a-z][a-z-]*)"
    r"(?: (?P<value>[A-Z][A-Z|,=]+\b|\d+\b)|(?:=| (?=\S+:\w))(?P<text>[\w,.:/|-]*\w)"
    r"| (?P<same>(?P=option)\b)| (?='))?"
)
"""An option, perhaps with its value or metavariable; or a whole command, which is not changed."""
_MANY = 1_000
_SPELLED = {"o": "output", "from": "source"}
"""Arguments whose names differ from those of their options."""
_ELSEWHERE = {
    "center": "centre",
    "learning_rate": "lr",
    "n_jobs": "jobs",
    "queries": "query",
    "random_state": "seed",
    "seed": "random_state",
    "sensitive_features": "sensitive",
    "stimuli": "query",
    "topn": "k",
    "y_pred": "predicted",
    "y_true": "predictions",
}
"""Names of arguments in other libraries or functions, and the name here."""
SECRETS = ("password",)
"""Arguments that no report repeats."""
_SETTINGS = frozenset(setting.name for setting in fields(Config))
"""Options that are settings of `wordbias.config` in Python."""
_FETCH = re.compile(r"\bwordbias fetch (?!without\b)([a-z][\w.-]*(?: [a-z][\w.-]*)*)(?=[,;)]|$)")
_UNSET = {"accuracy": "mdl", "simultaneous": "sequential"}
"""Options that set an argument to False, besides those that begin with ``--no-``."""


class Readable(str):
    """An annotation that ``help`` shows without quotation marks."""

    def __repr__(self) -> str:
        return str(self)


class WordbiasWarning(UserWarning):
    """A message for a caller in Python before there is a report that could have it as a note."""


@dataclass(frozen=True)
class Typed:
    """A call from the command line."""

    # names of the arguments that were typed, rather than left at their defaults
    given: frozenset[str]
    spelled: Mapping[str, str]  # name of each argument on the command line
    note: Note  # function that shows one line on the terminal
    format: str | None = None  # the `--format` of a command that writes a page


@dataclass(frozen=True)
class Call:
    """One call of a public function."""

    command: str = ""  # name of the function as a command, such as `mab-eval`
    # values of the arguments by name, as stored in a report
    arguments: Mapping[str, object] = field(default_factory=dict)
    given: frozenset[str] = frozenset()  # names of the arguments that the caller gave
    # function that shows one line on the terminal; None for a call from Python
    note: Note | None = None
    flags: frozenset[str] = frozenset()  # names of the arguments that are true or false
    format: str | None = None  # the `--format` of a command that writes a page
    # settings of `wordbias.config` that differ from the defaults
    config: Mapping[str, object] = field(default_factory=dict)

    def spelled(self, text: str) -> str:
        """Return a message with the options spelled as the caller writes them."""
        in_shell = not self.command or self.note is not None
        return text if in_shell else in_python(text, self.flags)


_NO_CALL = Call()
_call: ContextVar[Call] = ContextVar("call", default=_NO_CALL)
_typed: ContextVar[Typed | None] = ContextVar("typed", default=None)


def current() -> Call:
    """Return the innermost running call of a public function."""
    return _call.get()


def is_given(name: str) -> bool:
    """Return whether the caller gave an argument: typed it, or in Python changed its default."""
    return name in _call.get().given


def typed_setting(name: str) -> Any:
    """Return a setting of `wordbias.config` that was typed for this command, else None."""
    # One that Python has in force is for all calls, so no function refuses it.
    return getattr(current_config(), name) if name in _call.get().given else None


def refuse_given(names: Iterable[str], reason: str, remedy: str = "leave it out") -> None:
    """Refuse arguments that would do nothing; `reason` is the rest of the sentence about one."""
    for name in names:
        if is_given(name):
            no = "no-" * (current().arguments.get(name) is False)
            raise UsageError(f"--{no}{name.replace('_', '-')} {reason}; {remedy}")


def note(text: str, *, reported: bool = False) -> None:
    """Show a message before the report: a line on stderr; unless `reported`, a Python warning."""
    call, text = _call.get(), without_secrets(text)
    if call.note is not None:
        call.note(text)
    elif call.command and not reported:
        warnings.warn(call.spelled(text), WordbiasWarning, stacklevel=_outside())


def _outside() -> int:
    """Return the stack level of the code outside wordbias, counted from `note`."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("wordbias."):
        frame, level = frame.f_back, level + 1
    return level


@contextmanager
def typed(
    given: frozenset[str], spelled: Mapping[str, str], note: Note, format: str | None = None
) -> Iterator[None]:
    """Mark the next call of a public function as one from the command line; see `Typed`."""
    token = _typed.set(Typed(given, spelled, note, format))
    try:
        yield
    finally:
        _typed.reset(token)


@contextmanager
def python_messages(*flags: str) -> Iterator[None]:
    """Spell the options in an error as Python's arguments; for methods of public objects."""
    try:
        yield
    except WordbiasError as error:
        if _call.get().note is None:
            error.args = (in_python(str(error), flags),)
        raise
    except OSError as error:
        _refuse_of_system(error)


def public(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a public function: check its arguments, and record them for its report."""
    signature = inspect.signature(function)
    defaults = {
        name: () if parameter.kind is parameter.VAR_POSITIONAL else parameter.default
        for name, parameter in signature.parameters.items()
    }
    annotations = {
        name: str(parameter.annotation) for name, parameter in signature.parameters.items()
    }
    several = {
        n
        for n, parameter in signature.parameters.items()
        if parameter.kind is parameter.VAR_POSITIONAL
    }

    def checked(name: str, value: object, called: str) -> object:
        arguments = [
            accepted(name, annotations[name], each, function.__globals__, called)
            for each in (cast("Sequence[object]", value) if name in several else [value])
        ]
        return tuple(arguments) if name in several else arguments[0]

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(misfit(function.__name__, signature, kwargs, error)) from None
        bound.apply_defaults()
        for name in [
            n for n, kind in annotations.items() if kind.removesuffix(" | None") in _LISTS
        ]:
            bound.arguments[name] = _split(bound.arguments[name])
        arguments = bound.arguments
        line, outer = _typed.get(), _call.get()
        changed = frozenset(n for n, value in arguments.items() if not _same(value, defaults[n]))
        spelled = {} if line is None else line.spelled
        _refuse_empty(arguments, changed, spelled, several)
        for name in changed:
            if line is None:
                refuse_odd(f"{name}=", arguments[name])
            arguments[name] = checked(name, arguments[name], spelled.get(name, ""))
        token = _call.set(
            Call(
                function.__name__.replace("_", "-"),
                {name: _recorded(name, value) for name, value in arguments.items()},
                changed if line is None else line.given,
                outer.note if line is None else line.note,
                frozenset(name for name, value in defaults.items() if isinstance(value, bool)),
                None if line is None else line.format,
                current_config().changed(),
            )
        )
        nested = _typed.set(None)
        try:
            return function(*bound.args, **bound.kwargs)
        except WordbiasError as error:
            error.args = (_call.get().spelled(str(error)),)
            raise
        except OSError as error:
            _refuse_of_system(error)
        finally:
            _typed.reset(nested)
            _call.reset(token)

    vars(call)["__signature__"] = _readable(signature)
    return call


def _recorded(name: str, value: object) -> object:
    """Return an argument as a report has it; of a secret only whether it was given."""
    if name in SECRETS and value is not None:
        return "***"
    return without_secrets(value) if isinstance(value, str) else plain(value)


def _refuse_of_system(error: OSError) -> NoReturn:
    """Raise an error of the system about a file as one of ours; another as it is."""
    if error.filename is None:
        raise error
    raise WordbiasError(f"{error.filename}: {error.strerror}") from error


def _readable(signature: inspect.Signature) -> inspect.Signature:
    parameters = [
        parameter.replace(annotation=Readable(parameter.annotation))
        for parameter in signature.parameters.values()
    ]
    return signature.replace(
        parameters=parameters, return_annotation=Readable(signature.return_annotation)
    )


def misfit(
    name: str, signature: inspect.Signature, given: Collection[str], error: TypeError
) -> str:
    """Return a message for arguments that do not fit, with those there are and the nearest."""
    known = signature.parameters
    names_by_kind = {
        kind: ", ".join(parameter.name for parameter in known.values() if parameter.kind is kind)
        for kind in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    }
    first, others = names_by_kind.values()
    takes = "; ".join(filter(None, [first, others and f"by name: {others}"]))
    for wrong in (keyword for keyword in given if keyword not in known):
        if wrong in _SETTINGS or _ELSEWHERE.get(wrong) in _SETTINGS:
            setting = _ELSEWHERE.get(wrong, wrong)
            return f"{name}(): {error}; it is a setting: with wb.config({setting}=...)"
        near = [_ELSEWHERE.get(wrong, ""), *get_close_matches(wrong, known, 1)]
        if wrong not in known and (
            meant := next((candidate for candidate in near if candidate in known), "")
        ):
            return f"{name}(): {error}; did you mean {meant}=? It takes {takes}"
    return f"{name}(): {error}; it takes {takes}"


def _split(value: object) -> object:
    """Return ``"a,b"`` as a list; other values unchanged."""
    if not isinstance(value, str):
        return value
    return comma_separated(value)


def _refuse_empty(
    arguments: Mapping[str, object],
    changed: frozenset[str],
    spelled: Mapping[str, str],
    several: Collection[str],
) -> None:
    for name in sorted(changed, key=list(arguments).index):
        value = arguments[name]
        # in Python a list may be data, with empty texts; not one of several arguments
        apart = bool(spelled) or name in several
        values = value if apart and isinstance(value, (tuple, list)) else (value,)
        if name not in _MAY_BE_EMPTY and any(isinstance(part, str) and not part for part in values):
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
    """Return an argument as stored in a report: plain, the length of a long list, or the repr."""
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        if len(value) > _MANY:
            return f"a {type(value).__name__} of {len(value):,}"
        return {str(key): plain(member) for key, member in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    if isinstance(value, Sequence) and type(value).__module__ == "builtins":
        if len(value) > _MANY:
            return f"a {type(value).__name__} of {len(value):,}"
        return [plain(member) for member in value]
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        return f"{type(value).__name__} of shape {shape}"
    text = repr(value)
    return text if len(text) <= 200 and "\n" not in text else f"a {type(value).__name__}"


def path_of(source: object) -> str | None:
    """Return an argument that is a path or a name as text; None for an object."""
    return os.fspath(source) if isinstance(source, (str, os.PathLike)) else None


def in_python(text: str, flags: Collection[str] = ()) -> str:
    """Spell the options of a message as Python's arguments: ``--only`` as ``only=``."""
    # --skip=gipe becomes skip="gipe", of a flag --holm becomes holm=True, and wordbias fetch men
    # becomes wb.fetch("men"). Other commands, such as wordbias nli-train, are not changed.

    def spelled(match: re.Match[str]) -> str:
        option, value = match["option"], match["value"]
        if option is None:
            return match[0]
        name = option.lower().replace("-", "_")
        if (setting := name.removeprefix("no_")) in _SETTINGS:
            text = repr(match["text"]).replace("'", '"') if match["text"] else value
            return _as_config(setting, text, off=setting != name)
        if name.startswith("no_") or name in _UNSET:
            return f"{_UNSET.get(name, name[3:])}=False"
        name = _SPELLED.get(name, name)
        if text := match["text"] or match["same"]:
            return f'{name}="{text}"'
        return f"{name}=True" if name in flags else f"{name}={value or ''}"

    return _OPTION.sub(spelled, _FETCH.sub(_fetched, text))


def _as_config(name: str, value: str | None, *, off: bool) -> str:
    """Spell a common option as `wordbias.config` has it: ``--jobs`` as ``wb.config(jobs=...)``."""
    flags = {"skip_bad": "True", "allow_pickle": "True", "cache": str(not off)}
    return f"wb.config({name}={flags.get(name, value or '...')})"


def _fetched(match: re.Match[str]) -> str:
    return f"wb.fetch({', '.join(map(repr, match[1].split()))})".replace("'", '"')
