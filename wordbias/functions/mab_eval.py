"""Bias of an NLI model, or of given predictions, on sets of templates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from wordbias import cells
from wordbias.arguments import check_choice
from wordbias.calls import public, refuse_given
from wordbias.columns import TableLike
from wordbias.configuration import READS_VECTORS, current_config, uses
from wordbias.contextual.nli_fairness import PARITIES, Parity
from wordbias.embedding import EmbeddingLike
from wordbias.errors import UsageError
from wordbias.formats.files import check_outputs, check_writable, output_folder
from wordbias.functions.adapters import AdapterLike, open_adapter
from wordbias.functions.inputs import check_records, reading
from wordbias.functions.lists import templates_of
from wordbias.functions.mab_parity import open_labelled, parity_report
from wordbias.functions.nli_models import (
    File,
    Predicted,
    given_predictions,
    is_of_wordbias,
    predict_with_hugging_face,
    predict_with_own,
)
from wordbias.measures.registry import column_title
from wordbias.models.model_like import ModelLike
from wordbias.nli.files import Model
from wordbias.nli.mab import BIAS, MEANS, PARTITIONS, Settings, mab_rows, word_rows
from wordbias.nli.pairs import PairsLike
from wordbias.nli.test_sets import SETS, TestSet, build, marked_sets
from wordbias.pivot import Column, pivot, values
from wordbias.rendering import Table, how_many
from wordbias.reports import Report
from wordbias.results import Row
from wordbias.wordlists import GroupsLike, Templates, other_than_gender

ALL = "all"
CHOICES = (*SETS, ALL)
PARITY = "parity"
_UNMEASURED = "dev"
_OF_PARITY = ("snli", "adapter", "setting", "force", "parity", "output")
_OF_MARKED = ("by_word", "draws", "seed_lists")
_OF_HUGGING_FACE = ("label_order", "device", "adapter", "setting", "force")
_OF_MEASURING = ("embedding", "predictions", "label_order", "seed", *_OF_PARITY, *_OF_MARKED)
_OVER_LISTS = (
    "Over lists: {} of each group's words, the verbs and the objects, the same number with "
    "replacement. "
)


@public
@uses(*READS_VECTORS, "device")
def mab_eval(
    model: ModelLike | Model | None = None,
    *,
    embedding: EmbeddingLike | None = None,
    predictions: TableLike | NDArray[np.floating] | None = None,
    label_order: str | Sequence[str] | None = None,
    set: str | None = None,
    write: File | None = None,
    groups: GroupsLike | None = None,
    lists: File | Templates | None = None,
    as_published: bool = False,
    by_word: bool = False,
    draws: int = PARTITIONS,
    seed_lists: int | None = None,
    snli: PairsLike | None = None,
    adapter: AdapterLike | None = None,
    setting: str | Sequence[str] = (),
    force: bool = False,
    parity: Parity = PARITIES[0],
    output: File | None = None,
    seed: int = 0,
) -> Report:
    """Measure bias of an NLI model on templates: a person entails he, but not she.

    ``model`` is a file of wordbias nli-train, with its ``embedding``, or a Hugging Face model with
    three labels. The default is the small model that comes with wordbias, on the sample.
    ``predictions`` are those of any other system for the pairs that ``write`` writes. In every pair
    of a ``set`` the right answer is neutral:

      explicit     A person bought a hat . → A man, …, He, She      15,744 pairs
      occupations  … → A doctor, nurse, …: 16 + 16 stereotypes      62,976
      names        … → 32 + 32 first names                         125,952
      parity       The doctor … → The man, The woman                10,824
      dev          all occupations → six gendered words          1,936,512

    The first three sets, together called all, have two values: the distance d between the groups'
    mean answers, and the error E. The set parity has the accuracy, the parity, and their product,
    the fairness η. The set dev can only be written.

    Parameters
    ----------
    model : path, hub name, (model, tokenizer), pipeline or wordbias.nli.files.Model, optional
        The model to measure; by default the one that comes with wordbias.
    embedding : path, fetched name, Embedding, KeyedVectors or (words, vectors), optional
        With a model of nli-train: the embedding that it reads.  [default: the sample]
    predictions : path, pandas frame or array, optional
        Predictions of any other system for the pairs of the set, in place of ``model``.
    label_order : sequence of str, optional
        Order of a Hugging Face model's outputs, such as neutral,entailment,contradiction, if its
        config does not say it.
    set : str, optional
        Test set; all means explicit, occupations and names.  [default: explicit]
    write : path, optional
        Write the pairs of the set to this folder as CSV files, and measure nothing.
    groups : name, path or mapping, optional
        Groups to compare: gender, gender-fr, age, religion:A,B, … (wordbias lists), or a TOML file.
    lists : path, fetched name or wordbias.wordlists.Templates, optional
        Word lists for the test sets, in the layout of Dev et al. (2020).
    as_published : bool
        Choose "a" or "an" by the first letter only, as the published sets do: a SUV. Take p as the
        share of d* > d, which can be 0.
    by_word : bool
        With other sets than parity: show each word as well.
    draws : int
        With other sets than parity: number of partitions of the permutation test over words.
    seed_lists : int, optional
        With other sets than parity: number of redraws of their words, for a 95 % interval over
        them.
    snli : path, list of (label, premise, hypothesis) or pandas frame, optional
        With the set parity: labelled pairs, to measure accuracy as well.
    adapter : path or Adapter, optional
        With the set parity: adapter that wordbias project wrote; a Hugging Face model is measured
        with it as well.
    setting : str, or several
        With ``adapter``: its setting to remove, such as L11-11101; may be repeated.
    force : bool
        With ``adapter``: use it even if it was fitted on another model.
    parity : str
        Parity in η: labels must agree in the mean over templates (mean), or in every template
        (strict).
    output : path, optional
        With the set parity: file for the results of each occupation.
    seed : int
        Seed of everything random.

    Returns
    -------
    Report
        For each kind of word (``setting``: nouns, pronouns, …) the mean (N, E, C) of each
        ``group``, the distance d between them with its p, and the error E. These have bootstrap
        intervals over premises. ``by_word`` adds the same for each ``word``, and ``seed_lists`` the
        interval over word lists (``lists_low``, ``lists_high``). For the set parity the accuracy,
        both kinds of parity and η, with bootstrap intervals over occupations, for the unmodified
        model and for each ``setting`` of the adapter. ``snli`` adds the accuracy on its pairs, and
        whether the setting is ``viable``: it loses at most 5 points. With ``write`` a row for each
        file.

    Raises
    ------
    UsageError
        If two systems are given, or an argument would do nothing.
    WordbiasError
        If a file or object cannot be used, predictions are missing, or the embedding lacks words
        that the sets ask about. Also if the groups have no words for a set, or the adapter was
        fitted on another model.

    Notes
    -----
    The first three sets are from Dawkins (2021) and measure marked attribute bias. The set parity
    is the NLI fairness of Dawkins et al. (2024). Its accuracy is the share predicted neutral. Its
    parity is the share of occupations whose answer does not depend on gender. The set dev is from
    Dev et al. (2020).

    With ``groups`` the hypotheses are about two other groups of people, "A Christian man bought a
    hat .". If the groups have only names of people, the test set is the set names. A Hugging Face
    model is a folder, or a name on the hub.

    ``seed_lists`` draws the words of each group, the verbs and the objects again, the same number
    with replacement. It averages the sentences of the drawn words. The sentences are scored once.

    Predictions in a frame have the columns of a file: premise, hypothesis, and one each that begins
    with neutral, entail and contradict. An array of shape ``(n, 3)`` has (N, E, C) of the pairs in
    the order of the files that ``write`` writes, one set after the other. A written file has the
    columns id, pair type, premise_filler_word, hypothesis_filler_word, template_type, premise and
    hypothesis; with ``groups`` it is named after them. A loaded Hugging Face model computes on its
    own device, unless one is named.

    References
    ----------
    Dawkins, H. (2021). Marked attribute bias in natural language inference. Findings of ACL 2021.
    Dev, Li, Phillips and Srikumar (2020). On measuring and mitigating biased inferences of word
    embeddings. Dawkins, H., Nejadgholi, I., Gillis, D., & McCuaig, J. (2024). Projective methods
    for mitigating gender bias in pre-trained language models.

    Examples
    --------
    >>> import wordbias as wb
    >>> report = wb.mab_eval(draws=100)
    >>> 0 < report["mab-error"][0].value < 1
    True
    >>> 0 <= wb.mab_eval(set="parity")["nli-parity"][0].value <= 1
    True
    """
    how = current_config()
    check_choice("--set", set, CHOICES)
    read: dict[str, object] = {"MODEL": model, "--embedding": embedding, "--snli": snli}
    read |= {"--predictions": predictions, "--adapter": adapter, "--groups": groups}
    check_outputs({"-o": output}, read)
    check_records(output)
    attribute, templates = other_than_gender(groups), templates_of(lists)
    known = marked_sets(attribute)
    chosen = known if set == ALL else (known[0] if set is None else set,)
    if draws < 1:
        raise UsageError(f"--draws: expected 1 or more, got {draws}")
    own = is_of_wordbias(model)
    if model is not None and (predictions is not None or write is not None):
        raise UsageError("choose one of MODEL, --predictions and --write")
    _refuse_by_set(chosen, measured=write is None)
    _refuse_by_model(own, given=predictions is not None)
    tests = [
        build(name, templates, attribute=attribute, as_published=as_published) for name in chosen
    ]
    if write is not None:
        return _written(tests, write, named=attribute is not None)
    opened = open_adapter(adapter, setting, force=force)
    labelled = open_labelled(snli, own=own)
    if predictions is not None:
        predicted = given_predictions(predictions, tests)
    elif own:
        given = cast("File | Model | None", model)
        predicted = predict_with_own(given, embedding, reading(), tests)
    else:
        predicted = predict_with_hugging_face(
            cast("ModelLike", model), label_order, how.device, tests
        )
    if chosen == (PARITY,):
        return parity_report(predicted, parity, snli, labelled, opened, output=output, seed=seed)
    others = [name for name in known if name not in chosen]
    return _marked_report(
        predicted, Settings(draws, as_published, seed, seed_lists or 0), by_word, others
    )


def _refuse_by_set(chosen: Sequence[str], *, measured: bool) -> None:
    """Refuse arguments that do nothing for the chosen sets."""
    if not measured:
        refuse_given(_OF_MEASURING, "goes with a measurement, and --write measures nothing")
    elif _UNMEASURED in chosen:
        raise UsageError(f"--set={_UNMEASURED} is not measured; write its pairs by --write FOLDER")
    elif PARITY in chosen:
        refuse_given(_OF_MARKED, f"is for other sets than --set={PARITY}")
    else:
        refuse_given(_OF_PARITY, f"is for --set={PARITY}")


def _refuse_by_model(own: bool, *, given: bool) -> None:
    """Refuse arguments that do nothing for the kind of model, or for predictions that are given."""
    if given:
        refuse_given(("embedding", "snli"), "is for a model, and --predictions are given")
    if own or given:
        refuse_given(_OF_HUGGING_FACE, "is for a Hugging Face model")
    else:
        refuse_given(("embedding",), "is for a model file that wordbias nli-train wrote")


def _written(tests: Sequence[TestSet], write: File, *, named: bool) -> Report:
    """Write test sets as CSV files; name them after their groups if `named`."""
    with output_folder(write) as folder:
        names = [[*test.groups, test.name] if named else [test.name] for test in tests]
        files = [folder / f"{'-'.join(parts)}.csv" for parts in names]
        for file in files:
            check_writable(file)
        for test, file in zip(tests, files, strict=True):
            test.write(file)
    rows = []
    for test, file in zip(tests, files, strict=True):
        premises, words = len(test.premises) * len(test.templates), len(test.hypotheses)
        details = {
            "attribute": test.attribute,
            "set": test.name,
            "units": premises,
            "words": words,
            "file": str(file),
        }
        rows.append(Row(test.name, "pairs", len(test), details))
    columns = (("premises", cells.detail("units")), ("words", cells.detail("words")))
    heads = (*columns, ("pairs", cells.count), ("file", cells.detail("file")))
    table = pivot("Test sets written", rows, "set", values(*heads))
    return Report(rows=rows, tables=[table])


def _marked_report(
    predicted: Predicted, settings: Settings, words: bool, others: Sequence[str]
) -> Report:
    """Measure marked attribute bias; name the `others` of the marked sets."""
    scored = list(zip(predicted.tests, predicted.probabilities, strict=True))
    rows = [row for test, p in scored for row in mab_rows(test, p, predicted.subject, settings)]
    single = [row for test, p in scored if words for row in word_rows(test, p, predicted.subject)]
    return Report(
        inputs=predicted.inputs,
        rows=[*rows, *single],
        tables=[
            _marked_table(rows, predicted.tests[0].unmarked),
            _bias_table(rows),
            *_words_tables(single),
        ],
        heading=[f"Marked attribute bias of {predicted.described}."],
        closing=[f"--set {ALL} measures {' and '.join(others)} too."] if others else [],
        seed=settings.seed,
        notes=predicted.notes,
    )


def _marked_table(rows: Sequence[Row], unmarked: Sequence[str]) -> Table:
    """Tabulate one line a kind of word, with the columns of Dawkins (2021), Tables 1, 2 and 4."""
    groups = groups_of(rows)
    first, second = initials(groups)
    title = "Mean probabilities of neutral, entailment and contradiction, by group"
    of = {"1, 0, 0": [name for name in groups if name not in unmarked]}
    of["0, 1, 0"] = [name for name in groups if name in unmarked]
    both = [
        answer if len(names) == 2 else f"{answer} for {names[0]}"
        for answer, names in of.items()
        if names
    ]
    right = f"The right answer is {' and '.join(both)}."
    note = (
        f"{first}: {groups[0]}, {second}: {groups[1]}. {right} "
        f"d = ‖{first} − {second}‖; E = mean distance of {first} and {second} from the right "
        f"answer{_about_p(rows)}."
    )
    columns = marked_columns(groups) + values("p", measure=BIAS[0])
    return pivot(title, rows, "setting", columns, note)


def groups_of(rows: Sequence[Row]) -> tuple[str, str]:
    """Return the two groups that rows compare, in their order."""
    first, second = dict.fromkeys(row.details["group"] for row in rows if "group" in row.details)
    return first, second


def marked_columns(groups: tuple[str, str]) -> list[Column]:
    """Return eight columns: the mean N, E and C of either group, d and E."""
    columns = []
    for side, group in zip(initials(groups), groups, strict=True):
        for label, measure in zip("NEC", MEANS, strict=True):
            columns += values((f"{side} {label}", cells.share), measure=measure, group=group)
    return columns + values("d", measure=BIAS[0]) + values("E", measure=BIAS[1])


def initials(groups: tuple[str, str]) -> tuple[str, str]:
    """Abbreviate the names of two groups by as few letters as make them differ."""
    n = next(n for n in range(1, max(map(len, groups)) + 1) if groups[0][:n] != groups[1][:n])
    return groups[0][:n].capitalize(), groups[1][:n].capitalize()


def _bias_table(rows: Sequence[Row]) -> Table:
    """Tabulate one line a measure of bias, with its intervals."""
    redraws = max((row.details.get("lists_draws", 0) for row in rows), default=0)
    columns = values(
        "value", "95 %", ("over lists", cells.interval_of("lists")), ("pairs", cells.n)
    )
    note = (
        ("95 %: a bootstrap" if redraws else "The intervals are a bootstrap")
        + " over premises; the words and the model are fixed. "
        + (_OVER_LISTS.format(how_many(redraws, "redraw")) if redraws else "")
        + ("Neither covers" if redraws else "They do not cover")
        + " the training seed: training with another seed gives other values (see mab-study)."
    )

    def name(row: Row) -> str:
        return f"{row.details['setting']}, {column_title(row.measure)}"

    bias = [row for row in rows if row.measure in BIAS]
    return pivot("Marked attribute bias: 0 is none, lower is better", bias, name, columns, note)


def _words_tables(rows: Sequence[Row]) -> list[Table]:
    """Tabulate one line a word, in one table a kind of word."""
    columns = []
    for head, measure in zip(
        ("N", "E", "C", "error", "per pair"), (*MEANS, *BIAS[1:]), strict=True
    ):
        columns += values((head, cells.share), measure=measure)
    tables = []
    for setting in dict.fromkeys(row.details["setting"] for row in rows):
        own = [row for row in rows if row.details["setting"] == setting]
        first = {r.details["word"]: -(r.value or 0) for r in own if r.measure == "mab-entailment"}
        own.sort(key=lambda row: first[row.details["word"]])
        title = f"Words: {setting}, the most entailed first"
        tables.append(pivot(title, own, {"": "word", "group": "group"}, columns))
    return tables


def _about_p(rows: Sequence[Row]) -> str:
    """Return the end of a table's note that defines p, empty if there is none."""
    tested = [row.details for row in rows if "p" in row.details]
    if not tested:
        return ""
    method, _, published = tested[0]["method"].partition(", ")
    event = f"d* > d, {published}" if published else "d* ≥ d"
    kind = "all" if method == "exact" else f"{tested[0]['partitions']:,} random"
    return f"; p = share of {kind} partitions of the words with {event}"
