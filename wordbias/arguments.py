"""Checks of the arguments of public functions, against their annotations and by hand."""

from __future__ import annotations

import math
import os
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from wordbias.errors import UsageError, WordbiasError

AUTO = "auto"
"""Name of the default device."""
_MOST = 2**63 - 1
_LEAST = {
    **dict.fromkeys(("seed", "model_seeds", "random_state", "random_init", "ddof", "draws"), 0),
    "layers": -_MOST,  # checked by the functions on layers
}
"""Least whole number of an argument; 1 for all others."""
_REFUSED = object()


def accepted(
    name: str, annotation: str, value: object, namespace: Mapping[str, Any], called: str = ""
) -> Any:
    """Check an argument against its annotation; return it with plain Python numbers and lists."""
    # An annotation with another type, such as a class, allows everything.
    if name == "device" and isinstance(value, str) and value == AUTO:
        return None  # the default, for every check of what is given
    kinds = _members(_evaluated(annotation, dict(namespace)))
    least = _LEAST.get(name, 1)
    text = os.fspath(value) if isinstance(value, os.PathLike) else value
    fine = not isinstance(text, str) or _can_be_written(text)
    argument = _matched(value, kinds, least) if fine else _REFUSED
    only = [kind for kind in kinds if kind is not NoneType] == kinds[:1]
    if isinstance(argument, Mapping) and only and len(get_args(kinds[0])) == 2:
        argument = _mapped(argument, kinds[0], least)
    if argument is _REFUSED:
        too_large = isinstance(value, Integral) and int(value) > _MOST
        *others, last = dict.fromkeys(
            _described(kind, least) for kind in kinds if kind is not NoneType
        )
        expected = f"{', '.join(others)} or {last}" if others else last
        expected += " and below 2**63" if too_large else ""
        raise UsageError(f"{called or f'{name}='}: expected {expected}, got {_value_text(value)}")
    return argument


def refuse_odd(called: str, value: object) -> None:
    """Refuse an argument that no function can use, whatever its annotation."""
    few = value if isinstance(value, (list, tuple)) and len(value) <= _FEW else ()
    for part in (value, *few):
        if hasattr(part, "mask") and hasattr(part, "filled"):
            raise UsageError(
                f"{called}: is a masked array, whose hidden values would be used; leave these rows "
                "out, or fill them with array.filled(value)"
            )
        if type(part).__name__ == "ndarray" and getattr(part, "ndim", 1) == 0:
            raise UsageError(f"{called}: expected a list or an array, got one of no dimension")
    if type(value) is dict and not value:
        raise UsageError(f"{called}: is an empty mapping; give what it holds, or leave it out")
    if isinstance(value, (list, tuple, dict)) and _contains_itself(value, ()):
        raise UsageError(f"{called}: contains itself; give values that end")


_FEW = 10
_DEEPEST = 100


def _contains_itself(value: Any, above: tuple[int, ...]) -> bool:
    if id(value) in above or len(above) > _DEEPEST:
        return True
    return any(
        _contains_itself(member, (*above, id(value)))
        for member in (value.values() if isinstance(value, dict) else value)
        if isinstance(member, (list, tuple, dict))
    )


def named_file(path: object) -> str:
    """Return the text of a path."""
    text = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if not isinstance(text, str):
        raise WordbiasError(f"expected a path, got {_value_text(path)}")
    if not text or not _can_be_written(text):
        raise WordbiasError(f"expected a path, got {text!r}, which no file can be called")
    return text


def _evaluated(annotation: str, namespace: dict[str, Any]) -> Any:
    """Return the type of an annotation; `Any` if only type checkers import one of its names."""
    try:
        holder = SimpleNamespace(__annotations__={"it": annotation})
        return typing.get_type_hints(holder, namespace)["it"]
    except NameError:
        return Any


def _members(annotation: Any) -> list[Any]:
    if get_origin(annotation) not in (Union, UnionType):
        return [annotation]
    return [kind for member in get_args(annotation) for kind in _members(member)]


def _matched(value: object, kinds: Sequence[Any], least: int) -> Any:
    matches = (_converted(value, kind, least) for kind in kinds)
    return next((match for match in matches if match is not _REFUSED), _REFUSED)


def _is_list(value: object) -> bool:
    return isinstance(value, (Sequence, Set)) or getattr(value, "ndim", None) == 1


def _converted(value: Any, kind: Any, least: int) -> Any:
    """Return a value converted to one type, or `_REFUSED`."""
    origin = get_origin(kind) or kind
    if origin in _BY_KIND:
        return _BY_KIND[origin](value, least)
    if origin is Literal:
        return value if isinstance(value, str) and value in get_args(kind) else _REFUSED
    if origin in (Sequence, Iterable) and isinstance(value, (str, os.PathLike, bytes, Mapping)):
        return _REFUSED
    if origin is Iterable and not _is_list(value):
        return value if isinstance(value, Iterable) else _REFUSED  # not consumed: it may be long
    if origin in (Sequence, Iterable):
        return _listed(value, _members((*get_args(kind), Any)[0]), least)
    if origin is Mapping:
        return value if isinstance(value, Mapping) else _REFUSED
    return value


