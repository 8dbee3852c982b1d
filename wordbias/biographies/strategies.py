"""Debiasing strategies: changes to the data that a classifier is trained on.

Orgad et al. (2022, §2.2, §3.1) train on the data as they are, balanced by leaving out or repeating
biographies, or scrubbed. Under every strategy the model is tested on as many women as men of each
occupation, and its last layer is retrained on data that are not balanced.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from wordbias.biographies.data import Biographies, Codes, Parts
from wordbias.errors import WordbiasError
from wordbias.outcomes.balance import copies
from wordbias.outcomes.scrub import Scrubber, gendered_words
from wordbias.outcomes.swap import Swapper

NONE, SCRUB, SCRUB_PUBLISHED, SWAP = "none", "scrub", "scrub-as-published", "swap"
SUBSAMPLE: Literal["subsample"] = "subsample"
OVERSAMPLE: Literal["oversample"] = "oversample"
STRATEGIES = (NONE, SUBSAMPLE, OVERSAMPLE, SCRUB, SCRUB_PUBLISHED, SWAP)
"""Parts of a strategy; several are joined by a plus sign."""
OWN, ORIGINAL = "own", "original"


class View(NamedTuple):
    """Data that a trained model is measured on.

    Attributes
    ----------
    original_train, original_dev
        Data that the last layer is retrained on, not balanced.
    test
        Test part with as many women as men in each class.
    probe
        Whole test part.
    """

    original_train: Biographies
    original_dev: Biographies
    test: Biographies
    probe: Biographies


@dataclass(frozen=True, eq=False)
class Prepared:
    """A split after a strategy was applied.

    Attributes
    ----------
    strategy, seed
        Strategy and the seed of its draws.
    train, dev
        Data that the model is trained on, and that its best epoch is chosen on.
    views
        Views by name: `OWN` with the texts as the strategy rewrites them; and, if it rewrites
        texts, `ORIGINAL` with the original texts. The paper says that the training data are
        scrubbed, and does not say what the model is tested, probed and retrained on: the first
        view shows what a model does with texts like those it was trained on, the second what it
        does with texts as they occur.
    """

    strategy: str
    seed: int
    train: Biographies
    dev: Biographies
    views: Mapping[str, View] = field(repr=False)


def prepare(parts: Parts, strategy: str, seed: int) -> Prepared:
    """Apply a strategy to a split.

    Parameters
    ----------
    parts
        Split of the data.
    strategy
        ``none``; ``subsample`` or ``oversample``: as many women as men in each class, of training
        and development part; ``scrub``: texts without gendered words, and without the names of
        their person if these are known; ``scrub-as-published``: without the eleven words of the
        released expression, which leaves *husband*; ``swap``: beside each text the same with the
        other gender (counterfactual augmentation). Several joined, such as ``scrub+subsample``.
    seed
        Seed of the draws.

    Raises
    ------
    WordbiasError
        If the strategy is unknown or contradicts itself, or balancing leaves nothing.
    """
    names = _names(strategy)
    rewrite = _REWRITING.get(next((name for name in names if name in _REWRITING), ""))
    original = View(parts.train, parts.dev, _balanced(parts.test, SUBSAMPLE, seed), parts.test)
    own = original if rewrite is None else View(*(rewrite(part) for part in original))
    train, dev = own.original_train, own.original_dev
    if SWAP in names:
        train, dev = augment(train), augment(dev)
    for how in (SUBSAMPLE, OVERSAMPLE):
        if how in names:
            train, dev = (_balanced(part, how, seed) for part in (train, dev))
    views = {OWN: own} if rewrite is None else {OWN: own, ORIGINAL: original}
    return Prepared(strategy, seed, train, dev, views)


def check_strategy(strategy: str) -> None:
    """Refuse a strategy that is unknown or contradicts itself.

    Raises
    ------
    WordbiasError
        With the parts that there are.
    """
    _names(strategy)


def _names(strategy: str) -> tuple[str, ...]:
    names = tuple(strategy.split("+"))
    for name in names:
        if name not in STRATEGIES:
            raise WordbiasError(
                f"strategy {strategy!r}: expected {', '.join(STRATEGIES)}, or several of them "
                f"joined by +, found {name!r}"
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
    return names


def _balanced(bios: Biographies, how: Literal["subsample", "oversample"], seed: int) -> Biographies:
    counts: Codes = copies(bios.labels, bios.genders, how, seed)
    if len(np.unique(bios.genders)) < 2 or not counts.any():
        raise WordbiasError(
            f"{bios.path}: no class has both women and men among {len(bios):,} biographies that "
            f"are to be balanced ({how}); give more, or another split"
        )
    return bios.take(np.repeat(np.arange(len(bios)), counts))


def scrub_texts(bios: Biographies, *, as_published: bool = False) -> Biographies:
    """Remove gendered words and, if known, the names of the person from every text."""
    columns = () if bios.names is None else ("name",)
    scrubber = Scrubber(gendered_words(as_published), columns=columns, as_published=as_published)
    names = bios.names or ("",) * len(bios)
    pairs = zip(bios.texts, names, strict=True)
    return bios.with_texts(scrubber(text, {"name": name})[0] for text, name in pairs)


def augment(bios: Biographies) -> Biographies:
    """Append every person once more, with the other gender in text and label."""
    swapper = Swapper.built_in()
    swapped = (swapper(text)[0] for text in bios.texts)
    both = bios.take(np.tile(np.arange(len(bios)), 2))
    genders = np.concatenate([bios.genders, 1 - bios.genders])
    return replace(both, texts=(*bios.texts, *swapped), genders=genders)


_REWRITING: Mapping[str, Callable[[Biographies], Biographies]] = {
    SCRUB: scrub_texts,
    SCRUB_PUBLISHED: partial(scrub_texts, as_published=True),
}
