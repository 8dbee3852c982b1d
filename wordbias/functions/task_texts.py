"""Labelled texts of a task with the group of each, from files or memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordbias.columns import MISSING
from wordbias.errors import UsageError, WordbiasError, listed
from wordbias.models.texts import Choice, Texts, TextsLike, load_texts
from wordbias.outcomes.choice import Examples, halves
from wordbias.outcomes.confusion import in_order
from wordbias.rendering import how_many

if TYPE_CHECKING:
    from wordbias.models.text_classifier import TextClassifier

Places = NDArray[np.intp]


@dataclass(frozen=True)
class TaskColumns:
    """Names of the columns of a task, and the groups to compare."""

    labels: str
    sensitive: Sequence[str]
    text: str | None
    values: Sequence[str] | None
    unit: str | None

    @property
    def named(self) -> list[str]:
        """Names of the columns of the class, the groups and the unit."""
        return [self.labels, *self.sensitive, *([] if self.unit is None else [self.unit])]


@dataclass(frozen=True, eq=False)
class LabelledTexts:
    """Texts of a task with the class and the group of each."""

    texts: Texts  # the texts with the columns that `columns` names
    columns: TaskColumns
    left_out: int = 0  # number of texts of other groups

    @cached_property
    def labels(self) -> list[str]:
        """Class of each text."""
        return self.texts.columns[self.columns.labels].cells()

    @cached_property
    def groups(self) -> list[str]:
        """Group of each text; with several columns of groups, one of each."""
        several = (self.texts.columns[name].cells() for name in self.columns.sensitive)
        return ["/".join(row_groups) for row_groups in zip(*several, strict=True)]

    @cached_property
    def units(self) -> list[str] | None:
        """Unit of each text, if there are units."""
        unit = self.columns.unit
        return None if unit is None else self.texts.columns[unit].cells()

    def examples(self, classes: Sequence[str], groups: Sequence[str]) -> Examples:
        """Return the classes and groups as numbers."""
        place, of = ({name: i for i, name in enumerate(names)} for names in (classes, groups))
        labels = np.array([place[name] for name in self.labels], np.intp)
        of_each = np.array([of[name] for name in self.groups], np.intp)
        return Examples(tuple(classes), tuple(groups), labels, of_each, self.units)

    def facts(self) -> dict[str, Any]:
        """Return the file for the inputs of a report."""
        return {"path": self.texts.name, "sha256": self.texts.sha256(), "n": len(self.texts)}


def read_task(
    source: TextsLike, columns: TaskColumns, *, grouped: bool, skip_bad: bool
) -> LabelledTexts:
    """Read labelled texts."""
    wanted = columns.named if grouped else [columns.labels]
    if len(set(wanted)) < len(wanted):
        raise UsageError("--labels, --sensitive and --unit name different columns")
    read = load_texts(source, Choice(text=columns.text, keep=tuple(wanted), skip_bad=skip_bad))
    empty = {
        i: f"has no {name!r}"
        for name in reversed(wanted)
        for i, cell in enumerate(read.columns[name].cells())
        if cell.strip() in MISSING
    }
    empty |= {i: "has no text" for i, text in enumerate(read.texts) if not text.strip()}
    labelled = LabelledTexts(read.without(empty, skip_bad), columns)
    if not grouped or columns.values is None:
        return labelled
    for value in columns.values:
        if value not in labelled.groups:
            raise WordbiasError(
                f"--values: {read.name}: no text is of the group {value!r}; groups there are: "
                f"{listed(in_order(set(labelled.groups)))}"
            )
    chosen = [i for i, group in enumerate(labelled.groups) if group in columns.values]
    left_out = len(labelled.groups) - len(chosen)
    return LabelledTexts(labelled.texts.part(chosen), columns, left_out)


def without_same_texts(
    labelled: LabelledTexts,
    others: LabelledTexts | None,
    option: str,
    of_others: str,
    skip_bad: bool,
) -> LabelledTexts:
    """Refuse, or with `skip_bad` leave out, texts that are in another file."""
    known = set(() if others is None else others.texts.texts)
    same = [i for i, text in enumerate(labelled.texts.texts) if text in known]
    if not same:
        return labelled
    if not skip_bad or len(same) == len(labelled.labels):
        where = f"{labelled.texts.unit} {labelled.texts.lines[same[0]]}"
        raise WordbiasError(
            f"{option}: {labelled.texts.name}: {where}: "
            f"{how_many(len(same), 'text is', 'texts are')} in {of_others} as well, the first "
            "here; leave them out, or drop them with --skip-bad"
        )
    dropped = dict.fromkeys(same, f"is in {of_others} as well")
    return replace(labelled, texts=labelled.texts.without(dropped, skip_bad))


def refuse_same_units(tested: LabelledTexts, others: LabelledTexts) -> None:
    """Refuse units of --test that have texts in --task as well."""
    known = set(others.units or ())
    same = [i for i, unit in enumerate(tested.units or ()) if unit in known]
    if same:
        units = [(tested.units or ())[i] for i in same]
        where = f"{tested.texts.unit} {tested.texts.lines[same[0]]}"
        shared = how_many(len(set(units)), "unit has", "units have")
        raise WordbiasError(
            f"--unit: {tested.texts.name}: {where}: {shared} texts in --task as well, the first is "
            f"{units[0]!r}; keep the texts of a unit in one file, or leave out --test: then "
            "--task is divided by units"
        )


def joined_units(units: Sequence[str], texts: Sequence[str]) -> list[str]:
    """Return a unit for each text; units that have a text in common are one."""
    first: dict[str, str] = {}
    above: dict[str, str] = {unit: unit for unit in units}

    def top(unit: str) -> str:
        while above[unit] != unit:
            above[unit] = above[above[unit]]
            unit = above[unit]
        return unit

    for unit, text in zip(units, texts, strict=True):
        above[top(unit)] = top(first.setdefault(text, unit))
    return [top(unit) for unit in units]


class TaskFiles(NamedTuple):
    """Texts to choose on, to report on, and to train anew on; only the first are needed."""

    # Without texts to report on, half of the first are.

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
        """Read the files, and refuse two that have a text in common."""
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
        return {name: labelled for name, labelled in self._asdict().items() if labelled is not None}

    def groups(self) -> list[str]:
        """Return the groups to compare, the first minus the second."""
        present = {*self.task.groups, *(self.test.groups if self.test else ())}
        groups = list(self.task.columns.values or in_order(present))
        if len(groups) < 2:
            raise WordbiasError(
                f"{self.task.texts.name}: all texts are of one group, {groups[0]!r}; name the "
                "column of the groups with --sensitive"
            )
        return groups

    def named_for(self, model: TextClassifier) -> TextClassifier:
        """Return a model with its classes named as the files name them; see `TextClassifier`."""
        for labelled in self.by_name.values():
            model = model.named_for(set(labelled.labels), labelled.texts.name)
        return model

    def parts(self, examples: Examples, seed: int) -> tuple[Places, Places, Examples, list[str]]:
        """Return the texts to choose on and to report on, all examples, and all texts."""
        texts, units = list(self.task.texts.texts), self.task.units
        if self.test is None:
            together = texts if units is None else joined_units(units, texts)
            return *halves(examples, together, seed), examples, texts
        more = self.test.examples(examples.classes, examples.groups)
        whole = replace(
            examples,
            labels=np.concatenate([examples.labels, more.labels]),
            of=np.concatenate([examples.of, more.of]),
            units=None if units is None else [*units, *(self.test.units or ())],
        )
        n = len(examples)
        texts += self.test.texts.texts
        return np.arange(n), np.arange(n, len(texts)), whole, texts

    def notes(self) -> list[str]:
        """Return notes on what was left out."""
        remarks = []
        for labelled in self.by_name.values():
            if labelled.left_out:
                remarks.append(
                    f"{labelled.texts.name}: {how_many(labelled.left_out, 'text')} of other groups"
                )
            remarks += [f"{labelled.texts.name}: {note}" for note in labelled.texts.notes()]
        return remarks
