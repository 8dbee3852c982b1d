"""Changes by a chain of methods beside those by random removals: of bias and cost, of any measure.

A file of its own because its functions take whole embeddings and panels, `wordbias.methods.null`
one chain.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordbias.draws import drawn, null_keys
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.measures.chance import Key, key_of
from wordbias.measures.evaluate import evaluate_panels
from wordbias.measures.panel import Panel
from wordbias.methods.fitted import Chain
from wordbias.methods.null import chains_as_far, random_chains
from wordbias.results import Row

Changes: TypeAlias = Mapping[Key, float]
"""Change of each measure, and of what it was taken along or with."""


class Removals(NamedTuple):
    """Chains of random directions in place of those of a chain, by kind."""

    # `null`: with the same weights. `null_as_far`: of enough directions to move words as far as the
    # chain does, see `wordbias.methods.null.chains_as_far`. `null_covariance`: the same, with
    # directions drawn by the words' covariance.
    chains: Mapping[str, Sequence[Chain]]
    # number of directions of those that move words as far, shape `(draws,)`
    directions: Mapping[str, NDArray[np.float64]]
    reasons: Mapping[str, str]  # reason why there are none of a kind

    @property
    def every(self) -> list[Chain]:
        """The chains of all kinds, in the order in which `with_null` takes their changes."""
        return [chain for chains in self.chains.values() for chain in chains]


def random_removals(
    embedding: Embedding, chain: Chain, vocabulary: Sequence[str], draws: int, *, seed: int = 0
) -> Removals:
    """Draw chains of random directions in place of a chain's, of each kind; none without draws."""
    if not draws:
        return Removals({}, {}, {})
    chains: dict[str, Sequence[Chain]] = {
        "null": list(random_chains(chain, range(draws), seed=seed))
    }
    directions, reasons = {}, {}
    for kind, by_covariance in (("null_as_far", False), ("null_covariance", True)):
        try:
            chains[kind], directions[kind] = chains_as_far(
                chain, embedding, vocabulary, draws, by_covariance=by_covariance, seed=seed
            )
        except WordbiasError as error:
            reasons[kind] = str(error)
    return Removals(chains, directions, reasons)


def with_null(
    rows: Sequence[Row],
    removals: Removals,
    own: Changes,
    others: Iterable[Changes],
    key: Callable[[Row], Key | None],
) -> list[Row]:
    """Add to rows after a removal their change, and what random removals changed."""
    # `own` and `others` are the changes by the removal and by each of `removals.every`; the key of
    # a row that is not after the removal is None.
    in_order = iter(others)
    by_kind = {kind: list(islice(in_order, len(of))) for kind, of in removals.chains.items()}
    compared = []
    for row in rows:
        of, details, draws = key(row), dict(row.details), dict(row.draws)
        if of is not None and of in own:
            if row.measure == "displacement":
                details |= {f"{kind}_reason": reason for kind, reason in removals.reasons.items()}
            for kind, many in by_kind.items():
                if len(changes := np.array([other[of] for other in many if of in other])):
                    keys = null_keys(kind, row.value or 0.0, own[of], changes)
                    details |= {"change": own[of], **keys}
                    draws |= drawn(changes, "removals", kind=kind)
                if row.measure == "displacement" and kind in removals.directions:
                    details[f"{kind}_directions"] = float(removals.directions[kind].mean())
        compared.append(replace(row, details=details, draws=draws))
    return compared


def measures_beside_null(
    rows: Sequence[Row], panel: Panel, removals: Removals, only: Collection[str]
) -> list[Row]:
    """Add to rows of measures after a chain their change, and what random removals change."""
    name, before = panel.embedding.name, panel.original
    start = {key_of(row): row.value for row in rows if row.subject == before.name}

    def key(row: Row) -> Key | None:
        return key_of(row) if row.subject == name else None

    def changes(after: Sequence[Row]) -> Changes:
        known = ((row.value, start.get(of), of) for row in after if (of := key(row)) is not None)
        return {of: end - at for end, at, of in known if end is not None and at is not None}

    removed = (replace(panel, embedding=chain(before).renamed(name)) for chain in removals.every)
    others = (changes(evaluate_panels([other], only, chance=False)) for other in removed)
    return with_null(rows, removals, changes(rows), others, key)
