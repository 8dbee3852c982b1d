"""SEAT: association tests on sentences that mention words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from wordbias import cells
from wordbias.calls import note, path_of, public
from wordbias.configuration import ASKS_ENCODERS, current_config, uses
from wordbias.draws import with_holm
from wordbias.errors import UsageError, WordbiasError
from wordbias.measures.registry import meaning
from wordbias.models.text_encoders import EncoderLike, open_text_encoder
from wordbias.pivot import pivot, values
from wordbias.probes.seat import MEASURE, Seat
from wordbias.rendering import how_many
from wordbias.reports import Report
from wordbias.wordlists.model_sentences import WORD, ModelSentences
from wordbias.wordlists.queries import PLACE, SEAT, Query, QueryLike, as_queries

PUBLISHED = f"1-10,{SEAT}"
"""Queries of May et al. (2019): those of WEAT, and their own."""
_CLOSING = (
    "Effect sizes as in WEAT: neutral 0; positive: X is associated with A, Y with B. A word counts "
    "once, as the mean of its sentences; p is one-sided, the intervals are a bootstrap over words. "
    "p Holm is corrected for the number of queries."
)


@public
@uses(*ASKS_ENCODERS, "cache", "device", "precision")
def seat(
    model: EncoderLike,
    query: QueryLike = PUBLISHED,
    *,
    template: str | Sequence[str] = (),
    seed: int = 0,
) -> Report:
    """Test associations between sentences that mention words (SEAT).

    SEAT (May et al. 2019) is WEAT of sentences. MODEL is an encoder, a decoder, a static model or
    anything else that gives vectors of texts. It reads each word in the same six sentences, which
    say nothing about it. An example is: The text begins with love.

    The ten queries of WEAT are tested, and those that SEAT adds. These exchange names and terms for
    groups, or are about the angry black woman stereotype, or about the double bind of women:
    competent ones are thought less likable.

    Parameters
    ----------
    model : folder, name, (model, tokenizer), SentenceTransformer or function of texts
        The model to measure.
    query : str, path, Query, {"targets": {name: words, …}, "attributes": …} or several
        Queries: names or numbers of WEAT's, 1,6-8; names of SEAT's, such as angry-black-woman; seat
        for all of these. Or a TOML or JSON file of your own; FILE::NAME is one query in it.
    template : str or sequence of str
        Sentence for each word, which replaces its {}: "This is {}."; may be repeated.  [default:
        six sentences, or those of the query]
    seed : int
        Seed of everything random.

    Returns
    -------
    Report
        A row for each query: the effect size d, its interval over words (``low``, ``high``), ``p``
        and ``p_holm``.

    Raises
    ------
    WordbiasError
        If the model gives no vector of a text, or a query or template cannot be used.

    Notes
    -----
    The authors choose sentences by the part of speech of a word. Here they are the same for all
    words, and sets differ in their words alone. The authors also count each sentence as a word.
    With more templates their p then falls, although nothing more is known of the words.

    Word vectors are measured with the same queries by wordbias weat.

    References
    ----------
    May, Wang, Bordia, Bowman and Rudinger (2019), On Measuring Social Biases in Sentence Encoders.

    Examples
    --------
    >>> import wordbias as wb
    >>> print(wb.seat("all-MiniLM-L6-v2", query="6,angry-black-woman"))  # doctest: +SKIP
    """
    how = current_config()
    queries = as_queries(query)
    own = [template] if isinstance(template, str) else list(template)
    if bad := [pattern for pattern in own if PLACE not in pattern]:
        raise UsageError(f"--template={bad[0]!r}: has no {PLACE} for the word; write it into it")
    sentences = [_sentences(test, own) for test in queries]
    texts = list(
        dict.fromkeys(text for of in sentences for of_word in of.values() for text in of_word)
    )
    path = path_of(model)
    if how.endpoint is None and path is not None and Path(path).is_file():
        raise WordbiasError(
            f"{path}: is a file, and a model is a folder; word vectors are measured with the same "
            "queries by wordbias weat"
        )
    encoder = open_text_encoder(model, device=how.device, precision=how.precision)
    for line in encoder.notes:
        note(line, reported=True)
    vectors = encoder.encode(texts).astype(np.float64)
    places = {text: i for i, text in enumerate(texts)}
    rows = []
    for weat_query, of_query in zip(queries, sentences, strict=True):
        by_word = {
            word: vectors[[places[t] for t in of_word]] for word, of_word in of_query.items()
        }
        about = {"sentences": len(next(iter(of_query.values())))}
        rows.append(Seat(weat_query, by_word, seed).row(encoder.name, about))
    rows = with_holm(rows)
    sets = "; ".join(
        f"{test.name}: {'/'.join(test.names[:2])} × {'/'.join(test.names[2:])}" for test in queries
    )
    legend = f"{meaning(MEASURE)}. X/Y × A/B: {sets.replace('_', ' ')}."
    columns = values("effect", "95 %", "p", ("p Holm", cells.p_holm))
    return Report(
        inputs={encoder.name: {**encoder.about, "texts": len(texts)}},
        rows=rows,
        tables=[pivot(f"SEAT of {encoder.name}", rows, {"query": "set"}, columns, legend)],
        closing=[f"{how_many(len(texts), 'sentence')}. {_CLOSING}"],
        seed=seed,
        notes=list(encoder.notes),
    )


def _sentences(query: Query, own: Sequence[str]) -> dict[str, list[str]]:
    """Return the sentences of each word of a query."""
    for name, words in (*query.targets, *query.attributes):
        if len(words) < 2:
            raise WordbiasError(
                f"{query.name}: {name}: expected two words or more, got {len(words)}; add words of "
                "the same kind"
            )
    common = [mention.replace(WORD, PLACE) for mention in ModelSentences.load().mentions]
    by_word: dict[str, list[str]] = {}
    for i, side in enumerate((query.targets, query.attributes)):
        templates = own or ([query.templates[i]] if query.templates else common)
        for word in (word for _, words in side for word in words):
            sentences = [template.replace(PLACE, word) for template in templates]
            if by_word.setdefault(word, sentences) != sentences:
                raise WordbiasError(
                    f"{query.name}: {word!r} is a target and an attribute, with other sentences "
                    "each; remove it from one of the sets, or leave out templates"
                )
    return by_word
