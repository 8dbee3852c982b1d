"""Scores of a coreference system: on documents with clusters, on GAP, and on pronoun schemas."""

from __future__ import annotations

import os
import zipfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from wordbias import cells
from wordbias.calls import is_given, path_of, public
from wordbias.columns import BadRows
from wordbias.configuration import current_config, uses
from wordbias.coreference import gap, pronouns
from wordbias.coreference.documents import Corpus, Document
from wordbias.coreference.reading import files_below, left_out, read_documents
from wordbias.coreference.scoring import CONLL, score_rows, singletons
from wordbias.coreference.writing import json_lines
from wordbias.errors import UsageError, WordbiasError
from wordbias.formats.files import check_outputs, compressing, replacing
from wordbias.outcomes.conll import METRICS
from wordbias.pivot import pivot, values
from wordbias.rendering import Table, how_many
from wordbias.reports import Report
from wordbias.resources import located
from wordbias.results import Row
from wordbias.statistics import SAMPLES
from wordbias.stereotypes.winogender import SENTENCES, load_winogender
from wordbias.text_files import read_text

Data = Corpus | gap.Gap | pronouns.PronounSentences
NEAREST = "nearest"
"""Subject of the rows of the answers that the nearest person is meant."""
_TITLES = dict(zip(METRICS, ("MUC", "B³", "CEAFφ4", "LEA"), strict=True))
_POINTS = cells.rounded(1)


@public
@uses("skip_bad")
def coref_score(
    data: str | os.PathLike[str] | Sequence[Document],
    *,
    clusters: str | os.PathLike[str] | Sequence[Document] | None = None,
    draws: int = SAMPLES,
    sentences: str | os.PathLike[str] | None = None,
    password: str | None = None,
    seed: int = 0,
) -> Report:
    """Score a coreference system, and whether it resolves pronouns of all sets alike.

    ``data`` is recognised by its content. Documents with gold clusters: CoNLL-2012, CoNLL-U with
    entities, JSON lines; scored by MUC, B³, CEAFφ4, their mean CoNLL F1, and LEA. GAP: F1 of
    feminine over masculine pronouns. Winogender or WinoPron: accuracy by set and case of the
    pronoun. ``sentences`` writes what a system reads. ``clusters`` reads its output, the same
    documents with clusters, as coref-predict writes them.

    Parameters
    ----------
    data : path, fetched name, or sequence of Document
        Gold documents, in a file or folder, a file of GAP, or the folder, file or archive of
        Winogender or WinoPron.
    clusters : path, or sequence of Document, optional
        Output of a system: .conll or .jsonl. For GAP also answers as its own scorer reads them: ID,
        A-coref and B-coref in a .tsv.
    draws : int
        Number of bootstrap samples, and of exchanges of genders in GAP; 0 for neither.
    sentences : path, optional
        Write the documents without clusters for a system: .jsonl.
    password : str, optional
        Password of the archive of WinoPron, which its readme states.
    seed : int
        Seed of everything random.

    Returns
    -------
    Report
        Without ``clusters`` it has no rows, only a table of what is there.

    Raises
    ------
    WordbiasError
        If a file cannot be used, or the clusters are not of these documents.

    References
    ----------
    Pradhan, S., Luo, X., Recasens, M., Hovy, E., Ng, V., and Strube, M. (2014). Scoring Coreference
    Partitions of Predicted Mentions: A Reference Implementation. ACL.

    Moosavi, N. S., and Strube, M. (2016). Which Coreference Evaluation Metric Do You Trust? A
    Proposal for a Link-based Entity Aware Metric. ACL.

    Webster, K., Recasens, M., Axelrod, V., and Baldridge, J. (2018). Mind the GAP: A Balanced
    Corpus of Gendered Ambiguous Pronouns. TACL.

    Gautam, V., Steuer, J., Bingert, E., Johns, R., Lauscher, A., and Klakow, D. (2024). WinoPron:
    Revisiting English Winogender Schemas for Consistency, Coverage, and Grammatical Case. CRAC.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import wordbias as wb
    >>> path = Path(tempfile.mkdtemp()) / "gold.jsonl"
    >>> _ = path.write_text('{"sentences": [["Ann", "left", "."]], "clusters": [[[0, 1]]]}')
    >>> report = wb.coref_score(path, clusters=path)
    >>> report.rows[0]
    <Row ...gold.jsonl, conll-f1, set all: 66.6667>
    """
    if is_given("plot") and clusters is None:
        raise UsageError("--plot: without a system there are no scores; give --clusters too")
    given = path_of(data)
    check_outputs({"--sentences": sentences}, {"DATA": given, "--clusters": path_of(clusters)})
    place = "the documents given" if given is None else located(given)
    bad = BadRows(place, current_config().skip_bad)
    opened: Data
    if isinstance(data, (str, os.PathLike)):
        opened = _opened(place, password, bad)
    else:
        opened = Corpus(place, _documents("data=", data))
    if password is not None and not zipfile.is_zipfile(place):
        raise UsageError(f"--password goes with an archive of WinoPron, not with {place}")
    about: dict[str, dict[str, object]] = {
        "data": {"path": place, "documents": len(_parts(opened))}
    }
    notes = left_out(bad)
    rows: list[Row] = []
    closing: list[str] = []
    if clusters is not None:
        bad = BadRows(path_of(clusters) or "the clusters given", current_config().skip_bad)
        rows, remarks = _rows(opened, clusters, bad, draws, seed)
        closing += remarks
        notes += left_out(bad)
        about["clusters"] = {"path": bad.name}
    if sentences is not None:
        lines = json_lines(replace(document, clusters=()) for document in opened.documents)
        with replacing(sentences) as file, compressing(file, os.fspath(sentences)) as stream:
            stream.write("".join(lines).encode())
        closing.append(f"Written: {sentences}; let a coreference system add its clusters.")
    return Report(
        inputs=about,
        rows=rows,
        tables=_tables(opened, rows) if rows else [_contents(opened)],
        heading=[f"{_titled(opened)} in {place}" + (f"; {bad.name}." if rows else ".")],
        closing=closing,
        seed=seed,
        notes=notes,
    )


