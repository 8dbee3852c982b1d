"""Pictures of single words: leaning occupations, their neighbours, and a map of biased words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wordbias.draws import CONTROLS
from wordbias.pages.forest import look
from wordbias.pages.lines import minus
from wordbias.pages.panel import Dot, Look, Panel, Path, Row
from wordbias.pages.section import Figure, Grid, Markup, Section, element
from wordbias.pages.svg import WIDTH, fitted, panel_picture
from wordbias.rendering import Table
from wordbias.results import number
from wordbias.rows import Found, given
from wordbias.verdicts import is_number


def of_set(row: Found, measure: str, name: str) -> bool:
    """Return whether a row is a word's value of a measure, in one of our sets of words."""
    return row["measure"] == measure and row.get("set") == name and given(row, "word")


def subjects(rows: Sequence[Found]) -> list[str]:
    """Return the subjects in the order of the rows."""
    return list(dict.fromkeys(str(row["subject"]) for row in rows))


def by_word(rows: Sequence[Found], subject: str) -> dict[str, dict[str, Found]]:
    """Return the rows of a subject by word, then by stage."""
    rows_by_word: dict[str, dict[str, Found]] = {}
    for row in rows:
        if row["subject"] == subject and is_number(row["value"]):
            rows_by_word.setdefault(str(row["word"]), {})[str(row.get("stage") or "")] = row
    return rows_by_word


def sides(rows: Sequence[Found]) -> tuple[str, str]:
    """Return the names of the groups of negative and of positive values, from the rows."""
    for row in rows:
        groups = row.get("groups")
        if isinstance(groups, list) and len(groups) == 2:
            return str(groups[1]), str(groups[0])
    named = {float(row["value"]) > 0: str(row["towards"]) for row in rows if given(row, "towards")}
    return named.get(False, "the second group"), named.get(True, "the first group")


# Occupations along the axis between the groups

OCCUPATIONS = "occupations"
LEAN = "lean"
_SHOWN = 12  # occupations of each side in the picture
_STEP, _BESIDE = 17.0, 104.0  # units of a row, and of its name
_NOT_SHOWN_BY_OCCUPATIONS = (
    "It is one axis: an occupation in the middle can still be near stereotyped words. Intervals "
    "over redrawn pairs are in the rows."
)


def claims_occupations(row: Found) -> bool:
    """Return whether a row is the lean of an occupation."""
    return of_set(row, LEAN, OCCUPATIONS)


def occupation_sections(rows: Sequence[Found]) -> list[Section]:
    """Draw the most leaning occupations of every subject, and list them."""
    figures, grids = [], []
    for subject in subjects(rows):
        words = most_leaning(by_word(rows, subject), _SHOWN)
        if words:
            figures.append(_figure(subject, words, sides(rows), str(rows[0].get("setting", ""))))
            grids.append(_grid(subject, words))
    if not figures:
        return []
    lead = (
        "The occupations that lean most to a side in the vectors, and where debiasing moved them. "
        "The axis is always that of the vectors before."
    )
    method = (
        "Cosine of the word with the axis of the pairs, such as she and he, minus its mean over "
        "the neutral words. Most words are nearer to one end of an axis, which says nothing about "
        "any one of them. A side is named for words outside the middle 95 % of the neutral ones "
        "before, in every column. After Bolukbasi et al. (2016), section 5.1."
    )
    title = "The occupations that lean most"
    return [Section("occupations", title, [lead], figures, grids, [method])]


def most_leaning(
    words: Mapping[str, Mapping[str, Found]], count: int
) -> dict[str, Mapping[str, Found]]:
    """Return the `count` words of each side that lean most before, from one side to the other."""
    order = sorted(words, key=lambda word: _first(words[word]))
    left = [word for word in order[:count] if _first(words[word]) < 0]
    right = [word for word in order[-count:] if _first(words[word]) > 0]
    return {word: words[word] for word in (*left, *right)}


def _first(stages: Mapping[str, Found]) -> float:
    return float(next(iter(stages.values()))["value"])


def _figure(
    subject: str, words: Mapping[str, Mapping[str, Found]], names: tuple[str, str], along: str
) -> Figure:
    panel = occupation_panel(words, names, along)
    shows = f"Where {len(words)} occupations stand between {names[0]} (left) and {names[1]} (right)"
    shows += "; hollow: before, filled: after." if panel.legend else "."
    title = f"Occupations in {subject}"
    return Figure(title, panel_picture(panel, title, shows), shows, _NOT_SHOWN_BY_OCCUPATIONS)


