"""The figures of docs/coreference-measured.md are those of the study's rows, computed anew."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from wordbias.coreference.reading import read_documents
from wordbias.coreference.strategies import anonymise, swap

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "coreference-measured.md").read_text(encoding="utf-8")
SAID = " ".join(PAGE.split()).replace("−", "-")  # the minus sign
F1 = ("conll-f1", "test", "before")
WINOBIAS = ("conll-f1-diff", "pro − anti", "before")
LINES = {
    "F1 on OntoGUM's test part, before": F1,
    "F1, after retraining": (*F1[:2], "after"),
    "WinoBias, F1 pro − anti, before": WINOBIAS,
    "WinoBias, after retraining": (*WINOBIAS[:2], "after"),
    "share undecided, before": ("undecided", "all", "before"),
    "share undecided, after retraining": ("undecided", "all", "after"),
    "best probe of a profession's gender": ("best-probe", "all", "representation"),
    "CEAT, career and family": ("ceat", "weat6", "representation"),
}
Line = tuple[str, str, str]


@cache
def values(study: str = "coref-minilm") -> dict[tuple[str, Line], NDArray[np.float64]]:
    """Read the value of each seed, by strategy and line."""
    by_seed: dict[tuple[str, Line], dict[int, float]] = {}
    path = ROOT / "benchmarks" / study / "results.jsonl"
    for model in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        for row in model["rows"]:
            line = (row["measure"], row.get("set", ""), row["stage"])
            if line in LINES.values() and row["value"] is not None:
                by_seed.setdefault((model["strategy"], line), {})[model["seed"]] = row["value"]
    return {key: np.array([by[seed] for seed in sorted(by)]) for key, by in by_seed.items()}


def number(line: Line, value: float) -> str:
    if line[0].startswith("conll"):
        return f"{value:z.1f}"
    return f"{value:z.2f}".replace("0.", ".", 1)


def of_one(line: Line, x: NDArray[np.float64]) -> str:
    return f"{number(line, x.mean())} ±{number(line, x.std(ddof=1))}"


def change(line: Line, one: str, other: str, study: str = "coref-minilm") -> str:
    """Return the mean paired difference, with its t interval."""
    d = values(study)[one, line] - values(study)[other, line]
    low, high = stats.ttest_1samp(d, 0).confidence_interval()
    return "{} ({} to {})".format(*(number(line, x) for x in (d.mean(), low, high)))


def rows(heading: str) -> list[list[str]]:
    lines = PAGE.partition(heading)[2].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


@pytest.mark.parametrize(
    ("study", "heading", "strategies", "compared"),
    [
        (
            "coref-minilm",
            "| | none | leace | random directions | leace − none (95 %) |",
            ("none", "leace", "random-leace"),
            ("leace",),
        ),
        (
            "coref-minilm",
            "| | none | anonymise | swap | anonymise − none (95 %) | swap − none (95 %) |",
            ("none", "anonymise", "swap"),
            ("anonymise", "swap"),
        ),
        (
            "coref-e5",
            "| e5-small | none | leace | random directions | leace − none (95 %) |",
            ("none", "leace", "random-leace"),
            ("leace",),
        ),
    ],
)
def test_tables_of_three_seeds(
    study: str, heading: str, strategies: tuple[str, ...], compared: tuple[str, ...]
) -> None:
    table = rows(heading)
    assert [name for name, *_ in table] == list(LINES)
    for name, *cells in table:
        line = LINES[name]
        expected = [of_one(line, values(study)[strategy, line]) for strategy in strategies]
        expected += [change(line, strategy, "none", study) for strategy in compared]
        assert [cell.replace("−", "-") for cell in cells] == expected


@pytest.mark.parametrize("study", ["coref-minilm", "coref-e5"])
def test_every_strategy_has_three_seeds(study: str) -> None:
    assert {len(x) for x in values(study).values()} == {3}


def test_how_many_tokens_the_strategies_change(shared_data: Path) -> None:
    documents = read_documents(shared_data / "coref" / "ontogum.train.conll.gz")
    total = sum(len(document.tokens) for document in documents)
    names, others = (
        sum(
            a != b
            for document in documents
            for a, b in zip(document.tokens, strategy(document).tokens, strict=True)
        )
        for strategy in (anonymise, swap)
    )
    sentence = f"`anonymise` changes {names:,} of {total:,} tokens, `swap` {others:,} in the copies"
    assert sentence in SAID


def test_what_is_said_of_the_removal() -> None:
    after = LINES["WinoBias, after retraining"]
    fewer = change(after, "random-leace", "leace")
    assert f"{fewer.split()[0]} less than random directions {fewer.partition(' ')[2]}" in SAID
    probe = LINES["best probe of a profession's gender"]
    assert (
        f"Before training the best probe is {number(probe, values()['pretrained', probe].mean())}"
        in SAID
    )


@pytest.mark.parametrize(
    ("study", "sentence"),
    [("coref-minilm", "retraining, {} more ({})"), ("coref-e5", "{} of 28.3 points ({})")],
)
def test_how_much_of_the_difference_on_winobias_comes_back(study: str, sentence: str) -> None:
    of_leace = values(study)
    back = of_leace["leace", (*WINOBIAS[:2], "after")] - of_leace["leace", WINOBIAS]
    ends = stats.ttest_1samp(back, 0).confidence_interval()
    mean, low, high = (number(WINOBIAS, x) for x in (back.mean(), *ends))
    assert sentence.format(mean, f"{low} to {high}") in SAID


def test_what_is_said_of_the_second_encoder() -> None:
    of_e5 = {
        name: change(line, "random-leace", "leace", "coref-e5") for name, line in LINES.items()
    }
    before, after = (
        of_e5[name] for name in ("WinoBias, F1 pro − anti, before", "WinoBias, after retraining")
    )
    number_before, number_after = before.split()[0], after.split()[0]
    assert f"{number_before} less than with random directions {before.partition(' ')[2]}" in SAID
    assert f"{number_after} points beyond theirs {after.partition(' ')[2]}" in SAID
    undecided = values("coref-e5")["leace", LINES["share undecided, after retraining"]]
    in_one, *others = (number(LINES["share undecided, before"], x) for x in undecided)
    left = (
        number(F1, x) for x in values("coref-e5")["leace", LINES["WinoBias, after retraining"]][1:]
    )
    assert (
        f"{in_one} are undecided with LEACE in one seed, {' and '.join(others)} in the others, "
        f"where the difference is {' and '.join(left)}" in SAID
    )
    probe = values("coref-e5")["pretrained", LINES["best probe of a profession's gender"]].mean()
    assert f"{number(LINES['share undecided, before'], probe)} before training" in SAID
