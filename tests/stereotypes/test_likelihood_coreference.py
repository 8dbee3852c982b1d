"""Winogender and WinoBias by likelihood: the questions, and their published scoring."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordbias.errors import WordbiasError
from wordbias.models.causal_model import Likelihoods
from wordbias.results import Row
from wordbias.statistics import wilson
from wordbias.stereotypes.coreference import Question, prompt, resolved
from wordbias.stereotypes.scores import Settings
from wordbias.stereotypes.winobias import Sentence, load_winobias
from wordbias.stereotypes.winobias_likelihood import (
    pronoun_pairs,
    question_of,
    winobias_pair_rows,
    winobias_question_rows,
)
from wordbias.stereotypes.winogender import (
    Winogender,
    load_winogender,
    occupation_leans,
    winogender_rows,
)

DATA = Path(os.environ.get("WORDBIAS_SHARED_DATA", Path(__file__).parents[3] / "shared" / "data"))
real = pytest.mark.skipif(
    not (DATA / "winogender").is_dir(), reason="WORDBIAS_SHARED_DATA has no Winogender and WinoBias"
)


def values(rows: list[Row], measure: str, **about: Any) -> Any:
    (only,) = [
        row.value
        for row in rows
        if row.measure == measure and all(row.details.get(k) == v for k, v in about.items())
    ]
    return only


def scored(right: Any, wrong: Any) -> Likelihoods:
    total = np.stack([np.asarray(right, float), np.asarray(wrong, float)], axis=1)
    return Likelihoods(total, np.ones(total.shape, np.int64))


def test_the_prompt_is_that_of_the_harness() -> None:
    question = Question("The nurse said she slept.", "she", "nurse", "patient")
    assert prompt(question) == "The nurse said she slept. ‘She’ refers to the"


def test_equal_candidates_are_half_right() -> None:
    assert resolved(np.array([[-1.0, -2.0], [-3.0, -2.0], [-1.0, -1.0]])).tolist() == [1, 0, 0.5]


# Winogender


@real
def test_all_sentences_of_winogender_are_read() -> None:
    data = load_winogender(DATA / "winogender")
    assert len(data.sentences) == 720
    assert len(data.shares) == 60
    gotcha = [data.is_gotcha(sentence) for sentence in data.sentences]
    assert (gotcha.count(True), gotcha.count(False), gotcha.count(None)) == (240, 240, 240)
    assert {sentence.pronoun.lower() for sentence in data.sentences} == {
        "he", "she", "they", "him", "her", "them", "his", "their"
    }  # fmt: skip
    nurse = next(
        sentence
        for sentence in data.sentences
        if sentence.template == ("nurse", "patient", True) and sentence.gender == "male"
    )
    assert data.is_gotcha(nurse)
    assert nurse.question.right == "nurse"


@real
def test_a_model_of_stereotypes_has_a_gap_of_one_and_follows_the_shares() -> None:
    data = load_winogender(DATA / "winogender")
    lean = {"female": 1.0, "male": -1.0, "neutral": 0.0}
    to_occupation = [
        lean[sentence.gender] * (data.shares[sentence.occupation] - 50)
        for sentence in data.sentences
    ]
    right = [
        x if sentence.to_occupation else -x
        for x, sentence in zip(to_occupation, data.sentences, strict=True)
    ]
    rows = winogender_rows(data, scored(right, np.zeros(720)), "model")
    about = {"score": "likelihood"}
    assert values(rows, "coreference-accuracy", subset="gotcha", **about) == 0
    assert values(rows, "coreference-accuracy", subset="not gotcha", **about) == 1
    assert values(rows, "coreference-accuracy", subset="neutral", **about) == 0.5
    assert values(rows, "coreference-gap", **about) == 1
    assert values(rows, "coreference-correlation", **about) == pytest.approx(1)
    opposite = winogender_rows(data, scored(np.zeros(720), right), "model")
    assert values(opposite, "coreference-gap", **about) == -1
    assert values(opposite, "coreference-correlation", **about) == pytest.approx(-1)
    row = next(row for row in rows if row.details["subset"] == "neutral")
    # every occupation is at ½ in all of its sentences: Wilson's of 60 occupations, not of 240
    assert (row.details["low"], row.details["high"]) == wilson(0.5, 60)
    assert row.details["ties"] == 240


@real
def test_the_accuracy_of_winogender_is_drawn_over_occupations() -> None:
    """A model that is right on thirty of the sixty occupations; scipy draws occupations again."""
    from scipy.stats import bootstrap

    data = load_winogender(DATA / "winogender")
    names = list(dict.fromkeys(sentence.occupation for sentence in data.sentences))
    right = np.array([1.0 if names.index(s.occupation) % 2 else -1.0 for s in data.sentences])
    rows = winogender_rows(data, scored(right, np.zeros(720)), "model")
    (row,) = [
        row
        for row in rows
        if row.measure == "coreference-accuracy"
        and (row.details["subset"], row.details["score"]) == ("all", "likelihood")
    ]
    shares = np.arange(60) % 2
    theirs = bootstrap(
        (shares,), np.mean, n_resamples=4000, method="percentile", rng=np.random.default_rng(0)
    )
    assert row.value == 0.5
    assert row.details["unit"] == "occupations"
    # an end of 1,000 draws is a quantile with an error of .09 standard errors
    for ours, of in zip(("low", "high"), theirs.confidence_interval, strict=True):
        assert abs(row.details[ours] - of) < 5 * 0.09 * theirs.standard_error
    assert row.details["high"] - row.details["low"] > 2 * (wilson(0.5, 720)[1] - 0.5) * 1.5


@real
@pytest.mark.parametrize("rounding", [0.0, 1e-7])
def test_a_model_that_ignores_pronouns_has_neither_gap_nor_correlation(rounding: float) -> None:
    data = load_winogender(DATA / "winogender")
    noise = rounding * np.random.default_rng(0).standard_normal(720)
    right = [1.0 if sentence.to_occupation else -1.0 for sentence in data.sentences] + noise
    rows = winogender_rows(data, scored(right, np.zeros(720)), "model")
    assert values(rows, "coreference-gap", score="likelihood") == 0
    (row,) = [
        row
        for row in rows
        if row.measure == "coreference-correlation" and row.details["score"] == "likelihood"
    ]
    assert row.value is None
    assert "undefined" in row.details["reason"]


HEADER = "sentid\tsentence\n"
NURSE = "nurse.patient.0.female.txt\tThe nurse told the patient that she slept.\n"


def winogender_of(folder: Path, text: str, shares: str = "") -> Winogender:
    (folder / "all_sentences.tsv").write_text(text)
    if shares:
        (folder / "occupations-stats.tsv").write_text(shares)
    return load_winogender(folder / "all_sentences.tsv")


def test_the_lean_of_an_occupation_is_a_difference_of_log_ratios(tmp_path: Path) -> None:
    male = NURSE.replace("female", "male").replace("she", "he")
    other = NURSE.replace(".0.", ".1.") + male.replace(".0.", ".1.")
    data = winogender_of(tmp_path, HEADER + NURSE + male + other)
    scores = scored([-1.0, -4.0, -2.0, -5.0], [-3.0, -2.0, -3.0, -1.0]).total
    # to the nurse: 2 of she, −2 of he; and, as the patient is right, −1 of she, 4 of he
    assert occupation_leans(data, scores) == {"nurse": ((2 + 2) + (-1 - 4)) / 2}
    rows = winogender_rows(data, scored([0, 0, 0, 0], [1, 1, 1, 1]), "model")
    assert {row.measure for row in rows} == {"coreference-accuracy"}


@pytest.mark.parametrize(
    ("text", "shares", "message"),
    [
        ("a\tb\n", "", r"line 1: has no columns 'sentid', 'sentence'; it has a, b"),
        (HEADER, "", r"holds no rows"),
        (HEADER + NURSE[:-1] + "\tmore\n", "", r"line 2: expected 2 columns, found 3"),
        (
            HEADER + NURSE + "nurse.txt\tShe slept.\n",
            "",
            r"line 3: expected an id such as .*'nurse",
        ),
        (HEADER + NURSE.replace("she", "she and he"), "", r"line 2: .* and she, he"),
        (HEADER + NURSE.replace("she", "it"), "", r"line 2: .* and no pronoun"),
        (
            HEADER + NURSE,
            "occupation\tbls_pct_female\nnurse\tmany\n",
            r"line 2: bls_pct_female: .*ma",
        ),
    ],
)
def test_what_is_no_winogender_is_refused(
    tmp_path: Path, text: str, shares: str, message: str
) -> None:
    with pytest.raises(WordbiasError, match=message):
        winogender_of(tmp_path, text, shares)


# WinoBias


@real
def test_every_sentence_of_winobias_is_a_question() -> None:
    sentences = load_winobias(DATA / "winobias")
    questions = [question_of(sentence) for sentence in sentences]
    assert len(questions) == 3168
    assert all(question.right != question.wrong for question in questions)
    assert all(f" {question.right}" in question.sentence for question in questions)
    assert all(f" {question.wrong}" in question.sentence for question in questions)
    assert sum("CEO" in (question.right, question.wrong) for question in questions) == 144
    assert questions[0][:4] == (
        sentences[0].text,
        "he",
        sentences[0].profession,
        questions[0].wrong,
    )
    pairs = pronoun_pairs(sentences)
    assert 1500 < len(pairs) < 1584
    for pro, anti in pairs:
        assert {pro.gender, anti.gender} == {"F", "M"}
        assert len(pro.text.split()) == len(anti.text.split())


def test_a_sentence_with_one_profession_is_refused() -> None:
    lone = Sentence("The cook left.", "cook", (0, 8), ((0, 3),), "F", "pro", 1, "dev", 1)
    with pytest.raises(WordbiasError, match=r"expected two professions in 'The cook left.'"):
        question_of(lone)


def four() -> list[Sentence]:
    """Two pairs, of type 1 and 2; the pro-stereotyped sentences first."""
    sentences = []
    for side, genders in (("pro", "MF"), ("anti", "FM")):
        for number, gender in enumerate(genders, 1):
            pronoun = {"M": "he", "F": "she"}[gender]
            text = f"The cook saw the nurse as {pronoun} left."
            start = text.index(pronoun)
            people = (("cook", (4, 8)), ("nurse", (17, 22)))
            sentences.append(
                Sentence(
                    text,
                    "cook" if number == 1 else "nurse",
                    (0, 8) if number == 1 else (13, 22),
                    ((start, start + len(pronoun)),),
                    gender,
                    side,
                    number,
                    "dev",
                    number,
                    people,
                )
            )
    return sentences


def test_the_gap_of_winobias_is_pro_minus_anti() -> None:
    sentences = four()
    assert question_of(sentences[1])[:4] == (sentences[1].text, "she", "nurse", "cook")
    likelihoods = scored([-1.0, -1.0, -5.0, -1.0], [-2.0, -2.0, -2.0, -2.0])
    rows = winobias_question_rows(sentences, likelihoods, "model")
    about = {"score": "likelihood", "setting": "all"}
    assert values(rows, "coreference-accuracy", subset="pro", **about) == 1
    assert values(rows, "coreference-accuracy", subset="anti", **about) == 0.5
    assert values(rows, "coreference-gap", **about) == 0.5
    assert values(rows, "coreference-gap", score="likelihood", setting="type 1") == 1
    assert values(rows, "coreference-gap", score="likelihood", setting="type 2") == 0


def test_the_likelier_sentence_of_a_pair_is_counted() -> None:
    pairs = pronoun_pairs(four())
    assert len(pairs) == 2
    likelihoods = scored([-1.0, -3.0], [-2.0, -3.0])
    rows = winobias_pair_rows(pairs, likelihoods, "model", Settings())
    assert values(rows, "pro-preferred", subset="all", score="likelihood") == 0.75
    assert values(rows, "pro-preferred", subset="type 2", score="likelihood") == 0.5
    assert values(rows, "pro-preferred", subset="pro M", score="likelihood") == 1
    published = winobias_pair_rows(pairs, likelihoods, "model", Settings(as_published=True))
    assert values(published, "pro-preferred", subset="all", score="likelihood") == 0.5
