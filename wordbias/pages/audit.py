"""Audit of embeddings: everything that can be measured with no more than a few words of advice.

Each part is a function of the stages, before and after MISP, and of a plan; a part that cannot be
measured becomes a note, and the others go on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from wordbias.arrays import blocks
from wordbias.errors import WordbiasError
from wordbias.measures.associations import query_rows
from wordbias.measures.chance import chance_of, with_chance
from wordbias.measures.family import Family, MeasureInputs, Values
from wordbias.measures.measure import rows_of
from wordbias.measures.midb import contributions
from wordbias.measures.panel import Panel
from wordbias.measures.registry import BY_KEY, STANDARD, ideal
from wordbias.nli.files import Model
from wordbias.nli.mab import Settings, mab_rows
from wordbias.nli.scoring import notes_on_vectors, score_set
from wordbias.nli.test_sets import TestSet, build, marked_sets, with_known_words
from wordbias.pages.stages import Plan, Stages, among
from wordbias.pages.word_rows import change_rows, map_rows, neighbour_rows, occupation_rows
from wordbias.progress import progress
from wordbias.results import Row
from wordbias.statistics import percentile_interval, resampled_means
from wordbias.word_tasks import Settings as QualitySettings
from wordbias.word_tasks import quality
from wordbias.wordlists import Attribute, resolve


def component_parts(one: Stages, plan: Plan) -> list[Row]:
    """Take the rows of the fit, and each component's mean contribution to MIDB.

    The components are those of the vectors before at both stages, so that what MISP left along
    them, ``1 − a_i`` of it, can be seen.
    """
    if one.fitted is None or one.projection is None:
        return []
    subspace = one.projection.subspace
    rows = one.rows("before", one.fitted.found)
    for stage, panel in one.panels():
        parts = [np.abs(contributions(x, [subspace])) for x in blocks(panel.vectors)]
        values = np.concatenate([np.zeros((0, subspace.dims)), *parts])
        samples = resampled_means(values, panel.rng())
        for i, value in enumerate(values.mean(0).tolist()):
            about = {
                "component": i + 1,
                "reference": "before",
                **percentile_interval(samples[:, i])._asdict(),
                "n": len(values),
                **ideal("midb-component"),
            }
            rows.append(one.row(stage, Row(one.name, "midb-component", value, about)))
    return rows


MAB_SETS = ("explicit", "occupations")


def marked(one: Stages, plan: Plan) -> list[Row]:
    """Score the marked sets at both stages with one and the same model.

    Raises
    ------
    WordbiasError
        If the model was trained on other dimensions, a word is missing, or the attribute does not
        say whom a sentence can be about.
    """
    if plan.model is None:
        return []
    tests = _tests(one.before, plan.model)
    settings = Settings(seed=one.before.seed)
    found: list[Row] = []
    for stage, panel in one.panels():
        for test in tests:
            scored = score_set(plan.model, panel.embedding, test)
            rows = mab_rows(test, scored.probabilities, one.name, settings)
            found += one.rows(stage, rows, missing=list(scored.unknown))
    return found


def _tests(panel: Panel, model: Model) -> list[TestSet]:
    """Return the published sets; of another attribute the words that the vectors have."""
    if panel.attribute == Attribute.load():
        return [build(name) for name in MAB_SETS]
    sets = marked_sets(panel.attribute)
    chosen = [name for name in MAB_SETS if name in sets] or sets
    tests = [build(name, attribute=panel.attribute) for name in chosen]
    return [with_known_words(panel.embedding, test, lower=model.lower) for test in tests]


Part = Callable[[Stages, Plan], list[Row]]
_PARTITIONS = 10_000
"""Of WEAT's larger queries; `wordbias weat` draws more."""


@dataclass(frozen=True)
class Audited:
    """The rows of all embeddings, and what could not be measured and why."""

    rows: list[Row]
    notes: list[str]


def measure_stages(stages: Sequence[Stages], plan: Plan) -> Audited:
    """Measure every embedding at its stages.

    Parameters
    ----------
    stages
        See `make_stages`.
    plan
        What to ask.
    """
    rows: list[Row] = []
    notes = [*_not_given(plan), *(note for one in stages for note in _about(one, plan))]
    asked = {name: part for name, part in _PARTS.items() if _wanted(name, plan)}
    shares = {name: _SHARES.get(name, 1) for name in asked}
    with progress("audit", sum(shares.values()) * len(stages), "%") as bar:
        for one in stages:
            for name, part in asked.items():
                bar.set_postfix_str(name)
                try:
                    rows += part(one, plan)
                except WordbiasError as error:
                    notes.append(f"{one.name}: {name} was not measured: {error}")
                bar.update(shares[name])
    return Audited(rows, [*notes, *_of_model(stages, plan, rows)])


