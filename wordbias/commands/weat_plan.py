"""What `wordbias weat` was asked for: which queries, of words or of groups, and how tested."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import click

from wordbias.embedding import Embedding
from wordbias.functions.inputs import Reading, Subject, open_subject
from wordbias.measures.across_groups import measure_groups
from wordbias.measures.associations import check_measures, measure_queries
from wordbias.measures.holm import with_holm
from wordbias.measures.permutation import Alternative
from wordbias.measures.weat import Settings
from wordbias.results import Row
from wordbias.wordlists import Attribute, WordGroups, load_attribute
from wordbias.wordlists.queries import Pair, Query, choose_query, group_queries
from wordbias.wordlists.query_files import load_queries, load_two_sets


@dataclass(frozen=True)
class Queries:
    """What is tested.

    Attributes
    ----------
    queries
        One after the other.
    across
        The groups that they take two by two, and the two sets of words these are held against;
        None is queries of their own.
    """

    queries: tuple[Query, ...]
    across: tuple[Attribute | WordGroups, Pair] | None = None

    def rows(self, embedding: Embedding, measures: Sequence[str], settings: Settings) -> list[Row]:
        """Take the measures of an embedding."""
        if self.across is None:
            return measure_queries(embedding, self.queries, measures, settings)
        return measure_groups(embedding, *self.across, measures, settings)

    def heading(self) -> list[str]:
        """Say which groups are compared, if they are."""
        if self.across is None:
            return []
        groups, ((a, _), (b, _)) = self.across
        return [f"Attribute {groups.name}: {', '.join(groups.groups)}; A = {a}, B = {b}."]


@dataclass(frozen=True)
class Asked:
    """What was asked for."""

    embeddings: tuple[str, ...]
    query: str
    queries_file: str | None
    targets: str | None
    attributes: str | None
    attribute_file: str | None
    measures: str
    ddof: int
    two_sided: bool
    holm: bool
    samples: int
    skip_bad: bool
    allow_pickle: bool
    cache: bool
    seed: int

    def check(self) -> None:
        """Refuse measures that are not known, and options that say two things."""
        check_measures(_listed(self.measures))
        if self.attribute_file is None:
            return
        if self.targets or self.query != "all":
            raise click.UsageError(
                "--attribute gives the targets: take no --targets and no --query"
            )
        if not self.attributes:
            raise click.UsageError(
                "--attribute needs --attributes A,B, such as pleasant,unpleasant"
            )

    @property
    def settings(self) -> Settings:
        """How the tests are made."""
        alternative: Alternative = "two-sided" if self.two_sided else "greater"
        return Settings(self.ddof, alternative, self.samples, self.seed)

    def queries(self) -> Queries:
        """Read the queries, or make them of groups."""
        attributes = _listed(self.attributes)
        if self.attribute_file is not None:
            groups = load_attribute(self.attribute_file)
            sets = load_two_sets(attributes, self.queries_file)
            return Queries(group_queries(groups, sets), (groups, sets))
        known = load_queries(
            self.queries_file, targets=_listed(self.targets), attributes=attributes
        )
        return Queries(choose_query(known, self.query))

    def opened(self, queries: Queries, quiet: bool) -> dict[str, Subject]:
        """Open the embeddings, by the names that results give them."""
        wanted = set().union(*(query.candidates() for query in queries.queries))
        reading = Reading(self.cache, self.skip_bad, self.allow_pickle)
        return _named(
            [
                open_subject(name, reading, head=0, wanted=wanted, output=None, quiet=quiet)
                for name in dict.fromkeys(self.embeddings or (None,))
            ]
        )

    def rows(self, name: str, subject: Subject, queries: Queries) -> list[Row]:
        """Test one embedding."""
        e = subject.embedding
        embedding = Embedding(e.words, e.vectors, name, e.info)
        rows = queries.rows(embedding, _listed(self.measures), self.settings)
        return with_holm(rows) if self.holm else rows


def _listed(names: str | None) -> list[str]:
    """Split a list at its commas."""
    return list(dict.fromkeys(name.strip() for name in (names or "").split(",") if name.strip()))


def _named(subjects: Sequence[Subject]) -> dict[str, Subject]:
    """Name each embedding as results do, by its path where two have one name."""
    names = [subject.embedding.name for subject in subjects]
    return {
        name if names.count(name) == 1 else str(subject.info.path): subject
        for name, subject in zip(names, subjects, strict=True)
    }
