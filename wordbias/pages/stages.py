"""The plan of an audit, and what an embedding is compared with: methods, and cleaned files."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.measures.direction import RECIPES
from wordbias.measures.panel import Panel
from wordbias.measures.registry import STANDARD
from wordbias.measures.sembias import SemBias
from wordbias.methods.fitted import Chain
from wordbias.methods.methods import fit_methods
from wordbias.nli.arms import drawn_chains
from wordbias.nli.files import Model
from wordbias.results import Row
from wordbias.settings import Configured
from wordbias.word_tasks.sets import AnalogySet, SimilaritySet

BEFORE = "before"
"""Label of the embedding as it was given."""
PARTS = (*STANDARD, "weat", "occupations", "map", "neighbours", "quality", "mab")
"""Parts that can be skipped."""
GIPE_WORDS = 50_000
"""Number of most frequent words among which GIPE looks for neighbours."""


@dataclass(frozen=True)
class Plan:
    """Settings of an audit."""

    skip: Collection[str] = ()  # parts to skip, some of `PARTS`
    # test sets that are not part of the package; without them these parts are left out
    sembias: SemBias | None = None
    sets: Sequence[SimilaritySet | AnalogySet] = ()
    # the NLI model of the marked attribute bias; None leaves it out
    model: Model | None = field(default=None, repr=False)
    # words whose neighbours are listed, beside the occupations that lean most
    words: Sequence[str] = ()
    gipe_words: int = GIPE_WORDS
    # GIPE's weight of a word that is no neighbour of any word; see `wordbias.measures.gipe.gipe`
    isolated: float = 1.0
    # add chance levels by `wordbias.measures.chance`, measured on the vectors before
    chance: bool = True

    def __post_init__(self) -> None:
        for name in self.skip:
            if name not in PARTS:
                remedy = "; --methods=none measures only before" if name == "misp" else ""
                raise WordbiasError(f"part {name!r}: expected some of {', '.join(PARTS)}{remedy}")

    def includes(self, part: str) -> bool:
        """Return whether a part is measured."""
        return part not in self.skip


@dataclass(frozen=True, eq=False)
class Column:
    """What an embedding is compared with: the result of methods, or a file of the user."""

    label: str
    methods: Sequence[Configured] = ()
    embedding: Embedding | None = None  # embedding of a file; None for methods
    # `null` or `lists`, and the number of a draw; see `wordbias.nli.arms.drawn_chains`
    drawn: str = ""
    draw: int = 0

    @property
    def kind(self) -> str:
        """``file``, ``method``, ``null`` or ``lists``."""
        return self.drawn or ("method" if self.embedding is None else "file")

    def details(self) -> dict[str, str]:
        """Return what all rows of the column say about it."""
        about = {"stage": self.label, "column": self.kind}
        return about if self.embedding is not None else {**about, "debiased": self.label}

    def fitted_to(self, panel: Panel) -> tuple[Chain, Embedding]:
        """Fit the methods and apply them, with the panel's settings of the subspace."""
        # MISP and MHD have the number of components of MIDB, and are centred if that is; a setting
        # after the name of a method goes before.
        before, attribute, seed = panel.embedding, panel.attribute, panel.seed
        subspace = {"dims": panel.dims, "centre": panel.centre}
        if self.drawn:
            draws = [self.draw]
            (chain,) = drawn_chains(self.drawn, before, draws, attribute, seed=seed, **subspace)
            return chain, chain(before)
        methods = [
            method._replace(settings={**subspace, **method.settings})
            if method.name in ("misp", "mhd")
            else method
            for method in self.methods
        ]
        return fit_methods(methods, before, attribute, seed=seed)


@dataclass(frozen=True, eq=False)
class Compared:
    """One embedding as a panel of measures, with the columns that it is compared with."""

    before: Panel  # panel of the embedding as it was given
    columns: Sequence[Column] = ()  # columns in their order

    @property
    def name(self) -> str:
        """Name of the embedding, which is the subject of all rows."""
        return self.before.embedding.name


@dataclass(frozen=True, eq=False)
class Stage:
    """One embedding at one stage, ready to be measured."""

    before: Panel  # panel of the embedding as it was given
    panel: Panel  # panel of the embedding at this stage, with the one before as its original
    chain: Chain | None = None  # the fitted methods of a column of methods

    @property
    def is_first(self) -> bool:
        """True if this is the embedding as it was given."""
        return self.panel is self.before

    @property
    def name(self) -> str:
        """Name of the embedding in the rows of all stages."""
        return self.before.embedding.name

    def of_one_space(self, what: str) -> None:
        """Refuse vectors of other dimensions than those before."""
        old, new = self.before.embedding.dim, self.panel.embedding.dim
        if old != new:
            raise WordbiasError(
                f"{what} along the axes of the vectors before, which have {old} dimensions; these "
                f"have {new}"
            )

    def row(self, measure: str, value: float | None, samples: Any = None, **details: Any) -> Row:
        """Make a row about the embedding; details that are None are left out."""
        row = self.panel.row(measure, value, samples, **details)
        return replace(row, subject=self.name)


def stage_of(before: Panel, embedding: Embedding, chain: Chain | None = None) -> Stage:
    """Return the stage at which a panel's embedding has become another of the same words."""
    return Stage(before, replace(before, embedding=embedding, original=before.embedding), chain)


def check_directions(panels: Sequence[Panel]) -> None:
    """Refuse a direction from a file that does not fit."""
    for panel in panels:
        if panel.recipe not in RECIPES:
            panel.own_direction.defined()


def among(panel: Panel, words: int) -> Panel:
    """Keep the first `words` of a panel's embedding and all that it averages over."""
    if len(panel.embedding) <= words:
        return panel
    vocabulary = list(dict.fromkeys([*panel.vocabulary, *panel.embedding.words[:words]]))
    embedding: Embedding = panel.embedding.subset([*vocabulary, *_axis_words(panel)])
    own = panel.is_own
    original = embedding if own else panel.original.subset(embedding.words)
    return replace(panel, embedding=embedding, original=original)


def _axis_words(panel: Panel) -> list[str]:
    attribute = panel.attribute
    pairs = [*attribute.pairs, *([attribute.direction] if attribute.direction else [])]
    words = [word for pair in pairs for word in pair]
    words += [word for members in attribute.members for word in members]
    spelled = (form for word in words for form in (word, word.lower(), word.capitalize()))
    return [word for word in spelled if word in panel.embedding]
