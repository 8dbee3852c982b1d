"""StereoSet as Nadeem et al. (2021) publish it: JSON, between and within sentences."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wordbias.contextual.stereoset.gsss import LABELS
from wordbias.contextual.stereoset.tables import Source, read_text
from wordbias.errors import WordbiasError
from wordbias.formats.spelling import is_half

BLANK = "BLANK"
_ANY_BLANK = re.compile(BLANK, re.IGNORECASE)
KINDS = ("intersentence", "intrasentence")


@dataclass(frozen=True)
class Cluster:
    """One context with three candidates.

    Attributes
    ----------
    id, target, bias_type
        As in the file; the target is the term whose stereotype it is.
    context
        The first sentence; within sentences, the one with a blank, or with several.
    candidates
        One for each of `LABELS`: the next sentence, or what fills the blanks.
    """

    id: str
    target: str
    bias_type: str
    context: str
    candidates: tuple[str, str, str]


@dataclass(frozen=True)
class StereoSet:
    """The clusters of a file, and where they came from."""

    path: str
    sha256: str
    intersentence: Sequence[Cluster]
    intrasentence: Sequence[Cluster]


def load_stereoset(path: str | Path) -> StereoSet:
    """Read the published JSON, which may be compressed.

    Raises
    ------
    WordbiasError
        If it is no such JSON, holds no cluster, or a cluster has not exactly one sentence a label
        or a sentence that does not fit its blank (with its id).
    """
    return parse_stereoset(read_text(path))


def parse_stereoset(source: Source) -> StereoSet:
    """Read the text of such a file; errors are those of `load_stereoset`."""
    try:
        data = json.loads(source.text)["data"]
        found = {kind: [_cluster(one, kind) for one in data.get(kind, [])] for kind in KINDS}
    except json.JSONDecodeError as error:
        raise WordbiasError(
            f"{source.path}: line {error.lineno}: is no JSON: {error.msg}"
        ) from None
    except WordbiasError as error:
        raise WordbiasError(f"{source.path}: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise WordbiasError(
            f"{source.path}: is not StereoSet's JSON ({error!r}); expected data with "
            f"{' and '.join(KINDS)}"
        ) from None
    if not any(found.values()):
        raise WordbiasError(f"{source.path}: holds neither {' nor '.join(KINDS)} items")
    return StereoSet(source.path, source.sha256, **found)


def _cluster(one: Mapping[str, Any], kind: str) -> Cluster:
    name = str(one["id"])
    labels = [sentence["gold_label"] for sentence in one["sentences"]]
    if sorted(labels) != sorted(LABELS):
        raise WordbiasError(
            f"{kind} {name}: expected one sentence each of {', '.join(LABELS)}, found "
            f"{', '.join(map(str, labels)) or 'none'}"
        )
    sentences = {
        sentence["gold_label"]: _text(sentence["sentence"], f"{kind} {name}")
        for sentence in one["sentences"]
    }
    context = _text(one["context"], f"{kind} {name}")
    first, second, third = (sentences[label] for label in LABELS)
    if kind == "intrasentence":
        alike = _ANY_BLANK.sub(BLANK, context)
        context = alike if all(_filling(alike, text) for text in sentences.values()) else context
        first, second, third = (filler(context, text, name) for text in (first, second, third))
    return Cluster(name, str(one["target"]), str(one["bias_type"]), context, (first, second, third))


def _text(found: Any, where: str) -> str:
    if not isinstance(found, str) or not found.strip() or is_half(found):
        raise WordbiasError(f"{where}: expected a sentence, found {found!a:.60}")
    return found


def filler(context: str, sentence: str, name: str) -> str:
    """Return what stands in the blank; sentences differ from their context in capitals.

    Seven of the 8,498 published items have two blanks, which one word fills; two of these are
    spelled ``Blank`` or ``BLANk``, and `load_stereoset` spells them as the others.

    Raises
    ------
    WordbiasError
        If there is no blank, or the sentence is another one.
    """
    if BLANK not in context:
        raise WordbiasError(f"intrasentence {name}: expected a {BLANK} in {context!r}")
    middle = _filling(context, sentence)
    if not middle:
        raise WordbiasError(
            f"intrasentence {name}: {sentence!r} does not fill the blank of {context!r}"
        )
    return middle


def _filling(context: str, sentence: str) -> str:
    blanks = context.count(BLANK)
    if not blanks:
        return ""
    start, longer = context.index(BLANK), len(sentence) - len(context)
    middle = sentence[start : start + len(BLANK) + longer // blanks]
    fits = middle.strip() and context.replace(BLANK, middle).lower() == sentence.lower()
    return middle if fits else ""
