"""SemBias: which of four pairs is most like he − she? (Zhao et al. 2018)."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import FLOAT32_ROUNDING
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.measures.chance import Key, Null
from wordbias.measures.direction import Direction, signed_lengths
from wordbias.measures.panel import Panel
from wordbias.measures.registry import ideal
from wordbias.results import Row
from wordbias.statistics import crossed_means
from wordbias.text_files import opened
from wordbias.wordlists import resolve_pairs

GENDER = "gender"
"""Start of the names of attributes that the questions are about: he − she."""
CATEGORIES = ("definition", "none", "stereotype")
COLUMNS = (0, 1, 1, 2)
"""Category of each of the four columns of the file."""
CASE = "as written, else lower-cased, else capitalised"
SUBSET = 40
"""Number of last lines of the file, whose pairs GN-GloVe did not have in training."""
TIED = -1
"""Column of a question whose four pairs are alike but for rounding."""
MEASURES = tuple(f"sembias-{name}" for name in CATEGORIES)

Question = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class SemBias:
    """Questions of four pairs each, male word first, in the order of the file."""

    questions: tuple[Question, ...]

    @classmethod
    def load(cls, path: str | Path) -> SemBias:
        """Read the published form: four tab-separated ``a:b`` a line."""
        try:
            with opened(path) as file:
                text = file.read().decode("utf-8-sig").replace("\r\n", "\n")
            lines = text.rstrip("\n").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise WordbiasError(f"{path}: cannot be read as SemBias: {reason}") from None
        return cls(tuple(_question(path, i, line) for i, line in enumerate(lines, 1)))

    @property
    def words(self) -> list[str]:
        """Every word of every pair."""
        return [word for question in self.questions for pair in question for word in pair]


def _question(path: str | Path, number: int, line: str) -> Question:
    pairs = [tuple(cell.split(":")) for cell in line.rstrip("\r").split("\t")]
    if len(pairs) != 4 or any(len(pair) != 2 or not all(pair) for pair in pairs):
        raise WordbiasError(
            f"{path}: line {number}: expected four tab-separated pairs a:b, found {line[:60]!r}"
        )
    return tuple((a, b) for a, b in pairs)


def usable_questions(
    questions: Sequence[Question], vocabulary: Container[str]
) -> tuple[list[list[tuple[str, str]]], int]:
    """Resolve the words; return the questions that have all, and the number of the others."""
    # Published code either crashes there or leaves the line out as well; the denominator is then
    # the number of usable questions.
    usable = []
    for question in questions:
        pairs = [resolve_pairs([pair], vocabulary).found for pair in question]
        if all(pairs):
            usable.append([pair[0] for pair in pairs])
    return usable, len(questions) - len(usable)


def choices(differences: NDArray[np.float64], direction: Direction) -> NDArray[np.intp]:
    r"""Return the column of the pair most like the direction in each question, (q, 4, d).

    Along several directions it is the pair with the largest share of its difference in the
    subspace, by the weights, towards the second group: :math:`-s(a - b) / \|a - b\|`, with the
    signed length s of `wordbias.measures.direction.signed_lengths`. With one direction of weight 1
    that is the cosine with he − she. Of pairs that are equal, but for rounding of float32 vectors,
    it is the first. Where all four are, as after a projection of all words, it is `TIED`.
    """
    subspace = direction.defined()
    towards_second = -signed_lengths(differences, subspace, direction.towards)
    length = np.linalg.norm(differences, axis=-1)
    cosine = towards_second / np.where(length == 0, 1, length)
    equal = cosine >= cosine.max(axis=1, keepdims=True) - FLOAT32_ROUNDING * subspace.weights.max()
    return np.where(equal.all(axis=1), TIED, equal.argmax(axis=1))


def category_counts(best: NDArray[np.intp]) -> NDArray[np.intp]:
    """Count the questions that went to definition, none and stereotype."""
    return np.bincount(np.array(COLUMNS)[best[best != TIED]], minlength=len(CATEGORIES))


def resampled_shares(
    questions: Sequence[Sequence[tuple[str, str]]],
    best: NDArray[np.intp],
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return bootstrap shares of the categories, (b, 3), over the pairs that questions cross."""
    # The published 440 questions are every two of 22 definition and 20 stereotype pairs; the other
    # two pairs of a question hardly repeat.
    chosen = np.array(COLUMNS)[best][:, None] == np.arange(len(CATEGORIES))
    pairs = [[question[column] for question in questions] for column in (0, -1)]
    factors = [np.unique(column, axis=0, return_inverse=True)[1].ravel() for column in pairs]
    return crossed_means(chosen.astype(np.float64), factors, rng)


