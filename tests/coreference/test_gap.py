"""GAP: its reader, answers from clusters, and scores as the official scorer defines them."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from wordbias.coreference.documents import Clusters, Span
from wordbias.coreference.gap import (
    Answer,
    Gap,
    GapText,
    answer,
    answers_of,
    are_answers,
    gap_rows,
    parse_gap,
    read_answers,
)
from wordbias.errors import WordbiasError
from wordbias.results import Row
from wordbias.text_files import Source, read_text

TEXT = "Dr. Ann Lee's sister met Eve, and later she left with Ann Lee and Eve."
HEAD = "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL\n"
LINE = f"t-1\t{TEXT}\tshe\t40\tAnn Lee\t4\tFALSE\tEve\t25\tTRUE\thttp://x\n"


def _gap(text: str = HEAD + LINE) -> Gap:
    return parse_gap(Source("gap.tsv", text, ""))


def _text(seed: random.Random, feminine: bool) -> GapText:
    gold = seed.choice(((True, False), (False, True), (False, False)))
    text = _gap().texts[0]
    return replace(text, id=str(seed.random()), gold=gold, feminine=feminine)


def test_columns_are_read() -> None:
    (gap_text,) = _gap().texts
    assert [gap_text.text[slice(*span)] for span in (gap_text.pronoun, *gap_text.names)] == [
        "she",
        "Ann Lee",
        "Eve",
    ]
    assert (gap_text.id, gap_text.gold, gap_text.feminine, gap_text.nearest) == (
        "t-1",
        (False, True),
        True,
        (False, True),
    )
    assert _gap().documents[0].name == "t-1"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "\t25\t",
            "\t26\t",
            "line 2: B-offset: expected the place of 'Eve' in the text, found '26'",
        ),
        ("\t25\t", "\t-1\t", "line 2: B-offset: "),
        ("TRUE", "yes", "line 2: expected TRUE or FALSE, found 'yes'"),
        ("she\t40", "met\t21", "line 2: Pronoun: expected he or she, found 'met'"),
    ],
)
def test_a_line_that_is_not_understood_is_refused(old: str, new: str, message: str) -> None:
    with pytest.raises(WordbiasError, match=f"^gap.tsv: {message}"):
        _gap((HEAD + LINE).replace(old, new))


def test_an_empty_line_is_no_text() -> None:
    assert _gap(HEAD + "\n" + LINE).texts == _gap().texts


def test_answers_as_the_official_scorer_reads_them() -> None:
    assert are_answers("t-1\tTRUE\tFALSE\n")
    assert are_answers("ID\tA-coref\tB-coref\n")
    assert not are_answers("#begin document (a); part 0\n")
    for text in ("t-1\tTRUE\tFalse\n", "ID\tA-coref\tB-coref\nt-1\ttrue\tFALSE\n"):
        assert read_answers(Source("a", text, ""), _gap()) == [(True, False)]
    for text, message in (
        ("t-2\tTRUE\tFALSE\n", "has no answer to 't-1'"),
        ("t-1\tTRUE\tFALSE\nt-1\tTRUE\tTRUE\n", "line 2: has a second answer to 't-1'"),
        ("t-1\tTRUE\tperhaps\n", "line 1: expected TRUE or FALSE"),
        ("t-1\t1\t0\n", "line 1: expected TRUE or FALSE, found '1'"),
    ):
        assert are_answers(text)
        with pytest.raises(WordbiasError, match=f"^a: {message}"):
            read_answers(Source("a", text, ""), _gap())


def _span(part: str, start: int = 0) -> Span:
    place = TEXT.index(part, start)
    return place, place + len(part)


SHE = _span("she")
CLUSTERS: list[tuple[Clusters, Answer]] = [
    ((), (False, False)),
    (((SHE,),), (False, False)),
    (((SHE, _span("Eve")),), (False, True)),
    (((SHE, _span("Ann Lee")),), (True, False)),
    (((SHE, _span("Dr. Ann Lee")),), (True, False)),  # with a title
    (((SHE, _span("Ann Lee's")),), (True, False)),
    (((SHE, _span("Dr. Ann Lee's sister")),), (False, False)),  # another person
    (((SHE, _span("Dr. Ann Lee's sister")), (_span("Ann Lee"),)), (False, False)),
    (((SHE, _span("Ann Lee and Eve")),), (False, False)),  # the names, but at other places
    (((SHE, _span("Eve"), _span("Ann Lee")),), (True, True)),
    (((_span("Eve"), _span("Ann Lee")),), (False, False)),
    (((_span("later she"), _span("Eve")),), (False, False)),  # another mention
    (((SHE, _span("Ann Lee")), (_span("Eve"), _span("Eve", 30))), (True, False)),
]


@pytest.mark.parametrize(("clusters", "expected"), CLUSTERS)
def test_answers_of_clusters(clusters: Clusters, expected: Answer) -> None:
    assert answer(_gap().texts[0], clusters) == expected


def test_documents_of_a_system_are_matched_by_their_characters() -> None:
    """Whether it keeps the tokens or not."""
    data = _gap()
    (own,) = data.documents
    she, eve = own.tokens.index("she"), own.tokens.index("Eve")
    document = replace(own, clusters=(((eve, eve + 1), (she, she + 1)),))
    assert answers_of([document], data, "f") == [(False, True)]
    words = tuple(TEXT.replace(",", " ,").split())
    she, eve = words.index("she"), words.index("Eve")
    other = replace(own, sentences=(words,), clusters=(((eve, eve + 1), (she, she + 1)),))
    assert answers_of([other], data, "f") == [(False, True)]
    with pytest.raises(
        WordbiasError, match=r"^f: document t-1: token 1, 'Anne': expected the text"
    ):
        answers_of([replace(own, sentences=(("Dr.", "Anne"),))], data, "f")
    with pytest.raises(WordbiasError, match=r"^f: has no document 't-1'"):
        answers_of([replace(own, name="t-2")], data, "f")


def _official(texts: list[GapText], answers: list[Answer], feminine: bool | None) -> list[float]:
    """Count as the official scorer does, two decisions per text."""
    tp = fp = fn = 0
    for text, given in zip(texts, answers, strict=True):
        if feminine in (None, text.feminine):
            for gold, predicted in zip(text.gold, given, strict=True):
                tp += gold and predicted
                fp += predicted and not gold
                fn += gold and not predicted
    recall, precision = 100 * tp / (tp + fn), 100 * tp / (tp + fp)
    return [recall, precision, 2 * recall * precision / (recall + precision)]


@pytest.fixture
def made() -> tuple[Gap, list[Answer]]:
    seed = random.Random(0)
    texts = [_text(seed, feminine=i % 2 == 0) for i in range(60)]
    wrong = ((True, False), (False, True), (True, True), (False, False))
    answers = [text.gold if seed.random() < 0.6 else seed.choice(wrong) for text in texts]
    return Gap("gap.tsv", texts), answers


def _rows(data: Gap, answers: list[Answer], draws: int = 200) -> dict[tuple[str, str], Row]:
    rows = gap_rows(data, answers, "x", draws=draws, seed=0)
    return {(row.measure, row.details["set"]): row for row in rows}


def test_scores_are_those_of_the_official_scorer(made: tuple[Gap, list[Answer]]) -> None:
    data, answers = made
    rows = _rows(data, answers)
    f1 = {}
    for name, feminine in (("all", None), ("feminine", True), ("masculine", False)):
        expected = _official(list(data.texts), answers, feminine)
        values = [rows[f"gap-{part}", name].value for part in ("recall", "precision", "f1")]
        assert values == pytest.approx(expected)
        f1[name] = expected[-1]
        row = rows["gap-f1", name]
        assert row.details["low"] < expected[-1] < row.details["high"]
    row = rows["gap-ratio", "feminine / masculine"]
    assert row.value == pytest.approx(f1["feminine"] / f1["masculine"])
    assert row.details["low"] < row.value < row.details["high"]


def test_chance_is_the_f1_of_one_name_at_random(made: tuple[Gap, list[Answer]]) -> None:
    """F1 of mean counts is the limit of that of many random answers."""
    data, answers = made
    rng = np.random.default_rng(0)
    texts = list(data.texts) * 400
    guesses = [((True, False), (False, True))[i] for i in rng.integers(2, size=len(texts))]
    expected = _official(texts, guesses, None)
    chance = _rows(data, answers)["gap-f1", "all"].details["chance"]
    sd = 100 * math.sqrt(0.25 / len(texts))  # of the share of right names, which F1 is below
    assert chance == pytest.approx(expected[-1], abs=4 * sd)


def test_the_ratio_has_a_large_p_if_genders_are_alike_and_a_small_one_if_not(
    made: tuple[Gap, list[Answer]],
) -> None:
    data, answers = made
    key = "gap-ratio", "feminine / masculine"
    twins = Gap(
        "x", [replace(text, feminine=side) for text in data.texts for side in (True, False)]
    )
    alike = [given for given in answers for _ in range(2)]
    assert _rows(twins, alike)[key].value == pytest.approx(1)
    assert _rows(twins, alike)[key].details["p"] == 1
    biased = [text.gold if not text.feminine else text.gold[::-1] for text in data.texts]
    row = _rows(data, biased)[key]
    assert row.value is None  # all pronouns of women are resolved wrong
    assert "undefined: F1" in row.details["reason"]
    biased[0] = data.texts[0].gold if any(data.texts[0].gold) else (True, False)
    half = [
        g if i % 3 else text.gold
        for i, (text, g) in enumerate(zip(data.texts, biased, strict=True))
    ]
    assert _rows(data, half)[key].details["p"] == pytest.approx(1 / 201)


def test_without_draws_there_is_no_interval_and_no_p(made: tuple[Gap, list[Answer]]) -> None:
    for row in _rows(*made, draws=0).values():
        assert not {"low", "p"} & row.details.keys()


@pytest.mark.parametrize(
    ("split", "count"), [("development", 2000), ("validation", 454), ("test", 2000)]
)
def test_the_real_files(shared_data: Path, split: str, count: int) -> None:
    data = parse_gap(read_text(shared_data / "coref" / f"gap-{split}.tsv.gz"))
    assert len(data.texts) == count
    assert sum(text.feminine for text in data.texts) == count // 2
    gold = [text.gold for text in data.texts]
    rows = _rows(data, gold, draws=0)
    assert {row.value for (m, _), row in rows.items() if m == "gap-f1"} == {100.0}
    documents = data.documents  # whose tokens hold every pronoun and name
    assert answers_of(documents, data, "x") == [(False, False)] * count
