"""`wordbias.seat`: the values of the formulas alone, SEAT's queries, and one line for mistakes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import wordbias as wb
from wordbias.wordlists.queries import as_queries, seat_queries

pytestmark = pytest.mark.filterwarnings("ignore:.* is sent .* texts")
Cli = Callable[..., Any]
SIX = (
    "The next word on the list is {}.",
    "Somebody wrote {} on the board.",
    "They talked about {} for a while.",
    "The answer to the question was {}.",
    "Everybody thought of {} again.",
    "The text begins with {}.",
)


def encode(texts: list[str]) -> NDArray[np.float64]:
    """Return a vector of each text, drawn by its letters."""
    return np.stack([np.random.default_rng(list(text.encode())).normal(size=12) for text in texts])


def by_hand(query: wb.Query, templates: tuple[tuple[str, ...], tuple[str, ...]]) -> Any:
    """Return d and the one-sided p of all partitions of X and Y, from vectors of sentences."""
    units = {}
    for side, patterns in zip((query.targets, query.attributes), templates, strict=True):
        for word in (word for _, words in side for word in words):
            x = encode([template.replace("{}", word) for template in patterns])
            units[word] = (x / np.linalg.norm(x, axis=1, keepdims=True)).mean(axis=0)
    (_, x), (_, y) = query.targets
    (_, a), (_, b) = query.attributes
    s = np.array(
        [
            np.mean([units[w] @ units[v] for v in a]) - np.mean([units[w] @ units[v] for v in b])
            for w in (*x, *y)
        ]
    )
    n = len(x)
    d = (s[:n].mean() - s[n:].mean()) / s.std(ddof=1)
    gap = s[:n].mean() - s[n:].mean()
    all_gaps = []
    for chosen in combinations(range(len(s)), n):
        rest = [i for i in range(len(s)) if i not in chosen]
        all_gaps.append(s[list(chosen)].mean() - s[rest].mean())
    return d, np.mean(np.array(all_gaps) >= gap - 1e-12), comb(len(s), n)


@pytest.mark.parametrize("name", ["angry-black-woman-b", "double-bind-likable-engineer"])
def test_effect_and_p_are_those_of_the_formulas(name: str) -> None:
    (query,) = as_queries(name)
    templates = (
        (SIX, SIX)
        if query.templates is None
        else tuple((template,) for template in query.templates)
    )
    d, p, _ = by_hand(query, templates)  # type: ignore[arg-type]
    (row,) = wb.seat(encode, name)["seat"]
    assert row.value == pytest.approx(d, abs=1e-5)  # vectors of texts are float32
    assert row.details["p"] == pytest.approx(p)
    assert row.details["alternative"] == "greater"
    assert row.details["sentences"] == len(templates[0])


def test_p_is_corrected_for_the_number_of_queries() -> None:
    rows = wb.seat(encode, "6,weat6b,double-bind-competent")["seat"]
    ordered = sorted(rows, key=lambda row: row.details["p"])
    largest = 0.0
    for i, row in enumerate(ordered):
        largest = max(largest, min(1.0, (len(rows) - i) * row.details["p"]))
        assert row.details["p_holm"] == pytest.approx(largest)


def test_own_templates_replace_all_others() -> None:
    (row,) = wb.seat(encode, "double-bind-likable-engineer", template=["{}!", "Say {}."])["seat"]
    assert row.details["sentences"] == 2
    (query,) = as_queries("double-bind-likable-engineer")
    d, _, _ = by_hand(query, (("{}!", "Say {}."), ("{}!", "Say {}.")))
    assert row.value == pytest.approx(d, abs=1e-5)


def test_published_sets_are_of_the_published_sizes() -> None:
    sizes = {
        query.name: tuple(len(words) for _, words in (*query.targets, *query.attributes))
        for query in seat_queries()
    }
    assert sizes == {
        "weat3b": (15, 15, 25, 25),
        "weat5b": (15, 15, 8, 8),
        "weat6b": (8, 8, 8, 8),
        "weat7b": (8, 8, 8, 8),
        "weat8b": (8, 8, 8, 8),
        "angry-black-woman": (15, 15, 18, 18),
        "angry-black-woman-b": (4, 4, 18, 18),
        "double-bind-competent": (8, 8, 10, 10),
        "double-bind-likable": (8, 8, 8, 8),
        "double-bind-competent-engineer": (8, 8, 10, 10),
        "double-bind-likable-engineer": (8, 8, 8, 8),
    }
    assert {query.about for query in seat_queries()} == {"gender", "ethnicity"}
    assert [query.name for query in as_queries("seat")] == list(sizes)
    assert [query.name for query in as_queries("all")] == [f"weat{i}" for i in range(1, 11)]


def test_word_vectors_are_tested_with_the_same_queries() -> None:
    (query,) = as_queries("double-bind-likable")
    words = [word for _, listed in (*query.targets, *query.attributes) for word in listed]
    report = wb.weat((words, encode(words)), "double-bind-likable,angry-black-woman-b")
    likable, terms = report["weat"]
    assert likable.value is not None
    assert likable.details["about"] == "gender"
    assert terms.value is None
    assert "found" in terms.details["reason"]


OWN = """
[sets]
a = ["ant", "bee"]
b = ["cat", "dog"]
c = ["elm", "fir"]
d = ["ant", "hay"]
[queries.own]
targets = ["a", "b"]
attributes = ["c", "d"]
"""


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--template", "This is it."), "--template='This is it.': has no {} for the word"),
        (("--query", "angry"), "query 'angry': expected one of weat1"),
        (("--query", "own.toml"), "'ant' is a target and an attribute, with other sentences each"),
        (("--query", "one.toml"), "[queries.own] templates: expected two sentences with {}"),
        (("--query", "few.toml"), "own: a: expected two words or more, got 1"),
    ],
)
def test_mistakes_are_one_line(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.toml").write_text(f'{OWN}templates = ["{{}} is here.", "It is {{}}."]\n')
    Path("one.toml").write_text(f'{OWN}templates = ["{{}} is here."]\n')
    Path("few.toml").write_text(OWN.replace('"ant", "bee"', '"bee"'))
    done = cli("seat", "nosuch/", *given)  # refused before a model is opened
    assert done.code in (1, 2)
    assert message in done.err
    assert done.code == 2 or done.err.count("\n") == 1


def test_word_vectors_are_for_another_command(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "glove.txt").write_text("she 1 2\nhe 2 1\n")
    done = cli("seat", tmp_path / "glove.txt")
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert "with the same queries by wordbias weat" in done.err
