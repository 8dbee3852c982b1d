"""What `wb.choose` decides, computed again with numpy: halves, intervals of changes, costs, choice.

Nothing of wordbias is used but the function, the sample's file and the word lists' TOML. Candidates
are soft and hard projections along the names, fitted here too. The halves and bootstrap samples
depend on the generator: it is asked in the same order.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file
from scipy import stats

import wordbias as wb
from wordbias.data import sample_path

Array = NDArray[np.float64]
Row = dict[str, Any]
Space = dict[str, NDArray[np.float32]]
LISTS = Path(__file__).resolve().parents[2] / "wordbias" / "wordlists"
SEED, SAMPLES, WORDS, NEIGHBOURS, QUERIES = 3, 1000, 1000, 10, 1000
SIMILAR = "wordsim/EN-RG-65.txt"
CANDIDATES = {  # components, and whether they are removed whole
    "misp:dims=1": (1, False),
    "misp": (4, False),
    "mhd:dims=2": (2, True),
}
KEEP = {"midb-abs": 0.9, "midb-unit-rms": 0.9, "direct-bias": 0.9, "lean": 0.9, "weat": 0.3}
"""Measures to choose by, and the share to keep."""
DOUBLE = 1e-9  # before: both sides compute in float64
SINGLE = 100 * 2.0**-24  # after: vectors are float32, and products add 100 of their values
ONE = 1e-4  # less than one neighbour of the ten of 500 words
KEYS = {
    "stage": "stage",
    "half": "half",
    "chosen": "chosen",
    "interval": ("low", "high"),
    "change": ("change", "change_low", "change_high"),
    "kept": "kept",
    "costs": "costs",
    "moved": "moved",
}
"""Keys of a row: the one place where the test knows how they are spelled."""
CHOOSE, REPORT = "choose", "report"


def _toml(name: str) -> dict[str, Any]:
    return tomllib.loads((LISTS / name).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def space(shared_data: Path) -> Space:
    """Return the most frequent words of the sample, and those of the lists."""
    tensors = load_file(sample_path())
    words = tensors["words"].tobytes().decode("utf-8").split("\n")
    whole = dict(zip(words, tensors["vectors"], strict=True))
    listed = {
        word for first, second, _ in _pairs(shared_data / SIMILAR) for word in (first, second)
    }
    for name in ("gender", "names", "occupations", "weat"):
        listed |= set(re.findall(r"[a-z]+", (LISTS / f"{name}.toml").read_text("utf-8").lower()))
    return {word: x for i, (word, x) in enumerate(whole.items()) if i < 2 * WORDS or word in listed}


@pytest.fixture(scope="module")
def embedding(space: Space) -> wb.Embedding:
    return wb.Embedding.sample().subset(list(space))


@pytest.fixture(scope="module")
def neutral(space: Space) -> list[str]:
    """Return frequent words, whatever they mean: given words are averaged over as they are."""
    return [word for word in list(space)[: 2 * WORDS] if word.isalpha()][:WORDS]


@pytest.fixture(scope="module")
def names() -> list[list[str]]:
    both = _toml("names.toml")["subspace"]
    return [[name.lower() for name in both[group]] for group in ("female", "male")]


def _pairs(path: Path) -> list[tuple[str, str, float]]:
    cells = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
    return [(first.lower(), second.lower(), float(score)) for first, second, score in cells]


# Methods and measures


def _components(f: Array, m: Array, k: int) -> tuple[Array, Array]:
    differences = (f[:, None] - m[None]).reshape(-1, f.shape[1])
    values, columns = np.linalg.eigh(differences.T @ differences)
    g = columns[:, ::-1].T[:k]
    return g * np.sign(g @ (f.mean(0) - m.mean(0)))[:, None], values[::-1][:k] / values.sum()


def _unit(x: NDArray[Any]) -> Array:
    x = x.astype(np.float64)
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def _of(space: Space, words: list[str]) -> Array:
    return np.array([space[word] for word in words], np.float64)


def _after(space: Space, names: list[list[str]], k: int, hard: bool) -> Space:
    g, a = _components(*(_of(space, group) for group in names), k)
    x = np.array(list(space.values()), np.float64)
    vectors = (x - (x @ g.T * (1 if hard else a)) @ g).astype(np.float32)
    return dict(zip(space, vectors, strict=True))


def _split(items: list[Any]) -> dict[str, list[Any]]:
    order = np.random.default_rng(SEED).permutation(len(items)).tolist()
    first = set(order[: (len(items) + 1) // 2])
    return {
        CHOOSE: [item for i, item in enumerate(items) if i in first],
        REPORT: [item for i, item in enumerate(items) if i not in first],
    }


def _drawn(n: int) -> NDArray[np.intp]:
    return np.random.default_rng(SEED).integers(n, size=(SAMPLES, n))


class Measured:
    """A value, and its bootstrap values."""

    def __init__(self, of_words: Array, of_mean: Callable[[Any], Any] = lambda mean: mean) -> None:
        self.value = float(of_mean(of_words.mean()))
        self.samples = of_mean(of_words[_drawn(len(of_words))].mean(1))


class Weat(Measured):
    """|d| of an association test; the words of each of its four sets are drawn again."""

    def __init__(self, space: Space, sets: list[list[str]]) -> None:
        x, y, a, b = ([word for word in word_set if word in space] for word_set in sets)
        cosines = _unit(_of(space, [*x, *y])) @ _unit(_of(space, [*a, *b])).T
        rng = np.random.default_rng(SEED)
        times = [rng.multinomial(len(words), np.full(len(words), 1 / len(words)), SAMPLES)
                 for words in (x, y, a, b)]  # fmt: skip
        self.value = abs(self._effect(cosines, len(x), len(a)))
        self.samples = np.zeros(SAMPLES)
        for i, (tx, ty, ta, tb) in enumerate(zip(*times, strict=True)):
            rows = np.repeat(np.arange(len(cosines)), [*tx, *ty])
            columns = np.repeat(np.arange(cosines.shape[1]), [*ta, *tb])
            self.samples[i] = abs(self._effect(cosines[rows][:, columns], len(x), len(a)))

    @staticmethod
    def _effect(c: Array, n: int, k: int) -> float:
        s = c[:, :k].mean(1) - c[:, k:].mean(1)
        return float((s[:n].mean() - s[n:].mean()) / s.std(ddof=1))


def _measure(
    metric: str, before: Space, after: Space, names: list[list[str]], words: list[str], half: str
) -> Measured:
    """Measure one half of the vectors after; axes of `lean` are those before, others their own."""
    if metric == "weat":
        lists = _toml("weat.toml")
        query = lists["queries"]["weat6"]
        sets = [lists["sets"][name] for name in (*query["targets"], *query["attributes"])]
        return Weat(after, [[word.lower() for word in _split(word_set)[half]] for word_set in sets])
    x = _of(after, words)
    if metric == "lean":
        axis = before["she"].astype(np.float64) - before["he"]
        axis /= np.linalg.norm(axis)
        known = [word for word in _toml("occupations.toml")["crossed"]["words"] if word in before]
        lean = _unit(_of(after, _split(known)[half])) @ axis - (_unit(x) @ axis).mean()
        return Measured(np.abs(lean))
    if metric == "direct-bias":
        axis = after["she"].astype(np.float64) - after["he"]
        return Measured(np.abs(_unit(x) @ axis / np.linalg.norm(axis)))
    groups = [_of(after, group) for group in names]
    if metric == "midb-abs":
        g, a = _components(groups[0], groups[1], 4)
        return Measured(np.abs((x @ g.T * a).sum(1)))
    g, a = _components(_unit(groups[0]), _unit(groups[1]), 4)
    return Measured(((_unit(x) @ g.T * a) ** 2).sum(1), np.sqrt)


def _nearest(x: NDArray[Any], queries: list[int]) -> list[set[int]]:
    cosines = _unit(x)[queries] @ _unit(x).T
    cosines[np.arange(len(queries)), queries] = -2
    return [set(np.argsort(-row)[:NEIGHBOURS].tolist()) for row in cosines]


def _costs(
    before: Space, after: Space, neutral: list[str], words: list[str], pairs: list[Any]
) -> dict[str, float]:
    places = [neutral.index(word) for word in words]
    chosen = np.random.default_rng(SEED).choice(places, min(QUERIES, len(places)), replace=False)
    queries = np.sort(chosen).tolist()
    near = [_nearest(_of(vectors, neutral), queries) for vectors in (before, after)]
    overlap = np.mean([len(a & b) / NEIGHBOURS for a, b in zip(*near, strict=True)])
    rho = []
    for stage in (before, after):
        known = [pair for pair in pairs if pair[0] in stage and pair[1] in stage]
        cosines = [
            float((_unit(_of(stage, [a])) @ _unit(_of(stage, [b])).T)[0, 0]) for a, b, _ in known
        ]
        rho.append(stats.spearmanr(cosines, [score for *_, score in known]).statistic)
    return {"similarity": rho[1] / rho[0], "neighbours": float(overlap)}


def _check(row: Row, old: Measured, new: Measured, costs: dict[str, float], moved: float) -> None:
    assert row["value"] == pytest.approx(new.value, abs=SINGLE)
    ends = np.percentile(new.samples, [2.5, 97.5])
    assert [row[key] for key in KEYS["interval"]] == pytest.approx(ends, abs=SINGLE)
    ends = np.percentile(new.samples - old.samples, [2.5, 97.5])
    change = [new.value - old.value, *ends]
    assert [row[key] for key in KEYS["change"]] == pytest.approx(change, abs=SINGLE)
    assert row[KEYS["costs"]] == pytest.approx(costs, abs=ONE)
    assert row[KEYS["kept"]] == pytest.approx(min(costs.values()), abs=ONE)
    assert row[KEYS["moved"]] == pytest.approx(moved, abs=SINGLE)


@pytest.fixture(scope="module")
def afters(space: Space, names: list[list[str]]) -> dict[str, Space]:
    return {name: _after(space, names, *settings) for name, settings in CANDIDATES.items()}


@pytest.mark.slow
@pytest.mark.parametrize("metric", list(KEEP))
def test_the_choice_on_one_half_and_the_interval_on_the_other(
    space: Space,
    embedding: wb.Embedding,
    neutral: list[str],
    names: list[list[str]],
    afters: dict[str, Space],
    shared_data: Path,
    metric: str,
) -> None:
    similar = shared_data / SIMILAR
    choice = wb.choose(
        embedding,
        " ".join(CANDIDATES),
        by=metric,
        keep=KEEP[metric],
        vocab=neutral,
        benchmarks=similar,
        seed=SEED,
    )
    rows = [row for row in choice.report.to_dict()["rows"] if row.get(KEYS["half"])]
    main = [row for row in rows if row["measure"] == metric]
    words, pairs = _split(neutral), _split(_pairs(similar))
    good: dict[str, tuple[float, float]] = {}
    tried, costs = dict[str, Row](), dict[str, float]()
    for half in (CHOOSE, REPORT):
        own = [row for row in main if row[KEYS["half"]] == half]
        old = _measure(metric, space, space, names, words[half], half)
        assert own[0]["value"] == pytest.approx(old.value, abs=DOUBLE)
        ends = np.percentile(old.samples, [2.5, 97.5])
        assert [own[0][key] for key in KEYS["interval"]] == pytest.approx(ends, abs=DOUBLE)
        if half == REPORT:
            best = min(good, key=good.__getitem__)
            assert [name for name, row in tried.items() if row[KEYS["chosen"]]] == [best]
            assert len(own) == 2
            tried = {best: own[1]}
        else:
            tried = {row[KEYS["stage"]]: row for row in own[1:]}
            assert list(tried) == list(CANDIDATES)
        for name, row in tried.items():
            new = _measure(metric, space, afters[name], names, words[half], half)
            costs = _costs(space, afters[name], neutral, words[half], pairs[half])
            x, y = _of(space, words[half]), _of(afters[name], words[half])
            moved = np.linalg.norm(y - x, axis=1) / np.linalg.norm(x, axis=1)
            _check(row, old, new, costs, float(moved.mean()))
            improves = np.percentile(new.samples - old.samples, 97.5) < 0
            if half == CHOOSE and improves and min(costs.values()) >= KEEP[metric]:
                good[name] = new.value, float(moved.mean())
    assert choice.vectors == pytest.approx(np.array(list(afters[best].values())), abs=SINGLE)


@pytest.mark.slow
def test_the_interval_of_a_clustering_is_paired_by_word() -> None:
    """The words that lean most in the original are the same before and after."""
    by = "clustering-accuracy"
    report = wb.choose(None, "mhd:dims=4 hard", by=by, keep=0.01, seed=SEED).report
    before, after = (
        next(r for r in report[by] if (r.details[KEYS["half"]], r.details[KEYS["stage"]]) == place)
        for place in ((REPORT, "before"), (REPORT, "after"))
    )
    draws = [row.draws["sample"] for row in (before, after)]
    assert draws[0].items == draws[1].items
    ends = np.percentile(draws[1].values - draws[0].values, [2.5, 97.5])
    assert [after.details[key] for key in KEYS["change"][1:]] == pytest.approx(ends, abs=DOUBLE)
    alone = np.percentile(draws[1].values, [2.5, 97.5])
    assert [after.details[key] for key in KEYS["interval"]] == pytest.approx(alone, abs=DOUBLE)
