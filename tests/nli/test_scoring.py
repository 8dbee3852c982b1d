"""Scoring a test set: each pair independent of the others, each sentence encoded once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from wordbias import Embedding, WordbiasError, devices
from wordbias.formats import FileInfo
from wordbias.nli import scoring
from wordbias.nli.files import Model, shapes
from wordbias.nli.lexicon import Encoded, Lexicon
from wordbias.nli.pairs import Pairs, tokenise
from wordbias.nli.scoring import (
    Scored,
    accuracy,
    notes_on_missing_words,
    notes_on_vectors,
    probabilities,
    score_set,
)
from wordbias.nli.test_sets import SETS, TestSet, build

FLOAT32 = 1e-5
"""Room for float32 sums of a few hundred terms in another order."""


def random_model(dim: int = 100, hidden: int = 8, intra: bool = True, **about: Any) -> Model:
    rng = np.random.default_rng(0)
    weights = {  # of a size that saturates nothing
        name: (0.8 * rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)
        for name, shape in shapes(dim, hidden, intra).items()
    }
    return Model(weights, dim, hidden, intra, about=about)


@pytest.fixture(scope="module")
def model() -> Model:
    return random_model()


@pytest.fixture
def small() -> TestSet:
    """Return the explicit set with a few templates of several lengths."""
    test = build("explicit")
    return replace(test, templates=test.templates[::97])


def alone(model: Model, embedding: Embedding, test: TestSet) -> NDArray[np.float32]:
    """Predict each pair by itself, through no code of scoring's own."""
    predictions = []
    for premise, hypothesis in test:
        sides = [[tuple(tokenise(text))] for text in (premise, hypothesis)]
        lexicon = Lexicon.of([*sides[0], *sides[1]])
        encoded = Encoded.of(Pairs(*sides, np.zeros(1, np.int64)), lexicon)
        predictions.append(probabilities(model, lexicon.table(embedding).vectors, encoded)[0])
    return np.array(predictions)


@pytest.mark.each_once("intra")
@pytest.mark.each_once("intra")
@pytest.mark.parametrize("intra", [True, False])
@pytest.mark.parametrize("at_once", [1, 30, 10_000])
def test_scoring_together_does_not_change_the_predictions(
    sample: Embedding, small: TestSet, monkeypatch: pytest.MonkeyPatch, intra: bool, at_once: int
) -> None:
    monkeypatch.setattr(scoring, "SENTENCES_TOGETHER", at_once)
    model = random_model(intra=intra)
    predictions = score_set(model, sample, small).probabilities
    assert predictions.shape == (len(small), 3)
    assert predictions.dtype == np.float32
    np.testing.assert_allclose(predictions, alone(model, sample, small), atol=FLOAT32)
    assert np.ptp(predictions, axis=0).min() > 500 * FLOAT32  # the pairs do differ


def test_predictions_for_several_premises_are_those_of_single_pairs(
    sample: Embedding, model: Model
) -> None:
    whole = build("parity")
    test = replace(whole, premises=whole.premises[::40], templates=whole.templates[::10])
    predictions = score_set(model, sample, test).probabilities
    np.testing.assert_allclose(predictions, alone(model, sample, test), atol=FLOAT32)


@pytest.mark.usefixtures("one_thread")
def test_threads_do_not_matter(sample: Embedding, model: Model, small: TestSet) -> None:
    single = score_set(model, sample, small).probabilities
    devices.set_threads(3)
    np.testing.assert_allclose(score_set(model, sample, small).probabilities, single, atol=FLOAT32)


@pytest.fixture
def blocks(monkeypatch: pytest.MonkeyPatch) -> list[Encoded]:
    """Return the list of what is encoded, growing with every block; nothing is predicted."""
    seen: list[Encoded] = []

    def spy(model: Model, vectors: Any, pairs: Encoded) -> NDArray[np.float32]:
        seen.append(pairs)
        return np.zeros((len(pairs), 3), np.float32)

    monkeypatch.setattr(scoring, "probabilities", spy)
    return seen


@pytest.mark.parametrize("name", ["explicit", "names", "parity"])
def test_each_distinct_sentence_is_encoded_once_and_few_at_a_time(
    sample: Embedding, model: Model, blocks: list[Encoded], name: str
) -> None:
    test = build(name)
    score_set(model, sample, test)
    distinct = {sentence for pair in test for sentence in pair}
    assert sum(len(block.sentences.length) for block in blocks) == len(distinct)
    assert sum(map(len, blocks)) == len(test)
    assert max(len(block.sentences.length) for block in blocks) <= scoring.SENTENCES_TOGETHER
    assert len(blocks) <= 2 + 2 * len(distinct) // scoring.SENTENCES_TOGETHER


@pytest.mark.parametrize("name", SETS)
def test_a_sentence_is_the_tokens_of_its_subject_and_of_its_predicate(name: str) -> None:
    test = build(name)
    for filler in (*test.premises, *test.hypotheses):
        for template in test.templates[::50]:
            subject, predicate = test.subject(filler), test.predicate(template)
            assert tokenise(f"{subject} {predicate}") == tokenise(subject) + tokenise(predicate)


def test_words_of_the_templates_that_are_unknown_are_counted(
    sample: Embedding, model: Model, small: TestSet
) -> None:
    needed = {token.lower() for pair in small for text in pair for token in tokenise(text)}
    verb = small.templates[0].verb
    frequent = list(sample.words[:3000])
    poor = sample.subset([w for w in [*frequent, *sorted(needed)] if w != verb])
    expected = {word for word in needed if word not in poor}
    assert verb in expected
    scored = score_set(model, poor, small)
    assert set(scored.unknown) == expected
    assert set(scored.words) == needed
    assert len(scored.words) == len(needed)
    (note,) = notes_on_missing_words([scored, scored], poor)
    assert f"lacks {len(expected)} of the templates' {len(needed)} words" in note
    assert scored.unknown[0] in note
    assert notes_on_missing_words([Scored(scored.probabilities, scored.words, ())], poor) == []


