"""Everything about an embedding on one page, before and after several methods."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, cast

from wordbias.arguments import path_named
from wordbias.calls import current, note, public, refuse_given
from wordbias.configuration import ASKS_ENCODERS, READS_VECTORS, current_config, uses
from wordbias.data import nli_sample_path
from wordbias.devices import threads
from wordbias.draws import control_name
from wordbias.embedding import Embedding
from wordbias.errors import UsageError, WordbiasError
from wordbias.formats.files import locked, refuse_same
from wordbias.functions.arms import each_draw, is_drawn
from wordbias.functions.audit_model import audit_model, model_among, refuse_options_of_models
from wordbias.functions.audit_outputs import audit_outputs, write_audit_texts
from wordbias.functions.inputs import (
    EmbeddingsLike,
    as_list,
    distinctly_named,
    each_once,
    input_facts,
    open_subject,
    open_subjects,
    path_of,
    reading,
    unused,
)
from wordbias.functions.lists import sembias_of, vocabulary_of
from wordbias.functions.quality import Places, places_of
from wordbias.functions.report import FORMATS as PAGE_FORMATS
from wordbias.functions.report import Page, check_output
from wordbias.measures.evaluate import refuse_undefined
from wordbias.measures.known import with_known_values
from wordbias.measures.panel import make_panels
from wordbias.methods.methods import NONE, parse_columns
from wordbias.methods.settings import METHODS
from wordbias.methods.trade_off import trade_off_rows
from wordbias.models.model_like import ModelLike
from wordbias.models.read_vectors import ReadVectors, TextVectorsLike
from wordbias.models.text_encoders import EncoderLike, open_output_encoder
from wordbias.nli.files import Model
from wordbias.nli.pairs import PairsLike
from wordbias.pages.audit import MANY_WORDS, audit_digest, measure_stages, slow_parts
from wordbias.pages.stages import BEFORE, Column, Compared, Plan, check_directions
from wordbias.rendering import how_many
from wordbias.reports import Report
from wordbias.resources import located
from wordbias.settings import ChainsLike, as_listed, read_chain, text_of
from wordbias.stereotypes.text_sets import TextSetLike
from wordbias.word_tasks import find_sets
from wordbias.wordlists import Attribute, GroupsLike, notes_on_language
from wordbias.workers import Workers

COLUMNS = "misp hard inlp leace"
"""Methods that need no extra and take seconds."""
_COMPARED = "several embeddings are compared as they are; --methods cleans each of them"
FORMATS = (*PAGE_FORMATS, "json")


@public
@uses(*READS_VECTORS, "jobs", "device", *ASKS_ENCODERS)
def audit(
    embeddings: EmbeddingsLike | EncoderLike = None,
    *,
    methods: ChainsLike | None = None,
    after: EmbeddingsLike = None,
    output: str | os.PathLike[str] | None = None,
    skip: Sequence[str] | None = None,
    export: str | os.PathLike[str] | None = None,
    write_texts: str | os.PathLike[str] | None = None,
    read_vectors: TextVectorsLike | None = None,
    stereoset: TextSetLike | Sequence[TextSetLike] | None = None,
    snli: PairsLike | None = None,
    words: Sequence[str] | None = None,
    benchmarks: Places = (),
    sembias: str | os.PathLike[str] | None = None,
    nli_model: str | os.PathLike[str] | Model | None = None,
    direction: str = "she-he",
    dims: int = 4,
    centre: bool = False,
    as_published: bool = False,
    chance: bool = True,
    groups: GroupsLike | None = None,
    vocab: str | os.PathLike[str] | Sequence[str] | None = None,
    strict_vocab: bool = False,
    seed: int = 0,
) -> Page | Report:
    """Measure ``embeddings`` or a model before and after debiasing, and answer on one page.

    For word vectors the page shows every measure of bias with its interval, the occupations that
    lean most, neighbours and quality. It also shows how an NLI model that reads the vectors treats
    women and men. Without ``embeddings`` the sample that comes with wordbias is used.

    A model is an encoder, such as BERT or a sentence-transformers model, or a decoder, such as
    GPT-2. It reads sentences that come with wordbias. The page shows how easily each layer reveals
    the gender of first names, which associations the model has, and which pronoun it expects. With
    ``groups`` it shows ethnicity, religion, age or groups of your own in place of gender. A model
    takes ``methods``, ``skip``, ``groups``, ``seed`` and the options that say "For a model".

    A model that shows nothing but the vectors of texts is audited too. It is behind --endpoint, or
    in Python a function of texts or an object of another library. Or you encode the texts of
    ``write_texts`` anywhere, and give the vectors to ``read_vectors``.

    Several methods are compared by default. The page has a column for the values before, and one
    after each of ``methods`` and each of your own cleaned files. The page needs no network and
    contains its data. The same call resumes an interrupted one.

    Parameters
    ----------
    embeddings : path, fetched name, Embedding, KeyedVectors, (words, vectors), or several; a model
        The embeddings to measure; by default the sample that comes with wordbias. Or one model: a
        folder, a name on the hub, (model, tokenizer), SentenceTransformer, a function of texts, or
        an object with encode, embed_documents or transform; {name: function} keeps its answers.
    methods : str, method such as MISP(dims=2), or list of these or of lists, optional
        Columns of the page after the first, separated by spaces. "misp hard,misp inlp:rounds=10"
        gives three columns; the second applies two methods in order. null:3 adds three random
        removals with the weights of misp. lists:3 adds misp fitted to three redraws of the names,
        or of a model's sentences. none measures only before. For a model: misp, hard, mhd, leace,
        inlp; misp-pairs or mhd-pairs, fitted to pairs of sentences; or a setting such as
        tokens@3..10. For a decoder also concept-scrubbing.  [default: misp hard inlp leace; none
        for several embeddings; for an encoder misp hard leace; for a decoder hard leace
        concept-scrubbing]
    after : path, fetched name, Embedding, KeyedVectors, (words, vectors), or several, optional
        The embedding after it was cleaned elsewhere; may be repeated. Each file gets a column.
        Words that are missing from one file are left out of all columns.
    output : path, optional
        File to write: a page (.html), the same without pictures (.md), or rows (.json).
    skip : sequence of str, optional
        Parts to leave out, some of midb, direct-bias, clustering, recoverability, sembias, gipe,
        weat, occupations, map, neighbours, quality, mab. For a model some of probe, untrained,
        seat, ceat, pronouns, likelihood.
    export : path, optional
        For a model: folder to write the model to, with a projection inside. This is the only one of
        ``methods``, or the one that helps and leaves the least bias. Where that is not exact, the
        folder holds an adapter.
    write_texts : path, optional
        File for the sentences that an audit of a model needs (.jsonl). Nothing is measured.
    read_vectors : path, array (n, d) or table, optional
        Vectors of these sentences by any model, with a column text or in the order of the
        sentences: .npy, .npz, safetensors, .parquet, .arrow, .csv, .tsv or .jsonl.
    stereoset : path, fetched name or frame, or several, optional
        For a model: StereoSet, enhanced StereoSet or CrowS-Pairs. An encoder needs a head that
        scores them. A decoder also takes WinoBias, Winogender and BBQ. May be repeated.
    snli : path, fetched name or pairs, optional
        For a model with an NLI head: labelled pairs, to measure its fairness, and its accuracy on
        these pairs.
    words : sequence of str, optional
        Words whose neighbours are listed too: nurse,doctor.
    benchmarks : path, fetched name or several
        Folder of similarity and analogy test sets, or one file; without it quality is left out.
    sembias : path or fetched name, optional
        The SemBias test set (wordbias fetch sembias); without it SemBias has no value.
    nli_model : path or Model, optional
        NLI model that nli-train wrote, which reads the vectors.  [default: one trained on the
        sample]
    direction : str
        Direction along which words lean: she-he, pca, means, subspace or FILE, as in wordbias
        measure.
    dims : int
        Number of components of MISP and MIDB.
    centre : bool
        Centre the differences, as the paper's one-sided PCA does; this removes their mean.
    as_published : bool
        Use the settings of the paper: ``centre``, GIPE without isolated words, the most biased
        words by projection.
    chance : bool
        Give the chance level of each value: along axes unrelated to the attribute.
    groups : name, path or mapping, optional
        Groups to compare: gender, gender-fr, age, religion:A,B, … (wordbias lists), or a TOML file.
        For a model any number of groups, in English: ethnicity, pronouns, religion:A,B,C.
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
    Page
        A report of all rows, before and at each column; ``save("page.html")`` writes the page. With
        ``write_texts`` a report of what was written.

    Raises
    ------
    WordbiasError
        If a file cannot be used or written, or no measure can be taken, as with vectors of another
        language. A measure that cannot be taken becomes a note. A method that fails becomes a
        column that says why.

    Notes
    -----
    The page can be mailed and printed, and needs no installed software. No other file is written.

    For a model the page has the gender of first names by layer, association tests (SEAT and CEAT),
    occupations between she and he, and the pronoun that a decoder expects. Of other groups the last
    two are left out, and with ``groups`` pronouns occupations stand between every two of them. It
    compares projections of the vectors that the head or pooling reads with
    projections inside the model, and shows what each costs. The best of several tuned probes,
    tested on names that it has not seen, judges what a projection leaves. This takes about a fifth
    of the time.

    Write commas between methods that are applied in order. For a model the methods are projections,
    settings of wordbias project, such as L11-01110 or tokens@3..10, or concept-scrubbing (LEACE
    layer after layer). recoverability includes what probes read of words that no method was fitted
    to; this takes about 3 seconds a column. With ``export`` a sentence-transformers model gets the
    projection as a module behind its pooling. A decoder gets it in its weights.

    Examples
    --------
    >>> import wordbias as wb
    >>> parts = "clustering,recoverability,gipe,weat,mab,map,neighbours,quality,sembias"
    >>> report = wb.audit(methods="misp hard,misp", skip=parts, chance=False)
    >>> [row.details["stage"] for row in report["midb-abs"]]
    ['before', 'misp', 'hard,misp']
    """
    how = current_config()
    if write_texts is not None:
        return write_audit_texts(write_texts, groups)
    if (model := _model(embeddings, read_vectors, output)) is not None:
        read = model if isinstance(model, ReadVectors) else None
        answering = read or open_output_encoder(model, device=how.device)
        if answering is not None:
            return audit_outputs(
                answering,
                output=output,
                skip=tuple(skip or ()),
                methods=_projections(methods),
                groups=groups,
                seed=seed,
            )
        return audit_model(
            cast("ModelLike", model),
            output=output,
            skip=tuple(skip or ()),
            methods=_projections(methods),
            export=export,
            stereoset=() if stereoset is None else stereoset,
            snli=snli,
            groups=groups,
            device=how.device,
            seed=seed,
        )
    refuse_options_of_models()
    refuse_given(ASKS_ENCODERS, "is for a model, and these are vectors")
    embeddings = cast("EmbeddingsLike", embeddings)
    several = len(each_once(embeddings)) > 1
    default = NONE if several else COLUMNS
    own = _columns(default if methods is None else methods)
    cleaned = [] if after is None else as_list(after)
    if cleaned and several:
        raise UsageError("--after is of one embedding, and several are given; name one")
    tests = places_of(benchmarks)
    files = [*as_list(embeddings), *cleaned, *tests, sembias, nli_model, groups, vocab]
    to = check_output(output, FORMATS, map(path_of, files))
    plan = Plan(
        tuple(skip or ()),
        sembias_of(sembias),
        find_sets(*map(located, tests)) if tests else (),
        nli_model
        if isinstance(nli_model, Model)
        else Model.load(
            nli_sample_path() if nli_model is None else path_named("--nli-model", nli_model)
        ),
        tuple(words or ()),
        isolated=0.0 if as_published else 1.0,
        chance=chance,
    )
    options = reading()
    subjects = distinctly_named(open_subjects(embeddings, options))
    files_after = [open_subject(source, options) for source in cleaned]
    opened, columns, notes = _with_cleaned(
        [subject.embedding for subject in subjects],
        own,
        [subject.embedding for subject in files_after],
    )
    attribute = Attribute.load(groups)
    given, specific = vocabulary_of(vocab, attribute)
    panels = make_panels(
        opened,
        None,
        attribute,
        given,
        strict=strict_vocab,
        specific=specific,
        recipe=direction,
        seed=seed,
        dims=dims,
        centre=centre or as_published,
        by_projection=as_published,
    )
    check_directions(panels)
    if slow := slow_parts(panels, plan):
        them = "it" if len(slow) == 1 else "them"
        note(f"{' and '.join(slow)} may take minutes; --skip={','.join(slow)} leaves {them} out")
    many = max(map(len, opened)) > MANY_WORDS
    compared = [Compared(panel, columns) for panel in panels]
    with nullcontext() if output is None else locked(output):
        audited = measure_stages(
            compared,
            plan,
            workers=Workers(how.jobs or (threads() if many else 1)),
            digest=audit_digest(compared, plan) if how.cache else None,
        )
        refuse_undefined([row for row in audited.rows if row.measure != "column"])
        facts = input_facts(subjects)
        for column, subject in zip(columns[len(own) :], files_after, strict=True):
            facts[f"after: {column.label}"] = subject.info.to_dict()
        page = Page(
            arguments={
                name: argument
                for name, argument in current().arguments.items()
                if name not in ("output", "jobs")
            },
            inputs=facts,
            rows=[*with_known_values(audited.rows, panels), *trade_off_rows(audited.rows)],
            seed=seed,
            notes=[
                *([_COMPARED] if several and methods is None else []),
                *notes_on_language(attribute),
                *notes,
                *audited.notes,
            ],
        )
        if output is not None:
            page.write(output, to)
    return page


def _model(
    embeddings: EmbeddingsLike | EncoderLike,
    read_vectors: TextVectorsLike | None,
    output: str | os.PathLike[str] | None,
) -> EncoderLike | ReadVectors | None:
    """Return what is audited as a model is; None for word vectors."""
    if read_vectors is None:
        return model_among(embeddings)
    if embeddings is not None and embeddings != ():
        raise UsageError("--read-vectors: holds the vectors of a model; give no other")
    refuse_same({"-o": output}, {"--read-vectors": read_vectors})
    return ReadVectors.open(read_vectors)


def _projections(methods: ChainsLike | None) -> list[str] | None:
    """Split the projections of a model, with spaces between; ``none`` is none."""
    if methods is None:
        return None
    texts = [
        chain if isinstance(chain, str) else text_of(read_chain(chain, METHODS))
        for chain in as_listed(methods)
    ]
    words = " ".join(texts).split()
    return [] if [word.lower() for word in words] == [NONE] else words


def _columns(methods: ChainsLike) -> list[Column]:
    """Return a column for each chain of methods, and for each draw of null:3 and lists:3."""
    chains: list[Any] = []
    drawn: list[str] = []
    for method in as_listed(methods):
        words = method.split() if isinstance(method, str) else [method]
        drawn_words = [word for word in words if isinstance(word, str) and is_drawn(word)]
        drawn += drawn_words
        left = (
            " ".join(word for word in words if word not in drawn_words) if drawn_words else method
        )
        chains += [left] if left or not drawn_words else []
    columns = [Column(label, chain) for label, chain in parse_columns(chains).items()]
    return columns + [
        Column(control_name(kind, draw), drawn=kind, draw=draw) for kind, draw in each_draw(drawn)
    ]


def _with_cleaned(
    embeddings: Sequence[Embedding], columns: Sequence[Column], cleaned: Sequence[Embedding]
) -> tuple[list[Embedding], list[Column], list[str]]:
    """Add cleaned files as columns, of the words that all have; a note names what is left out."""
    if not cleaned:
        return list(embeddings), list(columns), []
    (before,) = embeddings
    common = [word for word in before.words if all(word in file.index for file in cleaned)]
    if not common:
        names = ", ".join(file.name for file in cleaned)
        raise WordbiasError(f"--after: {names} and {before.name} have no word in common")
    all_columns, notes = list(columns), []
    for embedding in cleaned:
        label = unused(embedding.name, [BEFORE, *(column.label for column in all_columns)])
        all_columns.append(Column(label, embedding=embedding.subset(common)))
    for embedding in (before, *cleaned):
        if left := len(embedding) - len(common):
            notes.append(
                f"{embedding.name}: {left:,} of {how_many(len(embedding), 'word')} are left out of "
                "all columns: not all of the files have them"
            )
    return [before.subset(common)], all_columns, notes
