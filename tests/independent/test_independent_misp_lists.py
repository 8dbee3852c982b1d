"""What `wb.misp(seed_lists=N)` says over redrawn word lists, computed again with numpy alone.

Nothing of wordbias is used but the function, its rows, the sample's file and the word lists' TOML:
all differences are materialised, their second moment is decomposed, loops do the rest. Which words
a redraw takes depends on the generator: it is asked in the same order, as the lines of `_redraws`.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file

import wordbias as wb
from wordbias.data import sample_path

pytestmark = pytest.mark.slow

Matrix = NDArray[np.float64]
LISTS = Path(__file__).resolve().parents[2] / "wordbias" / "wordlists"
SEED, DRAWS, DIMS, WORDS, NEIGHBOURS, QUERIES = 3, 5, 3, 1500, 10, 1000
# Both sides compute in float64; the eigenvectors of redrawn names lose no more than a factor of
# largest variance over smallest gap.
DOUBLE = 1e-9
# Vectors after the removal are float32: 2^-24 of each value, and of each product that is removed.
SINGLE = 16 * 2.0**-24
KEYS = {
    "draws": "lists_draws",
    "mean": "lists",
    "value": ("lists_low", "lists_high"),
    "change": ("change_lists_low", "change_lists_high"),
    "left out": ("unseen_before", "unseen_change"),
    "left out change": ("unseen_low", "unseen_high"),
}
"""Keys of a row: the one place where the test knows how they are spelled."""
Found = dict[tuple[str, str, str], float]
"""Values by measure, stage and the directions along which they were taken."""


class Axes(NamedTuple):
    """What MIDB and direct bias are taken along."""

    g: Matrix
    a: Matrix
    unit_g: Matrix
    unit_a: Matrix
    axis: Matrix | None = None
    component: Matrix | None = None


@pytest.fixture(
    scope="module",
    params=[(False, False), (True, False), (False, True)],
    ids=["uncentred", "centred", "words missing"],
)
def setting(request: pytest.FixtureRequest) -> tuple[bool, bool]:
    """Whether differences are centred, and whether the vectors lack listed words."""
    return request.param  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def centre(setting: tuple[bool, bool]) -> bool:
    return setting[0]


@pytest.fixture(scope="module")
def vectors(setting: tuple[bool, bool]) -> dict[str, Matrix]:
    """Return the vectors of the sample; or without every third name, and without three pairs."""
    tensors = load_file(sample_path())
    words = tensors["words"].tobytes().decode("utf-8").split("\n")
    groups, pairs = _lists()
    missing = {name for group in groups for name in group[::3]} | {pair[0] for pair in pairs[1::3]}
    missing = missing if setting[1] else set()
    space = dict(zip(words, tensors["vectors"], strict=True))
    return {word: x for word, x in space.items() if word not in missing}


@pytest.fixture(scope="module")
def neutral(vectors: dict[str, Matrix]) -> list[str]:
    """Return frequent words, whatever they mean: given words are averaged over as they are."""
    return [word for word in list(vectors)[: 2 * WORDS] if word.isalpha()][:WORDS]


@pytest.fixture(scope="module")
def rows(vectors: dict[str, Matrix], neutral: list[str], centre: bool) -> list[dict[str, Any]]:
    report = wb.misp(
        wb.Embedding.sample().subset(list(vectors)),
        dims=DIMS,
        centre=centre,
        seed_lists=DRAWS,
        chance=False,
        vocab=neutral,
        seed=SEED,
    ).report
    return [row for row in report.to_dict()["rows"] if "word" not in row]


def _lists() -> tuple[list[list[str]], list[list[str]]]:
    names = tomllib.loads((LISTS / "names.toml").read_text("utf-8"))["subspace"]
    pairs = tomllib.loads((LISTS / "gender.toml").read_text("utf-8"))["pairs"]["definitional"]
    return [[name.lower() for name in names[group]] for group in ("female", "male")], pairs


def _redraws() -> list[tuple[list[list[int]], list[int], int]]:
    """Return the places of names of each group, of pairs and of the axis that each redraw takes."""
    of_words, of_pairs, of_axis = (np.random.default_rng((SEED, kind, 2)) for kind in range(3))
    redraws = []
    for _ in range(DRAWS):
        words = [of_words.integers(100, size=100).tolist() for _ in range(2)]
        redraws.append((words, of_pairs.integers(10, size=10).tolist(), int(of_axis.integers(10))))
    return redraws


def _unit(x: NDArray[Any]) -> Matrix:
    """Scale rows to length one, and keep as many digits as vectors have."""
    x = x.astype(np.float64)
    scaled: Matrix = (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)
    return scaled.astype(np.float64)


def _components(f: Matrix, m: Matrix, centre: bool) -> tuple[Matrix, Matrix]:
    """Decompose all differences f − m; the first side is positive."""
    differences = (f[:, None] - m[None]).reshape(-1, f.shape[1])
    if centre:
        differences = differences - differences.mean(0)
    values, columns = np.linalg.eigh(differences.T @ differences)
    g, a = columns[:, ::-1].T[:DIMS], values[::-1][:DIMS] / values.sum()
    return g * np.sign(g @ (f.mean(0) - m.mean(0)))[:, None], a


def _axes(
    space: dict[str, NDArray[Any]],
    names: list[list[str]],
    centre: bool,
    pairs: list[list[str]] | None = None,
    axis: list[str] | None = None,
) -> Axes:
    f, m = (np.array([space[name] for name in group if name in space]) for group in names)
    axes = Axes(
        *_components(f.astype(np.float64), m.astype(np.float64), centre),
        *_components(_unit(f), _unit(m), centre),
    )
    if pairs is None or axis is None:
        return axes
    pairs = [pair for pair in pairs if all(word in space for word in pair)]
    first, second = (
        np.array([space[pair[side]] for pair in pairs], np.float64) for side in range(2)
    )
    half = (first - second) / 2
    # as Bolukbasi et al.: both words less the middle of their pair
    component = np.linalg.svd(np.concatenate([half, -half]))[2][0]
    if not all(word in space for word in axis):
        return axes._replace(component=component)
    she, he = (space[word].astype(np.float64) for word in axis)
    return axes._replace(axis=she - he, component=component)


def _measure(x: NDArray[Any], along: Axes) -> dict[str, float]:
    on_unit, x = _unit(x), x.astype(np.float64)
    measured = {}
    for name, words, g, a in (
        ("midb", x, along.g, along.a),
        ("midb-unit", on_unit, along.unit_g, along.unit_a),
    ):
        parts = (words @ g.T) * a
        measured[name] = parts.sum(1).mean()
        measured[f"{name}-abs"] = np.abs(parts.sum(1)).mean()
        measured[f"{name}-rms"] = np.sqrt((parts**2).sum(1).mean())
    for name, axis in (("direct-bias", along.axis), ("direct-bias-pca", along.component)):
        if axis is None:
            measured[name] = np.nan
            continue
        cosines = x @ axis / np.linalg.norm(x, axis=1) / np.linalg.norm(axis)
        measured[name] = np.abs(cosines).mean()
    return {key: float(value) for key, value in measured.items()}


def _nearest(x: NDArray[Any], queries: NDArray[np.intp]) -> list[set[int]]:
    cosines = _unit(x)[queries] @ _unit(x).T
    cosines[np.arange(len(queries)), queries] = -2
    return [set(np.argsort(-row)[:NEIGHBOURS].tolist()) for row in cosines]


@pytest.fixture(scope="module")
def expected(vectors: dict[str, Matrix], neutral: list[str], centre: bool) -> list[Found]:
    """Fit and measure with the lists of each redraw, and with those that it leaves out."""
    groups, pairs = _lists()
    x = np.array([vectors[word] for word in neutral])
    queries = np.sort(np.random.default_rng(SEED).choice(len(x), QUERIES, replace=False))
    near, redrawn = _nearest(x, queries), []
    for places, of_pairs, of_axis in _redraws():
        names = [[group[i] for i in indices] for group, indices in zip(groups, places, strict=True)]
        others = [
            [name for i, name in enumerate(group) if i not in indices]
            for group, indices in zip(groups, places, strict=True)
        ]
        drawn, axis = [pairs[i] for i in of_pairs], pairs[of_axis]
        before = _axes(vectors, names, centre, drawn, axis)
        g, a = before.g, before.a
        listed = {*neutral, *names[0], *names[1], *(word for pair in pairs for word in pair)}
        removed = {
            word: (v - (v.astype(np.float64) @ g.T * a) @ g).astype(np.float32)
            for word, v in vectors.items()
            if word in listed
        }
        after = _axes(removed, names, centre, drawn, axis)
        unseen = _axes(vectors, others, centre)
        y = np.array([removed[word] for word in neutral])
        moved = np.linalg.norm(y.astype(float) - x, axis=1) / np.linalg.norm(
            x.astype(float), axis=1
        )
        overlaps = [
            len(old & two) / NEIGHBOURS for old, two in zip(near, _nearest(y, queries), strict=True)
        ]
        measured: Found = {
            ("displacement", "after", ""): float(moved.mean()),
            ("neighbours-preserved", "after", ""): float(np.mean(overlaps)),
        }
        for words, along, stage, reference in (
            (x, before, "before", ""),
            (y, before, "after", "before"),
            (y, after, "after", "self"),
            (x, unseen, "before", "left-out"),
            (y, unseen, "after", "left-out"),
        ):
            values = _measure(words, along)
            measured |= {(measure, stage, reference): value for measure, value in values.items()}
        redrawn.append(measured)
    return redrawn


def _ends(values: Any) -> list[float]:
    ends: list[float] = np.nanpercentile(values, [2.5, 97.5]).tolist()
    return ends


def _key(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["measure"], row.get("stage", ""), row.get("reference", "")


def test_the_middle_of_all_redraws(rows: list[dict[str, Any]], expected: list[Found]) -> None:
    compared = 0
    for row in rows:
        key = _key(row)
        if key not in expected[0]:
            continue
        values = [redraw[key] for redraw in expected]
        exact = key[1] == "before"
        tolerance = {"rel": DOUBLE} if exact else {"rel": SINGLE, "abs": SINGLE}
        assert row[KEYS["draws"]] == np.isfinite(values).sum()
        assert [row[end] for end in KEYS["value"]] == pytest.approx(_ends(values), **tolerance)
        assert row[KEYS["mean"]] == pytest.approx(np.nanmean(values), **tolerance)
        compared += 1
        if exact:
            continue
        start = {"displacement": 0.0, "neighbours-preserved": 1.0}
        changes = [
            redraw[key] - (start[key[0]] if key[0] in start else redraw[key[0], "before", ""])
            for redraw in expected
        ]
        assert [row[end] for end in KEYS["change"]] == pytest.approx(_ends(changes), **tolerance)
        compared += 1
    assert compared == 8 + 2 * 16 + 2 * 2  # MIDB and direct bias at three stages, and two costs


def test_along_the_names_that_a_redraw_leaves_out(
    rows: list[dict[str, Any]], expected: list[Found]
) -> None:
    compared = 0
    for row in rows:
        measure, stage, reference = _key(row)
        if (stage, reference) != ("after", "before") or not measure.startswith("midb"):
            continue
        before, after = (
            np.array([redraw[measure, stage, "left-out"] for redraw in expected])
            for stage in ("before", "after")
        )
        start, change = (row[key] for key in KEYS["left out"])
        assert start == pytest.approx(before.mean(), rel=DOUBLE)
        assert change == pytest.approx((after - before).mean(), rel=SINGLE, abs=SINGLE)
        ends = [row[key] for key in KEYS["left out change"]]
        assert ends == pytest.approx(_ends(after - before), rel=SINGLE, abs=SINGLE)
        compared += 1
    assert compared == 6
