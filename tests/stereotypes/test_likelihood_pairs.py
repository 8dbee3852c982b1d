"""Pairs, StereoSet and perplexity by likelihood: published scoring on items with known scores."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from tiny_decoders import build_decoder, word_tokenizer  # noqa: E402

from wordbias.errors import WordbiasError  # noqa: E402
from wordbias.models.causal_model import CausalModel, Likelihoods  # noqa: E402
from wordbias.models.perplexity import perplexity_rows, windows  # noqa: E402
from wordbias.results import Row  # noqa: E402
from wordbias.statistics import wilson  # noqa: E402
from wordbias.stereotypes.crows_pairs import CrowsPair, CrowsPairs  # noqa: E402
from wordbias.stereotypes.crows_pairs import likelihood_rows as crows_rows  # noqa: E402
from wordbias.stereotypes.pairs import mean_row, pair_rows, score_pairs, share_row  # noqa: E402
from wordbias.stereotypes.scores import Settings  # noqa: E402
from wordbias.stereotypes.stereoset import Cluster, likelihood_rows, score_clusters  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")

CROWS = CrowsPairs(
    "crows.csv",
    "",
    [
        CrowsPair("a", "b", "stereo", "gender"),
        CrowsPair("c", "d", "stereo", "age"),
        CrowsPair("e", "f", "antistereo", "gender"),
        CrowsPair("g", "h", "stereo", "gender"),
    ],
)
SCORES = Likelihoods(
    np.array([[-4.0, -6.0], [-9.0, -3.0], [-5.0, -5.0], [-8.0, -9.0]]),
    np.array([[2, 2], [3, 3], [5, 5], [4, 9]]),
)
"""More, less, less, more likely; a tie; the last pair is the other way round per token."""


def values(rows: list[Row], measure: str, **about: Any) -> Any:
    matches = [
        row.value
        for row in rows
        if row.measure == measure and all(row.details.get(k) == v for k, v in about.items())
    ]
    (only,) = matches
    return only


def test_crows_pairs_are_counted_by_direction_and_type() -> None:
    rows = crows_rows(CROWS, SCORES, "model", Settings())
    share = {"score": "likelihood"}
    assert values(rows, "crows", subset="all", **share) == 2.5 / 4
    assert values(rows, "crows", subset="gender", **share) == 2.5 / 3
    assert values(rows, "crows", subset="antistereo", **share) == 0.5
    assert values(rows, "crows", subset="all", score="per-token") == 1.5 / 4
    assert values(rows, "likelihood-difference", subset="all", **share) == (2 + 6 + 0 + 1) / 4
    row = rows[0]
    assert (row.details["low"], row.details["high"]) == wilson(2.5 / 4, 4)
    assert row.details["ties"] == 1
    assert (row.details["neutral"], row.details["n"]) == (0.5, 4)


def test_as_published_a_tie_is_no_preference_for_the_stereotype() -> None:
    rows = crows_rows(CROWS, SCORES, "model", Settings(as_published=True))
    assert values(rows, "crows", subset="all", score="likelihood") == 2 / 4
    assert values(rows, "crows", subset="antistereo", score="likelihood") == 0


def test_pairs_of_ones_own_have_a_share_and_a_lean() -> None:
    rows = pair_rows(SCORES, "model", Settings())
    assert values(rows, "pair-preferred", score="likelihood") == 2.5 / 4
    assert values(rows, "pair-lean", score="likelihood") == (2 - 6 + 0 + 1) / 4
    lean = np.array([1, -2, 0, -2 + 1])
    assert values(rows, "pair-lean", score="per-token") == lean.mean()
    exchanged = pair_rows(
        Likelihoods(SCORES.total[:, ::-1], SCORES.tokens[:, ::-1]), "model", Settings()
    )
    assert values(exchanged, "pair-preferred", score="likelihood") == 1.5 / 4
    assert values(exchanged, "pair-lean", score="likelihood") == 3 / 4


def test_what_differs_by_rounding_is_a_tie() -> None:
    """All first texts are likelier in the last digits, as after a removal in float32."""
    total = np.repeat([[-30.0], [-50.0], [-70.0]], 2, axis=1)
    total[:, 0] += 5e-6
    rows = pair_rows(Likelihoods(total, np.full((3, 2), 10)), "model", Settings())
    for score in ("likelihood", "per-token"):
        assert values(rows, "pair-preferred", score=score) == 0.5
        assert values(rows, "pair-lean", score=score) == 0
    assert rows[0].details["ties"] == 3
    published = pair_rows(
        Likelihoods(total, np.full((3, 2), 10)), "model", Settings(as_published=True)
    )
    assert values(published, "pair-preferred", score="likelihood") == 1
    total[:, 0] += 1e-3
    rows = pair_rows(Likelihoods(total, np.full((3, 2), 10)), "model", Settings())
    assert values(rows, "pair-preferred", score="likelihood") == 1


WORDS = "The nurse was kind stern cup . She sat and slept in the old car"


def decoder(family: str = "llama", **options: Any) -> CausalModel:
    tokenizer = word_tokenizer(WORDS)
    return CausalModel.load((build_decoder(family, len(tokenizer)), tokenizer), **options)


def test_both_texts_of_a_pair_are_scored_whole() -> None:
    model = decoder()
    pairs = [("She slept .", "The nurse slept ."), ("She sat", "She")]
    likelihoods = score_pairs(model, pairs)
    assert likelihoods.tokens.tolist() == [[3, 4], [2, 1]]
    each = [[model.score_texts([text]).total[0] for text in pair] for pair in pairs]
    np.testing.assert_allclose(likelihoods.total, each, rtol=1e-5)


# StereoSet

CLUSTERS = [
    Cluster("1", "nurse", "gender", "", ("The nurse was kind .", "She was stern .", "cup cup")),
    Cluster("2", "nurse", "gender", "", ("She slept", "The nurse sat .", "car car")),
]


def test_as_published_only_the_first_token_follows_bos() -> None:
    """The mean log-probability; the other tokens are computed from the sentence alone."""
    model = decoder()
    likelihoods = score_clusters(model, CLUSTERS, as_published=True)
    for cluster, totals, counts in zip(
        CLUSTERS, likelihoods.total, likelihoods.tokens, strict=True
    ):
        for text, total, count in zip(cluster.candidates, totals, counts, strict=True):
            ids = model.ids(text)
            with torch.inference_mode():
                first = model.model(torch.tensor([[model.start]])).logits[0, -1].log_softmax(-1)
                later = model.model(torch.tensor([ids])).logits[0].log_softmax(-1)
            each = [float(first[ids[0]])]
            each += [float(later[i - 1, ids[i]]) for i in range(1, len(ids))]
            assert total == pytest.approx(sum(each), rel=1e-5)
            assert count == len(ids)
    after_bos = score_clusters(model, CLUSTERS)
    assert not np.allclose(after_bos.total, likelihoods.total)
    assert after_bos.tokens.tolist() == likelihoods.tokens.tolist()


def test_a_sentence_of_one_token_is_refused_as_published() -> None:
    clusters = [Cluster("1", "nurse", "gender", "", ("The nurse", "She", "cup cup"))]
    with pytest.raises(WordbiasError, match=r"expected a sentence of two tokens or more: 'She'"):
        score_clusters(decoder(), clusters, as_published=True)


def test_stereoset_is_measured_by_both_scores_and_as_published_per_token() -> None:
    likelihoods = Likelihoods(
        np.array([[-6.0, -4.0, -9.0], [-2.0, -8.0, -3.0]]), np.array([[6, 2, 9], [2, 4, 1]])
    )
    rows = likelihood_rows(CLUSTERS, likelihoods, "model", Settings())
    assert values(rows, "ss", score="likelihood") == 0.5
    assert values(rows, "lms", score="likelihood") == 3 / 4
    assert values(rows, "ss", score="per-token") == 1
    assert values(rows, "lms", score="per-token") == (1 / 4 + 1) / 2
    published = likelihood_rows(CLUSTERS, likelihoods, "model", Settings(as_published=True))
    assert {row.details["score"] for row in published} == {"per-token"}


# Perplexity


@given(st.integers(1, 70), st.integers(1, 20))
def test_windows_predict_each_token_once_and_are_full(n: int, length: int) -> None:
    ids = tuple(range(1, n + 1))
    chunks = windows(ids, 0, length)
    assert [token for chunk in chunks for token in chunk.ids[chunk.given :]] == list(ids)
    assert all(len(chunk.ids) - 1 == min(length, n) for chunk in chunks)
    assert chunks[0].given == 1
    assert all(chunk.given == 1 for chunk in chunks[:-1])


def test_a_model_that_knows_nothing_has_the_perplexity_of_its_vocabulary() -> None:
    tokenizer = word_tokenizer(WORDS)
    model = build_decoder("llama", len(tokenizer))
    with torch.no_grad():
        model.lm_head.weight.zero_()
    loaded = CausalModel.load((model, tokenizer))
    rows = perplexity_rows(loaded, WORDS, "model", length=4)
    n, size = len(WORDS.split()), len(WORDS.encode())
    assert rows[0].value == pytest.approx(len(tokenizer))
    assert rows[1].value == pytest.approx(n * math.log2(len(tokenizer)) / size)
    assert rows[0].details["n"] == n
    assert rows[0].details["low"] == pytest.approx(rows[0].details["high"])


def test_perplexity_of_one_window_is_that_of_the_text() -> None:
    model = decoder("gpt2")
    (row, _) = perplexity_rows(model, WORDS, "model")
    (text,) = model.texts([WORDS])
    likelihoods = model.score([text])
    assert row.value == pytest.approx(math.exp(-likelihoods.per_token[0]))
    assert "low" not in row.details
    assert row.details["windows"] == 1
    (short, _) = perplexity_rows(model, WORDS, "model", length=3)
    assert short.details["windows"] == 5
    parts = model.score(windows(model.ids(WORDS), model.start, 3)).total
    assert short.value == pytest.approx(math.exp(-parts.sum() / short.details["n"]))


def test_without_bos_the_perplexity_leaves_out_the_first_token() -> None:
    tokenizer = word_tokenizer(WORDS, bos="")
    loaded = (build_decoder("llama", len(tokenizer)), tokenizer)
    model = CausalModel.load(loaded, bos=False)
    (row, _) = perplexity_rows(model, WORDS, "model")
    likelihoods = model.score_texts([WORDS])
    assert row.value == pytest.approx(math.exp(-likelihoods.per_token[0]))
    assert row.details["n"] == len(WORDS.split()) - 1


@pytest.mark.parametrize(("text", "bos"), [(" \n", True), (" \n", False), ("She", False)])
def test_a_text_without_a_token_has_no_perplexity(text: str, bos: bool) -> None:
    with pytest.raises(WordbiasError, match=r"the text for the perplexity has no token to score"):
        perplexity_rows(decoder(bos=bos), text, "model")


def test_one_item_has_no_interval_over_items() -> None:
    """A bootstrap of one item has no width, which would look certain."""
    for values, has in ((np.array([1.5]), False), (np.array([1.5, 0.5]), True)):
        row = mean_row("model", "pair-lean", values, {}, 0, unit="pairs")
        assert ("low" in row.details) is has
        assert bool(row.draws) is has
        share = share_row(
            "model", "pair-preferred", (values > 1).astype(float), {}, 0, unit="pairs"
        )
        assert share.details["low"] < share.value  # Wilson's interval knows of one item
        assert bool(share.draws) is has
