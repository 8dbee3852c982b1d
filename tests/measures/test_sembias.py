"""SemBias, counted again by a loop."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quick_cases import examples
from safetensors.numpy import load_file

from wordbias import Attribute, Embedding
from wordbias.data import sample_path
from wordbias.errors import WordbiasError
from wordbias.measures.direction import Direction
from wordbias.measures.panel import Panel
from wordbias.measures.sembias import (
    MEASURES,
    SUBSET,
    SemBias,
    category_counts,
    category_shares,
    choices,
    resampled_shares,
    sembias_rows,
    usable_questions,
)
from wordbias.subspace import Subspace

PAIR = ("she", "he")
GENDER = Attribute("gender", ("f", "m"), ((), ()), (PAIR,), direction=PAIR)
WORDS = [f"w{i}" for i in range(24)]


def _cosine(a: Any, b: Any) -> float:
    norm = np.linalg.norm(a) * np.linalg.norm(b)
    return float(a @ b / norm) if norm else 0.0


def _count(lookup: Any, questions: Any) -> tuple[list[int], int]:
    """Definition, none, stereotype by argmax of cos(he − she, a − b), first of equals; missing."""
    towards = lookup("he").astype(float) - lookup("she")
    counts, missing = [0, 0, 0], 0
    for question in questions:
        try:
            gaps = [lookup(a).astype(float) - lookup(b) for a, b in question]
        except KeyError:
            missing += 1
            continue
        best, score = 0, -2.0
        for i, gap in enumerate(gaps):
            if _cosine(towards, gap) > score:
                best, score = i, _cosine(towards, gap)
        counts[[0, 1, 1, 2][best]] += 1
    return counts, missing


def _panel(vectors: Any, words: Any = ("she", "he", *WORDS), **settings: Any) -> Panel:
    emb = Embedding(words, vectors, "small")
    return Panel(emb, emb, list(words)[2:], GENDER, **settings)


def _values(panel: Panel, sembias: SemBias, name: str = "all") -> list[Any]:
    rows = [
        row for row in sembias_rows(replace(panel, sembias=sembias)) if row.details["set"] == name
    ]
    assert [row.measure for row in rows] == list(MEASURES)
    return [row.value for row in rows]


def _questions(rng: np.random.Generator, count: int, words: Any = WORDS) -> SemBias:
    drawn = [rng.permutation(words)[:8].tolist() for _ in range(count)]
    return SemBias(tuple(tuple(zip(w[::2], w[1::2], strict=True)) for w in drawn))


@settings(max_examples=examples(60), deadline=None)
@given(seed=st.integers(0, 2**32 - 1), count=st.integers(1, 60))
def test_it_is_the_count_of_a_loop(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    panel = _panel(rng.normal(size=(26, 6)))
    sembias = _questions(rng, count, [*WORDS, "unknown"])
    for name, questions in (
        ("all", sembias.questions),
        (f"last {SUBSET}", sembias.questions[-SUBSET:]),
    ):
        counts, missing = _count(panel.embedding.__getitem__, questions)
        rows = [
            row
            for row in sembias_rows(replace(panel, sembias=sembias))
            if row.details["set"] == name
        ]
        n = count if name == "all" else min(SUBSET, count)
        if missing == n:
            assert [row.value for row in rows] == [None] * 3
            continue
        assert [row.value for row in rows] == [c / (n - missing) for c in counts]
        assert {(row.details["n"], row.details["missing"]) for row in rows} == {
            (n - missing, missing)
        }


def test_columns_are_definition_none_none_stereotype() -> None:
    assert category_counts(np.array([0, 1, 2, 3, 3, 2])).tolist() == [1, 3, 2]
    assert category_counts(np.array([], np.intp)).tolist() == [0, 0, 0]


def test_the_male_word_comes_first() -> None:
    towards_she = Direction(Subspace.from_direction([1.0, 0]), "")
    he_first, she_first = np.array([-1.0, 0.1]), np.array([1.0, 0.1])
    differences = np.array([[she_first, he_first, she_first, she_first]])
    assert choices(differences, towards_she).tolist() == [1]


@pytest.mark.parametrize("recipe", ["she-he", "pca"])
def test_every_recipe_runs_from_she_to_he(recipe: str) -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(26, 6))
    sembias = SemBias(((("w0", "w1"), ("she", "he"), ("w2", "w3"), ("he", "she")),))
    assert _values(_panel(vectors, recipe=recipe), sembias) == [0, 0, 1]


@pytest.mark.parametrize("dim", [3, 100, 300])
@pytest.mark.parametrize("column", [0, 1, 2])
def test_of_equals_the_first_is_taken(dim: int, column: int) -> None:
    """Published code takes the first (gp_debias) or the last (FEE), which favours stereotypes."""
    rng = np.random.default_rng(dim)
    g = rng.normal(size=dim)
    differences = rng.normal(size=(37, 4, dim)) + g  # away from he − she …
    best = -g + 0.1 * rng.normal(size=(37, dim))  # … but for two equal ones
    differences[:, column] = differences[:, 3] = best
    assert choices(differences, Direction(Subspace.from_direction(g), "")).tolist() == [column] * 37


def test_a_pair_without_difference_is_as_good_as_a_right_angle() -> None:
    differences = np.array([[[1.0, 0], [0, 0], [0, 1], [2, 0]]])
    assert choices(differences, Direction(Subspace.from_direction([1.0, 0]), "")).tolist() == [1]


def _projected(vectors: Any, columns: Any) -> Any:
    """Project the pairs of the words w0, w1, …, that are in these columns off he − she."""
    x = vectors.astype(float)
    g = Subspace.from_direction(x[1] - x[0])
    rows = [2 + 8 * q + 2 * column + side for q, column in columns for side in (0, 1)]
    x[rows] = g.remove(x[rows])
    return x.astype(np.float32)


_THREE = SemBias(
    tuple(
        tuple((f"w{8 * q + 2 * column}", f"w{8 * q + 2 * column + 1}") for column in range(4))
        for q in range(3)
    )
)


def test_questions_whose_pairs_are_alike_but_for_rounding_are_left_out_and_counted() -> None:
    """Their answers would change with every rotation of the embedding."""
    vectors = np.random.default_rng(0).normal(size=(26, 50)).astype(np.float32)
    whole = _values(_panel(vectors), _THREE)
    after = _projected(vectors, [(1, column) for column in range(4)])
    panel = replace(_panel(after), sembias=_THREE)
    others = SemBias((_THREE.questions[0], _THREE.questions[2]))
    assert _values(panel, _THREE) == _values(_panel(vectors), others) != whole
    for row in sembias_rows(panel):
        assert (row.details["n"], row.details["tied"], row.details["missing"]) == (2, 1, 0)
    assert "tied" not in sembias_rows(replace(panel, sembias=others))[0].details
    shares = category_shares(panel.embedding, _THREE, [panel.own_direction])
    assert [shares[name, "all"][0] for name in MEASURES] == _values(panel, _THREE)


def test_where_all_questions_are_alike_but_for_rounding_the_shares_are_undefined() -> None:
    vectors = np.random.default_rng(0).normal(size=(26, 50)).astype(np.float32)
    after = _projected(vectors, [(q, column) for q in range(3) for column in range(4)])
    panel = replace(_panel(after), sembias=_THREE)
    rows = sembias_rows(panel)
    reason = "undefined: in every question the four pairs are alike but for rounding"
    assert {(row.value, row.details["reason"]) for row in rows} == {(None, reason)}
    assert {(row.details["n"], row.details["tied"]) for row in rows} == {(0, 3)}
    shares = category_shares(panel.embedding, _THREE, [panel.own_direction])
    assert np.isnan([shares[name, "all"] for name in MEASURES]).all()


@pytest.mark.parametrize("seed", range(5))
def test_of_equals_but_for_rounding_the_first_is_taken(seed: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(26, 50)).astype(np.float32)
    vectors[[2, 10, 18]] = vectors[[3, 11, 19]] + vectors[0] - vectors[1]  # she − he itself
    after = _projected(vectors, [(q, column) for q in range(3) for column in (1, 2, 3)])
    assert _values(_panel(after), _THREE) == [0, 1, 0]


def test_questions_with_a_missing_word_are_left_out_and_counted() -> None:
    questions = (
        (("w0", "w1"), ("w2", "w3"), ("w4", "w5"), ("w6", "gone")),
        (("W0", "w1"), ("w2", "w3"), ("w4", "w5"), ("w6", "w7")),
    )
    usable, missing = usable_questions(questions, set(WORDS))
    assert (len(usable), missing) == (1, 1)
    assert usable[0][0] == ("w0", "w1")  # as the vocabulary spells it


def test_no_usable_question_has_a_reason() -> None:
    panel = _panel(np.random.default_rng(0).normal(size=(26, 6)))
    gone = SemBias(((("w0", "gone"), ("w2", "w3"), ("w4", "w5"), ("w6", "w7")),))
    rows = sembias_rows(replace(panel, sembias=gone))
    assert {row.value for row in rows} == {None}
    assert {row.details["reason"] for row in rows} == {"undefined: no question has all its words"}
    assert {(row.details["n"], row.details["missing"]) for row in rows} == {(0, 1)}


def test_without_the_test_set_the_reason_says_how_to_give_it() -> None:
    rows = sembias_rows(_panel(np.random.default_rng(0).normal(size=(26, 6))))
    assert [row.measure for row in rows] == list(MEASURES)
    assert all("run: wordbias fetch sembias, and give it" in row.details["reason"] for row in rows)


def test_the_subset_is_the_last_forty() -> None:
    rng = np.random.default_rng(5)
    vectors = rng.normal(size=(26, 6))
    sembias = _questions(rng, 100)
    last = SemBias(sembias.questions[60:])
    panel = _panel(vectors)
    assert _values(panel, sembias, "last 40") == _values(panel, last)
    assert _values(panel, sembias, "last 40") != _values(panel, sembias)
    assert len(last.questions) == 40


def test_the_length_of_all_vectors_does_not_matter_but_that_of_one_does() -> None:
    rng = np.random.default_rng(0)
    vectors, sembias = rng.normal(size=(26, 6)), _questions(rng, 200)
    expected = _values(_panel(vectors), sembias)
    assert _values(_panel(vectors * 8), sembias) == expected
    vectors[2:] *= rng.uniform(0.2, 5, size=(24, 1))
    assert _values(_panel(vectors), sembias) != expected


def test_the_interval_is_of_shares_that_add_up() -> None:
    rng = np.random.default_rng(0)
    rows = sembias_rows(_panel(rng.normal(size=(26, 6)), sembias=_questions(rng, 100)))
    for row in rows:
        assert 0 <= row.details["low"] <= row.value <= row.details["high"] <= 1
        n, p = row.details["n"], row.value
        # of pairs that hardly repeat at most √3 times p ± 1.96 sqrt(p(1−p)/n) (Owen 2007)
        width = (row.details["high"] - row.details["low"]) / (2 * 1.96 * np.sqrt(p * (1 - p) / n))
        assert 0.75 < width < 1.25 * np.sqrt(3)
    assert sum(row.value for row in rows[:3]) == pytest.approx(1, abs=1e-15)


def test_questions_that_cross_few_pairs_are_no_independent_ones() -> None:
    """The choice depends on the definition pair alone: the interval is scipy's over these pairs."""
    from scipy.stats import bootstrap

    questions = [
        ((f"d{i}", f"D{i}"), ("n", "N"), ("o", "O"), (f"s{j}", f"S{j}"))
        for i in range(22)
        for j in range(20)
    ]
    right = np.arange(22) % 3 == 0
    best = np.repeat(np.where(right, 0, 3), 20)
    drawn = resampled_shares(questions, best, np.random.default_rng(0))
    theirs = bootstrap((right,), np.mean, n_resamples=4000, rng=np.random.default_rng(1))
    # the standard deviation of B draws has a relative error of 1/√(2B)
    error = np.hypot(1 / np.sqrt(2000), 1 / np.sqrt(8000))
    assert drawn[:, 0].std() == pytest.approx(theirs.standard_error, rel=5 * error)
    np.testing.assert_allclose(drawn.sum(axis=1), 1)


