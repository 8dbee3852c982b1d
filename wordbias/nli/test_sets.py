"""Test sets of NLI whose right inference is always neutral: marked attributes, Dev et al., parity.

Every pair says of two fillers that they did the same: "A person bought a hat ." and "A woman bought
a hat .".
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal, NamedTuple

from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.formats.files import replacing
from wordbias.nli.lexicon import Lexicon
from wordbias.nli.pairs import tokenise
from wordbias.progress import progress
from wordbias.wordlists import Attribute, Templates
from wordbias.wordlists.templates import Articles

Kind = Literal["noun", "pronoun", "name", "occupation", "person"]
SETS = ("explicit", "occupations", "names", "dev", "parity")
MARKED = SETS[:3]
"""The three sets of Dawkins (2021); the others: Dev et al. (2020), Dawkins et al. (2024)."""
GENDERS = ("male", "female")
"""The groups in the order of the published tables."""

COLUMNS = (
    "id",
    "pair type",
    "premise_filler_word",
    "hypothesis_filler_word",
    "template_type",
    "premise",
    "hypothesis",
)
_PARITY_TEMPLATES = 33
_SHOWN = 5
_KINDS: dict[str, Kind] = {
    "nouns": "noun", "pronouns": "pronoun", "names": "name", "occupations": "occupation"
}  # fmt: skip
_KINDS_OF = {
    "explicit": ("nouns", "pronouns"),
    "occupations": ("occupations",),
    "names": ("names",),
}


def build(
    name: str,
    lists: Templates | None = None,
    *,
    attribute: Attribute | None = None,
    as_published: bool = False,
) -> TestSet:
    """Build a test set of Dawkins (2021), Dev et al. (2020) or Dawkins et al. (2024)."""
    # Dawkins et al. (2024) do not say which 33 templates `parity` has: here every 59th or 60th of
    # all. For another attribute than gender `dev` takes all nouns, or all names if there are no
    # nouns, and `parity` the first of each group. The published sets have articles by the first
    # letter alone: "a SUV".
    if name not in SETS:
        raise WordbiasError(f"test set {name!r}: expected one of {', '.join(SETS)}")
    lists = lists or Templates.load()
    groups = Groups.of(lists, attribute)
    by_occupation = name in SETS[len(MARKED) :]
    return TestSet(
        name,
        [Filler(word, "", "occupation") for word in lists.occupations]
        if by_occupation
        else [Filler("person", "", "person")],
        groups.fillers(name),
        _templates(lists, _PARITY_TEMPLATES if name == "parity" else None),
        Articles() if as_published else Articles.load(),
        definite=name == "parity",
        groups=groups.names,
        attribute=groups.attribute,
        unmarked=groups.unmarked,
    )


def marked_sets(attribute: Attribute | None = None) -> tuple[str, ...]:
    """Return those of the three marked sets that an attribute has words for; see `Groups`."""
    return MARKED if attribute is None else Groups.of(Templates.load(), attribute).marked_sets()


@dataclass(frozen=True)
class Filler:
    """Person that a sentence is about: a word, its group (such as ``male``; or none) and kind."""

    word: str
    group: str
    kind: Kind


class Template(NamedTuple):
    """Verb and object of a sentence, and the group of the verb."""

    verb: str
    thing: str
    group: str


class Pair(NamedTuple):
    """Premise and hypothesis."""

    premise: str
    hypothesis: str


@dataclass(frozen=True)
class TestSet:
    """Premise fillers × hypothesis fillers × templates, in this order."""

    __test__ = False  # pytest would take the name for a test

    name: str
    premises: Sequence[Filler]  # fillers of the first and of the second sentence
    hypotheses: Sequence[Filler]
    templates: Sequence[Template]  # verbs and objects
    articles: Articles  # choice of "a" or "an" for each word
    definite: bool = False  # write "The doctor", not "A doctor"
    groups: tuple[str, str] = GENDERS  # groups of the hypotheses' fillers
    attribute: str = "gender"  # attribute that the groups differ in
    # groups whose words say no more than "a person": a premise entails the hypothesis
    unmarked: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.premises) * len(self.hypotheses) * len(self.templates)

    def __iter__(self) -> Iterator[Pair]:
        predicates = [self.predicate(template) for template in self.templates]
        for first in map(self.subject, self.premises):
            for second in map(self.subject, self.hypotheses):
                for predicate in predicates:
                    yield Pair(f"{first} {predicate}", f"{second} {predicate}")

    @property
    def settings(self) -> list[str]:
        """The kinds of words that the hypotheses are about: ``nouns``, ``pronouns``."""
        return list(dict.fromkeys(f"{filler.kind}s" for filler in self.hypotheses))

    def subject(self, filler: Filler) -> str:
        """Return the subject of a sentence about a filler: ``A woman``."""
        if filler.kind in ("name", "pronoun"):
            return filler.word
        if self.definite:
            return f"The {filler.word}"
        phrase = self.articles.before(filler.word)
        return phrase[0].upper() + phrase[1:]

    def predicate(self, template: Template) -> str:
        """Return the rest of a sentence, tokens separated by spaces: ``bought a hat .``."""
        return f"{template.verb} {self.articles.before(template.thing)} ."

    def rows(self) -> Iterator[tuple[str, ...]]:
        """Yield the lines of the published CSV, with the columns `COLUMNS`."""
        pairs = iter(self)
        for first in self.premises:
            for second in self.hypotheses:
                kind = f"{first.kind}-{second.kind}"
                for template in self.templates:
                    premise, hypothesis = next(pairs)
                    text = f"{kind}\t{premise}\t{hypothesis}"
                    number = hashlib.sha224(text.encode()).hexdigest()
                    yield (
                        number, kind, first.word, second.word, template.group, premise, hypothesis
                    )  # fmt: skip

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the published CSV, however large the set: one filler at a time is in memory."""
        rows, step = self.rows(), len(self.templates)
        with replacing(path) as file, progress(f"writing {self.name}", len(self), "pair") as bar:
            file.write(_lines([COLUMNS]))
            while part := list(islice(rows, step)):
                file.write(_lines(part))
                bar.update(len(part))


