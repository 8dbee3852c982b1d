"""GN-GloVe vectors, split into a neutral and a gendered part (Zhao et al. 2018).

GN-GloVe is trained to hold the groups' difference in the last coordinate, :math:`w = (w_a, w_g)`;
:math:`w_a`, all coordinates but the last, is the debiased vector. In other vectors the last
coordinate has no special meaning, and removing it debiases nothing: they are refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.methods.fitted import Fitted
from wordbias.methods.transform import Rows, check_width
from wordbias.methods.words import as_attribute, check_embedding, finite_blocks
from wordbias.results import Row
from wordbias.vocabulary import SIZE
from wordbias.wordlists import Attribute, resolve_pairs

SEPARATION = 0.9
"""Area under the ROC curve from which on a coordinate counts as gendered."""
_FEWEST = 8  # pairs; a coordinate without any meaning passes with 8 once in 200 times
_MEASURE = "separation-auc"


def fit(
    embedding: Embedding,
    attribute: Attribute | str | Path | None = None,
    *,
    drop_last: bool = False,
    check: bool = True,
) -> Fitted:
    """Fit the removal of w_g from GN-GloVe vectors; setting it to zero gives the same cosines."""
    check_embedding(embedding)
    attribute = as_attribute(attribute)
    step = LastCoordinate(drop_last, embedding.dim)
    share = gendered_share(embedding)
    rows = [*_group_rows(embedding, attribute), share]
    if check:
        _refuse_ordinary(embedding.name, rows[0])
    return Fitted(
        "gn-glove",
        (step,),
        found=tuple(rows),
        settings={"drop_last": drop_last, "check": check},
        warnings=() if check else ("whether these are GN-GloVe vectors was not checked",),
    )


def split(embedding: Embedding) -> tuple[Embedding, NDArray[np.float32]]:
    """Split w into w_a, an embedding with one dimension less, and w_g, shape ``(n,)``."""
    check_embedding(embedding)
    neutral = LastCoordinate(True, embedding.dim)(embedding.vectors)
    gendered: NDArray[np.float32] = embedding.vectors[:, -1].copy()
    return embedding.with_vectors(neutral, f"{embedding.name}.w_a"), gendered


@dataclass(frozen=True)
class LastCoordinate:
    """Removal of the last of `d` coordinates, which is set to zero or dropped."""

    kind: ClassVar[str] = "last-coordinate"
    drop: bool
    d: int

    def __post_init__(self) -> None:
        if self.d < 2:
            raise WordbiasError(
                f"vectors of {self.d} values are too short for GN-GloVe: its last value is "
                "the gender's; expected two values or more"
            )

    def __call__(self, x: Rows) -> Rows:
        """Remove the last coordinate of rows ``(…, d)``."""
        check_width(x, self.d)
        neutral = (x[..., :-1] if self.drop else x).copy()
        if not self.drop:
            neutral[..., -1] = 0
        return neutral


def gendered_share(embedding: Embedding) -> Row:
    """Share of the last coordinate in the squared length of the most frequent words."""
    gendered = whole = 0.0
    frequent = embedding.subset(embedding.words[:SIZE])
    for x in finite_blocks(frequent):
        gendered += float((x[:, -1] ** 2).sum())
        whole += float((x**2).sum())
    if whole == 0:
        raise WordbiasError(f"{embedding.name}: every vector is zero; nothing can be removed")
    return Row(embedding.name, "gendered-share", gendered / whole, {"n": len(frequent)})


def _group_rows(embedding: Embedding, attribute: Attribute) -> Iterator[Row]:
    """Yield how well the last coordinate separates the groups, and its mean in each."""
    pairs = resolve_pairs([*attribute.pairs, *attribute.equalise], embedding)
    details: dict[str, Any] = {"neutral": 0.5, "n": len(pairs.found)}
    if len(pairs.found) < _FEWEST:
        reason = (
            f"undefined: {len(pairs.found)} of the {len(pairs.listed)} pairs of {attribute.name} "
            f"found, at least {_FEWEST} needed"
        )
        yield Row(embedding.name, _MEASURE, None, {**details, "reason": reason})
        return
    words = [list(dict.fromkeys(words)) for words in zip(*pairs.found, strict=True)]
    first, second = (embedding.take(group)[:, -1].astype(float) for group in words)
    yield Row(embedding.name, _MEASURE, separation(first, second), details)
    for group, values in zip(attribute.groups, (first, second), strict=True):
        about = {"group": group, "n": len(values)}
        yield Row(embedding.name, "gendered-coordinate", float(values.mean()), about)


def separation(first: NDArray[Any], second: NDArray[Any]) -> float:
    """Area under the ROC curve, P(a > b) + P(a = b) / 2, or one minus it if that is more."""
    above = first[:, None] > second
    equal = first[:, None] == second
    area = float(above.mean() + equal.mean() / 2)
    return max(area, 1 - area)


def _refuse_ordinary(name: str, row: Row) -> None:
    if row.value is None:
        raise WordbiasError(
            f"{name}: {row.details['reason']}; give pairs it has with --groups FILE, or say "
            "check=no (check=False) if these are GN-GloVe vectors for certain"
        )
    if row.value < SEPARATION:
        raise WordbiasError(
            f"{name}: the last coordinate tells the groups apart with an area of {row.value:.3f} "
            f"under the ROC curve (at least {SEPARATION} expected, .5 is chance): these are no "
            "GN-GloVe vectors, or it was removed already; another method debiases them"
        )
