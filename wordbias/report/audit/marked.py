"""Marked attribute bias of an NLI model that reads the vectors, before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wordbias.errors import WordbiasError
from wordbias.nli.evaluation import Settings, mab_rows
from wordbias.nli.scoring import score_set
from wordbias.nli.test_sets import build
from wordbias.report.audit.plan import MAB_SETS
from wordbias.results import Row
from wordbias.wordlists import Templates

if TYPE_CHECKING:
    from wordbias.report.audit.plan import Plan
    from wordbias.report.audit.stages import Stages

GENDER = "gender"


def marked(one: Stages, plan: Plan) -> list[Row]:
    """Score the marked sets at both stages with one and the same model.

    Raises
    ------
    WordbiasError
        If the model was trained on other dimensions, a word is missing, or the attribute is not
        gender, which is what the sets are about.
    """
    if one.before.attribute.name != GENDER:
        name = one.before.attribute.name
        raise WordbiasError(f"its test sets are about gender, and this attribute is {name}")
    if plan.model is None:
        return []
    tests = [build(name, Templates.load()) for name in MAB_SETS]
    settings = Settings(seed=one.before.seed)
    found: list[Row] = []
    for stage, panel in one.panels():
        for test in tests:
            scored = score_set(plan.model, panel.embedding, test)
            rows = mab_rows(test, scored.probabilities, one.name, settings)
            found += one.rows(stage, rows, missing=list(scored.unknown))
    return found
