"""The work of `wordbias sweep`: load two models and their data, fit, measure all settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wordbias.commands.sweep_plan import PARTS, Asked
from wordbias.contextual.fitting import Recipe
from wordbias.contextual.stereoset.gsss import Gsss, load_gsss
from wordbias.contextual.stereoset.repair import repair
from wordbias.contextual.stereoset.scores import extremes
from wordbias.contextual.stereoset.settings import Settings
from wordbias.contextual.table7 import Entry, load_table
from wordbias.contextual.text_pairs import load_text_pairs
from wordbias.contextual.viability import Viability
from wordbias.optional import need
from wordbias.resources import located
from wordbias.results import Row
from wordbias.workers import Workers


@dataclass(frozen=True)
class Swept:
    """What a sweep found, or a table of one.

    Attributes
    ----------
    entries
        One a setting.
    rows
        The same with intervals; none of a table.
    inputs
        What a report says of models and files.
    """

    entries: list[Entry]
    rows: list[Row]
    inputs: dict[str, Any]

    @classmethod
    def of(cls, asked: Asked) -> Swept:
        """Read a table, or measure."""
        if asked.table_file is not None:
            inputs = {"table": {"path": asked.table_file}}
            return cls(load_table(asked.table_file), [], inputs)
        return _measured(asked)


def _measured(asked: Asked) -> Swept:
    """Load what is read, sooner what is refused sooner, and sweep."""
    study = _need("study")
    gsss = load_gsss(located(str(asked.stereoset_file)))
    extremes(len(gsss.triples), asked.share, asked.rounding)
    data = study.Data(
        _versions(gsss, asked.repair),
        asked.test_set(),
        load_text_pairs(located(str(asked.snli_file))),
    )
    parts = _parts(asked)
    how = _need("measuring").How(
        Settings(asked.share, asked.rounding, seed=asked.seed),
        asked.parity,
        Viability(None, asked.drop, asked.relative),
    )
    workers = Workers(asked.jobs, asked.backend)
    found = study.sweep(*parts.values(), data, how, workers)
    inputs = {name: study.facts(part) for name, part in parts.items()}
    inputs["stereoset"] = {"path": gsss.path, "sha256": gsss.sha256, "triples": len(gsss.triples)}
    inputs["snli"] = data.snli.to_dict()
    return Swept(found.entries, found.rows, inputs)


def _parts(asked: Asked) -> dict[str, Any]:
    """Load both models, and fit on each."""
    study, source = _need("study"), _need("runner").Source
    recipe = Recipe(asked.tokens, seed=asked.seed)
    fitting = study.Fitting(recipe, asked.pairs, asked.text, asked.limit, asked.attribute_file)
    next_label = (asked.next_label,) if asked.next_label else ()
    labels = tuple(asked.labels or ())
    sources = {
        PARTS[0]: source("next sentence", asked.model, next_label, asked.device),
        PARTS[1]: source("inference", asked.nli_model, labels, asked.device),
    }
    judges = {name: one.load() for name, one in sources.items()}
    return {
        name: study.Part(sources[name], judge, fitting.fit(judge), asked.part_file(name))
        for name, judge in judges.items()
    }


def _versions(gsss: Gsss, repaired: bool) -> dict[str, Gsss]:
    return {"original": gsss} | ({"repaired": repair(gsss).gsss} if repaired else {})


def _need(module: str) -> Any:
    return need(f"wordbias.contextual.sweep.{module}", extra="contextual", purpose="A sweep")
