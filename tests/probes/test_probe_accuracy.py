"""Plain probing: its split, its baselines, its interval."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordbias.columns import Column
from wordbias.errors import WordbiasError
from wordbias.labelled import Labelled
from wordbias.probes.accuracy import divided, probe_accuracy
from wordbias.probes.train import Recipe


def _examples(n: int = 600, noise: float = 0.5) -> Labelled:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, 6)).astype(np.float32)
    return Labelled.of(x, x[:, 0] + noise * rng.standard_normal(n) > 0.4)


@given(st.lists(st.integers(10, 90), min_size=2, max_size=5), st.integers(0, 9))
def test_the_split_is_stratified_and_whole(sizes: list[int], seed: int) -> None:
    labels = np.repeat(np.arange(len(sizes)), sizes)
    order, schedule = divided(labels, seed)
    assert sorted(order) == list(range(len(labels)))
    (t,), ((a, b),), ((c, d),) = schedule.train, schedule.dev, schedule.test
    assert (a, c, d) == (t, b, len(labels))
    for part, share in ((order[:t], 0.8), (order[a:b], 0.1), (order[c:], 0.1)):
        counts = np.bincount(labels[part], minlength=len(sizes))
        assert (np.abs(counts - share * np.array(sizes)) <= 1).all()


def test_a_given_split_is_kept() -> None:
    split = Column.of(["train"] * 50 + ["Validation"] * 20 + ["test"] * 30)
    order, schedule = divided(np.zeros(100, int), 0, split)
    assert set(order[:50]) == set(range(50))
    assert schedule.dev == ((50, 70),)
    assert set(order[70:]) == set(range(70, 100))


def test_a_split_without_dev_gives_a_tenth_of_train() -> None:
    split = Column.of(["train"] * 50 + ["test"] * 50)
    order, schedule = divided(np.zeros(100, int), 0, split)
    assert (schedule.train, schedule.dev, schedule.test) == ((45,), ((45, 50),), ((50, 100),))
    assert set(order[50:]) == set(range(50, 100))


def test_splits_with_other_values_or_empty_parts_are_refused() -> None:
    with pytest.raises(WordbiasError, match="'later' is not train, dev or test"):
        divided(np.zeros(2, int), 0, Column.of(["train", "later"]))
    with pytest.raises(WordbiasError, match="split: none of 2 examples is for test; name"):
        divided(np.zeros(2, int), 0, Column.of(["train", "dev"]))
    with pytest.raises(WordbiasError, match="6 examples leave none to dev"):
        divided(np.arange(6), 0)


def test_accuracy_is_above_control_and_majority() -> None:
    examples = _examples()
    probes = probe_accuracy(examples, seeds=(0, 1), recipe=Recipe(rate=0.02))
    assert [probed.seed for probed in probes] == [0, 1]
    share = float(np.mean(examples.label.codes == 0))
    for probe in probes:
        assert probe.control is not None
        assert probe.tested.n == pytest.approx(60, abs=2)
        assert probe.majority == pytest.approx(share, abs=2 / 60)
        # four standard deviations of a share of sixty
        assert probe.tested.accuracy > probe.majority
        assert abs(probe.control.accuracy - share) < 4 * np.sqrt(0.25 / 60)
        assert probe.selectivity == probe.tested.accuracy - probe.control.accuracy
    (bare,) = probe_accuracy(examples, control=False, recipe=Recipe(rate=0.02))
    assert bare.tested == probes[0].tested
    assert bare.selectivity is None


@pytest.mark.slow
@pytest.mark.parametrize("probe", ["linear", "mlp"])
def test_only_an_mlp_learns_the_sign_of_a_product(probe: str) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((800, 12)).astype(np.float32)
    examples = Labelled.of(x, x[:, 0] * x[:, 1] > 0)
    recipe = Recipe(probe, epochs=30, rate=0.01)
    (probed,) = probe_accuracy(examples, recipe=recipe, control=False, device="cpu")
    assert (probed.tested.accuracy > 0.75) == (probe == "mlp")
