"""The study of Dawkins (2021): a model per embedding and seed, its bias, and what predicts it.

Everything that takes long is kept in one folder and not done again: models, the rows of each model,
the measures of each embedding.

The rows of a study, each kept in a file beside what it is about.

The rows of many models brought together: means over seeds, and what goes with what.

Rows that took long to get are kept in a file, together with what they are about.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from wordbias import __version__
from wordbias.embedding import Embedding
from wordbias.errors import Interrupted, WordbiasError
from wordbias.formats.files import locked, replacing
from wordbias.formats.tables import growing
from wordbias.measures.evaluate import check_families, evaluate
from wordbias.measures.panel import Panel, make_panels
from wordbias.measures.registry import STANDARD
from wordbias.measures.sembias import SemBias
from wordbias.methods import misp
from wordbias.nli.evaluation import BIAS, mab_rows
from wordbias.nli.files import Model
from wordbias.nli.pairs import Pairs
from wordbias.nli.recipes import FAST, Recipe
from wordbias.nli.runs import Data, vocabulary_hash
from wordbias.nli.runs import plan as models_to_train
from wordbias.nli.scoring import accuracy, score_set
from wordbias.nli.test_sets import (
    TestSet,
    build,
    known_part,
    marked_sets,
    why_no_part,
    why_not_whole,
)
from wordbias.nli.train import Job, train_all
from wordbias.results import Row
from wordbias.rows import Correlation, correlation
from wordbias.word_tasks import AnalogySet, SimilaritySet, quality
from wordbias.wordlists import Attribute
from wordbias.workers import Workers

ERROR = "mab-error"
QUALITY = ("similarity", "analogy")
_VARIANTS = {"gipe": "setting", "sembias": "set", "weat": "set"}
"""Measures that an embedding has several values of, and what tells these apart."""


def over_seeds(rows: Sequence[Row]) -> list[Row]:
    """Average the rows of one embedding over its models."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        key = (row.subject, row.measure, *(row.details.get(k) for k in ("set", "setting", "group")))
        groups.setdefault(key, []).append(row)
    return [_mean(found) for found in groups.values()]


def intrinsic(rows: Sequence[Row]) -> list[Row]:
    """Return the rows about bias in vectors: not those about models, nor about quality."""
    other = ("mab", "snli", *QUALITY)
    return [row for row in rows if row.measure.split("-")[0] not in other]