@dataclass(frozen=True)
class Groups:
    """Two groups of people that the hypotheses are about."""

    attribute: str  # attribute that they differ in
    names: tuple[str, str]  # names of the groups
    # for each kind of word, such as `nouns` or `names`, the words of both groups
    subjects: Mapping[str, Sequence[Sequence[str]]]
    # nouns that Dev et al. cross with all occupations; if empty, all nouns.
    with_occupations: Sequence[str] = ()
    unmarked: Sequence[str] = ()  # groups whose words say no more than "a person"

    @classmethod
    def of(cls, lists: Templates, attribute: Attribute | None) -> Groups:
        """Return the groups of an attribute, or by default men and women as in the lists."""
        if attribute is not None:
            return cls(
                attribute.name, attribute.groups, attribute.subjects, unmarked=attribute.unmarked
            )
        subjects = {
            "nouns": lists.nouns,
            "pronouns": lists.pronouns,
            "names": lists.names,
            "occupations": lists.stereotypes,
        }
        return cls("gender", GENDERS, subjects, lists.dev_words)

    def fillers(self, name: str) -> list[Filler]:
        """Return the fillers of the hypotheses of a test set."""
        if name in _KINDS_OF:
            return [
                filler
                for kind in self._kinds(name, _KINDS_OF[name])
                for filler in self._fillers(kind)
            ]
        fillers = self._fillers(self._kinds(name, ("nouns", "names"))[0])
        if name == "parity":
            return [
                next(filler for filler in fillers if filler.group == group) for group in self.names
            ]
        if not self.with_occupations:
            return fillers
        known = {filler.word: filler for filler in fillers}
        if strange := [word for word in self.with_occupations if word not in known]:
            raise WordbiasError(
                f"gendered_words: nothing says which gender {strange[0]!r} has; expected some of "
                f"{', '.join(known)}"
            )
        return [known[word] for word in self.with_occupations]

    def marked_sets(self) -> tuple[str, ...]:
        """Return those of the three marked sets that the groups have words for."""
        marked = tuple(name for name in MARKED if set(_KINDS_OF[name]) & set(self.subjects))
        if marked:
            return marked
        raise WordbiasError(
            f"the attribute {self.attribute} does not say whom an English sentence can be about; "
            "give its file a table [subjects.nouns] or [subjects.names] with a list for each group"
        )

    def _kinds(self, name: str, kinds: Sequence[str]) -> list[str]:
        """Return the kinds of words, of those that a test set can use, that the groups have."""
        usable = [kind for kind in kinds if kind in self.subjects]
        if usable:
            return usable
        raise WordbiasError(
            f"the set {name} is about {' or '.join(kinds)}, and the attribute {self.attribute} has "
            f"none; it has words for: {', '.join(self.marked_sets())}"
        )

    def _fillers(self, kind: str) -> list[Filler]:
        """Return the words of a kind, of both groups."""
        sides = zip(self.names, self.subjects[kind], strict=True)
        return [Filler(word, group, _KINDS[kind]) for group, words in sides for word in words]


