"""MISP: measure bias along the subspace, remove it softly, write the result."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence

from wordbias.calls import public
from wordbias.configuration import READS_VECTORS, uses
from wordbias.embedding import Embedding, EmbeddingLike
from wordbias.errors import UsageError
from wordbias.formats.files import refuse_same
from wordbias.functions.inputs import Subject, open_subject, path_of, reading
from wordbias.functions.lists import vocabulary_of
from wordbias.functions.tables import (
    components_table,
    effect_lists_tables,
    effect_table,
    moved_line,
    null_table,
    summary_table,
)
from wordbias.methods.effect import Study, chance_levels, study
from wordbias.methods.words import listed_words
from wordbias.rendering import how_many
from wordbias.reports import Report
from wordbias.vocabulary import SIZE, choose_vocabulary
from wordbias.wordlists import Attribute, GroupsLike, candidates, notes_on_language


@public
@uses(*READS_VECTORS)
def misp(
    embedding: EmbeddingLike | None = None,
    *,
    output: str | os.PathLike[str] | None = None,
    dims: int = 4,
    centre: bool = False,
    as_published: bool = False,
    mhd: bool = False,
    details: bool = False,
    weights: str = "variance",
    chance: bool = True,
    null: int | None = None,
    seed_lists: int | None = None,
    groups: GroupsLike | None = None,
    vocab: str | os.PathLike[str] | Sequence[str] | None = None,
    strict_vocab: bool = False,
    seed: int = 0,
) -> Embedding:
    """Measure the bias of ``embedding``, gender by default, remove it with MISP, write the result.

    MISP (Dawkins 2021) attenuates each component of the groups' subspace by the share of variance
    that it explains. The means of the groups come nearer: by a fifth on GloVe. Without
    ``embedding`` the sample that comes with wordbias is used.

    The default does not centre the differences, and so contains the difference of the means. The
    paper's results are about the variant that centres, ``as_published``.

    Random removals can lower a value, too. ``null`` compares MISP with them. It adds their changes,
    and p: the share of all removals, MISP included, that change the value as much as MISP does, or
    more.

    ``seed_lists`` shows how much the values depend on the names and pairs that the lists happen to
    contain.

    Parameters
    ----------
    embedding : path, fetched name, Embedding, KeyedVectors or (words, vectors), optional
        The embedding to debias; by default the sample that comes with wordbias.
    output : path, optional
        File for the debiased vectors, in the format of its suffix, else that of ``embedding``.
        A file of that name is replaced, also ``embedding`` itself.
        [default: nothing is written]
    dims : int
        Number of components of the subspace.
    centre : bool
        Centre the differences, as the paper's one-sided PCA does; this removes their mean.
    as_published : bool
        Use the settings of the paper: ``centre``.
    mhd : bool
        Remove the components completely (MHD).
    details : bool
        Print each component, all variants of MIDB, also along refitted directions, and the words
        that moved most. Other formats, such as JSON, always have all values.
    weights : str
        How much of each component to remove: its share of the variance, numbers such as 0.5,0.3,…,
        or the shares in another order, perm:2134.
    chance : bool
        Give the chance level of each value: along axes unrelated to the attribute.
    null : int, optional
        Number of random removals of each kind, to compare MISP with. Some have its weights, others
        move words as far as it does.
    seed_lists : int, optional
        Number of redraws of the attribute's word lists, for 95 % intervals over them.
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
    Embedding
        The debiased vectors of all words, shape ``(n, d)``; its ``report`` says what was measured
        before and after. If a file was streamed to ``output``, they are loaded from there on first
        use.

    Raises
    ------
    WordbiasError
        If the file cannot be used, or too few words of a group are found.

    Notes
    -----
    The paper does not say whether it centres the differences. As we read it, it does.

    ``null`` draws three kinds of removals. The first kind has MISP's weights. It moves words less
    than MISP, because words have less of a random direction. The other two kinds move words as far
    as MISP does, at length one: along uniform directions, and along directions drawn by the
    covariance of the words.

    ``seed_lists`` draws the same number of names and pairs again, with replacement; the axis is one
    of the pairs. MISP is fitted to each redraw, and bias is measured along it before and after. The
    intervals are therefore those of the whole call. MIDB is also measured along the names that a
    redraw leaves out. Nothing was fitted to these: does MISP remove what other names of this kind
    share?

    Examples
    --------
    >>> import wordbias as wb
    >>> clean = wb.misp(dims=2)
    >>> clean.report["difference-removed"][0].details["n"] > 100
    True
    """
    if mhd and weights != "variance":
        raise UsageError("--mhd removes the components completely; it takes no --weights")
    output = path_of(output)
    refuse_same({"-o": output}, {"--groups": path_of(groups), "--vocab": path_of(vocab)})
    attribute = Attribute.load(groups)
    given, specific = vocabulary_of(vocab, attribute)
    subject = open_subject(
        embedding,
        reading(),
        head=SIZE if given is None else 0,
        wanted=listed_words(attribute) | candidates(given or ()),
        output=output,
    )
    before = subject.embedding
    vocabulary = choose_vocabulary(
        [before], attribute, given, strict=strict_vocab, specific=specific
    )
    centre = centre or as_published
    levels = None
    if chance:
        levels = chance_levels(before, vocabulary, attribute, dims=dims, centre=centre, seed=seed)
    subject.keep([*vocabulary, *sorted(listed_words(attribute))])
    findings = study(
        subject.embedding,
        vocabulary,
        attribute,
        dims=dims,
        centre=centre,
        hard=mhd,
        weights=weights,
        seed=seed,
        chance=levels,
        null=null or 0,
        lists=seed_lists or 0,
    )
    subject.write(findings.projection)
    report = Report(
        inputs={before.name: subject.info.to_dict()},
        rows=findings.rows,
        tables=[
            *(
                [
                    components_table(findings, attribute),
                    effect_table(findings.measured, attribute),
                ]
                if details
                else [summary_table(findings, attribute)]
            ),
            *([null_table(findings.rows, attribute)] if null else []),
            *effect_lists_tables(findings, attribute),
        ],
        heading=_heading(subject, attribute, findings, given, specific),
        closing=[
            moved_line(findings.measured)
            if details
            else "--details has all measures and components.",
            subject.output_line(),
        ],
        seed=seed,
        notes=[
            *notes_on_language(attribute),
            *findings.diagnosis.cautions(signs=details),
            *_without_fit(findings, seed_lists or 0, dims),
        ],
    )
    return subject.result(findings.projection, report)


def _without_fit(findings: Study, draws: int, dims: int) -> list[str]:
    """Say how many redraws of the word lists have no subspace, and so no values."""
    fitted = max((row.details.get("lists_draws", 0) for row in findings.measured.rows), default=0)
    if fitted == draws:
        return []
    return [
        f"--seed-lists: {draws - fitted} of {how_many(draws, 'redraw')} left out, in which too few "
        f"different words were drawn for {how_many(dims, 'component')} (--dims); give more words"
    ]


def _heading(
    subject: Subject,
    attribute: Attribute,
    findings: Study,
    given: Sequence[str] | None,
    specific: Collection[str] | None,
) -> list[str]:
    method = "MHD (hard projection)" if findings.projection.hard else "MISP"
    counts = " + ".join(
        f"{len(group.found)} of {len(group.listed)} {name}"
        for name, group in zip(attribute.groups, findings.diagnosis.groups, strict=True)
    )
    over = f"{len(findings.vocabulary):,} neutral words"
    if given is not None:
        over = f"{len(findings.vocabulary):,} of {len(given):,} words given"
    if specific is not None:
        over += f", all but {len(specific):,} published gendered ones"
    return [
        *findings.summary,
        "",
        f"{method} on {subject.description()}",
        f"Attribute {attribute.name}: {counts} words found. Averages over {over}.",
    ]
