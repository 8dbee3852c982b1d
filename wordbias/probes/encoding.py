"""Texts through an encoder: the vectors of texts, or of words in them, in memory.

Texts on their way through an encoder: batches of like length, one vector a text and layer.

What the vector of a text is: of which layers, pooled over which tokens, put through what.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError, need
from wordbias.pretrained import PURPOSE
from wordbias.pretrained.interventions import interventions_in, paused
from wordbias.probes.encoder import Encoder
from wordbias.probes.tokenising import (
    Int,
    Places,
    Span,
    Tokens,
    batched,
    copies_of,
    padded,
    prompt_tokens,
    tokenise,
)
from wordbias.progress import progress

Pooling = Literal["first", "mean", "last", "word"]
POOLINGS: tuple[str, ...] = get_args(Pooling)
JOINED = "+"
Subword = Literal["mean", "first", "last"]
SUBWORDS: tuple[str, ...] = get_args(Subword)
Special = Literal["seen", "counted", "none"]
SPECIALS: tuple[str, ...] = get_args(Special)
Float32 = NDArray[np.float32]


@dataclass(frozen=True)
class Settings:
    """What a vector of a text is.

    Attributes
    ----------
    layers
        Which, 0 being the input embeddings; None for all, or for the last alone where the modules
        of a sentence-transformers folder make its vectors longer or shorter.
    pooling
        The ``first`` token, the ``mean`` over the text's tokens, the ``last`` token, or the
        ``word`` at its span. By default what a sentence-transformers folder says; else the last
        token of a causal model, and the first of another.
    subword
        Of a word of several tokens, the ``mean``, the ``first`` or the ``last``.
    special_tokens
        [CLS], [SEP] and the like are ``seen`` by the model but not in the mean; ``counted`` in the
        mean as well; or there are ``none``, as in the released code of CEAT. By default seen, and
        counted where a sentence-transformers folder is followed.
    max_length
        Tokens that a text is cut to; by default what a sentence-transformers folder says, else what
        the model allows, at most 512.
    prompt
        What is put before every text; found by `resolved`.
    modules
        What the vector goes through, of a sentence-transformers folder that is followed; found by
        `resolved`.
    """

    layers: tuple[int, ...] | None = None
    pooling: str | None = None
    subword: str = "mean"
    special_tokens: str | None = None
    max_length: int | None = None
    prompt: str = ""
    modules: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, known in (
            ("pooling", POOLINGS),
            ("subword", SUBWORDS),
            ("special_tokens", SPECIALS),
        ):
            value = getattr(self, name)
            if value in (None, *known) or (name == "pooling" and self.modules):
                continue
            raise WordbiasError(f"{name} {value!r}: expected one of {', '.join(known)}")

    def resolved(self, encoder: Encoder) -> Settings:
        """Fill in what the encoder decides.

        A sentence-transformers folder is followed where nothing else is asked for: its pooling over
        all tokens, its prompt, and behind the last layer its other modules. A word's vector goes
        through those modules too, if they take vectors of that length.

        Raises
        ------
        WordbiasError
            If a layer does not exist, the first token of a causal model is asked for, or layers
            are whose vectors have different lengths.
        """
        longest = encoder.max_length if self.max_length is None else self.max_length
        found = replace(self, max_length=longest)
        if self.pooling == "word":
            found = replace(
                found,
                special_tokens=self.special_tokens or "seen",
                modules=_of_words(encoder),
            )
        elif (sentence := encoder.sentence) is not None and self.follows(encoder):
            found = replace(
                found,
                modules=sentence.names,
                pooling=JOINED.join(sentence.pooling),
                special_tokens="counted",
                prompt=sentence.prompt,
            )
        else:
            found = replace(
                found,
                pooling=self.pooling or _usual(encoder),
                special_tokens=self.special_tokens or "seen",
            )
        _check_first(found, encoder)
        return replace(found, layers=_layers(found, encoder))

    def follows(self, encoder: Encoder) -> bool:
        """Say whether what is asked for of a text is what a sentence-transformers folder says."""
        if encoder.sentence is None or self.special_tokens not in (None, "counted"):
            return False
        return self.pooling in (None, JOINED.join(encoder.sentence.pooling))

    @property
    def ways(self) -> tuple[str, ...]:
        """Ways of pooling, whose vectors are joined."""
        return tuple((self.pooling or "").split(JOINED))

    def width(self, encoder: Encoder, layer: int) -> int:
        """Return the length of the vectors of a layer."""
        pooled = encoder.dim * len(self.ways)
        if layer == encoder.layers and self.modules and encoder.sentence is not None:
            return encoder.sentence.width(pooled)
        return pooled

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON holds."""
        return asdict(self)


def pooled_tokens(tokens: Tokens, place: int, some: Settings) -> NDArray[np.bool_]:
    """Return which tokens of the text at `place` its vector is the mean of, shape ``(tokens,)``.

    A text that has none but special tokens, such as an empty one, has the mean of those.
    """
    special = tokens.special[tokens.starts[place] : tokens.starts[place + 1]]
    chosen = np.zeros(len(special), bool)
    if some.pooling == "first":
        chosen[:1] = True
    elif some.pooling == "last":
        chosen[-1:] = True
    elif some.pooling == "mean":
        counted = some.special_tokens == "counted" or special.all()
        chosen[:] = True if counted else ~special
    else:
        start, end = tokens.ranges[place]
        chosen[_narrowed(start, end, some.subword)] = True
    return chosen


