"""What `wordbias.likelihood` does with an encoder, whose heads score next sentences and blanks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wordbias.errors import WordbiasError
from wordbias.formats.files import replacing
from wordbias.measures.registry import column_title
from wordbias.models.adapters import Adapter, load_adapter
from wordbias.models.model_like import ModelLike
from wordbias.rendering import Table, as_csv, how_many
from wordbias.reports import Report
from wordbias.results import Row, number
from wordbias.stereotypes.crows_pairs import CrowsPairs
from wordbias.stereotypes.encoders import Data, Found, Scorer
from wordbias.stereotypes.gsss import Gsss, Repaired
from wordbias.stereotypes.gsss import repair as repair_swaps
from wordbias.stereotypes.scores import Settings, extremes
from wordbias.stereotypes.stereoset import KINDS, StereoSet

_MEASURES = ("strength", "opposite-strength", "distance", "mean-strength", "ss")
_SUBSETS = {"M": "about men", "F": "about women"}


def measure_encoder(
    model: ModelLike,
    sets: Sequence[Data],
    settings: Settings,
    adapter: Adapter | None,
    names: Sequence[str],
    *,
    force: bool,
    next_label: str | None,
    device: str | None,
    target: str | None,
    about: Mapping[str, object],
) -> Report:
    """Measure each data set without an adapter and with each of its settings; write the scores."""
    done, tables, heading = Found([], []), list[Table](), list[str]()
    inputs, heads, notes = dict[str, Mapping[str, object]](), list[str](), list[str]()
    for i, data in enumerate(sets, 1):
        if isinstance(data, Gsss):
            extremes(len(data.triples), settings.share, settings.rounding)
        repaired = repair_swaps(data) if isinstance(data, Gsss) else None
        scorer = Scorer.load(model, data, next_label=next_label, device=device)
        found, missing = _measured(scorer, data, repaired, settings, adapter, names, force)
        subjects = dict.fromkeys(row.subject for row in found.rows)
        done.rows.extend(found.rows)
        done.records.extend(found.records)
        tables += [
            _table([row for row in found.rows if row.subject == subject], settings.as_published)
            for subject in subjects
        ]
        heading.append(f"{scorer.name} on {_described(data)}.")
        heads += [one for one in _heads(scorer) if one not in heads]
        inputs |= {"model": {**_about(scorer), "heads": heads, **about}}
        inputs[f"data {i}"] = _about_data(scorer, data)
        notes += [*scorer.missing, *_notes(data, repaired, scorer.masked is not None), *missing]
    if target is not None:
        with replacing(target) as stream:
            stream.write(as_csv(done.records).encode())
    return Report(
        inputs=inputs,
        rows=done.rows,
        tables=tables,
        heading=heading,
        closing=[] if target is None else [f"Written: {target}."],
        seed=settings.seed,
        notes=list(dict.fromkeys(notes)),
    )


def _measured(
    scorer: Scorer,
    data: Data,
    repaired: Repaired | None,
    settings: Settings,
    adapter: Adapter | None,
    names: Sequence[str],
    force: bool,
) -> tuple[Found, list[str]]:
    """Measure the model unmodified and with each setting; return also the missing heads."""
    runs: list[tuple[str, list[Any]]] = [("", [])]
    head = scorer.next_sentence or scorer.masked
    if adapter is not None and head is not None:
        adapter = load_adapter(head.model, adapter, force=force)
        runs += [(name, adapter.interventions(name)) for name in names]
    done, missing = Found([], []), list[str]()
    before: Sequence[Mapping[str, object]] = []
    for name, interventions in runs:
        subject = f"{scorer.name} {name}" if name else scorer.name
        reachable = scorer.with_sites(interventions)
        with reachable.applied(interventions):
            found = reachable.measure(data, subject, settings, repaired)
        if name and all(record in before for record in found.records):
            raise WordbiasError(
                f"{scorer.name}: the setting {name} changes no score, as no score depends on what "
                "it changes (a masked word is not predicted from the last layer's CLS token); "
                "choose sites such as tokens@L, attention@L and, below the last layer, cls@L"
            )
        before = before or found.records
        done.rows.extend(found.rows)
        done.records.extend({"model": subject, **record} for record in found.records)
        missing += [f"{name}: {reason}" for reason in reachable.missing]
    return done, missing


def _heads(scorer: Scorer) -> list[str]:
    """Return the names of the classes of the heads."""
    heads = (scorer.next_sentence, scorer.masked)
    return [type(one.model).__name__ for one in heads if one is not None]


def _about(scorer: Scorer) -> dict[str, object]:
    """Return a model as an input of the report."""
    head = scorer.next_sentence or scorer.masked
    about: dict[str, object] = {"path": scorer.name, "device": head.device if head else None}
    if scorer.next_sentence is not None:
        about["is next"] = scorer.next_sentence.place
    return about


def _about_data(scorer: Scorer, data: Data) -> dict[str, object]:
    """Return a data set as an input of the report."""
    about: dict[str, object] = {"path": data.path, "sha256": data.sha256}
    if isinstance(data, StereoSet) and scorer.masked is not None and data.several_blanks:
        kept = "taken as published" if data.as_published else "left out"
        about[kept] = data.several_blanks
    return about


def _described(data: Data) -> str:
    """Name a data file and what is in it."""
    if isinstance(data, Gsss):
        return f"enhanced StereoSet, {how_many(len(data.triples), 'triple')} ({data.path})"
    if isinstance(data, CrowsPairs):
        return f"CrowS-Pairs, {how_many(len(data.pairs), 'pair')} ({data.path})"
    between, within = (len(data.items[kind]) for kind in KINDS)
    return f"StereoSet, {between} between and {within} within sentences ({data.path})"


def _notes(data: Data, repaired: Repaired | None, blanks: bool) -> list[str]:
    """Return notes on swaps and, if blanks are scored, on items with several blanks."""
    if isinstance(data, StereoSet) and blanks and data.several_blanks:
        names = data.several_blanks
        several = (
            f"{len(names)} of {how_many(len(data.items['intrasentence']), 'item')} within "
            f"sentences have more than one blank ({', '.join(names)})"
        )
        if data.as_published:
            return [f"{several}; the word of the last one is taken, as StereoSet's loader does"]
        return [f"{several} and are left out; --as-published takes them"]
    if not isinstance(data, Gsss):
        return []
    notes = []
    if repaired is not None:
        counts = ", ".join(f"{rule} in {count}" for rule, count in repaired.counts().items())
        triples = f"{len(repaired.ids())} of {how_many(len(data.triples), 'triple')}"
        notes.append(f"sentences whose swap was repaired: {counts}; {triples}")
    if altered := data.altered_unrelated():
        notes.append(
            f"{len(altered)} unrelated sentences are not the same after the swap, though the paper "
            "says they are; D uses them unchanged"
        )
    if same := data.unswapped():
        notes.append(f"nothing is swapped in the triples {', '.join(same)}: their s is 0")
    return notes


def _table(rows: Sequence[Row], as_published: bool) -> Table:
    """Return the table of one model."""
    if rows[0].measure == "crows":
        return Table(
            rows[0].subject,
            ["pairs", "n", "stereotyping one likelier", "95 %"],
            [
                [row.details["subset"], str(row.details["n"]), number(row.value), _interval(row)]
                for row in rows
            ],
            "No preference is .5; the intervals are a bootstrap over pairs.",
        )
    if "task" not in rows[0].details:
        return _gsss_table(rows)
    found = {(row.details["task"], row.details["subset"], row.measure): row for row in rows}
    cells = []
    for key in dict.fromkeys((row.details["task"], row.details["subset"]) for row in rows):
        of = [found[*key, measure] for measure in ("ss", "lms", "icat")]
        values = [
            f"{number(row.value, 3)} [{row.details['low']:.2f}, {row.details['high']:.2f}]"
            for row in of
        ]
        cells.append([*key, str(of[0].details["n"]), *values])
    average = "terms" if as_published else "triples"
    return Table(
        rows[0].subject,
        ["task", "about", "n", "ss (.5 is none)", "lms (1 is best)", "icat (1 is best)"],
        cells,
        f"Means over {average}; 95 % intervals: bootstrap over triples.",
    )


def _gsss_table(rows: Sequence[Row]) -> Table:
    """Return one line a measure and subset, the published swaps beside the repaired ones."""
    versions = list(dict.fromkeys(row.details["version"] for row in rows))
    found = {(row.measure, row.details["subset"], row.details["version"]): row for row in rows}
    subsets = list(dict.fromkeys(row.details["subset"] for row in rows))
    cells = []
    for measure in (one for one in _MEASURES if any(row.measure == one for row in rows)):
        for subset in subsets:
            of = [found[measure, subset, version] for version in versions]
            about = of[0].details
            label = column_title(measure) + (f", {_SUBSETS[subset]}" if subset in _SUBSETS else "")
            neutral = number(about["neutral"], 1).removesuffix(".0")
            values = [cell for row in of for cell in (number(row.value), _interval(row))]
            cells.append([label, str(about.get("extremes", about["n"])), neutral, *values])
    s = next(row.details for row in rows if row.measure == "strength")
    by = "of largest |s|" if s["by"] == "absolute" else "of largest s"
    return Table(
        rows[0].subject,
        ["", "n", "no bias", *(head for version in versions for head in (version, "95 %"))],
        cells,
        f"S and D are means of the {s['share']:.0%} of triples {by} and of largest d. A mean of "
        "the most extreme is above 0 by chance, and so is its interval: compare S with S of the "
        "opposite, which has the labels exchanged. The intervals are a bootstrap over triples.",
    )


def _interval(row: Row) -> str:
    low, high = (round(row.details[end], 3) + 0.0 for end in ("low", "high"))  # no minus zero
    return f"{low:.3f} … {high:.3f}"
