"""Audit of embeddings before and after debiasing: every measure that needs few settings.

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
from wordbias.measures.evaluate import evaluate_inputs
from wordbias.measures.family import Family, MeasureInputs, Values
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
from wordbias.word_tasks import quality
from wordbias.wordlists import Attribute, resolve

Part = Callable[[Stages, Plan], list[Row]]
MANY_WORDS = 20_000
"""Number of words above which some parts take minutes."""
_SHARES = {"gipe": 35, "quality": 35, "mab": 12, "clustering": 6, "recoverability": 6, "weat": 3}
"""Approximate share of the time of each part, for the progress bar; other parts take 1."""


@dataclass(frozen=True)
class Audited:
    """Rows of all embeddings, and notes on parts that could not be measured."""

    rows: list[Row]
    notes: list[str]


def measure_stages(stages: Sequence[Stages], plan: Plan) -> Audited:
    """Measure every embedding at its stages.

    Parameters
    ----------
    stages
        Embeddings; see `make_stages`.
    plan
        Settings of the audit.
    """
    rows: list[Row] = []
    notes = [*_missing_sets(plan), *(note for one in stages for note in _notes_about(one, plan))]
    parts = {name: part for name, part in _PARTS.items() if _is_measured(name, plan)}
    shares = {name: _SHARES.get(name, 1) for name in parts}
    with progress("audit", sum(shares.values()) * len(stages), "%") as bar:
        for one in stages:
            for name, part in parts.items():
                bar.set_postfix_str(name)
                try:
                    rows += part(one, plan)
                except WordbiasError as error:
                    notes.append(f"{one.name}: {name} was not measured: {error}")
                bar.update(shares[name])
    return Audited(rows, [*notes, *_model_notes(stages, plan, rows)])


def slow_parts(panels: Sequence[Panel], plan: Plan) -> list[str]:
    """Return the parts that take minutes on vectors of this many words."""
    if max(len(panel.embedding) for panel in panels) <= MANY_WORDS:
        return []
    return [name for name in ("gipe", "quality") if _is_measured(name, plan)]


def _is_measured(name: str, plan: Plan) -> bool:
    """Return whether a part is included and has the data it needs; components belong to MIDB."""
    needs = {"quality": bool(plan.sets), "mab": plan.model is not None}
    needs["sembias"] = plan.sembias is not None
    return plan.includes({"components": "midb", "change": "misp"}.get(name, name)) and needs.get(
        name, True
    )


def _missing_sets(plan: Plan) -> list[str]:
    """Return a note on parts that need files that were not given, unless they are skipped."""
    is_given = {"sembias": plan.sembias is not None, "quality": bool(plan.sets)}
    found = [
        (BY_KEY[part].needs, BY_KEY[part].fetch)
        for part, known in is_given.items()
        if not known and plan.includes(part)
    ]
    if not found:
        return []
    names, sets = zip(*found, strict=True)
    return [
        f"not measured: {', '.join(names)}: the test sets are not part of wordbias; get them with: "
        f"wordbias fetch {' '.join(sets)}"
    ]


def _notes_about(one: Stages, plan: Plan) -> list[str]:
    missing = resolve(plan.words, one.before.embedding).missing
    notes = [
        *_after_notes(one),
        *(one.fitted.warnings if one.fitted else ()),
        *([f"it lacks words of --words: {', '.join(missing)}"] if missing else []),
    ]
    return [f"{one.name}: {note}" for note in notes]


def _after_notes(one: Stages) -> list[str]:
    if not one.reason:
        return []
    if one.after is None:
        return [f"nothing was measured after MISP: {one.reason}"]
    return [f"“after” is hard debiasing (wordbias debias hard), not MISP: {one.reason}"]


def _model_notes(stages: Sequence[Stages], plan: Plan, rows: Sequence[Row]) -> list[str]:
    """Return notes if the NLI model was trained on other vectors."""
    if plan.model is None or not any(row.measure == "mab-distance" for row in rows):
        return []
    return [note for one in stages for note in notes_on_vectors(plan.model, one.before.embedding)]


# Parts


def _family_part(family: Family) -> Part:
    def part(one: Stages, plan: Plan) -> list[Row]:
        found: list[Row] = []
        levels: Values = {}
        for stage, panel in one.panels():
            measured = among(panel, plan.gipe_words) if family.key == "gipe" else panel
            inputs = MeasureInputs(measured, plan.sembias, plan.isolated)
            own = {"reference": "self"} if stage == "after" and family.own_axis else {}
            about = {"among": len(measured.embedding)} if family.key == "gipe" else {}
            found += one.rows(stage, evaluate_inputs(inputs, [family.key]), **own, **about)
            if stage == "before" and plan.chance:
                levels = chance_of(inputs, [family.key])
        return with_chance(found, levels)

    return part


def _components(one: Stages, plan: Plan) -> list[Row]:
    """Return the rows of the fit, and the mean contribution of each component to MIDB.

    The components are those of the vectors before at both stages, so that the part ``1 − a_i`` that
    MISP left along them can be seen.
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


_PARTITIONS = 10_000  # of the larger queries of WEAT; `wordbias weat` draws more


def _weat(one: Stages, plan: Plan) -> list[Row]:
    return [
        row
        for stage, panel in one.panels()
        for row in one.rows(stage, query_rows(panel, _PARTITIONS))
    ]


def _quality(one: Stages, plan: Plan) -> list[Row]:
    return [
        row
        for stage, panel in one.panels()
        for row in one.rows(stage, quality(panel.embedding, plan.sets, seed=one.before.seed))
    ]


_MAB_SETS = ("explicit", "occupations")


def _mab(one: Stages, plan: Plan) -> list[Row]:
    """Score the marked sets with the same model at both stages.

    Raises
    ------
    WordbiasError
        If the model was trained on other dimensions, a word is missing, or the attribute has no
        groups of people that a sentence can be about.
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
    """Return the published sets; for another attribute its sets, of known words."""
    if panel.attribute == Attribute.load():
        return [build(name) for name in _MAB_SETS]
    sets = marked_sets(panel.attribute)
    chosen = [name for name in _MAB_SETS if name in sets] or sets
    tests = [build(name, attribute=panel.attribute) for name in chosen]
    return [with_known_words(panel.embedding, test, lower=model.lower) for test in tests]


_PARTS: dict[str, Part] = {
    **{key: _family_part(BY_KEY[key]) for key in STANDARD},
    "components": _components,
    "weat": _weat,
    "occupations": occupation_rows,
    "map": map_rows,
    "neighbours": neighbour_rows,
    "change": change_rows,
    "quality": _quality,
    "mab": _mab,
}
