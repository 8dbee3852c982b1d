"""Preferences of a model between sentences: StereoSet, enhanced StereoSet and CrowS-Pairs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from wordbias.arguments import check_number
from wordbias.calls import public
from wordbias.contextual.adapters import Adapter, load_adapter
from wordbias.contextual.stereoset.crows_pairs import CrowsPairs
from wordbias.contextual.stereoset.evaluate import Data, DataLike, Found, Scorer, load_data
from wordbias.contextual.stereoset.gsss import Gsss, Repaired
from wordbias.contextual.stereoset.gsss import repair as repair_swaps
from wordbias.contextual.stereoset.scores import SHARE, Rounding, Settings, extremes
from wordbias.contextual.stereoset.stereoset import KINDS, StereoSet
from wordbias.errors import WordbiasError
from wordbias.formats.files import check_writable, refuse_same, replacing
from wordbias.functions.adapters import AdapterLike, open_adapter
from wordbias.functions.inputs import path_of
from wordbias.pretrained import ModelLike
from wordbias.rendering import Table, as_csv, how_many
from wordbias.resources import located
from wordbias.results import Report, Row, number

_MEASURES = {
    "strength": "Strength S",
    "opposite-strength": "S of the opposite",
    "distance": "Distance D",
    "mean-strength": "mean s",
    "ss": "SS",
}
_SUBSETS = {"M": "about men", "F": "about women"}


@public
def stereoset(
    model: ModelLike,
    *,
    data: DataLike,
    adapter: AdapterLike | None = None,
    setting: str | Sequence[str] = (),
    force: bool = False,
    share: float = SHARE,
    rounding: Rounding = "nearest",
    absolute: bool = False,
    repair: bool = True,
    as_published: bool = False,
    next_label: str | None = None,
    device: str | None = None,
    output: str | os.PathLike[str] | None = None,
    seed: int = 0,
) -> Report:
    """Measure which sentences ``model`` prefers: stereotypes or their opposites.

    On enhanced StereoSet (Dawkins et al. 2024), in which every triple also has a version with
    swapped genders: Strength S of stereotypes, Distance D between the genders, and the stereotype
    score SS. On StereoSet (Nadeem et al. 2021): ss, lms and icat, between and within sentences. On
    CrowS-Pairs (Nangia et al. 2020): how often the more stereotyping sentence is likelier.

    A term that fills a blank of StereoSet is scored by the mean log-probability of its sub-words,
    tokenised within the sentence. With ``as_published`` it is scored by the mean probability of the
    first word without punctuation, tokenised separately: for RoBERTa without the space before it.

    ``model`` is a folder or a name on the hub. Pairs of sentences need a head for next-sentence
    prediction or a classifier with two labels, single sentences a masked-language head.

    Parameters
    ----------
    model : path, name on the hub, or (model, tokenizer)
        The model to measure; a loaded model has only one head.
    data : path, fetched name, frame, or what was read of one
        Enhanced StereoSet (CSV), StereoSet (JSON) or CrowS-Pairs (CSV).
    adapter : path or Adapter, optional
        Adapter that wordbias project wrote; the model is measured with it as well.
    setting : str or sequence of str, optional
        Setting of the adapter, such as L11-11101; may be repeated.
    force : bool
        Use the adapter even if it was fitted on another model.
    share : float
        Share of the triples, the most extreme ones, of which S and D are means.
    rounding : str
        Rounding of that share to a number of triples.
    absolute : bool
        Take |s| for S: bias in either direction.
    repair : bool
        Measure repaired swaps as well as the published ones.
    as_published : bool
        Fill blanks, count ties and average over terms as the code published with the data does.
    next_label : str, optional
        Name of the output of ``model`` that means: is next.
    device : str, optional
        auto, cpu, cuda or mps.  [default: auto, the first available of cuda, mps, cpu]
    output : path, optional
        File for the scores of each triple or pair.
    seed : int
        Seed of everything random.

    Returns
    -------
    Report
        A row for each measure, part of the data and setting; ``low`` and ``high`` are an interval
        over triples or pairs.

    Raises
    ------
    WordbiasError
        If a file cannot be used, the model lacks the head, or a setting changes no score.

    References
    ----------
    Nadeem et al. (2021), "StereoSet: Measuring stereotypical bias in pretrained language models".
    Nangia et al. (2020), "CrowS-Pairs: A Challenge Dataset for Measuring Social Biases in Masked
    Language Models". Dawkins et al. (2024), "Projective Methods for Mitigating Gender Bias in
    Pre-trained Language Models", section 2.

    Examples
    --------
    >>> import wordbias as wb
    >>> report = wb.stereoset("bert-base-uncased", data="gsss/dev.csv")  # doctest: +SKIP
    >>> report["strength"][0].value  # doctest: +SKIP
    """
    check_number("--share", share, 0, 1, above=True)
    target = path_of(output)
    if target is not None:
        check_writable(target)
        refuse_same({"-o": target}, {"--data": path_of(data), "--adapter": path_of(adapter)})
    fitted, names = open_adapter(adapter, setting, force=force)
    settings = Settings(share, rounding, absolute, as_published, seed)
    path = path_of(data)
    read = load_data(data if path is None else located(path), as_published=as_published)
    if isinstance(read, Gsss):
        extremes(len(read.triples), share, rounding)
    repaired = repair_swaps(read) if repair and isinstance(read, Gsss) else None
    scorer = Scorer.load(model, read, next_label=next_label, device=device)
    found, missing = _measured(scorer, read, repaired, settings, fitted, names, force)
    if target is not None:
        with replacing(target) as stream:
            stream.write(as_csv(found.records).encode())
    return Report(
        inputs=_about(scorer, read, adapter, as_published),
        rows=found.rows,
        tables=[
            _table([row for row in found.rows if row.subject == subject], as_published)
            for subject in dict.fromkeys(row.subject for row in found.rows)
        ],
        heading=[f"{scorer.name} on {_described(read)}."],
        closing=[] if target is None else [f"Written: {target}."],
        seed=seed,
        notes=[*scorer.missing, *_notes(read, repaired, scorer.masked is not None), *missing],
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


def _about(
    scorer: Scorer, data: Data, adapter: AdapterLike | None, as_published: bool
) -> dict[str, dict[str, object]]:
    """Return the inputs of the report: the model and the data."""
    heads = [one for one in (scorer.next_sentence, scorer.masked) if one is not None]
    model: dict[str, object] = {
        "path": scorer.name,
        "heads": [type(one.model).__name__ for one in heads],
        "device": heads[0].device,
    }
    if scorer.next_sentence is not None:
        model["is next"] = scorer.next_sentence.place
    if adapter is not None:
        model["adapter"] = path_of(adapter) or repr(adapter)
    read: dict[str, object] = {"path": data.path, "sha256": data.sha256}
    if isinstance(data, StereoSet) and scorer.masked is not None and data.several_blanks:
        read["taken as published" if as_published else "left out"] = data.several_blanks
    return {"model": model, "data": read}


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
            label = _MEASURES[measure] + (f", {_SUBSETS[subset]}" if subset in _SUBSETS else "")
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
