"""`wordbias weat`: association tests between sets of words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
from wordbias.embedding import Embedding
from wordbias.measures.associations import MEASURES, check_measures, measure_queries
from wordbias.measures.permutation import PARTITIONS
from wordbias.measures.weat import Settings
from wordbias.rendering import Table
from wordbias.results import Report, Row, number
from wordbias.wordlists.queries import Query, choose_query
from wordbias.wordlists.query_files import load_queries

_MEANING = {
    "weat": "weat: effect size d of X over Y, nearness to A against B; neutral 0",
    "rnd": "rnd: distance to X less distance to Y; neutral 0",
    "rnsb": "rnsb: KL divergence of being like B from uniform; neutral 0, lower is better",
    "mac": "mac: mean cosine distance to A and B; neutral 1",
    "ect": "ect: do X and Y rank the words alike; neutral 1, higher is better",
    "ripa": "ripa: inner product with X − Y; neutral 0",
}
_CLOSING = (
    "The 95 % intervals draw the words of all sets again, the attribute words too, which p takes "
    "as given. p is not corrected for the number of queries."
)


@click.command()
@click.argument("embeddings", nargs=-1, metavar="[EMBEDDING]...")
@click.option("--query", default="all", show_default=True, help="Name of one query, or all.")
@click.option("--queries", "queries_file", help="TOML or WEFE's JSON with sets of words.")
@click.option("--targets", help="Names of two sets of words, X,Y, for a query of your own.")
@click.option("--attributes", help="Names of two sets of words, A,B.")
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
    measures: str,
    ddof: int,
    two_sided: bool,
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
      wordbias weat vectors.bin --queries mine.toml --two-sided --format json
    """
    chosen = _listed(measures)
    check_measures(chosen)
    queries = choose_query(
        load_queries(queries_file, targets=_listed(targets), attributes=_listed(attributes)), query
    )
    reading = Reading(cache, skip_bad, allow_pickle)
    subjects = [
        _open(name, reading, queries, quiet) for name in dict.fromkeys(embeddings or (None,))
    ]
    settings = Settings(ddof, "two-sided" if two_sided else "greater", samples, seed)
    found = {
        name: measure_queries(embedding, queries, chosen, settings)
        for name, embedding in _named(subjects).items()
    }
    report = Report(
        "weat",
        given_arguments(),
        {name: subject.info.to_dict() for name, subject in zip(found, subjects, strict=True)},
        [row for rows in found.values() for row in rows],
        [_table(name, rows, queries, settings) for name, rows in found.items()],
        closing=[_CLOSING],
        seed=seed,
    )
    show(report, to)


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


def _table(
    subject: str, rows: Sequence[Row], queries: Sequence[Query], settings: Settings
) -> Table:
    """One line a value, and below it what the numbers mean and which words are missing."""
    targets = {query.name: "/".join(query.names[:2]) for query in queries}
    sided = "one-sided" if settings.alternative == "greater" else "two-sided"
    meanings = [_MEANING[name] for name in dict.fromkeys(row.measure for row in rows)]
    missing = {row.details["set"]: _missing(row) for row in rows if row.details.get("missing")}
    reasons = [f"{r.details['set']} {r.details['reason']}" for r in rows if r.value is None]
    tested = any("p" in row.details for row in rows)
    notes = [
        *meanings,
        *(
            [f"p {sided}, exact or of {settings.samples:,} partitions; ddof {settings.ddof}"]
            * tested
        ),
        *([f"missing: {', '.join(missing.values())}"] if missing else []),
        *dict.fromkeys(reasons),
    ]
    return Table(
        f"Associations in {subject}",
        ["query", "measure", "words", "value", "95 %", "p", "n", "missing"],
        [_cells(row, targets) for row in rows],
        "; ".join(notes) + ".",
        cut="words",
    )


def _missing(row: Row) -> str:
    words = ", ".join(word for words in row.details["missing"].values() for word in words)
    return f"{row.details['set']} ({words})"


def _cells(row: Row, targets: dict[str, str]) -> list[str]:
    about: dict[str, Any] = dict(row.details)
    low, high = about.get("low"), about.get("high")
    sizes = [str(n) for n in about.get("n", {}).values()]
    compared = f"{about['pairs']} pairs" if "pairs" in about else "+".join(sizes[:2])
    return [
        about["set"],
        row.measure,
        about.get("words", targets[about["set"]]),
        number(row.value),
        "–" if low is None else f"{number(low, 2)} … {number(high, 2)}",
        _p(about.get("p")),
        f"{compared} × {'+'.join(sizes[2:])}" if sizes else "–",
        str(sum(map(len, about.get("missing", {}).values()))) if sizes else "–",
    ]


def _p(p: float | None) -> str:
    return "–" if p is None else f"{p:.1e}" if p < 0.001 else f"{p:.4f}"
