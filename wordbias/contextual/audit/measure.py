"""What an audit measures of an encoder or a decoder, before and after each projection.

Every stage has the same sentences, seeds and bootstrap draws, which makes the changes paired.
Chance is that of the model as it was given.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np

from wordbias.contextual.audit import expected
from wordbias.contextual.audit.expected import (
    Predicted,
    pronoun_leans,
    pronoun_scores,
    pronoun_shares,
    share_rows,
)
from wordbias.contextual.audit.projections import Fitted, Unprojected, fit
from wordbias.contextual.audit.texts import GENDER, Reader, Reads, TextVectors
from wordbias.draws import control_of
from wordbias.errors import WordbiasError
from wordbias.measures.held_out_probes import HeldOut, read_groups
from wordbias.models.causal_model import CausalModel
from wordbias.models.encoder import Encoder
from wordbias.models.hooks import applied
from wordbias.probes.ceat.measure import Settings as CeatSettings
from wordbias.probes.ceat.measure import ceat
from wordbias.probes.mdl import COMPRESSION
from wordbias.probes.pronouns import Chance, Pronouns, similarity_row
from wordbias.probes.seat import Seat
from wordbias.probes.similarity_kept import kept_rows
from wordbias.probes.unseen_names import Reading, read_names
from wordbias.progress import Bar, progress
from wordbias.results import Row
from wordbias.settings import Configured
from wordbias.statistics import holm
from wordbias.wordlists.model_sentences import before_pronoun, occupation_subject

BEFORE = "before"
PARTS = ("probe", "untrained", "seat", "ceat", "pronouns", "likelihood")
"""Parts that can be left out."""
OF_DECODERS = ("likelihood",)
"""Parts that only a decoder has."""
COLUMN = "column"
CEAT_DRAWS = 1000


@dataclass(frozen=True, eq=False)
class Audited:
    """Rows of all stages, notes on what could not be measured, and the fitted projections."""

    rows: list[Row]
    notes: list[str]
    projections: tuple[Fitted, ...]


@dataclass(eq=False)
class Stage:
    """One stage: the model as it was given, or after a projection."""

    label: str  # `before`, or the projection
    vectors: TextVectors = field(repr=False)
    kind: str
    projection: Fitted | None = None  # the projection; None before
    attribute: str = GENDER
    # codes of the names by layer, what the best probe reads of them in the last layer, and how well
    # a decoder predicts sentences, which the stages after are compared with
    readings: dict[int, Reading] = field(default_factory=dict)
    held_out: HeldOut | None = None
    predicted: Predicted | None = None

    @property
    def about(self) -> dict[str, Any]:
        """Details that the rows of this stage share."""
        about = stage_details(self.label, self.kind)
        return about if self.attribute == GENDER else {**about, "attribute": self.attribute}

    @property
    def layers(self) -> list[int]:
        """Layers where everything is measured: before a projection all, after it the last."""
        known = sorted(self.vectors.layers)
        return known if self.label == BEFORE else known[-1:]


def stage_details(label: str, kind: str) -> dict[str, str]:
    """Return the details that name the stage of a row, and the kind of the model."""
    control = control_of(label)
    what = "method" if control is None else control[0]
    column = {} if label == BEFORE else {"column": what, "debiased": label}
    return {"audit": kind, "stage": label, **column}


@dataclass(eq=False)
class Measuring:
    """The measurement of one model."""

    subject: str
    reader: Reads
    seed: int = 0
    skip: Collection[str] = ()  # parts to leave out
    # the same model with the head that predicts tokens; None of an encoder
    decoder: CausalModel | None = None
    # chance levels of the pronouns by layer
    chance: dict[int, Chance] = field(default_factory=dict)
    chance_expected: Chance | None = None  # chance level of the pronouns that a decoder expects
    notes: list[str] = field(default_factory=list)

    def run(
        self,
        methods: Sequence[Configured],
        *,
        untrained: Callable[[], Encoder] | None = None,
        path: str | None = None,
    ) -> Audited:
        """Measure the model as it is, and after each method."""
        left_out = {*self.skip, "untrained", *(OF_DECODERS if self.decoder is None else ())}
        left_out |= {*self.reader.texts.without}
        parts = [part for part in PARTS if part not in left_out]
        total = 1 + len(methods) + (1 + len(methods)) * len(parts) + (untrained is not None)
        with progress("audit", total, "part") as bar:
            before, unprojected = self._before(path, bar)
            rows = self._stage(before, None, parts, bar)
            if untrained is not None:
                rows += self._untrained(untrained, before)
                bar.update(1)
            fitted = []
            for method in methods:
                bar.set_postfix_str(method.text)
                try:
                    projection = self._fitted(method, unprojected)
                    vectors = projection.vectors(self.reader, unprojected)
                    after = self._staged(method.text, vectors, projection)
                except WordbiasError as error:
                    rows.append(self._failed(method.text, error))
                    bar.update(1 + len(parts))
                    continue
                bar.update(1)
                self.notes += [f"{method.text}: {line}" for line in projection.warnings]
                stage_rows = self._stage(after, before, parts, bar)
                rows += [*stage_rows, *self._costs(after, before)]
                fitted.append(projection)
        return Audited(rows, self.notes, tuple(fitted))

    def _staged(self, label: str, vectors: TextVectors, projection: Fitted | None = None) -> Stage:
        return Stage(label, vectors, self.reader.kind, projection, self.reader.texts.attribute)

    def _before(self, path: str | None, bar: Bar) -> tuple[Stage, Unprojected]:
        """Encode all texts; return the stage before, and the vectors that projections change."""
        bar.set_postfix_str("encoding")
        reader, texts = self.reader, self.reader.texts.all()
        pooled = reader.pooled(texts, reader.layers, path)
        layers = dict(zip(reader.layers, pooled, strict=True))
        layers[reader.last] = reader.finished(pooled[-1])
        without = "ceat" in (*self.skip, *reader.texts.without)
        words = None if without else reader.words(reader.layers)
        places = {text: i for i, text in enumerate(texts)}
        bar.update(1)
        vectors = TextVectors(places, layers, reader.finished_words(words))
        return self._staged(BEFORE, vectors), Unprojected(places, pooled[-1], words)

    def _fitted(self, method: Configured, before: Unprojected) -> Fitted:
        """Fit a method to the pooled vectors of the sentences for fitting."""
        texts = self.reader.texts
        numbers = {
            name: i for i, name in enumerate(dict.fromkeys(sentence.name for sentence in texts.fit))
        }
        groups, units = [], []
        for group in texts.groups:
            sentences = [sentence for sentence in texts.fit if sentence.group == group]
            rows = [before.places[sentence.text] for sentence in sentences]
            groups.append(before.pooled[rows].astype(np.float64))
            units.append(np.array([numbers[sentence.name] for sentence in sentences], np.intp))
        return fit(method, self.reader, groups, self.seed, units)

    def _stage(
        self, stage: Stage, before: Stage | None, parts: Sequence[str], bar: Bar
    ) -> list[Row]:
        """Measure all parts of a stage; one that cannot be measured becomes a note."""
        rows: list[Row] = []
        for part in parts:
            bar.set_postfix_str(f"{stage.label}: {part}")
            try:
                rows += _MEASURES[part](self, stage, before)
            except WordbiasError as error:
                self.notes.append(f"{stage.label}: {part} was not measured: {error}")
            bar.update(1)
        return rows

    def _failed(self, label: str, error: WordbiasError) -> Row:
        """Return the row of a column that could not be made, and note it."""
        self.notes.append(f"{label}: {error}")
        about = {**stage_details(label, self.reader.kind), "reason": str(error)}
        return Row(self.subject, COLUMN, None, about)

    # Parts

    def probe(self, stage: Stage, before: Stage | None) -> list[Row]:
        """Read the group of names or words off their sentences, at every layer that differs."""
        # Several probes read the last layer, which the verdict on a projection is about.
        texts, groups, names = self._measured()
        units, blocks = self.reader.texts.units, self.reader.texts.blocks
        by_width: dict[int, list[int]] = {}
        for layer in sorted(stage.vectors.layers):
            if before is None or layer in before.readings:
                by_width.setdefault(stage.vectors.layers[layer].shape[1], []).append(layer)
        for layers in by_width.values():
            vectors = np.stack([stage.vectors.take(layer, texts) for layer in layers])
            scales = None if before is None else [before.readings[i].scale for i in layers]
            try:
                readings = read_names(vectors, groups, names, blocks=blocks, scales=scales)
            except WordbiasError as error:  # too few sentences
                few = str(error).partition(";")[0]  # without the remedy, which is for `probe`
                self.notes.append(f"{stage.label}: compression was not measured: {few}")
                continue
            stage.readings |= dict(zip(layers, readings, strict=True))
        rows = []
        for layer, reading in sorted(stage.readings.items()):
            old = None if before is None else before.readings[layer]
            about = {**stage.about, "layer": layer, "set": units}
            rows += reading.rows(self.subject, about, before=old, chance=old)
        last = stage.vectors.take(self.reader.last, texts)
        stage.held_out = read_groups(last, groups, names, blocks=blocks, seed=self.seed)
        about = {**stage.about, "layer": self.reader.last, "set": units}
        first = None if before is None else before.held_out
        return [*rows, *stage.held_out.rows(self.subject, about, before=first)]

    def _measured(self) -> tuple[list[str], list[str], list[str]]:
        """Return the sentences for measuring, with the group of each and what is one unit."""
        # That is the name or word in it; a version of a template is a unit for itself.
        sentences, blocks = self.reader.texts.measured, self.reader.texts.blocks
        return (
            [sentence.text for sentence in sentences],
            [sentence.group for sentence in sentences],
            [sentence.name if blocks is None else sentence.text for sentence in sentences],
        )

    def _untrained(self, load: Callable[[], Encoder], before: Stage) -> list[Row]:
        """Read the same off a model with random weights."""
        try:
            texts, groups, names = self._measured()
            layers = self.reader.layers
            vectors = Reader(load(), self.reader.texts).pooled(texts, layers, None)
            readings = read_names(vectors, groups, names, blocks=self.reader.texts.blocks)
        except WordbiasError as error:
            self.notes.append(f"an untrained {self.reader.kind} was not measured: {error}")
            return []
        rows = []
        for layer, reading in zip(layers, readings, strict=True):
            name = f"{self.reader.texts.units}, untrained {self.reader.kind}"
            about = {**before.about, "layer": layer, "set": name}
            rows += [row for row in reading.rows(self.subject, about) if row.measure == COMPRESSION]
        return rows

    def seat(self, stage: Stage, before: Stage | None) -> list[Row]:
        """Run the association tests on sentences."""
        texts, rows = self.reader.texts, []
        for layer in stage.layers:
            vectors = {
                word: stage.vectors.take(layer, sentences).astype(np.float64)
                for word, sentences in texts.mentions.items()
            }
            tests = [
                Seat(query, vectors, self.seed, texts.alternative(query)) for query in texts.queries
            ]
            known = [seat.p for seat in tests if seat.p is not None]
            corrected = iter(holm(known).tolist() if known else [])
            for test in tests:
                about: dict[str, Any] = {**stage.about, "layer": layer}
                if test.p is not None:
                    about["p_holm"] = next(corrected)
                rows.append(test.row(self.subject, about))
        return rows

    def ceat(self, stage: Stage, before: Stage | None) -> list[Row]:
        """Run the association tests on words in their sentences."""
        words = stage.vectors.words
        if words is None:
            raise WordbiasError(
                "the projection changes no vector of a word: it acts on one token that stands for "
                "the text"
            )
        settings = CeatSettings(CEAT_DRAWS, seed=self.seed)
        rows = []
        queries = self.reader.texts.queries
        about_of = {query.name: query.about for query in queries}
        for row in ceat(words, queries, settings, stage.layers):
            details = {k: v for k, v in row.details.items() if k != "sentences"}  # as many of each
            about = {**stage.about, "about": about_of[details["set"]], **details}
            rows.append(Row(self.subject, row.measure, row.value, about))
        return rows

    def pronouns(self, stage: Stage, before: Stage | None) -> list[Row]:
        """Measure to which pronoun occupations are nearer."""
        texts, vectors = self.reader.texts, stage.vectors
        women = {name: float(share) for name, share in texts.sentences.women.items()}
        rows = []
        for layer in stage.layers:
            occupations = vectors.grouped(layer, texts.occupations)
            pronouns = vectors.grouped(layer, texts.pronouns)
            if before is None:
                subjects = vectors.grouped(layer, texts.subjects)
                self.chance[layer] = Chance.of(occupations, subjects, women)
            for names, sides in zip(
                combinations(texts.pronouns, 2), combinations(pronouns, 2), strict=True
            ):
                leanings = Pronouns.of(occupations, *sides, women, seed=self.seed)
                of = {} if texts.of_gender else {"set": "/".join(names)}
                rows += leanings.rows(
                    self.subject,
                    {**stage.about, "layer": layer, **of},
                    chance=self.chance.get(layer),
                    words=texts.of_gender and layer == self.reader.last,
                )
        return [*rows, *self._similarities(stage)]

    def _similarities(self, stage: Stage) -> list[Row]:
        """Measure how alike sentences of two pronouns, paraphrases, and unrelated ones are."""
        texts, layer = self.reader.texts, self.reader.last
        lists = texts.sentences
        pairs = {
            **{name: list(alike) for name, alike in texts.alike.items()},
            "paraphrases": list(lists.paraphrases),
            "unrelated": list(zip(lists.unrelated[::2], lists.unrelated[1::2], strict=False)),
        }
        rows = []
        for name, text_pairs in pairs.items():
            first, second = (
                stage.vectors.units(layer, side) for side in zip(*text_pairs, strict=True)
            )
            about = {**stage.about, "layer": layer}
            rows.append(similarity_row(self.subject, name, first, second, about, seed=self.seed))
        return rows

    def likelihood(self, stage: Stage, before: Stage | None) -> list[Row]:
        """Measure which pronoun a decoder expects, and how well it predicts other sentences."""
        assert self.decoder is not None
        lists = self.reader.texts.sentences
        others = [*lists.unrelated, *(text for pair in lists.paraphrases for text in pair)]
        about = {**stage.about, "layer": self.reader.last}
        with self._projected(stage):
            rows = self._expected(about, before) if self.reader.texts.of_gender else []
            stage.predicted = Predicted.of(self.decoder, others)
        old = None if before is None else before.predicted
        return [
            *rows,
            *stage.predicted.rows(self.subject, about, before=old, seed=self.seed),
        ]

    def _expected(self, about: Mapping[str, Any], before: Stage | None) -> list[Row]:
        """Measure which pronoun a decoder expects after sentences about occupations."""
        assert self.decoder is not None
        lists = self.reader.texts.sentences
        women = {name: float(share) for name, share in lists.women.items()}
        occupations = {
            occupation: before_pronoun(lists, occupation_subject(occupation))
            for occupation in women
        }
        subjects = {subject: before_pronoun(lists, subject) for subject in lists.subjects}
        scores = pronoun_scores(self.decoder, occupations)
        of_people = pronoun_scores(self.decoder, subjects)
        lean, people = pronoun_leans(scores), pronoun_leans(of_people)
        if before is None:
            self.chance_expected = Chance.permuted(lean, women, seed=self.seed)
        leanings = Pronouns.of_leans(lean, women, seed=self.seed, measures=expected.MEASURES)
        rows = leanings.rows(self.subject, about, chance=self.chance_expected, words=True)
        shares = (pronoun_shares(scores), pronoun_shares(of_people))
        return [
            *(
                replace(row, details={**row.details, "people": float(people.mean())})
                if row.measure == expected.GAP
                else row
                for row in rows
            ),
            *share_rows(self.subject, about, *shares, seed=self.seed),
        ]

    @contextmanager
    def _projected(self, stage: Stage) -> Iterator[None]:
        """Apply the projection of a stage to the decoder, for a block."""
        assert self.decoder is not None
        if stage.projection is None:
            yield
            return
        assert isinstance(self.reader, Reader)
        with applied(self.decoder.model, stage.projection.at(self.reader.site)):
            yield

    def _costs(self, stage: Stage, before: Stage) -> list[Row]:
        """Measure what a projection did to sentences about no person."""
        lists, layer = self.reader.texts.sentences, self.reader.last
        others = [text for pair in lists.paraphrases for text in pair]
        old, new = (side.vectors for side in (before, stage))
        return kept_rows(
            self.subject,
            old.units(layer, lists.unrelated),
            new.units(layer, lists.unrelated),
            {**stage.about, "layer": layer},
            pool=(old.units(layer, others), new.units(layer, others)),
            seed=self.seed,
        )


_MEASURES: Mapping[str, Callable[[Measuring, Stage, Stage | None], list[Row]]] = {
    "probe": Measuring.probe,
    "seat": Measuring.seat,
    "ceat": Measuring.ceat,
    "pronouns": Measuring.pronouns,
    "likelihood": Measuring.likelihood,
}
