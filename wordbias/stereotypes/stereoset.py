"""StereoSet as Nadeem et al. (2021) publish it: JSON, between and within sentences."""

from __future__ import annotations

import json
import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from wordbias.errors import WordbiasError
from wordbias.formats.source import has_lone_surrogate
from wordbias.stereotypes.gsss import LABELS
from wordbias.text_files import Source, read_text

BLANK = "BLANK"
KINDS = ("intersentence", "intrasentence")
_SPELT = re.compile(rf"\b{BLANK}\b", re.IGNORECASE)
_NO_SIGNS = str.maketrans("", "", string.punctuation)


@dataclass(frozen=True)
class Cluster:
    """One context with three candidates.

    Attributes
    ----------
    id, target, bias_type
        As in the file; the target is the term of the stereotype.
    context
        The first sentence; within sentences, the one with a blank.
    candidates
        One for each of `LABELS`: the next sentence, or the filler of the blank.
    """

    id: str
    target: str
    bias_type: str
    context: str
    candidates: tuple[str, str, str]


@dataclass(frozen=True)
class StereoSet:
    """The items of a file, with its path and hash.

    A part is parsed on first use, so that its errors do not stop a model that cannot score it.

    Attributes
    ----------
    items
        The items of each of `KINDS` as in the file.
    as_published
        Include items with several blanks as StereoSet's own loader does; see `published_word`. By
        default they are left out.
    """

    path: str
    sha256: str
    items: Mapping[str, Sequence[Mapping[str, Any]]]
    as_published: bool = False

    @cached_property
    def intersentence(self) -> Sequence[Cluster]:
        """Return the items of two sentences."""
        return _clusters(self, "intersentence")

    @cached_property
    def intrasentence(self) -> Sequence[Cluster]:
        """Return the items of one sentence with a blank."""
        return _clusters(self, "intrasentence")

    @cached_property
    def whole_sentences(self) -> Sequence[Cluster]:
        """Return the items of one sentence, all of them, with whole sentences as candidates."""
        return _clusters(self, "intrasentence", whole=True)

    @cached_property
    def several_blanks(self) -> list[str]:
        """Return the ids of items within sentences that have more than one blank."""
        return [str(one.get("id")) for one in self.items["intrasentence"] if _several(one)]


def load_stereoset(path: str | Path, *, as_published: bool = False) -> StereoSet:
    """Read the published JSON, which may be compressed.

    Parameters
    ----------
    as_published
        Include items with several blanks, which are left out by default; see `StereoSet`.

    Raises
    ------
    WordbiasError
        If it is no such JSON, holds no item, or an item has not exactly one sentence a label or has
        a sentence that does not fit its blank (with its id).
    """
    found = parse_stereoset(read_text(path), as_published=as_published)
    for kind in KINDS:
        getattr(found, kind)
    return found


def parse_stereoset(source: Source, *, as_published: bool = False) -> StereoSet:
    """Parse the published JSON; the items of its parts are parsed on first use.

    Raises
    ------
    WordbiasError
        If it is no such JSON or has no part.
    """
    try:
        data = json.loads(source.text)["data"]
        items = {kind: _listed(data.get(kind, [])) for kind in KINDS}
    except json.JSONDecodeError as error:
        raise WordbiasError(
            f"{source.path}: line {error.lineno}: is no JSON: {error.msg}"
        ) from None
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise _other_json(source.path, error) from None
    if not any(items.values()):
        raise WordbiasError(f"{source.path}: holds neither {' nor '.join(KINDS)} items")
    return StereoSet(source.path, source.sha256, items, as_published)


def _listed(items: Any) -> list[Mapping[str, Any]]:
    if not isinstance(items, list) or not all(isinstance(one, dict) for one in items):
        raise TypeError("expected a list of items")
    return items


def _other_json(path: str, error: Exception) -> WordbiasError:
    return WordbiasError(
        f"{path}: is not StereoSet's JSON ({error!r}); expected data with {' and '.join(KINDS)}"
    )


def _clusters(data: StereoSet, kind: str, *, whole: bool = False) -> list[Cluster]:
    try:
        names = data.several_blanks if kind == "intrasentence" and not whole else []
        left_out = [] if data.as_published else names
        return [
            _cluster(one, kind, whole=whole)
            for one in data.items[kind]
            if str(one.get("id")) not in left_out
        ]
    except WordbiasError as error:
        raise WordbiasError(f"{data.path}: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise _other_json(data.path, error) from None


def _several(one: Mapping[str, Any]) -> bool:
    """Return whether an item has more than one blank; a second one may be in small letters."""
    context = one.get("context")
    if not isinstance(context, str) or BLANK not in context:
        return False
    if context.count(BLANK) > 1:
        return True
    return len(_SPELT.findall(context)) > 1 and not all(
        isinstance(text, str) and _fill(context, text)
        for text in (sentence["sentence"] for sentence in one["sentences"])
    )


def _cluster(one: Mapping[str, Any], kind: str, *, whole: bool) -> Cluster:
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
    if kind == "intrasentence" and not whole:
        word = published_word if _several(one) else filler
        first, second, third = (word(context, text, name) for text in (first, second, third))
    return Cluster(name, str(one["target"]), str(one["bias_type"]), context, (first, second, third))


def _text(found: Any, where: str) -> str:
    if not isinstance(found, str) or not found.strip() or has_lone_surrogate(found):
        raise WordbiasError(f"{where}: expected a sentence, found {found!a:.60}")
    return found


def filler(context: str, sentence: str, name: str) -> str:
    """Return the filler of a blank; sentences may differ from their context in capitals.

    Raises
    ------
    WordbiasError
        If there is not exactly one blank, or the sentence does not fit the context.
    """
    if context.count(BLANK) != 1:
        raise WordbiasError(f"intrasentence {name}: expected one {BLANK} in {context!r}")
    found = _fill(context, sentence)
    if not found:
        raise WordbiasError(
            f"intrasentence {name}: {sentence!r} does not fill the blank of {context!r}"
        )
    return found


def _fill(context: str, sentence: str) -> str:
    before, _, after = context.partition(BLANK)
    middle = sentence[len(before) : len(sentence) - len(after)]
    fits = f"{before}{middle}{after}".lower() == sentence.lower() and middle.strip()
    return middle if fits else ""


def published_word(context: str, sentence: str, name: str) -> str:
    """Return the word of a sentence that StereoSet's own loader takes: that at the last blank.

    Words are separated by single spaces; their signs are removed.

    Raises
    ------
    WordbiasError
        If there is no word at that place.
    """
    places = [i for i, word in enumerate(context.split(" ")) if BLANK in word]
    words = sentence.split(" ")
    word = words[places[-1]].translate(_NO_SIGNS) if places and places[-1] < len(words) else ""
    if not word:
        raise WordbiasError(
            f"intrasentence {name}: {sentence!r} has no word where {context!r} has its last {BLANK}"
        )
    return word
