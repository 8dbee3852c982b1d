"""Sentences that an audit of a model reads, and the first names or words that stand in them.

No template states a gender. The first names or words of a group are divided into two halves: a
projection that is fitted on sentences with those of one is measured on sentences with those of the
other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from wordbias.errors import WordbiasError
from wordbias.wordlists.attribute_files import CASES
from wordbias.wordlists.groups import FEWEST_NAMES, Attribute, WordGroups
from wordbias.wordlists.queries import Query, group_queries, load_queries, load_two_sets
from wordbias.wordlists.templates import Gendered, unambiguous_names
from wordbias.wordlists.toml import Pair, as_pairs, as_table, as_words, packaged, read_toml

FILE = "model_sentences.toml"
NAMES = 140
"""Number of female and of male first names in each half."""
FEWEST_WORDS = 9
"""Fewest different words of a group: four for fitting, and five for the folds of a probe."""
ALIKE = 4
"""First letters that forms of one word have in common."""
VALENCE = ("pleasant_8", "unpleasant_8")
"""Sets of words that are compared with the groups, two by two."""
SUBJECT, WORD, SENTENCE = "{subject}", "{word}", "{sentence}"


@dataclass(frozen=True)
class ModelSentences:
    """Sentences of an audit of a model."""

    fit: tuple[str, ...]  # templates with `{subject}`: for fitting projections, and for measuring
    measured: tuple[str, ...]
    # templates with `{sentence}`, one of `measured` without its full stop; a pronoun follows
    continued: tuple[str, ...]
    # further templates for pronouns, also with `{object}` or `{possessive}`
    pronouns_fit: tuple[str, ...]
    pronouns_measured: tuple[str, ...]
    subjects: tuple[str, ...]  # subjects of sentences that say nothing about gender or work
    number: tuple[Pair, ...]  # subjects that are one person, and the same for several
    mentions: tuple[str, ...]  # templates with `{word}`, a word of any kind
    unrelated: tuple[str, ...]  # sentences about no person, on different subjects
    paraphrases: tuple[Pair, ...]  # pairs of such sentences that say about the same
    women: Mapping[str, int]  # percent of women among those employed in an occupation

    @classmethod
    @cache
    def load(cls) -> ModelSentences:
        """Read the built-in sentences."""
        tables = read_toml(packaged(FILE))

        def words(table: str, key: str) -> tuple[str, ...]:
            return as_words(as_table(tables[table], table)[key], f"{FILE}: {table}.{key}")

        return cls(
            words("templates", "fit"),
            words("templates", "measured"),
            words("continued", "before_pronoun"),
            words("pronouns", "fit"),
            words("pronouns", "measured"),
            words("subjects", "neutral"),
            as_pairs(tables["subjects"]["number"], f"{FILE}: subjects.number"),
            words("mentions", "words"),
            words("unrelated", "sentences"),
            as_pairs(tables["paraphrases"]["pairs"], f"{FILE}: paraphrases.pairs"),
            dict(tables["women"]),
        )


def sentences_with(templates: Iterable[str], subject: str) -> list[str]:
    """Return the sentence of each template about a subject."""
    return [template.replace(SUBJECT, subject) for template in templates]


def sentence_of_pronoun(template: str, cases: Sequence[str]) -> str:
    """Return the sentence of a template about the person of a pronoun, given by its cases."""
    text = template
    for case, word in zip(CASES, cases, strict=True):
        text = text.replace(f"{{{case}}}", word)
    return text[:1].upper() + text[1:]


def before_pronoun(lists: ModelSentences, subject: str) -> list[str]:
    """Return the beginnings of sentences about a subject after which a pronoun can follow."""
    begun = [text.removesuffix(".") for text in sentences_with(lists.measured, subject)]
    return [template.replace(SENTENCE, text) for text in begun for template in lists.continued]


def occupation_subject(occupation: str) -> str:
    """Return an occupation as the subject of a sentence: ``The nurse``."""
    return f"The {occupation}"


def halves_of_names() -> tuple[Gendered, Gendered]:
    """Return the first names for fitting, and those for measuring."""
    # `NAMES` of each sex, every second of the most frequent ones. No name is in both halves, and
    # none is a word of WEAT's queries about gender, which are measured too.
    tested = {
        word
        for query in gender_queries()
        for _, words in (*query.targets, *query.attributes)
        for word in words
    }
    known = [[name for name in names if name not in tested] for names in unambiguous_names()]
    fit, measured = (
        Gendered(*(tuple(names[start : 2 * NAMES : 2]) for names in known)) for start in (0, 1)
    )
    return fit, measured


def gender_queries() -> tuple[Query, ...]:
    """Return WEAT's queries about gender: career and family, arts and mathematics or science."""
    return tuple(query for query in load_queries() if query.about == "gender")


