"""The step of `wordbias.sweep` for a task of the user: a setting chosen, and reported on others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from wordbias.contextual.fitting import ONE_SIDED, Recipe
from wordbias.contextual.sent_debias import fit_with_baseline
from wordbias.contextual.table7 import Entry
from wordbias.errors import UsageError
from wordbias.functions.inputs import write_records
from wordbias.functions.sweep_task_rows import TaskSweep, retrained_rows
from wordbias.functions.sweep_task_tables import (
    answer_lines,
    choice_table,
    closing_lines,
    rank_table,
    reported_table,
    retrained_table,
)
from wordbias.functions.task_texts import TaskFiles
from wordbias.methods.settings import ROW_METHODS, ROW_SETTINGS
from wordbias.models.model_like import ModelLike, name_of
from wordbias.outcomes.choice import LEAST, Limit, Rule
from wordbias.pages.sweep_plots import plot_accuracy_gap
from wordbias.rendering import how_many
from wordbias.reports import Report
from wordbias.results import Row
from wordbias.settings import ChainsLike, Configured, only_method, read_chains
from wordbias.workers import Workers

DRAWS = 20
"""Number of random removals by default: the fewest with which p can be below .05."""
MOST_REMOVALS = 1000
"""Largest number of random removals."""
NO_RETURN = "--retrain: nothing was removed, so that nothing can come back"


def sweep_task(
    model: ModelLike,
    files: TaskFiles,
    recipe: Recipe,
    fitted: Mapping[str, Any],
    *,
    by: str,
    limit: Limit,
    rule: Rule | None,
    methods: ChainsLike | None,
    null: int,
    entries: Sequence[Entry],
    save_transform: str | None,
    output: str | None,
    stores: Mapping[str, Path],
    device: str | None,
    workers: Workers,
) -> Report:
    """Sweep a classifier on a task; see `wordbias.sweep`."""
    # `fitted` has the pairs, text, groups and limit of the fit. `entries` are models of an earlier
    # sweep, to correlate ranks with.
    from wordbias.contextual.sweep import task as engine
    from wordbias.contextual.sweep.run import ModelSource

    chains = _methods(methods)
    source = ModelSource("classes", model, device=device)
    loaded = files.named_for(engine.load_task_model(source))
    groups = files.groups()
    examples = files.task.examples(loaded.classes, groups)
    examples.check(files.task.texts.name, LEAST if files.test else 2 * LEAST)
    chosen_on, reported_on, whole, texts = files.parts(examples, recipe.seed)
    for part, where in ((chosen_on, files.task), (reported_on, files.test or files.task)):
        whole.part(part).check(where.texts.name)  # units may be divided less evenly
    (adapter,) = fit_with_baseline(
        loaded.model, loaded.tokenizer, recipe, name=loaded.name, **fitted
    )
    swept = engine.TaskModel(source, loaded, adapter, workers)
    predictions = engine.predict_all(
        swept, texts, chosen_on, whole.of, groups, chains,
        range(recipe.seed, recipe.seed + null), seed=recipe.seed, file=stores.get("classes"),
    )  # fmt: skip
    subject = Path(name_of(model)).name
    sweep = TaskSweep(
        subject,
        whole,
        predictions,
        chosen_on,
        reported_on,
        by,
        limit,
        rule,
        recipe.seed,
        files.task.columns.unit,
    )
    reported = sweep.reported_rows()
    rows = [*sweep.choice_rows(), *reported]
    returned, notes = list[Row](), [*predictions.notes, *files.notes()]
    if files.retrain is not None and sweep.place:
        store = stores.get("retrained")
        returned = retrained_rows(swept, sweep, texts, files.retrain, reported, store)
    notes += [NO_RETURN] * (files.retrain is not None and not returned)
    ranks = sweep.rank_rows(entries) if entries else []
    allowed = limit if rule is None else None
    written, unwritten = _save(sweep, save_transform)
    inputs: dict[str, Any] = {subject: {"path": loaded.name, **adapter.fingerprint.to_dict()}}
    inputs[subject] |= {"device": loaded.device, "fitting": dict(adapter.facts)}
    return Report(
        inputs={**inputs, **{name: task_file.facts() for name, task_file in files.by_name.items()}},
        rows=[*rows, *returned, *ranks],
        tables=[
            choice_table(rows, by, allowed),
            reported_table(rows, null),
            *([retrained_table(returned)] if returned else []),
            *([rank_table(ranks)] if ranks else []),
        ],
        heading=[
            f"Sweep of {subject} on {files.task.texts.name}: "
            f"{how_many(len(files.task.labels), 'text')}, "
            f"{how_many(len(set(files.task.labels)), 'class', 'classes')}, "
            f"{(' − ' if len(groups) == 2 else ', ').join(groups)}.",
            *answer_lines([*rows, *returned], by, allowed, len(predictions.names) - 1),
        ],
        closing=[
            *closing_lines(files.test is not None),
            *written,
            *write_records(output, sweep.records()),
        ],
        seed=recipe.seed,
        notes=[*notes, *unwritten, *[ONE_SIDED] * recipe.one_sided],
        picture=partial(plot_accuracy_gap, sweep.points(), by=by),
    )


def _methods(methods: ChainsLike | None) -> dict[str, Configured]:
    """Return the methods to try at the sentence, by their texts."""
    chains = {} if methods is None else read_chains(methods, ROW_METHODS)
    configured = {}
    for name, chain in chains.items():
        if len(chain) != 1:
            raise UsageError(
                f"--methods: {name}: methods are tried one by one here; put spaces between them"
            )
        only_method(name, ROW_METHODS, ROW_SETTINGS)
        configured[name] = chain[0]
    return configured


def _save(sweep: TaskSweep, save_transform: str | None) -> tuple[list[str], list[str]]:
    """Write the chosen setting; return the line that says so, or the note that there is none."""
    if save_transform is None:
        return [], []
    if not sweep.place:
        return [], [f"{save_transform}: not written, as nothing was chosen"]
    sweep.found.adapters[sweep.chosen].save(save_transform)
    return [
        f"Written: {save_transform}. wordbias predict --adapter removes it, and wordbias apply "
        "writes a folder of the model with it, if its sites can be folded."
    ], []