def occupation_panel(
    words: Mapping[str, Mapping[str, Found]], names: tuple[str, str], along: str
) -> Panel:
    """Describe a row for each word, a mark for each stage; the colour says the side before."""
    # Controls are in the table alone: their marks lie on each other and on those of the methods.
    own = {
        word: {stage: row for stage, row in word_rows.items() if row.get("column") not in CONTROLS}
        for word, word_rows in words.items()
    }
    words = own if all(own.values()) else words
    stages = list(dict.fromkeys(stage for word_rows in words.values() for stage in word_rows))
    size = 4.0 if len(stages) < 3 else 3.2
    dots, paths, rows = [], [], []
    for i, (word, by_stage) in enumerate(words.items()):
        side = "first" if _first(by_stage) > 0 else "second"
        places = [(float(row["value"]), i + 0.5) for row in by_stage.values()]
        dots += [
            Dot(place, _look(stage, side, stages), size=size)
            for stage, place in zip(by_stage, places, strict=True)
        ]
        paths += [
            Path([(0.0, i), (0.0, i + 1)], "neutral"),
            Path([min(places), max(places)], f"link {side}"),
        ]
        values = ", ".join(
            f"{stage} {minus(number(row['value'], 3))}".strip() for stage, row in by_stage.items()
        )
        rows.append(Row(word, i, i + 1, f"{word}: {values}"))
    return Panel(
        dots,
        paths,
        rows=rows,
        x=f"cosine with {along or 'the axis'}, less its mean",
        legend=[(stage, _look(stage, "plain", stages)) for stage in stages if len(stages) > 1],
        sides=names,
        step=_STEP,
        beside=_BESIDE,
    )


def _look(stage: str, css: str, stages: Sequence[str]) -> Look:
    """Return the look of a stage's mark in the colour of a side."""
    return Look(f"{css}{' hollow' if stage == 'before' else ''}", look(stage, stages).shape)


def _grid(subject: str, words: Mapping[str, Mapping[str, Found]]) -> Grid:
    stages = list(dict.fromkeys(stage for word_rows in words.values() for stage in word_rows))
    cells = []
    for word, by_stage in words.items():
        towards = next(iter(by_stage.values())).get("towards", "–")
        known = (by_stage.get(stage) for stage in stages)
        values = [minus(number(row["value"], 3)) if row else "–" for row in known]
        cells.append([word, str(towards), *values])
    heads = ["occupation", "leans to", *(stage or "cosine" for stage in stages)]
    return Grid(Table(f"{subject}: cosine with the axis less its mean", heads, cells), folded=True)


# Nearest neighbours, before and after

NEIGHBOURS = "neighbours-preserved"
_SHOWS = "The nearest words before and after, the nearest first; struck: lost, marked: new."
_NOT_SHOWN_BY_NEIGHBOURS = (
    "Neighbours that stay are no proof of bias, and new ones none of fairness: which of them are "
    "near for the attribute’s sake is what GIPE estimates."
)


def claims_neighbours(row: Found) -> bool:
    """Return whether a row lists the neighbours of a word."""
    lists = all(isinstance(row.get(key), list) for key in ("before", "after"))
    return row["measure"] == NEIGHBOURS and given(row, "word") and lists


def neighbour_sections(rows: Sequence[Found]) -> list[Section]:
    """Show the neighbours of every word before and after, side by side."""
    several = len({row["subject"] for row in rows}) > 1
    words: dict[tuple[str, str], list[Found]] = {}
    for row in rows:
        words.setdefault((str(row["subject"]), str(row["word"])), []).append(row)
    figure = Figure(
        "Neighbours before and after",
        element(
            "div",
            *(_block(word_rows, several) for word_rows in words.values()),
            class_="neighbours",
        ),
        _SHOWS,
        _NOT_SHOWN_BY_NEIGHBOURS,
    )
    staged = len({_after(row) for row in rows}) > 1
    heads = ["word", *(["after"] if staged else []), "kept", "lost", "new"]
    cells = [_cells(row, several, staged) for row in rows]
    lead = "What stands nearest to a word, and whether debiasing changed it."
    method = "Exact nearest neighbours by cosine among all words of the embedding."
    grid = Grid(Table("Neighbours kept and lost", heads, cells), folded=True)
    return [Section("neighbours", "Neighbours of a few words", [lead], [figure], [grid], [method])]


