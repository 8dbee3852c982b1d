"""The file of results: one line a job, so that a study that was interrupted goes on."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from wordbias.checkpoints import difference
from wordbias.errors import WordbiasError
from wordbias.formats.files import replacing
from wordbias.rendering import as_json
from wordbias.results import Row

FILE = "results.jsonl"


class Job(NamedTuple):
    """What is done at a time: a strategy, or an encoder without one, under a seed."""

    strategy: str
    seed: int

    def __str__(self) -> str:
        return f"{self.strategy}, seed {self.seed}"

    @property
    def file_name(self) -> str:
        """A name for files."""
        return f"{self.strategy}-{self.seed}"


@dataclass(frozen=True)
class Lines:
    """Rows of the jobs that are done.

    Attributes
    ----------
    path
        The file; there need not be one yet.
    about
        All that every job depends on beside its strategy and seed.
    rows
        By job.
    """

    path: Path
    about: Mapping[str, Any]
    rows: dict[Job, list[Row]] = field(default_factory=dict)

    @classmethod
    def open(cls, path: Path, about: Mapping[str, Any]) -> Lines:
        """Read a file; a last line that is cut off is removed from it.

        Raises
        ------
        WordbiasError
            With its number, if a line is damaged or of another study.
        """
        found = cls(path, json.loads(json.dumps(about)))
        if not path.exists():
            return found
        if not path.is_file():
            raise WordbiasError(f"{path}: is no file of results; name another folder")
        data = path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        for number, line in enumerate(whole.splitlines(), 1):
            found._take(line, f"{path}: line {number}")
        if whole != data:
            with replacing(path) as file:
                file.write(whole)
        return found

    def add(self, job: Job, rows: list[Row], **facts: Any) -> None:
        """Append the line of a job, and bring it to the disk.

        Raises
        ------
        WordbiasError
            If it cannot be written.
        """
        line = {
            "strategy": job.strategy,
            "seed": job.seed,
            "about": self.about,
            **facts,
            "rows": [row.to_dict() for row in rows],
        }
        try:
            with self.path.open("ab") as file:
                file.write(as_json(line).encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise WordbiasError(
                f"{self.path}: could not be written: {error.strerror or error}; mend that, and the "
                "same call goes on"
            ) from None
        self.rows[job] = rows

    def _take(self, line: bytes, where: str) -> None:
        try:
            known = json.loads(line)
            job = Job(str(known["strategy"]), int(known["seed"]))
            rows = [_row(row) for row in known["rows"]]
            about = known["about"]
        except (
            ValueError,
            KeyError,
            TypeError,
            AttributeError,
            OverflowError,
            RecursionError,
        ) as error:
            raise WordbiasError(
                f"{where}: is no line of results ({error}); remove it, and its job is done again"
            ) from None
        if (different := difference(about, self.about)) is not None:
            raise WordbiasError(
                f"{where}: is of another study: its {different}; name another folder"
            )
        self.rows[job] = rows


def _row(row: dict[str, Any]) -> Row:
    return Row(row.pop("subject"), row.pop("measure"), row.pop("value"), row)
