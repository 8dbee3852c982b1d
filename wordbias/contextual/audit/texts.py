"""The texts of an audit of a model, and their vectors at its layers.

A text is encoded once. Its vector is the one that `wordbias encode` gives by default: pooled as a
sentence-transformers folder says, else of the token that a head reads: the first of an encoder, the
last of a decoder. The vectors before the
modules behind the pooling are stored, because that is where a projection acts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import unit
from wordbias.columns import Column
from wordbias.errors import WordbiasError, need
from wordbias.measures.weat import Alternative
from wordbias.models.encoder import Encoder
from wordbias.models.encoding import EncodingJob, Settings
from wordbias.models.model_like import PURPOSE
from wordbias.models.representations import Representations, load_representations, provenance
from wordbias.models.resume import encode_to
from wordbias.models.sentence_pairs import sentence_pairs
from wordbias.models.sites import Site
from wordbias.models.text_encoders import TextEncoder
from wordbias.probes.ceat.sentences import COLUMN
from wordbias.wordlists.groups import Attribute, GroupsLike, WordGroups, load_attribute
from wordbias.wordlists.model_sentences import (
    SUBJECT,
    WORD,
    ModelSentences,
    Unit,
    gender_queries,
    halves,
    halves_of_names,
    occupation_subject,
    queries_about,
    sentence_of_pronoun,
    sentences_with,
    valence_queries,
)
from wordbias.wordlists.queries import Query

Float32 = NDArray[np.float32]
Array = NDArray[np.float64]
BATCH_TOKENS = 4096
"""Tokens of a batch; the sentences are short."""
SHE, HE = "she", "he"
GENDER = "gender"
ONE, SEVERAL = "one person", "several people"
"""Subjects in the singular and in the plural, beside a pronoun in a set of similarities."""
NAMES, WORDS, SENTENCES = "first names", "words", "sentences"
"""What probes of the sentences of groups have not seen, which rows name as their set."""
_EVERY_TOKEN = ("mean", "last", "weighted-mean")
"""Kinds of pooling that a projection of every token changes as one of the text's vector."""


# Texts


@dataclass(frozen=True, eq=False)
class Named:
    """A sentence of a group."""

    text: str
    # the first name or the word in it, or the template that it is a version of: what probes have
    # not seen, and what is drawn again, with all its sentences
    name: str
    group: str


