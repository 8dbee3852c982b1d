"""The parts of an audit: against the measures they stand on, and what they cannot measure."""

from __future__ import annotations

from collections.abc import Sequence
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
from wordbias.methods.methods import fit_chain, parse_columns
from wordbias.methods.misp import fit
from wordbias.methods.words import listed_words
from wordbias.nli.files import Model
from wordbias.pages.audit import Audited, measure_stages
from wordbias.pages.stages import PARTS, Column, Compared, Plan, Stage, among, stage_of
from wordbias.pages.word_rows import (
    change_rows,
    map_rows,
    neighbour_rows,
    occupation_rows,
    project_on_plane,
)
from wordbias.results import Row
from wordbias.subspace import Subspace
from wordbias.wordlists import Attribute, Templates, load_two_sets

QUICK = tuple(part for part in PARTS if part not in ("midb", "direct-bias", "occupations"))


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
def stages(panel: Panel) -> list[Stage]:
    """The vectors before, and after MISP."""
    return [Stage(panel, panel), stage_of(panel, fit(panel.embedding)(panel.embedding))]


def compared(panel: Panel, methods: str = "misp", *files: Embedding) -> Compared:
    chains = parse_columns(methods)
    columns = [Column(label, chain) for label, chain in chains.items()]
    return Compared(panel, [*columns, *(Column(file.name, embedding=file) for file in files)])


@pytest.fixture(scope="module")
def quick(panel: Panel) -> Audited:
    """Every part that is quick, with two columns of methods."""
    return measure_stages([compared(panel, "misp hard")], Plan(QUICK))


def by_stage(rows: Sequence[Row], measure: str) -> dict[str, Row]:
    return {row.details["stage"]: row for row in rows if row.measure == measure}


def test_a_column_is_what_its_methods_make_of_the_embedding(panel: Panel, quick: Audited) -> None:
    for label, vectors in (
        ("before", panel.embedding),
        ("misp", fit(panel.embedding)(panel.embedding)),
        ("hard", fit_chain("hard", panel.embedding)[1]),
    ):
        at_stage = replace(panel, embedding=vectors, original=panel.embedding)
        expected = {row.measure: row.value for row in evaluate(at_stage, ["midb", "direct-bias"])}
        own = {
            row.measure: row.value
            for row in quick.rows
            if row.details.get("stage") == label and row.measure in expected
            if "word" not in row.details
        }
        assert own == expected
    assert {row.subject for row in quick.rows} == {panel.embedding.name}


def test_rows_of_columns_say_what_they_are(quick: Audited) -> None:
    for row in quick.rows:
        known = {key: row.details.get(key) for key in ("column", "debiased")}
        stage = row.details["stage"]
        assert known == (
            {"column": None, "debiased": None}
            if stage == "before"
            else {"column": "method", "debiased": stage}
        )


@pytest.mark.slow
def test_every_measured_row_has_its_conventions(panel: Panel) -> None:
    plan = Plan(tuple({*QUICK, "midb"} - {"neighbours", "map"}))
    skipped = ("map", "explained-variance", "difference-in-span", "difference-removed")
    for row in measure_stages([compared(panel)], plan).rows:
        if row.measure not in skipped:
            assert {"neutral", "better"} <= row.details.keys()
            assert "low" in row.details or "word" in row.details


def test_components_contribute_what_midb_is_the_sum_of(panel: Panel, quick: Audited) -> None:
    subspace = fit(panel.embedding, panel.attribute).subspace
    parts = np.abs(contributions(panel.vectors.astype(float), [subspace]))
    assert parts.shape == (len(panel.vocabulary), subspace.dims)
    for i in range(subspace.dims):
        component = Subspace(subspace.basis[[i]], subspace.weights[[i]])
        assert parts[:, i].mean() == pytest.approx(midb(panel.vectors, component).absolute)
    rows = [row for row in quick.rows if row.measure == "midb-component"]
    values = {(r.details["stage"], r.details["component"]): r.value for r in rows}
    for i, a in enumerate(subspace.weights.tolist(), 1):
        assert values["before", i] == pytest.approx(parts[:, i - 1].mean())
        assert values["misp", i] == pytest.approx((1 - a) * values["before", i], rel=1e-4)


