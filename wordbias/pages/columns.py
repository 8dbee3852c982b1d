"""What methods, cleaned files and projections did: the columns of an audit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from wordbias import verdicts
from wordbias.draws import CONTROLS, LISTS
from wordbias.measures.held_out_probes import BEST, PROBES
from wordbias.measures.registry import FAMILY_OF, in_words, short_title
from wordbias.methods.trade_off import COSTS, NEIGHBOURS_TITLE, OF_MODELS, QUALITY
from wordbias.pages.lines import Line, is_refitted, minus
from wordbias.results import number
from wordbias.rows import Found, given
from wordbias.verdicts import LIMITS, Effect, change, decide, finds, interval, is_number

AFTER, FILE, LEFT, COLUMN = "after", "file", "bias-left", "column"
NOT_MADE = "not made"
_OTHERS = (verdicts.NO, verdicts.NOT_SHOWN, verdicts.CANNOT, verdicts.NOTHING, NOT_MADE)
_ORDER = (*verdicts.HELPFUL, *_OTHERS)
KEPT = (NEIGHBOURS_TITLE, *map(in_words, QUALITY))
"""Costs of a method for vectors."""
_DIGITS = 3
_BY_CONSTRUCTION = {
    "misp": ("midb",),
    "mhd": ("midb",),
    "leace": ("midb",),
    "hard": ("direct-bias",),
    "multi-hard": ("direct-bias",),
    "double-hard": ("direct-bias",),
    "inlp": ("recoverability",),
}
"""Families that a method lowers because it removes what they are measured along."""


@dataclass(frozen=True)
class ColumnAnswer:
    """What a method, a cleaned file or a projection did."""

    name: str
    verdict: str  # whether it helps, and why: a part of a sentence
    reason: str
    effect: Effect = field(default_factory=Effect)  # its effect on the main lines of bias
    # lines that changed for the better or the worse, and found no bias before or after
    within: Mapping[str, Sequence[Line]] = field(default_factory=dict)
    kept: Mapping[str, float] = field(default_factory=dict)  # share kept of what is a cost
    left: str = ""  # share of the bias that is left, in words, and its interval where it has one
    left_ends: tuple[float, float] | None = None
    failed: str = ""  # reason why there is no such column
    kind: str = ""  # `method`, `file`, or of a control `null` or `lists`; empty if no row says

    @property
    def helps(self) -> bool:
        """Whether it can be recommended: it helps, a little at least."""
        return self.verdict in (verdicts.YES, verdicts.LITTLE)

    @property
    def is_control(self) -> bool:
        """Whether it is drawn at random, to compare with, and not to be used."""
        return self.kind in CONTROLS


def judge_columns(
    rows: Sequence[Found], lines: Sequence[Line], shares_of: Callable[[str], Mapping[str, float]]
) -> list[ColumnAnswer]:
    """Judge each column of one subject by what happened to its main lines, and by its costs."""
    stages = (str(row["stage"]) for row in rows if row.get("stage") not in (None, "", "before"))
    return [_judge(name, rows, lines, shares_of(name)) for name in dict.fromkeys(stages)]


def _judge(
    name: str, rows: Sequence[Found], lines: Sequence[Line], shares: Mapping[str, float]
) -> ColumnAnswer:
    own = [row for row in rows if row.get("stage") == name]
    failed = [row for row in own if row["measure"] == COLUMN and row["value"] is None]
    if failed:
        reason = str(failed[0].get("reason", ""))
        return ColumnAnswer(name, verdicts.CANNOT, "it could not be made", failed=reason)
    judged = [line for line in lines if line.first and finds(line.first) != verdicts.NO]
    raised = [line for line in lines if line not in judged and _is_raised(line, name)]
    changed: dict[str, list[Line]] = {}
    within: dict[str, list[Line]] = {}
    for line in lines:
        if line not in raised:
            of = changed if line in judged else within
            of.setdefault(change(line.first, line.stages.get(name)), []).append(line)
    improved, worse = changed.pop(verdicts.BETTER, []), changed.pop(verdicts.WORSE, [])
    built_in = [line for line in improved if _by_construction(line, name)]
    better = [line for line in improved if line not in built_in]
    costly = [
        f"{cost_title(what)} kept {share:.1%}, below {LIMITS[what]:.0%}"
        for what, share in shares.items()
        if share < LIMITS[what]
    ]
    left = next((row for row in own if row["measure"] == LEFT and is_number(row["value"])), None)
    share = None if left is None else float(left["value"])
    effect = Effect(better, worse, built_in, raised, changed.keys(), costly, share)
    left_in_words = "" if left is None else left_text(left, lines)
    rule = decide(verdicts.HELPS, effect)
    reason = rule.says.format(
        costly=", ".join(costly),
        better=named(better),
        worse=named(worse),
        got_worse=f"{named(worse)} got worse{', and ' * bool(raised)}" if worse else "",
        left=left_in_words,
        but=", but " * bool(raised),
        raised=_now_beyond(raised),
    )
    kind = next((str(row["column"]) for row in own if given(row, "column")), "")
    return ColumnAnswer(
        name, rule.verdict, reason, effect, within, shares, left_in_words, interval(left),
        kind=kind,
    )  # fmt: skip


def _is_raised(line: Line, stage: str) -> bool:
    """Return whether a value that was not beyond chance changed for the worse, to beyond it."""
    after = line.stages.get(stage)
    if after is None or finds(after) != verdicts.YES:
        return False
    return change(line.first, after) == verdicts.WORSE


def _now_beyond(lines: Sequence[Line]) -> str:
    is_now = "is now" if len(lines) == 1 else "are now"
    return f"{named(lines)}, at chance before, {is_now} beyond it" if lines else ""


def _by_construction(line: Line, column: str) -> bool:
    key = FAMILY_OF[line.measure].key
    return any(key in _BY_CONSTRUCTION.get(method, ()) for method in _methods(line, column))


def _methods(line: Line, column: str) -> list[str]:
    """Return the methods of a column, none of a cleaned file."""
    row = line.stages.get(column, {})
    if row.get("column") == FILE:
        return []
    if row.get("column") == LISTS:
        return ["misp"]
    names = column
    if column == AFTER:  # rows of a single method name it
        names = next((r["debiased"] for r in line.stages.values() if given(r, "debiased")), "")
    return [part.partition(":")[0].strip() for part in str(names).split(",") if part.strip()]


def costs_of(columns: Sequence[ColumnAnswer]) -> Sequence[str]:
    """Return the costs that count: of vectors all, of a model those that were measured."""
    measured = [what for what in LIMITS if any(what in column.kept for column in columns)]
    return measured if any(what in COSTS for what in measured) else KEPT


def limits_text(costs: Sequence[str]) -> str:
    """Write the smallest shares of costs that a method may keep."""
    named: dict[float, list[str]] = {}
    for what in costs:
        named.setdefault(LIMITS[what], []).append(in_words(what))
    return ", ".join(f"{limit:.0%} of {' and '.join(names)}" for limit, names in named.items())


def cost_title(what: str) -> str:
    """Name a cost in a sentence."""
    return in_words("neighbours-preserved" if what == NEIGHBOURS_TITLE else what)


def left_text(row: Found, lines: Sequence[Line] = ()) -> str:
    """Say what share is left, by the measure that has most left, and what by others."""
    of = row.get("of")
    of = of if isinstance(of, dict) else {}
    shares = {short_title(str(name)): float(share) for name, share in of.items()}
    if not shares:
        return f"{row['value']:.0%} of the bias is left"
    worst = max(shares, key=shares.__getitem__)
    first = next((line.first for line in lines if short_title(line.measure) == worst), None) or {}
    is_of_model = given(row, "audit")
    beyond = " beyond chance" * (is_of_model or isinstance(first.get("beyond_chance"), bool))
    what = f"what {worst} finds{beyond}"
    if worst == short_title(BEST) and not is_of_model:
        what = "what the best of several probes reads of words that no method was fitted to"
    elif worst in map(short_title, (BEST, *PROBES)):
        what = f"what the {worst} reads{beyond}"
    elif is_of_model:
        named = {short_title(measure): in_words(measure) for measure in OF_MODELS}
        what = f"the {named.get(worst, worst)}{beyond}"
    others = ", ".join(f"{name} {share:.0%}" for name, share in shares.items() if name != worst)
    return f"{row['value']:.0%} of {what} is left{f' ({others})' * bool(others)}"


def best_of(columns: Sequence[ColumnAnswer]) -> ColumnAnswer | None:
    """Return of what helps what leaves the smallest share of bias; of equals, what keeps more."""
    # Without shares of bias left, what lowers most measures. A control is never the best.

    def rank(column: ColumnAnswer) -> tuple[float, float, float]:
        left = float("inf") if column.effect.left is None else column.effect.left
        return left, -len(column.effect.better), -min(column.kept.values(), default=1.0)

    helping = (column for column in columns if column.helps and not column.is_control)
    return min(helping, key=rank, default=None)


def verdicts_text(columns: Sequence[ColumnAnswer]) -> str:
    """Name the columns by their verdict, the controls after the others."""
    own = _by_verdict([column for column in columns if not column.is_control])
    controls = _by_verdict([column for column in columns if column.is_control])
    return " ".join([*own, *(["Controls, not to be used:", *controls] if controls else [])])


def _by_verdict(columns: Sequence[ColumnAnswer]) -> list[str]:
    by: dict[str, list[str]] = {}
    for column in columns:
        but = ", but" * bool(column.verdict in verdicts.HELPFUL and column.effect.raised)
        by.setdefault((NOT_MADE if column.failed else column.verdict) + but, []).append(column.name)
    ordered = sorted(by, key=lambda verdict: _ORDER.index(verdict.partition(",")[0]))
    return [f"{capital(verdict)}: {', '.join(by[verdict])}." for verdict in ordered]


# Words and numbers


def capital(text: str) -> str:
    """Write a text with a capital, as the first word of a sentence."""
    return text[:1].upper() + text[1:]


def short(line: Line) -> str:
    """Return the short name of a measure; of a model that in sentences, with two pronouns."""
    if given(line.any, "audit"):
        text = in_words(line.measure)
        is_of_pair = FAMILY_OF[line.measure].key == "pronouns" and line.variant
        return f"{text}, {line.variant}" if is_of_pair else text
    family = FAMILY_OF[line.measure]
    text = family.short if family.short in family.in_words else family.in_words or family.short
    return text if not text[1:].islower() else text[:1].lower() + text[1:]


def named(lines: Sequence[Line]) -> str:
    """Return the short names of measures."""
    return ", ".join(map(short, lines))


def step(line: Line, stage: str) -> str:
    """Write a measure with its values before and after."""
    row = line.stages.get(stage)
    refitted = ", refitted" if is_refitted(row) else ""
    return f"{short(line)} ({bare_value(line.first)} → {bare_value(row)}{refitted})"


def steps(lines: Sequence[Line], stage: str) -> str:
    """Write several measures with their values before and after."""
    return ", ".join(step(line, stage) for line in lines)


def bare_value(row: Found | None) -> str:
    """Write a value; a dash where there is none."""
    return "–" if row is None else minus(number(row["value"], _DIGITS))
