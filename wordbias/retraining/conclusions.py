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
from wordbias.retraining.summary import Association, Summary, restored_share
from wordbias.verdicts import LEVEL, SMALLEST_CHANGE

_FEWEST = 3  # strategies whose order says anything


def closing(found: Summary) -> list[str]:
    """Return the lines below the tables: conclusions, and what the figures mean."""
    removals = [name for name in found.runs.studied() if is_removal(name)]
    vectors = (
        f"{', '.join(removals)}: a removal stands behind the encoder of {found.runs.base()}. After "
        f"retraining, {found.task.layers} is new, and reads what the removal leaves. "
        f"{found.task.fitted}"
    )
    return [*conclusions(found), *([vectors] * bool(removals)), found.task.conventions]


def conclusions(found: Summary) -> list[str]:
    """Return sentences about the results, computed from the figures only."""
    return [
        *_compression_order(found),
        *_beside_random_changes(found),
        *_undecided(found),
        *_restored(found),
        *_returned(found),
        *_on_original_texts(found),
        *_r2_after_retraining(found),
        *_prediction(found),
    ]


def _compression_order(found: Summary) -> Iterator[str]:
    means = _means(found, COMPRESSED, REPRESENTATION)
    if len(means) > 1:
        ordered = sorted(means, key=lambda name: means[name])
        said = ", ".join(f"{name} {means[name]:.3f}" for name in ordered)
        yield f"Compression of gender, from least to most: {said}."


def _beside_random_changes(found: Summary) -> Iterator[str]:
    """Say how far strategies differ from random changes of the same size, in the main gap."""
    parts = []
    for name in found.runs.debiased():
        own, null = found.cell(found.main, name, BEFORE), found.runs.random_change(name)
        if null is None or own.null_test is None or own.spread.mean is None:
            continue
        test, of_null = own.null_test, found.cell(found.main, null, BEFORE).spread.mean
        said = f"{name} {own.spread.mean:.3f}, at random {of_null:.3f}"
        if test.interval is not None:
            low, high = test.interval
            said += f" (difference {test.difference:.3f}, 95 % {low:.3f} to {high:.3f}"
            said += f", p = {test.p:.3f})" if test.p is not None else ")"
        parts.append(said)
    if parts:
        base = found.runs.base()
        of_base = found.cell(found.main, base or "", BEFORE).spread.mean
        than = f" ({base}: {of_base:.3f})" if of_base is not None else ""
        yield (
            f"{found.main.title} compared with random changes of the same size{than}: "
            f"{'; '.join(parts)}. A change that also comes from a random change is no effect of "
            "debiasing."
        )


def _undecided(found: Summary) -> Iterator[str]:
    """Say where the main gap may be smaller because fewer examples have a prediction."""
    undecided, base = found.task.undecided, found.runs.base()
    if undecided is None or base is None:
        return
    parts = []
    for stage, when in ((BEFORE, "before"), (AFTER, "after")):
        shares, gaps = (_means(found, metric, stage) for metric in (undecided, found.main))
        more = [
            f"{name} {_percent(shares[name])}"
            for name in found.runs.debiased()
            if {name, base} <= shares.keys() & gaps.keys()
            and round(shares[name], 2) > round(shares[base], 2)
            and abs(gaps[name]) < abs(gaps[base])
        ]
        if more:
            parts.append(f"{when} retraining: {base} {_percent(shares[base])}, {', '.join(more)}")
    if parts:
        yield (
            f"Undecided {'; '.join(parts)}. A pronoun that is not resolved favours nobody: part of "
            f"a smaller {found.main.title} may come from that."
        )


def _means(found: Summary, metric: Metric, stage: str) -> dict[str, float]:
    """Return the mean of each strategy that has one."""
    cells = {name: found.runs.spread(metric, name, stage) for name in found.runs.strategies}
    return {name: cell.mean for name, cell in cells.items() if cell.mean is not None}


