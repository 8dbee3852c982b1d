"""Sentences of the Equity Evaluation Corpus: a person and an emotion, or a person alone.

Every context is filled with pairs of persons, one of each group, so that two sentences differ in
the person only. For groups that the corpus does not have, the persons are those of their file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

from wordbias.errors import WordbiasError
from wordbias.rendering import how_many
from wordbias.wordlists.groups import Attribute, WordGroups
from wordbias.wordlists.templates import Articles
from wordbias.wordlists.toml import as_pairs, as_words, packaged, read_toml

FILE = "eec.toml"
NEUTRAL = "no emotion"
"""Emotion of the sentences that name none."""
NOUNS = "noun phrases"
_PRONOUNS = {"she": ("her", "herself"), "he": ("him", "himself")}
_REFLEXIVE = {"female": "herself", "male": "himself"}
_OF_ANYBODY = "themselves"
_KINDS = {"nouns": (NOUNS, "this {}"), "names": ("names", "{}")}
"""Subjects of other groups that stand in the sentences: their kind, and "this Hindu woman"."""


class Person(NamedTuple):
    """A person in a sentence: as its subject, as its object, and as its reflexive pronoun."""

    subject: str
    object: str
    himself: str


class Context(NamedTuple):
    """A sentence without its person; `word` is empty where it names no emotion."""

    template: str
    emotion: str
    word: str

    def about(self, person: Person) -> str:
        """Return the sentence about a person."""
        text = (
            self.template.replace("{subject}", person.subject)
            .replace("{object}", person.object)
            .replace("{himself}", person.himself)
            .replace("{a word}", _articles().before(self.word))
            .replace("{word}", self.word)
        )
        return text[0].upper() + text[1:]


@dataclass(frozen=True)
class Comparison:
    """Two groups of people, and persons of both in pairs."""

    attribute: str  # what the groups are groups of: `gender`
    groups: tuple[str, str]
    pairs: tuple[tuple[Person, Person], ...]  # a person of the first group and one of the second
    # kind of each pair, such as noun phrases; persons of one kind could change places
    kinds: tuple[str, ...]
    left_out: int = 0  # number of persons without a counterpart

    def persons(self) -> Iterator[tuple[str, Person]]:
        """Yield each person with the group."""
        for pair in self.pairs:
            yield from zip(self.groups, pair, strict=True)


@cache
def contexts() -> tuple[Context, ...]:
    """Return the 144 contexts: seven templates with twenty words each, and four without."""
    tables = _tables()
    filled = [
        Context(template, emotion, word)
        for kind in ("state", "situation")
        for template in as_words(tables["templates"][kind], f"{FILE}: templates.{kind}")
        for emotion, words in tables[kind].items()
        for word in as_words(words, f"{FILE}: {kind}.{emotion}")
    ]
    neutral = as_words(tables["templates"]["neutral"], f"{FILE}: templates.neutral")
    return (*filled, *(Context(template, NEUTRAL, "") for template in neutral))


def published_comparisons() -> list[Comparison]:
    """Return the corpus's comparisons of gender and race; both together have 8,640 sentences."""
    tables = _tables()
    pairs = as_pairs(tables["nouns"]["pairs"], f"{FILE}: nouns.pairs")
    nouns = [
        [Person(noun, *_PRONOUNS.get(noun, (noun, himself))) for noun in of_sex]
        for of_sex, himself in zip(zip(*pairs, strict=True), _REFLEXIVE.values(), strict=True)
    ]
    names = {
        (sex, race): [Person(name, name, _REFLEXIVE[sex]) for name in as_words(first_names, FILE)]
        for sex, by_race in tables["names"].items()
        for race, first_names in by_race.items()
    }
    sexes = ("female", "male")
    races = {race: race.replace("_", " ").title() for race in tables["names"]["female"]}
    by_sex = {
        f"{title} names": [names[sex, race] for sex in sexes] for race, title in races.items()
    }
    by_race = {f"{sex} names": [names[sex, race] for race in races] for sex in sexes}
    first, second = races.values()
    return [
        _comparison("gender", sexes, {NOUNS: nouns, **by_sex}),
        _comparison("race", (first, second), by_race),
    ]


def comparisons_of(attribute: Attribute | WordGroups) -> list[Comparison]:
    """Return the comparisons of every two groups by the subjects that their file has."""
    # Those of the built-in gender are the corpus's own.
    if attribute == Attribute.load():
        return published_comparisons()[:1]
    kinds = [kind for kind in _KINDS if kind in attribute.subjects]
    if not kinds or attribute.grammatical_gender:
        raise WordbiasError(
            f"{attribute.name}: has no subjects of English sentences; give its file a table "
            "[subjects.nouns] or [subjects.names] with a list for each group"
        )
    comparisons = []
    for a, b in combinations(range(len(attribute.groups)), 2):
        of_kinds = {}
        for kind in kinds:
            name, how = _KINDS[kind]
            both = (attribute.subjects[kind][place] for place in (a, b))
            of_kinds[name] = [[_anybody(how.format(word)) for word in words] for words in both]
        groups = attribute.groups[a], attribute.groups[b]
        comparisons.append(_comparison(attribute.name, groups, of_kinds))
    return comparisons


def _anybody(person: str) -> Person:
    return Person(person, person, _OF_ANYBODY)


def _comparison(
    attribute: str, groups: tuple[str, str], by_kind: Mapping[str, Sequence[Sequence[Person]]]
) -> Comparison:
    """Put persons of two groups into pairs in their order, kind by kind."""
    # Of a longer list some are left out all along it: its women may stand behind its men.
    pairs: list[tuple[Person, Person]] = []
    kinds: list[str] = []
    left_out = 0
    for kind, both in by_kind.items():
        n = min(map(len, both))
        first, second = (
            [group[(2 * i + 1) * len(group) // (2 * n)] for i in range(n)] for group in both
        )
        pairs += zip(first, second, strict=True)
        kinds += [kind] * n
        left_out += sum(map(len, both)) - 2 * n
    return Comparison(attribute, groups, tuple(pairs), tuple(kinds), left_out)


def left_out_notes(comparisons: Sequence[Comparison]) -> list[str]:
    """Return notes on persons without a counterpart."""
    return [
        f"{' and '.join(comparison.groups)}: {how_many(comparison.left_out, 'person')} of the "
        "longer list left out, without a counterpart"
        for comparison in comparisons
        if comparison.left_out
    ]


@cache
def _articles() -> Articles:
    return Articles.load()


@cache
def _tables() -> dict[str, Any]:
    return read_toml(packaged(FILE))
