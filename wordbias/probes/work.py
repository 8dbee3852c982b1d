"""Texts on their way through an encoder: batches of like length, one vector a text and layer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.optional import need
from wordbias.pretrained import PURPOSE
from wordbias.pretrained.intervening import interventions_in, paused
from wordbias.probes.encoder import Encoder
from wordbias.probes.padding import Places, batched, copies_of, padded
from wordbias.probes.pooling import Settings, shares
from wordbias.probes.tokenising import prompt_tokens, tokenise
from wordbias.probes.tokens import Int, Span, Tokens
from wordbias.progress import progress

Float32 = NDArray[np.float32]
BATCH_TOKENS = 2048


class Batch(NamedTuple):
    """Some texts that have been encoded.

    Attributes
    ----------
    places
        Of the texts, shape ``(m,)``.
    vectors
        Theirs, shape ``(L, m, d)``.
    distinct
        How many different texts they are.
    """

    places: Places
    vectors: Float32
    distinct: int


@dataclass(frozen=True, eq=False)
class Work:
    """Tokenised texts in the order they are encoded in, equal ones once, the longest first.

    Attributes
    ----------
    encoder, settings
        What they are encoded with; the settings are resolved.
    tokens
        Of the distinct texts.
    order
        Places of the distinct texts, longest first, shape ``(u,)``.
    texts
        Place of each text among the distinct ones, shape ``(n,)``.
    prompt
        Tokens at the beginning of each text that are not pooled, as the folder says.
    """

    encoder: Encoder
    settings: Settings
    tokens: Tokens
    order: Places
    texts: Places
    prompt: int = 0

    @classmethod
    def of(
        cls,
        encoder: Encoder,
        texts: Sequence[str],
        spans: Sequence[Span] | None = None,
        settings: Settings | None = None,
    ) -> Work:
        """Tokenise.

        Raises
        ------
        WordbiasError
            If there is no text, a layer does not exist, or `tokenise` refuses.
        """
        settings = (settings or Settings()).resolved(encoder)
        _check_given(texts, spans, settings)
        given: Sequence[Span | None] = [None] * len(texts) if spans is None else spans
        keys = list(zip(texts, given, strict=True))
        places = {key: i for i, key in enumerate(dict.fromkeys(keys))}
        tokens = tokenise(
            encoder,
            [settings.prompt + text for text, _ in places],
            [span for _, span in places if span is not None] if spans else None,
            max_length=settings.max_length,
            special_tokens=settings.special_tokens != "none",
        )
        which = np.array([places[key] for key in keys], np.intp)
        _check_lengths(tokens.lengths[which])
        order = np.argsort(-tokens.lengths, kind="stable")
        left_out = 0
        if settings.prompt and encoder.sentence is not None and not encoder.sentence.include_prompt:
            left_out = prompt_tokens(encoder, settings.prompt, settings.max_length)
        return cls(encoder, settings, tokens, order, which, left_out)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Of all vectors, ``(L, n, d)``."""
        layers = self.settings.layers or ()
        return len(layers), len(self.texts), self.settings.width(self.encoder, layers[-1])

    @property
    def truncated(self) -> int:
        """How many texts were cut."""
        return int(self.tokens.cut[self.texts].sum())

    def lost(self) -> dict[int, str]:
        """Return the texts whose span has no tokens, and why."""
        reasons = {lost.place: lost.reason for lost in self.tokens.lost}
        return {i: reasons[j] for i, j in enumerate(self.texts.tolist()) if j in reasons}

    def batches(self, done: int = 0, batch_tokens: int = BATCH_TOKENS) -> Iterator[Batch]:
        """Encode batch after batch.

        Parameters
        ----------
        done
            Distinct texts of `order` to leave out, because they were encoded before.
        batch_tokens
            Tokens in a batch, padding included, if it has more than one text.

        Raises
        ------
        WordbiasError
            If a vector is not finite, or interventions in the model change none.
        """
        if self.tokens.lost:
            place, reason = next(iter(self.lost().items()))
            raise WordbiasError(f"text {place + 1}: its word {reason}")
        copies = copies_of(self.texts, len(self.order))
        lengths = self.tokens.lengths
        with progress("encoding", int(lengths.sum()), "token") as bar:
            bar.update(int(lengths[self.order[:done]].sum()))
            for i, rows in enumerate(batched(self.order[done:], lengths, batch_tokens)):
                vectors = self._encode(rows)
                if i == 0:
                    self._check_changed(rows, vectors)
                places = [copies[row] for row in rows]
                repeats = [len(some) for some in places]
                yield Batch(np.concatenate(places), np.repeat(vectors, repeats, axis=1), len(rows))
                bar.update(int(lengths[rows].sum()))

    def vectors(self, batch_tokens: int = BATCH_TOKENS) -> Float32:
        """Encode all texts; return their vectors in memory, shape ``(L, n, d)``."""
        out = np.empty(self.shape, np.float32)
        for batch in self.batches(0, batch_tokens):
            out[:, batch.places] = batch.vectors
        return out

    def _check_changed(self, rows: Places, vectors: Float32) -> None:
        """Refuse interventions in the model that no vector shows."""
        model, settings = self.encoder.model, self.settings
        active = [one for one in interventions_in(model) if one.sites]
        if not active:
            return
        with paused(model):
            if not np.array_equal(self._encode(rows), vectors):
                return
        layers = settings.layers or ()
        sites = ", ".join(dict.fromkeys(site for one in active for site in one.sites))
        how = f"{settings.pooling}, special tokens {settings.special_tokens}"
        published = "L11-…, attn-…, or " if self.encoder.layers in layers else ""
        raise WordbiasError(
            f"{self.encoder.name}: the interventions at {sites} change no vector: layers "
            f"{', '.join(map(str, layers))}, pooled as {how}, do not read what they change; "
            f"settings that would: {published}sites such as tokens@L and attention@L up to layer "
            f"{max(layers)}, and cls@L below it; L12-… is read by the first token alone"
        )

    def _encode(self, rows: Places) -> Float32:
        """Return vectors of distinct texts, shape ``(L, B, d)``."""
        torch = need("torch", extra="contextual", purpose=PURPOSE)
        states = self.encoder.hidden_states(padded(self.tokens, rows, self.encoder.tokenizer))
        weights = torch.from_numpy(self._weights(rows)).to(self.encoder.device)
        with torch.inference_mode():
            found = [
                self._through_modules(self._pooled(states[layer].float(), weights), layer)
                for layer in self.settings.layers or ()
            ]
        vectors: Float32 = torch.stack(found).cpu().numpy()
        if not np.isfinite(vectors).all():
            raise WordbiasError(
                f"{self.encoder.name}: gives vectors that are no numbers; its weights are damaged, "
                f"or {self.encoder.precision} is too narrow for it"
            )
        return vectors

    def _pooled(self, state: Any, weights: Any) -> Any:
        """Pool a layer, shape ``(B, T, d)``; join the vectors of several ways of pooling."""
        torch = need("torch", extra="contextual", purpose=PURPOSE)
        found = torch.bmm(weights, state)
        for i, way in enumerate(self.settings.ways):
            if way == "max":
                there = weights[:, i, :, None] > 0
                found[:, i] = state.masked_fill(~there, float("-inf")).amax(dim=1)
        return found.flatten(1)

    def _through_modules(self, x: Any, layer: int) -> Any:
        """Put vectors of the last layer through what a sentence-transformers folder adds."""
        sentence = self.encoder.sentence
        if sentence is None or not self.settings.modules or layer != self.encoder.layers:
            return x
        return sentence.apply(x)

    def _weights(self, rows: Places) -> Float32:
        """Return the share of each token in its text's vector, shape ``(B, ways, T)``."""
        shape = len(rows), len(self.settings.ways), int(self.tokens.lengths[rows].max())
        out = np.zeros(shape, np.float32)
        for i, row in enumerate(rows):
            found = shares(self.tokens, row, self.settings, self.prompt)
            out[i, :, : found.shape[1]] = found
        return out


def _check_given(texts: Sequence[str], spans: Sequence[Span] | None, settings: Settings) -> None:
    if not len(texts):
        raise WordbiasError("there is no text to encode")
    if (settings.pooling == "word") != (spans is not None):
        raise WordbiasError("pooling 'word' needs a span of characters for each text")
    if spans is not None and len(spans) != len(texts):
        raise WordbiasError(f"expected a span for each of {len(texts)} texts, got {len(spans)}")


def _check_lengths(lengths: Int) -> None:
    empty = np.flatnonzero(lengths == 0)
    if len(empty):
        raise WordbiasError(
            f"text {empty[0] + 1} has no token at all; leave it out, or let the model see special "
            "tokens"
        )
