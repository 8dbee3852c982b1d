"""Audit of embeddings before and after debiasing: every measure that needs few settings."""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wordbias import __version__
from wordbias.calls import note
from wordbias.devices import blas_threads
from wordbias.draws import with_change
from wordbias.errors import WordbiasError
from wordbias.measures.chance import Values, with_chance
from wordbias.measures.panel import Panel
from wordbias.measures.registry import BY_KEY
from wordbias.methods.storage import Origin, load_chain, save_chain
from wordbias.nli.scoring import notes_on_vectors
from wordbias.pages.audit_parts import (
    has_levels,
    is_measured,
    measure_chance,
    measure_part,
    parts_of,
)
from wordbias.pages.lines import identity
from wordbias.pages.stages import BEFORE, Compared, Plan, Stage, stage_of
from wordbias.pages.unfinished import results_of
from wordbias.pages.words import MAP
from wordbias.progress import progress
from wordbias.rendering import how_many
from wordbias.results import Row, with_details
from wordbias.store import Entry, Store, digest_of
from wordbias.wordlists import resolve
from wordbias.workers import Workers

MANY_WORDS = 20_000
"""Number of words above which some parts take minutes, and jobs run side by side by default."""
_FIT = "fit"
_CHANCE = "chance of "
_SHARES = {"gipe": 16, "quality": 30, "mab": 7, _CHANCE + "clustering": 2}
"""Approximate share of the time of each job, for the progress bar; others take 1."""
_LONG = 60
"""Seconds of the processor from which a call says which parts took longest."""
_NAMED = 4


@dataclass(frozen=True)
class Audited:
    """Rows of all embeddings, and notes on parts that could not be measured."""

    rows: list[Row]
    notes: list[str]


class Job(NamedTuple):
    """One part of one stage of one embedding; `column` is None for the vectors before."""

    subject: int
    column: int | None
    part: str


@dataclass(frozen=True, eq=False)
class Work:
    """All that the jobs of an audit share."""

    compared: Sequence[Compared]
    plan: Plan
    folder: Path
    """Folder of the fitted methods."""
    held: dict[tuple[int, int | None], Stage] = field(default_factory=dict, repr=False)
    """The stage that was measured last: jobs of one column come one after the other."""

    def names(self, job: Job) -> tuple[str, str, str]:
        """Return the embedding, the label of the stage and the part of a job."""
        subject = self.compared[job.subject]
        label = BEFORE if job.column is None else subject.columns[job.column].label
        return subject.name, label, job.part

    def chain_of(self, job: Job) -> Path:
        """Return the file of the fitted methods of a job's column."""
        names = "\0".join(self.names(job)[:2]).encode("utf-8", "surrogateescape")
        return self.folder / f"{hashlib.sha256(names).hexdigest()[:32]}.safetensors"

    def stage(self, job: Job) -> Stage:
        """Return the stage of a job, made on first use."""
        key = job.subject, job.column
        if key not in self.held:
            self.held.clear()
            self.held[key] = self._make_stage(job)
        return self.held[key]

    def _make_stage(self, job: Job) -> Stage:
        subject = self.compared[job.subject]
        if job.column is None:
            return Stage(subject.before, subject.before)
        given = subject.columns[job.column].embedding
        if given is not None:
            return stage_of(subject.before, given)
        chain = load_chain(self.chain_of(job))[0]
        before = subject.before.embedding
        return stage_of(subject.before, chain(before).renamed(before.name), chain)


