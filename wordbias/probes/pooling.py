"""What the vector of a text is: of which layers, the mean of which tokens."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.probes.encoder import Encoder
from wordbias.probes.tokens import Tokens

Pooling = Literal["first", "mean", "word"]
POOLINGS: tuple[str, ...] = get_args(Pooling)
Subword = Literal["mean", "first", "last"]
SUBWORDS: tuple[str, ...] = get_args(Subword)
Special = Literal["seen", "counted", "none"]
SPECIALS: tuple[str, ...] = get_args(Special)


@dataclass(frozen=True)
class Settings:
    """What a vector of a text is.

    Attributes
    ----------
    layers
        Which, 0 being the input embeddings; None for all.
    pooling
        The ``first`` token, the ``mean`` over the text's tokens, or the ``word`` at its span.
    subword
        Of a word of several tokens, the ``mean``, the ``first`` or the ``last``.
    special_tokens
        [CLS], [SEP] and the like are ``seen`` by the model but not in the mean; ``counted`` in the
        mean as well; or there are ``none``, as in the released code of CEAT.
    max_length
        Tokens that a text is cut to; by default what the model allows, at most 512.
    """

    layers: tuple[int, ...] | None = None
    pooling: str = "first"
    subword: str = "mean"
    special_tokens: str = "seen"
    max_length: int | None = None

    def __post_init__(self) -> None:
        for name, known in (
            ("pooling", POOLINGS),
            ("subword", SUBWORDS),
            ("special_tokens", SPECIALS),
        ):
            if getattr(self, name) not in known:
                raise WordbiasError(
                    f"{name} {getattr(self, name)!r}: expected one of {', '.join(known)}"
                )

    def resolved(self, encoder: Encoder) -> Settings:
        """Fill in what the encoder decides."""
        longest = encoder.max_length if self.max_length is None else self.max_length
        layers = encoder.choose_layers(self.layers)
        return Settings(layers, self.pooling, self.subword, self.special_tokens, longest)

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
    elif some.pooling == "mean":
        counted = some.special_tokens == "counted" or special.all()
        chosen[:] = True if counted else ~special
    else:
        start, end = tokens.ranges[place]
        chosen[_narrowed(start, end, some.subword)] = True
    return chosen


def _narrowed(start: int, end: int, subword: str) -> slice:
    if subword == "first":
        return slice(start, start + 1)
    return slice(end - 1, end) if subword == "last" else slice(start, end)
