"""`wordbias help`: the help of a command, a method, or of the common options."""

from __future__ import annotations

from difflib import get_close_matches

import click

from wordbias.commands.shell import common_options
from wordbias.methods.settings import METHODS as DEBIASING
from wordbias.outcomes.settings import METHODS as REWRITING
from wordbias.settings import method_help

METHODS = {**DEBIASING, **REWRITING}

_COMMON = """Options that several commands share. In Python they are wordbias.config, for all calls
or inside a block: with wordbias.config(device="cpu"). Conditions are Report.check there. A command
refuses one that it does not use; the last lines of its help name those that it does."""


@click.command("help")
@click.argument("topic", required=False)
@click.pass_context
def command(ctx: click.Context, topic: str | None) -> None:
    """Show the help of a command or a method, or of the options that commands share: options."""
    root = ctx.find_root()
    if not isinstance(root.command, click.Group):
        raise TypeError("help is a command of a group")
    if topic is None:
        click.echo(root.get_help())
    elif topic == "options":
        click.echo(_common(ctx))
    elif (subcommand := root.command.get_command(root, topic)) is not None:
        click.echo(subcommand.get_help(click.Context(subcommand, info_name=topic, parent=root)))
    elif topic in METHODS:
        click.echo(method_help(topic, METHODS))
    else:
        known = [*root.command.list_commands(root), *METHODS, "options"]
        near = get_close_matches(topic.lower().replace("_", "-"), known, 1)
        guess = f". Did you mean {near[0]}?" if near else ""
        raise click.UsageError(f"No such command or method {topic!r}{guess}", root)


def _common(ctx: click.Context) -> str:
    """Return the help of the common options."""
    options = common_options()
    for option in options:
        option.hidden = False
    group = click.Command("options", params=[*options], help=_COMMON, add_help_option=False)
    return group.get_help(click.Context(group, info_name="COMMAND", parent=ctx.find_root()))
