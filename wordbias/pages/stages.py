"""The plan of an audit, and an embedding before and after debiasing, ready to be measured alike."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.measures.panel import RECIPES, Panel
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

AFTER = "misp"
PARTS = (*STANDARD, "weat", "occupations", "map", "neighbours", "quality", "mab", AFTER)
"""What can be left out; without `misp` nothing is measured after it."""
GIPE_WORDS = 50_000
"""Words, from the most frequent on, among which GIPE looks for neighbours."""


@dataclass(frozen=True)
class Plan:
    """Settings of an audit.

    Attributes
    ----------
    skip
        Some of `PARTS`.
    sembias, sets
        Test sets that are not part of the package; None and none leave these parts out.
    model
        The NLI model of the marked attribute bias; None leaves it out.
    words
        Words whose neighbours are listed, beside the occupations that lean most.
    gipe_words
        See `GIPE_WORDS`.
    isolated
        GIPE's weight of a word that is nobody's neighbour; see `wordbias.measures.gipe.gipe`.
    chance
        Put beside the values what `wordbias.measures.chance` gives on the vectors before.

    Raises
    ------
    WordbiasError
        If something else is to be skipped.
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

    def asks(self, part: str) -> bool:
        """Whether a part is measured."""
        return part not in self.skip


@dataclass(frozen=True)
class Stages:
    """Panels of one embedding.

    Attributes
    ----------
    before
        As it was given.
    after
        With MISP, its original being the one before; None if that is left out or cannot be.
    projection, fitted
        What MISP fitted, and what its components describe; or another method's fit alone.
    reason
        Why MISP was not fitted, if it was asked for.
    method
        What debiased: hard debiasing where there are too few words for MISP.
    """

    before: Panel
    after: Panel | None = None
    projection: Projection | None = None
    fitted: Fitted | None = None
    reason: str = ""
    method: str = "misp"

    @property
    def name(self) -> str:
        """What the rows call the embedding, at both stages."""
        return self.before.embedding.name

    def panels(self) -> Iterator[tuple[str, Panel]]:
        """Yield each stage with its panel."""
        yield "before", self.before
        if self.after is not None:
            yield "after", self.after

    def row(self, stage: str, row: Row, **details: object) -> Row:
        """Call a row by the embedding's name and its stage; without an after there is none."""
        known = {} if self.after is None else {"stage": stage}
        done = {"debiased": self.method} if stage == "after" else {}
        said = {key: value for key, value in row.details.items() if key not in details}
        return Row(self.name, row.measure, row.value, {**known, **done, **details, **said})

    def rows(self, stage: str, rows: Iterable[Row], **details: object) -> list[Row]:
        """Do so for several rows."""
        return [self.row(stage, row, **details) for row in rows]


def make_stages(panels: Sequence[Panel], *, misp: bool = True) -> list[Stages]:
    """Debias each panel's embedding in memory, with the panel's own settings.

    Where MISP cannot be fitted the stages say why.

    Raises
    ------
    WordbiasError
        If the panels' direction is a file that does not fit.
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
