"""What RAN-Debias did to its words: who moved, and what that was good for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.methods.ran.objective import Floats, Objective, Parts, Sets
from wordbias.methods.ran.sets import Repelled
from wordbias.results import Row
from wordbias.wordlists import Resolved

_SHOWN = 5


class Outcome(NamedTuple):
    """Where words ended, and what their objective was before and after.

    Attributes
    ----------
    moved
        Which of the words moved, shape ``(n,)``.
    vectors
        Of those, of length one, shape ``(m, d)``.
    before, after
        Parts of the objective.
    """

    moved: NDArray[np.bool_]
    vectors: NDArray[np.float64]
    before: Parts
    after: Parts


def outcome(
    objective: Objective, w: Floats, x: Floats, sets: Sets, names: Sequence[str]
) -> Outcome:
    """Compare where words ended with where they were.

    A word stays where it was if its objective is not lower at the end: Adam with a fixed rate ends
    within some steps' length of a kink, and words that were nearly neutral were nearer to it. As
    published, every word moves.

    Parameters
    ----------
    objective, sets
        What was minimised.
    w, x
        First and last vectors, both ``(n, d)``; the first of length one.
    names
        The words, for messages.

    Raises
    ------
    WordbiasError
        If a word has no direction any more, or none moved.
    """
    length = np.linalg.norm(x.astype(float), axis=1, keepdims=True)
    lost = np.flatnonzero(~(np.isfinite(length) & (length > 0)))
    if len(lost):
        raise WordbiasError(f"RAN lost the word {names[lost[0]]!r}; lower the learning rate")
    before, after = (objective.parts(at, w, sets) for at in (w, x))
    moved = (objective.total(after) < objective.total(before)) | objective.as_published
    if not moved.any():
        raise WordbiasError(
            f"RAN moved none of {len(names)} words: the objective of each is lowest where it is; "
            "are they debiased already? If not, lower the learning rate or give more iterations"
        )
    final = (np.where(moved, new, old) for new, old in zip(after, before, strict=True))
    return Outcome(moved, x[moved] / length[moved], before, Parts(*final))


def rows(
    subject: str,
    chosen: Resolved[str],
    repelled: Repelled,
    objective: Objective,
    found: Outcome,
    **said: Any,
) -> tuple[Row, ...]:
    """Report the words, their repulsion sets, and the objective; `said` goes with the sets."""
    sizes = np.array([len(one) for one in repelled.sets])
    n = len(sizes)
    unmoved = int((~found.moved).sum())
    return (
        Row(subject, "ran-words", n, {"unmoved": unmoved, "missing": list(chosen.missing)}),
        Row(subject, "ran-repulsion-set", float(sizes.mean()), {"n": n, **said}),
        Row(subject, "ran-empty-sets", int((sizes == 0).sum()), {"n": n, **said}),
        Row(subject, "ran-illicit-share", float(repelled.share.mean()), {"n": n, **said}),
        *_about_parts(subject, objective, "before", found.before),
        *_about_parts(subject, objective, "after", found.after),
    )


def _about_parts(subject: str, objective: Objective, stage: str, parts: Parts) -> list[Row]:
    weights = (1.0, *objective.weights[:2], objective.neutralisation)
    columns = (objective.total(parts), *parts)
    return [
        Row(
            subject,
            "ran-objective",
            float(values.mean()),
            {"set": name, "stage": stage, "weight": weight, "n": len(values)},
        )
        for name, values, weight in zip(("total", *Parts._fields), columns, weights, strict=True)
    ]


def remarks(subject: str, chosen: Resolved[str], repelled: Repelled) -> tuple[str, ...]:
    """Say which words were missing, and if nothing was repelled."""
    said = []
    if chosen.missing:
        first = ", ".join([*chosen.missing[:_SHOWN], *["…"][: len(chosen.missing) - _SHOWN]])
        counts = f"{len(chosen.missing)} of {len(chosen.asked)}"
        said.append(f"{subject} lacks {counts} words to debias: {first}")
    if not any(map(len, repelled.sets)):
        said.append("no word has a neighbour to be repelled from: RAN only neutralised")
    return tuple(said)
