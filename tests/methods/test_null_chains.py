"""Random directions in place of those that any debiasing method projects out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordbias as wb
from wordbias import Embedding
from wordbias.errors import WordbiasError
from wordbias.methods.fitted import Chain, Fitted
from wordbias.methods.leace import Erasure
from wordbias.methods.methods import METHODS, fit_chain
from wordbias.methods.misp import fit
from wordbias.methods.null import NO_PROJECTION, random_chains, random_removals
from wordbias.methods.transform import Projection, Shift


@pytest.fixture(scope="module")
def sample() -> Embedding:
    return Embedding.sample()


@pytest.mark.parametrize(
    "methods",
    ["mhd:dims=2", "hard", "double-hard", "leace", "half-sibling", "conceptor", "mhd,misp"],
)
def test_a_draw_has_the_form_of_what_was_fitted(sample: Embedding, methods: str) -> None:
    settings = {"equalise": False} if methods == "hard" else {}
    chain = fit_chain(methods, sample, None, settings)[0]
    first, second = random_chains(chain, 2, seed=5)
    again = next(random_chains(chain, 1, seed=5))
    x = sample.vectors[:30].astype(float)
    np.testing.assert_array_equal(first(x), again(x))
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


def test_a_chain_of_misp_has_the_draws_of_misp(sample: Embedding) -> None:
    removal, x = fit(sample), sample.vectors[:20]
    chains = random_chains(Chain((Fitted("misp", (removal,)),)), 3, seed=4)
    for chain, random in zip(chains, random_removals(removal, 3, seed=4), strict=True):
        np.testing.assert_array_equal(chain(x), random(x))


def test_other_maps_have_no_random_directions(sample: Embedding) -> None:
    chain = fit_chain("bam", sample)[0]
    with pytest.raises(WordbiasError, match="bam has a step linear: leave it out, or --null"):
        list(random_chains(chain, 1))


def test_what_is_refused_by_name_is_a_method() -> None:
    assert set(NO_PROJECTION) < set(METHODS)


def test_a_shift_stays(sample: Embedding) -> None:
    shift = Shift(sample.vectors[3].astype(float))
    (drawn,) = random_chains(Chain((Fitted("shifted", (shift,)),)), 1)
    assert drawn.parts[0].steps == (shift,)


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
    assert len(rows["misp"]) == 14


def test_a_table_shows_the_change_beside_random_removals(
    cli: Callable[..., Any], sample: Embedding, tmp_path: Path
) -> None:
    (tmp_path / "some.txt").write_text("\n".join(w for w in sample.words[:3000] if w.isalpha()))
    call = ("debias", "hard", "--vocab", tmp_path / "some.txt", "-q")
    done = cli(*call, "--no-equalise", "--null", 3, "-o", tmp_path / "clean.txt")
    assert done.code == 0, done.err
    assert "Change, beside that of 3 random removals with the same weights" in done.out
    assert max(map(len, done.out.splitlines())) <= 100
    expected = wb.debias(None, "hard", equalise=False)
    written = Embedding.load(tmp_path / "clean.txt")
    np.testing.assert_allclose(written.vectors, expected.vectors, atol=1e-6)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (("hard", "--null", 3), "equalises them), which no random direction does: add --no-eq"),
        (("bam", "--null", 3), "and bam averages vectors with their image under an alignment"),
        (("hard,ran", "--null", 3), "and ran moves each word by itself: leave it out, or --null"),
        (("misp", "--null", 0), "--null"),
        (("misp hard", "--choose", "midb-abs", "--null", 3), "--null is about one result"),
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
