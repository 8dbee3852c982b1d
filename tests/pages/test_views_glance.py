"""The measures that stand for their families: which, in what order, and at what cost."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordbias.measures.registry import SECTIONS
from wordbias.pages import main_measures, views
from wordbias.pages.lines import Line, make_lines

MAIN = [family.main for family in SECTIONS]
TOLD = st.tuples(st.sampled_from("abc"), st.sampled_from([*MAIN, "midb"]), st.booleans())


def row(subject: str, measure: str, *, known: bool = True) -> dict[str, Any]:
    return {"subject": subject, "measure": measure, "value": 0.1 if known else None}


@given(st.lists(TOLD, max_size=20))
def test_each_family_is_stood_for_once_a_subject_in_order(
    told: list[tuple[str, str, bool]],
) -> None:
    lines = main_measures.main_lines(row(who, what, known=known) for who, what, known in told)
    has_value = {(who, what) for who, what, known in told if known}
    subjects = dict.fromkeys(who for who, _, _ in told)
    expected = [(who, what) for who in subjects for what in MAIN if (who, what) in has_value]
    assert [(line.subject, line.measure) for line in lines] == expected


@pytest.mark.parametrize("subjects", [5, 50])
def test_a_line_is_not_looked_at_again_for_every_subject(
    monkeypatch: pytest.MonkeyPatch, subjects: int
) -> None:
    lookups = 0

    class Counted(Line):
        def __getattribute__(self, name: str) -> Any:
            nonlocal lookups
            lookups += name == "subject"
            return super().__getattribute__(name)

    def counted(rows: Iterable[Any]) -> list[Line]:
        lines = make_lines(rows)
        return [Counted(line.subject, line.measure, line.variant, line.stages) for line in lines]

    monkeypatch.setattr(main_measures, "make_lines", counted)
    glance_lines = main_measures.main_lines(row(f"s{i}", "gipe") for i in range(subjects))
    assert len(glance_lines) == subjects
    assert lookups <= 2 * subjects


def query(name: str, about: str, **details: Any) -> dict[str, Any]:
    return {**row("a", "weat"), "set": name, "about": about, "n": 8, **details}


def test_the_section_has_the_queries_of_its_attribute_first_and_the_others_apart() -> None:
    rows = [query("weat1", "control"), query("weat3", "ethnicity")]
    rows += [query("weat6", "gender"), query("weat7", "gender", reading="it depends")]
    (section,) = views.measure_sections(rows)
    first, second = (grid.table for grid in section.grids)
    assert [cells[0] for cells in first.cells] == [
        "WEAT, effect size d (weat6)",
        "WEAT, effect size d (weat7)",
    ]
    assert "about gender" in first.title
    assert [line[list(first.columns).index("reading")] for line in first.cells] == [
        "",
        "depends on the words chosen",
    ]
    assert first.note == "it depends"
    about = list(second.columns).index("about")
    assert [line[about] for line in second.cells] == ["control", "ethnicity"]
    (figure,) = section.figures
    assert "weat1" not in str(figure.picture)
    assert "weat6" in str(figure.picture)


def test_the_glance_says_where_no_query_of_gender_has_a_value() -> None:
    rows = [row("a", measure) for measure in ("midb-unit-abs", "direct-bias", "gipe")]
    rows += [query("weat1", "control"), {**query("weat6", "gender"), "value": None}]
    (section,) = views.glance_sections(rows)
    assert "No WEAT query about gender has a value here (weat6)." in section.lead
    assert not any("WEAT" in cells[0] for cells in section.grids[0].table.cells)
