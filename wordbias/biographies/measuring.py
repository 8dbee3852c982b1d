"""What one job measures: gender in the vectors, associations of words, gaps of predictions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.biographies.biographies import Biographies
from wordbias.biographies.runs import REPRESENTATION
from wordbias.errors import WordbiasError
from wordbias.outcomes.balancing import copies
from wordbias.outcomes.confusion import Confusion
from wordbias.outcomes.measuring import ALL, fairness_rows
from wordbias.outcomes.metrics import Settings
from wordbias.probes.codelength import OnlineCode, to_published
from wordbias.probes.in_context.measuring import MEASURE as CEAT
from wordbias.probes.in_context.measuring import Settings as CeatSettings
from wordbias.probes.in_context.measuring import ceat
from wordbias.probes.online import online_code
from wordbias.probes.representations import Representations
from wordbias.probes.rows import ACCURACY, CODELENGTH, COMPRESSION, PUBLISHED, UNIFORM
from wordbias.probes.schedule import FRACTIONS, needed
from wordbias.results import Row
from wordbias.statistics import majority_share
from wordbias.wordlists.queries import Query

LEAST_BLOCKS = 5
"""Blocks that a code of a single occupation has at least."""
_MEASURES = (COMPRESSION, PUBLISHED, CODELENGTH, UNIFORM, ACCURACY)

Codes = NDArray[np.intp]


@dataclass(frozen=True)
class Where:
    """What rows are of: a strategy, the texts it was measured on, the seed."""

    subject: str
    view: str
    seed: int

    def details(self, stage: str) -> dict[str, Any]:
        """Return what every row says."""
        return {"stage": stage, "view": self.view, "seed": self.seed}


def gender_rows(
    where: Where, probe: Biographies, vectors: NDArray[np.float32], *, balanced: bool = False
) -> list[Row]:
    """Code the gender of people given their vectors, over all occupations and within each.

    Where an occupation is mostly of one gender, whoever reads off the occupation knows much of the
    gender. So each occupation is coded by itself too, on as many women as men; and beside the
    compression over all stands, as `control`, that of a receiver who knows the occupation and
    nothing else, ``1 / H(gender | occupation)``.

    Parameters
    ----------
    vectors
        Of the people, shape ``(n, d)``.
    balanced
        Over all, too, take as many women as men of each occupation.
    """
    even = np.flatnonzero(copies(probe.labels, probe.genders, "subsample", where.seed))
    everyone = even if balanced else np.arange(len(probe))
    rows = list(_coded(where, ALL, everyone, probe, vectors))
    rows[0] = _with_control(rows[0], probe.labels[everyone], probe.genders[everyone])
    for i, name in enumerate(probe.classes):
        rows += _coded(where, name, even[probe.labels[even] == i], probe, vectors)
    return rows


def _coded(
    where: Where, part: str, rows: Codes, probe: Biographies, vectors: NDArray[np.float32]
) -> Iterator[Row]:
    fractions = usable_fractions(len(rows))
    about = {**where.details(REPRESENTATION), "set": part, "n": len(rows), "fractions": fractions}
    if not fractions:
        reason = f"{len(rows)} biographies are too few for a code of {LEAST_BLOCKS} blocks"
        yield from _undefined(where, about, reason)
        return
    try:
        code = online_code(vectors[rows], probe.genders[rows], seed=where.seed, fractions=fractions)
    except WordbiasError as error:  # one gender only
        yield from _undefined(where, about, f"undefined: {error}")
        return
    majority = majority_share(probe.genders[rows])
    for measure, value, said in _values(code, majority):
        yield Row(where.subject, measure, value, {**about, **said})


def _undefined(where: Where, about: dict[str, Any], reason: str) -> Iterator[Row]:
    for measure in _MEASURES:
        yield Row(where.subject, measure, None, {**about, "reason": reason})


def _values(code: OnlineCode, majority: float) -> Iterator[tuple[str, float, dict[str, Any]]]:
    yield COMPRESSION, code.compression, {"neutral": 1, "better": "lower"}
    neutral = to_published(1, code.first / code.n)
    yield PUBLISHED, code.compression_as_published, {"neutral": neutral, "better": "lower"}
    yield CODELENGTH, code.codelength, {"neutral": code.uniform, "better": "higher"}
    yield UNIFORM, code.uniform, {"better": "neutral"}
    tested = {"n": code.blocks[-1].n, "neutral": majority, "better": "lower"}
    yield ACCURACY, code.accuracy, tested


def usable_fractions(n: int) -> tuple[float, ...]:
    """Return the published ends of blocks, without the first ones that `n` texts do not fill.

    None where fewer than `LEAST_BLOCKS` would be left.
    """
    published = FRACTIONS["published"]
    for start in range(len(published) - LEAST_BLOCKS + 1):
        if needed(published[start:]) <= n:
            return published[start:]
    return ()


def _with_control(row: Row, labels: Codes, genders: Codes) -> Row:
    known = conditional_entropy(labels, genders)
    control = 1 / known if known else None
    return replace(row, details={**row.details, "control": control})


def conditional_entropy(labels: Codes, genders: Codes) -> float:
    """Return H(gender | label), in bits a text."""
    counts = np.zeros((labels.max(initial=0) + 1, genders.max(initial=0) + 1))
    np.add.at(counts, (labels, genders), 1)
    shares = counts[counts > 0] / np.broadcast_to(counts.sum(1)[:, None], counts.shape)[counts > 0]
    return float(-(counts[counts > 0] * np.log2(shares)).sum() / max(1, len(labels))) + 0.0


def word_rows(
    where: Where, found: Representations | str, query: Query, draws: int, sentences: str
) -> list[Row]:
    """Return CEAT of one query; see `wordbias.probes.in_context`.

    Parameters
    ----------
    found
        Vectors of its words in context, or why there are none.
    sentences
        Where these are from.
    """
    about = {**where.details(REPRESENTATION), "sentences_from": sentences}
    try:
        if isinstance(found, str):
            raise WordbiasError(found)
        named = replace(found, name=sentences)
        (row,) = ceat(named, [query], CeatSettings(draws, seed=where.seed))
    except WordbiasError as error:
        reason = {"set": query.name, "reason": f"undefined: {error}"}
        return [Row(where.subject, CEAT, None, {**about, **reason})]
    return [Row(where.subject, CEAT, row.value, {**row.details, **about})]


def gap_rows(
    where: Where,
    stage: str,
    test: Biographies,
    predicted: Codes,
    shares: NDArray[np.float64],
    *,
    shares_from: str,
    as_published: bool = False,
) -> list[Row]:
    """Measure the fairness of predictions; see `wordbias.outcomes.measuring`.

    Parameters
    ----------
    predicted
        Places among the classes, shape ``(n,)``.
    shares
        Of women in each class, shape ``(classes,)``.
    shares_from
        Where they are from.
    """
    confusion = Confusion.of(
        test.label_names(),
        [test.classes[i] for i in predicted],
        test.gender_names(),
        order=test.groups,
        classes=test.classes,
    )
    known = dict(zip(test.classes, shares, strict=True))
    settings = Settings(as_published=as_published, draws=0, seed=where.seed)
    found = fairness_rows(
        confusion,
        where.subject,
        settings,
        shares=np.array([known[name] for name in confusion.classes]),
        shares_from=shares_from,
    )
    return [replace(row, details={**row.details, **where.details(stage)}) for row in found]
