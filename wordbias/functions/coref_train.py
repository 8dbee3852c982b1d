"""Training of a coreference model on documents with clusters."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordbias.arguments import check_number
from wordbias.calls import public
from wordbias.configuration import current_config, uses
from wordbias.coreference.documents import Corpus, Document, check_clusters, without_singletons
from wordbias.coreference.scoring import score_rows
from wordbias.errors import need
from wordbias.functions.coref_predict import DocumentsLike, read_all
from wordbias.functions.coref_score import score_table
from wordbias.functions.inputs import Written
from wordbias.models.model_like import ModelLike
from wordbias.nli.recipes import is_half
from wordbias.rendering import Table, how_many
from wordbias.reports import Report
from wordbias.statistics import SAMPLES

if TYPE_CHECKING:
    from wordbias.coreference.training import Trained

_PURPOSE = "Training a coreference model"


@public
@uses("device", "precision", "skip_bad")
def coref_train(
    train: DocumentsLike,
    *,
    dev: DocumentsLike,
    model: ModelLike,
    output: str | os.PathLike[str],
    test: DocumentsLike | None = None,
    head_only: bool = False,
    epochs: int = 24,
    lr: float = 1e-5,
    task_lr: float = 2e-4,
    segment_length: int = 128,
    hidden: int = 1000,
    draws: int = SAMPLES,
    seed: int = 0,
) -> Written:
    """Train a coreference model, which ranks spans (Lee et al. 2018), on documents with clusters.

    ``train`` is one file or several: CoNLL-2012 as of OntoNotes, CoNLL-U with Entity=, or JSON
    lines. A folder is all its files that end in gold_conll, else in .conll, .conllu or .jsonl, also
    compressed. The encoder is fine-tuned with the head, and a step reads one document. Of a long
    one it reads 1,408 word pieces at random, so that memory is bounded. Defaults are those of Xu
    and Choi (2020), without genres and higher-order inference. With few documents or a small
    encoder, larger learning rates, such as 5e-5 and 1e-3, learn more. The best epoch on dev is
    kept. Clusters of one mention are not predicted, and left out of scores. The folder is also an
    encoder that every command reads. A log is written next to it. The same command resumes an
    interrupted training from the checkpoint of the last epoch. A finished model is not trained
    again.

    Parameters
    ----------
    train : path, or sequence of paths or Document
        Documents to train on: files or folders.
    dev : path, or sequence of paths or Document
        Documents on which the best epoch is chosen.
    model : path, name on the hub, or (model, tokenizer)
        Encoder to train; the original is not changed.
    output : path
        Folder for the model.
    test : path, or sequence of paths or Document, optional
        Documents to test the best epoch on.
    head_only : bool
        Freeze the encoder.
    epochs : int
        Number of epochs.
    lr : float
        Highest learning rate of the encoder.
    task_lr : float
        Highest learning rate of the head.
    segment_length : int
        Maximum number of word pieces that the encoder reads together, special tokens included.
    hidden : int
        Number of hidden units of the head.
    draws : int
        Number of bootstrap samples of documents; 0 for no intervals.
    seed : int
        Seed of everything random.

    Returns
    -------
    Written
        The folder. ``wb.load`` makes of it a function of tokens that returns clusters, and other
        functions take it as an encoder. Its ``report`` has CoNLL F1 with an interval over
        documents.

    Raises
    ------
    WordbiasError
        If the folder exists already and holds no such model, another call is writing it, a file
        cannot be used or has no clusters, or the encoder cannot be used.

    References
    ----------
    Lee, K., He, L., and Zettlemoyer, L. (2018). Higher-Order Coreference Resolution with
    Coarse-to-Fine Inference. NAACL.

    Xu, L., and Choi, J. D. (2020). Revealing the Myth of Higher-Order Inference in Coreference
    Resolution. EMNLP.

    Examples
    --------
    >>> import wordbias as wb
    >>> trained = wb.coref_train(  # doctest: +SKIP
    ...     "train.conll", dev="dev.conll", model="roberta-base", output="coref"
    ... )
    >>> wb.load(trained)(["Ann", "left", "as", "she", "was", "ill", "."])  # doctest: +SKIP
    (((0, 1), (3, 4)),)
    """
    for option, rate in (("--lr", lr), ("--task-lr", task_lr)):
        check_number(option, rate, 0, above=True)
    need("torch", extra="contextual", purpose=_PURPOSE)
    from wordbias.contextual.fine_tuning import check_folder, is_finished
    from wordbias.coreference.model import Settings
    from wordbias.coreference.training import Recipe, train_coreference

    folder = os.fspath(output)
    check_folder(folder)
    read = {
        name: read_all(f"--{name}", given)
        for name, given in (("train", train), ("dev", dev), ("test", test))
        if given is not None
    }
    for split in read.values():
        check_clusters(split.documents, split.path)
    before = is_finished(folder)
    half = is_half(current_config().precision)
    recipe = Recipe(epochs, lr, task_lr, head_only=head_only, half=half, seed=seed)
    settings = Settings(segment_length=segment_length, hidden=hidden)
    trained, resolver = train_coreference(
        model,
        read["train"].documents,
        read["dev"].documents,
        folder,
        settings=settings,
        recipe=recipe,
        device=current_config().device,
    )
    scored = {}
    for name, split in read.items():
        if name != "train":
            response = resolver.predict(split.documents, name)
            rows = score_rows(_gold(split), response, Path(folder).name, draws=draws, seed=seed)
            about = {"set": name, "round": trained.epoch, "rounds": len(trained.epochs)}
            scored[name] = [replace(row, details={**row.details, **about}) for row in rows]
    inputs = {name: corpus.facts() for name, corpus in read.items()}
    sizes = ", ".join(
        f"{key} {value}" for key, value in (settings.to_dict() | recipe.to_dict()).items()
    )
    parameters = sum(tensor.numel() for tensor in resolver.ranker.head().values())
    heading = (
        f"{resolver.encoder.name} with a head of {parameters:,} parameters, trained on "
        f"{_described(inputs['train'])}; dev: {_described(inputs['dev'])}. Settings: {sizes}."
    )
    return Written(
        folder,
        Report(
            inputs={"model": {"path": resolver.encoder.name}, **inputs},
            rows=[row for rows in scored.values() for row in rows],
            tables=[
                *(score_table(rows, name) for name, rows in scored.items()),
                _epochs_table(trained),
            ],
            heading=[heading],
            closing=[
                f"{folder} was already finished; nothing was trained."
                if before
                else f"Written: {folder}. To find clusters: wordbias coref-predict {folder} FILE"
            ],
            seed=seed,
            notes=[note for corpus in read.values() for note in corpus.notes],
        ),
    )


def _described(corpus: Any) -> str:
    """Name how large a corpus is, and what was done with singletons."""
    text = f"{how_many(corpus['documents'], 'document')}, {corpus['tokens']:,} tokens, "
    text += f"{corpus['mentions']:,} mentions"
    singletons = corpus["singletons"]
    return text + (f" ({how_many(singletons, 'singleton')}, not scored)" if singletons else "")


def _gold(read: Corpus) -> list[Document]:
    """Leave out singletons, which the model does not predict."""
    return [
        replace(document, clusters=without_singletons(document.clusters))
        for document in read.documents
    ]


def _epochs_table(trained: Trained) -> Table:
    lines = [
        [str(epoch["epoch"]), f"{epoch['loss']:.1f}", f"{100 * epoch['f1']:.2f}"]
        for epoch in trained.epochs
    ]
    heads = ["epoch", "loss of a document", "CoNLL F1 on dev, percent"]
    note = f"Best on dev is epoch {trained.epoch}, so that its scores on dev are too high."
    return Table("Epochs", heads, lines, note)
