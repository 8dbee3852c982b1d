"""The sweep: bias and fairness of an encoder under all settings of Dawkins et al. (2024)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from wordbias.arguments import check_choice, check_number, comma_separated, path_named, seeds_of
from wordbias.calls import public, refuse_given
from wordbias.configuration import STARTS_PROCESSES, current_config, uses
from wordbias.contextual.fitting import ONE_SIDED, TOKENS, Recipe
from wordbias.contextual.labelled_pairs import load_inferences
from wordbias.contextual.nli_fairness import DROP, Parity, Viability
from wordbias.contextual.sent_debias import LIMIT, TextLike
from wordbias.contextual.sweep.comparison import comparison_tables, drawn_file
from wordbias.contextual.sweep.shares import share_ranks
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
from wordbias.formats.files import check_outputs, check_writable
from wordbias.functions.inputs import check_records, path_of, write_records
from wordbias.functions.lists import templates_of
from wordbias.functions.nli_models import read_named
from wordbias.functions.sweep_summary import summarise
from wordbias.functions.sweep_task import DRAWS, MOST_REMOVALS, sweep_task
from wordbias.functions.task_texts import TaskColumns, TaskFiles
from wordbias.models.model_like import ModelLike, name_of
from wordbias.models.sentence_pairs import SentencePairsLike
from wordbias.models.texts import TextsLike
from wordbias.nli.pairs import PairsLike, pairs_name
from wordbias.nli.test_sets import build
from wordbias.outcomes.choice import Limit, Rule, check_by
from wordbias.pages.sweep_plots import plot_strength_fairness
from wordbias.rendering import how_many
from wordbias.reports import Report
from wordbias.resources import located
from wordbias.settings import ChainsLike
from wordbias.stereotypes.gsss import Gsss, load_gsss
from wordbias.stereotypes.scores import SHARE, Rounding, Settings, extremes
from wordbias.stereotypes.text_sets import TextSetLike, load_text_set
from wordbias.store import resumable
from wordbias.wordlists import GroupsLike
from wordbias.workers import Workers

_MODELS = ("next-sentence", "inference")
"""Names of the two models of a sweep."""
_SEED = "{seed}"
_OF_PAPER = (
    "stereoset", "nli", "snli", "next_label", "label_order", "top", "rounding", "repair", "parity",
    "seed_lists", "model_seeds", "lists", "as_published", "sequential_fit",
)  # fmt: skip
"""Arguments of the paper's own data, which a task has no use for."""
_OF_TASK = (
    "test", "labels", "sensitive", "text_column", "values", "unit", "by", "rule", "methods",
    "retrain", "save_transform",
)  # fmt: skip
"""Arguments of a task."""
_FLATTERED = (
    "the best settings are chosen on the items that they are compared on, which flatters them; "
    "choose them in a sweep of other data with --best"
)


