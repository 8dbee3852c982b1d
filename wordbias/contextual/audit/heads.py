"""What an audit measures with the head of a model: preferred stereotypes, and fairness of NLI."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from wordbias.contextual.audit.measure import BEFORE, stage_details
from wordbias.contextual.audit.projections import Fitted
from wordbias.contextual.audit.texts import Reader
from wordbias.contextual.labelled_pairs import LabelledPairs
from wordbias.contextual.nli_fairness import Viability, fairness_rows, snli_row
from wordbias.errors import WordbiasError
from wordbias.models.causal_model import CausalModel
from wordbias.models.hooks import Intervention, applied
from wordbias.nli.hugging_face import Classifier
from wordbias.nli.test_sets import Pair, build
from wordbias.results import Row, with_details
from wordbias.stereotypes.entry import Found
from wordbias.stereotypes.scorer import Scorer
from wordbias.stereotypes.scores import Settings
from wordbias.stereotypes.text_sets import TextSet

Interventions = Sequence[Intervention]


def stereotype_rows(
    subject: str,
    scorer: Scorer,
    data: Sequence[TextSet],
    columns: Sequence[Fitted],
    reader: Reader,
    seed: int = 0,
) -> tuple[list[Row], list[str]]:
    """Measure which texts a model prefers, before and after each projection."""
    settings = Settings(seed=seed)
    notes: list[str] = []

    def measure() -> list[Row]:
        measured = Found.joined([scorer.measure(text_set, subject, settings) for text_set in data])
        if CausalModel in scorer.heads:
            notes.extend(measured.notes)
        return measured.rows

    rows, staged = _staged(columns, reader, scorer.applied, measure)
    return rows, [*dict.fromkeys(notes), *staged]


def inference_rows(
    subject: str,
    classifier: Classifier,
    texts: LabelledPairs,
    columns: Sequence[Fitted],
    reader: Reader,
    seed: int = 0,
) -> tuple[list[Row], list[str]]:
    """Measure accuracy, parity and fairness about occupations, and accuracy on labelled pairs."""
    test = build("parity")
    base: list[float] = []

    def measure() -> list[Row]:
        rows = fairness_rows(test, classifier.score_set(test), subject, seed=seed)
        right = classifier.accuracy([Pair(*pair) for pair in texts.pairs], texts.labels)
        base.append(right)
        rows.append(snli_row(right, len(texts), subject, viability=Viability(base[0])))
        return rows

    return _staged(
        columns, reader, lambda interventions: applied(classifier.model, interventions), measure
    )


def _staged(
    columns: Sequence[Fitted],
    reader: Reader,
    changed: Callable[[Interventions], AbstractContextManager[None]],
    measure: Callable[[], list[Row]],
) -> tuple[list[Row], list[str]]:
    """Measure before and after each projection."""
    before = measure()
    rows = with_details(before, stage_details(BEFORE, reader.kind))
    notes = []
    for fitted in columns:
        label = fitted.method.text
        try:
            with changed(fitted.at(reader.site)):
                after = measure()
        except WordbiasError as error:
            notes.append(f"{label}: not measured with the head: {error}")
            continue
        if [row.value for row in after] == [row.value for row in before]:
            notes.append(f"{label}: no value of the head changes")
        rows += with_details(after, stage_details(label, reader.kind))
    return rows, notes
