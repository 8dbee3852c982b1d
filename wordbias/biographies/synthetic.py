"""Synthetic biographies, so that the experiment runs without data.

They are made up, of a few sentences with blanks: what a model does with them says that the
experiment works, and nothing about people or about any model.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from wordbias.biographies.biographies import FEMALE, GROUPS, MALE, Biographies
from wordbias.biographies.synthetic_words import (
    CITIES,
    FURTHER,
    KNOWN,
    LEAN,
    LEANING,
    OCCUPATIONS,
    PRIVATE,
    PRONOUNS,
    SURNAMES,
    TALK,
    TOPICS,
    WORK,
    Occupation,
)
from wordbias.errors import WordbiasError
from wordbias.wordlists.names import common_names
from wordbias.wordlists.query_files import load_queries

PEOPLE = 2_400
_FEWEST = 40  # of an occupation, so that balanced parts of a split still have some


def synthetic(people: int = PEOPLE, seed: int = 0) -> Biographies:
    """Make up biographies of people in ten occupations with 14 % to 88 % women.

    A person's gender shows in pronouns, in the first name, in *husband* or *wife*, and, less
    surely, in what they like and talk about (some of family, some of career); the occupation in
    words of which some are shared by neighbours. The words of WEAT 6 occur, so that CEAT has some.

    Parameters
    ----------
    people
        How many, the same number of each occupation up to one.
    seed
        Of everything but the number of women and men of each occupation, which is fixed.

    Raises
    ------
    WordbiasError
        If there are too few to be split and balanced.
    """
    if people < _FEWEST * len(OCCUPATIONS):
        raise WordbiasError(
            f"{people:,} synthetic biographies of {len(OCCUPATIONS)} occupations are too few to be "
            f"split and balanced; ask for {_FEWEST * len(OCCUPATIONS):,} or more"
        )
    rng = np.random.default_rng(seed)
    kinds = [OCCUPATIONS[i % len(OCCUPATIONS)] for i in range(people)]
    sizes = {kind.name: kinds.count(kind) for kind in OCCUPATIONS}
    women = {kind.name: round(kind.women * sizes[kind.name]) for kind in OCCUPATIONS}
    made: list[tuple[str, str, str, str]] = []
    for i, kind in enumerate(kinds):
        gender = FEMALE if i // len(OCCUPATIONS) < women[kind.name] else MALE
        made.append((*_biography(kind, GROUPS.index(gender), rng), kind.name, gender))
    order = rng.permutation(people)
    texts, names, labels, genders = zip(*(made[i] for i in order), strict=True)
    path = f"synthetic biographies (seed {seed}, n={people:,})"
    return Biographies.of(path, texts, labels, genders, names=names)


def _biography(kind: Occupation, group: int, rng: np.random.Generator) -> tuple[str, str]:
    """Return a text, and the name of its person."""
    first, last = (_one(rng, names) for names in (_first_names(group, rng), SURNAMES))
    a, b, c = rng.permutation(np.array(kind.work))[:3].tolist()
    leaning, topics = (
        lists[group if rng.random() < LEAN else 1 - group] for lists in (LEANING, TOPICS)
    )
    blanks = {
        **PRONOUNS[group],
        "name": _one(rng, (first, f"{first} {last}", last)),
        "place": _one(rng, kind.places),
        "city": _one(rng, CITIES),
        "like": _one(rng, leaning),
        "topic": _one(rng, topics),
        "years": str(rng.integers(6, 30)),
        "years2": str(rng.integers(2, 6)),
        "year": str(rng.integers(1995, 2019)),
        **{"a": a, "b": b, "c": c},
    }
    parts = [_one(rng, sentences) for sentences in (WORK, FURTHER, PRIVATE, TALK)]
    return " ".join(part.format_map(blanks) for part in parts), f"{first} {last}"


def _first_names(group: int, rng: np.random.Generator) -> tuple[str, ...]:
    """Return common names of one group, or, now and then, those of WEAT 6."""
    if rng.random() < KNOWN:
        return _known_names()[group]
    return tuple(name.capitalize() for name in common_names()[group])


@cache
def _known_names() -> tuple[tuple[str, ...], tuple[str, ...]]:
    query = next(query for query in load_queries() if query.name == "weat6")
    (_, male), (_, female) = query.targets
    return tuple(map(str.capitalize, female)), tuple(map(str.capitalize, male))


def _one(rng: np.random.Generator, among: tuple[str, ...]) -> str:
    return among[int(rng.integers(len(among)))]
