"""The most biased words in two dimensions, before and after."""

from __future__ import annotations

from collections.abc import Sequence

from wordbias.pages.lines import is_number
from wordbias.pages.markup import Markup, element
from wordbias.pages.section import Figure, Section
from wordbias.pages.svg import (
    WIDTH,
    Scale,
    drawing,
    fitted,
    hovered,
    label,
    legend,
    mark,
    scale,
)
from wordbias.pages.views.words import of_set, subjects
from wordbias.rows import Found

SET = "most biased"
MEASURE = "map"
_HEIGHT, _TOP, _EDGE, _NAMED = 300.0, 26.0, 10.0, 3
_NOT = (
    "Two dimensions of many: words that overlap here can still be told apart, as clustering and "
    "recoverability measure in all dimensions; each picture has principal components of its own."
)


def claims(row: Found) -> bool:
    """Whether a row is the place of a word on the map."""
    return of_set(row, MEASURE, SET) and is_number(row.get("y"))


def build(rows: Sequence[Found]) -> list[Section]:
    """Draw one map a subject and stage, as a part of the section on clustering."""
    figures = []
    for subject in subjects(rows):
        own = [row for row in rows if row["subject"] == subject and is_number(row["value"])]
        for stage in dict.fromkeys(str(row.get("stage") or "") for row in own):
            figures.append(
                _figure(subject, stage, [row for row in own if (row.get("stage") or "") == stage])
            )
    return [Section("clustering", "The most biased words", (), figures)]


def _figure(subject: str, stage: str, rows: Sequence[Found]) -> Figure:
    groups = list(dict.fromkeys(str(row.get("towards", "")) for row in rows))
    x = scale([float(row["value"]) for row in rows], _EDGE, WIDTH - _EDGE)
    y = scale([float(row["y"]) for row in rows], _HEIGHT - _EDGE, _TOP + 8)
    looks = {group: ("first", "circle") if i == 0 else ("second", "square")
             for i, group in enumerate(groups)}  # fmt: skip
    parts = [
        element("rect", x=1, y=_TOP, width=WIDTH - 2, height=_HEIGHT - _TOP - 1, class_="frame"),
        legend([(f"leant to {g}", _symbol(*looks[g])) for g in groups], 4, 14),
        *(_point(row, x, y, *looks[str(row.get("towards", ""))]) for row in rows),
        *_names(rows, groups, x, y),
    ]
    shows = (
        f"The {len(rows)} words that leaned most before, placed by the first two principal "
        f"components of their vectors{f' {stage}' if stage else ''}; colour and shape are the side "
        "on which a word was before."
    )
    title = f"Most biased words of {subject}{f', {stage}' if stage else ''}"
    return Figure(title, drawing(_HEIGHT, title, shows, *parts), shows, _NOT)


def _symbol(class_: str, shape: str) -> Markup:
    return mark(0, 0, f"point {class_}", shape=shape, size=3.5)


def _point(row: Found, x: Scale, y: Scale, class_: str, shape: str) -> Markup:
    place = x(float(row["value"])), y(float(row["y"]))
    dot = mark(*place, f"point {class_}", shape=shape, size=3)
    return hovered(f"{row['word']}, leant to {row.get('towards', '–')}", dot)


def _names(rows: Sequence[Found], groups: Sequence[str], x: Scale, y: Scale) -> list[Markup]:
    """Name the first words of each group, which leaned most, where their names do not meet."""
    chosen: list[tuple[float, float, str]] = []
    for group in groups:
        named = 0
        for row in rows:
            place = x(float(row["value"])), y(float(row["y"]))
            free = all(abs(place[1] - other[1]) > 14 for other in chosen)
            if row.get("towards", "") == group and free and named < _NAMED:
                chosen.append((*place, str(row["word"])))
                named += 1
    return [
        label(
            px + (6 if px < WIDTH / 2 else -6),
            py + 4,
            fitted(word, WIDTH / 2),
            anchor="start" if px < WIDTH / 2 else "end",
            class_="name halo",
        )
        for px, py, word in chosen
    ]
