"""What the vector of a text is: of which layers, pooled over which tokens, put through what."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.probes.encoder import Encoder
from wordbias.probes.tokens import Tokens

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
