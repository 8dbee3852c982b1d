"""Whether a changed name or pronoun moves what is retrieved, beyond changes that mean nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeGuard, cast

import numpy as np

from wordbias.arguments import check_choice, check_number
from wordbias.calls import path_of, public, refuse_given
from wordbias.columns import TableLike
from wordbias.configuration import ASKS_ENCODERS, current_config, uses
from wordbias.draws import drawn, null_keys, with_change, with_holm, with_items
from wordbias.errors import UsageError, WordbiasError
from wordbias.formats.files import check_outputs
from wordbias.functions.adapters import AdapterLike, OpenAdapter, open_adapter
from wordbias.functions.retrieval_inputs import (
    DOCUMENTS,
    QUERIES,
    SIDES,
    Map,
    Opened,
    Vectors,
    open_texts,
    open_vectors,
    tell,
)
from wordbias.functions.retrieval_labels import Groups, groups_of_documents, relevance_of
from wordbias.measures.registry import FAMILY_OF, ideal
from wordbias.methods.null import erasure_as_far
from wordbias.methods.settings import ROW_METHODS, ROW_SETTINGS
from wordbias.methods.transform import Step
from wordbias.models.model_like import ModelLike
from wordbias.models.sentence_pairs import SentencePairsLike
from wordbias.models.text_encoders import (
    EncoderLike,
    LayeredTexts,
    TextEncoder,
    open_output_encoder,
    open_text_encoder,
)
from wordbias.models.texts import TextsLike
from wordbias.pages.retrieval import moved_answers, plot_changes
from wordbias.pages.retrieval_tables import retrieval_tables
from wordbias.progress import counted
from wordbias.rankings.counterfactuals import (
    COUNTERFACTUAL,
    GIVEN,
    MEANINGLESS,
    OF_GROUP,
    SAME,
    Versions,
)
from wordbias.rankings.effects import (
    BEFORE,
    OVERLAP,
    Lists,
    Ranked,
    change_rows,
    distances,
    exposure_rows,
)
from wordbias.rankings.ranking import Integers, overlap, pooled_ranks
from wordbias.rendering import how_many
from wordbias.reports import SUFFIXES, Report
from wordbias.results import Row
from wordbias.retraining.removals import fit_removal, random_removal, remove
from wordbias.settings import only_method
from wordbias.statistics import SAMPLES
from wordbias.wordlists.groups import GroupsLike

_FIRST = 5
"""Lists are as many times as long as the ranks that count."""
_FOUR_FIFTHS = (
    "Four fifths (.8) is a rule of thumb of US employment law for the impact ratio, not a test: "
    "read the interval and the chance level."
)
_OF_TEXTS = ("groups", "text_column", "methods", "adapter", "setting", "force", "seed_lists")
"""Arguments that are for texts."""


@public
@uses(*ASKS_ENCODERS, "cache", "device", "precision")
def retrieval(
    queries: TextsLike | object,
    documents: TextsLike | object,
    *,
    model: EncoderLike | None = None,
    changed: str = QUERIES,
    groups: GroupsLike | None = None,
    counterfactual: str | object | None = None,
    meaningless: str | object | None = None,
    text_column: str | None = None,
    sensitive: str | Sequence[str] | None = None,
    relevance: str | os.PathLike[str] | TableLike | None = None,
    top: int = 10,
    methods: str | None = None,
    adapter: AdapterLike | None = None,
    setting: str | None = None,
    force: bool = False,
    null: int = 19,
    seed_lists: int = 3,
    draws: int = SAMPLES,
    output: str | os.PathLike[str] | None = None,
    seed: int = 0,
) -> Report:
    """Measure whether a changed name or pronoun moves which documents queries retrieve.

    ``queries`` and ``documents`` are texts: plain text, one per line, or a table (.tsv, .csv,
    .jsonl, .parquet). ``model`` encodes both, and each query retrieves the documents with the
    largest cosine. Then names in the ``changed`` side are replaced by names of another group, and
    by other names of the same group, which mean nothing. The report says whether the first change
    moves the lists more than the second.

    The first known name in a text is replaced, wherever it stands: Olivia, but not OLIVIA. Or texts
    are templates: {name} is filled with names, and {pronoun}, {possessive} and {object} with she or
    he, her or his, and her or him. Or ``counterfactual`` has the changed texts. Without ``model``
    all of them are vectors.

    Parameters
    ----------
    queries : path, sequence of str, mapping or frame of columns, or vectors
        The queries.
    documents : path, sequence of str, mapping or frame of columns, or vectors
        The documents.
    model : folder, name on the hub, loaded model, callable or object with encode, optional
        The encoder of both.
    changed : str
        Texts to change: queries or documents.
    groups : str, path or mapping of names to lists of first names, optional
        Groups of first names: a built-in name or a TOML file.  [default: gender]
    counterfactual : str or vectors, optional
        Column of the changed texts, in place of names; of vectors a file.
    meaningless : str, vectors or pairs of words, optional
        With ``counterfactual``: column of texts with a change that means nothing, such as another
        name of the same group; of vectors a file. With names: a file of synonyms, a pair on each
        line with a tab between, such as big and large.
    text_column : str, optional
        Name or number of the texts' column, in both tables.
    sensitive : str or sequence of str, optional
        Column of the group of each document, whose exposure is measured.  [default: the group of
        the name, if documents are changed]
    relevance : str, path or table, optional
        Column of both tables in which relevant documents have the query's value; or a table with
        the columns query, document (numbers from 1) and relevance.
    top : int
        Number of first ranks that count.
    methods : str, optional
        Method that removes the groups from all vectors: leace, misp, mhd, hard or inlp, with
        settings as in inlp:rounds=10. The lists are measured before and after.
    adapter : path or Adapter, optional
        Adapter that wordbias project wrote. The lists are measured before and after its ``setting``
        is removed inside the model.
    setting : str, optional
        With ``adapter``: its setting to remove, such as embedding or tokens@3.  [default: the one
        stored in the adapter]
    force : bool
        With ``adapter``: use it even if it was fitted on another model.
    null : int
        With ``methods`` or ``adapter``: number of random removals that move vectors as far, to
        compare with.
    seed_lists : int
        Number of names to draw for each text.
    draws : int
        Number of bootstrap samples.
    output : path, optional
        File for a page (.html), or for the results in the format of its suffix, such as .json.
    seed : int
        Seed of everything random.

    Returns
    -------
    Report
        For each change the overlap of the first documents, the rank-biased overlap and the rank
        shift, and nDCG if ``relevance`` is given. Exposure, selection rate and their ratios if
        documents have groups. ``plot()`` draws a dot for each query.

    Raises
    ------
    WordbiasError
        If the inputs cannot be used: a template without its place, no text with a known name,
        fewer documents than ``top``, or names of one group only.

    Notes
    -----
    Names of a set have the same number of tokens and similar frequencies. A set is used for one
    text if there are enough of them. Then the test exchanges both changes query by query, else set
    by set. If documents are changed, it exchanges them for all documents that share a set. A method
    is fitted to up to 2,000 of the changed texts, with names that the measures do not use.

    Lists are 5 × ``top`` documents long. The rank-biased overlap has the persistence
    1 − 1/``top``, so that a reader looks at ``top`` documents on average. A document that leaves
    the list counts as the next one after its end. Of documents with equal
    scores the earlier one comes first.

    References
    ----------
    Seshadri and Goldfarb-Tarrant, Who Does the Giant Number Pile Like Best: Analyzing Fairness in
    Hiring Contexts, 2025, arXiv 2501.04316.

    Webber, Moffat and Zobel, A Similarity Measure for Indefinite Rankings, 2010.

    Singh and Joachims, Fairness of Exposure in Rankings, 2018.

    Examples
    --------
    >>> import numpy as np
    >>> import wordbias as wb
    >>> cvs, others, jobs = np.random.default_rng(0).normal(size=(3, 20, 4))
    >>> report = wb.retrieval(cvs, jobs, counterfactual=others, meaningless=cvs, top=5)
    >>> named, meaningless = report["list-overlap"]
    >>> named.value < meaningless.value == 1
    True
    >>> named.details["p"] < 0.05
    True
    """
    check_choice("--changed", changed, SIDES)
    check_number("--draws", draws, 2)
    _check_arguments(model, groups, counterfactual, meaningless, methods, adapter)
    given_adapter = open_adapter(adapter, setting or (), force=force)
    read = {
        "queries": queries, "documents": documents, "--model": model, "--groups": groups,
        "--relevance": relevance, "--counterfactual": counterfactual, "--meaningless": meaningless,
        "--adapter": adapter,
    }  # fmt: skip
    _check_output(output, read)
    given = {}
    if counterfactual is not None:
        both = {COUNTERFACTUAL: counterfactual, MEANINGLESS: meaningless}
        given = {kind: source for kind, source in both.items() if source is not None}
    if model is None:
        refuse_given(_OF_TEXTS, "is for texts, and without --model these are vectors")
        opened = open_vectors(queries, documents, changed, given, top)
    else:
        opened = open_texts(
            _encoder_of(model, given_adapter),
            {QUERIES: queries, DOCUMENTS: documents}, changed, given, groups,
            synonyms=None if given else cast("SentencePairsLike | None", meaningless), top=top,
            columns=[column for column in (relevance,) if _is_column(column)],
            of_documents=[sensitive] if isinstance(sensitive, str) else [],
            text_column=text_column, draws=seed_lists, fit=methods is not None,
            adapter=given_adapter, seed=seed,
        )  # fmt: skip
    vectors, versions = opened.vectors, opened.versions
    lists = Lists(top, min(_FIRST * top, vectors.n))
    if relevance is not None:
        gains, best = relevance_of(relevance, opened, changed)
        lists = replace(lists, gains=gains, ideal=best(top))
    seen = groups_of_documents(sensitive, opened, changed)
    measure = partial(_measured, lists, versions, seen, changed, draws, seed)
    ranked = vectors.ranked(versions.kinds, lists.depth)
    rows = measure(opened.name, ranked)
    if methods is not None or given_adapter.adapter is not None:
        removal = (
            _adapter(given_adapter, opened) if methods is None else _method(methods, opened, seed)
        )
        rows += _after_removal(*removal, opened, ranked, rows, lists, measure, null, seed)
    rows = with_items(
        with_holm(rows, _together), seed, vectors.n, *(names.tobytes() for names in versions.sets)
    )
    answers = moved_answers([row.to_dict() for row in rows])
    report = Report(
        inputs=opened.inputs,
        rows=rows,
        tables=retrieval_tables(rows),
        heading=[
            _heading(changed, vectors.n, len(vectors.queries), versions, top),
            *(line for answer in answers for line in answer.lines),
        ],
        closing=_closing(versions, changed, methods, bool(seen.kinds)),
        seed=seed,
        notes=tell(opened.notes),
        picture=_picture(ranked, lists, versions),
    )
    if output is not None:
        report.save(output)
        report = replace(report, closing=[*report.closing, f"Written: {os.fspath(output)}."])
    return report


def _is_column(relevance: object) -> TypeGuard[str]:
    return isinstance(relevance, str) and not Path(relevance).exists()


def _together(row: Row) -> str:
    """Return what is equal for tests that are corrected together: those of changes, or ratios."""
    return f"{row.subject}, {FAMILY_OF[row.measure].key}"


# arguments


def _check_arguments(
    model: object,
    groups: object,
    counterfactual: object,
    meaningless: object,
    methods: object,
    adapter: object,
) -> None:
    """Refuse arguments that contradict each other or would have no effect."""
    if counterfactual is None and model is None and meaningless is not None:
        raise UsageError("--meaningless goes with --counterfactual: the changed vectors")
    if counterfactual is None and (path := path_of(meaningless)) and not os.path.exists(path):
        raise WordbiasError(
            f"--meaningless: {path}: no such file of synonyms; a column goes with --counterfactual"
        )
    for option, value in (("--groups", groups), ("--methods", methods)):
        if counterfactual is not None and value is not None:
            raise UsageError(f"{option} needs names to change: leave it out, or --counterfactual")
    if model is not None and counterfactual is not None:
        refuse_given(("seed_lists",), "draws names, and --counterfactual has the changed texts")
    if methods is not None:
        only_method(str(methods), ROW_METHODS, ROW_SETTINGS)
        if adapter is not None:
            raise UsageError("--methods and --adapter are two removals; leave out one of them")
    elif adapter is None:
        refuse_given(("null",), "goes with --methods or --adapter, the removal to compare with")
    if model is None and counterfactual is None:
        raise UsageError(
            "without --model, queries and documents are vectors: give those of the changed texts "
            "with --counterfactual, or name the encoder with --model"
        )


def _check_output(output: str | os.PathLike[str] | None, read: Mapping[str, object]) -> None:
    """Refuse, before anything is encoded, an output that cannot be written."""
    if output is None:
        return
    if Path(output).suffix.lower() not in SUFFIXES:
        raise WordbiasError(f"{output}: expected a name that ends in {', '.join(SUFFIXES)}")
    check_outputs({"-o": output}, {name: path_of(source) for name, source in read.items()})


def _encoder_of(model: EncoderLike, adapter: OpenAdapter) -> TextEncoder:
    """Open the encoder; with an adapter one whose layers can be read, that it was fitted on."""
    how = current_config()
    if adapter.adapter is None:
        return open_text_encoder(model, device=how.device, precision=how.precision)
    output_only = open_output_encoder(model, device=how.device)
    if output_only is not None:
        raise WordbiasError(
            f"{output_only.name}: gives vectors of texts alone, and --adapter removes inside a "
            "model; give its folder, or fit a removal to the vectors with --methods"
        )
    loaded = adapter.load_checked(
        cast("ModelLike", model), device=how.device, precision=how.precision
    )
    return LayeredTexts(loaded)


# values


def _measured(
    lists: Lists,
    versions: Versions,
    seen: Groups,
    changed: str,
    draws: int,
    seed: int,
    name: str,
    ranked: Sequence[Ranked],
    *,
    test: bool = True,
) -> list[Row]:
    """Return the rows of lists; without a test only the values of changes."""
    rows = change_rows(
        name, ranked, lists, versions,
        of_documents=changed == DOCUMENTS, draws=draws, seed=seed, test=test,
    )  # fmt: skip
    for kinds in seen.kinds if test else ():
        rows += exposure_rows(
            name, ranked, lists, seen.names, seen.codes, kinds,
            sets=seen.sets, draws=draws, seed=seed,
        )  # fmt: skip
    return rows


# after a removal


Removal = tuple[str, Vectors, Map | None, Callable[[np.random.Generator], Sequence[Step]]]
"""Name of a removal; vectors and what is still to be done with them; a draw of a random one."""


def _method(methods: str, opened: Opened, seed: int) -> Removal:
    """Fit a method to texts with names that are not measured."""
    assert opened.fit is not None
    steps = fit_removal(methods, *opened.fit, pooling="", seed=seed)
    drawn = partial(random_removal, steps, opened.fit[0])
    return methods, opened.vectors, partial(remove, steps), drawn


def _adapter(adapter: OpenAdapter, opened: Opened) -> Removal:
    """Return what an adapter removes, and random removals that move the model's vectors as far."""
    # A map such as that of LEACE leaves a mean where it is, a projection the origin; so do they.
    assert adapter.adapter is not None
    assert opened.after is not None
    assert opened.moved is not None
    before, after = (vectors.astype(np.float64) for vectors in opened.moved)
    bias = before.mean(axis=0) if adapter.adapter.steps else np.zeros(before.shape[1])
    moved, (setting,) = after - before, adapter.settings
    if (moved**2).sum() >= ((before - bias) ** 2).sum():
        raise WordbiasError(
            f"{opened.name}: {setting} moves vectors farther than their own length, and no removal "
            "of directions does; choose a setting that changes less"
        )
    return setting, opened.after, None, lambda rng: (erasure_as_far(moved, before, bias, rng),)