@public
@uses(*STARTS_PROCESSES, "device", "skip_bad")
def sweep(
    model: ModelLike | list[ModelLike],
    *,
    task: TextsLike | None = None,
    test: TextsLike | None = None,
    labels: str = "label",
    sensitive: str = "group",
    text_column: str | None = None,
    values: Sequence[str] | None = None,
    unit: str | None = None,
    by: str = "tpr-gap",
    rule: Rule | None = None,
    methods: ChainsLike | None = None,
    retrain: TextsLike | None = None,
    save_transform: str | os.PathLike[str] | None = None,
    stereoset: TextSetLike | None = None,
    nli: ModelLike | list[ModelLike] | None = None,
    snli: PairsLike | None = None,
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
    top: float | Sequence[float] = SHARE,
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
    """Measure a model under all 74 projections of Dawkins et al. (2024); choose one for a task.

    With ``task`` the model is a classifier of texts. On half of the texts the projection with the
    lowest gap ``by`` is chosen, among those that lose at most ``drop`` of accuracy. It is then
    measured on the other half, and compared with the same choice among random removals.

    With ``stereoset``, ``nli`` and ``snli`` the result is Table 7 of the paper. ``model`` predicts
    whether a sentence is next. On ``stereoset`` it has a strength S of stereotypes and a distance D
    between the genders (see likelihood). The ``nli`` model predicts whether a sentence follows from
    another. This model has a fairness η on occupations (see mab-eval), and an accuracy on ``snli``.
    wordbias report summarises the table in ``output`` again.

    A projection removes a subspace that is fitted to pairs of sentences, as wordbias project does.
    All 74 take little more time than one pass of each model. With ``output`` the same call resumes
    an interrupted one.

    The best settings of each level (SENT, L12, L11, attn) are compared with the unmodified models
    on the same items. With ``null`` they are also compared with random removals, with
    ``model_seeds`` over several heads, and with ``seed_lists`` over redrawn pairs.

    Parameters
    ----------
    model : path, name on the hub, or (model, tokenizer)
        With ``task`` a classifier of texts, otherwise the next-sentence model. With ``model_seeds``
        it may be a list of models.
    task : path, frame or mapping of columns, optional
        Labelled texts of your own with the group of each, .tsv, .csv or .jsonl.
    test : path, frame or mapping of columns, optional
        Texts to report on, with the same columns. All texts of ``task`` are then used to choose.
    labels : str
        With ``task``: column of the classes.
    sensitive : str
        With ``task``: column of the groups, or two: gender,race.
    text_column : str, optional
        With ``task``: name or number of the column of the texts.
    values : sequence of str, optional
        With ``task``: groups to compare, the first minus the second.  [default: all, sorted]
    unit : str, optional
        With ``task``: column of the unit that several texts share, such as a person. Texts of a
        unit stay in one half, and are drawn together.
    by : str
        With ``task``: gap to be low: tpr-gap, fpr-gap, precision-gap, f1-gap (sums of absolute
        gaps), independence, separation or sufficiency.
    rule : callable, optional
        With ``task``, in place of ``by`` and ``drop``: a function of accuracy before and after, and
        gap before and after, that returns a score; the highest is chosen, None never.
    methods : str or list, optional
        With ``task``: further methods to try, separated by spaces: "leace inlp:rounds=10
        misp:dims=2". They are fitted to the texts used to choose, at the input of the final linear
        layer.
    retrain : path, frame or mapping of columns, optional
        With ``task``: labelled texts on which the last layer is trained anew under the chosen
        setting, to see whether the gap comes back.
    save_transform : path, optional
        With ``task``: file for the chosen setting, an adapter, for predict and apply.
    stereoset : path, fetched name, or frame, optional
        Enhanced StereoSet (CSV, or gsss-dev of wordbias fetch), on which ``model`` is measured.
    nli : path, name on the hub, or (model, tokenizer), optional
        An NLI model of the same kind, such as BERT. With ``model_seeds`` it may be a list of
        models.
    snli : path, fetched name, frame or sequence of (label, premise, hypothesis), optional
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
        Order of the NLI model's outputs, such as neutral,entailment,contradiction, if its config
        does not say it.
    top : float or sequence of float
        S and D are means over this share of the triples of ``stereoset``, the most extreme ones.
        With several shares the ranks of the settings at the others are correlated with those at the
        first.
    rounding : str
        Rounding of that share to a number of triples: nearest, down or up.
    repair : bool
        Measure with the repaired swaps of enhanced StereoSet as well as with the published ones.
    parity : str
        Parity in η: labels must agree in the mean over templates (mean), or in every template
        (strict).
    drop : float
        Largest loss of accuracy, on SNLI or on ``task``, with which a setting can be the best.
    relative : bool
        Take ``drop`` as a share of the accuracy before debiasing.
    null : int, optional
        Number of random removals in place of each of the best settings, at its sites and with its
        weights. With ``task`` they replace every setting, and move the vectors as far.  [default:
        20 with ``task``, else none]
    seed_lists : int, optional
        Number of redraws of the pairs. The best settings are fitted again to each, and their
        changes then have an interval over the pairs.
    best : path, optional
        Table of an earlier sweep, such as one on dev data, to take the best settings from; or its
        result in JSON, which also holds draws of the items.
        With ``task`` the ranks of its settings by S, D and η are correlated with those by the gap.
        [default: this sweep, which chooses them on the items that it measures them on]
    model_seeds : int or sequence of int, optional
        Seeds of several heads. Each replaces {seed} in the names of both models; or both are lists
        with a model for each seed. The table has their means.
    lists : path, optional
        Word lists for the sentences about occupations, in the layout of Dev et al. (2020).
    as_published : bool
        Choose "a" or "an" by the first letter only, as the published sets do: a SUV.
    output : path, optional
        File for the table of all settings (CSV), from which the same call resumes. Partial results
        are stored next to it.
    seed : int
        Seed of everything random.

    Returns
    -------
    Report
        Rows of every setting with intervals, rows of the summaries, and the differences of the best
        settings. Its tables are 5 to 7 of the paper, and one of those differences. With ``task``
        rows of every setting where it is chosen, and of the chosen one before and after on the
        other texts.

    Raises
    ------
    WordbiasError
        If a file or a model cannot be used, or another process writes the same output.

    Notes
    -----
    Both models are folders, or names on the hub. Subspaces are fitted on each unmodified model.
    Layers below the lowest intervention are run once. Where a head reads the first token, the last
    layer is run for that only. With ``task`` the model may also be a pair of an encoder and a
    linear classifier of scikit-learn that is fitted to its vectors of texts. With ``seed_lists``
    the changes of S, D and η have two intervals: one over items, and one over the pairs of
    sentences that settings are fitted to.

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
    if task is not None:
        refuse_given(_OF_PAPER, "is for the sweep of the paper, not for --task")
    else:
        refuse_given(_OF_TASK, "is for --task", "name labelled texts with --task")
        _check_of_paper(stereoset=stereoset, nli=nli, snli=snli)
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
    shares = _shares(top)
    check_number("--drop", drop, 0, 1)
    target = path_of(output)
    if task is not None:
        check_by(by)
        if null is not None and null > MOST_REMOVALS:
            raise UsageError(
                f"--null {null}: each draw predicts all texts under every setting; give "
                f"{MOST_REMOVALS:,} or less"
            )
        _check_task(values, rule, save_transform)
        if isinstance(model, list):
            raise UsageError("MODEL: with --task expected one classifier, got a list")
        check_outputs(
            {"-o": target, "--save-transform": save_transform},
            {"--task": task, "--test": test, "--retrain": retrain, "--best": best,
             "--pairs": pairs, "--sent-debias": sent_debias, "--groups": groups},
        )  # fmt: skip
        check_records(target)
        parts = ("classes", "retrained") if target else ()
        files = {name: Path(f"{target}.{name}.part") for name in parts}
        with resumable(target, *files.values()):
            need("torch", extra="contextual", purpose="A sweep")
            columns = TaskColumns(labels, comma_separated(sensitive), text_column, values, unit)
            return sweep_task(
                model,
                TaskFiles.read(task, test, retrain, columns, how.skip_bad),
                Recipe(tokens, one_sided, seed=seed, unit=unit_length),
                {"pairs": pairs, "text": sent_debias, "groups": groups, "limit": limit},
                by=by,
                limit=Limit(drop, relative),
                rule=rule,
                methods=methods,
                null=DRAWS if null is None else null,
                entries=[] if best is None else load_table(path_named("--best", best)),
                save_transform=path_of(save_transform),
                output=target,
                stores=files,
                device=how.device,
                workers=Workers(how.jobs, how.backend),
            )
    assert stereoset is not None
    assert nli is not None
    assert snli is not None
    read: dict[str, object] = {"--stereoset": stereoset, "--snli": snli, "--best": best}
    read |= {"--pairs": pairs, "--sent-debias": sent_debias, "--groups": groups}
    check_outputs({"-o": target}, read)
    check_records(target)
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
            ", ".join(dict.fromkeys(map(name_of, source if isinstance(source, list) else [source])))
            for source in (model, nli)
        )
        gsss = _gsss(stereoset)
        heading = (
            f"Sweep of {subject} on {path_of(stereoset) or gsss.path} and of {of_subject} on "
            f"the occupations and {pairs_name(snli)}."
        )
        heading += f" Means over {how_many(len(order), 'head')}." * (len(order) > 1)
        extremes(len(gsss.triples), shares[0], rounding)
        chosen = _best_of(best, drop, relative)
        versions = {"original": gsss} | (
            {"repaired": gsss.repaired.gsss} if repair and gsss.published else {}
        )
        data = study.Data(
            versions,
            build("parity", templates_of(lists), as_published=as_published),
            read_named(load_inferences, "--snli", snli),
            Settings(shares[0], rounding, seed=seed),
            parity,
            Viability(None, drop, relative),
        )
        labels_next = (next_label,) if next_label else ()
        sources = [
            run.ModelSource("next sentence", head, labels_next, how.device) for head in of_model
        ]
        classes = tuple(label_order or ())
        sources += [run.ModelSource("inference", head, classes, how.device) for head in of_nli]
        swept = {
            name: study.SweptModel.fit(
                source,
                Recipe(tokens, one_sided, seed=seed, unit=unit_length),
                pairs=pairs,
                text=_rereadable(sent_debias),
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
        sweeps = [
            study.sweep(*head, data, workers=Workers(how.jobs, how.backend)) for head in heads
        ]
        entries = mean_entries([head_sweep.entries for head_sweep in sweeps])
        rows = mean_rows([head_sweep.rows for head_sweep in sweeps], order)
        names = chosen or best_names(best_by_level(entries, drop, relative=relative))
        names += [entry.name for entry in entries if entry.level == SENT_DEBIAS]
        compared = study.compare(
            names, heads, sweeps, data, null or 0, order, workers=Workers(how.jobs, how.backend)
        )
        ranked, rank_tables = share_ranks(
            [head_sweep.items for head_sweep in sweeps], shares, data.settings
        )
        inputs = {name: swept_model.about for name, swept_model in swept.items()}
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
        rows=[*rows, *summary.rows, *compared, *ranked],
        tables=[*summary.tables, *comparison_tables(compared), *rank_tables],
        heading=[heading],
        closing=[*summary.closing, *written],
        seed=seed,
        notes=notes,
        picture=partial(plot_strength_fairness, entries, drop=drop, relative=relative),
    )


def _shares(top: float | Sequence[float]) -> list[float]:
    """Return the shares of extreme triples, each once."""
    shares = list(dict.fromkeys(top if isinstance(top, Sequence) else [top]))
    for share in shares:
        check_number("--top", share, 0, 1, above=True)
    if not shares:
        raise UsageError("--top: expected a share, or several, got none")
    return shares


def _check_of_paper(**given: object) -> None:
    """Refuse a call with neither a task nor all data of the paper."""
    lacking = [f"--{name}" for name, source in given.items() if source is None]
    if lacking:
        raise UsageError(
            f"{' and '.join(lacking)}: needed for the sweep of the paper, of a next-sentence model "
            "and an NLI model; or give labelled texts of your own with --task"
        )


def _check_task(values: Sequence[str] | None, rule: object, save_transform: object) -> None:
    """Refuse arguments of a task that contradict each other."""
    if values is not None and len(set(values)) < 2:
        raise UsageError("--values: name two groups at least, such as F,M")
    if rule is not None and not callable(rule):
        raise UsageError("rule=: expected a function of accuracies and gaps")
    if rule is not None:
        refuse_given(("drop", "relative"), "does nothing with rule=")
    if save_transform is not None:
        check_writable(path_named("--save-transform", save_transform))


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


def _rereadable(text: TextLike | None) -> TextLike | None:
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
    text_set = load_text_set(source) if path is None else load_gsss(located(path))
    if not isinstance(text_set, Gsss):
        raise WordbiasError("--stereoset: expected enhanced StereoSet, with swapped sentences")
    return text_set