_SHARES = {"gipe": 35, "quality": 35, "mab": 12, "clustering": 6, "recoverability": 6, "weat": 3}
"""About how the time is shared out, for the estimate; the other parts take 1 each."""
MANY_WORDS = 20_000
"""Words beyond which some parts take minutes."""


def slow_parts(panels: Sequence[Panel], plan: Plan) -> list[str]:
    """Return the parts that take minutes on vectors of this many words."""
    if max(len(panel.embedding) for panel in panels) <= MANY_WORDS:
        return []
    return [name for name in ("gipe", "quality") if _wanted(name, plan)]


def _wanted(name: str, plan: Plan) -> bool:
    """Whether a part is asked for and has what it needs; components belong to MIDB."""
    needs = {"quality": bool(plan.sets), "mab": plan.model is not None}
    needs["sembias"] = plan.sembias is not None
    return plan.asks({"components": "midb", "change": "misp"}.get(name, name)) and needs.get(
        name, True
    )


def _not_given(plan: Plan) -> list[str]:
    """Say which parts need files that were not given, unless they are skipped."""
    here = {"sembias": plan.sembias is not None, "quality": bool(plan.sets)}
    found = [
        (BY_KEY[part].needs, BY_KEY[part].fetch)
        for part, known in here.items()
        if not known and plan.asks(part)
    ]
    if not found:
        return []
    names, sets = zip(*found, strict=True)
    return [
        f"not measured: {', '.join(names)}: the test sets are not part of wordbias; get them with: "
        f"wordbias fetch {' '.join(sets)}"
    ]


def _about(one: Stages, plan: Plan) -> list[str]:
    missing = resolve(plan.words, one.before.embedding).missing
    said = [
        *_about_after(one),
        *(one.fitted.warnings if one.fitted else ()),
        *([f"it lacks the words asked for: {', '.join(missing)}"] if missing else []),
    ]
    return [f"{one.name}: {note}" for note in said]


def _about_after(one: Stages) -> list[str]:
    if not one.reason:
        return []
    if one.after is None:
        return [f"nothing was measured after MISP: {one.reason}"]
    return [f"“after” is hard debiasing (wordbias debias hard), not MISP: {one.reason}"]


def _of_model(stages: Sequence[Stages], plan: Plan, rows: Sequence[Row]) -> list[str]:
    """Say where the NLI model was trained on other vectors."""
    if plan.model is None or not any(row.measure == "mab-distance" for row in rows):
        return []
    return [note for one in stages for note in notes_on_vectors(plan.model, one.before.embedding)]


def _family(family: Family) -> Part:
    def part(one: Stages, plan: Plan) -> list[Row]:
        found: list[Row] = []
        levels: Values = {}
        for stage, panel in one.panels():
            measured = among(panel, plan.gipe_words) if family.key == "gipe" else panel
            inputs = MeasureInputs(measured, plan.sembias, plan.isolated)
            own = {"reference": "self"} if stage == "after" and family.own_axis else {}
            about = {"among": len(measured.embedding)} if family.key == "gipe" else {}
            found += one.rows(stage, rows_of(inputs, [family.key]), **own, **about)
            if stage == "before" and plan.chance:
                levels = chance_of(inputs, [family.key])
        return with_chance(found, levels)

    return part


def _weat(one: Stages, plan: Plan) -> list[Row]:
    return [
        row
        for stage, panel in one.panels()
        for row in one.rows(stage, query_rows(panel, _PARTITIONS))
    ]


def _quality(one: Stages, plan: Plan) -> list[Row]:
    settings = QualitySettings(seed=one.before.seed)
    return [
        row
        for stage, panel in one.panels()
        for row in one.rows(stage, quality(panel.embedding, plan.sets, settings))
    ]


_PARTS: dict[str, Part] = {
    **{key: _family(BY_KEY[key]) for key in STANDARD},
    "components": component_parts,
    "weat": _weat,
    "occupations": occupation_rows,
    "map": map_rows,
    "neighbours": neighbour_rows,
    "change": change_rows,
    "quality": _quality,
    "mab": marked,
}
