"""Types of options: what may be typed, and what a function gets of it."""

from __future__ import annotations

import math
import re

import click

from wordbias.errors import WordbiasError

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}

COUNT = click.IntRange(1)
SEED = click.IntRange(0)


class FiniteRange(click.FloatRange):
    """A range of numbers; click lets nan through, which is between no two."""

    def convert(
        self, value: float, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number, or refuse what is outside, infinite or none."""
        found = float(super().convert(value, param, ctx))
        if not math.isfinite(found):
            self.fail(f"{value!r} is no finite number.", param, ctx)
        return found


class _Names(click.ParamType):
    """Names with commas between."""

    name = "text"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[str]:
        """Split ``a,b,c``."""
        parts = [part.strip() for part in str(value).split(",") if part.strip()]
        if not parts:
            self.fail("expected names, separated by commas", param, ctx)
        return parts


class _Seeds(click.ParamType):
    """Whole numbers with commas between."""

    name = "text"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[int]:
        """Split ``0,1,2``."""
        parts = [part.strip() for part in str(value).split(",") if part.strip()]
        if not parts or not all(part.isdecimal() for part in parts):
            self.fail("expected whole numbers, separated by commas", param, ctx)
        return list(dict.fromkeys(map(int, parts)))


class _Layers(click.ParamType):
    """Numbers of layers, ``all`` or ``last``."""

    name = "text"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...] | str:
        """Split ``0,3,6``, and leave ``all`` and ``last`` as they are."""
        if value in ("all", "last"):
            return str(value)
        parts = [part.strip() for part in str(value).split(",") if part.strip()]
        if not parts or not all(part.isdecimal() for part in parts):
            self.fail("expected all, last, or numbers such as 0,3,6", param, ctx)
        return tuple(dict.fromkeys(map(int, parts)))


class _Fractions(click.ParamType):
    """A known name, or percentages."""

    name = "text"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str | tuple[float, ...]:
        """Return the name, or shares for percentages such as ``2,10,100``."""
        from wordbias.probes.schedule import FRACTIONS, check_fractions

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


class _Size(click.ParamType):
    """A size with its unit."""

    name = "text"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Turn a size such as 500MB or 20G into bytes."""
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?B|[KMGT])", str(value).strip().upper())
        if match is None:
            self.fail(f"{value!r}: expected a size with its unit, such as 500MB or 20G", param, ctx)
        return int(float(match[1]) * _UNITS[match[2].removesuffix("B")])


NAMES = _Names()
SEEDS = _Seeds()
LAYERS = _Layers()
FRACTIONS = _Fractions()
SIZE = _Size()
