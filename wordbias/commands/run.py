"""`wordbias run`: the options of `wordbias.run`, and its exit status."""

from __future__ import annotations

import click

from wordbias.commands.gate import FAILED, JUNIT
from wordbias.commands.shell import argument, format_option, option, shell, show
from wordbias.functions.run import Checked, run


def _show(checks: object, to: str, quiet: bool) -> None:
    """Print the checks; exit with the status of a condition that failed, or of an error."""
    assert isinstance(checks, Checked)
    if to == JUNIT:
        click.echo(checks.junit(), nl=False)
    else:
        show(checks, to, quiet=quiet)
    statuses = {outcome.status for outcomes in checks.outcomes.values() for outcome in outcomes}
    if statuses & {"failed", "error"}:
        click.get_current_context().exit(FAILED if "failed" in statuses else 1)


command: click.Command = shell(
    run,
    argument("checks", required=True, metavar="CHECKS.TOML"),
    option("output", "-o", "--output", metavar="JUNIT.XML"),
    listed="""
CHECKS.TOML:
  [classifier]
  command = "fairness"
  predictions = "predictions.csv"
  fail-if = ["tpr-gap[set=sum] > .3", "accuracy[set=all] < .8"]
""",
    examples="""
        wordbias run checks.toml
        wordbias run checks.toml -o junit.xml
        wordbias run checks.toml --format json > checks.json
    """,
    shown=_show,
    extra=[format_option()],
    plot=False,
    rows=False,
)
