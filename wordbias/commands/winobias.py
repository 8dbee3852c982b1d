"""`wordbias winobias`: whether a coreference system goes by the stereotype."""

from __future__ import annotations

from typing import Any

import click

from wordbias.commands.options import (
    common_options,
    format_option,
    given_arguments,
    seed_option,
    show,
)
from wordbias.commands.winobias_plan import SHARES, Asked
from wordbias.commands.winobias_views import closing, sentences_table, tables
from wordbias.measures.bootstrap import SAMPLES
from wordbias.outcomes.winobias.clusters import UNITS
from wordbias.resources import located
from wordbias.results import Report


@click.command()
@click.argument("folder")
@click.option("--clusters", metavar="FILE", help="What a system found: .json or .jsonl.")
@click.option(
    "--spans",
    type=click.Choice(UNITS),
    default=UNITS[0],
    show_default=True,
    help="What its spans count; tokens are those that --sentences writes.",
)
@click.option("--inclusive", is_flag=True, help="Spans name their last place, not the one behind.")
@click.option(
    "--shares", metavar="FILE", help=f"Women in each profession.  [default: {SHARES} in FOLDER]"
)
@click.option(
    "--as-published",
    is_flag=True,
    help="Precision TP/N, differences for sums, no answer left out of separation.",
)
@click.option(
    "--draws",
    type=click.IntRange(0),
    default=SAMPLES,
    show_default=True,
    help="Bootstrap samples; 0 for no intervals.",
)
@click.option("--sentences", metavar="OUT", help="Write the sentences for a system: .jsonl.")
@click.option("--masked", metavar="OUT", help="Write them masked, for encode and probe: .tsv.")
@click.option(
    "--mask",
    default="[MASK]",
    show_default=True,
    help="With --masked: the encoder's mask token.",
)
@seed_option
@format_option
@common_options
def command(folder: str, to: str, quiet: bool, **given: Any) -> None:
    """Score a coreference system on WinoBias (Zhao et al. 2018): whether a nurse has to be she.

    FOLDER has the eight files of WinoBias, pro_stereotyped_type1.txt.dev and so on. Any system
    will do: --sentences writes what it has to read, one {"sentence": …, "tokens": […]} a line, and
    --clusters reads what it found, {"sentence": …, "clusters": [[[0, 8], [17, 20]], …]} a line, or
    one JSON object of clusters by sentence. Reported are CoNLL F1 of pro- and anti-stereotyped
    sentences, and group fairness of the professions that pronouns are taken for. --masked writes
    the sentences for a probe of an encoder.

    \b
    Examples:
      wordbias winobias winobias/ --sentences sentences.jsonl
      wordbias winobias winobias/ --clusters found.jsonl
      wordbias winobias winobias/ --clusters found.json --spans tokens --inclusive
      wordbias winobias winobias/ --masked masked.tsv
      wordbias encode MODEL masked.tsv --span-columns start,end -o masked.st
      wordbias probe masked.st --labels gender --groups profession
    """
    asked = Asked(located(folder), **given)
    asked.check()
    read = asked.read()
    found = asked.found(read)
    rows = [] if found is None else asked.rows(read, found)
    written = asked.write(read)
    notes = asked.notes(found)
    report = Report(
        "winobias",
        given_arguments(),
        asked.about(read, found),
        rows,
        tables(rows) if rows else [sentences_table(read)],
        asked.heading(read),
        [*(closing(rows, asked.settings) if rows else []), *written],
        asked.seed,
        notes,
    )
    show(report, to, quiet=quiet)
