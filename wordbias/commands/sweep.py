"""`wordbias sweep`: all 74 settings, their bias and their fairness, in one command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from wordbias.commands.mab_views import list_options
from wordbias.commands.options import (
    common_options,
    format_option,
    given_arguments,
    note,
    seed_option,
    show,
    split_names,
)
from wordbias.commands.sweep_views import (
    best_rows,
    best_table,
    records,
    remarks,
    sentences,
    table7,
    weighting_table,
)
from wordbias.contextual.fitting import Recipe
from wordbias.contextual.nli_fairness import DROP, PARITIES, Viability
from wordbias.contextual.observing import TOKENS
from wordbias.contextual.sent_debias import LIMIT
from wordbias.contextual.stereoset.gsss import load_gsss
from wordbias.contextual.stereoset.measuring import Settings
from wordbias.contextual.stereoset.repair import repair as repair_swaps
from wordbias.contextual.stereoset.scores import ROUNDINGS, SHARE, extremes
from wordbias.contextual.table7 import BASE, Entry, load_table
from wordbias.contextual.table7_summaries import (
    attention,
    best_by_level,
    summary_rows,
    weighting,
)
from wordbias.contextual.text_pairs import load_text_pairs
from wordbias.errors import WordbiasError
from wordbias.formats.atomic import check_writable, refuse_same, replacing
from wordbias.nli.test_sets import TestSet, build
from wordbias.optional import need
from wordbias.rendering import as_csv
from wordbias.results import Report, Row
from wordbias.wordlists import Templates

_PURPOSE = "A sweep"
_BACKENDS = ("loky", "dask", "ray")


@click.command()
@click.argument("model", required=False)
@click.option("--stereoset", "stereoset_file", metavar="FILE", help="Enhanced StereoSet (CSV).")
@click.option("--nli", "nli_model", metavar="MODEL2", help="An NLI model of the same kind.")
@click.option("--snli", "snli_file", metavar="FILE", help="Labelled pairs: jsonl or TSV.")
@click.option("--table", "table_file", metavar="CSV", help="Summarise a table of all settings.")
@click.option("--pairs", metavar="FILE", help="Sentence pairs to fit on: TOML, or with a tab.")
@click.option(
    "--tokens",
    type=click.Choice(TOKENS),
    default="mean",
    show_default=True,
    help="Of which tokens subspaces of tokens and attention are fitted.",
)
@click.option("--sent-debias", "text", metavar="TEXT", help="Fit that baseline too, on a text.")
@click.option(
    "--limit",
    type=click.IntRange(2),
    default=LIMIT,
    show_default=True,
    help="With --sent-debias: pairs of sentences to draw from the text.",
)
@click.option("--next-label", metavar="NAME", help="Output of MODEL that means: is next.")
@click.option("--labels", callback=split_names, help="Order of MODEL2's outputs.")
@click.option(
    "--share",
    type=click.FloatRange(0, 1, min_open=True),
    default=SHARE,
    show_default=True,
    help="Of the triples that are most extreme.",
)
@click.option(
    "--rounding", type=click.Choice(ROUNDINGS), default=ROUNDINGS[0], show_default=True,
    help="Of that share to a whole number of triples.",
)  # fmt: skip
@click.option("--repair/--no-repair", default=True, show_default=True, help="Of the swaps, beside.")
@click.option(
    "--parity", type=click.Choice(PARITIES), default=PARITIES[0], show_default=True, help="Of η."
)
@click.option(
    "--drop",
    type=click.FloatRange(0, 1),
    default=DROP,
    show_default=True,
    help="SNLI accuracy that a viable model may lose.",
)
@click.option("--relative", is_flag=True, help="Take --drop as a share of the base's accuracy.")
@list_options
@click.option("-o", "--output", metavar="CSV", help="Table 7; beside it lies what is half done.")
@click.option("--plot", metavar="FILE", help="Draw η against S: .png, .pdf or .svg.")
@click.option("--device", help="cpu or cuda.  [default: cuda if there is one]")
@click.option(
    "--jobs", type=click.IntRange(1), default=1, show_default=True, help="Processes at a time."
)
@click.option(
    "--backend",
    type=click.Choice(_BACKENDS),
    default=_BACKENDS[0],
    show_default=True,
    help="Of joblib, for --jobs.",
)
@seed_option
@format_option
@common_options
def command(to: str, quiet: bool, **given: Any) -> None:
    """Measure bias and fairness under all 74 projections of Dawkins et al. (2024), their Table 7.

    MODEL says whether a sentence is next (see stereoset), MODEL2 whether one follows from another
    (see nli-fairness); both are folders, or names on the hub. Subspaces are fitted on each, both
    unmodified, as wordbias project does. All settings together cost little more than one pass of
    each model over its data: layers below the lowest intervention are run once, the last one for
    its first token alone. After an interruption the same command, with -o, goes on.

    \b
    Examples:
      wordbias sweep bert-nsp --stereoset gsss/dev.csv --nli bert-nli --snli snli_test.jsonl
      wordbias sweep bert-nsp --stereoset gsss/dev.csv --nli bert-nli --snli snli_test.jsonl
        --sent-debias wikitext.txt -o table7.csv --plot table7.pdf
      wordbias sweep --table table7.csv
    """
    options = _Options(**given)
    options.check()
    if options.table_file is not None:
        entries = load_table(options.table_file)
        rows: list[Row] = []
        inputs: dict[str, Any] = {"table": {"path": options.table_file}}
    else:
        entries, rows, inputs = _measured(options)
    notes = remarks(entries, options.drop, options.relative)
    if options.table_file is None and options.text is None:
        notes.append("without SENT-Debias: it needs a text, --sent-debias TEXT")
    tables, closing, more = _summarised(entries, options, notes)
    _write(entries, options)
    report = Report(
        "sweep",
        given_arguments(),
        inputs,
        [*rows, *more],
        tables,
        [_heading(options)],
        closing,
        options.seed,
        notes,
    )
    show(report, to)
    for said in notes:
        note(said, quiet)


@dataclass(frozen=True)
class _Options:
    """What was asked for."""

    model: str | None
    stereoset_file: str | None
    nli_model: str | None
    snli_file: str | None
    table_file: str | None
    pairs: str | None
    tokens: str
    text: str | None
    limit: int
    next_label: str | None
    labels: list[str] | None
    share: float
    rounding: Any
    repair: bool
    parity: Any
    drop: float
    relative: bool
    lists: str | None
    as_published: bool
    output: str | None
    plot: str | None
    device: str | None
    jobs: int
    backend: str
    seed: int

    def check(self) -> None:
        """Refuse early what would fail after the work."""
        needed = {
            "MODEL": self.model,
            "--stereoset": self.stereoset_file,
            "--nli": self.nli_model,
            "--snli": self.snli_file,
        }
        if self.table_file is not None:
            if any(needed.values()):
                raise click.UsageError("--table summarises what is measured; give it alone")
        elif missing := [name for name, value in needed.items() if value is None]:
            raise click.UsageError(f"missing {', '.join(missing)} (or --table CSV)")
        if self.plot is not None:
            from wordbias.report.plots import check_plot

            check_plot(self.plot)
        if self.output is not None:
            check_writable(self.output)
        read = {
            "--stereoset": self.stereoset_file,
            "--snli": self.snli_file,
            "--table": self.table_file,
            "--pairs": self.pairs,
            "--sent-debias": self.text,
        }
        refuse_same({"-o": self.output, "--plot": self.plot}, read)

    def test_set(self) -> TestSet:
        """Return the occupations' pairs."""
        return build("parity", Templates.load(self.lists), as_published=self.as_published)

    def part_file(self, what: str) -> Path | None:
        """Return where half-done outputs are kept."""
        if self.output is None:
            return None
        path = Path(self.output)
        return path.with_name(f"{path.name}.{what}.part")


