"""Training of decomposable attention on one embedding or several."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordbias import cells
from wordbias.arguments import seeds_of
from wordbias.calls import public
from wordbias.configuration import READS_VECTORS, STARTS_PROCESSES, current_config, uses
from wordbias.devices import find_device
from wordbias.embedding import Embedding, EmbeddingLike
from wordbias.errors import WordbiasError, need
from wordbias.formats.files import check_writable, locked, refuse_same
from wordbias.functions.inputs import (
    EmbeddingsLike,
    ReadOptions,
    Written,
    each_once,
    open_subject,
    path_of,
    reading,
)
from wordbias.functions.nli_models import read_named
from wordbias.nli.pairs import PairsLike, load_pairs, pairs_name
from wordbias.nli.recipes import Recipe, is_half, recipe_named
from wordbias.pivot import pivot, values
from wordbias.rendering import Table
from wordbias.reports import Report
from wordbias.results import Row
from wordbias.workers import Workers

if TYPE_CHECKING:
    from wordbias.nli.jobs import Data, Job


@public
@uses(*READS_VECTORS, *STARTS_PROCESSES, "device", "precision")
def nli_train(
    embeddings: EmbeddingsLike = None,
    *,
    train: PairsLike,
    dev: PairsLike,
    test: PairsLike | None = None,
    output: str | os.PathLike[str],
    seed: int | Sequence[int] = (0,),
    recipe: str = "published",
    epochs: int | None = None,
    batch_size: int | None = None,
    lr: float | None = None,
    dropout: float | None = None,
    hidden: int | None = None,
    no_intra: bool = False,
    patience: int | None = None,
    raw: bool = False,
) -> Written:
    """Train decomposable attention (Parikh et al. 2016) on ``embeddings``, one model for each seed.

    Pairs are tab-separated label, premise and hypothesis, or a table with such columns: SNLI's own
    jsonl, CSV, Parquet. The vectors are normalised to length one, unless ``raw``, and are not
    trained. The weights of the epoch that is best on dev are kept. A log of every epoch is written
    next to the model. The same command resumes an interrupted training from the checkpoint of the
    last whole epoch. A finished model is not trained again. Without ``embeddings`` the sample that
    comes with wordbias is used.

    Parameters
    ----------
    embeddings : path, fetched name, Embedding, KeyedVectors, (words, vectors), or several
        The embeddings that the models read; by default the sample that comes with wordbias.
    train : path, list of (label, premise, hypothesis) or pandas frame
        NLI pairs to train on, such as snli-train (wordbias fetch): jsonl, or tab-separated label,
        premise, hypothesis.
    dev : path, list of (label, premise, hypothesis) or pandas frame
        NLI pairs on which the best epoch is chosen.
    test : path, list of (label, premise, hypothesis) or pandas frame, optional
        NLI pairs on which the best epoch is tested.
    output : path
        File for the model. For several models a folder, with files NAME.seedS.safetensors.
    seed : int or sequence of int
        Random seeds; one model is trained for each.
    recipe : str
        Recipe of settings; other options overrule it.
    epochs : int, optional
        Maximum number of epochs.  [default: the recipe's]
    batch_size : int, optional
        Batch size, in pairs.
    lr : float, optional
        Learning rate.
    dropout : float, optional
        Dropout rate, in steps of 1/256.
    hidden : int, optional
        Number of hidden units.
    no_intra : bool
        Leave out intra-sentence attention.
    patience : int, optional
        Early stopping: number of epochs without improvement on dev.
    raw : bool
        Leave the vectors as they are, not scaled to length one.

    Returns
    -------
    Written
        The file of the model, or the folder of several models, with each one's file in ``files``.
        `mab_eval` takes a file as its ``model``. The ``report`` has the accuracies of the best
        epoch, a row for each model and set.

    Raises
    ------
    WordbiasError
        If torch is missing, a file or a setting cannot be used, or the output holds a model that
        was trained with other settings.

    Notes
    -----
    The recipe ``published`` takes up to 100 epochs of Adagrad as Dawkins (2021) does, ``fast`` up
    to 30 of Adam.

    References
    ----------
    Parikh, A. P., Täckström, O., Das, D., & Uszkoreit, J. (2016). A decomposable attention model
    for natural language inference. EMNLP.

    Examples
    --------
    >>> import wordbias as wb
    >>> model = wb.nli_train(
    ...     train="snli_train.jsonl", dev="snli_dev.jsonl", recipe="fast", output="m.st"
    ... )  # doctest: +SKIP
    >>> wb.mab_eval(model)  # doctest: +SKIP
    """
    how = current_config()
    sources, target = each_once(embeddings), os.fspath(output)
    order = list(dict.fromkeys(seeds_of(seed)))
    given = {"train": train, "dev": dev} | ({} if test is None else {"test": test})
    chosen = recipe_named(
        recipe,
        epochs=epochs,
        batch=batch_size,
        rate=lr,
        dropout=dropout,
        hidden=hidden,
        intra=False if no_intra else None,
        patience=patience,
    )
    half = is_half(how.precision)
    read: dict[str, object] = {f"EMBEDDING {path_of(source)}": source for source in sources}
    refuse_same({"-o": target}, read | {f"--{name}": pairs for name, pairs in given.items()})
    folder, file = _outputs(target, len(sources) * len(order))
    need("torch", extra="torch", purpose="Training an NLI model")
    from wordbias.nli.jobs import Data, accuracy_rows, plan_jobs
    from wordbias.nli.train import train_all

    find_device(how.device)
    data = Data.of({key: read_named(load_pairs, f"--{key}", pairs) for key, pairs in given.items()})
    inputs: dict[str, dict[str, Any]] = {}
    opened = _open_each(sources, reading(), inputs)
    planned = plan_jobs(opened, order, data, chosen, folder, half=half, raw=raw)
    if file is not None:
        planned = [replace(planned[0], output=file)]
    with locked(target):
        train_all(
            planned,
            data.encoded["train"],
            data.encoded["dev"],
            chosen,
            device=how.device,
            half=half,
            workers=Workers(how.jobs, how.backend),
        )
    rows = [row for job in planned for row in accuracy_rows(job, data)]
    about = {
        f"pairs: {name}": {
            "path": pairs_name(given[name]),
            "pairs": len(pairs),
            "dropped": pairs.dropped,
            "sha256": pairs.sha256,
        }
        for name, pairs in data.pairs.items()
    }
    report = Report(
        inputs={**inputs, **about},
        rows=rows,
        tables=[_table(rows)],
        heading=_heading(recipe, chosen, data, planned),
        closing=[f"Written: {target}."],
    )
    files = tuple(str(job.output) for job in planned)
    return Written(files[0] if len(files) == 1 else target, report, files)


def _outputs(output: str, count: int) -> tuple[Path, Path | None]:
    """Return the folder of the models, and the file if it is one that the output names."""
    path = Path(output)
    if count == 1 and not path.is_dir():
        check_writable(path)
        return path.parent, path
    if path.exists() and not path.is_dir():
        raise WordbiasError(f"{path}: is a file; {count} models need a folder")
    check_writable(path / "model" if path.is_dir() else path)
    return path, None


def _open_each(
    sources: Sequence[EmbeddingLike | None],
    read_options: ReadOptions,
    inputs: dict[str, dict[str, Any]],
) -> Iterator[Embedding]:
    """Open one embedding after the other, and describe each in `inputs`."""
    for source in sources:
        subject = open_subject(source, read_options)
        inputs[subject.embedding.name] = subject.info.to_dict()
        yield subject.embedding


def _heading(name: str, recipe: Recipe, data: Data, jobs: Sequence[Job]) -> list[str]:
    settings = ", ".join(f"{key} {value}" for key, value in recipe.to_dict().items())
    sizes = ", ".join(f"{len(pairs):,} {name}" for name, pairs in data.pairs.items())
    shares = {job.about["embedding"]["name"]: job.known for job in jobs}
    known = ", ".join(f"{name} {share:.1%}" for name, share in shares.items())
    return [
        f"Decomposable attention, recipe {name}: {settings}.",
        f"Pairs: {sizes}. Words of the training sentences that are known: {known}.",
    ]


def _table(rows: Sequence[Row]) -> Table:
    """Tabulate the accuracies, one line a model."""
    heads = (("seed", cells.detail("seed")), ("best epoch", cells.detail("epoch")))
    columns = values(*heads, set="dev")
    for name in dict.fromkeys(row.details["set"] for row in rows):
        columns += values(name, set=name)
    return pivot("Accuracy of the best epoch", rows, {"model": "subject"}, columns)
