"""Everything about an embedding on one page, before and after MISP."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import cast

from wordbias.calls import current, note, public
from wordbias.contextual.stereoset.evaluate import DataLike
from wordbias.data import nli_sample_path
from wordbias.functions.audit_model import audit_model, model_among, refuse_options_of_models
from wordbias.functions.inputs import (
    EmbeddingsLike,
    ReadOptions,
    as_list,
    distinctly_named,
    input_facts,
    open_subjects,
    path_of,
)
from wordbias.functions.quality import Places, places_of
from wordbias.functions.report import FORMATS as PAGE_FORMATS
from wordbias.functions.report import Page, check_output
from wordbias.measures.panel import make_panels
from wordbias.measures.sembias import SemBias
from wordbias.nli.files import Model
from wordbias.nli.pairs import PairsLike
from wordbias.pages.audit import measure_stages, slow_parts
from wordbias.pages.stages import Plan, make_stages
from wordbias.pretrained import ModelLike
from wordbias.resources import located
from wordbias.word_tasks import find_sets
from wordbias.wordlists import Attribute, GroupsLike, wordlist

FORMATS = (*PAGE_FORMATS, "json")


@public
def audit(
    embeddings: EmbeddingsLike | ModelLike = None,
    *,
    output: str | os.PathLike[str] | None = None,
    skip: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    export: str | os.PathLike[str] | None = None,
    stereoset: DataLike | None = None,
    snli: PairsLike | None = None,
    device: str | None = None,
    words: Sequence[str] | None = None,
    sets: Places = (),
    sembias: str | os.PathLike[str] | None = None,
    model: str | os.PathLike[str] | Model | None = None,
    direction: str = "she-he",
    dims: int = 4,
    center: bool = False,
    as_published: bool = False,
    chance: bool = True,
    groups: GroupsLike | None = None,
    vocab: str | os.PathLike[str] | Sequence[str] | None = None,
    strict_vocab: bool = False,
    skip_bad: bool = False,
    allow_pickle: bool = False,
    cache: bool = True,
    seed: int = 0,
) -> Page:
    """Measure everything about ``embeddings`` or a model, before and after debiasing, on one page.

    The page shows every measure of bias with its interval, the occupations that lean most,
    neighbours, quality, and how an NLI model that reads the vectors treats women and men. It needs
    no network and no installed software, can be mailed and printed, and contains its data. No other
    file is written. Without ``embeddings`` the sample that comes with wordbias is used.

    A model, such as an encoder of sentence-transformers or of the BERT family, is audited on
    sentences that come with wordbias: how easily the gender of first names is read off each layer,
    association tests (SEAT and CEAT), occupations between she and he; before and after projections
    of the vectors that its head or pooling reads, with what each costs.

    Parameters
    ----------
    embeddings : path, fetched name, Embedding, KeyedVectors, (words, vectors), or several; a model
        The embeddings to measure; by default the sample that comes with wordbias. Or one model: a
        folder, a name on the hub, (model, tokenizer) or SentenceTransformer.
    output : path, optional
        File to write: a page (.html), the same without pictures (.md), or rows (.json).
    skip : sequence of str, optional
        Parts to leave out, some of midb, direct-bias, clustering, recoverability, sembias, gipe,
        weat, occupations, map, neighbours, quality, mab, misp. Of a model some of probe, untrained,
        seat, ceat, pronouns.
    methods : sequence of str, optional
        Projections of a model: misp, hard, mhd, leace, inlp, with settings such as misp:dims=2, or
        settings of wordbias project such as L11-01110.  [default: misp, hard, leace]
    export : path, optional
        Folder for a sentence-transformers model with a projection: the only one of ``methods``, or
        the one that helps and leaves least.
    stereoset : path, fetched name or frame, optional
        StereoSet, enhanced StereoSet or CrowS-Pairs, for a model with a head that scores them.
    snli : path, fetched name or pairs, optional
        Labelled pairs, for a model with an NLI head: its fairness, and its accuracy on these.
    device : str, optional
        Device of a model: cpu, cuda or mps.  [default: the first of cuda, mps, cpu that is there]
    words : sequence of str, optional
        Words whose neighbours are listed too: nurse,doctor.
    sets : path, fetched name or several
        Folder of similarity and analogy test sets, or one file.
    sembias : path or fetched name, optional
        The SemBias test set, which wordbias may not distribute.
    model : path or Model, optional
        NLI model that nli-train wrote.  [default: one trained on the sample]
    direction : str
        Direction along which words lean; see wordbias measure.
    dims : int
        Number of components of MISP and MIDB.
    center : bool
        Centre the differences, as the paper's one-sided PCA does; this removes their mean.
    as_published : bool
        Use the settings of the paper: ``center``, GIPE without isolated words, the most biased
        words by projection.
    chance : bool
        Give the chance level of each value: along axes unrelated to the attribute.
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
    Page
        A report of all rows, at the stages before and after; ``save("page.html")`` writes the page.

    Raises
    ------
    WordbiasError
        If a file cannot be used or written. A measure that cannot be taken becomes a note.

    Examples
    --------
    >>> import wordbias as wb
    >>> parts = "clustering,recoverability,gipe,weat,mab,map,neighbours,quality,sembias"
    >>> report = wb.audit(skip=parts, chance=False)
    >>> [row.details["stage"] for row in report["midb-abs"]]
    ['before', 'after']
    """
    if (encoder := model_among(embeddings)) is not None:
        return audit_model(
            encoder,
            output=output,
            skip=tuple(skip or ()),
            methods=methods,
            export=export,
            stereoset=stereoset,
            snli=snli,
            device=device,
            seed=seed,
        )
    refuse_options_of_models()
    embeddings = cast("EmbeddingsLike", embeddings)
    tests = places_of(sets)
    files = [*as_list(embeddings), *tests, sembias, model, groups, vocab]
    to = check_output(output, FORMATS, map(path_of, files))
    plan = Plan(
        tuple(skip or ()),
        SemBias.load(located(os.fspath(sembias))) if sembias is not None else None,
        find_sets(*map(located, tests)) if tests else (),
        model if isinstance(model, Model) else Model.load(model or nli_sample_path()),
        tuple(words or ()),
        isolated=0.0 if as_published else 1.0,
        chance=chance,
    )
    subjects = distinctly_named(
        open_subjects(embeddings, ReadOptions(cache, skip_bad, allow_pickle))
    )
    panels = make_panels(
        [subject.embedding for subject in subjects],
        None,
        Attribute.load(groups),
        None if vocab is None else wordlist(vocab),
        strict=strict_vocab,
        recipe=direction,
        seed=seed,
        dims=dims,
        center=center or as_published,
        by_projection=as_published,
    )
    stages = make_stages(panels, misp=plan.includes("misp"))
    if slow := slow_parts(panels, plan):
        them = "it" if len(slow) == 1 else "them"
        note(f"{' and '.join(slow)} may take minutes; --skip={','.join(slow)} leaves {them} out")
    found = measure_stages(stages, plan)
    page = Page(
        arguments={name: one for name, one in current().arguments.items() if name != "output"},
        inputs=input_facts(subjects),
        rows=found.rows,
        seed=seed,
        notes=found.notes,
    )
    if output is not None:
        page.write(output, to)
    return page