@dataclass(frozen=True, eq=False)
class AuditTexts:
    """The texts of an audit."""

    attribute: str
    groups: tuple[str, ...]
    units: str  # the kind of `name` of the sentences: `NAMES`, `WORDS` or `SENTENCES`
    # sentences for fitting. Of gender they are in a female and a male version, one after the other:
    # the built-in pairs of `wordbias project`, and sentences about first names.
    fit: tuple[Named, ...]
    # sentences about other first names, or with other words, for measuring
    measured: tuple[Named, ...]
    # sentences about each occupation; none if the audit is not about gender or pronouns
    occupations: Mapping[str, Sequence[str]]
    pronouns: Mapping[str, Sequence[str]]  # the same sentences about each pronoun
    # the same sentences about each subject that means no gender
    subjects: Mapping[str, Sequence[str]]
    # pairs of sentences that differ in a pronoun, or in one person and several, by their set
    alike: Mapping[str, Sequence[tuple[str, str]]]
    mentions: Mapping[str, Sequence[str]]  # sentences that mention a word of a query
    sentences: ModelSentences = field(repr=False)
    queries: tuple[Query, ...] = field(repr=False)

    @classmethod
    def load(cls, groups: GroupsLike | None = None) -> AuditTexts:
        """Make the texts about gender, of the built-in lists, or about another attribute."""
        attribute = load_attribute(groups)
        if attribute.cases:
            return cls._of_pronouns(attribute)
        if attribute != Attribute.load():
            return cls._of_words(attribute)
        lists, queries = ModelSentences.load(), gender_queries()
        sides = ("female", "male")
        fit, measured = halves_of_names()
        pairs = [(pair.first, pair.second) for pair in sentence_pairs()]
        pairs += [
            pair
            for names in zip(fit.female, fit.male, strict=True)
            for pair in zip(*(sentences_with(lists.fit, name) for name in names), strict=True)
        ]
        return cls(
            GENDER,
            sides,
            NAMES,
            tuple(
                Named(text, f"pair {i}", group)
                for i, pair in enumerate(pairs)
                for text, group in zip(pair, sides, strict=True)
            ),
            tuple(
                Named(text, name, group)
                for group, names in (("female", measured.female), ("male", measured.male))
                for name in names
                for text in sentences_with(lists.measured, name)
            ),
            _of_occupations(lists),
            {
                pronoun: sentences_with(lists.measured, pronoun.capitalize())
                for pronoun in (SHE, HE)
            },
            {subject: sentences_with(lists.measured, subject) for subject in lists.subjects},
            # in the templates for fitting a pronoun stands here alone
            _differing((*lists.measured, *lists.fit), {SHE: SHE, HE: HE}),
            _mentions(queries, lists),
            lists,
            queries,
        )

    @classmethod
    def _of_words(cls, attribute: Attribute | WordGroups) -> AuditTexts:
        """Make sentences about first names, or sentences that mention the words of groups."""
        lists, queries = ModelSentences.load(), queries_about(attribute)
        templates = (lists.fit, lists.measured)
        if not attribute.first_names:  # few words: each is in all sentences, of one half alone
            mentions = tuple(text.replace(WORD, SUBJECT) for text in lists.mentions)
            templates = (mentions, mentions)

        def sentences(units: Sequence[Unit], templates: Sequence[str]) -> tuple[Named, ...]:
            return tuple(
                Named(text, unit.words[0], unit.group)
                for unit in units
                for word in unit.words
                for text in sentences_with(templates, word)
            )

        fit, measured = halves(attribute, queries)
        queries = (*queries, *valence_queries(attribute, measured))
        return cls(
            attribute.name,
            attribute.groups,
            NAMES if attribute.first_names else WORDS,
            sentences(fit, templates[0]),
            sentences(measured, templates[1]),
            {},
            {},
            {},
            {},
            _mentions(queries, lists),
            lists,
            queries,
        )

    @classmethod
    def _of_pronouns(cls, attribute: Attribute | WordGroups) -> AuditTexts:
        """Make sentences that are the same but for the pronoun of the person."""
        # A probe cannot have seen other words than these, so it is tested on other sentences.
        lists = ModelSentences.load()
        cases = dict(zip(attribute.groups, attribute.cases, strict=True))

        def sentences(templates: Sequence[str]) -> tuple[Named, ...]:
            return tuple(
                Named(sentence_of_pronoun(template, words), template, group)
                for template in templates
                for group, words in cases.items()
            )

        measured = sentences((*lists.measured, *lists.pronouns_measured))
        units = [Unit(sentence.group, (sentence.text,)) for sentence in measured]
        queries = valence_queries(attribute, units)
        subjects = {group: words[0] for group, words in cases.items()}
        alike = dict(_differing(lists.measured, subjects))
        for group, word in subjects.items():
            for number, side in zip((ONE, SEVERAL), zip(*lists.number, strict=True), strict=True):
                alike[f"{group} and {number}"] = [
                    pair for people in side for pair in _pairs(lists.measured, word, people)
                ]
        return cls(
            attribute.name,
            attribute.groups,
            SENTENCES,
            sentences((*lists.fit, *lists.pronouns_fit)),
            measured,
            _of_occupations(lists),
            {
                group: sentences_with(lists.measured, word.capitalize())
                for group, word in subjects.items()
            },
            {subject: sentences_with(lists.measured, subject) for subject in lists.subjects},
            alike,
            {
                **_mentions(queries, lists),
                **{sentence.text: [sentence.text] for sentence in measured},
            },
            lists,
            queries,
        )

    @property
    def of_gender(self) -> bool:
        """Whether the texts are the built-in ones about gender, with names and in pairs."""
        return self.units == NAMES and bool(self.occupations)

    @property
    def without(self) -> tuple[str, ...]:
        """Parts of an audit that these texts are not for."""
        if self.units == SENTENCES:
            return ("ceat",)
        return () if self.of_gender else ("pronouns",)

    @property
    def blocks(self) -> list[str] | None:
        """The template of each sentence for measuring, if all groups stand in each."""
        return [sentence.name for sentence in self.measured] if self.units == SENTENCES else None

    def all(self) -> list[str]:
        """Return every text once."""
        lists = self.sentences
        texts = [sentence.text for sentence in self.fit]
        texts += [text for pair in lists.paraphrases for text in pair]
        texts += [sentence.text for sentence in self.measured]
        for group in (self.occupations, self.subjects, self.mentions):
            texts += [text for sentences in group.values() for text in sentences]
        texts += [
            text
            for pairs in self.alike.values()
            for side in zip(*pairs, strict=True)
            for text in side
        ]
        return list(dict.fromkeys([*texts, *lists.unrelated]))

    def alternative(self, query: Query) -> Alternative:
        """Return the alternative of a query's test: the order of two groups means nothing."""
        return "two-sided" if {*query.names[:2]} <= {*self.groups} else "greater"

    def spans(self) -> list[tuple[str, str, tuple[int, int]]]:
        """Return each word of the queries with its sentences and its characters in them."""
        spans = []
        for word, texts in self.mentions.items():
            for template, text in zip(self.sentences.mentions, texts, strict=True):
                start = template.index(WORD)
                spans.append((word, text, (start, start + len(word))))
        return spans


