"""Sentences that an audit of a model reads, and the first names that stand in them.

No sentence states a gender. First names are divided into two halves: a projection that is fitted on
sentences with the names of one is measured on sentences with those of the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from wordbias.wordlists.queries import Query, load_queries
from wordbias.wordlists.templates import Gendered, unambiguous_names
from wordbias.wordlists.toml import Pair, as_pairs, as_table, as_words, packaged, read_toml

FILE = "model_sentences.toml"
NAMES = 140
"""Number of female and of male first names in each half."""
SUBJECT, WORD, SENTENCE = "{subject}", "{word}", "{sentence}"


@dataclass(frozen=True)
class ModelSentences:
    """Sentences of an audit of a model.

    Attributes
    ----------
    fit, measured
        Templates with ``{subject}``: for fitting projections, and for measuring.
    continued
        Templates with ``{sentence}``, one of `measured` without its full stop; a pronoun follows.
    subjects
        Subjects of sentences that say nothing about gender or work.
    mentions
        Templates with ``{word}``, a word of any kind.
    unrelated
        Sentences about no person, on different subjects.
    paraphrases
        Pairs of such sentences that say about the same.
    women
        Percent of women among those employed in an occupation.
    """

    fit: tuple[str, ...]
    measured: tuple[str, ...]
    continued: tuple[str, ...]
    subjects: tuple[str, ...]
    mentions: tuple[str, ...]
    unrelated: tuple[str, ...]
    paraphrases: tuple[Pair, ...]
    women: Mapping[str, int]

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
            words("subjects", "neutral"),
            words("mentions", "words"),
            words("unrelated", "sentences"),
            as_pairs(tables["paraphrases"]["pairs"], f"{FILE}: paraphrases.pairs"),
            dict(tables["women"]),
        )


def sentences_with(templates: Iterable[str], subject: str) -> list[str]:
    """Return the sentence of each template about a subject."""
    return [template.replace(SUBJECT, subject) for template in templates]


def before_pronoun(lists: ModelSentences, subject: str) -> list[str]:
    """Return the beginnings of sentences about a subject after which a pronoun can follow."""
    begun = [text.removesuffix(".") for text in sentences_with(lists.measured, subject)]
    return [one.replace(SENTENCE, text) for text in begun for one in lists.continued]


def occupation_subject(occupation: str) -> str:
    """Return an occupation as the subject of a sentence: ``The nurse``."""
    return f"The {occupation}"


def halves_of_names() -> tuple[Gendered, Gendered]:
    """Return the first names for fitting, and those for measuring.

    Returns
    -------
    fit, measured : Gendered
        `NAMES` of each sex, every second of the most frequent ones. No name is in both halves, and
        none is a word of WEAT's queries about gender, which are measured too.
    """
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
