"""Embeddings side by side, with the one before debiasing, as measure and compare open them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from wordbias.functions.inputs import Reading, Subject, open_subject
from wordbias.measures.panel import Panel, make_panels
from wordbias.wordlists import Attribute


@dataclass(frozen=True)
class Subjects:
    """What is measured, and what it is compared with, if that is something else."""

    subjects: Sequence[Subject]
    original: Subject | None = None

    @classmethod
    def open(
        cls, names: Iterable[str | None], original: str | None, reading: Reading, *, quiet: bool
    ) -> Subjects:
        """Open them whole; None is the sample."""

        def opened(name: str | None) -> Subject:
            return open_subject(name, reading, head=0, wanted=(), output=None, quiet=quiet)

        subjects = [opened(name) for name in names]
        return cls(subjects, None if original is None else opened(original))

    def panels(
        self, attribute: Attribute, given: Sequence[str] | None = None, **settings: Any
    ) -> list[Panel]:
        """Make them ready to be measured; see `make_panels`."""
        embeddings = [subject.embedding for subject in self.subjects]
        before = None if self.original is None else self.original.embedding
        return make_panels(embeddings, before, attribute, given, **settings)

    def about(self) -> dict[str, dict[str, Any]]:
        """Return what the report says of them."""
        about = {subject.embedding.name: subject.info.to_dict() for subject in self.subjects}
        if self.original is not None:
            about[f"original: {self.original.embedding.name}"] = self.original.info.to_dict()
        return about
