"""The sweep: bias and fairness of an encoder under all settings, Tables 5 to 7 of the paper."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from wordbias.arguments import check_choice, check_number, path_named, seeds_of
from wordbias.calls import public
from wordbias.configuration import STARTS_PROCESSES, current_config, uses
from wordbias.contextual.fitting import ONE_SIDED, TOKENS, Recipe
from wordbias.contextual.labelled_pairs import load_inferences
from wordbias.contextual.nli_fairness import DROP, Parity, Viability, is_viable
from wordbias.contextual.sent_debias import LIMIT, TextLike
from wordbias.contextual.sentence_pairs import SentencePairsLike
from wordbias.contextual.stereoset.gsss import Gsss, load_gsss
from wordbias.contextual.stereoset.gsss import repair as repair_swaps
from wordbias.contextual.stereoset.scores import SHARE, Rounding, Settings, extremes
from wordbias.contextual.sweep.comparison import LISTS, NULL, comparison_tables, drawn_file
from wordbias.contextual.table7 import (
    ALL,
    BASE,
    SENT_DEBIAS,
    Best,
    Entry,
    Weighting,
    attention,
    best_by_level,
    best_names,
    differences,
    load_table,
    mean_entries,
    mean_rows,
    misprints,
    records,
    summary_rows,
    weighting,
)
from wordbias.contextual.text_sets import TextSetLike, load_text_set
from wordbias.errors import Interrupted, UsageError, WordbiasError, need
from wordbias.formats.files import check_writable, locked, refuse_same, replacing
from wordbias.functions.inputs import path_of
from wordbias.functions.nli_models import open_pairs
from wordbias.nli.pairs import PairsLike, pairs_name
from wordbias.nli.test_sets import build
from wordbias.pretrained import ModelLike, name_of
from wordbias.rendering import Table, as_csv, how_many
from wordbias.resources import located
from wordbias.results import Report, Row, number
from wordbias.wordlists import GroupsLike, Templates
from wordbias.workers import Workers

_LEVELS = {"SENT": "sentence", "L12": "layer 12", "L11": "layer 11", "attn": "+ attention"}
_PUBLISHED_MODELS = 76
_PUBLISHED_BASE = (0.3069, 0.7052, 0.8889)
_UNINFORMATIVE = 0.7
"""SNLI accuracy below which the effect of a setting on an NLI model says little."""
_MODELS = ("next-sentence", "inference")
"""Names of the two models of a sweep."""
_SEED = "{seed}"
_FLATTERED = (
    "the best settings are chosen on the items that they are compared on, which flatters them; "
    "choose them in a sweep of other data with --best CSV"
)


@public
@uses(*STARTS_PROCESSES, "device")
def sweep(
    model: ModelLike | list[ModelLike] | None = None,
    *,
    stereoset: TextSetLike | None = None,
    nli: ModelLike | list[ModelLike] | None = None,
    snli: PairsLike | None = None,
    table: str | os.PathLike[str] | None = None,
    pairs: SentencePairsLike | None = None,
    tokens: str = TOKENS[0],
    one_sided: bool = False,
    unit_length: bool = False,
    sequential_fit: bool = False,
    sent_debias: TextLike | None = None,
    limit: int = LIMIT,
    groups: GroupsLike | None = None,
    next_label: str | None = None,
    label_order: Sequence[str] | None = None,
    top: float = SHARE,
    rounding: Rounding = "nearest",
    repair: bool = True,
    parity: Parity = "mean",
    drop: float = DROP,
    relative: bool = False,
    null: int | None = None,
    seed_lists: int | None = None,
    best: str | os.PathLike[str] | None = None,
    model_seeds: int | Sequence[int] | None = None,
    lists: str | os.PathLike[str] | None = None,
    as_published: bool = False,
    output: str | os.PathLike[str] | None = None,
    plot: str | os.PathLike[str] | None = None,
    seed: int = 0,
) -> Report:
    """Measure bias and fairness under all 74 projections of Dawkins et al. (2024), their Table 7.

    ``model`` predicts whether a sentence is next: on ``stereoset`` it has a strength S of
    stereotypes and a distance D between the genders (see likelihood). The model of ``nli`` predicts
    whether a sentence follows from another: on occupations it has a fairness η (see mab-eval), on
    ``snli`` an accuracy. All four are needed, or ``table``.

    A projection removes a subspace that is fitted to pairs of sentences, as wordbias project does.
    All 74 take little more time than one pass of each model. With ``output`` the same call resumes
    an interrupted one.

    The best settings of each level (SENT, L12, L11, attn) are compared with the unmodified models
    on the same items; with ``null`` also with random removals, with ``model_seeds`` over several
    heads, with ``seed_lists`` over redrawn pairs.

    Parameters
    ----------
    model : path, name on the hub, or (model, tokenizer), optional
        The next-sentence model. With ``model_seeds`` it may be a list of models.
    stereoset : path, fetched name, or frame, optional
        Enhanced StereoSet (CSV, or gsss-dev of wordbias fetch), on which ``model`` is measured.
    nli : path, name on the hub, or (model, tokenizer), optional
        An NLI model of the same kind, such as BERT. With ``model_seeds`` it may be a list of
        models.
    snli : path, fetched name, frame or sequence of (label, premise, hypothesis), optional
        Labelled pairs, jsonl or TSV, on which the accuracy of ``nli`` is measured.
    table : path, optional
        Table of all settings that an earlier call wrote, to summarise again; no model is run.
    pairs : path or sequence of (str, str), optional
        Pairs of sentences to fit on: TOML, or tab-separated lines.  [default: the built-in ones]
    tokens : str
        At the sites tokens and attention: mean of all aligned tokens, of those that differ (word),
        the first (cls) or the last.
    one_sided : bool
        Centre the differences of the pairs; this loses the mean gender shift.
    unit_length : bool
        Fit on vectors of length one, as SENT-Debias does.
    sequential_fit : bool
        Fit each subspace of a setting with its removals at earlier sites on: 45 passes over the
        pairs instead of one.
    sent_debias : path or sequence of str, optional
        Text to fit the SENT-Debias baseline on.
    limit : int
        With ``sent_debias``: number of sentence pairs to draw from the text.
    groups : name, path or mapping, optional
        With ``sent_debias``: groups whose pairs of words are swapped.  [default: gender]
    next_label : str, optional
        Name of the output of ``model`` that means: is next. By default its config says it.
    label_order : sequence of str, optional
        Order of the NLI model's outputs, neutral,entailment,contradiction, if it does not say.
    top : float
        Share of the triples of ``stereoset``, the most extreme ones, of which S and D are means.
    rounding : str
        Rounding of that share to a number of triples: nearest, down or up.
    repair : bool
        Measure also with the repaired swaps of enhanced StereoSet, beside the published ones.
    parity : str
        Parity in η: labels must agree in the mean over templates (mean), or in every template
        (strict).
    drop : float
        Largest loss of SNLI accuracy with which a setting can be the best.
    relative : bool
        Take ``drop`` as a share of the accuracy before debiasing.
    null : int, optional
        Number of random removals, with the same weights and sites, to compare each of the best
        settings with.
    seed_lists : int, optional
        Number of redraws of the pairs, to each of which the best settings are fitted again: their
        changes then have an interval over the pairs.
    best : path, optional
        Table of an earlier sweep, such as one of dev data, whose best settings are compared.
        [default: those of this sweep, which are chosen on the items that they are measured on]
    model_seeds : int or sequence of int, optional
        Seeds of several heads: each replaces {seed} in the names of both models, or both are lists
        with a model for each. The table has their means.
    lists : path, optional
        Word lists for the sentences about occupations, in the layout of Dev et al. (2020).
    as_published : bool
        Choose "a" or "an" by the first letter only, as the published sets do: a SUV.
    output : path, optional
        File for Table 7, from which the same call resumes; partial results are stored beside it.
    plot : path, optional
        Draw η against S: .png, .pdf or .svg.
    seed : int
        Seed of everything random.

    Returns
    -------
    Report
        Rows of every setting with intervals, those of the summaries, and the differences of the
        best settings; the tables are 5 to 7, and those differences.

    Raises
    ------
    WordbiasError
        If a file or a model cannot be used, or another process writes the same output.

    Notes
    -----
    Both models are folders, or names on the hub. Subspaces are fitted on each unmodified model.
    Layers below the lowest intervention are run once, the last one only for its first token. With
    ``seed_lists`` the changes of S, D and η have an interval over the pairs of sentences that
    settings are fitted to, beside that over items.

    Published are subspaces that are all fitted on the unmodified model. Redrawn pairs are as many,
    drawn with replacement; with ``sent_debias`` its pairs are redrawn too.

    References
    ----------
    Dawkins et al. (2024), "Projective Methods for Mitigating Gender Bias in Pre-trained Language
    Models".

    Examples
    --------
    >>> import wordbias as wb
    >>> report = wb.sweep(table="table7.csv")  # doctest: +SKIP
    >>> report["spearman-strength-fairness"][0].value  # doctest: +SKIP
    """
    how = current_config()
    seeds = [] if model_seeds is None else seeds_of(model_seeds, "--model-seeds")
    order = list(dict.fromkeys(seeds))
    _check_usage(
        {"MODEL": model, "--stereoset": stereoset, "--nli": nli, "--snli": snli},
        table,
        {"--null": null, "--seed-lists": seed_lists, "--best": best, "--model-seeds": model_seeds}
        | {
            "--one-sided": one_sided,
            "--unit-length": unit_length,
            "--sequential-fit": sequential_fit,
        },
    )
    if groups is not None and sent_debias is None:
        raise UsageError("--groups goes with --sent-debias")
    if seed_lists is not None and sequential_fit:
        raise UsageError(
            "--seed-lists fits all sites on the unmodified model, for each redraw in one pass; "
            "leave out --sequential-fit"
        )
    check_choice("--tokens", tokens, TOKENS)
    check_number("--limit", limit, 2)
    check_number("--top", top, 0, 1, above=True)
    check_number("--drop", drop, 0, 1)
    target, figure = path_of(output), path_of(plot)
    read: dict[str, object] = {"--stereoset": stereoset, "--snli": snli, "--table": table}
    read["--best"] = best
    read |= {"--pairs": pairs, "--sent-debias": sent_debias, "--groups": groups}
    _check_files(target, figure, read)
    named = [name_of_head for name in _MODELS for name_of_head in _with_seeds(name, order)]
    checkpoints = {
        name: Path(f"{target}.{name}.part") for name in named if target and table is None
    }
    drawn = [drawn_file(file, kind) for kind in (NULL, LISTS) for file in checkpoints.values()]
    temporary = [*checkpoints.values(), *drawn]
    compared: list[Row] = []
    with _locked(target, temporary):
        if model is None or nli is None or stereoset is None or snli is None:
            subject = path_named("--table", table)
            heading = f"The sweep in {subject}."
            entries, rows = load_table(subject), list[Row]()
            inputs: dict[str, Any] = {"table": {"path": subject}}
        else:
            need("torch", extra="contextual", purpose="A sweep")
            from wordbias.contextual.sweep import run
            from wordbias.contextual.sweep import sweep as study

            of_model, of_nli = _heads("MODEL", model, order), _heads("--nli", nli, order)
            subject, of_subject = (
                ", ".join(dict.fromkeys(map(name_of, one if isinstance(one, list) else [one])))
                for one in (model, nli)
            )
            gsss = _gsss(stereoset)
            heading = (
                f"Sweep of {subject} on {path_of(stereoset) or gsss.path} and of {of_subject} on "
                f"the occupations and {pairs_name(snli)}."
            )
            heading += f" Means over {how_many(len(order), 'head')}." * (len(order) > 1)
            extremes(len(gsss.triples), top, rounding)
            chosen = _best_of(best, drop, relative)
            words = None if lists is None else located(os.fspath(lists))
            versions = {"original": gsss} | (
                {"repaired": repair_swaps(gsss).gsss} if repair else {}
            )
            data = study.Data(
                versions,
                build("parity", Templates.load(words), as_published=as_published),
                load_inferences(open_pairs(snli)),
                Settings(top, rounding, seed=seed),
                parity,
                Viability(None, drop, relative),
            )
            labels_next = (next_label,) if next_label else ()
            sources = [
                run.ModelSource("next sentence", one, labels_next, how.device) for one in of_model
            ]
            classes = tuple(label_order or ())
            sources += [run.ModelSource("inference", one, classes, how.device) for one in of_nli]
            swept = {
                name: study.SweptModel.fit(
                    source,
                    Recipe(tokens, one_sided, seed=seed, unit=unit_length),
                    pairs=pairs,
                    text=_kept(sent_debias),
                    groups=groups,
                    limit=limit,
                    sequential=sequential_fit,
                    file=checkpoints.get(name),
                    keep=len(order) < 2,
                    draws=seed_lists or 0,
                )
                for name, source in zip(named, sources, strict=True)
            }
            models = list(swept.values())
            heads = list(zip(models[: len(of_model)], models[len(of_model) :], strict=True))
            found = [
                study.sweep(*head, data, workers=Workers(how.jobs, how.backend)) for head in heads
            ]
            entries = mean_entries([one.entries for one in found])
            rows = mean_rows([one.rows for one in found], order)
            names = chosen or best_names(best_by_level(entries, drop, relative=relative))
            names += [one.name for one in entries if one.level == SENT_DEBIAS]
            compared = study.compare(
                names, heads, found, data, null or 0, order, workers=Workers(how.jobs, how.backend)
            )
            inputs = {name: one.about for name, one in swept.items()}
            inputs["stereoset"] = {
                "path": gsss.path, "sha256": gsss.sha256, "triples": len(gsss.triples)
            }  # fmt: skip
            inputs["snli"] = data.snli.source()
        notes = _remarks(entries, drop, relative)
        if table is None and sent_debias is None:
            notes.append("without SENT-Debias: it needs a text, --sent-debias TEXT")
        notes += [ONE_SIDED] * one_sided
        notes += [_FLATTERED] * bool(compared and best is None)
        tables, summaries, closing = _summary(entries, subject, drop, relative)
        tables += comparison_tables(compared)
        try:
            summaries += summary_rows(entries, subject, seed)
            closing.append(_correlation_line(summaries[-1]))
        except WordbiasError as error:
            notes.append(str(error))
        _write(entries, target, figure, drop, relative)
        for checkpoint in temporary:
            checkpoint.unlink(missing_ok=True)
    return Report(
        inputs=inputs,
        rows=[*rows, *summaries, *compared],
        tables=tables,
        heading=[heading],
        closing=[*closing, *(f"Written: {path}." for path in (target, figure) if path)],
        seed=seed,
        notes=notes,
    )


def _check_files(output: str | None, plot: str | None, read: Mapping[str, object]) -> None:
    """Refuse files that cannot be written, or that are also read."""
    if plot is not None:
        from wordbias.pages.plots import check_plot

        check_plot(plot)
    if output is not None:
        check_writable(output)
    refuse_same(
        {"-o": output, "--plot": plot}, {name: path_of(given) for name, given in read.items()}
    )


@contextmanager
def _locked(output: str | None, checkpoints: Sequence[Path]) -> Iterator[None]:
    """Lock the output, and name the checkpoints in the message of an interruption.

    Raises
    ------
    WordbiasError
        If another process has locked the same output.
    """
    with nullcontext() if output is None else locked(output):
        try:
            yield
        except Interrupted:
            raise
        except KeyboardInterrupt:
            written = [path.name for path in checkpoints if path.exists()]
            if not written:
                raise
            raise Interrupted(f"the same call resumes from {' and '.join(written)}") from None


def _check_usage(
    needed: Mapping[str, object],
    table: str | os.PathLike[str] | None,
    measuring: Mapping[str, object],
) -> None:
    """Refuse a missing input, and what a table of results cannot answer."""
    missing = [name for name, value in needed.items() if value is None]
    if table is not None and len(missing) < len(needed):
        raise UsageError("--table summarises existing results; give no other input")
    if table is None and missing:
        raise UsageError(f"missing {', '.join(missing)} (or --table CSV)")
    given = [name for name, value in measuring.items() if value is not None and value is not False]
    if table is not None and given:
        raise UsageError(f"{given[0]} needs the models; --table has only their results")


def _with_seeds(name: str, seeds: Sequence[int]) -> list[str]:
    """Return the names of the heads of a model in the report and in checkpoints."""
    return [f"{name}.{seed}" for seed in seeds] or [name]


def _heads(
    option: str, source: ModelLike | list[ModelLike], seeds: Sequence[int]
) -> list[ModelLike]:
    """Return the heads of a model: those of a list, or one for each seed in its name."""
    if isinstance(source, list):
        if not source:
            raise UsageError(f"{option}: expected a model, got an empty list")
        if len(source) != len(seeds):
            raise UsageError(
                f"{option}: expected a model for each of {how_many(len(seeds), 'seed')} in "
                f"--model-seeds, got a list of {len(source)}"
            )
        return source
    if not seeds:
        return [source]
    if not isinstance(source, (str, os.PathLike)) or _SEED not in os.fspath(source):
        raise UsageError(
            f"{option}: expected a name with {_SEED}, such as bert-{_SEED}, with --model-seeds, or "
            f"a list of models; got {name_of(source)}"
        )
    return [os.fspath(source).replace(_SEED, str(seed)) for seed in seeds]


def _kept(text: TextLike | None) -> TextLike | None:
    """Return a text that can be read again, for every model."""
    return text if text is None or isinstance(text, (str, os.PathLike)) else list(text)


def _best_of(table: str | os.PathLike[str] | None, drop: float, relative: bool) -> list[str] | None:
    """Return the names of the best settings in the table of another sweep."""
    if table is None:
        return None
    path = path_named("--best", table)
    entries = load_table(path)
    try:
        return best_names(best_by_level(entries, drop, relative=relative))
    except WordbiasError as error:
        raise WordbiasError(f"{path}: {error}") from None


def _gsss(source: TextSetLike) -> Gsss:
    path = path_of(source)
    found = load_text_set(source) if path is None else load_gsss(located(path))
    if not isinstance(found, Gsss):
        raise WordbiasError("--stereoset: expected enhanced StereoSet, with swapped sentences")
    return found


def _remarks(entries: Sequence[Entry], drop: float, relative: bool) -> list[str]:
    """Return notes on a table: misprints, and an NLI model of low accuracy."""
    notes = [
        f"{one.name}: the table says η = {one.printed:.4f}, parity · accuracy is {one.fairness:.4f}"
        for one in misprints(entries)
    ]
    base = [one for one in entries if one.level == BASE]
    if base and (base[0].strength, base[0].distance, base[0].snli) == _PUBLISHED_BASE:
        if len(entries) == _PUBLISHED_MODELS:
            notes += differences(best_by_level(entries, drop, relative=relative))
        else:
            notes.append(
                f"{len(entries)} of the {_PUBLISHED_MODELS} models of the published Table 7: the "
                "best of each level are not compared with the published Table 5"
            )
    if base and base[0].snli < _UNINFORMATIVE:
        notes.append(
            f"the unmodified NLI model reaches {base[0].snli:.3f} on SNLI, less than "
            f"{_UNINFORMATIVE:g}: the effect of a setting on it says little"
        )
    return notes


def _summary(
    entries: Sequence[Entry], subject: str, drop: float, relative: bool
) -> tuple[list[Table], list[Row], list[str]]:
    """Return Tables 7, 5 and 6, Table 5 as rows, and a sentence about attention."""
    tables, rows, lines = [_table7(entries, drop, relative)], list[Row](), list[str]()
    if any(one.level == BASE for one in entries):
        best = best_by_level(entries, drop, relative=relative)
        tables.append(_best_table(best))
        rows = _best_rows(best, subject)
    tables.append(_weighting_table(weighting(entries)))
    found = attention(entries)
    if found.pairs:
        lines.append(
            f"With attention S is lower in {found.improved} of {found.pairs} settings of layer 11."
        )
    return tables, rows, lines


def _table7(entries: Sequence[Entry], drop: float, relative: bool) -> Table:
    """Return Table 7, one line a model."""
    base = next((one.snli for one in entries if one.level == BASE), None)
    cells = []
    for one in entries:
        values = (one.strength, one.distance, one.parity, one.accuracy, one.fairness, one.snli)
        viable = base is None or is_viable(one.snli, base, drop, relative=relative)
        cells.append([one.name, *map(number, values), "yes" if viable else "no"])
    limit = f"{drop:.0%} of the base's accuracy" if relative else f"{100 * drop:g} points"
    return Table(
        "All settings (Dawkins et al. 2024, Table 7)",
        ["model", "S", "D", "parity", "accuracy", "η", "SNLI", "viable"],
        cells,
        "Layers are counted from the end: L12 is the last. Digits are n11 c11 n12 c12 np, without "
        "those of unchanged layers. Lower is better for S and D, higher for the others; "
        f"η = parity · accuracy. Viable: loses at most {limit} on SNLI.",
    )


def _best_table(found: Sequence[Best]) -> Table:
    """Return Table 5, one line a level."""

    def cell(value: float, one: Entry) -> str:
        return f"{number(value)} ({','.join(map(str, one.numbers))})"

    cells = []
    for best in found:
        line = [
            _LEVELS[best.level],
            cell(best.strength.strength, best.strength),
            cell(best.distance.distance, best.distance),
        ]
        viable = best.fairness
        cells.append(
            [*line, "–", "–"]
            if viable is None
            else [*line, cell(viable.fairness, viable), number(viable.snli)]
        )
    return Table(
        "The best of each level (Table 5)",
        ["", "lowest S", "lowest D", "highest η that is viable", "its SNLI"],
        cells,
    )


def _best_rows(found: Sequence[Best], subject: str) -> list[Row]:
    """Return Table 5 as rows."""
    rows = []
    for best in found:
        for name, one in (("strength", best.strength), ("distance", best.distance)):
            about = {"level": best.level, "setting": one.name, "snli": one.snli, "n": 1}
            about |= {"neutral": 0, "better": "lower"}
            rows.append(Row(subject, f"best-{name}", getattr(one, name), about))
        if best.fairness is None:
            about = {"level": best.level, "reason": "no model is viable"}
            rows.append(Row(subject, "best-fairness", None, about))
            continue
        one = best.fairness
        about = {"level": best.level, "setting": one.name, "snli": one.snli, "n": 1}
        about |= {"neutral": 1, "better": "higher"}
        rows.append(Row(subject, "best-fairness", one.fairness, about))
    return rows


def _weighting_table(found: Sequence[Weighting]) -> Table:
    """Return Table 6, one line a level: SNLI accuracy without and with a soft projection."""
    cells = [
        [
            "all" if one.level == ALL else _LEVELS[one.level],
            str(one.pairs),
            number(one.hard),
            number(one.soft),
            number(one.increase),
            "–" if one.sd is None else number(one.sd),
            f"{one.improved} of {one.pairs}",
        ]
        for one in found
    ]
    return Table(
        "SNLI accuracy without and with the weight n_p at the sentence (Table 6)",
        ["", "pairs", "np = 0", "np = 1", "increase", "sd", "improved"],
        cells,
    )


def _correlation_line(rho: Row) -> str:
    about = rho.details
    return (
        f"Spearman's ρ of S and η over {about['n']} models: {number(rho.value, 3)} (p = "
        f"{about['p']:.3f}; 95 % bootstrap over models: {about['low']:.2f} … {about['high']:.2f})."
    )


def _write(
    entries: Sequence[Entry], output: str | None, plot: str | None, drop: float, relative: bool
) -> None:
    """Draw the figure, and write the table."""
    if plot is not None:
        from wordbias.pages.sweep_plots import save_strength_fairness

        save_strength_fairness(plot, entries, drop, relative=relative)
    if output is not None:
        with replacing(output) as file:
            file.write(as_csv(records(entries)).encode())
