"""Quality of sentence vectors: the library's own evaluators find the same values."""

from __future__ import annotations

import gzip
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import spearmanr

from wordbias import WordbiasError
from wordbias.probes.sentence_tasks import NEAREST, TextPairs, load_text_pairs


def drawn(n: int, seed: int) -> NDArray[np.float32]:
    return np.random.default_rng(seed).normal(size=(n, 6)).astype(np.float32)


def values(pairs: TextPairs, *vectors: Any, **options: Any) -> dict[tuple[str, str], float]:
    before, after = vectors[:2], vectors[2:] or vectors[:2]
    rows = pairs.rows("tiny", before, after, **options)  # type: ignore[arg-type]
    return {(row.measure, row.details["stage"]): row.value or 0.0 for row in rows}


def test_ratings_are_compared_by_spearman() -> None:
    x, y = drawn(40, 0), drawn(40, 1)
    ratings = np.round(np.random.default_rng(2).uniform(0, 5, 40), 1)
    texts = tuple(map(str, range(40)))
    pairs = TextPairs("sts", texts, texts, ratings)
    cosines = (x * y).sum(1) / np.linalg.norm(x, axis=1) / np.linalg.norm(y, axis=1)
    correlations = values(pairs, x, y)
    assert correlations["sts", "before"] == pytest.approx(
        spearmanr(cosines, ratings).statistic, abs=1e-12
    )
    inner = values(pairs, x, y, similarity="dot")
    expected = spearmanr((x * y).sum(1), ratings).statistic
    assert inner["sts", "before"] == pytest.approx(expected, abs=1e-12)


def test_similarities_that_differ_by_rounding_are_in_no_order() -> None:
    x = np.repeat(drawn(1, 0), 40, axis=0)
    y = x + 1e-7 * drawn(40, 1)
    texts = tuple(map(str, range(40)))
    ratings = np.random.default_rng(2).uniform(0, 5, 40)
    for row in TextPairs("sts", texts, texts, ratings).rows("tiny", (x, y), (y, x)):
        assert row.value is None


def test_the_change_is_of_the_same_draws() -> None:
    x, y = drawn(40, 0), drawn(40, 1)
    texts = tuple(map(str, range(40)))
    ratings = np.random.default_rng(2).uniform(0, 5, 40)
    for pairs in (TextPairs("sts", texts, texts, ratings), TextPairs("found", texts, texts)):
        rows = pairs.rows("tiny", (x, y), (3 * x, y))
        for row in rows[1::2]:
            assert row.details["change"] == pytest.approx(0, abs=1e-12)
            assert row.details["change_low"] == pytest.approx(0, abs=1e-12)
            assert row.details["low"] <= (row.value or 0) <= row.details["high"]
        assert pairs.rows("tiny", (x, y), (3 * x, y)) == rows
        moved = pairs.rows("tiny", (x, y), (drawn(40, 3), y))
        assert moved[1].details["change"] == (moved[1].value or 0) - (moved[0].value or 0)


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 3))
def test_retrieval_is_that_of_its_definition(seed: int, questions: int, repeats: int) -> None:
    rng = np.random.default_rng(seed)
    first = [f"q{i}" for i in range(questions) for _ in range(repeats)]
    chosen = rng.integers(0, 14, len(first))
    second = [f"d{i}" for i in chosen] + [f"e{i}" for i in range(11)]
    first += [f"q{questions}"] * 11
    vectors = {text: rng.normal(size=3).astype(np.float32) for text in {*first, *second}}
    x, y = (np.stack([vectors[text] for text in side]) for side in (first, second))
    pairs = TextPairs("found", tuple(first), tuple(second))
    retrieval = values(pairs, x, y)

    def cosine(a: str, b: str) -> float:
        v, w = (vectors[text].astype(float) for text in (a, b))
        return float(v @ w / np.linalg.norm(v) / np.linalg.norm(w))

    recalls, ranks = [], []
    for query in dict.fromkeys(first):
        mine = {b for a, b in zip(first, second, strict=True) if a == query}
        ordered = sorted(set(second), key=lambda text: -cosine(query, text))
        recalls.append(len(mine & set(ordered[:NEAREST])) / len(mine))
        ranks.append(1 / (1 + min(ordered.index(text) for text in mine)))
    assert retrieval["retrieval-recall", "before"] == pytest.approx(np.mean(recalls))
    assert retrieval["retrieval-rank", "before"] == pytest.approx(np.mean(ranks))


