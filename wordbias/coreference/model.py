"""Span-ranking coreference (Lee et al. 2018), in the form of Xu and Choi (2020).

Every span of a sentence gets a score as a mention; the best ones that do not cross are kept. Each
of them ranks the kept ones before it, and a dummy of score 0, as its antecedent: a coarse score of
all pairs chooses K antecedents, a fine one ranks these. There is no higher-order inference.

Shapes: P word pieces and T tokens of a document, S spans, n kept spans, K antecedents of each, d
dimensions of a piece, f of a feature, g = 3d + f of a span, h hidden units.

Where a first layer reads several vectors, W [a; b; c] = W_a a + W_b b + W_c c is computed: tokens
and kept spans are multiplied once, not in each of their spans or pairs. A span has whole tokens and
no more than 30; features of genre are left out; a speaker may be unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from wordbias.coreference.documents import Clusters
from wordbias.coreference.segments import UNKNOWN, Int, Segmented

_LEAST = (1, 2, 3, 4, 5, 8, 16, 32, 64)
"""Least distances in kept spans of all buckets but the first."""
_BUCKETS = len(_LEAST) + 1
_SEGMENTS = 11
"""Distances of 0 to 9 segments, and of more."""
_SPEAKERS = 3
"""Another speaker, the same one, not known."""
_TOGETHER = 64
"""Number of first tokens whose spans are scored together."""
_ROWS = 256
"""Number of kept spans whose antecedents are scored together."""
BATCH = 16
"""Number of segments that are encoded together where no gradient is needed."""


@dataclass(frozen=True)
class Settings:
    """Size of a model, and what it reads."""

    segment_length: int = 128  # maximum number of word pieces of a segment, special tokens included
    width: int = 30  # maximum number of tokens of a mention
    hidden: int = 1000
    feature: int = 20
    kept: float = 0.4  # number of spans that are kept for each token, λ
    antecedents: int = 50  # maximum number of antecedents that are ranked, K
    dropout: float = 0.3

    def to_dict(self) -> dict[str, Any]:
        """Return the settings."""
        return asdict(self)


class Ranked(NamedTuple):
    """Kept spans of a document, in the order of the text, with their antecedents."""

    start: Int  # first token and the one after the last, shape `(n,)`
    end: Int
    mention: Tensor
    antecedents: Tensor  # places of antecedents among the kept spans, shape `(n, K)`
    scores: Tensor  # their scores, -∞ for a place that is not before the span, shape `(n, K)`


class SpanRanker(nn.Module):
    """Encoder, mention scores and antecedent scores."""

    encoder: Any
    before: list[int]
    after: list[int]
    padding: int
    dim: int
    settings: Settings
    dropout: nn.Dropout
    attention: nn.Linear
    width: nn.Embedding
    mention_start: nn.Linear
    mention_end: nn.Linear
    mention_head: nn.Linear
    mention_width: nn.Linear
    mention_score: nn.Linear
    width_prior: nn.Embedding
    width_hidden: nn.Linear
    width_score: nn.Linear
    bilinear: nn.Linear
    distance_prior: nn.Embedding
    distance_score: nn.Linear
    distance: nn.Embedding
    segment: nn.Embedding
    speaker: nn.Embedding
    pair_span: nn.Linear
    pair_antecedent: nn.Linear
    pair_alike: nn.Linear
    pair_features: nn.Linear
    pair_score: nn.Linear

    def __init__(
        self,
        encoder: Any,
        dim: int,
        before: Sequence[int],
        after: Sequence[int],
        padding: int,
        settings: Settings,
    ) -> None:
        super().__init__()
        f, h, span = settings.feature, settings.hidden, 3 * dim + settings.feature
        self.encoder = encoder
        self.before, self.after, self.padding = list(before), list(after), padding
        self.dim, self.settings = dim, settings
        self.dropout = nn.Dropout(settings.dropout)
        self.attention = nn.Linear(dim, 1, bias=False)
        self.width = nn.Embedding(settings.width, f)
        self.mention_start = nn.Linear(dim, h)
        self.mention_end = nn.Linear(dim, h, bias=False)
        self.mention_head = nn.Linear(dim, h, bias=False)
        self.mention_width = nn.Linear(f, h, bias=False)
        self.mention_score = nn.Linear(h, 1)
        self.width_prior = nn.Embedding(settings.width, f)
        self.width_hidden = nn.Linear(f, h)
        self.width_score = nn.Linear(h, 1)
        self.bilinear = nn.Linear(span, span)
        self.distance_prior = nn.Embedding(_BUCKETS, f)
        self.distance_score = nn.Linear(f, 1)
        self.distance = nn.Embedding(_BUCKETS, f)
        self.segment = nn.Embedding(_SEGMENTS, f)
        self.speaker = nn.Embedding(_SPEAKERS, f)
        self.pair_span = nn.Linear(span, h)
        self.pair_antecedent = nn.Linear(span, h, bias=False)
        self.pair_alike = nn.Linear(span, h, bias=False)
        self.pair_features = nn.Linear(3 * f, h, bias=False)
        self.pair_score = nn.Linear(h, 1)
        for parameter in self.head().values():
            if parameter.ndim > 1:
                nn.init.normal_(parameter, 0, 0.02)
            else:
                nn.init.zeros_(parameter)

    def head(self) -> dict[str, nn.Parameter]:
        """Return the parameters outside of the encoder, by name."""
        return {
            name: parameter
            for name, parameter in self.named_parameters()
            if not name.startswith("encoder.")
        }

    def forward(self, document: Segmented) -> Ranked:
        """Keep spans of a document and score their antecedents."""
        (x,) = self.encode([document])  # (P, d)
        return self.rank(x, document)

    def encode(self, documents: Sequence[Segmented]) -> list[Tensor]:
        """Return the vectors of the pieces of documents, shape ``(P, d)`` each."""
        # With gradients all segments are encoded together, otherwise a few at a time.
        device = self.attention.weight.device
        segments = [
            torch.tensor([*self.before, *segment.tolist(), *self.after])
            for document in documents
            for segment in document.segments
        ]
        step = len(segments) if torch.is_grad_enabled() else BATCH
        vectors = []
        for start in range(0, len(segments), step):
            batch = segments[start : start + step]
            ids = nn.utils.rnn.pad_sequence(batch, batch_first=True, padding_value=self.padding)
            place = torch.arange(ids.shape[1])  # (L,)
            lengths = torch.tensor([len(segment) for segment in batch])[:, None]  # (B, 1)
            own = (place >= len(self.before)) & (place < lengths - len(self.after))  # (B, L)
            mask = (place < lengths).long()  # (B, L)
            x = self.encoder(input_ids=ids.to(device), attention_mask=mask.to(device))[0]
            vectors.append(x[own.to(device)])  # (pieces, d)
        sizes = [document.pieces for document in documents]
        return list(torch.split(torch.cat(vectors), sizes))

    def rank(self, x: Tensor, document: Segmented) -> Ranked:
        """Keep spans, and score their antecedents, from the vectors of the pieces, (P, d)."""
        start, end = document.spans(self.settings.width)  # (S,)
        width = self.dropout(self.width(self._index(end - start - 1)))  # (S, f)
        mention = self.mention_scores(x, document, start, end, width)  # (S,)
        number = max(1, int(self.settings.kept * len(document.first)))
        best = best_spans(mention.detach().cpu().numpy(), start, end, number)  # (n,)
        mention, start, end = mention[self._index(best)], start[best], end[best]  # (n,)
        first, last = document.first[start], document.last[end - 1]  # (n,)
        logits = self.attention(x)[:, 0]  # (P,)
        heads = [
            attended(logits, x, first[i : i + _ROWS], last[i : i + _ROWS])
            for i in range(0, len(best), _ROWS)
        ]
        parts = [x[self._index(first)], x[self._index(last)], torch.cat(heads)]
        g = torch.cat([*parts, width[self._index(best)]], 1)  # (n, g)
        antecedents, scores = self.antecedent_scores(
            g, mention, document.segment[start], document.speaker[start]
        )
        return Ranked(start, end, mention, antecedents, scores)

    def mention_scores(
        self, x: Tensor, document: Segmented, start: Int, end: Int, width: Tensor
    ) -> Tensor:
        """Score spans as mentions, (S,); `x` is (P, d), `width` (S, f)."""
        # Spans are in the order of their first tokens.
        logits = self.attention(x)[:, 0]  # (P,)
        of_start, of_end = self.mention_start(x), self.mention_end(x)  # (P, h)
        of_head = self.mention_head(x)  # (P, h)
        prior = self.dropout(self.width_hidden(self.width_prior.weight).relu())  # (width, h)
        of_width: Tensor = self.width_score(prior)[:, 0]  # (width,)
        bounds = np.searchsorted(start, np.arange(0, len(document.first), _TOGETHER))
        scores = []
        for a, b in zip(bounds, [*bounds[1:], len(start)], strict=True):
            first, last = document.first[start[a:b]], document.last[end[a:b] - 1]  # (s,)
            hidden = of_start[self._index(first)] + of_end[self._index(last)]  # (s, h)
            hidden = hidden + attended(logits, of_head, first, last)  # (s, h)
            hidden = hidden + self.mention_width(width[a:b])  # (s, h)
            scores.append(self.mention_score(self.dropout(hidden.relu_()))[:, 0])  # (s,)
        return torch.cat(scores) + of_width[self._index(end - start - 1)]  # (S,)

    def antecedent_scores(
        self, g: Tensor, mention: Tensor, segment: Int, speaker: Int
    ) -> tuple[Tensor, Tensor]:
        """Choose antecedents by the coarse scores, and score them: (n, K) each."""
        # The kept spans are in the order of the text; g is (n, g), all others (n,).
        n, k = len(g), min(len(g), self.settings.antecedents)
        place, segment_, speaker_ = (self._index(x) for x in (np.arange(n), segment, speaker))
        source, target = self.dropout(self.bilinear(g)), self.dropout(g)  # (n, g)
        prior = self.distance_score(self.dropout(self.distance_prior.weight))[:, 0]  # (10,)
        of_span, of_antecedent = self.pair_span(g), self.pair_antecedent(g)  # (n, h)
        chosen, scores = [], []
        for start in range(0, n, _ROWS):
            i = place[start : start + _ROWS]  # (r,)
            before = i[:, None] - place  # (r, n)
            coarse = mention[i][:, None] + mention + source[i] @ target.T  # (r, n)
            coarse = coarse + prior[bucket(before)]  # (r, n)
            coarse = coarse.masked_fill(before < 1, -torch.inf)  # (r, n)
            coarse, j = coarse.topk(k)  # (r, K)
            same = torch.where(speaker_[i][:, None] == speaker_[j], 1, 0)  # (r, K)
            unknown = (speaker_[i][:, None] == UNKNOWN) | (speaker_[j] == UNKNOWN)  # (r, K)
            between = (segment_[i][:, None] - segment_[j]).clamp(0, _SEGMENTS - 1)  # (r, K)
            features = [
                self.distance(bucket(before.gather(1, j))),  # (r, K, f)
                self.segment(between),  # (r, K, f)
                self.speaker(same.masked_fill(unknown, 2)),  # (r, K, f)
            ]
            hidden = self.pair_alike(g[i][:, None] * g[j])  # (r, K, h)
            hidden = hidden + of_span[i][:, None] + of_antecedent[j]  # (r, K, h)
            hidden = hidden + self.pair_features(self.dropout(torch.cat(features, 2)))  # (r, K, h)
            fine = self.pair_score(self.dropout(hidden.relu_()))[..., 0]  # (r, K)
            chosen.append(j)
            scores.append(coarse + fine)
        return torch.cat(chosen), torch.cat(scores)

    def loss(self, ranked: Ranked, clusters: Clusters) -> Tensor:
        """Return -log of the probability of all right antecedents, summed over the kept spans."""
        # The right ones of a span are those of its gold cluster; without any it is the dummy.
        number = {span: i for i, cluster in enumerate(clusters) for span in cluster}
        spans = zip(ranked.start.tolist(), ranked.end.tolist(), strict=True)
        cluster = self._index(np.array([number.get(span, -1) for span in spans]))  # (n,)
        scores = torch.cat([torch.zeros_like(ranked.scores[:, :1]), ranked.scores], 1)  # (n, K + 1)
        right = cluster[:, None] == cluster[ranked.antecedents]  # (n, K)
        right = right & (cluster >= 0)[:, None] & ranked.scores.isfinite()  # (n, K)
        right = torch.cat([~right.any(1, keepdim=True), right], 1)  # (n, K + 1)
        gold = scores.masked_fill(~right, -torch.inf)  # (n, K + 1)
        return (scores.logsumexp(1) - gold.logsumexp(1)).sum()

    def _index(self, places: Int) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(places)).to(self.attention.weight.device)


def attended(logits: Tensor, values: Tensor, first: Int, last: Int) -> Tensor:
    """Return means (s, c) of the pieces of spans, weighted by the softmax of their logits (P,)."""
    low, high = int(first.min()), int(last.max()) + 1
    piece = np.arange(low, high)  # (p,)
    outside = (piece < first[:, None]) | (piece > last[:, None])  # (s, p)
    mask = torch.from_numpy(outside).to(logits.device)  # (s, p)
    weights = logits[low:high].expand(len(first), -1).masked_fill(mask, -torch.inf).softmax(1)
    return weights @ values[low:high]  # (s, p) (p, c)


def bucket(distance: Tensor) -> Tensor:
    """Return the bucket of each distance: 0, 1, 2, 3, 4, 5 to 7, then by powers of two."""
    return torch.bucketize(distance, torch.tensor(_LEAST, device=distance.device), right=True)


def best_spans(scores: NDArray[np.floating], start: Int, end: Int, number: int) -> Int:
    """Return the places of the best spans that do not cross, in the order of the text."""
    # The best is taken first, then each next one that crosses none before, until there are
    # `number`. Two spans cross if they overlap and neither contains the other.
    reach = np.zeros(int(end.max()), np.int64)  # farthest end of a taken span, by its first token
    begin = np.full(int(end.max()) + 1, len(reach))  # least first token, by its end
    taken: list[int] = []
    for place in np.argsort(-scores, kind="stable").tolist():
        a, b = int(start[place]), int(end[place])
        if b - a > 1 and (int(reach[a + 1 : b].max()) > b or int(begin[a + 1 : b].min()) < a):
            continue
        reach[a], begin[b] = max(reach[a], b), min(begin[b], a)
        taken.append(place)
        if len(taken) == number:
            break
    return np.sort(np.array(taken))


def clusters_of(ranked: Ranked) -> Clusters:
    """Link each kept span to its best antecedent; a cluster has two mentions or more."""
    # As in OntoNotes, singletons are not predicted.
    best, place = ranked.scores.max(1)  # (n,)
    antecedent = ranked.antecedents.gather(1, place[:, None])[:, 0].tolist()
    linked = (best > 0).tolist()
    cluster_of: dict[int, list[int]] = {}
    for i, (j, is_linked) in enumerate(zip(antecedent, linked, strict=True)):
        if is_linked:
            cluster = cluster_of.setdefault(j, [j])
            cluster.append(i)
            cluster_of[i] = cluster
    distinct = {id(cluster): cluster for cluster in cluster_of.values()}
    return tuple(
        tuple((int(ranked.start[i]), int(ranked.end[i])) for i in sorted(cluster))
        for cluster in sorted(distinct.values(), key=min)
    )
