"""Coreference by likelihood: to whom does a pronoun refer? Shared by Winogender and WinoBias.

The prompt is that of lm-evaluation-harness (`winogender_all`): the sentence, the pronoun in curly
quotation marks, and *refers to the*; the candidate that continues it with the highest likelihood is
the answer, and of equal ones the first. The authors of both data sets score coreference systems
only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from wordbias.models.causal_model import CausalModel, Float, Likelihoods
from wordbias.stereotypes.entry import Record
from wordbias.stereotypes.scores import leads, signs


class Question(NamedTuple):
    """A sentence, one of its pronouns, and two candidates; the first is right."""

    sentence: str
    pronoun: str
    right: str
    wrong: str
    subset: str = ""
    id: str = ""


def prompt(question: Question) -> str:
    """Return the context in which candidates are scored."""
    return f"{question.sentence} ‘{question.pronoun.capitalize()}’ refers to the"


def score_questions(model: CausalModel, questions: Sequence[Question], what: str) -> Likelihoods:
    """Return the log-likelihoods of both candidates, shape ``(n, 2)``: right, wrong."""
    pairs = [
        (prompt(question), f" {word}")
        for question in questions
        for word in (question.right, question.wrong)
    ]
    return model.score_continuations(pairs, what).shaped(-1, 2)


def resolved(scores: Float) -> Float:
    """Return 1 where the right candidate scores higher, 0 where the wrong one does, ½ for ties."""
    return signs(leads(scores))


def question_records(
    task: str, questions: Sequence[Question], likelihoods: Likelihoods
) -> list[Record]:
    """Return one record a question: the log-likelihoods of its candidates."""
    return [
        {
            "task": task,
            "subset": question.subset,
            "id": question.id,
            "context": prompt(question),
            "right": question.right,
            "wrong": question.wrong,
            "log-likelihood of right": float(right),
            "log-likelihood of wrong": float(wrong),
        }
        for question, (right, wrong) in zip(questions, likelihoods.total, strict=True)
    ]
