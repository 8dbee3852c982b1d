"""Whether the score of a text depends on who is in it, on the Equity Evaluation Corpus."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias import cells
from wordbias.arguments import comma_separated
from wordbias.calls import path_of, public
from wordbias.configuration import current_config, uses
from wordbias.draws import with_change
from wordbias.errors import UsageError, WordbiasError, listed
from wordbias.formats.files import check_outputs
from wordbias.functions.adapters import AdapterLike, open_adapter
from wordbias.functions.inputs import check_records, write_records
from wordbias.measures.registry import column_title
from wordbias.models.model_like import ModelLike
from wordbias.models.text_classifier import TextClassifier
from wordbias.outcomes.sentiment import GAP, SHIFT, score_rows
from wordbias.pivot import pivot, values
from wordbias.rendering import Table, how_many
from wordbias.reports import Report
from wordbias.results import Row
from wordbias.statistics import SAMPLES
from wordbias.wordlists import GroupsLike, load_attribute
from wordbias.wordlists.eec import (
    Comparison,
    comparisons_of,
    contexts,
    left_out_notes,
    published_comparisons,
)

Float = NDArray[np.float64]
ScoreLike = str | Mapping[str, float]
"""A class, or a number for each class; in a text ``a=-1,b=1``."""
_CLOSING = (
    "difference: mean score of the first group minus that of the second. other group: mean size of "
    "the difference between two persons of different groups; same group: of one group. p: the "
    "persons of a pair change places. 95 %: pairs of persons, and sentences, drawn again."
)


@public
@uses("device")
def sentiment(
    model: ModelLike,
    *,
    groups: GroupsLike | None = None,
    score: ScoreLike | None = None,
    adapter: AdapterLike | None = None,
    setting: str | Sequence[str] = (),
    force: bool = False,
    output: str | os.PathLike[str] | None = None,
    draws: int = SAMPLES,
    seed: int = 0,
) -> Report:
    """Measure whether the score that ``model`` gives a text depends on who is in it.

    ``model`` is a classifier of texts or a model with one number as its output, such as one of
    sentiment, emotion or toxicity. It reads the 8,640 sentences of the Equity Evaluation Corpus,
    such as "My sister feels anxious." and "My brother feels anxious.". The pairs are of women and
    men, and of African American and European American first names.

    With ``adapter`` the same sentences are scored again after each ``setting`` of it is removed.

    Parameters
    ----------
    model : path, name on the hub, or (model, tokenizer)
        The classifier.
    groups : name, path or mapping, optional
        Groups to compare: gender, religion, … (wordbias lists), or a TOML file with subjects of
        sentences.  [default: gender and race, as published]
    score : str or mapping of class to number, optional
        Class whose probability is the score. Or a number for each class, negative=-1,positive=1:
        the score is their sum, each weighted by the probability of its class.  [default: of two
        classes the second; the number of a model that gives one]
    adapter : path or Adapter, optional
        Adapter that wordbias project or sweep wrote.
    setting : str or sequence of str, optional
        With ``adapter``: its setting to remove, such as L11-11101; may be repeated.  [default: the
        one stored in the adapter]
    force : bool
        With ``adapter``: use it even if it was fitted on another model.
    output : path, optional
        File for the score of each sentence (CSV).
    draws : int
        Number of bootstrap samples; 0 for no intervals.
    seed : int
        Seed of everything random.

    Returns
    -------
    Report
        A row for each comparison, measure and part of the sentences: all, each kind of persons and
        each emotion. After a ``setting`` the rows have the change, with a paired interval.

    Raises
    ------
    WordbiasError
        If the model is no classifier, or its score is not clear; the groups have no subjects of
        sentences; or the adapter is of another model, or changes no score.

    Notes
    -----
    The model may also be a pair of an encoder and a linear classifier or regressor of scikit-learn
    that is fitted to its vectors of texts.

    The paper's t test takes pairs of sentences as independent. Here the test is over pairs of
    persons.

    References
    ----------
    Kiritchenko and Mohammad (2018), "Examining Gender and Race Bias in Two Hundred Sentiment
    Analysis Systems". Székely and Rizzo (2004), "Testing for equal distributions in high
    dimension".

    Examples
    --------
    >>> import wordbias as wb
    >>> report = wb.sentiment("my-sentiment-model")  # doctest: +SKIP
    >>> report["score-gap"][0].value  # doctest: +SKIP
    """
    how, target = current_config(), path_of(output)
    check_outputs({"-o": target}, {"--adapter": adapter, "--groups": groups})
    check_records(target)
    opened = open_adapter(adapter, setting, force=force)
    published = groups is None
    compared = published_comparisons() if published else comparisons_of(load_attribute(groups))
    classifier = TextClassifier.load(model, device=how.device, numbers=True)
    weights, score_title = _weights(classifier, score)
    about = _about_sentences(compared)

    def scored(name: str) -> dict[str, float]:
        outputs = classifier.probabilities([*about], name).astype(np.float64)
        return dict(zip(about, (outputs @ weights).tolist(), strict=True))

    by_setting = {"": scored("scoring")}
    if opened.adapter is not None:
        opened.check(classifier.model, inside=False)
        for name in opened.settings:
            with opened.adapter.on(classifier.model, name, force=True):
                by_setting[name] = scored(name)
            if by_setting[name] == by_setting[""]:
                raise WordbiasError(
                    f"{classifier.name}: the setting {name} changes no score; choose a site that "
                    "its head reads"
                )
    subject = classifier.name
    every = {
        name: [
            row
            for comparison in compared
            for row in score_rows(
                subject,
                _of_pairs(comparison, scores),
                comparison,
                contexts(),
                draws=draws,
                seed=seed,
            )
        ]
        for name, scores in by_setting.items()
    }
    before = every.pop("")
    after = {
        name: [with_change(*both, stage=name) for both in zip(before, rows, strict=True)]
        for name, rows in every.items()
    }
    corpus = f"{'' if published else 'the templates of '}the Equity Evaluation Corpus"
    return Report(
        inputs={
            "model": {"path": subject, "device": classifier.device, "score": score_title},
            "sentences": {"n": len(about)},
            **opened.about(),
        },
        rows=[*before, *(row for rows in after.values() for row in rows)],
        tables=[
            *(table for comparison in compared for table in _tables(comparison, before)),
            *(
                _change_table(comparison, name, before, rows)
                for name, rows in after.items()
                for comparison in compared
            ),
        ],
        heading=[
            f"{subject} on {how_many(len(about), 'sentence')} of {corpus}. Score: {score_title}."
        ],
        closing=[_CLOSING, *write_records(target, _records(about, by_setting))],
        seed=seed,
        notes=left_out_notes(compared),
    )


def _weights(classifier: TextClassifier, score: ScoreLike | None) -> tuple[Float, str]:
    """Return the weight of each output in the score, and what the score is."""
    classes = classifier.classes
    if len(classes) == 1:
        if score is not None:
            raise UsageError(f"--score: {classifier.name} has one output, which is the score")
        return np.ones(1), "the number that the model gives"
    if score is None and len(classes) == 2:
        score = classes[1]
    if score in classes:
        return np.array([float(label == score) for label in classes]), f"the probability of {score}"
    numbers = _numbers(score)
    if set(numbers) != set(classes):
        example = ",".join(f"{name}={i}" for i, name in enumerate(classes))
        raise UsageError(
            f"--score: {classifier.name}: its classes are {listed(classes)}; name the one whose "
            f"probability is the score, or give each a number: {example}"
        )
    given = ", ".join(f"{name} {number:g}" for name, number in numbers.items())
    return np.array([numbers[name] for name in classes]), f"the weighted sum of {given}"


def _numbers(score: ScoreLike | None) -> dict[str, float]:
    """Return the number of each class; empty if one has none, or two."""
    if isinstance(score, Mapping):
        given: list[tuple[str, float | str]] = [(str(name), x) for name, x in score.items()]
    else:
        parts = [part.rpartition("=") for part in comma_separated(score or "")]
        given = [(name, number) for name, _, number in parts]
    try:
        numbers = {name: float(number) for name, number in given}
    except (TypeError, ValueError):
        return {}
    once = len(numbers) == len(given)
    return numbers if once and all(map(math.isfinite, numbers.values())) else {}


def _about_sentences(compared: Sequence[Comparison]) -> dict[str, dict[str, Any]]:
    """Return what is known of each sentence, by its text."""
    sentences: dict[str, dict[str, Any]] = {}
    for comparison in compared:
        for group, person in comparison.persons():
            for context in contexts():
                about = sentences.setdefault(
                    context.about(person),
                    {
                        "template": context.template,
                        "emotion": context.emotion,
                        "word": context.word,
                        "person": person.subject,
                    },
                )
                about[comparison.attribute] = group
    return sentences


def _of_pairs(comparison: Comparison, scores: Mapping[str, float]) -> Float:
    """Return the scores of a comparison's sentences, shape ``(pairs, 2, contexts)``."""
    return np.array(
        [
            [[scores[context.about(person)] for context in contexts()] for person in pair]
            for pair in comparison.pairs
        ]
    )