def measure_stages(
    compared: Sequence[Compared],
    plan: Plan,
    *,
    workers: Workers | None = None,
    digest: str | None = None,
) -> Audited:
    """Measure every embedding before, and at each of its columns."""
    # `digest` is a hash of all that the rows depend on, by which an interrupted audit is known
    # again.
    workers = workers or Workers()
    compared = [
        replace(member, before=replace(member.before, sembias=plan.sembias, isolated=plan.isolated))
        for member in compared
    ]
    with results_of(digest) as (store, folder):
        work = Work(compared, plan, folder)
        first = _jobs_before(work)
        fits = [job for job in first if job.part == _FIT]
        later = _jobs_after(work)
        _run_all(work, store, [first, later], workers)
        of_jobs = {job: store.get(*work.names(job)) or Entry() for job in (*first, *later)}
        warnings = [
            f"{name}, {label}: {warning}"
            for job in fits
            if not _reason(of_jobs[job])
            for name, label, _ in [work.names(job)]
            for part in load_chain(work.chain_of(job))[0].parts
            for warning in part.warnings
        ]
    rows = [
        row
        for subject, _ in enumerate(compared)
        for row in with_changes(_rows_of(work, subject, of_jobs))
    ]
    notes = [
        *_missing_sets(plan),
        *(note for member in compared for note in _missing_words(member, plan)),
        *warnings,
        *_reasons(work, of_jobs),
        *_model_notes(compared, plan, rows),
    ]
    return Audited(rows, notes)


def slow_parts(panels: Sequence[Panel], plan: Plan) -> list[str]:
    """Return the parts that take minutes on vectors of this many words."""
    if max(len(panel.embedding) for panel in panels) <= MANY_WORDS:
        return []
    return [name for name in ("gipe", "quality") if is_measured(name, plan)]


def with_changes(rows: Sequence[Row]) -> list[Row]:
    """Add to the rows of columns how they differ from those before, with the paired interval."""
    # The bootstrap values of both rows are of the same draws of the same words, questions or
    # sentences. What is not drawn again is fixed: fitted methods and axes, clusters, classifiers
    # and neighbours.
    seen: Counter[tuple[tuple[str, ...], object]] = Counter()
    first: dict[tuple[tuple[str, ...], int], Row] = {}
    changed = []
    for row in rows:
        stage = row.details.get("stage")
        key = identity(row.to_dict())
        place = key, seen[key, stage]
        seen[key, stage] += 1
        if "column" not in row.details:
            first[place] = row
        elif place in first and row.measure != MAP and "change" not in row.details:
            row = with_change(first[place], row)
        changed.append(row)
    return changed


def audit_digest(compared: Sequence[Compared], plan: Plan) -> str:
    """Return a hash of all that the results of jobs depend on, besides the methods' names."""
    panels = [subject.before for subject in compared]
    embeddings = [panel.embedding for panel in panels]
    embeddings += [
        c.embedding for subject in compared for c in subject.columns if c.embedding is not None
    ]
    hashed: list[Any] = [__version__, np.__version__]
    for embedding in embeddings:
        known = embedding.info.sha256 if embedding.info is not None else ""
        hashed += [embedding.name, embedding.words, embedding.dim, known or embedding.vectors]
    for panel in panels:
        along = panel.own_direction.subspace
        hashed += [panel.attribute, panel.recipe, None if along is None else along.basis]
        hashed += [panel.vocabulary, panel.dims, panel.centre, panel.by_projection, panel.seed]
    hashed += [repr(plan.sembias), repr(plan.sets), plan.words, plan.gipe_words, plan.isolated]
    hashed += [sorted(plan.skip), plan.chance]
    hashed += [] if plan.model is None else [plan.model.about, plan.model.weights]
    return digest_of(*hashed)


# Jobs


def _jobs_before(work: Work) -> list[Job]:
    """Return the jobs that need no other: fits, the vectors before, and chance."""
    fits = [
        Job(i, j, _FIT)
        for i, subject in enumerate(work.compared)
        for j, column in enumerate(subject.columns)
        if column.embedding is None
    ]
    parts = [
        Job(i, None, part)
        for i in range(len(work.compared))
        for part in parts_of(work.plan, is_first=True)
    ]
    levels = [
        job._replace(part=_CHANCE + job.part) for job in parts if has_levels(job.part, work.plan)
    ]
    return [*fits, *sorted([*parts, *levels], key=_size)]


def _jobs_after(work: Work) -> list[Job]:
    """Return the jobs of the columns, each column's together."""
    return [
        Job(i, j, part)
        for i, subject in enumerate(work.compared)
        for j in range(len(subject.columns))
        for part in sorted(parts_of(work.plan), key=lambda part: -_SHARES.get(part, 1))
    ]


