"""Choice of a method of debiasing by a measure, and the report on the other half of the words."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from wordbias import cells
from wordbias.calls import note, public
from wordbias.configuration import READS_VECTORS, current_config, uses
from wordbias.embedding import Embedding, EmbeddingLike
from wordbias.errors import UsageError
from wordbias.functions.debias import check_files, open_for, refuse_two_lists, write_debiased
from wordbias.functions.inputs import open_subject, path_of, reading
from wordbias.functions.lists import sembias_of, vocabulary_of
from wordbias.functions.quality import Places, places_of
from wordbias.functions.tables import length_notes
from wordbias.measures.registry import MEASURES, short_title
from wordbias.methods.choice import (
    CHOOSE,
    GRID,
    KEEP,
    Task,
    Tried,
    check_metric,
    compare,
    make_task,
    percent,
    try_candidate,
)
from wordbias.methods.choice import choose as best_of
from wordbias.methods.fitted import Chain
from wordbias.methods.methods import fit_methods, parse_columns
from wordbias.methods.settings import METHODS
from wordbias.methods.trade_off import badness
from wordbias.pivot import pivot, values
from wordbias.rendering import Table, how_many
from wordbias.resources import located
from wordbias.results import Row
from wordbias.settings import ChainsLike, Configured
from wordbias.store import Entry, Store, digest_of, resumable
from wordbias.vocabulary import choose_vocabulary
from wordbias.word_tasks import AnalogySet, SimilaritySet, find_sets
from wordbias.wordlists import Attribute, GroupsLike
from wordbias.workers import Workers

_CHOSEN = "chosen"


@public
@uses(*READS_VECTORS, "jobs")
def choose(
    embedding: EmbeddingLike | None = None,
    methods: ChainsLike | None = None,
    *,
    by: str,
    keep: float = KEEP,
    benchmarks: Places = (),
    output: str | os.PathLike[str] | None = None,
    save_transform: str | os.PathLike[str] | None = None,
    sembias: str | os.PathLike[str] | None = None,
    groups: GroupsLike | None = None,
    vocab: str | os.PathLike[str] | Sequence[str] | None = None,
    strict_vocab: bool = False,
    seed: int = 0,
) -> Embedding:
    """Try ``methods`` on ``embedding``, and write the result of the one that improves ``by``.

    Only methods that keep a share ``keep`` of neighbours and of similarity ``benchmarks`` can be
    chosen. Of these the one that improves the measure most is chosen. The result is the same as
    that of wordbias debias. The methods are compared on a random half of the measured words:
    neutral words, occupations, questions, pairs of words. The chosen method is measured again on
    the other half, because the best of many values is partly luck. The halves are not fully
    independent: each method is fitted on all of its word lists, and forms of one word (nurse,
    nurses) can be in both halves. Nothing is written if no method keeps enough, or if none improves
    the measure by an interval that excludes 0. A method brings the measure that it removes to
    neutral by construction. Choose by another measure, or see the audit.

    Parameters
    ----------
    embedding : path, fetched name, Embedding, KeyedVectors or (words, vectors), optional
        The embedding to debias; by default the sample that comes with wordbias.
    methods : str, method such as MISP(dims=2), or list of these or of lists, optional
        Methods to try, separated by spaces. Commas join methods that are applied in order, and
        settings follow a name: "misp:dims=2 hard,misp". A list in a list is a chain.  [default:
        misp and mhd with dims 1, 2, 4, 8; hard; hard,misp; leace; inlp with rounds 1, 4, 16, 35;
        half-sibling, conceptor, oscar]
    by : str
        Measure to improve: midb-unit-abs, direct-bias, clustering-accuracy, gipe,
        sembias-stereotype, weat, lean or another; an unknown name lists all.
    keep : float
        Share to keep of the neighbours of neutral words, and of ``benchmarks``.
    benchmarks : path, fetched name or several
        Similarity sets to keep: folder of test sets, or files.
    output : path, optional
        File for the debiased vectors, in the format of its suffix, else that of ``embedding``.
        A file of that name is replaced, also ``embedding`` itself.
    save_transform : path, optional
        File for the fitted methods, which wordbias apply reads.
    sembias : path or fetched name, optional
        The SemBias test set, to choose by it.
    groups : name, path or mapping, optional
        Groups to compare: gender, gender-fr, age, religion:A,B, … (wordbias lists), or a TOML file.
    vocab : path or sequence of str, optional
        Neutral words to average over, one per line; or published: the frequent words in none of the
        published lists (wordbias fetch bolukbasi-lists gn-glove-lists).  [default: the frequent
        words not about the groups]
    strict_vocab : bool
        Average over lower-case words of fewer than 20 letters only, as Gonen and Goldberg do.
    seed : int
        Seed of everything random.

    Returns
    -------
    Embedding
        The debiased vectors of all words, shape ``(n, d)``. Its ``report`` says what was tried on
        one half of the words, what the chosen methods do on the other half, and what fitting found.

    Raises
    ------
    WordbiasError
        If there is no such method, setting or measure, a file cannot be used, words are missing, or
        there is no method to choose.

    Examples
    --------
    >>> import wordbias as wb
    >>> clean = wb.choose(None, "misp:dims=1 hard", by="midb-unit-abs", keep=0.9)
    >>> clean.report["midb-unit-abs"][1].details["half"]
    'choose'
    """
    how = current_config()
    embedding, methods = _embedding_and_methods(embedding, methods)
    chains = parse_columns(GRID if methods is None else methods)
    every = [method for chain in chains.values() for method in chain]
    if not every:
        raise UsageError(f"methods: name at least one to try, some of {', '.join(METHODS)}")
    refuse_two_lists(every, groups)
    check_metric(by)
    if not 0 < keep <= 1:
        raise UsageError(f"--keep: expected a share above 0, 1 at most, got {keep:g}")
    places = [located(place) for place in places_of(benchmarks)]
    tests = similarity_sets(find_sets(*places)) if places else []
    output, transform = path_of(output), path_of(save_transform)
    read = {"--groups": groups, "--sembias": sembias, "--vocab": vocab}
    check_files(output, transform, embedding, every, read)
    attribute = Attribute.load(groups)
    to_fit = None if groups is None else attribute
    given, specific = vocabulary_of(vocab, attribute)
    questions = sembias_of(sembias)
    options = reading()
    whole = open_subject(embedding, options, output=output, whole=True).embedding
    task = make_task(
        whole,
        by,
        choose_vocabulary([whole], attribute, given, strict=strict_vocab, specific=specific),
        attribute,
        fitted_to=to_fit,
        sembias=questions,
        sets=tests,
        seed=seed,
    )
    part = None if output is None else Path(f"{output}.part")
    with resumable(output, *([] if part is None else [part])):
        store = Store(part, _identity(task), ("candidate",), what="choice")
        tried = try_all(task, chains, Workers(how.jobs), store)
    choice = Choice(task, tried, best_of(task, tried, keep), keep)
    chain = chains[choice.best.candidate]
    subject = open_for(chain, embedding, attribute, options, output)
    fitted, done = fit_methods(chain, subject.embedding, to_fit, seed=seed)
    chosen = choice.report(fitted)
    report = write_debiased(subject, fitted, done, attribute, transform, seed, groups is None)
    report = replace(
        report,
        rows=[*chosen.rows, *report.rows],
        tables=[*chosen.tables, *report.tables],
        heading=[*chosen.heading, *report.heading],
    )
    return subject.result(fitted, report, done)


def _embedding_and_methods(
    embedding: EmbeddingLike | None, methods: ChainsLike | None
) -> tuple[EmbeddingLike | None, ChainsLike | None]:
    """Return the embedding and the methods; a text alone is the embedding unless it is a method."""
    if embedding is None and isinstance(methods, str):
        first = re.split(r"[\s,:]", methods.strip(), maxsplit=1)[0]
        if first.lower().replace("_", "-") not in METHODS:
            return methods, None
    return embedding, methods


def similarity_sets(sets: Sequence[SimilaritySet | AnalogySet]) -> list[SimilaritySet]:
    """Return the sets of similarity; note that others are left out."""
    if others := [benchmark.name for benchmark in sets if isinstance(benchmark, AnalogySet)]:
        note(
            f"{', '.join(others)}: analogies are no cost here, as they take minutes for each "
            "method; wordbias quality answers them before and after"
        )
    return [benchmark for benchmark in sets if isinstance(benchmark, SimilaritySet)]


@dataclass(frozen=True, eq=False)
class Choice:
    """What was tried, and the candidate that was chosen, which keeps a share `keep`."""

    task: Task
    tried: Sequence[Tried]
    best: Tried
    keep: float

    def report(self, chain: Chain) -> Chosen:
        """Measure the chosen methods, fitted, on the half to report on."""
        label = self.best.candidate
        after = chain(self.task.part).renamed(label)
        reported = compare(self.task, self.task.reported_on, after, label)
        return Chosen(
            [*_tried_rows(self), *reported],
            [_tried_table(self), _reported_table(self.task, reported)],
            _heading(self, reported),
        )


class Chosen(NamedTuple):
    """Rows, tables and sentences about a choice."""

    rows: list[Row]
    tables: list[Table]
    heading: list[str]


def _identity(task: Task) -> dict[str, object]:
    """Return what a candidate's result depends on, besides the candidate."""
    info, words = task.embedding.info, tuple(task.embedding.words)
    halves = task.chosen_on, task.reported_on
    return {
        "vectors": digest_of(task.embedding.vectors) if info is None else info.sha256,
        "by": task.metric,
        "seed": task.seed,
        "words": digest_of(words, task.vocabulary, *halves, task.attribute, task.fitted_to),
    }


