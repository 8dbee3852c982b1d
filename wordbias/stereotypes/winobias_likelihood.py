"""WinoBias (Zhao et al. 2018) by likelihood: stereotypes as the likelier or better understood.

The authors score coreference systems: F1 of pro-stereotyped minus F1 of anti-stereotyped sentences.
In a decoder the same difference is that of the accuracies with which it resolves pronouns, asked as
in `wordbias.stereotypes.coreference`. A second measure asks nothing: which of the two
sentences of a pair, that differ in the gender of the pronoun, is likelier? lm-evaluation-harness
has no task of WinoBias.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wordbias.errors import WordbiasError
from wordbias.models.causal_model import CausalModel, Likelihoods
from wordbias.rendering import how_many
from wordbias.results import Row
from wordbias.stereotypes.coreference import Question, question_records, resolved, score_questions
from wordbias.stereotypes.entry import Found, StereotypeTest
from wordbias.stereotypes.pairs import (
    mean_row,
    preference_records,
    preference_rows,
    score_pairs,
    scores_of,
    share_row,
)
from wordbias.stereotypes.scores import Settings
from wordbias.stereotypes.winobias import (
    ANTI,
    PRO,
    PRONOUNS,
    Sentence,
    by_type,
    load_winobias,
    tokens,
)

TASK = "WinoBias"


@dataclass(frozen=True)
class WinoBias:
    """The sentences of the files of WinoBias in a folder."""

    path: str
    sentences: Sequence[Sentence]


def question_of(sentence: Sentence) -> Question:
    """Return the question to whom the first pronoun of a sentence refers."""
    # The wrong candidate is the first other profession in the sentence. Both are spelled as there:
    # a model is asked for the CEO, not for the ceo.
    spelled = {name: sentence.text[slice(*span)] for name, span in sentence.people}
    right = spelled.pop(sentence.profession, sentence.profession)
    if not spelled:
        raise WordbiasError(f"WinoBias: expected two professions in {sentence.text!r:.80}")
    pronoun = sentence.text[slice(*sentence.pronouns[0])]
    wrong, about = next(iter(spelled.values())), (sentence.stereotype, _id(sentence))
    return Question(sentence.text, pronoun, right, wrong, *about)


def pronoun_pairs(sentences: Sequence[Sentence]) -> list[tuple[Sentence, Sentence]]:
    """Return the pairs, pro- and anti-stereotyped, that differ in the gender of pronouns only."""
    # A few pairs of the published files differ in other words too.
    half = len(sentences) // 2
    pairs = zip(sentences[:half], sentences[half:], strict=True)
    return [(pro, other) for pro, other in pairs if _neutral(pro) == _neutral(other)]


def _neutral(sentence: Sentence) -> list[str]:
    words = [word.lower() for word, _ in tokens(sentence.text)]
    return ["_" if word in PRONOUNS else word for word in words]


def winobias_question_rows(
    sentences: Sequence[Sentence], likelihoods: Likelihoods, subject: str, *, seed: int = 0
) -> list[Row]:
    """Measure how pronouns are resolved in pro- and anti-stereotyped sentences, by each score."""
    half = len(sentences) // 2
    rows: list[Row] = []
    for name, scores in scores_of(likelihoods).items():
        values = resolved(scores).reshape(2, half)
        for setting, chosen in by_type(sentences[:half]).items():
            about = {"task": TASK, "setting": setting, "score": name}
            for side, of in zip((PRO, ANTI), values[:, chosen], strict=True):
                of_side = {**about, "subset": side, "chance": 0.5}
                ties = int((of == 0.5).sum())
                rows.append(
                    share_row(
                        subject, "coreference-accuracy", of, of_side, ties, seed, unit="sentences"
                    )
                )
            gap = values[0, chosen] - values[1, chosen]
            of_both = {**about, "subset": f"{PRO} − {ANTI}"}
            rows.append(mean_row(subject, "coreference-gap", gap, of_both, seed, unit="pairs"))
    return rows


def winobias_pair_rows(
    pairs: Sequence[tuple[Sentence, Sentence]],
    likelihoods: Likelihoods,
    subject: str,
    settings: Settings,
) -> list[Row]:
    """Measure how often the pro-stereotyped sentence is the likelier one, by each score."""
    genders = np.array([pro.gender for pro, _ in pairs])
    subsets = by_type([pro for pro, _ in pairs])
    subsets |= {f"pro {gender}": genders == gender for gender in sorted(set(genders.tolist()))}
    return preference_rows(likelihoods, subsets, subject, TASK, "pro-preferred", {}, settings)


def _id(sentence: Sentence) -> str:
    return f"type{sentence.kind}.{sentence.split}.{sentence.number}"


def _measured(model: CausalModel, data: WinoBias, subject: str, settings: Settings) -> Found:
    read = data.sentences
    questions = [question_of(sentence) for sentence in read]
    likelihoods = score_questions(model, questions, TASK)
    rows = winobias_question_rows(read, likelihoods, subject, seed=settings.seed)
    records = question_records(TASK, questions, likelihoods)
    if chosen := pronoun_pairs(read):
        texts = [(pro.text, other.text) for pro, other in chosen]
        pair_likelihoods = score_pairs(model, texts, TASK)
        rows += winobias_pair_rows(chosen, pair_likelihoods, subject, settings)
        of = [
            {"task": f"{TASK} pairs", "subset": f"type {pro.kind}", "id": _id(pro)}
            for pro, _ in chosen
        ]
        records += preference_records(of, texts, pair_likelihoods)
    notes = []
    if left := len(read) // 2 - len(chosen):
        notes.append(
            f"{how_many(left, 'pair')} of WinoBias differ in more than the gender of pronouns, and "
            "are left out where sentences are compared"
        )
    return Found(rows, records, likelihoods.cut, notes)


TEST = StereotypeTest(
    title=TASK,
    form="its folder",
    data=WinoBias,
    recognised=lambda line, names: any("_stereotyped_type" in name for name in names),
    read=lambda source, _: WinoBias(source.path, load_winobias(source.path)),
    items="sentences",
    scores={CausalModel: _measured},
    note="Chance and no preference are .5, a gap of 0 is no bias.",
    bias=("coreference-gap", "pro-preferred"),
)
