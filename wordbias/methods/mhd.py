"""MHD: the components of MISP projected out whole, the control of Dawkins (2021, section 5).

It has a module because every method is fitted by the module of its name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wordbias.embedding import Embedding
from wordbias.methods import misp
from wordbias.methods.transform import Projection
from wordbias.moments import Moments
from wordbias.wordlists import Attribute, WordGroups


def fit(
    embedding: Embedding,
    attribute: Attribute | WordGroups | str | Path | None = None,
    *,
    dims: int | None = None,
    centre: bool = False,
    as_published: bool = False,
) -> Projection:
    """Fit MHD; see `wordbias.methods.misp.fit`."""
    return misp.fit(
        embedding, attribute, dims=dims, centre=centre, hard=True, as_published=as_published
    )


def fit_moments(moments: Sequence[Moments], settings: Mapping[str, Any]) -> tuple[Projection, ...]:
    """Fit MHD to each label of some rows, after those before it."""
    return misp.fit_moments(moments, settings, hard=True)
