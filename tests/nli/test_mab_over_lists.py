"""Marked attribute bias over redrawn word lists: weights on sentences that are scored once."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from wordbias.nli.mab import marked, over_lists
from wordbias.nli.test_sets import Template
from wordbias.wordlists import Templates

Float = NDArray[np.float64]
TEMPLATES = [
    Template(verb, thing, "")
    for verb, things in {"ate": ("pear", "bun"), "bought": ("pear", "car", "hat"),
                         "saw": ("car",)}.items()
    for thing in things
]  # fmt: skip


def probabilities(words: int, seed: int) -> Float:
    p: Float = np.random.default_rng(seed).dirichlet(np.ones(3), (words, len(TEMPLATES)))
    return p


def test_a_redraw_is_a_measurement_of_the_sentences_of_the_drawn_words() -> None:
    """A second implementation: each sentence stands there as often as its words were drawn."""
    first, second, draws = probabilities(5, 1), probabilities(3, 2), 400
    redrawn = over_lists(first, second, TEMPLATES, draws, np.random.default_rng(7))
    rng = np.random.default_rng(7)
    verbs = sorted({template.verb for template in TEMPLATES})
    things = sorted({template.thing for template in TEMPLATES})
    counts = [
        rng.multinomial(n, np.full(n, 1 / n), size=draws) for n in (len(verbs), len(things), 5, 3)
    ]
    empty = 0
    for i, (of_verbs, of_things, *of_words) in enumerate(zip(*counts, strict=True)):
        times = [
            of_verbs[verbs.index(template.verb)] * of_things[things.index(template.thing)]
            for template in TEMPLATES
        ]
        if not sum(times):
            empty += 1
            assert np.isnan([column[i] for column in redrawn]).all()
            continue
        drawn = (
            np.repeat(np.repeat(p, of, axis=0), times, axis=1)
            for p, of in zip((first, second), of_words, strict=True)
        )
        expected = marked(*drawn)
        assert redrawn.distance[i] == pytest.approx(expected.distance)
        assert redrawn.error[i] == pytest.approx(expected.error)
        assert redrawn.error_per_pair[i] == pytest.approx(expected.error_per_pair)
    assert 0 < empty < draws


def test_sentences_that_are_all_alike_have_the_same_value_over_all_lists() -> None:
    first, second = (
        np.tile(np.array(p), (4, len(TEMPLATES), 1)) for p in ((0.5, 0.25, 0.25), (1, 0, 0))
    )
    expected = marked(first, second)
    redrawn = over_lists(first, second, TEMPLATES, 100, np.random.default_rng(0))
    for values, value in zip(redrawn, expected[2:], strict=True):
        np.testing.assert_allclose(values[np.isfinite(values)], value)


def test_the_spread_over_words_is_that_of_their_mean() -> None:
    """With one verb and one object: the error of a mean of words, by the theory of sampling."""
    n, draws = 50, 20_000
    rng = np.random.default_rng(0)
    contradiction = rng.uniform(0.2, 0.8, n)
    p = np.stack([1 - contradiction, 0 * contradiction, contradiction], axis=-1)[:, None]
    redrawn = over_lists(p, p, [Template("saw", "car", "")], draws, rng)
    # ‖(1, 0, 0) − p‖ is √2 times p_C, and E the mean of two independent means
    expected = np.sqrt(2) * contradiction.std() / np.sqrt(n) / np.sqrt(2)
    assert redrawn.error.std() == pytest.approx(expected, rel=6 / np.sqrt(2 * draws))
    assert redrawn.error.mean() == pytest.approx(
        np.sqrt(2) * contradiction.mean(), abs=6 * expected / np.sqrt(draws)
    )


def test_the_command_adds_intervals_and_changes_nothing_else(
    cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    premises = list(Templates.load().premises())[::40]
    monkeypatch.setattr(Templates, "premises", lambda _: tuple(premises))
    call = ("mab-eval", "--set", "explicit", "--draws", 20, "--format", "json", "-q")
    alone, drawn = (cli(*call, *more) for more in ((), ("--seed-lists", 30)))
    assert (alone.code, drawn.code) == (0, 0), drawn.err
    rows = json.loads(drawn.out)["rows"]
    assert [
        {key: value for key, value in row.items() if not key.startswith("lists")} for row in rows
    ] == json.loads(alone.out)["rows"]
    with_lists = [row for row in rows if "lists_draws" in row]
    assert {row["measure"] for row in with_lists} == {
        "mab-distance", "mab-error", "mab-error-per-pair"
    }  # fmt: skip
    for row in with_lists:
        assert row["lists_draws"] == 30
        # the words are fixed in the other one, where nouns differ most
        assert row["lists_high"] - row["lists_low"] > row["high"] - row["low"]
    table = cli(*call[:-3], "-q", "--seed-lists", 30)
    assert "Over lists: 30 redraws of each group's words" in " ".join(table.out.split())
    assert max(map(len, table.out.splitlines())) <= 100
