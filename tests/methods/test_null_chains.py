"""Random directions in place of those that any debiasing method projects out."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stand_ins
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from quick_cases import examples
from scipy import stats

import wordbias as wb
from wordbias import Embedding
from wordbias.errors import WordbiasError
from wordbias.methods.fitted import Chain, Fitted
from wordbias.methods.leace import Erasure
from wordbias.methods.methods import fit_chain
from wordbias.methods.null import NO_PROJECTION, chains_as_far, random_chains
from wordbias.methods.settings import METHODS
from wordbias.methods.transform import Normalise, Projection, Shift, Step
from wordbias.subspace import Subspace, random_frame


@pytest.fixture(scope="module")
def sample() -> Embedding:
    return Embedding.sample()


@pytest.mark.parametrize(
    "methods",
    [
        "mhd:dims=2",
        "hard:equalise=no",
        "double-hard",
        "leace",
        "half-sibling",
        "conceptor",
        "mhd,misp",
    ],
)
def test_a_draw_has_the_form_of_what_was_fitted(sample: Embedding, methods: str) -> None:
    chain = fit_chain(methods, sample)[0]
    first, second = random_chains(chain, range(2), seed=5)
    same = next(random_chains(chain, range(1), seed=5))
    x = sample.vectors[:30].astype(float)
    np.testing.assert_array_equal(first(x), same(x))
    assert np.abs(first(x) - second(x)).max() > 0.01
    assert np.abs(first(x) - chain(x)).max() > 0.01
    for part, drawn in zip(chain.parts, first.parts, strict=True):
        assert (drawn.name, drawn.exempt) == (part.name, part.exempt)
        for step, random in zip(part.steps, drawn.steps, strict=True):
            assert type(random) is type(step)
            if isinstance(step, Projection):
                assert isinstance(random, Projection)
                assert random.hard == step.hard
                np.testing.assert_array_equal(random.subspace.weights, step.subspace.weights)
            elif isinstance(step, Erasure):
                assert isinstance(random, Erasure)
                np.testing.assert_allclose(random(step.bias), step.bias)
                assert random.right.shape == step.right.shape
            else:
                assert random is step


def test_other_maps_have_no_random_directions(sample: Embedding) -> None:
    chain = fit_chain("bam", sample)[0]
    with pytest.raises(WordbiasError, match="bam has a step linear: leave it out, or --null"):
        list(random_chains(chain, range(1)))


def test_what_is_refused_by_name_is_a_method() -> None:
    assert set(NO_PROJECTION) < set(METHODS)


def test_a_shift_stays(sample: Embedding) -> None:
    shift = Shift(sample.vectors[3].astype(float))
    (drawn,) = random_chains(Chain((Fitted("shifted", (shift,)),)), range(1))
    assert drawn.parts[0].steps == (shift,)


# --- as far


def _removals(chain: Chain) -> list[Projection | Erasure]:
    steps = [step for part in chain.parts for step in part.steps]
    return [step for step in steps if isinstance(step, (Projection, Erasure))]


def _without_removals(chain: Chain) -> Chain:
    return Chain(
        tuple(
            replace(part, steps=[s for s in part.steps if not isinstance(s, (Projection, Erasure))])
            for part in chain.parts
        )
    )


def _turned(chain: Chain, embedding: Embedding) -> float:
    """Mean distance of words after a chain from those after its other steps, all at length one."""
    before, after = (
        variant(embedding).vectors.astype(float) for variant in (_without_removals(chain), chain)
    )
    before, after = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (before, after))
    return float(np.linalg.norm(after - before, axis=1).mean())


@pytest.mark.parametrize(
    "methods",
    [
        "misp",
        "mhd",
        "hard:equalise=no",
        "double-hard",
        "inlp",
        "leace",
        "conceptor",
        "misp,hard:equalise=no",
    ],
)
def test_random_directions_move_words_as_far_as_the_method(sample: Embedding, methods: str) -> None:
    """On float32 vectors; the same weights move words less far, MISP's by two fifths."""
    chain = fit_chain(methods, sample)[0]
    words = sample.words[:3000]
    part = sample.subset(words)
    target = _turned(chain, part)
    uniform, by_covariance = (
        zip(*chains_as_far(chain, sample, words, 3, by_covariance=which), strict=True)
        for which in (False, True)
    )
    for drawn, number in (*uniform, *by_covariance):
        assert _turned(drawn, part) == pytest.approx(target, abs=1e-6)
        (removal,) = _removals(drawn)
        if isinstance(removal, Projection):
            *whole, last = removal.subspace.weights
        else:
            *whole, last = np.einsum("dk,kd->k", removal.left, removal.right)
        np.testing.assert_allclose(whole, 1, atol=1e-12)
        assert 0 <= last <= 1 + 1e-12
        assert number == pytest.approx(sum(whole) + last)
    assert np.mean([_turned(random, part) for random in random_chains(chain, range(3))]) < target
    if methods == "misp":
        assert all(
            _turned(random, part) < 0.7 * target for random in random_chains(chain, range(3))
        )


