"""What `wordbias sweep` was asked for, and what of it is refused before the work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from wordbias.errors import Interrupted
from wordbias.formats.alone import alone
from wordbias.formats.atomic import check_writable, refuse_same
from wordbias.nli.test_sets import TestSet, build
from wordbias.resources import located
from wordbias.wordlists import Templates

PARTS = ("next-sentence", "inference")
"""What the models of a sweep are called."""


@dataclass(frozen=True)
class Asked:
    """What was asked for."""

    model: str | None
    stereoset_file: str | None
    nli_model: str | None
    snli_file: str | None
    table_file: str | None
    pairs: str | None
    tokens: str
    text: str | None
    attribute_file: str | None
    limit: int
    next_label: str | None
    labels: list[str] | None
    share: float
    rounding: Any
    repair: bool
    parity: Any
    drop: float
    relative: bool
    lists: str | None
    as_published: bool
    output: str | None
    plot: str | None
    device: str | None
    jobs: int | None
    backend: str
    seed: int

    def check(self) -> None:
        """Refuse early what would fail after the work."""
        self._check_usage()
        if self.plot is not None:
            from wordbias.pages.plots import check_plot

            check_plot(self.plot)
        if self.output is not None:
            check_writable(self.output)
        read = {
            "--stereoset": self.stereoset_file,
            "--snli": self.snli_file,
            "--table": self.table_file,
            "--pairs": self.pairs,
            "--sent-debias": self.text,
            "--attribute": self.attribute_file,
        }
        refuse_same({"-o": self.output, "--plot": self.plot}, read)

    def _check_usage(self) -> None:
        needed = {
            "MODEL": self.model,
            "--stereoset": self.stereoset_file,
            "--nli": self.nli_model,
            "--snli": self.snli_file,
        }
        missing = [name for name, value in needed.items() if value is None]
        if self.table_file is not None and len(missing) < len(needed):
            raise click.UsageError("--table summarises what is measured; give it alone")
        if self.table_file is None and missing:
            raise click.UsageError(f"missing {', '.join(missing)} (or --table CSV)")
        if self.attribute_file is not None and self.text is None:
            raise click.UsageError("--attribute goes with --sent-debias")

    def test_set(self) -> TestSet:
        """Return the occupations' pairs."""
        return build("parity", Templates.load(located(self.lists)), as_published=self.as_published)

    def part_file(self, what: str) -> Path | None:
        """Return where half-done outputs are kept."""
        if self.output is None:
            return None
        path = Path(self.output)
        return path.with_name(f"{path.name}.{what}.part")

    @contextmanager
    def going_on(self) -> Iterator[None]:
        """Keep other processes from the output, and say where an interrupted call goes on from.

        Raises
        ------
        WordbiasError
            If another process is measuring into the same output.
        """
        with nullcontext() if self.output is None else alone(self.output):
            try:
                yield
            except Interrupted:
                raise
            except KeyboardInterrupt:
                kept = [path.name for path in map(self.part_file, PARTS) if path and path.exists()]
                if not kept:
                    raise
                where = " and ".join(kept)
                raise Interrupted(f"the same call goes on from {where}") from None

    def remove_parts(self) -> None:
        """Remove what an interrupted call goes on from: the result is stored."""
        for path in map(self.part_file, PARTS if self.table_file is None else ()):
            if path is not None:
                path.unlink(missing_ok=True)

    def heading(self) -> str:
        """Say what is swept."""
        if self.table_file is not None:
            return f"The sweep in {self.table_file}."
        return (
            f"Sweep of {self.model} on {self.stereoset_file} and of {self.nli_model} on the "
            f"occupations and {self.snli_file}."
        )
