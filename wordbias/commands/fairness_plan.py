"""What `wordbias fairness` was asked for: what is read, how it is measured, what is refused."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import click

from wordbias.outcomes.confusion import Confusion, listed
from wordbias.outcomes.costs import load_costs
from wordbias.outcomes.measuring import EVALUATED
from wordbias.outcomes.metrics import Settings
from wordbias.outcomes.predictions import Columns, load_columns
from wordbias.outcomes.rates import Values
from wordbias.outcomes.shares import load_shares, shares_for, shares_of


@dataclass(frozen=True, eq=False)
class Shares:
    """The share of the first group in each class, where it is from, and what to know of it."""

    source: str = EVALUATED
    values: Values | None = None
    inputs: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Asked:
    """What was asked for."""

    predictions: str
    label: str
    predicted: str
    group: str
    groups: list[str] | None
    train: str | None
    shares: str | None
    share_column: str | None
    distance: str | None
    costs: str | None
    as_published: bool
    classes: bool
    draws: int
    skip_bad: bool
    seed: int

    def check(self) -> None:
        """Refuse options that say two things."""
        if self.train and self.shares:
            raise click.UsageError("choose one of --train and --shares")
        if self.share_column and not self.shares:
            raise click.UsageError("--share-column is for --shares")
        if self.costs and self.distance:
            raise click.UsageError("choose one of --costs and --distance")
        named = {"--label": self.label, "--predicted": self.predicted, "--group": self.group}
        for (one, column), (other, same) in combinations(named.items(), 2):
            if column == same:
                raise click.UsageError(
                    f"{one} and {other} both name the column {column!r}; they are two columns"
                )

    def columns(self) -> Columns:
        """Read the predictions."""
        names = [self.label, self.predicted, self.group]
        return load_columns(self.predictions, names, skip_bad=self.skip_bad)

    def confusion(self, columns: Columns) -> Confusion:
        """Count what was taken for what in each group."""
        gold, predicted, group = (
            columns.cells[name] for name in (self.label, self.predicted, self.group)
        )
        return Confusion.of(gold, predicted, group, order=self.groups)

    def known_shares(self, confusion: Confusion) -> Shares:
        """Find the shares that gaps are correlated with."""
        if self.train is not None:
            return self._of_training(self.train, confusion)
        if self.shares is not None:
            return self._of_file(self.shares, confusion)
        return Shares()

    def settings(self, confusion: Confusion) -> Settings:
        """How to measure."""
        costs = None if self.costs is None else load_costs(self.costs, confusion.classes)
        return Settings(self.as_published, self.distance, costs, draws=self.draws, seed=self.seed)

    def _of_training(self, file: str, confusion: Confusion) -> Shares:
        read = load_columns(file, (self.label, self.group), skip_bad=self.skip_bad)
        found = shares_of(read.cells[self.label], read.cells[self.group], *confusion.groups[:2])
        values, _ = shares_for(confusion.classes, found, file)
        return Shares(f"the training data {file}", values, {"train": facts(read)})

    def _of_file(self, file: str, confusion: Confusion) -> Shares:
        found = load_shares(file, self.share_column)
        values, beside = shares_for(confusion.classes, found, file)
        said = f"{file}: names that are no class of the predictions: {listed(beside)}"
        return Shares(file, values, {"shares": {"path": file}}, (said,) if beside else ())


def facts(read: Columns) -> dict[str, Any]:
    """Return what the report says of a file that was read."""
    return {"path": read.path, "sha256": read.sha256, "rows": len(read), "dropped": read.dropped}
