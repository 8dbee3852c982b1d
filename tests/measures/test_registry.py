"""The table of measures is whole, and says what the rows say."""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordbias import Attribute, Embedding
from wordbias.calls import public
from wordbias.cli import SECTIONS as COMMANDS
from wordbias.errors import WordbiasError
from wordbias.functions import measure as measuring
from wordbias.functions.measure import measure
from wordbias.functions.tables import measures_tables
from wordbias.measures import registry
from wordbias.measures.associations import measure_queries
from wordbias.measures.chance import Null, Values
from wordbias.measures.direction import projections
from wordbias.measures.evaluate import chance_of, evaluate, evaluate_panels, rows_of
from wordbias.measures.midb import DIRECT, MIDB
from wordbias.measures.panel import Panel, make_panels
from wordbias.measures.registry import (
    BY_KEY,
    FAMILIES,
    FAMILY_OF,
    MEASURES,
    SELECTABLE,
    STANDARD,
    Family,
    ideal,
    meaning,
    names_families,
    read_families,
)
from wordbias.measures.sembias import SemBias
from wordbias.methods.effect import effect
from wordbias.methods.misp import fit
from wordbias.pages.views import sections
from wordbias.results import Row
from wordbias.wordlists import load_queries

GOLDEN = Path(__file__).parents[1] / "golden" / "expected"
OF_METHODS = "debias"
"""What the command says of its methods, such as an angle, is no measure of an embedding."""
OTHERS = {
    "balanced-accuracy",
    "best-distance",
    "best-fairness",
    "best-strength",
    "direction-stability",
    "label-explained",
}
OTHERS |= {"r-squared", "correlation"}
OTHERS |= {"mab-error-change", "mab-distance-change"}
OTHERS |= {f"{name}-change" for name in ("strength", "distance", "fairness")}
OTHERS |= {f"null-{name}" for name in ("strength", "distance", "fairness")}
"""What else has a better way: of tasks, choices and studies."""
SAYS_OTHERWISE = {"direct-bias", *(name for name in MEASURES if name.endswith("-gap"))}
"""Of a single word or class it has a side, and nearer to 0 is better."""


@pytest.fixture(scope="module")
def panel() -> Panel:
    sample = Embedding.sample()
    part = sample.subset(sample.words[:9000])
    (sample_panel,) = make_panels([part], None, Attribute.load())
    return sample_panel


def incomplete(family: Family) -> list[str]:
    """Return what an entry lacks."""
    texts = ("key", "title", "area", "question", "limits", "method", "source", "main")
    lacking = [name for name in texts if not getattr(family, name)]
    lacking += [
        name for name in ("question", "limits") if getattr(family, name)[-1:] not in (".", "?")
    ]
    names = [described.name for described in family.measures]
    if family.main not in names or len({*names}) < len(names):
        lacking.append("measures")
    if not re.search(r"\(\d{4}\)|papers", family.source):
        lacking.append("source without a year")
    for spec in family.measures:
        lacking += [
            f"{spec.name}: {name}"
            for name in ("title", "question", "scale")
            if not getattr(spec, name)
        ]
        if spec.better not in ("lower", "higher", "neutral", ""):
            lacking.append(f"{spec.name}: better")
        if isinstance(spec.neutral, (int, float)) and not spec.better:
            lacking.append(f"{spec.name}: neutral, but nothing is better")
    lacking += [] if not family.rows or callable(rows_of(family)) else ["rows"]
    lacking += [] if not family.chance or callable(chance_of(family)) else ["chance"]
    known = inspect.signature(measure).parameters
    lacking += [f"option {name}" for name in family.options if name not in known]
    if family.fetch and not family.needs:
        lacking.append("needs")
    return lacking


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.key)
def test_an_entry_is_complete(family: Family) -> None:
    assert not incomplete(family)


def test_an_incomplete_entry_is_found() -> None:
    whole = BY_KEY["gipe"]
    for field in fields(Family):
        if field.name in ("title", "question", "limits", "method", "source", "main"):
            assert incomplete(replace(whole, **{field.name: ""})), field.name
    (gipe,) = whole.measures
    assert incomplete(replace(whole, measures=(replace(gipe, question=""),)))
    assert incomplete(replace(whole, measures=()))
    assert incomplete(replace(whole, options=("sembais",)))
    with pytest.raises(AttributeError):
        incomplete(replace(whole, rows="gipe.gipe_row"))


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("", "missing 7 required keyword-only arguments: 'title', 'area'"),
        ("titel = 'X'", "unexpected keyword argument 'titel'"),
        ("[x.measures.a]\ntitle = 'A'", "'question' and 'scale'"),
        ("[x.measures.a]\nlike = 'b'", "'b'"),
    ],
)
def test_an_entry_that_cannot_be_read_is_named(entry: str, message: str) -> None:
    with pytest.raises(WordbiasError, match=f"^measures.toml: x: .*{message}.*correct the entry$"):
        list(read_families(f"[x]\n{entry}"))


