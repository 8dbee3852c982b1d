"""`wordbias debias`: any method, or several in order, on any file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import click

from wordbias.commands.debias_views import debias_report
from wordbias.commands.inputs import Reading, Subject, open_subject
from wordbias.commands.method_options import (
    FILES,
    as_option,
    given_settings,
    method_options,
)
from wordbias.commands.options import (
    common_options,
    format_option,
    note,
    reading_options,
    seed_option,
    show,
    split_names,
    vocabulary_options,
)
from wordbias.debias.fitted import Chain
from wordbias.debias.methods import (
    METHODS,
    fit_chain,
    head_of,
    parse_methods,
    refuse_unused,
    wanted_by,
)
from wordbias.debias.origin import Origin
from wordbias.debias.storage import save_chain
from wordbias.embedding import Embedding
from wordbias.formats.atomic import check_writable, refuse_same
from wordbias.measures.panel import make_panels
from wordbias.measures.sembias import SemBias
from wordbias.measures.table import FAMILIES, table_rows
from wordbias.results import Row
from wordbias.wordlists import Attribute, wordlist

_METHODS = "\n".join(
    f"  {name:18} {method.summary} ({method.paper})" for name, method in METHODS.items()
)
_HELP = f"""Debias EMBEDDING with METHODS, one or several with commas between, and write the result.

Several are applied in order, each fitted on what the one before left. Without EMBEDDING the sample
that comes with wordbias is used. leace needs the extra leace, gender-preserving the extra torch.

\b
METHODS, and what they do:
{_METHODS}

\b
Examples:
  wordbias debias hard --measure --only midb,direct-bias
  wordbias debias hard,misp glove.txt -o debiased.txt
  wordbias debias inlp glove.txt --classes 2 --save-transform inlp.safetensors
  wordbias debias gn-glove gn_glove.txt --drop-last -o wa.txt
"""


@click.command(help=_HELP)
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
    """Fit, apply, measure, write; `_HELP` is what a user reads."""
    names = parse_methods(methods)
    chosen = given_settings(names, settings)
    refuse_unused(names, chosen, as_option)
    measuring = {
        "--only": only,
        "--sembias": sembias_file,
        "--vocab": vocab_file,
        "--strict-vocab": strict_vocab,
    }
    _refuse_idle(measuring if not measure else {}, bool(attribute_file) and "sets" in chosen)
    read = {as_option(key): chosen.get(key) for key in FILES}
    read |= {"--attribute": attribute_file, "--sembias": sembias_file, "--vocab": vocab_file}
    _refuse_clashes(read, embedding, output, save_transform)
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
    reached = subject.write_words(chain, done, partial(_save, save_transform, chain, subject))
    about = [] if names == ["multi-hard"] and not attribute_file else [attribute.name]
    report = debias_report(subject, chain, done, reached, measured, about)
    closing = [] if measure else ["--measure takes the measures before and after."]
    if save_transform is not None:
        closing.append(f"Fitted: {save_transform}; wordbias apply {save_transform} FILE -o OUT.")
    report = replace(report, closing=[*closing, subject.written()], seed=settings["seed"])
    show(report, to)
    for said in report.notes:
        note(said, quiet)


def _refuse_idle(measuring: Mapping[str, Any], both: bool) -> None:
    """Refuse options that would do nothing."""
    for name, value in measuring.items():
        if value:
            raise click.UsageError(f"{name} is for --measure, which is not given")
    if both:
        raise click.UsageError("multi-hard takes --sets or the pairs of --attribute, not both")


def _refuse_clashes(
    read: Mapping[str, str | None],
    embedding: str | None,
    output: str | None,
    save_transform: str | None,
) -> None:
    """Refuse outputs over what is read; only the embedding may be replaced by its own."""
    refuse_same({"-o": output}, read)
    read = {**read, "EMBEDDING": embedding, "-o": output}
    refuse_same({"--save-transform": save_transform}, read)
    if save_transform is not None:
        check_writable(save_transform)


def _save(path: str | None, chain: Chain, subject: Subject, sha256: str) -> None:
    if path is not None:
        save_chain(path, chain, Origin.of(subject.embedding, subject.info.words, sha256))


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
