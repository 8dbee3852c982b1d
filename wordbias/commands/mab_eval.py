"""`wordbias mab-eval`: marked attribute bias of an NLI model, ours or anyone's."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from wordbias.commands.inputs import Reading, open_subject
from wordbias.commands.mab_views import (
    ALL,
    bias_table,
    chosen_sets,
    list_options,
    marked_table,
    words_tables,
)
from wordbias.commands.options import (
    attribute_option,
    common_options,
    format_option,
    given_arguments,
    note,
    reading_options,
    seed_option,
    show,
    split_names,
)
from wordbias.data import nli_sample_path
from wordbias.embedding import Embedding
from wordbias.nli.evaluation import Settings, mab_rows, word_rows
from wordbias.nli.files import Model
from wordbias.nli.fillers import GENDERS, MARKED, marked_sets
from wordbias.nli.hugging_face import Classifier
from wordbias.nli.known_words import known_part
from wordbias.nli.marked_attribute import PARTITIONS
from wordbias.nli.predictions import Predictions
from wordbias.nli.scoring import foreign, lacking, score_set
from wordbias.nli.test_sets import TestSet, build
from wordbias.resources import located
from wordbias.results import Report
from wordbias.wordlists import Attribute, Templates, other_than_gender


@click.command()
@click.argument("embedding", required=False)
@click.option(
    "--model", metavar="FILE", help="What nli-train wrote.  [default: trained on the sample]"
)
@click.option("--predictions", metavar="CSV", help="Judge the predictions of any other system.")
@click.option("--hf", metavar="MODEL", help="Judge a Hugging Face model: a folder or a hub name.")
@click.option(
    "--labels",
    callback=split_names,
    help="With --hf: order of its outputs, neutral,entailment,contradiction.",
)
@click.option("--device", help="With --hf: cpu or cuda.  [default: cuda if there is one]")
@click.option(
    "--set",
    "name",
    type=click.Choice([*MARKED, ALL]),
    help="Whom the hypotheses are about.  [default: explicit]",
)
@attribute_option
@list_options
@click.option("--words", is_flag=True, help="Show every word by itself, too.")
@click.option(
    "--draws",
    type=click.IntRange(1),
    default=PARTITIONS,
    show_default=True,
    help="Partitions of the permutation test over words.",
)
@click.option("--strict", is_flag=True, help="p as published: share of d* > d, which can be 0.")
@reading_options
@seed_option
@format_option
@common_options
def command(
    embedding: str | None,
    model: str | None,
    predictions: str | None,
    hf: str | None,
    labels: list[str] | None,
    device: str | None,
    name: str | None,
    attribute_file: str | None,
    lists: str | None,
    as_published: bool,
    words: bool,
    draws: int,
    strict: bool,
    skip_bad: bool,
    allow_pickle: bool,
    cache: bool,
    seed: int,
    to: str,
    quiet: bool,
) -> None:
    """Measure marked attribute bias (Dawkins 2021): a person entails he, but not she.

    The premise is "A person bought a hat .", the hypothesis "He bought a hat ." or "A woman
    bought a hat .", and neutral is always right. What is judged is an NLI model that was trained
    on EMBEDDING (wordbias nli-train), the predictions of another system for the pairs that
    wordbias mab-build writes, or a Hugging Face model. Without any of them it is the model that
    comes with wordbias, on the sample. With --attribute the hypotheses are about two other groups
    of people, in whatever words it has for them: --set names where it has only names.

    \b
    Examples:
      wordbias mab-eval
      wordbias mab-eval --set all --words
      wordbias mab-eval debiased.txt --model debiased.nli.safetensors
      wordbias mab-eval --attribute ethnicity:white,black --set names
      wordbias mab-eval --predictions predictions.csv --set names
      wordbias mab-eval --hf roberta-large-mnli --device cuda --format json
    """
    _check_usage(bool(embedding or model), bool(predictions), bool(hf), bool(labels or device))
    lists_read = Templates.load(located(lists))
    attribute = other_than_gender(attribute_file)
    names = chosen_sets(name, attribute)
    tests = [
        build(one, lists_read, attribute=attribute, as_published=as_published) for one in names
    ]
    if predictions is not None:
        judged = _from_file(predictions, tests)
    elif hf is not None:
        judged = _hugging_face(hf, labels, device, tests)
    else:
        judged = _ours(embedding, model, tests, Reading(cache, skip_bad, allow_pickle), quiet)
    settings = Settings(draws, strict, seed)
    both = list(zip(judged.tests, judged.probabilities, strict=True))
    rows = [row for test, p in both for row in mab_rows(test, p, judged.subject, settings)]
    shown = both if words else []
    single = [row for test, p in shown for row in word_rows(test, p, judged.subject)]
    report = Report(
        "mab-eval",
        given_arguments(),
        judged.inputs,
        [*rows, *single],
        [marked_table(rows), bias_table(rows), *words_tables(single)],
        [f"Marked attribute bias of {judged.described}."],
        _closing(names, attribute),
        seed,
        judged.notes,
    )
    show(report, to)
    for said in judged.notes:
        note(said, quiet)


@dataclass(frozen=True)
class _Judged:
    """What is judged, and its (N, E, C) for each pair of each set."""

    subject: str
    described: str
    inputs: Mapping[str, Mapping[str, Any]]
    tests: Sequence[TestSet]
    probabilities: Sequence[NDArray[np.float32]]
    notes: Sequence[str] = ()


def _check_usage(ours: bool, predictions: bool, hf: bool, of_hf: bool) -> None:
    if ours + predictions + hf > 1:
        raise click.UsageError("choose one of EMBEDDING with --model, --predictions and --hf")
    if of_hf and not hf:
        raise click.UsageError("--labels and --device are for --hf")


def _ours(
    name: str | None, file: str | None, tests: Sequence[TestSet], reading: Reading, quiet: bool
) -> _Judged:
    model = Model.load(file or nli_sample_path())
    subject = open_subject(name, reading, head=0, wanted=(), output=None, quiet=quiet)
    embedding = subject.embedding
    asked, left_out = _known(model, embedding, tests)
    scored = [score_set(model, embedding, test) for test in asked]
    about = {
        "path": file or str(nli_sample_path()),
        "sha256": hashlib.sha256(Path(file or nli_sample_path()).read_bytes()).hexdigest(),
        "parameters": model.parameters,
        "about": dict(model.about),
    }
    return _Judged(
        embedding.name,
        f"decomposable attention ({about['path']}) on {subject.described()}",
        {embedding.name: subject.info.to_dict(), "model": about},
        asked,
        [one.probabilities for one in scored],
        [*left_out, *foreign(model, embedding), *lacking(scored, embedding)],
    )


def _known(
    model: Model, embedding: Embedding, tests: Sequence[TestSet]
) -> tuple[list[TestSet], list[str]]:
    """Leave out words that vectors lack, but not of the sets that are published; say which."""
    asked = [
        known_part(embedding, test, lower=model.lower) if test.groups != GENDERS else test
        for test in tests
    ]
    left_out = list(
        dict.fromkeys(
            filler.word
            for whole, part in zip(tests, asked, strict=True)
            for filler in whole.hypotheses
            if filler not in part.hypotheses
        )
    )
    shown = ", ".join(left_out)
    said = f"{embedding.name} lacks {shown}: left out of the hypotheses"
    return asked, [said] * bool(left_out)


def _from_file(path: str, tests: Sequence[TestSet]) -> _Judged:
    found = Predictions.load(path)
    probabilities = [found.of(test) for test in tests]
    beside = found.beside(tests)
    return _Judged(
        Path(path).stem,
        f"the predictions in {path}",
        {"predictions": {"path": path, "sha256": found.sha256, "pairs": len(found)}},
        tests,
        probabilities,
        [f"{path}: {beside:,} pairs belong to no chosen set (--set) and were left out"]
        * bool(beside),
    )


def _hugging_face(
    name: str, labels: Sequence[str] | None, device: str | None, tests: Sequence[TestSet]
) -> _Judged:
    classifier = Classifier.load(name, labels=labels, device=device)
    about = {"path": name, "labels": classifier.labels(), "device": classifier.device}
    return _Judged(
        Path(name).name,
        f"the Hugging Face model {name}",
        {"model": about},
        tests,
        [classifier.score_set(test) for test in tests],
    )


def _closing(names: Sequence[str], attribute: Attribute | None) -> list[str]:
    others = [one for one in marked_sets(attribute) if one not in names]
    return [f"--set {ALL} measures {' and '.join(others)} too."] if others else []
