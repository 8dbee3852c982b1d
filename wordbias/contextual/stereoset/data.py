"""Which of the three kinds of file a file is."""

from __future__ import annotations

import hashlib
import os
from typing import Protocol

from wordbias.contextual.stereoset.crows_pairs import CrowsPairs, parse_crows_pairs
from wordbias.contextual.stereoset.gsss import Gsss, parse_gsss
from wordbias.contextual.stereoset.original import StereoSet, parse_stereoset
from wordbias.contextual.stereoset.tables import Source, header_of, read_text
from wordbias.errors import WordbiasError

Data = Gsss | StereoSet | CrowsPairs


class Frame(Protocol):
    """A pandas frame with the columns of a file."""

    def to_csv(self, *, index: bool) -> str:
        """Return it as CSV."""


DataLike = str | os.PathLike[str] | Frame | Data
"""A file, its columns, or what was read of one."""


def load_data(path: DataLike, *, as_published: bool = False) -> Data:
    """Read enhanced StereoSet (CSV), StereoSet (JSON) or CrowS-Pairs (CSV), whichever it is.

    The parts of StereoSet are read when they are asked for.

    Parameters
    ----------
    path
        The file; a frame with its columns; or the data themselves, which are returned.
    as_published
        Take StereoSet's items with several blanks; see `StereoSet`.

    Raises
    ------
    WordbiasError
        As the reader of that kind does.
    """
    if isinstance(path, (Gsss, StereoSet, CrowsPairs)):
        return path
    if isinstance(path, (str, os.PathLike)):
        source = read_text(path)
    elif hasattr(path, "to_csv"):
        text = path.to_csv(index=False)
        source = Source("a frame", text, hashlib.sha256(text.encode()).hexdigest())
    else:
        raise WordbiasError(
            "expected enhanced StereoSet, StereoSet or CrowS-Pairs: a file, a frame or what was "
            f"read of one; got {type(path).__name__}"
        )
    if source.text.lstrip()[:1] in ("{", "["):
        return parse_stereoset(source, as_published=as_published)
    if {"sent_more", "sent_less"} & set(header_of(source)):
        return parse_crows_pairs(source)
    return parse_gsss(source)