def _measured(options: _Options) -> tuple[list[Entry], list[Row], dict[str, Any]]:
    """Load what is read, sooner what is refused sooner, and sweep."""
    study = need("wordbias.contextual.sweep.study", extra="contextual", purpose=_PURPOSE)
    runner = need("wordbias.contextual.sweep.runner", extra="contextual", purpose=_PURPOSE)
    measuring = need("wordbias.contextual.sweep.measuring", extra="contextual", purpose=_PURPOSE)
    gsss = load_gsss(str(options.stereoset_file))
    extremes(len(gsss.triples), options.share, options.rounding)
    snli = load_text_pairs(str(options.snli_file))
    versions = {"original": gsss}
    if options.repair:
        versions["repaired"] = repair_swaps(gsss).gsss
    data = study.Data(versions, options.test_set(), snli)
    fitting = study.Fitting(
        Recipe(options.tokens, seed=options.seed), options.pairs, options.text, options.limit
    )
    asked = (options.next_label,) if options.next_label else ()
    sources = {
        "next-sentence": runner.Source("next sentence", options.model, asked, options.device),
        "inference": runner.Source(
            "inference", options.nli_model, tuple(options.labels or ()), options.device
        ),
    }
    judges = {name: source.load() for name, source in sources.items()}
    parts = {
        name: study.Part(sources[name], judge, fitting.fit(judge), options.part_file(name))
        for name, judge in judges.items()
    }
    how = measuring.How(
        Settings(options.share, options.rounding, seed=options.seed),
        options.parity,
        Viability(None, options.drop, options.relative),
    )
    workers = runner.Workers(options.jobs, options.backend)
    found = study.sweep(*parts.values(), data, how, workers)
    inputs = {name: study.facts(part) for name, part in parts.items()}
    inputs["stereoset"] = {"path": gsss.path, "sha256": gsss.sha256, "triples": len(gsss.triples)}
    inputs["snli"] = snli.to_dict()
    return found.entries, found.rows, inputs


def _summarised(
    entries: Sequence[Entry], options: _Options, notes: list[str]
) -> tuple[list[Any], list[str], list[Row]]:
    """Return tables, closing lines and rows; what cannot be summarised is noted."""
    tables, rows = [table7(entries, options.drop, options.relative)], []
    subject = options.table_file or str(options.model)
    if any(one.level == BASE for one in entries):
        best = best_by_level(entries, options.drop, relative=options.relative)
        tables.append(best_table(best))
        rows += best_rows(best, subject)
    tables.append(weighting_table(weighting(entries)))
    rho = None
    try:
        rows += summary_rows(entries, subject, options.seed)
        rho = rows[-1]
    except WordbiasError as error:
        notes.append(str(error))
    written = [f"Written: {path}." for path in (options.output, options.plot) if path]
    return tables, [*sentences(attention(entries), rho), *written], rows


def _write(entries: Sequence[Entry], options: _Options) -> None:
    if options.plot is not None:
        from wordbias.report.strength_fairness import save_strength_fairness

        save_strength_fairness(options.plot, entries, options.drop, relative=options.relative)
    if options.output is not None:
        with replacing(options.output) as file:
            file.write(as_csv(records(entries)).encode())


def _heading(options: _Options) -> str:
    if options.table_file is not None:
        return f"The sweep in {options.table_file}."
    return (
        f"Sweep of {options.model} on {options.stereoset_file} and of {options.nli_model} on the "
        f"occupations and {options.snli_file}."
    )
