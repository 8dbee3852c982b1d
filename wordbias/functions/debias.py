"""Debiasing with any method, or several in order: fit, apply, measure, write."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from wordbias import cells
from wordbias.calls import current, public, refuse_given
from wordbias.configuration import READS_VECTORS, current_config, uses
from wordbias.embedding import Embedding, EmbeddingLike
from wordbias.errors import UsageError
from wordbias.formats.files import check_outputs, refuse_same
from wordbias.functions.inputs import ReadOptions, Subject, names_of, open_subject, path_of, reading
from wordbias.functions.lists import sembias_of, vocabulary_of
from wordbias.functions.tables import effect_table, lists_tables, measures_tables, null_table
from wordbias.measures.evaluate import check_families, evaluate_panels
from wordbias.measures.panel import make_panels
from wordbias.measures.registry import STANDARD, names_families
from wordbias.measures.word_lists import refuse_no_redraws, with_lists
from wordbias.methods.beside_null import measures_beside_null, random_removals
from wordbias.methods.diagnosis import REMOVED, about_removal
from wordbias.methods.effect import effect, effect_beside_null
from wordbias.methods.fitted import Chain, Fitted, Reach
from wordbias.methods.methods import defaults_of, files_of, fit_methods, head_of, wanted_by
from wordbias.methods.misp import DIMS
from wordbias.methods.null import refuse_no_projection
from wordbias.methods.settings import METHODS
from wordbias.methods.storage import Origin, save_chain
from wordbias.methods.words import listed_words
from wordbias.pivot import pivot, values
from wordbias.rendering import Table
from wordbias.reports import Report
from wordbias.results import Row
from wordbias.settings import Configured, MethodsLike, read_chain
from wordbias.vocabulary import choose_vocabulary, neutral_vocabulary
from wordbias.wordlists import Attribute, GroupsLike, WordGroups, load_attribute, notes_on_language
from wordbias.wordlists.groups import more_than_two

_LABELS = {
    "component": "i",
    "cos_difference": "cos(g, Δ)",
    "cos_direction": "cos(g, axis)",
    "sign_stability": "stability",
}
_OF_MEASURE = ("only", "chance", "sembias", "seed_lists")
_CONVENTIONS = ("centred", "neutral", "better", "missing", "reason")


@public
@names_families
@uses(*READS_VECTORS, "device")
def debias(
    embedding: EmbeddingLike | None = None,
    methods: MethodsLike | None = None,
    *,
    output: str | os.PathLike[str] | None = None,
    save_transform: str | os.PathLike[str] | None = None,
    measure: bool = False,
    only: str | Sequence[str] | None = None,
    sembias: str | os.PathLike[str] | None = None,
    chance: bool = True,
    null: int | None = None,
    seed_lists: int | None = None,
    groups: GroupsLike | None = None,
    vocab: str | os.PathLike[str] | Sequence[str] | None = None,
    strict_vocab: bool = False,
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
    methods : str, method such as MISP(dims=2), or list of these
        Names of methods, in the order in which they are applied. Settings follow the name of their
        method: misp:dims=2,inlp:rounds=10:classifier=logistic.
    output : path, optional
        File for the debiased vectors, in the format of its suffix, else that of ``embedding``.
        A file of that name is replaced, also ``embedding`` itself.
        [default: nothing is written]
    save_transform : path, optional
        File for the fitted methods, which wordbias apply reads.
    measure : bool
        Measure bias before and after. Without it the report only says what was fitted and changed.
    only : str or list of str, optional
        With ``measure``: families of measures, some of {measures}.  [default: all but {others}]
    sembias : path or fetched name, optional
        With ``measure``: the SemBias test set (wordbias fetch sembias).
    chance : bool
        With ``measure``: give the chance level of each value: along axes unrelated to the
        attribute.
    null : int, optional
        Number of random removals of each kind, to compare the changes of ``methods`` with: of MIDB,
        direct bias and cost, and with ``measure`` of every measure. For methods that only project
        directions out, such as misp, inlp, leace and hard:equalise=no.
    seed_lists : int, optional
        With ``measure``: number of redraws of the attribute's word lists, for 95 % intervals over
        them; ``methods`` stay as they were fitted.
    groups : name, path or mapping, optional
        Groups to compare: gender, gender-fr, age, religion:A,B, … (wordbias lists), or a TOML file.
    vocab : path or sequence of str, optional
        With ``measure`` or ``null``: neutral words to average over, one per line; or published: the
        frequent words in none of the published lists (wordbias fetch bolukbasi-lists
        gn-glove-lists).
    strict_vocab : bool
        With ``measure`` or ``null``: average over lower-case words of fewer than 20 letters only,
        as Gonen and Goldberg do.
    seed : int
        Seed of everything random.

    Returns
    -------
    Embedding
        The debiased vectors of all words, shape ``(n, d)``, ``(n, d - 1)`` if gn-glove removes w_g.
        Its ``report`` says what fitting found, how many words were changed and what was measured.
        If a file was streamed to ``output``, they are loaded from there on first use.

    Raises
    ------
    WordbiasError
        If there is no such method or setting, a file cannot be used, words are missing, or a method
        changes nothing.

    Notes
    -----
    With ``null`` MIDB, direct bias and cost are measured before and after. Each change is compared
    with those of the same methods along random directions, in three kinds. The first kind has the
    same number of directions and the same weights, and so moves words less. The others have enough
    directions to move words as far; in one kind these are drawn by the words' covariance. The
    methods can be misp, mhd, double-hard, inlp, leace, half-sibling, conceptor, and hard and
    multi-hard with equalise=no.

    Examples
    --------
    >>> import wordbias as wb
    >>> clean = wb.debias(None, "hard,misp:dims=2")  # or [wb.Hard(), wb.MISP(dims=2)]
    >>> clean
    <Embedding 'sample.hard.misp': 21,791 words × 100>
    >>> clean.report["words-changed"][0].value > 20_000
    True
    """
    how = current_config()
    chain = _chain(methods)
    refuse_no_projection([method.name for method in chain] if null else ())
    refuse_two_lists(chain, groups)
    families = STANDARD if only is None else names_of(only)
    if not families:
        raise UsageError("--only: is empty, nothing would be measured; name measures")
    if measure:
        check_families(families)
    else:
        of_null = () if null else ("vocab", "strict_vocab")
        refuse_given(
            (*_OF_MEASURE, *of_null), "is for --measure", "give --measure, or leave it out"
        )
    if seed_lists is not None:
        refuse_no_redraws(families)
    output, transform = path_of(output), path_of(save_transform)
    read = {"--groups": groups, "--sembias": sembias, "--vocab": vocab}
    check_files(output, transform, embedding, chain, read)
    attribute = load_attribute(groups)
    if (measure or null) and isinstance(attribute, WordGroups):
        raise more_than_two(attribute, path_of(groups) or "")
    questions = sembias_of(sembias)
    given, specific = vocabulary_of(vocab, attribute)
    subject = open_for(
        chain, embedding, attribute, reading(), output,
        whole=measure or null is not None,
    )  # fmt: skip
    before = subject.embedding
    to_fit = None if groups is None else attribute
    fitted, done = fit_methods(chain, before, to_fit, seed=seed, device=how.device)
    measured, beside, tables = [], [], []
    if measure or null:
        panels = make_panels(
            [before, done],
            before,
            attribute,
            given,
            strict=strict_vocab,
            specific=specific,
            sembias=questions,
            seed=seed,
        )
        words, two = panels[0].vocabulary, panels[0].attribute
    if measure:
        measured = evaluate_panels(panels, families, chance=chance)
    if null:
        removals = random_removals(before, fitted, words, null, seed=seed)
        if measure:
            measured = measures_beside_null(measured, panels[1], removals, families)
            tables = [null_table(measured)]
        part = before.subset([*words, *sorted(listed_words(two))])
        null_effect = effect_beside_null(part, fitted, words, two, removals, seed=seed)
        beside = null_effect.rows
        tables += [effect_table(null_effect, two), null_table(beside, two)]
    if seed_lists is not None:
        measured = with_lists(measured, panels, families, seed_lists)
    report = write_debiased(subject, fitted, done, attribute, transform, seed, groups is None)
    closing = [] if measured or beside else ["--measure measures bias before and after."]
    report = replace(
        report,
        rows=[*report.rows, *measured, *beside],
        tables=[
            *report.tables,
            *measures_tables(measured),
            *lists_tables(measured),
            *tables,
        ],
        closing=[*closing, *report.closing],
    )
    return subject.result(fitted, report, done)


