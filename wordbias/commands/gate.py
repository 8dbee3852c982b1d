"""The gate: --fail-if of every command that gives rows, its exit status, and --format junit."""

from __future__ import annotations

from collections.abc import Sequence

import click

from wordbias.conditions import Outcome, baseline_rows, parse
from wordbias.errors import UsageError, printable
from wordbias.results import Row

JUNIT = "junit"
FAILED, WRONG = 3, 2
"""Exit statuses: a condition failed; one could not be asked, which is wrong usage."""


def gate_options() -> list[click.Option]:
    """Return --fail-if and --baseline."""
    return [
        click.Option(
            ["--fail-if"],
            multiple=True,
            metavar="CONDITION",
            help="Exit with status 3 if a row meets a condition, such as 'tpr-gap[set=sum] > .3', "
            "or is undefined. It may be repeated. In Python Report.check states what must hold.",
        ),
        click.Option(
            ["--baseline"],
            metavar="FILE",
            help="For --fail-if 'change MEASURE > .02': result before, as --format json prints it.",
        ),
    ]


def check_gate(conditions: Sequence[str], baseline: object, *, junit: bool) -> Sequence[Row] | None:
    """Refuse what cannot be judged, before the work; return the rows of the baseline."""
    if not conditions:
        given = "--format junit" if junit else "--baseline" if baseline is not None else ""
        if given:
            raise UsageError(f'{given}: goes with conditions; add --fail-if "tpr-gap > .1"')
        return None
    for text in conditions:
        parse(text)
    return baseline_rows(baseline, conditions)


def tell(outcomes: Sequence[Outcome], *, quiet: bool) -> int:
    """Print a line for each condition on stderr; return the exit status."""
    for outcome in outcomes:
        if outcome.status != "passed" or not quiet:
            start = "wordbias" if outcome.status == "error" else outcome.status
            click.echo(
                printable(f"{start}: --fail-if '{outcome.condition}': {outcome.said}"), err=True
            )
    statuses = {judged.status for judged in outcomes}
    return FAILED if "failed" in statuses else WRONG if "error" in statuses else 0