def _is_bool(value: object) -> bool:
    return type(value).__name__ in ("bool", "bool_")  # also numpy's


def _whole(value: Any, least: int) -> Any:
    fine = isinstance(value, Integral) and not _is_bool(value)
    return int(value) if fine and least <= int(value) <= _MOST else _REFUSED


def _real(value: Any, least: int) -> Any:
    if _whole(value, 0) is not _REFUSED:
        return int(value)
    fine = isinstance(value, Real) and not isinstance(value, Integral) and math.isfinite(value)
    return float(value) if fine and value >= 0 else _REFUSED


def _switch(value: Any, least: int) -> Any:
    return bool(value) if _is_bool(value) or _whole(value, 0) in (0, 1) else _REFUSED


def _text(value: Any, least: int) -> Any:
    return str(value) if isinstance(value, str) else _REFUSED


def _path(value: Any, least: int) -> Any:
    text = os.fspath(value) if isinstance(value, os.PathLike) else None
    return value if isinstance(text, str) else _REFUSED


def _none(value: Any, least: int) -> Any:
    return value if value is None else _REFUSED


_BY_KIND: dict[Any, Callable[[Any, int], Any]] = {
    bool: _switch, int: _whole, float: _real, str: _text, os.PathLike: _path, Path: _path,
 NoneType: _none,
}  # fmt: skip


def _listed(value: Any, kinds: Sequence[Any], least: int) -> Any:
    if not (_is_list(value) or isinstance(value, Iterator)):
        return _REFUSED
    members = [_matched(member, kinds, least) for member in value]
    return _REFUSED if any(member is _REFUSED for member in members) else members


def _mapped(value: Mapping[Any, Any], kind: Any, least: int) -> Any:
    """Return a mapping with keys and values converted to the types of its annotation."""
    key_types, value_types = map(_members, get_args(kind))
    mapping = {
        _matched(key, key_types, least): _matched(member, value_types, least)
        for key, member in value.items()
    }
    refused = _REFUSED in mapping or any(member is _REFUSED for member in mapping.values())
    return _REFUSED if refused else mapping


def _can_be_written(text: str) -> bool:
    """Return whether a text can be a file name: no null character, no lone surrogate."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def _described(kind: Any, least: int) -> str:
    """Return a type in words, for a message."""
    origin = get_origin(kind) or kind
    if origin is Literal:
        return f"one of {', '.join(map(str, get_args(kind)))}"
    if origin in (Sequence, Iterable):
        plural = {
            str: "texts",
            os.PathLike[str]: "paths",
            int: "whole numbers",
            float: "finite numbers",
        }
        of = [plural.get(member, "values") for member in _members((*get_args(kind), Any)[0])]
        return f"a list of {' or '.join(dict.fromkeys(of))}"
    plain = {
        bool: "True or False",
        int: f"a whole number from {least} on",
        float: "a finite number from 0 on",
        str: "a text",
        os.PathLike: "a path",
        Path: "a path",
        Mapping: "a mapping",
        Callable: "a function",
    }
    return str(plain.get(origin, getattr(origin, "__name__", origin)))


def _value_text(value: object) -> str:
    """Return a value for a message: its repr, or its type if that would be long."""
    shape = getattr(value, "shape", ())
    if shape or hasattr(value, "__next__"):
        return f"{type(value).__name__}{f' of shape {shape}' if shape else ''}"
    if isinstance(value, (str, os.PathLike, Real, NoneType, bytes)):
        return repr(value)
    if isinstance(value, (list, tuple, set, frozenset, Mapping)) and len(value) <= 10:
        return repr(value)
    return type(value).__name__


# values that an annotation does not tell


def comma_separated(text: str) -> list[str]:
    """Return the parts of ``a,b,c``, without the empty ones."""
    return [part.strip() for part in text.split(",") if part.strip()]


def path_named(option: str, given: object) -> str:
    """Return a path or name, and refuse anything else."""
    if isinstance(given, (str, os.PathLike)):
        return os.fspath(given)
    raise WordbiasError(f"{option}: expected a path or a name, got {type(given).__name__}")


def check_choice(option: str, value: str | None, known: Sequence[str]) -> None:
    """Refuse a value that is not one of the known ones; None means not given."""
    if value is not None and value not in known:
        raise UsageError(f"{option}: expected one of {', '.join(known)}, got {value!r}")


def check_number(
    option: str, value: float | None, low: float, high: float = float("inf"), *, above: bool = False
) -> None:
    """Refuse a number outside its range, open at `low` if `above`, and nan; None is not given."""
    if value is None or (low < value <= high) or (value == low and not above):
        return
    least = f"above {low:g}" if above else f"of at least {low:g}"
    most = "" if high == float("inf") else f" and at most {high:g}"
    raise UsageError(f"{option}: expected a number {least}{most}, got {value}")


def seeds_of(given: int | Sequence[int], option: str = "--seed") -> list[int]:
    """Return one seed or several as a list."""
    seeds = list(given) if isinstance(given, Iterable) else [given]
    if not seeds:
        raise UsageError(f"{option}: expected one at least")
    return seeds
