"""Sections of an audit of a model that one of vectors has not: layers, occupations, and tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from wordbias.measures.held_out_probes import BEST, PROBES
from wordbias.measures.registry import BY_KEY, FAMILY_OF, full_title, measure_title
from wordbias.pages.answers import column_answers
from wordbias.pages.columns import best_of, capital
from wordbias.pages.encoder_answers import (
    ACCURACY,
    BEFORE,
    CEAT,
    COMPRESSION,
    EXPECTED,
    EXPECTED_GAP,
    GENDER,
    MAIN,
    NEIGHBOURS,
    ORDER,
    PERPLEXITY,
    PERPLEXITY_KEPT,
    SEAT,
    SIMILARITY,
    STEREOTYPE,
    ModelRows,
    is_of_model,
    models_of,
    query_text,
)
from wordbias.pages.grids import line_grid
from wordbias.pages.lines import chance_range, minus, value_text
from wordbias.pages.panel import Dot, Look, Panel, Path
from wordbias.pages.section import Figure, Grid, Markup, Section
from wordbias.pages.svg import fitted, panel_picture
from wordbias.rendering import Table
from wordbias.results import number
from wordbias.rows import Found
from wordbias.verdicts import interval, is_number

MOVED, GAP, LEAN, SELECTIVITY = (
    "sentence-similarity-moved",
    "pronoun-gap",
    "pronoun-lean",
    "selectivity",
)
EXPECTED_SHARE, EXPECTED_LEAN = "expected-pronoun-share", "expected-pronoun-lean"
BITS = "bits-per-byte"
_OWN = (
    EXPECTED, EXPECTED_GAP, EXPECTED_SHARE, EXPECTED_LEAN, PERPLEXITY, BITS, PERPLEXITY_KEPT, BEST,
    *PROBES, COMPRESSION, ACCURACY, SELECTIVITY, SEAT, CEAT, STEREOTYPE, GAP, LEAN, SIMILARITY,
    ORDER, NEIGHBOURS, MOVED,
)  # fmt: skip
_LOOKS = (("after", "circle"), ("refitted", "diamond"), ("first", "square"), ("second", "circle"))
"""Class and shape of the marks of the projections, in their order."""
_GLANCE = (
    BEST, *PROBES, COMPRESSION, ACCURACY, STEREOTYPE, EXPECTED, EXPECTED_GAP, ORDER, NEIGHBOURS,
    MOVED, PERPLEXITY, BITS, PERPLEXITY_KEPT, SEAT,
)  # fmt: skip
"""Measures of the summary, in its order."""
_BESIDE = 0.023
"""Space between marks beside each other, of the width of a picture."""
Series = tuple[str, str, str, Sequence[Found]]
"""Name, look and shape of the marks of some rows, and the rows."""
Models = Sequence[ModelRows]
_NAMED = 2
"""Occupations of each side that a picture names."""
_ASKED = "Are women’s names nearer to family and arts, men’s to career, mathematics and science?"
_ASKED_OF_GROUPS = "Are sentences that mention one group nearer to pleasant words than others?"
"""What association tests ask about gender, and about other groups."""


def claims_model(row: Found) -> bool:
    """Return whether a row is of an audit of a model, and of what it measures by itself."""
    return is_of_model(row) and row["measure"] in _OWN


def model_sections(rows: Sequence[Found]) -> list[Section]:
    """Make the sections of all models; one model's pictures of a section follow another's."""
    models = models_of(rows)
    makers = (_glance, _layers, _occupations, _expected, _tests)
    sections = (make(models) for make in makers)
    return [section for section in sections if section.figures or section.grids]


def _titled(models: Models, model: ModelRows, title: str) -> str:
    """Return a title, after the name of the model if there are several."""
    return title if len(models) == 1 else f"{model.subject}: {title[0].lower()}{title[1:]}"


def _grids(models: Models, measures: Sequence[str], title: str) -> list[Grid]:
    """Arrange measures in the last layer as a table of all models; none without a value."""
    lines = [line for model in models for line in model.lines(measures)]
    return [line_grid(lines, title, strips=True, named=full_title)] if lines else []


def _glance(models: Models) -> Section:
    """Show the main measures and the costs, a column for each projection."""
    measured = {line.measure for model in models for line in model.main}
    main = [measure_title(measure) for measure in MAIN if measure in measured]
    lead = "Every column is measured on the same sentences; no projection was fitted on them."
    if main:
        lead += f" Main measures: {', '.join(main)}."
    title = "The last layer, before and after each projection"
    return Section("glance", "At a glance", [lead], (), _grids(models, _GLANCE, title))


# By layer


def _by_layer(model: ModelRows, measure: str, stage: str = BEFORE, name: str = "") -> list[Found]:
    """Return the values of a measure by layer."""
    return [row for n in model.layers if (row := model.get(measure, stage, n, name)) is not None]


def _layers(models: Models) -> Section:
    """Draw how easily the group of names or words is read off each layer."""
    named, what = (models[0].group, models[0].unseen) if models else (GENDER, "names")
    groups = "genders" if named == GENDER else "groups"
    shows = (
        f"How many times shorter a message of the {what}’ {groups} is when the vectors of their "
        "sentences are known; 1, dashed, is nothing. Bars: 95 % over the seeds. After a projection "
        "only the layers that it changes are drawn."
    )
    family = BY_KEY["probe"]
    figures, grids = [], []
    for model in models:
        if not (before := _by_layer(model, COMPRESSION)) or not model.has_layers:
            continue
        series: list[Series] = [("before", "before", "circle", before)]
        if untrained := _by_layer(model, COMPRESSION, name=model.untrained):
            series.append(("untrained", "plain hollow", "circle", untrained))
        together = len(series)
        series += [
            (label, *_LOOKS[i % len(_LOOKS)], _by_layer(model, COMPRESSION, label))
            for i, label in enumerate(model.columns)
        ]
        title = _titled(models, model, f"{capital(model.group)} of {model.units}, by layer")
        picture = _layer_picture(series, together, 1.0, title, shows)
        figures.append(Figure(title, picture, shows, family.limits))
        cells = []
        for row in before:
            layer = row["layer"]
            values = [model.get(name, layer=layer) for name in (COMPRESSION, ACCURACY, SELECTIVITY)]
            values.append(model.get(COMPRESSION, layer=layer, name=model.untrained))
            texts = [value_text(value, 2) for value in values]
            cells.append([str(layer), *texts, chance_range(row)])
        heads = ["layer", "compression", "accuracy", "selectivity", f"untrained {model.kind}"]
        title = _titled(models, model, "By layer, before")
        note = "chance: that of the compression."
        grids.append(Grid(Table(title, [*heads, "chance"], cells, note), folded=True))
    lead = (
        "Sentences such as “Olivia read the newspaper after breakfast.” do not state a gender; "
        "only the name suggests one."
        if named == GENDER
        else f"The sentences about all groups are the same, but for the {what} in them."
    )
    if models and models[0].states:
        lead = "The sentences state the pronoun, and differ in it alone: to read it is no bias."
    lead += f" A probe is tested on {what} that it has not seen."
    method = (
        f"{family.description} {capital(what)} are never divided between training and test. "
        "Vectors are scaled to mean square 1 at each layer. Layer 0 is the input embeddings."
    )
    title = f"{capital(named)} in the layers: how easily can it be read?"
    return Section("layers", title, [lead], figures, grids, [method])


def _layer_picture(
    series: Sequence[Series], together: int, neutral: float, title: str, shows: str
) -> Markup:
    """Draw values by layer; the first `together` series are drawn at the same places."""
    layers = sorted({int(row["layer"]) for *_, rows in series for row in rows})
    beside = len(series) - together
    step = min(_BESIDE * (layers[-1] - layers[0] + 1), 1 / (beside + 1))
    ends = (layers[0] - 0.5, neutral), (layers[-1] + 0.5, neutral)
    dots, paths = [], [Path(ends, "neutral")]
    for i in (*reversed(range(together)), *range(together, len(series))):
        name, css, shape, rows = series[i]
        shift = 0.0 if i < together else (i - together - (beside - 1) / 2) * step
        places = [(int(row["layer"]) + shift, float(row["value"])) for row in rows]
        paths.append(Path(places, "grid" if "hollow" in css else f"whisker {css}"))
        for (x, y), row in zip(places, rows, strict=True):
            around = interval(row)
            whisker = None if around is None else ((x, around[0]), (x, around[1]))
            text = f"{name}, layer {row['layer']}: {value_text(row, 2)}"
            dots.append(Dot((x, y), Look(css, shape), whisker, text, size=3.5))
    named = [(fitted(name, 130), Look(css, shape)) for name, css, shape, _ in series]
    ticks: dict[float, str] = {layer: str(layer) for layer in layers}
    return panel_picture(Panel(dots, paths, x="layer", ticks=ticks, legend=named), title, shows)


# Occupations


def _occupations(models: Models) -> Section:
    """Draw the lean of the vectors of occupations over their share of women."""
    shows = (
        "Above 0: the sentence about the occupation is nearer to the same sentence about “she” "
        "than to that about “he”."
    )
    section = _leans(models, "pronouns", "Occupations between she and he", shows)
    title, towards = "Correlation with the share of women, by layer", "“she”"
    if any(model.states for model in models):
        towards = "the first pronoun"
    shows = (
        f"Rank correlation of the lean towards {towards} with the percentage of women, before; 0, "
        "dashed, is none. Bars: 95 % over occupations."
    )
    figures = [
        x
        for model in models
        for name in model.sets(STEREOTYPE)
        for x in _layer_figure(models, model, STEREOTYPE, title, shows, name)
    ]
    return replace(section, figures=[*section.figures, *figures])


def _expected(models: Models) -> Section:
    """Draw the pronoun that a decoder expects of occupations over their share of women."""
    shows = "Above 0: after a sentence about the occupation “she” is likelier than “he”."
    title = "The pronoun that is expected after an occupation"
    return _leans(models, "expected-pronouns", title, shows)


def _leans(models: Models, key: str, title: str, shows: str) -> Section:
    """Draw leans of occupations over their share of women, and list them."""
    # `key` is the family whose measures are the correlation, the mean lean, and the lean of one.
    family = BY_KEY[key]
    names = [measure.name for measure in family.measures]
    of_one = next(name for name in names if name.endswith("-lean"))
    measures = [name for name in names if name != of_one]
    of = "Every two pronouns" if any(model_rows.states for model_rows in models) else "She and he"
    grids, figures = _grids(models, measures, of), []
    for model in models:
        leans: dict[str, dict[str, Found]] = {stage: {} for stage in [BEFORE, *model.columns]}
        for row in model.rows:
            known = is_number(row["value"]) and is_number(row.get("women"))
            if row["measure"] == of_one and known and row.get("stage") in leans:
                leans[row["stage"]][str(row.get("word", "–"))] = row
        if not (before := leans[BEFORE]):
            continue
        best = best_of(column_answers(model.rows))
        chosen = None if best is None else best.name
        of = _titled(models, model, title)
        picture = _lean_picture(before, leans.get(chosen or "", {}), chosen, of, shows)
        figures.append(Figure(of, picture, shows, family.limits))
        cells = [
            [
                word,
                f"{before[word]['women']:g}",
                *(
                    number(by_word[word]["value"], 3) if word in by_word else "–"
                    for by_word in leans.values()
                ),
            ]
            for word in sorted(before, key=lambda word: float(before[word]["value"]))
        ]
        of = _titled(models, model, "Lean of each occupation towards she")
        grids.append(Grid(Table(of, ["occupation", "% women", *leans], cells), folded=True))
    method = [family.description, family.limits]
    return Section(key, family.title, [family.question], figures, grids, method)


def _layer_figure(
    models: Models, model: ModelRows, measure: str, title: str, shows: str, name: str = ""
) -> list[Figure]:
    """Draw a measure by layer before, if there are several layers."""
    rows = _by_layer(model, measure, name=name)
    if len(rows) < 2:
        return []
    title = _titled(models, model, f"{title}, {query_text(rows[0])}" if name else title)
    picture = _layer_picture([("before", "before", "circle", rows)], 1, 0.0, title, shows)
    return [Figure(title, picture, shows, FAMILY_OF[measure].limits)]


def _lean_picture(
    before: dict[str, Found], after: dict[str, Found], chosen: str | None, title: str, shows: str
) -> Markup:
    looks = [("before", "before", before)] + ([(chosen, "after", after)] if chosen else [])
    ordered = sorted(before, key=lambda word: float(before[word]["value"]))
    extremes = {*ordered[:_NAMED], *ordered[-_NAMED:]}
    dots = [
        Dot(
            (float(row["women"]), float(row["value"])),
            Look(css),
            text=f"{word}, {row['women']:g} % women: {number(row['value'], 3)}",
            name=word if css == "before" and word in extremes else "",
            size=2.8,
        )
        for _, css, rows in looks
        for word, row in rows.items()
    ]
    panel = Panel(
        dots,
        [Path([(0.0, 0.0), (100.0, 0.0)], "neutral")],
        x="% of women in the occupation",
        legend=[(str(name), Look(css)) for name, css, _ in looks],
    )
    return panel_picture(panel, title, shows)


# Association tests


def _tests(models: Models) -> Section:
    """List SEAT and CEAT, in the last layer at all stages and by layer before."""
    seat, ceat = BY_KEY["seat"], BY_KEY["ceat"]
    of_gender = all(model_rows.attribute == GENDER for model_rows in models)
    sided = "one-sided" if of_gender else "one-sided for published queries, else two-sided"
    grids, figures = _grids(models, (SEAT, CEAT), "Effect sizes in the last layer"), []
    shows = "Effect size before; 0, dashed, is none. Bars: 95 % over other words of the same kinds."
    for model in models:
        cells = []
        for measure, name in [(test, name) for test in (SEAT, CEAT) for name in model.sets(test)]:
            if measure == SEAT:
                figures += _layer_figure(models, model, SEAT, "SEAT by layer", shows, name)
            known = [model.get(measure, layer=layer, name=name) for layer in model.layers]
            if row := next((row for row in known if row is not None), None):
                texts = ("" if row is None else minus(f"{row['value']:.2f}") for row in known)
                cells.append([f"{measure.upper()}, {query_text(row)}", *texts])
        heads = ["test", *map(str, model.layers)]
        title = _titled(models, model, "Effect sizes by layer, before")
        if cells:
            grids.append(Grid(Table(title, heads, cells), folded=True, stacked=False))
    return Section(
        "associations",
        "Association tests on sentences: SEAT and CEAT",
        [_ASKED if of_gender else _ASKED_OF_GROUPS],
        figures,
        grids,
        [
            f"SEAT: {seat.description} CEAT: {ceat.description} The interval of SEAT is over other "
            "words of the same kinds, that of CEAT over other sentences, with the words fixed. p: "
            f"permutation test of the words, {sided}, corrected for the number of queries (Holm).",
            seat.limits,
        ],
    )
