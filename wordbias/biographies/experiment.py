"""The occupation experiment of Orgad et al. (2022): every strategy under every seed.

A classifier is trained on data that a strategy debiased; gender is probed in its vectors and its
gaps are measured; then only its last layer is trained again, on the original data, and the gaps
are measured once more. The rows of each job are a line of a file, so that an interrupted
experiment resumes.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from wordbias.biographies.encoding import sha256_of
from wordbias.biographies.job import check_jobs, encode_ahead, run_job
from wordbias.biographies.plan import Job, Plan
from wordbias.checkpoints import difference
from wordbias.devices import threads
from wordbias.errors import Interrupted, WordbiasError
from wordbias.formats.files import check_output_folder, locked, output_folder, replacing
from wordbias.progress import progress
from wordbias.rendering import as_json
from wordbias.results import Row
from wordbias.workers import Workers


def run(plan: Plan, workers: Workers | None = None) -> list[Row]:
    """Run the jobs that are not done yet; return the rows of all, in the order of the plan.

    The rows of a job become a line of ``results.jsonl`` in the plan's folder as soon as it ends.

    Raises
    ------
    WordbiasError
        If data, model or folder cannot be used, the file there is damaged or of another study, or
        another process works on it.
    """
    workers = workers or Workers()
    check_output_folder(plan.folder)
    check_jobs(plan)
    plan = replace(plan, model_sha256=sha256_of(plan.encoding.load(plan.model)))
    with output_folder(plan.folder), locked(plan.results):
        file = ResultFile.open(plan.results, plan.about())
        jobs = plan.jobs()
        left = [job for job in jobs if job not in file.rows]
        try:
            if not workers.in_process:
                for job in left:
                    encode_ahead(plan, job)
            lost = "the same call resumes with what is left"
            with progress("experiment", len(left), "job") as bar:
                for i, (rows, facts) in workers.unordered(_timed, left, shared=(plan,), lost=lost):
                    file.add(left[i], rows, **facts)
                    plan.checkpoint(left[i]).unlink(missing_ok=True)
                    bar.update(1)
        except KeyboardInterrupt:
            done = sum(job in file.rows for job in jobs)
            raise Interrupted(
                f"the same call resumes: {plan.results} has {done} of {len(jobs)} jobs"
            ) from None
    return [row for job in jobs for row in file.rows[job]]


def _timed(plan: Plan, job: Job) -> tuple[list[Row], dict[str, Any]]:
    """Run a job; its seconds come first among the facts."""
    torch.set_num_threads(threads())
    start = time.perf_counter()
    rows, facts = run_job(plan, job)
    return rows, {"seconds": round(time.perf_counter() - start, 1), **facts}


@dataclass(frozen=True)
class ResultFile:
    """File of the rows of finished jobs, one line a job.

    Attributes
    ----------
    path
        The file; it need not exist yet.
    about
        All that every job depends on beside its strategy and seed.
    rows
        Rows by job.
    """

    path: Path
    about: Mapping[str, Any]
    rows: dict[Job, list[Row]] = field(default_factory=dict)

    @classmethod
    def open(cls, path: Path, about: Mapping[str, Any]) -> ResultFile:
        """Read a file; a last line that is cut off is removed from it.

        Raises
        ------
        WordbiasError
            With the number of the line, if one is damaged or of another study.
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
        """Append the line of a job, and flush it to the disk.

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
                "same call resumes"
            ) from None
        self.rows[job] = rows

    def _take(self, line: bytes, where: str) -> None:
        try:
            known = json.loads(line)
            job = Job(str(known["strategy"]), int(known["seed"]))
            rows = [
                Row(row.pop("subject"), row.pop("measure"), row.pop("value"), row)
                for row in known["rows"]
            ]
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
