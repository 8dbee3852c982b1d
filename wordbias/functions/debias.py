"""Debiasing with any method, or several in order: fit, apply, measure, write."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast

from wordbias.calls import current, public
from wordbias.embedding import Embedding, EmbeddingLike
from wordbias.errors import UsageError
from wordbias.formats.files import check_writable, refuse_same
from wordbias.functions.choice import Choice, make_choice, similarity_sets
from wordbias.functions.inputs import ReadOptions, names_of, open_subject, path_of
from wordbias.functions.lists import vocabulary_of
from wordbias.functions.quality import Places, places_of
from wordbias.functions.tables import effect_table, measures_tables, null_table
from wordbias.measures.evaluate import check_families, evaluate_panels
from wordbias.measures.panel import make_panels
from wordbias.measures.registry import STANDARD, names_families
from wordbias.measures.sembias import SemBias
from wordbias.methods.choice import (
    GRID,
    KEEP,
    check_metric,
    make_task,
    parse_candidates,
)
from wordbias.methods.diagnosis import REMOVED, about_removal
from wordbias.methods.effect import Effect, beside_null, effect
from wordbias.methods.fitted import Chain, Fitted, Reach
from wordbias.methods.methods import (
    METHODS,
    fit_chain,
    head_of,
    parse_methods,
    refuse_unused,
    seed_of,
    settings_of,
    wanted_by,
)
from wordbias.methods.misp import DIMS
from wordbias.methods.null import refuse_no_projection
from wordbias.methods.storage import Origin, save_chain
from wordbias.methods.words import listed_words
from wordbias.rendering import Table
from wordbias.resources import located
from wordbias.results import Report, Row, number
from wordbias.vocabulary import choose_vocabulary, neutral_vocabulary
from wordbias.word_tasks import SimilaritySet, find_sets
from wordbias.wordlists import (
    Attribute,
    GroupsLike,
    WordGroups,
    WordSets,
    load_attribute,
    notes_on_language,
)
from wordbias.wordlists.groups import more_than_two
from wordbias.workers import Workers

Words = str | Path | Sequence[str]
"""A file with words, or the words."""

_FILES = ("direction", "sets", "concept", "words", "stereotypes", "neutral", "checkpoint")
"""Settings that may name a file."""
_LABELS = {
    "component": "i",
    "cos_difference": "cos(g, Δ)",
    "cos_direction": "cos(g, axis)",
    "sign_stability": "stability",
}
_CONVENTIONS = ("centred", "neutral", "better", "missing", "reason")


@public
@names_families
def debias(
    embedding: EmbeddingLike | None = None,
    methods: str | Sequence[str] | None = None,
    *,
    output: str | os.PathLike[str] | None = None,
    save_transform: str | os.PathLike[str] | None = None,
    measure: bool = False,
    only: str | Sequence[str] | None = None,
    sembias: str | os.PathLike[str] | None = None,
    chance: bool = True,
    null: int | None = None,
    choose: str | None = None,
    keep: float | None = None,
    dims: int | None = None,
    center: bool | None = None,
    weights: str | Sequence[float] | None = None,
    direction: str | None = None,
    equalise: bool | None = None,
    sets: str | Path | WordSets | Sequence[str | os.PathLike[str]] | None = None,
    means: bool | None = None,
    candidates: int | None = None,
    classes: int | None = None,
    per_class: int | None = None,
    iterations: int | None = None,
    classifier: Literal["svm", "logistic"] | None = None,
    alpha: float | None = None,
    aperture: float | None = None,
    concept: Words | None = None,
    words: Words | None = None,
    stereotypes: Words | None = None,
    neutral: Words | None = None,
    pretrain_epochs: int | None = None,
    epochs: int | None = None,
    device: str | None = None,
    checkpoint: str | Path | None = None,
    drop_last: bool | None = None,
    check: bool | None = None,
    as_published: bool | None = None,
    groups: GroupsLike | None = None,
    vocab: str | os.PathLike[str] | Sequence[str] | None = None,
    strict_vocab: bool = False,
    skip_bad: bool = False,
    allow_pickle: bool = False,
    cache: bool = True,
    jobs: int | None = None,
    seed: int = 0,
) -> Embedding:
    """Debias ``embedding`` with ``methods``, one or several separated by commas; write the result.

    Several methods are applied in order, each fitted on the result of the one before. Without
    ``embedding`` the sample that comes with wordbias is used. gender-preserving needs the extra
    torch.

    With ``choose`` several methods are tried, and the result of one is written: of those that keep
    a share ``keep`` of neighbours and of ``sets``, the one that improves a measure most. They are
    compared on one half of the words at random, and the one chosen is measured on the other half,
    so that this value is not that of the luckiest. Halved are the words measured: neutral words,
    occupations, questions, pairs of words. Each method is fitted on all of its word lists, which
    both halves share, as they share forms of one word (nurse, nurses). If none keeps enough, or
    none improves the measure by an interval that excludes 0, nothing is written. A method gets the
    measure that it removes to neutral by construction: choose by another one, or see the audit.

    Parameters
    ----------
    embedding : path, fetched name, Embedding, KeyedVectors or (words, vectors), optional
        The embedding to debias; by default the sample that comes with wordbias.
    methods : str or list of str, optional
        Names of methods, in the order in which they are applied; `wordbias.methods.METHODS`
        describes them. A setting goes to every method that takes it; None means the method's own
        default. A number, a flag or a choice may follow the name of its method: misp:dims=2,
        inlp:rounds=10:classifier=logistic. With ``choose``: methods to try, with spaces between:
        "misp:dims=2 hard,misp".  [default: misp and mhd with dims 1, 2, 4, 8; hard; hard,misp;
        leace; inlp with rounds 1, 4, 16, 35; half-sibling, conceptor, oscar]
    output : path, optional
        File for the debiased vectors, in the format of its suffix, else that of ``embedding``.
    save_transform : path, optional
        File for the fitted methods, which wordbias apply reads.
    measure : bool
        Measure bias before and after.
    only : str or list of str, optional
        With ``measure``: some of {measures}.  [default: all but {others}]
    sembias : path or fetched name, optional
        With ``measure``: SemBias test set.
    chance : bool
        Give the chance level of each value: along axes unrelated to the attribute.
    null : int, optional
        Number of random removals of each kind. MIDB, direct bias and cost are measured before and
        after, and each change stands beside those of the same methods along random directions: as
        many and with the same weights, which moves words less; and as many as move words as far,
        also drawn by the words' covariance. For misp, mhd, double-hard, inlp, leace, half-sibling,
        conceptor, and hard and multi-hard without ``equalise``.
    choose : str, optional
        Measure to improve: midb-unit-abs, direct-bias, clustering-accuracy, gipe,
        sembias-stereotype, weat, lean or another; an unknown name lists all.
    keep : float, optional
        With ``choose``: share to keep of the neighbours of neutral words, and of ``sets``.
        [default: 0.95]
    dims : int, optional
        misp, mhd, multi-hard: number of components of the subspace.
    center : bool, optional
        misp, mhd: centre the differences.
    weights : str or list of float, optional
        misp: variance, numbers 0.5,0.3,… or perm:2134; inlp: information.
    direction : str, optional
        hard, oscar, ran: pca, she-he (axis), names, means or FILE.
    equalise : bool, optional
        hard, multi-hard: equalise pairs or sets.
    sets : path or WordSets, optional
        multi-hard: TOML file with sets of words. With ``choose``: similarity sets to keep, paths or
        fetched names separated by commas.
    means : bool, optional
        multi-hard: use the differences of the groups' means.
    candidates : int, optional
        double-hard: number of frequency components to try.
    classes : int, optional
        inlp, leace: number of classes, as many as groups or one more (neutral words).
    per_class : int, optional
        inlp, leace: number of words of each class.
    iterations : int, optional
        inlp, ran: maximum number of rounds.
    classifier : {"svm", "logistic"}, optional
        inlp: classifier that finds the directions.
    alpha : float, optional
        half-sibling: strength of the ridge penalty.
    aperture : float, optional
        conceptor: aperture; more is removed the larger it is.
    concept : path or list of str, optional
        oscar: FILE with words of the second concept.
    words : path or list of str, optional
        ran: FILE with the words to debias.
    stereotypes : path or list of str, optional
        gender-preserving: FILE with stereotyped words.
    neutral : path or list of str, optional
        gender-preserving: FILE with neutral words.
    pretrain_epochs : int, optional
        gender-preserving: number of epochs of the autoencoder, without the classifiers.
    epochs : int, optional
        gender-preserving: number of epochs with the classifiers.
    device : str, optional
        gender-preserving: auto, cpu, cuda or mps.
    checkpoint : path, optional
        gender-preserving: FILE to resume an interrupted training from.
    drop_last : bool, optional
        gn-glove: remove w_g instead of setting it to 0.
    check : bool, optional
        gn-glove: check that the last coordinate is w_g.
    as_published : bool, optional
        Follow the paper, or its released code with its bugs; METHOD:as-published does so for one
        method.
    groups : name, path or mapping, optional
        Groups to compare: gender, gender-fr, age, religion:A,B, … (wordbias lists), or a TOML file.
    vocab : path or sequence of str, optional
        Words to average over, one per line; or published: the frequent words in none of the
        published lists of gendered words (wordbias fetch bolukbasi-lists gn-glove-lists).
    strict_vocab : bool
        Use the stricter word filter of Gonen and Goldberg.
    skip_bad : bool
        Drop and count rows that cannot be used.
    allow_pickle : bool
        Open gensim .kv files, which are pickles and can run any code.
    cache : bool
        Cache parsed text; later calls memory-map it.
    jobs : int, optional
        With ``choose``: number of processes.  [default: 1]
    seed : int
        Seed of everything random.

    Returns
    -------
    Embedding
        The debiased vectors of all words, shape ``(n, d)``, ``(n, d - 1)`` if gn-glove removes w_g;
        its ``report`` says what fitting found, how many words were changed and what was measured.
        If a file was streamed to ``output``, they are loaded from there on first use.

    Raises
    ------
    WordbiasError
        If there is no such method, none of them takes a setting, a file cannot be used, words are
        missing, a method changes nothing, or there is none to choose.

    Examples
    --------
    >>> import wordbias as wb
    >>> clean = wb.debias(None, "hard,misp", dims=2)
    >>> clean
    <Embedding 'sample.hard.misp': 21,791 words × 100>
    >>> clean.report["words-changed"][0].value > 20_000
    True
    >>> clean = wb.debias(None, "misp:dims=1 hard", choose="midb-unit-abs", keep=0.9)
    >>> clean.report["midb-unit-abs"][1].details["half"]
    'choose'
    """
    settings: dict[str, Any] = {
        "dims": dims,
        "center": center or None,
        "weights": weights,
        "direction": direction,
        "equalise": equalise,
        "sets": sets,
        "means": means or None,
        "candidates": candidates,
        "classes": classes,
        "per_class": per_class,
        "iterations": iterations,
        "classifier": classifier,
        "alpha": alpha,
        "aperture": aperture,
        "concept": concept,
        "words": words,
        "stereotypes": stereotypes,
        "neutral": neutral,
        "pretrain_epochs": pretrain_epochs,
        "epochs": epochs,
        "device": device,
        "checkpoint": checkpoint,
        "drop_last": drop_last or None,
        "check": check,
        "as_published": as_published or None,
    }
    settings = {name: value for name, value in settings.items() if value is not None}
    to_try: list[str] = []
    tests: Sequence[SimilaritySet] = ()
    if choose is None:
        names = _names(methods)
        settings |= seed_of(names, seed)
        refuse_unused(names, settings, _option)
        if groups is not None and "sets" in settings:
            raise UsageError("multi-hard takes --sets or the pairs of --groups, not both")
        _refuse_given({"keep": keep, "jobs": jobs}, "--choose")
        refuse_no_projection(names if null else ())
    else:
        embedding, to_try = _embedding_and_methods(embedding, methods)
        names = []
        tests = _similarity_sets(settings.pop("sets", None))
        _check_choice(choose, keep, settings, measure=measure, null=null)
    families = STANDARD if only is None else names_of(only)
    of_both: dict[str, object] = {"sembias": sembias}
    of_both |= {} if null else {"vocab": vocab, "strict-vocab": strict_vocab}
    options = {"only": only, "no-chance": not chance} | ({} if choose else of_both)
    _check_measuring(families, options, measure=measure)
    output, transform = path_of(output), path_of(save_transform)
    read = {_option(name): path_of(settings.get(name)) for name in _FILES}
    read |= {"--groups": path_of(groups), "--sembias": path_of(sembias), "--vocab": path_of(vocab)}
    _check_files(output, transform, path_of(embedding), read)
    attribute = load_attribute(groups)
    if (measure or choose or null) and isinstance(attribute, WordGroups):
        raise more_than_two(attribute, path_of(groups) or "")
    questions = SemBias.load(located(os.fspath(sembias))) if sembias else None
    given, specific = vocabulary_of(vocab, attribute)
    read_options = ReadOptions(cache, skip_bad, allow_pickle)
    choice: Choice | None = None
    if choose is not None and isinstance(attribute, Attribute):
        whole = open_subject(embedding, read_options, output=output, whole=True).embedding
        task = make_task(
            whole,
            choose,
            choose_vocabulary([whole], attribute, given, strict=strict_vocab, specific=specific),
            attribute,
            fitted_to=None if groups is None else attribute,
            sembias=questions,
            sets=tests,
            seed=seed,
        )
        choice = make_choice(task, to_try, keep or KEEP, Workers(jobs))
        methods, settings = choice.best.candidate, {}
        names = _names(methods)
        settings |= seed_of(names, seed)
    head = head_of(names)
    subject = open_subject(
        embedding,
        read_options,
        head=head or 0,
        wanted=wanted_by(names, attribute, settings),
        output=output,
        whole=measure or null is not None or head is None,
    )
    before = subject.embedding
    chain, done = fit_chain(methods or (), before, None if groups is None else attribute, settings)
    measured = []
    if measure:
        panels = make_panels(
            [before, done],
            before,
            attribute,
            given,
            strict=strict_vocab,
            specific=specific,
            seed=seed,
        )
        measured = evaluate_panels(panels, families, sembias=questions, chance=chance)
    beside = []
    if null and isinstance(attribute, Attribute):
        vocabulary = choose_vocabulary(
            [before], attribute, given, strict=strict_vocab, specific=specific
        )
        beside = beside_null(before, chain, vocabulary, attribute, null, seed=seed)
    chosen = None if choice is None else choice.report(chain)

    def save(sha256: str) -> None:
        if transform is not None:
            save_chain(transform, chain, Origin.of(before, subject.info.words, sha256))

    reached = subject.write_words(chain, done, save)
    closing = [] if measure or chosen or beside else ["--measure measures bias before and after."]
    if transform is not None:
        closing.append(f"Fitted: {transform}; to apply it: wordbias apply {transform} FILE -o OUT.")
    of_sets = names == ["multi-hard"] and groups is None
    report = Report(
        inputs={before.name: subject.info.to_dict()},
        rows=[
            *(chosen.rows if chosen else ()),
            *(row for part in chain.parts for row in part.found),
            *reach_rows(chain, reached, done),
            *measured,
            *beside,
        ],
        tables=[
            *(chosen.tables if chosen else ()),
            *(table for part in chain.parts for table in found_tables(part)),
            reach_table(chain, reached),
            *measures_tables(measured),
            *_null_tables(beside, attribute),
        ],
        heading=[
            *(chosen.heading if chosen else ()),
            *_removed(chain),
            f"{', then '.join(part.name for part in chain.parts)} on {subject.description()}",
            *([] if of_sets else [f"Attribute {attribute.name}."]),
        ],
        closing=[*closing, subject.output_line()],
        seed=seed,
        notes=[
            *notes_on_language(attribute),
            *(f"{part.name}: {warning}" for part in chain.parts for warning in part.warnings),
        ],
    )
    return subject.result(chain, report, done)


def _null_tables(rows: list[Row], attribute: Attribute | WordGroups) -> list[Table]:
    """Make the tables of what changed, and of random removals beside it."""
    if not rows or not isinstance(attribute, Attribute):
        return []
    return [effect_table(Effect(rows, []), attribute, {}), null_table(rows, attribute)]


def fitted_report(
    fitted: Fitted, embedding: Embedding, attribute: Attribute | WordGroups | None
) -> Report:
    """Report on a method and the embedding that it was fitted on: what it found, did and cost.

    Parameters
    ----------
    fitted, embedding
        The method, and the embedding before it.
    attribute
        The groups. For two groups bias is measured before and after, over the frequent neutral
        words; for more, or if the vectors lose a dimension, it is not.
    """
    subject = open_subject(embedding, ReadOptions())
    listed = set() if attribute is None else listed_words(attribute)
    neutral = neutral_vocabulary(embedding.words, {word.lower() for word in listed})
    two = attribute if isinstance(attribute, Attribute) else None
    if two is not None:
        neutral = choose_vocabulary([embedding], two)
    part = embedding.subset([*neutral, *sorted(listed)])
    after, chain = fitted(part), Chain((fitted,))
    reached = [fitted.reach(embedding.words)]
    rows = [*fitted.found, *reach_rows(chain, reached, after)]
    tables = [*found_tables(fitted), reach_table(chain, reached)]
    if after.dim == part.dim:
        dims, center = fitted.settings.get("dims") or DIMS, bool(fitted.centred)
        measured = effect(part, after, neutral, two, dims=dims, center=center)
        rows += measured.rows
        tables.append(effect_table(measured, two, {}))
    return Report(
        "debias",
        {"methods": fitted.name, **fitted.settings},
        {embedding.name: subject.info.to_dict()},
        rows,
        tables,
        [*_removed(chain), f"{fitted.name} on {subject.description()}"],
        seed=fitted.settings.get("seed"),
        notes=fitted.warnings,
    )


def _names(methods: str | Sequence[str] | None) -> list[str]:
    """Return the names of the methods."""
    if not methods:
        in_shell = current().note is not None
        raise UsageError(
            f"{'METHODS' if in_shell else '--methods'}: name at least one of {', '.join(METHODS)}"
            + (
                "; or let --choose find one"
                if in_shell
                else ", after the embedding; None is the sample"
            )
        )
    return parse_methods(methods if isinstance(methods, str) else ",".join(map(str, methods)))


def _option(setting: str) -> str:
    return f"--{setting.replace('_', '-')}"


def _refuse_given(options: Mapping[str, object], user: str) -> None:
    """Refuse options that only another option uses, which is not given."""
    for name, value in options.items():
        if value is not None and value is not False:
            raise UsageError(f"--{name} is for {user}, which is not given")


def _check_measuring(
    families: Sequence[str], options: Mapping[str, object], *, measure: bool
) -> None:
    """Refuse unknown measures, and without ``--measure`` the options that only it uses."""
    if not families:
        raise UsageError("--only: is empty, so that nothing would be measured; name measures")
    if measure:
        check_families(families)
    else:
        _refuse_given(options, "--measure")


def _check_files(
    output: str | None, transform: str | None, embedding: str | None, read: dict[str, str | None]
) -> None:
    """Refuse to write a file that is read, or cannot be written."""
    refuse_same({"-o": output}, read)  # it may replace the embedding; what was fitted may not
    refuse_same({"--save-transform": transform}, {**read, "EMBEDDING": embedding, "-o": output})
    if transform is not None:
        check_writable(transform)


def _embedding_and_methods(
    embedding: EmbeddingLike | None, methods: str | Sequence[str] | None
) -> tuple[EmbeddingLike | None, list[str]]:
    """Return the embedding and the methods to choose among.

    A text that stands alone in the shell is the embedding, unless it begins with a method.
    """
    if embedding is None and isinstance(methods, str) and methods:
        first = re.split(r"[\s,:]", methods.strip(), maxsplit=1)[0]
        if first.lower().replace("_", "-") not in METHODS:
            return methods, parse_candidates(GRID)
    return embedding, parse_candidates(methods or GRID)


def _similarity_sets(sets: object) -> Sequence[SimilaritySet]:
    """Read the similarity sets that a method must keep."""
    if sets is None:
        return ()
    if isinstance(sets, WordSets):
        raise UsageError("--sets: with --choose expected similarity sets, got sets of words")
    places = names_of(sets) if isinstance(sets, str) else places_of(cast("Places", sets))
    return similarity_sets(find_sets(*map(located, places)))


def _check_choice(
    choose: str,
    keep: float | None,
    settings: Mapping[str, object],
    *,
    measure: bool,
    null: int | None,
) -> None:
    """Refuse an unknown measure or share, and what cannot go with ``--choose``."""
    check_metric(choose)
    if keep is not None and not 0 < keep <= 1:
        raise UsageError(f"--keep: expected a share above 0, 1 at most, got {keep:g}")
    if measure:
        raise UsageError("--choose measures by itself; leave --measure out")
    if null is not None:
        raise UsageError("--null is about one result; give it in a call with the methods chosen")
    if settings:
        raise UsageError(
            f"{_option(next(iter(settings)))} is for all methods of a call; with --choose write "
            'settings after the names of the methods to try: "misp:dims=2 hard,misp"'
        )


def reach_rows(chain: Chain, reached: Sequence[Reach], done: Embedding) -> list[Row]:
    """Return the number of words that each method of a chain changed, and that it left out."""
    return [
        Row(
            done.name,
            "words-changed",
            reach.mapped + reach.replaced,
            {
                "method": part.name,
                "replaced": reach.replaced,
                "outside": reach.outside,
                **({} if part.centred is None else {"centred": part.centred}),
            },
        )
        for part, reach in zip(chain.parts, reached, strict=True)
    ]


def found_tables(fitted: Fitted) -> list[Table]:
    """Make a table for each kind of row that fitting found; the first names the settings."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in (row for row in fitted.found if row.measure != REMOVED):
        keys = [key for key in row.details if key not in _CONVENTIONS]
        groups.setdefault(tuple(key for key in keys if not _says_title(fitted, key)), []).append(
            row
        )
    return [
        _found_table(f"{fitted.name}, {rows[0].measure}" if i else _title(fitted), keys, rows)
        for i, (keys, rows) in enumerate(groups.items())
    ]


