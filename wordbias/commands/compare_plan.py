"""What `wordbias compare` was asked for: what is compared, which pair is shown, what is refused."""

from __future__ import annotations

from dataclasses import dataclass

import click

from wordbias.commands.compare_inputs import Compared, from_files, measured
from wordbias.comparison import Comparison
from wordbias.correlation import Correlation, Correlations
from wordbias.formats.atomic import refuse_same
from wordbias.functions.inputs import Reading
from wordbias.pages.plots import check_plot
from wordbias.workers import Workers


@dataclass(frozen=True)
class Asked:
    """What was asked for."""

    rows: tuple[str, ...]
    method: str
    only: tuple[str, ...]
    plot: str | None
    x: str | None
    y: str | None
    measure: bool
    original: str | None
    attribute_file: str | None
    skip_bad: bool
    allow_pickle: bool
    cache: bool
    jobs: int | None
    backend: str
    seed: int

    def check(self) -> None:
        """Refuse early what would fail after the work."""
        of_measuring = {"--original": self.original, "--attribute": self.attribute_file}
        for option, value in of_measuring.items():
            if value and not self.measure:
                raise click.UsageError(f"{option} is for --measure, which is not given")
        if self.plot:
            check_plot(self.plot)
            rows = {f"an input, {path}": path for path in self.rows}
            refuse_same({"--plot": self.plot}, {**of_measuring, **rows})

    def compared(self, quiet: bool) -> Compared:
        """Read the results, or measure the embeddings; keep the measures asked for."""
        found = self._measured(quiet) if self.measure else from_files(self.rows)
        if not self.only:
            return found
        names = [name for given in self.only for name in _names(given, found.table)]
        return Compared(found.table.only(names), found.inputs, found.rows)

    def axes(self, table: Comparison) -> list[str]:
        """Return the measures named for the scatter, none to two."""
        chosen = [table.name(name) for name in (self.x, self.y) if name is not None]
        if len(chosen) == 2 and chosen[0] == chosen[1]:
            raise click.UsageError(f"--x and --y are both {chosen[0]}; name two measures")
        return chosen

    def pair(self, related: Correlations, axes: list[str]) -> Correlation:
        """Return the strongest pair with these axes, --x its x and --y its y."""
        pair = related.strongest(*axes)
        turned = axes and (pair.y if self.x is None else pair.x) != axes[0]
        return pair._replace(x=pair.y, y=pair.x) if turned else pair

    def _measured(self, quiet: bool) -> Compared:
        return measured(
            self.rows,
            self.original,
            self.attribute_file,
            Reading(self.cache, self.skip_bad, self.allow_pickle),
            Workers(self.jobs, self.backend),
            seed=self.seed,
            quiet=quiet,
        )


def _names(given: str, table: Comparison) -> list[str]:
    """Split at commas outside brackets: ``midb (after, self)`` is one name."""
    if given in table.measures:
        return [given]
    depth, names = 0, [""]
    for character in given:
        depth = max(0, depth + (character in "([") - (character in ")]"))
        if character == "," and depth == 0:
            names.append("")
        else:
            names[-1] += character
    return [name.strip() for name in names if name.strip()]
