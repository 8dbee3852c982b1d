"""Occupations along the axis between the groups, before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wordbias.pages.lines import minus
from wordbias.pages.markup import Markup
from wordbias.pages.section import Figure, Grid, Section
from wordbias.pages.svg import (
    WIDTH,
    Scale,
    axis,
    drawing,
    fitted,
    hovered,
    label,
    legend,
    line,
    mark,
    scale,
)
from wordbias.pages.views.words import by_word, of_set, sides, subjects
from wordbias.rendering import Table
from wordbias.results import number
from wordbias.rows import Found

SET = "occupations"
MEASURE = "lean"
SHOWN = 12
"""Occupations of each side in the picture."""
_STEP, _NAMES, _TOP = 17.0, 104.0, 42.0
_NOT = (
    "It is one axis: an occupation in the middle can still be near stereotyped words, and the "
    "axis is taken from two words. Single words have no interval: their vectors are what they are."
)


def claims(row: Found) -> bool:
    """Whether a row is the lean of an occupation."""
    return of_set(row, MEASURE, SET)


def build(rows: Sequence[Found]) -> list[Section]:
    """Draw the most leaning occupations of every subject, and list them."""
    figures, grids = [], []
    for subject in subjects(rows):
        words = most_leaning(by_word(rows, subject), SHOWN)
        if words:
            figures.append(_figure(subject, words, sides(rows), str(rows[0].get("setting", ""))))
            grids.append(_grid(subject, words))
    if not figures:
        return []
    lead = (
        "Which occupations lean most to a side, as they stand in the vectors, and where debiasing "
        "put them; the axis stays that of the vectors before."
    )
    method = (
        "Cosine of the word with the axis of the attribute, such as she − he, less the mean of it "
        "over the neutral words: most words are nearer to one end of an axis, which says "
        "nothing of any of them. A side is named for words outside the middle 95 % of the neutral "
        "ones. After Bolukbasi et al. (2016), section 5.1."
    )
    title = "The occupations that lean most"
    return [Section("occupations", title, [lead], figures, grids, [method])]


def most_leaning(
    words: Mapping[str, Mapping[str, Found]], count: int
) -> dict[str, Mapping[str, Found]]:
    """Choose `count` words of each side that lean most before, from one side to the other."""
    order = sorted(words, key=lambda word: _first(words[word]))
    left = [word for word in order[:count] if _first(words[word]) < 0]
    right = [word for word in order[-count:] if _first(words[word]) > 0]
    return {word: words[word] for word in (*left, *right)}


def _first(stages: Mapping[str, Found]) -> float:
    return float(next(iter(stages.values()))["value"])


def _figure(
    subject: str, words: Mapping[str, Mapping[str, Found]], names: tuple[str, str], along: str
) -> Figure:
    values = [float(row["value"]) for stages in words.values() for row in stages.values()]
    across = scale([*values, 0.0], _NAMES, WIDTH - 8)
    bottom = _TOP + _STEP * len(words)
    staged = any("after" in stages for stages in words.values())
    shows = f"Where {len(words)} occupations stand between {names[0]} (left) and {names[1]} (right)"
    shows += "; hollow: before, filled: after." if staged else "."
    parts = [
        label(_NAMES, 30, f"← {names[0]}", class_="side second"),
        label(WIDTH - 8, 30, f"{names[1]} →", anchor="end", class_="side first"),
        axis(across, _TOP - 6, bottom, f"cosine with {along or 'the axis'}, less its mean"),
        line(across(0), _TOP - 6, across(0), bottom, "neutral"),
        *(_word(word, words[word], across, _TOP + _STEP * i + 8) for i, word in enumerate(words)),
    ]
    if staged:
        looks = [("before", "mark plain hollow"), ("after", "mark plain")]
        parts.append(legend([(stage, mark(0, 0, look)) for stage, look in looks], _NAMES, 13))
    title = f"Occupations in {subject}"
    return Figure(title, drawing(bottom + 34, title, shows, *parts), shows, _NOT)


def _word(word: str, stages: Mapping[str, Found], across: Scale, y: float) -> Markup:
    place = {stage: across(float(row["value"])) for stage, row in stages.items()}
    side = "first" if _first(stages) > 0 else "second"
    told = ", ".join(
        f"{stage} {minus(number(row['value'], 3))}".strip() for stage, row in stages.items()
    )
    marks = [
        mark(x, y, f"mark {side}{' hollow' if stage == 'before' else ''}")
        for stage, x in place.items()
    ]
    ends = list(place.values())
    return hovered(
        f"{word}: {told}",
        label(_NAMES - 8, y + 4, fitted(word, _NAMES - 8), anchor="end", class_="name"),
        line(min(ends), y, max(ends), y, f"link {side}"),
        *marks,
    )


def _grid(subject: str, words: Mapping[str, Mapping[str, Found]]) -> Grid:
    stages = list(dict.fromkeys(stage for found in words.values() for stage in found))
    cells = []
    for word, found in words.items():
        towards = next(iter(found.values())).get("towards", "–")
        values = (found.get(stage) for stage in stages)
        told = [minus(number(row["value"], 3)) if row else "" for row in values]
        cells.append([word, str(towards), *told])
    heads = ["occupation", "leans to", *(stage or "cosine" for stage in stages)]
    return Grid(Table(f"{subject}: cosine with the axis less its mean", heads, cells), folded=True)
