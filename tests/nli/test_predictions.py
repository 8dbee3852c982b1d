"""Predictions of other systems: any order of rows and columns, and every error."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from wordbias import WordbiasError
from wordbias.nli.pairs import label_indices
from wordbias.nli.predictions import Predictions
from wordbias.nli.test_sets import Pair, TestSet, build

LABELS = ("neutral", "entailment", "contradiction")
COLUMNS = ("premise", "hypothesis", *LABELS)


def few() -> TestSet:
    test = build("explicit")
    return replace(test, templates=test.templates[::400])


def probabilities(test: TestSet, seed: int = 0) -> NDArray[np.float64]:
    p: NDArray[np.float64] = np.random.default_rng(seed).dirichlet((1, 1, 1), len(test))
    return p


def written(
    pairs: Sequence[Pair],
    p: NDArray[np.float64],
    names: Sequence[str] = COLUMNS,
    columns: Sequence[int] = range(5),
    delimiter: str = ",",
    digits: int = 17,
) -> str:
    """Write a table: `columns` says which of premise, hypothesis, N, E, C comes where."""
    out = io.StringIO()
    table = csv.writer(out, delimiter=delimiter)
    table.writerow([names[i] for i in columns])
    for pair, row in zip(pairs, p, strict=True):
        cells = [*pair, *(f"{x:.{digits}f}" for x in row)]
        table.writerow([cells[i] for i in columns])
    return out.getvalue()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "predictions.csv"


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.permutations(range(5)), st.randoms(), st.sampled_from([",", "\t"]))
def test_the_order_of_rows_and_columns_does_not_matter(
    path: Path, columns: list[int], random: Random, delimiter: str
) -> None:
    test = few()
    p = probabilities(test)
    rows = list(range(len(test)))
    random.shuffle(rows)
    pairs = list(test)
    text = written([pairs[i] for i in rows], p[rows], columns=columns, delimiter=delimiter)
    path.write_text(text, encoding="utf-8", newline="")
    predictions = Predictions.load(path)
    assert len(predictions) == len(test)
    np.testing.assert_array_equal(predictions.for_set(test), p.astype(np.float32))


@pytest.mark.parametrize(
    "names",
    [
        ("premise", "hypothesis", "neutral", "entail", "contradiction"),
        ("Premise", " HYPOTHESIS ", "Neutral", "ENTAILMENT", "contradict"),
        ("premise", "hypothesis", "neutral_p", "entailment (p)", "contradictory"),
    ],
)
def test_columns_are_found_by_the_beginning_of_their_names(
    path: Path, names: Sequence[str]
) -> None:
    test = few()
    p = probabilities(test)
    path.write_text(written(list(test), p, names, [2, 4, 3, 1, 0]), encoding="utf-8")
    np.testing.assert_array_equal(Predictions.load(path).for_set(test), p.astype(np.float32))


def test_a_file_as_the_published_tool_writes_it(path: Path) -> None:
    """Lower-case sentences, columns before and after, the order E, N, C."""
    test = few()
    p = probabilities(test)
    lines = ["premise,hypothesis,entail,neutral,contradiction,x1,x2"]
    lines += [
        f"{premise.lower()},{hypothesis.lower()},{e!r},{n!r},{c!r},man,person"
        for (premise, hypothesis), (n, e, c) in zip(test, p.tolist(), strict=True)
    ]
    path.write_text("\ufeff" + "\r\n".join(lines) + "\r\n\r\n", encoding="utf-8", newline="")
    np.testing.assert_array_equal(Predictions.load(path).for_set(test), p.astype(np.float32))


def test_the_space_before_the_full_stop_may_be_gone(path: Path) -> None:
    test = few()
    p = probabilities(test)
    natural = [Pair(*(f"  {x.replace(' .', '.')}" for x in pair)) for pair in test]
    path.write_text(written(natural, p), encoding="utf-8")
    np.testing.assert_array_equal(Predictions.load(path).for_set(test), p.astype(np.float32))


def test_three_digits_are_enough(path: Path) -> None:
    """The sum of three numbers rounded to three digits is off by 0.0015 at most."""
    test = few()
    p = probabilities(test)
    path.write_text(written(list(test), p, digits=3), encoding="utf-8")
    np.testing.assert_allclose(Predictions.load(path).for_set(test), p, atol=0.00051)


def test_pairs_of_other_sets_are_counted_and_left_out(path: Path) -> None:
    test = few()
    other = replace(build("names"), templates=test.templates)
    pairs = [*other, *test]
    p = np.random.default_rng(0).dirichlet((1, 1, 1), len(pairs))
    path.write_text(written(pairs, p), encoding="utf-8")
    predictions = Predictions.load(path)
    assert predictions.count_others([test]) == len(other)
    assert predictions.count_others([test, other]) == 0
    np.testing.assert_array_equal(predictions.for_set(test), p[len(other) :].astype(np.float32))


def test_a_pair_may_occur_twice_with_the_same_prediction(path: Path) -> None:
    test = few()
    p = probabilities(test)
    path.write_text(written([*test, *test], np.concatenate([p, p])), encoding="utf-8")
    np.testing.assert_array_equal(Predictions.load(path).for_set(test), p.astype(np.float32))


def test_missing_pairs_are_counted_and_the_first_is_named(path: Path) -> None:
    test = few()
    pairs, p = list(test), probabilities(test)
    places = [i for i in range(len(pairs)) if i not in (3, 7)]
    path.write_text(written([pairs[i] for i in places], p[places]), encoding="utf-8")
    with pytest.raises(WordbiasError) as caught:
        Predictions.load(path).for_set(test)
    message = str(caught.value)
    assert f"{path}: lacks 2 of the {len(test)} pairs of the set explicit" in message
    assert repr(pairs[3].hypothesis) in message
    assert "mab-eval --write" in message


ROW = "A person ran .,A man ran .,"
HEAD = ",".join(COLUMNS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty; expected a header, a name for each column"),
        (f"{HEAD}\n", "holds no prediction"),
        (f"{ROW}0.1,0.2,0.7\n", "line 1: has no columns 'premise', .*; it has A person ran"),
        (
            "premise,hypothesis,neutral,entailment\n",
            "has no column 'contradict.'; it has premise",
        ),
        (
            f"{HEAD},neutral2\n{ROW}1,0,0,1\n",
            "expected one column, found 'neutral' and 'neutral2'; leave one",
        ),
        (
            f"{HEAD},premise\n{ROW}1,0,0,1\n",
            "one column, found 'premise' and 'premise'; leave",
        ),
        (
            f"{HEAD}\n{ROW}1,0,0\n{ROW}0.5,0.5\n",
            "line 3: expected the columns premise, .*, found 4",
        ),
        (f"{HEAD}\n{ROW}0.5,0.4,0\n", "line 2: 0.5, 0.4, 0: expected .* add up to 1"),
        (f"{HEAD}\n{ROW}0.5,0.4,0.097\n", "line 2: .* add up to 1"),
        (f"{HEAD}\n{ROW}0.5,0.4,0.103\n", "line 2: .* add up to 1"),
        (f"{HEAD}\n{ROW}2.1,-0.3,-0.8\n", "line 2: 2.1, -0.3, -0.8: .* add up to 1"),
        (f"{HEAD}\n{ROW}50,30,20\n", "line 2: 50, 30, 20: .* add up to 1"),
        (f"{HEAD}\n{ROW}1,nan,0\n", "line 2: 1, nan, 0: .* add up to 1"),
        (f"{HEAD}\n{ROW}nan,1,0\n", "line 2: nan, 1, 0: .* add up to 1"),
        (f"{HEAD}\n{ROW}inf,1,0\n", "line 2: inf, 1, 0: .* add up to 1"),
        (f"{HEAD}\n\n{ROW}1,0,zero\n", "line 3: 1, 0, zero: expected three probabilities"),
        (f"{HEAD}\n{ROW}1,,0\n", "line 2: 1, , 0: expected three probabilities"),
        (f"{HEAD}\n{ROW}1,0,0\n{ROW}0,1,0\n", "line 3: says something else of a pair"),
        (f'{HEAD}\n"{"x" * 200_000}\n', "line 2: has a cell of more than 131,072 characters"),
    ],
)
def test_unusable_rows_are_refused(path: Path, text: str, message: str) -> None:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(WordbiasError, match=message) as caught:
        Predictions.load(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_other_encodings_are_refused_with_their_line(path: Path) -> None:
    path.write_bytes(f"{HEAD}\n{ROW}1,0,0\nÉmile ran .,x,1,0,0\n".encode("latin-1"))
    with pytest.raises(WordbiasError, match="line 3: byte 1 is not UTF-8"):
        Predictions.load(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    for path in (tmp_path / "gone.csv", tmp_path):
        with pytest.raises(WordbiasError, match="cannot be read"):
            Predictions.load(path)


@given(st.permutations(LABELS))
def test_labels_are_found_in_any_order(names: list[str]) -> None:
    places = label_indices([name.upper() for name in names])
    assert places is not None
    assert [names[i] for i in places] == list(LABELS)


@pytest.mark.parametrize(
    "names",
    [
        ["LABEL_0", "LABEL_1", "LABEL_2"],
        ["entailment", "not_entailment"],
        ["neutral", "entailment", "contradiction", "contradiction (strong)"],
        ["neutral", "entails", "no"],
        [],
    ],
)
def test_ambiguous_labels_have_no_order(names: list[str]) -> None:
    assert label_indices(names) is None
