"""What `wb.sweep` says over heads and beside random removals, computed again with torch and numpy.

Nothing of wordbias computes here but the sweep itself and `wb.project`, whose fitted directions,
and random ones of the same seeds, are taken as they are. The sentences are written out, BERT runs
them with removals by plain hooks, and S, D, η, their paired bootstraps, t intervals over heads,
sign-flip p and ranks among random removals are computed from its logits. Which items and removals a
bootstrap sample draws depends on the generator: it is asked in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from csv import DictReader
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import stand_ins
from numpy.typing import NDArray
from scipy import stats

import wordbias as wb

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]

Array = NDArray[np.float64]
Row = dict[str, Any]
SEED, DRAWS, SAMPLES, TOP, TEMPLATES = 4, 3, 1000, 0.5, 33
HEADS = (0, 1, 2)
NAMES = ("SENT-1", "L12-011", "L11-10010", "attn-01111")
"""A setting of each level, hard and soft, of one and two components, as if chosen before."""
# Both sides run float32, in batches of other shapes: products over at most 64 values, in an order
# that depends on the shape; and in each end of an interval over three heads 4.3 / √3 times as much.
SINGLE = 64 * 2.0**-24
HEADWISE = 4 * SINGLE
KEYS = {
    "setting": "setting",
    "against": "against",
    "of the setting": "setting_value",
    "over items": ("low", "high"),
    "over heads": ("heads_low", "heads_high"),
    "p": "p",
    "Holm": "p_holm",
    "spread": "sd",
    "excluded": "excluded",
    "reached": "reached",
    "draws": "draws",
}
"""Keys of a row: the one place where the test knows how they are spelled."""
BASE, NULL = "Base", "null"
MEASURES = {"strength": -1, "distance": -1, "fairness": 1}
"""Measures, and whether more is better."""


class Items(NamedTuple):
    """s and d of each triple; share of neutral pairs and parity of each occupation."""

    strength: Array
    distance: Array
    neutral: Array
    parity: Array


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("heads")
    for seed in HEADS:
        stand_ins.next_sentence_encoder(directory / f"nsp-{seed}", seed)
        stand_ins.nli_encoder(directory / f"nli-{seed}", seed + 10)
    stand_ins.gsss(directory / "gsss.csv")
    stand_ins.nli_table(directory / "snli.tsv.gz")
    stand_ins.word_lists(directory / "lists")
    columns = "strength,distance,parity,accuracy,fairness,snli_accuracy"
    table = [f"level,settings (n11 c11 n12 c12 np),{columns}", "Base,,.9,.9,.5,.5,.25,.8"]
    for name in NAMES:
        level, _, digits = name.partition("-")
        table.append(f"{level},{' '.join(digits)},.1,.1,.5,.5,.25,.8")
    (directory / "best.csv").write_text("\n".join(table) + "\n", encoding="utf-8")
    return directory


@pytest.fixture(scope="module")
def rows(folder: Path) -> list[Row]:
    report = wb.sweep(
        folder / "nsp-{seed}",
        nli=folder / "nli-{seed}",
        stereoset=folder / "gsss.csv",
        snli=folder / "snli.tsv.gz",
        lists=folder / "lists",
        top=TOP,
        repair=False,
        model_seeds=HEADS,
        null=DRAWS,
        best=folder / "best.csv",
        seed=SEED,
    )
    report_rows: list[Row] = report.to_dict()["rows"]
    return report_rows


# The models with removals


def _removed(x: Any, subspace: Any, n: int, dims: int | None) -> Any:
    """Remove the first components: n = 0 whole, n = 1 by their weights."""
    g, a = (
        torch.tensor(array[:dims], dtype=torch.float64)
        for array in (subspace.basis, subspace.weights)
    )
    wide = x.double()
    return (wide - ((wide @ g.T) * (a if n else 1)) @ g).to(x.dtype)


@contextmanager
def _removing(model: Any, adapter: Any, setting: str) -> Iterator[None]:
    """Remove what a published setting names: (n, c) of tokens, (n, c) of CLS, n of the sentence."""
    level, _, text = setting.partition("-")
    digits = [int(digit) for digit in text]
    fitted = {str(site): subspace for site, subspace in adapter.subspaces.items()}
    layers = model.bert.encoder.layer
    last = len(layers)
    head = model.classifier if hasattr(model, "classifier") else model.cls.seq_relationship
    handles = []

    def after(module: Any, site: str, n: int, dims: int | None, tokens: slice) -> None:
        def changed(_: Any, __: Any, output: Any) -> Any:
            new = (output[0] if isinstance(output, tuple) else output).clone()
            new[:, tokens] = _removed(new[:, tokens], fitted[site], n, dims)
            return (new, *output[1:]) if isinstance(output, tuple) else new

        handles.append(module.register_forward_hook(changed))

    every, first = slice(None), slice(0, 1)
    if level != BASE:
        last_vector = fitted["sentence"]
        handles.append(
            head.register_forward_pre_hook(
                lambda _, given: (_removed(given[0], last_vector, digits[-1], 1),)
            )
        )
    if len(digits) >= 3:
        after(layers[last - 1], f"cls@{last}", digits[-3], 1 + digits[-2], first)
    if len(digits) == 5:
        after(layers[last - 2], f"tokens@{last - 1}", digits[0], 1 + digits[1], every)
    for part in ("query", "key", "value") if level == "attn" else ():
        linear = getattr(layers[last - 2].attention.self, part)
        after(linear, f"{part}@{last - 1}", 0, None, every)
    yield
    for handle in handles:
        handle.remove()


def _probabilities(model: Any, inputs: Any) -> Array:
    with torch.no_grad():
        p: Array = model(**inputs).logits.double().softmax(-1).numpy()
    return p


@cache
def _loaded(folder: Path, purpose: str) -> Any:
    return getattr(transformers, f"AutoModelFor{purpose}").from_pretrained(folder).eval()


@cache
def _inputs(folder: Path, pairs: tuple[tuple[str, str], ...]) -> Any:
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    return tokenizer(*map(list, zip(*pairs, strict=True)), padding=True, return_tensors="pt")


@cache
def _triples(folder: Path) -> tuple[tuple[str, str], ...]:
    """Return the pairs of each triple: its three sentences, each before and after the swap."""
    with (folder / "gsss.csv").open(encoding="utf-8") as file:
        lines = list(DictReader(file))
    return tuple(
        pair
        for line in lines  # in the file: stereotype, anti-stereotype, unrelated
        for pair in (
            (line["context"], line["next_sentence"]),
            (line["gender_swapped_context"], line["gender_swapped_next_sentence"]),
        )
    )


@cache
def _questions() -> tuple[tuple[str, str], ...]:
    """Cross the few words of the lists: occupations, man and woman, 33 times what they did."""
    did = ["ate a pie", *(f"bought a {x}" for x in ("bed", "car", "cow", "cup", "hat", "pie"))]
    did += ["drove a car", "saw a friend", "saw a king"]
    return tuple(
        (
            f"The {occupation} {did[i * len(did) // TEMPLATES]}.",
            f"The {person} {did[i * len(did) // TEMPLATES]}.",
        )
        for occupation in ("nurse", "doctor", "teacher")
        for person in ("man", "woman")
        for i in range(TEMPLATES)
    )


def _items(folder: Path, head: int, of_nsp: Any, of_nli: Any, setting: str) -> Items:
    nsp, nli = folder / f"nsp-{head}", folder / f"nli-{head}"
    model = _loaded(nsp, "NextSentencePrediction")
    with _removing(model, of_nsp, setting):
        p = _probabilities(model, _inputs(nsp, _triples(folder)))[:, 0].reshape(-1, 3, 2)
    gap = p[:, 0] - p[:, 1]  # the swap exchanges stereotype and anti-stereotype
    model = _loaded(nli, "SequenceClassification")
    with _removing(model, of_nli, setting):
        q = _probabilities(model, _inputs(nli, _questions())).reshape(3, 2, TEMPLATES, 3)
    label = q.mean(2).argmax(-1)
    return Items(
        gap[:, 0] - gap[:, 1],
        np.abs(p[:, 2, 0] - p[:, 2, 1]),
        (q.argmax(-1) == 0).mean((1, 2)),
        (label[:, 0] == label[:, 1]).astype(float),
    )


@pytest.fixture(scope="module")
def found(folder: Path) -> tuple[dict[str, list[Items]], Any]:
    """Return the items of every head, as fitted and of each random removal."""
    own: dict[str, list[Items]] = {name: [] for name in (BASE, *NAMES)}
    null: dict[str, list[list[Items]]] = {name: [] for name in NAMES}
    for place, head in enumerate(HEADS):
        fitted = [wb.project(folder / f"{kind}-{head}", seed=SEED) for kind in ("nsp", "nli")]
        for name, items in own.items():
            items.append(_items(folder, head, *fitted, name))
        seeds = range(SEED + place * DRAWS, SEED + (place + 1) * DRAWS)
        random = [[adapter.null(seed) for adapter in fitted] for seed in seeds]
        for name, each in null.items():
            each.append([_items(folder, head, *both, name) for both in random])
    return own, null


# What is made of the items


def _value(items: Items, measure: str, drawn: NDArray[np.intp] | None = None) -> float:
    chosen = slice(None) if drawn is None else drawn
    if measure == "fairness":
        return float(items.neutral[chosen].mean() * items.parity[chosen].mean())
    values = np.sort(getattr(items, measure)[chosen])
    return float(values[-int(np.floor(TOP * len(values) + 0.5)) :].mean())


def _sign_flips(d: Array) -> float:
    sums = np.array([np.dot(signs, d) for signs in product((-1, 1), repeat=len(d))])
    return float(np.mean(np.abs(sums) >= abs(d.sum()) - 1e-6))


def _row(rows: list[Row], measure: str, name: str, against: str | None = None) -> Row:
    (row,) = (
        row
        for row in rows
        if (row["measure"], row.get(KEYS["setting"]), row.get(KEYS["against"]))
        == (measure, name, against)
    )
    return row


@pytest.mark.parametrize("measure", list(MEASURES))
def test_differences_over_items_and_heads(rows: list[Row], found: Any, measure: str) -> None:
    own, null = found
    n = len(own[BASE][0].neutral if measure == "fairness" else own[BASE][0].strength)
    drawn = np.random.default_rng(SEED).integers(n, size=(SAMPLES, n))
    times = np.random.default_rng([SEED, 1]).multinomial(
        DRAWS, np.full(DRAWS, 1 / DRAWS), SAMPLES
    )  # how often a bootstrap sample has each random removal
    for against in (BASE, NULL):
        ps = [_row(rows, f"{measure}-change", name, against)[KEYS["p"]] for name in NAMES]
        for name in NAMES:
            row = _row(rows, f"{measure}-change", name, against)
            value = np.array([_value(head, measure) for head in own[name]])
            samples = np.array([[_value(head, measure, i) for i in drawn] for head in own[name]])
            if against == BASE:
                value_of_other = np.array([_value(head, measure) for head in own[BASE]])
                other = np.array([[_value(head, measure, i) for i in drawn] for head in own[BASE]])
            else:
                each = [[_value(removal, measure) for removal in of_head] for of_head in null[name]]
                value_of_other = np.mean(each, axis=1)
                every = np.array(
                    [
                        [[_value(removal, measure, i) for i in drawn] for removal in of_head]
                        for of_head in null[name]
                    ]
                )  # heads, random removals, samples
                other = (every * times.T).sum(1) / DRAWS
            d = value - value_of_other
            assert row["value"] == pytest.approx(d.mean(), abs=SINGLE)
            assert row[KEYS["of the setting"]] == pytest.approx(value.mean(), abs=SINGLE)
            ends = np.percentile((samples - other).mean(0), [2.5, 97.5])
            assert [row[key] for key in KEYS["over items"]] == pytest.approx(ends, abs=SINGLE)
            half = stats.t.ppf(0.975, len(d) - 1) * stats.sem(d)
            ends = d.mean() + half * np.array([-1, 1])
            assert [row[key] for key in KEYS["over heads"]] == pytest.approx(ends, abs=HEADWISE)
            assert row[KEYS["spread"]] == pytest.approx(d.std(ddof=1), abs=SINGLE)
            far = abs(d.mean()) + stats.t.ppf(0.95, len(d) - 1) * stats.sem(d)
            assert row[KEYS["excluded"]] == pytest.approx(far, abs=HEADWISE)
            assert row[KEYS["p"]] == _sign_flips(d)
            p = row[KEYS["p"]]
            holm = max(q * sum(r >= q for r in ps) for q in ps if q <= p)
            assert row[KEYS["Holm"]] == pytest.approx(min(1.0, holm))


@pytest.mark.parametrize("measure", list(MEASURES))
def test_ranks_among_random_removals(rows: list[Row], found: Any, measure: str) -> None:
    own, null = found
    for name in NAMES:
        row = _row(rows, f"null-{measure}", name)
        value = np.mean([_value(head, measure) for head in own[name]])
        drawn = np.mean(
            [[_value(removal, measure) for removal in of_head] for of_head in null[name]], axis=0
        )
        assert row["value"] == pytest.approx(drawn.mean(), abs=SINGLE)
        ends = np.percentile(drawn, [2.5, 97.5])
        assert [row[key] for key in KEYS["over items"]] == pytest.approx(ends, abs=SINGLE)
        better = int(((drawn - value) * MEASURES[measure] >= -1e-9).sum())
        assert (row[KEYS["draws"]], row[KEYS["reached"]]) == (DRAWS, better)
        assert row[KEYS["p"]] == (1 + better) / (1 + DRAWS)


def test_random_directions_are_as_many_and_orthonormal(folder: Path) -> None:
    adapter = wb.project(folder / "nsp-0", seed=SEED)
    random = adapter.null(SEED)
    assert random.subspaces.keys() == adapter.subspaces.keys()
    for site, fitted in adapter.subspaces.items():
        drawn = random.subspaces[site]
        assert drawn.weights.tolist() == fitted.weights.tolist()
        assert drawn.basis @ drawn.basis.T == pytest.approx(np.eye(fitted.dims), abs=1e-12)
        assert np.abs(drawn.basis @ fitted.basis.T).max() < 0.999
        assert ((drawn.basis != 0) == (fitted.basis != 0)).all()  # each within its head