def test_what_an_entry_does_not_say_is_that_of_the_one_it_is_like() -> None:
    (family,) = (family for family in FAMILIES if family.key == "mab")
    first, *_, entailment, contradiction = family.measures[3:]
    assert contradiction.caution == entailment.caution == first.caution != ""
    assert (first.neutral, entailment.neutral, contradiction.neutral) == (1, 0, 0)


def test_names_and_keys_are_of_one_entry() -> None:
    assert len(MEASURES) == sum(len(family.measures) for family in FAMILIES)
    assert len(BY_KEY) == len(FAMILIES)
    assert [spec.name for spec in BY_KEY["midb"].measures if spec.listed] == [*MIDB]
    assert [spec.name for spec in BY_KEY["direct-bias"].measures] == [*DIRECT]
    known = {name for names in COMMANDS.values() for name in names}
    assert {
        name for family in FAMILIES for name in re.findall(r"wordbias ([a-z-]+)", family.limits)
    } <= known


WHOLE = ("gipe", "neighbour-bias", "recoverability")
"""Families that go through all words, or train."""


@pytest.mark.filterwarnings("ignore:Stochastic Optimizer. Maximum iterations")
@pytest.mark.parametrize(
    "key",
    [pytest.param(key, marks=[pytest.mark.slow] if key in WHOLE else []) for key in SELECTABLE],
)
def test_every_name_in_a_row_of_a_panel_is_of_its_family(panel: Panel, key: str) -> None:
    questions = SemBias((((("he", "she"),) * 2 + (("man", "woman"), ("boy", "girl"))),) * 3)
    rows = evaluate(replace(panel, sembias=questions), [key])
    assert {row.measure for row in rows} == {
        spec.name for spec in BY_KEY[key].measures if spec.listed
    }
    for row in rows:
        assert row.value is None or {**row.details, **ideal(row.measure)} == row.details


def test_rows_before_and_after_and_of_queries_are_known(panel: Panel) -> None:
    embedding = panel.embedding
    rows = effect(embedding, fit(embedding)(embedding), panel.vocabulary, panel.attribute).rows
    rows += measure_queries(embedding, load_queries()[5:6], ["weat", *_names("associations")])
    assert {row.measure for row in rows} == {
        *MIDB, *DIRECT, "displacement", "neighbours-preserved", "weat", *_names("associations")
    }  # fmt: skip
    for row in rows:
        if row.value is not None:
            assert {**row.details, **ideal(row.measure)} == row.details


def _names(key: str) -> list[str]:
    return [spec.name for spec in BY_KEY[key].measures]


def rows_in(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, dict):
        if {"subject", "measure", "value"} <= value.keys():
            yield value
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from rows_in(part)


def test_what_commands_say_of_a_measure_is_what_the_table_says() -> None:
    rows = [
        row
        for path in GOLDEN.iterdir()
        if not path.stem.startswith(OF_METHODS)
        for row in rows_in(json.loads(path.read_text(encoding="utf-8")))
        if row.get("better") and row["measure"] not in OTHERS
    ]
    assert len({row["measure"] for row in rows}) > 40
    for row in rows:
        name = row["measure"]
        assert name in MEASURES, name
        ideals = ideal(name)
        if name not in SAYS_OTHERWISE:
            assert row["better"] == ideals["better"], name
        if not isinstance(MEASURES[name].neutral, str):  # a text: it depends on the data
            assert row.get("neutral") == ideals.get("neutral"), name


def test_each_family_that_is_taken_can_be_named_and_those_that_are_not_cannot(panel: Panel) -> None:
    assert STANDARD == ("midb", "direct-bias", "clustering", "recoverability", "sembias", "gipe")
    assert {"same", "weat"} <= {*SELECTABLE} - {*STANDARD}
    with pytest.raises(WordbiasError, match=r"'ceat': expected one of midb, .*weat"):
        evaluate(panel, ["ceat"])


def test_weat_is_taken_with_the_built_in_queries_or_groups_of_ones_own(panel: Panel) -> None:
    rows = evaluate(panel, ["weat"])
    assert [row.details["set"] for row in rows] == [query.name for query in load_queries()]
    assert rows == measure_queries(panel.embedding, load_queries())
    groups = Attribute(
        "colour", ("red", "blue"), (("red", "rose", "blood"), ("blue", "sea", "sky"))
    )
    (row,) = evaluate(replace(panel, attribute=groups), ["weat"])
    assert (row.details["set"], row.details["about"]) == ("red/blue", "colour")
    assert row.details["alternative"] == "two-sided"
    (table,) = measures_tables(rows[:1])
    assert table.cells[0][0] == "WEAT (weat1)"


