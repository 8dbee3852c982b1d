"""Data sets of texts of which a model prefers some, each recognised by its content."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from wordbias.errors import WordbiasError
from wordbias.stereotypes.bbq import BBQ, load_bbq
from wordbias.stereotypes.crows_pairs import CrowsPairs, parse_crows_pairs
from wordbias.stereotypes.encoders import Data as EncoderSet
from wordbias.stereotypes.gsss import Gsss, parse_gsss
from wordbias.stereotypes.stereoset import StereoSet, parse_stereoset
from wordbias.stereotypes.winobias import Sentence, load_winobias
from wordbias.stereotypes.winogender import SENTENCES, Winogender, load_winogender
from wordbias.text_files import Source, read_text

_EXPECTED = (
    "expected CrowS-Pairs (CSV with sent_more), StereoSet (JSON), enhanced StereoSet (CSV with "
    "context_id), WinoBias (its folder), Winogender (all_sentences.tsv or its folder) or BBQ "
    "(.jsonl or its folder)"
)


@dataclass(frozen=True)
class WinoBias:
    """The sentences of the files of WinoBias in a folder."""

    path: str
    sentences: Sequence[Sentence]


class TextsFrame(Protocol):
    """A pandas frame with the columns of a file."""

    def to_csv(self, *, index: bool) -> str:
        """Return it as CSV."""


DecoderSet = CrowsPairs | StereoSet | WinoBias | Winogender | BBQ
TextSet = Gsss | DecoderSet
TextSetLike = str | os.PathLike[str] | TextsFrame | TextSet
"""A file or folder, a frame with the columns of a file, or the data that were read from one."""


def load_text_set(given: TextSetLike, *, as_published: bool = False) -> TextSet:
    """Read a data set, recognised by its content; one that was read is returned.

    The parts of StereoSet are read on first use.

    Parameters
    ----------
    as_published
        Include StereoSet's items with several blanks; see `StereoSet`.

    Raises
    ------
    WordbiasError
        If it is none of them, or as the reader of that data set does.
    """
    if isinstance(given, TextSet):
        return given
    if isinstance(given, (str, os.PathLike)):
        place = Path(given)
        if place.is_dir():
            return _in_folder(place)
        source = read_text(place)
    elif hasattr(given, "to_csv"):
        text = given.to_csv(index=False)
        source = Source("a frame", text, hashlib.sha256(text.encode()).hexdigest())
    else:
        raise WordbiasError(f"{_EXPECTED}, or a frame; got {type(given).__name__}")
    first = source.text.lstrip().partition("\n")[0].rstrip("\r")
    if '"context_condition"' in first:
        return load_bbq(source.path)
    if first.startswith(("{", "[")):
        return parse_stereoset(source, as_published=as_published)
    if "\t" in first and "sentid" in first:
        return load_winogender(source.path)
    if "sent_more" in first or "sent_less" in first:
        return parse_crows_pairs(source)
    if "context_id" in first:
        return parse_gsss(source)
    raise WordbiasError(f"{source.path}: {_EXPECTED}; found {first[:60]!r}")


def _in_folder(place: Path) -> TextSet:
    names = {one.name for one in place.iterdir()}
    if any("_stereotyped_type" in name for name in names):
        return WinoBias(str(place), load_winobias(place))
    if SENTENCES in names:
        return load_winogender(place)
    if any(name.endswith(".jsonl") for name in names):
        return load_bbq(place)
    raise WordbiasError(f"{place}: {_EXPECTED}; found a folder with none of their files")


def for_encoder(data: TextSet, model: str) -> EncoderSet:
    """Return a data set that a head of an encoder scores.

    Raises
    ------
    WordbiasError
        If it is scored by the likelihood of a decoder.
    """
    if isinstance(data, EncoderSet):
        return data
    raise WordbiasError(
        f"{data.path}: {facts(data)['data']} is scored by the likelihood of a decoder, and {model} "
        "is an encoder; give StereoSet, enhanced StereoSet or CrowS-Pairs"
    )


def for_decoder(data: TextSet, model: str) -> DecoderSet:
    """Return a data set that is scored by likelihood, its sentences checked.

    Raises
    ------
    WordbiasError
        If it has only pairs of sentences, which a next-sentence head scores.
    """
    if isinstance(data, Gsss) or (isinstance(data, StereoSet) and not data.items["intrasentence"]):
        raise WordbiasError(
            f"{data.path}: holds pairs of sentences, which a next-sentence head scores, and "
            f"{model} is a decoder; give StereoSet with items within sentences, CrowS-Pairs, "
            "WinoBias, Winogender or BBQ"
        )
    if isinstance(data, StereoSet):
        _ = data.whole_sentences
    return data


def facts(data: TextSet) -> Mapping[str, object]:
    """Return what a report says of a data set."""
    if isinstance(data, WinoBias):
        return {"data": "WinoBias", "path": data.path, "sentences": len(data.sentences)}
    read = {"path": data.path, "sha256": data.sha256}
    if isinstance(data, CrowsPairs):
        return {"data": "CrowS-Pairs", **read, "pairs": len(data.pairs)}
    if isinstance(data, Gsss):
        return {"data": "enhanced StereoSet", **read, "triples": len(data.triples)}
    if isinstance(data, StereoSet):
        return {"data": "StereoSet", **read, "triples": len(data.whole_sentences)}
    if isinstance(data, Winogender):
        return {"data": "Winogender", **read, "sentences": len(data.sentences)}
    return {"data": "BBQ", **read, "questions": len(data.questions)}
