"""Chance levels: what measures give along axes that do not mean the attribute."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordbias import Attribute, Embedding, Subspace
from wordbias.arrays import unit
from wordbias.measures.chance import DRAWS, draw_nulls, key_of, with_chance
from wordbias.measures.clustering import clustering
from wordbias.measures.direction import most_biased, projections
from wordbias.measures.evaluate import chance_values, evaluate, evaluate_panels
from wordbias.measures.midb import MIDB, direct_bias, midb
from wordbias.measures.panel import CLUSTERED, Panel, make_panels
from wordbias.measures.recoverability import recoverability
from wordbias.measures.registry import BY_KEY, STANDARD
from wordbias.measures.sembias import SemBias, category_counts, choices
from wordbias.methods.misp import fit
from wordbias.results import Row
from wordbias.wordlists import resolve_groups

QUICK = ("midb", "direct-bias")
FIRST, SECOND = tuple("abcdefgh"), tuple("ijklmnopqr")
ASKED = SemBias((((("he", "she"),) * 2 + (("man", "woman"), ("boy", "girl"))),) * 3)


@pytest.fixture(scope="module")
def panel(sample: Embedding) -> Panel:
    (sample_panel,) = make_panels([sample], None, Attribute.load())
    return sample_panel


def _true_difference(panel: Panel) -> Any:
    groups = resolve_groups(panel.attribute, panel.original)
    first, second = (panel.original.take(group.found).astype(float) for group in groups)
    return first, second, first.mean(0) - second.mean(0)


def _share(subspace: Subspace, delta: Any) -> float:
    return float((subspace.coordinates(delta) ** 2).sum() / (delta @ delta))


def test_groups_that_were_dealt_do_not_hold_the_difference(panel: Panel) -> None:
    """They hold about what the within-group subspace does, the deal's own noise beside it."""
    first, second, delta = _true_difference(panel)
    within = Subspace.from_groups(first, second, panel.dims, centre=True)
    true = Subspace.from_groups(first, second, panel.dims)
    shares = [_share(null.subspace, delta) for null in draw_nulls(panel) if null.subspace]
    assert len(shares) == DRAWS
    assert max(shares) < 2 * _share(within, delta) < 0.5 < _share(true, delta)
    assert np.median(shares) == pytest.approx(_share(within, delta), rel=0.1)


def test_dealing_the_words_as_they_are_would_find_the_difference_again(panel: Panel) -> None:
    first, second, delta = _true_difference(panel)
    raw, rng = np.concatenate([first, second]), np.random.default_rng(0)
    for _ in range(5):
        deal = rng.permutation(len(raw))
        groups = raw[deal[: len(first)]], raw[deal[len(first) :]]
        assert _share(Subspace.from_groups(*groups, panel.dims), delta) > 0.97


def test_midb_along_a_null_is_midb_along_its_subspace(panel: Panel) -> None:
    nulls, values = draw_nulls(panel), chance_values(panel, ["midb"])
    x = panel.vectors
    for i, null in enumerate(nulls[:3]):
        assert null.subspace is not None
        assert null.unit_subspace is not None
        raw, on_unit = midb(x, null.subspace), midb(unit(x), null.unit_subspace)
        for name, value in (
            ("midb", raw.signed),
            ("midb-abs", raw.absolute),
            ("midb-rms", raw.rms),
            ("midb-unit", on_unit.signed),
            ("midb-unit-abs", on_unit.absolute),
            ("midb-unit-rms", on_unit.rms),
        ):
            assert values[name, ""][i] == pytest.approx(value, rel=1e-5)


@pytest.mark.slow
def test_direct_bias_along_a_null_is_of_two_random_words_of_like_frequency(panel: Panel) -> None:
    nulls, values = draw_nulls(panel), chance_values(panel, ["direct-bias"])
    known = {
        tuple(v): word for word, v in zip(panel.vocabulary, panel.vectors.tolist(), strict=True)
    }
    assert len(known) > 20_000
    frequent = panel.original.take(panel.vocabulary[:250]).astype(float)
    differences = (frequent[:, None] - frequent).reshape(-1, panel.original.dim)
    for i, null in enumerate(nulls):
        assert null.axis is not None
        assert null.component is not None
        assert values["direct-bias", ""][i] == pytest.approx(direct_bias(panel.vectors, null.axis))
        pca = direct_bias(panel.vectors, null.component)
        assert values["direct-bias-pca", ""][i] == pytest.approx(pca)
        # she and he are among the hundred most frequent words, and so are both of these
        assert (np.abs(differences - null.axis).max(axis=1) < 1e-6).any()


