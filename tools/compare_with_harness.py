"""Compare the likelihoods of `wordbias likelihood` with those of lm-evaluation-harness.

python tools/compare_with_harness.py MODEL [--data PATH ...] [--perplexity TEXT] [--items 40]

The harness runs its own tasks, with its own prompts, choices and aggregation, on the same model in
memory; only the data come from the files given: CrowS-Pairs, Winogender and BBQ, the data sets that
it has. Every log-likelihood of an item is compared, and the measures that both report. The exit
status is 1 if a log-likelihood differs by more than the tolerance. All is computed in float64: in
float32 a sentence is rounded by up to 3e-4, otherwise in a batch of another shape.

It needs an environment of its own: python -m venv harness; harness/bin/pip install lm-eval torch
transformers -e .
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wordbias.models import perplexity
from wordbias.models.causal_model import CausalModel
from wordbias.results import Row
from wordbias.stereotypes import bbq, crows_pairs, pairs, winogender
from wordbias.stereotypes.bbq import BBQ
from wordbias.stereotypes.coreference import score_questions
from wordbias.stereotypes.crows_pairs import CrowsPairs
from wordbias.stereotypes.scores import Settings
from wordbias.stereotypes.text_sets import load_text_set
from wordbias.stereotypes.winogender import Winogender
from wordbias.text_files import read_text

TOLERANCE = 1e-5
"""Largest difference of two log-likelihoods, in nats: norms are float32, 6e-8 of 100 nats."""
_TASKS = {
    "crows_pairs_english": "crows_pairs/crows_pairs_english.yaml",
    "winogender_all": "winogender/winogender.yaml",
    "bbq": "bbq/bbq_multiple_choice.yaml",
}


class Compared(NamedTuple):
    """Log-likelihoods of a task, shape ``(n,)`` each, and measures that both report."""

    task: str
    items: int
    ours: np.ndarray[Any, Any]
    theirs: np.ndarray[Any, Any]
    measures: Mapping[str, tuple[float, float]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one line a task and one a measure; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model")
    parser.add_argument("--data", action="append", default=[], help="may be repeated")
    parser.add_argument("--perplexity", metavar="TEXT")
    parser.add_argument("--items", type=int, default=40, help="items of each data set")
    given = parser.parse_args(arguments)
    from lm_eval.models.huggingface import HFLM

    harness = HFLM(given.model, device="cpu", dtype="float64", batch_size=8)
    model = CausalModel.load((harness.model, harness.tokenizer))
    print(f"lm_eval {importlib.metadata.version('lm_eval')}, {given.model}")
    worst = 0.0
    for job in compared(harness, model, given.data, given.perplexity, given.items):
        difference = float(np.abs(job.ours - job.theirs).max())
        worst = max(worst, difference)
        print(
            f"{job.task}: {job.items} items, {len(job.ours)} log-likelihoods, largest difference "
            f"{difference:.1e}"
        )
        for name, (ours, theirs) in job.measures.items():
            print(f"  {name}: wordbias {ours:.6f}, harness {theirs:.6f}")
    return int(worst > TOLERANCE)


def compared(
    harness: Any, model: CausalModel, paths: Sequence[str], text: str | None, items: int
) -> Iterator[Compared]:
    """Yield the comparison of each data set, and of a text."""
    for path in paths:
        data = load_text_set(path)
        if isinstance(data, CrowsPairs):
            yield sentences(harness, model, replace(data, pairs=data.pairs[:items]))
        elif isinstance(data, Winogender):
            yield winogender_all(harness, model, replace(data, sentences=data.sentences[:items]))
        elif isinstance(data, BBQ):
            yield questions(harness, model, replace(data, questions=data.questions[:items]), path)
        else:
            sys.exit(f"{path}: the harness has no task of it")
    if text is not None:
        yield rolling(harness, model, read_text(text).text)


def run(harness: Any, task: str, docs: Sequence[Mapping[str, Any]]) -> tuple[Any, Any]:
    """Run a task of the harness on documents; return its samples and its measures."""
    import lm_eval
    from lm_eval.tasks._yaml_loader import load_yaml

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "docs.jsonl"
        file.write_text("".join(json.dumps(doc) + "\n" for doc in docs), encoding="utf-8")
        config = load_yaml(Path(lm_eval.__file__).parent / "tasks" / _TASKS[task])
        config |= {"dataset_path": "json", "test_split": "train", "dataset_name": None}
        config["dataset_kwargs"] = {"data_files": str(file), "cache_dir": folder}
        evaluation = lm_eval.simple_evaluate(
            model=harness, tasks=[config], log_samples=True, bootstrap_iters=0
        )
    samples = sorted(evaluation["samples"][task], key=lambda sample: int(sample["doc_id"]))
    return samples, evaluation["results"][task]


def likelihoods(samples: Sequence[Any]) -> list[list[float]]:
    """Return the log-likelihoods of the choices of each sample."""
    return [[float(choice[0]) for choice in sample["filtered_resps"]] for sample in samples]


def value(rows: Sequence[Row], measure: str, **about: object) -> float:
    """Return the value of the only row with these details."""
    (row,) = (
        candidate
        for candidate in rows
        if candidate.measure == measure
        and all(candidate.details.get(k) == v for k, v in about.items())
    )
    return float("nan") if row.value is None else row.value


def sentences(harness: Any, model: CausalModel, data: CrowsPairs) -> Compared:
    """Compare both sentences of pairs, the share of stereotypes and the mean difference."""
    docs = [
        {"sent_more": pair.more, "sent_less": pair.less, "bias_type": pair.bias_type}
        for pair in data.pairs
    ]
    samples, theirs = run(harness, "crows_pairs_english", docs)
    scores = pairs.score_pairs(model, [(pair.more, pair.less) for pair in data.pairs])
    rows = crows_pairs.likelihood_rows(data, scores, "", Settings(as_published=True))
    about = {"subset": "all", "score": pairs.SUM}
    measures = {
        "pct_stereotype": (value(rows, "crows", **about), theirs["pct_stereotype,none"]),
        "likelihood_diff": (
            value(rows, "likelihood-difference", **about),
            theirs["likelihood_diff,none"],
        ),
    }
    expected = np.array(likelihoods(samples)).ravel()
    return Compared("crows_pairs", len(docs), scores.total.ravel(), expected, measures)


def winogender_all(harness: Any, model: CausalModel, data: Winogender) -> Compared:
    """Compare both candidates of sentences, and the accuracy."""
    docs = [
        {
            "sentence": sentence.text,
            "pronoun": sentence.pronoun,
            "occupation": sentence.occupation,
            "participant": sentence.participant,
            "gender": sentence.gender,
            "label": int(not sentence.to_occupation),
        }
        for sentence in data.sentences
    ]
    samples, theirs = run(harness, "winogender_all", docs)
    scores = score_questions(
        model, [sentence.question for sentence in data.sentences], winogender.TASK
    )
    rows = winogender.winogender_rows(data, scores, "")
    accuracy = value(rows, "coreference-accuracy", subset="all", score=pairs.SUM)
    expected = [
        both if sentence.to_occupation else both[::-1]
        for both, sentence in zip(likelihoods(samples), data.sentences, strict=True)
    ]
    measures = {"acc": (accuracy, theirs["acc,none"])}
    return Compared(
        "winogender", len(docs), scores.total.ravel(), np.array(expected).ravel(), measures
    )


def questions(harness: Any, model: CausalModel, data: BBQ, path: str) -> Compared:
    """Compare twelve answers to each question, the accuracy and the bias scores."""
    files = sorted(Path(path).glob("*.jsonl")) if Path(path).is_dir() else [Path(path)]
    lines = [line for file in files for line in file.read_text("utf-8").split("\n") if line.strip()]
    docs = [json.loads(line) for line in lines[: len(data.questions)]]
    samples, theirs = run(harness, "bbq", docs)
    scores = bbq.score_bbq(model, data, as_published=True)
    rows = bbq.bbq_rows(data, scores, "")
    ours = [
        [*own[question.known], *unknown]
        for question, own, unknown in zip(
            data.questions, scores.own.total, scores.unknown.total, strict=True
        )
    ]
    subset = (
        "all"
        if len({question.category for question in data.questions}) > 1
        else docs[0]["category"]
    )
    about = {"subset": subset, "score": pairs.SUM, "answers": bbq.HARNESS}
    names = {"amb": bbq.AMBIGUOUS, "disamb": bbq.DISAMBIGUATED}
    measures = {}
    for short, condition in names.items():
        if any(question.condition == condition for question in data.questions):
            accuracy = value(rows, "bbq-accuracy", condition=condition, **about)
            measures[f"accuracy_{short}"] = (accuracy, theirs[f"accuracy_{short},none"])
            bias = value(rows, "bbq-bias", condition=condition, **about)
            measures[f"{short}_bias_score"] = (bias, theirs[f"{short}_bias_score,none"])
    expected = np.array(likelihoods(samples)).ravel()
    return Compared("bbq", len(docs), np.array(ours).ravel(), expected, measures)


def rolling(harness: Any, model: CausalModel, text: str) -> Compared:
    """Compare the log-likelihood of a text, in windows of the model's length, per token."""
    from lm_eval.api.instance import Instance

    request = Instance("loglikelihood_rolling", {}, (text,), 0)
    (total,) = harness.loglikelihood_rolling([request], disable_tqdm=True)
    length = harness.max_length
    rows = perplexity.perplexity_rows(model, text, "", length=length)
    n = rows[0].details["n"]
    ours = np.log([value(rows, "perplexity")])
    bits = {
        "bits_per_byte": (value(rows, "bits-per-byte"), -total / len(text.encode()) / np.log(2))
    }
    return Compared("perplexity", n, ours, np.array([-total / n]), bits)


if __name__ == "__main__":
    sys.exit(main())
