"""Projections of an audit: of the vectors that are read from a model, or inside it.

Projections of vectors change that of a text where a head, or the modules behind the pooling, read
it; in a decoder that of every token, because each predicts the next one. `misp-pairs` and
`mhd-pairs` are fitted to differences of paired sentences, the others to labelled ones by
`wordbias.methods.rows`. Concept-scrubbing is LEACE behind every layer of a decoder, each fitted on
what those before it left. Controls are random directions with the weights of `misp`, and `misp`
fitted to sentences that are drawn again, a pair or all of a name together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from wordbias.contextual.audit.texts import Float32, Reader, Reads, TextVectors
from wordbias.contextual.fitting import Recipe, fit_adapter
from wordbias.contextual.scrubbing import scrub
from wordbias.draws import LISTS, NULL, control_of
from wordbias.errors import UsageError, WordbiasError
from wordbias.methods.leace import Erasure
from wordbias.methods.methods import arguments_of
from wordbias.methods.null import random_step
from wordbias.methods.pairs import PAIR_METHODS, PAIR_SETTINGS, fit_pairs
from wordbias.methods.rows import fit_rows
from wordbias.methods.settings import ROW_METHODS, ROW_SETTINGS
from wordbias.methods.transform import Projection, Step
from wordbias.models.adapters import Adapter, names_sites, sites_of
from wordbias.models.hooks import Intervention, applied
from wordbias.models.representations import Representations
from wordbias.models.sentence_pairs import sentence_pairs
from wordbias.models.settings import Settings
from wordbias.models.sites import Site, first_layer, sites
from wordbias.settings import Configured, Known, Takes, only_method

METHODS: Mapping[str, tuple[str, ...]] = {
    "encoder": ("misp", "hard", "leace"),
    "decoder": ("hard", "leace", "concept-scrubbing"),
}
"""Methods of an audit by default, by kind of model."""
KNOWN: Known = {**ROW_METHODS, **PAIR_METHODS}
"""Methods of the vectors that are read: fitted to labels of the sentences, or to pairs of them."""
TAKES: Takes = {**ROW_SETTINGS, **PAIR_SETTINGS}
SCRUB = "concept-scrubbing"
Vectors = NDArray[np.float64]
Integers = NDArray[np.intp]


def read_method(text: str, layers: int | None = None) -> Configured:
    """Read a method with its settings, or a setting of `wordbias project`, which has none."""
    if text.partition(":")[0].strip().lower() in KNOWN:
        return only_method(text, KNOWN, TAKES)
    return Configured(SCRUB if text.strip().lower() == SCRUB else _inside(text, layers))


def read_of_output(text: str, name: str) -> Configured:
    """Read a method that maps the vectors of texts; refuse one that acts inside a model."""
    method = read_method(text)
    if method.name not in KNOWN:
        raise WordbiasError(
            f"--methods: {method.text}: acts inside a model, and {name} gives vectors of texts "
            f"alone; choose some of {', '.join(KNOWN)}, or give the model itself"
        )
    return method


def fitted_to_pairs(methods: Sequence[Configured]) -> list[str]:
    """Return a note on the methods that are fitted to pairs of sentences."""
    named = [method.text for method in methods if not of_labels(method)]
    if not named:
        return []
    return [f"fitted to pairs of sentences, a female and a male version: {', '.join(named)}"]


def of_labels(method: Configured) -> bool:
    """Return whether a method is fitted to labels of the sentences, not to pairs of them."""
    return method.name in (*ROW_METHODS, SCRUB)


def _inside(text: str, layers: int | None) -> str:
    """Return a setting of `wordbias project` in its usual spelling; refuse anything else."""
    text = text.strip()
    try:
        if names_sites(text):
            places = sites(text, layers)
            ranged = "@all" in text or ".." in text
            return "".join(text.split()) if ranged else ",".join(map(str, places))
        return Settings.parse(text).name
    except WordbiasError as error:
        if names_sites(text) and layers is not None:
            raise UsageError(f"--methods: {text}: {error}") from None
        raise UsageError(
            f"--methods: {text!r}: expected {', '.join(KNOWN)}, with settings such as misp:dims=2, "
            f"{SCRUB} of decoders, or a setting of wordbias project such as L11-01110 or tokens@3"
        ) from None


@dataclass(frozen=True, eq=False)
class Unprojected:
    """Vectors of the model as it was given, which projections change."""

    places: Mapping[str, int] = field(repr=False)  # place of each text among the vectors
    # pooled vectors of all texts at the last layer, before the modules, shape `(n, d)`
    pooled: Float32 = field(repr=False)
    # vectors of the words of the queries at the layers, before the modules
    words: Representations | None = None


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted projection."""

    method: Configured
    step: Step | None = None  # map of the vectors that are read; None for one inside the model
    inside: tuple[Intervention, ...] = ()  # removals inside the model
    adapter: Adapter | None = None  # the adapter that they are of
    warnings: tuple[str, ...] = ()

    def vectors(self, reader: Reads, before: Unprojected) -> TextVectors:
        """Return the vectors of all texts after the projection."""
        last, words = reader.last, before.words
        if self.step is not None:
            changed = reader.finished(self.step(before.pooled))
            if words is not None and reader.words_follow:
                vectors = reader.finished(self.step(words.layer(last)))[None]
                words = replace(words, vectors=vectors, layers=(last,))
            else:
                words = None
            return TextVectors(before.places, {last: changed}, words)
        assert isinstance(reader, Reader)
        first = first_layer([it.site for it in self.inside], last)
        layers = [n for n in reader.layers if n >= first]
        with applied(reader.encoder.model, self.inside):
            pooled = reader.pooled(list(before.places), layers, None)
            words = _words(reader) if words is not None else None
        by_layer = dict(zip(layers, pooled, strict=True))
        by_layer[last] = reader.finished(by_layer[last])
        return TextVectors(before.places, by_layer, reader.finished_words(words))

    def at(self, site: Site) -> tuple[Intervention, ...]:
        """Return the same removals in a model with a head, which reads a site."""
        if isinstance(self.step, Projection):
            return (Intervention(site, self.step.subspace, self.step.hard),)
        if isinstance(self.step, Erasure):
            return (Intervention(site, self.step),)
        if self.step is not None:
            raise WordbiasError(f"{self.method.text} cannot be applied inside a model")
        return self.inside


