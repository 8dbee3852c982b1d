"""The rows of a study, each kept in a file beside what it is about."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.measures.panel import Panel, make_panels
from wordbias.measures.table import table_rows
from wordbias.nli.evaluation import BIAS, mab_rows
from wordbias.nli.files import Model
from wordbias.nli.fillers import marked_sets
from wordbias.nli.jobs import Job
from wordbias.nli.keeping import kept, kept_about
from wordbias.nli.known_words import known_part, why_no_part, why_not_whole
from wordbias.nli.runs import vocabulary_hash
from wordbias.nli.scoring import accuracy, score_set
from wordbias.nli.summary import over_seeds
from wordbias.nli.test_sets import TestSet, build
from wordbias.results import Row
from wordbias.word_tasks import quality

if TYPE_CHECKING:
    from wordbias.nli.study import Plan


def rows_of(plan: Plan, jobs: Sequence[Job]) -> list[Row]:
    """Score and measure what is not kept: models, their means over seeds, vectors."""
    known = {embedding.name: embedding for embedding in plan.embeddings}
    single = [
        row for job in jobs for row in _model_rows(plan, known[job.about["embedding"]["name"]], job)
    ]
    measured = [row for panel in _panels(plan) for row in _measure_rows(plan, panel)]
    solved = [row for embedding in plan.embeddings for row in _quality_rows(plan, embedding)]
    return [*single, *over_seeds(single), *measured, *solved]


def _model_rows(plan: Plan, embedding: Embedding, job: Job) -> list[Row]:
    """Score one model on the marked sets, and on the pairs of dev and test."""

    def make() -> Iterator[Row]:
        model = Model.load(job.output)
        for name, pairs in (("dev", plan.data["dev"]), ("test", plan.test)):
            if pairs is not None:
                right = accuracy(model, embedding, pairs)
                details = {"set": name, "n": len(pairs), "neutral": 1 / 3, "better": "higher"}
                yield Row(embedding.name, "snli-accuracy", right, details)
        for test, reason in sets_of(plan, embedding):
            if reason:
                yield from _undefined(test, embedding.name, reason)
                continue
            scored = score_set(model, embedding, test)
            yield from mab_rows(test, scored.probabilities, embedding.name)

    path = job.output.with_name(f"{job.output.name}.{_named(plan)}rows.json")
    about = {**job.about, "test": plan.test.sha256 if plan.test else None, **_about(plan)}
    rows = kept(path, about, lambda: list(make()))
    return [replace(row, details={**row.details, "seed": job.seed}) for row in rows]


def sets_of(plan: Plan, embedding: Embedding) -> list[tuple[TestSet, str]]:
    """Return the marked sets, each with the reason why it cannot be scored; empty where it can.

    The published sets need all their words, or their numbers would not compare. Sets about another
    attribute are asked of the words that the vectors have, and need some of each group.
    """
    found = []
    for test in (build(name, attribute=plan.about) for name in marked_sets(plan.about)):
        check = why_not_whole if plan.about is None else why_no_part
        reason = check(embedding, test)
        found.append((test if reason else known_part(embedding, test), reason))
    return found


def skipped(plan: Plan) -> list[str]:
    """Say which sets are skipped for which embedding, and why; and which words are left out."""
    said = []
    for embedding in plan.embeddings:
        for test, reason in sets_of(plan, embedding):
            missing = why_not_whole(embedding, build(test.name, attribute=plan.about))
            if reason:
                said.append(f"{embedding.name} {reason}: the set is skipped for it")
            elif missing:
                said.append(f"{embedding.name} {missing}: they are left out")
    return said


def _undefined(test: TestSet, subject: str, reason: str) -> Iterator[Row]:
    """Yield the rows of a set that cannot be scored, without values."""
    for kind in dict.fromkeys(filler.kind for filler in test.hypotheses):
        about = {"attribute": test.attribute, "set": test.name, "setting": f"{kind}s"}
        for measure in BIAS:
            details = {**about, "reason": f"undefined: {subject} {reason}"}
            yield Row(subject, measure, None, {**details, "neutral": 0, "better": "lower"})


def _named(plan: Plan) -> str:
    """Return what tells the files of rows about another attribute from those about gender."""
    return "" if plan.about is None else "-".join(plan.about.groups) + "."


def _about(plan: Plan) -> dict[str, Any]:
    """Return what rows about another attribute depend on."""
    one = plan.about
    if one is None:
        return {}
    words = (one.members, one.pairs, one.equalise, one.direction, sorted(one.specific))
    text = repr((one.groups, *words, sorted(one.subjects.items())))
    return {"attribute": hashlib.sha256(text.encode()).hexdigest()}


def _panels(plan: Plan) -> list[Panel]:
    return make_panels(
        list(plan.embeddings),
        plan.embeddings[0],
        plan.attribute,
        center=plan.center,
        by_projection=plan.as_published,
    )


def _measure_rows(plan: Plan, panel: Panel) -> list[Row]:
    name = panel.embedding.name
    about = {
        "sha256": _sha256(panel.embedding),
        "families": list(plan.families),
        "original": _sha256(panel.original),
        "vocabulary": len(panel.vocabulary),
        "sembias": None if plan.sembias is None else _hashed(plan.sembias),
        "as_published": plan.as_published,
        **_about(plan),
    }
    path = plan.folder / f"{name}.{_named(plan)}measures.json"
    _refuse_other_centring(path, plan.center)
    isolated = 0.0 if plan.as_published else 1.0

    def make() -> list[Row]:
        return table_rows(panel, plan.families, sembias=plan.sembias, isolated=isolated)

    return kept(path, {**about, "centred": plan.center}, make)


def _refuse_other_centring(path: Path, center: bool) -> None:
    """Refuse a folder whose measures were taken along the other subspace."""
    before = kept_about(path).get("centred")
    if before is not None and before is not center:
        said = ("without --center", "with --center or --as-published")
        raise WordbiasError(
            f"{path.parent}: its measures were taken {said[before]}, and these are "
            f"{said[center]}; name another folder with -o, or go on as it was begun"
        )


def _quality_rows(plan: Plan, embedding: Embedding) -> list[Row]:
    if not plan.quality:
        return []
    sets = {one.name: _hashed(one) for one in plan.quality}
    path = plan.folder / f"{embedding.name}.quality.json"
    about = {"sha256": _sha256(embedding), "sets": sets}
    return kept(path, about, lambda: quality(embedding, plan.quality))


def _sha256(embedding: Embedding) -> str:
    """Return the hash of an embedding's file, or of what was made without one."""
    if embedding.info is not None:
        return embedding.info.sha256
    digest = hashlib.sha256(vocabulary_hash(embedding.words).encode())
    digest.update(np.ascontiguousarray(embedding.vectors).data)
    return digest.hexdigest()


def _hashed(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()
