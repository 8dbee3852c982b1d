"""The plan of an audit, and an embedding before and after debiasing, ready to be measured alike."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.measures.direction import RECIPES
from wordbias.measures.panel import Panel
from wordbias.measures.registry import STANDARD
from wordbias.measures.sembias import SemBias
from wordbias.methods import hard
from wordbias.methods.diagnosis import diagnose
from wordbias.methods.fitted import Fitted
from wordbias.methods.misp import fit
from wordbias.methods.transform import Projection, transformed
from wordbias.nli.files import Model
from wordbias.results import Row
from wordbias.word_tasks.sets import AnalogySet, SimilaritySet

_AFTER = "misp"
PARTS = (*STANDARD, "weat", "occupations", "map", "neighbours", "quality", "mab", _AFTER)
"""Parts that can be skipped; without `misp` nothing is measured after it."""
GIPE_WORDS = 50_000
"""Number of most frequent words among which GIPE looks for neighbours."""


@dataclass(frozen=True)
class Plan:
    """Settings of an audit.

    Attributes
    ----------
    skip
        Parts to skip, some of `PARTS`.
    sembias, sets
        Test sets that are not part of the package; without them these parts are left out.
    model
        The NLI model of the marked attribute bias; None leaves it out.
    words
        Words whose neighbours are listed, beside the occupations that lean most.
    gipe_words
        See `GIPE_WORDS`.
    isolated
        GIPE's weight of a word that is no neighbour of any word; see `wordbias.measures.gipe.gipe`.
    chance
        Add chance levels by `wordbias.measures.chance`, measured on the vectors before.

    Raises
    ------
    WordbiasError
        If a skipped part is none of `PARTS`.
    """

    skip: Collection[str] = ()
    sembias: SemBias | None = None
    sets: Sequence[SimilaritySet | AnalogySet] = ()
    model: Model | None = field(default=None, repr=False)
    words: Sequence[str] = ()
    gipe_words: int = GIPE_WORDS
    isolated: float = 1.0
    chance: bool = True

    def __post_init__(self) -> None:
        for name in self.skip:
            if name not in PARTS:
                raise WordbiasError(f"part {name!r}: expected some of {', '.join(PARTS)}")

    def includes(self, part: str) -> bool:
        """Return whether a part is measured."""
        return part not in self.skip


@dataclass(frozen=True)
class Stages:
    """One embedding before and after debiasing, as panels of measures.

    Attributes
    ----------
    before
        Embedding as it was given.
    after
        Debiased embedding, with the one before as its original; None if there is none.
    projection, fitted
        Fit of MISP and the diagnosis of its components; or only the fit of another method.
    reason
        Reason why MISP could not be fitted.
    method
        Method of debiasing: hard debiasing if there are too few words for MISP.
    """

    before: Panel
    after: Panel | None = None
    projection: Projection | None = None
    fitted: Fitted | None = None
    reason: str = ""
    method: str = "misp"

    @property
    def name(self) -> str:
        """Name of the embedding in the rows of both stages."""
        return self.before.embedding.name

    def panels(self) -> Iterator[tuple[str, Panel]]:
        """Yield each stage with its panel."""
        yield "before", self.before
        if self.after is not None:
            yield "after", self.after

    def row(self, stage: str, row: Row, **details: object) -> Row:
        """Return a row with the embedding's name and its stage; no stage if there is no after."""
        known = {} if self.after is None else {"stage": stage}
        method = {"debiased": self.method} if stage == "after" else {}
        rest = {key: value for key, value in row.details.items() if key not in details}
        return Row(self.name, row.measure, row.value, {**known, **method, **details, **rest})

    def rows(self, stage: str, rows: Iterable[Row], **details: object) -> list[Row]:
        """Return several rows with the embedding's name and their stage."""
        return [self.row(stage, row, **details) for row in rows]


def make_stages(panels: Sequence[Panel], *, misp: bool = True) -> list[Stages]:
    """Debias each panel's embedding in memory, with the panel's own settings.

    If MISP cannot be fitted, ``reason`` of the stages has the error.

    Raises
    ------
    WordbiasError
        If the direction of a panel is a file that does not fit.
    """
    for panel in panels:
        if panel.recipe not in RECIPES:
            panel.own_direction.defined()
    return [_stages(panel) if misp else Stages(panel) for panel in panels]


def _stages(panel: Panel) -> Stages:
    embedding = panel.embedding
    try:
        projection = fit(embedding, panel.attribute, dims=panel.dims, center=panel.center)
    except WordbiasError as error:
        return _hard(panel, str(error))
    fitted = diagnose(projection, embedding, panel.attribute, {"center": panel.center})
    after = replace(panel, embedding=transformed(embedding, projection), original=embedding)
    return Stages(panel, after, projection, fitted)


def _hard(panel: Panel, reason: str) -> Stages:
    """Debias along definitional pairs, where the groups have too few words for a subspace."""
    try:
        fitted = hard.fit(panel.embedding, panel.attribute)
        after = fitted(panel.embedding)
    except WordbiasError:
        return Stages(panel, reason=reason)
    compared = replace(panel, embedding=after, original=panel.embedding)
    return Stages(panel, compared, fitted=fitted, reason=reason, method="hard")


def among(panel: Panel, words: int) -> Panel:
    """Keep the first `words` of a panel's embedding and all that it averages over."""
    if len(panel.embedding) <= words:
        return panel
    kept = list(dict.fromkeys([*panel.vocabulary, *panel.embedding.words[:words]]))
    embedding: Embedding = panel.embedding.subset([*kept, *_axis_words(panel)])
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
