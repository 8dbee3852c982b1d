"""The classes that a classifier predicts for texts, also with a removal inside it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordbias.calls import path_of, public
from wordbias.configuration import current_config, uses
from wordbias.errors import UsageError, WordbiasError
from wordbias.formats.files import check_outputs, compressing, replacing
from wordbias.formats.tables import is_parquet, kind_of
from wordbias.functions.adapters import AdapterLike, open_adapter
from wordbias.models.model_like import ModelLike
from wordbias.models.text_classifier import TextClassifier
from wordbias.models.texts import Choice, Texts, TextsLike, load_texts
from wordbias.outcomes.records import Record, RecordFile, check_same_form
from wordbias.rendering import Table, how_many
from wordbias.reports import Report
from wordbias.resources import located

PREDICTED = "predicted"
"""Column of the predictions, as `wordbias.fairness` reads it."""


@dataclass(frozen=True, eq=False)
class Predictions:
    """Classes predicted for texts.

    Attributes
    ----------
    predicted
        Class of each text.
    probabilities
        Probability of each class, shape ``(n, classes)``.
    classes
        Names of the classes.
    report
        How often each is predicted.
    """

    predicted: Sequence[str] = field(repr=False)
    probabilities: NDArray[np.float32] = field(repr=False)
    classes: tuple[str, ...]
    report: Report = field(repr=False)


@public
@uses("device", "skip_bad")
def predict(
    model: ModelLike,
    texts: TextsLike,
    *,
    adapter: AdapterLike | None = None,
    setting: str | None = None,
    force: bool = False,
    text_column: str | None = None,
    output: str | os.PathLike[str] | None = None,
) -> Predictions:
    """Write the classes that ``model`` predicts for ``texts``, for wordbias fairness.

    ``model`` is a classifier of texts. ``output`` has the lines of ``texts`` as they are, with a
    last column, predicted. With ``adapter`` its ``setting`` is removed inside the model while the
    model predicts.

    Parameters
    ----------
    model : path, name on the hub, or (model, tokenizer)
        The classifier.
    texts : path, sequence of str, mapping or frame of columns
        Texts: .tsv, .csv or .jsonl, compressed or not. Longer ones than the model reads are cut.
    adapter : path or Adapter, optional
        Adapter that wordbias project or sweep wrote.
    setting : str, optional
        With ``adapter``: its setting to remove.  [default: the one stored in the adapter]
    force : bool
        With ``adapter``: use it even if it was fitted on another model.
    text_column : str, optional
        Name or number of the column of the texts.
    output : path, optional
        File for the lines with the predictions, of the same form as ``texts``.

    Returns
    -------
    Predictions
        With ``predicted``, the class of each text, ``probabilities``, shape ``(n, classes)``,
        ``classes`` and ``report``.

    Raises
    ------
    WordbiasError
        If a file cannot be used, the model is no classifier, or the adapter is of another model.

    Notes
    -----
    The model may also be a pair of an encoder and a linear classifier of scikit-learn that is
    fitted to its vectors of texts.

    Examples
    --------
    >>> import wordbias as wb
    >>> found = wb.predict("my-classifier", ["She is a nurse."])  # doctest: +SKIP
    >>> found.predicted  # doctest: +SKIP
    ['nurse']
    """
    how = current_config()
    opened = open_adapter(adapter, setting or (), force=force)
    path, target = path_of(texts), path_of(output)
    records: list[Record] | None = None
    if target is not None:
        file = _record_file(path, target, text_column, how.skip_bad)
        records = list(file)
        _check_free(file, records)
        read = _texts_of(file, records)
    else:
        read = load_texts(texts, Choice(text=text_column, keep=(), skip_bad=how.skip_bad))
    empty = {i: "has no text" for i, text in enumerate(read.texts) if not text.strip()}
    read = read.without(empty, how.skip_bad)
    if records is not None:
        records = [record for i, record in enumerate(records) if i not in empty]
    classifier = TextClassifier.load(model, device=how.device)
    with ExitStack() as stack:
        if opened.adapter is not None:
            opened.check(classifier.model, inside=False)
            (name,) = opened.settings
            stack.enter_context(opened.adapter.on(classifier.model, name, force=True))
        probabilities = classifier.probabilities(read.texts)
    predicted = [classifier.classes[i] for i in probabilities.argmax(1)]
    closing = []
    if target is not None and records is not None:
        _write(file, records, predicted, target)
        closing = [f"Written: {target}. Its groups are compared by: wordbias fairness {target}"]
    counts = Counter(predicted)
    cells = [[name, f"{counts[name]:,}"] for name in classifier.classes]
    removed = f" with {opened.settings[0]} removed" if opened.adapter is not None else ""
    about = {"path": classifier.name, "device": classifier.device}
    report = Report(
        inputs={
            Path(classifier.name).name: about,
            "texts": {"path": path or "memory", "sha256": read.sha256(), "n": len(read)},
            **opened.about(),
        },
        tables=[Table("Predicted classes", ["class", "texts"], cells)],
        heading=[f"Predictions of {classifier.name}{removed} for {how_many(len(read), 'text')}"],
        closing=closing,
        notes=read.notes(),
    )
    return Predictions(predicted, probabilities, classifier.classes, report)


def _record_file(
    path: str | None, target: str, text_column: str | None, skip_bad: bool
) -> RecordFile:
    """Open the file of the texts, to be written with a further column."""
    if path is None:
        raise UsageError("-o is for texts in a file; of texts in memory take .predicted")
    check_outputs({"-o": target}, {"TEXTS": path})
    file = Path(located(path))
    if is_parquet(file) or kind_of(Path(path)) == "plain":
        raise WordbiasError(
            f"{path}: expected a .tsv, .csv or .jsonl file, whose lines can have a further column"
        )
    check_same_form(target, path, "lines stay as they are")
    return RecordFile.open(file, text=text_column, skip_bad=skip_bad)


def _check_free(file: RecordFile, records: Sequence[Record]) -> None:
    """Refuse a file without records, or with a column of predictions."""
    if not records:
        raise WordbiasError(f"{file.path}: holds no text{file.problems.among()}")
    for record in records:
        if PREDICTED in record.places:
            raise WordbiasError(
                f"{file.path}: line {record.number}: has a column {PREDICTED!r} already; rename it"
            )


def _texts_of(file: RecordFile, records: Sequence[Record]) -> Texts:
    return Texts(
        str(file.path),
        [record[file.text] for record in records],
        [record.number for record in records],
        None,
        {},
        file.problems.count,
        file.problems.first,
    )


def _write(
    file: RecordFile, records: Sequence[Record], predicted: Sequence[str], target: str
) -> None:
    """Write the lines with the predictions; the file appears only when it is complete."""
    header = file.header
    if file.form.has_header:
        body = header.rstrip("\r\n")
        header = file.form.with_cell(body, PREDICTED, PREDICTED) + header[len(body) :]
    with replacing(target) as raw, compressing(raw, target) as out:
        out.write(header.encode())
        for record, value in zip(records, predicted, strict=True):
            line = record.line_with(PREDICTED, value)
            out.write((line if line.endswith("\n") else f"{line}\n").encode())
