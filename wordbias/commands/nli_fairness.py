"""`wordbias nli-fairness`: accuracy, parity and fairness of an NLI model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from wordbias.commands.inputs import Reading
from wordbias.commands.mab_views import list_options
from wordbias.commands.nli_models import HuggingFace, Judged, Ours
from wordbias.commands.options import (
    adapter_options,
    common_options,
    format_option,
    given_arguments,
    note,
    reading_options,
    seed_option,
    show,
    split_names,
)
from wordbias.contextual.nli_fairness import (
    DROP,
    PARITIES,
    Viability,
    fairness_rows,
    occupation_records,
    snli_row,
)
from wordbias.formats.atomic import check_writable, refuse_same, replacing
from wordbias.nli.test_sets import build
from wordbias.rendering import Table, as_csv
from wordbias.results import Report, Row, number
from wordbias.wordlists import Templates

_SNLI = "snli-accuracy"


@click.command()
@click.argument("model", required=False)
@click.option("--snli", "snli_file", metavar="FILE", help="Labelled pairs: accuracy beside.")
@click.option("--embedding", metavar="FILE", help="Of a MODEL that nli-train wrote.")
@click.option(
    "--labels",
    callback=split_names,
    help="Order of the outputs, neutral,entailment,contradiction, where MODEL does not say.",
)
@click.option("--device", help="cpu or cuda.  [default: cuda if there is one]")
@adapter_options
@click.option(
    "--parity",
    type=click.Choice(PARITIES),
    default=PARITIES[0],
    show_default=True,
    help="Of η: labels of the mean over templates agree, or of every template.",
)
@click.option(
    "--base-snli",
    type=click.FloatRange(0, 1),
    help="SNLI accuracy before debiasing.  [default: of MODEL without adapter]",
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
@click.option("-o", "--output", metavar="CSV", help="Every occupation by itself.")
@reading_options
@seed_option
@format_option
@common_options
def command(
    model: str | None,
    snli_file: str | None,
    embedding: str | None,
    labels: list[str] | None,
    device: str | None,
    adapter: str | None,
    settings_named: tuple[str, ...],
    force: bool,
    parity: Any,
    base_snli: float | None,
    drop: float,
    relative: bool,
    lists: str | None,
    as_published: bool,
    output: str | None,
    skip_bad: bool,
    allow_pickle: bool,
    cache: bool,
    seed: int,
    to: str,
    quiet: bool,
) -> None:
    """Measure whether an NLI model takes a doctor for a man (Dawkins et al. 2024, section 3).

    The premise is "The doctor bought a hat.", the hypothesis "The man bought a hat." or "The woman
    …", for 164 occupations and 33 templates: 10,824 pairs, all of them neutral. Accuracy is the
    share predicted so, parity the share of occupations whose prediction does not depend on gender,
    and fairness η their product.

    MODEL is a Hugging Face model with three labels (a folder, or a name on the hub), or a file
    that wordbias nli-train wrote, with its --embedding. Without MODEL it is the one that comes with
    wordbias, on the sample.

    \b
    Examples:
      wordbias nli-fairness
      wordbias nli-fairness debiased.nli.safetensors --embedding debiased.txt
      wordbias nli-fairness my-bert-nli --snli snli_1.0_test.jsonl
      wordbias nli-fairness my-bert-nli --snli test.tsv --adapter nli.st --setting L11-11101
    """
    is_ours = model is None or Path(model).is_file()
    _check_usage(is_ours, model, embedding, bool(labels or device), adapter, settings_named)
    if output is not None:
        check_writable(output)
        read = {"MODEL": model, "--embedding": embedding, "--snli": snli_file, "--adapter": adapter}
        refuse_same({"-o": output}, read)
    test = build("parity", Templates.load(lists), as_published=as_published)
    reading = Reading(cache, skip_bad, allow_pickle)
    judged: Judged
    if is_ours:
        judged = Ours.load(model, embedding, reading, quiet, snli_file)
    else:
        judged = HuggingFace.load(str(model), labels, device, snli_file)
    rows: list[Row] = []
    records: list[dict[str, Any]] = []
    for setting, context in judged.runs(adapter, settings_named, force):
        with context:
            found = judged.score(test)
            right = judged.snli_accuracy()
        subject = judged.subject
        rows += fairness_rows(test, found, subject, parity=parity, setting=setting, seed=seed)
        records += [{"setting": setting, **one} for one in occupation_records(test, found)]
        if right is not None:
            kept = Viability(base_snli, drop, relative)
            rows.append(snli_row(*right, subject, setting=setting, viability=kept))
            base_snli = right[0] if base_snli is None else base_snli
    if output is not None:
        with replacing(output) as stream:
            stream.write(as_csv(records).encode())
    notes = judged.notes
    report = Report(
        "nli-fairness",
        given_arguments(),
        judged.inputs,
        rows,
        [_table(rows, parity, drop, relative)],
        [f"NLI fairness of {judged.described}: {len(test):,} pairs, all of them neutral."],
        [f"Written: {output}."] if output else [],
        seed,
        notes,
    )
    show(report, to)
    for said in notes:
        note(said, quiet)


def _check_usage(
    is_ours: bool,
    model: str | None,
    embedding: str | None,
    of_hf: bool,
    adapter: str | None,
    names: Sequence[str],
) -> None:
    if bool(adapter) != bool(names):
        raise click.UsageError("--adapter and --setting go together")
    if is_ours and (of_hf or adapter):
        raise click.UsageError("--labels, --device and --adapter are for a Hugging Face model")
    if embedding and (not is_ours or model is None):
        raise click.UsageError("--embedding is for a model file that wordbias nli-train wrote")


def _table(rows: Sequence[Row], parity: str, drop: float, relative: bool) -> Table:
    """One line a setting."""
    cells = []
    for setting in dict.fromkeys(row.details["setting"] for row in rows):
        found = {_key(row): row for row in rows if row.details["setting"] == setting}
        line = [setting or "as it is"]
        line += [_with_interval(found[key]) for key in found if key != _SNLI]
        if snli := found.get(_SNLI):
            viable = snli.details.get("viable")
            verdict = "" if viable is None else ", viable" if viable else ", not viable"
            line.append(f"{number(snli.value)}{verdict}")
        cells.append(line)
    heads = ["accuracy", "parity, mean", "parity, strict", "fairness η"]
    has_snli = any(row.measure == _SNLI for row in rows)
    limit = f"{drop:.0%} of the base" if relative else f"{100 * drop:g} points"
    viability = f" Viable: loses at most {limit} on SNLI." if has_snli else ""
    return Table(
        rows[0].subject,
        ["", *heads, *(["SNLI"] if has_snli else [])],
        cells,
        f"1 is best. η = accuracy · parity ({parity}). 95 % intervals draw the occupations "
        f"again.{viability}",
    )


def _key(row: Row) -> str:
    """Both kinds of parity have one name."""
    return f"{row.measure} {row.details['parity']}" if row.measure == "nli-parity" else row.measure


def _with_interval(row: Row) -> str:
    return f"{number(row.value, 3)} {row.details['low']:.2f}…{row.details['high']:.2f}"
