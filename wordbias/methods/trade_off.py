"""Trade-off of debiasing: how much bias each method leaves, and how much quality it keeps.

Both are computed from rows of an audit alone: those of stage ``before``, and those of each column,
that is each method, file or projection that the audit compares. Of a model its last layer counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wordbias.draws import CONTROLS
from wordbias.measures.held_out_probes import BEST, PROBES
from wordbias.measures.registry import (
    FAMILIES,
    MEASURES,
    Family,
    ideal,
    in_words,
    short_title,
    variant_of,
)
from wordbias.measures.weat import SMALL
from wordbias.results import Row
from wordbias.wordlists.queries import CONTROL

BIAS_LEFT = "bias-left"
BEFORE = "before"
UNCHANGED = (1.0, 1.0)
"""Bias left and quality kept where nothing is done."""
_COLUMN = "column"
_SHARED = ("audit", "layer", _COLUMN, "debiased")
QUALITY = ("similarity", "analogy")
"""Measures of quality."""
OF_MODELS = (BEST, *PROBES, "pronoun-stereotype", "expected-pronoun-stereotype")
"""Main measures of a model; a projection should lower those beyond chance."""
STATED = "sentences"
"""Set of probes that read a pronoun off sentences that state it, which is no bias."""
NEIGHBOURS_TITLE = "neighbours"
COSTS = ("sentence-order-kept", "sentence-neighbours-kept", "perplexity-kept")
"""Shares that a projection of a model keeps."""
SHARES = {"neighbours-preserved": NEIGHBOURS_TITLE, **{cost: cost for cost in COSTS}}
"""Measures that are shares kept themselves, with the names of these costs."""
_NONE_BEYOND = "undefined: no main measure has a value before that is beyond chance"

Values = Mapping[tuple[str, str], float | None]
"""Values of one stage, by measure and variant."""


def trade_off_rows(rows: Sequence[Row]) -> list[Row]:
    """Return a row ``bias-left`` for each column of each embedding in the rows of an audit."""
    # The largest share that is left of the main measures that are beyond chance before: beyond
    # their chance level, or for WEAT p < .05 and an interval without the neutral value. MIDB is not
    # among them: misp, mhd and leace lower it by construction. `kept` is the smallest share kept of
    # similarity, analogies and neighbours, of a model of `COSTS`. `pareto` is true if neither
    # another column nor the original is better in one of the two and at least equal in the other. A
    # control never is.
    subjects = dict.fromkeys(row.subject for row in rows)
    return [
        row
        for subject in subjects
        for row in _subject_rows([row for row in rows if row.subject == subject])
    ]


def share_left(before: float, after: float, chance: float, better: str, neutral: float) -> float:
    r"""Return the share that is left of a value's distance beyond chance.

    .. math:: \max\left(0, \frac{D_{after} - C}{D_{before} - C}\right)

    `D` is the distance from neutral the worse way, and `C` that of the chance mean. The share is 0
    where the value after is at chance or better, and above 1 where it is worse than before.
    """
    old, new, level = (badness(value, better, neutral) for value in (before, after, chance))
    return max(0.0, (new - level) / (old - level))


def efficient(points: Sequence[tuple[float, float]]) -> list[bool]:
    """Return for each point whether no other point dominates it."""
    # A point dominates another if it leaves no more bias and keeps no less quality, and is better
    # in one of the two; equal points do not dominate each other.
    return [not any(_dominates(other, point) for other in points) for point in points]


def _dominates(point: tuple[float, float], other: tuple[float, float]) -> bool:
    return point[0] <= other[0] and point[1] >= other[1] and point != other


def badness(value: float, better: str, neutral: float) -> float:
    """Return the distance from neutral the worse way, but for a constant: larger is worse."""
    if better == "neutral":
        return abs(value - neutral)
    return -value if better == "higher" else value


def _subject_rows(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of one embedding or model."""
    last = max((row.details.get("layer", 0) for row in rows), default=0)
    rows = [row for row in rows if row.details.get("layer", last) == last]
    firsts = _main_rows([row for row in rows if row.details.get("stage") == BEFORE])
    of_columns: dict[str, list[Row]] = {}
    for row in rows:
        if row.details.get(_COLUMN) and row.measure not in (BIAS_LEFT, _COLUMN):
            of_columns.setdefault(str(row.details["stage"]), []).append(row)
    quality = values_of([row for row in rows if row.details.get("stage") == BEFORE])
    column_rows = [_column_row(firsts, quality, stage, own) for stage, own in of_columns.items()]
    places = [i for i, row in enumerate(column_rows) if _point(row) is not None]
    points = [point for row in column_rows if (point := _point(row)) is not None]
    best = {i for i, chosen in zip(places, efficient([*points, UNCHANGED]), strict=False) if chosen}
    return [
        Row(row.subject, row.measure, row.value, {**row.details, "pareto": i in best})
        for i, row in enumerate(column_rows)
    ]


