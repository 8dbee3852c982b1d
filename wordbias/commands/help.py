"""`wordbias help`: the help of a command, or of the common options."""

from __future__ import annotations

import click

from wordbias.commands.shell import common_options

_COMMON = """Options that several commands share. In Python they are wordbias.config, for all calls
or inside a block: with wordbias.config(device="cpu"). A command refuses one that it does not use;
the last lines of its help name those that it does."""


@click.command("help")
@click.argument("topic", required=False)
@click.pass_context
def command(ctx: click.Context, topic: str | None) -> None:
    """Show the help of a command, or of the options that commands share: wordbias help options."""
    root = ctx.find_root()
    if topic is None:
        click.echo(root.get_help())
    elif topic == "options":
        click.echo(_common(ctx))
    else:
        group = root.command
        found = group.resolve_command(root, [topic])[1] if isinstance(group, click.Group) else None
        if found is not None:
            click.echo(found.get_help(click.Context(found, info_name=topic, parent=root)))


def _common(ctx: click.Context) -> str:
    """Return the help of the common options."""
    options = common_options()
    for one in options:
        one.hidden = False
    group = click.Command("options", params=[*options], help=_COMMON, add_help_option=False)
    return group.get_help(click.Context(group, info_name="COMMAND", parent=ctx.find_root()))