def test_a_text_does_not_find_itself() -> None:
    first = [f"t{i}" for i in range(20)]
    second = [*first[1:], first[0]]  # each text's partner is the next one
    x = drawn(20, 0)
    retrieval = values(TextPairs("ring", tuple(first), tuple(second)), x, np.roll(x, -1, axis=0))
    wide = x.astype(float) / np.linalg.norm(x, axis=1, keepdims=True)
    scores = wide @ wide.T
    np.fill_diagonal(scores, -np.inf)
    ranks = [(row >= row[(i + 1) % 20]).sum() for i, row in enumerate(scores)]
    assert retrieval["retrieval-rank", "before"] == pytest.approx(np.mean(1 / np.array(ranks)))


def test_equally_similar_texts_count_as_ranked_before() -> None:
    n = NEAREST + 5
    texts = tuple(map(str, range(n)))
    same = np.ones((n, 3), np.float32)
    retrieval = values(TextPairs("same", texts, tuple("d" + text for text in texts)), same, same)
    assert retrieval["retrieval-recall", "before"] == 0
    assert retrieval["retrieval-rank", "before"] == pytest.approx(1 / n)


@pytest.mark.parametrize("similarity", ["cosine", "dot"])
def test_rounding_does_not_rank_equal_vectors(similarity: str) -> None:
    """BLAS rounds inner products by the place of a column: a hundred copies stay equal."""
    rng = np.random.default_rng(0)
    n, d = 391, 384
    first = (10 * rng.normal(size=(n, d))).astype(np.float32)
    second = np.tile(first[:1], (n, 1))
    pairs = TextPairs("p", tuple(f"q{i}" for i in range(n)), tuple(f"a{i}" for i in range(n)))
    before, _, rank, _ = pairs.rows("x", (first, second), (first, second), similarity=similarity)
    assert before.value == 0
    assert rank.value == pytest.approx(1 / n, rel=1e-12)


def test_the_evaluator_of_the_library_finds_the_same() -> None:
    library = pytest.importorskip("sentence_transformers")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from sentence_transformers.evaluation import InformationRetrievalEvaluator
    texts = [f"q{i}" for i in range(40)], [f"d{i % 30}" for i in range(40)]
    x = drawn(40, 0)
    documents = drawn(30, 1)
    y = documents[[i % 30 for i in range(40)]]
    assert library is not None

    class Model:
        similarity_fn_name = "cosine"
        model_card_data = None

    evaluator = InformationRetrievalEvaluator(
        {f"q{i}": f"q{i}" for i in range(40)},
        {f"d{i}": f"d{i}" for i in range(30)},
        {f"q{i}": {f"d{i % 30}"} for i in range(40)},
        mrr_at_k=[30], ndcg_at_k=[10], accuracy_at_k=[10], precision_recall_at_k=[10],
        map_at_k=[10], show_progress_bar=False,
    )  # fmt: skip

    def embed(model: Any, given: Any, **options: Any) -> Any:
        import torch

        known = {**dict(zip(texts[0], x, strict=True)), **dict(zip(texts[1], y, strict=True))}
        return torch.tensor(np.stack([known[text] for text in given]))

    evaluator.embed_inputs = embed
    from sentence_transformers.util import cos_sim

    evaluator.score_functions, evaluator.score_function_names = {"cosine": cos_sim}, ["cosine"]
    scores = evaluator.compute_metrices(Model())["cosine"]
    retrieval = values(TextPairs("found", *map(tuple, texts)), x, y)  # type: ignore[arg-type]
    assert retrieval["retrieval-recall", "before"] == pytest.approx(
        scores["recall@k"][10], abs=1e-6
    )
    assert retrieval["retrieval-rank", "before"] == pytest.approx(scores["mrr@k"][30], abs=1e-6)


