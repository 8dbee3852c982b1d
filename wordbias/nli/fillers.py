"""Whom the sentences of a test set are about: a person, an occupation, or two groups of people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from wordbias.errors import WordbiasError
from wordbias.wordlists import Attribute, Templates

Kind = Literal["noun", "pronoun", "name", "occupation", "person"]
SETS = ("explicit", "occupations", "names", "dev", "parity")
MARKED = SETS[:3]
"""The three sets of Dawkins (2021); the others are Dev et al.'s (2020) and paper 2's."""
GENDERS = ("male", "female")
"""In the order of the published tables."""

_KINDS: dict[str, Kind] = {
    "nouns": "noun", "pronouns": "pronoun", "names": "name", "occupations": "occupation"
}  # fmt: skip
_KINDS_OF = {
    "explicit": ("nouns", "pronouns"),
    "occupations": ("occupations",),
    "names": ("names",),
}


@dataclass(frozen=True)
class Filler:
    """Who did it: a word, its group (``male`` or ``female``, say; or none) and what it is."""

    word: str
    group: str
    kind: Kind


@dataclass(frozen=True)
class Groups:
    """Two groups of people.

    Attributes
    ----------
    attribute
        What they differ in.
    names
        Of the groups.
    subjects
        For each kind of word, ``nouns`` or ``names``, say, the words of both.
    beside_occupations
        The nouns that Dev et al. cross with all occupations; none are all.
    """

    attribute: str
    names: tuple[str, str]
    subjects: Mapping[str, Sequence[Sequence[str]]]
    beside_occupations: Sequence[str] = ()

    @classmethod
    def of(cls, lists: Templates, attribute: Attribute | None) -> Groups:
        """Take those of an attribute, or by default men and women as the lists have them."""
        if attribute is not None:
            return cls(attribute.name, attribute.groups, attribute.subjects)
        subjects = {
            "nouns": lists.nouns,
            "pronouns": lists.pronouns,
            "names": lists.names,
            "occupations": lists.stereotypes,
        }
        return cls("gender", GENDERS, subjects, lists.dev_words)

    def fillers(self, name: str) -> list[Filler]:
        """Return who stands in the hypotheses of a test set.

        Raises
        ------
        WordbiasError
            If the groups have no words for it.
        """
        if name in _KINDS_OF:
            return [one for kind in self._some(name, _KINDS_OF[name]) for one in self._both(kind)]
        found = self._both(self._some(name, ("nouns", "names"))[0])
        if name == "parity":
            return [next(one for one in found if one.group == group) for group in self.names]
        return self._named(found) if self.beside_occupations else found

    def marked_sets(self) -> tuple[str, ...]:
        """Return those of the three marked sets that the groups have words for.

        Raises
        ------
        WordbiasError
            If there is none.
        """
        found = tuple(name for name in MARKED if set(_KINDS_OF[name]) & set(self.subjects))
        if found:
            return found
        raise WordbiasError(
            f"the attribute {self.attribute} does not say whom an English sentence can be about; "
            "give its file a table [subjects.nouns] or [subjects.names] with a list for each group"
        )

    def _some(self, name: str, kinds: Sequence[str]) -> list[str]:
        found = [kind for kind in kinds if kind in self.subjects]
        if found:
            return found
        raise WordbiasError(
            f"the set {name} is about {' or '.join(kinds)}, and the attribute {self.attribute} has "
            f"none; it has words for: {', '.join(self.marked_sets())}"
        )

    def _both(self, kind: str) -> list[Filler]:
        sides = zip(self.names, self.subjects[kind], strict=True)
        return [Filler(word, group, _KINDS[kind]) for group, words in sides for word in words]

    def _named(self, fillers: Sequence[Filler]) -> list[Filler]:
        known = {filler.word: filler for filler in fillers}
        if strange := [word for word in self.beside_occupations if word not in known]:
            raise WordbiasError(
                f"gendered_words: nothing says which gender {strange[0]!r} has; expected some of "
                f"{', '.join(known)}"
            )
        return [known[word] for word in self.beside_occupations]


def marked_sets(attribute: Attribute | None = None) -> tuple[str, ...]:
    """Return those of the three marked sets that an attribute has words for; see `Groups`."""
    return MARKED if attribute is None else Groups.of(Templates.load(), attribute).marked_sets()