def try_all(
    task: Task, candidates: Mapping[str, Sequence[Configured]], workers: Workers, store: Store
) -> list[Tried]:
    """Try the candidates that a store lacks side by side; return what all of them do."""
    keys = [(label,) for label in candidates]
    store.complete(keys, _tried, workers, shared=(task, candidates), what="choosing")
    return [Tried(*key, store.entries[key].rows[0]) for key in keys]


def _tried(task: Task, candidates: Mapping[str, Sequence[Configured]], key: tuple[str]) -> Entry:
    return Entry([try_candidate(task, candidates[key[0]]).row])


def _tried_rows(choice: Choice) -> list[Row]:
    """Return the value before on the half to choose on, and that after each candidate."""
    task = choice.task
    before = task.before[CHOOSE]
    first = {"stage": "before", "half": CHOOSE, **before.details}
    rows = [Row(task.embedding.name, task.metric, before.value, first)]
    for trial in choice.tried:
        label = trial.candidate
        more = {"stage": label, "column": "method", "chosen": trial is choice.best}
        rows.append(replace(trial.row, details={**trial.row.details, **more}))
    return rows


def _heading(choice: Choice, reported: Sequence[Row]) -> list[str]:
    """Say which method was chosen among which, and what it does on the other half."""
    before, after = reported[:2]
    title, keep = short_title(choice.task.metric), percent(choice.keep)
    kept_share = after.details["kept"]
    no_proof = after.value is not None and not Tried(choice.best.candidate, after).improves
    verdict = "; this interval includes 0, so the improvement is not proved" if no_proof else ""
    missed = (
        f", less than the {keep} asked for"
        if kept_share is not None and kept_share < choice.keep
        else ""
    )
    shares = ", ".join(f"{share:.1%} of {name}" for name, share in after.details["costs"].items())
    return [
        f"{choice.best.candidate}: {how_many(len(choice.tried), 'method')} tried on one half of "
        f"the words. Of those that keep {keep} it improves {title} most.",
        f"On the other half: {title} {cells.value(before)} → {cells.value(after)}, change "
        f"{cells.change(after)}{verdict}; it keeps {shares}{missed}.",
    ]


