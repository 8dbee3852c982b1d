"""The jobs of an experiment in one folder: those that are done are kept, the others are run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from wordbias.errors import WordbiasError
from wordbias.formats.files import output_folder
from wordbias.results import Row
from wordbias.retraining.arms import Job
from wordbias.store import Entry, Store, resumable
from wordbias.workers import Workers

RESULTS = "results.jsonl"
REMEDY = "name another folder"
ADAPTER = "adapter"
"""Fact of an arm of vectors: a hash of what its adapter removes, empty without one."""


def run_jobs(
    folder: Path,
    about: Mapping[str, Any],
    jobs: Sequence[Job],
    function: Callable[..., Entry],
    workers: Workers,
    *,
    shared: tuple[Any, ...],
    is_later: Callable[[str], bool],
    adapter_of: Callable[[str], str],
    begin: Callable[[Store], None] | None = None,
    finished: Callable[[Job], None] | None = None,
) -> list[Row]:
    """Run the jobs that are not done yet; return the rows of all, in the order of the jobs."""
    # The rows of a job become a line of results.jsonl in the folder as soon as it ends. `is_later`
    # says of a strategy whether its jobs need what other jobs leave in the folder; `finished` is
    # called with each job that was run and needs no other.

    def done() -> str:
        return f"{sum(store.get(*job) is not None for job in jobs)} of {len(jobs)} jobs are done"

    path = folder / RESULTS
    with output_folder(folder), resumable(path, folder, keep=True, done=done):
        store = Store(path, about, Job._fields, what="study", remedy=REMEDY, draws=False)
        for job in jobs:
            known = store.get(*job)
            if known is not None and known.facts.get(ADAPTER, "") != adapter_of(job.strategy):
                raise WordbiasError(
                    f"{path}: {job} was measured with another adapter of this name; {REMEDY}, or "
                    "give the adapter another name"
                )
        if begin is not None:
            begin(store)
        later = [job for job in jobs if is_later(job.strategy)]
        first = [job for job in jobs if job not in later]
        store.complete(
            first, function, workers, shared=shared, what="experiment", finished=finished
        )
        if later:
            store.complete(later, function, workers, shared=shared, what="arms of vectors")
    return [row for job in jobs for row in store.entries[job].rows]
