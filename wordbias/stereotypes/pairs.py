"""Texts in a decoder: which is likelier? What the tests share, and pairs of one's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.draws import by_wilson, drawn, of_share, sampled_row
from wordbias.measures.registry import ideal
from wordbias.models.causal_model import CausalModel, Float, Likelihoods
from wordbias.models.sentence_pairs import SentencePair
from wordbias.results import Row
from wordbias.statistics import SAMPLES, resampled_means
from wordbias.stereotypes.entry import Found, Record, StereotypeTest
from wordbias.stereotypes.scores import ALL, Settings, leads, signs

SUM, PER_TOKEN = "likelihood", "per-token"
"""The two scores of a text: its log-likelihood, and its mean over the tokens."""


def scores_of(likelihoods: Likelihoods) -> dict[str, Float]:
    """Return the two scores of texts, by name."""
    return {SUM: likelihoods.total, PER_TOKEN: likelihoods.per_token}


def share_row(
    subject: str,
    measure: str,
    values: Float,
    about: Mapping[str, Any],
    ties: int,
    seed: int = 0,
    *,
    unit: str,
    units: NDArray[Any] | None = None,
    draws: int = SAMPLES,
) -> Row:
    """Return the mean of items, each 1, 0 or a tie, with its interval."""
    # It is Wilson's, or that of `wordbias.draws.of_share` if items share units, (n,), which needs
    # draws. These are a bootstrap over items or units, for changes of them; one item has none.
    share, n = float(values.mean()), len(values)
    details = {**about, "n": n, "ties": ties, **ideal(measure)}
    if units is None:
        details |= by_wilson(share, n, unit)
        return Row(subject, measure, share, details, drawn(_means(values, seed), unit))
    if not draws:
        return Row(subject, measure, share, details)
    sums = unit_sums(np.stack([values, np.ones(n)], axis=1), units)
    right, total = resampled_means(sums, np.random.default_rng(seed), draws).T
    details |= of_share(share, right / total, len(sums), unit)
    return Row(subject, measure, share, details, drawn(right / total, unit))


def unit_sums(values: Float, units: NDArray[Any]) -> Float:
    """Return the sums of rows ``(n, m)`` over each unit, shape ``(u, m)``."""
    numbers = np.unique(units, return_inverse=True)[1]
    sums = np.zeros((numbers.max() + 1, values.shape[1]))
    np.add.at(sums, numbers, values)
    return sums


def mean_row(
    subject: str, measure: str, values: Float, about: Mapping[str, Any], seed: int, *, unit: str
) -> Row:
    """Return a mean over items, with a bootstrap interval over them; one item has none."""
    details = {**about, "n": len(values), **ideal(measure), "seed": seed}
    samples = _means(values, seed)
    return sampled_row(subject, measure, float(values.mean()), details, samples, unit)


def _means(values: Float, seed: int) -> Float | None:
    """Return means of bootstrap samples; None of one value, whose spread is unknown."""
    if len(values) < 2:
        return None
    return resampled_means(values[:, None], np.random.default_rng(seed))[:, 0]


def score_pairs(
    model: CausalModel, pairs: Sequence[tuple[str, str]], what: str = "pairs"
) -> Likelihoods:
    """Return the log-likelihoods of both texts of each pair, shape ``(n, 2)``."""
    return model.score_texts([text for pair in pairs for text in pair], what).shaped(-1, 2)


def preference_rows(
    likelihoods: Likelihoods,
    subsets: Mapping[str, NDArray[np.bool_]],
    subject: str,
    task: str,
    share: str,
    means: Mapping[str, Callable[[Float], Float]],
    settings: Settings,
) -> list[Row]:
    """Measure how often the first of two texts, (n, 2), is likelier, by each score and subset."""
    # `means` are means of a function of log p(first) − log p(second).
    rows = []
    for score, values in scores_of(likelihoods).items():
        for subset, chosen in subsets.items():
            about: dict[str, Any] = {"task": task, "subset": subset, "score": score}
            lead = leads(values[chosen], as_published=settings.as_published)
            better, ties = signs(lead, settings.ties), int((lead == 0).sum())
            rows.append(share_row(subject, share, better, about, ties, settings.seed, unit="pairs"))
            for measure, of in means.items():
                gaps = of(lead)
                rows.append(mean_row(subject, measure, gaps, about, settings.seed, unit="pairs"))
    return rows


def preference_records(
    about: Iterable[Record], pairs: Iterable[tuple[str, str]], likelihoods: Likelihoods
) -> list[Record]:
    """Return one record a pair: facts about it, its log-likelihoods and numbers of tokens."""
    return [
        {
            **facts,
            "first": first,
            "second": second,
            "log-likelihood of first": float(totals[0]),
            "log-likelihood of second": float(totals[1]),
            "tokens of first": int(tokens[0]),
            "tokens of second": int(tokens[1]),
        }
        for facts, (first, second), totals, tokens in zip(
            about, pairs, likelihoods.total, likelihoods.tokens, strict=True
        )
    ]


# Pairs of one's own


def pair_rows(likelihoods: Likelihoods, subject: str, settings: Settings) -> list[Row]:
    """Measure which text of counterfactual pairs is likelier: the share, and the mean lean."""
    every, means = {ALL: np.ones(len(likelihoods.total), bool)}, {"pair-lean": np.asarray}
    return preference_rows(likelihoods, every, subject, "pairs", "pair-preferred", means, settings)


def _measured(
    model: CausalModel, pairs: Sequence[SentencePair], subject: str, settings: Settings
) -> Found:
    likelihoods = score_pairs(model, pairs)
    about = [{"task": "pairs", "subset": ALL}] * len(pairs)
    return Found(
        pair_rows(likelihoods, subject, settings), preference_records(about, pairs, likelihoods)
    )


OWN = StereotypeTest(
    title="pairs of your own",
    scores={CausalModel: _measured},
    task="pairs",
    note="No preference is .5, no lean 0.",
    bias=("pair-preferred", "pair-lean"),
)
