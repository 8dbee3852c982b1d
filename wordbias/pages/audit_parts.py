"""Parts of an audit: each measures one stage, the vectors before or those of a column."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from wordbias.arrays import blocks
from wordbias.errors import WordbiasError
from wordbias.measures.associations import query_rows
from wordbias.measures.chance import Values
from wordbias.measures.direction import Biased
from wordbias.measures.evaluate import chance_values, evaluate, families_together
from wordbias.measures.held_out_probes import HeldOut, read_groups
from wordbias.measures.midb import contributions
from wordbias.measures.panel import Panel
from wordbias.measures.recoverability import WORDS
from wordbias.measures.registry import BY_KEY, FAMILY_OF, STANDARD, ideal
from wordbias.methods.classes import default_classes, labelled_words
from wordbias.methods.diagnosis import REMOVED, Diagnosis
from wordbias.methods.words import listed_words
from wordbias.nli.files import Model
from wordbias.nli.mab import Settings, mab_rows
from wordbias.nli.scoring import score_set
from wordbias.nli.test_sets import TestSet, build, marked_sets, with_known_words
from wordbias.pages.stages import Plan, Stage, among
from wordbias.pages.word_rows import change_rows, map_rows, neighbour_rows, occupation_rows
from wordbias.results import Row, with_details
from wordbias.statistics import resampled_means
from wordbias.word_tasks import quality
from wordbias.wordlists import Attribute

Part = Callable[[Stage, Plan], list[Row]]


def measure_part(stage: Stage, plan: Plan, part: str) -> tuple[list[Row], Values]:
    """Measure a part of one stage; return its rows and, with GIPE before, its chance levels."""
    # GIPE's chance levels share the neighbours with its values.
    if part not in STANDARD:
        return _PARTS[part](stage, plan), {}
    panel = _panel(stage, plan, part)
    rows = _family_rows(stage, plan, panel, part)
    shared = stage.is_first and plan.chance and part == "gipe"
    return rows, chance_values(panel, [part]) if shared else {}


def measure_chance(stage: Stage, plan: Plan, part: str) -> Values:
    """Return the chance levels of the families that are evaluated together with one."""
    return chance_values(_panel(stage, plan, part), _families(plan, part))


def has_levels(part: str, plan: Plan) -> bool:
    """Return whether a part has chance levels that `measure_chance` gives."""
    return plan.chance and part in STANDARD and part != "gipe"


def parts_of(plan: Plan, *, is_first: bool = False) -> list[str]:
    """Return the parts that are measured, without those that compare if the stage `is_first`."""
    # Families with one evaluator are the first of them.
    measured = [key for key in STANDARD if is_measured(key, plan)]
    families = [together[0].key for together in families_together(measured)]
    others = (name for name in _PARTS if not (is_first and name in _COMPARING))
    return [*families, *(name for name in others if is_measured(name, plan))]


def is_measured(name: str, plan: Plan) -> bool:
    """Return whether a part is included and has the data it needs."""
    # Components belong to MIDB, probes on words that no method was fitted to to recoverability.
    needs = {"quality": bool(plan.sets), "mab": plan.model is not None}
    needs["sembias"] = plan.sembias is not None
    within = {"components": "midb", "held-out": "recoverability"}
    included = plan.includes(within.get(name, name))
    return included and needs.get(name, True)


def _panel(stage: Stage, plan: Plan, part: str) -> Panel:
    return among(stage.panel, plan.gipe_words) if part == "gipe" else stage.panel


def _families(plan: Plan, part: str) -> list[str]:
    """Return the measured families that are evaluated together with one."""
    return [
        key for key in STANDARD if BY_KEY[key].rows == BY_KEY[part].rows and is_measured(key, plan)
    ]


def _family_rows(stage: Stage, plan: Plan, panel: Panel, part: str) -> list[Row]:
    rows = []
    for row in evaluate(panel, _families(plan, part)):
        own = not stage.is_first and FAMILY_OF[row.measure].own_axis
        about: dict[str, Any] = {"reference": "self"} if own else {}
        about |= {"among": len(panel.embedding)} if part == "gipe" else {}
        rows.append(replace(row, subject=stage.name, details={**about, **row.details}))
    return rows


def _components(stage: Stage, plan: Plan) -> list[Row]:
    """Return the components of the vectors before, and their mean contribution to MIDB."""
    # They stay those of the vectors before at all stages, to show what a method left along them:
    # MISP leaves the part 1 − a_i.
    before, panel = stage.before, stage.panel
    try:
        diagnosis = Diagnosis.of(
            before.embedding, before.attribute, before.dims, centre=before.centre, seed=before.seed
        )
    except WordbiasError:  # MIDB has the reason
        return []
    stage.of_one_space("the contributions of components are measured")
    values = np.concatenate(
        [
            np.zeros((0, diagnosis.subspace.dims)),
            *(np.abs(contributions(x, [diagnosis.subspace])) for x in blocks(panel.vectors)),
        ]
    )
    samples = resampled_means(values, panel.rng())
    rows = diagnosis.component_rows() if stage.is_first else _removed_rows(stage)
    for i, value in enumerate(values.mean(0).tolist()):
        about = {"component": i + 1, "reference": "before", "n": len(values)}
        measured = {**about, **ideal("midb-component")}
        rows.append(stage.row("midb-component", value, samples[:, i], **measured))
    return rows


def _removed_rows(stage: Stage) -> list[Row]:
    """Return the share of the groups' difference that MISP or MHD alone removed."""
    if stage.chain is None or len(stage.chain.parts) > 1:
        return []
    return [row for row in stage.chain.parts[0].found if row.measure == REMOVED]


