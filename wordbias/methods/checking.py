"""What a transform from a file must be, before it touches anybody's vectors."""

from __future__ import annotations

import numpy as np

from wordbias.errors import WordbiasError
from wordbias.methods.fitted import Chain, refuse_mixed_centring
from wordbias.methods.origin import Origin


def check_chain(chain: Chain, origin: Origin) -> None:
    """Refuse what could not have been fitted on the origin.

    Raises
    ------
    WordbiasError
        If rows of its dimensions cannot be mapped, are mapped to more, or to what is no number.
    """
    if not isinstance(origin.size, int) or not all(
        isinstance(text, str) for text in (origin.name, origin.sha256, *origin.words)
    ):
        raise WordbiasError("what it was fitted on is not described by texts and numbers")
    if not chain.parts:
        raise WordbiasError("it holds no method")
    refuse_mixed_centring({part.centred for part in chain.parts})
    width = origin.dim
    for part in chain.parts:
        with np.errstate(all="ignore"):
            mapped = part(np.eye(1, width, dtype=np.float32))
        if mapped.ndim != 2 or not 0 < mapped.shape[1] <= width:
            raise WordbiasError(f"{part.name} maps rows of {width} values to shape {mapped.shape}")
        width = mapped.shape[1]
        if len(part.replaced) and part.replaced.vectors.shape[1] != width:
            raise WordbiasError(f"{part.name} gives words vectors that do not have {width} values")
        if not (np.isfinite(mapped).all() and np.isfinite(part.replaced.vectors).all()):
            raise WordbiasError(f"{part.name} maps numbers to what is no number")