def sembias_rows(panel: Panel) -> list[Row]:
    """Compute the shares of all questions, and of the last 40, that go to each category."""
    name = panel.attribute.name
    if not name.startswith(GENDER):
        reason = f"undefined: SemBias asks about gender, and the attribute is {name}"
        return panel.undefined(MEASURES, reason)
    if panel.sembias is None:
        reason = (
            "undefined: the test set is not part of the package; run: wordbias fetch sembias, and "
            "give it with --sembias=sembias (or FILE)"
        )
        return panel.undefined(MEASURES, reason)
    return [
        row
        for name, questions in _sets(panel.sembias).items()
        for row in _set_rows(panel, questions, name)
    ]


def _set_rows(panel: Panel, questions: Sequence[Question], name: str) -> list[Row]:
    usable, missing = usable_questions(questions, panel.embedding)
    about = {"set": name, "n": len(usable), "missing": missing, "ties": "first pair", "case": CASE}
    direction = panel.own_direction
    if direction.subspace is None or not usable:
        reason = direction.reason or "undefined: no question has all its words"
        return panel.undefined(MEASURES, reason, **about)
    best = choices(_differences(panel.embedding, usable), direction)
    about = {"direction": direction.recipe, **about}
    chosen = np.flatnonzero(best != TIED)
    if len(chosen) < len(best):  # the others tell nothing, and are left out
        usable = [usable[i] for i in chosen]
        about |= {"n": len(usable), "tied": len(best) - len(usable)}
    if not usable:
        reason = "undefined: in every question the four pairs are alike but for rounding"
        return panel.undefined(MEASURES, reason, **about)
    return _share_rows(panel, usable, best[chosen], about)


def _share_rows(
    panel: Panel,
    questions: Sequence[Sequence[tuple[str, str]]],
    best: NDArray[np.intp],
    about: Mapping[str, Any],
) -> list[Row]:
    counts = category_counts(best)
    drawn = resampled_shares(questions, best, panel.rng())
    return [
        panel.row(
            measure,
            float(counts[i] / len(questions)),
            drawn[:, i],
            unit="definition and stereotype pairs",
            items=questions,
            **ideal(measure),
            **about,
        )
        for i, measure in enumerate(MEASURES)
    ]


def category_shares(
    embedding: Embedding, sembias: SemBias, directions: Sequence[Direction | None]
) -> dict[tuple[str, str], NDArray[np.float64]]:
    """Return shares by measure and set along several directions, nan where one is None."""
    shares_by_set: dict[tuple[str, str], NDArray[np.float64]] = {}
    for name, questions in _sets(sembias).items():
        usable = usable_questions(questions, embedding)[0]
        shares = np.full((len(MEASURES), len(directions)), np.nan)
        differences = _differences(embedding, usable) if usable else None
        for i, direction in enumerate(directions):
            if direction is not None and differences is not None:
                counts = category_counts(choices(differences, direction))
                shares[:, i] = counts / counts.sum() if counts.any() else np.nan
        shares_by_set |= {
            (measure, name): row for measure, row in zip(MEASURES, shares, strict=True)
        }
    return shares_by_set


def _sets(sembias: SemBias) -> dict[str, Sequence[Question]]:
    return {"all": sembias.questions, f"last {SUBSET}": sembias.questions[-SUBSET:]}


def _differences(
    embedding: Embedding, questions: Sequence[Sequence[tuple[str, str]]]
) -> NDArray[np.float64]:
    """Return ``a − b`` of the four pairs of each question, shape ``(q, 4, d)``."""
    a, b = (
        embedding.take([pair[side] for question in questions for pair in question])
        for side in (0, 1)
    )
    return (a.astype(np.float64) - b).reshape(len(questions), 4, -1)


def chance_of_sembias(panel: Panel, nulls: Sequence[Null]) -> dict[Key, NDArray[np.float64]]:
    """Return the shares of the categories along each null; nothing without the questions."""
    if panel.sembias is None:
        return {}
    directions = [null.direction for null in nulls]
    return category_shares(panel.original, panel.sembias, directions)