def _after_removal(
    name: str,
    removed: Vectors,
    mapped: Map | None,
    drawn: Callable[[np.random.Generator], Sequence[Step]],
    opened: Opened,
    before: Sequence[Ranked],
    rows: Sequence[Row],
    lists: Lists,
    measure: Callable[..., list[Row]],
    null: int,
    seed: int,
) -> list[Row]:
    """Return the rows after a removal, with their changes beside those by random removals."""
    kinds, subject = opened.versions.kinds, f"{opened.name} {name}"
    after = removed.ranked(kinds, lists.depth, mapped)
    random = []
    for draw in counted(range(null), "random removals", null):
        step = drawn(np.random.default_rng((seed, draw, 5)))
        ranked = opened.vectors.ranked(kinds, lists.depth, partial(remove, step))
        values_of = measure(subject, ranked, test=False)
        random.append([*values_of, _moved(subject, before, ranked, lists)])
    own = [*measure(subject, after), _moved(subject, before, after, lists)]
    return _beside_random(rows, own, random)


def _moved(name: str, before: Sequence[Ranked], after: Sequence[Ranked], lists: Lists) -> Row:
    """Return how much of the lists as given is left after a removal."""

    def listed_ids(ranked: Ranked) -> Integers:
        order = np.argsort(ranked.ranks[GIVEN], axis=1, kind="stable")[:, : lists.depth]
        return np.take_along_axis(ranked.ids, order, axis=1)

    values_of = []
    for a, b in zip(before, after, strict=True):
        _, (first, second) = pooled_ranks([listed_ids(a), listed_ids(b)])
        values_of.append(overlap(first, second, lists.k))
    each = np.mean(values_of, axis=0)
    details = {"set": BEFORE, "n": len(each), "k": lists.k, **ideal(OVERLAP)}
    return Row(name, OVERLAP, float(each.mean()), details)