def _of_occupations(lists: ModelSentences) -> dict[str, list[str]]:
    """Return the sentences about each occupation."""
    return {
        occupation: sentences_with(lists.measured, occupation_subject(occupation))
        for occupation in lists.women
    }


def _pairs(templates: Sequence[str], *subjects: str) -> list[tuple[str, str]]:
    """Return the sentences of two subjects in each template."""
    first, second = (
        sentences_with(templates, subject[:1].upper() + subject[1:]) for subject in subjects
    )
    return list(zip(first, second, strict=True))


def _differing(
    templates: Sequence[str], subjects: Mapping[str, str]
) -> dict[str, list[tuple[str, str]]]:
    """Return the pairs of sentences of every two groups, by their names."""
    return {
        f"{a} and {b}": _pairs(templates, subjects[a], subjects[b])
        for a, b in combinations(subjects, 2)
    }


def _mentions(queries: Sequence[Query], lists: ModelSentences) -> dict[str, list[str]]:
    """Return the sentences that mention each word of queries."""
    words = (w for q in queries for _, group in (*q.targets, *q.attributes) for w in group)
    return {word: [text.replace(WORD, word) for text in lists.mentions] for word in words}


# Vectors


@dataclass(frozen=True, eq=False)
class TextVectors:
    """Vectors of texts at layers, under one stage of an audit."""

    places: Mapping[str, int] = field(repr=False)  # place of each text among the vectors
    # vectors of all texts by layer, shape `(n, d)`. Those of the last layer are as the model gives
    # them, after its modules; the others are pooled.
    layers: Mapping[int, Float32] = field(repr=False)
    # vectors of the words of the queries in their sentences; None where they are those before
    words: Representations | None = None

    @property
    def last(self) -> int:
        """Number of the last layer."""
        return max(self.layers)

    def take(self, layer: int, texts: Sequence[str]) -> Float32:
        """Return the vectors of some texts, shape ``(n, d)``."""
        vectors: Float32 = self.layers[layer][[self.places[text] for text in texts]]
        return vectors

    def units(self, layer: int, texts: Sequence[str]) -> Array:
        """Return the same at length one, in float64."""
        return unit(self.take(layer, texts)).astype(np.float64)

    def grouped(self, layer: int, groups: Mapping[str, Sequence[str]]) -> Array:
        """Return unit vectors of groups of equally many texts, shape ``(groups, texts, d)``."""
        return np.stack([self.units(layer, texts) for texts in groups.values()])


class Reads(Protocol):
    """What reads the texts of an audit: the layers of a model, or its output alone."""

    @property
    def texts(self) -> AuditTexts:
        """Return the texts of the audit."""

    @property
    def layers(self) -> tuple[int, ...]:
        """Return the layers that are measured."""

    @property
    def last(self) -> int:
        """Return the number of the last layer."""

    @property
    def kind(self) -> str:
        """Return ``decoder`` for a causal model whose last token is read; else ``encoder``."""

    @property
    def words_follow(self) -> bool:
        """True if what a projection does to a text's vector it does to every token's, too."""

    def pooled(self, texts: Sequence[str], layers: Sequence[int], path: str | None) -> Float32:
        """Return the pooled vectors of texts, shape ``(L, n, d)``."""

    def words(self, layers: Sequence[int]) -> Representations:
        """Return the vectors of the queries' words in their sentences."""

    def finished(self, x: Float32) -> Float32:
        """Put pooled vectors of the last layer through what follows the pooling."""

    def finished_words(self, words: Representations | None) -> Representations | None:
        """Put the vectors of words at the last layer through it."""


@dataclass(frozen=True, eq=False)
class OutputReader:
    """Reads texts with an encoder that shows the vectors of texts alone, as layer 0."""

    encoder: TextEncoder
    texts: AuditTexts = field(repr=False)
    layers: tuple[int, ...] = (0,)
    last: int = 0
    kind: str = "encoder"
    words_follow: bool = False

    def pooled(self, texts: Sequence[str], layers: Sequence[int], path: str | None) -> Float32:
        """Return the vectors of texts, shape ``(1, n, d)``; the encoder keeps them, if anything."""
        return self.encoder.encode(texts)[None]

    def words(self, layers: Sequence[int]) -> Representations:
        """Refuse words, whose vectors are not shown."""
        raise WordbiasError(f"{self.encoder.name}: gives vectors of texts alone, none of words")

    def finished(self, x: Float32) -> Float32:
        """Return vectors as they are."""
        return x

    def finished_words(self, words: Representations | None) -> Representations | None:
        """Return vectors as they are."""
        return words


