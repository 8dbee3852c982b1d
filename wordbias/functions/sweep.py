"""The sweep: bias and fairness of an encoder under all settings of Dawkins et al. (2024)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from wordbias.arguments import check_choice, check_number, path_named, seeds_of
from wordbias.calls import public
from wordbias.configuration import STARTS_PROCESSES, current_config, uses
from wordbias.contextual.fitting import ONE_SIDED, TOKENS, Recipe
from wordbias.contextual.labelled_pairs import load_inferences
from wordbias.contextual.nli_fairness import DROP, Parity, Viability
from wordbias.contextual.sent_debias import LIMIT, TextLike
from wordbias.contextual.sweep.comparison import comparison_tables, drawn_file
from wordbias.contextual.table7 import (
    SENT_DEBIAS,
    best_by_level,
    best_names,
    load_table,
    mean_entries,
    mean_rows,
    records,
)
from wordbias.draws import LISTS, NULL
from wordbias.errors import UsageError, WordbiasError, need
from wordbias.formats.files import check_outputs
from wordbias.functions.inputs import path_of, write_records
from wordbias.functions.lists import templates_of
from wordbias.functions.nli_models import read_named
from wordbias.functions.sweep_summary import summarise
from wordbias.models.model_like import ModelLike, name_of
from wordbias.models.sentence_pairs import SentencePairsLike
from wordbias.nli.pairs import PairsLike, pairs_name
from wordbias.nli.test_sets import build
from wordbias.pages.sweep_plots import plot_strength_fairness
from wordbias.rendering import how_many
from wordbias.reports import Report
from wordbias.resources import located
from wordbias.stereotypes.gsss import Gsss, load_gsss
from wordbias.stereotypes.scores import SHARE, Rounding, Settings, extremes
from wordbias.stereotypes.text_sets import TextSetLike, load_text_set
from wordbias.store import resumable
from wordbias.wordlists import GroupsLike
from wordbias.workers import Workers

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
    model: ModelLike | list[ModelLike],
    *,
    stereoset: TextSetLike,
    nli: ModelLike | list[ModelLike],
    snli: PairsLike,
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
    seed: int = 0,
) -> Report:
    """Measure bias and fairness under all 74 projections of Dawkins et al. (2024), their Table 7.

    ``model`` predicts whether a sentence is next. On ``stereoset`` it has a strength S of
    stereotypes and a distance D between the genders (see likelihood). The ``nli`` model predicts
    whether a sentence follows from another. It has a fairness η on occupations (see mab-eval), and
    an accuracy on ``snli``. wordbias report summarises the table in ``output`` again.

    A projection removes a subspace that is fitted to pairs of sentences, as wordbias project does.
    All 74 take little more time than one pass of each model. With ``output`` the same call resumes
    an interrupted one.

    The best settings of each level (SENT, L12, L11, attn) are compared with the unmodified models
    on the same items. With ``null`` they are also compared with random removals, with
    ``model_seeds`` over several heads, and with ``seed_lists`` over redrawn pairs.

    Parameters
    ----------
    model : path, name on the hub, or (model, tokenizer)
        The next-sentence model. With ``model_seeds`` it may be a list of models.
    stereoset : path, fetched name, or frame
        Enhanced StereoSet (CSV, or gsss-dev of wordbias fetch), on which ``model`` is measured.
    nli : path, name on the hub, or (model, tokenizer)
        An NLI model of the same kind, such as BERT. With ``model_seeds`` it may be a list of
        models.
    snli : path, fetched name, frame or sequence of (label, premise, hypothesis)
        Labelled pairs, jsonl or TSV, on which the accuracy of ``nli`` is measured.
    pairs : path or sequence of (str, str), optional
        Pairs of sentences to fit on: TOML, or tab-separated lines.  [default: the built-in ones]
    tokens : str
        Tokens at the sites tokens and attention: the mean of all aligned tokens (mean) or of those
        that differ (word), the first (cls) or the last.
    one_sided : bool
        Centre the differences of the pairs; this loses the mean gender shift.
    unit_length : bool
        Fit on vectors of length one, as SENT-Debias does.
    sequential_fit : bool
        Fit each subspace of a setting while its removals at earlier sites are active. This takes 45
        passes over the pairs instead of one.
    sent_debias : path or sequence of str, optional
        Text to fit the SENT-Debias baseline on.
    limit : int
        With ``sent_debias``: number of sentence pairs to draw from the text.
    groups : name, path or mapping, optional
        With ``sent_debias``: groups whose pairs of words are swapped.  [default: gender]
    next_label : str, optional
        Name of the output of ``model`` that means "is next".  [default: as its config says]
    label_order : sequence of str, optional
        If the NLI model does not say it: order of its outputs, such as
        neutral,entailment,contradiction.
    top : float
        S and D are means over this share of the triples of ``stereoset``, the most extreme ones.
    rounding : str
        Rounding of that share to a number of triples: nearest, down or up.
    repair : bool
        Measure with the repaired swaps of enhanced StereoSet as well as with the published ones.
    parity : str
        Parity in η: labels must agree in the mean over templates (mean), or in every template
        (strict).
    drop : float
        Largest loss of SNLI accuracy with which a setting can be the best.
    relative : bool
        Take ``drop`` as a share of the accuracy before debiasing.
    null : int, optional
        Number of random removals to compare each of the best settings with. They have its weights
        and sites.
    seed_lists : int, optional
        Number of redraws of the pairs. The best settings are fitted again to each, and their
        changes then have an interval over the pairs.
    best : path, optional
        Table of an earlier sweep, such as one on dev data, to take the best settings from.
        [default: this sweep, which chooses them on the items that it measures them on]
    model_seeds : int or sequence of int, optional
        Seeds of several heads. Each replaces {seed} in the names of both models; or both are lists
        with a model for each seed. The table has their means.
    lists : path, optional
        Word lists for the sentences about occupations, in the layout of Dev et al. (2020).
    as_published : bool
        Choose "a" or "an" by the first letter only, as the published sets do: a SUV.
    output : path, optional
        File for Table 7, from which the same call resumes. Partial results are stored next to it.
    seed : int
        Seed of everything random.

    Returns
    -------
    Report
        Rows of every setting with intervals, rows of the summaries, and the differences of the best
        settings. Its tables are 5 to 7 of the paper, and one of those differences.

    Raises
    ------
    WordbiasError
        If a file or a model cannot be used, or another process writes the same output.

    Notes
    -----
    Both models are folders, or names on the hub. Subspaces are fitted on each unmodified model.
    Layers below the lowest intervention are run once, the last one only for its first token. With
    ``seed_lists`` the changes of S, D and η have two intervals: one over items, and one over the
    pairs of sentences that settings are fitted to.

    The published subspaces are all fitted on the unmodified model. ``seed_lists`` draws the same
    number of pairs, with replacement; with ``sent_debias`` its pairs are redrawn too.

    References
    ----------
    Dawkins et al. (2024), "Projective Methods for Mitigating Gender Bias in Pre-trained Language
    Models".

    Examples
    --------
    >>> import wordbias as wb
    >>> report = wb.sweep(
    ...     "bert-nsp", stereoset="gsss-dev", nli="bert-nli", snli="snli.tsv"
    ... )  # doctest: +SKIP
    >>> report["spearman-strength-fairness"][0].value  # doctest: +SKIP
    """
    how = current_config()
    seeds = [] if model_seeds is None else seeds_of(model_seeds, "--model-seeds")
    order = list(dict.fromkeys(seeds))
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
    target = path_of(output)
    read: dict[str, object] = {"--stereoset": stereoset, "--snli": snli, "--best": best}
    read |= {"--pairs": pairs, "--sent-debias": sent_debias, "--groups": groups}
    check_outputs({"-o": target}, read)
    named = [head for name in _MODELS for head in ([f"{name}.{seed}" for seed in order] or [name])]
    stores = {name: Path(f"{target}.{name}.part") for name in named if target}
    drawn = [drawn_file(file, kind) for kind in (NULL, LISTS) for file in stores.values()]
    temporary = [*stores.values(), *drawn]
    with resumable(target, *temporary):
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
        versions = {"original": gsss} | ({"repaired": gsss.repaired.gsss} if repair else {})
        data = study.Data(
            versions,
            build("parity", templates_of(lists), as_published=as_published),
            read_named(load_inferences, "--snli", snli),
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
                file=stores.get(name),
                keep=len(order) < 2,
                draws=seed_lists or 0,
            )
            for name, source in zip(named, sources, strict=True)
        }
        models = list(swept.values())
        heads = list(zip(models[: len(of_model)], models[len(of_model) :], strict=True))
        found = [study.sweep(*head, data, workers=Workers(how.jobs, how.backend)) for head in heads]
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
        summary = summarise(entries, subject, drop, relative=relative, seed=seed)
        notes = summary.notes
        if sent_debias is None:
            notes.append("without SENT-Debias: it needs a text, --sent-debias TEXT")
        notes += [ONE_SIDED] * one_sided
        notes += [_FLATTERED] * bool(compared and best is None)
        written = write_records(target, records(entries))
    return Report(
        inputs=inputs,
        rows=[*rows, *summary.rows, *compared],
        tables=[*summary.tables, *comparison_tables(compared)],
        heading=[heading],
        closing=[*summary.closing, *written],
        seed=seed,
        notes=notes,
        picture=partial(plot_strength_fairness, entries, drop=drop, relative=relative),
    )


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
