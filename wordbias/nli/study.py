"""The study of Dawkins (2021): a model per embedding and seed, its bias, and what predicts it.

Everything that takes long is kept in one folder and not done again: models, the rows of each model,
the measures of each embedding.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from wordbias.debias import misp
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.formats.alone import alone
from wordbias.measures.panel import Panel, make_panels
from wordbias.measures.sembias import SemBias
from wordbias.measures.table import FAMILIES, check_families, table_rows
from wordbias.nli.evaluation import mab_rows
from wordbias.nli.files import Model
from wordbias.nli.fillers import marked_sets
from wordbias.nli.keeping import kept
from wordbias.nli.known_words import check_fillers, known_part
from wordbias.nli.pairs import Pairs
from wordbias.nli.recipes import FAST, Recipe
from wordbias.nli.runs import Data
from wordbias.nli.runs import plan as models_to_train
from wordbias.nli.scoring import accuracy, score_set
from wordbias.nli.summary import over_seeds
from wordbias.nli.test_sets import TestSet, build
from wordbias.nli.trainer import Job, train_all
from wordbias.quality import AnalogySet, SimilaritySet, quality
from wordbias.results import Row
from wordbias.wordlists import Attribute
from wordbias.workers import Workers


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
        Measures to be taken; see `wordbias.measures.table.table_rows`.
    quality
        Test sets of similarity and analogies; see `wordbias.quality.find_sets`.
    attribute
        Along which bias is measured, in vectors and in models.
    """

    embeddings: Sequence[Embedding]
    data: Mapping[str, Pairs]
    folder: Path
    recipe: Recipe = FAST
    seeds: Sequence[int] = (0, 1)
    half: bool = False
    test: Pairs | None = None
    families: Sequence[str] = FAMILIES
    sembias: SemBias | None = None
    quality: Sequence[SimilaritySet | AnalogySet] = ()
    attribute: Attribute = field(default_factory=Attribute.load)

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


def with_permuted_weights(embeddings: Sequence[Embedding]) -> list[Embedding]:
    """Add MISP with each of the 23 wrong weightings of appendix C, of the first embedding."""
    from itertools import permutations

    base = embeddings[0]
    orders = ("".join(order) for order in permutations("1234"))
    wrong = [order for order in orders if order != "1234"]
    made = [
        replace(
            misp.misp(base, weights=f"perm:{order}"), name=f"{base.name}.perm-{order}", info=None
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
        deviation), the measures of every embedding, and its quality.

    Raises
    ------
    WordbiasError
        If an embedding lacks words of the marked sets, another process is at the same study, or as
        `train_all` does.
    """
    for embedding in plan.embeddings:
        _tests(plan, embedding)  # refuses now what would be refused after all training
    data = Data.of(dict(plan.data))
    jobs = models_to_train(
        plan.embeddings, plan.seeds, data, plan.recipe, plan.folder, half=plan.half
    ).jobs
    plan.folder.mkdir(parents=True, exist_ok=True)
    with alone(plan.folder / "study"):
        train_all(
            jobs,
            data.encoded["train"],
            data.encoded["dev"],
            plan.recipe,
            device=device,
            half=plan.half,
            workers=workers,
        )
        return _rows(plan, jobs)


def _rows(plan: Plan, jobs: Sequence[Job]) -> list[Row]:
    """Score and measure what is not kept."""
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
        for test in _tests(plan, embedding):
            scored = score_set(model, embedding, test)
            yield from mab_rows(test, scored.probabilities, embedding.name)

    path = job.output.with_name(f"{job.output.name}.{_named(plan)}rows.json")
    about = {**job.about, "test": plan.test.sha256 if plan.test else None, **_about(plan)}
    rows = kept(path, about, lambda: list(make()))
    return [replace(row, details={**row.details, "seed": job.seed}) for row in rows]


def _tests(plan: Plan, embedding: Embedding) -> list[TestSet]:
    """Return the marked sets; words that the vectors lack are refused, or left out."""
    tests = [build(name, attribute=plan.about) for name in marked_sets(plan.about)]
    if plan.about is not None:
        return [known_part(embedding, test) for test in tests]
    for test in tests:
        check_fillers(embedding, test)
    return tests


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
    return make_panels(list(plan.embeddings), plan.embeddings[0], plan.attribute)


def _measure_rows(plan: Plan, panel: Panel) -> list[Row]:
    name = panel.embedding.name
    about = {
        "sha256": _sha256(panel.embedding),
        "families": list(plan.families),
        "original": panel.original.name,
        "vocabulary": len(panel.vocabulary),
        "sembias": plan.sembias is not None,
        **_about(plan),
    }
    path = plan.folder / f"{name}.{_named(plan)}measures.json"
    return kept(path, about, lambda: table_rows(panel, plan.families, sembias=plan.sembias))


def _quality_rows(plan: Plan, embedding: Embedding) -> list[Row]:
    if not plan.quality:
        return []
    sets = {one.name: hashlib.sha256(repr(one).encode()).hexdigest() for one in plan.quality}
    path = plan.folder / f"{embedding.name}.quality.json"
    about = {"sha256": _sha256(embedding), "sets": sets}
    return kept(path, about, lambda: quality(embedding, plan.quality))


def _sha256(embedding: Embedding) -> str:
    return embedding.info.sha256 if embedding.info else ""