@pytest.mark.parametrize("ending", ["", "\n", "\n\n", "\r\n"])
def test_the_published_form_is_read(tmp_path: Path, ending: str) -> None:
    line = "priest:nun\tdog:bitch\tbook:magazine\tdoctor:nurse"
    path = tmp_path / "SemBias"
    newline = "\r\n" if "\r" in ending else "\n"
    path.write_bytes((line + newline + line + ending).encode())
    sembias = SemBias.load(path)
    pairs = (("priest", "nun"), ("dog", "bitch"), ("book", "magazine"), ("doctor", "nurse"))
    assert sembias.questions == (pairs, pairs)
    assert sembias.words[:4] == ["priest", "nun", "dog", "bitch"]


def test_a_mark_of_byte_order_is_no_part_of_a_word(tmp_path: Path) -> None:
    path = tmp_path / "SemBias"
    path.write_text("a:b\tc:d\te:f\tg:h\n", encoding="utf-8-sig")
    assert SemBias.load(path).words[0] == "a"


@pytest.mark.parametrize(
    "line",
    ["", "a:b\tc:d\te:f", "a:b\tc:d\te:f\tg:h\ti:j", "a:b c:d e:f g:h", "a:b\tc:d\te:f\tg",
     "a:b\tc:d\te:f\tg:", "a:b\tc:d\te:f\tg:h:i", "a:b\tc:d\t:f\tg:h"],
)  # fmt: skip
def test_a_malformed_line_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "SemBias"
    good = "a:b\tc:d\te:f\tg:h\n"
    path.write_text(good * 2 + line + "\n" + good, encoding="utf-8")
    with pytest.raises(WordbiasError, match="SemBias: line 3: expected four tab-separated pairs"):
        SemBias.load(path)


