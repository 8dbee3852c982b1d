"""A model evaluated on a test of stereotypes by the heads that it has, and changes of values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from wordbias.errors import WordbiasError
from wordbias.models.hooks import Intervention, applied
from wordbias.models.model_like import ModelLike, evaluating, name_of
from wordbias.stereotypes.entry import Found
from wordbias.stereotypes.next_sentence import NextSentence
from wordbias.stereotypes.scores import Settings
from wordbias.stereotypes.text_sets import TextSet, entry_of, heads_for


@dataclass(frozen=True, eq=False)
class Scorer:
    """A model with the heads that score a data set."""

    name: str
    # the heads by their class, without those that the model lacks
    heads: Mapping[type, Any] = field(repr=False)
    missing: tuple[str, ...] = ()  # reasons why heads that the data need are missing

    @property
    def head(self) -> Any:
        """Return the first of the heads."""
        return next(iter(self.heads.values()))

    @classmethod
    def load(
        cls,
        source: ModelLike,
        data: TextSet,
        *,
        next_label: str | None = None,
        device: str | None = None,
    ) -> Scorer:
        """Load the heads that the data need: next-sentence, masked-language, or both."""
        name = name_of(source)
        heads: dict[type, Any] = {}
        missing: list[WordbiasError] = []
        for head in heads_for(data, causal=False):
            label = {"next_label": next_label} if head is NextSentence else {}
            try:
                heads[head] = head.load(source, device=device, **label)
            except WordbiasError as error:
                missing.append(error)
        if not heads:
            if len({str(reason) for reason in missing}) == 1:
                raise missing[0]
            reasons = "; ".join(str(reason).removeprefix(f"{name}: ") for reason in missing)
            raise WordbiasError(f"{name}: has no head that the data asks for: {reasons}")
        entry_of(data).check(data, list(heads))
        return cls(name, heads, tuple(map(str, missing)))

    def with_sites(self, interventions: Sequence[Intervention]) -> Scorer:
        """Return the scorer without the heads that lack a site, such as a sentence's vector."""
        heads: dict[type, Any] = {}
        missing: list[str] = []
        for kind, head in self.heads.items():
            try:
                for intervention in interventions:
                    intervention.within(head.model)
                heads[kind] = head
            except WordbiasError as error:
                missing.append(f"the {type(head.model).__name__} is left out: {error}")
        if not heads:
            raise WordbiasError(f"{self.name}: {'; '.join(missing)}")
        return Scorer(self.name, heads, tuple(missing))

    @contextmanager
    def applied(self, interventions: Sequence[Intervention]) -> Iterator[None]:
        """Apply interventions to every head, without dropout, for a block."""
        with ExitStack() as stack:
            for head in self.heads.values():
                stack.enter_context(evaluating(head.model))
                stack.enter_context(applied(head.model, interventions))
            yield

    def measure(self, data: TextSet, subject: str, settings: Settings) -> Found:
        """Measure which sentences the model prefers, by each of its heads."""
        scores = entry_of(data).scores
        return Found.joined(
            [scores[kind](head, data, subject, settings) for kind, head in self.heads.items()]
        ).of_items(data, settings.seed)
