"""`wordbias winobias`: whether a coreference system goes by the stereotype."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from wordbias.commands.options import (
    common_options,
    format_option,
    given_arguments,
    note,
    seed_option,
    show,
)
from wordbias.commands.winobias_views import closing, sentences_table, tables
from wordbias.fairness.metrics import Settings
from wordbias.fairness.shares import load_shares
from wordbias.fairness.winobias.clusters import UNITS, Found, Unit, load_clusters
from wordbias.fairness.winobias.masked import COLUMNS, masked_rows, sentence_lines
from wordbias.fairness.winobias.measuring import classification_rows, f1_rows
from wordbias.fairness.winobias.sentences import Sentence, load_winobias
from wordbias.formats.atomic import check_writable, compressing, refuse_same, replacing
from wordbias.measures.bootstrap import SAMPLES
from wordbias.resources import located
from wordbias.results import Report, Row

_SHARES = "occupational_female_precentage.json"  # as the file that comes with WinoBias is spelled


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
    "--shares", metavar="FILE", help=f"Women in each profession.  [default: {_SHARES} in FOLDER]"
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
def command(
    folder: str,
    clusters: str | None,
    spans: Unit,
    inclusive: bool,
    shares: str | None,
    as_published: bool,
    draws: int,
    sentences: str | None,
    masked: str | None,
    mask: str,
    seed: int,
    to: str,
    quiet: bool,
) -> None:
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
    folder = located(folder)
    outputs = {"--sentences": sentences, "--masked": masked}
    refuse_same(outputs, {"--clusters": clusters, "--shares": shares})
    for path in outputs.values():
        if path is not None:
            check_writable(path)
    read = load_winobias(folder)
    rows: list[Row] = []
    inputs: dict[str, Any] = {"sentences": {"path": folder, "sentences": len(read)}}
    notes: list[str] = []
    settings = Settings(as_published, draws=draws, seed=seed)
    if clusters is not None:
        found = load_clusters(clusters, read, unit=spans, inclusive=inclusive)
        rows = _rows(read, found, shares or _usual_shares(folder), settings)
        inputs["clusters"] = {"path": found.path, "sha256": found.sha256}
        if found.beside:
            notes.append(f"{clusters}: {found.beside:,} sentences are not of {folder}")
    written = _write(read, sentences, masked, mask)
    report = Report(
        "winobias",
        given_arguments(),
        inputs,
        rows,
        tables(rows) if rows else [sentences_table(read)],
        [f"WinoBias in {folder}: {len(read):,} sentences" + (f"; {clusters}." if rows else ".")],
        [*(closing(rows, settings) if rows else []), *written],
        seed,
        notes,
    )
    show(report, to)
    for said in notes:
        note(said, quiet)


def _usual_shares(folder: str) -> str | None:
    file = Path(folder) / _SHARES
    return str(file) if file.is_file() else None


def _rows(
    read: Sequence[Sentence], found: Found, shares: str | None, settings: Settings
) -> list[Row]:
    known = None if shares is None else load_shares(shares)
    return [
        *f1_rows(read, found.clusters, found.path, draws=settings.draws, seed=settings.seed),
        *classification_rows(
            read,
            found.clusters,
            found.path,
            settings,
            shares=known,
            shares_from=shares or "the sentences",
        ),
    ]


def _write(
    read: Sequence[Sentence], sentences: str | None, masked: str | None, mask: str
) -> list[str]:
    """Write what is asked for; say so."""
    said = []
    if sentences is not None:
        _write_text(sentences, "".join(sentence_lines(read)))
        said.append(f"Written: {sentences}; let a coreference system add its clusters.")
    if masked is not None:
        rows = [COLUMNS, *masked_rows(read, mask)]
        _write_text(masked, "".join("\t".join(row) + "\n" for row in rows))
        said.append(
            f"Written: {masked}, {len(rows) - 1:,} professions in sentences; go on with wordbias "
            "encode --span-columns start,end and wordbias probe --labels gender --groups "
            "profession."
        )
    return said


def _write_text(path: str, text: str) -> None:
    with replacing(path) as file, compressing(file, path) as stream:
        stream.write(text.encode())
