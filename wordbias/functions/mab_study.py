"""The study of Dawkins (2021) on embeddings of one's own: its folder, its rows, its tables."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from wordbias.calls import note, public
from wordbias.errors import need
from wordbias.formats.files import check_writable, replacing
from wordbias.formats.tables import check_growing
from wordbias.functions.checks import seeds_of
from wordbias.functions.inputs import (
    EmbeddingsLike,
    Facts,
    Reading,
    as_list,
    names_of,
    open_subject,
)
from wordbias.functions.mab_eval import groups_of, heads
from wordbias.functions.nli_models import open_pairs
from wordbias.functions.quality import Places, places_of, quality_tables
from wordbias.functions.tables import measures_tables
from wordbias.measures.registry import STANDARD, names_families
from wordbias.measures.sembias import SemBias
from wordbias.nli.evaluation import BIAS, MEANS
from wordbias.nli.pairs import PairsLike, load_pairs
from wordbias.nli.recipes import PRECISIONS, is_half, recipe_named
from wordbias.nli.study import QUALITY, correlations_with_error, intrinsic, settings
from wordbias.nli.test_sets import GENDERS
from wordbias.rendering import Table
from wordbias.resources import located
from wordbias.results import Report, Row, number
from wordbias.word_tasks import find_sets
from wordbias.wordlists import Attribute, GroupsLike
from wordbias.workers import Workers

_STORED = "study.json"
_TITLES = {
    ("explicit", "nouns"): "Table 1, nouns: man, guy, gentleman; woman, girl, lady",
    ("explicit", "pronouns"): "Table 1, pronouns: he; she",
    ("occupations", "occupations"): "Table 2: stereotypical occupations",
    ("names", "names"): "Table 4: first names",
}


@public
@names_families
def mab_study(
    embeddings: EmbeddingsLike,
    *,
    train: PairsLike,
    dev: PairsLike,
    test: PairsLike | None = None,
    output: str | os.PathLike[str],
    seeds: int | Sequence[int] = (0, 1),
    recipe: str = "fast",
    epochs: int | None = None,
    permute_weights: bool = False,
    only: str | Sequence[str] | None = None,
    center: bool = False,
    as_published: bool = False,
    groups: GroupsLike | None = None,
    sembias: str | os.PathLike[str] | None = None,
    sets: Places = (),
    device: str | None = None,
    precision: str = PRECISIONS[0],
    jobs: int | None = None,
    backend: str = "loky",
    skip_bad: bool = False,
    allow_pickle: bool = False,
    cache: bool = True,
) -> Report:
    """Repeat the study of Dawkins (2021) on ``embeddings``, the first being the original.

    For each embedding and seed an NLI model is trained and its marked attribute bias measured
    (Tables 1, 2, 4); each embedding's classic measures are taken (Table 6), with ``sets`` its
    quality too (Table 3); and E of the gendered nouns is correlated with every measure (Table 5).
    With ``groups`` measures and test sets are about its two groups. What was done stays in the
    folder: the same call goes on after an interruption, and a call with more embeddings does only
    what is new.

    Parameters
    ----------
    embeddings : path, fetched name, Embedding, KeyedVectors, (words, vectors), or several
        What is compared, of one dimension.
    train : path, list of (label, premise, hypothesis) or pandas frame
        Pairs to train on: jsonl or tabbed.
    dev : path, list of (label, premise, hypothesis) or pandas frame
        Pairs that choose the best epoch.
    test : path, list of (label, premise, hypothesis) or pandas frame, optional
        Pairs to test the best epoch on.
    output : path
        Folder of models, rows and study.json.
    seeds : int or sequence of int
        One model each.
    recipe : str
        Settings to start from; other options change one.
    epochs : int, optional
        At most.  [default: the recipe's]
    permute_weights : bool
        Add MISP of the first embedding with the 23 wrong weightings of appendix C.
    only : sequence of str, optional
        Measures: some of {measures}.  [default: all but {others}]
    center : bool
        Centre the differences, as the paper's one-sided PCA does; their mean drops out.
    as_published : bool
        The settings of the paper: of the measures, as in wordbias measure, and of MISP in
        ``permute_weights``.
    groups : name, path or mapping, optional
        gender, gender-de, age, religion:A,B, ethnicity:A,B, or a TOML file.
    sembias : path or fetched name, optional
        The SemBias test set, which is not ours to ship.
    sets : path, fetched name, or several
        Folder or file of sets to test the vectors' quality.
    device : str, optional
        cpu, cuda or mps.  [default: the first of cuda, mps, cpu that is there]
    precision : str
        Of matrix products.
    jobs : int, optional
        Models at a time on a CPU.  [default: --threads; on a cluster all workers]
    backend : str
        Here (loky), or the cluster of DASK_SCHEDULER_ADDRESS or RAY_ADDRESS.
    skip_bad : bool
        Drop and count rows that cannot be used.
    allow_pickle : bool
        Open gensim .kv files, which are pickles and can run any code.
    cache : bool
        Keep parsed text to be memory-mapped the next time.

    Returns
    -------
    Report
        Rows of every model (with its ``seed``), their means over seeds (``seeds``, ``spread``),
        the measures and the quality of every embedding, and the correlations with E. A set whose
        words an embedding lacks has rows without a value but a ``reason``.

    Raises
    ------
    WordbiasError
        If torch is missing, a file or a setting cannot be used, no marked set can be scored with
        any embedding, or the folder holds models or measures that were made otherwise.

    References
    ----------
    Dawkins, H. (2021). Marked attribute bias in natural language inference. Findings of ACL 2021.

    Examples
    --------
    >>> import wordbias as wb
    >>> original = wb.Embedding.load("glove.txt")  # doctest: +SKIP
    >>> wb.mab_study(
    ...     [original, wb.misp(original)],
    ...     train="snli_train.jsonl",
    ...     dev="snli_dev.jsonl",
    ...     output="study",
    ... )  # doctest: +SKIP
    """
    folder = Path(output)
    check_growing(folder)
    if folder.is_dir():
        check_writable(folder / _STORED)
    half = is_half(precision)
    chosen = recipe_named(recipe, epochs=epochs)
    reading, workers = Reading(cache, skip_bad, allow_pickle), Workers(jobs, backend)
    subjects = [open_subject(one, reading) for one in as_list(embeddings)]
    need("torch", extra="torch", purpose="The study")
    from wordbias.nli import study
    from wordbias.nli import study as study_rows

    centred = center or as_published
    studied = [subject.embedding for subject in subjects]
    if permute_weights:
        studied = study.with_permuted_weights(studied, center=centred)
    places = places_of(sets)
    plan = study.Plan(
        studied,
        {"train": load_pairs(open_pairs(train)), "dev": load_pairs(open_pairs(dev))},
        folder,
        chosen,
        list(dict.fromkeys(seeds_of(seeds))),
        half,
        None if test is None else load_pairs(open_pairs(test)),
        names_of(only) or STANDARD,
        SemBias.load(located(os.fspath(sembias))) if sembias else None,
        find_sets(*map(located, places)) if places else (),
        Attribute.load(groups),
        center=centred,
        as_published=as_published,
    )
    missing = study_rows.skipped(plan)
    for said in missing:
        note(said)
    rows = study.run(plan, device=device, workers=workers)
    report = _report(
        rows,
        {subject.embedding.name: subject.info.to_dict() for subject in subjects},
        f"Embeddings: {len(plan.embeddings)}. Models of each: {len(plan.seeds)}.",
        folder,
        missing,
    )
    with replacing(folder / _STORED) as file:
        file.write(report.render("json").encode())
    return report


def _report(
    rows: Sequence[Row],
    inputs: dict[str, Facts],
    heading: str,
    folder: Path,
    missing: Sequence[str] = (),
) -> Report:
    related = correlations_with_error(rows)
    closing = [f"Kept in {folder}: models, rows, {_STORED}."]
    tables = [_correlation_table(related)]
    if all(row.value is None for row in related):
        tables, least = [], "Correlations with E (Table 5) need at least 3 embeddings."
        closing.insert(0, least)
    return Report(
        inputs=inputs,
        rows=[*rows, *related],
        tables=[
            _errors_table(rows),
            *_marked_tables(rows),
            *quality_tables([row for row in rows if row.measure in QUALITY]),
            *measures_tables(intrinsic(rows)),
            *tables,
        ],
        heading=[heading],
        closing=[*(f"{said}." for said in missing), *closing],
        notes=["Few embeddings and seeds: read correlations as descriptions, not as tests."],
    )


def _errors_table(rows: Sequence[Row]) -> Table:
    """One line an embedding: accuracy, and E and d of the gendered nouns, with their spread."""
    averaged = [row for row in rows if "seeds" in row.details]
    subjects = list(dict.fromkeys(row.subject for row in averaged))
    first = settings(averaged)[0]
    columns = {
        "dev": ("snli-accuracy", "dev", None),
        "test": ("snli-accuracy", "test", None),
        "E": ("mab-error", *first),
        "d": ("mab-distance", *first),
    }
    shown = {name: what for name, what in columns.items() if _find(averaged, *what)}
    cells = []
    for subject in subjects:
        own = [row for row in averaged if row.subject == subject]
        cells.append([subject, *(_with_spread(_find(own, *what)) for what in shown.values())])
    return Table(
        f"Accuracy, and marked attribute bias of the {first[1]} (± spread over seeds)",
        ["", *shown],
        cells,
        "Accuracy on dev and test: higher is better. E: how far mean probabilities are from "
        "neutral, which is always right; d: how far those of both groups are apart. Both are 0 "
        "without bias, and lower is better.",
    )


def _marked_tables(rows: Sequence[Row]) -> list[Table]:
    """Tables 1, 2 and 4: mean (N, E, C) of both groups, d and E, averaged over seeds."""
    averaged = [row for row in rows if "seeds" in row.details]
    subjects = list(dict.fromkeys(row.subject for row in averaged))
    groups = groups_of(averaged)
    titles = _TITLES if groups == GENDERS else {}
    return [
        Table(
            titles.get(key, f"{' and '.join(groups).capitalize()}: {key[1]}"),
            ["", *heads(groups), "d", "E"],
            [[s, *_marked(averaged, s, groups, *key)] for s in subjects],
        )
        for key in settings(averaged)
    ]


def _marked(
    rows: Sequence[Row], subject: str, groups: Sequence[str], of: str, setting: str
) -> list[str]:
    own = [row for row in rows if row.subject == subject]
    means = [_find(own, measure, of, setting, group) for group in groups for measure in MEANS]
    bias = [_find(own, measure, of, setting) for measure in BIAS[:2]]
    return ["" if row is None else number(row.value, 3) for row in (*means, *bias)]


def _correlation_table(rows: Sequence[Row]) -> Table:
    """One line a measure: how it goes with E."""
    cells = []
    for row in rows:
        p = row.details["p"]
        r, n = number(row.value, 3), str(row.details["n"])
        cells.append([str(row.details["x"]), r, n, "–" if p is None else f"{p:.3f}"])
    return Table(
        "Table 5: correlation with E, as above",
        ["", "Pearson r", "embeddings", "p"],
        cells,
        "p assumes normal values, and is not corrected for the number of measures.",
    )


def _find(
    rows: Sequence[Row], measure: str, of: str, setting: str | None, group: str | None = None
) -> Row | None:
    wanted = (measure, of, setting, group)
    for row in rows:
        got = row.details
        if (row.measure, got.get("set"), got.get("setting"), got.get("group")) == wanted:
            return row
    return None


def _with_spread(row: Row | None) -> str:
    if row is None:
        return ""
    spread = row.details.get("spread")
    return number(row.value) + ("" if spread is None else f" ±{spread:.4f}")
