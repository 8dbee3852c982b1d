"""Which of the three kinds of file a file is."""

from __future__ import annotations

from pathlib import Path

from wordbias.contextual.stereoset.crows_pairs import CrowsPairs, parse_crows_pairs
from wordbias.contextual.stereoset.gsss import Gsss, parse_gsss
from wordbias.contextual.stereoset.original import StereoSet, parse_stereoset
from wordbias.contextual.stereoset.tables import header_of, read_text

Data = Gsss | StereoSet | CrowsPairs


def load_data(path: str | Path, *, as_published: bool = False) -> Data:
    """Read enhanced StereoSet (CSV), StereoSet (JSON) or CrowS-Pairs (CSV), whichever it is.

    The parts of StereoSet are read when they are asked for.

    Parameters
    ----------
    as_published
        Take StereoSet's items with several blanks; see `StereoSet`.

    Raises
    ------
    WordbiasError
        As the reader of that kind does.
    """
    source = read_text(path)
    if source.text.lstrip()[:1] in ("{", "["):
        return parse_stereoset(source, as_published=as_published)
    if {"sent_more", "sent_less"} & set(header_of(source)):
        return parse_crows_pairs(source)
    return parse_gsss(source)
