"""What synthetic biographies are made of."""

from __future__ import annotations

from typing import NamedTuple


class Occupation(NamedTuple):
    """A made-up occupation.

    Attributes
    ----------
    name
        What it is called; no text says it.
    women
        The share of women in it.
    work, places
        What people in it do, and where. Neighbouring occupations share some of both, so that
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
"""What the texts about women mention more often, and those about men."""
LEAN = 0.75
"""How often what somebody likes, or talks about, is of the list of their own gender."""
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
"""With the words of family and career of WEAT 6 (Caliskan et al. 2017), which CEAT looks for."""
KNOWN = 0.3
"""How often a first name is one of those of WEAT 6."""

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
"""Of women, and of men."""

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