# reading


def _opened(place: str, password: str | None, bad: BadRows) -> Data:
    """Read what a path holds, which its names or its first line tell."""
    path = Path(place)
    names = {child.name for child in path.iterdir()} if path.is_dir() else {path.name}
    if SENTENCES in names:
        return pronouns.winogender_sentences(load_winogender(place))
    if path.is_file() and zipfile.is_zipfile(path):
        return pronouns.parse_winopron(pronouns.read_winopron(path, password))
    if path.is_dir() and pronouns.NEW_TEMPLATES in names:
        return pronouns.parse_winopron(read_text(path / pronouns.NEW_TEMPLATES))
    if path.is_dir():
        if not files_below(place):
            raise WordbiasError(
                f"{place}: expected a file, or a folder with documents (.conll, .conllu, .jsonl), "
                f"{SENTENCES} of Winogender or {pronouns.NEW_TEMPLATES} of WinoPron"
            )
        return Corpus(place, read_documents(place, bad))
    source = read_text(place)
    first = source.text.split("\n", 1)[0]
    if first.startswith("sentid\t"):
        return pronouns.winogender_sentences(load_winogender(place))
    if first.startswith("occupation(0)\t"):
        return pronouns.parse_winopron(source)
    if first.startswith("ID\tText\t"):
        return gap.parse_gap(source)
    return Corpus(place, read_documents(source, bad))


def _documents(name: str, given: Sequence[Document]) -> Sequence[Document]:
    """Return documents in memory, if they are some."""
    for i, document in enumerate(given):
        if not isinstance(document, Document):
            raise WordbiasError(f"{name}: expected documents, found {document!r:.40} at {i}")
    return given


# rows