@dataclass(frozen=True, eq=False)
class Reader:
    """Reads texts with the layers of a model."""

    encoder: Encoder
    texts: AuditTexts = field(repr=False)

    @cached_property
    def bare(self) -> Encoder:
        """The encoder without the modules behind its pooling."""
        sentence = self.encoder.sentence
        if sentence is None:
            return self.encoder
        return replace(self.encoder, sentence=replace(sentence, steps=()))

    @cached_property
    def settings(self) -> Settings:
        """Settings of the vector of a text, resolved, for all layers that differ between texts."""
        settings = Settings().resolved(self.bare)
        first = 1 if settings.ways == ("first",) else 0  # the first token's embedding is constant
        return replace(settings, layers=tuple(range(first, self.encoder.layers + 1)))

    @property
    def layers(self) -> tuple[int, ...]:
        """Layers that are measured."""
        return self.settings.layers or ()

    @property
    def last(self) -> int:
        """Number of the last layer."""
        return self.encoder.layers

    @property
    def kind(self) -> str:
        """``decoder`` for a causal model whose last token is read; else ``encoder``."""
        return "decoder" if self.encoder.causal and self.encoder.sentence is None else "encoder"

    @property
    def site(self) -> Site:
        """Site of the vectors that a head or a pooling reads."""
        return Site("cls" if self.settings.ways == ("first",) else "tokens", self.last)

    @property
    def words_follow(self) -> bool:
        """True if what a projection does to a text's vector it does to every token's, too."""
        ways = self.settings.ways
        return len(ways) == 1 and ways[0] in _EVERY_TOKEN

    def described(self) -> dict[str, Any]:
        """Return how a text becomes a vector, for the inputs of a report."""
        sentence = self.encoder.sentence
        names = () if sentence is None else sentence.names
        return {
            "kind": self.kind,
            "pooling": self.settings.pooling,
            "modules": list(names),
            "layers": self.encoder.layers,
            "dim": self.encoder.dim,
        }

    def pooled(self, texts: Sequence[str], layers: Sequence[int], path: str | None) -> Float32:
        """Return the pooled vectors of texts, (L, n, d); with `path` a stopped call resumes."""
        settings = replace(self.settings, layers=tuple(layers))
        job = EncodingJob.of(self.bare, texts, None, settings)
        if path is None:
            return job.vectors(BATCH_TOKENS)
        encode_to(path, job, {}, provenance(job, "audit", ""), batch_tokens=BATCH_TOKENS)
        return np.array(load_representations(path).vectors)

    def words(self, layers: Sequence[int]) -> Representations:
        """Return the vectors of the queries' words in their sentences."""
        spans = self.texts.spans()
        settings = Settings(tuple(layers), "word", special_tokens="seen")
        texts, places = [text for _, text, _ in spans], [place for _, _, place in spans]
        job = EncodingJob.of(self.bare, texts, places, settings)
        if lost := job.lost():
            place, reason = next(iter(lost.items()))
            raise WordbiasError(f"{spans[place][0]!r} in {texts[place]!r}: {reason}")
        columns = {COLUMN: Column.of(word for word, _, _ in spans)}
        return Representations(job.vectors(BATCH_TOKENS), tuple(layers), columns)

    def finished(self, x: Float32) -> Float32:
        """Put pooled vectors of the last layer through the modules behind the pooling."""
        # Vectors of words are too, if the modules take vectors of their length.
        sentence = self.encoder.sentence
        if sentence is None or not sentence.steps:
            return x
        takes = next((step.before for step in sentence.steps if step.before), x.shape[1])
        if takes != x.shape[1]:
            return x
        torch = need("torch", extra="contextual", purpose=PURPOSE)
        with torch.inference_mode():
            given = torch.from_numpy(np.ascontiguousarray(x, np.float32))
            vectors: Float32 = sentence.apply(given).cpu().numpy()
        return vectors

    def finished_words(self, words: Representations | None) -> Representations | None:
        """Put the vectors of words at the last layer through the modules, as `finished` does."""
        if words is None or self.last not in words.layers:
            return words
        finished = self.finished(words.layer(self.last))
        if finished.shape[1] != words.dim:
            return words
        vectors = words.vectors.copy()
        vectors[words.place(self.last)] = finished
        return replace(words, vectors=vectors)
