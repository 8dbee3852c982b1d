"""Sentences about the results of an experiment, computed from its summary."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from wordbias.rendering import how_many
from wordbias.retraining.arms import ORIGINAL
from wordbias.retraining.removals import is_removal
from wordbias.retraining.results import AFTER, BEFORE, COMPRESSED, REPRESENTATION, RESTORED, Metric
from wordbias.retraining.summary import Association, Summary, is_turned, restored_share
from wordbias.verdicts import LEVEL, SMALLEST_CHANGE

_FEWEST = 3  # strategies whose order says anything


def closing(summary: Summary) -> list[str]:
    """Return the lines below the tables: conclusions, and what the figures mean."""
    removals = [name for name in summary.runs.studied() if is_removal(name)]
    vectors = (
        f"{', '.join(removals)}: a removal stands behind the encoder of {summary.runs.base()}. "
        f"After retraining, {summary.task.layers} is new, and reads what the removal leaves. "
        f"{summary.task.fitted}"
    )
    return [*conclusions(summary), *([vectors] * bool(removals)), summary.task.conventions]


def conclusions(summary: Summary) -> list[str]:
    """Return sentences about the results, computed from the figures only."""
    return [
        *_compression_order(summary),
        *_beside_random_changes(summary),
        *_undecided(summary),
        *_restored(summary),
        *_returned(summary),
        *_on_original_texts(summary),
        *_r2_after_retraining(summary),
        *_prediction(summary),
    ]


def _compression_order(summary: Summary) -> Iterator[str]:
    means = _means(summary, COMPRESSED, REPRESENTATION)
    if len(means) > 1:
        ordered = sorted(means, key=lambda name: means[name])
        figures = ", ".join(f"{name} {means[name]:.3f}" for name in ordered)
        base = summary.runs.base()
        tests = {
            name: test.interval
            for name in ordered
            if (test := summary.cell(COMPRESSED, name, REPRESENTATION).test) and test.interval
        }
        differ = [name for name, ends in tests.items() if ends.low > 0 or ends.high < 0]
        differing = f" Shown to differ from {base} (95 %): {', '.join(differ) or 'no strategy'}."
        yield f"Compression of gender, from least to most: {figures}.{differing if tests else ''}"


def _beside_random_changes(summary: Summary) -> Iterator[str]:
    """Say how far strategies differ from random changes of the same size, in the main gap."""
    parts = []
    for name in summary.runs.debiased():
        own, null = summary.cell(summary.main, name, BEFORE), summary.runs.random_change(name)
        if null is None or own.null_test is None or own.spread.mean is None:
            continue
        test, of_null = own.null_test, summary.cell(summary.main, null, BEFORE).spread.mean
        comparison = f"{name} {own.spread.mean:.3f}, at random {of_null:.3f}"
        if test.interval is not None:
            low, high = test.interval
            comparison += f" (difference {test.difference:.3f}, 95 % {low:.3f} to {high:.3f}"
            comparison += f", p = {test.p:.3f})" if test.p is not None else ")"
        parts.append(comparison)
    if parts:
        base = summary.runs.base()
        of_base = summary.cell(summary.main, base or "", BEFORE).spread.mean
        than = f" ({base}: {of_base:.3f})" if of_base is not None else ""
        yield (
            f"{summary.main.title} compared with random changes of the same size{than}: "
            f"{'; '.join(parts)}. A change that also comes from a random change is no effect of "
            "debiasing."
        )


def _undecided(summary: Summary) -> Iterator[str]:
    """Say where the main gap may be smaller because fewer examples have a prediction."""
    undecided, base = summary.task.undecided, summary.runs.base()
    if undecided is None or base is None:
        return
    parts = []
    for stage, when in ((BEFORE, "before"), (AFTER, "after")):
        shares, gaps = (_means(summary, metric, stage) for metric in (undecided, summary.main))
        more = [
            f"{name} {_percent(shares[name])}"
            for name in summary.runs.debiased()
            if {name, base} <= shares.keys() & gaps.keys()
            and round(shares[name], 2) > round(shares[base], 2)
            and abs(gaps[name]) < abs(gaps[base])
        ]
        if more:
            parts.append(f"{when} retraining: {base} {_percent(shares[base])}, {', '.join(more)}")
    if parts:
        yield (
            f"Undecided {'; '.join(parts)}. A pronoun that is not resolved favours nobody: part of "
            f"a smaller {summary.main.title} may come from that."
        )


def _means(summary: Summary, metric: Metric, stage: str) -> dict[str, float]:
    """Return the mean of each strategy that has one."""
    cells = {name: summary.runs.spread(metric, name, stage) for name in summary.runs.strategies}
    return {name: cell.mean for name, cell in cells.items() if cell.mean is not None}


def _restored(summary: Summary) -> Iterator[str]:
    shares = {name: restored_share(summary, summary.main, name) for name in summary.runs.studied()}
    base = summary.cell(summary.main, summary.runs.base() or "", BEFORE).spread.mean or 0.0
    parts = []
    for name, share in shares.items():
        before, after = (summary.cell(summary.main, name, stage) for stage in (BEFORE, AFTER))
        means = before.spread.mean or 0.0, after.spread.mean or 0.0
        ends = None if before.test is None else before.test.interval
        # a share of what is not shown to be taken off says nothing, and may be of any size
        is_lower = base - means[0] > SMALLEST_CHANGE * abs(base) and (ends is None or ends[1] < 0)
        if share is not None and is_lower:
            parts.append(f"{name} {_percent(share)} ({means[0]:.3f} → {means[1]:.3f})")
    retrained = summary.cell(summary.main, summary.runs.base() or "", AFTER).spread.mean
    alone = (
        f" Retraining takes {summary.runs.base()} itself to {retrained:.3f}."
        if retrained is not None
        else ""
    )
    if parts:
        yield (
            f"Retraining {summary.task.layers} on the original data brings back, of what a "
            f"strategy took off the {summary.main.title} of {summary.runs.base()} ({base:.3f}): "
            f"{', '.join(parts)}.{alone}"
        )


def _returned(summary: Summary) -> Iterator[str]:
    """Say of each strategy whether the main gap came back; nothing of one seed."""
    parts, means = [], _means(summary, summary.main, BEFORE)
    for returned in summary.returns:
        if returned.test.interval is not None:
            low, high = returned.test.interval
            figures = f"{returned.test.difference:+.3f}, 95 % {low:.3f} to {high:.3f}"
            off = means[summary.runs.base() or ""] - means[returned.strategy]
            is_off = off > 0 and not is_turned(summary, returned.strategy)
            figures += f", of {off:.3f} taken off" if is_off else ""
            parts.append(f"{returned.strategy}: {returned.says} ({figures})")
    if parts:
        yield (
            f"Does the {summary.main.title} come back when {summary.task.layers} is trained again? "
            f"{'; '.join(parts)}."
        )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %".replace("-", "−")


def _on_original_texts(summary: Summary) -> Iterator[str]:
    """Report the gaps of models of rewritten texts on the original texts."""
    for name in summary.runs.rewritten():
        before, after = (
            summary.cell(summary.main, name, stage, ORIGINAL).spread.mean
            for stage in (BEFORE, AFTER)
        )
        if before is not None and after is not None:
            yield (
                f"{name}: its original data are rewritten too. On texts as they were its "
                f"{summary.main.title} is {before:.3f}, and {after:.3f} after retraining on them."
            )


def _r2_after_retraining(summary: Summary) -> Iterator[str]:
    pairs = [
        [summary.association(COMPRESSED, metric, stage).r2 for stage in (BEFORE, AFTER)]
        for metric in summary.task.gaps
    ]
    both = [(a, b) for a, b in pairs if a is not None and b is not None]
    if both:
        rising = sum(b > a for a, b in both)
        before, after = np.median(both, axis=0).tolist()
        yield (
            f"R² of compression with the gaps is larger after retraining than before for {rising} "
            f"of {len(both)} metrics (median {before:.3f} before, {after:.3f} after)."
        )


def _prediction(summary: Summary) -> Iterator[str]:
    associations = [
        summary.association(COMPRESSED, metric, RESTORED) for metric in summary.task.sums
    ]
    defined = [
        association
        for association in associations
        if association.r is not None and association.p is not None
    ]
    if not defined:
        yield (
            "Does compression predict what retraining restores? The runs do not tell: "
            f"{associations[0].reason}."
        )
        return
    clear = [
        association
        for association in defined
        if (association.r or 0) > 0 and (association.p or 0) < LEVEL
    ]
    against = [
        association
        for association in defined
        if (association.r or 0) < 0 and (association.p or 0) < LEVEL
    ]
    answer = _answer(len(clear), len(against), len(defined))
    yield (
        f"Does compression predict what retraining restores (after − before)? {answer}. Over "
        f"{defined[0].n} runs on debiased data: {'; '.join(map(_association_text, defined))}. "
        f"{_agreement(summary)}"
    )


def _answer(clear: int, against: int, defined: int) -> str:
    """Say for how many of the sums more compression goes with more restored bias."""
    if clear == defined:
        return f"Yes, for all {defined} sums (r > 0, p < .05)"
    parts = [f"for {clear} of {defined} sums (r > 0, p < .05)"] if clear else []
    parts += [f"the other way round for {against} (r < 0, p < .05)"] if against else []
    if not parts:
        return f"Not shown (p < .05 for none of {defined} sums)"
    return f"{'In part' if clear else 'No'}, {', '.join(parts)}"


def _association_text(association: Association) -> str:
    p = (
        "p < .001"
        if association.p is not None and association.p < 0.001
        else f"p = {association.p:.3f}"
    )
    return f"{association.y.title} r = {association.r:.2f}, {p}"


def _agreement(summary: Summary) -> str:
    """Say whether strategies have the same order in both, which p over runs does not test."""
    compression = _means(summary, COMPRESSED, REPRESENTATION)
    restored = _means(summary, summary.main, RESTORED)
    names = [name for name in summary.runs.debiased() if name in compression and name in restored]
    if len(names) < _FEWEST:
        few = how_many(len(names), "strategy is", "strategies are")
        return f"{few} too few for their order to say anything."
    concordant, pairs = _concordant(
        [compression[name] for name in names], [restored[name] for name in names]
    )
    if not pairs:
        return "All strategies have the same compression or gain alike."
    return (
        f"Of {pairs} pairs of strategies that differ in both, the one with more compression gains "
        f"more {summary.main.title} by retraining in {concordant} (means over seeds). Runs of one "
        "strategy are alike, so p is too small."
    )


def _concordant(x: Sequence[float], y: Sequence[float]) -> tuple[int, int]:
    """Return the number of pairs that differ alike in both values, and that differ in both."""
    products = [
        (a - b) * (c - d)
        for (a, c), (b, d) in combinations(zip(x, y, strict=True), 2)
        if not (math.isclose(a, b) or math.isclose(c, d, abs_tol=1e-12))
    ]
    return sum(product > 0 for product in products), len(products)
