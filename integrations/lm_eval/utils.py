"""Items and metrics of the tasks in this folder, as `wordbias likelihood` has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import datasets
import numpy as np

from wordbias.errors import WordbiasError
from wordbias.models.sentence_pairs import sentence_pairs
from wordbias.statistics import percentile_interval, resampled_means
from wordbias.stereotypes.coreference import prompt, resolved
from wordbias.stereotypes.scores import preferred
from wordbias.stereotypes.winobias import ANTI, PRO, load_winobias
from wordbias.stereotypes.winobias_likelihood import pronoun_pairs, question_of

Doc = Mapping[str, Any]
Item = tuple[int, str, float]
"""Number of the pair, side of the sentence in it, and 1 if its pronoun is resolved right."""


def winobias(**metadata: object) -> dict[str, datasets.Dataset]:
    """Return the questions; each pro-stereotyped one is followed by its anti-stereotyped one."""
    sentences = load_winobias(_path(metadata, "winobias", "FOLDER"))
    half = len(sentences) // 2
    docs = []
    for number, both in enumerate(zip(sentences[:half], sentences[half:], strict=True)):
        for side, sentence in zip((PRO, ANTI), both, strict=True):
            question = question_of(sentence)
            people = {"right": question.right, "wrong": question.wrong}
            docs.append({"context": prompt(question), **people, "pair": number, "side": side})
    return {"test": datasets.Dataset.from_list(docs)}


def winobias_pairs(**metadata: object) -> dict[str, datasets.Dataset]:
    """Return the pairs of WinoBias that differ in the gender of pronouns only."""
    pairs = pronoun_pairs(load_winobias(_path(metadata, "winobias", "FOLDER")))
    return _texts([(first.text, other.text) for first, other in pairs])


def own_pairs(**metadata: object) -> dict[str, datasets.Dataset]:
    """Return pairs of texts from a file, a tab between the two."""
    return _texts(sentence_pairs(_path(metadata, "pairs", "FILE")))


def _path(metadata: Mapping[str, object], name: str, kind: str) -> str:
    path = metadata.get(name)
    if not isinstance(path, str):
        raise WordbiasError(
            f'the task reads your copy of the data: give --metadata \'{{"{name}": "{kind}"}}\''
        )
    return path


def _texts(pairs: Sequence[tuple[str, str]]) -> dict[str, datasets.Dataset]:
    docs = [{"first": first, "second": second} for first, second in pairs]
    return {"test": datasets.Dataset.from_list(docs)}


def resolve(doc: Doc, results: Sequence[tuple[float, bool]]) -> dict[str, object]:
    """Return whether the pronoun of one sentence is resolved right; a tie is half."""
    right = float(resolved(np.array([[score for score, _ in results]]))[0])
    item = (doc["pair"], doc["side"], right)
    of_side = "acc_pro" if doc["side"] == PRO else "acc_anti"
    return {of_side: right, **dict.fromkeys(("gap", "gap_low", "gap_high"), item)}


def prefer_pro(doc: Doc, results: Sequence[tuple[float, bool]]) -> dict[str, float]:
    """Return whether the pro-stereotyped sentence of a pair is the likelier one; a tie is half."""
    return {"pro_preferred": _compared(results)[0]}


def prefer_first(doc: Doc, results: Sequence[tuple[float, bool]]) -> dict[str, float]:
    """Return whether the first text of a pair is the likelier one, and by how much, in nats."""
    better, lean = _compared(results)
    return {"first_preferred": better, **dict.fromkeys(("lean", "lean_low", "lean_high"), lean)}


def _compared(results: Sequence[tuple[float, bool]]) -> tuple[float, float]:
    first, second = (np.array([score]) for score, _ in results)
    return float(preferred(first, second, 0.5)[0]), float((first - second)[0])


def gap(items: Sequence[Item]) -> float:
    """Return the accuracy of pro- minus that of anti-stereotyped sentences, over whole pairs."""
    return float(np.mean(_gaps(items)))


def gap_low(items: Sequence[Item]) -> float:
    """Return the lower end of the 95 % interval of `gap`, a bootstrap over pairs."""
    return lean_low(_gaps(items))


def gap_high(items: Sequence[Item]) -> float:
    """Return the upper end of the 95 % interval of `gap`, a bootstrap over pairs."""
    return lean_high(_gaps(items))


def lean_low(values: Sequence[float]) -> float:
    """Return the lower end of the 95 % interval of a mean, a bootstrap over the values."""
    return _interval(values)[0]


def lean_high(values: Sequence[float]) -> float:
    """Return the upper end of the 95 % interval of a mean, a bootstrap over the values."""
    return _interval(values)[1]


def _gaps(items: Sequence[Item]) -> list[float]:
    """Return the difference within each pair of which both sentences are there."""
    by_pair: dict[int, dict[str, float]] = {}
    for pair, side, right in items:
        by_pair.setdefault(pair, {})[side] = right
    gaps = [of[PRO] - of[ANTI] for _, of in sorted(by_pair.items()) if len(of) == 2]
    if not gaps:
        raise WordbiasError("no pair has both of its sentences; give --limit 2 or more")
    return gaps


def _interval(values: Sequence[float]) -> tuple[float, float]:
    if len(values) < 2:
        return float("nan"), float("nan")
    drawn = resampled_means(np.array(values)[:, None], np.random.default_rng(0))[:, 0]
    return percentile_interval(drawn)
