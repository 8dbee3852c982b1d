"""Answers of a report: each rule with rows on both sides of its limits."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordbias.data import sample_path
from wordbias.measures.registry import SECTIONS
from wordbias.pages import words
from wordbias.pages.answers import answer_parts, answers, column_answers
from wordbias.pages.main_measures import main_lines
from wordbias.pages.methods import method_sections
from wordbias.pages.section import Answer, answer_table
from wordbias.pages.views import sections
from wordbias.results import NO_PROOF
from wordbias.verdicts import ALMOST_ALL_LEFT, LIMITS, MUCH_LEFT

MAIN = {family.key: family for family in SECTIONS}
LOWER = {"neutral": 0.0, "better": "lower"}
CHANCE = {"chance": 0.1, "chance_low": 0.05, "chance_high": 0.15}
BEYOND = {**LOWER, **CHANCE, "beyond_chance": True}
WITHIN = {**LOWER, **CHANCE, "beyond_chance": False}
Row = dict[str, Any]


def row(key: str, value: float | None, subject: str = "glove", **details: Any) -> Row:
    family = MAIN[key]
    about = {"setting": family.main_variant} if family.main_variant else {}
    return {"subject": subject, "measure": family.main, "value": value, **about, **details}


def column(
    key: str,
    before: float,
    after: float,
    half: float = 0.01,
    *,
    stage: str = "hard",
    **said: Any,
) -> list[Row]:
    """Rows before and after, the second with the interval of its paired change."""
    change = after - before
    ends = {"change": change, "change_low": change - half, "change_high": change + half}
    wide = {"low": min(before, after) - 1, "high": max(before, after) + 1}
    said = {"better": "lower", "neutral": 0.0, **wide, **said}
    return [
        row(key, before, stage="before", **said),
        row(key, after, stage=stage, column="method", debiased=stage, **ends, **said),
    ]


def kept(share: float, stage: str = "hard") -> Row:
    return row("moved", share, stage=stage, column="method", neutral=1.0, better="higher")


def quality(before: float, after: float, measure: str = "similarity") -> list[Row]:
    about = {"subject": "glove", "measure": measure, "set": "men", "better": "higher"}
    return [
        {**about, "value": before, "stage": "before"},
        {**about, "value": after, "stage": "hard", "column": "method"},
    ]


def asked(rows: list[Row], question: str) -> str:
    """Return the answer to a question and what explains it, empty if it is not answered."""
    answer = next((part for part in answer_parts(rows) if question in part.question), Answer(""))
    return " ".join(answer.lines).removeprefix(answer.question).strip()


# Is it biased?


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({"gipe": BEYOND, "direct-bias": BEYOND}, "Yes, by 2 of 2 measures"),
        ({"gipe": BEYOND, "direct-bias": WITHIN}, "Perhaps: one of 2 measures"),
        ({"gipe": BEYOND}, "Yes, by the only measure that can tell."),
        ({"gipe": WITHIN}, "Not shown: the only measure that can tell finds no more than chance"),
        ({"gipe": WITHIN, "direct-bias": WITHIN}, "Not shown: none of 2 measures"),
        ({"gipe": LOWER, "direct-bias": LOWER}, "Cannot tell"),
    ],
)
def test_bias_is_found_by_measures_beyond_chance(found: dict[str, Row], said: str) -> None:
    rows = [row(key, 0.2, **about) for key, about in found.items()]
    assert asked(rows, "Is it biased?").startswith(said)


@pytest.mark.parametrize(("p", "said"), [(0.024, "Yes, by 1 of 2"), (0.026, "Perhaps")])
def test_a_single_finding_needs_a_p_that_stands_for_all_measures(p: float, said: str) -> None:
    interval = {"low": 0.1, "high": 1.5, "neutral": 0.0, "better": "neutral", "p": p}
    rows = [row("weat", 1.0, **interval), row("gipe", 0.1, **WITHIN)]
    assert asked(rows, "Is it biased?").startswith(said)


@pytest.mark.parametrize(
    ("value", "p", "said"),
    [(1.0, 0.049, "Yes"), (1.0, 0.05, "Not shown"), (-1.0, 0.97, "Yes"), (-1.0, 0.04, "Not shown")],
)
def test_an_interval_of_few_words_needs_a_p_too(value: float, p: float, said: str) -> None:
    ends = {"low": min(value, 1.5 * value), "high": max(value, 1.5 * value)}
    about = {**ends, "neutral": 0.0, "better": "neutral", "p": p, "alternative": "greater"}
    text = asked([row("weat", value, **about)], "Is it biased?")
    assert text.startswith(said)
    assert ("p =" in text) == (value > 0)


@pytest.mark.parametrize(("low", "said"), [(0.1, "Yes"), (-0.1, "Not shown")])
def test_without_a_chance_level_an_interval_around_neutral_finds_nothing(
    low: float, said: str
) -> None:
    about = {"low": low, "high": 1.5, "neutral": 0.0, "better": "neutral", "p": 0.0021}
    text = asked([row("weat", 1.0, **about)], "Is it biased?")
    assert text.startswith(said)
    assert f"1.000 ({'−' * (low < 0)}0.100 to 1.500); 0 without bias, p = 0.0021." in text


def test_a_value_that_is_never_below_neutral_is_not_judged_by_its_interval() -> None:
    text = asked([row("mab", 0.6, low=0.59, high=0.61, **LOWER)], "Is it biased?")
    assert text.startswith("Cannot tell")
    both = asked([row("mab", 0.6, **LOWER), row("gipe", 0.2, **BEYOND)], "Is it biased?")
    assert "Not judged, for want of a chance level: marked attribute bias" in both


def test_measures_that_disagree_are_both_named_the_clearest_first() -> None:
    rows = [
        row("gipe", 0.2, **BEYOND),
        row("midb", 0.9, **BEYOND),
        row("direct-bias", 0.1, **WITHIN),
    ]
    text = asked(rows, "Is it biased?")
    assert text.index("MIDB") < text.index("GIPE") < text.index("No more than chance by direct")
    assert "The measures disagree" in text
    assert "disagree" not in asked(rows[:2], "Is it biased?")


def test_occupations_are_named_the_furthest_first_on_both_sides() -> None:
    lean = {"nurse": 0.4, "maid": 0.5, "boss": -0.2, "miner": -0.5}
    rows = [row("direct-bias", 0.1, **LOWER)] + [
        {
            "subject": "glove",
            "measure": words.LEAN,
            "value": value,
            "word": word,
            "set": words.OCCUPATIONS,
            "towards": "female" if value > 0 else "male",
        }
        for word, value in lean.items()
    ]
    sentence = (
        "Of the occupations, most lean towards male: miner, boss; towards female: maid, nurse."
    )
    assert asked(rows, "Is it biased?").endswith(sentence)


# Embeddings that people know


def test_a_value_is_placed_among_those_that_people_know() -> None:
    known = {"GloVe": 0.1, "GoogleNews": 0.3, "fastText": 0.15}
    text = asked([row("gipe", 0.2, **BEYOND, known_values=known)], "Is it biased?")
    assert (
        "people know: GIPE 0.200: 2 of 3 are nearer to no bias (GloVe 0.100 to GoogleNews 0.300)"
        in text
    )
    same = asked([row("gipe", 0.2, **BEYOND, known_values={"a": 0.1999, "b": 0.198})], "biased")
    assert "GIPE 0.200: 1 of 2 is nearer to no bias (b 0.198 to a 0.200)" in same
    for about in ({**WITHIN, "known_values": known}, BEYOND):
        assert "people know" not in asked([row("gipe", 0.2, **about)], "Is it biased?")


def test_of_a_two_sided_measure_the_distance_from_neutral_is_compared() -> None:
    about = {"neutral": 0.0, "better": "neutral", "low": 0.1, "high": 2.0}
    known = {"a": -1.5, "b": 0.5}
    text = asked([row("weat", 1.0, **about, known_values=known)], "Is it biased?")
    assert "1.000: 1 of 2 is nearer to no bias (b 0.500 to a −1.500)" in text


def test_known_values_that_are_no_numbers_are_left_out() -> None:
    for known in ({"a": "0.1", "b": 0.1, "c": None}, {"a": "0.1"}, ["a"], "a"):
        text = asked([row("gipe", 0.2, **BEYOND, known_values=known)], "Is it biased?")
        assert ("GIPE 0.200: 1 of 1 is nearer to no bias (b 0.100)" in text) == ("b" in known)


# Does cleaning help?


def verdict(rows: list[Row]) -> str:
    (answer,) = column_answers(rows)
    return answer.verdict


@pytest.mark.parametrize(
    ("after", "half", "expected"),
    [(0.1, 0.05, "yes"), (0.1, 0.11, "not shown"), (0.3, 0.05, "no"), (0.2, 0.0, "no")],
)
def test_a_method_helps_only_if_the_interval_of_a_change_is_below_0(
    after: float, half: float, expected: str
) -> None:
    assert verdict(column("gipe", 0.2, after, half, **BEYOND)) == expected


@pytest.mark.parametrize(
    ("about", "expected"), [(BEYOND, "yes"), ({}, "yes"), (WITHIN, "no bias to remove")]
)
def test_a_change_of_a_value_within_chance_does_not_count(about: Row, expected: str) -> None:
    assert verdict(column("gipe", 0.2, 0.1, **about)) == expected


def test_a_change_of_what_was_not_compared_with_chance_says_so() -> None:
    unjudged, judged = column("mab", 0.2, 0.1), column("gipe", 0.2, 0.1, **BEYOND)
    for rows, expected in ((unjudged, True), (judged, False), ([*unjudged, *judged], False)):
        text = asked(rows, "Does cleaning help?")
        assert text.startswith("Yes: hard.")
        assert ("they may have found no bias at all" in text) == expected


@pytest.mark.parametrize(("p", "said"), [(0.001, "p = 0.001"), (7.8e-05, "p < 0.001")])
def test_a_very_small_p_is_written_as_a_limit(p: float, said: str) -> None:
    about = {"low": 0.1, "high": 1.5, "neutral": 0.0, "better": "neutral", "p": p}
    assert said in asked([row("weat", 1.0, **about)], "Is it biased?")


@pytest.mark.parametrize(("after", "expected"), [(0.1949, "yes"), (0.1951, "no")])
def test_a_change_that_nobody_would_notice_does_not_count(after: float, expected: str) -> None:
    assert verdict(column("gipe", 0.2, after, 0.0001, **BEYOND)) == expected  # chance is .1
    rows = [*column("gipe", 0.2, 0.1, **BEYOND), *column("mab", 0.5, 0.52, 0.001)]
    assert verdict(rows) == "yes"
    assert verdict([*rows[:2], *column("mab", 0.5, 0.53, 0.001)]) == "cannot tell"


@pytest.mark.parametrize(("after", "expected"), [(-0.5, "yes"), (-1.5, "no")])
def test_a_two_sided_value_must_come_nearer_to_neutral(after: float, expected: str) -> None:
    rows = column("gipe", 1.0, after, better="neutral", low=0.5, high=1.5)
    assert verdict(rows) == expected


@pytest.mark.parametrize(
    ("cost", "expected"),
    [
        ([kept(LIMITS["neighbours"])], "yes"),
        ([kept(LIMITS["neighbours"] - 0.001)], "no"),
        (quality(1.0, LIMITS["similarity"]), "yes"),
        (quality(1.0, LIMITS["similarity"] - 0.001), "no"),
        (quality(1.0, LIMITS["similarity"] - 0.001, "analogy"), "no"),
    ],
)
def test_a_method_that_costs_more_than_the_limit_does_not_help(
    cost: list[Row], expected: str
) -> None:
    (answer,) = column_answers([*column("gipe", 0.2, 0.1, **BEYOND), *cost])
    assert answer.verdict == expected
    assert ("its cost is too high" in answer.reason) == (expected == "no")


def test_measures_that_contradict_each_other_are_both_named() -> None:
    rows = [*column("gipe", 0.2, 0.1, **BEYOND), *column("mab", 0.2, 0.3)]
    assert verdict(rows) == "cannot tell"
    text = asked(rows, "Does cleaning help?")
    assert text.startswith("Cannot tell: hard.")
    assert "hard: measures contradict each other: GIPE got better, marked attribute bias" in text


def raised(before: float, after: float, half: float = 0.01) -> list[Row]:
    """Rows of direct bias, whose chance level is .05 to .15."""
    rows = column("direct-bias", before, after, half, **CHANCE)
    return [{**row, "beyond_chance": row["value"] > CHANCE["chance_high"]} for row in rows]


def test_bias_that_was_at_chance_and_no_longer_is_is_named() -> None:
    helped = column("gipe", 0.2, 0.1, **BEYOND)
    rows = [*helped, *raised(0.1, 0.2)]
    assert verdict(rows) == "yes"
    text = asked(rows, "Does cleaning help?")
    assert text.startswith("Yes, but: hard.")
    assert "hard: direct bias, at chance before, is now beyond it." in text
    (answer,) = column_answers(rows)
    assert [line.measure for line in answer.effect.raised] == ["direct-bias"]
    for nothing in (raised(0.1, 0.14), raised(0.2, 0.3), raised(0.14, 0.16, 0.03)):
        assert "at chance before" not in asked([*helped, *nothing], "Does cleaning help?")
    assert verdict(raised(0.1, 0.2)) == "no"
    assert verdict(raised(0.1, 0.14)) == "no bias to remove"


@pytest.mark.parametrize(
    ("method", "key", "expected"),
    [
        ("misp", "midb", "cannot tell"),
        ("misp:dims=8", "midb", "cannot tell"),
        ("inlp", "midb", "yes"),
        ("double-hard", "midb", "yes"),
        ("hard", "direct-bias", "cannot tell"),
        ("hard,misp", "direct-bias", "cannot tell"),
        ("mine.txt", "direct-bias", "yes"),
    ],
)
def test_what_falls_by_construction_is_no_evidence(method: str, key: str, expected: str) -> None:
    assert verdict(column(key, 0.2, 0.1, stage=method, **BEYOND)) == expected


def test_without_any_interval_nothing_can_be_told() -> None:
    rows = [
        row("gipe", value, stage=stage, column="method", **BEYOND)
        for stage, value in (("before", 0.2), ("hard", 0.1))
    ]
    assert verdict(rows) == "cannot tell"


def test_rows_of_a_single_method_are_judged_by_both_intervals() -> None:
    def pair(half: float) -> list[Row]:
        return [
            row("gipe", value, stage=stage, low=value - half, high=value + half, **BEYOND)
            for stage, value in (("before", 0.2), ("after", 0.1))
        ]

    assert verdict(pair(0.04)) == "yes"
    assert verdict(pair(0.06)) == "not shown"


def test_a_column_that_failed_says_why_and_the_others_are_judged() -> None:
    failed = {"subject": "glove", "measure": "column", "value": None, "stage": "leace"}
    rows = [*column("gipe", 0.2, 0.1, **BEYOND), {**failed, "reason": "too few names."}]
    text = asked(rows, "Does cleaning help?")
    assert text.startswith("Yes: hard. Not made: leace.")
    assert "leace: too few names." in text


@pytest.mark.parametrize(("stage", "better"), [("hard", ["midb-unit-abs"]), ("misp", [])])
def test_midb_of_unit_length_counts_also_after_a_method_that_scales(
    stage: str, better: list[str]
) -> None:
    """Of vectors as they are it would fall with their length; misp lowers it by construction."""
    (answer,) = column_answers(column("midb", 0.2, 0.1, stage=stage, **BEYOND))
    assert [line.measure for line in answer.effect.better] == better
    raw = [row | {"measure": "midb-abs"} for row in column("midb", 0.2, 0.1, **BEYOND)]
    assert main_lines(raw) == []


def test_a_file_with_the_name_of_a_method_is_no_method() -> None:
    rows = [
        {**record, "column": "file"} if record["stage"] == "hard" else record
        for record in column("direct-bias", 0.2, 0.1, **BEYOND)
    ]
    assert verdict(rows) == "yes"
    assert asked(rows, "What next?").endswith("wordbias audit EMBEDDING")


@pytest.mark.parametrize("kind", ["null", "lists"])
def test_a_control_is_judged_apart_and_never_recommended(kind: str) -> None:
    """Though it leaves less than the method does."""
    rows = [
        {**record, "column": kind} if record.get("stage") == "inlp" else record
        for record in two_methods({"hard": 0.4, "inlp": 0.1})
    ]
    text = asked(rows, "Does cleaning help?")
    assert text.startswith("Yes: hard. Controls, not to be used: Yes: inlp. hard: GIPE")
    assert asked(rows, "Which method?") == ""
    assert "inlp" not in asked(rows, "At what cost?")
    assert "--methods=hard" in (advice := asked(rows, "What next?")) or "debias hard" in advice
    alone = [record for record in rows if record["stage"] != "hard"]
    assert asked(alone, "Does cleaning help?").startswith("Controls, not to be used: Yes: inlp.")
    assert "debias" not in asked(alone, "What next?")


def test_redrawn_lists_lower_midb_by_construction_as_misp_does() -> None:
    for kind, built_in in (("lists", True), ("method", False)):
        rows = column("midb", 0.2, 0.1, stage="lists-0", **BEYOND)
        rows[1]["column"] = kind
        (answer,) = column_answers(rows)
        assert bool(answer.effect.built_in) == built_in


def test_where_nothing_finds_bias_no_method_is_said_to_remove_it() -> None:
    rows = column("gipe", 0.2, 0.1, **WITHIN)
    text = asked(rows, "Does cleaning help?")
    reason = "no measure finds bias that it could remove."
    assert text == f"No bias to remove: hard. hard: {reason}"
    both = [*rows, *column("gipe", 0.2, 0.1, stage="misp", **WITHIN)[1:]]
    text = asked(both, "Does cleaning help?")
    assert text == f"No bias to remove: hard, misp. hard, misp: {reason}"
    assert asked(rows, "What next?").startswith("No bias is shown here")
    unjudged = [*rows, *column("mab", 0.2, 0.2)]
    assert asked(unjudged, "What next?").startswith("No bias is shown here")


# Which method, at what cost, what stayed, what next


def two_methods(left: dict[str, float]) -> list[Row]:
    rows = [
        record
        for stage, after in (("hard", 0.1), ("inlp", 0.15))
        for record in column("gipe", 0.2, after, stage=stage, **BEYOND)[stage != "hard" :]
    ]
    return rows + [
        {"subject": "glove", "measure": "bias-left", "value": share, "stage": stage}
        for stage, share in left.items()
    ]


def left_of(*names: str, left: float = 0.1, stage: str = "hard") -> Row:
    of = {"of": dict.fromkeys(names, left)} if names else {}
    return {"subject": "glove", "measure": "bias-left", "value": left, "stage": stage, **of}


def test_the_method_that_leaves_least_is_named() -> None:
    text = asked(two_methods({"hard": 0.4, "inlp": 0.1}), "Which method?")
    assert text.startswith("inlp leaves least. 10% of the bias is left; this share has no interval")
    assert "inlp improves GIPE (0.200 → 0.150)." in text
    assert asked(two_methods({"hard": 0.1, "inlp": 0.4}), "Which").startswith("hard leaves least")
    assert asked(two_methods({}), "Which").startswith("hard leaves least. hard improves")


def test_bias_is_beyond_chance_only_where_a_measure_has_a_chance_level() -> None:
    gipe = column("gipe", 0.2, 0.1, **BEYOND)
    interval = {"low": 0.9, "high": 1.9, "neutral": 0.0, "better": "neutral", "p": 0.001}
    tested = column("weat", 1.7, 0.6, **interval)
    for rows, names, remainder in (
        (gipe, ("GIPE",), "what GIPE finds beyond chance is left"),
        (tested, ("WEAT",), "what WEAT finds is left"),
        ([*gipe, *tested], ("GIPE", "WEAT"), "what GIPE finds beyond chance is left (WEAT 10%)"),
        (gipe, ("best probe",), "what the best of several probes reads of words that no method "
         "was fitted to is left"),
    ):  # fmt: skip
        (answer,) = column_answers([*rows, left_of(*names)])
        assert answer.left == f"10% of {remainder}"


@pytest.mark.parametrize(
    ("left", "verdict"),
    [
        (MUCH_LEFT, "yes"),
        (MUCH_LEFT + 0.01, "a little"),
        (ALMOST_ALL_LEFT, "a little"),
        (ALMOST_ALL_LEFT + 0.01, "hardly"),
        (0.95, "hardly"),
    ],
)
def test_how_much_a_method_helps_is_told_by_what_it_leaves(left: float, verdict: str) -> None:
    rows = [*column("gipe", 0.2, 0.1, **BEYOND), left_of("GIPE", left=left)]
    text = asked(rows, "Does cleaning help?")
    assert text.startswith(f"{verdict.capitalize()}: hard.")
    assert (f"{left:.0%} of what GIPE finds beyond chance is left" in text) == (verdict != "yes")
    named = "wordbias debias hard EMBEDDING -o clean.txt" in asked(rows, "What next?")
    assert named == (verdict != "hardly")  # what hardly helps is not recommended


def test_no_method_is_recommended_without_what_it_makes_worse() -> None:
    rows = [
        *two_methods({"hard": 0.6, "inlp": 0.1}),
        *(
            {**record, "stage": "inlp"} if record["stage"] == "hard" else record
            for record in raised(0.1, 0.2)
        ),
    ]
    worse = "direct bias (0.100 → 0.200)"
    which = asked(rows, "Which method?")
    assert which.startswith(f"inlp leaves least, but makes worse, beyond chance: {worse}.")
    assert "hard makes no main measure worse beyond chance: 60% of the bias is left." in which
    assert asked(rows, "What next?").startswith(
        f"Write the cleaned vectors, though this makes worse, beyond chance, {worse}: "
        "wordbias debias inlp EMBEDDING -o clean.txt"
    )


def test_the_table_of_methods_says_what_the_column_of_changes_says() -> None:
    """A change within chance does not count, and is no dash beside a table that names it."""
    rows = [
        *column("gipe", 0.2, 0.1, **BEYOND),
        *column("direct-bias", 0.1, 0.14, **WITHIN),
        *column("clustering", 0.6, 0.55, **WITHIN),
        *column("mab", 0.5, 0.52, 0.001),  # too small to count anywhere
    ]
    glance = next(part for part in sections(rows) if part.key == "glance").grids[0].table
    change = glance.columns.index("change")
    changes = {line[0].partition(" (")[0]: line[change] for line in glance.cells}
    (section,) = method_sections(rows)
    (cells,) = (
        dict(zip(section.grids[0].table.columns, line, strict=True))
        for line in section.grids[0].table.cells
    )
    assert cells["improves"] == "GIPE (0.200 → 0.100); within chance: clustering"
    assert cells["makes worse"] == "within chance: direct bias"
    worse = [name for name, text in changes.items() if text == "worse"]
    assert len(worse) == 1
    assert worse[0].startswith("direct bias")


def test_in_short_is_a_table_of_five_questions() -> None:
    rows = [*two_methods({"hard": 0.4, "inlp": 0.1}), kept(0.95), kept(0.94, "inlp")]
    table = answer_table(answer_parts(rows))
    assert table is not None
    assert table.columns == ["question", "answer", "figure, 95 % interval", "how sure"]
    assert [line[0] for line in table.cells] == [
        "Is it biased?",
        "Does cleaning help?",
        "Which method?",
        "At what cost?",
        "What next?",
    ]
    assert table.cells[1][2] == "inlp: GIPE (0.200 → 0.150), change −0.050 (−0.060 to −0.040)"
    assert table.cells[1][3] == "the interval of the change leaves 0 out"
    assert answer_table([Answer("", below=["A note."])]) is None


def test_of_methods_that_do_not_help_none_is_recommended() -> None:
    rows = two_methods({"hard": 0.1, "inlp": 0.4})
    dear = [*rows, kept(0.5, "hard"), kept(0.5, "inlp")]
    assert asked(dear, "Which").startswith("None of these can be recommended")
    assert not asked(column("gipe", 0.2, 0.1, **BEYOND), "Which")  # one method needs no choice


def test_the_costs_are_named_and_what_was_not_measured() -> None:
    rows = [*column("gipe", 0.2, 0.1, **BEYOND), kept(0.95)]
    assert asked(rows, "At what cost?") == (
        "Within the limits: hard. hard keeps of neighbours 95.0%; not measured: similarity, "
        "analogies."
    )
    every = [*rows, *quality(0.8, 0.6), *quality(0.5, 0.5, "analogy")]
    assert asked(every, "At what cost?") == (
        "Too much: hard. hard keeps of similarity 75.0%, analogies 100.0%, neighbours 95.0%; "
        "limits: 90% of neighbours, 98% of similarity and analogies."
    )
    ends = {**kept(0.95), "low": 0.94, "high": 0.96}
    assert "neighbours 95.0% (94.0% to 96.0%)" in asked([*rows[:2], ends], "At what cost?")


@pytest.mark.parametrize(("accuracy", "said"), [(0.75, True), (0.74, False)])
def test_words_that_still_cluster_are_a_finding(accuracy: float, said: bool) -> None:
    clusters = column("clustering", 0.9, accuracy, 0.5, **{**BEYOND, "neutral": 0.5})
    text = asked([*column("gipe", 0.2, 0.1, **BEYOND), *clusters], "Does cleaning")
    assert ("hidden from some measures, not gone" in text) == said


def test_clusters_along_any_axis_show_nothing() -> None:
    clusters = column("clustering", 1.0, 1.0, 0.0, **{**WITHIN, "neutral": 0.5})
    text = asked([*column("gipe", 0.2, 0.1, **BEYOND), *clusters], "Does cleaning")
    assert "Clustering can show nothing here" in text
    assert "not gone" not in text


def test_the_next_command_names_the_file() -> None:
    rows = column("gipe", 0.2, 0.1, **BEYOND)
    assert "wordbias debias hard 'my file.txt' -o clean.txt" in " ".join(
        answers(rows, {"glove": "my file.txt"})
    )
    (advice,) = (text for text in answers(rows, {"glove": str(sample_path())}) if "next" in text)
    assert "wordbias debias hard -o clean.txt" in advice
    assert "wordbias debias hard EMBEDDING" in asked(rows, "What next?")
    tried = asked(column("gipe", 0.2, 0.2, **BEYOND), "What next?")
    assert "wordbias choose EMBEDDING --by gipe --keep 0.98" in tried
    own = column("gipe", 0.2, 0.2, stage="mine", **BEYOND)
    assert asked(own, "What next?").endswith("wordbias audit EMBEDDING")


@pytest.mark.parametrize(
    ("method", "arguments", "expected"),
    [
        ("hard", {"groups": "age", "dims": 8}, "debias hard FILE --groups age -o clean.txt"),
        ("misp", {"groups": None, "dims": 4}, "debias misp FILE -o clean.txt"),
        ("hard,misp", {"dims": 8, "centre": True}, "hard,misp:dims=8:centre FILE -o clean.txt"),
        ("misp", {"center": True}, "misp:centre FILE -o clean.txt"),  # of a page of schema 2
        ("misp", {"groups": ["x"], "dims": "8"}, "debias misp FILE -o clean.txt"),
    ],
)
def test_the_next_command_repeats_what_was_measured(
    method: str, arguments: dict[str, Any], expected: str
) -> None:
    rows = column("gipe", 0.2, 0.1, stage=method, **BEYOND)
    texts = answers(rows, {"glove": "FILE"}, {"glove": arguments})
    assert any(expected in text for text in texts)


# Several embeddings, and rows of other kinds


def test_two_embeddings_are_compared_where_their_intervals_do_not_overlap() -> None:
    def of(subject: str, gipe: float) -> list[Row]:
        return [
            row("gipe", gipe, subject, low=gipe - 0.01, high=gipe + 0.01, **BEYOND),
            row("direct-bias", 0.2, subject, low=0.1, high=0.3, **BEYOND),
        ]

    text = asked([*of("a", 0.2), *of("b", 0.1)], "Which is more biased?")
    assert text == (
        "b is nearer to no bias by GIPE (0.200, 0.100). No clear difference by direct bias (0.200, "
        "0.200)."
    )
    chance = [row("gipe", value, name, **WITHIN) for name, value in (("a", 0.2), ("b", 0.1))]
    assert asked(chance, "Which is more") == "Within chance in both: GIPE (0.200, 0.100)."


def test_several_embeddings_are_named_and_many_are_not_summed_up() -> None:
    rows = [row("direct-bias", 0.1, f"e{i}", **LOWER) for i in range(6)]
    texts = answers(rows)
    assert [text.partition(":")[0] for text in texts[:4]] == ["e0", "e1", "e2", "e3"]
    assert texts[4] == "Not summed up here, but in the tables: e4, e5."


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(0.001, 1)), min_size=1, max_size=30))
def test_of_unknown_measures_it_counts_those_that_leave_neutral_out(
    found: list[tuple[float, float]],
) -> None:
    rows = [
        {"subject": f"s{i}", "measure": "gap", "value": value, "low": value - half,
         "high": value + half, "neutral": 0.0, "better": "neutral"}
        for i, (value, half) in enumerate(found)
    ]  # fmt: skip
    outside = sum(abs(value) - half > 1e-6 for value, half in found)
    answer = answers(rows)[0]
    assert answer.startswith(f"{len(rows)} value")
    assert f"Of the {len(rows)} with an interval and a neutral value, {outside} leave" in answer


def test_nothing_is_ever_said_without_the_caution() -> None:
    for rows in ([], [row("gipe", None)], column("midb", 0.2, 0.1, **BEYOND)):
        assert answers(rows)[-1] == NO_PROOF
        assert len(answers(rows)) > 1


def test_an_answer_is_a_sentence_after_its_question() -> None:
    answer = Answer(
        "Is it biased?", "Yes.", "WEAT 1.7 (1.5 to 1.9)", "p < 0.001", ["Also by GIPE."]
    )
    assert answer.lines == ["Is it biased? Yes. WEAT 1.7 (1.5 to 1.9); p < 0.001.", "Also by GIPE."]
    assert Answer("Which method?", "misp.").lines == ["Which method? misp."]
    assert Answer("", below=["A note.", "Two."]).lines == ["A note.", "Two."]


def weat(name: str, about: str, value: float | None = 1.0, **details: Any) -> Row:
    fields = {"subject": "glove", "measure": "weat", "value": value, "set": name, "about": about}
    sizes = {f"{name}x": 8, f"{name}y": 8, f"{name}a": 8, f"{name}b": 8}
    around = {} if value is None else {"low": 0.5, "high": 1.5, "p": 0.01, "n": sizes}
    return {**fields, "neutral": 0.0, "better": "neutral", **around, **details}


def test_a_report_of_gender_shows_a_query_of_gender_and_never_a_control() -> None:
    others = [weat("weat1", "control"), weat("weat3", "ethnicity"), weat("weat10", "age")]
    none = [weat(f"weat{i}", "gender", None, reason="undefined") for i in (6, 7, 8)]
    texts = answers([*others, *none])
    assert not any("WEAT of" in text for text in texts)
    assert "No WEAT query about gender has a value here (weat6, weat7, weat8)." in texts
    texts = answers([*others, none[0], weat("weat7", "gender")])
    assert "WEAT of weat7x/weat7y × weat7a/weat7b" in texts[0]
    assert "weat1x" not in " ".join(texts)
    assert "No WEAT query" not in " ".join(texts)


def test_a_report_of_another_attribute_shows_its_query() -> None:
    texts = answers([weat("weat1", "control"), weat("weat10", "age")])
    assert "WEAT of weat10x" in texts[0]
    texts = answers([weat("mine", "")])
    assert "WEAT of minex" in texts[0]


def test_controls_alone_are_no_finding_about_people() -> None:
    texts = answers([weat("weat1", "control"), row("direct-bias", 0.1, **LOWER)])
    assert "weat1x" not in " ".join(texts)
    assert "WEAT was taken of controls only, which are about no people." in texts


def test_a_p_that_depends_on_the_attribute_words_says_so() -> None:
    texts = answers([weat("weat7", "gender", low=-0.4, reading="it depends")])
    assert "p = 0.01 with the words as given" in texts[0]