def test_an_embedding_without_a_filler_is_refused(sample: Embedding, model: Model) -> None:
    test = build("occupations")
    lost = [filler.word for filler in test.hypotheses[::4]]
    poor = sample.subset([word for word in sample.words if word not in lost])
    with pytest.raises(WordbiasError) as caught:
        score_set(model, poor, test)
    assert f"lacks 8 of 33 words that the set occupations asks about ({lost[0]}, " in str(
        caught.value
    )
    assert "…" in str(caught.value)
    assert "another set (wordbias mab-eval --set)" in str(caught.value)
    no_person = sample.subset([word for word in sample.words if word != "person"])
    with pytest.raises(WordbiasError, match=r"lacks 1 of 9 words .* \(person\); give"):
        score_set(model, no_person, build("explicit"))


def test_the_remedy_is_an_option_that_there_is(sample: Embedding, model: Model) -> None:
    poor = sample.subset([word for word in sample.words if word != "nurse"])
    with pytest.raises(WordbiasError, match=r"\(nurse\); .* lists without them \(--lists\)$"):
        score_set(model, poor, build("parity"))


def test_capitals_are_kept_where_the_embedding_has_them(
    sample: Embedding, model: Model, small: TestSet
) -> None:
    fillers = [filler.word for filler in (*small.premises, *small.hypotheses)]
    vectors = sample.take([word.lower() for word in fillers])
    cased = Embedding(fillers, vectors, "cased")
    scored = score_set(model, cased, small)
    assert not set(fillers) & set(scored.unknown)
    assert {"A", "a"} < set(scored.unknown) < set(scored.words)
    lower = [word.lower() for word in fillers]
    with_another = Embedding([*lower, "Zebra"], vectors[[*range(len(lower)), 0]], "with another")
    with pytest.raises(WordbiasError, match=r"lacks 2 of 9 words .* \(He, She\)"):
        score_set(model, with_another, small)


def test_other_dimensions_are_refused(sample: Embedding, small: TestSet) -> None:
    model = random_model(dim=50, embedding={"name": "glove50"})
    with pytest.raises(WordbiasError) as caught:
        score_set(model, sample, small)
    message = str(caught.value)
    assert "was trained on glove50 of 50 dimensions, sample has 100" in message
    assert "wordbias nli-train" in message
    pairs = Pairs([("a",)], [("b",)], np.zeros(1, np.int64))
    with pytest.raises(WordbiasError, match="of 50 dimensions"):
        accuracy(model, sample, pairs)


def test_accuracy_is_the_share_of_right_ones(sample: Embedding, model: Model) -> None:
    texts = ["a man bought a hat", "she sold the old car", "dogs run", "nobody slept"]
    sides = [tuple(tokenise(text)) for text in texts], [tuple(tokenise(x)) for x in texts[::-1]]
    lexicon = Lexicon.of([*sides[0], *sides[1]])
    unlabelled = Pairs(*sides, np.zeros(4, np.int64))
    encoded = Encoded.of(unlabelled, lexicon)
    best = probabilities(model, lexicon.table(sample).vectors, encoded).argmax(1)
    wrong = best.copy()
    wrong[0] = (best[0] + 1) % 3
    assert accuracy(model, sample, Pairs(*sides, best)) == 1
    assert accuracy(model, sample, Pairs(*sides, wrong)) == 0.75


def info(digest: str) -> FileInfo:
    return FileInfo("x.txt", "glove", digest, 2, 2)


@pytest.mark.parametrize(
    ("known", "name", "digest", "said"),
    [
        ({"name": "a", "sha256": "1"}, "a", "1", None),
        ({"name": "a", "sha256": "1"}, "renamed", "1", None),
        ({"name": "a", "sha256": "1"}, "a", "2", "was trained on a; it is given a"),
        ({"name": "a", "sha256": "1"}, "a", None, None),
        ({"name": "a"}, "a", "2", None),
        ({"name": "a"}, "b", "2", "was trained on a; it is given b"),
        ({}, "b", "2", "does not say what it was trained on; it is given b"),
    ],
)
def test_a_model_of_other_vectors_is_noted(
    known: dict[str, str], name: str, digest: str | None, said: str | None
) -> None:
    about = {"embedding": known} if known else {}
    embedding = Embedding(["x", "y"], np.eye(2), name, info(digest) if digest else None)
    notes = notes_on_vectors(random_model(dim=2, **about), embedding)
    assert len(notes) == (said is not None)
    assert all(said is not None and said in note and "nli-train" in note for note in notes)


@pytest.mark.parametrize("change", [lambda x: x[::-1], lambda x: x[1:]])
def test_predictions_are_in_the_order_of_the_set(
    sample: Embedding, model: Model, small: TestSet, change: Callable[[Any], Any]
) -> None:
    whole = score_set(model, sample, small).probabilities.reshape(8, -1, 3)
    part = replace(small, hypotheses=change(small.hypotheses), templates=change(small.templates))
    predictions = score_set(model, sample, part).probabilities
    expected = change(change(whole).swapaxes(0, 1)).swapaxes(0, 1)
    np.testing.assert_allclose(predictions, expected.reshape(-1, 3), atol=FLOAT32)
