"""Gender of names read off vectors: found where it is shared, not where names are remembered."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from wordbias.labelled import Labelled
from wordbias.probes.mdl import online_codes
from wordbias.probes.unseen_names import Reading, read_names
from wordbias.statistics import mean_interval

NAMES, TIMES, D = 80, 4, 96
SEEDS = (0, 1, 2)
NAME = [f"name {i}" for i in range(NAMES) for _ in range(TIMES)]
GENDER = ["female" if i < NAMES // 2 else "male" for i in range(NAMES) for _ in range(TIMES)]


def vectors(shared: float, own: float, noise: float = 0.3) -> NDArray[np.float32]:
    """Make vectors of one layer: a part that a gender shares, and one of each name's own."""
    rng = np.random.default_rng(1)
    sign = np.array([1.0 if gender == "female" else -1.0 for gender in GENDER])
    direction, names = rng.normal(size=D), rng.normal(size=(NAMES, D))
    x = shared * sign[:, None] * direction + own * np.repeat(names, TIMES, axis=0)
    return (x + noise * rng.normal(size=x.shape))[None].astype(np.float32)


def rows(reading: Reading, **others: Any) -> dict[str, Any]:
    return {row.measure: row for row in reading.rows("m", {"layer": 0}, **others)}


def test_what_a_gender_shares_is_read_and_what_a_name_has_is_not() -> None:
    (shared,) = read_names(vectors(2.0, 0.5), GENDER, NAME, seeds=SEEDS)
    (own,) = read_names(vectors(0.0, 3.0), GENDER, NAME, seeds=SEEDS)
    gendered, control = rows(shared), rows(own)
    assert gendered["compression"].value > 2
    assert gendered["compression"].details["beyond_chance"] is True
    assert gendered["selectivity"].details["low"] > 0.2
    # every name can be told apart, but no unseen name's gender
    assert control["compression"].value < 1
    assert control["compression"].details["beyond_chance"] is False
    assert control["probe-accuracy"].details["neutral"] == 0.5
    # a probe that may see other sentences of a name remembers it
    remembered = online_codes(Labelled.of(vectors(0.0, 3.0), np.array(GENDER)), seeds=SEEDS)
    assert min(coding.code.accuracy for coding in remembered) > 0.8
    assert control["probe-accuracy"].value < 0.65


def test_chance_is_not_below_what_the_shares_of_the_genders_give() -> None:
    rare = ["female" if i < NAMES // 10 else "male" for i in range(NAMES) for _ in range(TIMES)]
    (own,) = read_names(vectors(0.0, 0.0), rare, NAME, seeds=SEEDS)
    row = rows(own)["compression"]
    assert row.details["neutral"] > 1.9
    assert row.details["chance_low"] >= row.details["neutral"]
    assert row.details["beyond_chance"] is False


def test_the_codes_are_those_of_the_online_code_with_names_as_groups() -> None:
    x = vectors(1.0, 0.5)
    (reading,) = read_names(x, GENDER, NAME, seeds=SEEDS)
    scale = np.sqrt(np.mean(x.astype(float) ** 2))
    groups = np.unique(NAME, return_inverse=True)[1]
    examples = Labelled.of(x / np.float32(scale), np.array(GENDER))
    expected = online_codes(examples, seeds=SEEDS, groups=groups, types=groups)
    values = [coding.code.compression for coding in expected]
    row = rows(reading)["compression"]
    np.testing.assert_allclose(row.details["values"], values, rtol=1e-5)
    assert row.value == pytest.approx(np.mean(row.details["values"]))
    ends = mean_interval(row.details["values"])
    assert ends is not None
    assert (row.details["low"], row.details["high"]) == tuple(ends)


def test_values_do_not_depend_on_the_length_of_the_vectors() -> None:
    x = vectors(1.0, 0.5)
    (reading,) = read_names(x, GENDER, NAME, seeds=(0,))
    (longer,) = read_names(x * 1024, GENDER, NAME, seeds=(0,))
    assert longer.scale == pytest.approx(1024 * reading.scale)
    assert rows(longer)["compression"].value == rows(reading)["compression"].value
    # a power of two changes no bit of the scaled vectors


def test_changes_are_paired_by_seed_and_chance_is_that_before() -> None:
    before, after = (
        read_names(x, GENDER, NAME, seeds=SEEDS)[0] for x in (vectors(2.0, 0.5), vectors(0.2, 0.5))
    )
    row = rows(after, before=before, chance=before)["compression"]
    old = rows(before)["compression"]
    differences = np.subtract(row.details["values"], old.details["values"])
    assert row.details["change"] == pytest.approx(differences.mean())
    ends = mean_interval(differences)
    assert ends is not None
    assert (row.details["change_low"], row.details["change_high"]) == pytest.approx(tuple(ends))
    for key in ("chance", "chance_low", "chance_high"):
        assert row.details[key] == old.details[key]
    assert old.details["chance_low"] >= 1  # a sender need not use the vectors


def test_several_layers_are_each_read_as_by_itself() -> None:
    both = np.concatenate([vectors(2.0, 0.5), vectors(0.0, 1.0)])
    readings = read_names(both, GENDER, NAME, seeds=(0,))
    alone = [read_names(x[None], GENDER, NAME, seeds=(0,))[0] for x in both]
    for reading, other in zip(readings, alone, strict=True):
        np.testing.assert_allclose(
            rows(reading)["compression"].value, rows(other)["compression"].value, rtol=1e-4
        )
        assert reading.scale == pytest.approx(other.scale)
