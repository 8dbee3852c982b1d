"""Types of options: accepted texts, and the values that functions get."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Never

import click

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
        found = float(super().convert(value, param, ctx))
        if not math.isfinite(found):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return found


class _Names(ParamType):
    """Names separated by commas."""

    name = "text"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[str]:
        """Split ``a,b,c``."""
        parts = [part.strip() for part in str(value).split(",") if part.strip()]
        if not parts:
            self.fail("expected names, separated by commas", param, ctx)
        return parts


class _Seeds(ParamType):
    """Whole numbers separated by commas."""

    name = "text"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[int]:
        """Split ``0,1,2``."""
        parts = [part.strip() for part in str(value).split(",") if part.strip()]
        if not parts or not all(part.isdecimal() for part in parts):
            self.fail("expected whole numbers, separated by commas", param, ctx)
        return list(dict.fromkeys(map(int, parts)))


class _Layers(ParamType):
    """Numbers of layers, ``all`` or ``last``."""

    name = "text"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...] | str:
        """Split ``0,3,6``, and return ``all`` and ``last`` unchanged."""
        if value in ("all", "last"):
            return str(value)
        parts = [part.strip() for part in str(value).split(",") if part.strip()]
        if not parts or not all(part.isdecimal() for part in parts):
            self.fail("expected all, last, or numbers such as 0,3,6", param, ctx)
        return tuple(dict.fromkeys(map(int, parts)))


class _Fractions(ParamType):
    """A known name, or percentages."""

    name = "text"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str | tuple[float, ...]:
        """Return the name, or shares for percentages such as ``2,10,100``."""
        from wordbias.probes.mdl import FRACTIONS, check_fractions

        text = str(value)
        if text in FRACTIONS:
            return text
        try:
            shares = [float(part) / 100 for part in text.split(",")]
        except ValueError:
            known = ", ".join(FRACTIONS)
            self.fail(f"expected {known}, or percentages 2,10,100", param, ctx)
        try:
            return check_fractions(shares)
        except WordbiasError:
            self.fail(
                f"expected percentages that rise from above 0 to 100, found {text}", param, ctx
            )


class _Template(ParamType):
    """A template of texts; ``\\n`` in it is a new line."""

    name = "text"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        """Return the template with its new lines."""
        return str(value).replace("\\n", "\n")


class _Size(ParamType):
    """A size with its unit."""

    name = "text"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Turn a size such as 500MB or 20G into bytes."""
        try:
            return parse_size(str(value))
        except WordbiasError as error:
            self.fail(str(error), param, ctx)


NAMES = _Names()
SEEDS = _Seeds()
LAYERS = _Layers()
FRACTIONS = _Fractions()
SIZE = _Size()
TEMPLATE = _Template()


def split_where(
    ctx: click.Context, param: click.Parameter, value: tuple[str, ...]
) -> dict[str, tuple[str, ...]]:
    """Split ``column=value``; several values of a column are alternatives."""
    found: dict[str, tuple[str, ...]] = {}
    for equation in value:
        column, equals, wanted = equation.partition("=")
        if not (column and equals):
            raise click.BadParameter(f"expected COLUMN=VALUE, found {equation!r}", ctx, param)
        found[column] = (*found.get(column, ()), wanted)
    return found
