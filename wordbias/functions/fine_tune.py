"""Fine-tuning of an encoder for natural language inference or next-sentence prediction."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from wordbias.arguments import check_choice, check_number, path_named
from wordbias.calls import public
from wordbias.configuration import current_config, uses
from wordbias.contextual.labelled_pairs import TASKS, load_labelled
from wordbias.draws import by_wilson
from wordbias.errors import need
from wordbias.functions.inputs import Written
from wordbias.functions.nli_models import read_named
from wordbias.measures.registry import ideal
from wordbias.models.model_like import ModelLike
from wordbias.nli.pairs import PairsLike
from wordbias.nli.recipes import is_half
from wordbias.pivot import pivot, values
from wordbias.progress import set_quiet
from wordbias.rendering import Table
from wordbias.reports import Report
from wordbias.results import Row, number
from wordbias.statistics import majority_share

_PURPOSE = "Fine-tuning an encoder"


@public
@uses("device", "precision")
def fine_tune(
    model: ModelLike,
    *,
    head: str,
    train: PairsLike,
    dev: PairsLike,
    output: str | os.PathLike[str],
    head_only: bool = False,
    limit: int | None = None,
    epochs: int | None = None,
    batch_size: int | None = None,
    lr: float | None = None,
    warmup: float | None = None,
    weight_decay: float | None = None,
    every: int | None = None,
    seed: int = 0,
) -> Written:
    """Train a classification head on ``model``, a Hugging Face encoder: NLI or next sentence.

    For nli, pairs are tab-separated label, premise and hypothesis, or a table with such columns:
    SNLI's own jsonl, CSV, Parquet. For nsp, they are is_next or not_next, first and second
    sentence. nsp pairs can also be made from running text, with one sentence per line and a blank
    line between documents. Training uses AdamW with warm-up and gradient clipping, and keeps the
    weights that are best on dev. A head for the same task is trained further. Otherwise BERT gets
    its own head for the next sentence, and other models a new classifier. transformers can load the
    folder without wordbias. training.json in it says how the model was trained, and a log is
    written next to the folder. The same command resumes an interrupted training from the checkpoint
    of the last evaluation on dev. A finished model is not trained again. On several GPUs start the
    command with accelerate or torchrun. Each process then reads its own batch at every step.

    Parameters
    ----------
    model : path, name on the hub, or (model, tokenizer)
        Encoder to train; the original is not changed.
    head : str
        Head to train: for inference (nli) or the next sentence (nsp).
    train : path, fetched name, or for nli a frame or rows of label, premise and hypothesis
        Training pairs.
    dev : path, fetched name, frame or rows
        Dev pairs, on which the best weights are chosen.
    output : path
        Folder for the model.
    head_only : bool
        Freeze the encoder, which is quick.
    limit : int, optional
        Number of training pairs to use, the first ones.
    epochs : int, optional
        Number of epochs.  [default: 3; 10 with ``head_only``]
    batch_size : int, optional
        Batch size, in pairs.  [default: 32]
    lr : float, optional
        Highest learning rate.  [default: 2e-5; 1e-3 with ``head_only``]
    warmup : float, optional
        Share of steps in which the learning rate rises.  [default: .06]
    weight_decay : float, optional
        Weight decay of matrices.  [default: .01]
    every : int, optional
        Steps between evaluations on dev, each with a checkpoint.  [default: 1000]
    seed : int
        Seed of everything random.

    Returns
    -------
    Written
        The folder; every function, and transformers, takes it as a model. Its ``report`` has the
        accuracy on dev with an interval.

    Raises
    ------
    WordbiasError
        If the folder exists already and holds no such model, another call is writing it, or the
        pairs or the model cannot be used.

    Examples
    --------
    >>> import wordbias as wb
    >>> trained = wb.fine_tune(  # doctest: +SKIP
    ...     "bert-base-uncased", head="nli", train="train.jsonl", dev="dev.jsonl", output="bert-nli"
    ... )
    >>> wb.project(trained)  # doctest: +SKIP
    """
    how = current_config()
    check_choice("--head", head, TASKS)
    check_number("--lr", lr, 0, above=True)
    check_number("--warmup", warmup, 0, 1)
    need("torch", extra="contextual", purpose=_PURPOSE)
    from wordbias.contextual import fine_tuning as tuning
    from wordbias.distributed import launched

    count, rank = launched()
    if rank:
        set_quiet(True)
    folder = os.fspath(output)
    tuning.check_folder(folder)
    read = partial(load_labelled, head, seed=seed)
    data = read_named(read, "--train", _pairs("--train", train, head)).head(limit)
    judged = read_named(read, "--dev", _pairs("--dev", dev, head))
    recipe = (tuning.HEAD_ONLY if head_only else tuning.WHOLE).with_changes(
        epochs=epochs,
        batch=batch_size,
        rate=lr,
        warmup=warmup,
        decay=weight_decay,
        every=every,
        seed=seed,
        half=is_half(how.precision),
    )
    before = tuning.is_finished(folder)
    tuned, headed = tuning.fine_tune(head, model, data, judged, recipe, folder, how.device)
    row = Row(
        Path(folder).name,
        "dev-accuracy",
        tuned.accuracy,
        {
            "task": head,
            "seed": seed,
            "n": len(judged),
            "round": tuned.round,
            "rounds": tuned.rounds.rounds,
            **ideal("dev-accuracy"),
            **by_wilson(tuned.accuracy, len(judged), "pairs"),
        },
    )
    new = headed.new_parameters
    trained = f"a new head ({new:,} parameters)" if new else "its own head"
    together = f" In each of {count} processes, which train together." if count > 1 else ""
    settings = ", ".join(f"{key} {value}" for key, value in recipe.to_dict().items())
    report = Report(
        inputs={"model": {"path": headed.name}, "train": data.to_dict(), "dev": judged.to_dict()},
        rows=[row],
        tables=[_table(row, majority_share(judged.labels))],
        heading=[
            f"{headed.name} with {trained}, trained on {len(data):,} pairs ({data.kind}), dev "
            f"{len(judged):,}. Recipe: {settings}.{together}"
        ],
        closing=[
            f"{folder} was already finished; nothing was trained."
            if before
            else f"Written: {folder}."
        ],
        seed=seed,
    )
    return Written(folder, report)


def _pairs(option: str, given: PairsLike, head: str) -> PairsLike:
    """Return the pairs: of next sentences a file, for inference in memory too."""
    return given if head == "nli" else path_named(option, given)


def tells() -> bool:
    """Return whether this is the first of the processes that train together, which prints."""
    from wordbias.distributed import launched

    return launched()[1] == 0


def _table(row: Row, chance: float) -> Table:
    common = ("commonest label", lambda _: number(chance, 3))
    best = ("best evaluation", lambda row: "{round} of {rounds}".format(**row.details))
    columns = values("accuracy", "95 %", common, best)
    note = (
        "Higher is better; compare it with the share of the commonest label, the accuracy of "
        "always predicting that one. Evaluations on dev: see --every."
    )
    title = "Accuracy on dev, of the best weights"
    return pivot(title, [row], {"model": "subject"}, columns, note)
