"""The methods by name: fitted one after the other, each on what the one before left."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.methods.diagnosis import diagnose
from wordbias.methods.fitted import Chain, Fitted, refuse_mixed_centring
from wordbias.methods.transform import Projection, refuse_no_change
from wordbias.methods.words import listed_words, spellings
from wordbias.vocabulary import SIZE
from wordbias.wordlists import Attribute, WordGroups, WordSets


@dataclass(frozen=True)
class Method:
    """What a user must know to choose a method.

    Attributes
    ----------
    summary, paper
        One line, and where it is from.
    head
        Most frequent words that fitting looks at, beside the listed ones; None for every word.
    """

    summary: str
    paper: str
    head: int | None = 0


METHODS = {
    "misp": Method("remove a subspace softly, weighed by information", "Dawkins 2021"),
    "mhd": Method("remove the same subspace whole", "Dawkins 2021"),
    "hard": Method("neutralise one direction, equalise pairs", "Bolukbasi et al. 2016"),
    "multi-hard": Method("the same over several groups, as religions", "Manzini et al. 2019"),
    "double-hard": Method("remove a frequency component first", "Wang et al. 2020", None),
    "inlp": Method("remove what classifiers find, in rounds", "Ravfogel et al. 2020", 150_000),
    "leace": Method("the least change that stops them", "Belrose et al. 2023", 150_000),
    "bam": Method("average with an alignment of pairs", "Lauscher et al. 2020"),
    "oscar": Method("rotate a second concept to 90 degrees", "Dev et al. 2021"),
    "half-sibling": Method("subtract what specific words predict", "Yang and Feng 2020"),
    "ran": Method("repel, attract and neutralise each word", "Kumar et al. 2020", None),
    "gender-preserving": Method("autoencoder with classifiers", "Kaneko and Bollegala 2019", None),
    "gn-glove": Method("split w_a and w_g of GN-GloVe vectors", "Zhao et al. 2018", SIZE),
}


PUBLISHED = "as-published"


class Asked(NamedTuple):
    """A method that was asked for by name, and whether ``:as-published`` stood behind it."""

    name: str
    as_published: bool = False


def parse_chain(text: str) -> list[Asked]:
    """Split ``misp:as-published,inlp``.

    Raises
    ------
    WordbiasError
        If a name is unknown, the message names the nearest; or if something else stands behind a
        colon, or the method has no published variant.
    """
    return [_asked(part.strip().lower().replace("_", "-")) for part in text.split(",")]


def parse_methods(text: str) -> list[str]:
    """Return the names alone; see `parse_chain`."""
    return [one.name for one in parse_chain(text)]


def _asked(part: str) -> Asked:
    name, colon, variant = part.partition(":")
    if name not in METHODS:
        near = difflib.get_close_matches(name, METHODS, 1)
        guess = f"; did you mean {near[0]}?" if near else ""
        raise WordbiasError(
            f"method {name!r}: expected one of {', '.join(METHODS)}, "
            f"or several with commas between{guess}"
        )
    if colon and variant != PUBLISHED:
        raise WordbiasError(f"method {part!r}: expected {name} or {name}:{PUBLISHED}")
    if colon and "as_published" not in settings_of(name):
        others = ", ".join(_takers("as_published"))
        raise WordbiasError(f"method {part!r}: {PUBLISHED} is for: {others}")
    return Asked(name, bool(colon))


def settings_of(name: str) -> dict[str, Any]:
    """Return the settings that a method takes, with their defaults."""
    return {
        key: parameter.default
        for key, parameter in inspect.signature(_module(name).fit).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }


def fit_method(
    name: str, embedding: Embedding, attribute: Attribute | WordGroups, **settings: Any
) -> Fitted:
    """Fit one method; see the module of its name."""
    several = isinstance(attribute, WordGroups) and len(attribute.groups) > 2
    if several and name in ("misp", "mhd"):
        for key in ("center", "as_published"):
            if settings.get(key):
                raise WordbiasError(
                    f"{name}: --{key.replace('_', '-')} is of two groups, and {attribute.name} has "
                    f"{len(attribute.groups)}, whose means are compared; leave it out"
                )
    fitted = _module(name).fit(embedding, attribute, **settings)
    if isinstance(fitted, Projection):
        return diagnose(fitted, embedding, attribute, {**settings_of(name), **settings})
    made: Fitted = fitted
    return made


def fit_chain(
    names: str | Sequence[str],
    embedding: Embedding,
    attribute: Attribute | WordGroups | None = None,
    settings: Mapping[str, Any] | None = None,
) -> tuple[Chain, Embedding]:
    """Fit methods one after the other, each on what the ones before it made.

    Parameters
    ----------
    names
        Some of `METHODS`, in the order in which they are to be applied, or with commas between;
        ``misp:as-published`` sets one of them alone.
    embedding
        What the first is fitted on.
    attribute
        The groups; by default gender, for multi-hard its own sets. More than two are taken by
        misp, mhd, multi-hard, inlp and leace.
    settings
        Arguments of the methods; each goes to every method that takes it.

    Returns
    -------
    chain, debiased
        The fitted methods, and what they make of the embedding.

    Raises
    ------
    WordbiasError
        If a setting is taken by none of the methods, or a method changes nothing.
    """
    asked = parse_chain(names if isinstance(names, str) else ",".join(names))
    settings = dict(settings or {})
    refuse_unused([one.name for one in asked], settings)
    refuse_mixed_centring({_is_centred(one, settings) for one in asked})
    parts = []
    for name, published in asked:
        own = {key: value for key, value in settings.items() if key in settings_of(name)}
        own |= {"as_published": True} if published else {}
        fitted = fit_method(name, embedding, attribute or _default(name), **own)
        debiased = fitted(embedding)
        refuse_no_change(name, embedding, debiased)
        parts.append(fitted)
        embedding = debiased
    return Chain(tuple(parts)), embedding


def debias(
    embedding: Embedding,
    names: str | Sequence[str],
    attribute: Attribute | WordGroups | None = None,
    **settings: Any,
) -> Embedding:
    """Return an embedding debiased by one method or several: ``debias(emb, "hard,misp")``."""
    return fit_chain(names, embedding, attribute, settings)[1]


def _is_centred(asked: Asked, settings: Mapping[str, Any]) -> bool | None:
    """Say whether the differences of a method are centred; None where it has none."""
    if asked.name not in ("misp", "mhd"):
        return None
    keys = ("center", "as_published")
    return asked.as_published or any(bool(settings.get(key)) for key in keys)


def head_of(names: Sequence[str]) -> int | None:
    """Return how many of the most frequent words methods look at; None for every word."""
    heads = [METHODS[name].head for name in names]
    return None if None in heads else max(head for head in heads if head is not None)


def wanted_by(
    names: Sequence[str], attribute: Attribute | WordGroups, settings: Mapping[str, Any]
) -> set[str]:
    """Return every spelling of the words that methods look up, beside the most frequent."""
    words = listed_words(attribute)
    if "multi-hard" in names:
        given = settings.get("sets")
        sets = given if isinstance(given, WordSets) else WordSets.load(given)
        words |= spellings(sets.specific)
    if "oscar" in names:
        from wordbias.methods.oscar import concept_words

        words |= spellings(concept_words(settings.get("concept")))
    return words


def refuse_unused(
    names: Sequence[str], settings: Mapping[str, Any], spelled: Callable[[str], str] = str
) -> None:
    """Refuse a setting that none of the methods takes, and name those that do.

    `spelled` turns its name into what the user wrote.
    """
    taken = {key for name in names for key in settings_of(name)}
    for key in settings:
        if key not in taken:
            others = ", ".join(_takers(key)) or "no method"
            raise WordbiasError(f"{', '.join(names)}: takes no {spelled(key)}; it is for: {others}")


def _takers(key: str) -> Iterator[str]:
    return (name for name in METHODS if key in settings_of(name))


def _default(name: str) -> Any:
    return None if name == "multi-hard" else Attribute.load()


def _module(name: str) -> Any:
    return import_module(f"wordbias.methods.{name.replace('-', '_')}")