def test_docstrings_name_the_families() -> None:
    assert "some of midb, direct-bias, same, clustering" in (measure.__doc__ or "")
    assert f"[default: all but {_others()}]" in (measure.__doc__ or "")

    def documented() -> None:
        """Take {standard}, or {others}; of {measures}."""

    docstring = names_families(documented).__doc__ or ""
    assert docstring.startswith("Take midb, ")
    assert f"or {_others()}; of midb, " in docstring


def _others() -> str:
    return ", ".join(key for key in SELECTABLE if key not in STANDARD)


def test_the_meaning_of_a_number_names_the_neutral_value() -> None:
    assert meaning("ect") == "ect: do X and Y rank the words alike; neutral 1, higher is better"
    assert meaning("explained-variance") == "explained-variance: variance explained"


# what a new measure costs: one function that takes it, one entry


def far_rows(panel: Panel) -> list[Row]:
    """The most that a neutral word leans, as a measure of somebody's own."""
    lean = projections(panel.vectors, panel.own_direction.defined())
    return [panel.row("farthest", float(np.abs(lean).max()), n=len(lean), **ideal("farthest"))]


def chance_of_far(panel: Panel, nulls: Sequence[Null]) -> Values:
    """The same along other axes."""
    leans = [
        np.nan
        if null.direction is None
        else np.abs(projections(panel.vectors, null.direction.defined())).max()
        for null in nulls
    ]
    return {("farthest", ""): np.array(leans)}


ENTRY = """
[farthest]
title = "Farthest: the word that leans most"
area = "Word vectors"
question = "How far along the axis is the neutral word that leans most?"
limits = "It is one word."
method = "Maximum of |cos(w, g)| over neutral words."
source = "Nobody (2021)."
main = "farthest"
rows = "far.far_rows"
chance = "far.chance_of_far"
standard = true
options = ["direction"]
draws = 3

[farthest.measures.farthest]
title = "farthest word, |cos|"
question = "how far does the word lie that leans most?"
scale = "0 … 1"
neutral = 0.0
better = "lower"
caution = "that all words lie as near"
"""


def test_a_new_measure_is_a_function_and_an_entry(
    panel: Panel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is taken, has chance, titles, a section of the report and a line of the documents."""
    (entry,) = read_families(ENTRY)
    monkeypatch.setitem(sys.modules, "wordbias.measures.far", sys.modules[__name__])
    added(monkeypatch, entry)
    (row,) = evaluate_panels([panel], ["farthest"])
    assert row.details["neutral"] == 0
    assert row.details["chance_low"] <= row.details["chance_high"]
    (table,) = measures_tables([row])
    assert table.cells[0][0] == "farthest word, |cos|"
    assert "farthest 3" in table.note
    (section,) = sections([row.to_dict()])
    assert (section.key, section.title) == (entry.key, entry.title)
    assert "Nobody (2021)" in section.method[0]
    assert not incomplete(entry)

    def asked() -> None:
        """Some of {measures}."""

    assert "weat, farthest" in (names_families(public(asked)).__doc__ or "")


def added(monkeypatch: pytest.MonkeyPatch, family: Family) -> None:
    """Let the table have one more family, wherever it has been read already."""
    name = family.measures[0].name
    monkeypatch.setitem(BY_KEY, family.key, family)  # type: ignore[arg-type]
    monkeypatch.setitem(FAMILY_OF, name, family)  # type: ignore[arg-type]
    monkeypatch.setitem(MEASURES, name, family.measures[0])  # type: ignore[arg-type]
    lists = {"SELECTABLE": family.key, "STANDARD": family.key, "SECTIONS": family, "LISTED": name}
    for module in [module for key, module in sys.modules.items() if key.startswith("wordbias.")]:
        for which, more in lists.items():
            known = getattr(registry, which) if module is not registry else None
            if known is not None and getattr(module, which, None) is known:
                monkeypatch.setattr(module, which, (*known, more))
    for which, more in lists.items():
        monkeypatch.setattr(registry, which, (*getattr(registry, which), more))


def test_the_option_of_another_family_is_refused_by_name() -> None:
    with pytest.raises(
        WordbiasError, match=r"direction=.* is for clustering, recoverability, sembias"
    ):
        measuring.measure(only=["midb"], direction="pca")
