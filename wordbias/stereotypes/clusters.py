"""Clusters of mentions that a coreference system found in the sentences of WinoBias."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple

from wordbias.errors import WordbiasError
from wordbias.stereotypes.winobias import Clusters, Sentence, Span, tokens
from wordbias.text_files import read_bounded

Unit = Literal["characters", "tokens"]
UNITS: tuple[Unit, ...] = ("characters", "tokens")


@dataclass(frozen=True, eq=False)
class FoundClusters:
    """Clusters of sentences, in characters."""

    path: str  # file and its hash, which is empty if the clusters were not read from a file
    sha256: str
    clusters: Sequence[Clusters]  # clusters of each requested sentence, in that order
    beside: int = 0  # number of other sentences in the file


def load_clusters(
    source: str | os.PathLike[str] | Mapping[str, object],
    sentences: Sequence[Sentence],
    *,
    unit: Unit = "characters",
    inclusive: bool = False,
) -> FoundClusters:
    """Read the clusters of any coreference system, of JSON, jsonl or a mapping."""
    # JSON is an object of clusters by sentence; jsonl has objects with a `sentence` and its
    # `clusters`, or documents as coref-predict writes them, whose spans are tokens. `inclusive`:
    # the second number of a span is its last character or token, not the one after.
    if unit not in UNITS:
        raise WordbiasError(f"unit {unit!r}: expected one of {', '.join(UNITS)}")
    if isinstance(source, Mapping):
        name, sha256 = "the clusters given", ""
        given: Mapping[str, Given] = {k: Given(repr(k), v) for k, v in source.items()}
    else:
        file = Path(source)
        name = str(file)
        try:
            raw = read_bounded(file)
        except OSError as error:
            raise WordbiasError(f"{file}: cannot be read: {error.strerror}") from None
        sha256 = hashlib.sha256(raw).hexdigest()
        by_line = file.suffix.lower() in (".jsonl", ".ndjson")
        given = _lines(file, raw) if by_line else _whole(file, raw)
    by_sentence = []
    for sentence in sentences:
        if sentence.text not in given:
            raise WordbiasError(
                f"{name}: has no clusters of {sentence.text!r}; a sentence in which nothing was "
                "found has the empty list"
            )
        place, clusters, words = given[sentence.text]
        if words is not None and words != [word for word, _ in tokens(sentence.text)]:
            raise WordbiasError(
                f"{name}: {place}: has other tokens than --sentences writes of {sentence.text!r}"
            )
        how: tuple[Unit, bool] = (unit, inclusive) if words is None else ("tokens", False)
        by_sentence.append(_checked(f"{name}: {place}", sentence.text, clusters, *how))
    beside = len(given.keys() - {wanted.text for wanted in sentences})
    return FoundClusters(name, sha256, by_sentence, beside)


class Given(NamedTuple):
    """Clusters as they stand in a file, where, and of a document the tokens that they count."""

    place: str
    clusters: Any
    words: list[Any] | None = None


def _whole(file: Path, raw: bytes) -> Mapping[str, Given]:
    try:
        parsed = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise WordbiasError(f"{file}: is no JSON: {error}") from None
    if not isinstance(parsed, dict):
        raise WordbiasError(f'{file}: expected an object, {{"sentence": [cluster, …], …}}')
    return {text: Given(repr(text), clusters) for text, clusters in parsed.items()}


def _lines(file: Path, raw: bytes) -> Mapping[str, Given]:
    by_sentence: dict[str, Given] = {}
    for i, line in enumerate(raw.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            document = "sentences" in record
            text, clusters = str(record["name" if document else "sentence"]), record["clusters"]
            words = list(chain(*record["sentences"])) if document else None
        except (ValueError, KeyError, TypeError, RecursionError):
            raise WordbiasError(
                f'{file}: line {i}: expected {{"sentence": …, "clusters": …}}'
            ) from None
        place, known, _ = by_sentence.setdefault(text, Given(f"line {i}", clusters, words))
        if known != clusters:
            raise WordbiasError(f"{file}: line {i}: has other clusters of the sentence of {place}")
    return by_sentence


def _checked(place: str, text: str, clusters: Any, unit: Unit, inclusive: bool) -> Clusters:
    span = _reader(text, unit, inclusive)
    try:
        span_clusters = tuple(tuple(span(*mention) for mention in cluster) for cluster in clusters)
    except (TypeError, ValueError):
        raise WordbiasError(
            f"{place}: expected clusters of spans within the {unit} of {text!r}, such as "
            f"[[[0, 8], [17, 20]]]; found {json.dumps(clusters, default=repr)[:80]}"
        ) from None
    ((most, count),) = Counter(chain(*span_clusters)).most_common(1) or [((0, 0), 0)]
    if count > 1:
        raise WordbiasError(
            f"{place}: {text[slice(*most)]!r} of {text!r} is {count} times in clusters; a mention "
            "is in one cluster, once"
        )
    return span_clusters


def _reader(text: str, unit: Unit, inclusive: bool) -> Callable[[int, int], Span]:
    """Return a function from the two numbers of a span to a span in characters."""
    places = (
        [(i, i + 1) for i in range(len(text))]
        if unit == "characters"
        else [span for _, span in tokens(text)]
    )

    def span(start: int, end: int) -> Span:
        last = end if inclusive else end - 1
        if isinstance(start, bool) or not 0 <= start <= last < len(places):
            raise ValueError
        return places[start][0], places[last][1]

    return span
