"""The study of Dawkins (2021): a model per embedding and seed, its bias, and what predicts it.

Everything that takes long is kept in one folder and not done again: models, the rows of each model,
the measures of each embedding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from wordbias.embedding import Embedding
from wordbias.errors import Interrupted, WordbiasError
from wordbias.formats.alone import alone
from wordbias.formats.folders import growing
from wordbias.measures.sembias import SemBias
from wordbias.measures.table import FAMILIES, check_families
from wordbias.methods import misp
from wordbias.nli.pairs import Pairs
from wordbias.nli.recipes import FAST, Recipe
from wordbias.nli.runs import Data
from wordbias.nli.runs import plan as models_to_train
from wordbias.nli.study_rows import rows_of, sets_of
from wordbias.nli.trainer import train_all
from wordbias.results import Row
from wordbias.word_tasks import AnalogySet, SimilaritySet
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
        Test sets of similarity and analogies; see `wordbias.word_tasks.find_sets`.
    attribute
        Along which bias is measured, in vectors and in models.
    center
        Centre the differences that MIDB is fitted to.
    as_published
        The measures' other published settings; see `wordbias.measures.table.table_rows`.
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
    with growing(plan.folder), alone(plan.folder / "study"):
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