def _point(row: Row) -> tuple[float, float] | None:
    """Return bias left and quality kept, if both are known and it is no control."""
    quality_kept = row.details["kept"]
    if row.value is None or quality_kept is None or row.details.get(_COLUMN) in CONTROLS:
        return None
    return row.value, quality_kept


def _main_rows(before: Sequence[Row]) -> list[Row]:
    """Return the rows of the main measures whose values are worse than by chance."""
    if any("audit" in row.details for row in before):
        rows = [row for name in OF_MODELS for row in before if row.measure == name]
        return [row for row in rows if _is_beyond(row) and row.details.get("set") != STATED]
    families = [family for family in FAMILIES if family.kind == "bias"]
    families = [
        family
        for family in families
        if family.key != "midb" and not MEASURES[family.main].by_length
    ]
    chosen = (_main_row(family, before) for family in families)
    return [row for row in chosen if row is not None and _is_beyond(row)]


def _main_row(family: Family, rows: Sequence[Row]) -> Row | None:
    known = [row for row in rows if row.measure == family.main and row.value is not None]
    known = [row for row in known if row.details.get("about") != CONTROL]
    wanted = (row for row in known if _variant(row).startswith(family.main_variant))
    return next(wanted, known[0] if known else None)


def _is_beyond(row: Row) -> bool:
    """Return whether a value is worse than by chance: by its chance level, else by its own test."""
    details, (better, neutral) = row.details, _ideal(row)
    outside = not details.get("low", neutral) <= neutral <= details.get("high", neutral)
    tested = details.get("p", 1.0) < SMALL and outside
    if row.value is None or not details.get("beyond_chance", tested):
        return False
    return badness(row.value, better, neutral) > badness(_chance(row), better, neutral)


def _chance(row: Row) -> float:
    """Return the chance mean; of a measure with a test of its own that is the neutral value."""
    return float(row.details.get("chance", row.details.get("neutral", 0.0)))


def _ideal(row: Row) -> tuple[str, float]:
    return str(row.details.get("better", "")), float(row.details.get("neutral", 0.0))


def _variant(row: Row) -> str:
    return variant_of(row.measure, row.details)


def values_of(rows: Sequence[Row]) -> Values:
    """Return the values of one stage; rows of single words and components are left out."""
    plain = (row for row in rows if "word" not in row.details and "component" not in row.details)
    return {(row.measure, _variant(row)): row.value for row in plain}


def _column_row(firsts: Sequence[Row], before: Values, stage: str, rows: Sequence[Row]) -> Row:
    after = values_of(rows)
    read = {row.measure: row.details for row in rows if "left" in row.details}  # of probes
    ends: dict[str, tuple[float, float]] = {}
    shares: dict[str, float] = {}
    unmeasured: list[str] = []
    for row in firsts:
        title, value = short_title(row.measure), after.get((row.measure, _variant(row)))
        if sum(other.measure == row.measure for other in firsts) > 1:
            title = f"{title}, {_variant(row)}"
        if value is None or row.value is None:
            unmeasured.append(title)
            continue
        shares[title] = share_left(row.value, value, _chance(row), *_ideal(row))
        if (known := read.get(row.measure)) is not None:
            shares[title] = known["left"]
            ends[title] = known["left_low"], known["left_high"]
    costs = shares_kept(before, after)
    about = {key: rows[0].details.get(key) for key in _SHARED}
    details = {
        "stage": stage,
        **{key: value for key, value in about.items() if value is not None},
        "kept": min(costs.values(), default=None),
        "n": len(shares),
        "of": shares,
        "costs": costs,
        **({"unmeasured": unmeasured} if unmeasured else {}),
        **ideal(BIAS_LEFT),
    }
    if not shares:
        details["reason"] = _reason(unmeasured)
    worst = max(shares, key=shares.__getitem__, default=None)
    if worst in ends:
        details["low"], details["high"] = ends[worst]
    value = None if worst is None else shares[worst]
    return Row(rows[0].subject, BIAS_LEFT, value, details)


def _reason(unmeasured: Sequence[str]) -> str:
    if not unmeasured:
        return _NONE_BEYOND
    return f"undefined: no value after of what is beyond chance before: {', '.join(unmeasured)}"


def shares_kept(before: Values, after: Values) -> dict[str, float]:
    """Return the share that is kept of each kind of quality, and of what is a share itself."""
    # That of similarity is its sum over the test sets after divided by that before, and that of
    # analogies alike.
    shares = {}
    for measure in QUALITY:
        both = [
            (old, new)
            for key, old in before.items()
            if key[0] == measure and old is not None and (new := after.get(key)) is not None
        ]
        total = sum(old for old, _ in both)
        if total > 0:
            shares[in_words(measure)] = sum(new for _, new in both) / total
    values_after = {key[0]: value for key, value in reversed([*after.items()]) if value is not None}
    return {
        **shares,
        **{name: values_after[cost] for cost, name in SHARES.items() if cost in values_after},
    }