def settings(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Return the marked sets, and the kinds of words in them, that have a value, in order."""
    found = (row.details for row in rows if row.measure == ERROR and row.value is not None)
    return list(dict.fromkeys((one["set"], one["setting"]) for one in found))


def error_of(rows: Sequence[Row]) -> dict[str, float]:
    """Return E of each embedding, averaged over seeds: of the nouns (Table 6), the first setting.

    Of an attribute that has no nouns it is E of the names.
    """
    averaged = [row for row in rows if row.measure == ERROR and "seeds" in row.details]
    first = settings(averaged)[:1]
    return {
        row.subject: row.value
        for row in averaged
        if row.value is not None and (row.details["set"], row.details["setting"]) in first
    }


def correlations_with_error(rows: Sequence[Row]) -> list[Row]:
    """Correlate E with every measure over the embeddings that have both (Pearson, Table 5)."""
    error = error_of(rows)
    columns: dict[str, dict[str, float]] = {}
    for row in intrinsic(rows):
        variant = row.details.get(_VARIANTS.get(row.measure.split("-")[0], ""))
        name = f"{row.measure} ({variant})" if variant else row.measure
        columns.setdefault(name, {})[row.subject] = np.nan if row.value is None else row.value
    e = ("E", np.array(list(error.values())))
    found = (
        correlation((name, np.array([values.get(s, np.nan) for s in error])), e, "pearson")
        for name, values in columns.items()
    )
    return [_correlation_row(one) for one in found]


def _correlation_row(found: Correlation) -> Row:
    because = {"reason": found.reason} if found.reason else {}
    details = {"x": found.x, "y": "E", "n": found.n, "p": found.p, "neutral": 0.0, **because}
    return Row(f"{found.x} – E", "correlation", found.r, {**details, "method": "pearson"})


def _mean(rows: Sequence[Row]) -> Row:
    kept = ("attribute", "set", "setting", "group", "n", "neutral", "better", "reason")
    details = {key: rows[0].details[key] for key in kept if key in rows[0].details}
    if rows[0].value is None:  # for want of words, which all seeds lack alike
        none = {**details, "seeds": len(rows), "spread": None}
        return Row(rows[0].subject, rows[0].measure, None, none)
    values = np.array([row.value for row in rows], float)
    spread = float(values.std(ddof=1)) if len(values) > 1 else None
    more = {"seeds": len(values), "spread": spread}
    return Row(rows[0].subject, rows[0].measure, float(values.mean()), {**details, **more})


def kept(path: Path, about: Mapping[str, Any], make: Callable[[], list[Row]]) -> list[Row]:
    """Return rows from a file that is about the same, or make and write them.

    What another version of wordbias measured is measured again: it may have mended a measure.
    """
    wanted = json.loads(json.dumps({**about, "wordbias": __version__}))
    rows = _read(path, wanted)
    if rows is not None:
        return rows
    rows = make()
    text = json.dumps({"about": wanted, "rows": [row.to_dict() for row in rows]})
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(text.encode())
    return rows


def kept_about(path: Path) -> Mapping[str, Any]:
    """Return what the rows of a file are about; nothing if there is no such file."""
    try:
        about: Mapping[str, Any] = dict(json.loads(path.read_text(encoding="utf-8"))["about"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}
    return about


def _read(path: Path, wanted: Any) -> list[Row] | None:
    """Return the rows of a file, or None if there is none about this, or it is damaged."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["about"] != wanted:
            return None
        return [
            Row(row.pop("subject"), row.pop("measure"), row.pop("value"), row)
            for row in found["rows"]
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


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
        return evaluate(panel, plan.families, sembias=plan.sembias, isolated=isolated)

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


@dataclass(frozen=True, eq=False)
class Plan:
    """What is studied.

    Attributes
    ----------
    embeddings
        Of one dimension; the first is the original of the others, for the measures that have one.
    data
        ``train`` and ``dev``, which models learn from and are chosen by.
    test
        Pairs to report an accuracy on, too.
    folder
        Where models and rows are kept.
    recipe, seeds, half
        How models are trained.
    families, sembias
        Measures to be taken; see `wordbias.measures.evaluate.evaluate`.
    quality
        Test sets of similarity and analogies; see `wordbias.word_tasks.find_sets`.
    attribute
        Along which bias is measured, in vectors and in models.
    center
        Centre the differences that MIDB is fitted to.
    as_published
        The measures' other published settings; see `wordbias.measures.evaluate.evaluate`.
    """

    embeddings: Sequence[Embedding]
    data: Mapping[str, Pairs]
    folder: Path
    recipe: Recipe = FAST
    seeds: Sequence[int] = (0, 1)
    half: bool = False
    test: Pairs | None = None
    families: Sequence[str] = STANDARD
    sembias: SemBias | None = None
    quality: Sequence[SimilaritySet | AnalogySet] = ()
    attribute: Attribute = field(default_factory=Attribute.load)
    center: bool = False
    as_published: bool = False

    @property
    def about(self) -> Attribute | None:
        """Whom the marked sets are about: none where they are the published ones, of gender."""
        return None if self.attribute == Attribute.load() else self.attribute

    def __post_init__(self) -> None:
        dims = {embedding.name: embedding.dim for embedding in self.embeddings}
        if len(dims) != len(self.embeddings):
            raise WordbiasError("two embeddings have the same name; rename one of the files")
        if len(set(dims.values())) > 1:
            found = ", ".join(f"{name} {dim}" for name, dim in dims.items())
            raise WordbiasError(f"expected embeddings of one dimension, found {found}")
        check_families(self.families)


def _check_words(plan: Plan) -> None:
    """Refuse now what would have no value after all training."""
    reasons = [reason for one in plan.embeddings for _, reason in sets_of(plan, one)]
    if all(reasons):
        raise WordbiasError(
            f"{plan.embeddings[0].name} {reasons[0]}, and no other marked set can be scored with "
            "any embedding; give vectors that have the words"
        )


def with_permuted_weights(
    embeddings: Sequence[Embedding], *, center: bool = False
) -> list[Embedding]:
    """Add MISP with each of the 23 wrong weightings of appendix C, of the first embedding."""
    from itertools import permutations

    base = embeddings[0]
    orders = ("".join(order) for order in permutations("1234"))
    wrong = [order for order in orders if order != "1234"]
    made = [
        replace(
            misp.misp(base, weights=f"perm:{order}", center=center),
            name=f"{base.name}.perm-{order}",
            info=None,
        )
        for order in wrong
    ]
    return [*embeddings, *made]


def run(plan: Plan, *, device: str | None = None, workers: Workers | None = None) -> list[Row]:
    """Train what is not trained, score what is not scored, measure what is not measured.

    Returns
    -------
    list of Row
        Rows of every model (with its `seed`), their means over seeds (`seeds`, `spread`: standard
        deviation), the measures of every embedding, and its quality. Where an embedding lacks
        words of a marked set, the rows of this set have no value but a `reason`.

    Raises
    ------
    WordbiasError
        If no marked set can be scored with any embedding, another process is at the same study, or
        as `train_all` does.
    """
    _check_words(plan)
    data = Data.of(dict(plan.data))
    jobs = models_to_train(
        plan.embeddings, plan.seeds, data, plan.recipe, plan.folder, half=plan.half
    ).jobs
    with growing(plan.folder), locked(plan.folder / "study"):
        train_all(
            jobs,
            data.encoded["train"],
            data.encoded["dev"],
            plan.recipe,
            device=device,
            half=plan.half,
            workers=workers,
        )
        try:
            return rows_of(plan, jobs)
        except KeyboardInterrupt:
            raise Interrupted("the same call goes on: models and rows are kept") from None
