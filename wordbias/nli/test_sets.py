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
from typing import NamedTuple

from wordbias.errors import WordbiasError
from wordbias.formats.atomic import replacing
from wordbias.nli.fillers import GENDERS, MARKED, SETS, Filler, Groups
from wordbias.progress import progress
from wordbias.wordlists import Attribute, Templates
from wordbias.wordlists.templates import Articles

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
    groups
        Of the hypotheses' fillers.
    attribute
        What the groups differ in.
    """

    __test__ = False  # pytest would take the name for a test

    name: str
    premises: Sequence[Filler]
    hypotheses: Sequence[Filler]
    templates: Sequence[Template]
    articles: Articles
    definite: bool = False
    groups: tuple[str, str] = GENDERS
    attribute: str = "gender"

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


def build(
    name: str,
    lists: Templates | None = None,
    *,
    attribute: Attribute | None = None,
    as_published: bool = False,
) -> TestSet:
    """Build a test set.

    Parameters
    ----------
    name
        ``explicit`` (15,744 pairs), ``occupations`` (62,976) and ``names`` (125,952) of Dawkins
        (2021); ``dev``, all occupations × six gendered words (1,936,512) of Dev et al. (2020);
        ``parity``, all occupations × man, woman × 33 templates with "The" (10,824) of Dawkins et
        al. (2024), who do not say which templates: here every 59th or 60th of all.
    lists
        Verbs, objects, occupations and gendered words; by default the built-in ones.
    attribute
        Whose groups the hypotheses are about, by its `subjects`; by default male and female. Of
        another attribute ``dev`` takes all nouns, or all names where there are no nouns, and
        ``parity`` the first of each group.
    as_published
        Articles by the first letter alone, as the published sets have them: "a SUV".

    Raises
    ------
    WordbiasError
        If the name is unknown, the attribute has no words for the set, or nothing says which
        gender a word of the lists has.
    """
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
    )


def _templates(lists: Templates, some: int | None) -> list[Template]:
    group = {verb: name for name, verbs in lists.verbs.items() for verb in verbs}
    found = [Template(verb, thing, group[verb]) for verb, thing in lists.premises()]
    return found if some is None else [found[i * len(found) // some] for i in range(some)]


def _lines(rows: Sequence[Sequence[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()
