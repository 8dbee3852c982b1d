"""A decoder evaluated on data sets, on pairs of one's own and on a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from wordbias.models.causal_model import CausalModel
from wordbias.models.perplexity import perplexity_rows
from wordbias.models.sentence_pairs import SentencePair
from wordbias.results import Row
from wordbias.statistics import paired_interval
from wordbias.stereotypes.entry import Found
from wordbias.stereotypes.pairs import OWN
from wordbias.stereotypes.scores import Settings
from wordbias.stereotypes.text_sets import TextSet, facts, likelihood_of
from wordbias.text_files import Source


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

    sets: Sequence[TextSet]
    pairs: Sequence[SentencePair] | None
    text: Source | None
    settings: Settings
    length: int

    def measure(self, model: CausalModel) -> Found:
        """Measure a decoder on everything."""
        name, settings = model.name, self.settings
        parts = [likelihood_of(one).score(model, one, name, settings) for one in self.sets]
        if self.pairs is not None:
            parts.append(OWN.score(model, self.pairs, name, settings))
        if self.text is not None:
            given = {"length": self.length, "seed": settings.seed}
            parts.append(Found(perplexity_rows(model, self.text.text, name, **given)))
        return Found.joined(parts)

    def described(self) -> str:
        """Name the data for people."""
        names = [str(facts(one)["data"]) for one in self.sets]
        own = [OWN.title] * (self.pairs is not None)
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
