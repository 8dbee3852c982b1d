"""`wordbias debias`: any method, or several in order, on any file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from wordbias.commands.debias_views import found_tables, reach_rows, reach_table
from wordbias.commands.inputs import Reading, Subject, open_subject, refuse_same
from wordbias.commands.method_options import (
    FILES,
    as_option,
    given_settings,
    method_options,
)
from wordbias.commands.options import (
    common_options,
    format_option,
    given_arguments,
    note,
    reading_options,
    seed_option,
    show,
    split_names,
    vocabulary_options,
)
from wordbias.commands.views import measures_tables
from wordbias.debias.methods import fit_chain, head_of, parse_methods, refuse_unused, wanted_by
from wordbias.debias.origin import Origin
from wordbias.debias.storage import save_chain
from wordbias.embedding import Embedding
from wordbias.formats.atomic import check_writable
from wordbias.measures.panel import make_panels
from wordbias.measures.sembias import SemBias
from wordbias.measures.table import FAMILIES, table_rows
from wordbias.results import Report, Row
from wordbias.wordlists import Attribute, wordlist


@click.command()
@click.argument("methods")
@click.argument("embedding", required=False)
@click.option(
    "-o",
    "--output",
    help="Write the debiased vectors, in the format of its suffix, else of EMBEDDING.",
)
@click.option("--save-transform", help="Write what was fitted, for wordbias apply.")
@click.option("--measure", is_flag=True, help="Measure before and after.")
@click.option(
    "--only", callback=split_names, help=f"With --measure: some of {', '.join(FAMILIES)}."
)
@click.option("--sembias", "sembias_file", help="With --measure: the SemBias test set.")
@method_options
@vocabulary_options
@reading_options
@seed_option
@format_option
@common_options
def command(
    methods: str,
    embedding: str | None,
    output: str | None,
    save_transform: str | None,
    measure: bool,
    only: list[str] | None,
    sembias_file: str | None,
    attribute_file: str | None,
    vocab_file: str | None,
    strict_vocab: bool,
    skip_bad: bool,
    allow_pickle: bool,
    cache: bool,
    to: str,
    quiet: bool,
    **settings: Any,
) -> None:
    """Debias EMBEDDING with METHODS, one or several with commas between, and write the result.

    Several are applied in order, each fitted on what the one before left. Without EMBEDDING the
    sample that comes with wordbias is used.

    \b
    METHODS, and what they do:
      misp               remove a subspace softly, weighed by information (Dawkins 2021)
      mhd                remove the same subspace whole (Dawkins 2021)
      hard               neutralise one direction, equalise pairs (Bolukbasi et al. 2016)
      multi-hard         the same over several groups, such as religions (Manzini et al. 2019)
      double-hard        remove a frequency component first (Wang et al. 2020)
      inlp               remove what linear classifiers find, in rounds (Ravfogel et al. 2020)
      leace              the least change that stops them (Belrose et al. 2023; extra leace)
      bam                average with an alignment of pairs (Lauscher et al. 2020)
      oscar              rotate a second concept to 90 degrees (Dev et al. 2021)
      half-sibling       subtract what specific words predict (Yang and Feng 2020)
      ran                repel, attract and neutralise each word (Kumar et al. 2020)
      gender-preserving  autoencoder with classifiers (Kaneko and Bollegala 2019; extra torch)
      gn-glove           split w_a and w_g of GN-GloVe vectors (Zhao et al. 2018)

    \b
    Examples:
      wordbias debias hard --measure --only midb,direct-bias
      wordbias debias hard,misp glove.txt -o debiased.txt
      wordbias debias inlp glove.txt --classes 2 --save-transform inlp.safetensors
      wordbias debias gn-glove gn_glove.txt --drop-last -o wa.txt
    """
    names = parse_methods(methods)
    chosen = given_settings(names, settings)
    refuse_unused(names, chosen, as_option)
    measuring = {
        "only": only,
        "sembias": sembias_file,
        "vocab": vocab_file,
        "strict-vocab": strict_vocab,
    }
    _check_usage(measure, measuring, bool(attribute_file), chosen)
    read: dict[str, str | None] = {as_option(key): chosen[key] for key in FILES if key in chosen}
    read |= {"--attribute": attribute_file, "--sembias": sembias_file, "--vocab": vocab_file}
    refuse_same({"-o": output}, read)
    refuse_same(
        {"--save-transform": save_transform}, {**read, "EMBEDDING": embedding, "-o": output}
    )
    if save_transform is not None:
        check_writable(save_transform)
    attribute = Attribute.load(attribute_file)
    to_measure = _Measuring(
        only or FAMILIES,
        SemBias.load(sembias_file) if sembias_file else None,
        wordlist(vocab_file) if vocab_file else None,
        strict_vocab,
    )
    subject = open_subject(
        embedding,
        Reading(cache, skip_bad, allow_pickle),
        head=head_of(names) or 0,
        wanted=wanted_by(names, attribute, chosen),
        output=output,
        quiet=quiet,
        whole=measure or head_of(names) is None,
    )
    before = subject.embedding
    chain, done = fit_chain(names, before, attribute if attribute_file else None, chosen)
    measured = to_measure.rows(before, done, attribute, settings["seed"]) if measure else []

    def keep(sha256: str) -> None:
        if save_transform is not None:
            save_chain(save_transform, chain, Origin.of(before, subject.info.words, sha256))

    reached = subject.write_words(chain, done, keep)
    rows = [row for part in chain.parts for row in part.found]
    notes = [f"{part.name}: {said}" for part in chain.parts for said in part.warnings]
    report = Report(
        "debias",
        given_arguments(),
        {before.name: subject.info.to_dict()},
        [*rows, *reach_rows(chain, reached, done), *measured],
        [*found_tables(chain), reach_table(chain, reached), *measures_tables(measured)],
        [
            f"{', then '.join(names)} on {subject.described()}",
            *_about(names, attribute, attribute_file),
        ],
        _closing(subject, save_transform, measure),
        settings["seed"],
        notes,
    )
    show(report, to)
    for said in notes:
        note(said, quiet)


def _check_usage(
    measure: bool, measuring: Mapping[str, Any], attribute: bool, settings: Mapping[str, Any]
) -> None:
    """Refuse options that would do nothing."""
    for name, value in measuring.items():
        if value and not measure:
            raise click.UsageError(f"--{name} is for --measure, which is not given")
    if attribute and "sets" in settings:
        raise click.UsageError("multi-hard takes --sets or the pairs of --attribute, not both")


def _about(names: Sequence[str], attribute: Attribute, file: str | None) -> list[str]:
    """Say what the methods are fitted on; multi-hard has sets of its own."""
    if file is None and set(names) == {"multi-hard"}:
        return []
    return [f"Attribute {attribute.name}."]


@dataclass(frozen=True)
class _Measuring:
    """What --measure is to take."""

    only: Sequence[str]
    sembias: SemBias | None
    given: Sequence[str] | None
    strict: bool

    def rows(
        self, before: Embedding, after: Embedding, attribute: Attribute, seed: int
    ) -> list[Row]:
        """Measure both, after against before."""
        panels = make_panels(
            [before, after], before, attribute, self.given, strict=self.strict, seed=seed
        )
        return [
            row for panel in panels for row in table_rows(panel, self.only, sembias=self.sembias)
        ]


def _closing(subject: Subject, save_transform: str | None, measure: bool) -> list[str]:
    said = [] if measure else ["--measure takes the measures before and after."]
    if save_transform is not None:
        said.append(f"Fitted: {save_transform}; wordbias apply {save_transform} FILE -o OUT.")
    return [*said, subject.written()]
