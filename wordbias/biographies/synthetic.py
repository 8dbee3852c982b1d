"""Synthetic biographies: results on them say nothing about people or about any model."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np

from wordbias.biographies.data import FEMALE, GROUPS, MALE, Biographies
from wordbias.errors import WordbiasError
from wordbias.wordlists.queries import load_queries
from wordbias.wordlists.templates import common_names
from wordbias.wordlists.toml import read_toml

PEOPLE = 2_400
_FEWEST = 40  # of an occupation, so that balanced parts of a split still have some
LEAN = 0.75
"""Probability that an interest or a topic is from the list of the person's own gender."""
KNOWN = 0.3
"""Probability that a first name is one of those of WEAT 6."""


def synthetic(people: int = PEOPLE, seed: int = 0) -> Biographies:
    """Generate biographies of people in ten occupations with 14 % to 88 % women."""
    # Gender shows in pronouns, first names, husband and wife, less surely in interests.
    # Neighbouring occupations share words. The words of WEAT 6 occur, for CEAT.
    occupations = load_words().occupations
    if people < _FEWEST * len(occupations):
        raise WordbiasError(
            f"{people:,} synthetic biographies of {len(occupations)} occupations are too few to be "
            f"split and balanced; ask for {_FEWEST * len(occupations):,} or more"
        )
    rng = np.random.default_rng(seed)
    kinds = [occupations[i % len(occupations)] for i in range(people)]
    sizes = {kind.name: kinds.count(kind) for kind in occupations}
    women = {kind.name: round(kind.women * sizes[kind.name]) for kind in occupations}
    biographies: list[tuple[str, str, str, str]] = []
    for i, kind in enumerate(kinds):
        gender = FEMALE if i // len(occupations) < women[kind.name] else MALE
        biographies.append((*_biography(kind, GROUPS.index(gender), rng), kind.name, gender))
    order = rng.permutation(people)
    texts, names, labels, genders = zip(*(biographies[i] for i in order), strict=True)
    path = f"synthetic biographies (seed {seed}, n={people:,})"
    return Biographies.of(path, texts, labels, genders, names=names)


def _biography(kind: Occupation, group: int, rng: np.random.Generator) -> tuple[str, str]:
    """Return a text, and the name of its person."""
    words = load_words()
    first, last = (_choice(rng, names) for names in (_first_names(group, rng), words.surnames))
    a, b, c = rng.permutation(np.array(kind.work))[:3].tolist()
    leaning, topics = (
        both[group if rng.random() < LEAN else 1 - group] for both in (words.leaning, words.topics)
    )
    blanks = {
        **words.pronouns[group],
        "name": _choice(rng, (first, f"{first} {last}", last)),
        "place": _choice(rng, kind.places),
        "city": _choice(rng, words.cities),
        "like": _choice(rng, leaning),
        "topic": _choice(rng, topics),
        "years": str(rng.integers(6, 30)),
        "years2": str(rng.integers(2, 6)),
        "year": str(rng.integers(1995, 2019)),
        **{"a": a, "b": b, "c": c},
    }
    parts = [_choice(rng, sentences) for sentences in words.sentences]
    return " ".join(part.format_map(blanks) for part in parts), f"{first} {last}"


def _first_names(group: int, rng: np.random.Generator) -> tuple[str, ...]:
    """Return common first names of one group or, with probability `KNOWN`, those of WEAT 6."""
    return (_known_names() if rng.random() < KNOWN else _common_names())[group]


@cache
def _common_names() -> tuple[tuple[str, ...], tuple[str, ...]]:
    female, male = common_names()
    return tuple(map(str.capitalize, female)), tuple(map(str.capitalize, male))


@cache
def _known_names() -> tuple[tuple[str, ...], tuple[str, ...]]:
    query = next(query for query in load_queries() if query.name == "weat6")
    (_, male), (_, female) = query.targets
    return tuple(map(str.capitalize, female)), tuple(map(str.capitalize, male))


def _choice(rng: np.random.Generator, among: tuple[str, ...]) -> str:
    return among[int(rng.integers(len(among)))]


# words and sentences


class Occupation(NamedTuple):
    """A synthetic occupation."""

    name: str
    women: float
    # tasks and places of work. Neighbouring occupations share some of both: their biographies
    # cannot always be told apart.
    work: tuple[str, ...]
    places: tuple[str, ...]


class Words(NamedTuple):
    """The words of `synthetic.toml`; of two, those for women come first."""

    occupations: tuple[Occupation, ...]
    # interests that texts about women mention more often, and those of texts about men
    leaning: tuple[tuple[str, ...], ...]
    # topics with the words of family and career of WEAT 6 (Caliskan et al. 2017), for CEAT.
    topics: tuple[tuple[str, ...], ...]
    pronouns: tuple[Mapping[str, str], ...]
    sentences: tuple[tuple[str, ...], ...]  # sentences with blanks; a biography has one of each
    surnames: tuple[str, ...]
    cities: tuple[str, ...]


@cache
def load_words() -> Words:
    """Read the words that come with wordbias."""
    tables = read_toml(files("wordbias.biographies") / "synthetic.toml")
    occupations = (
        Occupation(
            name, occupation["women"], tuple(occupation["work"]), tuple(occupation["places"])
        )
        for name, occupation in tables["occupations"].items()
    )
    leaning, topics, sentences = (
        tuple(map(tuple, tables[name].values())) for name in ("leaning", "topics", "sentences")
    )
    return Words(
        tuple(occupations),
        leaning,
        topics,
        tuple(tables["pronouns"].values()),
        sentences,
        tuple(tables["surnames"]),
        tuple(tables["cities"]),
    )