def _words(reader: Reader) -> Representations | None:
    """Return the vectors of words with removals applied; None if these change none of them."""
    try:
        return reader.words([reader.last])
    except WordbiasError:
        return None


def fit(
    method: Configured,
    reader: Reads,
    groups: Sequence[Vectors],
    seed: int,
    units: Sequence[Integers] | None = None,
) -> Fitted:
    """Fit a projection to the vectors (n, d) of the sentences of each group."""
    # `units` number what is drawn again together; by default the versions of a pair.
    if (control := control_of(method.name)) is not None:
        return _fit_control(method, *control, groups, seed, units)
    if method.name in PAIR_METHODS:
        first, second = groups
        return Fitted(method, fit_pairs(method.name, first, second, method.settings))
    if method.name in ROW_METHODS:
        given = arguments_of(method, seed=seed)
        fitted = fit_rows(method.name, *_labelled(groups), given, inside=True)
        if not fitted.steps:
            raise WordbiasError("no classifier tells the groups of the sentences apart")
        return Fitted(method, fitted.steps[0], warnings=fitted.warnings)
    assert isinstance(reader, Reader)
    model, tokenizer = reader.encoder.model, reader.encoder.tokenizer
    if method.name == SCRUB:
        sentences = reader.texts.fit
        labels = [sentence.group for sentence in sentences]
        adapter = scrub(model, tokenizer, [sentence.text for sentence in sentences], labels)
        return Fitted(method, None, tuple(adapter.interventions()), adapter)
    wanted = sites_of(method.name, reader.last)
    adapter = fit_adapter(model, tokenizer, sentence_pairs(), Recipe(seed=seed), wanted=wanted)
    adapter = adapter.setting(
        ",".join(map(str, wanted)) if names_sites(method.name) else method.name
    )
    return Fitted(method, None, tuple(adapter.interventions()), adapter)


def _labelled(groups: Sequence[Vectors]) -> tuple[Vectors, Integers]:
    """Return the vectors of all groups, and the number of the group of each."""
    return np.concatenate(groups), np.repeat(np.arange(len(groups)), [len(x) for x in groups])


def _fit_control(
    method: Configured,
    kind: str,
    draw: int,
    groups: Sequence[Vectors],
    seed: int,
    units: Sequence[Integers] | None,
) -> Fitted:
    """Draw random directions with the weights of MISP, or fit MISP to sentences drawn again."""
    rng = np.random.default_rng([seed, draw, *kind.encode()])
    if kind == LISTS:
        drawn = _redrawn([np.arange(len(x)) for x in groups] if units is None else units, rng)
        groups = [x[rows] for x, rows in zip(groups, drawn, strict=True)]
    (step,) = fit_rows("misp", *_labelled(groups), {}, inside=True).steps
    assert isinstance(step, Projection)
    return Fitted(method, random_step(step, rng) if kind == NULL else step)


def _redrawn(units: Sequence[Integers], rng: np.random.Generator) -> list[Integers]:
    """Return rows of each group: units that the same groups have are drawn with replacement."""
    groups_of: dict[int, tuple[int, ...]] = {
        unit: tuple(i for i, group_units in enumerate(units) if unit in group_units)
        for unit in np.unique(np.concatenate(units)).tolist()
    }
    drawn: list[int] = []
    for groups in dict.fromkeys(groups_of.values()):
        of = [unit for unit in groups_of if groups_of[unit] == groups]
        drawn += [of[i] for i in rng.integers(len(of), size=len(of))]
    return [
        np.concatenate([np.flatnonzero(group_units == unit) for unit in drawn]).astype(np.intp)
        for group_units in units
    ]
