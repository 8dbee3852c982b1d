"""MHD: the components of MISP projected out whole, the control of Dawkins (2021, section 5).

It has a module because every method is fitted by the module of its name.
"""

from __future__ import annotations

from pathlib import Path

from wordbias.embedding import Embedding
from wordbias.methods import misp
from wordbias.methods.transform import Projection
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