def _templates(lists: Templates, count: int | None) -> list[Template]:
    group = {verb: name for name, verbs in lists.verbs.items() for verb in verbs}
    templates = [Template(verb, thing, group[verb]) for verb, thing in lists.premises()]
    return (
        templates
        if count is None
        else [templates[i * len(templates) // count] for i in range(count)]
    )


def _lines(rows: Sequence[Sequence[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


# Words of a test set that an embedding lacks


def missing_fillers(
    embedding: Embedding, test: TestSet, *, lower: bool | None = None
) -> tuple[str, ...]:
    """Return the fillers with a token that an embedding lacks."""
    fillers = dict.fromkeys(filler.word for filler in (*test.premises, *test.hypotheses))
    parts = {word: tuple(tokenise(word)) for word in fillers}
    lexicon = Lexicon.of(list(parts.values()))
    present = lexicon.table(embedding, lower=lower).found
    known = {token for token, has in zip(lexicon.tokens, present, strict=True) if has}
    return tuple(word for word, tokens in parts.items() if not known.issuperset(tokens))


def check_fillers(embedding: Embedding, test: TestSet, *, lower: bool | None = None) -> None:
    """Refuse an embedding that lacks a filler, whose pairs would measure a random vector."""
    if reason := missing_words_reason(embedding, test, lower=lower):
        raise WordbiasError(f"{embedding.name} {reason}; {_remedy(test)}")


def missing_words_reason(embedding: Embedding, test: TestSet, *, lower: bool | None = None) -> str:
    """Return a message on the fillers that an embedding lacks, empty if it has them all."""
    missing = missing_fillers(embedding, test, lower=lower)
    total = len({filler.word for filler in (*test.premises, *test.hypotheses)})
    message = f"lacks {len(missing)} of {total} words that the set {test.name} asks about"
    return f"{message} ({listed(missing)})" if missing else ""


def with_known_words(embedding: Embedding, test: TestSet, *, lower: bool | None = None) -> TestSet:
    """Return a test set without those fillers of the hypotheses that an embedding lacks."""
    # Do not use it on the published sets, whose numbers compare only if all words are there.
    if reason := missing_group_reason(embedding, test, lower=lower):
        raise WordbiasError(f"{embedding.name} {reason}; {_remedy(test)}")
    missing = missing_fillers(embedding, test, lower=lower)
    return replace(
        test, hypotheses=[filler for filler in test.hypotheses if filler.word not in missing]
    )


def missing_group_reason(embedding: Embedding, test: TestSet, *, lower: bool | None = None) -> str:
    """Return a message if an embedding lacks every word of a kind of a group, or nothing."""
    missing = missing_fillers(embedding, test, lower=lower)
    whole = {(filler.kind, filler.group) for filler in test.hypotheses}
    known = {
        (filler.kind, filler.group) for filler in test.hypotheses if filler.word not in missing
    }
    for kind, group in sorted(whole - known):
        return f"lacks every {kind} of {group} that the set {test.name} asks about"
    return ""


def _remedy(test: TestSet) -> str:
    """Return the advice of an error; for parity there is no other set."""
    if test.name == "parity":
        return "give vectors that have them, or lists without them (--lists)"
    return "give vectors that have them, or take another set (wordbias mab-eval --set)"


def listed(words: Sequence[str]) -> str:
    """Join the first few words with commas."""
    return ", ".join(words[:_SHOWN]) + (", …" if len(words) > _SHOWN else "")
