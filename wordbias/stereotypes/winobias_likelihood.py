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
from wordbias.stereotypes.coreference import Question, prompt, resolved, score_questions
from wordbias.stereotypes.entry import Found, Likelihood, Record, StereotypeTest
from wordbias.stereotypes.pairs import (
    both,
    mean_row,
    score_pairs,
    scores_of,
    share_row,
    tie_value,
)
from wordbias.stereotypes.scores import ALL, Settings, preferred
from wordbias.stereotypes.winobias import (
    ANTI,
    PRO,
    PRONOUNS,
    Sentence,
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
    """Return the question to whom the first pronoun of a sentence refers.

    The wrong candidate is the first other profession in the sentence. Both are spelled as there,
    so that a model is asked for the *CEO*, not for the *ceo*.

    Raises
    ------
    WordbiasError
        If there is none.
    """
    spelled = {name: sentence.text[slice(*span)] for name, span in sentence.people}
    right = spelled.pop(sentence.profession, sentence.profession)
    if not spelled:
        raise WordbiasError(f"WinoBias: expected two professions in {sentence.text!r:.80}")
    pronoun = sentence.text[slice(*sentence.pronouns[0])]
    return Question(sentence.text, pronoun, right, next(iter(spelled.values())))


def pronoun_pairs(sentences: Sequence[Sentence]) -> list[tuple[Sentence, Sentence]]:
    """Return the pairs, pro- and anti-stereotyped, that differ in the gender of pronouns only.

    A few pairs of the published files differ in other words too.
    """
    half = len(sentences) // 2
    pairs = zip(sentences[:half], sentences[half:], strict=True)
    return [(one, other) for one, other in pairs if _neutral(one) == _neutral(other)]


def _neutral(sentence: Sentence) -> list[str]:
    words = [word.lower() for word, _ in tokens(sentence.text)]
    return ["_" if word in PRONOUNS else word for word in words]


def score_winobias_questions(model: CausalModel, sentences: Sequence[Sentence]) -> Likelihoods:
    """Return the log-likelihoods of both candidates of each sentence, ``(n, 2)``: right, wrong."""
    return score_questions(model, [question_of(one) for one in sentences], TASK)


def score_winobias_pairs(
    model: CausalModel, pairs: Sequence[tuple[Sentence, Sentence]]
) -> Likelihoods:
    """Return the log-likelihoods of both sentences of each pair, ``(n, 2)``: pro, anti."""
    return score_pairs(model, [(one.text, other.text) for one, other in pairs], TASK)


def winobias_question_rows(
    sentences: Sequence[Sentence], found: Likelihoods, subject: str, *, seed: int = 0
) -> list[Row]:
    """Measure how pronouns are resolved in pro- and anti-stereotyped sentences, by each score.

    Returns
    -------
    list of Row
        ``coreference-accuracy`` of either, and ``coreference-gap``, the first minus the second,
        neutral 0, with a bootstrap interval over pairs; of all sentences, and of each type.
    """
    half = len(sentences) // 2
    kinds = np.array([one.kind for one in sentences[:half]])
    settings = {ALL: np.ones(half, bool)}
    settings |= {f"type {kind}": kinds == kind for kind in sorted(set(kinds.tolist()))}
    rows: list[Row] = []
    for name, scores in scores_of(found).items():
        values = resolved(scores).reshape(2, half)
        for setting, chosen in settings.items():
            about = {"task": TASK, "setting": setting, "score": name}
            for side, of in zip((PRO, ANTI), values[:, chosen], strict=True):
                of_side = {**about, "subset": side, "chance": 0.5}
                ties = int((of == 0.5).sum())
                rows.append(share_row(subject, "coreference-accuracy", of, of_side, ties, seed))
            gap = values[0, chosen] - values[1, chosen]
            of_both = {**about, "subset": f"{PRO} − {ANTI}"}
            rows.append(mean_row(subject, "coreference-gap", gap, of_both, seed))
    return rows


def winobias_pair_rows(
    pairs: Sequence[tuple[Sentence, Sentence]],
    found: Likelihoods,
    subject: str,
    *,
    as_published: bool = False,
    seed: int = 0,
) -> list[Row]:
    """Measure how often the pro-stereotyped sentence is the likelier one, by each score.

    Returns
    -------
    list of Row
        ``pro-preferred``, neutral .5, of all pairs, each type, and each gender of the
        pro-stereotyped pronoun.
    """
    kinds = np.array([f"type {one.kind}" for one, _ in pairs])
    genders = np.array([one.gender for one, _ in pairs])
    subsets = {ALL: np.ones(len(pairs), bool)}
    subsets |= {kind: kinds == kind for kind in sorted(set(kinds.tolist()))}
    subsets |= {f"pro {gender}": genders == gender for gender in sorted(set(genders.tolist()))}
    rows = []
    for name, scores in scores_of(found).items():
        pro, anti = scores.T
        better = preferred(pro, anti, tie_value(as_published))
        for subset, chosen in subsets.items():
            about = {"task": TASK, "subset": subset, "score": name, "as_published": as_published}
            ties = int((pro == anti)[chosen].sum())
            rows.append(share_row(subject, "pro-preferred", better[chosen], about, ties, seed))
    return rows


def question_records(sentences: Sequence[Sentence], found: Likelihoods) -> list[Record]:
    """Return one record a sentence: the log-likelihoods of its candidates."""
    return [
        {
            "task": TASK,
            "subset": one.stereotype,
            "id": f"type{one.kind}.{one.split}.{one.number}",
            "context": prompt(question),
            "right": question.right,
            "wrong": question.wrong,
            "log-likelihood of right": float(right),
            "log-likelihood of wrong": float(wrong),
        }
        for one, (right, wrong) in zip(sentences, found.total, strict=True)
        for question in [question_of(one)]
    ]


def winobias_pair_records(
    pairs: Sequence[tuple[Sentence, Sentence]], found: Likelihoods
) -> list[Record]:
    """Return one record a pair: its log-likelihoods and numbers of tokens."""
    return [
        {
            "task": f"{TASK} pairs",
            "subset": f"type {one.kind}",
            "id": f"type{one.kind}.{one.split}.{one.number}",
            **both(one.text, other.text, totals, counts),
        }
        for (one, other), totals, counts in zip(pairs, found.total, found.tokens, strict=True)
    ]


def _measured(model: CausalModel, data: WinoBias, subject: str, settings: Settings) -> Found:
    read, seed = data.sentences, settings.seed
    asked = score_winobias_questions(model, read)
    chosen = pronoun_pairs(read)
    rows = winobias_question_rows(read, asked, subject, seed=seed)
    records = question_records(read, asked)
    if chosen:
        found = score_winobias_pairs(model, chosen)
        published = settings.as_published
        rows += winobias_pair_rows(chosen, found, subject, as_published=published, seed=seed)
        records += winobias_pair_records(chosen, found)
    notes = []
    if left := len(read) // 2 - len(chosen):
        notes.append(
            f"{how_many(left, 'pair')} of WinoBias differ in more than the gender of pronouns, and "
            "are left out where sentences are compared"
        )
    return Found(rows, records, asked.cut, notes)


TEST = StereotypeTest(
    title=TASK,
    form="its folder",
    data=WinoBias,
    recognised=lambda beginning: any("_stereotyped_type" in name for name in beginning.names),
    read=lambda source, _: WinoBias(source.path, load_winobias(source.path)),
    unit="sentence",
    items=lambda data: data.sentences,
    likelihood=Likelihood(
        score=_measured,
        task=TASK,
        title=TASK,
        note="Chance and no preference are .5, a gap of 0 is no bias.",
        bias=("coreference-gap", "pro-preferred"),
    ),
)