def _size(job: Job) -> int:
    return -_SHARES.get(job.part, 1)


def _run_all(work: Work, store: Store, phases: Sequence[Sequence[Job]], workers: Workers) -> None:
    """Run the jobs that are not done, one phase after the other."""
    every = [job for jobs in phases for job in jobs]
    left = [job for job in every if not _is_done(work, store, job)]
    if len(left) < len(every):
        done = f"{len(every) - len(left)} of {how_many(len(every), 'part')}"
        note(f"resumes an interrupted audit: {done} are measured", reported=True)
    with progress("audit", sum(-_size(job) for job in left), "step") as bar:
        for jobs in phases:
            todo = [job for job in jobs if job in left and not _has_failed(work, store, job)]
            at_work = dict.fromkeys(todo)
            _show(bar, work, at_work, workers)
            lost = "the same call resumes"
            for i, entry in workers.unordered(run_job, todo, shared=(work,), lost=lost):
                store.put(*work.names(todo[i]), rows=entry.rows, arrays=entry.arrays, **entry.facts)
                del at_work[todo[i]]
                _show(bar, work, at_work, workers)
                bar.update(-_size(todo[i]))
    _tell_longest(work, store, left)


def _is_done(work: Work, store: Store, job: Job) -> bool:
    """Return whether a job has a result, and of a fit also what was fitted."""
    entry = store.get(*work.names(job))
    if entry is None or job.part != _FIT or _reason(entry):
        return entry is not None
    try:
        load_chain(work.chain_of(job))
    except WordbiasError:
        return False
    return True


def _show(bar: Any, work: Work, at_work: dict[Job, None], workers: Workers) -> None:
    """Name the parts that are measured now: jobs start in their order."""
    names = [work.names(job) for job in list(at_work)[: workers.jobs or 1]]
    bar.set_postfix_str("; ".join(f"{part} {label}" for _, label, part in names))


def _has_failed(work: Work, store: Store, job: Job) -> bool:
    """Return whether the methods of a job's column could not be fitted."""
    fit = job._replace(part=_FIT)
    entry = None if job.part == _FIT else store.get(*work.names(fit))
    return entry is not None and bool(_reason(entry))


def _tell_longest(work: Work, store: Store, jobs: Sequence[Job]) -> None:
    """Say which parts took longest, if it was long."""
    seconds: dict[str, float] = {}
    for job in jobs:
        if (entry := store.get(*work.names(job))) is not None:
            part = job.part.removeprefix(_CHANCE)
            seconds[part] = seconds.get(part, 0.0) + entry.facts["seconds"]
    total = sum(seconds.values())
    if total < _LONG:
        return
    longest = sorted(seconds.items(), key=lambda timing: -timing[1])[:_NAMED]
    parts = ", ".join(f"{part} {taken:.0f} s" for part, taken in longest)
    note(f"longest parts: {parts}, of {total:.0f} s of the processor", reported=True)


def run_job(work: Work, job: Job) -> Entry:
    """Return the result of a job: its rows, values by chance, seconds, and why there are none."""
    start, reason = time.process_time(), ""
    rows: Sequence[Row] = ()
    levels: Values = {}
    with blas_threads(1):  # so that no bit depends on the number of processes
        try:
            rows, levels = _measured(work, job)
        except WordbiasError as error:
            reason = str(error)
    seconds = time.process_time() - start
    arrays = {json.dumps(key): np.asarray(values) for key, values in levels.items()}
    return Entry(rows, arrays, {"reason": reason, "seconds": seconds})


def _measured(work: Work, job: Job) -> tuple[Sequence[Row], Values]:
    if job.part == _FIT:
        _fit(work, job)
        return (), {}
    stage, plan = work.stage(job), work.plan
    if job.part.startswith(_CHANCE):
        return (), measure_chance(stage, plan, job.part.removeprefix(_CHANCE))
    return measure_part(stage, plan, job.part)


