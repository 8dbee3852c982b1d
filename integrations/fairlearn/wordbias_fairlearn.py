"""Predictions as a MetricFrame of fairlearn, and a MetricFrame as a report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, cast

import numpy as np
from fairlearn import metrics
from numpy.typing import ArrayLike, NDArray

from wordbias.calls import public
from wordbias.columns import TableLike
from wordbias.configuration import current_config, uses
from wordbias.errors import UsageError, WordbiasError
from wordbias.functions.fairness import columns_of
from wordbias.outcomes.confusion import Confusion, in_order, listed
from wordbias.outcomes.fairness import bootstrap_interval, expected_alike
from wordbias.outcomes.inputs import load_classes
from wordbias.progress import progress
from wordbias.rendering import Table, how_many
from wordbias.reports import Report
from wordbias.results import Row, number
from wordbias.statistics import SAMPLES

MetricFrame = Any
"""A MetricFrame of fairlearn; its type is known only where fairlearn is installed."""
Metric = Callable[[Any, Any], float]
"""Function of true and predicted values, such as those of fairlearn and scikit-learn."""
Values = NDArray[np.float64]
OVERALL, DIFFERENCE = "overall", "difference"
_SAME = 1e-9
"""Largest difference of two computations of one value."""
_MOST_CLASSES = 100


@public
@uses("skip_bad")
def to_fairlearn(
    predictions: TableLike | ArrayLike,
    predicted: str | ArrayLike = "predicted",
    sensitive: str | ArrayLike = "group",
    *,
    labels: str = "label",
    values: Sequence[Any] | None = None,
    positive: str | int | None = None,
) -> MetricFrame:
    """Return predictions as a MetricFrame of fairlearn.

    The examples are read as `fairness` reads them, and the rates are those of which it reports
    gaps, each of one class against all others. So what fairlearn says of them can be compared with
    it, and plotted or asserted with fairlearn. One thing differs: where a group has no example of a
    class, fairlearn's rates are 0, here they are undefined.

    Parameters
    ----------
    predictions : path, frame, mapping of columns, or array-like of shape (n,)
        The examples, as `fairness` takes them; or the gold class of each.
    predicted : str, or array-like of shape (n,)
        Column of the prediction.
    sensitive : str, or array-like of shape (n,)
        Column of the person's group.
    labels : str
        Column of the gold class.
    values : sequence of str, optional
        Groups to compare.  [default: all, sorted]
    positive : str or int, optional
        Class whose rates the frame has.  [default: every class; then "nurse: tpr" is one of them]

    Returns
    -------
    fairlearn.metrics.MetricFrame
        Metrics ``tpr``, ``fpr``, ``precision``, ``f1`` and ``selection_rate`` of the class, or of
        each, and ``accuracy``.

    Raises
    ------
    WordbiasError
        If the examples cannot be used, or no example has the class.

    References
    ----------
    Weerts, H., Dudík, M., Edgar, R., Jalali, A., Lutz, R., and Madaio, M. (2023). Fairlearn:
    Assessing and Improving Fairness of AI Systems. JMLR 24.

    Examples
    --------
    >>> from wordbias_fairlearn import from_fairlearn, to_fairlearn
    >>> y_true = ["nurse", "nurse", "surgeon", "surgeon"] * 25
    >>> y_pred = ["nurse", "nurse", "surgeon", "nurse"] * 25
    >>> frame = to_fairlearn(y_true, y_pred, ["F", "M", "M", "F"] * 25, positive="surgeon")
    >>> float(frame.difference()["tpr"])
    1.0
    """
    how = current_config()
    from sklearn.metrics import accuracy_score, f1_score, precision_score

    names, table = columns_of(predictions, labels, predicted, sensitive, values)
    read = load_classes(table, names, skip_bad=how.skip_bad, what="predictions")
    y, r, z = (np.array(read.cells[name]) for name in names)
    order = None if values is None else list(map(str, values))
    confusion = Confusion.of(y, r, z, order=order)
    in_groups = np.isin(z, confusion.groups)
    y, r, z = y[in_groups], r[in_groups], z[in_groups]
    if positive is not None and str(positive) not in confusion.classes:
        raise WordbiasError(
            f"positive=: no class {str(positive)!r}; there are {listed(confusion.classes)}"
        )
    rates: dict[str, Metric] = {
        "tpr": metrics.true_positive_rate,
        "fpr": metrics.false_positive_rate,
        "precision": partial(precision_score, zero_division=0),
        "f1": partial(f1_score, zero_division=0),
        "selection_rate": metrics.selection_rate,
    }
    chosen = confusion.classes if positive is None else [str(positive)]
    class_metrics: dict[str, Metric] = {
        name if positive is not None else f"{label}: {name}": partial(_of_class, rate, label)
        for label in chosen
        for name, rate in rates.items()
    }
    return metrics.MetricFrame(
        metrics={**class_metrics, "accuracy": accuracy_score},
        y_true=y,
        y_pred=r,
        sensitive_features={names[2]: z},
    )


def _of_class(rate: Metric, one: str, y_true: Any, y_pred: Any) -> float:
    """Return a rate of one class against all others."""
    return rate(*((np.asarray(of) == one).astype(int) for of in (y_true, y_pred)))


@public
def from_fairlearn(
    frame: MetricFrame,
    metrics: Metric | Mapping[str, Metric] | None = None,
    y_true: ArrayLike | None = None,
    y_pred: ArrayLike | None = None,
    sensitive_features: ArrayLike | None = None,
    *,
    draws: int = SAMPLES,
    seed: int = 0,
) -> Report:
    """Return what a MetricFrame of fairlearn holds as a report: each metric by group, and its gap.

    A MetricFrame keeps values, not predictions. Given these, and the metrics, each difference has
    an interval, and beside it the difference by chance: that of a classifier that treats the groups
    alike. They work with any metric of true and predicted classes. `fairness` has more measures.

    Parameters
    ----------
    frame : fairlearn.metrics.MetricFrame
        The values, with one sensitive feature and no control feature.
    metrics : callable or mapping of str to callable, optional
        The metrics as the frame was given them.
    y_true : array-like of shape (n,), optional
        True classes that the frame was made of; with ``metrics`` and the following two.
    y_pred : array-like of shape (n,), optional
        Predicted classes, or scores if the metrics take them.
    sensitive_features : array-like of shape (n,), optional
        Group of each.
    draws : int
        Number of bootstrap samples, and of permutations; each computes all metrics again, which
        takes a minute or two for three metrics of fairlearn. 0: neither interval nor chance level.
    seed : int
        Seed of everything random.

    Returns
    -------
    Report
        Each metric over all, of each group, and its ``difference``: of two groups the first minus
        the second, of more the largest minus the smallest. With predictions ``low`` and ``high``
        are its 95 % bootstrap interval, ``chance`` is the mean absolute difference if groups are
        permuted among the examples of the same true class, and ``p`` how often that is as large as
        here.

    Raises
    ------
    WordbiasError
        If the frame has several features, some of the predictions are missing, they do not give
        the groups and values of the frame, or the true values are no classes.

    Examples
    --------
    >>> from wordbias_fairlearn import from_fairlearn, to_fairlearn
    >>> y_true = ["nurse", "nurse", "surgeon", "surgeon"] * 25
    >>> y_pred = ["nurse", "nurse", "surgeon", "nurse"] * 25
    >>> frame = to_fairlearn(y_true, y_pred, ["F", "M", "M", "F"] * 25, positive="surgeon")
    >>> [row.value for row in from_fairlearn(frame)["tpr"] if row.details["set"] == "difference"]
    [-1.0]
    """
    groups, names, values = _held(frame)
    given = {
        "metrics": metrics,
        "y_true": y_true,
        "y_pred": y_pred,
        "sensitive_features": sensitive_features,
    }
    lacking = [name for name, value in given.items() if value is None]
    drawn = even = None
    sizes = None
    if len(lacking) < len(given):
        if lacking:
            raise UsageError(
                f"intervals need metrics=, y_true=, y_pred= and sensitive_features=; {lacking[0]}= "
                "is missing"
            )
        functions = _functions(cast("Metric | Mapping[str, Metric]", metrics), names)
        y, r, z = _arrays(y_true, y_pred, sensitive_features)
        if {*z.tolist()} != {*groups}:
            raise WordbiasError(
                f"sensitive_features=: expected the groups of the frame, {listed(groups)}; found "
                f"{listed(sorted({*z.tolist()}))}"
            )
        _compare(values, _values(functions, y, r, _parts(z, groups)), names, groups)
        sizes = {group: int((z == group).sum()) for group in groups}
        drawn, even = _drawn(functions, y, r, z, groups, draws, np.random.default_rng(seed))
    rows = list(_rows(names, groups, values, sizes, drawn, even, seed))
    return Report(
        inputs={"frame": {"metrics": names, "groups": groups}},
        rows=rows,
        tables=[_table(rows, groups)],
        heading=[f"MetricFrame of fairlearn: {how_many(len(names), 'metric')}, {_order(groups)}."],
        closing=_closing(draws if drawn is not None else None),
        seed=None if drawn is None else seed,
    )


def _order(groups: Sequence[str]) -> str:
    return " − ".join(groups) if len(groups) == 2 else "largest − smallest"


def _held(frame: Any) -> tuple[list[str], list[str], Values]:
    """Return groups, metrics, and their values, shape ``(1 + groups, metrics)``: overall first."""
    if not hasattr(frame, "by_group") or not hasattr(frame, "sensitive_levels"):
        raise UsageError(f"frame=: expected a MetricFrame of fairlearn, got {type(frame).__name__}")
    if len(frame.sensitive_levels) != 1 or frame.control_levels:
        features = [*frame.sensitive_levels, *(frame.control_levels or [])]
        raise WordbiasError(
            f"frame=: expected one sensitive feature and no control feature, found "
            f"{', '.join(features)}; join them to one, such as 'F, under 40'"
        )
    by_group = frame.by_group
    overall = frame.overall
    if by_group.ndim == 1:  # of one metric that was given by itself
        name = str(getattr(by_group, "name", None) or "metric")
        table, totals = by_group.to_frame(name), {name: overall}
    else:
        table, totals = by_group, dict(overall)
    groups = in_order(list(map(str, table.index)))
    if len(groups) < 2:
        raise WordbiasError(f"frame=: expected two groups or more, found {listed(groups)}")
    names = [str(name) for name in table.columns]
    try:
        rows = {str(g): table.loc[g].to_numpy(np.float64) for g in table.index}
        total = np.array([float(totals[name]) for name in table.columns])
    except (TypeError, ValueError):
        raise WordbiasError("frame=: expected metrics that are numbers") from None
    return list(groups), names, np.stack([total, *(rows[group] for group in groups)])


def _functions(given: Metric | Mapping[str, Metric], names: Sequence[str]) -> list[Metric]:
    if callable(given):
        given = {names[0]: given} if len(names) == 1 else {}
    if not isinstance(given, Mapping):
        raise UsageError(
            "metrics=: expected a function, or a mapping of names to functions, got "
            f"{type(given).__name__}"
        )
    if {*map(str, given)} != {*names}:
        raise WordbiasError(
            f"metrics=: expected those of the frame, {listed(names)}; found "
            f"{listed(list(map(str, given))) or 'one function'}"
        )
    by_name = {str(name): metric for name, metric in given.items()}
    return [by_name[name] for name in names]


def _arrays(*given: Any) -> tuple[NDArray[Any], ...]:
    y, r, z = map(np.asarray, given)
    if not (y.ndim == r.ndim == z.ndim == 1 and len(y) == len(r) == len(z)):
        raise WordbiasError(
            "expected y_true=, y_pred= and sensitive_features= of the same shape (n,), found "
            f"{y.shape}, {r.shape} and {z.shape}"
        )
    for name, values in (("y_true", y), ("y_pred", r), ("sensitive_features", z)):
        if (absent := np.flatnonzero([_is_missing(cell) for cell in values.tolist()])).size:
            raise WordbiasError(
                f"{name}=: {how_many(absent.size, 'value')} missing, the first of example "
                f"{absent[0]}; leave those examples out, here and in the frame"
            )
    if (n := len(np.unique(y))) > _MOST_CLASSES:
        raise WordbiasError(
            f"y_true=: expected classes, at most {_MOST_CLASSES}, found {n} values; what groups "
            "differ by if they are treated alike is computed within each class"
        )
    return y, r, z.astype(str)


def _is_missing(value: object) -> bool:
    return value is None or (not isinstance(value, str) and str(value) in ("nan", "<NA>", "NaT"))


def _parts(z: NDArray[Any], groups: Sequence[str]) -> list[NDArray[np.bool_]]:
    """Return which examples are of all, and of each group."""
    return [np.ones(len(z), bool), *(z == group for group in groups)]


def _values(
    functions: Sequence[Metric],
    y: NDArray[Any],
    r: NDArray[Any],
    parts: Sequence[NDArray[np.bool_]],
) -> Values:
    """Compute metrics of parts of the examples, shape ``(parts, metrics)``."""
    return np.array(
        [
            [float(function(y[part], r[part])) if part.any() else np.nan for function in functions]
            for part in parts
        ]
    )


def _compare(held: Values, computed: Values, names: Sequence[str], groups: Sequence[str]) -> None:
    """Refuse predictions that do not give the values of the frame."""
    wrong = np.argwhere(~np.isclose(held, computed, rtol=_SAME, atol=_SAME, equal_nan=True))
    for i, j in wrong.tolist():
        raise WordbiasError(
            f"the predictions are not those of the frame: {names[j]} of "
            f"{[OVERALL, *groups][i]} is {computed[i, j]:.6g}, in the frame {held[i, j]:.6g}; give "
            "those that it was made of (metrics with sample_params cannot be computed again)"
        )


def _gaps(of: Values) -> Values:
    """Return differences of groups, shape ``(…, metrics)``, of values ``(…, groups, metrics)``."""
    if of.shape[-2] == 2:
        return np.subtract(of[..., 0, :], of[..., 1, :])
    gaps: Values = of.max(axis=-2) - of.min(axis=-2)
    return gaps


def _drawn(
    functions: Sequence[Metric],
    y: NDArray[Any],
    r: NDArray[Any],
    z: NDArray[Any],
    groups: Sequence[str],
    draws: int,
    rng: np.random.Generator,
) -> tuple[Values, Values]:
    """Return values of bootstrap samples and differences of permuted groups, ``draws`` of each.

    The first has the shape ``(draws, 1 + groups, metrics)``, the second ``(draws, metrics)``.
    """
    of_class = [np.flatnonzero(y == label) for label in np.unique(y)]
    shape = (len(groups) + 1, len(functions))
    values, even = np.empty((draws, *shape)), np.empty((draws, shape[1]))
    with progress("intervals", 2 * draws, "sample") as bar:
        for i in range(draws):
            rows = rng.integers(len(y), size=len(y))
            values[i] = _values(functions, y[rows], r[rows], _parts(z[rows], groups))
            permuted = z.copy()
            for places in of_class:
                permuted[places] = z[rng.permutation(places)]
            even[i] = np.abs(_gaps(_values(functions, y, r, _parts(permuted, groups)[1:])))
            bar.update(2)
    return values, even


def _rows(
    names: Sequence[str],
    groups: Sequence[str],
    values: Values,
    sizes: Mapping[str, int] | None,
    drawn: Values | None,
    even: Values | None,
    seed: int,
) -> Iterator[Row]:
    n = {} if sizes is None else {OVERALL: sum(sizes.values()), **sizes}
    for j, name in enumerate(names):
        for i, part in enumerate([OVERALL, *groups]):
            about: dict[str, Any] = {"set": part, **({"n": n[part]} if n else {})}
            if drawn is not None and not np.isnan(values[i, j]):
                about |= bootstrap_interval(values[i, j], drawn[:, i, j], "examples", biased=False)
                about["seed"] = seed
            yield _row(name, values[i, j], about)
        gap = float(_gaps(values[1:])[j])
        signed = len(groups) == 2
        about = {
            "set": DIFFERENCE,
            "difference": _order(groups),
            "neutral": 0,
            "better": "neutral" if signed else "lower",
            **({"n": dict(sizes)} if sizes is not None else {}),
        }
        if drawn is not None and even is not None and not np.isnan(gap):
            about |= bootstrap_interval(
                gap, _gaps(drawn[:, 1:])[:, j], "examples", biased=not signed
            )
            about |= {**expected_alike(abs(gap), even[:, j]), "seed": seed}
        yield _row(name, gap, about)


def _row(name: str, value: float, about: Mapping[str, Any]) -> Row:
    if np.isnan(value):
        return Row("predictions", name, None, {**about, "reason": "the frame has no value"})
    return Row("predictions", name, float(value), about)


def _table(rows: Sequence[Row], groups: Sequence[str]) -> Table:
    by_metric: dict[str, dict[str, Row]] = {}
    for row in rows:
        by_metric.setdefault(row.measure, {})[row.details["set"]] = row
    tested = any("chance" in row.details for row in rows)
    cells = []
    for name, of in by_metric.items():
        gap = of[DIFFERENCE]
        low, high, p = (gap.details.get(key) for key in ("low", "high", "p"))
        cells.append(
            [
                name,
                *(number(of[part].value) for part in (OVERALL, *groups, DIFFERENCE)),
                *(
                    [
                        "–" if low is None else f"{number(low)} … {number(high)}",
                        number(gap.details.get("chance")),
                        "–" if p is None else f"{p:.3f}",
                    ]
                    if tested
                    else []
                ),
            ]
        )
    more = ["95 %", "alike", "p"] if tested else []
    return Table("Metrics by group", ["", OVERALL, *groups, DIFFERENCE, *more], cells)


def _closing(draws: int | None) -> list[str]:
    """Explain the columns, or what is missing; ``draws`` is None without predictions."""
    if draws == 0:
        return ["Without draws there is neither an interval nor a chance level."]
    if draws:
        return [
            "alike: the mean absolute difference of a classifier that treats the groups alike, by "
            "permuting the groups among the examples of the same true class (chance level); p: how "
            "often it is as large. p is not corrected for the number of metrics."
        ]
    return [
        "A MetricFrame keeps values only: there is neither an interval nor a chance level. Give "
        "metrics=, y_true=, y_pred= and sensitive_features= for both."
    ]
