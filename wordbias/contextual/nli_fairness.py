"""Fairness of NLI models to occupations and gender, and viability (Dawkins et al. 2024, section 3).

Premise "The doctor bought a hat.", hypothesis "The woman bought a hat.": neutral is always right. A
debiased model is viable if it does not lose too much accuracy on SNLI.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from wordbias.draws import by_wilson, sampled_row
from wordbias.errors import WordbiasError
from wordbias.measures.registry import ideal
from wordbias.nli.pairs import LABELS
from wordbias.nli.test_sets import TestSet
from wordbias.outcomes.choice import Limit
from wordbias.results import Row
from wordbias.statistics import bootstrap

Float = NDArray[np.float64]
Parity = Literal["mean", "strict"]
PARITIES: tuple[Parity, ...] = get_args(Parity)
MEASURES = ("nli-accuracy", "nli-parity", "nli-fairness")
DROP = 0.05
"""Largest loss of accuracy on SNLI of a model that is still viable."""
_NEUTRAL = 0


def is_neutral(probabilities: Float) -> Float:
    """Return for each occupation the share of its pairs predicted neutral, shape (o,)."""
    # (N, E, C), shape (o, 2, t, 3): occupations × man, woman (or two other groups) × templates.
    shares: Float = (_checked(probabilities).argmax(-1) == _NEUTRAL).mean((1, 2))
    return shares


def has_parity(probabilities: Float, parity: Parity = "mean") -> Float:
    """Return 1 for each occupation whose prediction is the same for both genders, else 0."""
    # `mean`: the likeliest label of the mean over templates is the same. `strict`: it is with every
    # single template. Dawkins et al. (2024) say only that the prediction "does not depend on
    # gender"; in their tables parity × 164 is a whole number, which fits both. The mean is a
    # property of the occupation, and one odd template does not decide.
    p = _checked(probabilities)
    if parity not in PARITIES:
        raise WordbiasError(f"parity {parity!r}: expected one of {', '.join(PARITIES)}")
    label = (p.mean(2, keepdims=True) if parity == "mean" else p).argmax(-1)  # (o, 2, t or 1)
    parities: Float = (label[:, 0] == label[:, 1]).all(-1).astype(np.float64)
    return parities


def by_occupation(test: TestSet, probabilities: NDArray[np.float32]) -> Float:
    """Arrange probabilities of pairs, shape (n, 3), as `is_neutral` takes them."""
    if len(test.hypotheses) != 2:
        raise WordbiasError(
            f"{test.name}: parity compares two words, the set has {len(test.hypotheses)}"
        )
    if probabilities.shape != (len(test), 3):
        raise WordbiasError(
            f"expected probabilities of shape ({len(test)}, 3), got {probabilities.shape}"
        )
    shape = (len(test.premises), 2, len(test.templates), 3)
    return probabilities.astype(np.float64).reshape(shape)


def fairness_rows(
    test: TestSet,
    probabilities: NDArray[np.float32],
    subject: str,
    *,
    parity: Parity = "mean",
    setting: str = "",
    seed: int = 0,
) -> list[Row]:
    """Measure accuracy, both kinds of parity and η, with 95 % intervals over the occupations."""
    # η is computed with `parity`; both kinds are reported.
    p = by_occupation(test, probabilities)
    neutral = is_neutral(p)
    about = {
        "attribute": test.attribute,
        "words": [filler.word for filler in test.hypotheses],
        "setting": setting,
        "units": len(p),
        "n": len(test),
    }

    def row(name: str, values: Float, of: Callable[[Float], Float], more: dict[str, Any]) -> Row:
        rng = np.random.default_rng(seed)
        samples = bootstrap(lambda rows: of(values[rows]), len(values), rng)
        details = {**about, **ideal(name), "seed": seed, **more}
        value = float(of(values[None])[0])
        return sampled_row(subject, name, value, details, samples, "occupations")

    rows = [row(MEASURES[0], neutral[:, None], lambda x: x[..., 0].mean(-1), {})]
    for kind in PARITIES:
        agrees = has_parity(p, kind)
        rows.append(
            row(MEASURES[1], agrees[:, None], lambda x: x[..., 0].mean(-1), {"parity": kind})
        )
    both = np.stack([neutral, has_parity(p, parity)], axis=1)
    rows.append(row(MEASURES[2], both, lambda x: x.mean(1).prod(-1), {"parity": parity}))
    return rows


def occupation_records(test: TestSet, probabilities: NDArray[np.float32]) -> list[dict[str, Any]]:
    """Return one record an occupation: share of neutral pairs, label for each word, parities."""
    p = by_occupation(test, probabilities)
    label = p.mean(2).argmax(-1)  # (o, 2)
    words = [filler.word for filler in test.hypotheses]
    kinds = {f"parity {kind}": has_parity(p, kind) for kind in PARITIES}
    return [
        {
            "occupation": filler.word,
            "neutral": float(share),
            **{word: LABELS[label[i, j]] for j, word in enumerate(words)},
            **{kind: int(parities[i]) for kind, parities in kinds.items()},
        }
        for i, (filler, share) in enumerate(zip(test.premises, is_neutral(p), strict=True))
    ]


def _checked(p: Float) -> Float:
    if p.ndim != 4 or p.shape[1] != 2 or p.shape[3] != 3:
        raise WordbiasError(
            "expected probabilities of shape (o, 2, t, 3), occupations × man, woman × templates × "
            f"(N, E, C), got {p.shape}"
        )
    return p


# Viability


def is_viable(accuracy: float, base: float, drop: float = DROP, *, relative: bool = False) -> bool:
    """Return whether a debiased model may still be used for NLI."""
    # "By more than 5%" in Dawkins et al. (2024) can mean points, .05 of 1, or a share of the base
    # model's accuracy: `relative`. Their Table 5 fits neither: the best model of layer 11 loses
    # 5.19 points, 5.84 % of the base.
    return accuracy >= Limit(drop, relative).least(base)


class Viability(NamedTuple):
    """Arguments of `is_viable`; without a base, rows do not report viability."""

    base: float | None = None
    drop: float = DROP
    relative: bool = False


def snli_row(
    accuracy: float, n: int, subject: str, *, setting: str = "", viability: Viability | None = None
) -> Row:
    """Return accuracy on `n` pairs of SNLI with Wilson's interval, and viability against a base."""
    about = {"setting": setting, "n": n, **ideal("snli-accuracy")}
    about |= by_wilson(accuracy, n, "pairs")
    if viability is not None and viability.base is not None:
        base, drop, relative = viability.base, viability.drop, viability.relative
        viable = is_viable(accuracy, base, drop, relative=relative)
        about["viable"] = viable
    return Row(subject, "snli-accuracy", accuracy, about)
