"""The step of `wordbias.sweep` for a task of the user: a setting chosen, and reported on others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from wordbias.contextual.fitting import ONE_SIDED, Recipe
from wordbias.contextual.sent_debias import fit_with_baseline
from wordbias.contextual.table7 import Entry
from wordbias.errors import UsageError, WordbiasError
from wordbias.functions.inputs import write_records
from wordbias.functions.sweep_task_rows import TaskSweep, retrained_rows
from wordbias.functions.sweep_task_text import (
    answer_lines,
    choice_table,
    closing_lines,
    rank_table,
    reported_table,
    retrained_table,
)
from wordbias.functions.task_texts import (
    LabelledTexts,
    TaskColumns,
    parts_of_task,
    read_task,
    refuse_same_units,
    without_same_texts,
)
from wordbias.methods.settings import ROW_METHODS, ROW_SETTINGS
from wordbias.models.model_like import ModelLike, name_of
from wordbias.models.texts import TextsLike
from wordbias.outcomes.choice import LEAST, Limit, Rule
from wordbias.outcomes.confusion import in_order
from wordbias.pages.sweep_plots import plot_accuracy_gap
from wordbias.rendering import how_many
from wordbias.reports import Report
from wordbias.results import Row
from wordbias.settings import ChainsLike, Configured, only_method, read_chains
from wordbias.workers import Workers

if TYPE_CHECKING:
    from wordbias.models.text_classifier import TextClassifier

DRAWS = 20
"""Number of random removals by default: the fewest with which p can be below .05."""
MOST_DRAWS = 1000
"""Largest number of random removals."""
NO_RETURN = "--retrain: nothing was removed, so that nothing can come back"


class TaskFiles(NamedTuple):
    """Texts to choose on, to report on, and to train the last layer anew on; the first are needed.

    Without texts to report on, half of the first are.
    """

    task: LabelledTexts
    test: LabelledTexts | None
    retrain: LabelledTexts | None

    @classmethod
    def read(
        cls,
        task: TextsLike,
        test: TextsLike | None,
        retrain: TextsLike | None,
        columns: TaskColumns,
        skip_bad: bool,
    ) -> TaskFiles:
        """Read the files, of which no two have a text in common."""
        read = partial(read_task, columns=columns, skip_bad=skip_bad)
        apart = partial(without_same_texts, skip_bad=skip_bad)
        given = read(task, grouped=True)
        others = training = None
        if test is not None:
            others = apart(read(test, grouped=True), given, "--test", "--task")
            refuse_same_units(others, given)
        if retrain is not None:
            training = apart(read(retrain, grouped=False), given, "--retrain", "--task")
            training = apart(training, others, "--retrain", "--test")
        return cls(given, others, training)

    @property
    def by_name(self) -> dict[str, LabelledTexts]:
        """Those that there are."""
        return {name: one for name, one in self._asdict().items() if one is not None}

    def groups(self, values: Sequence[str] | None) -> list[str]:
        """Return the groups to compare, the first minus the second."""
        found = {*self.task.groups, *(self.test.groups if self.test else ())}
        groups = list(values or in_order(found))
        if len(groups) < 2:
            raise WordbiasError(
                f"{self.task.texts.name}: all texts are of one group, {groups[0]!r}; name the "
                "column of the groups with --sensitive"
            )
        return groups

    def named_for(self, model: TextClassifier) -> TextClassifier:
        """Return a model with its classes named as the files name them; see `TextClassifier`."""
        for one in self.by_name.values():
            model = model.named_for(set(one.labels), one.texts.name)
        return model


def sweep_task(
    model: ModelLike,
    files: TaskFiles,
    columns: TaskColumns,
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
    """Sweep a classifier on a task; see `wordbias.sweep`.

    Parameters
    ----------
    fitted
        Pairs, text, groups and limit of the fit to pairs of sentences.
    entries
        Table of an earlier sweep, to correlate ranks with.
    stores
        Files of partial results, by part.
    """
    from wordbias.contextual.sweep import task as engine
    from wordbias.contextual.sweep.run import ModelSource

    chains = _methods(methods)
    source = ModelSource("classes", model, device=device)
    loaded = files.named_for(engine.load_task_model(source))
    groups = files.groups(columns.values)
    examples = files.task.examples(loaded.classes, groups)
    examples.check(files.task.texts.name, LEAST if files.test else 2 * LEAST)
    chosen_on, reported_on, whole, texts = parts_of_task(
        files.task, files.test, examples, recipe.seed
    )
    for part, where in ((chosen_on, files.task), (reported_on, files.test or files.task)):
        whole.part(part).check(where.texts.name)  # units may be divided less evenly
    (adapter,) = fit_with_baseline(
        loaded.model, loaded.tokenizer, recipe, name=loaded.name, **fitted
    )
    swept = engine.TaskModel(source, loaded, adapter, workers)
    found = engine.predict_all(
        swept, texts, chosen_on, whole.of, groups, chains,
        range(recipe.seed, recipe.seed + null), seed=recipe.seed, file=stores.get("classes"),
    )  # fmt: skip
    subject = Path(name_of(model)).name
    sweep = TaskSweep(
        subject, whole, found, chosen_on, reported_on, by, limit, rule, recipe.seed, columns.unit
    )
    reported = sweep.reported_rows()
    rows = [*sweep.choice_rows(), *reported]
    returned, notes = list[Row](), [*found.notes, *files_notes(files)]
    if files.retrain is not None and sweep.place:
        store = stores.get("retrained")
        returned = retrained_rows(swept, sweep, texts, files.retrain, reported, store)
    notes += [NO_RETURN] * (files.retrain is not None and not returned)
    ranks = sweep.rank_rows(entries) if entries else []
    written, unwritten = _save(sweep, save_transform)
    inputs: dict[str, Any] = {subject: {"path": loaded.name, **adapter.fingerprint.to_dict()}}
    inputs[subject] |= {"device": loaded.device, "fitting": dict(adapter.facts)}
    return Report(
        inputs={**inputs, **{name: one.facts() for name, one in files.by_name.items()}},
        rows=[*rows, *returned, *ranks],
        tables=[
            choice_table(rows, by, limit),
            reported_table(rows, null),
            *([retrained_table(returned)] if returned else []),
            *([rank_table(ranks)] if ranks else []),
        ],
        heading=[
            f"Sweep of {subject} on {files.task.texts.name}: "
            f"{how_many(len(files.task.labels), 'text')}, "
            f"{how_many(len(set(files.task.labels)), 'class', 'classes')}, "
            f"{(' − ' if len(groups) == 2 else ', ').join(groups)}.",
            *answer_lines([*rows, *returned], by, limit, len(found.names) - 1, rule is not None),
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


def files_notes(files: TaskFiles) -> list[str]:
    """Return notes on what was left out of the files."""
    found = []
    for one in files.by_name.values():
        if one.left_out:
            found.append(f"{one.texts.name}: {how_many(one.left_out, 'text')} of other groups")
        if one.texts.dropped:
            dropped = how_many(one.texts.dropped, "row")
            found.append(f"{one.texts.name}: {dropped} dropped, the first: {one.texts.problem}")
    return found


def _methods(methods: ChainsLike | None) -> dict[str, Configured]:
    """Return the methods to try at the sentence, by their texts."""
    chains = {} if methods is None else read_chains(methods, ROW_METHODS)
    found = {}
    for name, chain in chains.items():
        if len(chain) != 1:
            raise UsageError(
                f"--methods: {name}: methods are tried one by one here; put spaces between them"
            )
        only_method(name, ROW_METHODS, ROW_SETTINGS)
        found[name] = chain[0]
    return found


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
