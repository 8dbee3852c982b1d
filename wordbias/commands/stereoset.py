"""`wordbias stereoset`: what a model prefers in StereoSet, with a gender-swapped control."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from wordbias.commands.encoder_options import (
    adapter_options,
    check_adapter,
    extremes_options,
    next_label_option,
    repair_option,
)
from wordbias.commands.options import (
    common_options,
    device_option,
    format_option,
    given_arguments,
    note,
    seed_option,
    show,
)
from wordbias.commands.stereoset_views import describe, notes_about, tables
from wordbias.contextual.stereoset.data import load_data
from wordbias.contextual.stereoset.gsss import Gsss
from wordbias.contextual.stereoset.repair import repair as repair_swaps
from wordbias.contextual.stereoset.scores import extremes
from wordbias.contextual.stereoset.settings import Settings
from wordbias.errors import WordbiasError
from wordbias.formats.atomic import check_writable, refuse_same, replacing
from wordbias.optional import need
from wordbias.rendering import as_csv
from wordbias.resources import located
from wordbias.results import Report, Row

if TYPE_CHECKING:
    from wordbias.contextual.stereoset.judging import Judge

_PURPOSE = "Measuring an encoder"


@click.command()
@click.argument("model")
@click.option(
    "--data",
    "file",
    required=True,
    help="Enhanced StereoSet (CSV), StereoSet (JSON) or CrowS-Pairs (CSV).",
)
@adapter_options
@extremes_options
@click.option("--absolute", is_flag=True, help="Take |s| for S: bias in either direction.")
@repair_option
@click.option(
    "--as-published",
    is_flag=True,
    help="Score ties and average over terms as the data's own code does.",
)
@next_label_option
@device_option
@click.option("-o", "--output", metavar="CSV", help="Every triple or pair with its scores.")
@seed_option
@format_option
@common_options
def command(
    model: str,
    file: str,
    adapter: str | None,
    settings_named: tuple[str, ...],
    force: bool,
    share: float,
    rounding: Any,
    absolute: bool,
    repair: bool,
    as_published: bool,
    next_label: str | None,
    device: str | None,
    output: str | None,
    seed: int,
    to: str,
    quiet: bool,
) -> None:
    """Measure which sentences MODEL prefers: stereotypes or their opposites.

    On enhanced StereoSet (Dawkins et al. 2024): Strength S of stereotypes, beside which every
    triple has one with the genders swapped, Distance D between the genders, and the stereotype
    score SS. On StereoSet (Nadeem et al. 2021): ss, lms and icat, between sentences and within. On
    CrowS-Pairs (Nangia et al. 2020): how often the more stereotyping sentence is likelier.

    MODEL is a folder or a name on the hub. Pairs of sentences need a head for next-sentence
    prediction or a classifier with two labels, single sentences a masked-language head.

    \b
    Examples:
      wordbias stereoset bert-base-uncased --data gsss/dev.csv
      wordbias stereoset bert-base-uncased --data dev.csv --adapter a.st --setting L11-11101
      wordbias stereoset roberta-base --data stereoset/dev.json -o scores.csv
      wordbias stereoset roberta-base --data crows_pairs_anonymized.csv --format json
    """
    check_adapter(adapter, settings_named)
    if output is not None:
        check_writable(output)
        refuse_same({"-o": output}, {"--data": file, "--adapter": adapter})
    data = load_data(located(file))
    settings = Settings(share, rounding, absolute, as_published, seed)
    repaired = repair_swaps(data) if repair and isinstance(data, Gsss) else None
    if isinstance(data, Gsss):
        extremes(len(data.triples), share, rounding)
    judging = need("wordbias.contextual.stereoset.judging", extra="contextual", purpose=_PURPOSE)
    judge = judging.Judge.load(model, data, next_label=next_label, device=device)
    rows: list[Row] = []
    records: list[dict[str, Any]] = []
    notes = [*judge.missing, *notes_about(data, repaired)]
    for one in _runs(judge, adapter, settings_named, force):
        reached = judge.reached(one.interventions)
        with reached.intervened(one.interventions):
            found = reached.judge(data, one.subject, settings, repaired)
        rows += found.rows
        records += [{"model": one.subject, **record} for record in found.records]
        notes += [f"{one.setting}: {reason}" for reason in reached.missing]
    if output is not None:
        with replacing(output) as stream:
            stream.write(as_csv(records).encode())
    inputs = {"model": _about(judge, adapter), "data": {"path": data.path, "sha256": data.sha256}}
    report = Report(
        "stereoset",
        given_arguments(),
        inputs,
        rows,
        tables(rows, settings),
        [f"{model} on {describe(data)}."],
        [f"Written: {output}."] if output else [],
        seed,
        notes,
    )
    show(report, to)
    for said in notes:
        note(said, quiet)


@dataclass(frozen=True)
class _Run:
    subject: str
    setting: str = ""
    interventions: Sequence[Any] = ()


def _runs(judge: Judge, adapter: str | None, names: Sequence[str], force: bool) -> list[_Run]:
    """Return the model as it is, and with each setting of an adapter."""
    runs = [_Run(judge.name)]
    if adapter is None:
        return runs
    adapters = need("wordbias.contextual.adapters", extra="contextual", purpose=_PURPOSE)
    head = judge.following or judge.masked
    if head is None:
        raise WordbiasError(f"{judge.name}: was loaded without a head")
    fitted = adapters.load_adapter(head.model, adapter, force=force)
    return runs + [
        _Run(f"{judge.name} {name}", name, fitted.interventions(name))
        for name in dict.fromkeys(names)
    ]


def _about(judge: Judge, adapter: str | None) -> dict[str, Any]:
    heads = [one for one in (judge.following, judge.masked) if one is not None]
    about: dict[str, Any] = {
        "path": judge.name,
        "heads": [type(one.model).__name__ for one in heads],
        "device": heads[0].device,
    }
    if judge.following is not None:
        about["is next"] = judge.following.place
    return about | ({"adapter": adapter} if adapter else {})
