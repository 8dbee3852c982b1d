"""A model evaluated on StereoSet, enhanced StereoSet or CrowS-Pairs: its scores and measures."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from wordbias.errors import WordbiasError
from wordbias.models.hooks import Intervention, applied
from wordbias.models.model_like import ModelLike, evaluating, name_of
from wordbias.results import Row
from wordbias.stereotypes.crows_pairs import CrowsPairs, crows_rows
from wordbias.stereotypes.gsss import LABELS, Gsss, Repaired, Sentences
from wordbias.stereotypes.masked_model import MaskedModel, blank_scores, pair_scores
from wordbias.stereotypes.next_sentence import NextSentence
from wordbias.stereotypes.scores import (
    Float,
    Settings,
    distances,
    gsss_rows,
    stereoset_rows,
    strengths,
)
from wordbias.stereotypes.stereoset import KINDS, Cluster, StereoSet

Record = dict[str, Any]
Data = Gsss | StereoSet | CrowsPairs


_HEADS = {"intersentence": "next_sentence", "intrasentence": "masked"}
"""The head that scores each part of StereoSet."""


class Found(NamedTuple):
    """Measures of a model, and one record a triple, cluster or pair."""

    rows: list[Row]
    records: list[Record]

    def add(
        self,
        clusters: Sequence[Cluster],
        scores: Float,
        subject: str,
        task: str,
        settings: Settings,
    ) -> None:
        """Measure the clusters of a task."""
        self.rows.extend(stereoset_rows(clusters, scores, subject, task, settings))
        self.records.extend(cluster_records(clusters, scores, task))


@dataclass(frozen=True, eq=False)
class Scorer:
    """A model with the heads that score a data file.

    Attributes
    ----------
    name
        Name of the model.
    next_sentence, masked
        The heads; None if the data do not need it, or the model lacks it.
    missing
        Reasons why heads that the data need are missing.
    """

    name: str
    next_sentence: NextSentence | None = field(default=None, repr=False)
    masked: MaskedModel | None = field(default=None, repr=False)
    missing: tuple[str, ...] = ()

    @classmethod
    def load(
        cls,
        source: ModelLike,
        data: Data,
        *,
        next_label: str | None = None,
        device: str | None = None,
    ) -> Scorer:
        """Load the heads that the data need: next-sentence, masked-language, or both.

        Raises
        ------
        WordbiasError
            If the model has none of them, or a part that they score cannot be used.
        """
        name = name_of(source)
        if isinstance(data, StereoSet):
            needed = [_HEADS[kind] for kind in KINDS if data.items[kind]]
        else:
            needed = ["next_sentence" if isinstance(data, Gsss) else "masked"]
        heads: dict[str, Any] = {}
        missing: list[WordbiasError] = []
        for head in needed:
            try:
                if head == "next_sentence":
                    heads[head] = NextSentence.load(source, next_label=next_label, device=device)
                else:
                    heads[head] = MaskedModel.load(source, device=device)
            except WordbiasError as error:
                missing.append(error)
        if not heads:
            if len({str(one) for one in missing}) == 1:
                raise missing[0]
            reasons = "; ".join(str(one).removeprefix(f"{name}: ") for one in missing)
            raise WordbiasError(f"{name}: has no head that the data asks for: {reasons}")
        if isinstance(data, StereoSet):
            _check_items(data, heads)
        return cls(name, **heads, missing=tuple(map(str, missing)))

    def with_sites(self, interventions: Sequence[Intervention]) -> Scorer:
        """Return the scorer without the heads that lack a site, such as a sentence's vector.

        Raises
        ------
        WordbiasError
            If that leaves none.
        """
        kept: dict[str, Any] = {"next_sentence": self.next_sentence, "masked": self.masked}
        missing: list[str] = []
        for name, head in kept.items():
            try:
                for one in interventions if head is not None else ():
                    one.within(head.model)
            except WordbiasError as error:
                kept[name] = None
                missing.append(f"the {type(head.model).__name__} is left out: {error}")
        if not any(kept.values()):
            raise WordbiasError(f"{self.name}: {'; '.join(missing)}")
        return Scorer(self.name, **kept, missing=tuple(missing))

    @contextmanager
    def applied(self, interventions: Sequence[Intervention]) -> Iterator[None]:
        """Apply interventions to every head, without dropout, for a block."""
        with ExitStack() as stack:
            for head in (self.next_sentence, self.masked):
                if head is not None:
                    stack.enter_context(evaluating(head.model))
                    stack.enter_context(applied(head.model, interventions))
            yield

    def measure(
        self, data: Data, subject: str, settings: Settings, repaired: Repaired | None = None
    ) -> Found:
        """Measure which sentences the model prefers.

        Parameters
        ----------
        data
            The data for which the heads were loaded.
        subject
            Name of the model in the rows.
        repaired
            Enhanced StereoSet with repaired swaps, reported beside the original.
        """
        if isinstance(data, Gsss):
            versions = {"original": data} | ({"repaired": repaired.gsss} if repaired else {})
            found = self._gsss(versions, subject, settings)
            if repaired is not None:
                name_rules(found.records, repaired)
            return found
        if isinstance(data, StereoSet):
            return self._stereoset(data, subject, settings)
        return self._crows(data, subject, settings)

    def _gsss(self, versions: dict[str, Gsss], subject: str, settings: Settings) -> Found:
        if self.next_sentence is None:
            raise WordbiasError(f"{self.name}: was loaded without a next-sentence head")
        pairs = [pair for g in versions.values() for triple in g.triples for pair in triple.pairs()]
        p = self.next_sentence.probabilities(pairs).reshape(len(versions), -1, len(LABELS), 2)
        found = Found([], [])
        for (version, gsss), values in zip(versions.items(), p, strict=True):
            found.rows.extend(gsss_rows(gsss, values, subject, version, settings))
            found.records.extend(triple_records(gsss, values, version))
        return found

    def _stereoset(self, data: StereoSet, subject: str, settings: Settings) -> Found:
        found = Found([], [])
        if self.next_sentence is not None and data.intersentence:
            clusters = data.intersentence
            pairs = [Sentences(one.context, text) for one in clusters for text in one.candidates]
            scores = self.next_sentence.probabilities(pairs).reshape(-1, len(LABELS))
            found.add(clusters, scores, subject, "intersentence", settings)
        if self.masked is not None and data.intrasentence:
            published = settings.as_published
            scores = blank_scores(self.masked, data.intrasentence, as_published=published)
            found.add(data.intrasentence, scores, subject, "intrasentence", settings)
        return found

    def _crows(self, data: CrowsPairs, subject: str, settings: Settings) -> Found:
        if self.masked is None:
            raise WordbiasError(f"{self.name}: was loaded without a masked-language head")
        scores = pair_scores(self.masked, data.pairs)
        return Found(crows_rows(data, scores, subject, settings), pair_records(data, scores))


def _check_items(data: StereoSet, heads: Collection[str]) -> None:
    """Read the parts that the heads score; refuse data without an item to score."""
    scored = [getattr(data, kind) for kind in KINDS if _HEADS[kind] in heads]
    if not any(scored):
        raise WordbiasError(
            f"{data.path}: holds no item to score: all that the model could score have more than "
            f"one blank ({', '.join(data.several_blanks)}); --as-published takes them"
        )


# Records: the scores of each triple, cluster or pair


def triple_records(gsss: Gsss, p: Float, version: str) -> list[Record]:
    """Return one record a triple: its six probabilities, s and d."""
    names = [f"{label} {side}" for label in LABELS for side in ("original", "swapped")]
    return [
        {
            "version": version,
            "context_id": triple.id,
            "gender": triple.gender,
            "context": triple.items[0].original.context,
            **dict(zip(names, map(float, values.ravel()), strict=True)),
            "s": float(s),
            "d": float(d),
        }
        for triple, values, s, d in zip(gsss.triples, p, strengths(p), distances(p), strict=True)
    ]


def name_rules(records: Sequence[Record], repaired: Repaired) -> None:
    """Add to the records of triples the rules that repaired them."""
    rules: dict[str, list[str]] = {}
    for change in repaired.changes:
        rules.setdefault(change.id, []).append(change.rule)
    for one in records:
        done = rules.get(one["context_id"], []) if one["version"] == "repaired" else []
        one["repaired by"] = ", ".join(dict.fromkeys(done))


def cluster_records(clusters: Sequence[Cluster], scores: Float, task: str) -> list[Record]:
    """Return one record a cluster: its three scores."""
    return [
        {
            "task": task,
            "id": one.id,
            "target": one.target,
            "bias_type": one.bias_type,
            "context": one.context,
            **dict(zip(LABELS, map(float, values), strict=True)),
        }
        for one, values in zip(clusters, scores, strict=True)
    ]


def pair_records(data: CrowsPairs, scores: Float) -> list[Record]:
    """Return one record a pair: its two scores."""
    return [
        {**vars(pair), "score more": float(more), "score less": float(less)}
        for pair, (more, less) in zip(data.pairs, scores, strict=True)
    ]
