"""Erase labels from rows of vectors, and measure on held-out rows what is left."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np

from wordbias.arguments import check_choice, check_number
from wordbias.calls import path_of, public, refuse_given, typed_setting
from wordbias.configuration import ASKS_ENCODERS, current_config, uses
from wordbias.errors import UsageError, WordbiasError
from wordbias.formats.files import check_writable, refuse_same
from wordbias.formats.rows import Rows, open_rows
from wordbias.functions.apply_rows import fingerprint_of, in_memory
from wordbias.functions.encode_outputs import encode_output, output_encoder
from wordbias.functions.erase_fit import Parts
from wordbias.functions.erase_model import ErasedModel, erase_model
from wordbias.functions.erase_tables import certificate_tables, held_out_tables, limits, verdicts
from wordbias.labelled import HELD_OUT, MISSING, SHOWN, CellsLike, Labelled, LabelsLike
from wordbias.methods.fitted import Chain
from wordbias.methods.methods import arguments_of
from wordbias.methods.qleace import NAME as BY_LABEL
from wordbias.methods.qleace import UNLABELLED
from wordbias.methods.settings import ERASERS, ROW_SETTINGS
from wordbias.methods.storage import Origin, save_chain
from wordbias.models.encoding import BATCH_TOKENS
from wordbias.models.model_like import ModelLike
from wordbias.models.representations import Representations
from wordbias.models.text_encoders import AnsweringEncoder, EncoderLike
from wordbias.models.texts import Choice, TextsLike, load_texts
from wordbias.probes.held_out import (
    CODED_ROWS,
    HELD_OUT_ROWS,
    TRAINING_ROWS,
    choose_rows,
    held_out_rows,
)
from wordbias.probes.sentence_tasks import TextPairsLike
from wordbias.rendering import how_many
from wordbias.reports import Report
from wordbias.resources.hub import fetched
from wordbias.rewriting import Rewritten, check_rewritable, rewrite_rows
from wordbias.settings import Settings, only_method
from wordbias.splits import Folds

if TYPE_CHECKING:
    from wordbias.estimators import INLP, LEACE, MHD, MISP, QLEACE, DensityMatching, Hard

RowsLike = str | os.PathLike[str] | Mapping[str, object] | object
"""What `wordbias.formats.rows.open_rows` opens."""

FOLDS = 100
"""Largest number of folds."""
_LEAST = 1e-15  # of smaller values squares vanish, and classifiers find nothing


@public
@uses("jobs", "device", *ASKS_ENCODERS, "cache")
def erase(
    vectors: RowsLike | None = None,
    labels: LabelsLike | None = None,
    *,
    methods: str | Settings = "leace",
    output: str | os.PathLike[str] | None = None,
    save_transform: str | os.PathLike[str] | None = None,
    also: LabelsLike | None = None,
    balance: bool = False,
    cross_fit: int | None = None,
    certify: bool = False,
    unit: CellsLike | None = None,
    missing: str = MISSING[0],
    held_out: float = HELD_OUT,
    split_column: CellsLike | None = None,
    array: str | None = None,
    model: EncoderLike | None = None,
    texts: TextsLike | None = None,
    text_column: str | None = None,
    sts: TextPairsLike | None = None,
    batch_tokens: int = BATCH_TOKENS,
    seed: int = 0,
) -> LEACE | INLP | MISP | MHD | Hard | DensityMatching | QLEACE | ErasedModel:
    """Erase ``labels``, such as gender, from ``vectors``; measure on held-out rows what is left.

    ``vectors`` are rows, such as embeddings of texts: .npy, .npz, Parquet, Arrow, Feather, CSV, TSV
    or safetensors, or a folder of such files. The method is fitted on a training part. The best of
    several tuned probes judges what is left, on the held-out rows alone. Two further probes are
    trained on the training part, before and after, and tested on the held-out rows. All rows are
    written as the reported method maps them, also those held out and those without a label. Do not
    train on the training rows afterwards: they tell the label backwards. Train on rows that the
    method was not fitted on. ``cross_fit`` makes the problem smaller.

    Parameters
    ----------
    vectors : path, array (n, d), Representations, table, dataset or mapping of columns, optional
        Rows of vectors: a file or a folder of files.
    labels : str, path, sequence or mapping of names to these
        Label of each row: a column, several columns (gender,race), or a file with one label per
        line.
    methods : str, or method such as INLP(rounds=10)
        Method: leace, inlp, misp, mhd, hard by the means of the classes, density-matching, or
        qleace, which maps each row by its label. Settings follow the name: inlp:rounds=10.
    output : path, optional
        File or folder for the rows; their format stays the same.
    save_transform : path, optional
        File for the fitted method, for apply.
    also : str, path, sequence or mapping of names to these, optional
        Columns of task labels, which are probed before and after as well. Erasing does not protect
        them.
    balance : bool
        With ``also``: fit on equally many rows of each class of ``labels`` within each class of
        ``also``. What a probe reads of the task stays; so does what the task tells about the label.
    cross_fit : int, optional
        Number of folds of the training rows. In ``output`` each fold is mapped by the method fitted
        on the other folds. No row is then mapped by a method that was fitted on it.
    certify : bool
        Certify what can still be read, and by whom. Nearest neighbours, boosted trees and a network
        try to read ``labels`` as well, in new rows, and in those of ``cross_fit``. It takes
        minutes.
    unit : str, path or sequence, optional
        The unit that rows belong to, such as a person. All its rows are held out, or in a fold,
        together.
    missing : str
        What to do with rows without a label: refuse, or drop them from fit and report. Dropped rows
        are still mapped.
    held_out : float
        Share of each class that is held out.
    split_column : str, path or sequence, optional
        Column with train or test for each row, in place of ``held_out``. Other rows, such as dev,
        are only mapped.
    array : str, optional
        Name of the array, or of the vectors' column, if a file holds several.
    model : path, name on the hub, SentenceTransformer or function, optional
        With ``texts``: sentence-transformers model to erase from; ``output`` is its new folder. Of
        a model behind --endpoint, or a function of texts, the vectors are erased from:
        ``save_transform`` writes the method for them.
    texts : path, mapping or frame of columns, optional
        With ``model``: table of texts, with columns of labels.
    text_column : str, optional
        With ``model``: name or number of the texts' column.
    sts : path, mapping or frame of columns, optional
        With ``model``: pairs of texts that have a rating, or that belong together. They measure
        what the model's own task loses.
    batch_tokens : int
        With ``model``: batch size, in tokens.
    seed : int
        Seed of the held-out part, of the probes and of draws.

    Returns
    -------
    LEACE, INLP, MISP, MHD, Hard, DensityMatching, QLEACE or ErasedModel
        The fitted estimator: ``transform`` maps further rows, ``save`` writes it, ``report`` is
        what is shown. With ``model`` an object with a ``report``. Its `method` is that estimator,
        for vectors before a Normalize that is last. ``folder`` is what was written, and ``model``
        is a copy of a loaded model with the map.

    Raises
    ------
    WordbiasError
        If vectors and labels do not fit, labels are missing, a label has one class, or there is
        nothing to erase.

    Notes
    -----
    Several labels are erased together. LEACE makes the class means of each label equal, and hard
    removes the differences between them. misp, mhd, inlp and density-matching are fitted to one
    label after the other. qleace takes one label, which every row needs, and reads the rows once
    for each class. The others are fitted in one pass over the rows, and memory does not grow with
    them. For inlp and density-matching a sample of rows is drawn; the report gives its size. The
    report uses at most 20,000 training and 5,000 held-out rows, drawn at random: 2,000 of these for
    the online code, 1,500 for the best of several probes.

    A method makes the classes alike in all rows that it is fitted on, taken together. In one part
    of these rows the classes then differ in the opposite way to the other part. A classifier that
    is trained on one part is wrong about the other more often than right: it reads the label
    backwards (Johansson 2024). The report has the accuracy of a logistic regression cross-validated
    on the training rows. With ``cross_fit`` it is nearer to chance, though not at chance where rows
    are few. A hash of a row's values, or of its unit, decides its fold, whatever shard it is in.
    The saved method maps rows that no method was fitted on, such as held-out ones.

    The saved method is fitted on all training rows. With ``cross_fit`` and rows in memory,
    ``cross_fitted_`` of the result has the rows mapped by their folds' methods. This takes one
    pass, but inlp and density-matching are fitted anew for each fold.

    References
    ----------
    Belrose et al., LEACE: Perfect linear concept erasure in closed form, 2023.

    Quirke and Belrose, Slowing Learning by Erasing Simple Features, 2025, arXiv 2502.02820.

    Saillenfest and Lemberger, 2025, arXiv 2507.12341 (density-matching).

    Johansson, What happens to a dataset transformed by a projection-based concept removal method?,
    2024, arXiv 2403.16142.

    Ravfogel et al., Null It Out: Guarding Protected Attributes by Iterative Nullspace Projection,
    2020.

    Examples
    --------
    >>> import numpy as np
    >>> import wordbias as wb
    >>> x = np.random.default_rng(0).normal(size=(500, 4))
    >>> leace = wb.erase(x, np.where(x[:, 0] > 0, "f", "m"))
    >>> before, after = leace.report["linear-probe"]
    >>> before.value > 0.9 > 0.65 > after.value
    True
    >>> leace.transform(x).shape
    (500, 4)
    """
    how = current_config()
    chosen = only_method(methods, ERASERS, ROW_SETTINGS)
    check_choice("--missing", missing, MISSING)
    check_number("--held-out", held_out, 0, 0.9, above=True)
    check_number("--cross-fit", 2 if cross_fit is None else cross_fit, 2, FOLDS)
    _refuse_unused(vectors, model, held_out, split_column)
    if balance and also is None:
        raise UsageError("--balance needs --also: the task over which rows are balanced")
    name, settings = chosen.name, arguments_of(chosen, seed=seed)
    _refuse_unlabelled(name, {"--model": model, "--save-transform": save_transform})
    divide = partial(
        Parts.of, labels=labels, also=also, unit=unit, split_column=split_column,
        balance=balance, missing=missing, held_out=held_out, seed=seed,
    )  # fmt: skip
    if save_transform is not None:
        check_writable(save_transform)
    refuse_same(
        {"-o": output, "--save-transform": save_transform},
        {"VECTORS": vectors, "--texts": texts, "--sts": sts, "--labels": labels},
    )
    if model is not None or texts is not None:
        if model is None or texts is None or labels is None:
            raise UsageError("--model, --texts and --labels go together: texts with labels")
        answering = output_encoder(model, how.device)
        if answering is None:
            return erase_model(
                cast("ModelLike", model), texts, divide, method=name, settings=settings,
                output=path_of(output), save_transform=save_transform, text_column=text_column,
                sts=sts, certify=certify, batch_tokens=batch_tokens, device=how.device, seed=seed,
            )  # fmt: skip
        vectors = _answers(answering, texts, text_column, output)
    rows = _open(vectors, array)
    _check_output(rows, path_of(output), typed_setting("jobs"))
    parts = divide(Labelled.of(rows))
    folds = Folds.of(rows.n, cross_fit or 0, parts.units)
    places, tested = choose_rows(parts.training, parts.held_out, seed)
    before = rows.take(places)
    if 0 < (largest := np.abs(before).max(initial=0)) < _LEAST:
        raise WordbiasError(
            f"{rows.name}: no value is above {largest:.1e}, with which float32 cannot compute; "
            "multiply all of them by one number"
        )
    (fitted, *others), used = parts.fit(name, settings, folds, rows.dim, seed)
    n = int(parts.fitting.sum())
    read = f"{how_many(n, 'training row')} of {rows.name}"
    read = read if used == n else f"{used:,} of {read}"
    saved, by_row = parts.maps([fitted, *others], folds)
    dtype = rows.shards[0].dtype
    stored = before.astype(dtype, copy=False)
    after, crossed = (
        replace(row_map, codes=row_map.codes[places])(stored).astype(before.dtype, copy=False)
        for row_map in (saved, by_row)
    )
    measured = held_out_rows(
        rows.name, before, after, tested,
        crossed=crossed if cross_fit else None, certify=certify, seed=seed,
        rounding=float(np.finfo(dtype).eps), **parts.read(places),
    )  # fmt: skip
    origin = Origin(read, "", n, rows.dim, (), np.zeros((0, rows.dim)))
    chain = Chain((fitted,))
    written = None
    if output is not None:
        prints = [fingerprint_of(Chain((fit,)), origin, None, array) for fit in (fitted, *others)]
        several = len(by_row.maps) > 1
        prints += [hashlib.sha256(by_row.codes.tobytes()).hexdigest()] if several else []
        transform = by_row if several else by_row.maps[0]
        written = rewrite_rows(rows, output, transform, fingerprint="+".join(prints), jobs=how.jobs)
    if save_transform is not None:  # last, so that it never stands without the rows of its call
        save_chain(save_transform, chain, origin)
    about = {
        **({"path": rows.path} if rows.path else {}), "n": rows.n, "dim": rows.dim,
        **({"folds": cross_fit} if cross_fit else {}), **parts.about(),
    }  # fmt: skip
    report = Report(
        inputs={rows.name: about},
        rows=measured,
        tables=[*certificate_tables(measured), *held_out_tables(measured)],
        heading=[_heading(rows, name, read, parts),
                 *verdicts(measured)],
        closing=[*_closing(parts, written, save_transform, cross_fit), *limits(name)],
        seed=seed,
        notes=[*(f"{name}: {line}" for line in fitted.warnings), *parts.labelled.rare(parts.part)],
    )  # fmt: skip
    from wordbias.estimators import estimator_of

    estimator = cast("LEACE", estimator_of(fitted, origin, report))
    if cross_fit and not rows.path:
        estimator.cross_fitted_ = in_memory(vectors, rows, by_row, chain)
    return estimator


def _open(vectors: RowsLike | None, array: str | None) -> Rows:
    """Open rows of vectors; those of texts have the name of the encoder."""
    if vectors is None:
        raise UsageError("vectors: give rows of vectors, or --model and --texts")
    path = path_of(vectors)
    rows = open_rows(vectors if path is None else fetched(path), array=array)
    if isinstance(vectors, Representations):
        rows.name = vectors.name
    return rows


def _answers(
    encoder: AnsweringEncoder,
    texts: TextsLike,
    text_column: str | None,
    output: str | os.PathLike[str] | None,
) -> Representations:
    """Return the vectors of texts by an encoder that shows nothing else, with their columns."""
    refuse_given(("sts", "batch_tokens"), f"is for a model; {encoder.where} gives vectors alone")
    if output is not None:
        raise UsageError(
            f"-o: {encoder.where} gives vectors alone, and no model can be written; write vectors "
            "with wordbias encode and give these, or save the method with --save-transform"
        )
    representations, *_ = encode_output(encoder, load_texts(texts, Choice(text_column)), None)
    return representations


def _refuse_unused(vectors: object, model: object, held_out: float, split: object) -> None:
    """Refuse options that contradict each other or would have no effect."""
    if split is not None and held_out != HELD_OUT:
        raise UsageError("--split-column and --held-out: choose one")
    if model is not None and vectors is not None:
        raise UsageError("give vectors, or --model and --texts")
    if model is not None:
        refuse_given(("array", "jobs", "cross_fit"), "is for vectors, not for --model")
    else:
        refuse_given(
            ("sts", "device", "text_column", "batch_tokens", *ASKS_ENCODERS), "is for --model"
        )


def _refuse_unlabelled(method: str, given: Mapping[str, object]) -> None:
    """Refuse options for rows without labels of a method that needs the label of each row."""
    for option, value in given.items():
        if value is not None and method == BY_LABEL:
            raise UsageError(f"{option}: {UNLABELLED}")


def _check_output(rows: Rows, output: str | None, jobs: int | None) -> None:
    """Refuse an output that cannot be written."""
    if jobs is not None and (output is None or not rows.folder):
        raise UsageError("--jobs is for a folder of files that -o writes")
    if output is not None:
        if not rows.path:
            raise UsageError(
                "-o is for vectors in files; map those in memory with what is returned: "
                "method(vectors)"
            )
        check_rewritable(rows, output)


# Text


def _heading(rows: Rows, method: str, read: str, parts: Parts) -> str:
    """Say on which rows the method was fitted and tested."""
    about, there = parts.about(), parts.labelled.there
    names = [f"{name} ({_listed(classes)})" for name, classes in about["labels"].items()]
    without = how_many(about["missing"], "row")
    lost = f"; {without} without a label only mapped" if about["missing"] else ""
    other = int((there & (parts.part == 0)).sum())
    lost += f"; {how_many(other, 'row')} of other splits only mapped" if other else ""
    return (
        f"{rows.path or rows.name}: {how_many(rows.n, 'row')} × {rows.dim}. {method} of "
        f"{' and '.join(names)}, fitted on {read}{parts.alike()}, tested on "
        f"{how_many(about['held_out'], 'held-out row')}{lost}."
    )


def _listed(names: Sequence[str]) -> str:
    listing = ", ".join(f"{name:.40}" for name in names[:SHOWN])
    return f"{listing}{' …' * (len(names) > SHOWN)}"


def _closing(
    parts: Parts,
    written: Rewritten | None,
    saved: str | os.PathLike[str] | None,
    cross_fit: int | None,
) -> list[str]:
    """Say how the probes were trained, of how many rows, and what was written."""
    trained, tested = len(parts.training), len(parts.held_out)
    lines = [
        "Probes are trained on training rows and tested on held-out rows, both before and both "
        f"after: {min(trained, TRAINING_ROWS):,} and {min(tested, HELD_OUT_ROWS):,} rows, "
        f"{min(tested, CODED_ROWS):,} held-out ones for the online code."
    ]
    if written is not None:
        skipped = f", {written.skipped} of them by an earlier call" if written.skipped else ""
        mapped = "" if cross_fit else "; all rows are mapped by this method, held-out ones too"
        lines.append(f"Written: {how_many(len(written.files), 'file')}{skipped}{mapped}.")
    if cross_fit:
        lines.append(
            f"Cross-fit: each of {cross_fit} folds of the rows that the method is fitted on is "
            "mapped by the method fitted on the others. All other rows, such as held-out ones, are "
            "mapped by the saved method."
        )
    if saved is not None:
        lines.append(f"Saved: {os.fspath(saved)}; apply it with: wordbias apply {os.fspath(saved)}")
    return lines
