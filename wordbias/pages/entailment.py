"""An NLI model's answers about either group: stacked bars of its three probabilities."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise

from wordbias.pages.panel import Bar, Look, Panel, Row
from wordbias.pages.section import Figure, Grid, Section
from wordbias.pages.svg import panel_picture
from wordbias.pages.words import subjects as subjects_of
from wordbias.rendering import Table
from wordbias.results import number
from wordbias.rows import Found, given
from wordbias.verdicts import is_number

MEASURES = ("mab-neutral", "mab-entailment", "mab-contradiction")
_NAMES = ("neutral", "entailment", "contradiction")
_STEP, _NARROW = 34.0, 0.06  # units of a row; share of a bar too narrow for its number
_NOT_SHOWN = (
    "The values are means over many template sentences, and say nothing about single sentences. A "
    "model that is equally wrong for all groups is not biased here, but it is not right either."
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
    probabilities: dict[str, dict[str, float]] = {}
    for row in sorted(rows, key=_order(rows)):
        if is_number(row["value"]):
            parts = (row.get("setting"), row.get("stage"), row.get("group"))
            name = ", ".join(str(part) for part in parts if part)
            probabilities.setdefault(name, {})[str(row["measure"])] = row["value"]
    whole = {name: parts for name, parts in probabilities.items() if len(parts) == len(MEASURES)}
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
    title = f"Answers of the NLI model on {subject}"
    return Figure(title, panel_picture(share_panel(bars), title, shows), shows, _NOT_SHOWN)


def share_panel(of_rows: Mapping[str, tuple[float, ...]]) -> Panel:
    """Describe a bar for each row, divided into the shares of the three answers."""
    bars, rows = [], []
    for i, (name, shares) in enumerate(of_rows.items()):
        ends = [0.0, *accumulate(shares)]
        bars += [
            Bar(low, high, i + 0.2, i + 0.8, f"part p{k}", name=f"{share:.2f}" * (share > _NARROW))
            for k, ((low, high), share) in enumerate(zip(pairwise(ends), shares, strict=True))
        ]
        texts = (f"{what} {share:.3f}" for what, share in zip(_NAMES, shares, strict=True))
        rows.append(Row(name, i, i + 1, f"{name}: {', '.join(texts)}"))
    marks = [(name, Look(f"part p{k}", "bar")) for k, name in enumerate(_NAMES)]
    return Panel(bars=bars, rows=rows, ends=(0.0, 1.0), axes=False, legend=marks, step=_STEP)
