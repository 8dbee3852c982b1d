"""The methods by name, and chains of them, each fitted on the result of the one before."""

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
    """Entry of the table of methods.

    Attributes
    ----------
    summary, paper
        One line on what it does, and the paper that proposes it.
    head
        Number of frequent words that fitting looks at, beside the listed ones; None for all words.
    """

    summary: str
    paper: str
    head: int | None = 0


METHODS = {
    "misp": Method("remove a subspace softly, weighted by information", "Dawkins 2021"),
    "mhd": Method("remove the same subspace completely", "Dawkins 2021"),
    "hard": Method("neutralise one direction, equalise pairs", "Bolukbasi et al. 2016"),
    "multi-hard": Method("the same over several groups, as religions", "Manzini et al. 2019"),
    "double-hard": Method("remove a frequency component first", "Wang et al. 2020", None),
    "inlp": Method("remove what classifiers find, in rounds", "Ravfogel et al. 2020", 150_000),
    "leace": Method("erase groups linearly by the least change", "Belrose et al. 2023", 150_000),
    "bam": Method("average with an alignment of pairs", "Lauscher et al. 2020"),
    "oscar": Method("rotate a second concept to 90 degrees", "Dev et al. 2021"),
    "half-sibling": Method("subtract what specific words predict", "Yang and Feng 2020"),
    "conceptor": Method("remove the words' space softly", "Karve et al. 2019"),
    "ran": Method("repel, attract and neutralise each word", "Kumar et al. 2020", None),
    "gender-preserving": Method("autoencoder with classifiers", "Kaneko and Bollegala 2019", None),
    "gn-glove": Method("split w_a and w_g of GN-GloVe vectors", "Zhao et al. 2018", SIZE),
}
PUBLISHED = "as-published"


def debias(
    embedding: Embedding,
    names: str | Sequence[str],
    attribute: Attribute | WordGroups | None = None,
    **settings: Any,
) -> Embedding:
    """Return an embedding debiased by one method or several: ``debias(emb, "hard,misp")``."""
    return fit_chain(names, embedding, attribute, settings)[1]


def fit_chain(
    names: str | Sequence[str],
    embedding: Embedding,
    attribute: Attribute | WordGroups | None = None,
    settings: Mapping[str, Any] | None = None,
) -> tuple[Chain, Embedding]:
    """Fit methods one after the other, each on the result of the ones before it.

    Parameters
    ----------
    names
        Names from `METHODS` in the order in which they are applied, as a list or with commas
        between; ``misp:as-published`` sets ``as_published`` for one of them.
    embedding
        Vectors that the first method is fitted on.
    attribute
        The groups; by default gender, for multi-hard its own sets. Only misp, mhd, multi-hard,
        inlp, leace and conceptor take more than two.
    settings
        Arguments of the methods; each goes to every method that takes it.

    Returns
    -------
    chain, debiased
        The fitted methods, and the embedding after them.

    Raises
    ------
    WordbiasError
        If a setting is taken by none of the methods, or a method changes nothing.
    """
    choices = parse_chain(names if isinstance(names, str) else ",".join(names))
    settings = dict(settings or {})
    refuse_unused([choice.name for choice in choices], settings)
    refuse_mixed_centring({_is_centred(choice, settings) for choice in choices})
    parts = []
    for name, published in choices:
        own = {key: value for key, value in settings.items() if key in settings_of(name)}
        own |= {"as_published": True} if published else {}
        groups = attribute or (None if name == "multi-hard" else Attribute.load())
        fitted = fit_method(name, embedding, groups, **own)
        debiased = fitted(embedding)
        refuse_no_change(name, embedding, debiased)
        parts.append(fitted)
        embedding = debiased
    return Chain(tuple(parts)), embedding


def fit_method(
    name: str, embedding: Embedding, attribute: Attribute | WordGroups | None, **settings: Any
) -> Fitted:
    """Fit one method; see the module of its name. Only multi-hard does without an attribute."""
    if name in ("misp", "mhd") and isinstance(attribute, WordGroups) and len(attribute.groups) > 2:
        for key in ("center", "as_published"):
            if settings.get(key):
                raise WordbiasError(
                    f"{name}: --{key.replace('_', '-')} is of two groups, and {attribute.name} has "
                    f"{len(attribute.groups)}, whose means are compared; leave it out"
                )
    fitted: Fitted | Projection = _module(name).fit(embedding, attribute, **settings)
    if isinstance(fitted, Fitted):
        return fitted
    assert attribute is not None  # misp and mhd
    return diagnose(fitted, embedding, attribute, {**settings_of(name), **settings})


def settings_of(name: str) -> dict[str, Any]:
    """Return the settings that a method takes, with their defaults."""
    return {
        key: parameter.default
        for key, parameter in inspect.signature(_module(name).fit).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }


def seed_of(names: Sequence[str], seed: int) -> dict[str, int]:
    """Return the seed as a setting, if one of the methods takes it."""
    return {"seed": seed} if any("seed" in settings_of(name) for name in names) else {}


# chains of methods by name


class Choice(NamedTuple):
    """Name of a method, and whether ``:as-published`` follows it."""

    name: str
    as_published: bool = False


def parse_chain(text: str) -> list[Choice]:
    """Split ``misp:as-published,inlp``.

    Raises
    ------
    WordbiasError
        If a name is unknown (the message names the nearest), a colon is followed by anything else,
        or the method has no published variant.
    """
    return [_choice(part.strip().lower().replace("_", "-")) for part in text.split(",")]


def parse_methods(text: str) -> list[str]:
    """Return the names in a chain; see `parse_chain`."""
    return [choice.name for choice in parse_chain(text)]


def _choice(part: str) -> Choice:
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
    return Choice(name, bool(colon))


def refuse_unused(
    names: Sequence[str], settings: Mapping[str, Any], spelled: Callable[[str], str] = str
) -> None:
    """Refuse a setting that none of the methods takes, and name the methods that take it.

    `spelled` turns the name of a setting into that of the option.
    """
    taken = {key for name in names for key in settings_of(name)}
    for key in settings:
        if key not in taken:
            others = ", ".join(_takers(key)) or "no method"
            raise WordbiasError(f"{', '.join(names)}: takes no {spelled(key)}; it is for: {others}")


def head_of(names: Sequence[str]) -> int | None:
    """Return the number of frequent words that methods look at; None for all words."""
    heads = [METHODS[name].head for name in names]
    return None if None in heads else max(head for head in heads if head is not None)


def wanted_by(
    names: Sequence[str], attribute: Attribute | WordGroups, settings: Mapping[str, Any]
) -> set[str]:
    """Return all spellings of the words that methods look up beside the most frequent ones."""
    words = listed_words(attribute)
    if "multi-hard" in names:
        given = settings.get("sets")
        sets = given if isinstance(given, WordSets) else WordSets.load(given)
        words |= spellings(sets.specific)
    if "oscar" in names:
        from wordbias.methods.oscar import concept_words

        words |= spellings(concept_words(settings.get("concept")))
    return words


def _takers(key: str) -> Iterator[str]:
    return (name for name in METHODS if key in settings_of(name))


def _module(name: str) -> Any:
    return import_module(f"wordbias.methods.{name.replace('-', '_')}")


def _is_centred(choice: Choice, settings: Mapping[str, Any]) -> bool | None:
    """Return whether the differences of a method are centred; None where it has none."""
    if choice.name not in ("misp", "mhd"):
        return None
    return choice.as_published or any(bool(settings.get(k)) for k in ("center", "as_published"))
