"""Debiasing with any method, or several in order: fit, apply, measure, write."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from wordbias.calls import public
from wordbias.embedding import Embedding, EmbeddingLike
from wordbias.errors import UsageError
from wordbias.formats.files import check_writable, refuse_same
from wordbias.functions.inputs import ReadOptions, names_of, open_subject, path_of
from wordbias.functions.tables import effect_table, measures_tables
from wordbias.measures.evaluate import check_families, evaluate_panels
from wordbias.measures.panel import make_panels
from wordbias.measures.registry import STANDARD, names_families
from wordbias.measures.sembias import SemBias
from wordbias.methods.diagnosis import REMOVED, about_removal
from wordbias.methods.effect import effect
from wordbias.methods.fitted import Chain, Fitted, Reach
from wordbias.methods.methods import (
    METHODS,
    fit_chain,
    head_of,
    parse_methods,
    refuse_unused,
    settings_of,
    wanted_by,
)
from wordbias.methods.misp import DIMS
from wordbias.methods.storage import Origin, save_chain
from wordbias.methods.words import listed_words
from wordbias.rendering import Table
from wordbias.resources import located
from wordbias.results import Report, Row, number
from wordbias.vocabulary import choose_vocabulary, neutral_vocabulary
from wordbias.wordlists import Attribute, GroupsLike, WordGroups, WordSets, load_attribute, wordlist
from wordbias.wordlists.groups import more_than_two

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
    methods: str | Sequence[str] = (),
    *,
    output: str | os.PathLike[str] | None = None,
    save_transform: str | os.PathLike[str] | None = None,
    measure: bool = False,
    only: str | Sequence[str] | None = None,
    sembias: str | os.PathLike[str] | None = None,
    chance: bool = True,
    dims: int | None = None,
    center: bool | None = None,
    weights: str | Sequence[float] | None = None,
    direction: str | None = None,
    equalise: bool | None = None,
    sets: str | Path | WordSets | None = None,
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
    seed: int = 0,
) -> Embedding:
    """Debias ``embedding`` with ``methods``, one or several separated by commas; write the result.

    Several methods are applied in order, each fitted on the result of the one before. Without
    ``embedding`` the sample that comes with wordbias is used. gender-preserving needs the extra
    torch.

    Parameters
    ----------
    embedding : path, fetched name, Embedding, KeyedVectors or (words, vectors), optional
        The embedding to debias; by default the sample that comes with wordbias.
    methods : str or list of str
        Names of methods, in the order in which they are applied; `wordbias.methods.METHODS`
        describes them. A setting goes to every method that takes it; None means the method's own
        default. A number, a flag or a choice may follow the name of its method: misp:dims=2,
        inlp:rounds=10:classifier=logistic.
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
        multi-hard: TOML file with sets of words.
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
        gender-preserving: cpu, cuda or mps.
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
        Groups to compare: gender, gender-de, age, religion:A,B, ethnicity:A,B, or a TOML file.
    vocab : path or sequence of str, optional
        Words to average over, one per line.
    strict_vocab : bool
        Use the stricter word filter of Gonen and Goldberg.
    skip_bad : bool
        Drop and count rows that cannot be used.
    allow_pickle : bool
        Open gensim .kv files, which are pickles and can run any code.
    cache : bool
        Cache parsed text; later calls memory-map it.
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
        missing, or a method changes nothing.

    Examples
    --------
    >>> import wordbias as wb
    >>> clean = wb.debias(None, "hard,misp", dims=2)
    >>> clean
    <Embedding 'sample.hard.misp': 21,791 words × 100>
    >>> clean.report["words-changed"][0].value > 20_000
    True
    """
    names = _names(methods)
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
        "seed": seed if any("seed" in settings_of(name) for name in names) else None,
    }
    settings = {name: value for name, value in settings.items() if value is not None}
    refuse_unused(names, settings, _option)
    if groups is not None and "sets" in settings:
        raise UsageError("multi-hard takes --sets or the pairs of --groups, not both")
    if not measure:
        of_measuring = {"only": only, "sembias": sembias, "vocab": vocab}
        _refuse_given(of_measuring | {"strict-vocab": strict_vocab, "no-chance": not chance})
    output, transform = path_of(output), path_of(save_transform)
    read = {_option(name): path_of(settings.get(name)) for name in _FILES}
    read |= {"--groups": path_of(groups), "--sembias": path_of(sembias), "--vocab": path_of(vocab)}
    refuse_same({"-o": output}, read)  # it may replace the embedding; what was fitted may not
    read |= {"EMBEDDING": path_of(embedding), "-o": output}
    refuse_same({"--save-transform": transform}, read)
    if transform is not None:
        check_writable(transform)
    attribute = load_attribute(groups)
    families = names_of(only) or STANDARD
    if measure:
        check_families(families)
        if isinstance(attribute, WordGroups):
            raise more_than_two(attribute, path_of(groups) or "")
    questions = SemBias.load(located(os.fspath(sembias))) if sembias else None
    given = None if vocab is None else wordlist(vocab)
    head = head_of(names)
    subject = open_subject(
        embedding,
        ReadOptions(cache, skip_bad, allow_pickle),
        head=head or 0,
        wanted=wanted_by(names, attribute, settings),
        output=output,
        whole=measure or head is None,
    )
    before = subject.embedding
    chain, done = fit_chain(methods, before, None if groups is None else attribute, settings)
    measured = []
    if measure:
        panels = make_panels(
            [before, done], before, attribute, given, strict=strict_vocab, seed=seed
        )
        measured = evaluate_panels(panels, families, sembias=questions, chance=chance)

    def save(sha256: str) -> None:
        if transform is not None:
            save_chain(transform, chain, Origin.of(before, subject.info.words, sha256))

    reached = subject.write_words(chain, done, save)
    closing = [] if measure else ["--measure measures bias before and after."]
    if transform is not None:
        closing.append(f"Fitted: {transform}; to apply it: wordbias apply {transform} FILE -o OUT.")
    of_sets = names == ["multi-hard"] and groups is None
    report = Report(
        inputs={before.name: subject.info.to_dict()},
        rows=[
            *(row for part in chain.parts for row in part.found),
            *reach_rows(chain, reached, done),
            *measured,
        ],
        tables=[
            *(table for part in chain.parts for table in found_tables(part)),
            reach_table(chain, reached),
            *measures_tables(measured),
        ],
        heading=[
            *_removed(chain),
            f"{', then '.join(part.name for part in chain.parts)} on {subject.description()}",
            *([] if of_sets else [f"Attribute {attribute.name}."]),
        ],
        closing=[*closing, subject.output_line()],
        seed=seed,
        notes=[f"{part.name}: {warning}" for part in chain.parts for warning in part.warnings],
    )
    return subject.result(chain, report, done)


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


def _names(methods: str | Sequence[str]) -> list[str]:
    """Return the names of the methods."""
    if not methods:
        raise UsageError(
            f"--methods: name at least one of {', '.join(METHODS)}, after the embedding; "
            "None is the sample"
        )
    return parse_methods(methods if isinstance(methods, str) else ",".join(map(str, methods)))


def _option(setting: str) -> str:
    return f"--{setting.replace('_', '-')}"


def _refuse_given(of_measuring: Mapping[str, object]) -> None:
    """Refuse options that only ``--measure`` uses."""
    for name, value in of_measuring.items():
        if value is not None and value is not False:
            raise UsageError(f"--{name} is for --measure, which is not given")


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
    settings = ", ".join(
        f"{key} {_cell(value)}"
        for key, value in fitted.settings.items()
        if value is not None and value is not False
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
