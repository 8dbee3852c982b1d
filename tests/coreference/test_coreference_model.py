"""The model of coreference: its equations term by term, pruning, decoding, what it learns."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from quick_cases import first_quick
from small_coreference import WORDS, encoder_folder, story

from wordbias.coreference.documents import Document
from wordbias.errors import WordbiasError

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import tiny_encoders  # noqa: E402

from wordbias.coreference.model import (  # noqa: E402
    Ranked,
    Settings,
    attended,
    best_spans,
    bucket,
    clusters_of,
)
from wordbias.coreference.resolver import Coreference  # noqa: E402
from wordbias.coreference.segments import Segmented  # noqa: E402

Array = NDArray[np.float64]
SMALL = Settings(segment_length=16, width=4, hidden=7, feature=3, kept=0.6, antecedents=5)


def double(folder: Path, size: Settings = SMALL, family: str = "bert") -> Coreference:
    """Return a model in float64 without dropout whose parameters are far from zero."""
    model = Coreference.new(encoder_folder(folder / "encoder", family), size, device="cpu")
    model.ranker.double()
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for tensor in model.ranker.head().values():
            tensor.copy_(0.4 * torch.randn(tensor.shape, generator=generator, dtype=torch.float64))
    return model


def random_document(seed: int, sentences: int = 6) -> Document:
    rng = np.random.default_rng(seed)
    words = [*WORDS, *("old.very.", "it..") * 3]  # with some of several pieces
    text = tuple(
        tuple(map(str, rng.choice(words, int(rng.integers(1, 9))))) for _ in range(sentences)
    )
    spans = [
        (start + i, start + j)
        for start, sentence in zip(np.cumsum([0, *map(len, text)]).tolist(), text, strict=False)
        for i, j in itertools.combinations(range(min(len(sentence) + 1, 4)), 2)
    ]
    order = rng.permutation(len(spans))
    cut = [spans[i] for i in order[: len(spans) // 2]]
    clusters = tuple(tuple(cut[i::3]) for i in range(3) if cut[i::3])
    speakers = tuple(str(rng.choice(["", "A", "B"])) for _ in text)
    return Document(f"random/{seed}", text, clusters, speakers=speakers)


class Plain:
    """The equations, one span and one pair after the other, on concatenated vectors."""

    def __init__(self, model: Coreference, x: Array, document: Segmented) -> None:
        self.x, self.document, self.settings = x, document, model.settings
        self.p = {name: tensor.detach().numpy() for name, tensor in model.ranker.head().items()}

    def linear(self, name: str, v: Array) -> Array:
        product: Array = self.p[f"{name}.weight"] @ v
        return product + self.p[f"{name}.bias"] if f"{name}.bias" in self.p else product

    def span(self, start: int, end: int) -> Array:
        """g = [first; last; attended head; width]."""
        pieces = self.x[self.document.first[start] : self.document.last[end - 1] + 1]
        weights = np.exp([self.linear("attention", piece)[0] for piece in pieces])
        head = sum(w * piece for w, piece in zip(weights / weights.sum(), pieces, strict=True))
        width = self.p["width.weight"][end - start - 1]
        return np.concatenate([pieces[0], pieces[-1], head, width])

    def mention(self, start: int, end: int) -> float:
        names = ("start", "end", "head", "width")
        first = np.concatenate([self.p[f"mention_{name}.weight"] for name in names], 1)
        hidden = np.maximum(first @ self.span(start, end) + self.p["mention_start.bias"], 0)
        prior = self.linear("width_hidden", self.p["width_prior.weight"][end - start - 1])
        score = self.linear("mention_score", hidden) + self.linear(
            "width_score", np.maximum(prior, 0)
        )
        return float(score[0])

    def pair(self, i: tuple[int, int], j: tuple[int, int], distance: int) -> tuple[float, float]:
        """Return the coarse and the fine score of span i with antecedent j."""
        g, h, of = self.span(*i), self.span(*j), self.document
        where = distance if distance <= 4 else min(9, int(np.floor(np.log2(distance))) + 3)
        prior = self.linear("distance_score", self.p["distance_prior.weight"][where])[0]
        coarse = self.mention(*i) + self.mention(*j) + self.linear("bilinear", g) @ h + prior
        speakers = of.speaker[i[0]], of.speaker[j[0]]
        same = 2 if -1 in speakers else int(speakers[0] == speakers[1])
        features = [
            self.p["distance.weight"][where],
            self.p["segment.weight"][min(10, of.segment[i[0]] - of.segment[j[0]])],
            self.p["speaker.weight"][same],
        ]
        pair = np.concatenate([g, h, g * h, *features])
        names = ("span", "antecedent", "alike", "features")
        first = np.concatenate([self.p[f"pair_{name}.weight"] for name in names], 1)
        hidden = np.maximum(first @ pair + self.p["pair_span.bias"], 0)
        return float(coarse), float(self.linear("pair_score", hidden)[0])


@pytest.mark.parametrize("seed", first_quick(range(4)))
def test_scores_and_loss_are_those_of_the_equations(tmp_path: Path, seed: int) -> None:
    model, document = double(tmp_path), random_document(seed)
    read = model.segmenter.cut(document)
    assert len(read.segments) > 1
    assert (read.last > read.first).any()
    ranker = model.ranker.eval()
    (x,) = ranker.encode([read])
    plain = Plain(model, x.detach().numpy(), read)
    start, end = read.spans(SMALL.width)
    width = ranker.width(torch.from_numpy(end - start - 1))
    mention = ranker.mention_scores(x, read, start, end, width).tolist()
    spans = list(zip(start.tolist(), end.tolist(), strict=True))
    assert mention == pytest.approx([plain.mention(*span) for span in spans], abs=1e-9)
    ranked = ranker.rank(x, read)
    chosen = list(zip(ranked.start.tolist(), ranked.end.tolist(), strict=True))
    assert ranked.mention.tolist() == pytest.approx([plain.mention(*span) for span in chosen])
    cluster = {span: i for i, mentions in enumerate(document.clusters) for span in mentions}
    loss = 0.0
    for i, span in enumerate(chosen):
        pairs = {j: plain.pair(span, chosen[j], i - j) for j in range(i)}
        best = sorted(pairs, key=lambda j: -pairs[j][0])[: SMALL.antecedents]
        real = ranked.scores[i].isfinite()
        assert sorted(ranked.antecedents[i][real].tolist()) == sorted(best)
        scores = {j: sum(pairs[j]) for j in best}
        for j, score in zip(
            ranked.antecedents[i][real].tolist(), ranked.scores[i][real].tolist(), strict=True
        ):
            assert score == pytest.approx(scores[j], abs=1e-9)
        own = [j for j in best if span in cluster and cluster.get(chosen[j]) == cluster[span]]
        right = sum(np.exp(scores[j]) for j in own) if own else 1.0
        loss += np.log((1 + sum(map(np.exp, scores.values()))) / right)
    assert any(len(mentions) > 1 for mentions in document.clusters)
    assert ranker.loss(ranked, document.clusters).item() == pytest.approx(loss, rel=1e-9)


def test_gradients_are_those_of_finite_differences(tmp_path: Path) -> None:
    model, document = double(tmp_path), random_document(1)
    read = model.segmenter.cut(document)
    ranker = model.ranker.eval()

    def loss() -> Any:
        return ranker.loss(ranker(read), document.clusters)

    loss().backward()
    word = ranker.encoder.get_input_embeddings().weight
    row = int(word.grad.abs().sum(1).argmax())
    places = {
        "word": (word, (row, 2)),
        "encoder": (ranker.encoder.encoder.layer[1].output.dense.weight, (1, 2)),
    }
    for name in ("attention", "mention_head", "width", "bilinear", "pair_alike", "pair_features"):
        weight = ranker.get_submodule(name).weight
        places[name] = weight, np.unravel_index(int(weight.grad.abs().argmax()), weight.shape)
    step = 1e-6
    for name, (weight, place) in places.items():
        known, ends = float(weight.grad[place]), []
        for sign in (1, -1):
            with torch.no_grad():
                weight[place] += sign * step
                ends.append(float(loss()))
                weight[place] -= sign * step
        # norms are in float32 at least in part of the encoder: differences have its noise
        assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(known, rel=1e-4), name


def crosses(a: tuple[int, int], b: tuple[int, int]) -> bool:
    return a[0] < b[0] < a[1] < b[1] or b[0] < a[0] < b[1] < a[1]


@given(st.data())
@settings(deadline=None)
def test_the_best_spans_that_do_not_cross_are_kept(data: Any) -> None:
    tokens = data.draw(st.integers(1, 8))
    spans = [(a, b) for a in range(tokens) for b in range(a + 1, tokens + 1)]
    scores = data.draw(st.lists(st.integers(-3, 3), min_size=len(spans), max_size=len(spans)))
    number = data.draw(st.integers(1, 10))
    chosen: list[int] = []
    for i in sorted(range(len(spans)), key=lambda i: -scores[i]):
        if len(chosen) < number and not any(crosses(spans[i], spans[j]) for j in chosen):
            chosen.append(i)
    start, end = np.array(spans).T
    best = best_spans(np.array(scores, float), start, end, number)
    assert best.tolist() == sorted(chosen)


def test_buckets_of_distances() -> None:
    buckets = bucket(torch.arange(70)).tolist()
    assert buckets[:9] == [0, 1, 2, 3, 4, 5, 5, 5, 6]
    assert [buckets.index(i) for i in range(10)] == [0, 1, 2, 3, 4, 5, 8, 16, 32, 64]


def test_attended_heads_are_exact_where_one_piece_outweighs_all_others() -> None:
    """A difference of running sums would lose all digits of the spans beside such a piece."""
    logits = torch.tensor([0.0, 80.0, 1.0, 0.5])
    values = torch.eye(4)
    heads = attended(logits, values, np.array([0, 2, 0]), np.array([0, 3, 3]))
    share = 1 / (1 + np.exp(-0.5))
    assert heads[0].tolist() == [1, 0, 0, 0]
    assert heads[1].tolist() == pytest.approx([0, 0, share, 1 - share])
    assert heads[2].tolist() == pytest.approx([0, 1, 0, 0])


def test_each_span_links_to_its_best_antecedent() -> None:
    start, end = np.arange(5), np.arange(5) + 1
    low = -torch.inf
    antecedents = torch.tensor([[1, 2], [0, 2], [0, 1], [2, 1], [3, 0]])
    scores = torch.tensor([[low, low], [-1.0, low], [2.0, 1.0], [-0.5, 0.5], [-1.0, -2.0]])
    ranked = Ranked(start, end, torch.zeros(5), antecedents, scores)
    assert clusters_of(ranked) == (((0, 1), (2, 3)), ((1, 2), (3, 4)))


@pytest.mark.parametrize("family", first_quick(tiny_encoders.FAMILIES))
def test_every_family_reads_segments_as_it_reads_texts(tmp_path: Path, family: str) -> None:
    folder = encoder_folder(tmp_path / "m", family)
    model = Coreference.new(folder, SMALL, device="cpu")
    document = story(1)
    read = model.segmenter.cut(document)
    with torch.no_grad():
        (x,) = model.ranker.encode([read])
        tokens, vectors = document.tokens, []
        for i in range(len(read.segments)):
            text = " ".join(t for t, s in zip(tokens, read.segment, strict=True) if s == i)
            inputs = model.encoder.tokenizer(text, return_tensors="pt")
            vectors.append(model.encoder.model(inputs["input_ids"])[0][0, 1:-1])
    assert torch.allclose(x, torch.cat(vectors), atol=1e-5)
    assert model(document.sentences) == model.predict([document])[0].clusters


def test_words_have_their_pieces_and_segments_end_between_sentences(tmp_path: Path) -> None:
    model = Coreference.new(encoder_folder(tmp_path / "m"), SMALL, device="cpu")
    sentences = (("Ann", "saw", "it", "."), ("the", "dog"), ("very",) * 20)
    read = model.segmenter.cut(Document("d", sentences))
    assert read.segment.tolist() == [0] * 6 + [1] * 14 + [2] * 6
    assert [len(segment) for segment in read.segments] == [6, 14, 6]
    assert read.first.tolist() == read.last.tolist() == list(range(26))
    assert read.sentence_end.tolist() == [4] * 4 + [6] * 2 + [26] * 20
    start, end = read.spans(3)
    assert (end - start).max() == 3
    assert (read.sentence_end[start] == read.sentence_end[end - 1]).all()
    assert len(start) == (4 + 3 + 2) + (2 + 1) + (20 + 19 + 18)


def test_tokens_of_ontonotes_are_read_as_they_were_written(tmp_path: Path) -> None:
    segmenter = Coreference.new(encoder_folder(tmp_path / "m"), SMALL, device="cpu").segmenter
    escaped, plain = (
        segmenter.cut(Document("d", (tokens,)))
        for tokens in (("Ann", "saw", "-LRB-", "it", "/."), ("Ann", "saw", "(", "it", "."))
    )
    for name in ("first", "last", "segment"):
        np.testing.assert_array_equal(getattr(escaped, name), getattr(plain, name))
    np.testing.assert_array_equal(escaped.segments, plain.segments)


def test_a_window_is_a_document_of_its_own(tmp_path: Path) -> None:
    model = Coreference.new(encoder_folder(tmp_path / "m"), SMALL, device="cpu")
    document = story(2, 12)
    read = model.segmenter.cut(document)
    part = read.window(1, 2)
    low = int((read.segment < 1).sum())
    tokens = document.tokens[low : low + len(part.first)]
    ids = model.encoder.tokenizer.convert_tokens_to_ids(list(tokens))
    assert np.concatenate(part.segments)[part.first].tolist() == ids
    assert part.segment.tolist() == (read.segment[low : low + len(tokens)] - 1).tolist()
    inside = {
        (a - low, b - low) for a, b in document.mentions if low <= a and b <= low + len(tokens)
    }
    assert inside
    assert {span for cluster in part.clusters for span in cluster} == inside
    whole = read.window(0, len(read.segments))
    assert whole.clusters == read.clusters
    assert whole.first.tolist() == read.first.tolist()


def test_words_without_pieces_or_with_many(tmp_path: Path) -> None:
    model = Coreference.new(encoder_folder(tmp_path / "m"), SMALL, device="cpu")
    read = model.segmenter.cut(Document("d", (("Ann", "\x00", "saw"), ("." * 30, "it"))))
    assert read.first.tolist()[:3] == [0, 0, 1]
    # of thirty full stops, a piece each, as many as a segment has
    assert len(read.segments[1]) == 14
    assert (model.segmenter.cut(Document("d", (("\x00", "Ann"),))).first >= 0).all()
    with pytest.raises(WordbiasError, match="document 'd': has no token that the model can read"):
        model.segmenter.cut(Document("d", ()))


def test_segments_that_cannot_be(tmp_path: Path) -> None:
    folder = encoder_folder(tmp_path / "m")
    with pytest.raises(WordbiasError, match="reads at most 64 word pieces, got 65"):
        Coreference.new(folder, Settings(segment_length=65), device="cpu")
    with pytest.raises(WordbiasError, match="2 word pieces leave none beside special tokens"):
        Coreference.new(folder, Settings(segment_length=2), device="cpu")
