"""What `wordbias probe` was asked for: what is opened, how it is probed, what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import click

from wordbias.commands.options import Layers
from wordbias.commands.probe_inputs import Input
from wordbias.commands.probe_opening import open_input
from wordbias.errors import WordbiasError
from wordbias.functions.inputs import Reading
from wordbias.probes.accuracy import probe_accuracy
from wordbias.probes.apart import codes_apart
from wordbias.probes.recipe import Recipe
from wordbias.probes.rows import accuracy_rows, code_rows
from wordbias.probes.schedule import FRACTIONS, check_fractions
from wordbias.results import Row
from wordbias.workers import Workers


def split_fractions(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> str | tuple[float, ...] | None:
    """Return a known name, or split percentages such as ``2,10,100``."""
    if value is None or value in FRACTIONS:
        return value
    try:
        shares = [float(part) / 100 for part in value.split(",")]
    except ValueError:
        known = ", ".join(FRACTIONS)
        raise click.BadParameter(f"expected {known}, or percentages 2,10,100", ctx, param) from None
    try:
        return check_fractions(shares)
    except WordbiasError:
        raise click.BadParameter(
            f"expected percentages that rise from above 0 to 100, found {value}", ctx, param
        ) from None


@dataclass(frozen=True)
class Asked:
    """What was asked for."""

    vectors: tuple[str, ...]
    labels: str | None
    names: bool
    mdl: bool
    probe: str
    fractions: str | tuple[float, ...] | None
    seeds: list[int]
    layers: Layers
    array: str | None
    groups: str | None
    types: str | None
    control: bool
    random: bool | None
    dev: str | None
    split: str | None
    epochs: int
    batch: int
    rate: float
    as_published: bool
    device: str | None
    plot: str | None
    jobs: int | None
    backend: str
    skip_bad: bool
    allow_pickle: bool
    cache: bool

    def check(self) -> None:
        """Refuse early what would fail after the work."""
        if self.mdl and self.split:
            raise click.UsageError("--split is for --accuracy; an online code splits by itself")
        for name in ("fractions", "groups", "dev", "plot", "jobs"):
            if getattr(self, name) and not self.mdl:
                raise click.UsageError(f"--{name} is for --mdl")
        if self.probe == "linear" and self.device not in (None, "cpu"):
            raise click.UsageError(
                f"--device {self.device} is for --probe mlp; a linear probe is trained on the cpu"
            )
        if self.plot is not None:
            from wordbias.pages.plots import check_plot

            check_plot(self.plot)

    @property
    def recipe(self) -> Recipe:
        """How probes are trained."""
        return Recipe(self.probe, self.epochs, self.batch, self.rate, last=self.as_published)

    def inputs(self, quiet: bool) -> list[Input]:
        """Open what is probed, and make random vectors to stand beside it."""
        inputs = [self._opened(name, quiet) for name in dict.fromkeys(self.vectors or (None,))]
        inputs = _named(inputs)
        if self.random or (self.random is None and not self.vectors):
            inputs = [both for one in inputs for both in (one, one.random(self.seeds[0]))]
        return inputs

    def rows(self, one: Input) -> list[Row]:
        """Probe."""
        return (self._coded if self.mdl else self._probed)(one)

    def _opened(self, name: str | None, quiet: bool) -> Input:
        return open_input(
            name,
            Reading(self.cache, self.skip_bad, self.allow_pickle),
            labels=self.labels,
            names=self.names,
            layers=self.layers,
            array=self.array,
            quiet=quiet,
        )

    def _coded(self, one: Input) -> list[Row]:
        found = codes_apart(
            one.examples,
            Workers(self.jobs, self.backend),
            fractions=self.fractions or "published",
            groups=one.codes("--groups", self.groups),
            dev=one.rows_where("--dev", self.dev),
            **self._shared(one),
        )
        return code_rows(one.examples, found, one_layer=one.one_layer)

    def _probed(self, one: Input) -> list[Row]:
        found = probe_accuracy(
            one.examples, split=one.column("--split", self.split), **self._shared(one)
        )
        return accuracy_rows(one.examples, found, one_layer=one.one_layer)

    def _shared(self, one: Input) -> dict[str, Any]:
        return {
            "seeds": self.seeds,
            "recipe": self.recipe,
            "types": one.codes("--types", self.types),
            "control": self.control,
            "device": self.device,
        }


def _named(inputs: Sequence[Input]) -> list[Input]:
    """Name inputs as results do, by their paths where two have one name."""
    names = [one.examples.name for one in inputs]
    found = []
    for one in inputs:
        name = one.examples.name
        name = name if names.count(name) == 1 else str(one.info["path"])
        found.append(replace(one, examples=replace(one.examples, name=name)))
    return found
