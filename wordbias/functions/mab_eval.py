"""Marked attribute bias of an NLI model of wordbias or Hugging Face, or of given predictions."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from wordbias.arguments import check_choice
from wordbias.calls import public
from wordbias.embedding import Embedding, EmbeddingLike
from wordbias.errors import UsageError
from wordbias.formats.source import sha256_of
from wordbias.functions.inputs import ReadOptions, names_of
from wordbias.functions.lists import templates_of
from wordbias.functions.nli_models import File, open_nli_model
from wordbias.functions.tables import p_value
from wordbias.nli.files import Model
from wordbias.nli.hugging_face import Classifier
from wordbias.nli.mab import BIAS, MEANS, PARTITIONS, Settings, mab_rows, word_rows
from wordbias.nli.predictions import Predictions, PredictionsFrame, split_by_set
from wordbias.nli.scoring import notes_on_missing_words, notes_on_vectors, score_set
from wordbias.nli.test_sets import GENDERS, MARKED, TestSet, build, marked_sets, with_known_words
from wordbias.pretrained import ModelLike
from wordbias.rendering import Table, how_many
from wordbias.results import Report, Row, number
from wordbias.wordlists import GroupsLike, Templates, other_than_gender

ALL = "all"
CHOICES = (*MARKED, ALL)
_OVER_LISTS = (
    "Over lists: {} of each group's words, the verbs and the objects, as many, with replacement. "
)
_LABELS = {
    "mab-distance": "distance d",
    "mab-error": "error E",
    "mab-error-per-pair": "error E, per pair",
}


@public
def mab_eval(
    embedding: EmbeddingLike | None = None,
    *,
    model: File | Model | None = None,
    predictions: File | PredictionsFrame | NDArray[np.floating] | None = None,
    hf: ModelLike | None = None,
    labels: str | Sequence[str] | None = None,
    device: str | None = None,
    set: str | None = None,
    groups: GroupsLike | None = None,
    lists: File | Templates | None = None,
    as_published: bool = False,
    words: bool = False,
    draws: int = PARTITIONS,
    strict: bool = False,
    seed_lists: int | None = None,
    skip_bad: bool = False,
    allow_pickle: bool = False,
    cache: bool = True,
    seed: int = 0,
) -> Report:
    """Measure marked attribute bias (Dawkins 2021): a person entails he, but not she.

    The premise is "A person bought a hat .", the hypothesis "He bought a hat ." or "A woman bought
    a hat .", and neutral is always right. This evaluates an NLI model that was trained on
    ``embedding`` (wordbias nli-train), the predictions of another system for the pairs that
    wordbias mab-build writes, or a Hugging Face model; by default the model that comes with
    wordbias, on the sample. With ``groups`` the hypotheses are about two other groups of people; if
    it has only names of people, the test set is ``set`` names.

    ``seed_lists`` adds an interval over word lists: the words of each group, the verbs and the
    objects are drawn again, as many, with replacement, and the sentences of the drawn words are
    averaged. The sentences are scored once.

    Parameters
    ----------
    embedding : path, fetched name, Embedding, KeyedVectors or (words, vectors), optional
        The embedding that the model reads; by default the sample that comes with wordbias.
    model : path or wordbias.nli.files.Model, optional
        Model that nli-train wrote.  [default: one trained on the sample]
    predictions : path, pandas frame or array, optional
        Evaluate the predictions of any other system.
    hf : str, (model, tokenizer) or pipeline, optional
        Evaluate a Hugging Face model: a folder or a hub name.
    labels : sequence of str, optional
        With ``hf``: order of its outputs, neutral,entailment,contradiction.
    device : str, optional
        With ``hf``: auto, cpu, cuda or mps.  [default: auto, the first available of cuda, mps,
        cpu]
    set : str, optional
        Test set.  [default: explicit]
    groups : name, path or mapping, optional
        Groups to compare: gender, gender-fr, age, religion:A,B, … (wordbias lists), or a TOML file.
    lists : path or wordbias.wordlists.Templates, optional
        Word lists in the layout of Dev et al. (2020).
    as_published : bool
        Choose "a" or "an" by the first letter only, as the published sets do: a SUV.
    words : bool
        Show each word as well.
    draws : int
        Number of partitions of the permutation test over words.
    strict : bool
        Compute p as published: share of d* > d, which can be 0.
    seed_lists : int, optional
        Number of redraws of the test sets' words, for a 95 % interval over them.
    skip_bad : bool
        Drop and count rows that cannot be used.
    allow_pickle : bool
        Open gensim .kv files, which are pickles and can run any code.
    cache : bool
        Cache parsed text; later calls memory-map it.
    seed : int
        Seed of everything random.

    Returns
    -------
    Report
        For each kind of word (``setting``: nouns, pronouns, …) the mean (N, E, C) of each
        ``group``, the distance d between them with its p, and the error E, with bootstrap intervals
        over premises; with ``words`` the same of each ``word``; with ``seed_lists`` the interval
        over word lists (``lists_low``, ``lists_high``).

    Raises
    ------
    UsageError
        If two systems are given, or an argument would do nothing.
    WordbiasError
        If a file or object cannot be used, predictions are missing, or the embedding lacks words
        that the sets ask about.

    Notes
    -----
    Predictions in a frame have the columns of a file: premise, hypothesis, and one each that begins
    with neutral, entail and contradict. An array of shape ``(n, 3)`` has (N, E, C) of the pairs in
    the order in which ``wordbias mab-build`` writes them, one set after the other. A loaded Hugging
    Face model computes on its own device, unless one is named.

    References
    ----------
    Dawkins, H. (2021). Marked attribute bias in natural language inference. Findings of ACL 2021.

    Examples
    --------
    >>> import wordbias as wb
    >>> report = wb.mab_eval(draws=100)
    >>> 0 < report["mab-error"][0].value < 1
    True
    """
    own = embedding is not None or model is not None
    if own + (predictions is not None) + (hf is not None) > 1:
        raise UsageError("choose one of EMBEDDING with --model, --predictions and --hf")
    if (labels is not None or device is not None) and hf is None:
        raise UsageError("--labels and --device are for --hf")
    check_choice("--set", set, CHOICES)
    if draws < 1:
        raise UsageError(f"--draws: expected 1 or more, got {draws}")
    attribute = other_than_gender(groups)
    templates = templates_of(lists)
    known = marked_sets(attribute)
    chosen = known if set == ALL else (known[0] if set is None else set,)
    tests = [
        build(one, templates, attribute=attribute, as_published=as_published) for one in chosen
    ]
    if predictions is not None:
        found = _given_predictions(predictions, tests)
    elif hf is not None:
        found = _predict_with_hugging_face(hf, labels, device, tests)
    else:
        found = _predict_with_own(
            model, embedding, ReadOptions(cache, skip_bad, allow_pickle), tests
        )
    settings = Settings(draws, strict, seed, seed_lists or 0)
    scored = list(zip(found.tests, found.probabilities, strict=True))
    rows = [row for test, p in scored for row in mab_rows(test, p, found.subject, settings)]
    single = [row for test, p in scored if words for row in word_rows(test, p, found.subject)]
    others = [one for one in known if one not in chosen]
    return Report(
        inputs=found.inputs,
        rows=[*rows, *single],
        tables=[_marked_table(rows), _bias_table(rows), *_words_tables(single)],
        heading=[f"Marked attribute bias of {found.described}."],
        closing=[f"--set {ALL} measures {' and '.join(others)} too."] if others else [],
        seed=seed,
        notes=found.notes,
    )


@dataclass(frozen=True)
class _Predicted:
    """Predictions of one system: (N, E, C) for each pair of each set."""

    subject: str
    described: str
    inputs: Mapping[str, Mapping[str, Any]]
    tests: Sequence[TestSet]
    probabilities: Sequence[NDArray[np.float32]]
    notes: Sequence[str] = ()


def _predict_with_own(
    given: File | Model | None,
    embedding: EmbeddingLike | None,
    read_options: ReadOptions,
    tests: Sequence[TestSet],
) -> _Predicted:
    """Predict the sets with decomposable attention on an embedding."""
    ours = open_nli_model(given, embedding, read_options)
    model, read = ours.model, ours.embedding
    reduced, left_out = _without_missing_words(model, read, tests)
    scored = [score_set(model, read, test) for test in reduced]
    about = {
        "path": ours.path,
        "sha256": "" if isinstance(given, Model) else sha256_of(ours.path),
        "parameters": model.parameters,
        "about": dict(model.about),
    }
    return _Predicted(
        read.name,
        ours.description(),
        {read.name: ours.subject.info.to_dict(), "model": about},
        reduced,
        [one.probabilities for one in scored],
        [*left_out, *notes_on_vectors(model, read), *notes_on_missing_words(scored, read)],
    )


def _without_missing_words(
    model: Model, embedding: Embedding, tests: Sequence[TestSet]
) -> tuple[list[TestSet], list[str]]:
    """Leave out words that the vectors lack, except from the published sets; note which."""
    reduced = [
        with_known_words(embedding, test, lower=model.lower) if test.groups != GENDERS else test
        for test in tests
    ]
    left_out = dict.fromkeys(
        filler.word
        for whole, part in zip(tests, reduced, strict=True)
        for filler in whole.hypotheses
        if filler not in part.hypotheses
    )
    note = f"{embedding.name} lacks {', '.join(left_out)}: left out of the hypotheses"
    return reduced, [note] if left_out else []


def _predict_with_hugging_face(
    given: ModelLike,
    labels: str | Sequence[str] | None,
    device: str | None,
    tests: Sequence[TestSet],
) -> _Predicted:
    """Predict the sets with a Hugging Face model."""
    classifier = Classifier.load(given, labels=names_of(labels) or None, device=device)
    name = classifier.name
    about = {"path": name, "labels": classifier.labels(), "device": classifier.device}
    return _Predicted(
        Path(name).name,
        f"the Hugging Face model {name}",
        {"model": about},
        tests,
        [classifier.score_set(test) for test in tests],
    )


def _given_predictions(
    given: File | PredictionsFrame | NDArray[np.floating], tests: Sequence[TestSet]
) -> _Predicted:
    """Return the given predictions of another system."""
    subject, path, described = "predictions", "in memory", "the predictions given"
    notes: list[str] = []
    if isinstance(given, (str, os.PathLike)) or hasattr(given, "itertuples"):
        if isinstance(given, (str, os.PathLike)):
            subject, path = Path(given).stem, os.fspath(given)
            described, read = f"the predictions in {path}", Predictions.load(path)
        else:
            read = Predictions.from_frame(cast("PredictionsFrame", given))
        sha256, pairs = read.sha256, len(read)
        probabilities = [read.for_set(test) for test in tests]
        if others := read.count_others(tests):
            notes = [f"{read.name}: {how_many(others, 'pair')} of no chosen set (--set) left out"]
    else:
        sha256, pairs = "", sum(map(len, tests))
        probabilities = split_by_set(given, tests)
    about = {"path": path, "sha256": sha256, "pairs": pairs}
    return _Predicted(subject, described, {"predictions": about}, tests, probabilities, notes)


def _marked_table(rows: Sequence[Row]) -> Table:
    """Tabulate one line a kind of word, with the columns of Dawkins (2021), Tables 1, 2 and 4."""
    cells, groups = [], groups_of(rows)
    for setting, own in _by_setting(rows).items():
        found = {(row.measure, row.details.get("group")): row for row in own}
        means = [_share(found[measure, group].value) for group in groups for measure in MEANS]
        bias = [found[measure, None] for measure in BIAS]
        values = [number(row.value, 3) for row in bias[:2]]
        cells.append([setting, *means, *values, p_value(bias[0].details.get("p"))])
    first, second = initials(groups)
    return Table(
        "Mean probabilities of neutral, entailment and contradiction, by group",
        ["", *probability_columns(groups), "d", "E", "p"],
        cells,
        f"{first}: {groups[0]}, {second}: {groups[1]}. The right answer is 1, 0, 0. "
        f"d = ‖{first} − {second}‖; E = mean distance of {first} and {second} from the right "
        f"answer{_about_p(rows)}.",
    )


def groups_of(rows: Sequence[Row]) -> tuple[str, str]:
    """Return the two groups that rows compare, in their order."""
    first, second = dict.fromkeys(row.details["group"] for row in rows if "group" in row.details)
    return first, second


def probability_columns(groups: tuple[str, str]) -> list[str]:
    """Return the names of six columns: N, E and C of either group."""
    return [f"{side} {label}" for side in initials(groups) for label in "NEC"]


def initials(groups: tuple[str, str]) -> tuple[str, str]:
    """Abbreviate the names of two groups by as few letters as make them differ."""
    n = next(n for n in range(1, max(map(len, groups)) + 1) if groups[0][:n] != groups[1][:n])
    return groups[0][:n].capitalize(), groups[1][:n].capitalize()


def _bias_table(rows: Sequence[Row]) -> Table:
    """Tabulate one line a measure of bias, with its intervals."""
    redraws = max((row.details.get("lists", 0) for row in rows), default=0)
    cells = [
        [
            f"{row.details['setting']}, {_LABELS[row.measure]}",
            number(row.value),
            f"{number(row.details['low'])} … {number(row.details['high'])}",
            *([_over_lists(row)] if redraws else []),
            f"{row.details['n']:,}",
        ]
        for row in rows
        if row.measure in BIAS
    ]
    return Table(
        "Marked attribute bias: 0 is none, lower is better",
        ["", "value", "95 %", *(["over lists"] if redraws else []), "pairs"],
        cells,
        ("95 %: a bootstrap" if redraws else "The intervals are a bootstrap")
        + " over premises; the words and the model are fixed. "
        + (_OVER_LISTS.format(how_many(redraws, "redraw")) if redraws else "")
        + ("Neither covers" if redraws else "They do not cover")
        + " the training seed: the same training under another seed gives other values, "
        "which mab-study shows.",
    )


def _over_lists(row: Row) -> str:
    ends = (number(row.details.get(f"lists_{end}")) for end in ("low", "high"))
    return " … ".join(ends) if "lists" in row.details else "–"


def _words_tables(rows: Sequence[Row]) -> list[Table]:
    """Tabulate one line a word, in one table a kind of word."""
    tables = []
    columns = ["", "group", "N", "E", "C", "error", "per pair"]
    for setting, own in _by_setting(rows).items():
        lines: dict[tuple[str, str], dict[str, float | None]] = {}
        for row in own:
            key = (row.details["word"], row.details["group"])
            lines.setdefault(key, {})[row.measure] = row.value
        ordered = sorted(lines.items(), key=lambda line: -(line[1]["mab-entailment"] or 0))
        measures = (*MEANS, *BIAS[1:])
        cells = [[*key, *(_share(found[one]) for one in measures)] for key, found in ordered]
        tables.append(Table(f"Words: {setting}, the most entailed first", columns, cells))
    return tables


def _by_setting(rows: Sequence[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.details["setting"], []).append(row)
    return found


def _share(value: float | None) -> str:
    """Format a number of at most √2 in five characters, so that tables fit."""
    return "–" if value is None else f"{value:.3f}"


def _about_p(rows: Sequence[Row]) -> str:
    """Return the end of a table's note that defines p, empty if there is none."""
    tested = [row.details for row in rows if "p" in row.details]
    if not tested:
        return ""
    event = "d* > d, as published" if tested[0]["strict"] else "d* ≥ d"
    kind = "all" if tested[0]["method"] == "exact" else f"{tested[0]['partitions']:,} random"
    return f"; p = share of {kind} partitions of the words with {event}"
