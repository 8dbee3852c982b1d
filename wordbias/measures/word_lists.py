"""Intervals over word lists: how far a value depends on which names and pairs were listed.

The same number of names of both groups and of definitional pairs of an attribute is drawn again,
with replacement. Each measure is computed along what is fitted to them, all else the same. Another
axis pair is one of the definitional pairs: the axis of direct bias is a single one. A word that is
drawn twice counts twice in what is fitted; nothing is tested on the drawn words themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import unit
from wordbias.draws import LISTS, drawn, items_of, paired, spread_keys, with_change
from wordbias.embedding import Embedding
from wordbias.errors import UsageError
from wordbias.measures.chance import Key, Null, key_of
from wordbias.measures.direction import UNDEFINED_BELOW, difference_direction
from wordbias.measures.evaluate import chance_of, families_together
from wordbias.measures.panel import Panel
from wordbias.measures.registry import BY_KEY, SELECTABLE
from wordbias.results import Row
from wordbias.wordlists import Attribute, resolve, resolve_pairs
from wordbias.workers import Workers

Float = NDArray[np.float64]
K = TypeVar("K")

REDRAWN = tuple(key for key in SELECTABLE if BY_KEY[key].chance)
"""Families with an interval over word lists; that of WEAT is over its lists already."""
_LISTS = 2
"""Key of the random numbers, where `wordbias.measures.chance` has none."""


def refuse_no_redraws(families: Collection[str]) -> None:
    """Refuse to redraw word lists where no family has an interval over them."""
    if set(families).isdisjoint(REDRAWN):
        raise UsageError(
            f"--seed-lists is for {', '.join(REDRAWN)}, but only "
            f"{', '.join(families) or 'single words'} is measured"
        )


class Redraw(NamedTuple):
    """Places of the listed words and pairs that one redraw takes."""

    # places in the list of each group, one for each word listed
    words: tuple[NDArray[np.intp], ...]
    pairs: NDArray[np.intp]  # places in the list of definitional pairs
    axis: int | None  # place of the pair that is the axis; None without pairs


def redraws(attribute: Attribute, draws: int, seed: int = 0) -> list[Redraw]:
    """Draw the words of each group, the pairs and the axis again, with replacement."""
    # A word or pair that is listed twice counts once. The draws depend on the lists and the seed,
    # and the first of many are those of few.
    of_words, of_pairs, of_axis = (np.random.default_rng((seed, kind, _LISTS)) for kind in range(3))
    sizes = [len(dict.fromkeys(words)) for words in attribute.members]
    n = len(dict.fromkeys(attribute.pairs))
    return [
        Redraw(
            tuple(of_words.integers(size, size=size) for size in sizes),
            of_pairs.integers(n, size=n) if n else np.zeros(0, np.intp),
            int(of_axis.integers(n)) if n else None,
        )
        for _ in range(draws)
    ]


def redrawn_vectors(
    embedding: Embedding, attribute: Attribute, drawn: Sequence[Redraw]
) -> list[list[Float]]:
    """Return the vectors (n_j, d) of each redraw's groups, twice those of a word drawn twice."""
    groups = [_found_words(words, embedding) for words in attribute.members]
    by_redraw = []
    for redraw in drawn:
        rows = [at[places] for places, (at, _) in zip(redraw.words, groups, strict=True)]
        vectors = [vectors[i[i >= 0]] for i, (_, vectors) in zip(rows, groups, strict=True)]
        by_redraw.append(vectors)
    return by_redraw


def redrawn(panel: Panel, drawn: Sequence[Redraw], *, left_out: bool = False) -> list[Null]:
    """Take the redrawn words of both groups, pairs and axes from the panel's original."""
    # Each embedding takes the words that it has: values of one redraw are paired. `left_out` takes
    # the words of both groups that each redraw leaves out, once each, and no pairs.
    attribute, embedding = panel.attribute, panel.original
    groups = [_found_words(words, embedding) for words in attribute.members]
    raw = np.concatenate([vectors for _, vectors in groups])
    on_unit = unit(raw.astype(np.float32)).astype(float)
    places, pairs = _found_pairs(attribute.pairs, embedding)
    nulls = []
    for redraw in drawn:
        rows = [
            np.delete(at, chosen) if left_out else at[chosen]
            for chosen, (at, _) in zip(redraw.words, groups, strict=True)
        ]
        first, second = (listed[listed >= 0] for listed in rows)
        both = axis = None
        if redraw.axis is not None and not left_out:
            chosen = places[redraw.pairs]
            both = _apart(pairs[:, chosen[chosen >= 0]])
            row = places[redraw.axis]
            if attribute.direction is not None and row >= 0:
                vector, reason = difference_direction(*pairs[:, row])
                axis = None if reason else vector
        nulls.append(
            Null(
                panel,
                raw,
                on_unit,
                partition=_partition(first, second + len(groups[0][1])),
                axis=axis,
                pairs=both,
                spanned=None,
            )
        )
    return nulls