def _rows(
    data: Data,
    clusters: str | os.PathLike[str] | Sequence[Document],
    bad: BadRows,
    draws: int,
    seed: int,
) -> tuple[list[Row], list[str]]:
    """Score the clusters or answers of a system; return the rows, and what explains them."""
    name = bad.name
    documents: Sequence[Document]
    if isinstance(clusters, (str, os.PathLike)):
        source = None if os.path.isdir(clusters) else read_text(clusters)
        if source is not None and isinstance(data, gap.Gap) and gap.are_answers(source.text):
            return _gap_rows(data, gap.read_answers(source, data), name, draws, seed), [_GAP]
        documents = read_documents(source or clusters, bad)
    else:
        documents = _documents("clusters=", clusters)
    if isinstance(data, gap.Gap):
        answers = gap.answers_of(documents, data, name)
        return _gap_rows(data, answers, name, draws, seed), [_GAP, _GAP_CLUSTERS]
    if isinstance(data, pronouns.PronounSentences):
        resolved = pronouns.answers_of(documents, data, name)
        rows = [
            row
            for subject, given in ((name, resolved), (NEAREST, pronouns.nearest(data)))
            for row in pronouns.pronoun_rows(data, given, subject, draws=draws, seed=seed)
        ]
        return rows, [_PRONOUNS]
    response = data.matched(Corpus(name, documents))
    rows = score_rows(data.documents, response, name, draws=draws, seed=seed)
    closing = [_singletons(data, response, name)]
    if len(documents) > len(response):
        beside = how_many(len(documents) - len(response), "document is", "documents are")
        closing.append(f"{name}: {beside} not of {data.path}, and not scored.")
    return rows, closing


def _gap_rows(
    data: gap.Gap, answers: Sequence[gap.Answer], name: str, draws: int, seed: int
) -> list[Row]:
    """Score answers, and those that the nearer name is meant."""
    guesses = [text.nearest for text in data.texts]
    return [
        row
        for subject, given in ((name, answers), (NEAREST, guesses))
        for row in gap.gap_rows(data, given, subject, draws=draws, seed=seed)
    ]


_GAP = (
    "nearest: the nearer name. chance: one of the two at random. p: how often the bias is as far "
    "from 1 if genders are exchanged among texts with the same number of right names. Intervals "
    "are over texts."
)
_GAP_CLUSTERS = (
    "Of clusters the name is the mention that shares most of its characters, half at least; the "
    "pronoun is the mention at its place."
)
_PRONOUNS = (
    "Right: the pronoun is in a cluster with a mention that holds this person, and with none that "
    "holds the other; undecided is not right. nearest: the person nearest to the pronoun. "
    "consistent: a template is right with every set. told apart: both templates of a pair, with "
    "different answers, are right. p: McNemar's exact test. Intervals are over templates, not over "
    "other occupations."
)
_LEANS = (
    "gap: accuracy where the pronoun fits the majority in the occupation, minus where it does not. "
    "% women: rank correlation of the share of women with taking she rather than he for it. 0 is "
    "none."
)


def _singletons(data: Corpus, response: Sequence[Document], name: str) -> str:
    """Say how many clusters have one mention, which count in all metrics but MUC."""
    parts = [
        f"{single:,} of {every:,} clusters of {path}"
        for path, (single, every) in (
            (data.path, singletons(data.documents)),
            (name, singletons(response)),
        )
    ]
    return (
        f"Singletons: {' and '.join(parts)} have one mention. They count, in MUC as no link; "
        "intervals are over documents."
    )


# tables


def _parts(data: Data) -> Sequence[object]:
    """Return the documents, texts or sentences."""
    if isinstance(data, Corpus):
        return data.documents
    return data.texts if isinstance(data, gap.Gap) else data.sentences


def _titled(data: Data) -> str:
    n = len(_parts(data))
    if isinstance(data, Corpus):
        return how_many(n, "document")
    if isinstance(data, gap.Gap):
        return f"GAP, {how_many(n, 'text')},"
    return f"{data.task}, {how_many(n, 'sentence')},"


