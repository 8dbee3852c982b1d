"""Gender in the vectors of a model, and associations of its words, as rows of one run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordbias.errors import WordbiasError
from wordbias.measures.held_out_probes import BEST, PROBES, read_groups
from wordbias.measures.registry import ideal
from wordbias.models.representations import Representations
from wordbias.outcomes.fairness import ALL
from wordbias.probes.ceat.measure import MEASURE as CEAT
from wordbias.probes.ceat.measure import Settings as CeatSettings
from wordbias.probes.ceat.measure import ceat
from wordbias.probes.mdl import (
    ACCURACY,
    CODELENGTH,
    COMPRESSION,
    FRACTIONS,
    PUBLISHED,
    UNIFORM,
    needed,
    online_code,
    share_compression,
    to_published,
)
from wordbias.results import Row
from wordbias.retraining.results import REPRESENTATION
from wordbias.statistics import majority_share
from wordbias.wordlists.queries import Query, load_queries

CAREER = "weat6"
"""The stimulus that Orgad et al. (2022) measure: names of men and women, career and family."""
LEAST_BLOCKS = 5
"""Smallest number of blocks of the code of a single class."""
_MEASURES = (COMPRESSION, PUBLISHED, CODELENGTH, UNIFORM, ACCURACY)


@dataclass(frozen=True)
class Run:
    """A strategy under a seed, measured on one view of the texts."""

    subject: str
    view: str
    seed: int

    def details(self, stage: str) -> dict[str, Any]:
        """Return the details that all rows have."""
        return {"stage": stage, "view": self.view, "seed": self.seed}


def coded_rows(
    run: Run,
    part: str,
    vectors: NDArray[np.float32],
    genders: NDArray[np.integer[Any]],
    groups: NDArray[Any] | None = None,
    *,
    what: str,
) -> list[Row]:
    """Code gender given vectors (n, d); undefined for too few examples, or for one gender."""
    about = {**run.details(REPRESENTATION), "set": part, "n": len(genders)}
    fractions, code = usable_fractions(len(genders)), None
    reason = f"{len(genders)} {what} are too few for a code of {LEAST_BLOCKS} blocks"
    if fractions:
        try:
            code = online_code(vectors, genders, seed=run.seed, fractions=fractions, groups=groups)
        except WordbiasError as error:  # one gender only
            reason = f"undefined: {error}"
    if code is None:
        return [
            Row(run.subject, measure, None, {**about, "reason": reason}) for measure in _MEASURES
        ]
    neutral = share_compression(genders, code.first / code.n)
    published = to_published(neutral, code.first / code.n)
    tested = {"n": code.blocks[-1].n, **ideal(ACCURACY, majority_share(genders))}
    values: tuple[tuple[float, dict[str, Any]], ...] = (
        (code.compression, ideal(COMPRESSION, neutral)),
        (code.compression_as_published, ideal(PUBLISHED, published)),
        (code.codelength, ideal(CODELENGTH, code.uniform / neutral)),
        (code.uniform, ideal(UNIFORM)),
        (code.accuracy, tested),
    )
    return [
        Row(run.subject, measure, value, {**about, **details})
        for measure, (value, details) in zip(_MEASURES, values, strict=True)
    ]


def usable_fractions(n: int) -> tuple[float, ...]:
    """Return the published ends of blocks, without the first ones that `n` texts do not fill."""
    # Empty if fewer than `LEAST_BLOCKS` would be left.
    published = FRACTIONS["published"]
    for start in range(len(published) - LEAST_BLOCKS + 1):
        if needed(published[start:]) <= n:
            return published[start:]
    return ()


def read_rows(
    run: Run,
    vectors: NDArray[np.float32],
    genders: ArrayLike,
    groups: ArrayLike | None = None,
) -> list[Row]:
    """Read gender with the best of several probes, tested on other examples, or other groups."""
    # As of `wordbias.erase`: no probe is trained on what a removal was fitted to.
    about = {**run.details(REPRESENTATION), "set": ALL}
    try:
        reading = read_groups(vectors, genders, groups, seed=run.seed)
    except WordbiasError as error:  # too few
        reason = {**about, **ideal(BEST), "reason": f"undefined: {error}"}
        return [Row(run.subject, measure, None, reason) for measure in (BEST, *PROBES)]
    return reading.rows(run.subject, about)


def word_rows(
    run: Run, representations: Representations | str, query: Query, draws: int, sentences: str
) -> list[Row]:
    """Return CEAT of one query, of its words' vectors in context; see `wordbias.probes.ceat`."""
    about = run.details(REPRESENTATION)
    try:
        if isinstance(representations, str):
            raise WordbiasError(representations)
        named = replace(representations, name=sentences)
        (row,) = ceat(named, [query], CeatSettings(draws, seed=run.seed))
    except WordbiasError as error:
        reason = {"set": query.name, "reason": f"undefined: {error}"}
        return [Row(run.subject, CEAT, None, {**about, **reason})]
    return [Row(run.subject, CEAT, row.value, {**row.details, **about})]


def career_query() -> Query:
    """Return the query of CEAT."""
    return next(query for query in load_queries() if query.name == CAREER)


def career_words() -> list[str]:
    """Return the words of that query."""
    query = career_query()
    return [word for _, words in (*query.targets, *query.attributes) for word in words]
