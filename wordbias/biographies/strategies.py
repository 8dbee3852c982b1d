"""Debiasing strategies: changes to the data that a classifier is trained on.

Orgad et al. (2022, §2.2, §3.1) train on the data as they are, balanced by leaving out or repeating
biographies, or scrubbed. Under every strategy the model is tested on as many women as men of each
occupation, and its last layer is retrained on data that are not balanced.

A strategy also makes training sets smaller or larger, and texts shorter. Its random change does the
same without regard to gender, so that what the two have in common is not due to debiasing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, NamedTuple
from zlib import crc32

import numpy as np

from wordbias.biographies.data import Biographies, Codes, Parts
from wordbias.errors import WordbiasError
from wordbias.methods.settings import ROW_METHODS
from wordbias.outcomes.balance import copies
from wordbias.outcomes.rewrite import Change
from wordbias.outcomes.scrub import Scrubber, gendered_words
from wordbias.outcomes.swap import Swapper
from wordbias.retraining.arms import (
    NONE,
    ORIGINAL,
    OVERSAMPLE,
    OWN,
    RANDOM,
    SCRUB,
    SCRUB_PUBLISHED,
    SUBSAMPLE,
    SWAP,
    is_random,
)

STRATEGIES = (NONE, SUBSAMPLE, OVERSAMPLE, SCRUB, SCRUB_PUBLISHED, SWAP)
"""Parts of a strategy; several are joined by a plus sign."""


class View(NamedTuple):
    """Data that a trained model is measured on."""

    original_train: Biographies  # data that the last layer is retrained on, not balanced
    original_dev: Biographies
    test: Biographies  # test part with equal numbers of women and men in each class
    probe: Biographies  # whole test part


@dataclass(frozen=True, eq=False)
class Prepared:
    """A split after a strategy was applied."""

    strategy: str
    seed: int
    train: Biographies
    dev: Biographies
    # views by name: `OWN` with the texts as the strategy rewrites them; and, if it rewrites texts,
    # `ORIGINAL` with the original texts. The paper says that the training data are scrubbed. It
    # does not say what the model is tested, probed and retrained on. The first view shows what a
    # model does with texts like those it was trained on, the second what it does with texts as they
    # occur.
    views: Mapping[str, View] = field(repr=False)


def prepare(parts: Parts, strategy: str, seed: int) -> Prepared:
    """Apply a strategy, or (``random-``) a change of its size without regard to gender."""
    names, at_random = _names(strategy), is_random(strategy)
    rewrite = _rewriting(names, seed if at_random else None)
    original = View(parts.train, parts.dev, _balanced(parts.test, SUBSAMPLE, seed), parts.test)
    own = original if rewrite is None else View(*(rewrite(part) for part in original))
    train, dev = own.original_train, own.original_dev
    if SWAP in names:
        train, dev = (repeat_texts(part) if at_random else augment(part) for part in (train, dev))
    for how in (SUBSAMPLE, OVERSAMPLE):
        if how in names:
            train, dev = (_balanced(part, how, seed, at_random) for part in (train, dev))
    views = {OWN: own} if rewrite is None else {OWN: own, ORIGINAL: original}
    return Prepared(strategy, seed, train, dev, views)


def check_strategy(strategy: str) -> None:
    """Refuse a strategy that is unknown or contradicts itself."""
    _names(strategy)


def _names(strategy: str) -> tuple[str, ...]:
    names = tuple(strategy.removeprefix(RANDOM).split("+"))
    for name in names:
        if name not in STRATEGIES:
            raise WordbiasError(
                f"strategy {strategy!r}: expected {', '.join(STRATEGIES)}, or several of them "
                f"joined by +; {', '.join(ROW_METHODS)}, perhaps with subsample+ before it, or the "
                f"file of an adapter; perhaps with {RANDOM} before it all; found {name!r}"
            )
    exclusive = ((SUBSAMPLE, OVERSAMPLE), (SCRUB, SCRUB_PUBLISHED))
    if (
        len(set(names)) < len(names)
        or (NONE in names and len(names) > 1)
        or any(set(pair) <= set(names) for pair in exclusive)
    ):
        raise WordbiasError(
            f"strategy {strategy!r}: {', '.join(names)} do not go together: of subsample and "
            "oversample, and of scrub and scrub-as-published, one; none alone"
        )
    if NONE in names and is_random(strategy):
        raise WordbiasError(f"strategy {strategy!r}: {NONE} changes nothing; leave it out")
    return names


def _rewriting(
    names: Sequence[str], seed: int | None
) -> Callable[[Biographies], Biographies] | None:
    """Return what rewrites all texts, with a seed at random; None if the texts stay."""
    for name in (SCRUB, SCRUB_PUBLISHED):
        if name in names:
            published = name == SCRUB_PUBLISHED
            if seed is None:
                return partial(scrub_texts, as_published=published)
            return partial(mask_random_words, seed=seed, as_published=published)
    return None


def _balanced(
    bios: Biographies,
    how: Literal["subsample", "oversample"],
    seed: int,
    at_random: bool = False,
) -> Biographies:
    """Balance the genders of each class, or leave out or repeat the same number at random."""
    # At random the genders of a class are permuted among its people first. It keeps its size under
    # `how` and, but for chance, its share of women.
    genders = bios.genders
    if at_random:
        by_class = np.argsort(bios.labels, kind="stable")
        shuffled = np.lexsort((np.random.default_rng(seed).random(len(bios)), bios.labels))
        genders = np.empty_like(genders)
        genders[by_class] = bios.genders[shuffled]
    counts: Codes = copies(bios.labels, genders, how, seed)
    if len(np.unique(bios.genders)) < 2 or not counts.any():
        raise WordbiasError(
            f"{bios.path}: no class has both women and men among {len(bios):,} biographies to "
            f"balance ({how}); give more, or another split"
        )
    return bios.take(np.repeat(np.arange(len(bios)), counts))


def scrub_texts(bios: Biographies, *, as_published: bool = False) -> Biographies:
    """Remove gendered words and, if known, the names of the person from every text."""
    return bios.with_texts(text for text, _ in _scrubbed(bios, _scrubber(bios, as_published)))


def mask_random_words(bios: Biographies, *, seed: int, as_published: bool = False) -> Biographies:
    """Replace random words of every text, the number that scrubbing replaces."""
    # The draw depends on the text and the seed alone.
    scrubber = _scrubber(bios, as_published)
    scrubbed_texts = zip(bios.texts, _scrubbed(bios, scrubber), strict=True)
    return bios.with_texts(
        scrubber.mask_random(text, len(words), np.random.default_rng([seed, crc32(text.encode())]))
        for text, (_, words) in scrubbed_texts
    )


def _scrubber(bios: Biographies, as_published: bool) -> Scrubber:
    columns = () if bios.names is None else ("name",)
    return Scrubber(gendered_words(as_published), columns=columns, as_published=as_published)


def _scrubbed(bios: Biographies, scrubber: Scrubber) -> Iterator[Change]:
    names = bios.names or ("",) * len(bios)
    for text, name in zip(bios.texts, names, strict=True):
        yield scrubber(text, {"name": name})


def augment(bios: Biographies) -> Biographies:
    """Append every person once more, with the other gender in text and label."""
    swapper = Swapper.built_in()
    return _doubled(bios, (swapper(text)[0] for text in bios.texts))


def repeat_texts(bios: Biographies) -> Biographies:
    """Append every person once more with the same text, and the label that `augment` gives."""
    # Training does not see this label: it makes balancing draw the same number as after `augment`.
    return _doubled(bios, bios.texts)


def _doubled(bios: Biographies, texts: Iterable[str]) -> Biographies:
    both = bios.take(np.tile(np.arange(len(bios)), 2))
    genders = np.concatenate([bios.genders, 1 - bios.genders])
    return replace(both, texts=(*bios.texts, *texts), genders=genders)