def _held_out(stage: Stage, plan: Plan) -> list[Row]:
    """Read the lean of words in the original off words that no method was fitted to."""
    chosen, first = _unfitted(stage.before)
    if stage.is_first:
        return first.rows(stage.name, {})
    vectors = stage.panel.vectors[chosen.rows]
    held_out = read_groups(vectors, chosen.labels, seed=stage.before.seed)
    return held_out.rows(stage.name, {}, before=first)


@lru_cache(maxsize=1)
def _unfitted(before: Panel) -> tuple[Biased, HeldOut]:
    """Return words that lean most and that no method was fitted to, and what probes read."""
    # INLP and LEACE learn from the words that lean most, but for the 30 % that each holds out, and
    # the other methods from words of the attribute. None of these is read, nor any that carries it
    # by definition, which methods may not change. With other settings, or after another method,
    # INLP and LEACE may learn from other words.
    chosen, attribute = before.most_biased(WORDS), before.attribute
    fitted = listed_words(attribute)
    for classes in {len(attribute.groups), default_classes(attribute)}:  # of LEACE, and of INLP
        with suppress(WordbiasError):  # which cannot be fitted either
            words = labelled_words(before.embedding, attribute, classes=classes, seed=before.seed)
            fitted |= {words.words[i] for i in words.learned.tolist()}
    unfitted = [before.vocabulary[row] not in fitted for row in chosen.rows.tolist()]
    chosen = Biased(chosen.rows[unfitted], chosen.labels[unfitted])
    vectors = before.vectors[chosen.rows]
    return chosen, read_groups(vectors, chosen.labels, seed=before.seed)


_PARTITIONS = 10_000  # of the larger queries of WEAT; `wordbias weat` draws more


def _weat(stage: Stage, plan: Plan) -> list[Row]:
    return [replace(row, subject=stage.name) for row in query_rows(stage.panel, _PARTITIONS)]


def _quality(stage: Stage, plan: Plan) -> list[Row]:
    seed, name = stage.before.seed, stage.name
    return [
        measured.row for measured in quality(stage.panel.embedding, plan.sets, seed=seed, name=name)
    ]


_MAB_SETS = ("explicit", "occupations")


def _mab(stage: Stage, plan: Plan) -> list[Row]:
    """Score the marked sets with the same model at all stages."""
    if plan.model is None:
        return []
    settings = Settings(seed=stage.before.seed)
    all_rows: list[Row] = []
    for test in _tests(stage.before, plan.model):
        scored = score_set(plan.model, stage.panel.embedding, test)
        rows = mab_rows(test, scored.probabilities, stage.name, settings)
        all_rows += with_details(rows, {"missing": list(scored.unknown)})
    return all_rows


def _tests(panel: Panel, model: Model) -> list[TestSet]:
    """Return the published sets; for another attribute its sets, of known words."""
    if panel.attribute == Attribute.load():
        return [build(name) for name in _MAB_SETS]
    sets = marked_sets(panel.attribute)
    chosen = [name for name in _MAB_SETS if name in sets] or sets
    tests = [build(name, attribute=panel.attribute) for name in chosen]
    return [with_known_words(panel.embedding, test, lower=model.lower) for test in tests]


_PARTS: dict[str, Part] = {
    "components": _components,
    "held-out": _held_out,
    "weat": _weat,
    "occupations": occupation_rows,
    "map": map_rows,
    "neighbours": neighbour_rows,
    "change": change_rows,
    "quality": _quality,
    "mab": _mab,
}
"""Parts besides the families of measures; they follow them in the rows."""
_COMPARING = ("neighbours", "change")
"""Parts that compare a column with the vectors before."""
