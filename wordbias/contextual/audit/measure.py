"""What an audit measures of an encoder or a decoder, before and after each projection.

Every stage is measured on the same sentences, with the same seeds and bootstrap draws, so that the
changes are paired. Chance is that of the model as it was given.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from wordbias.contextual.audit import expected
from wordbias.contextual.audit.expected import Predicted, pronoun_leans
from wordbias.contextual.audit.projections import Fitted, Unprojected, fit
from wordbias.contextual.audit.texts import Reader, TextVectors
from wordbias.draws import with_change
from wordbias.errors import WordbiasError
from wordbias.measures.held_out_probes import BEST, PROBES, HeldOut, read_groups
from wordbias.models.causal_model import CausalModel
from wordbias.models.encoder import Encoder
from wordbias.models.hooks import applied
from wordbias.probes.ceat.measure import Settings as CeatSettings
from wordbias.probes.ceat.measure import ceat
from wordbias.probes.mdl import COMPRESSION
from wordbias.probes.name_gender import NAMES, Reading, read_names
from wordbias.probes.pronouns import STEREOTYPE, Chance, Pronouns, similarity_row
from wordbias.probes.seat import Seat
from wordbias.probes.similarity_kept import NEIGHBOURS, ORDER, kept_rows
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
MAIN = (BEST, *PROBES, STEREOTYPE, expected.STEREOTYPE)
"""Measures whose values beyond chance a projection should lower."""
COSTS = (ORDER, NEIGHBOURS, expected.KEPT)
"""Shares that a projection keeps."""
LEFT, COLUMN = "bias-left", "column"
CEAT_DRAWS = 1000


@dataclass(frozen=True, eq=False)
class Audited:
    """Rows of all stages, notes on what could not be measured, and the fitted projections."""

    rows: list[Row]
    notes: list[str]
    projections: tuple[Fitted, ...]


@dataclass(eq=False)
class Stage:
    """One stage: the model as it was given, or after a projection.

    Attributes
    ----------
    label
        ``before``, or the projection.
    vectors
        Vectors of the texts.
    kind
        ``encoder`` or ``decoder``.
    projection
        The projection; None before.
    readings, pronouns, seats, ceats
        Results by layer, and by layer and query, which the stages after are compared with.
    held_out
        What the best probe reads of the names in the last layer.
    expected, predicted
        Pronouns that a decoder expects, and how well it predicts sentences.
    """

    label: str
    vectors: TextVectors = field(repr=False)
    kind: str
    projection: Fitted | None = None
    readings: dict[int, Reading] = field(default_factory=dict)
    held_out: HeldOut | None = None
    pronouns: dict[int, Pronouns] = field(default_factory=dict)
    seats: dict[tuple[int, str], Seat] = field(default_factory=dict)
    ceats: dict[tuple[int, str], Row] = field(default_factory=dict)
    expected: Pronouns | None = None
    predicted: Predicted | None = None

    @property
    def about(self) -> dict[str, Any]:
        """Details that the rows of this stage share."""
        return {"audit": self.kind, **stage_details(self.label)}

    @property
    def layers(self) -> list[int]:
        """Layers of which everything is measured: all before, the last after a projection."""
        known = sorted(self.vectors.layers)
        return known if self.label == BEFORE else known[-1:]


def stage_details(label: str) -> dict[str, str]:
    """Return the details that name the stage of a row."""
    if label == BEFORE:
        return {"stage": label}
    return {"stage": label, "column": "method", "debiased": label}


@dataclass(eq=False)
class Measuring:
    """The measurement of one model.

    Attributes
    ----------
    subject
        Name of the model in the rows.
    reader
        The model's layers and the texts.
    decoder
        The same model with the head that predicts tokens; None of an encoder.
    seed
        Seed of everything random.
    skip
        Parts to leave out.
    chance
        Chance levels of the pronouns by layer.
    chance_expected
        Chance level of the pronouns that a decoder expects.
    notes
        Notes on what could not be measured.
    """

    subject: str
    reader: Reader
    seed: int = 0
    skip: Collection[str] = ()
    decoder: CausalModel | None = None
    chance: dict[int, Chance] = field(default_factory=dict)
    chance_expected: Chance | None = None
    notes: list[str] = field(default_factory=list)

    def run(
        self,
        methods: Sequence[Configured],
        *,
        untrained: Callable[[], Encoder] | None = None,
        path: str | None = None,
    ) -> Audited:
        """Measure the model as it is, and after each method.

        Parameters
        ----------
        methods
            Projections, each a column.
        untrained
            Loads the same model with random weights.
        path
            File for the vectors, from which a call that was interrupted resumes.
        """
        left_out = {*self.skip, "untrained", *(OF_DECODERS if self.decoder is None else ())}
        parts = [part for part in PARTS if part not in left_out]
        total = 1 + len(methods) + (1 + len(methods)) * len(parts) + (untrained is not None)
        with progress("audit", total, "part") as bar:
            before, unprojected = self._before(path, bar)
            rows = self._stage(before, None, parts, bar)
            if untrained is not None:
                rows += self._untrained(untrained, before)
                bar.update(1)
            fitted, columns = [], []
            for method in methods:
                bar.set_postfix_str(method.text)
                try:
                    one = self._fitted(method, unprojected)
                    vectors = one.vectors(self.reader, unprojected)
                    after = Stage(method.text, vectors, self.reader.kind, one)
                except WordbiasError as error:
                    rows.append(self._failed(method.text, error))
                    bar.update(1 + len(parts))
                    continue
                bar.update(1)
                self.notes += [f"{method.text}: {line}" for line in one.warnings]
                found = self._stage(after, before, parts, bar)
                rows += [*found, *self._costs(after, before)]
                fitted.append(one)
                columns.append(method.text)
        rows += [
            self._with_command(row, fitted)
            for row in left_rows(self.subject, rows, columns, self.reader.last, self.reader.kind)
        ]
        return Audited(rows, self.notes, tuple(fitted))

    def _before(self, path: str | None, bar: Bar) -> tuple[Stage, Unprojected]:
        """Encode all texts; return the stage before, and the vectors that projections change."""
        bar.set_postfix_str("encoding")
        reader, texts = self.reader, self.reader.texts.all()
        pooled = reader.pooled(texts, reader.layers, path)
        layers = dict(zip(reader.layers, pooled, strict=True))
        layers[reader.last] = reader.finished(pooled[-1])
        words = None if "ceat" in self.skip else reader.words(reader.layers)
        places = {text: i for i, text in enumerate(texts)}
        bar.update(1)
        vectors = TextVectors(places, layers, reader.finished_words(words))
        return Stage(BEFORE, vectors, reader.kind), Unprojected(places, pooled[-1], words)

    def _fitted(self, method: Configured, before: Unprojected) -> Fitted:
        """Fit a method to the pooled vectors of the sentences for fitting."""
        places = before.places
        pairs = np.array([[places[text] for text in pair] for pair in self.reader.texts.pairs])
        first, second = (before.pooled[side].astype(np.float64) for side in pairs.T)
        return fit(method, self.reader, first, second, self.seed)

    def _with_command(self, row: Row, fitted: Sequence[Fitted]) -> Row:
        """Add the command that writes the model with a projection, if there is one."""
        label, encoder = row.details["stage"], self.reader.encoder
        (one,) = (one for one in fitted if one.method.text == label)
        if self.reader.kind == "decoder":
            command = f"wordbias audit {encoder.name} --methods={label} --export=DIR"
        elif one.step is None:
            command = f"wordbias project {encoder.name} --setting={label} -o ADAPTER"
        elif encoder.sentence is not None:
            command = f"wordbias audit {encoder.name} --methods={label} --export=DIR"
        else:
            return row
        return replace(row, details={**row.details, "written_by": command})

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
        about = {"audit": self.reader.kind, **stage_details(label), "reason": str(error)}
        return Row(self.subject, COLUMN, None, about)

    # Parts

    def probe(self, stage: Stage, before: Stage | None) -> list[Row]:
        """Read the gender of first names off their sentences, at every layer that differs.

        An online code is made of each layer. Several probes read the last one, which the verdict
        on a projection is about.
        """
        names = self.reader.texts.names
        texts, gender = [one.text for one in names], [one.gender for one in names]
        by_width: dict[int, list[int]] = {}
        for layer in sorted(stage.vectors.layers):
            by_width.setdefault(stage.vectors.layers[layer].shape[1], []).append(layer)
        for layers in by_width.values():
            vectors = np.stack([stage.vectors.take(layer, texts) for layer in layers])
            scales = None if before is None else [before.readings[i].scale for i in layers]
            found = read_names(vectors, gender, [one.name for one in names], scales=scales)
            stage.readings |= dict(zip(layers, found, strict=True))
        rows = []
        for layer, reading in sorted(stage.readings.items()):
            old = None if before is None else before.readings[layer]
            about = {**stage.about, "layer": layer}
            rows += reading.rows(self.subject, about, before=old, chance=old)
        last = stage.vectors.take(self.reader.last, texts)
        stage.held_out = read_groups(last, gender, [one.name for one in names], seed=self.seed)
        about = {**stage.about, "layer": self.reader.last, "set": NAMES}
        first = None if before is None else before.held_out
        return [*rows, *stage.held_out.rows(self.subject, about, before=first)]

    def _untrained(self, load: Callable[[], Encoder], before: Stage) -> list[Row]:
        """Read the same off a model with random weights."""
        try:
            names = self.reader.texts.names
            layers = self.reader.layers
            reader = Reader(load(), self.reader.texts)
            vectors = reader.pooled([one.text for one in names], layers, None)
            found = read_names(vectors, [one.gender for one in names], [one.name for one in names])
        except WordbiasError as error:
            self.notes.append(f"an untrained {self.reader.kind} was not measured: {error}")
            return []
        rows = []
        for layer, reading in zip(layers, found, strict=True):
            about = {**before.about, "layer": layer}
            (row,) = (
                row for row in reading.rows(self.subject, about) if row.measure == COMPRESSION
            )
            rows.append(replace(row, details={**row.details, "set": untrained(self.reader.kind)}))
        return rows

    def seat(self, stage: Stage, before: Stage | None) -> list[Row]:
        """Run the association tests on sentences."""
        texts, rows = self.reader.texts, []
        for layer in stage.layers:
            vectors = {
                word: stage.vectors.take(layer, some).astype(np.float64)
                for word, some in texts.mentions.items()
            }
            found = [Seat(query, vectors, self.seed) for query in texts.queries]
            known = [one.p for one in found if one.p is not None]
            corrected = iter(holm(known).tolist() if known else [])
            for one in found:
                stage.seats[layer, one.query.name] = one
                about: dict[str, Any] = {**stage.about, "layer": layer}
                if one.p is not None:
                    about["p_holm"] = next(corrected)
                old = None if before is None else before.seats.get((layer, one.query.name))
                rows.append(one.row(self.subject, about, old))
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
        for row in ceat(words, self.reader.texts.queries, settings, stage.layers):
            key = (row.details["layer"], row.details["set"])
            details = {k: v for k, v in row.details.items() if k != "sentences"}  # as many of each
            about = {**stage.about, "about": "gender", **details}
            made = stage.ceats[key] = Row(self.subject, row.measure, row.value, about)
            old = None if before is None else before.ceats.get(key)
            rows.append(made if old is None else with_change(old, made))
        return rows

    def pronouns(self, stage: Stage, before: Stage | None) -> list[Row]:
        """Measure to which pronoun occupations are nearer."""
        texts, vectors = self.reader.texts, stage.vectors
        women = {name: float(share) for name, share in texts.sentences.women.items()}
        n = len(texts.sentences.measured)
        rows = []
        for layer in stage.layers:
            occupations = vectors.grouped(layer, texts.occupations)
            she, he = (vectors.units(layer, side) for side in (texts.she, texts.he))
            if before is None:
                subjects = vectors.grouped(layer, texts.subjects)
                self.chance[layer] = Chance.of(occupations, subjects, women)
            one = stage.pronouns[layer] = Pronouns.of(
                occupations, she[:n], he[:n], women, seed=self.seed
            )
            rows += one.rows(
                self.subject,
                {**stage.about, "layer": layer},
                before=None if before is None else before.pronouns.get(layer),
                chance=self.chance.get(layer),
                words=layer == self.reader.last,
            )
        return [*rows, *self._similarities(stage, before)]

    def _similarities(self, stage: Stage, before: Stage | None) -> list[Row]:
        """Measure how alike she and he, paraphrases, and unrelated sentences are."""
        texts, layer = self.reader.texts, self.reader.last
        lists = texts.sentences
        pairs = {
            "she and he": list(zip(texts.she, texts.he, strict=True)),
            "paraphrases": list(lists.paraphrases),
            "unrelated": list(zip(lists.unrelated[::2], lists.unrelated[1::2], strict=False)),
        }
        rows = []
        for name, some in pairs.items():
            first, second = zip(*some, strict=True)
            old = None
            if before is not None:
                old = (before.vectors.units(layer, first), before.vectors.units(layer, second))
            rows.append(
                similarity_row(
                    self.subject,
                    name,
                    stage.vectors.units(layer, first),
                    stage.vectors.units(layer, second),
                    {**stage.about, "layer": layer},
                    before=old,
                    seed=self.seed,
                )
            )
        return rows

    def likelihood(self, stage: Stage, before: Stage | None) -> list[Row]:
        """Measure which pronoun a decoder expects, and how well it predicts other sentences."""
        assert self.decoder is not None
        lists, layer = self.reader.texts.sentences, self.reader.last
        women = {name: float(share) for name, share in lists.women.items()}
        occupations = {one: before_pronoun(lists, occupation_subject(one)) for one in women}
        subjects = {one: before_pronoun(lists, one) for one in lists.subjects}
        others = [*lists.unrelated, *(text for pair in lists.paraphrases for text in pair)]
        with self._projected(stage):
            lean = pronoun_leans(self.decoder, occupations)
            people = pronoun_leans(self.decoder, subjects)
            stage.predicted = Predicted.of(self.decoder, others)
        if before is None:
            self.chance_expected = Chance.permuted(lean, women, seed=self.seed)
        stage.expected = Pronouns.of_leans(lean, women, seed=self.seed, measures=expected.MEASURES)
        about = {**stage.about, "layer": layer}
        rows = stage.expected.rows(
            self.subject,
            about,
            before=None if before is None else before.expected,
            chance=self.chance_expected,
            words=True,
        )
        rows = [
            replace(row, details={**row.details, "people": float(people.mean())})
            if row.measure == expected.GAP
            else row
            for row in rows
        ]
        old = None if before is None else before.predicted
        return [
            *rows,
            *stage.predicted.rows(self.subject, about, before=old, seed=self.seed),
        ]

    @contextmanager
    def _projected(self, stage: Stage) -> Iterator[None]:
        """Apply the projection of a stage to the decoder, for a block."""
        assert self.decoder is not None
        if stage.projection is None:
            yield
            return
        with applied(self.decoder.model, stage.projection.at(self.reader.site)):
            yield

    def _costs(self, stage: Stage, before: Stage) -> list[Row]:
        """Measure what a projection did to sentences about no person."""
        lists, layer = self.reader.texts.sentences, self.reader.last
        others = [text for pair in lists.paraphrases for text in pair]
        old, new = (one.vectors for one in (before, stage))
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


def untrained(kind: str) -> str:
    """Return the name of the set of first names that a model with random weights has read."""
    return f"{NAMES}, untrained {kind}"


# Bias that is left, against what is kept


def left_rows(
    subject: str, rows: Sequence[Row], columns: Sequence[str], layer: int, kind: str = "encoder"
) -> list[Row]:
    """Return a row for each column: the share of the bias beyond chance that is left.

    Of each main measure that is beyond chance before it is
    ``max(0, D_after − C) / (D_before − C)``, D being the distance from neutral the worse way and C
    that of the chance level; of a probe, C is that of each stage. The value is the largest of them.
    ``kept`` is the smallest of the shares that were kept: the order of similarities, nearest
    sentences, and of a decoder perplexity before divided by that after. ``pareto`` marks columns of
    which no other leaves less bias and keeps as much, or keeps more and leaves no more.
    """
    found = []
    for label in columns:
        of: dict[str, float] = {}
        for measure in MAIN:
            before, after = (_row(rows, measure, stage, layer) for stage in (BEFORE, label))
            if before is None or after is None or not before.details.get("beyond_chance"):
                continue
            if "left" in after.details:
                of[measure] = after.details["left"]
                continue
            chance = abs(before.details["chance"])
            start, end = (abs(float(one.value or 0)) for one in (before, after))
            if start > chance:
                of[measure] = max(0.0, end - chance) / (start - chance)
        costs = {
            measure: float(row.value)
            for measure in COSTS
            if (row := _row(rows, measure, label, layer)) is not None and row.value is not None
        }
        about: dict[str, Any] = {"audit": kind, **stage_details(label), "layer": layer}
        about |= {"of": of, "costs": costs}
        about["kept"] = min(costs.values()) if costs else None
        value = max(of.values(), default=None)
        if value is None:
            about["reason"] = "no main measure is beyond chance before"
        found.append(Row(subject, LEFT, value, about))
    return [replace(row, details={**row.details, "pareto": _pareto(row, found)}) for row in found]


def _row(rows: Sequence[Row], measure: str, stage: str, layer: int) -> Row | None:
    """Return the row of a measure at a stage and layer, if it has a value."""
    return next(
        (
            row
            for row in rows
            if row.measure == measure
            and row.details["stage"] == stage
            and row.details.get("layer") == layer
            and row.details.get("set", NAMES) == NAMES
            and row.value is not None
        ),
        None,
    )


def _pareto(row: Row, rows: Sequence[Row]) -> bool:
    """Return whether no other column is better in one respect and at least as good in the other."""
    left, kept = row.value, row.details["kept"]
    if left is None or kept is None:
        return False
    others = [(o.value, o.details["kept"]) for o in rows if o is not row]
    known = [(a, b) for a, b in others if a is not None and b is not None]
    return not any((a < left and b >= kept) or (a <= left and b > kept) for a, b in known)
