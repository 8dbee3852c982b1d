"""Scores of a coreference system on WinoBias: whether it follows stereotypes."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from wordbias import cells
from wordbias.calls import is_given, path_of, public
from wordbias.errors import UsageError, WordbiasError
from wordbias.formats.files import check_outputs, compressing, replacing
from wordbias.functions.fairness import NO_INTERVAL, accuracy_table, sums_table
from wordbias.outcomes.inputs import load_shares
from wordbias.outcomes.metrics import Settings
from wordbias.pivot import pivot, values
from wordbias.rendering import Table, how_many
from wordbias.reports import Report
from wordbias.resources import located
from wordbias.results import Row
from wordbias.statistics import SAMPLES
from wordbias.stereotypes.clusters import UNITS, FoundClusters, Unit, load_clusters
from wordbias.stereotypes.winobias import (
    ANTI,
    COLUMNS,
    DIFFERENCE,
    F1,
    FEMALE,
    MALE,
    PRO,
    UNDECIDED,
    Sentence,
    classification_rows,
    f1_rows,
    load_winobias,
    masked_rows,
    sentence_lines,
)

SHARES = "occupational_female_precentage.json"  # as the file that comes with WinoBias is spelled


@public
def winobias(
    folder: str | os.PathLike[str],
    *,
    clusters: str | os.PathLike[str] | Mapping[str, object] | None = None,
    span_unit: Unit = UNITS[0],
    inclusive: bool = False,
    shares: str | os.PathLike[str] | Mapping[str, float] | None = None,
    as_published: bool = False,
    draws: int = SAMPLES,
    sentences: str | os.PathLike[str] | None = None,
    masked: str | os.PathLike[str] | None = None,
    mask: str = "[MASK]",
    seed: int = 0,
) -> Report:
    """Score a coreference system on WinoBias (Zhao et al. 2018): whether a nurse must be she.

    ``folder`` has the eight files of WinoBias, pro_stereotyped_type1.txt.dev and so on. Any system
    can be scored. ``sentences`` writes its input, one {"sentence": …, "tokens": […]} per line.
    ``clusters`` reads its output, {"sentence": …, "clusters": [[[0, 8], [17, 20]], …]} per line, or
    one JSON object of clusters by sentence, or what coref-predict writes. The report has CoNLL F1
    of pro- and anti-stereotyped sentences, and group fairness of the professions that pronouns are
    resolved to. ``masked`` writes the sentences for a probe of an encoder.

    Parameters
    ----------
    folder : path or fetched name
        The folder of the sentences.
    clusters : path, or mapping of sentence to clusters, optional
        Output of a system: .json or .jsonl.
    span_unit : str
        With ``clusters``: unit of its spans. Tokens are those that ``sentences`` writes, and the
        unit of what coref-predict writes.
    inclusive : bool
        With ``clusters``: spans end at their last place, not at the one after it.
    shares : path, or mapping of profession to share, optional
        With ``clusters``: share of women in each profession.  [default:
        occupational_female_precentage.json in FOLDER]
    as_published : bool
        Compute as the released code does: precision TP/N, differences instead of sums, and no
        undecided sentences in separation.
    draws : int
        Number of bootstrap samples; 0 for no intervals.
    sentences : path, optional
        Write the sentences for a system: .jsonl.
    masked : path, optional
        Write masked sentences for encode and probe: .tsv.
    mask : str
        With ``masked``: the encoder's mask token.
    seed : int
        Seed of everything random.

    Returns
    -------
    Report
        Without ``clusters`` it has no rows, only a table of the sentences.

    Raises
    ------
    WordbiasError
        If the folder or a file cannot be used, or clusters are not of these sentences.

    References
    ----------
    Zhao, J., Wang, T., Yatskar, M., Ordonez, V., and Chang, K.-W. (2018). Gender Bias in
    Coreference Resolution: Evaluation and Debiasing Methods. NAACL.

    Orgad, H., Goldfarb-Tarrant, S., and Belinkov, Y. (2022). How Gender Debiasing Affects Internal
    Model Representations, and Why It Matters. NAACL.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import wordbias as wb
    >>> folder = Path(tempfile.mkdtemp())
    >>> for side, pronoun in {"pro": "he", "anti": "she"}.items():
    ...     line = f"1 [The cook] saw the nurse after [{pronoun}] left.\\n"
    ...     _ = (folder / f"{side}_stereotyped_type1.txt.dev").write_text(line)
    >>> report = wb.winobias(folder)
    >>> report.inputs["sentences"]["sentences"]
    2
    """
    if is_given("plot") and clusters is None:
        raise UsageError("--plot: without a system there are no scores; give --clusters too")
    if shares is not None and clusters is None:
        raise WordbiasError("--shares: is for the scores of a system; give --clusters too")
    outputs = {"--sentences": sentences, "--masked": masked}
    check_outputs(outputs, {"--clusters": clusters, "--shares": shares})
    place = located(os.fspath(folder))
    read = load_winobias(place)
    settings = Settings(as_published, draws=draws, seed=seed)
    about: dict[str, dict[str, object]] = {"sentences": {"path": place, "sentences": len(read)}}
    heading = f"WinoBias in {place}: {how_many(len(read), 'sentence')}"
    rows: list[Row] = []
    notes: list[str] = []
    if clusters is not None:
        system_clusters = load_clusters(clusters, read, unit=span_unit, inclusive=inclusive)
        shares = usual_shares(place) if shares is None else shares
        rows = _rows(read, system_clusters, settings, shares)
        about["clusters"] = {"path": system_clusters.path, "sha256": system_clusters.sha256}
        if (source := path_of(shares)) is not None:
            about["shares"] = {"path": source}
        scored = path_of(clusters) or system_clusters.path
        heading += f"; {scored}"
        if system_clusters.beside:
            beside = how_many(system_clusters.beside, "sentence is", "sentences are")
            notes.append(f"{scored}: {beside} not of {place}")
    closing = _closing(rows, as_published, _source(shares)) if rows else []
    if sentences is not None:
        _write_text(sentences, "".join(sentence_lines(read)))
        closing.append(f"Written: {sentences}; let a coreference system add its clusters.")
    if masked is not None:
        lines = [COLUMNS, *masked_rows(read, mask)]
        _write_text(masked, "".join("\t".join(line) + "\n" for line in lines))
        closing.append(
            f"Written: {masked}, {len(lines) - 1:,} professions in sentences; next: "
            "wordbias encode --span-columns start,end and wordbias probe --labels gender "
            "--unit profession."
        )
    return Report(
        inputs=about,
        rows=rows,
        tables=_tables(rows) if rows else [_sentences_table(read)],
        heading=[f"{heading}."],
        closing=closing,
        seed=seed,
        notes=notes,
    )


def usual_shares(folder: str) -> str | None:
    """Return the file of shares that comes with the sentences, if it exists."""
    file = Path(folder) / SHARES
    return str(file) if file.is_file() else None


def _rows(
    read: Sequence[Sentence],
    found: FoundClusters,
    settings: Settings,
    shares: str | os.PathLike[str] | Mapping[str, float] | None,
) -> list[Row]:
    """Score the clusters of a system: coreference, and the professions as classes."""
    return [
        *f1_rows(read, found.clusters, found.path, settings),
        *classification_rows(
            read,
            found.clusters,
            found.path,
            settings,
            shares=None if shares is None else load_shares(shares),
            shares_from=_source(shares),
        ),
    ]


def _source(shares: str | os.PathLike[str] | Mapping[str, float] | None) -> str:
    """Name where shares come from."""
    return path_of(shares) or ("the sentences" if shares is None else "the shares given")


def _write_text(path: str | os.PathLike[str], text: str) -> None:
    with replacing(path) as file, compressing(file, os.fspath(path)) as stream:
        stream.write(text.encode())


def _sentences_table(sentences: Sequence[Sentence]) -> Table:
    """Return the table of sentences, one line for each file."""
    counts: dict[tuple[str, str, str], Counter[str]] = {}
    for sentence in sentences:
        key = (sentence.stereotype, f"type {sentence.kind}", sentence.split)
        counts.setdefault(key, Counter())[sentence.gender] += 1
    cells = [
        [*key, f"{genders.total():,}", str(genders[FEMALE]), str(genders[MALE])]
        for key, genders in sorted(counts.items(), reverse=True)
    ]
    names = {name for case in sentences for name, _ in case.people}
    return Table(
        "Sentences",
        ["stereotype", "type", "split", "sentences", "she", "he"],
        cells,
        f"{len(names)} professions. Score a system with --clusters; write its input with "
        "--sentences.",
    )


def _tables(rows: Sequence[Row]) -> list[Table]:
    """Return the tables of F1, fairness and accuracy."""
    by_set = {(row.measure, row.details["set"]): row for row in rows if row.measure[:5] != "conll"}
    groups = (FEMALE, MALE)
    return [_f1_table(rows), sums_table(by_set, groups), accuracy_table(by_set, groups)]


def _f1_table(rows: Sequence[Row]) -> Table:
    percent, pairs = cells.rounded(2), ("pairs", cells.n)
    columns = values(("pro", percent), measure=F1, set=PRO)
    columns += values(("anti", percent), measure=F1, set=ANTI)
    difference = (("pro − anti", percent), ("95 %", cells.interval_of("", 2)))
    columns += values(*difference, measure=DIFFERENCE) + values(pairs, measure=F1, set=PRO)
    note = "Mean of MUC, B³ and CEAFφ4; pro − anti is 0 for a system that ignores stereotypes."
    scores = [row for row in rows if row.measure in (F1, DIFFERENCE)]
    return pivot("CoNLL F1, percent", scores, "setting", columns, note)


def _closing(rows: Sequence[Row], as_published: bool, shares: str) -> list[str]:
    """Return the lines below the tables, which explain the numbers."""
    (undecided,) = (row for row in rows if row.measure == UNDECIDED)
    how = "|D(F) − D(M)|, as published" if as_published else "sums over both genders"
    left = "left out of separation" if as_published else "counted as an outcome of its own"
    return [
        f"As classification: the profession clustered with the pronoun; F − M by pronoun. In "
        f"{undecided.value or 0:.1%} of sentences there is none, or several: {left}. "
        f"Separation and sufficiency are {how}. Shares for P are of {shares}.",
        "alike: S if she and he are exchanged at random within pairs, as for a system that ignores "
        f"the pronoun (chance level). p: how often this S, or |P|, is as large. {NO_INTERVAL} "
        "Intervals are over pairs of sentences about these professions, not over other "
        "professions.",
    ]