def shares(tokens: Tokens, place: int, some: Settings, prompt: int = 0) -> Float32:
    """Return the share of each token in its text's vector, shape ``(ways, tokens)``.

    Parameters
    ----------
    prompt
        Tokens at the beginning that are no part of it, where a sentence-transformers folder says
        so. Of ``max`` the shares say which tokens there are.
    """
    if not some.modules or some.pooling == "word":
        chosen = pooled_tokens(tokens, place, some)
        share: Float32 = (chosen / chosen.sum()).astype(np.float32)
        return share[None]
    n = int(tokens.lengths[place])
    out = np.zeros((len(some.ways), n), np.float32)
    for row, way in zip(out, some.ways, strict=True):
        if way == "first":
            row[prompt if prompt < n else 0] = 1
        elif way == "last":
            row[n - 1] = prompt < n
        elif way == "weighted-mean":
            row[prompt:] = np.arange(prompt + 1, n + 1)
            row /= max(row.sum(), 1e-9)
        else:
            row[prompt:] = 1
            if way != "max":
                row /= max(row.sum() ** (0.5 if way == "mean-sqrt-length" else 1), 1e-9)
    return out


def _usual(encoder: Encoder) -> str:
    """Return how a text is pooled where nothing is asked for and its folder is not followed."""
    of_folder = () if encoder.sentence is None else encoder.sentence.pooling
    if len(of_folder) == 1 and of_folder[0] in POOLINGS:
        return of_folder[0]
    return "last" if encoder.causal else "first"


def _of_words(encoder: Encoder) -> tuple[str, ...]:
    """Return the modules that the vector of a word goes through."""
    sentence = encoder.sentence
    if sentence is None or not sentence.steps:
        return ()
    fits = next((step.before for step in sentence.steps if step.before), encoder.dim)
    return sentence.names[1:] if fits == encoder.dim else ()


def _check_first(some: Settings, encoder: Encoder) -> None:
    if encoder.causal and "first" in some.ways:
        raise WordbiasError(
            f"{encoder.name}: a token of this causal model sees only those before it, so that its "
            "first one is the same in all texts that begin alike; take the last token or the mean "
            "(--pooling=last, --pooling=mean)"
        )


def _layers(some: Settings, encoder: Encoder) -> tuple[int, ...]:
    layers = encoder.choose_layers(some.layers)
    widths = {some.width(encoder, layer) for layer in layers}
    if len(widths) == 1:
        return layers
    if some.layers is None:
        return (encoder.layers,)
    other = "" if some.pooling == "word" else ", or pool otherwise (--pooling=mean)"
    raise WordbiasError(
        f"{encoder.name}: the modules behind its last layer ({', '.join(some.modules)}) make "
        f"vectors of {some.width(encoder, encoder.layers)} values, the other layers have "
        f"{some.width(encoder, 0)}; ask for the last layer alone (--layers=last){other}"
    )


def _narrowed(start: int, end: int, subword: str) -> slice:
    if subword == "first":
        return slice(start, start + 1)
    return slice(end - 1, end) if subword == "last" else slice(start, end)


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
class EncodingJob:
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
    ) -> EncodingJob:
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


__all__ = ["BATCH_TOKENS", "Batch", "EncodingJob", "encode", "encode_spans"]


def encode(
    encoder: Encoder,
    texts: Sequence[str],
    spans: Sequence[Span] | None = None,
    settings: Settings | None = None,
    *,
    batch_tokens: int = BATCH_TOKENS,
) -> Float32:
    """Return the vectors of texts in memory, shape ``(L, n, d)``.

    Raises
    ------
    WordbiasError
        If a layer does not exist, there is no text, a span has no tokens, or a vector is not
        finite.
    """
    return EncodingJob.of(encoder, texts, spans, settings).vectors(batch_tokens)


def encode_spans(
    encoder: Encoder,
    texts: Sequence[str],
    spans: Sequence[Span],
    layers: Sequence[int] | None = None,
    *,
    subword: str = "mean",
    special_tokens: bool = True,
    max_length: int | None = None,
) -> Float32:
    """Return the vectors of the words at spans of texts, shape ``(L, n, d)``.

    Parameters
    ----------
    spans
        Characters of the word in each text, from the first up to but without the second.
    layers
        0 being the input embeddings; by default all.
    subword
        Of a word of several tokens, their ``mean``, the ``first`` or the ``last``.
    special_tokens
        Let the model see [CLS], [SEP] and the like.

    Raises
    ------
    WordbiasError
        As `encode` does.
    """
    chosen = None if layers is None else tuple(layers)
    seen = "seen" if special_tokens else "none"
    return encode(encoder, texts, spans, Settings(chosen, "word", subword, seen, max_length))
