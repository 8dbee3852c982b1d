"""Quality of embeddings, which debiasing may reduce: word similarity and analogies."""

from __future__ import annotations

import os
from collections.abc import Sequence

from wordbias import cells, word_tasks
from wordbias.calls import public
from wordbias.configuration import READS_VECTORS, uses
from wordbias.errors import WordbiasError
from wordbias.functions.inputs import (
    EmbeddingsLike,
    Subject,
    as_list,
    names_of,
    open_subject,
    path_of,
    reading,
    unused,
)
from wordbias.pivot import pivot, values
from wordbias.rendering import Table, how_many
from wordbias.reports import Report
from wordbias.resources import located
from wordbias.results import Row
from wordbias.word_tasks.analogy import Method
from wordbias.word_tasks.quality import Measured, since_first
from wordbias.word_tasks.similarity import Oov

_NO_SETS = (
    "no test sets: they are not part of wordbias; run: wordbias fetch men simlex-999 "
    "google-analogies, and give their names with --benchmarks; or --benchmarks FOLDER with the "
    "published files (RG-65, MTurk-287, MEN, SimLex-999, questions-words.txt, MSR) or others of "
    "the same form"
)
Places = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""A folder of test sets, a file, the name of what was fetched, or several of these."""
_NAME = 24
"""Maximum length of a name in the head of a column."""


@public
@uses(*READS_VECTORS)
def quality(
    embeddings: EmbeddingsLike = None,
    *,
    benchmarks: Places = (),
    oov: Oov = "skip",
    analogy: Method = "add",
    standardise: bool = False,
    only: str | Sequence[str] | None = None,
    seed: int = 0,
) -> Report:
    """Measure how good each embedding is at word similarity and analogies.

    The value is Spearman's correlation with human scores for similarity, and for analogies the
    share answered right, over the whole vocabulary. The test sets are not part of wordbias:
    wordbias fetch gets them, and ``benchmarks`` takes their names, too. Without ``embeddings`` the
    sample that comes with wordbias is used. It is small, so check its coverage.

    Parameters
    ----------
    embeddings : path, fetched name, Embedding, KeyedVectors, (words, vectors), or several
        The embeddings to measure; by default the sample that comes with wordbias.
    benchmarks : path or fetched name, or several
        Test sets: a folder or one file; may be repeated.
    oov : {"skip", "mean"}
        For items with unknown words: leave them out, or use the mean vector as published code does.
    analogy : {"add", "mul"}
        Method to answer analogies: 3CosAdd or 3CosMul.
    standardise : bool
        Delete punctuation in analogies first, as published code does: city's becomes citys.
    only : str or list of str, optional
        Names of the sets to use, separated by commas: men,google.
    seed : int
        Seed of everything random.

    Returns
    -------
    Report
        A row for each set and embedding. ``coverage`` is the share of its pairs or questions in
        which all words are known. Rows of later embeddings have their change from the first,
        ``change``, with its interval by the paired bootstrap. It is over the pairs or questions
        that both embeddings know; ``change_n`` is their number where it differs from ``n``.

    Raises
    ------
    WordbiasError
        If no sets are given, or a file cannot be used.

    Examples
    --------
    >>> import wordbias as wb
    >>> from pathlib import Path
    >>> pairs = "man\\twoman\\t8\\nking\\tqueen\\t9\\ncar\\tpizza\\t1\\nsun\\tlight\\t7\\n"
    >>> _ = Path("mine.tsv").write_text(pairs)
    >>> report = wb.quality(benchmarks="mine.tsv")
    >>> report["similarity"][0].details["coverage"]
    1.0
    """
    if not benchmarks:
        raise WordbiasError(_NO_SETS)
    sources = as_list(embeddings)
    paths = [path_of(source) for source in sources]
    twice = next((path for path in paths if path and paths.count(path) > 1), None)
    if twice is not None:
        raise WordbiasError(f"{twice}: given twice; give each embedding once")
    names = names_of(only)
    if only is not None and not names:
        raise WordbiasError("--only: expected names of sets, separated by commas, found none")
    tested = word_tasks.find_sets(*map(located, places_of(benchmarks)), only=names)
    rows: list[Row] = []
    first: list[Measured] = []
    inputs: dict[str, dict[str, object]] = {}
    heading = []
    for source in sources:
        subject = open_subject(source, reading())
        name = subject.embedding.name
        name = unused(subject.info.path if name in inputs else name, inputs)
        inputs[name] = subject.info.to_dict()
        heading.append(_source(name, subject))
        measures = word_tasks.quality(
            subject.embedding,
            tested,
            oov=oov,
            method=analogy,
            standardise=standardise,
            seed=seed,
            name=name,
        )
        if first:
            rows += [since_first(*pair, seed) for pair in zip(first, measures, strict=True)]
        else:
            first = measures
            rows += [measure.row for measure in measures]
    return Report(inputs=inputs, rows=rows, tables=quality_tables(rows), heading=heading, seed=seed)


def places_of(sets: Places) -> list[str]:
    """Return the paths or names of test sets as a list."""
    return [os.fspath(path) for path in ([sets] if isinstance(sets, (str, os.PathLike)) else sets)]


def _source(name: str, subject: Subject) -> str:
    info = subject.info
    sample = "the sample of GloVe 6B 100d that comes with wordbias"
    source = sample if subject.is_sample else info.path
    return f"{name}: {source}, {how_many(info.words, 'word')} × {info.dim} ({info.format})"


def quality_tables(rows: Sequence[Row]) -> list[Table]:
    """Make a line for each set, two columns for each embedding; and one for each change."""
    columns = []
    for subject in dict.fromkeys(row.subject for row in rows):
        heads = ((_short(subject), cells.with_interval), ("coverage", _coverage))
        columns += values(*heads, part=subject, subject=subject)
    whole = [pivot("Quality", rows, {"set": "set"}, columns, _note(rows))] if rows else []
    return [*whole, *_changes_tables(rows)]


def _changes_tables(rows: Sequence[Row]) -> list[Table]:
    """Make a line for each change from the first embedding; no table if there is none."""
    changed = [row for row in rows if cells.has(row, "change")]
    if not changed:
        return []
    note = (
        "over the pairs or questions that count in both embeddings, n; in brackets the 95 % "
        "interval by the paired bootstrap. Higher is better"
    )
    columns = values(("change", cells.change), ("n", _items_of_change))
    title = f"Change from {rows[0].subject}"
    return [pivot(title, changed, {"": "subject", "set": "set"}, columns, note)]


def _items_of_change(row: Row) -> str:
    return f"{row.details.get('change_n', row.details['n']):,}"


def _note(rows: Sequence[Row]) -> str:
    treatment = {"skip": "left out", "mean": "scored with the mean vector"}[rows[0].details["oov"]]
    setting = next((row.details["setting"] for row in rows if row.measure == "analogy"), "")
    answered = setting.replace("add", "3CosAdd").replace("mul", "3CosMul")
    reasons: dict[str, dict[str, None]] = {}
    for row in rows:
        if "reason" in row.details:
            reasons.setdefault(row.details["reason"], {})[row.details["set"]] = None
    return " ".join(
        [
            "Similarity: Spearman's ρ. Analogies: share answered right. Higher is better; in",
            "brackets the 95 % interval over pairs or questions. Coverage: pairs or questions with",
            "only known words; the others are",
            f"{treatment}{f'; analogies answered by {answered}' if setting else ''}.",
            *(f"{', '.join(sets)} {reason}." for reason, sets in reasons.items()),
        ]
    )


def _coverage(row: Row) -> str:
    known = round(row.details["coverage"] * row.details["asked"])
    return f"{known:,}/{row.details['asked']:,}"


def _short(name: str) -> str:
    return name if len(name) <= _NAME else f"…{name[1 - _NAME :]}"
