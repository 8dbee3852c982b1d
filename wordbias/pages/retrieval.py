"""Answers, section and figure of `wordbias.retrieval`: changed names beside meaningless changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wordbias import verdicts
from wordbias.measures.registry import BY_KEY, FAMILY_OF, column_title
from wordbias.pages.lines import minus
from wordbias.pages.panel import Dot, Look, Panel, Path
from wordbias.pages.plots import draw_panel, draw_panels
from wordbias.pages.retrieval_tables import retrieval_tables
from wordbias.pages.section import Answer, Grid, Section
from wordbias.rankings.counterfactuals import OF_GROUP
from wordbias.results import Row, number
from wordbias.rows import Found
from wordbias.verdicts import decide, is_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from wordbias.reports import Report

_KEYS = ("retrieval", "exposure")
"""Families of measures that the section shows."""
_QUESTION = "Does a change of the {} move the first {}, beyond meaningless changes?"


def _is_of_retrieval(row: Found) -> bool:
    """Return whether a row says how much a change moves the lists."""
    known = FAMILY_OF.get(str(row["measure"]))
    return known is not None and known.key == "retrieval"


def moved_answers(rows: Sequence[Found]) -> list[Answer]:
    """Answer for each encoder and change whether it moves the lists beyond meaningless changes."""
    own = [row for row in rows if _is_of_retrieval(row) and row.get("set") in OF_GROUP]
    subjects = list(dict.fromkeys(str(row["subject"]) for row in own))
    answers = []
    for subject in subjects:
        for kind in dict.fromkeys(row["set"] for row in own):
            several = [row for row in own if (row["subject"], row["set"]) == (subject, kind)]
            main = next((row for row in several if is_number(row["value"])), None)
            if main is None:
                continue
            rule = decide(verdicts.MOVES, main)
            others = [
                f"{column_title(row['measure'])} {decide(verdicts.MOVES, row).verdict}"
                for row in several
                if row is not main and is_number(row["value"])
            ]
            prefix = f"{subject}: " if len(subjects) > 1 else ""
            question = prefix + _QUESTION.format(kind, main.get("k", ""))
            below = [f"{kind}: {', '.join(others)}."] if others else []
            text = f"{rule.says[:1].upper()}{rule.says[1:]}."
            answers.append(Answer(question, text, _figure(main), _sure(main), below))
    return answers


def _figure(row: Found) -> str:
    """Write the value, and how far it is from that of the meaningless change."""
    text = f"{column_title(row['measure'])} {number(row['value'], 3)}"
    ends = verdicts.excess_ends(row)
    if ends is None:
        return text
    difference, low, high = (minus(f"{x:+.3f}") for x in (row["excess"], *ends))
    return f"{text}; difference {difference} ({low} to {high})"


def _sure(row: Found) -> str:
    p = verdicts.p_of(row)
    return "" if p is None else f"p {p:.2g} of {row['units']:,} units"


def claims_retrieval(row: Found) -> bool:
    """Return whether a row is of retrieval: of changed lists, or of the exposure of groups."""
    family = FAMILY_OF.get(str(row["measure"]))
    return family is not None and family.key in _KEYS


def retrieval_sections(rows: Sequence[Found]) -> list[Section]:
    """Show the tables that the call prints."""
    family = BY_KEY[_KEYS[0]]
    grids = [Grid(table) for table in retrieval_tables([Row.from_dict(row) for row in rows])]
    about = [text for key in _KEYS for text in (BY_KEY[key].description, BY_KEY[key].limits)]
    return [Section(family.key, family.title, [family.question], (), grids, about)]


def plot_changes(
    null: str,
    of_null: NDArray[np.float64],
    of_groups: dict[str, NDArray[np.float64]],
    report: Report,
    ax: Axes | None = None,
) -> Axes:
    """Draw a dot for each query: what a change of the name moves against a meaningless one."""
    # The distance of lists is 1 − RBO.
    looks = (Look("after"), Look("after m1", "square"))
    dots = [
        Dot((float(x), float(y)), look, size=3.0)
        for look, values in zip(looks, of_groups.values(), strict=False)
        for x, y in zip(of_null, values, strict=True)
    ]
    most = max(
        float(of_null.max()), *(float(distances.max()) for distances in of_groups.values()), 0.01
    )
    panel = Panel(
        dots=dots,
        paths=[Path(((0.0, 0.0), (most, most)), "neutral")],
        x=f"{null}: 1 − RBO",
        y=f"{' or '.join(of_groups)}: 1 − RBO",
        legend=list(zip(of_groups, looks, strict=False)),
    )
    return draw_panels(ax, (5.0, 4.6), report.title, lambda several: draw_panel(several[0], panel))