@given(
    seed=st.integers(0, 2**32 - 1),
    d=st.integers(4, 9),
    normalised=st.booleans(),
    affine=st.booleans(),
    by_covariance=st.booleans(),
)
@settings(max_examples=examples(60), deadline=None)
def test_any_removal_has_random_ones_that_move_rows_as_far(
    seed: int, d: int, normalised: bool, affine: bool, by_covariance: bool
) -> None:
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, d // 2 + 1))
    vectors = (rng.standard_normal((60, d)) @ rng.standard_normal((d, d))).astype(np.float32)
    embedding = Embedding([f"w{i}" for i in range(60)], vectors, "e")
    frame = random_frame(k, d, rng)
    removal: Step = Projection(Subspace(frame, rng.uniform(0.05, 1, k)), bool(rng.integers(2)))
    if affine:
        removal = Erasure(frame.T, frame, vectors.mean(0))
    around = (Normalise(),) if normalised else ()
    exempt = frozenset(embedding.words[: rng.integers(3)])
    chain = Chain((Fitted("m", (*around, removal, *around), exempt, around),))
    try:
        chains, _ = chains_as_far(chain, embedding, embedding.words, 3, by_covariance=by_covariance)
    except WordbiasError:  # no d - 1 directions of a draw move them as far
        reject()
    for drawn in chains:
        assert _turned(drawn, embedding) == pytest.approx(_turned(chain, embedding), abs=2e-6)


@pytest.mark.slow
def test_directions_by_covariance_have_the_words_covariance() -> None:
    """The first one has the distribution of a normal vector, at length one; else it is uniform."""
    rng = np.random.default_rng(0)
    scale = np.array([4.0, 2, 1, 1, 0.5])
    x = rng.standard_normal((400, 5)) * scale + 3
    embedding = Embedding([f"w{i}" for i in range(400)], x.astype(np.float32), "e")
    chain = Chain((Projection(Subspace.from_direction(np.eye(5)[4], 0.01)),))
    peers = {
        True: rng.multivariate_normal(np.zeros(5), np.cov(x.T), 600),
        False: rng.standard_normal((600, 5)),
    }
    for by_covariance, peer in peers.items():
        chains, _ = chains_as_far(
            chain, embedding, embedding.words, 600, by_covariance=by_covariance
        )
        drawn = np.stack([_removals(random)[0].subspace.basis[0] for random in chains])
        want = peer / np.linalg.norm(peer, axis=1, keepdims=True)
        for i in range(5):
            assert stats.ks_2samp(np.abs(drawn[:, i]), np.abs(want[:, i])).pvalue > 1e-4


def test_where_no_random_removal_moves_words_as_far_that_is_said(sample: Embedding) -> None:
    """In two dimensions a random direction may have less of the words than the one removed."""
    flat = sample.with_vectors(sample.vectors[:, :2].copy())
    words = flat.words[:500]
    report = wb.misp(flat, mhd=True, dims=1, null=9, chance=False, vocab=words).report
    assert report is not None
    (row,) = (candidate for candidate in report["displacement"] if "null" in candidate.details)
    assert "null_as_far" not in row.details
    reason = row.details["null_as_far_reason"]
    assert "moves words by" in reason
    assert f"as far: there are none: {reason}" in " ".join(report.render("table").split())


