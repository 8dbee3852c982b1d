"""Encoding: vectors of texts, or of words in them, from layers of an encoder, in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError, need
from wordbias.models.encoder import Encoder
from wordbias.models.model_like import PURPOSE, interventions_in, paused
from wordbias.models.template import CHAT, PLACE, Template
from wordbias.models.tokenising import (
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
TEXT_POOLINGS = POOLINGS[:-1]
"""Kinds of pooling of whole texts."""
JOINED = "+"
Subword = Literal["mean", "first", "last"]
SUBWORDS: tuple[str, ...] = get_args(Subword)
Special = Literal["seen", "counted", "none"]
SPECIALS: tuple[str, ...] = get_args(Special)
_OF_TEMPLATES = ("template", "chat")
Float32 = NDArray[np.float32]
BATCH_TOKENS = 2048


def encode(
    encoder: Encoder,
    texts: Sequence[str],
    spans: Sequence[Span] | None = None,
    settings: Settings | None = None,
    *,
    batch_tokens: int = BATCH_TOKENS,
) -> Float32:
    """Return the vectors of texts in memory, shape ``(L, n, d)``."""
    return EncodingJob.of(encoder, texts, spans, settings).vectors(batch_tokens)


def encode_spans(
    encoder: Encoder,
    texts: Sequence[str],
    spans: Sequence[Span],
    layers: Sequence[int] | None = None,
    *,
    subword: str | None = None,
    special_tokens: bool = True,
    max_length: int | None = None,
) -> Float32:
    """Return the vectors of the words at spans of texts, shape ``(L, n, d)``."""
    # Layer 0 are the input embeddings. The vector of a word of several tokens is by default that of
    # the last of a causal model, the mean of another. A span excludes its end.
    chosen = None if layers is None else tuple(layers)
    special = "seen" if special_tokens else "none"
    return encode(encoder, texts, spans, Settings(chosen, "word", subword, special, max_length))


# settings


@dataclass(frozen=True)
class Settings:
    """Settings of the vector of a text."""

    # numbers of the layers, 0 being the input embeddings; None is all, or only the last where the
    # modules of a sentence-transformers folder make its vectors longer or shorter
    layers: tuple[int, ...] | None = None
    # the `first` token, the `mean` over the text's tokens, the `last` token, or the `word` at its
    # span. By default that of a sentence-transformers folder; else the last token of a causal
    # model, and the first of another.
    pooling: str | None = None
    # vector of a word of several tokens: their `mean`, the `first` or the `last`. By default the
    # last of a causal model, whose other tokens have not read the whole word, and the mean of
    # another.
    subword: str | None = None
    # [CLS], [SEP] and the like are `seen` by the model but not in the mean; `counted` in the mean
    # as well; or there are `none`, as in the released code of CEAT. By default seen, and counted
    # where a sentence-transformers folder is followed. The same holds for the tokens of a template.
    special_tokens: str | None = None
    # tokens that a text is cut to; by default that of a sentence-transformers folder, else what the
    # model allows, at most 512
    max_length: int | None = None
    prompt: str = ""  # prompt before every text; filled in by `resolved`
    # names of the modules of a sentence-transformers folder that is followed; filled in by
    # `resolved`
    modules: tuple[str, ...] = ()
    # text with one `{}`, which each text replaces, or `chat`, the chat template of the tokenizer;
    # empty without one. `resolved` writes it out.
    template: str = ""
    # the template is a chat template, which writes special tokens itself; filled in by `resolved`
    chat: bool = False

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
        """Fill in the defaults of an encoder."""
        # A sentence-transformers folder is followed unless other settings are given: its pooling
        # over all tokens, its prompt, and after the last layer its other modules. A word's vector
        # goes through those modules too, if they take vectors of that length.
        longest = encoder.max_length if self.max_length is None else self.max_length
        of_word = self.pooling == "word" and encoder.causal
        subword = self.subword or ("last" if of_word else "mean")
        settings = replace(self, max_length=longest, subword=subword)
        if self.template == CHAT:
            if self.special_tokens == "none":
                raise WordbiasError(
                    f"{encoder.name}: a chat template writes special tokens itself; leave out "
                    "--special-tokens=none, or write a template out"
                )
            template = Template.of_chat(encoder.tokenizer, encoder.name)
            settings = replace(settings, template=str(template), chat=True)
        elif self.template == PLACE:
            settings = replace(settings, template="")
        if self.pooling == "word":
            special = self.special_tokens or "seen"
            settings = replace(settings, special_tokens=special, modules=_modules_of_words(encoder))
        elif (sentence := encoder.sentence) is not None and self.follows(encoder):
            settings = replace(
                settings,
                modules=sentence.names,
                pooling=JOINED.join(sentence.pooling),
                special_tokens="counted",
                prompt=sentence.prompt,
            )
        else:
            settings = replace(
                settings,
                pooling=self.pooling or _default_pooling(encoder),
                special_tokens=self.special_tokens or "seen",
            )
        if encoder.causal and "first" in settings.ways:
            raise WordbiasError(
                f"{encoder.name}: in this causal model the first token has read no other: it is "
                "the same in all texts that begin alike; take the last token or the mean "
                "(--pooling=last, --pooling=mean)"
            )
        return replace(settings, layers=_layers(settings, encoder))

    def follows(self, encoder: Encoder) -> bool:
        """Return whether these settings are those of the encoder's sentence-transformers folder."""
        if encoder.sentence is None or self.special_tokens not in (None, "counted"):
            return False
        return self.pooling in (None, JOINED.join(encoder.sentence.pooling))

    @property
    def ways(self) -> tuple[str, ...]:
        """Kinds of pooling, whose vectors are joined."""
        return tuple((self.pooling or "").split(JOINED))

    def width(self, encoder: Encoder, layer: int) -> int:
        """Return the length of the vectors of a layer."""
        pooled = encoder.dim * len(self.ways)
        if layer == encoder.layers and self.modules and encoder.sentence is not None:
            return encoder.sentence.width(pooled)
        return pooled

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as a dictionary, without a template that is not there."""
        settings = asdict(self)
        return {key: value for key, value in settings.items() if value or key not in _OF_TEMPLATES}


def _default_pooling(encoder: Encoder) -> str:
    """Return the pooling of texts by default, if the encoder's folder is not followed."""
    of_folder = () if encoder.sentence is None else encoder.sentence.pooling
    if len(of_folder) == 1 and of_folder[0] in POOLINGS:
        return of_folder[0]
    return "last" if encoder.causal else "first"