def _restored(found: Summary) -> Iterator[str]:
    shares = {name: restored_share(found, found.main, name) for name in found.runs.studied()}
    base = found.cell(found.main, found.runs.base() or "", BEFORE).spread.mean or 0.0
    parts = []
    for name, share in shares.items():
        before, after = (found.cell(found.main, name, stage) for stage in (BEFORE, AFTER))
        means = before.spread.mean or 0.0, after.spread.mean or 0.0
        ends = None if before.test is None else before.test.interval
        # a share of what is not shown to be taken off says nothing, and may be of any size
        is_lower = base - means[0] > SMALLEST_CHANGE * abs(base) and (ends is None or ends[1] < 0)
        if share is not None and is_lower:
            parts.append(f"{name} {_percent(share)} ({means[0]:.3f} → {means[1]:.3f})")
    if parts:
        yield (
            f"Retraining {found.task.layers} on the original data brings back, of what a strategy "
            f"took off the {found.main.title} of {found.runs.base()} ({base:.3f}): "
            f"{', '.join(parts)}."
        )


def _returned(found: Summary) -> Iterator[str]:
    """Say of each strategy whether the main gap came back; nothing of one seed."""
    parts, means = [], _means(found, found.main, BEFORE)
    for one in found.returns:
        if one.test.interval is not None:
            low, high = one.test.interval
            said = f"{one.test.difference:+.3f}, 95 % {low:.3f} to {high:.3f}"
            off = means[found.runs.base() or ""] - means[one.strategy]
            said += f", of {off:.3f} taken off" if off > 0 else ""
            parts.append(f"{one.strategy}: {one.says} ({said})")
    if parts:
        yield (
            f"Does the {found.main.title} come back when {found.task.layers} is trained again? "
            f"{'; '.join(parts)}."
        )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %".replace("-", "−")


def _on_original_texts(found: Summary) -> Iterator[str]:
    """Report the gaps of models of rewritten texts on the original texts."""
    for name in found.runs.rewritten():
        before, after = (
            found.cell(found.main, name, stage, ORIGINAL).spread.mean for stage in (BEFORE, AFTER)
        )
        if before is not None and after is not None:
            yield (
                f"{name}: its original data are rewritten too. On texts as they were its "
                f"{found.main.title} is {before:.3f}, and {after:.3f} after retraining on them."
            )


def _r2_after_retraining(found: Summary) -> Iterator[str]:
    pairs = [
        [found.association(COMPRESSED, metric, stage).r2 for stage in (BEFORE, AFTER)]
        for metric in found.task.gaps
    ]
    both = [(a, b) for a, b in pairs if a is not None and b is not None]
    if both:
        rising = sum(b > a for a, b in both)
        before, after = np.median(both, axis=0).tolist()
        yield (
            f"R² of compression with the gaps is larger after retraining than before for {rising} "
            f"of {len(both)} metrics (median {before:.3f} before, {after:.3f} after)."
        )


def _prediction(found: Summary) -> Iterator[str]:
    made = [found.association(COMPRESSED, metric, RESTORED) for metric in found.task.sums]
    defined = [one for one in made if one.r is not None and one.p is not None]
    if not defined:
        yield (
            "Does compression predict what retraining restores? The runs do not tell: "
            f"{made[0].reason}."
        )
        return
    clear = [one for one in defined if (one.r or 0) > 0 and (one.p or 0) < LEVEL]
    against = [one for one in defined if (one.r or 0) < 0 and (one.p or 0) < LEVEL]
    answer = _answer(len(clear), len(against), len(defined))
    yield (
        f"Does compression predict what retraining restores (after − before)? {answer}. Over "
        f"{defined[0].n} runs on debiased data: {'; '.join(map(_said, defined))}. "
        f"{_agreement(found)}"
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


def _said(one: Association) -> str:
    p = "p < .001" if one.p is not None and one.p < 0.001 else f"p = {one.p:.3f}"
    return f"{one.y.title} r = {one.r:.2f}, {p}"


def _agreement(found: Summary) -> str:
    """Say whether strategies have the same order in both, which p over runs does not test."""
    compression = _means(found, COMPRESSED, REPRESENTATION)
    restored = _means(found, found.main, RESTORED)
    names = [name for name in found.runs.debiased() if name in compression and name in restored]
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
        f"more {found.main.title} by retraining in {concordant} (means over seeds). Runs of one "
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
