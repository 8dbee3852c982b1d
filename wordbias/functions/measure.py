"""The classic measures of one embedding or several, with intervals and chance."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence

from wordbias.calls import is_given, note, public
from wordbias.configuration import READS_VECTORS, STARTS_PROCESSES, current_config, uses
from wordbias.embedding import EmbeddingLike
from wordbias.errors import UsageError
from wordbias.functions.inputs import EmbeddingsLike, as_list, input_facts, open_subject, reading
from wordbias.functions.lists import sembias_of, vocabulary_of
from wordbias.functions.tables import lists_tables, measures_tables, words_tables
from wordbias.measures.evaluate import evaluate_panels, refuse_undefined
from wordbias.measures.known import with_known_values
from wordbias.measures.lean import leaning_words, word_rows
from wordbias.measures.panel import CLUSTERED, NEIGHBOURS, THETAS, Panel, make_panels
from wordbias.measures.registry import BY_KEY, SELECTABLE, STANDARD, names_families
from wordbias.measures.word_lists import refuse_no_redraws, with_lists
from wordbias.methods.diagnosis import subspace_cautions
from wordbias.reports import Report
from wordbias.results import Row
from wordbias.wordlists import Attribute, GroupsLike, notes_on_language, resolve
from wordbias.workers import Workers


@public
@names_families
@uses(*READS_VECTORS, *STARTS_PROCESSES)
def measure(
    embeddings: EmbeddingsLike = None,
    *,
    only: Sequence[str] | None = None,
    original: EmbeddingLike | None = None,
    direction: str = "she-he",
    sembias: str | os.PathLike[str] | None = None,
    words: Sequence[str] | None = None,
    extremes: int | None = None,
    dims: int = 4,
    centre: bool = False,
    weights: str = "variance",
    as_published: bool = False,
    isolated_zero: bool = False,
    by_projection: bool = False,
    clustered: Sequence[int] = (CLUSTERED,),
    theta: float | Sequence[float] = THETAS,
    neighbours: int = NEIGHBOURS,
    chance: bool = True,
    seed_lists: int | None = None,
    groups: GroupsLike | None = None,
    vocab: str | os.PathLike[str] | Sequence[str] | None = None,
    strict_vocab: bool = False,
    seed: int = 0,
) -> Report:
    """Measure the bias of ``embeddings``: the row of Dawkins (2021), Table 6, with 95 % intervals.

    The measures are MIDB, direct bias, clustering, recoverability, SemBias and GIPE, averaged over
    the frequent neutral words that all embeddings have. Without ``embeddings`` the sample that
    comes with wordbias is measured. GIPE takes longest, one to two minutes for 350,000 words:
    ``only`` leaves it out.

    A debiased embedding is compared with its ``original``, which gives the labels of clustering and
    recoverability and the proximities of GIPE.

    Values for gender with the default settings are compared with those of well-known embeddings,
    such as GloVe 6B. A column counts how many of these a value is above.

    The intervals are over the neutral words. ``seed_lists`` adds a second interval, over redrawn
    lists of names and pairs.

    Parameters
    ----------
    embeddings : path, fetched name, Embedding, KeyedVectors, (words, vectors), or several
        The embeddings to measure; by default the sample that comes with wordbias.
    only : sequence of str, optional
        Families of measures, some of {measures}.  [default: all but {others}]
    original : path, fetched name or object, optional
        The embedding before debiasing.  [default: the embedding itself]
    direction : str
        Direction of clustering, recoverability, SemBias and GIPE: she-he (or axis: the attribute's
        first pair), pca, means or FILE; or subspace, the weighted components of MIDB.
    sembias : path or fetched name, optional
        The SemBias test set (wordbias fetch sembias); without it SemBias has no value.
    words : sequence of str, optional
        Single words to measure: nurse,doctor.
    extremes : int, optional
        Number of words to show that lean most to each side.
    dims : int
        Number of components of MIDB and of the subspace.
    centre : bool
        Centre the differences, as the paper's one-sided PCA does; this removes their mean.
    weights : str
        Weights of the components of the subspace: their shares of the variance, numbers such as
        0.5,0.3,…, or the shares in another order, perm:2134.
    as_published : bool
        Use the settings of the paper: ``centre``, ``isolated_zero`` and ``by_projection``.
    isolated_zero : bool
        Compute GIPE as the published code does: words that are no other word's neighbour get weight
        0, not 1.
    by_projection : bool
        Choose the most biased words for clustering and recoverability by their projection on the
        direction in the original, not by the cosine. The projection grows with a word's length.
    clustered : sequence of int
        Numbers of the most biased words that are clustered, half of each side. The paper took 500
        to 1500.
    theta : float or sequence of float
        Thresholds of GIPE: how much of the similarity of two words must come from the direction.
    neighbours : int
        Number of nearest neighbours of each word, for GIPE and neighbour-bias.
    chance : bool
        Give the chance level of each value: along axes unrelated to the attribute.
    seed_lists : int, optional
        Number of redraws of the attribute's word lists, for a 95 % interval over them.
    groups : name, path or mapping, optional
        Groups to compare: gender, gender-fr, age, religion:A,B, … (wordbias lists), or a TOML file.
    vocab : path or sequence of str, optional
        Neutral words to average over, one per line; or published: the frequent words in none of the
        published lists (wordbias fetch bolukbasi-lists gn-glove-lists).  [default: the frequent
        words not about the groups]
    strict_vocab : bool
        Average over lower-case words of fewer than 20 letters only, as Gonen and Goldberg do.
    seed : int
        Seed of everything random.

    Returns
    -------
    Report
        A row for each value: an interval over words (``low``, ``high``), the chance level, the
        neutral value and n. ``known_values`` are those of well-known embeddings. With
        ``seed_lists`` the row has the interval over word lists, too (``lists_low``,
        ``lists_high``).

    Raises
    ------
    WordbiasError
        If a file cannot be used, a word list finds too few words, or an argument would do nothing.
        Also if, without ``only``, no measure has a value, as with vectors of another language.

    Notes
    -----
    GIPE searches neighbours in the whole vocabulary.

    ``seed_lists`` draws the same number of the attribute's names and pairs again, with replacement;
    the axis is one of the pairs. All embeddings get the same redraws, and the difference of each
    from the first has an interval too. The interval of WEAT is over its lists already. With an
    ``original`` directions are fitted where each measure takes them. Clustering takes seconds a
    redraw.

    Examples
    --------
    >>> import wordbias as wb
    >>> report = wb.measure(only=["midb"], chance=False)
    >>> round(report["midb-rms"][0].value, 2)
    0.23
    """
    how = current_config()
    single = words is not None or extremes is not None
    if only is not None and not only:
        raise UsageError("--only: is empty, nothing would be measured; name measures")
    families = tuple(only) if only is not None else () if single else STANDARD
    _refuse_unused(families, single, direction, extremes)
    thetas = tuple(theta) if isinstance(theta, Sequence) else (theta,)
    _check_numbers(clustered, thetas)
    if seed_lists is not None:
        refuse_no_redraws(families)
    attribute = Attribute.load(groups)
    given, specific = vocabulary_of(vocab, attribute)
    questions = sembias_of(sembias)
    read_options = reading()
    subjects = [open_subject(embedding, read_options) for embedding in as_list(embeddings)]
    before = None if original is None else open_subject(original, read_options)
    panels = make_panels(
        [subject.embedding for subject in subjects],
        None if before is None else before.embedding,
        attribute,
        given,
        strict=strict_vocab,
        specific=specific,
        recipe=direction,
        dims=dims,
        centre=centre or as_published,
        weights=weights,
        by_projection=by_projection or as_published,
        sembias=questions,
        clustered=clustered,
        thetas=thetas,
        neighbours=neighbours,
        isolated=0.0 if isolated_zero or as_published else 1.0,
        seed=seed,
    )
    single_rows = [row for panel in panels for row in _word_rows(panel, words, extremes)]
    if only is None and not single_rows:
        families = STANDARD
    along_subspace = single or direction == "subspace" or "midb" in families
    workers = Workers(how.jobs, how.backend)
    rows = evaluate_panels(panels, families, chance=chance, workers=workers)
    if only is None:
        refuse_undefined([*rows, *single_rows])
    rows = with_known_values(rows, panels)
    if seed_lists is not None:
        rows = with_lists(rows, panels, families, seed_lists, workers=workers)
    return Report(
        inputs=input_facts(subjects, before),
        rows=[*rows, *single_rows],
        tables=[
            *measures_tables(rows),
            *lists_tables(rows),
            *words_tables(single_rows, attribute),
        ],
        heading=[_heading(attribute, panels[0].vocabulary, given, specific)],
        seed=seed,
        notes=[
            *notes_on_language(attribute),
            *(_notes(panels) if along_subspace else ()),
            *(_about_chance(rows) if chance else ()),
        ],
    )


def _refuse_unused(
    families: Sequence[str], single: bool, direction: str, extremes: int | None
) -> None:
    """Refuse arguments that would do nothing with the chosen measures."""
    options = dict.fromkeys(name for key in SELECTABLE for name in BY_KEY[key].options)
    uses = {name: [key for key in SELECTABLE if name in BY_KEY[key].options] for name in options}
    along = direction == "subspace" and not set(families).isdisjoint(uses["direction"])
    if is_given("weights") and direction != "subspace":
        raise UsageError("--weights is for --direction=subspace, whose components it weights")
    also = {"direction": extremes is not None, "dims": single or along, "centre": single or along}
    for name, by in uses.items():
        if not is_given(name) or also.get(name) or not set(families).isdisjoint(by):
            continue
        *first, last = [
            *by,
            *(["--words", "--direction=subspace"] if name in ("dims", "centre") else []),
        ]
        users = f"{', '.join(first)} and {last}" if first else last
        measured = ", ".join(sorted(families)) or "single words"
        option = f"--{name.replace('_', '-')}"
        raise UsageError(f"{option} is for {users}, but only {measured} is measured")


def _check_numbers(clustered: Sequence[int], thetas: Sequence[float]) -> None:
    """Refuse numbers of words and thresholds that cannot be used."""
    if len(set(clustered)) < max(1, len(clustered)) or any(n < 2 or n % 2 for n in clustered):
        raise UsageError(
            "--clustered: expected different even numbers of words from 2 on, half of each side, "
            f"got {', '.join(map(str, clustered)) or 'none'}"
        )
    if len(set(thetas)) < max(1, len(thetas)) or not all(0 < theta < 1 for theta in thetas):
        raise UsageError(
            "--theta: expected different thresholds above 0 and below 1, got "
            f"{', '.join(f'{theta:g}' for theta in thetas) or 'none'}"
        )


def _word_rows(panel: Panel, words: Sequence[str] | None, extremes: int | None) -> list[Row]:
    """Measure single words: those that are named, and those that lean most."""
    chosen: list[str] = []
    if words is not None:
        resolved = resolve(list(words), panel.embedding, f"{panel.embedding.name}: --words")
        chosen += resolved.at_least(1, "give words that it has").found
        if resolved.missing:
            note(f"{panel.embedding.name} does not have: {', '.join(resolved.missing)}")
    if extremes is not None:
        chosen += leaning_words(panel, extremes)
    return word_rows(panel, list(dict.fromkeys(chosen)))


def _notes(panels: Sequence[Panel]) -> list[str]:
    """Return the cautions about each subspace along which MIDB is measured."""
    cautions = [
        (panel.embedding.name, caution)
        for panel in panels
        for caution in subspace_cautions(
            panel.embedding,
            panel.attribute,
            dims=panel.dims,
            centre=panel.centre,
            seed=panel.seed,
        )
    ]
    return [f"{name}: {text}" if len(panels) > 1 else text for name, text in cautions]


def _about_chance(rows: Sequence[Row]) -> list[str]:
    """Return a note on why MIDB has no chance level, if it has none."""
    known = (row for row in rows if row.measure.startswith("midb") and row.value is not None)
    if all("chance" in row.details or "length_ratio" in row.details for row in known):
        return []
    return [
        "MIDB has no chance level here: too few words to form other groups of the same sizes; give "
        "at least 4 words of each"
    ]


def _heading(
    attribute: Attribute,
    vocabulary: Sequence[str],
    given: Sequence[str] | None,
    specific: Collection[str] | None,
) -> str:
    words = f"{len(vocabulary):,}"
    words += " neutral words" if given is None else f" of {len(given):,} words given"
    if specific is not None:
        words += f", all but {len(specific):,} published gendered ones"
    return f"Attribute {attribute.name}: {' − '.join(attribute.groups)}. Averages over {words}."