def _found_words(words: Sequence[str], embedding: Embedding) -> tuple[NDArray[np.intp], Float]:
    """Return the row of each listed word among the vectors found, −1 where it has none."""
    # A word counts once, in whatever spelling it is listed.
    known_words = resolve(words, embedding).found
    place = {word: i for i, word in enumerate(known_words)}
    listed = dict.fromkeys(words)
    rows = [place.pop(next(iter(resolve([word], embedding).found), ""), -1) for word in listed]
    return np.array(rows, np.intp), embedding.take(known_words).astype(float)


def _found_pairs(
    pairs: Sequence[tuple[str, str]], embedding: Embedding
) -> tuple[NDArray[np.intp], Float]:
    """Return the row of each listed pair, as `_found_words`, and both sides, ``(2, n, d)``."""
    known_pairs = resolve_pairs(pairs, embedding).found
    place = {pair: i for i, pair in enumerate(known_pairs)}
    rows = [
        place.pop(next(iter(resolve_pairs([pair], embedding).found), ("", "")), -1)
        for pair in dict.fromkeys(pairs)
    ]
    sides = [embedding.take([pair[side] for pair in known_pairs]).astype(float) for side in (0, 1)]
    return np.array(rows, np.intp), np.stack(sides)


def _apart(pairs: Float) -> tuple[Float, Float] | None:
    """Return both sides of pairs, None where they hardly differ; see `pair_component`."""
    first, second = pairs
    if not len(first):
        return None
    gap = np.linalg.norm(first - second, axis=1).mean()
    size = np.linalg.norm(np.concatenate([first, second]), axis=1).mean()
    return None if gap < UNDEFINED_BELOW * size or gap == 0 else (first, second)


def _partition(
    first: NDArray[np.intp], second: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp]] | None:
    """Return the rows of both groups; None where one has too few to fit a subspace to."""
    return (first, second) if min(len(first), len(second)) > 1 else None


class _Job(NamedTuple):
    place: int
    families: tuple[str, ...]


def with_lists(
    rows: Sequence[Row],
    panels: Sequence[Panel],
    only: Collection[str],
    draws: int,
    *,
    workers: Workers | None = None,
) -> list[Row]:
    """Add intervals over word lists to rows of measures; the first embedding is that of changes."""
    # Where a family's directions are those of the original, they are fitted there to each redraw.
    jobs = [
        _Job(i, tuple(family.key for family in together))
        for i, panel in enumerate(panels)
        for together in families_together([key for key in only if key in REDRAWN])
    ]
    run = partial(_values, draws=draws)
    by_job = (workers or Workers()).results(run, jobs, "redrawing lists", shared=(panels,))
    values = {
        (panels[job.place].embedding.name, *key): redrawn_values
        for job, of_job in zip(jobs, by_job, strict=True)
        for key, redrawn_values in of_job.items()
    }
    first, items = panels[0].embedding.name, items_of_lists(panels[0].attribute, panels[0].seed)
    interval_rows = with_redraws(rows, values, items, lambda row: (row.subject, *key_of(row)))
    known = {key_of(row): row for row in interval_rows if row.subject == first}
    return [_with_change(row, known.get(key_of(row))) for row in interval_rows]


def items_of_lists(attribute: Attribute, seed: int) -> str:
    """Return a hash of the lists that redraws are taken of."""
    return items_of(attribute.members, attribute.pairs, attribute.direction, seed)


def with_redraws(
    rows: Sequence[Row], values: Mapping[K, Float], items: str, key: Callable[[Row], K | None]
) -> list[Row]:
    """Add to rows their values over redrawn lists: mean, number, and middle 95 %."""
    # `values` has shape (draws,), nan where undefined. A redraw has fewer different words, to which
    # a subspace fits more closely: the value itself may lie outside.
    extended = []
    for row in rows:
        own = None if (of := key(row)) is None else values.get(of)
        if row.value is not None and own is not None and np.isfinite(own).any():
            keys = {LISTS: float(np.nanmean(own)), **spread_keys(LISTS, own)}
            draws = {**row.draws, **drawn(own, LISTS, items, kind=LISTS)}
            row = replace(row, details={**row.details, **keys}, draws=draws)
        extended.append(row)
    return extended


def _values(panels: Sequence[Panel], job: _Job, *, draws: int) -> dict[Key, Float]:
    """Evaluate families of one embedding along redraws, in it or in its original."""
    panel, family = panels[job.place], BY_KEY[job.families[0]]
    if family.own_axis and not panel.is_own:
        panel = replace(panel, original=panel.embedding)
    along = chance_of(family)
    if along is None:
        return {}
    return dict(along(panel, redrawn(panel, redraws(panel.attribute, draws, panel.seed))))


def _with_change(row: Row, first: Row | None) -> Row:
    """Return a row of another embedding than the first with its change from that."""
    if first is None or row.subject == first.subject:
        return row
    differences = paired(first.draws.get(LISTS), row.draws.get(LISTS))
    if differences is None or not np.isfinite(differences).any():
        return row
    return with_change(first, row, change_from=first.subject)
