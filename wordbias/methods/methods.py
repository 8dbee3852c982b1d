"""The methods by name, and chains of them, each fitted on the result of the one before."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.measures.direction import RECIPES
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
    "conceptor": Method("shrink the main directions of the groups' words", "Karve et al. 2019"),
    "ran": Method("repel, attract and neutralise each word", "Kumar et al. 2020", None),
    "gender-preserving": Method("autoencoder with classifiers", "Kaneko and Bollegala 2019", None),
    "gn-glove": Method("split w_a and w_g of GN-GloVe vectors", "Zhao et al. 2018", SIZE),
}


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
        between; settings of one of them follow its name, see `parse_chain`.
    embedding
        Vectors that the first method is fitted on.
    attribute
        The groups; by default gender, for multi-hard its own sets. Only misp, mhd, multi-hard,
        inlp, leace and conceptor take more than two.
    settings
        Arguments of the methods; each goes to every method that takes it, and has no setting of
        its own.

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
    return fit_choices(choices, embedding, attribute, settings)


def fit_choices(
    choices: Sequence[Choice],
    embedding: Embedding,
    attribute: Attribute | WordGroups | None = None,
    settings: Mapping[str, Any] | None = None,
) -> tuple[Chain, Embedding]:
    """Fit methods with settings of their own; see `fit_chain`."""
    settings = dict(settings or {})
    refuse_unused([choice.name for choice in choices], settings)
    refuse_mixed_centring({_is_centred(choice, settings) for choice in choices})
    parts = []
    for name, strengths, _ in choices:
        own = {key: value for key, value in settings.items() if key in settings_of(name)}
        groups = attribute or (None if name == "multi-hard" else Attribute.load())
        fitted = fit_method(name, embedding, groups, **{**own, **strengths})
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


# methods as a text: names, orders and strengths


class Choice(NamedTuple):
    """A method, the settings that were given after its name, and both as a text."""

    name: str
    settings: Mapping[str, Any]
    text: str


NONE = "none"
"""Text in place of columns: no method."""
ALIASES = {"rounds": "iterations"}
"""Other names of settings."""
_CHOICES = {"classifier": "CLASSIFIERS", "method": "METHODS", "weights": "WEIGHTS"}
"""Name of the values of a setting in the module of its method."""
_YES, _NO = ("yes", "true", "1"), ("no", "false", "0")
_LEAST = {"seed": 0, "classes": 2}
"""Least whole number of a setting; 1 for all others."""


def parse_columns(texts: str | Sequence[str]) -> dict[str, list[Choice]]:
    """Split ``misp hard,misp inlp:rounds=10`` into chains, each by its text.

    Parameters
    ----------
    texts
        Chains with spaces between, or a list of such texts; ``none`` for none.

    Raises
    ------
    WordbiasError
        See `parse_chain`; also if ``none`` is one of several.
    """
    listed = [texts] if isinstance(texts, str) else texts
    words = [word for text in listed for word in text.split()]
    if listed and not words:
        raise WordbiasError(f"methods: expected some of {', '.join(METHODS)}, or {NONE}")
    if NONE in (word.lower() for word in words):
        if len(words) > 1:
            raise WordbiasError(
                f"methods {' '.join(words)!r}: {NONE} stands alone; leave it out, or the others"
            )
        return {}
    found = [parse_chain(word) for word in words]
    return {",".join(choice.text for choice in chain): chain for chain in found}


def parse_chain(text: str) -> list[Choice]:
    """Split ``misp:dims=2,inlp:rounds=10:classifier=logistic``.

    Raises
    ------
    WordbiasError
        If a name is unknown (the message names the nearest), or the method does not take what
        follows it; see `strengths_of`.
    """
    return [_choice(part.strip().lower()) for part in text.split(",")]


def parse_methods(text: str) -> list[str]:
    """Return the names in a chain; see `parse_chain`."""
    return [choice.name for choice in parse_chain(text)]


def strengths_of(name: str) -> dict[str, type | tuple[str, ...]]:
    """Return the settings that may follow the name of a method: numbers, flags and choices.

    A choice is described by its values; settings that are words, files or lists are left out.
    """
    module = _module(name)
    found: dict[str, type | tuple[str, ...]] = {}
    for key, parameter in inspect.signature(module.fit).parameters.items():
        if parameter.kind is not parameter.KEYWORD_ONLY:
            continue
        annotation = str(parameter.annotation).removesuffix(" | None")
        if annotation in _PLAIN:
            found[key] = _PLAIN[annotation]
        elif annotation == "str" and key == "direction":
            found[key] = RECIPES
        elif annotation == "str" and hasattr(module, _CHOICES.get(key, "")):
            found[key] = getattr(module, _CHOICES[key])
    return found


_PLAIN: dict[str, type] = {"int": int, "float": float, "bool": bool}


def _choice(part: str) -> Choice:
    typed, *strengths = (one.strip() for one in part.split(":"))
    name = typed.replace("_", "-")
    if name not in METHODS:
        near = difflib.get_close_matches(name, METHODS, 1)
        guess = f"; did you mean {near[0]}?" if near else ""
        raise WordbiasError(
            f"method {name!r}: expected one of {', '.join(METHODS)}, "
            f"or several with commas between{guess}"
        )
    settings: dict[str, Any] = {}
    texts = [name]
    for strength in strengths:
        key, value, text = _strength(name, part, strength)
        if key in settings:
            raise WordbiasError(f"method {part!r}: {_dashed(key)} is given twice")
        settings[key] = value
        texts.append(text)
    return Choice(name, settings, ":".join(texts))


def _strength(name: str, part: str, text: str) -> tuple[str, Any, str]:
    """Read ``dims=2``, or a flag by its name alone; return it as a text too."""
    typed, equals, value = (one.strip() for one in text.partition("="))
    typed, known = _dashed(typed), strengths_of(name)
    key = ALIASES.get(typed, typed).replace("-", "_")
    if key not in known:
        raise WordbiasError(f"method {part!r}: {_not_taken(name, typed, key, known)}")
    kind = known[key]
    if kind is bool and not equals:
        return key, True, typed
    found = _value(key, kind, value)
    if found is None:
        raise WordbiasError(
            f"method {part!r}: {typed}: expected {_expected(key, kind)}, found {value!r}"
        )
    if kind is bool:
        return key, found, typed if found else f"{typed}=no"
    return key, found, f"{typed}={found if isinstance(found, (str, int)) else f'{found:.12g}'}"


def _value(key: str, kind: type | tuple[str, ...], text: str) -> Any:
    """Return the value of a text, or None if it is none of its kind."""
    if isinstance(kind, tuple):
        return text if text in kind else None
    if kind is bool:
        return True if text in _YES else False if text in _NO else None
    try:
        number = kind(text)
    except ValueError:
        return None
    least = _LEAST.get(key, 1) if kind is int else 0
    return number if least <= number < float("inf") else None


def _expected(key: str, kind: type | tuple[str, ...]) -> str:
    if isinstance(kind, tuple):
        return f"one of {', '.join(kind)}"
    if kind is bool:
        return "yes or no"
    return f"a whole number from {_LEAST.get(key, 1)} on" if kind is int else "a number from 0 on"


def _not_taken(name: str, typed: str, key: str, known: Collection[str]) -> str:
    """Say what a method takes, and why it does not take a setting."""
    takes = ", ".join(map(_dashed, known)) or "nothing here"
    if key in settings_of(name):
        return (
            f"{_dashed(key)} is no number, flag or choice, but an option of wordbias debias; "
            f"{name} takes {takes}"
        )
    near = difflib.get_close_matches(_dashed(key), [*map(_dashed, known), *ALIASES], 1)
    guess = f"; did you mean {near[0]}?" if near else ""
    others = ", ".join(_takers(key))
    elsewhere = f"; {_dashed(key)} is for: {others}" if others else ""
    return f"{name} takes {takes}; found {typed!r}{elsewhere}{guess}"


def _dashed(key: str) -> str:
    return key.replace("_", "-")


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
    own = {**settings, **choice.settings}
    return any(bool(own.get(key)) for key in ("center", "as_published"))
