"""Training, development and test part: those that the data name, or drawn."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wordbias.biographies.biographies import DEV, TEST, TRAIN, Biographies
from wordbias.errors import WordbiasError
from wordbias.outcomes.confusion import listed

TEST_SHARE, DEV_SHARE = 0.25, 0.133
"""Of all, and of those that are not for testing (Orgad et al. 2022, as released)."""


class Parts(NamedTuple):
    """A split of biographies."""

    train: Biographies
    dev: Biographies
    test: Biographies


def split(bios: Biographies, seed: int) -> Parts:
    """Return training, development and test part: by the file's column, or drawn.

    Parameters
    ----------
    bios
        Where they have `splits` these decide, and the seed only draws a development part of the
        training part if there is none.
    seed
        Of the draw: a quarter for testing, of the rest 13.3 % for development (a tenth of all),
        both with the shares of the classes, by scikit-learn's ``train_test_split`` as published.

    Raises
    ------
    WordbiasError
        If a class is too small to be split, or the column names no training or test part.
    """
    if bios.splits is None:
        rest, test = _drawn(bios, TEST_SHARE, seed)
        return Parts(*_drawn(rest, DEV_SHARE, seed), test)
    kinds = np.array(bios.splits)
    train, dev, test = (bios.take(kinds == kind) for kind in (TRAIN, DEV, TEST))
    for kind, part in ((TRAIN, train), (TEST, test)):
        if not len(part):
            raise WordbiasError(
                f"{bios.path}: of {len(bios):,} biographies none is for {kind}: the column of "
                f"splits says {listed(sorted(set(bios.splits)))}; give more, name train and test "
                "there, or leave the column out"
            )
    return Parts(train, dev, test) if len(dev) else Parts(*_drawn(train, DEV_SHARE, seed), test)


def _drawn(bios: Biographies, share: float, seed: int) -> tuple[Biographies, Biographies]:
    """Return the rest and a drawn share, each in the order of the file."""
    from sklearn.model_selection import train_test_split

    try:
        rest, drawn = train_test_split(
            np.arange(len(bios)), test_size=share, stratify=bios.labels, random_state=seed
        )
    except ValueError:
        sizes = bios.counts().sum(axis=1)
        least = int(np.where(sizes > 0, sizes, len(bios) + 1).argmin())
        raise WordbiasError(
            f"{bios.path}: {100 * share:g} % cannot be drawn of {len(bios):,} biographies of "
            f"{int((sizes > 0).sum())} classes, of which {bios.classes[least]} has "
            f"{sizes[least]}: each class is to be in both; give more, or leave rare classes out"
        ) from None
    return bios.take(np.sort(rest)), bios.take(np.sort(drawn))
