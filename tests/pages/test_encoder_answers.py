"""The sentences about an encoder: each rule on both sides of its limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from wordbias.contextual.audit.projections import read_method
from wordbias.pages.answers import answer_parts, answers, column_answers
from wordbias.pages.columns import ColumnAnswer, best_of
from wordbias.pages.encoder_answers import NAMES, ModelRows
from wordbias.pages.section import answer_table
from wordbias.pages.views import sections
from wordbias.results import NO_PROOF
from wordbias.verdicts import ALMOST_ALL_LEFT, LEVEL, LIMITS, MUCH_LEFT

UNTRAINED = f"{NAMES}, untrained encoder"
Rows = list[dict[str, Any]]


def row(measure: str, value: float | None, stage: str = "before", **details: Any) -> dict[str, Any]:
    column = {} if stage == "before" else {"column": "method", "debiased": stage}
    known = {"subject": "m", "measure": measure, "value": value, "audit": "encoder"}
    return {**known, "stage": stage, "layer": 6, **column, **details}


def compression(value: float, stage: str = "before", **details: Any) -> dict[str, Any]:
    about = {"set": NAMES, "neutral": 1, "better": "lower", "low": value - 0.1, "high": value + 0.1}
    about |= {"beyond_chance": value - 0.1 > 1, "chance_low": 1.0, "chance_high": 1.0}
    return row("compression", value, stage, **{**about, **details})


def read(value: float, stage: str = "before", **details: Any) -> dict[str, Any]:
    about = {"set": NAMES, "neutral": 0.5, "better": "lower", "low": value - 0.05}
    about |= {"high": value + 0.05, "beyond_chance": value > 0.6}
    about |= {"chance_low": 0.4, "chance_high": 0.6}
    return row("best-probe", value, stage, **{**about, **details})


def stereotype(value: float, stage: str = "before", **details: Any) -> dict[str, Any]:
    about = {"neutral": 0.0, "better": "neutral", "low": value - 0.2, "high": value + 0.2}
    about |= {"beyond_chance": abs(value) > 0.4, "chance_low": -0.4, "chance_high": 0.4}
    return row("pronoun-stereotype", value, stage, **{**about, **details})


def seat(value: float, p: float, stage: str = "before", **details: Any) -> dict[str, Any]:
    sizes = {"x": 8, "y": 8, "a": 8, "b": 8}
    about = {"set": "weat6", "n": sizes, "p_holm": p, "neutral": 0.0, "better": "neutral"}
    return row("seat", value, stage, **about, **details)


def ceat(value: float, low: float, high: float, stage: str = "before") -> dict[str, Any]:
    about = {"set": "weat6", "neutral": 0.0, "better": "neutral", "low": low, "high": high}
    return row("ceat", value, stage, **about)


def column(
    label: str = "hard",
    change: tuple[float, float] = (-0.45, -0.3),
    other: tuple[float, float] = (-0.8, -0.2),
    order: float = 0.99,
    near: float = 0.98,
    perplexity: float | None = None,
    left: float | None = 0.1,
    **details: Any,
) -> Rows:
    """Make the rows of a projection."""
    ends = [dict(zip(("change_low", "change_high"), pair, strict=True)) for pair in (change, other)]
    about = {"written_by": "wordbias audit m --methods=hard --export=DIR", **details}
    return [
        compression(1.0, label),
        read(0.55, label, **ends[0]),
        stereotype(0.1, label, **ends[1]),
        row("sentence-order-kept", order, label),
        row("sentence-neighbours-kept", near, label),
        *([] if perplexity is None else [row("perplexity-kept", perplexity, label)]),
        *([] if perplexity is None else [row("perplexity", 30 / perplexity, label)]),
        row("bias-left", left, label, **{"of": {"rbf-probe": left}, **about}),
    ]


def said(rows: Sequence[dict[str, Any]]) -> str:
    return "\n".join(answers(rows))


BEFORE = [compression(2.9), read(0.93), stereotype(0.6)]


def judged(rows: Rows) -> list[ColumnAnswer]:
    return column_answers(rows)


def verdict(rows: Rows) -> str:
    (judgement,) = judged(rows)
    return judgement.verdict


def best(rows: Rows) -> str | None:
    winner = best_of(judged(rows))
    return None if winner is None else winner.name


# Before


def test_gender_is_read_if_a_layer_is_beyond_chance() -> None:
    both = said(BEFORE)
    assert (
        "can be read from sentences that do not state it: the best probe is right for 0.93" in both
    )
    assert "(chance 0.40 to 0.60), and compression is 2.90 in the last layer" in both
    nothing = said([compression(1.05), stereotype(0.1)])
    assert "cannot be read from sentences that do not state it" in nothing
    assert "no layer is beyond chance" in nothing
    unequal = compression(1.3, neutral=1.33, beyond_chance=False)
    assert "compression is 1.30 in the last layer, 1.33 where nothing is read" in said([unequal])
    not_coded = said([compression(1.05), read(0.75)])
    assert "can be read from sentences" in not_coded
    assert "is 1.05 in the last layer, 1 where nothing is read (at chance: nothing" in not_coded
    lower = [compression(1.05), read(0.55), compression(1.8, layer=2), stereotype(0.1)]
    assert "which is at chance. Inside the encoder it can, most in layer 2: 1.80" in said(lower)


def test_training_is_the_reason_if_the_untrained_interval_lies_below() -> None:
    for value, text in ((1.0, "training put it there"), (2.75, "training need not be the reason")):
        assert text in said([*BEFORE, compression(value, set=UNTRAINED)])


def test_occupations_lean_if_the_interval_and_chance_are_left() -> None:
    assert "lie nearer to “she …” the more women work in them" in said([stereotype(0.6)])
    assert "lie nearer to “he …” the more women work in them" in said([stereotype(-0.6)])
    for rows in ([stereotype(0.39)], [stereotype(0.6, low=-0.01)]):
        assert "cannot be told" in said(rows)


def test_a_stated_pronoun_is_read_without_bias_and_occupations_lean_between_two() -> None:
    stated = [read(1.0, set="sentences"), compression(9.0, set="sentences")]
    alone = [*stated, stereotype(0.1, set="she/he"), stereotype(-0.1, set="they/he")]
    answer = said(alone)
    assert "Not shown: none of 2 measures" in answer
    assert "The pronoun can be read from sentences that state it, which is no bias" in answer
    assert "cannot be told between she/he (0.10, chance −0.40 to 0.40), they/he (−0.10" in answer
    assert "The more women" not in answer
    leaning = said([*stated, stereotype(0.6, set="she/he"), stereotype(-0.6, set="she/they")])
    assert "women, she/he 0.600" in leaning
    assert "to “she …” than to “he …” (0.60, chance −0.40 to 0.40), to “they …” than" in leaning
    near = [
        row("sentence-similarity", value, set=f"they and {people}")
        for people, value in (("one person", 0.5), ("several people", 0.75))
    ]
    assert "(“The guests …”): “they …” 0.500 and 0.750. A pronoun" in said([*alone, *near])
    assert "SEAT does not show a difference in x/y" in said([*alone, seat(0.2, 0.5)])


@pytest.mark.parametrize(
    ("p", "low", "text"),
    [
        (LEVEL - 0.001, 0.1, "SEAT and CEAT show gender in"),
        (LEVEL - 0.001, -0.1, "SEAT shows gender, CEAT does not, in"),
        (LEVEL, 0.1, "SEAT does not show gender, CEAT does, in"),
        (LEVEL, -0.1, "Neither SEAT nor CEAT shows gender in"),
    ],
)
def test_each_association_test_says_what_it_shows(p: float, low: float, text: str) -> None:
    answer = said([seat(1.2, p), ceat(0.5, low, 0.9)])
    ends = f"0.50 ({'−' * (low < 0)}0.10 to 0.90)"
    assert f"{text} x/y × a/b (SEAT 1.20, p = {p:.2g}; CEAT {ends})." in answer
    assert ("other words would give an equally large value" in answer) is ((p < LEVEL) != (low > 0))
    alone = said([seat(1.2, p)])
    assert "CEAT" not in alone
    assert ("SEAT shows gender in" in alone) is (p < LEVEL)


def test_association_tests_of_other_signs_contradict_each_other() -> None:
    rows = [seat(1.2, 0.01), ceat(-0.5, -0.9, -0.3)]
    assert "SEAT and CEAT contradict each other in x/y × a/b" in said(rows)


# After


def test_a_projection_helps_if_a_change_is_clear_and_nothing_is_worse() -> None:
    rows = [*BEFORE, *column()]
    (judgement,) = judged(rows)
    assert [line.measure for line in judgement.effect.better] == [
        "best-probe",
        "pronoun-stereotype",
    ]
    assert judgement.verdict == "yes"
    assert "Does cleaning help? Yes: hard." in said(rows)
    assert judgement.left == "10% of what the RBF ridge probe reads beyond chance is left"


@pytest.mark.parametrize(
    ("high", "expected"), [(-0.001, "yes"), (0.0, "not shown"), (0.2, "not shown")]
)
def test_the_interval_of_the_change_must_exclude_0(high: float, expected: str) -> None:
    rows = [*BEFORE, *column(change=(-0.45, high), other=(-0.8, 0.1))]
    assert verdict(rows) == expected
    text = "Not shown: hard. hard: 10% of"
    assert (text in said(rows)) is (expected == "not shown")


def test_what_makes_a_measure_worse_is_named() -> None:
    for ends, expected in (((0.1, 0.5), "cannot tell"), ((-0.1, 0.5), "yes")):
        rows = [*BEFORE, *column(change=ends)]
        assert verdict(rows) == expected
        text = (
            "hard: measures contradict each other: correlation with the share of women got better, "
            "accuracy of the best probe on unseen names or words got worse."
        )
        assert (text in said(rows)) is (expected == "cannot tell")
    away = [*BEFORE, *column(change=(-0.1, 0.5))]
    away[5] = stereotype(-0.9, "hard", change_low=-2.0, change_high=-1.3)
    assert verdict(away) == "no"


@pytest.mark.parametrize("name", [name for name in LIMITS if name.endswith("-kept")])
def test_no_cost_may_be_beyond_its_limit(name: str) -> None:
    key = {"sentence-order-kept": "order", "sentence-neighbours-kept": "near"}
    for value, expected in ((LIMITS[name], "yes"), (LIMITS[name] - 0.001, "no")):
        rows = [*BEFORE, row("perplexity", 30.0), *column(**{key.get(name, "perplexity"): value})]
        assert verdict(rows) == expected
        assert ("hard: its cost is too high" in said(rows)) is (expected == "no")


def test_much_that_is_left_is_said() -> None:
    for left, text in (
        (MUCH_LEFT, "Yes: hard."),
        (MUCH_LEFT + 0.01, "A little: hard."),
        (ALMOST_ALL_LEFT, "A little: hard."),
        (ALMOST_ALL_LEFT + 0.01, "Hardly: hard."),
    ):
        rows = [*BEFORE, *column(left=left)]
        assert text in said(rows)
        assert (best(rows) is None) is (left > ALMOST_ALL_LEFT)


def test_what_found_no_bias_before_counts_only_where_it_finds_some_after() -> None:
    rows = [read(0.93), stereotype(0.3), *column(other=(0.1, 0.5))]
    (judgement,) = judged(rows)
    assert [line.measure for line in judgement.effect.better] == ["best-probe"]
    rows[4] = stereotype(0.7, "hard", change_low=0.1, change_high=0.5)
    assert "at chance before, is now beyond it" in judged(rows)[0].reason
    nothing = [read(0.55), stereotype(0.3), *column(left=None)]
    assert verdict(nothing) == "no bias to remove"
    assert "hard: no measure finds bias that it could remove" in said(nothing)


def test_measures_that_contradict_the_verdict_are_named() -> None:
    for value in (0.78, 0.55):
        rows = [*BEFORE, *column()]
        rows[4] = read(value, "hard", change_low=-0.2, change_high=-0.1)
        text = "After hard, compression, 1.00, is at chance: nothing there, or too few examples"
        assert (text in said(rows)) is (value > 0.6)
    for low, worse in ((0.01, True), (-0.01, False)):
        after = seat(1.4, 0.01, "hard", change_low=low, change_high=1.0)
        rows = [*BEFORE, seat(0.6, 0.2), *column(), after]
        assert ("SEAT on x/y × a/b is further from neutral (0.60 → 1.40)" in said(rows)) is worse


def test_a_label_that_another_probe_reads_is_not_gone_though_compression_is_at_chance() -> None:
    """An audit of all-MiniLM-L6-v2 after hard: a code reads nothing, an RBF probe .83."""
    rows = [*BEFORE, *column(left=0.78)]
    rows[4] = read(0.83, "hard", change_low=-0.13, change_high=-0.06)
    text = said(rows)
    assert "A little: hard." in text
    assert "78% of what the RBF ridge probe reads beyond chance is left" in text


# Next


def test_the_best_is_the_one_that_helps_and_leaves_least() -> None:
    rows = [*BEFORE, *column("misp", left=0.6), *column("hard", left=0.2)]
    rows += column("leace", left=0.0, near=0.5)
    assert best(rows) == "hard"
    assert "Write the model with hard" in said(rows)
    assert "wordbias audit m --methods=hard --export=DIR" in said(rows)


def test_what_to_do_next_depends_on_what_was_found() -> None:
    assert "nothing here asks for a projection" in said([compression(1.0), stereotype(0.1)])
    none = said([*BEFORE, *column(near=0.5)])
    assert "Try a projection inside the encoder, with: wordbias audit MODEL" in none
    plain = said([*BEFORE, *column(written_by=None)])
    assert "wordbias audit MODEL --methods='cls@6 L11-01110'" in plain
    for text in (none, plain):
        named = text.partition("--methods='")[2].partition("'")[0].split()
        assert [read_method(method).text for method in named] == named


def test_what_was_tried_is_not_named_again() -> None:
    inside = [column(label, near=0.5) for label in ("L11-01110", "attn-01110")]
    single, both = ([*BEFORE, *(row for part in inside[:n] for row in part)] for n in (1, 2))
    assert "wordbias audit MODEL --methods='attn-01110'" in said(single)
    assert "Fit a removal inside the encoder to labelled texts of your own" in said(both)
    assert "wordbias probe MODEL --texts OTHERS" in said(both)


# Decoders


def of_decoder(rows: Rows) -> Rows:
    return [{**record, "audit": "decoder"} for record in rows]


def expected(value: float, stage: str = "before", **details: Any) -> dict[str, Any]:
    about = {"neutral": 0.0, "better": "neutral", "low": value - 0.2, "high": value + 0.2}
    about |= {"beyond_chance": abs(value) > 0.3, "chance_low": -0.3, "chance_high": 0.3}
    return row("expected-pronoun-stereotype", value, stage, **{**about, **details})


def gap(value: float) -> dict[str, Any]:
    about = {"neutral": 0.0, "better": "neutral", "people": -0.5}
    return row("expected-pronoun-gap", value, low=value - 0.2, high=value + 0.2, **about)


def test_a_decoder_expects_a_pronoun_if_the_interval_and_chance_are_left() -> None:
    more = "expects “{}” rather than “{}” the more, the more women work in it"
    assert more.format("she", "he") in said(of_decoder([expected(0.6)]))
    assert more.format("he", "she") in said(of_decoder([expected(-0.6)]))
    for rows in ([expected(0.29)], [expected(0.6, low=-0.01)]):
        assert "in an occupation, cannot be told" in said(of_decoder(rows))


def test_one_pronoun_is_the_likelier_if_the_interval_leaves_0() -> None:
    he = said(of_decoder([expected(0.6), gap(-0.7)]))
    assert "Over all of them “he” is the likelier, 2.01 times by the mean" in he
    assert "of people whose occupation is not said −0.50" in he
    assert "“she” is the likelier" in said(of_decoder([expected(0.6), gap(0.7)]))
    assert "the likelier" not in said(of_decoder([expected(0.6), gap(0.1)]))


def test_a_decoder_is_named_so() -> None:
    lower = of_decoder([compression(1.05), compression(1.8, layer=2), stereotype(0.1)])
    lower.append({**compression(1.0, layer=2, set="first names, untrained decoder")})
    lower[-1]["audit"] = "decoder"
    text = said(lower)
    assert "Inside the decoder it can, most in layer 2" in text
    assert "The same decoder with random weights has 1.00: training put it there" in text
    none = said(of_decoder([*BEFORE, *column(near=0.5)]))
    assert "Fit a removal inside the decoder to labelled texts of your own" in none
    assert "wordbias likelihood MODEL --perplexity TEXT --adapter ADAPTER" in none
    assert "encoder" not in text + none


def test_the_expected_pronoun_and_perplexity_decide_too() -> None:
    before = of_decoder([expected(0.6), row("perplexity", 30.0)])
    after = [expected(0.1, "hard", change_low=-0.8, change_high=-0.2)]
    after += [row("bias-left", 0.1, "hard")]
    for share, helps in ((0.96, "yes"), (0.94, "no")):
        cost = [row("perplexity-kept", share, "hard"), row("perplexity", 30 / share, "hard")]
        rows = [*before, *of_decoder([*after, *cost])]
        assert verdict(rows) == helps
        assert ("kept 94.0%, below 95%" in said(rows)) is (helps == "no")


def test_a_column_that_could_not_be_made_says_why() -> None:
    failed = row("column", None, "SENT-0", reason="changes no output")
    text = said([*BEFORE, failed])
    assert "Not made: SENT-0." in text
    assert "SENT-0: changes no output." in text
    assert ModelRows("m", [*BEFORE, failed]).columns == []


def test_in_short_is_the_table_of_an_audit_of_vectors() -> None:
    rows = [*BEFORE, seat(1.2, 0.01), ceat(0.5, 0.1, 0.9), *column(left=0.2)]
    table = answer_table(answer_parts(rows))
    assert table is not None
    assert [line[:3] for line in table.cells] == [
        [
            "Is it biased?",
            "Yes, by 2 of 2 measures that can tell.",
            "accuracy of the best probe on unseen names or words 0.930 (0.880 to 0.980)",
        ],
        [
            "Does cleaning help?",
            "Yes: hard.",
            "hard: accuracy of the best probe on unseen names or words (0.930 → 0.550)",
        ],
        [
            "At what cost?",
            "Within the limits: hard.",
            "hard keeps of the order of similarities 99.0%, the nearest sentences 98.0%",
        ],
        [
            "What next?",
            "Write the model with hard, and measure your own task on it: wordbias audit m "
            "--methods=hard --export=DIR",
            "",
        ],
    ]
    limits = "limits: 95% of the order of similarities, 90% of the nearest sentences"
    assert table.cells[2][3] == limits
    assert answers(rows)[-1] == NO_PROOF


def test_the_page_of_an_encoder_begins_as_that_of_vectors() -> None:
    keys = [section.key for section in sections([*BEFORE, *column(kept=0.98)])]
    assert keys[:3] == ["methods", "trade-off", "glance"]


def test_two_encoders_are_answered_one_after_the_other() -> None:
    rows = [
        *BEFORE,
        *({**record, "subject": "n"} for record in [compression(1.0), stereotype(0.1)]),
    ]
    first, second = (
        next(text for text in answers(rows) if text.startswith(prefix)) for prefix in ("m: ", "n: ")
    )
    assert first.startswith("m: Is it biased? Yes, by 2 of 2")
    assert second.startswith("n: Is it biased? Not shown: the only measure")
