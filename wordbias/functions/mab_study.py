"""The study of Dawkins (2021) on other embeddings: its folder, its rows, its tables."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from wordbias import cells
from wordbias.arguments import check_choice, seeds_of
from wordbias.calls import is_given, note, public
from wordbias.configuration import READS_VECTORS, STARTS_PROCESSES, current_config, uses
from wordbias.draws import LISTS, NULL
from wordbias.errors import UsageError, need
from wordbias.formats.files import check_output_folder, check_writable, replacing
from wordbias.functions.arms import ArmsLike, open_arms, without_drawn
from wordbias.functions.compare import WITHOUT
from wordbias.functions.inputs import names_of, reading
from wordbias.functions.lists import sembias_of, templates_of
from wordbias.functions.mab_eval import ALL, groups_of, marked_columns
from wordbias.functions.nli_models import read_named
from wordbias.functions.quality import Places, places_of, quality_tables
from wordbias.functions.tables import measures_tables
from wordbias.measures.registry import MEASURES, STANDARD, names_families
from wordbias.nli.arms import different, is_one
from wordbias.nli.differences import (
    AGAINST_LISTS,
    AGAINST_NULL,
    CHANGES,
    PUBLISHED_EFFECT,
    about_power,
    readings,
)
from wordbias.nli.pairs import PairsLike, load_pairs
from wordbias.nli.recipes import is_half, recipe_named
from wordbias.nli.study_means import (
    QUALITY,
    about_orders,
    correlations_with_error,
    intrinsic_rows,
    mean_errors,
    settings,
)
from wordbias.nli.test_sets import GENDERS, MARKED
from wordbias.pages.study_plots import paired_panels, plot_study
from wordbias.pivot import pivot, values
from wordbias.rendering import Table, how_many
from wordbias.reports import Report
from wordbias.resources import located
from wordbias.results import Row, number
from wordbias.word_tasks import find_sets
from wordbias.wordlists import Attribute, GroupsLike, Templates
from wordbias.workers import Workers

if TYPE_CHECKING:
    from wordbias.nli.study import Plan

CHOICES = (*MARKED, ALL)
_STORED = "study.json"
_TITLES = {
    ("explicit", "nouns"): "Table 1, nouns: man, guy, gentleman; woman, girl, lady",
    ("explicit", "pronouns"): "Table 1, pronouns: he; she",
    ("occupations", "occupations"): "Table 2: stereotypical occupations",
    ("names", "names"): "Table 4: first names",
}


@public
@names_families
@uses(*READS_VECTORS, *STARTS_PROCESSES, "device", "precision")
def mab_study(
    embeddings: ArmsLike,
    *,
    train: PairsLike,
    dev: PairsLike,
    test: PairsLike | None = None,
    output: str | os.PathLike[str],
    seed: int | Sequence[int] = (0, 1, 2, 3, 4, 5),
    recipe: str = "fast",
    epochs: int | None = None,
    average_epochs: int | None = None,
    permute_weights: bool = False,
    null: int | None = None,
    seed_lists: int | None = None,
    only: str | Sequence[str] | None = None,
    centre: bool = False,
    as_published: bool = False,
    groups: GroupsLike | None = None,
    set: str | None = None,
    lists: str | os.PathLike[str] | Templates | None = None,
    outcome: str | None = None,
    raw: bool = False,
    trust_rows: bool = False,
    sembias: str | os.PathLike[str] | None = None,
    benchmarks: Places = (),
) -> Report:
    """Repeat the study of Dawkins (2021) on ``embeddings``; the first is the original.

    For each embedding and seed an NLI model is trained. Its marked attribute bias is measured (see
    mab-eval): the error E and the distance d. Each embedding is measured by the classic measures
    (see measure), and with ``benchmarks`` its quality too. E of the gendered nouns is correlated
    with every measure.

    E and d of each embedding are compared with those of the first, seed by seed. The report has the
    mean difference, its 95 % interval and p, and the smallest effect that the data exclude. If
    there are too few seeds, the report begins with the number that is needed.

    Each thing that is compared with the first embedding is called an arm. An arm is another
    embedding, or files with one for each seed, such as "glove{seed}.txt" (quoted). ``null``,
    ``seed_lists`` and ``permute_weights`` add arms.

    The same call resumes an interrupted one. A call with more embeddings computes only what is new.

    Parameters
    ----------
    embeddings : path, fetched name, Embedding, KeyedVectors, (words, vectors), or several
        The embeddings to compare, all of one dimension; names with {seed} are files of each seed.
        Methods may follow an @: "glove.txt@misp:dims=2", or "@misp:dims=2" for the first embedding.
    train : path, list of (label, premise, hypothesis) or pandas frame
        NLI pairs to train on, such as snli-train (wordbias fetch): jsonl, or tab-separated label,
        premise, hypothesis.
    dev : path, list of (label, premise, hypothesis) or pandas frame
        NLI pairs on which the best epoch is chosen.
    test : path, list of (label, premise, hypothesis) or pandas frame, optional
        NLI pairs on which the best epoch is tested.
    output : path
        Folder of models, rows and study.json, from which the same call resumes.
    seed : int or sequence of int
        Random seeds. One model is trained for each embedding and seed.
    recipe : str
        Recipe of the training, as in nli-train; other options overrule it.
    epochs : int, optional
        Maximum number of epochs.  [default: the recipe's]
    average_epochs : int, optional
        Take E, d and all values of a model as means over its last epochs, and keep their models.
        [default: the values of the best epoch on dev]
    permute_weights : bool
        Add 24 arms: MISP of the first embedding with its weights in every order (appendix C), and
        say how E of the right one ranks among them.
    null : int, optional
        Add an arm: the weights of MISP along random directions. The value is the number of draws,
        at most one per seed.
    seed_lists : int, optional
        Add an arm: MISP fitted to redrawn names. The value is the number of redraws, at most one
        per seed.
    only : sequence of str, optional
        Families of measures, some of {measures}.  [default: all but {others}]
    centre : bool
        Centre the differences, as the paper's one-sided PCA does; this removes their mean.
    as_published : bool
        Use the settings of the paper for measures and for MISP. Correlate signed values, and choose
        "a" or "an" by the first letter only: a SUV.
    groups : name, path or mapping, optional
        Groups to compare: gender, gender-fr, age, religion:A,B, … (wordbias lists), or a TOML file.
    set : str, optional
        Test set of marked attribute bias, see mab-eval.  [default: all]
    lists : path or wordbias.wordlists.Templates, optional
        Word lists of the test sets in the layout of Dev et al. (2020).
    outcome : str, optional
        Words whose E you chose as the outcome before any training: nouns, pronouns, occupations or
        names. Its tests are corrected for the number of arms only.
    raw : bool
        Train models on the vectors as they are, not scaled to length one.
    trust_rows : bool
        Use stored rows of models even if the last digits of the vectors differ, as on another kind
        of processor. Everything else must agree.
    sembias : path or fetched name, optional
        The SemBias test set (wordbias fetch sembias); without it SemBias has no value.
    benchmarks : path, fetched name, or several
        Folder or file of test sets for the vectors' quality.

    Returns
    -------
    Report
        Rows of every model, with its ``seed``, and their means over seeds (``seeds``, ``spread``).
        ``draw`` is the vectors that a model read, where those differ within an arm. Paired
        differences are ``mab-error-change`` and ``mab-distance-change``. Those to the random
        removals are ``mab-error-against-null`` and ``mab-distance-against-null``, those to MISP of
        redrawn names ``mab-error-against-lists`` and ``mab-distance-against-lists``. Other rows are
        the measures and the quality of every embedding, and the correlations with E. If an
        embedding lacks the words of a set, its rows have a ``reason`` but no value. Rows that
        ``trust_rows`` took from a model that read other values are ``trusted``.

    Raises
    ------
    WordbiasError
        If torch is missing, a file or a setting cannot be used, or no marked set can be scored with
        any embedding. Also if the folder holds models or measures made with other settings.

    Notes
    -----
    The tables are those of the paper: 1, 2 and 4 are marked attribute bias, 3 quality, 5 the
    correlations, 6 the measures. For a measure with a sign, such as MIDB, the correlations use its
    distance from the neutral value.

    Models of one seed begin with the same weights and read the pairs in the same order. Intervals
    of mean differences are Student's t. p is an exact sign-flip test, corrected by Holm's method
    for all embeddings and sets. An effect is excluded if two one-sided t tests at .05 reject a
    difference of this size or more, up or down. There are too few seeds if they cannot find the
    paper's effect, 26 % of E, after Holm's correction.

    With ``outcome`` Holm's method corrects the tests of the outcome for the number of arms only,
    and all other tests together. The first table then says what the outcome shows for each arm:
    lower, higher, or not shown, with the share of the first embedding's E that the data exclude.
    With ``null`` an arm is lower only if it is also lower than the random removals. Where p cannot
    reach .05, there are too few seeds to tell. If you choose the outcome after a look at the
    results, chance looks like a finding.

    A name with {seed} means vectors that were trained anew for each seed: "glove{seed}.txt" is
    glove0.txt for the model of seed 0. Quote it, as shells differ. The arm has the name of the
    files without the placeholder and what joins it (dots, hyphens, underscores, "seed" behind one
    of these): glove. The argument can also be a mapping: {"glove": {0: embedding, 1: embedding}}.
    Differences then vary over the training of vectors and of models together. Each file is compared
    with the first embedding of its seed; the arm's measure is the mean over its files. ``null``,
    ``seed_lists`` and ``permute_weights`` start from the first embedding of the seed. If a file's
    name really has the braces, it is one file.

    ``null`` asks whether it matters which directions a method removes. Its arm has the weights of
    MISP on the first embedding, along random directions. They move words less than MISP: this is
    the null *weights* of wordbias misp, not *as far*. The model of seed s is trained on draw s
    modulo the number of draws. The arm then costs no more than any other, and its differences vary
    over draws and seeds together. Each other embedding is also compared with this arm, seed by
    seed. Use one draw for each seed. Models that share a draw are not independent, and the
    intervals would be too narrow.

    ``seed_lists`` asks how much E and d depend on the names that MISP was fitted to. The same
    number of names is drawn again, with replacement. The model of seed s is trained on MISP of
    redraw s modulo the number of redraws. The differences of this arm to the first embedding vary
    over seeds and word lists together. Each other embedding is compared with it too; give MISP of
    all names as one of them.

    The rows of a model are stored in the folder as soon as it is trained. To resume on another
    machine, copy the files ``*.rows.json`` and ``*.measures.json``.

    With ``as_published`` the settings of MISP are those of ``permute_weights``, ``null`` and
    ``seed_lists``.

    With ``groups`` the measures and the test sets are about its two groups.

    References
    ----------
    Dawkins, H. (2021). Marked attribute bias in natural language inference. Findings of ACL 2021.

    Examples
    --------
    >>> import wordbias as wb
    >>> original = wb.load("glove.txt")  # doctest: +SKIP
    >>> wb.mab_study(
    ...     [original, wb.misp(original)],
    ...     train="snli_train.jsonl",
    ...     dev="snli_dev.jsonl",
    ...     output="study",
    ... )  # doctest: +SKIP
    """
    how = current_config()
    folder = Path(output)
    _check_outputs(folder, seed)
    check_choice("--set", set, CHOICES)
    half, templates = is_half(how.precision), None if lists is None else templates_of(lists)
    chosen, seed = recipe_named(recipe, epochs=epochs), list(dict.fromkeys(seeds_of(seed)))
    embeddings, counts = without_drawn(embeddings)
    null, seed_lists = counts.get(NULL, null), counts.get(LISTS, seed_lists)
    for option, count in (("--null", null), ("--seed-lists", seed_lists)):
        if count is not None:
            _check_draws(option, count, seed)
    read_options, workers = reading(), Workers(how.jobs, how.backend)
    attribute = Attribute.load(groups)
    questions = sembias_of(sembias)
    opened = open_arms(embeddings, seed, read_options, None if groups is None else attribute)
    need("torch", extra="torch", purpose="The study")
    from wordbias.nli import arms, study

    centred = centre or as_published
    studied: list[tuple[str, arms.Arm]] = [
        (name, {seed: subject.embedding for seed, subject in by_seed.items()})
        for name, by_seed in opened
    ]
    first, base = studied[0]
    if permute_weights:
        permuted = arms.permuted_weights(first, base, attribute, centre=centred)
        studied += permuted.items()
    for kind, draws in ((NULL, null), (LISTS, seed_lists)):
        if draws:
            drawn = arms.drawn_arm(kind, base, draws, attribute, centre=centred)
            studied.append((f"{first}.{arms.NAMES[kind]}", drawn))
    places = places_of(benchmarks)
    plan = study.Plan(
        arms.together(studied),
        {
            "train": read_named(load_pairs, "--train", train),
            "dev": read_named(load_pairs, "--dev", dev),
        },
        folder,
        chosen,
        seed,
        half,
        None if test is None else read_named(load_pairs, "--test", test),
        names_of(only) or STANDARD,
        questions,
        find_sets(*map(located, places)) if places else (),
        attribute,
        centre=centred,
        as_published=as_published,
        lists=templates,
        marked=() if set in (None, ALL) else (set,),
        raw=raw,
        average_epochs=average_epochs or 0,
        null=f"{first}.null" if null else "",
        redraws=f"{first}.misp-lists" if seed_lists else "",
        outcome=outcome,
        trust_rows=trust_rows,
    )
    missing = study.skipped(plan)
    for line in missing:
        note(line)
    rows = study.run(plan, device=how.device, workers=workers)
    related = correlations_with_error(rows, signed=as_published)
    correlated = any(row.value is not None for row in related)
    closing = [f"Kept in {folder}: models, rows, {_STORED}."]
    if not correlated:
        closing.insert(0, "Correlations with E (Table 5) need at least 3 embeddings.")
    about = _trusted(rows)
    if average_epochs:
        last = how_many(average_epochs, "epoch")
        about.insert(0, f"Values of a model are means over its last {last}.")
    report = Report(
        inputs={
            subject.embedding.name: subject.info.to_dict()
            for _, by_seed in opened
            for subject in by_seed.values()
        },
        rows=[*rows, *related],
        tables=[
            *_outcome_tables(rows),
            _errors_table(rows),
            *_marked_tables(rows),
            *_difference_tables(rows),
            *quality_tables([row for row in rows if row.measure in QUALITY]),
            *measures_tables(intrinsic_rows(rows)),
            *([_correlation_table(related, as_published)] if correlated else []),
        ],
        heading=[_heading(plan), *_about_seeds(rows, len(plan.arms), len(plan.seeds))],
        closing=[*(f"{line}." for line in missing), *about, *about_orders(rows, first), *closing],
        notes=["Few embeddings and seeds: read correlations as descriptions, not as tests."],
        picture=plot_study if paired_panels(rows) else None,
    )
    with replacing(folder / _STORED) as file:
        file.write(report.render("json").encode())
    return report


def _check_outputs(folder: Path, seeds: int | Sequence[int]) -> None:
    """Refuse outputs that could not be written after hours of training."""
    check_output_folder(folder)
    if folder.is_dir():
        check_writable(folder / _STORED)
    if is_given("plot") and len({*seeds_of(seeds)}) < 2:
        raise UsageError("--plot: a difference needs two seeds or more; give them with --seed")


def _check_draws(option: str, draws: int, seeds: Sequence[int]) -> None:
    """Refuse draws that no seed would use."""
    used = len({seed % draws for seed in seeds})
    if used < draws:
        raise UsageError(
            f"{option}: {how_many(len(seeds), 'seed')} would use {used} of {draws} draws, as "
            f"seed s takes draw s modulo {draws}; give fewer draws, or seeds that use all"
        )


def _heading(plan: Plan) -> str:
    random_arms = [name for name in (plan.null, plan.redraws) if name]
    given = [name for name in plan.arms if name not in random_arms]
    anew = [name for name in given if not is_one(name, plan.arms[name])]
    heading = f"Embeddings: {len(given)}. Models of each: {len(plan.seeds)}."
    if anew:
        heading += (
            f" {', '.join(anew)}: vectors of each seed; differences vary over the training of "
            "vectors and of models."
        )
    if plan.null:
        drawn = how_many(_draws(plan, plan.null), "random removal")
        heading += f" {plan.null}: {drawn} with the weights of MISP, together one arm."
    if plan.redraws:
        drawn = how_many(_draws(plan, plan.redraws), "redraw")
        heading += f" {plan.redraws}: MISP fitted to {drawn} of the names, together one arm."
    return heading


def _draws(plan: Plan, arm: str) -> int:
    """Return the number of removals of an arm, which the embeddings of several seeds share."""
    return len({embedding.name.rpartition("-")[2] for embedding in different(plan.arms[arm])})


def _outcome_tables(rows: Sequence[Row]) -> list[Table]:
    """Tabulate what the outcome says of each arm; nothing without one, or with a single seed."""
    outcomes = [row for row in rows if row.details.get("outcome") and "p" in row.details]
    if not outcomes:
        return []
    about = outcomes[0].details
    first, setting = str(about["original"]), str(about["setting"])
    averaged = [row for row in rows if "seeds" in row.details and row.subject == first]
    error = _find(averaged, "mab-error", str(about["set"]), setting)
    before = 0.0 if error is None else error.value or 0.0
    read = readings(outcomes, before)
    null = next(
        (str(judgement.against.details["original"]) for judgement in read if judgement.against), ""
    )
    of_arm = {change.subject: (against, verdict) for change, against, verdict in read}

    def beside(cell: cells.Cell, row: Row) -> str:
        against = of_arm[row.subject][0]
        return "" if against is None else cell(against)  # of the random removals themselves

    lower = "below .05 after Holm" + (f", also compared with {null}" if null else "")
    columns = values("E change", "95 %", "Holm")
    columns += values(
        ("to random", partial(beside, cells.value)), ("Holm", partial(beside, cells.p_holm))
    )
    columns += values(("reading", lambda row: of_arm[row.subject][1]))
    title = f"Outcome: E of the {setting}, {number(before, 3)} with {first}"
    note = (
        f"Differences of models of the same seed, {how_many(about['n'], 'seed')}; Holm over "
        f"{how_many(len(read), 'arm')}. lower: p is {lower}. not shown: two one-sided t tests at "
        f".05 exclude an effect of this share of {first}'s E or more, up or down; the paper's is "
        f"{100 * PUBLISHED_EFFECT:g} %."
    )
    return [pivot(title, [change for change, _, _ in read], "subject", columns, note)]


def _errors_table(rows: Sequence[Row]) -> Table:
    """Tabulate one line an embedding: accuracy, and E and d of the gendered nouns, with spread."""
    averaged = [row for row in rows if "seeds" in row.details]
    name, setting = settings(averaged)[0]
    columns = []
    for split in ("dev", "test"):
        columns += values((split, cells.with_spread), measure="snli-accuracy", set=split)
    for head, measure in {"E": "mab-error", "d": "mab-distance"}.items():
        columns += values((head, cells.with_spread), measure=measure, set=name, setting=setting)
    title = f"Accuracy, and marked attribute bias of the {setting} (± spread over seeds)"
    note = (
        "Accuracy on dev and test: higher is better. E: distance of the mean probabilities from "
        "neutral, which is always right; d: distance between those of both groups. Both are 0 "
        "without bias, and lower is better."
    )
    return pivot(title, averaged, "subject", columns, note)


def _marked_tables(rows: Sequence[Row]) -> list[Table]:
    """Make Tables 1, 2 and 4: mean (N, E, C) of both groups, d and E, averaged over seeds."""
    averaged = [row for row in rows if "seeds" in row.details]
    groups = groups_of(averaged)
    tables = []
    for name, setting in settings(averaged):
        title = f"{' and '.join(groups).capitalize()}: {setting}"
        title = _TITLES.get((name, setting), title) if groups == GENDERS else title
        own = [
            r
            for r in averaged
            if (r.details.get("set"), r.details.get("setting")) == (name, setting)
        ]
        tables.append(pivot(title, own, "subject", marked_columns(groups)))
    return tables


def _difference_tables(rows: Sequence[Row]) -> list[Table]:
    """Tabulate the differences in E and d, one line an embedding and set."""
    # They are those to the first embedding, then those to the other arms.
    tables = []
    for measure, change in (*CHANGES.items(), *AGAINST_NULL.items(), *AGAINST_LISTS.items()):
        own = [row for row in rows if row.measure == change and row.value is not None]
        tested = [row for row in own if "p" in row.details]
        if not tested:
            continue
        first = tested[0].details["original"]
        main = sum(bool(row.details.get("outcome")) for row in tested)
        corrected = how_many(len(tested) - main or main, "test")
        corrected += f", the outcome for {main}" if 0 < main < len(tested) else ""
        symbol = MEASURES[measure].symbol
        title = f"Difference to {first} in {symbol}, models of the same seed in pairs"
        excluded = ("excluded", cells.detail("excluded"))
        columns = values(symbol, "95 %", "p", "Holm", excluded, ("seeds", cells.n))
        note = (
            "Below 0: less bias. 95 %: Student's t over seeds. p: exact sign-flip test; Holm: "
            f"corrected for {corrected}. excluded: two one-sided t tests at .05 exclude a "
            "difference of this size or more, up or down."
        )
        tables.append(pivot(title, tested, _arm, columns, note))
    return tables


def _arm(row: Row) -> str:
    return f"{row.details['setting']}, {row.subject}"


def _trusted(rows: Sequence[Row]) -> list[str]:
    """Say of how many models the rows were taken although they read vectors with other values."""
    models = {
        (row.details.get("draw", row.subject), row.details["seed"])
        for row in rows
        if row.details.get("trusted")
    }
    if not models:
        return []
    caution = f"{how_many(len(models), 'model')} read vectors with other values than those given"
    note(f"{caution}: the rows are taken", reported=True)
    return [f"{caution}; the rows were taken as they are."]


def _about_seeds(rows: Sequence[Row], embeddings: int, seeds: int) -> list[str]:
    """Say which differences so many seeds can show."""
    changes = [row for row in rows if row.measure in CHANGES.values() and row.value is not None]
    if seeds == 1 and embeddings > 1:
        return ["Differences have no interval: one model of each embedding; give more with --seed."]
    error = mean_errors(rows).get(changes[0].details["original"]) if changes else None
    return about_power(changes, error or 0.0)


def _correlation_table(rows: Sequence[Row], signed: bool) -> Table:
    """Tabulate the correlation of each measure with E, and how far it can be trusted."""
    columns = values("Pearson r", "95 %", ("ρ", cells.detail("spearman")), *WITHOUT)
    columns += values(("embeddings", cells.n), "p")
    note = (
        "p and the interval (Fisher) assume normal values, and are not corrected for the number of "
        "measures." + " |…|: the distance from the neutral value." * (not signed)
    )
    return pivot("Table 5: correlation with E, as above", rows, "x", columns, note)


def _find(
    rows: Sequence[Row], measure: str, name: str, setting: str | None, group: str | None = None
) -> Row | None:
    """Return the row of a measure on the set `name`, for one kind of words and one group."""
    wanted = {"set": name, "setting": setting, "group": group}
    matches = (
        row
        for row in rows
        if row.measure == measure and all(row.details.get(k) == v for k, v in wanted.items())
    )
    return next(matches, None)
