"""The measures are the same bit by bit, whatever machine takes them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from wordbias import Attribute, Embedding
from wordbias.errors import WordbiasError
from wordbias.measures.evaluate import evaluate, evaluate_panels
from wordbias.measures.panel import Panel, make_panels
from wordbias.methods.misp import fit
from wordbias.results import Row
from wordbias.workers import Workers

pytestmark = [pytest.mark.filterwarnings("default")]  # of clusters that start and stop
FAMILIES = ("gipe", "direct-bias", "midb", "sembias")


@pytest.fixture(scope="module")
def panels() -> list[Panel]:
    sample, attribute = Embedding.sample(), Attribute.load()
    needed = [*(word.lower() for group in attribute.members for word in group), "she", "he"]
    needed += sample.words[:2000]
    rows, _ = sample.rows(list(dict.fromkeys(needed)))
    small = Embedding([sample.words[i] for i in rows], sample.vectors[rows], "small")
    return make_panels([small, fit(small)(small)], small, attribute)


@pytest.fixture(scope="module")
def here(panels: list[Panel]) -> list[Row]:
    return evaluate_panels(panels, FAMILIES)


@pytest.mark.slow
def test_rows_are_those_of_the_table(panels: list[Panel], here: list[Row]) -> None:
    expected = [row for panel in panels for row in evaluate(panel, FAMILIES)]
    assert evaluate_panels(panels, FAMILIES, chance=False) == expected
    assert [row.value for row in here] == [row.value for row in expected]


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "ray"])
def test_rows_are_those_of_one_process(
    backend: str, join: Callable[[str], None], panels: list[Panel], here: list[Row]
) -> None:
    join(backend)
    assert evaluate_panels(panels, FAMILIES, workers=Workers(2, backend)) == here


def test_an_unknown_family_is_refused_before_anything_is_done(panels: list[Panel]) -> None:
    with pytest.raises(WordbiasError, match="measure 'rnd': expected one of midb"):
        evaluate_panels(panels, ["midb", "rnd"], workers=Workers(2))