def _says_title(fitted: Fitted, key: str) -> bool:
    """Say whether all rows only repeat a setting, which the title has."""
    values = (row.details[key] for row in fitted.found if key in row.details)
    return key in fitted.settings and all(value == fitted.settings[key] for value in values)


def _found_table(title: str, keys: Sequence[str], rows: Sequence[Row]) -> Table:
    """Make a line for each row; details that are the same in all are noted below."""
    first = rows[0].details
    alike = {
        key for key in keys if len(rows) > 1 and all(r.details[key] == first[key] for r in rows)
    }
    shown = [key for key in keys if key not in alike]
    cells = [
        [row.measure, number(row.value), *(_cell(row.details[key]) for key in shown)]
        for row in rows
    ]
    note = ", ".join(f"{_label(key)} {_cell(first[key])}" for key in keys if key in alike)
    return Table(title, ["", "value", *map(_label, shown)], cells, note)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else ""
    return number(value) if isinstance(value, float) else str(value)


def _label(key: str) -> str:
    return _LABELS.get(key, key)


def _title(fitted: Fitted) -> str:
    default = settings_of(fitted.name)
    settings = ", ".join(
        f"{key} {'no' if value is False else _cell(value)}"
        for key, value in fitted.settings.items()
        if value is not None and (value is not False or default.get(key))
    )
    return f"{fitted.name}: {settings}" if settings else fitted.name


def reach_table(chain: Chain, reached: Sequence[Reach]) -> Table:
    """Make a line for each method."""
    cells = [
        [part.name, f"{reach.mapped:,}", f"{reach.replaced:,}", f"{reach.outside:,}"]
        for part, reach in zip(chain.parts, reached, strict=True)
    ]
    note = "Every vector is normalised to length one, those of words left out too."
    normalised = any(part.exempt_steps for part in chain.parts)
    return Table("Words", ["", "mapped", "replaced", "left out"], cells, note if normalised else "")


def _removed(chain: Chain) -> list[str]:
    """Return the share of the groups' difference that MISP and MHD removed, in words."""
    rows = [(part.name, row) for part in chain.parts for row in part.found]
    return [
        f"{name}: {text[:1].lower()}{text[1:]}"
        for name, row in rows
        if row.measure == REMOVED
        for text in about_removal(row)
    ]
