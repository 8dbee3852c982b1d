"""`wordbias weat`: association tests between sets of words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import click

from wordbias.commands.inputs import Reading, Subject, open_subject
from wordbias.commands.options import (
    common_options,
    format_option,
    given_arguments,
    reading_options,
    seed_option,
    show,
)
from wordbias.commands.weat_views import associations_table
from wordbias.embedding import Embedding
from wordbias.measures.across_groups import measure_groups
from wordbias.measures.associations import MEASURES, check_measures, measure_queries
from wordbias.measures.holm import with_holm
from wordbias.measures.permutation import PARTITIONS
from wordbias.measures.weat import Settings
from wordbias.results import Report, Row
from wordbias.wordlists import Attribute, WordGroups, load_attribute
from wordbias.wordlists.queries import Pair, Query, choose_query, group_queries
from wordbias.wordlists.query_files import load_queries, load_two_sets

_CLOSING = (
    "The 95 % intervals draw the words of all sets again, the attribute words too, which p takes "
    "as given. "
)
_UNCORRECTED = "p is not corrected for the number of queries; --holm does."
_HOLM = "p Holm is corrected for the number of tests of an embedding, however they depend."


@click.command()
@click.argument("embeddings", nargs=-1, metavar="[EMBEDDING]...")
@click.option("--query", default="all", show_default=True, help="Name of one query, or all.")
@click.option("--queries", "queries_file", help="TOML or WEFE's JSON with sets of words.")
@click.option("--targets", help="Names of two sets of words, X,Y, for a query of your own.")
@click.option("--attributes", help="Names of two sets of words, A,B.")
@click.option(
    "--attribute",
    "attribute_file",
    metavar="NAME|FILE",
    help="Take every two groups of it as X,Y: age, religion, …, or a TOML file.",
)
@click.option(
    "--measures", default="weat", show_default=True, help=f"Some of {','.join(MEASURES)}."
)
@click.option(
    "--ddof",
    type=click.IntRange(0, 1),
    default=1,
    show_default=True,
    help="Of the standard deviation: 1 as Caliskan et al., 0 as WEFE.",
)
@click.option("--two-sided", is_flag=True, help="Two-sided p-value.")
@click.option("--holm", is_flag=True, help="Correct p for the number of tests as well.")
@click.option(
    "--samples",
    type=click.IntRange(1),
    default=PARTITIONS,
    show_default=True,
    help="Partitions to draw where there are too many to count.",
)
@reading_options
@seed_option
@format_option
@common_options
def command(
    embeddings: tuple[str, ...],
    query: str,
    queries_file: str | None,
    targets: str | None,
    attributes: str | None,
    attribute_file: str | None,
    measures: str,
    ddof: int,
    two_sided: bool,
    holm: bool,
    samples: int,
    skip_bad: bool,
    allow_pickle: bool,
    cache: bool,
    seed: int,
    to: str,
    quiet: bool,
) -> None:
    """Test which of two sets of words is nearer to which of two others.

    WEAT (Caliskan et al. 2017) with its ten queries or your own, and five measures that take the
    same words. Without EMBEDDING the sample that comes with wordbias is used.

    \b
    Examples:
      wordbias weat
      wordbias weat glove.txt debiased.txt --query weat7
      wordbias weat --targets male,female --attributes math,arts --measures weat,rnd,ect
      wordbias weat --attribute religion --attributes pleasant,unpleasant --two-sided --holm
      wordbias weat vectors.bin --queries mine.toml --two-sided --format json
    """
    chosen = _listed(measures)
    check_measures(chosen)
    across = _across(attribute_file, attributes, queries_file, targets or query != "all")
    queries = (
        across.queries()
        if across
        else choose_query(
            load_queries(queries_file, targets=_listed(targets), attributes=_listed(attributes)),
            query,
        )
    )
    reading = Reading(cache, skip_bad, allow_pickle)
    subjects = [
        _open(name, reading, queries, quiet) for name in dict.fromkeys(embeddings or (None,))
    ]
    settings = Settings(ddof, "two-sided" if two_sided else "greater", samples, seed)
    found = {
        name: across.rows(embedding, chosen, settings)
        if across
        else measure_queries(embedding, queries, chosen, settings)
        for name, embedding in _named(subjects).items()
    }
    if holm:
        found = {name: with_holm(rows) for name, rows in found.items()}
    report = Report(
        "weat",
        given_arguments(),
        {name: subject.info.to_dict() for name, subject in zip(found, subjects, strict=True)},
        [row for rows in found.values() for row in rows],
        [
            associations_table(name, rows, queries, settings, by_group=across is not None)
            for name, rows in found.items()
        ],
        heading=across.heading() if across else [],
        closing=[_CLOSING + (_HOLM if holm else _UNCORRECTED)],
        seed=seed,
    )
    show(report, to)


@dataclass(frozen=True)
class _Across:
    """Groups, and the two sets of words they are held against."""

    groups: Attribute | WordGroups
    sets: Pair

    def queries(self) -> tuple[Query, ...]:
        return group_queries(self.groups, self.sets)

    def rows(self, embedding: Embedding, measures: Sequence[str], settings: Settings) -> list[Row]:
        return measure_groups(embedding, self.groups, self.sets, measures, settings)

    def heading(self) -> list[str]:
        groups, (a, b) = self.groups, (name for name, _ in self.sets)
        return [f"Attribute {groups.name}: {', '.join(groups.groups)}; A = {a}, B = {b}."]


def _across(
    attribute: str | None, sets: str | None, queries_file: str | None, query: str | bool | None
) -> _Across | None:
    if attribute is None:
        return None
    if query:
        raise click.UsageError("--attribute gives the targets: take no --targets and no --query")
    if not sets:
        raise click.UsageError("--attribute needs --attributes A,B, such as pleasant,unpleasant")
    return _Across(load_attribute(attribute), load_two_sets(_listed(sets), queries_file))


def _listed(names: str | None) -> list[str]:
    """Split a list at its commas."""
    return list(dict.fromkeys(name.strip() for name in (names or "").split(",") if name.strip()))


def _open(name: str | None, reading: Reading, queries: Sequence[Query], quiet: bool) -> Subject:
    wanted = set().union(*(query.candidates() for query in queries))
    return open_subject(name, reading, head=0, wanted=wanted, output=None, quiet=quiet)


def _named(subjects: Sequence[Subject]) -> dict[str, Embedding]:
    """Name each embedding as results do, by its path where two have one name."""
    names = [subject.embedding.name for subject in subjects]
    found = {}
    for subject in subjects:
        e = subject.embedding
        name = e.name if names.count(e.name) == 1 else str(subject.info.path)
        found[name] = Embedding(e.words, e.vectors, name, e.info)
    return found
