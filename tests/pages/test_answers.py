"""The headline: computed from the rows, and claiming no more than they do."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from wordbias.measures.registry import SECTIONS
from wordbias.pages import words
from wordbias.pages.answers import headline
from wordbias.results import NO_PROOF

MAIN = {family.key: family for family in SECTIONS}


def row(key: str, value: float | None, subject: str = "glove", **details: Any) -> dict[str, Any]:
    family = MAIN[key]
    about = {"setting": family.main_variant} if family.main_variant else {}
    return {"subject": subject, "measure": family.main, "value": value, **about, **details}


def two(
    key: str, before: float, after: float, width: float = 0.01, **said: Any
) -> list[dict[str, Any]]:
    return [
        row(key, value, stage=stage, low=value - width, high=value + width, **said)
        for stage, value in (("before", before), ("after", after))
    ]


LOWER = {"neutral": 0.0, "better": "lower"}
CHANCE = {"neutral": 0.5, "better": "lower"}


def test_the_fall_of_midb_is_by_construction_and_the_others_are_named_one_by_one() -> None:
    rows = [
        *two("midb", 0.15, 0.10, **LOWER, debiased="misp"),
        *two("direct-bias", 0.10, 0.101, **LOWER, debiased="misp"),
        *two("gipe", 0.10, 0.20, **LOWER, debiased="misp"),
        *two("recoverability", 0.9, 0.9, **CHANCE, debiased="misp"),
    ]
    changed = headline(rows)[-2]
    assert changed.startswith(
        "MISP took MIDB (mean of |·|) (0.150 → 0.100), each stage along its own components, "
        "clearly nearer to neutral, which it does by construction."
    )
    assert "none improved clearly" in changed
    assert "worse: GIPE (0.100 → 0.200)" in changed
    assert "no clear change: direct bias (0.100 → 0.101), recoverability (0.900 → 0.900)" in changed


def test_what_improved_is_said_and_then_nothing_says_that_none_did() -> None:
    changed = headline(two("gipe", 0.2, 0.1, **LOWER))[-2]
    assert changed == "After debiasing, improved: GIPE (0.200 → 0.100)."


def test_a_fall_within_the_intervals_is_no_fall() -> None:
    said = " ".join(headline(two("midb", 0.15, 0.14, 0.1, **LOWER, debiased="misp")))
    assert "no clear step nearer to neutral" in said
    assert "by construction" not in said


def test_a_change_without_intervals_is_not_judged() -> None:
    rows = [row("direct-bias", v, stage=s, **LOWER) for s, v in (("before", 1), ("after", 0.1))]
    changed = headline(rows)[-2]
    assert changed == "After debiasing, no interval to judge by: direct bias (1.000 → 0.100)."


def test_only_two_sided_measures_are_called_away_from_neutral() -> None:
    said = headline(
        [
            row("recoverability", 0.8, low=0.7, high=0.9, **CHANCE),
            row("weat", 1.0, low=-0.1, high=1.5, neutral=0.0, better="neutral", p=0.0021),
            row("direct-bias", 0.1, low=0.09, high=0.11, **LOWER),
        ]
    )
    assert said[0].startswith("Clearly away from neutral, by their 95 % intervals: recoverability")
    assert said[1].startswith(
        "The 95 % interval includes neutral: WEAT of weat6 (1.000, neutral 0, p"
    )
    assert "p = 0.0021" in said[1]
    assert said[2].startswith("Also measured: direct bias (0.100, neutral 0); these are never")


def test_what_debiasing_cost_is_no_bias_and_is_said_beside_it() -> None:
    cost = [*two("quality", 0.7, 0.6, better="higher"), row("moved", 0.9, stage="after")]
    assert headline(cost)[:-1] == ["3 values of 2 measures about 1 subject."]
    said = headline([*two("gipe", 0.2, 0.1, **LOWER), *cost])
    assert said[-2] == (
        "What debiasing cost: share of neighbours kept 0.900; similarity, Spearman’s ρ "
        "0.700 → 0.600, worse."
    )


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
    said = "The occupations that lean most towards male: miner, boss; towards female: maid, nurse."
    assert said in headline(rows)


def test_several_embeddings_are_named_and_many_are_not_summed_up() -> None:
    rows = [row("direct-bias", 0.1, f"e{i}", **LOWER) for i in range(6)]
    said = headline(rows)
    assert [text.partition(":")[0] for text in said[:4]] == ["e0", "e1", "e2", "e3"]
    assert said[4] == "Not summed up here, but in the tables: e4, e5."


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(0, 1)), min_size=1, max_size=30))
def test_of_unknown_measures_it_counts_those_that_leave_neutral_out(
    found: list[tuple[float, float]],
) -> None:
    rows = [
        {"subject": f"s{i}", "measure": "gap", "value": value, "low": value - half,
         "high": value + half, "neutral": 0.0, "better": "neutral"}
        for i, (value, half) in enumerate(found)
    ]  # fmt: skip
    outside = sum(value - half > 0 or value + half < 0 for value, half in found)
    said = headline(rows)[0]
    assert said.startswith(f"{len(rows)} value")
    assert f"Of the {len(rows)} with an interval and a neutral value, {outside} leave" in said


def test_nothing_is_ever_said_without_the_caution() -> None:
    for rows in ([], [row("gipe", None)], two("midb", 0.2, 0.1, **LOWER)):
        assert headline(rows)[-1] == NO_PROOF
        assert len(headline(rows)) > 1


def weat(name: str, about: str, value: float | None = 1.0, **details: Any) -> dict[str, Any]:
    found = {"subject": "glove", "measure": "weat", "value": value, "set": name, "about": about}
    sizes = {f"{name}x": 8, f"{name}y": 8, f"{name}a": 8, f"{name}b": 8}
    around = {} if value is None else {"low": 0.5, "high": 1.5, "p": 0.01, "n": sizes}
    return {**found, "neutral": 0.0, "better": "neutral", **around, **details}


def test_a_report_of_gender_shows_a_query_of_gender_and_never_a_control() -> None:
    others = [weat("weat1", "control"), weat("weat3", "ethnicity"), weat("weat10", "age")]
    none = [weat(f"weat{i}", "gender", None, reason="undefined") for i in (6, 7, 8)]
    said = headline([*others, *none])
    assert not any("WEAT of" in text for text in said)
    assert "No WEAT query about gender has a value here (weat6, weat7, weat8)." in said
    said = headline([*others, none[0], weat("weat7", "gender")])
    assert "WEAT of weat7x/weat7y × weat7a/weat7b" in said[0]
    assert "weat1x" not in " ".join(said)
    assert "No WEAT query" not in " ".join(said)


def test_a_report_of_another_attribute_shows_its_query() -> None:
    said = headline([weat("weat1", "control"), weat("weat10", "age")])
    assert "WEAT of weat10x" in said[0]
    said = headline([weat("mine", "")])
    assert "WEAT of minex" in said[0]


def test_controls_alone_are_no_finding_about_people() -> None:
    said = headline([weat("weat1", "control"), row("direct-bias", 0.1, **LOWER)])
    assert "weat1x" not in " ".join(said)
    assert "WEAT was taken of controls only, which are about no people." in said


def test_a_p_that_depends_on_the_attribute_words_says_so() -> None:
    said = headline([weat("weat7", "gender", low=-0.4, reading="it depends")])
    assert "p = 0.01 with the words as given" in said[0]