def _modules_of_words(encoder: Encoder) -> tuple[str, ...]:
    """Return the modules that the vector of a word goes through."""
    sentence = encoder.sentence
    if sentence is None or not sentence.steps:
        return ()
    fits = next((step.before for step in sentence.steps if step.before), encoder.dim)
    return sentence.names[1:] if fits == encoder.dim else ()


def _layers(settings: Settings, encoder: Encoder) -> tuple[int, ...]:
    """Return the layers; refuse those whose vectors have different lengths."""
    layers = encoder.choose_layers(settings.layers)
    widths = {settings.width(encoder, layer) for layer in layers}
    if len(widths) == 1:
        return layers
    if settings.layers is None:
        return (encoder.layers,)
    other = "" if settings.pooling == "word" else ", or pool otherwise (--pooling=mean)"
    raise WordbiasError(
        f"{encoder.name}: the modules behind its last layer ({', '.join(settings.modules)}) make "
        f"vectors of {settings.width(encoder, encoder.layers)} values, the other layers have "
        f"{settings.width(encoder, 0)}; ask for the last layer alone (--layers=last){other}"
    )


# batches


class Batch(NamedTuple):
    """Batch of encoded texts."""

    places: Places  # places of the texts, shape `(m,)`
    vectors: Float32  # vectors of the texts, shape `(L, m, d)`
    distinct: int  # number of distinct texts