@pytest.mark.slow
def test_debias_says_what_misp_says(
    cli: Callable[..., Any], sample: Embedding, tmp_path: Path
) -> None:
    (tmp_path / "some.txt").write_text("\n".join(w for w in sample.words[:3000] if w.isalpha()))
    common = ("--null", 5, "--vocab", tmp_path / "some.txt", "--format", "json", "-q")
    rows = {}
    for name, call in {"misp": ("misp", "--no-chance"), "debias": ("debias", "misp")}.items():
        done = cli(*call, *common)
        assert done.code == 0, done.err
        rows[name] = [
            {key: value for key, value in row.items() if key != "method"}
            for row in json.loads(done.out)["rows"]
            if "null" in row
        ]
    assert rows["debias"] == rows["misp"]
    assert len(rows["misp"]) == 18


@pytest.mark.slow
def test_a_table_shows_the_change_beside_random_removals(
    cli: Callable[..., Any], sample: Embedding, tmp_path: Path
) -> None:
    (tmp_path / "some.txt").write_text("\n".join(w for w in sample.words[:3000] if w.isalpha()))
    call = ("debias", "hard:equalise=no", "--vocab", tmp_path / "some.txt", "-q")
    done = cli(*call, "--null", 3, "-o", tmp_path / "clean.txt")
    assert done.code == 0, done.err
    assert "Change, compared with 3 random removals of each kind" in done.out
    assert max(map(len, done.out.splitlines())) <= 100
    expected = wb.debias(None, "hard:equalise=no")
    written = wb.load(tmp_path / "clean.txt")
    np.testing.assert_allclose(written.vectors, expected.vectors, atol=1e-6)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (("hard", "--null", 3), "equalises them), which no random direction does: say hard:eq"),
        (("bam", "--null", 3), "and bam averages vectors with their image under an alignment"),
        (("hard,ran", "--null", 3), "and ran moves each word by itself: leave it out, or --null"),
        (("misp", "--null", 0), "--null"),
        (("misp", "--groups", "religion", "--null", 3), "religion"),
    ],
)
def test_what_has_no_null_is_one_line_and_writes_nothing(
    cli: Callable[..., Any], tmp_path: Path, call: tuple[Any, ...], said: str
) -> None:
    done = cli("debias", *call, "-o", tmp_path / "clean.txt")
    assert done.code in (1, 2)
    assert said in done.err
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("family", ["same", "gipe"])
def test_every_measure_has_its_change_beside_those_of_random_removals(family: str) -> None:
    """Measured one by one; MIDB and direct bias have the keys that the rows of cost have too."""
    few = stand_ins.small()
    words = [word for word in few.words[:1500] if word.isalpha()]
    families = ["midb", "direct-bias", family]
    clean = wb.debias(few, "misp", measure=True, only=families, null=3, vocab=words)
    rows = [row for row in clean.report.rows if row.subject == clean.name]
    after = {(row.measure, row.details.get("setting")): row for row in rows}
    before = wb.measure(few, only=[family], vocab=words, chance=False).rows
    chain = fit_chain("misp", few)[0]
    removed = [removal(few).renamed("removed") for removal in random_chains(chain, range(3))]
    reports = [
        wb.measure(embedding, only=[family], original=few, vocab=words, chance=False).rows
        for embedding in removed
    ]
    for i, row in enumerate(before):
        details = after[row.measure, row.details.get("setting")].details
        assert row.value is not None
        changes = np.array([rows[i].value for rows in reports], float) - row.value
        assert details["null"] == pytest.approx(changes.mean(), abs=1e-9)
        draws = after[row.measure, row.details.get("setting")].draws["null"]
        np.testing.assert_allclose(draws.values, changes, atol=1e-9)
        assert draws.unit == "removals"
        less = (np.abs(changes) < abs(details["change"])).sum()
        assert (details["null_less"], details["null_p"]) == (less, (4 - less) / 4)
        assert {"null_as_far_p", "null_covariance_p"} <= details.keys()
    refitted = [row for row in clean.report.rows if row.details.get("reference") == "self"]
    assert len(refitted) == 8
    for row in refitted:
        (own,) = (
            candidate
            for candidate in rows
            if candidate.measure == row.measure and "null" in candidate.details
        )
        for key in ("change", "null", "null_low", "null_as_far", "null_covariance_p"):
            # both from float32 vectors; means over the same words in another order
            assert own.details[key] == pytest.approx(row.details[key], rel=1e-5, abs=1e-7), key