def _tried_table(choice: Choice) -> Table:
    """Make a line for each candidate, the best value first."""
    task, tried = choice.task, choice.tried
    rows = [
        replace(
            trial.row,
            subject=trial.candidate,
            details={**trial.row.details, _CHOSEN: trial is choice.best},
        )
        for trial in sorted(tried, key=lambda trial: _order(task, trial))
    ]
    costs = list(dict.fromkeys(name for row in rows for name in row.details.get("costs", ())))
    reasons = [f"{row.subject}: {row.details['reason']}" for row in rows if "reason" in row.details]
    shares = f"{' and '.join(costs)}: share kept" if costs else ""
    before = cells.value(task.before[CHOOSE])
    notes = [f"before: {before}", "change: with its 95 % interval", shares, *reasons]
    columns = values(short_title(task.metric), ("change", cells.change))
    columns += values(*((name, partial(_share, name)) for name in costs))
    columns += values((_CHOSEN, cells.detail(_CHOSEN)))
    note = "; ".join(filter(None, [*notes, *length_notes(rows)]))
    return pivot("Tried on one half of the words", rows, "subject", columns, note)


def _order(task: Task, trial: Tried) -> float:
    value = trial.row.value
    return float("inf") if value is None else badness(value, task.better, 0.0)


def _reported_table(task: Task, reported: Sequence[Row]) -> Table:
    """Make a line for the metric, and one for each cost."""
    caution = MEASURES[task.metric].caution
    note = f"A value near neutral does not mean {caution}" if caution else ""
    columns = values(("before", cells.with_interval), stage="before")
    columns += values(("after", cells.with_interval), ("change", cells.change), stage="after")
    return pivot("On the other half of the words", reported, _titled, columns, note)


def _titled(row: Row) -> str:
    name = row.details.get("set")
    return short_title(row.measure) + (f" ({name})" if name else "")


def _share(name: str, row: Row) -> str:
    kept_share = row.details.get("costs", {}).get(name)
    return "–" if kept_share is None else f"{kept_share:.1%}"
