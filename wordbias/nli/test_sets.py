"""The marked-attribute test sets, and their neighbours, from verbs, objects and fillers.

Every pair says of two fillers that they did the same: "A person bought a hat ." and "A woman bought
a hat .". The right inference is always neutral.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, NamedTuple

from wordbias.errors import WordbiasError
from wordbias.formats.atomic import replacing
from wordbias.progress import progress
from wordbias.wordlists import Templates
from wordbias.wordlists.templates import Articles, Gendered

Kind = Literal["noun", "pronoun", "name", "occupation", "person"]
COLUMNS = (
    "id",
    "pair type",
    "premise_filler_word",
    "hypothesis_filler_word",
    "template_type",
    "premise",
    "hypothesis",
)
SETS = ("explicit", "occupations", "names", "dev", "parity")
MARKED = SETS[:3]
"""The three sets of Dawkins (2021); the others are Dev et al.'s (2020) and paper 2's."""
_PARITY_TEMPLATES = 33


@dataclass(frozen=True)
class Filler:
    """Who did it: a word, its gender (``male``, ``female`` or none) and what it is."""

    word: str
    gender: str
    kind: Kind


class Template(NamedTuple):
    """What was done: verb, object, and the group of the verb."""

    verb: str
    thing: str
    group: str


class Pair(NamedTuple):
    """One pair of sentences."""

    premise: str
    hypothesis: str


@dataclass(frozen=True)
class TestSet:
    """Premise fillers × hypothesis fillers × templates, in this order.

    Attributes
    ----------
    name
        One of `SETS`.
    premises, hypotheses
        Who stands in the first and in the second sentence.
    templates
        What they did.
    articles
        Which word takes which article.
    definite
        The subjects are "The doctor", not "A doctor".
    """

    __test__ = False  # pytest would take the name for a test

    name: str
    premises: Sequence[Filler]
    hypotheses: Sequence[Filler]
    templates: Sequence[Template]
    articles: Articles
    definite: bool = False

    def __len__(self) -> int:
        return len(self.premises) * len(self.hypotheses) * len(self.templates)

    def __iter__(self) -> Iterator[Pair]:
        predicates = [self.predicate(template) for template in self.templates]
        for first in map(self.subject, self.premises):
            for second in map(self.subject, self.hypotheses):
                for predicate in predicates:
                    yield Pair(f"{first} {predicate}", f"{second} {predicate}")

    def subject(self, filler: Filler) -> str:
        """Write how a sentence about a filler begins: ``A woman``."""
        if filler.kind in ("name", "pronoun"):
            return filler.word
        if self.definite:
            return f"The {filler.word}"
        phrase = self.articles.before(filler.word)
        return phrase[0].upper() + phrase[1:]

    def predicate(self, template: Template) -> str:
        """Write how a sentence goes on, its tokens separated by spaces: ``bought a hat .``."""
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
        """Write the published CSV; of a set of any size only one line is in memory.

        Raises
        ------
        WordbiasError
            If the file cannot be written; then nothing is changed.
        """
        rows, step = self.rows(), len(self.templates)
        with replacing(path) as file, progress(f"writing {self.name}", len(self), "pair") as bar:
            file.write(_lines([COLUMNS]))
            while part := list(islice(rows, step)):
                file.write(_lines(part))
                bar.update(len(part))


def build(name: str, lists: Templates | None = None, *, as_published: bool = False) -> TestSet:
    """Build a test set.

    Parameters
    ----------
    name
        ``explicit`` (15,744 pairs), ``occupations`` (62,976) and ``names`` (125,952) of Dawkins
        (2021); ``dev``, all occupations × six gendered words (1,936,512) of Dev et al. (2020);
        ``parity``, all occupations × man, woman × 33 templates with "The" (10,824) of Dawkins et
        al. (2024), who do not say which templates: here every 59th or 60th of all.
    lists
        Verbs, objects and fillers; by default the built-in ones.
    as_published
        Articles by the first letter alone, as the published sets have them: "a SUV".

    Raises
    ------
    WordbiasError
        If the name is unknown, or nothing says which gender a word of the lists has.
    """
    if name not in SETS:
        raise WordbiasError(f"test set {name!r}: expected one of {', '.join(SETS)}")
    lists = lists or Templates.load()
    articles = Articles() if as_published else Articles.load()
    templates = _templates(lists)
    premises, hypotheses = _fillers(name, lists)
    if name == "parity":
        n = len(templates)
        templates = [templates[i * n // _PARITY_TEMPLATES] for i in range(_PARITY_TEMPLATES)]
    return TestSet(name, premises, hypotheses, templates, articles, definite=name == "parity")


def _fillers(name: str, lists: Templates) -> tuple[list[Filler], list[Filler]]:
    person = [Filler("person", "", "person")]
    if name == "explicit":
        return person, [*_both("noun", lists.nouns), *_both("pronoun", lists.pronouns)]
    if name == "occupations":
        return person, _both("occupation", lists.stereotypes)
    if name == "names":
        return person, _both("name", lists.names)
    everybody = [Filler(word, "", "occupation") for word in lists.occupations]
    return everybody, _gendered(lists.dev_words if name == "dev" else ("man", "woman"), lists)


def _both(kind: Kind, words: Gendered) -> list[Filler]:
    sides = (("male", words.male), ("female", words.female))
    return [Filler(word, side, kind) for side, group in sides for word in group]


def _gendered(words: Sequence[str], lists: Templates) -> list[Filler]:
    known = {filler.word: filler for filler in _both("noun", lists.nouns)}
    if strange := [word for word in words if word not in known]:
        raise WordbiasError(
            f"gendered_words: nothing says which gender {strange[0]!r} has; expected some of "
            f"{', '.join(known)}"
        )
    return [known[word] for word in words]


def _templates(lists: Templates) -> list[Template]:
    group = {verb: name for name, verbs in lists.verbs.items() for verb in verbs}
    return [Template(verb, thing, group[verb]) for verb, thing in lists.premises()]


def _lines(rows: Sequence[Sequence[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()
