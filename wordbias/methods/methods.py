"""The methods by name, and chains of them, each fitted on the result of the one before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from wordbias.calls import path_of
from wordbias.embedding import Embedding
from wordbias.errors import UsageError, WordbiasError
from wordbias.methods.diagnosis import diagnose
from wordbias.methods.fitted import Chain, Fitted, refuse_mixed_centring
from wordbias.methods.settings import EVERY, METHODS
from wordbias.methods.transform import Projection, refuse_no_change
from wordbias.methods.words import listed_words, spellings
from wordbias.settings import (
    ChainsLike,
    Configured,
    MethodsLike,
    as_listed,
    read_chain,
    read_chains,
    settings_of,
)
from wordbias.wordlists import Attribute, WordGroups, WordSets

NONE = "none"
"""Text in place of methods: none."""
_CALL = {"random_state": "seed"}
"""Names of settings that the functions ``fit`` call otherwise."""


def debias(
    embedding: Embedding,
    methods: MethodsLike,
    attribute: Attribute | WordGroups | None = None,
) -> Embedding:
    """Return an embedding debiased by methods in order: ``debias(emb, "hard,misp:dims=2")``."""
    return fit_chain(methods, embedding, attribute)[1]


def fit_chain(
    methods: MethodsLike,
    embedding: Embedding,
    attribute: Attribute | WordGroups | None = None,
) -> tuple[Chain, Embedding]:
    """Fit methods by their names, in order; see `fit_methods`."""
    return fit_methods(read_chain(methods, METHODS), embedding, attribute)


def fit_methods(
    methods: Sequence[Configured],
    embedding: Embedding,
    attribute: Attribute | WordGroups | None = None,
    *,
    seed: int = 0,
    device: str | None = None,
) -> tuple[Chain, Embedding]:
    """Fit methods one after the other, each on the result of the ones before it."""
    if not methods:
        raise UsageError(f"methods: name at least one of {', '.join(METHODS)}")
    refuse_mixed_centring({_is_centred(configured) for configured in methods})
    parts = []
    for method in methods:
        groups = attribute or (None if method.name == "multi-hard" else Attribute.load())
        fitted = fit_method(method, embedding, groups, seed=seed, device=device)
        debiased = fitted(embedding)
        refuse_no_change(method.name, embedding, debiased)
        parts.append(fitted)
        embedding = debiased
    return Chain(tuple(parts)), embedding


def fit_method(
    method: Configured,
    embedding: Embedding,
    attribute: Attribute | WordGroups | None,
    *,
    seed: int = 0,
    device: str | None = None,
) -> Fitted:
    """Fit one method; see the module of its name. Only multi-hard does without an attribute."""
    name, given = method.name, arguments_of(method, seed=seed, device=device)
    if name in ("misp", "mhd") and isinstance(attribute, WordGroups) and len(attribute.groups) > 2:
        for key in ("centre", "as_published"):
            if given.get(key):
                raise WordbiasError(
                    f"{name}: {key.replace('_', '-')} is of two groups, and {attribute.name} has "
                    f"{len(attribute.groups)}, whose means are compared; leave it out"
                )
    fitted: Fitted | Projection = _module(name).fit(embedding, attribute, **given)
    if isinstance(fitted, Fitted):
        return fitted
    assert attribute is not None  # misp and mhd
    return diagnose(fitted, embedding, attribute, {**defaults_of(name), **given})


def arguments_of(method: Configured, *, seed: int = 0, device: str | None = None) -> dict[str, Any]:
    """Return the settings of a method as the arguments of its function ``fit``."""
    takes = settings_of(EVERY[method.name])
    given: dict[str, Any] = {"seed": seed} if "random_state" in takes else {}
    given |= {"device": device} if "device" in takes and device is not None else {}
    return given | {
        _CALL.get(key, key): drawn_seed(value) if key == "random_state" else value
        for key, value in method.settings.items()
    }


def drawn_seed(random_state: Any) -> int:
    """Return a seed; draw it from a random state, a Generator, or with None from numpy's state."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    if isinstance(random_state, np.random.RandomState) or random_state is None:
        return int((random_state or np.random).randint(2**31 - 1))
    if isinstance(random_state, (int, np.integer)) and random_state >= 0:
        return int(random_state)
    raise UsageError(
        "random_state=: expected a whole number from 0 on, a RandomState, a Generator or None, "
        f"got {random_state!r}"
    )


def defaults_of(name: str) -> dict[str, Any]:
    """Return the settings of a method with their defaults, as its function ``fit`` calls them."""
    return {
        _CALL.get(key, key): setting.default for key, setting in settings_of(EVERY[name]).items()
    }


def parse_columns(methods: ChainsLike) -> dict[str, list[Configured]]:
    """Return chains by their texts: ``misp hard,misp inlp:rounds=10``; ``none`` for none."""
    listed = as_listed(methods)
    words = [word for chain in listed if isinstance(chain, str) for word in chain.lower().split()]
    if listed and not words and all(isinstance(chain, str) for chain in listed):
        raise UsageError(f"methods: expected some of {', '.join(METHODS)}, or {NONE}")
    if NONE not in words:
        return read_chains(methods, METHODS)
    if len(words) > 1 or len(listed) > 1:
        raise UsageError(f"methods {' '.join(words)!r}: {NONE} stands alone")
    return {}


def head_of(methods: Sequence[Configured]) -> int | None:
    """Return the number of frequent words that methods look at; None for all words."""
    heads = [METHODS[method.name]._head for method in methods]
    return None if None in heads else max(head for head in heads if head is not None)


def wanted_by(methods: Sequence[Configured], attribute: Attribute | WordGroups) -> set[str]:
    """Return all spellings of the words that methods look up beside the most frequent ones."""
    words = listed_words(attribute)
    for method in methods:
        if method.name == "multi-hard":
            given = method.settings.get("sets")
            sets = given if isinstance(given, WordSets) else WordSets.load(given)
            words |= spellings(sets.specific)
        if method.name == "oscar":
            from wordbias.methods.oscar import concept_words

            words |= spellings(concept_words(method.settings.get("concept")))
    return words


def files_of(methods: Iterable[Configured]) -> dict[str, str | None]:
    """Return the values of settings that may name a file, by method and setting."""
    return {
        f"{method.name}:{key.replace('_', '-')}": path_of(value)
        for method in methods
        for key, value in method.settings.items()
        if settings_of(METHODS[method.name])[key].names_file
    }


def _module(name: str) -> Any:
    return import_module(f"wordbias.methods.{name.replace('-', '_')}")


def _is_centred(method: Configured) -> bool | None:
    """Return whether the differences of a method are centred; None where it has none."""
    if method.name not in ("misp", "mhd"):
        return None
    return any(bool(method.settings.get(key)) for key in ("centre", "as_published"))