def open_for(
    methods: Sequence[Configured],
    embedding: EmbeddingLike | None,
    attribute: Attribute | WordGroups,
    options: ReadOptions,
    output: str | None,
    *,
    whole: bool = False,
) -> Subject:
    """Open an embedding for methods: of a file that is written again only the words they need."""
    head = head_of(methods)
    return open_subject(
        embedding,
        options,
        head=head or 0,
        wanted=wanted_by(methods, attribute),
        output=output,
        whole=whole or head is None,
    )


def write_debiased(
    subject: Subject,
    chain: Chain,
    done: Embedding,
    attribute: Attribute | WordGroups,
    transform: str | None,
    seed: int,
    own_groups: bool,
) -> Report:
    """Write the vectors and the fitted methods; report what fitting found and did."""
    # `own_groups` says that the groups are those that the methods have by default.
    embedding = subject.embedding

    def save(sha256: str) -> None:
        if transform is not None:
            save_chain(transform, chain, Origin.of(embedding, subject.info.words, sha256))

    reached = subject.write_words(chain, done, save)
    saved = f"Fitted: {transform}; to apply it: wordbias apply {transform} FILE -o OUT."
    of_sets = [part.name for part in chain.parts] == ["multi-hard"] and own_groups
    return Report(
        inputs={embedding.name: subject.info.to_dict()},
        rows=[
            *(row for part in chain.parts for row in part.found),
            *reach_rows(chain, reached, done),
        ],
        tables=[
            *(table for part in chain.parts for table in found_tables(part)),
            reach_table(chain, reached),
        ],
        heading=[
            *_removed(chain),
            f"{', then '.join(part.name for part in chain.parts)} on {subject.description()}",
            *([] if of_sets else [f"Attribute {attribute.name}."]),
        ],
        closing=[*([saved] if transform is not None else []), subject.output_line()],
        seed=seed,
        notes=[
            *notes_on_language(attribute),
            *(f"{part.name}: {warning}" for part in chain.parts for warning in part.warnings),
        ],
    )


