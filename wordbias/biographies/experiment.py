"""The experiment: every strategy under every seed, before and after the last layer is retrained.

Orgad et al. (2022): a classifier is trained on data that a strategy debiased; gender is probed in
its vectors and its gaps are measured; then its last layer alone is trained again, on the original
data, and the gaps are measured once more.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import torch

from wordbias.biographies.encoding import sha256_of
from wordbias.biographies.job import Done, check_material, checkpoint_of, do, fill
from wordbias.biographies.plan import Plan
from wordbias.biographies.result_file import Job, Lines
from wordbias.devices import threads
from wordbias.errors import Interrupted
from wordbias.formats.files import check_output_folder, locked, output_folder
from wordbias.progress import progress
from wordbias.results import Row
from wordbias.workers import Workers


class _Timed(NamedTuple):
    done: Done
    seconds: float


def run(plan: Plan, workers: Workers | None = None) -> list[Row]:
    """Do the jobs that are not done; return the rows of all, in the order of the plan.

    Each job's rows are a line of ``results.jsonl`` in the plan's folder as soon as it is done.

    Raises
    ------
    WordbiasError
        If data, model or folder cannot be used, the file there is damaged or of another study, or
        another process works on it.
    """
    workers = workers or Workers()
    check_output_folder(plan.folder)
    check_material(plan)
    plan = replace(plan, model_sha256=sha256_of(plan.reading.load(plan.model)))
    with output_folder(plan.folder), locked(plan.results):
        lines = Lines.open(plan.results, plan.about())
        jobs = plan.jobs()
        left = [job for job in jobs if job not in lines.rows]
        try:
            _work(plan, left, workers, lines)
        except KeyboardInterrupt:
            done = sum(job in lines.rows for job in jobs)
            raise Interrupted(
                f"the same call goes on: {plan.results} has {done} of {len(jobs)} jobs"
            ) from None
    return [row for job in jobs for row in lines.rows[job]]


def _work(plan: Plan, left: Sequence[Job], workers: Workers, lines: Lines) -> None:
    if not workers.here:
        for job in left:
            fill(plan, job)
    lost = "the same call goes on with what is left"
    with progress("experiment", len(left), "job") as bar:
        for place, timed in workers.unordered(_timed, left, shared=(plan,), lost=lost):
            lines.add(left[place], timed.done.rows, seconds=timed.seconds, **timed.done.facts)
            checkpoint_of(plan, left[place]).unlink(missing_ok=True)
            bar.update(1)


def _timed(plan: Plan, job: Job) -> _Timed:
    torch.set_num_threads(threads())
    start = time.perf_counter()
    done = do(plan, job)
    return _Timed(done, round(time.perf_counter() - start, 1))
