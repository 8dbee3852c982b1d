"""The sentences of a model's audit: neutral, without overlap, and with published shares."""

from __future__ import annotations

import csv
import re
from itertools import pairwise
from pathlib import Path

from wordbias.contextual.audit.texts import AuditTexts
from wordbias.models.sentence_pairs import sentence_pairs
from wordbias.wordlists import Attribute
from wordbias.wordlists.model_sentences import (
    NAMES,
    ModelSentences,
    gender_queries,
    halves_of_names,
    sentences_with,
)
from wordbias.wordlists.templates import names, unambiguous_names
from wordbias.wordlists.toml import packaged, read_toml

SENTENCES = ModelSentences.load()


def words(*texts: str) -> set[str]:
    return {word.lower() for text in texts for word in re.findall(r"\w+", text)}


def gendered() -> set[str]:
    """Return the words of the attribute's pairs, pronouns, and words that define a gender."""
    gender_words = {word for pair in Attribute.load().pairs for word in pair}
    specific = read_toml(packaged("gender_specific.toml"))
    gender_words |= {
        word for value in specific.values() if isinstance(value, list) for word in value
    }
    gender_words |= {
        "she",
        "he",
        "her",
        "his",
        "him",
        "hers",
        "herself",
        "himself",
        "mr",
        "mrs",
        "ms",
    }
    return {word.lower() for word in gender_words}


def test_no_sentence_has_a_gendered_word() -> None:
    neutral = words(
        *SENTENCES.fit,
        *SENTENCES.measured,
        *SENTENCES.pronouns_fit,
        *SENTENCES.pronouns_measured,
        *(word for pair in SENTENCES.number for word in pair),
        *SENTENCES.subjects,
        *SENTENCES.mentions,
        *SENTENCES.unrelated,
        *(text for pair in SENTENCES.paraphrases for text in pair),
    )
    assert {"she", "he", "mother"} <= gendered()
    assert not neutral & gendered()
    assert not neutral & words(*(name for side in unambiguous_names() for name in side))


def pairs_of(texts: AuditTexts) -> list[list[str]]:
    """Return the female and the male version of each pair."""
    return [
        [sentence.text for sentence in texts.fit if sentence.group == group]
        for group in texts.groups
    ]


def test_nothing_that_is_fitted_on_is_measured() -> None:
    texts = AuditTexts.load()
    fitted = {sentence.text for sentence in texts.fit}
    measured = {sentence.text for sentence in texts.measured} | {
        t for sentences in texts.mentions.values() for t in sentences
    }
    measured |= {t for sentences in texts.occupations.values() for t in sentences}
    measured |= {*(text for pair in texts.alike["she and he"] for text in pair)}
    measured |= {*SENTENCES.unrelated}
    assert not fitted & measured
    assert {(pair.first, pair.second) for pair in sentence_pairs()} <= {
        *zip(*pairs_of(texts), strict=True)
    }
    assert not {*SENTENCES.fit} & {*SENTENCES.measured}


def test_each_name_is_in_the_group_of_its_bearers() -> None:
    shares, texts = names(), AuditTexts.load()
    for sentence in texts.measured:
        assert sentence.group == ("female" if shares[sentence.name] > 0.5 else "male")
    female, male = (" ".join(side) for side in pairs_of(texts))
    assert "Olivia" in female
    assert "Olivia" not in male
    assert {named.group for named in texts.measured if named.name == "Emma"} == {"female"}


def test_the_halves_of_the_names_share_none_and_are_balanced() -> None:
    fit, measured = halves_of_names()
    sides = [*fit, *measured]
    assert [len(side) for side in sides] == [NAMES] * 4
    assert len({name for side in sides for name in side}) == 4 * NAMES
    tested = {
        word
        for query in gender_queries()
        for _, word_list in (*query.targets, *query.attributes)
        for word in word_list
    }
    assert {"John", "Amy", "man"} <= tested
    assert not tested & {name for side in sides for name in side}
    shares = names()
    for half in (fit, measured):
        assert all(shares[name] >= 0.98 for name in half.female)
        assert all(shares[name] <= 0.02 for name in half.male)
        for side in half:  # the most frequent come first
            places = [list(shares).index(name) for name in side]
            assert all(a < b for a, b in pairwise(places))


def test_spans_are_the_words() -> None:
    texts = AuditTexts.load()
    spans = texts.spans()
    assert len(spans) == len(texts.mentions) * len(SENTENCES.mentions)
    assert all(text[start:end] == word for word, text, (start, end) in spans)
    assert {word for word, _, _ in spans} == {
        word
        for query in gender_queries()
        for _, word_list in (*query.targets, *query.attributes)
        for word in word_list
    }


def test_each_text_is_listed_once() -> None:
    texts = AuditTexts.load()
    listed = texts.all()
    assert len(listed) == len(set(listed))
    pronouns = {text for sentences in texts.pronouns.values() for text in sentences}
    assert pronouns | {sentence.text for sentence in texts.measured} <= {*listed}
    assert pronouns <= {text for pair in texts.alike["she and he"] for text in pair}
    assert sentences_with(["{subject} left."], "The nurse") == ["The nurse left."]
    assert all("{" not in text for text in listed)


def test_shares_of_women_are_those_published(shared_data: Path) -> None:
    path = shared_data / "winogender" / "occupations-stats.tsv"
    with path.open(newline="") as file:
        published = {
            row["occupation"]: float(row["bls_pct_female"])
            for row in csv.DictReader(file, delimiter="\t")
        }
    assert len(SENTENCES.women) == 45
    assert all(
        abs(published[occupation] - share) <= 0.5 for occupation, share in SENTENCES.women.items()
    )
    left_out = {*published} - {*SENTENCES.women}
    assert {"worker", "physician", "pathologist"} <= left_out
    assert len(left_out) == 15
