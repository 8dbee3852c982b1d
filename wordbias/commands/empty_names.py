"""An empty text in place of a name: what a script gives whose variable is not set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, TypeVar, cast

import click

from wordbias.errors import WordbiasError

F = TypeVar("F", bound=Callable[..., Any])
_MAY_BE_EMPTY = ("mask", "mirror")
"""Masking by nothing takes words out; no mirror overrules the one of the environment."""


def nothing_empty(function: F) -> F:
    """Refuse every option and argument that was typed as an empty text, before work begins."""

    @wraps(function)
    def checked(*arguments: Any, **given: Any) -> Any:
        for name in _empty(click.get_current_context()):
            raise WordbiasError(f"{name}: is empty; name something, or leave it out")
        return function(*arguments, **given)

    return cast(F, checked)


def _empty(ctx: click.Context) -> Iterator[str]:
    """Yield what was given on the command line as an empty text."""
    for parameter in ctx.command.params:
        name = str(parameter.name)
        value = ctx.params.get(name)
        values = value if isinstance(value, tuple) else (value,)
        if "" in values and name not in _MAY_BE_EMPTY and _was_typed(ctx, name):
            is_option = isinstance(parameter, click.Option)
            yield parameter.opts[-1] if is_option else name.upper()


def _was_typed(ctx: click.Context, name: str) -> bool:
    return ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