def _records(
    about: Mapping[str, Mapping[str, Any]], by_setting: Mapping[str, Mapping[str, float]]
) -> list[dict[str, Any]]:
    """Return one record a sentence and setting, with its score."""
    attributes = dict.fromkeys(name for facts in about.values() for name in facts)
    return [
        {
            **({"setting": setting or "none"} if len(by_setting) > 1 else {}),
            "text": text,
            **{name: facts.get(name, "") for name in attributes},
            "score": scores[text],
        }
        for setting, scores in by_setting.items()
        for text, facts in about.items()
    ]


def _of(comparison: Comparison, rows: Sequence[Row]) -> list[Row]:
    return [
        row
        for row in rows
        if row.details["attribute"] == comparison.attribute
        and row.details["groups"] == [*comparison.groups]
    ]


def _tables(comparison: Comparison, rows: Sequence[Row]) -> list[Table]:
    """Return the tables of a comparison: differences, and their sizes between and within groups."""
    chosen = _of(comparison, rows)
    groups = " − ".join(comparison.groups)
    gaps = values("n", (column_title(GAP), cells.value), "95 %", "p", measure=GAP)
    sizes = values(
        (column_title(SHIFT), cells.value), ("same group", cells.detail("chance")), measure=SHIFT
    )
    sizes += values(
        ("excess", cells.detail("excess")),
        ("95 %", cells.interval_of("excess")),
        "p",
        measure=SHIFT,
    )
    by = {"sentences": "subset"}
    return [
        pivot(f"Difference of scores: {groups}", chosen, by, gaps),
        pivot(f"Sizes of differences: {', '.join(comparison.groups)}", chosen, by, sizes),
    ]


def _change_table(
    comparison: Comparison, setting: str, before: Sequence[Row], after: Sequence[Row]
) -> Table:
    """Return a table of the differences before and after a removal."""
    rows = [row for row in _of(comparison, [*before, *after]) if row.measure == GAP]
    columns = values("before", stage=None)
    columns += values("after", ("change, 95 %", cells.change), stage=setting)
    title = f"Difference of scores before and after {setting}: {' − '.join(comparison.groups)}"
    return pivot(title, rows, {"sentences": "subset"}, columns)