@dataclass(frozen=True, eq=False)
class EncodingJob:
    """Tokenised texts in the order of encoding: equal ones once, the longest first."""

    encoder: Encoder
    settings: Settings
    tokens: Tokens  # tokens of the distinct texts
    order: Places  # places of the distinct texts, longest first, shape `(u,)`
    texts: Places  # place of each text among the distinct ones, shape `(n,)`
    # tokens at the beginning of each text that are not pooled, by the encoder's folder
    prompt: int = 0

    @classmethod
    def of(
        cls,
        encoder: Encoder,
        texts: Sequence[str],
        spans: Sequence[Span] | None = None,
        settings: Settings | None = None,
    ) -> EncodingJob:
        """Tokenise texts."""
        settings = (settings or Settings()).resolved(encoder)
        if not len(texts):
            raise WordbiasError("there is no text to encode")
        if (settings.pooling == "word") != (spans is not None):
            raise WordbiasError("pooling 'word' needs a span of characters for each text")
        if spans is not None and len(spans) != len(texts):
            raise WordbiasError(f"expected a span for each of {len(texts)} texts, got {len(spans)}")
        given: Sequence[Span | None] = [None] * len(texts) if spans is None else spans
        keys = list(zip(texts, given, strict=True))
        places = {key: i for i, key in enumerate(dict.fromkeys(keys))}
        tokens = tokenise(
            encoder,
            [text for text, _ in places],
            [span for _, span in places if span is not None] if spans else None,
            max_length=settings.max_length,
            special_tokens=settings.special_tokens != "none" and not settings.chat,
            prompt=settings.prompt,
            template=Template.parse(settings.template) if settings.template else None,
        )
        which = np.array([places[key] for key in keys], np.intp)
        empty = np.flatnonzero(tokens.lengths[which] == 0)
        if len(empty):
            raise WordbiasError(
                f"text {empty[0] + 1} has no token at all; leave it out, or let the model see "
                "special tokens"
            )
        order = np.argsort(-tokens.lengths, kind="stable")
        left_out = 0
        if settings.prompt and encoder.sentence is not None and not encoder.sentence.include_prompt:
            left_out = prompt_tokens(encoder, settings.prompt, settings.max_length)
        return cls(encoder, settings, tokens, order, which, left_out)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape of all vectors, ``(L, n, d)``."""
        layers = self.settings.layers or ()
        return len(layers), len(self.texts), self.settings.width(self.encoder, layers[-1])

    @property
    def truncated(self) -> int:
        """Number of texts that were cut."""
        return int(self.tokens.cut[self.texts].sum())

    def lost(self) -> dict[int, str]:
        """Return the places of texts whose span has no tokens, and why."""
        reasons = {lost.place: lost.reason for lost in self.tokens.lost}
        return {i: reasons[j] for i, j in enumerate(self.texts.tolist()) if j in reasons}

    def batches(self, done: int = 0, batch_tokens: int = BATCH_TOKENS) -> Iterator[Batch]:
        """Encode batch after batch of at most `batch_tokens` with padding, but for `done` texts."""
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
                repeats = [len(copy_places) for copy_places in places]
                yield Batch(np.concatenate(places), np.repeat(vectors, repeats, axis=1), len(rows))
                bar.update(int(lengths[rows].sum()))

    def vectors(self, batch_tokens: int = BATCH_TOKENS) -> Float32:
        """Encode all texts; return their vectors in memory, shape ``(L, n, d)``."""
        out = np.empty(self.shape, np.float32)
        for batch in self.batches(0, batch_tokens):
            out[:, batch.places] = batch.vectors
        return out

    def _check_changed(self, rows: Places, vectors: Float32) -> None:
        """Refuse interventions in the model that change no vector."""
        model, settings = self.encoder.model, self.settings
        active = [intervention for intervention in interventions_in(model) if intervention.sites]
        if not active:
            return
        with paused(model):
            if not np.array_equal(self._encode(rows), vectors):
                return
        layers = settings.layers or ()
        sites = ", ".join(
            dict.fromkeys(site for intervention in active for site in intervention.sites)
        )
        how = f"{settings.pooling}, special tokens {settings.special_tokens}"
        published = "L11-…, attn-…, or " if self.encoder.layers in layers else ""
        would = (
            f"{published}sites such as tokens@L and attention@L up to layer {max(layers)}, and "
            "cls@L below it; L12-… is read by the first token alone"
        )
        if self.encoder.causal:
            inner = f", tokens@L and attention-output@L up to layer {max(layers)}"
            would = f"sites such as input@1{inner if any(layers) else ''}"
        raise WordbiasError(
            f"{self.encoder.name}: the interventions at {sites} change no vector: layers "
            f"{', '.join(map(str, layers))}, pooled as {how}, do not read what they change; "
            f"settings that would: {would}"
        )

    def _encode(self, rows: Places) -> Float32:
        """Return vectors of distinct texts, shape ``(L, B, d)``."""
        torch = need("torch", extra="contextual", purpose=PURPOSE)
        states = self.encoder.hidden_states(padded(self.tokens, rows, self.encoder))
        weights = torch.from_numpy(self._weights(rows)).to(self.encoder.device)
        with torch.inference_mode():
            pooled = [
                self._through_modules(self._pooled(states[layer].float(), weights), layer)
                for layer in self.settings.layers or ()
            ]
        vectors: Float32 = torch.stack(pooled).cpu().numpy()
        if not np.isfinite(vectors).all():
            raise WordbiasError(
                f"{self.encoder.name}: gives vectors that are no numbers; its weights are damaged, "
                f"or {self.encoder.precision} is too narrow for it"
            )
        return vectors

    def _weights(self, rows: Places) -> Float32:
        """Return the weight of each token in its text's vector, shape ``(B, ways, T)``."""
        shape = len(rows), len(self.settings.ways), int(self.tokens.lengths[rows].max())
        out = np.zeros(shape, np.float32)
        for i, row in enumerate(rows):
            weights = token_weights(self.tokens, row, self.settings, self.prompt)
            out[i, :, : weights.shape[1]] = weights
        return out

    def _pooled(self, state: Any, weights: Any) -> Any:
        """Pool a layer, shape ``(B, T, d)``; join the vectors of several kinds of pooling."""
        torch = need("torch", extra="contextual", purpose=PURPOSE)
        pooled = torch.bmm(weights, state)
        for i, way in enumerate(self.settings.ways):
            if way == "max":
                there = weights[:, i, :, None] > 0
                pooled[:, i] = state.masked_fill(~there, float("-inf")).amax(dim=1)
        return pooled.flatten(1)

    def _through_modules(self, x: Any, layer: int) -> Any:
        """Put vectors of the last layer through the modules of a sentence-transformers folder."""
        sentence = self.encoder.sentence
        if sentence is None or not self.settings.modules or layer != self.encoder.layers:
            return x
        return sentence.apply(x)


