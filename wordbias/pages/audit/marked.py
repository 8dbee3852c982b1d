"""Marked attribute bias of an NLI model that reads the vectors, before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wordbias.nli.evaluation import Settings, mab_rows
from wordbias.nli.fillers import marked_sets
from wordbias.nli.known_words import known_part
from wordbias.nli.scoring import score_set
from wordbias.nli.test_sets import TestSet, build
from wordbias.pages.audit.plan import MAB_SETS
from wordbias.results import Row
from wordbias.wordlists import Attribute

if TYPE_CHECKING:
    from wordbias.measures.panel import Panel
    from wordbias.nli.files import Model
    from wordbias.pages.audit.plan import Plan
    from wordbias.pages.audit.stages import Stages


def marked(one: Stages, plan: Plan) -> list[Row]:
    """Score the marked sets at both stages with one and the same model.

    Raises
    ------
    WordbiasError
        If the model was trained on other dimensions, a word is missing, or the attribute does not
        say whom a sentence can be about.
    """
    if plan.model is None:
        return []
    tests = _tests(one.before, plan.model)
    settings = Settings(seed=one.before.seed)
    found: list[Row] = []
    for stage, panel in one.panels():
        for test in tests:
            scored = score_set(plan.model, panel.embedding, test)
            rows = mab_rows(test, scored.probabilities, one.name, settings)
            found += one.rows(stage, rows, missing=list(scored.unknown))
    return found


def _tests(panel: Panel, model: Model) -> list[TestSet]:
    """Return the published sets; of another attribute the words that the vectors have."""
    if panel.attribute == Attribute.load():
        return [build(name) for name in MAB_SETS]
    sets = marked_sets(panel.attribute)
    chosen = [name for name in MAB_SETS if name in sets] or sets
    tests = [build(name, attribute=panel.attribute) for name in chosen]
    return [known_part(panel.embedding, test, lower=model.lower) for test in tests]
