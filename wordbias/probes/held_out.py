"""What fresh probes read from held-out rows before and after a method, and what it cost.

Two probes are trained on training rows and tested on held-out rows, on both before and after the
method. But training rows are those that the method was fitted on: LEACE leaves them no difference
between the means of the classes, which held-out rows still have. So what is left is judged by the
best of several probes, which `wordbias.measures.held_out_probes` trains and tests on held-out rows
alone.

A linear probe is a logistic regression, a non-linear one a perceptron with one hidden
layer; coordinates are scaled to one spread for both. Each predicts the likeliest class, which
counts for the accuracy; for the balanced accuracy, the mean over the classes of the share that is
right, the probability of a class is divided by its share of the training rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.devices import one_thread
from wordbias.draws import by_student, by_wilson
from wordbias.errors import WordbiasError
from wordbias.labelled import Labelled
from wordbias.measures.attacks import attacks
from wordbias.measures.held_out_probes import ATTACKS, BEST, PROBES, read_groups, scaled
from wordbias.measures.movement import neighbours_preserved
from wordbias.measures.registry import ideal
from wordbias.probes.mdl import COMPRESSION, online_codes, share_compression
from wordbias.results import Row
from wordbias.statistics import Z95, majority_share, normal_interval

Floats = NDArray[np.floating[Any]]
Integers = NDArray[np.intp]
Cells = NDArray[np.str_]

LINEAR, MLP, TASK = "linear-probe", "mlp-probe", "task-accuracy"
TRAINING = "training-rows-probe"
RECALL, COSINE = "neighbour-recall", "cosine"
TRAINING_ROWS, HELD_OUT_ROWS, CODED_ROWS = 20_000, 5_000, 2_000
"""Most training rows of a probe, most held-out rows, and most of these that are coded."""
QUERIES, NEIGHBOURS = 1000, 10
HIDDEN = 100
"""Units of the hidden layer of the non-linear probe."""
FOLDS = 5
"""Number of parts of the training rows in their cross-validation."""
_STEPS, _EPOCHS, _PATIENCE, _BATCHES = 1000, 100, 10, 10
_MANY = 2000
"""Number of training rows from which a tenth of them ends the training of the non-linear probe."""


def choose_rows(
    training: Integers, held_out: Integers, seed: int
) -> tuple[Integers, NDArray[np.bool_]]:
    """Draw the rows that are read for the report, and which of them are held out."""
    rng = np.random.default_rng([seed, len(training), len(held_out)])
    chosen = [
        np.sort(rng.choice(part, most, replace=False)) if len(part) > most else part
        for part, most in ((training, TRAINING_ROWS), (held_out, HELD_OUT_ROWS))
    ]
    places = np.concatenate(chosen)
    is_held_out = np.repeat([False, True], [len(part) for part in chosen])
    order = np.argsort(places, kind="stable")
    return places[order], is_held_out[order]


def held_out_rows(
    name: str,
    before: Floats,
    after: Floats,
    held_out: NDArray[np.bool_],
    labels: Mapping[str, Cells],
    *,
    also: Mapping[str, Cells] | None = None,
    crossed: Floats | None = None,
    groups: Integers | None = None,
    certify: bool = False,
    seed: int = 0,
    rounding: float = float(np.finfo(np.float32).eps),
) -> list[Row]:
    """Return what probes read from held-out rows before and after a method, and what it cost."""
    # `also` has labels of tasks, which should be read as before. `crossed` has the rows after the
    # method with cross-fitting. A coordinate that differs by less than `rounding` is constant to a
    # probe.
    stages = {"before": before, "after": after}
    stages |= {} if crossed is None else {"cross-fit": crossed}
    rows: list[Row] = []
    for concept, cells in labels.items():
        for measure in (LINEAR, MLP):
            for stage, x in stages.items():
                details = {"stage": stage, "concept": concept}
                reading = _probed(measure, x, cells, held_out, seed, rounding)
                rows.append(Row(name, measure, reading.pop("value"), {**details, **reading}))
        of_part = partial(_best, name, concept, seed=seed, rounding=rounding, certify=certify)
        new, belong = (None if groups is None else groups[i] for i in (held_out, ~held_out))
        known = {"before": before[held_out], "after": after[held_out]}
        rows += of_part(known, cells[held_out], new)
        if certify and crossed is not None:
            rows += of_part({"cross-fit": crossed[~held_out]}, cells[~held_out], belong)
        for stage, x in list(stages.items())[1:]:
            reading = _in_training(x[~held_out], cells[~held_out], belong, seed, rounding)
            details = {"stage": stage, "concept": concept}
            rows.append(Row(name, TRAINING, reading.pop("value"), {**details, **reading}))
        rows += _coded(name, before[held_out], after[held_out], concept, cells[held_out], seed)
    rows += _neighbour_rows(name, before[held_out], after[held_out], seed)
    for column, cells in (also or {}).items():
        there = cells != ""
        for stage, x in stages.items():
            reading = _probed(LINEAR, x[there], cells[there], held_out[there], seed, rounding)
            reading |= ideal(TASK) if "better" in reading else {}
            details = {"stage": stage, "column": column}
            rows.append(Row(name, TASK, reading.pop("value"), {**details, **reading}))
    return rows


# Probes


def _probed(
    measure: str,
    x: Floats,
    cells: Cells,
    held_out: NDArray[np.bool_],
    seed: int,
    rounding: float,
) -> dict[str, Any]:
    """Train a probe, test it on the held-out rows, and return its accuracy with details."""
    classes, codes = np.unique(cells, return_inverse=True)
    y, true = codes[~held_out], codes[held_out]
    if not len(true) or len(np.unique(y)) < 2:
        return {"value": None, "reason": "needs two classes to train on, and held-out rows"}
    training, tested = scaled(x[~held_out], x[held_out], rounding)
    chances = _chances(measure, training, y, tested, len(classes), seed)
    right = chances.argmax(1) == true
    share = np.bincount(y, minlength=len(classes)) / len(y)
    weighted = (chances / np.where(share == 0, np.inf, share)).argmax(1) == true
    return {
        "value": float(right.mean()),
        **by_wilson(float(right.mean()), len(true), "rows"),
        **ideal(measure, majority_share(true)),
        **_balanced(weighted, true),
        "n": len(true),
        "trained_on": len(y),
        "classes": len(classes),
    }


def _in_training(
    x: Floats, cells: Cells, groups: Integers | None, seed: int, rounding: float
) -> dict[str, Any]:
    """Cross-validate a logistic regression on training rows, and return its accuracy."""
    classes, y = np.unique(cells, return_inverse=True)
    rng, part = np.random.default_rng(seed), np.zeros(len(y), np.intp)
    part[np.lexsort((rng.random(len(y)), y))] = np.arange(len(y)) % FOLDS  # of each class alike
    if groups is not None:
        of = np.unique(groups, return_inverse=True)[1]
        part = (rng.permutation(of.max() + 1) % FOLDS)[of]
    right = np.zeros(len(y), bool)
    for fold in np.unique(part):
        tested = part == fold
        if len(np.unique(y[~tested])) < 2:
            return {"value": None, "reason": "needs two classes in every part of the rows"}
        training, rest = scaled(x[~tested], x[tested], rounding)
        chances = _chances(LINEAR, training, y[~tested], rest, len(classes), seed)
        right[tested] = chances.argmax(1) == y[tested]
    return {
        "value": float(right.mean()),
        **by_wilson(float(right.mean()), len(y), "rows"),
        **ideal(TRAINING, majority_share(y)),
        "n": len(y),
        "classes": len(classes),
    }


def _chances(
    measure: str, x: Floats, y: Integers, tested: Floats, classes: int, seed: int
) -> NDArray[np.float64]:
    """Train a probe and return the probability of each class, shape ``(m, K)``."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier

    if measure == LINEAR:
        model = LogisticRegression(max_iter=_STEPS)
    else:
        fewest = np.bincount(y)[np.unique(y)].min()
        stop = bool(fewest > 1 and len(y) >= _MANY)  # of fewer, a tenth says little
        model = MLPClassifier(
            (HIDDEN,), batch_size=min(len(y), max(16, min(len(y) // _BATCHES, 200))),
            early_stopping=stop, n_iter_no_change=_PATIENCE, max_iter=_EPOCHS, random_state=seed,
        )  # fmt: skip
    chances = np.zeros((len(tested), classes))
    with warnings.catch_warnings(), one_thread():  # so that threads do not wait for each other
        warnings.simplefilter("ignore", ConvergenceWarning)  # what it has found is tested
        model.fit(x, y)
        chances[:, model.classes_] = model.predict_proba(tested)
    return chances


def _balanced(right: NDArray[np.bool_], true: Integers) -> dict[str, float]:
    """Return the balanced accuracy, with a normal interval."""
    # The variance within a class is that of the middle of Wilson's interval (Agresti and Coull
    # 1998): one row that is right says nearly nothing of its class, while a bootstrap would draw no
    # other.
    _, codes, counts = np.unique(true, return_inverse=True, return_counts=True)
    hits = np.bincount(codes, weights=right)
    middles = (hits + Z95**2 / 2) / (counts + Z95**2)
    error = np.sqrt((middles * (1 - middles) / counts).sum()) / len(counts)
    value = float((hits / counts).mean())
    ends = normal_interval(value, float(error))
    return {
        "balanced": value,
        "balanced_low": max(0.0, ends.low),
        "balanced_high": min(1.0, ends.high),
        "balanced_neutral": 1 / len(counts),
    }


def _best(
    name: str,
    concept: str,
    stages: Mapping[str, Floats],
    cells: Cells,
    groups: Integers | None,
    *,
    seed: int,
    rounding: float,
    certify: bool,
) -> list[Row]:
    """Return what the best of several probes, and each, reads of rows, such as before and after."""
    about = [{"stage": stage, "concept": concept} for stage in stages]
    further = attacks if certify else None
    try:
        first, *later = (
            read_groups(x, cells, groups, seed=seed, rounding=rounding, attacks=further)
            for x in stages.values()
        )
    except WordbiasError as error:  # too few rows
        undefined = [{**details, **ideal(BEST), "reason": str(error)} for details in about]
        tried = (BEST, *PROBES, *(ATTACKS if certify else ()))
        return [Row(name, measure, None, given) for measure in tried for given in undefined]
    rows = first.rows(name, about[0])
    for reading, given in zip(later, about[1:], strict=True):
        rows += reading.rows(name, given, before=first)
    return rows


def _coded(
    name: str, before: Floats, after: Floats, concept: str, cells: Cells, seed: int
) -> list[Row]:
    """Return the compression of the labels by an online code, before and after."""
    # Neutral is what the shares of the classes alone give. Both are scaled as the rows before are,
    # like those of `wordbias.probe`.
    chosen = np.arange(len(cells))
    if len(cells) > CODED_ROWS:
        chosen = np.random.default_rng(seed).choice(len(cells), CODED_ROWS, replace=False)
    details = {"concept": concept, "n": len(chosen), "seeds": [seed], **ideal(COMPRESSION)}
    stages = {"before": before[chosen], "after": after[chosen]}
    rows: list[Row] = []
    spread = None
    for stage, x in stages.items():
        about = {"stage": stage, **details}
        try:
            examples = Labelled.of(x, cells[chosen], name=name)
            spread = spread or examples.spread()
            examples = examples.scaled(*spread)
            (coded,) = online_codes(examples, seeds=[seed], control=False)
        except WordbiasError as error:  # too few rows, or too many classes
            reason = str(error).partition(";")[0]  # without the remedy, which is for `probe`
            rows.append(Row(name, COMPRESSION, None, {**about, "reason": reason}))
            continue
        code = coded.code
        about["neutral"] = share_compression(cells[chosen], code.first / code.n)
        bits = {"codelength": code.codelength, "uniform": code.uniform}
        rows.append(Row(name, COMPRESSION, code.compression, {**about, **bits}))
    return rows


# Cost


def _neighbour_rows(name: str, before: Floats, after: Floats, seed: int) -> list[Row]:
    """Return the share of nearest neighbours that held-out rows keep, and the mean cosine."""
    recall = np.zeros(0)
    if len(before) > 2 * NEIGHBOURS:
        x, y = (vectors.astype(np.float32, copy=False) for vectors in (before, after))
        rng = np.random.default_rng(seed)
        recall = neighbours_preserved(x, y, rng, sample=QUERIES, k=NEIGHBOURS)
    few = f"needs more than {2 * NEIGHBOURS} held-out rows that are not zero"
    rows = [_mean(name, RECALL, recall, {"k": NEIGHBOURS, "among": len(before)}, few)]
    if before.shape == after.shape:
        parts = ((before, after), (before, before), (after, after))
        inner, a, b = (np.einsum("nd,nd->n", *pair, dtype=np.float64) for pair in parts)
        there = (a > 0) & (b > 0)
        cosines = inner[there] / np.sqrt(a[there] * b[there])
        rows.append(_mean(name, COSINE, cosines, {}, "every row is zero, before or after"))
    return rows


def _mean(
    name: str, measure: str, values: NDArray[np.float64], details: Mapping[str, Any], reason: str
) -> Row:
    about = {"stage": "after", **details, "n": len(values), **ideal(measure)}
    if not len(values):
        return Row(name, measure, None, {**about, "reason": reason})
    about |= by_student(values, "rows")
    return Row(name, measure, float(values.mean()), about)