# pooling


def pooled_tokens(tokens: Tokens, place: int, settings: Settings) -> NDArray[np.bool_]:
    """Return a mask of the tokens whose mean is the vector of a text, shape ``(tokens,)``."""
    # A text that has none but special tokens, such as an empty one, has the mean of those.
    special = tokens.special[tokens.starts[place] : tokens.starts[place + 1]]
    chosen = np.zeros(len(special), bool)
    if settings.pooling == "first":
        chosen[:1] = True
    elif settings.pooling == "last":
        chosen[-1:] = True
    elif settings.pooling == "mean":
        counted = settings.special_tokens == "counted" or special.all()
        chosen[:] = True if counted else ~special
    else:
        start, end = tokens.ranges[place]
        if settings.subword == "first":
            end = start + 1
        elif settings.subword == "last":
            start = end - 1
        chosen[start:end] = True
    return chosen


def token_weights(tokens: Tokens, place: int, settings: Settings, prompt: int = 0) -> Float32:
    """Return the weight of each token in its text's vector, shape ``(ways, tokens)``."""
    # `prompt` tokens at the beginning are not pooled, where a sentence-transformers folder says so.
    # With `max` the weights are a mask of the tokens.
    if not settings.modules or settings.pooling == "word":
        chosen = pooled_tokens(tokens, place, settings)
        share: Float32 = (chosen / chosen.sum()).astype(np.float32)
        return share[None]
    n = int(tokens.lengths[place])
    out = np.zeros((len(settings.ways), n), np.float32)
    for row, way in zip(out, settings.ways, strict=True):
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
