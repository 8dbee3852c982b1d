"""Sections of an audit of a model: projections, gender by layer, occupations, and tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wordbias.measures.held_out_probes import BEST, PROBES
from wordbias.measures.registry import (
    BY_KEY,
    FAMILY_OF,
    MEASURES,
    measure_title,
    short_title,
)
from wordbias.pages.columns import COLUMN, LEFT, best_of
from wordbias.pages.encoder_answers import (
    ACCURACY,
    BEFORE,
    CEAT,
    COMPRESSION,
    EXPECTED,
    EXPECTED_GAP,
    MAIN,
    NEIGHBOURS,
    ORDER,
    PERPLEXITY,
    PERPLEXITY_KEPT,
    SEAT,
    STEREOTYPE,
    ModelRows,
    is_of_model,
    model_subjects,
    query_text,
)
from wordbias.pages.lines import chance_range, minus, value_text
from wordbias.pages.panel import Dot, Look, Panel, Path
from wordbias.pages.section import Figure, Grid, Markup, Section
from wordbias.pages.svg import fitted, panel_picture
from wordbias.rendering import Table
from wordbias.results import number
from wordbias.rows import Found
from wordbias.verdicts import HELPS, LIMITS, explained, interval, is_number

MOVED, GAP, LEAN, SIMILARITY, SELECTIVITY = (
    "sentence-similarity-moved",
    "pronoun-gap",
    "pronoun-lean",
    "sentence-similarity",
    "selectivity",
)
EXPECTED_LEAN, BITS = "expected-pronoun-lean", "bits-per-byte"
_OWN = (
    EXPECTED, EXPECTED_GAP, EXPECTED_LEAN, PERPLEXITY, BITS, PERPLEXITY_KEPT, BEST, *PROBES,
    COMPRESSION, ACCURACY, SELECTIVITY, SEAT, CEAT, STEREOTYPE, GAP, LEAN, SIMILARITY, ORDER,
    NEIGHBOURS, MOVED, LEFT, COLUMN,
)  # fmt: skip
_LOOKS = (("after", "circle"), ("refitted", "diamond"), ("first", "square"), ("second", "circle"))
"""Class and shape of the marks of the projections, in their order."""
_DIGITS = {MOVED: 3, GAP: 3, BITS: 3, PERPLEXITY: 1}
"""Decimal places in tables; others have 2."""
_BESIDE = 0.023
"""Space between marks beside each other, of the width of a picture."""
Series = tuple[str, str, str, Sequence[Found]]
"""Name, look and shape of the marks of some rows, and the rows."""
_NAMED = 2
"""Occupations of each side that a picture names."""


def claims_model(row: Found) -> bool:
    """Return whether a row is of an audit of a model, and of what it measures by itself."""
    return is_of_model(row) and row["measure"] in _OWN


def model_sections(rows: Sequence[Found]) -> list[Section]:
    """Make the sections of all models; one model's parts of a section follow another's."""
    subjects = model_subjects(rows)
    makers: Sequence[Callable[[ModelRows, str], Section | None]] = (
        _summary,
        _layers,
        _occupations,
        _expected,
        _tests,
    )
    found = []
    for make in makers:
        parts = [
            part
            for subject in subjects
            if (part := make(ModelRows(subject, rows), f"{subject}: " * (len(subjects) > 1)))
        ]
        if parts:
            figures, grids = (
                [x for one in parts for x in one.figures],
                [x for one in parts for x in one.grids],
            )
            first = parts[0]
            found.append(Section(first.key, first.title, first.lead, figures, grids, first.method))
    return found


# Side by side


def _summary(one: ModelRows, prefix: str) -> Section | None:
    """Show the main measures and the costs, a column for each projection."""
    stages = [BEFORE, *one.columns()]
    measures = [BEST, *PROBES, COMPRESSION, ACCURACY, STEREOTYPE, EXPECTED, EXPECTED_GAP]
    measures += [ORDER, NEIGHBOURS, MOVED, PERPLEXITY, BITS, PERPLEXITY_KEPT]
    cells = []
    for measure in measures:
        known = [one.get(measure, stage) for stage in stages]
        row = next((row for row in known if row is not None), None)
        if row is not None:
            texts = [*map(_changed_text, known)]
            cells.append([_title(measure), texts[0], chance_range(row), *texts[1:]])
    for name in one.sets(SEAT):
        known = [one.get(SEAT, stage, name=name) for stage in stages]
        row = next((row for row in known if row is not None), None)
        if row is not None:
            texts = [*map(_changed_text, known)]
            cells.append([f"SEAT, {query_text(row)}", texts[0], "", *texts[1:]])
    if not cells:
        return None
    if len(stages) > 1:
        left = [one.get(LEFT, stage) for stage in stages]
        share = ["" if row is None else f"{row['value']:.0%}" for row in left]
        cells.append(["bias left, of that beyond chance", share[0], "", *share[1:]])
        verdicts = {column.name: column.verdict for column in one.judged()}
        said = [verdicts.get(stage, "") for stage in stages[1:]]
        cells.append(["does it help?", "", "", *said])
    note = (
        "In brackets the 95 % interval; after Δ the change since before and its interval, over the "
        "same draws. chance: the range of values where there is nothing to find; of probes that "
        "of permuted labels, of which 5 % give any probe more than the upper end."
    )
    table = Table(
        _titled(prefix, "The last layer, before and after each projection"),
        ["measure", BEFORE, "chance", *stages[1:]],
        cells,
        note,
    )
    lead = "Every column is measured on the same sentences, none of which it was fitted on."
    costs = [name for name in LIMITS if name in MEASURES]
    method = (
        f"{explained(HELPS)} Main measures: "
        f"{', '.join(map(measure_title, MAIN))}. Limits of costs: "
        f"{', '.join(f'{measure_title(name)} {LIMITS[name]:g}' for name in costs)}. Bias left: the "
        "part beyond chance that is left of that one of these measures, and of each probe, of "
        "which most is left."
    )
    return Section("projections", "Projections side by side", [lead], (), [Grid(table)], [method])


def _titled(prefix: str, title: str) -> str:
    """Return a title, after the name of the model if there are several."""
    return f"{prefix}{title[0].lower()}{title[1:]}" if prefix else title


def _title(measure: str) -> str:
    if measure in (BEST, *PROBES):
        return f"gender of unseen names, {short_title(measure)}"
    family = FAMILY_OF[measure].short
    return (
        f"{family}: {measure_title(measure)}" if measure == COMPRESSION else measure_title(measure)
    )


def _changed_text(row: Found | None) -> str:
    """Write a value with its interval, and its change."""
    if row is None:
        return ""
    digits = _DIGITS.get(row["measure"], 2)

    def text(key: str) -> str:
        return minus(f"{row[key]:.{digits}f}")

    def with_ends(value: str, low: str, high: str) -> str:
        known = is_number(row.get(low)) and is_number(row.get(high))
        return f"{text(value)} ({text(low)} to {text(high)})" if known else text(value)

    found = with_ends("value", "low", "high")
    if not is_number(row.get("change")):
        return found
    return f"{found}; Δ {with_ends('change', 'change_low', 'change_high')}"


def _short(value: float) -> str:
    return minus(f"{value:.2f}")


# By layer


def _layers(one: ModelRows, prefix: str) -> Section | None:
    """Draw how easily the gender of names is read off each layer."""
    before = [row for layer in one.layers if (row := one.get(COMPRESSION, layer=layer)) is not None]
    if not before:
        return None
    untrained = [
        row
        for layer in one.layers
        if (row := one.get(COMPRESSION, layer=layer, name=one.untrained)) is not None
    ]
    after = {
        label: [
            row for layer in one.layers if (row := one.get(COMPRESSION, label, layer)) is not None
        ]
        for label in one.columns()
    }
    shows = (
        "How many times shorter a message of the names’ genders is when the vectors of their "
        "sentences are known; 1, dashed, is nothing. Bars: 95 % over the seeds. After a projection "
        "only the layers that it changes are drawn."
    )
    family = BY_KEY["probe"]
    title = _titled(prefix, "Gender of first names, by layer")
    series: list[Series] = [("before", "before", "circle", before)]
    if untrained:
        series.append(("untrained", "plain hollow", "circle", untrained))
    together = len(series)
    series += [
        (name, *_LOOKS[i % len(_LOOKS)], rows) for i, (name, rows) in enumerate(after.items())
    ]
    picture = _layer_picture(series, together, 1.0, title, shows)
    heads = ["layer", "compression", "accuracy", "selectivity", f"untrained {one.kind}", "chance"]
    cells = []
    for row in before:
        layer = row["layer"]
        values = [one.get(name, layer=layer) for name in (COMPRESSION, ACCURACY, SELECTIVITY)]
        other = one.get(COMPRESSION, layer=layer, name=one.untrained)
        texts = [value_text(value, 2) for value in (*values, other)]
        cells.append([str(layer), *texts, chance_range(row)])
    table = Table(
        _titled(prefix, "By layer, before"), heads, cells, "chance: that of the compression."
    )
    lead = (
        "Sentences such as “Olivia read the newspaper after breakfast.” do not state a gender; "
        "only the name suggests one. A probe is tested on names that it has not seen."
    )
    return Section(
        "layers",
        "Gender in the layers: how easily is it read off?",
        [lead],
        [Figure(title, picture, shows, family.limits)],
        [Grid(table, folded=True)],
        [
            f"{family.description} Names are never divided between training and test. Vectors are "
            "scaled to mean square 1 at each layer. Layer 0 is the input embeddings."
        ],
    )


def _layer_picture(
    series: Sequence[Series], together: int, neutral: float, title: str, shows: str
) -> Markup:
    """Draw values by layer.

    Parameters
    ----------
    series
        Name, look and shape of the marks, and rows of what is drawn.
    together
        Number of the first ones that are drawn at the same places; the others beside each other.
    neutral
        Value of the dashed line.
    """
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
            shown = f"{name}, layer {row['layer']}: {value_text(row, 2)}"
            dots.append(Dot((x, y), Look(css, shape), whisker, shown, size=3.5))
    named = [(fitted(name, 130), Look(css, shape)) for name, css, shape, _ in series]
    ticks: dict[float, str] = {layer: str(layer) for layer in layers}
    return panel_picture(Panel(dots, paths, x="layer", ticks=ticks, legend=named), title, shows)


# Occupations


def _occupations(one: ModelRows, prefix: str) -> Section | None:
    """Draw the lean of the vectors of occupations over their share of women."""
    shows = (
        "Above 0: the sentence about the occupation is nearer to the same sentence about “she” "
        "than to that about “he”."
    )
    chance = "chance: two subjects that mean no gender in place of the pronouns."
    return _leans(one, prefix, "pronouns", ("Occupations between she and he", shows, chance))


def _expected(one: ModelRows, prefix: str) -> Section | None:
    """Draw the pronoun that a decoder expects of occupations over their share of women."""
    shows = "Above 0: after a sentence about the occupation “she” is likelier than “he”."
    chance = "chance: permuted shares of women; the middle 95 %."
    gap = one.get(EXPECTED_GAP)
    if gap is not None and is_number(gap.get("people")):
        chance += f" Lean of people whose occupation is not said: {_short(gap['people'])}."
    title = "The pronoun that is expected after an occupation"
    return _leans(one, prefix, "expected-pronouns", (title, shows, chance))


def _leans(one: ModelRows, prefix: str, key: str, texts: tuple[str, str, str]) -> Section | None:
    """Draw leans of occupations over their share of women, and list them.

    Parameters
    ----------
    key
        Family whose measures are the correlation, the mean lean, and the lean of an occupation.
    texts
        Title of the picture, what it shows, and what chance is.
    """
    family = BY_KEY[key]
    correlation, mean, of_one = (measure.name for measure in family.measures[:3])
    title, shows, chance = texts
    stages = [BEFORE, *one.columns()]
    leans = {
        stage: {
            str(row.get("word", "–")): row
            for row in one.rows
            if row["measure"] == of_one
            and row.get("stage") == stage
            and is_number(row["value"])
            and is_number(row.get("women"))
        }
        for stage in stages
    }
    cells = []
    for measure in (correlation, mean):
        known = [one.get(measure, stage) for stage in stages]
        row = next((row for row in known if row is not None), None)
        if row is not None:
            cells.append([measure_title(measure), *map(_changed_text, known), chance_range(row)])
    for name in one.sets(SIMILARITY) if key == "pronouns" else ():
        known = [one.get(SIMILARITY, stage, name=name) for stage in stages]
        cells.append([f"mean cosine of sentences: {name}", *map(_changed_text, known), ""])
    if not cells:
        return None
    figures = []
    if leans[BEFORE]:
        best = best_of(one.judged())
        chosen = None if best is None else best.name
        picture = _lean_picture(
            leans[BEFORE], leans.get(chosen or "", {}), chosen, _titled(prefix, title), shows
        )
        figures.append(Figure(_titled(prefix, title), picture, shows, family.limits))
    figures += _rank_figure(one, prefix) if key == "pronouns" else []
    heads = ["measure", *stages, "chance"]
    grids = [Grid(Table(_titled(prefix, "She and he"), heads, cells, chance))]
    words = leans[BEFORE]
    if words:
        ordered = sorted(words, key=lambda word: float(words[word]["value"]))
        lines = [
            [
                word,
                f"{words[word]['women']:g}",
                *(
                    number(leans[stage][word]["value"], 3) if word in leans[stage] else "–"
                    for stage in stages
                ),
            ]
            for word in ordered
        ]
        heads = ["occupation", "% women", *stages]
        grids.append(
            Grid(
                Table(_titled(prefix, "Lean of each occupation towards she"), heads, lines),
                folded=True,
            )
        )
    return Section(
        key,
        family.title,
        [family.question],
        figures,
        grids,
        [family.description, family.limits],
    )


def _rank_figure(one: ModelRows, prefix: str) -> list[Figure]:
    """Draw the correlation with the share of women by layer, if there are several layers."""
    rows = [row for layer in one.layers if (row := one.get(STEREOTYPE, layer=layer)) is not None]
    if len(rows) < 2:
        return []
    title = _titled(prefix, "Correlation with the share of women, by layer")
    shows = (
        "Rank correlation of the lean towards “she” with the percentage of women, before; 0, "
        "dashed, is none. Bars: 95 % over occupations."
    )
    picture = _layer_picture([("before", "before", "circle", rows)], 1, 0.0, title, shows)
    return [Figure(title, picture, shows, BY_KEY["pronouns"].limits)]


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


def _tests(one: ModelRows, prefix: str) -> Section | None:
    """List SEAT and CEAT, in the last layer at all stages and by layer before."""
    stages = [BEFORE, *one.columns()]
    cells, by_layer = [], []
    for measure in (SEAT, CEAT):
        for name in one.sets(measure):
            known = [one.get(measure, stage, name=name) for stage in stages]
            row = next((row for row in known if row is not None), None)
            if row is None:
                continue
            title = f"{measure.upper()}, {query_text(row)}"
            cells.append([title, *map(_tested_text, known)])
            layered = [one.get(measure, layer=layer, name=name) for layer in one.layers]
            by_layer.append([title, *("" if r is None else _short(r["value"]) for r in layered)])
    if not cells:
        return None
    figures = _test_figures(one, prefix)
    note = (
        "In brackets the 95 % interval: of SEAT over other words of the same kinds, of CEAT over "
        "other sentences, with the words fixed. p: permutation test of the words, one-sided, "
        "corrected for the number of queries (Holm)."
    )
    heads = ["test", *stages]
    layer_heads = ["test", *(str(layer) for layer in one.layers)]
    seat, ceat = BY_KEY["seat"], BY_KEY["ceat"]
    return Section(
        "associations",
        "Association tests on sentences: SEAT and CEAT",
        ["Are women’s names nearer to family and arts, men’s to career, mathematics and science?"],
        figures,
        [
            Grid(Table(_titled(prefix, "Effect sizes in the last layer"), heads, cells, note)),
            Grid(
                Table(_titled(prefix, "Effect sizes by layer, before"), layer_heads, by_layer),
                folded=True,
                stacked=False,
            ),
        ],
        [f"SEAT: {seat.description} CEAT: {ceat.description}", seat.limits],
    )


def _test_figures(one: ModelRows, prefix: str) -> list[Figure]:
    """Draw SEAT by layer, a picture for each query, if there are several layers."""
    found = []
    shows = "Effect size before; 0, dashed, is none. Bars: 95 % over other words of the same kinds."
    for name in one.sets(SEAT):
        rows = [r for layer in one.layers if (r := one.get(SEAT, layer=layer, name=name))]
        if len(rows) < 2:
            continue
        title = f"{prefix}SEAT by layer, {query_text(rows[0])}"
        picture = _layer_picture([("before", "before", "circle", rows)], 1, 0.0, title, shows)
        found.append(Figure(title, picture, shows, BY_KEY["seat"].limits))
    return found


def _tested_text(row: Found | None) -> str:
    text = _changed_text(row)
    if row is None or row["measure"] != SEAT or not is_number(row.get("p_holm")):
        return text
    value, semicolon, change = text.partition(";")
    return f"{value}, p {row['p_holm']:.2g}{semicolon}{change}"
