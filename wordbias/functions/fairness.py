"""Group fairness of a classifier, from a file of its predictions or from arrays of them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any, cast

from numpy.typing import ArrayLike

from wordbias import cells
from wordbias.calls import is_given, path_of, public
from wordbias.columns import Columns, TableLike, is_table
from wordbias.configuration import current_config, uses
from wordbias.errors import UsageError, listed
from wordbias.formats.source import sha256_of
from wordbias.measures.registry import column_title
from wordbias.outcomes.confusion import Confusion
from wordbias.outcomes.fairness import (
    ACCURACY,
    ALL,
    CORRELATION,
    DIVERGENCES,
    EVALUATED,
    EXAMPLES,
    GAPS,
    SUM,
    fairness_rows,
)
from wordbias.outcomes.inputs import (
    LabelledFrame,
    load_classes,
    load_costs,
    load_shares,
    shares_for,
    shares_of,
)
from wordbias.outcomes.metrics import Settings
from wordbias.pivot import pivot, values
from wordbias.rendering import Table, how_many
from wordbias.reports import Report
from wordbias.results import Row
from wordbias.statistics import SAMPLES

NO_INTERVAL = "95 %: none where resampling itself changes the value."
_DISTANCES = {
    "total-variation": "the total variation distance",
    "positions": "the Wasserstein distance over alphabetical positions",
    "costs": "the Wasserstein distance under the costs given",
}


@public
@uses("skip_bad")
def fairness(
    predictions: TableLike | ArrayLike,
    predicted: str | ArrayLike = "predicted",
    sensitive: str | ArrayLike = "group",
    *,
    labels: str = "label",
    values: Sequence[Any] | None = None,
    unit: str | ArrayLike | None = None,
    train: TableLike | tuple[ArrayLike, ArrayLike] | None = None,
    shares: str | os.PathLike[str] | Mapping[str, float] | None = None,
    share_column: str | None = None,
    distance: str | None = None,
    costs: str | os.PathLike[str] | LabelledFrame | ArrayLike | None = None,
    as_published: bool = False,
    by_class: bool = False,
    draws: int = SAMPLES,
    seed: int = 0,
) -> Report:
    """Measure whether a classifier treats groups, such as women and men, alike.

    ``predictions`` is a file of any classifier: .csv, .tsv, .jsonl (compressed or not) or .parquet.
    It has one example per row: the gold class, the predicted class and the group of the person. The
    measures are those of Orgad et al. (2022). Gaps of TPR, FPR, precision and F1 are measured in
    each class, with their sum S and their correlation P with the share of women. The others are
    independence, separation and sufficiency.

    Parameters
    ----------
    predictions : path, frame, mapping of columns, or array-like of shape (n,)
        The examples. Or the gold class of each; ``predicted`` and ``sensitive`` are then the
        prediction and the group of each.
    predicted : str, or array-like of shape (n,)
        Column of the prediction.
    sensitive : str, or array-like of shape (n,)
        Column of the person's group.
    labels : str
        Column of the gold class.
    values : sequence of str, optional
        Groups to compare: the first minus the second.  [default: all, sorted]
    unit : str, or array-like of shape (n,), optional
        Column of the unit that several rows share, such as a person or a pair of texts. Its rows
        are drawn together. The chance level exchanges groups within a unit, or whole units.
    train : path, frame, or labels and groups, optional
        Training data to take the shares from. Gold class and group are in columns of the same
        names.
    shares : path or mapping, optional
        Share of the first group in each class.
    share_column : str, optional
        With ``shares``: column of the table, if it has several.
    distance : str, optional
        Distance for sufficiency.  [default: total-variation; positions as published]
    costs : path, frame or array-like of shape (classes, classes), optional
        Costs of predicting one class for another: a square table.
    as_published : bool
        Compute as the released code does: precision TP/N, and |D(F) − D(M)| in place of a sum.
    by_class : bool
        Show each class as well.
    draws : int
        Number of bootstrap samples; 0 for no intervals.
    seed : int
        Seed of everything random.

    Returns
    -------
    Report
        Accuracy; each gap's sum, its correlation and its value in each class; and the three
        divergences. All have intervals. Next to each sum is the sum for a classifier that treats
        the groups alike.

    Raises
    ------
    WordbiasError
        If the examples cannot be used, are of fewer than two groups or classes, or an argument
        would do nothing.

    References
    ----------
    Orgad, H., Goldfarb-Tarrant, S., and Belinkov, Y. (2022). How Gender Debiasing Affects Internal
    Model Representations, and Why It Matters. NAACL.

    Examples
    --------
    >>> import wordbias as wb
    >>> y_true = ["nurse", "nurse", "surgeon", "surgeon"] * 25
    >>> y_pred = ["nurse", "nurse", "surgeon", "nurse"] * 25
    >>> report = wb.fairness(y_true, y_pred, ["F", "M", "M", "F"] * 25)
    >>> [row.value for row in report["tpr-gap"] if row.details["set"] == "surgeon"]
    [-1.0]
    """
    how = current_config()
    if train is not None and shares is not None:
        raise UsageError("choose one of --train and --shares")
    if share_column is not None and shares is None:
        raise UsageError("--share-column is for --shares")
    if costs is not None and distance is not None:
        raise UsageError("choose one of --costs and --distance")
    names, table = columns_of(predictions, labels, predicted, sensitive, values, unit)
    columns = load_classes(table, names, skip_bad=how.skip_bad, what="predictions")
    order = None if values is None else list(map(str, values))
    y, r, z, *units = (columns.cells[name] for name in names)
    confusion = Confusion.of(y, r, z, order=order, units=units[0] if units else None)

    inputs, notes, source, known = (
        {"predictions": _facts(predictions, columns)},
        list[str](),
        EVALUATED,
        None,
    )
    if train is not None:
        training = _training(train, names, how.skip_bad, in_arrays=table is not predictions)
        classes, of = training.cells.values()
        path = path_of(train)
        source = f"the training data {'given' if path is None else path}"
        train_shares = shares_of(classes, of, *confusion.groups[:2])
        known, _ = shares_for(confusion.classes, train_shares, "--train" if path is None else path)
        inputs["train"] = _facts(train, training)
    if shares is not None:
        path = path_of(shares)
        source = path or "the shares given"
        known, beside = shares_for(
            confusion.classes, load_shares(shares, share_column), path or "--shares"
        )
        if path is not None:
            inputs["shares"] = {"path": path}
        if beside:
            names_beside = listed(beside)
            notes.append(f"{source}: names that are not a class of the predictions: {names_beside}")

    square = None if costs is None else load_costs(costs, confusion.classes)
    settings = Settings(as_published, distance, square, draws=draws, seed=seed)
    path = path_of(predictions)
    rows = fairness_rows(
        confusion,
        path or "predictions",
        settings,
        shares=known,
        unit=names[3] if units else EXAMPLES,
    )
    found_rows = {(row.measure, row.details["set"]): row for row in rows}
    tables = [
        sums_table(found_rows, confusion.groups),
        accuracy_table(found_rows, confusion.groups),
    ]
    signed = len(confusion.groups) == 2
    return Report(
        inputs=inputs,
        rows=rows,
        tables=[*tables, _classes_table(found_rows, confusion)] if by_class else tables,
        heading=[
            f"Group fairness{'' if path is None else f' of {path}'}: "
            f"{how_many(len(confusion), 'prediction')}, "
            f"{how_many(len(confusion.classes), 'class', 'classes')}, "
            f"{(' − ' if signed else ', ').join(confusion.groups)}."
        ],
        closing=_closing(confusion, settings, source),
        seed=seed,
        notes=[*notes, *_notes(confusion, columns)],
    )


def columns_of(
    predictions: TableLike | ArrayLike,
    label: str,
    predicted: str | ArrayLike,
    group: str | ArrayLike,
    groups: Sequence[str] | None,
    unit: str | ArrayLike | None = None,
) -> tuple[list[str], TableLike]:
    """Return the columns of label, prediction, group and unit, and the table that has them."""
    if is_table(predictions):
        named = {"--labels": label, "--predicted": predicted, "--sensitive": group}
        named |= {} if unit is None else {"--unit": unit}
        columns = [column for column in named.values() if isinstance(column, str)]
        if len(columns) < len(named):
            raise UsageError(f"{' and '.join([*named][1:])} name columns of the file or frame")
        for (option, column), (other, same) in combinations(named.items(), 2):
            if column == same:
                raise UsageError(
                    f"{option} and {other} both name the column {column!r}; they are two columns"
                )
        return columns, predictions
    if any(isinstance(given, str) for given in (predicted, group, unit)):
        instead = "; --values names those to compare" if groups is not None else ""
        third = ", and --unit" if unit is not None else ""
        raise UsageError(
            f"with an array of gold classes, --predicted and --sensitive{third} are arrays too: "
            f"the prediction and the group of each{instead}"
        )
    if is_given("labels"):
        raise UsageError("--labels names a column, but the gold classes are an array")
    of = {"labels": cast("ArrayLike", predictions), "predicted": predicted, "sensitive": group}
    of |= {} if unit is None else {"unit": unit}
    return list(of), of


def _training(
    train: TableLike | tuple[ArrayLike, ArrayLike],
    names: Sequence[str],
    skip_bad: bool,
    in_arrays: bool,
) -> Columns:
    """Read label and group of the training data."""
    wanted = [names[0], names[2]]
    if isinstance(train, tuple) and len(train) == 2:
        train = dict(zip(wanted, train, strict=True))
    elif in_arrays or not is_table(train):
        raise UsageError("--train: expected two arrays, the gold class and the group of each")
    return load_classes(train, wanted, skip_bad=skip_bad, what="--train")


def _facts(table: object, columns: Columns) -> dict[str, object]:
    path = path_of(table)
    about = {"path": "memory", "sha256": ""}
    about = about if path is None else {"path": columns.name, "sha256": sha256_of(path)}
    return {**about, "rows": len(columns), "dropped": columns.dropped}


def sums_table(rows_by_set: Mapping[tuple[str, str], Row], groups: Sequence[str]) -> Table:
    """Return the table of sums and correlations, as Orgad et al. (2022), Table 3."""
    measures, parts = (*GAPS, *DIVERGENCES), (SUM, CORRELATION)
    rows = [
        rows_by_set[measure, part]
        for measure in measures
        for part in parts
        if (measure, part) in rows_by_set
    ]
    columns = values("S", "95 %", ("alike", cells.detail("chance")), "p", set=SUM)
    columns += values("P", "95 %", "p", set=CORRELATION)
    undefined: dict[tuple[str, Any], list[str]] = {}
    for (_, part), row in rows_by_set.items():
        if row.value is None and part in (SUM, CORRELATION):
            sign = "P" if part == CORRELATION else "S"
            named = undefined.setdefault((sign, row.details["reason"]), [])
            named.append(column_title(row.measure))
    reasons = [
        f"{', '.join(dict.fromkeys(named))}, {sign} undefined: {reason}."
        for (sign, reason), named in undefined.items()
    ]
    about = f"S: sum of absolute gaps. P: Pearson's r with the share of {groups[0]}. 0 is fair."
    return pivot("Gaps and distances", rows, _titled, columns, " ".join([about, *reasons]))


def _titled(row: Row) -> str:
    return column_title(row.measure)


def accuracy_table(rows_by_set: Mapping[tuple[str, str], Row], groups: Sequence[str]) -> Table:
    """Return the table of accuracies, over all and by group."""
    rows = [rows_by_set[ACCURACY, part] for part in (ALL, *groups)]
    return pivot("Accuracy", rows, "set", values("value", "95 %", "n"))


def _classes_table(rows_by_set: Mapping[tuple[str, str], Row], confusion: Confusion) -> Table:
    measures = (*GAPS, *DIVERGENCES[1:])
    rows = [rows_by_set[gap, name] for name in confusion.classes for gap in measures]
    columns = []
    for group in confusion.groups:
        columns += values((group, partial(_size, group)), measure=GAPS[0])
    for measure in measures:
        columns += values(column_title(measure).removesuffix(" gap"), measure=measure)
    note = "Gaps of each class, with the number of examples in each group; – is undefined."
    return pivot("Classes", rows, {"class": "set"}, columns, note)


def _size(group: str, row: Row) -> str:
    return f"{row.details['n'][group]:,}"


def _closing(confusion: Confusion, settings: Settings, source: str) -> list[str]:
    """Return the lines below the tables, which explain the numbers."""
    signed = len(confusion.groups) == 2
    gaps = " − ".join(confusion.groups) if signed else "the largest − the smallest of the groups"
    precision = "TP/N, as published" if settings.as_published else "TP/(TP+FP)"
    how = (
        "Σ |D(first group) − D(second)|, as published, which is 0 for mirror images"
        if settings.as_published
        else "the sum over groups"
    )
    alike = (
        "of a classifier that treats the groups alike, with the classes that each group has"
        if confusion.units is None
        else "if the groups are exchanged within units, and among units of one group and the same "
        "classes"
    )
    lines = [
        f"Gaps are {gaps}; precision is {precision}. Shares for P are of {source}. "
        "Independence and separation are KL divergences in nats; sufficiency is "
        f"{_DISTANCES[settings.distance_name]}; separation and sufficiency are {how}.",
        f"alike: S {alike} (chance level). p: how often this S, or |P|, is as large. By chance a "
        f"sum is above 0. {NO_INTERVAL}",
    ]
    if source == EVALUATED and signed and not settings.as_published:
        lines.append("P should use the shares of the training data: --train FILE, or --shares.")
    return lines


def _notes(confusion: Confusion, columns: Columns) -> list[str]:
    """Return notes on what was left out or is empty."""
    notes = []
    if columns.dropped:
        notes.append(f"{how_many(columns.dropped, 'row')} dropped, the first: {columns.problem}")
    if confusion.left_out:
        notes.append(f"{how_many(confusion.left_out, 'row')} of other groups left out")
    notes += [
        f"no example of {group} in: {listed(names)}" for group, names in confusion.empty().items()
    ]
    never = confusion.unpredicted()
    return [*notes, *([f"never predicted: {listed(never)}"] if never else [])]
