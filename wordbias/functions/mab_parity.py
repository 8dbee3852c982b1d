"""What `wordbias.mab_eval` measures of the set parity: accuracy, parity and fairness.

Dawkins et al. (2024), section 3: does the answer about a doctor depend on gender?
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wordbias import cells
from wordbias.contextual.labelled_pairs import LabelledPairs, load_inferences
from wordbias.contextual.nli_fairness import (
    DROP,
    MEASURES,
    PARITIES,
    Parity,
    Viability,
    fairness_rows,
    occupation_records,
    snli_row,
)
from wordbias.functions.inputs import write_records
from wordbias.functions.nli_models import File, NLIModel, Predicted, read_named
from wordbias.nli.hugging_face import Classifier
from wordbias.nli.pairs import Pairs, PairsLike, load_pairs, pairs_name
from wordbias.nli.scoring import accuracy
from wordbias.nli.test_sets import Pair
from wordbias.pivot import pivot, values
from wordbias.rendering import Table
from wordbias.reports import Report
from wordbias.results import Row

if TYPE_CHECKING:
    from wordbias.functions.adapters import OpenAdapter

_SNLI = "snli-accuracy"
Labelled = Pairs | LabelledPairs


def open_labelled(snli: PairsLike | None, *, own: bool) -> Labelled | None:
    """Read labelled pairs, for a model of nli-train in tokens."""
    if snli is None:
        return None
    if own:
        return read_named(load_pairs, "--snli", snli)
    return read_named(load_inferences, "--snli", snli)


def parity_report(
    predicted: Predicted,
    parity: Parity,
    snli: PairsLike | None,
    labelled: Labelled | None,
    opened: OpenAdapter,
    *,
    output: File | None,
    seed: int,
) -> Report:
    """Measure predictions for the set parity, and the model with each setting of an adapter."""
    (test,) = predicted.tests
    rows: list[Row] = []
    records: list[dict[str, object]] = []
    base: float | None = None
    for setting, probabilities in _runs(predicted, opened):
        rows += fairness_rows(
            test, probabilities, predicted.subject, parity=parity, setting=setting, seed=seed
        )
        by_occupation = occupation_records(test, probabilities)
        records += [{"setting": setting, **record} for record in by_occupation]
        if labelled is not None:
            right = _accuracy(predicted, labelled)
            about = (right, len(labelled), predicted.subject)
            rows.append(snli_row(*about, setting=setting, viability=Viability(base)))
            base = right if base is None else base
    written = write_records(output, records)
    words = " and ".join(filler.word for filler in test.hypotheses)
    return Report(
        inputs={**predicted.inputs, **_about(snli, labelled)},
        rows=rows,
        tables=[_table(rows, parity)],
        heading=[
            f"NLI fairness of {predicted.described}: {len(test):,} pairs about {words}, all "
            "neutral."
        ],
        closing=written,
        seed=seed,
        notes=predicted.notes,
    )


def _runs(predicted: Predicted, opened: OpenAdapter) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Yield the predictions as they are, and with each setting; it is applied until the next."""
    yield "", predicted.probabilities[0]
    if opened.adapter is None or not isinstance(predicted.system, Classifier):
        return
    from wordbias.models.hooks import applied

    model = predicted.system.model
    opened.check(model, inside=False)
    for setting in opened.settings:
        with applied(model, opened.adapter.interventions(setting)):
            yield setting, predicted.system.score_set(predicted.tests[0])


def _accuracy(predicted: Predicted, labelled: Labelled) -> float:
    """Return the accuracy of the model, as it is at the moment, on labelled pairs."""
    system = predicted.system
    if isinstance(system, NLIModel) and isinstance(labelled, Pairs):
        return accuracy(system.model, system.embedding, labelled)
    assert isinstance(system, Classifier)
    assert isinstance(labelled, LabelledPairs)
    return system.accuracy([Pair(*pair) for pair in labelled.pairs], labelled.labels)


def _about(snli: PairsLike | None, labelled: Labelled | None) -> dict[str, dict[str, object]]:
    """Return labelled pairs as an input of the report."""
    if isinstance(labelled, LabelledPairs):
        return {"snli": labelled.source()}
    if snli is None or labelled is None:
        return {}
    about = {"path": pairs_name(snli), "pairs": len(labelled), "sha256": labelled.sha256}
    return {"snli": about}


def _table(rows: Sequence[Row], parity: str) -> Table:
    """Return the table with one line a setting."""
    correct, agrees, fair = MEASURES
    columns = values(("accuracy", cells.with_interval), measure=correct)
    for kind in PARITIES:
        columns += values((f"parity, {kind}", cells.with_interval), measure=agrees, parity=kind)
    columns += values(("fairness η", cells.with_interval), measure=fair)
    columns += values(("SNLI", _viable), measure=_SNLI)
    note = (
        f"1 is best. η = accuracy · parity ({parity}). 95 % intervals: bootstrap over occupations."
    )
    if any(row.measure == _SNLI for row in rows):
        note += f" Viable: loses at most {100 * DROP:g} points on SNLI."
    return pivot(rows[0].subject, rows, _setting, columns, note)


def _setting(row: Row) -> str:
    return row.details["setting"] or "unmodified"


def _viable(row: Row) -> str:
    viable = row.details.get("viable")
    return cells.value(row) + ("" if viable is None else ", viable" if viable else ", not viable")