def fitted_report(
    fitted: Fitted, embedding: Embedding, attribute: Attribute | WordGroups | None
) -> Report:
    """Report on a method and the embedding before it: what it found, did and cost."""
    # For two groups bias is measured before and after; for more, or if the vectors lose a
    # dimension, it is not.
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
        dims, centre = fitted.settings.get("dims") or DIMS, bool(fitted.centred)
        measured = effect(part, after, neutral, two, dims=dims, centre=centre)
        rows += measured.rows
        tables.append(effect_table(measured, two))
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


def _chain(methods: MethodsLike | None) -> list[Configured]:
    """Return the methods with their settings; refuse none, and sets with groups."""
    chain = read_chain(() if methods is None else methods, METHODS)
    if not chain:
        in_shell = current().note is not None
        raise UsageError(
            f"{'METHODS' if in_shell else '--methods'}: name at least one of {', '.join(METHODS)}"
            + (
                "; or let wordbias choose find one"
                if in_shell
                else ", after the embedding; None is the sample"
            )
        )
    return chain


def refuse_two_lists(chains: Iterable[Configured], groups: GroupsLike | None) -> None:
    """Refuse sets of multi-hard beside groups."""
    if groups is not None and any("sets" in method.settings for method in chains):
        raise UsageError("multi-hard takes sets=FILE or the pairs of --groups, not both")


def check_files(
    output: str | None,
    transform: str | None,
    embedding: object,
    methods: Iterable[Configured],
    read: Mapping[str, object],
) -> None:
    """Refuse to write a file that is read, or cannot be written."""
    files = {**read, **files_of(methods)}
    refuse_same({"-o": output}, files)  # it may replace the embedding; what was fitted may not
    own = {"EMBEDDING": embedding, "-o": output}
    check_outputs({"--save-transform": transform}, {**files, **own})


def reach_rows(chain: Chain, reached: Sequence[Reach], done: Embedding) -> list[Row]:
    """Return the number of words that each method of a chain changed, and that it left out."""
    return [
        Row(
            done.name,
            "words-changed",
            reach.mapped + reach.replaced,
            {
                "method": part.name,
                "n": reach.mapped + reach.replaced + reach.outside,
                "replaced": reach.replaced,
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
    columns = ((_label(key), cells.detail(key)) for key in keys if key not in alike)
    note = ", ".join(f"{_label(key)} {cells.written(first[key])}" for key in keys if key in alike)
    return pivot(title, rows, "measure", values("value", *columns), note)


def _label(key: str) -> str:
    return _LABELS.get(key, key)


def _title(fitted: Fitted) -> str:
    default = defaults_of(fitted.name)
    settings = ", ".join(
        f"{key} {'no' if value is False else cells.written(value)}"
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