def test_occupations_stand_where_their_cosine_less_the_mean_is(stages: list[Stage]) -> None:
    """Along the first component of the pairs before, beside the neutral words before."""
    original, pairs = stages[0].before.embedding, stages[0].before.attribute.pairs
    there = [pair for pair in pairs if all(word in original for word in pair)]
    differences = np.array([original[a].astype(float) - original[b] for a, b in there])
    axis = np.linalg.svd(differences)[2][0]
    axis *= np.sign(differences.mean(0) @ axis)

    def along(vectors: Any) -> Any:
        return vectors @ axis / np.linalg.norm(vectors, axis=-1)

    before = along(stages[0].before.vectors.astype(float))
    low, high = np.quantile(before, [0.025, 0.975]) - before.mean()
    for stage in stages:
        rows = occupation_rows(stage, Plan())
        assert len(rows) > 100
        mean = along(stage.panel.vectors.astype(float)).mean()
        for row in rows[::20]:
            x = stage.panel.embedding[row.details["word"]].astype(float)
            assert row.value == pytest.approx(along(x) - mean, abs=1e-6)
            assert row.details["middle"] == pytest.approx([low, high], abs=1e-6)
            side = "female" if row.value > high else "male" if row.value < low else None
            if row.details["lists_low"] <= 0 <= row.details["lists_high"]:
                side = None
            assert row.details.get("towards") == side


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.integers(2, 30), st.integers(2, 8))
def test_the_map_is_the_best_plane(seed: int, n: int, d: int) -> None:
    x = np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)
    places = project_on_plane(x, np.zeros((0, 2)))
    centred = x.astype(float) - x.mean(0, np.float64)
    eigenvalues = np.sort(np.linalg.eigvalsh(centred.T @ centred))[::-1][:2]
    np.testing.assert_allclose((places**2).sum(0), eigenvalues, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(project_on_plane(x, -places), -places, atol=1e-8)


def test_the_map_has_both_sides_at_all_stages_and_points_alike(stages: list[Stage]) -> None:
    before, after = (map_rows(stage, Plan()) for stage in stages)
    words = [[row.details["word"] for row in rows] for rows in (before, after)]
    assert words[0] == words[1]
    old, new = (np.array([(r.value, r.details["y"]) for r in rows]) for rows in (before, after))
    assert ((old * new).sum(0) > 0).all()
    sides = [row.details["towards"] for row in before]
    assert sides.count("female") == sides.count("male") == len(before) // 2


def test_neighbours_are_the_nearest_by_cosine_before_and_after(stages: list[Stage]) -> None:
    first, last = stages
    assert neighbour_rows(first, Plan()) == []
    rows = neighbour_rows(last, Plan(words=("nurse", "no-such-word")))
    assert rows[0].details["word"] == "nurse"
    assert len(rows) == 7
    for row in rows[:2]:
        for when, stage in (("before", first), ("after", last)):
            x = stage.panel.embedding.vectors.astype(float)
            x = x / np.linalg.norm(x, axis=1, keepdims=True)
            i = stage.panel.embedding.index[row.details["word"]]
            order = np.argsort(-(x @ x[i]), kind="stable")
            expected = [stage.panel.embedding.words[j] for j in order if j != i][:10]
            assert row.details[when] == expected
        in_both = set(row.details["before"]) & set(row.details["after"])
        assert row.value == len(in_both) / 10


def test_without_columns_there_are_no_stages(panel: Panel) -> None:
    audited = measure_stages([Compared(panel)], Plan(QUICK))
    assert all("stage" not in row.details for row in audited.rows)
    assert {"midb", "direct-bias"} <= {row.measure for row in audited.rows}


def test_a_method_that_fails_is_a_column_with_the_reason(panel: Panel) -> None:
    names = {name.lower() for members in panel.attribute.members for name in members}
    few = panel.embedding.subset([word for word in panel.embedding if word not in names])
    (bare,) = make_panels([few], None, panel.attribute)
    audited = measure_stages([compared(bare, "misp hard misp:dims=2")], Plan(QUICK))
    failed = [row for row in audited.rows if row.measure == "column"]
    assert [(row.value, row.details["stage"]) for row in failed] == [
        (None, "misp"),
        (None, "misp:dims=2"),
    ]
    for row in failed:
        assert "0 of 100" in row.details["reason"]
        assert (row.details["column"], row.details["debiased"]) == ("method", row.details["stage"])
    stages = {row.details["stage"] for row in audited.rows if row.measure != "column"}
    assert stages == {"before", "hard"}
    assert any(row.measure == "midb" and row.value is None for row in audited.rows)
    (message,) = [note for note in audited.notes if "the column was not made" in note]
    assert f"{few.name}, misp and misp:dims=2: the column was not made: " in message


def test_a_file_of_other_dimensions_is_measured_where_that_makes_sense(panel: Panel) -> None:
    words, vectors = panel.embedding.words, panel.embedding.vectors
    narrow = Embedding(words, vectors[:, :50], "narrow")
    plan = Plan(tuple({*PARTS} - {"midb", "direct-bias", "occupations", "map", "weat"}))
    audited = measure_stages([compared(panel, "none", narrow)], plan)
    of_file = [row for row in audited.rows if row.details["stage"] == "narrow"]
    measures = {row.measure for row in of_file}
    assert {"midb", "direct-bias", "map", "weat", "neighbours-preserved"} <= measures
    assert not {"lean", "displacement", "midb-component"} & measures
    assert all(row.details["column"] == "file" for row in of_file)
    assert all("debiased" not in row.details for row in of_file)
    expected = evaluate(replace(panel, embedding=narrow), ["midb"])
    assert by_stage(audited.rows, "midb-abs")["narrow"].value == expected[1].value
    notes = [note for note in audited.notes if "was not measured" in note]
    assert len(notes) == 2
    for note in notes:
        assert note.startswith(f"{panel.embedding.name}, narrow: ")
        assert "have 100 dimensions; these have 50" in note


def test_words_that_have_become_zero_are_left_out_of_the_neighbours(panel: Panel) -> None:
    vectors = np.array(panel.embedding.vectors)
    gone = panel.embedding.rows(panel.vocabulary[:300])[0]
    vectors[gone] = 0
    rows = change_rows(stage_of(panel, panel.embedding.with_vectors(vectors)), Plan())
    moved, preserved = rows
    assert moved.value == pytest.approx(300 / len(panel.vocabulary))
    assert preserved.details["n"] < min(1000, len(panel.vocabulary))


@pytest.mark.slow
def test_gipe_looks_for_neighbours_among_no_more_words_than_it_may(
    panel: Panel, stages: list[Stage]
) -> None:
    for stage in stages:
        part = among(stage.panel, 10)
        assert len(part.embedding) < len(stage.panel.embedding)
        assert set(panel.vocabulary) <= set(part.embedding.words)
        np.testing.assert_array_equal(
            part.own_direction.defined().basis, stage.panel.own_direction.defined().basis
        )
        assert part.is_own == stage.panel.is_own
        assert among(stage.panel, len(panel.embedding)) is stage.panel
    plan = Plan(tuple({*PARTS} - {"gipe"}), gipe_words=10)
    rows = measure_stages([compared(panel)], plan).rows
    gipe_rows = [row for row in rows if row.measure == "gipe"]
    assert len(gipe_rows) == 6
    assert max(row.details["among"] for row in gipe_rows) < len(panel.embedding)
    assert all("beyond_chance" in row.details for row in gipe_rows)


def _notes(one: Compared, **settings: Any) -> Audited:
    skip = tuple({*PARTS} - {"mab"})
    return measure_stages([one], Plan(skip, model=Model.load(nli_sample_path()), **settings))


def test_marked_bias_needs_the_words_and_the_dimensions(panel: Panel) -> None:
    other = replace(panel.attribute, name="pets", subjects={})
    (note,) = _notes(Compared(replace(panel, attribute=other))).notes[-1:]
    assert "mab was not measured: the attribute pets does not say whom an English sentence" in note
    flat = Embedding(panel.embedding.words, panel.embedding.vectors[:, :50], "flat")
    (narrow,) = make_panels([flat], None, panel.attribute)
    audited = _notes(compared(narrow, "misp hard"))
    (message,) = [note for note in audited.notes if "mab" in note]  # once for all stages
    assert message.startswith("flat: mab was not measured: ")
    assert "of 100 dimensions, flat has 50" in message
    assert not [row for row in audited.rows if row.measure.startswith("mab")]


def test_weat_is_of_the_groups_of_the_attribute() -> None:
    """Names of women and men have no place in an audit along religion."""
    faiths = Attribute.load("religion:christian,muslim")
    (panel,) = make_panels([Embedding.sample()], None, faiths)
    (row,) = measure_stages([Compared(panel)], Plan(tuple({*PARTS} - {"weat"}))).rows
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
    rows = [row for row in _notes(Compared(panel)).rows if "group" in row.details]
    assert {row.details["attribute"] for row in rows} == {faiths.name}
    assert {row.details["group"] for row in rows} == set(faiths.groups)


@pytest.mark.slow
def test_marked_bias_is_measured_with_one_model_at_all_stages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    verbs, crossing = {"commerce": ("bought",)}, {"commerce": ("food",)}
    few = replace(Templates.load(), verbs=verbs, crossing=crossing)
    monkeypatch.setattr(Templates, "load", lambda: few)
    (panel,) = make_panels([Embedding.sample()], None, Attribute.load())
    audited = _notes(compared(panel))
    rows = [row for row in audited.rows if row.measure.startswith("mab-")]
    assert {row.details["set"] for row in rows} == {"explicit", "occupations"}
    distance = by_stage([r for r in rows if r.details["setting"] == "nouns"], "mab-distance")
    assert distance["before"].value != distance["misp"].value
    assert distance["misp"].details["change_low"] <= distance["misp"].details["change"]


def test_what_was_not_given_is_said_unless_it_is_skipped(panel: Panel) -> None:
    comparison, skip = Compared(panel), tuple({*PARTS} - {"quality", "sembias"})
    (note,) = measure_stages([comparison], Plan(skip)).notes
    assert note.startswith("not measured: SemBias (--sembias=sembias), similarity and analogies")
    assert measure_stages([comparison], Plan(PARTS)).notes == []
    with pytest.raises(WordbiasError, match="part 'gip': expected some of midb"):
        Plan(("gip",))
    with pytest.raises(WordbiasError, match=r"part 'misp': .*--methods=none measures only before"):
        Plan(("misp",))