def _contents(data: Data) -> Table:
    """Return the table of what is there, without a system."""
    note = "Score a system with --clusters; write its input with --sentences."
    if isinstance(data, Corpus):
        single, every = singletons(data.documents)
        mentions = sum(len(cluster) for document in data.documents for cluster in document.clusters)
        numbers = (len(data.documents), _tokens(data.documents), mentions, every, single)
        heads = ["documents", "tokens", "mentions", "clusters", "of one mention"]
        return Table("Documents", heads, [[f"{n:,}" for n in numbers]], note)
    if isinstance(data, gap.Gap):
        texts = Counter((text.feminine, sum(text.gold)) for text in data.texts)
        lines = [
            [gap.FEMININE if side else gap.MASCULINE] + [f"{texts[side, n]:,}" for n in (1, 0)]
            for side in (True, False)
        ]
        return Table("Texts", ["pronoun", "of a name", "of none"], lines, note)
    sentences = Counter((sentence.case, sentence.pronouns) for sentence in data.sentences)
    cases = list(dict.fromkeys(case for case, _ in sentences))
    sets = list(dict.fromkeys(name for _, name in sentences))
    lines = [[case, *(f"{sentences[case, name]:,}" for name in sets)] for case in cases]
    return Table("Sentences", ["case", *sets], lines, note)


def _tokens(documents: Sequence[Document]) -> int:
    return sum(len(document.tokens) for document in documents)


def _tables(data: Data, rows: Sequence[Row]) -> list[Table]:
    if isinstance(data, Corpus):
        return [score_table(rows)]
    if isinstance(data, gap.Gap):
        return _gap_tables(rows)
    return _pronoun_tables(rows)


def score_table(rows: Sequence[Row], of: str = "") -> Table:
    """Return the table of the rows of `score_rows`, of a set if one is named."""
    columns = values(("recall", _POINTS), measure="coref-recall")
    columns += values(("precision", _POINTS), measure="coref-precision")
    interval = cells.interval_of("", 1)
    columns += values(("F1", _POINTS), ("95 %", interval), measure=("coref-f1", CONLL))
    note = "CoNLL F1 is the mean of the first three."
    ordered = [*(row for row in rows if row.measure != CONLL), rows[0]]
    return pivot(f"Coreference{of and ' on '}{of}, percent", ordered, _metric, columns, note)


def _metric(row: Row) -> str:
    return _TITLES.get(str(row.details.get("setting")), "CoNLL F1")


def _gap_tables(rows: Sequence[Row]) -> list[Table]:
    columns = values(("recall", _POINTS), measure="gap-recall")
    columns += values(("precision", _POINTS), measure="gap-precision")
    f1 = (
        ("F1", _POINTS),
        ("95 %", cells.interval_of("", 1)),
        ("chance", cells.detail("chance", 1)),
    )
    columns += values(*f1, ("texts", cells.n), measure="gap-f1")
    who = {"": "subject", "pronoun": "set"}
    bias = values(("bias", cells.rounded(3)), "95 %", "p", measure=gap.RATIO)
    return [
        pivot("GAP, percent", rows, who, columns),
        pivot("Bias: F1 over F1", rows, who, bias, "1 is none."),
    ]


def _pronoun_tables(rows: Sequence[Row]) -> list[Table]:
    of_system = [row for row in rows if row.subject != NEAREST]
    cases = list(
        dict.fromkeys(row.details["subset"] for row in rows if row.measure == pronouns.ACCURACY)
    )
    accuracy = [
        column
        for case in cases
        for column in values((case, cells.share), measure=pronouns.ACCURACY, subset=case)
    ]
    gaps = values(("gap", cells.value), "95 %", "p", measure=pronouns.GAP, subset=pronouns.ALL)
    consistency = values(("consistent", cells.share), "95 %", measure=pronouns.CONSISTENT)
    consistency += values(("told apart", cells.share), measure=pronouns.TOLD_APART, set="all")
    consistency += values(("undecided", cells.share), measure=pronouns.UNDECIDED, set="all")
    leans = [
        column
        for head, measure in (("gap", "coreference-gap"), ("% women", "coreference-correlation"))
        if any(row.measure == measure for row in rows)
        for column in values((head, cells.value), "95 %", measure=measure)
    ]
    who = {"": "subject", "pronoun": "set"}
    return [
        pivot("Pronouns resolved right", rows, who, accuracy, "Chance is .5 of two people."),
        pivot("Difference of two sets, same templates", of_system, "set", gaps, "0 is none."),
        pivot("Whole templates", rows, {"": "subject", "case": "subset"}, consistency),
        *(
            [pivot("Stereotypes of occupations", of_system, "subject", leans, _LEANS)]
            if leans
            else []
        ),
    ]