@pytest.mark.slow
def test_labels_are_those_of_the_null(panel: Panel) -> None:
    nulls = draw_nulls(panel)
    values = chance_values(panel, ["clustering", "recoverability"])
    assert {len(v) for k, v in values.items() if k[0].startswith("recov")} == {
        BY_KEY["recoverability"].draws
    }
    assert nulls[1].direction is not None
    lean = projections(panel.vectors, nulls[1].direction.defined())
    chosen = most_biased(lean, CLUSTERED // 2)
    clusters = clustering(panel.vectors[chosen.rows], chosen.labels, seed=panel.seed)
    assert values["clustering-v", ""][1] == clusters.v_measure.mean()
    chosen = most_biased(lean, 2500)
    scores = recoverability(panel.vectors[chosen.rows], chosen.labels, seed=panel.seed)
    assert values["recoverability-logistic", ""][1] == scores["logistic"].accuracy


def test_sembias_and_gipe_along_a_null(panel: Panel) -> None:
    small = replace(panel, vocabulary=panel.vocabulary[:300], sembias=ASKED)
    values, null = chance_values(small, ["sembias", "gipe"]), draw_nulls(small)[2]
    assert null.direction is not None
    emb = small.embedding
    pairs = [emb.take(pair).astype(float) for pair in ASKED.questions[0]]
    differences = np.stack([[a - b for a, b in pairs]] * 3)
    counts = category_counts(choices(differences, null.direction)) / 3
    names = ("definition", "none", "stereotype")
    assert [values[f"sembias-{name}", "all"][2] for name in names] == counts.tolist()

    class Turned(Panel):
        """A panel whose direction is the null."""

        own_direction = original_direction = null.direction

    turned = Turned(emb, emb, small.vocabulary, small.attribute)
    for row in evaluate(turned, ["gipe"]):
        assert values[key_of(row)][2] == pytest.approx(row.value, rel=1e-9)


@pytest.mark.slow
def test_draws_are_seeded_and_do_not_depend_on_what_else_is_asked(panel: Panel) -> None:
    alone, both = chance_values(panel, ["direct-bias"]), chance_values(panel, QUICK)
    assert all((alone[key] == both[key]).all() for key in alone)
    other = chance_values(replace(panel, seed=1), QUICK)
    assert all((other[key] != both[key]).any() for key in both)


def test_it_is_taken_once_on_the_original(sample: Embedding) -> None:
    clean = fit(sample)(sample)
    words = [word for word in sample.words[:900] if word.isalpha()]
    panels = make_panels([sample, clean], sample, Attribute.load(), words)
    before, after = (
        {key_of(row): row for row in evaluate_panels(panels, QUICK) if row.subject == vectors.name}
        for vectors in (sample, clean)
    )
    alone = evaluate_panels(make_panels([clean], sample, Attribute.load(), words), QUICK)
    keys = ("chance", "chance_low", "chance_high")
    for row in alone:
        both = before[key_of(row)], after[key_of(row)]
        assert {tuple(r.details[k] for k in keys) for r in (row, *both)} == {
            tuple(row.details[k] for k in keys)
        }
        assert row.details == both[1].details
        assert row.value != both[0].value
    plain = evaluate_panels(panels, QUICK, chance=False)
    assert not any("chance" in row.details for row in plain)


@pytest.mark.parametrize(
    ("value", "better", "beyond"),
    [
        (3.1, "lower", True),
        (2.9, "lower", False),
        (0.5, "lower", False),  # better than chance is not biased beyond it
        (0.5, "neutral", True),
        (0.5, "higher", True),
        (None, "lower", None),
    ],
)
def test_beyond_chance_is_outside_all_draws(value: Any, better: str, beyond: Any) -> None:
    row = Row("e", "m", value, {"better": better})
    (compared,) = with_chance([row], {("m", ""): np.array([1.0, np.nan, 3.0, 2.0])})
    assert (compared.details["chance"], compared.details["chance_low"]) == (2, 1)
    assert compared.details["chance_high"] == 3
    assert compared.details.get("beyond_chance") is beyond
    assert with_chance([row], {("other", ""): np.ones(3)}) == [row]


@pytest.mark.parametrize("recipe", ["she-he", "pca", "means", "subspace", "file"])
def test_every_direction_has_a_null(panel: Panel, recipe: str, tmp_path: Path) -> None:
    if recipe == "file":
        recipe = str(tmp_path / "g.safetensors")
        Subspace(np.eye(3, 100), [0.5, 0.3, 0.2]).save(recipe)
    null = draw_nulls(replace(panel, recipe=recipe), 1)[0]
    assert null.direction is not None
    true = replace(panel, recipe=recipe).own_direction.defined()
    assert null.direction.defined().dims == true.dims
    if recipe.endswith("safetensors"):
        assert null.direction.defined().weights.tolist() == true.weights.tolist()


def test_the_published_subspace_is_its_own_chance(panel: Panel) -> None:
    """Centred, it is variation within the groups, which is what the nulls are fitted to."""
    published = replace(panel, centre=True)
    rows = evaluate_panels([published], ["midb"])
    assert all("chance" in row.details and "beyond_chance" not in row.details for row in rows)
    (row,) = (row for row in rows if row.measure == "midb-abs")
    assert row.details["chance_low"] <= row.value <= row.details["chance_high"]


def test_groups_of_a_few_words_are_not_dealt(sample: Embedding) -> None:
    """Two and two words can be dealt in three ways, mirror images aside."""
    tiny = Attribute("size", ("big", "small"), (("big", "huge"), ("small", "tiny")))
    (panel,) = make_panels([sample], None, tiny, dims=2, recipe="means")
    null = draw_nulls(panel, 20)[0]
    assert (null.subspace, null.direction) == (None, None)
    assert draw_nulls(panel, 3)[0].subspace is not None


def test_without_groups_or_pairs_the_rest_is_still_measured() -> None:
    words = [*FIRST, *SECOND, *(f"w{i}" for i in range(300))]
    emb = Embedding(words, np.random.default_rng(0).normal(size=(len(words), 8)), "e")
    bare = Attribute("x", ("f", "m"), (FIRST, SECOND))
    (panel,) = make_panels([emb], None, bare)
    assert {key[0] for key in chance_values(panel, STANDARD)} == {*MIDB, "difference-in-span"}
    lone = replace(panel, attribute=Attribute("x", ("f", "m"), (("zz",), ("yy",)), (("w1", "w2"),)))
    assert {key[0] for key in chance_values(lone, QUICK)} == {"direct-bias-pca"}