def _beside_random(
    before: Sequence[Row], after: Sequence[Row], random: Sequence[Sequence[Row]]
) -> list[Row]:
    """Return rows after a removal with their changes, and those by random removals."""

    def key(row: Row) -> tuple[Any, ...]:
        return row.measure, row.details.get("set"), row.details.get("group")

    start = {key(row): row for row in before}
    drawn_values = [{key(row): row.value for row in rows} for rows in random]
    changed_rows = []
    for row in after:
        old = start.get(key(row))
        at = 1.0 if row.details.get("set") == BEFORE else None if old is None else old.value
        row = row if old is None else with_change(old, row)
        others = [by_key[key(row)] for by_key in drawn_values if by_key.get(key(row)) is not None]
        if row.value is not None and at is not None and others:
            changes = np.array([cast("float", other) - at for other in others])
            details = {
                **row.details,
                "change": row.value - at,
                **null_keys("null_as_far", row.value, row.value - at, changes),
            }
            draws = {**row.draws, **drawn(changes, "removals", kind="null_as_far")}
            row = replace(row, details=details, draws=draws)
        changed_rows.append(row)
    return changed_rows


def _picture(ranked: Sequence[Ranked], lists: Lists, versions: Versions) -> Any:
    null = next((kind for kind in (SAME, MEANINGLESS) if kind in versions.kinds), None)
    if null is None:
        return None
    of = {kind: distances(ranked, lists, kind) for kind in versions.kinds if kind in OF_GROUP}
    return partial(plot_changes, null, distances(ranked, lists, null), of)


# sentences


def _heading(changed: str, documents: int, queries: int, versions: Versions, top: int) -> str:
    """Say what was changed, and what was retrieved."""
    n = f"{len(versions.places):,}"
    what = f"{n} {changed} with another name" if versions.groups else f"{n} changed {changed}"
    searched = f"{how_many(queries, 'query', 'queries')}, " if changed == DOCUMENTS else ""
    groups = f" Groups: {', '.join(versions.groups)}." if versions.groups else ""
    searched += how_many(documents, "document")
    return f"Retrieval: {what}; {searched}; the first {top} count.{groups}"


def _closing(versions: Versions, changed: str, methods: str | None, has_groups: bool) -> list[str]:
    """Return the lines below the tables."""
    lines = [_FOUR_FIFTHS] if has_groups else []
    if versions.groups:
        unit = "one text" if versions.is_distinct else "several texts"
        lines.append(f"Another name: of the same group. A set of names is used for {unit}.")
    if methods is not None:
        lines.append(
            f"{methods} is fitted to the {changed} with names that are not measured, and maps all "
            "queries and documents."
        )
    return lines
