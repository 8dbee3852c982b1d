"""Synthetic biographies, so that the experiment runs without data.

They are generated from a few sentences with blanks: results on them show that the experiment works,
and say nothing about people or about any model.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from wordbias.biographies.data import FEMALE, GROUPS, MALE, Biographies
from wordbias.errors import WordbiasError
from wordbias.wordlists.queries import load_queries
from wordbias.wordlists.templates import common_names

PEOPLE = 2_400
_FEWEST = 40  # of an occupation, so that balanced parts of a split still have some


def synthetic(people: int = PEOPLE, seed: int = 0) -> Biographies:
    """Generate biographies of people in ten occupations with 14 % to 88 % women.

    A person's gender shows in pronouns, in the first name, in *husband* or *wife*, and, less
    surely, in what they like and talk about (some of family, some of career); the occupation in
    words of which some are shared by neighbours. The words of WEAT 6 occur, so that CEAT has some.

    Parameters
    ----------
    people
        Number of people; occupations differ by one at most.
    seed
        Seed of everything but the numbers of women and men of each occupation, which are fixed.

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


def _one(rng: np.random.Generator, among: tuple[str, ...]) -> str:
    return among[int(rng.integers(len(among)))]


# words and sentences


class Occupation(NamedTuple):
    """A synthetic occupation.

    Attributes
    ----------
    name
        Name, which no text has.
    women
        Share of women.
    work, places
        Tasks and places of work. Neighbouring occupations share some of both, so that
        their biographies cannot always be told apart.
    """

    name: str
    women: float
    work: tuple[str, ...]
    places: tuple[str, ...]


_CARE = ("pain management", "patient safety", "home visits")
_CLINIC = ("General Hospital", "the city clinic", "the university hospital", "a rural clinic")
_PLANS = ("project planning", "safety standards", "quality control")
_PLANT = ("an engineering office", "a shipyard", "the water board", "a machine works")
_PUPILS = ("curriculum design", "reading groups", "exams")
_SCHOOL = ("the state university", "a community college", "a public school", "a summer school")
_PRESS = ("interviews", "essays", "photo editing")
_STUDIO = ("a local magazine", "a weekly newspaper", "an art gallery", "a small press")
OCCUPATIONS = (
    Occupation("nurse", 0.88, (*_CARE, "wound care", "infusions", "night shifts"), _CLINIC),
    Occupation("surgeon", 0.16, (*_CARE, "hernia repair", "transplants", "implants"), _CLINIC),
    Occupation("dietitian", 0.85, (*_CARE, "meal plans", "food allergies", "diabetes"), _CLINIC),
    Occupation("engineer", 0.14, (*_PLANS, "turbines", "hydraulics", "bridges"), _PLANT),
    Occupation("architect", 0.32, (*_PLANS, "floor plans", "facades", "housing"), _PLANT),
    Occupation("programmer", 0.18, (*_PLANS, "compilers", "databases", "web services"), _PLANT),
    Occupation("teacher", 0.72, (*_PUPILS, "phonics", "class trips", "homework"), _SCHOOL),
    Occupation("professor", 0.45, (*_PUPILS, "lectures", "doctoral theses", "grants"), _SCHOOL),
    Occupation("journalist", 0.50, (*_PRESS, "court reports", "elections", "columns"), _STUDIO),
    Occupation("photographer", 0.36, (*_PRESS, "portraits", "landscapes", "prints"), _STUDIO),
)
LEANING = (
    (
        "working with children",
        "a choir",
        "volunteering",
        "yoga",
        "a book club",
        "mentoring",
        "baking",
        "the parents' council",
    ),
    (
        "golf",
        "a football team",
        "fishing",
        "vintage cars",
        "the chamber of commerce",
        "woodworking",
        "military history",
        "poker",
    ),
)
"""Interests that texts about women mention more often, and those of texts about men."""
LEAN = 0.75
"""Probability that an interest or a topic is from the list of the person's own gender."""
TOPICS = (
    (
        "the children",
        "parents at home",
        "a wedding",
        "cousins",
        "marriage",
        "relatives",
        "the family",
        "home and children",
    ),
    (
        "an executive",
        "management",
        "professional life",
        "a corporation",
        "salary and career",
        "the office",
        "business",
        "a career in business",
    ),
)
"""Topics with the words of family and career of WEAT 6 (Caliskan et al. 2017), for CEAT."""
KNOWN = 0.3
"""Probability that a first name is one of those of WEAT 6."""
SURNAMES = (
    "Abbott",
    "Bergman",
    "Castro",
    "Dunne",
    "Eriksen",
    "Fontaine",
    "Gupta",
    "Hartley",
    "Ito",
    "Jansen",
    "Kowalski",
    "Lindqvist",
    "Moreau",
    "Novak",
    "Okafor",
    "Petrov",
    "Quinn",
    "Rossi",
    "Silva",
    "Tanaka",
)
CITIES = ("Ashford", "Brookdale", "Clearwater", "Fairview", "Lakeside", "Northgate", "Riverton")
PRONOUNS = (
    {"They": "She", "their": "her", "Their": "Her", "spouse": "husband", "child": "daughter"},
    {"They": "He", "their": "his", "Their": "His", "spouse": "wife", "child": "son"},
)
"""Words for women, and for men."""
WORK = (
    "{They} has worked at {place} in {city} for {years} years.",
    "{Their} work at {place} covers {a} and {b}.",
    "{name} joined {place} in {year}, and is responsible for {a}.",
    "For {years} years {name} has been known in {city} for {a} and {b}.",
)
FURTHER = (
    "{They} also has experience with {c}.",
    "{Their} interests include {c} and {b}.",
    "Before that, {name} spent {years2} years on {c}.",
    "Colleagues value {their} knowledge of {c}.",
)
PRIVATE = (
    "{They} enjoys {like}.",
    "In {their} free time {name} likes {like}.",
    "{They} lives in {city} with {their} {spouse}, and likes {like}.",
    "{Their} {child} shares {their} love of {like}.",
)
TALK = (
    "Friends of {name} know {their} stories about {topic}.",
    "{name} likes to talk about {topic}.",
    "{They} once wrote a letter about {topic}.",
)
"""Sentences; the first of a biography, which would say the occupation, is left out as in real
data."""
