"""A decoder evaluated on data sets, on pairs of one's own and on a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from wordbias.models.causal_model import CausalModel
from wordbias.models.perplexity import perplexity_rows
from wordbias.models.sentence_pairs import SentencePair
from wordbias.rendering import how_many
from wordbias.results import Row
from wordbias.statistics import paired_interval
from wordbias.stereotypes import bbq, pairs, winogender
from wordbias.stereotypes import stereoset_likelihood as sentences
from wordbias.stereotypes import winobias_likelihood as winobias
from wordbias.stereotypes.crows_pairs import CrowsPairs
from wordbias.stereotypes.pairs import Record
from wordbias.stereotypes.scores import Settings
from wordbias.stereotypes.stereoset import StereoSet
from wordbias.stereotypes.text_sets import DecoderSet, WinoBias, facts
from wordbias.stereotypes.winobias import Sentence
from wordbias.stereotypes.winogender import Winogender
from wordbias.text_files import Source


@dataclass
class Found:
    """Measures of a model, and one record an item.

    Attributes
    ----------
    cut
        Number of contexts that were cut because the model cannot read them whole.
    notes
        Notes on the data.
    """

    rows: list[Row] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    cut: int = 0
    notes: list[str] = field(default_factory=list)


def evaluate(model: CausalModel, data: DecoderSet, settings: Settings) -> Found:
    """Score the items of a data set and measure them."""
    name, seed, published = model.name, settings.seed, settings.as_published
    if isinstance(data, CrowsPairs):
        found = pairs.score_pairs(model, [(one.more, one.less) for one in data.pairs])
        rows = pairs.crows_rows(data, found, name, as_published=published, seed=seed)
        return Found(rows, pairs.crows_records(data, found))
    if isinstance(data, StereoSet):
        clusters = data.whole_sentences
        found = sentences.score_clusters(model, clusters, as_published=published)
        rows = sentences.likelihood_rows(clusters, found, name, settings)
        return Found(rows, sentences.cluster_records(clusters, found))
    if isinstance(data, Winogender):
        found = winogender.score_winogender(model, data)
        rows = winogender.winogender_rows(data, found, name, seed=seed)
        notes = []
        if not data.shares:
            notes.append(
                f"{data.path}: without occupations-stats.tsv beside it there are neither gotcha "
                "sentences nor a correlation with the share of women"
            )
        return Found(rows, winogender.winogender_records(data, found), found.cut, notes)
    if isinstance(data, WinoBias):
        return _winobias(model, data.sentences, settings)
    scored = bbq.score_bbq(model, data, as_published=published)
    rows = bbq.bbq_rows(data, scored, name, seed=seed)
    return Found(rows, bbq.bbq_records(data, scored), scored.own.cut)


def _winobias(model: CausalModel, read: Sequence[Sentence], settings: Settings) -> Found:
    asked = winobias.score_winobias_questions(model, read)
    chosen = winobias.pronoun_pairs(read)
    rows = winobias.winobias_question_rows(read, asked, model.name, seed=settings.seed)
    records = winobias.question_records(read, asked)
    if chosen:
        compared = winobias.score_winobias_pairs(model, chosen)
        rows += winobias.winobias_pair_rows(
            chosen,
            compared,
            model.name,
            as_published=settings.as_published,
            seed=settings.seed,
        )
        records += winobias.winobias_pair_records(chosen, compared)
    notes = []
    if left := len(read) // 2 - len(chosen):
        notes.append(
            f"{how_many(left, 'pair')} of WinoBias differ in more than the gender of pronouns, and "
            "are left out where sentences are compared"
        )
    return Found(rows, records, asked.cut, notes)


def evaluate_pairs(model: CausalModel, given: Sequence[SentencePair], settings: Settings) -> Found:
    """Score pairs of one's own and measure them."""
    found = pairs.score_pairs(model, given)
    rows = pairs.pair_rows(
        found, model.name, as_published=settings.as_published, seed=settings.seed
    )
    return Found(rows, pairs.pair_records(given, found))


@dataclass(frozen=True, eq=False)
class Items:
    """What a decoder is measured on, the same before and after a removal.

    Attributes
    ----------
    sets
        Data sets.
    pairs
        Pairs of one's own.
    text
        Text of which the perplexity is measured, in windows of at most `length` tokens.
    """

    sets: Sequence[DecoderSet]
    pairs: Sequence[SentencePair] | None
    text: Source | None
    settings: Settings
    length: int

    def measure(self, model: CausalModel) -> Found:
        """Measure a decoder on everything."""
        parts = [evaluate(model, one, self.settings) for one in self.sets]
        if self.pairs is not None:
            parts.append(evaluate_pairs(model, self.pairs, self.settings))
        rows = [row for part in parts for row in part.rows]
        if self.text is not None:
            given = {"length": self.length, "seed": self.settings.seed}
            rows += perplexity_rows(model, self.text.text, model.name, **given)
        return Found(
            rows,
            [record for part in parts for record in part.records],
            sum(part.cut for part in parts),
            [note for part in parts for note in part.notes],
        )

    def described(self) -> str:
        """Name the data for people."""
        names = [str(facts(one)["data"]) for one in self.sets]
        own = ["pairs of your own"] * (self.pairs is not None)
        return ", ".join([*names, *own, *["a text"] * (self.text is not None)])

    def about(self, pairs: str) -> dict[str, dict[str, object]]:
        """Return the data as inputs of a report, the pairs by their name."""
        found = {f"data {i}": dict(facts(one)) for i, one in enumerate(self.sets, 1)}
        if self.pairs is not None:
            found["pairs"] = {"path": pairs, "pairs": len(self.pairs)}
        if self.text is not None:
            found["perplexity"] = {"path": self.text.path, "sha256": self.text.sha256}
        return found


def with_changes(before: Sequence[Row], after: Sequence[Row], stage: str, seed: int) -> list[Row]:
    """Return the rows after a removal, each with its change from the same row before.

    The interval of a change is a paired bootstrap: each of its draws has the same items before and
    after. A row has none if its measure has none.

    Parameters
    ----------
    stage
        Name of what was removed.
    """
    found = []
    for was, now in zip(before, after, strict=True):
        about: dict[str, object] = {**now.details, "stage": stage, "seed": seed}
        if was.value is not None and now.value is not None:
            about["change"] = now.value - was.value
            ends = paired_interval(was.samples, now.samples)
            if ends is not None:
                about |= {"change_low": ends.low, "change_high": ends.high}
        found.append(replace(now, details=about))
    return found
