"""Winogender (Rudinger et al. 2018) by likelihood: the person to whom *she*, *he* or *they* refers.

lm-evaluation-harness reports the accuracy (`winogender_all`, `_male`, `_female`, `_neutral`,
`_gotcha`). The authors report, for coreference systems, by how much more often an occupation is
taken for a woman than for a man, beside the share of women in it; here that is the difference of
two log-likelihood ratios, averaged over the templates of an occupation.

In *gotcha* sentences the right answer is not what the majority of women or men in the occupation
suggests. The pronoun of the minority refers to the occupation, or that of the majority to the other
person. Half of the sentences about she and he are, 240.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.columns import read
from wordbias.draws import sampled_row
from wordbias.errors import WordbiasError
from wordbias.measures.registry import ideal
from wordbias.models.causal_model import CausalModel, Float, Likelihoods
from wordbias.results import Row
from wordbias.statistics import SAMPLES, resampled_means, resampled_spearman, spearman
from wordbias.stereotypes.coreference import Question, question_records, resolved, score_questions
from wordbias.stereotypes.entry import Found, StereotypeTest
from wordbias.stereotypes.pairs import scores_of, share_row, unit_sums
from wordbias.stereotypes.scores import ALL, LIKELIHOOD_ROUNDING, Settings
from wordbias.text_files import Source, read_text

SENTENCES, SHARES = "all_sentences.tsv", "occupations-stats.tsv"
FEMALE, MALE, NEUTRAL = "female", "male", "neutral"
GOTCHA, NOT_GOTCHA = "gotcha", "not gotcha"
_GENDERS = (FEMALE, MALE, NEUTRAL)
_ID = re.compile(rf"(.+)\.(.+)\.([01])\.({'|'.join(_GENDERS)})\.txt")
_PRONOUN = re.compile(r"\b(he|she|they|him|her|them|his|their)\b", re.IGNORECASE)
TASK = "Winogender"
OCCUPATIONS = "occupations"


@dataclass(frozen=True)
class WinogenderSentence:
    """A sentence: its pronoun refers to the occupation, or else to the participant."""

    id: str
    text: str
    pronoun: str
    occupation: str
    participant: str
    gender: str
    to_occupation: bool

    @property
    def template(self) -> tuple[str, str, bool]:
        """Key of the sentences that differ in their pronoun only."""
        return self.occupation, self.participant, self.to_occupation

    @property
    def question(self) -> Question:
        """To whom the pronoun refers, the right answer first."""
        people = (self.occupation, self.participant)
        right, wrong = people if self.to_occupation else people[::-1]
        return Question(self.text, self.pronoun, right, wrong, self.gender, self.id)


@dataclass(frozen=True)
class Winogender:
    """The sentences of a file, and the share of women in each occupation, in percent."""

    path: str
    sha256: str
    sentences: Sequence[WinogenderSentence]
    shares: Mapping[str, float] = field(default_factory=dict)

    def is_gotcha(self, sentence: WinogenderSentence) -> bool | None:
        """Return whether a sentence is one; None of *they*, or without the share."""
        share = self.shares.get(sentence.occupation)
        if sentence.gender == NEUTRAL or share is None or share == 50:
            return None
        minority = sentence.gender != (FEMALE if share > 50 else MALE)
        return minority == sentence.to_occupation


def load_winogender(path: str | Path) -> Winogender:
    """Read all_sentences.tsv, or the folder with it; occupations-stats.tsv is read beside it."""
    file = Path(path) / SENTENCES if Path(path).is_dir() else Path(path)
    shares = file.with_name(SHARES)
    return parse_winogender(read_text(file), read_text(shares) if shares.is_file() else None)


def parse_winogender(source: Source, shares: Source | None = None) -> Winogender:
    """Parse the published sentences, and the shares of women; see `load_winogender`."""
    sentences = []
    for where, row in read(source, ("sentid", "sentence"), kind="tsv").rows():
        named = _ID.fullmatch(row["sentid"])
        pronouns = _PRONOUN.findall(row["sentence"])
        if named is None or len(pronouns) != 1:
            raise WordbiasError(
                f"{where}: expected an id such as nurse.patient.0.female.txt "
                f"and a sentence with one pronoun, found {row['sentid']!r:.60} and "
                f"{', '.join(pronouns) or 'no pronoun'}"
            )
        occupation, participant, answer, gender = named.groups()
        sentences.append(
            WinogenderSentence(
                row["sentid"],
                row["sentence"],
                pronouns[0],
                occupation,
                participant,
                gender,
                answer == "0",
            )
        )
    known = {} if shares is None else _shares(shares)
    return Winogender(source.path, source.sha256, sentences, known)


def _shares(source: Source) -> dict[str, float]:
    shares = {}
    for where, row in read(source, ("occupation", "bls_pct_female"), kind="tsv").rows():
        try:
            shares[row["occupation"]] = float(row["bls_pct_female"])
        except ValueError:
            raise WordbiasError(
                f"{where}: bls_pct_female: expected a percentage, found "
                f"{row['bls_pct_female']!r:.40}"
            ) from None
    return shares


def winogender_rows(
    data: Winogender, likelihoods: Likelihoods, subject: str, *, seed: int = 0
) -> list[Row]:
    """Measure how pronouns are resolved, by each score."""
    # `coreference-gap` is the accuracy of other sentences minus that of gotcha sentences;
    # `coreference-correlation` Spearman's over occupations of the share of women with the lean to
    # resolve she rather than he to the occupation. Both need the shares of women. Intervals are a
    # bootstrap over occupations; each has twelve sentences.
    rows: list[Row] = []
    genders = np.array([sentence.gender for sentence in data.sentences])
    occupations = np.array([sentence.occupation for sentence in data.sentences])
    subsets = {ALL: np.ones(len(genders), bool)}
    subsets |= {gender: genders == gender for gender in _GENDERS} | _gotcha(data)
    for name, scores in scores_of(likelihoods).items():
        values = resolved(scores)
        for subset, chosen in subsets.items():
            if chosen.any():
                about = {"task": TASK, "subset": subset, "score": name, "chance": 0.5}
                ties = int((values[chosen] == 0.5).sum())
                of = subject, "coreference-accuracy", values[chosen]
                rows.append(
                    share_row(*of, about, ties, seed, unit=OCCUPATIONS, units=occupations[chosen])
                )
        rows += stereotype_rows(data, values, scores, subject, {"score": name}, seed)
    return rows


def stereotype_rows(
    data: Winogender,
    values: Float,
    scores: Float,
    subject: str,
    about: Mapping[str, Any],
    seed: int,
    draws: int = SAMPLES,
) -> list[Row]:
    """Return the last two rows of `winogender_rows`."""
    # `values` are 1, 0, or ½ for ties; `scores` those of the right and the wrong person, (n, 2), of
    # a system that only decides 1 and 0.
    rows = []
    subsets = _gotcha(data)
    if all(chosen.any() for chosen in subsets.values()):
        details = {"task": TASK, "subset": f"{NOT_GOTCHA} − {GOTCHA}", **about}
        rows.append(_gap(data, values, subsets, subject, details, seed, draws))
    if data.shares:
        rows.append(_correlation(data, scores, subject, {"task": TASK, **about}, seed, draws))
    return rows


def _gotcha(data: Winogender) -> dict[str, NDArray[np.bool_]]:
    """Return which sentences are gotcha sentences, and which are not; *they* is in neither."""
    gotcha = np.array([data.is_gotcha(sentence) for sentence in data.sentences], object)
    return {GOTCHA: gotcha == True, NOT_GOTCHA: gotcha == False}  # noqa: E712 (None is neither)


def _gap(
    data: Winogender,
    values: Float,
    subsets: Mapping[str, Any],
    subject: str,
    about: Mapping[str, Any],
    seed: int,
    draws: int,
) -> Row:
    masks = subsets[NOT_GOTCHA], subsets[GOTCHA]
    parts = np.stack([part for mask in masks for part in (values * mask, mask)], axis=1)
    sums = unit_sums(parts, np.array([sentence.occupation for sentence in data.sentences]))

    def gap(of: Float) -> Float:
        with np.errstate(invalid="ignore"):
            difference: Float = of[..., 0] / of[..., 1] - of[..., 2] / of[..., 3]
        return difference

    samples = gap(resampled_means(sums, np.random.default_rng(seed), draws)) if draws else None
    n = int((subsets[NOT_GOTCHA] | subsets[GOTCHA]).sum())
    details = {**about, "n": n, "units": len(sums), **ideal("coreference-gap"), "seed": seed}
    value = float(gap(sums.sum(0)))
    return sampled_row(subject, "coreference-gap", value, details, samples, OCCUPATIONS)


def _correlation(
    data: Winogender,
    scores: Float,
    subject: str,
    about: Mapping[str, Any],
    seed: int,
    draws: int,
) -> Row:
    """Correlate the lean of occupations with their shares of women."""
    leans = occupation_leans(data, scores)
    names = [name for name in leans if name in data.shares]
    x = np.array([leans[name] for name in names])
    y = np.array([data.shares[name] for name in names])
    x[np.abs(x) <= LIKELIHOOD_ROUNDING * np.abs(scores).max()] = 0  # they are in no order
    value = spearman(x, y)
    details = {**about, "subset": "occupations", "n": len(names), "seed": seed}
    if np.isnan(value):
        reason = "undefined: fewer than two occupations with different shares and leans"
        return Row(subject, "coreference-correlation", None, {**details, "reason": reason})
    samples = resampled_spearman(x, y, np.random.default_rng(seed), draws) if draws else None
    details |= ideal("coreference-correlation")
    return sampled_row(subject, "coreference-correlation", value, details, samples, OCCUPATIONS)


def occupation_leans(data: Winogender, scores: Float) -> dict[str, float]:
    """Return by how much *she* rather than *he* is taken for each occupation, in nats.

    The mean over templates of log p(occupation)/p(participant) after the sentence with *she*, minus
    the same after that with *he*.
    """
    right, wrong = scores.T
    ratio = {
        (sentence.template, sentence.gender): float(a - b if sentence.to_occupation else b - a)
        for sentence, a, b in zip(data.sentences, right, wrong, strict=True)
    }
    leans: dict[str, list[float]] = {}
    for (template, gender), value in ratio.items():
        other = ratio.get((template, MALE))
        if gender == FEMALE and other is not None:
            leans.setdefault(template[0], []).append(value - other)
    return {name: float(np.mean(values)) for name, values in leans.items()}


def _measured(model: CausalModel, data: Winogender, subject: str, settings: Settings) -> Found:
    questions = [sentence.question for sentence in data.sentences]
    likelihoods = score_questions(model, questions, TASK)
    rows = winogender_rows(data, likelihoods, subject, seed=settings.seed)
    notes = []
    if not data.shares:
        notes.append(
            f"{data.path}: without occupations-stats.tsv beside it there are neither gotcha "
            "sentences nor a correlation with the share of women"
        )
    return Found(rows, question_records(TASK, questions, likelihoods), likelihoods.cut, notes)


TEST = StereotypeTest(
    title=TASK,
    form="all_sentences.tsv or its folder",
    data=Winogender,
    recognised=lambda line, names: SENTENCES in names or ("\t" in line and "sentid" in line),
    read=lambda source, _: load_winogender(source.path),
    items="sentences",
    scores={CausalModel: _measured},
    note="Chance is .5, a gap or correlation of 0 no bias.",
    bias=("coreference-gap", "coreference-correlation"),
)
