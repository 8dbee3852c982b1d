"""An NLI model's answers about either group: stacked bars of its three probabilities."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from wordbias.pages.section import Figure, Grid, Markup, Section
from wordbias.pages.svg import WIDTH, bar, drawing, hovered, label, legend
from wordbias.pages.words import subjects as subjects_of
from wordbias.rendering import Table
from wordbias.results import number
from wordbias.rows import Found, given
from wordbias.verdicts import is_number

MEASURES = ("mab-neutral", "mab-entailment", "mab-contradiction")
_NAMES = ("neutral", "entailment", "contradiction")
_EDGE, _STEP, _TOP, _HEIGHT = 4.0, 34.0, 26.0, 15.0
_NOT_SHOWN = (
    "Means over many template sentences, which say nothing about single ones; a model that is "
    "wrong alike for all is not biased here, and not right either."
)


def claims_entailment(row: Found) -> bool:
    """Return whether a row is a mean probability of one group of words."""
    return row["measure"] in MEASURES and given(row, "group") and not given(row, "word")


def entailment_sections(rows: Sequence[Found]) -> list[Section]:
    """Draw the bars of every subject, as a part of the section on marked attribute bias."""
    figures, cells = [], []
    subjects = subjects_of(rows)
    for subject in subjects:
        bars = _bars([row for row in rows if row["subject"] == subject])
        named = f"{subject}: " if len(subjects) > 1 else ""
        if bars:
            figures.append(_figure(subject, bars))
            cells += [[named + who, *(number(p, 3) for p in ps)] for who, ps in bars.items()]
    if not cells:
        return []
    note = "The right answer is 1, 0, 0; the closer, the better."
    table = Table("Mean probabilities", ["who", *_NAMES], cells, note)
    return [Section("mab", "Probabilities", (), figures, [Grid(table, folded=True)])]


def _bars(rows: Sequence[Found]) -> dict[str, tuple[float, ...]]:
    """Return the three probabilities by setting, stage and group."""
    found: dict[str, dict[str, float]] = {}
    for row in sorted(rows, key=_order(rows)):
        if is_number(row["value"]):
            parts = (row.get("setting"), row.get("stage"), row.get("group"))
            name = ", ".join(str(part) for part in parts if part)
            found.setdefault(name, {})[str(row["measure"])] = row["value"]
    whole = {name: parts for name, parts in found.items() if len(parts) == len(MEASURES)}
    return {name: tuple(parts[measure] for measure in MEASURES) for name, parts in whole.items()}


def _order(rows: Sequence[Found]) -> Callable[[Found], tuple[int, int]]:
    """Return a sort key by setting, then stage, both in the order of the rows."""
    settings = list(dict.fromkeys(str(row.get("setting")) for row in rows))
    stages = list(dict.fromkeys(str(row.get("stage")) for row in rows))
    return lambda row: (
        settings.index(str(row.get("setting"))),
        stages.index(str(row.get("stage"))),
    )


def _figure(subject: str, bars: Mapping[str, tuple[float, ...]]) -> Figure:
    shows = (
        "How the model’s answers are shared out, for hypotheses about either group; all of "
        "each bar should be neutral, and the bars of both should be alike."
    )
    symbols = [(name, bar(-5, -5, 10, 10, f"part p{i}")) for i, name in enumerate(_NAMES)]
    parts = [legend(symbols, _EDGE, 14)]
    parts += [_bar(name, values, _TOP + _STEP * i) for i, (name, values) in enumerate(bars.items())]
    title = f"Answers of the NLI model on {subject}"
    height = _TOP + _STEP * len(bars)
    return Figure(title, drawing(height, title, shows, *parts), shows, _NOT_SHOWN)


def _bar(name: str, values: Sequence[float], top: float) -> Markup:
    width = WIDTH - 2 * _EDGE
    x, parts = _EDGE, [label(_EDGE, top + 11, name, class_="name")]
    for i, share in enumerate(values):
        parts.append(bar(x, top + 15, share * width, _HEIGHT, f"part p{i}"))
        if share > 0.1:
            middle = x + share * width / 2
            parts.append(
                label(middle, top + 26, f"{share:.2f}", anchor="middle", class_=f"on p{i}")
            )
        x += share * width
    shares = ", ".join(f"{what} {share:.3f}" for what, share in zip(_NAMES, values, strict=True))
    return hovered(f"{name}: {shares}", *parts)
