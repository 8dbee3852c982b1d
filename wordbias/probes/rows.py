"""Rows of probing results: the mean over seeds and its spread."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from wordbias.measures.registry import ideal
from wordbias.probes.accuracy import Probed
from wordbias.probes.inputs import Examples
from wordbias.probes.mdl import Coded, OnlineCode, to_published
from wordbias.results import Row
from wordbias.statistics import majority_share, wilson

TASK, CONTROL = "labels", "control"
COMPRESSION, PUBLISHED = "compression", "compression-as-published"
CODELENGTH, UNIFORM = "codelength", "uniform-codelength"
ACCURACY, SELECTIVITY = "probe-accuracy", "selectivity"


def code_rows(examples: Examples, coded: Sequence[Coded], *, one_layer: bool = False) -> list[Row]:
    """Return the rows of online codes, layer by layer.

    Parameters
    ----------
    examples
        Vectors and labels.
    coded
        Their codes, from `wordbias.probes.mdl.online_codes`.
    one_layer
        Leave out the number of the layer, for vectors that have no layers.
    """
    rows: list[Row] = []
    for layer in dict.fromkeys(one.code.layer for one in coded):
        chosen = [one for one in coded if one.code.layer == layer]
        about = {} if one_layer else {"layer": layer}
        rows += _coded(examples, TASK, [one.code for one in chosen], about)
        controls = [one.control for one in chosen if one.control is not None]
        if controls:
            rows += _coded(examples, CONTROL, controls, about)
            gained = [one.selectivity or 0.0 for one in chosen]
            seeds = [one.code.seed for one in chosen]
            rows.append(_selectivity(examples, gained, seeds, controls[0].blocks[-1].n, about))
    return rows


def _coded(
    examples: Examples, which: str, codes: Sequence[OnlineCode], about: dict[str, Any]
) -> Iterator[Row]:
    first, n = codes[0], codes[0].n
    share = float(np.mean([code.first / code.n for code in codes]))
    settings: list[tuple[str, Callable[[OnlineCode], float], dict[str, Any]]] = [
        (COMPRESSION, lambda code: code.compression, ideal(COMPRESSION)),
        (
            PUBLISHED,
            lambda code: code.compression_as_published,
            {"neutral": to_published(1, share), "better": "lower", "first_share": share},
        ),
        (
            CODELENGTH,
            lambda code: code.codelength,
            {
                "unit": "bits",
                "neutral": first.uniform,
                "better": "higher",
                "block_ends": [code.ends().tolist() for code in codes],
                "block_bits": [code.bits().tolist() for code in codes],
            },
        ),
        (UNIFORM, lambda code: code.uniform, {"unit": "bits", **ideal(UNIFORM)}),
    ]
    seeds = [code.seed for code in codes]
    shared = {**about, "set": which, "seeds": seeds, "n": n, "classes": len(examples.classes)}
    for measure, of, said in settings:
        yield _spread(examples, measure, [of(code) for code in codes], {**shared, **said})
    most = majority_share(examples.labels)
    tested = {**shared, "n": first.blocks[-1].n, "neutral": most, "better": "lower"}
    yield _spread(examples, ACCURACY, [code.accuracy for code in codes], tested)


def accuracy_rows(
    examples: Examples, probed: Sequence[Probed], *, one_layer: bool = False
) -> list[Row]:
    """Return the rows of probing accuracy, layer by layer; see `code_rows`.

    The interval is Wilson's, over the examples of one test; that of several seeds is not narrower,
    because their tests share examples.
    """
    rows = []
    for layer in dict.fromkeys(one.layer for one in probed):
        chosen = [one for one in probed if one.layer == layer]
        about = {} if one_layer else {"layer": layer}
        sets = {TASK: [one.tested for one in chosen]}
        sets[CONTROL] = [one.control for one in chosen if one.control is not None]
        seeds = [one.seed for one in chosen]
        for which, tested in sets.items():
            if not tested:
                continue
            n, found = tested[0].n, [one.accuracy for one in tested]
            low, high = wilson(float(np.mean(found)), n)
            neutral = float(np.mean([one.majority for one in chosen]))
            said = {"set": which, "seeds": seeds, "n": n, "low": low, "high": high}
            said |= {"neutral": neutral, "better": "lower", "classes": len(examples.classes)}
            rows.append(_spread(examples, ACCURACY, found, {**about, **said}))
        if sets[CONTROL]:
            gained = [one.selectivity or 0.0 for one in chosen]
            rows.append(_selectivity(examples, gained, seeds, chosen[0].tested.n, about))
    return rows


def _selectivity(
    examples: Examples, values: Sequence[float], seeds: Sequence[int], n: int, about: dict[str, Any]
) -> Row:
    said = {**about, "seeds": seeds, "n": n, **ideal(SELECTIVITY)}
    return _spread(examples, SELECTIVITY, values, said)


def _spread(examples: Examples, measure: str, values: Sequence[float], said: dict[str, Any]) -> Row:
    """Return a row of the mean; `sd` has ddof 1, and is undefined for a single seed."""
    sd = float(np.std(values, ddof=1)) if len(values) > 1 else None
    about = {**said, "sd": sd, "min": min(values), "max": max(values), "values": list(values)}
    return Row(examples.name, measure, float(np.mean(values)), about)
