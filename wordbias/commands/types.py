"""Types of options: accepted texts, and the values that functions get."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Never

import click

from wordbias.arguments import comma_separated
from wordbias.errors import WordbiasError
from wordbias.text_files import parse_size

if TYPE_CHECKING:
    ParamType = click.ParamType[object, Never]
else:
    ParamType = click.ParamType  # takes arguments since 8.3 only

COUNT = click.IntRange(1)
SEED = click.IntRange(0)


class FiniteRange(click.FloatRange):
    """A range of numbers without nan, which click would accept."""

    def convert(
        self, value: float, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number, or refuse one that is outside, infinite or nan."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


class Text(ParamType):
    """A text that a function turns into a value, or refuses by a `ValueError` with a message."""

    name = "text"

    def __init__(self, parse: Callable[[str], object]) -> None:
        self.parse = parse

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> object:
        """Return the value."""
        try:
            return self.parse(str(value))
        except (ValueError, WordbiasError) as error:
            self.fail(str(error), param, ctx)


def _names(text: str) -> list[str]:
    """Split ``a,b,c``."""
    if not (parts := comma_separated(text)):
        raise ValueError("expected names, separated by commas")
    return parts


def _numbers(text: str, expected: str = "whole numbers, separated by commas") -> list[int]:
    """Split ``0,1,2``."""
    parts = comma_separated(text)
    if not parts or not all(part.isdecimal() for part in parts):
        raise ValueError(f"expected {expected}")
    return list(dict.fromkeys(map(int, parts)))


def _layers(text: str) -> tuple[int, ...] | str:
    """Split ``0,3,6``, and return ``all`` and ``last`` unchanged."""
    if text in ("all", "last"):
        return text
    return tuple(_numbers(text, "all, last, or numbers such as 0,3,6"))


def _fractions(text: str) -> str | tuple[float, ...]:
    """Return a known name, or shares for percentages such as ``2,10,100``."""
    from wordbias.probes.mdl import FRACTIONS, check_fractions

    if text in FRACTIONS:
        return text
    try:
        shares = [float(part) / 100 for part in text.split(",")]
    except ValueError:
        raise ValueError(f"expected {', '.join(FRACTIONS)}, or percentages 2,10,100") from None
    try:
        return check_fractions(shares)
    except WordbiasError:
        raise ValueError(
            f"expected percentages that rise from above 0 to 100, found {text}"
        ) from None


def _shares(text: str) -> float | list[float]:
    """Return a share, or several separated by commas, such as ``.1,.25``."""
    try:
        shares = [float(part) for part in text.split(",")]
    except ValueError:
        raise ValueError("expected a share above 0 and at most 1, or several: .1,.25") from None
    if not all(0 < share <= 1 for share in shares):
        raise ValueError(f"expected shares above 0 and at most 1, found {text}")
    return shares if len(shares) > 1 else shares[0]


NAMES = Text(_names)
SEEDS = Text(_numbers)
LAYERS = Text(_layers)
FRACTIONS = Text(_fractions)
SHARES = Text(_shares)
SIZE = Text(parse_size)
TEMPLATE = Text(lambda text: text.replace("\\n", "\n"))
"""A template of texts; ``\\n`` in it is a new line."""


def split_where(
    ctx: click.Context, param: click.Parameter, value: tuple[str, ...]
) -> dict[str, tuple[str, ...]]:
    """Split ``column=value``; several values of a column are alternatives."""
    alternatives: dict[str, tuple[str, ...]] = {}
    for equation in value:
        column, equals, wanted = equation.partition("=")
        if not (column and equals):
            raise click.BadParameter(f"expected COLUMN=VALUE, found {equation!r}", ctx, param)
        alternatives[column] = (*alternatives.get(column, ()), wanted)
    return alternatives