def _after(row: Found) -> str:
    return str(row.get("stage") or "after")


def _block(rows: Sequence[Found], several: bool) -> Markup:
    """Show the neighbours of one word before, and after each method."""
    old = rows[0]["before"]
    subject = element("p", str(rows[0]["subject"]), class_="quiet") if several else Markup("")
    alone = len(rows) == 1
    common = set.intersection(*(set(map(str, row["after"])) for row in rows))
    lists = (
        [_list("before", old, "del", common)] if alone else [_list("before", old, "span", set())]
    )
    lists += [_list(_after(row), row["after"], "ins", set(map(str, old))) for row in rows]
    looks = "two" if alone else "two many"
    return element(
        "div",
        element("h4", str(rows[0]["word"])),
        subject,
        element("div", *lists, class_=looks),
        class_="word" if alone else "word wide",
    )


def _list(title: str, words: Sequence[Any], tag: str, shared: set[str]) -> Markup:
    items = [
        element("li", str(word) if str(word) in shared else element(tag, str(word)))
        for word in words
    ]
    return element("div", element("h5", title), element("ol", *items))


def _cells(row: Found, several: bool, staged: bool) -> list[str]:
    old, new = (list(map(str, row[key])) for key in ("before", "after"))
    lost, come = [w for w in old if w not in new], [w for w in new if w not in old]
    word = f"{row['word']} ({row['subject']})" if several else str(row["word"])
    stage = [_after(row)] if staged else []
    share = f"{len(old) - len(lost)} of {len(old)}"
    return [word, *stage, share, ", ".join(lost) or "none", ", ".join(come) or "none"]


# The most biased words in two dimensions

MOST_BIASED = "most biased"
MAP = "map"
_NAMED = 3  # words of each side
_NOT_SHOWN_BY_MAP = (
    "Two dimensions of many: words that overlap here can still be told apart, as clustering and "
    "recoverability measure in all dimensions; each picture has principal components of its own."
)


def claims_map(row: Found) -> bool:
    """Return whether a row is the place of a word on the map."""
    return of_set(row, MAP, MOST_BIASED) and is_number(row.get("y"))


def map_sections(rows: Sequence[Found]) -> list[Section]:
    """Draw a map for each subject and stage, as a part of the section on clustering."""
    figures = []
    for subject in subjects(rows):
        own = [row for row in rows if row["subject"] == subject and is_number(row["value"])]
        for stage in dict.fromkeys(str(row.get("stage") or "") for row in own):
            at_stage = [row for row in own if (row.get("stage") or "") == stage]
            figures.append(_map_figure(subject, stage, at_stage))
    return [Section("clustering", "The most biased words", (), figures)]


def _map_figure(subject: str, stage: str, rows: Sequence[Found]) -> Figure:
    groups = list(dict.fromkeys(str(row.get("towards", "")) for row in rows))
    looks = {group: Look("point second", "square") for group in groups}
    looks |= {group: Look("point first") for group in groups[:1]}
    named = {
        str(row["word"])
        for group in groups
        for row in [row for row in rows if str(row.get("towards", "")) == group][:_NAMED]
    }
    dots = [
        Dot(
            (float(row["value"]), float(row["y"])),
            looks[str(row.get("towards", ""))],
            text=f"{row['word']}, leant to {row.get('towards', '–')}",
            name=fitted(str(row["word"]), WIDTH / 2) if str(row["word"]) in named else "",
            size=3,
        )
        for row in rows
    ]
    legend_ = [(f"leant to {group}", group_look) for group, group_look in looks.items()]
    panel = Panel(dots, legend=legend_, axes=False)
    shows = (
        f"The {len(rows)} words that leaned most before, placed by the first two principal "
        f"components of their vectors{f' {stage}' if stage else ''}; colour and shape are the side "
        "on which a word was before."
    )
    title = f"Most biased words of {subject}{f', {stage}' if stage else ''}"
    return Figure(title, panel_picture(panel, title, shows), shows, _NOT_SHOWN_BY_MAP)
