"""The coreference experiment: whether a debiased coreference model only looks fair."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from wordbias.arguments import check_number, seeds_of
from wordbias.calls import path_of, public
from wordbias.configuration import STARTS_PROCESSES, current_config, uses
from wordbias.coreference.documents import check_clusters
from wordbias.coreference.strategies import PUBLISHED
from wordbias.errors import UsageError, WordbiasError, need
from wordbias.formats.files import check_output_folder
from wordbias.functions.bios import with_null
from wordbias.functions.coref_predict import DocumentsLike, read_all
from wordbias.functions.winobias import usual_shares
from wordbias.models.model_like import ModelLike, in_folder
from wordbias.nli.recipes import is_half
from wordbias.outcomes.anonymise import SpacyFinder
from wordbias.outcomes.inputs import load_shares
from wordbias.pages.retraining_plots import plot_compression_fairness
from wordbias.probes.ceat.association import DRAWS
from wordbias.probes.ceat.sentences import Sentences, find_sentences, read_sentences
from wordbias.rendering import how_many
from wordbias.reports import Report
from wordbias.resources import located
from wordbias.retraining.arms import ANONYMISE, with_random_changes
from wordbias.retraining.conclusions import closing
from wordbias.retraining.measuring import career_words
from wordbias.retraining.removals import is_removal
from wordbias.retraining.results import COREFERENCE
from wordbias.retraining.summary import Summary
from wordbias.retraining.tables import tables
from wordbias.stereotypes.winobias import load_winobias
from wordbias.workers import Workers


@public
@uses("skip_bad", *STARTS_PROCESSES, "device", "precision")
def coref_study(
    train: DocumentsLike,
    *,
    dev: DocumentsLike,
    test: DocumentsLike,
    winobias: str | os.PathLike[str],
    model: ModelLike,
    strategies: Sequence[str] = PUBLISHED,
    random_changes: bool = False,
    seed: int | Sequence[int] = (0, 1, 2),
    head_only: bool = False,
    output: str | os.PathLike[str] | None = None,
    epochs: int = 24,
    lr: float = 1e-5,
    task_lr: float = 2e-4,
    retrain_epochs: int | None = None,
    segment_length: int = 128,
    hidden: int = 1000,
    spacy: str | None = None,
    sentences: str | os.PathLike[str] | Iterable[str] | None = None,
    draws: int = DRAWS,
    shares: str | os.PathLike[str] | Mapping[str, float] | None = None,
    baselines: bool = True,
    as_published: bool = False,
    holm: bool = False,
    keep_models: bool = False,
) -> Report:
    """Measure whether debiasing a coreference model's training data changed more than its head.

    For each strategy and seed a coreference model is trained on documents that the strategy
    debiased (Orgad et al. 2022). ``anonymise`` replaces people's names by numbers. ``swap`` adds
    each document once more, with the words of the other gender. Measured are its F1 on ``test``,
    its gaps on WinoBias, and how easily its encoder reveals the usual gender of professions
    (compression). Then all above the encoder is trained again, on the original documents. If bias
    comes back, debiasing had only hidden it.

    A strategy may also change vectors instead of data. A removal is fitted to the vectors of she
    and he in the training documents. It stands behind the encoder of the model that was trained
    without debiasing. The rest of the model reads what it leaves; then a new one is trained on it.

    The folder ``output`` gets a line in results.jsonl for every strategy and seed. The same call
    resumes an interrupted one; more seeds or strategies are added to the results.

    Parameters
    ----------
    train : path, or sequence of paths or Document
        Documents to train on, as of ``coref-train``.
    dev : path, or sequence of paths or Document
        Documents on which the best epoch is chosen; no strategy changes them.
    test : path, or sequence of paths or Document
        Documents to test on.
    winobias : path or fetched name
        Folder of the sentences of WinoBias.
    model : path, name on the hub, or (model, tokenizer)
        Encoder to train, with a mask token, such as roberta-base.
    strategies : sequence of str
        Debiasing strategies: none, anonymise, swap, and both joined: anonymise+swap. Strategies for
        vectors: leace, inlp, misp, mhd or hard, with settings such as misp:dims=2; or, with
        ``head_only``, an adapter file of wordbias project. null:N adds random removals.
    random_changes : bool
        Compare each strategy also with a random change of the same size, such as random-swap.
    seed : int or sequence of int
        Random seeds. With two or more, differences from no debiasing have an interval. With six or
        more, they are tested.
    head_only : bool
        Freeze the encoder.
    output : path, optional
        Folder of results; an interrupted call resumes from it.
    epochs : int
        Number of epochs.
    lr : float
        Highest learning rate of the encoder.
    task_lr : float
        Highest learning rate of the head.
    retrain_epochs : int, optional
        Number of epochs when the head is trained again.  [default: as ``epochs``]
    segment_length : int
        Maximum number of word pieces that the encoder reads together, special tokens included.
    hidden : int
        Number of hidden units of the head.
    spacy : str, optional
        spaCy model that finds people's names.  [default: lists of first names]
    sentences : path or iterable of str, optional
        Sentences for CEAT: one per line, or a table.
    draws : int
        Number of samples that CEAT draws.
    shares : path or mapping, optional
        Share of women in each profession.  [default: the file in the folder of WinoBias]
    baselines : bool
        Probe also the encoder before training, and with random weights.
    as_published : bool
        Compute gaps as the released code does.
    holm : bool
        Correct p-values for the number of tests (Holm).
    keep_models : bool
        Keep the trained models in the folder, also with the retrained head, and each removal as an
        adapter for coref-predict.

    Returns
    -------
    Report
        The rows of every strategy and seed, before and after retraining, and summaries over seeds
        and over runs.

    Raises
    ------
    WordbiasError
        If documents, encoder or folder cannot be used, the folder belongs to another study, or an
        argument would do nothing.

    Notes
    -----
    Models, scores and gaps are those of ``coref-train`` and ``winobias``. A random change has the
    size of its strategy, without regard to gender. The same number of other words become numbers,
    or documents are repeated without a change. Of vectors, random directions are removed until
    those of all word pieces move as far.

    Without ``output`` nothing is stored, and an interrupted call cannot be resumed.

    References
    ----------
    Orgad, H., Goldfarb-Tarrant, S., and Belinkov, Y. (2022). How Gender Debiasing Affects Internal
    Model Representations, and Why It Matters. NAACL.

    Zhao, J., Wang, T., Yatskar, M., Ordonez, V., and Chang, K.-W. (2018). Gender Bias in
    Coreference Resolution: Evaluation and Debiasing Methods. NAACL.

    Examples
    --------
    >>> import wordbias as wb
    >>> report = wb.coref_study(  # doctest: +SKIP
    ...     "train.conll",
    ...     dev="dev.conll",
    ...     test="test.conll",
    ...     winobias="winobias/",
    ...     model="roberta-base",
    ...     output="study",
    ... )
    >>> report.plot()  # doctest: +SKIP
    """
    how = current_config()
    for option, rate in (("--lr", lr), ("--task-lr", task_lr)):
        check_number(option, rate, 0, above=True)
    if output is not None:
        check_output_folder(output)
    elif keep_models:
        raise UsageError("--keep-models writes to --output; name a folder")
    need("torch", extra="contextual", purpose="The coreference experiment")
    from wordbias.coreference.experiment import Plan, run
    from wordbias.coreference.model import Settings
    from wordbias.coreference.training import Recipe

    order = seeds_of(seed)
    chosen = with_null(strategies, order, is_removal)
    chosen = with_random_changes(chosen) if random_changes else chosen
    given: dict[str, DocumentsLike] = {"train": train, "dev": dev, "test": test}
    read = {name: read_all(f"--{name}", docs) for name, docs in given.items()}
    for split in read.values():
        check_clusters(split.documents, split.path)
    place = located(os.fspath(winobias))
    of_pairs = load_winobias(place)
    inputs: dict[str, dict[str, Any]] = {name: corpus.facts() for name, corpus in read.items()}
    inputs["winobias"] = {"path": place, "sentences": len(of_pairs)}
    if spacy is not None and not any(ANONYMISE in strategy for strategy in chosen):
        raise WordbiasError("--spacy: finds names for anonymise; add it to --strategies")
    settings: dict[str, Any] = {}
    if spacy is not None:
        settings |= {"find": SpacyFinder.of(spacy), "finder": spacy}
    if (source := usual_shares(place) if shares is None else shares) is not None:
        where = path_of(source) or "the shares given"
        settings |= {"shares": load_shares(source), "shares_from": where}
        inputs["shares"] = {"path": where}
    if sentences is not None:
        where = path_of(sentences) or "the sentences given"
        settings |= {"contexts": _contexts(sentences, where), "contexts_from": where}
        inputs["sentences"] = {"path": where}
    half = is_half(how.precision)
    recipe = Recipe(epochs, lr, task_lr, head_only=head_only, half=half)
    retraining = Recipe(
        epochs if retrain_epochs is None else retrain_epochs,
        task_rate=task_lr,
        head_only=True,
        half=half,
    )
    workspace = (
        tempfile.TemporaryDirectory(prefix="wordbias-") if output is None else nullcontext(output)
    )
    with workspace as folder, in_folder(model) as encoder:
        plan = Plan(
            read["train"].documents,
            read["dev"].documents,
            read["test"].documents,
            of_pairs,
            encoder,
            Path(folder),
            chosen,
            tuple(order),
            recipe,
            retraining,
            Settings(segment_length=segment_length, hidden=hidden),
            baselines,
            draws=draws,
            device=how.device,
            as_published=as_published,
            keep_models=keep_models,
            **settings,
        )
        rows = run(plan, Workers(how.jobs, how.backend))
    summary = Summary.of(rows, COREFERENCE, correct=holm)
    called = path_of(model) or type(model[0] if isinstance(model, tuple) else model).__name__
    documents = ", ".join(
        f"{corpus.path} ({name}, {how_many(len(corpus.documents), 'document')})"
        for name, corpus in read.items()
    )
    return Report(
        inputs=inputs,
        rows=[*rows, *summary.rows()],
        tables=tables(summary, frozen=head_only),
        heading=[f"Coreference experiment on {documents}; WinoBias in {place}. Encoder: {called}."],
        closing=closing(summary),
        seed=order[0],
        notes=[note for corpus in read.values() for note in corpus.notes],
        picture=partial(plot_compression_fairness, task=COREFERENCE),
    )


def _contexts(given: str | os.PathLike[str] | Iterable[str], where: str) -> Sentences:
    """Find the words of CEAT in sentences."""
    if isinstance(given, (str, os.PathLike)):
        given = read_sentences(os.fspath(given))
    return find_sentences(given, career_words(), what=where)