class Unit(NamedTuple):
    """A first name, or the forms of a word, of a group."""

    group: str
    words: tuple[str, ...]


def halves(
    attribute: Attribute | WordGroups, queries: Iterable[Query] = ()
) -> tuple[list[Unit], list[Unit]]:
    """Return the first names or words of an attribute for fitting, and those for measuring."""
    # Every second name or word of a group, for fitting none of the measured queries. Forms of a
    # word are in one half: "mosque", "mosques".
    if attribute.grammatical_gender:
        raise WordbiasError(
            f"{attribute.name}: its words are not English, and the sentences that a model reads "
            "are; take gender, age, religion or ethnicity, or a TOML file with English words"
        )
    sets = [words for query in queries for _, words in (*query.targets, *query.attributes)]
    tested = {word.lower() for words in sets for word in words}
    names = attribute.first_names
    fewest = 2 * FEWEST_NAMES if names else FEWEST_WORDS
    fit, measured = [], []
    for group, words in zip(attribute.groups, attribute.members, strict=True):
        units = [(word,) for word in words] if names else forms(words)
        free = [unit for unit in units if not {word.lower() for word in unit} & tested]
        n = len(units) // 2
        if len(units) < fewest or len(free) < n:
            what = "first names" if names else "different words (mosque and mosques are one)"
            remedy = "write groups with more words into a TOML file, and give it to --groups"
            if [*attribute.subjects] == ["pronouns"]:
                remedy = "give groups of pronouns a table [cases] in their file"
            raise WordbiasError(
                f"{attribute.name}: {group} has {len(units)} {what}, {len(free)} of them in no "
                f"association test; expected {fewest} or more, half of them in none: a model is "
                f"measured on other words than those for fitting; {remedy}"
            )
        chosen = [free[(2 * i + 1) * len(free) // (2 * n)] for i in range(n)]
        fit += [Unit(group, unit) for unit in chosen]
        measured += [Unit(group, unit) for unit in units if unit not in chosen]
    return fit, measured


def forms(words: Sequence[str]) -> list[tuple[str, ...]]:
    """Put words together that begin alike, such as "elder" and "elderly", "teen" and "teenager"."""
    units: list[list[str]] = []
    for word in words:
        at = next((unit for unit in units if any(_alike(word, other) for other in unit)), None)
        if at is None:
            units.append([word])
        else:
            at.append(word)
    return [tuple(unit) for unit in units]


def _alike(word: str, other: str) -> bool:
    short, long = sorted((word.lower(), other.lower()), key=len)
    return long.startswith(short[:ALIKE])


def queries_about(attribute: Attribute | WordGroups) -> tuple[Query, ...]:
    """Return WEAT's queries about an attribute, or about groups that were chosen of it."""
    # Of ethnicity:hispanic,asian none is: the names of WEAT's queries are in other groups.
    words = {word.lower() for group_words in attribute.members for word in group_words}
    return tuple(
        query
        for query in load_queries()
        if query.about == attribute.name
        or (
            attribute.name.startswith(f"{query.about} ")
            and all(
                words & {word.lower() for word in target_words} for _, target_words in query.targets
            )
        )
    )


def valence_queries(
    attribute: Attribute | WordGroups, measured: Collection[Unit]
) -> tuple[Query, ...]:
    """Return a query of every two groups, by the words for measuring, on pleasant words."""
    members = tuple(
        tuple(word for unit in measured if unit.group == group for word in unit.words)
        for group in attribute.groups
    )
    groups = WordGroups(attribute.name, attribute.groups, members, source=attribute.source)
    return group_queries(groups, load_two_sets(VALENCE))
