"""Settings of methods: from one class a method, what may follow its name, its help and its errors.

The annotation and the default of a field, and its type and sentence in the docstring (``until :
float from 0 to 1``), are all that is known of a setting.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from difflib import get_close_matches
from itertools import pairwise
from os.path import isfile
from textwrap import fill
from typing import Any, ClassVar, NamedTuple, TypeAlias

from wordbias.arguments import accepted, refuse_odd
from wordbias.calls import plain
from wordbias.docstrings import docstring_of
from wordbias.errors import UsageError
from wordbias.grammar import Item, parse_chains, written

_FLAG = {None: True, "yes": True, "no": False}
_GROUPS = "groups"
"""Field that is no setting: the groups are an argument of the call, for all methods."""
_NUMBERS: Mapping[str, type[int] | type[float]] = {"int": int, "Seed": int, "float": float}
_RANGE = re.compile(r"from ([\d.]+)(?: to ([\d.]+))?")
_WIDTH = 88


@dataclass(kw_only=True, eq=False, repr=False)
class Settings:
    """Base class of the settings of a method.

    Attributes
    ----------
    _name
        Name of the method.
    """

    _name: ClassVar[str]


Known: TypeAlias = Mapping[str, type[Settings]]
MethodsLike: TypeAlias = str | Settings | Sequence[str | Settings]
"""A chain as a text, or as methods in their order."""
ChainsLike: TypeAlias = str | Settings | Sequence[str | Settings | Sequence[str | Settings]]
"""Several chains: texts with spaces between, methods, or lists of methods."""


Takes: TypeAlias = Mapping[str, Sequence[str]]
"""Settings that methods take in a command that does not take all, by their names."""


class Setting(NamedTuple):
    """A setting: name of the field, annotation without None, default, type, and sentence."""

    name: str
    annotation: str
    default: Any
    kind: str
    sentence: str

    @property
    def typed(self) -> str:
        """Return the name as it is typed."""
        return self.name.replace("_", "-")

    @property
    def expected(self) -> str:
        """Say which values it takes."""
        if self.annotation == "bool":
            return "yes or no"
        if names := self._names():
            return f"one of {', '.join(names)}"
        if self.annotation not in _NUMBERS:
            return self.kind.removesuffix(", optional")
        least, most = self._range()
        what = "a number" if self.annotation == "float" else "a whole number"
        return f"{what} from {least:g} {'on' if math.isinf(most) else f'to {most:g}'}"

    @property
    def names_file(self) -> bool:
        """Say whether a text may be the name of a file."""
        return "file" in self.kind

    def read(self, text: str | None) -> Any:
        """Return the value of a text, None for a flag; raise ValueError if there is none."""
        if self.annotation == "bool" and text in _FLAG:
            return _FLAG[text]
        if text is None or self.annotation == "bool":
            raise ValueError
        if self.annotation in _NUMBERS:
            value, (least, most) = _NUMBERS[self.annotation](text), self._range()
            if not (least <= value <= most and math.isfinite(value)):
                raise ValueError
            return value
        names = self._names()
        if names and text not in names:
            raise ValueError
        if "Sequence[float]" in self.annotation and re.match(r"\.?\d", text):
            return [float(part) for part in text.split(",")]
        return text

    def _names(self) -> list[str]:
        match = re.fullmatch(r"Literal\[(.*)\]", self.annotation)
        return [] if match is None else [choice.strip("'\" ") for choice in match[1].split(",")]

    def _range(self) -> tuple[float, float]:
        match = _RANGE.search(self.kind)
        least = float(self.annotation == "int") if match is None else float(match[1])
        return least, math.inf if match is None or match[2] is None else float(match[2])


class Configured(NamedTuple):
    """A method with the settings that were given to it."""

    name: str
    settings: Mapping[str, Any] = {}

    @property
    def text(self) -> str:
        """Write it as a text."""
        return text_of([self])


def text_of(chain: Sequence[Configured]) -> str:
    """Write a chain as a text, which has the same methods and settings where these are texts."""
    return written(
        [
            Item(
                method.name,
                {key.replace("_", "-"): _text(value) for key, value in method.settings.items()},
            )
            for method in chain
        ]
    )


def _text(value: object) -> str | None:
    if isinstance(value, bool):
        return None if value else "no"
    if isinstance(value, float):
        return f"{value:.12g}"
    if isinstance(value, (list, tuple)):
        return ",".join(str(_text(part)) for part in value)
    return str(plain(value))


def settings_of(kind: type[Settings]) -> Mapping[str, Setting]:
    """Return the settings of a method, by their names."""
    documented = docstring_of(kind)[1]
    return {
        field.name: Setting(
            field.name,
            str(field.type).removesuffix(" | None"),
            field.default,
            *documented[field.name],
        )
        for field in fields(kind)
        if field.name != _GROUPS
    }


def check_settings(method: Settings) -> None:
    """Check all fields of a method against their annotations."""
    for field in fields(method):
        value = getattr(method, field.name)
        refuse_odd(f"{field.name}=", value)
        accepted(field.name, str(field.type), value, _namespace(type(method)))


def _namespace(kind: type[Settings]) -> Mapping[str, Any]:
    """Return the global names that the annotations of a method use."""
    home = next(ancestor for ancestor in kind.__mro__ if "__dataclass_fields__" in vars(ancestor))
    return vars(sys.modules[home.__module__])


# Methods that a caller names


def read_chain(methods: MethodsLike, known: Known) -> list[Configured]:
    """Return the methods of one chain, with their settings."""
    return [method for part in as_listed(methods) for method in _one_chain(part, known)]


def read_chains(methods: ChainsLike, known: Known) -> dict[str, list[Configured]]:
    """Return several chains by their texts."""
    chains = [
        chain
        for part in as_listed(methods)
        for chain in (
            _typed_chains(part, known) if isinstance(part, str) else [read_chain(part, known)]
        )
    ]
    chains_by_text: dict[str, list[Configured]] = {}
    for chain in chains:
        text = text_of(chain)
        if text in chains_by_text:
            raise UsageError(f"methods: {text} is named twice; name it once")
        chains_by_text[text] = chain
    return chains_by_text


def only_method(methods: MethodsLike, known: Known, takes: Takes) -> Configured:
    """Return the only method of a call, which here takes only some of its settings."""
    chain = read_chain(methods, known)
    if len(chain) != 1:
        raise UsageError(f"method: expected one of {', '.join(known)}, got {methods!r}")
    for key in (key for key in chain[0].settings if key not in takes.get(chain[0].name, ())):
        here = [setting.replace("_", "-") for setting in takes.get(chain[0].name, ())]
        raise UsageError(
            f"method {chain[0].text!r}: {key.replace('_', '-')!r} is not for this command, in "
            f"which {chain[0].name} takes {', '.join(here) or 'no settings'}"
        )
    return chain[0]


def as_listed(methods: object) -> list[Any]:
    """Return a text, a method or several of them as a list."""
    if isinstance(methods, (str, Settings)):
        return [methods]
    if not isinstance(methods, (list, tuple)):
        raise UsageError(
            "methods: expected names of methods, or methods such as wb.MISP(dims=2), got "
            f"{type(methods).__name__}"
        )
    return list(methods)


def _one_chain(part: object, known: Known) -> list[Configured]:
    if isinstance(part, Settings):
        return [_of_object(part, known)]
    if not isinstance(part, str):
        as_listed(part)  # refuses what is no list
        raise UsageError("methods: a list in a list is for methods to try")
    chains = _typed_chains(part, known)
    if len(chains) > 1:
        raise UsageError(
            f"methods {part!r}: spaces separate what wordbias choose and audit try; join methods "
            f"that follow each other with commas: {','.join(map(text_of, chains))}"
        )
    return chains[0] if chains else []


def _typed_chains(text: str, known: Known) -> list[list[Configured]]:
    first = re.split("[:, ]", text.lower().replace("_", "-"), maxsplit=1)[0]
    if isfile(text) and first not in known:
        raise UsageError(
            f"method: expected one of {', '.join(known)}; {text} is a file, not a method"
        )
    chains = parse_chains(text)
    for before, item in (pair for chain in chains for pair in pairwise(chain)):
        if item.name not in known and any(before.settings.values()):
            raise UsageError(
                f"method {item.name!r}: expected one of {', '.join(known)}; if it belongs to the "
                "value before, put this between quotation marks that the shell keeps: "
                f"\"{before.name}:…='…,{item.name}'\""
            )
    return [[_configured(item, known) for item in chain] for chain in chains]


def _of_object(method: Settings, known: Known) -> Configured:
    kind = _kind(method._name, known)
    check_settings(method)
    if getattr(method, "_frozen", False):
        raise UsageError(
            f"{type(method).__name__}: is fitted and frozen; apply it: wb.apply(method, embedding)"
        )
    if getattr(method, _GROUPS, None) is not None:
        raise UsageError(
            f"{type(method).__name__}: the groups are an argument of the call, groups=, not of the "
            "method"
        )
    given = {
        name: (getattr(method, name), setting.default)
        for name, setting in settings_of(kind).items()
    }
    return Configured(
        method._name, {name: value for name, (value, old) in given.items() if not _same(value, old)}
    )


def _same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and bool(value == default))


def _configured(item: Item, known: Known) -> Configured:
    """Read the settings of a method that was typed."""
    takes, text = settings_of(_kind(item.name, known)), written([item])
    settings: dict[str, Any] = {}
    for typed, value in item.settings.items():
        name = typed.replace("-", "_")
        if name not in takes:
            raise UsageError(f"method {text!r}: {_not_taken(item.name, typed, known)}")
        try:
            settings[name] = takes[name].read(value)
        except ValueError:
            raise UsageError(
                f"method {text!r}: {typed}: expected {takes[name].expected}, "
                f"found {'nothing' if value is None else repr(value)}"
            ) from None
    for setting in takes.values():
        if setting.default is MISSING and setting.name not in settings:
            raise UsageError(f"method {text!r}: needs {setting.typed}=…: {setting.sentence}")
    return Configured(item.name, settings)


def _kind(name: str, known: Known) -> type[Settings]:
    if name not in known:
        raise UsageError(
            f"method {name!r}: expected one of {', '.join(known)}, or several with commas between"
            f"{_nearest(name, list(known))}"
        )
    return known[name]


def _not_taken(name: str, typed: str, known: Known) -> str:
    """Say what a method takes, which methods take a setting, and which name is nearest."""
    takes = [setting.typed for setting in settings_of(known[name]).values()]
    others = [
        other
        for other, kind in known.items()
        if typed in (setting.typed for setting in settings_of(kind).values())
    ]
    return f"{name} takes {', '.join(takes) or 'no settings'}; found {typed!r}" + (
        f"; {typed} is for: {', '.join(others)}" if others else _nearest(typed, takes)
    )


def _nearest(name: str, names: Sequence[str]) -> str:
    near = get_close_matches(name, names, 1)
    return f"; did you mean {near[0]}?" if near else ""


# Help


def summary_of(kind: type[Settings]) -> str:
    """Return the first sentence about a method."""
    return docstring_of(kind)[0].partition("\n")[0].removesuffix(".").replace("`", "")


def listed(known: Known) -> str:
    """Return a line for each method, for the help of a command."""
    longest = max(map(len, known))
    return "\n".join(f"  {name:{longest}}  {summary_of(kind)}" for name, kind in known.items())


def method_help(name: str, known: Known, takes: Takes | None = None) -> str:
    """Return the help of a method: what it does, and each of its settings, or those in `takes`."""
    kind = _kind(name.lower().replace("_", "-"), known)
    text, _ = docstring_of(kind)
    settings = settings_of(kind)
    if takes is not None:
        settings = {
            key: setting for key, setting in settings.items() if key in takes.get(kind._name, ())
        }
    return "\n".join([f"{kind._name}: {text.replace('`', '')}", "", *_lines(kind._name, settings)])


def _lines(name: str, settings: Mapping[str, Setting]) -> Iterator[str]:
    yield f"Settings, which follow the name ({name}:NAME=VALUE):" if settings else "No settings."
    for setting in settings.values():
        yield f"\n  {setting.typed}  ({setting.expected}){default_of(setting)}"
        yield fill(
            setting.sentence.replace("`", ""), _WIDTH, initial_indent="      ",
            subsequent_indent="      ", break_on_hyphens=False,
        )  # fmt: skip


def default_of(setting: Setting) -> str:
    """Return the default of a setting as it is typed; nothing if its sentence says it."""
    if setting.default is None:
        return ""
    if setting.default is MISSING:
        return "  [required]"
    if isinstance(setting.default, bool):
        return f"  [default: {'yes' if setting.default else 'no'}]"
    return f"  [default: {_text(setting.default)}]"