# reading

RATED = "sentence1\tsentence2\tscore\nA man.\tA person.\t4.5\nA cat.\tA car.\t0\nNo.\tYes.\t1\n"


def test_files_of_every_kind_are_read(tmp_path: Path) -> None:
    tsv = tmp_path / "dev.tsv"
    tsv.write_text(RATED)
    expected = load_text_pairs(tsv)
    assert expected.ratings is not None
    assert (expected.first[0], expected.second[0], expected.ratings.tolist()) == (
        "A man.", "A person.", [4.5, 0, 1])  # fmt: skip
    csv = tmp_path / "dev.csv"
    csv.write_text(RATED.replace("\t", ","))
    packed = tmp_path / "dev.tsv.gz"
    packed.write_bytes(gzip.compress(RATED.encode()))
    columns = {"a": expected.first, "b": expected.second, "gold": expected.ratings.tolist()}
    for source in (csv, packed, columns):
        pairs = load_text_pairs(source)
        assert (pairs.first, pairs.second) == (expected.first, expected.second)
        assert pairs.ratings is not None
        np.testing.assert_array_equal(pairs.ratings, expected.ratings)
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pandas.DataFrame(columns).to_parquet(tmp_path / "dev.parquet")
    assert load_text_pairs(tmp_path / "dev.parquet").sha256() == expected.sha256()


def test_pairs_without_ratings_are_for_retrieval(tmp_path: Path) -> None:
    lines = ["query\tpositive\tsource", *(f"q{i}\td{i}\tx" for i in range(11))]
    (tmp_path / "qa.tsv").write_text("\n".join(lines))
    pairs = load_text_pairs(tmp_path / "qa.tsv")
    assert pairs.ratings is None
    assert (len(pairs), pairs.name) == (11, "qa")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("sentence1\tsentence2\tscore\n", "holds no row"),
        ("a\tb\tc\nx\ty\tz\n", "has the columns a, b, c; expected two columns of texts"),
        ("a\tb\n1\t2\n", "has the columns a, b; expected"),
        (RATED.replace("4.5", "high"), "line 2: score is 'high', expected a number"),
        (RATED.replace("4.5", "nan"), "line 2: score is 'nan', expected a number"),
        (RATED.replace("A cat.", " "), "line 3: 'sentence1' is empty"),
        (RATED.replace("4.5", "1").replace("0\n", "1\n"), "1 different ratings"),
        (RATED.replace("No.\tYes.\t1\n", ""), "2 pairs with 2 different ratings"),
        (RATED + "one cell\n", "line 5: expected 3 columns, found 1"),
        ("query\tanswer\nq\td\n", "has 1 different second texts, of which 10 are retrieved"),
        ("label\tpremise\thypothesis\nneutral\tA\tB\n", "label is 'neutral', expected a number"),
    ],
)
def test_bad_pairs_are_refused(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "dev.tsv"
    file.write_text(text)
    with pytest.raises(WordbiasError) as error:
        load_text_pairs(file)
    assert problem in str(error.value)
    assert str(file) in str(error.value)


def test_a_list_of_texts_is_refused() -> None:
    with pytest.raises(WordbiasError, match="is a list, which has no columns"):
        load_text_pairs(["a", "b"])  # type: ignore[arg-type]


def test_plain_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "dev.txt").write_text("a\nb\n")
    with pytest.raises(WordbiasError, match="is plain text, which has no columns"):
        load_text_pairs(tmp_path / "dev.txt")
