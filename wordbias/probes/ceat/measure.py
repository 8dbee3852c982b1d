"""CEAT of queries on representations, as rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wordbias.errors import WordbiasError
from wordbias.measures.registry import ideal
from wordbias.probes.ceat.association import DRAWS, VARIANCES, UndefinedError, Variance, associate
from wordbias.probes.ceat.contexts import FoundWords, WordRows, find_words, swapped
from wordbias.probes.representations import Representations
from wordbias.results import Row
from wordbias.wordlists.queries import Query

MEASURE = "ceat"


@dataclass(frozen=True)
class Settings:
    """How CEAT is computed.

    Attributes
    ----------
    draws
        How many, at least 2.
    variance
        The in-sample variance; see `wordbias.probes.ceat.association`.
    minimum
        Sentences that a word needs to take part.
    swap
        Exchange targets and attributes. The released code has names as X and Y of stimulus 6, and
        so do we; Orgad et al. describe them as A and B. The sign stays, the deviation does not.
    seed
        Of the draws.
    """

    draws: int = DRAWS
    variance: Variance = "standard-error"
    minimum: int = 1
    swap: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        if self.draws < 2 or self.minimum < 1:
            raise WordbiasError(
                f"{self.draws} draws of words with at least {self.minimum} sentences: expected two "
                "draws or more, and at least one sentence"
            )
        if self.variance not in VARIANCES:
            raise WordbiasError(
                f"variance {self.variance!r}: expected one of {', '.join(VARIANCES)}"
            )


def ceat(
    found: Representations,
    queries: Sequence[Query],
    settings: Settings | None = None,
    layers: Sequence[int] | None = None,
) -> list[Row]:
    """Run CEAT on the vectors of words in context.

    A query for which there are too few words gives rows without a value but with a `reason`.

    Parameters
    ----------
    found
        A vector a context; the column `word` says whose. The contexts of a word are taken as
        distinct sentences.
    queries
        What to run.
    layers
        Some of those that `found` holds, by default all. They share their draws.

    Returns
    -------
    list of Row
        One a query and layer, whose value is the combined effect size. `low` and `high` are its
        95 % interval over resampled sentences, see the module `resampling`; the words
        are fixed. `p` and `p_two_sided` are those of the random-effects model over draws and shrink
        with their number.

    Raises
    ------
    WordbiasError
        If no query has enough words, there is no column `word`, a layer is not there, or a vector
        is zero or holds what is no number.
    """
    settings = settings or Settings()
    layers = tuple(found.layers if layers is None else layers)
    for layer in layers:
        found.place(layer)
    contexts = WordRows.of(found)
    rows: list[Row] = []
    errors = []
    for query in (swapped(query) if settings.swap else query for query in queries):
        try:
            words = find_words(query, contexts, settings.minimum)
        except WordbiasError as error:
            errors.append(f"{found.name}: {query.name}: {error}")
            about = {"set": query.name, "reason": f"undefined: {error}"}
            rows += [Row(found.name, MEASURE, None, {**about, "layer": i}) for i in layers]
        else:
            rows += _measured(found, words, layers, settings)
    if errors and len(errors) == len(queries):
        raise WordbiasError(errors[0])
    return rows


def _measured(
    found: Representations, words: FoundWords, layers: Sequence[int], settings: Settings
) -> Iterator[Row]:
    for layer in layers:
        contexts = words.contexts(found.layer(layer), f"{found.name}, layer {layer}")
        about = {
            **words.details(),
            "layer": layer,
            "variance": settings.variance,
            "swapped": settings.swap,
            "seed": settings.seed,
            **ideal(MEASURE),
        }
        try:
            result = associate(
                contexts, draws=settings.draws, variance=settings.variance, seed=settings.seed
            )
        except UndefinedError as error:
            yield Row(found.name, MEASURE, None, {**about, "reason": str(error)})
        else:
            yield Row(found.name, MEASURE, result.combined.effect, result.details() | about)