@pytest.mark.parametrize("content", [b"", b"\n", b"\xff\xfe\tx"])
def test_what_holds_no_question_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "SemBias"
    path.write_bytes(content)
    with pytest.raises(WordbiasError, match=r"SemBias: (line 1|cannot be read)"):
        SemBias.load(path)


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(WordbiasError, match="cannot be read as SemBias"):
            SemBias.load(path)


@pytest.fixture
def published(shared_data: Path) -> Path:
    return shared_data / "sembias" / "SemBias.tsv"


def test_the_published_set_on_real_vectors(published: Path) -> None:
    """Counted from the stored arrays and lines, by nothing of the package."""
    tensors = load_file(sample_path())
    words = tensors["words"].tobytes().decode().split("\n")
    index = {word: i for i, word in enumerate(words)}
    lines = published.read_text(encoding="utf-8").strip().split("\n")
    questions = [[tuple(cell.split(":")) for cell in line.split("\t")] for line in lines]
    assert len(questions) == 440
    sample = Embedding.sample()
    panel = Panel(sample, sample, ["nurse", "doctor"])
    sembias = SemBias.load(published)
    for name, subset in (("all", questions), ("last 40", questions[-40:])):
        counts, missing = _count(lambda word: tensors["vectors"][index[word]], subset)
        assert missing == 0
        assert _values(panel, sembias, name) == [count / len(subset) for count in counts]
    assert _values(panel, sembias) == [334 / 440, 22 / 440, 84 / 440]
    assert _values(panel, sembias) == pytest.approx([0.759, 0.050, 0.191], abs=5e-4)


def test_the_published_set_is_22_definitions_by_20_stereotypes(published: Path) -> None:
    questions = SemBias.load(published).questions
    definitions, stereotypes = ({question[i] for question in questions} for i in (0, 3))
    assert len(questions) == 440 == len({(q[0], q[3]) for q in questions})
    assert (len(definitions), len(stereotypes)) == (22, 20)
    assert {q[0] for q in questions[-SUBSET:]} == {("rake", "coquette"), ("nobleman", "noblewoman")}
    assert not {q[0] for q in questions[:-SUBSET]} & {q[0] for q in questions[-SUBSET:]}