def _levels(entry: Entry) -> Values:
    """Return the values by chance in a result."""
    return {(key[0], key[1]): x for name, x in entry.arrays.items() for key in [json.loads(name)]}


def _reason(entry: Entry) -> str:
    """Return why a job has no result, if it has none."""
    return str(entry.facts.get("reason", ""))


def _fit(work: Work, job: Job) -> None:
    """Fit the methods of a column, and keep them."""
    subject = work.compared[job.subject]
    assert job.column is not None
    before = subject.before.embedding
    chain, after = subject.columns[job.column].fitted_to(subject.before)
    finite = np.isfinite(after.vectors).all(axis=1)
    if not finite.all():
        word = after.words[int(finite.argmin())]
        raise WordbiasError(f"the vector of {word!r} leaves the range of float32")
    save_chain(work.chain_of(job), chain, Origin.of(before))


# Rows of all jobs


def _rows_of(work: Work, subject: int, of_jobs: dict[Job, Entry]) -> list[Row]:
    """Return the rows of one embedding, part by part and stage by stage, with chance levels."""
    compared = work.compared[subject]
    failed = {
        j: reason
        for j in range(len(compared.columns))
        if (reason := _reason(of_jobs.get(Job(subject, j, _FIT), Entry())))
    }
    about = [
        {"stage": BEFORE} if compared.columns else {},
        *(c.details() for c in compared.columns),
    ]
    rows = [
        Row(compared.name, "column", None, {**compared.columns[j].details(), "reason": reason})
        for j, reason in failed.items()
    ]
    for part in parts_of(work.plan):
        stages = [None, *(j for j in range(len(compared.columns)) if j not in failed)]
        part_rows = [
            row
            for j in stages
            for row in with_details(
                of_jobs.get(Job(subject, j, part), Entry()).rows, about[0 if j is None else j + 1]
            )
        ]
        levels: Values = {}
        for name in (part, _CHANCE + part):
            levels = {**levels, **_levels(of_jobs.get(Job(subject, None, name), Entry()))}
        rows += with_chance(part_rows, levels)
    return rows


# Notes


def _missing_sets(plan: Plan) -> list[str]:
    """Return a note on parts that need files that were not given, unless they are skipped."""
    is_given = {"sembias": plan.sembias is not None, "quality": bool(plan.sets)}
    missing = [
        (BY_KEY[part].needs, BY_KEY[part].fetch)
        for part, known in is_given.items()
        if not known and plan.includes(part)
    ]
    if not missing:
        return []
    names, sets = zip(*missing, strict=True)
    return [
        f"not measured: {', '.join(names)}: the test sets are not part of wordbias; get them with: "
        f"wordbias fetch {' '.join(sets)}"
    ]


def _missing_words(subject: Compared, plan: Plan) -> list[str]:
    missing = resolve(plan.words, subject.before.embedding).missing
    return [f"{subject.name}: it lacks words of --words: {', '.join(missing)}"] if missing else []


def _reasons(work: Work, of_jobs: dict[Job, Entry]) -> list[str]:
    """Say what was not measured, once for all stages of an embedding if the reason is the same."""
    labels_by_reason: dict[tuple[str, str, str], list[str]] = {}
    for job, result in of_jobs.items():
        name, label, part = work.names(job)
        if reason := _reason(result):
            labels_by_reason.setdefault((name, part.removeprefix(_CHANCE), reason), []).append(
                label
            )
    notes = []
    for (name, part, reason), labels in labels_by_reason.items():
        stages = list(dict.fromkeys(labels))
        of = f"{name}, {' and '.join(stages)}" if BEFORE not in stages else name
        what = "the column was not made" if part == _FIT else f"{part} was not measured"
        notes.append(f"{of}: {what}: {reason}")
    return notes


def _model_notes(compared: Sequence[Compared], plan: Plan, rows: Sequence[Row]) -> list[str]:
    """Return notes if the NLI model was trained on other vectors."""
    if plan.model is None or not any(row.measure == "mab-distance" for row in rows):
        return []
    return [
        note
        for subject in compared
        for note in notes_on_vectors(plan.model, subject.before.embedding)
    ]
