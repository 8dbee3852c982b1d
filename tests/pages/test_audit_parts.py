"""The parts of an audit: against the measures they stand on, and what they cannot measure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wordbias import Embedding, WordbiasError
from wordbias.data import nli_sample_path
from wordbias.measures.evaluate import evaluate
from wordbias.measures.midb import contributions, midb
from wordbias.measures.panel import Panel, make_panels
from wordbias.methods.misp import fit
from wordbias.methods.words import listed_words
from wordbias.nli.files import Model
from wordbias.pages.audit import Audited, measure_stages
from wordbias.pages.stages import PARTS, Plan, Stages, among, make_stages
from wordbias.pages.word_rows import map_rows, neighbour_rows, occupation_rows, project_on_plane
from wordbias.results import Row
from wordbias.subspace import Subspace
from wordbias.wordlists import Attribute, Templates, load_two_sets

QUICK = tuple(part for part in PARTS if part not in ("midb", "direct-bias", "occupations", "misp"))


@pytest.fixture(scope="module")
def embedding() -> Embedding:
    """A part of the sample: the listed words, occupations and the first thousand."""
    sample, attribute = Embedding.sample(), Attribute.load()
    listed = sorted(listed_words(attribute))
    return sample.subset([*sample.words[:1000], *listed, *Templates.load().occupations])


@pytest.fixture(scope="module")
def panel(embedding: Embedding) -> Panel:
    return make_panels([embedding], None, Attribute.load())[0]


@pytest.fixture(scope="module")
def stages(panel: Panel) -> Stages:
    return make_stages([panel])[0]


def by_stage(rows: list[Row], measure: str) -> dict[str, Row]:
    return {row.details["stage"]: row for row in rows if row.measure == measure}


def test_after_is_what_misp_makes_of_it_and_before_is_untouched(stages: Stages) -> None:
    before, after = stages.before.embedding, stages.after
    assert after is not None
    assert after.original is before
    np.testing.assert_array_equal(after.embedding.vectors, fit(before)(before).vectors)
    assert [stage for stage, _ in stages.panels()] == ["before", "after"]
    assert after.vocabulary == stages.before.vocabulary


def test_the_values_are_those_of_the_measures(stages: Stages) -> None:
    found = measure_stages([stages], Plan(QUICK))
    for stage, panel in stages.panels():
        expected = {row.measure: row.value for row in evaluate(panel, ["midb", "direct-bias"])}
        own = {
            row.measure: row.value
            for row in found.rows
            if row.details.get("stage") == stage and row.measure in expected
            if "word" not in row.details
        }
        assert own == expected
    assert {row.subject for row in found.rows} == {stages.name}


def test_every_measured_row_has_its_conventions(stages: Stages) -> None:
    plan = Plan(tuple({*QUICK, "midb"} - {"neighbours", "misp", "map"}))
    skipped = ("map", "explained-variance", "difference-in-span")
    for row in measure_stages([stages], plan).rows:
        if row.measure not in skipped:
            assert {"neutral", "better"} <= row.details.keys()
            assert "low" in row.details or "word" in row.details


def test_components_contribute_what_midb_is_the_sum_of(stages: Stages, panel: Panel) -> None:
    assert stages.projection is not None
    subspace = stages.projection.subspace
    parts = np.abs(contributions(panel.vectors.astype(float), [subspace]))
    assert parts.shape == (len(panel.vocabulary), subspace.dims)
    for i in range(subspace.dims):
        one = Subspace(subspace.basis[[i]], subspace.weights[[i]])
        assert parts[:, i].mean() == pytest.approx(midb(panel.vectors, one).absolute)
    rows = [r for r in measure_stages([stages], Plan(QUICK)).rows if r.measure == "midb-component"]
    values = {(r.details["stage"], r.details["component"]): r.value for r in rows}
    for i, a in enumerate(subspace.weights.tolist(), 1):
        assert values["after", i] == pytest.approx((1 - a) * values["before", i], rel=1e-4)


def test_occupations_stand_where_their_cosine_less_the_mean_is(stages: Stages) -> None:
    rows = occupation_rows(stages, Plan())
    assert len(rows) > 200
    for stage, panel in stages.panels():
        e, original = panel.embedding, stages.before.embedding
        axis = original["she"].astype(float) - original["he"]
        unit = panel.vectors / np.linalg.norm(panel.vectors, axis=1, keepdims=True)
        neutral = unit @ axis / np.linalg.norm(axis)
        low, high = np.quantile(neutral, [0.025, 0.975]) - neutral.mean()
        for row in rows[::20]:
            if row.details["stage"] == stage:
                x = e[row.details["word"]].astype(float)
                cosine = x @ axis / np.linalg.norm(x) / np.linalg.norm(axis)
                assert row.value == pytest.approx(cosine - neutral.mean(), abs=1e-6)
                assert row.details["middle"] == pytest.approx([low, high], abs=1e-6)
                side = "female" if row.value > high else "male" if row.value < low else None
                assert row.details.get("towards") == side


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.integers(2, 30), st.integers(2, 8))
def test_the_map_is_the_best_plane(seed: int, n: int, d: int) -> None:
    x = np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)
    places = project_on_plane(x, np.zeros((0, 2)))
    centred = x.astype(float) - x.mean(0, np.float64)
    kept = np.sort(np.linalg.eigvalsh(centred.T @ centred))[::-1][:2]
    np.testing.assert_allclose((places**2).sum(0), kept, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(project_on_plane(x, -places), -places, atol=1e-8)


def test_the_map_has_both_sides_at_both_stages_and_points_alike(stages: Stages) -> None:
    rows = map_rows(stages, Plan())
    by = {(r.details["stage"], r.details["word"]): (r.value, r.details["y"]) for r in rows}
    words = list(dict.fromkeys(r.details["word"] for r in rows))
    before, after = (np.array([by[s, word] for word in words]) for s in ("before", "after"))
    assert ((before * after).sum(0) > 0).all()
    sides = [r.details["towards"] for r in rows if r.details["stage"] == "before"]
    assert sides.count("female") == sides.count("male") == len(words) // 2


def test_neighbours_are_the_nearest_by_cosine_before_and_after(stages: Stages) -> None:
    rows = neighbour_rows(stages, Plan(words=("nurse", "no-such-word")))
    assert rows[0].details["word"] == "nurse"
    assert len(rows) == 7
    for row in rows[:2]:
        for stage, panel in stages.panels():
            x = panel.embedding.vectors.astype(float)
            x = x / np.linalg.norm(x, axis=1, keepdims=True)
            i = panel.embedding.index[row.details["word"]]
            order = np.argsort(-(x @ x[i]), kind="stable")
            expected = [panel.embedding.words[j] for j in order if j != i][:10]
            assert row.details[stage] == expected
        kept = set(row.details["before"]) & set(row.details["after"])
        assert row.value == len(kept) / 10


def test_without_misp_there_is_no_after(panel: Panel) -> None:
    found = measure_stages(make_stages([panel], misp=False), Plan((*QUICK, "misp")))
    assert all("stage" not in row.details for row in found.rows)
    assert {"midb", "direct-bias"} <= {row.measure for row in found.rows}


def test_what_cannot_be_debiased_is_measured_all_the_same(panel: Panel) -> None:
    names = {name.lower() for members in panel.attribute.members for name in members}
    few = panel.embedding.subset([word for word in panel.embedding if word not in names])
    (bare,) = make_panels([few], None, panel.attribute)
    found = measure_stages(make_stages([bare]), Plan(QUICK))
    assert any("“after” is hard debiasing" in note and "0 of 100" in note for note in found.notes)
    assert any(row.measure == "midb" and row.value is None for row in found.rows)
    after = [row.details["debiased"] for row in found.rows if row.details.get("stage") == "after"]
    assert set(after) == {"hard"}
    bare = replace(bare, attribute=replace(bare.attribute, pairs=(), equalise=(), direction=None))
    found = measure_stages(make_stages([bare]), Plan(QUICK))
    assert any("nothing was measured after MISP" in note for note in found.notes)


def test_gipe_looks_for_neighbours_among_no_more_words_than_it_may(stages: Stages) -> None:
    for _, panel in stages.panels():
        part = among(panel, 10)
        assert len(part.embedding) < len(panel.embedding)
        assert set(panel.vocabulary) <= set(part.embedding.words)
        np.testing.assert_array_equal(
            part.own_direction.defined().basis, panel.own_direction.defined().basis
        )
        assert part.is_own == panel.is_own
        assert among(panel, len(panel.embedding)) is panel
    rows = measure_stages([stages], Plan(tuple({*PARTS} - {"gipe", "misp"}), gipe_words=10)).rows
    sizes = [row.details["among"] for row in rows if row.measure == "gipe"]
    assert len(sizes) == 6
    assert max(sizes) < len(stages.before.embedding)


def _notes(stages: Stages, **settings: Any) -> Audited:
    skip = tuple({*PARTS} - {"mab", "misp"})
    return measure_stages([stages], Plan(skip, model=Model.load(nli_sample_path()), **settings))


def test_marked_bias_needs_the_words_and_the_dimensions(stages: Stages) -> None:
    other = replace(stages.before.attribute, name="pets", subjects={})
    pets = replace(stages, before=replace(stages.before, attribute=other))
    (note,) = _notes(pets).notes[-1:]
    assert "mab was not measured: the attribute pets does not say whom an English sentence" in note
    flat = Embedding(stages.before.embedding.words, stages.before.embedding.vectors[:, :50], "flat")
    (panel,) = make_panels([flat], None, stages.before.attribute)
    found = _notes(Stages(panel))
    assert "of 100 dimensions, flat has 50" in found.notes[-1]
    assert found.rows == []


def test_weat_is_of_the_groups_of_the_attribute() -> None:
    """Names of women and men have no place in an audit along religion."""
    faiths = Attribute.load("religion:christian,muslim")
    (panel,) = make_panels([Embedding.sample()], None, faiths)
    (row,) = measure_stages([Stages(panel)], Plan(tuple({*PARTS} - {"weat"}))).rows
    assert row.details["set"] == "christian/muslim"
    expected = weat_between(panel.embedding, faiths)
    assert row.value == pytest.approx(expected, abs=1e-5)
    assert row.details["alternative"] == "two-sided"


def weat_between(sample: Embedding, attribute: Attribute) -> float:
    """Caliskan et al. (2017), page 183, on the words that the sample has."""
    (_, pleasant), (_, unpleasant) = load_two_sets(("pleasant", "unpleasant"))
    x, y, a, b = (
        np.array([v / np.linalg.norm(v) for v in sample.take([w for w in words if w in sample])])
        for words in (*attribute.members, pleasant, unpleasant)
    )
    s = [(side @ a.T).mean(1) - (side @ b.T).mean(1) for side in (x, y)]
    return float((s[0].mean() - s[1].mean()) / np.concatenate(s).std(ddof=1))


def test_marked_bias_is_of_the_attribute(monkeypatch: pytest.MonkeyPatch) -> None:
    few = replace(
        Templates.load(), verbs={"commerce": ("bought",)}, crossing={"commerce": ("food",)}
    )
    monkeypatch.setattr(Templates, "load", lambda: few)
    faiths = Attribute.load("religion:christian,muslim")
    (panel,) = make_panels([Embedding.sample()], None, faiths)
    rows = [row for row in _notes(Stages(panel)).rows if "group" in row.details]
    assert {row.details["attribute"] for row in rows} == {faiths.name}
    assert {row.details["group"] for row in rows} == set(faiths.groups)


def test_marked_bias_is_measured_with_one_model_at_both_stages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    verbs, crossing = {"commerce": ("bought",)}, {"commerce": ("food",)}
    few = replace(Templates.load(), verbs=verbs, crossing=crossing)
    monkeypatch.setattr(Templates, "load", lambda: few)
    (panel,) = make_panels([Embedding.sample()], None, Attribute.load())
    found = _notes(make_stages([panel])[0])
    rows = [row for row in found.rows if row.measure.startswith("mab-")]
    assert {row.details["set"] for row in rows} == {"explicit", "occupations"}
    distance = by_stage([r for r in rows if r.details["setting"] == "nouns"], "mab-distance")
    assert distance["before"].value != distance["after"].value
    assert distance["after"].details["debiased"] == "misp"


def test_what_was_not_given_is_said_unless_it_is_skipped(stages: Stages) -> None:
    skip = tuple({*PARTS} - {"quality", "sembias", "misp"})
    (note,) = measure_stages([replace(stages, fitted=None)], Plan(skip)).notes
    assert note.startswith("not measured: SemBias (--sembias=sembias), similarity and analogies")
    assert measure_stages([replace(stages, fitted=None)], Plan(PARTS)).notes == []
    with pytest.raises(WordbiasError, match="part 'gip': expected some of midb"):
        Plan(("gip",))
