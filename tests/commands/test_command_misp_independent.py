"""What `wordbias misp` prints, computed again with safetensors, numpy and scikit-learn alone.

Nothing of wordbias is used but the command, the sample's file and the word lists' TOML: all
10,000 differences are materialised, scikit-learn's PCA fits them, loops and sums do the rest.
"""

from __future__ import annotations

import contextlib
import json
import tomllib
import unicodedata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file
from sklearn.decomposition import PCA

from wordbias.cli import run
from wordbias.data import sample_path

Matrix = NDArray[np.float64]
LISTS = Path(__file__).resolve().parents[2] / "wordbias" / "wordlists"
# Both sides compute in float64. The sums run over 20,000 words and 100 dimensions, which loses a
# factor of 1e4 of 2^-53 at the very most; the eigenvectors another factor of largest variance over
# smallest gap, which is 27 here: 3e-11 together.
DOUBLE = 1e-10
# The debiased vectors are float32. Their last rounding is 2^-24 of each value; the roundings
# inside the removal (a sum of 100, then of 4) are weighted by a_i < 0.12.
SINGLE = 16 * 2.0**-24


class Sample(NamedTuple):
    """Words and vectors of a file, and the words of the lists."""

    words: list[str]
    vectors: Matrix

    def of(self, words: list[str]) -> Matrix:
        index = dict(zip(self.words, range(len(self.words)), strict=True))
        return self.vectors[[index[word] for word in words]]


def _read(path: Path) -> Sample:
    tensors = load_file(path)
    words = tensors["words"].tobytes().decode("utf-8").split("\n")
    return Sample(words, tensors["vectors"].astype(np.float64))


def _toml(name: str) -> dict[str, Any]:
    return tomllib.loads((LISTS / name).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def sample() -> Sample:
    return _read(sample_path())


@pytest.fixture(scope="module")
def names() -> tuple[list[str], list[str]]:
    both = _toml("names.toml")["subspace"]
    female, male = ([name.lower() for name in both[sex]] for sex in ("female", "male"))
    assert len(female) == len(male) == 100
    return female, male


@pytest.fixture(scope="module")
def neutral(sample: Sample) -> list[str]:
    """V_t: letters only, without the gender-specific words."""
    gender = _toml("gender.toml")
    specific = {word for words in _toml("gender_specific.toml").values() for word in words}
    for pairs in gender["pairs"].values():
        specific |= {word for pair in pairs for word in pair}
    lower = {word.lower() for word in specific}
    return [
        word
        for word in sample.words[:50_000]
        if all(unicodedata.category(c)[0] in "LM" for c in word) and word.lower() not in lower
    ]


class Run(NamedTuple):
    """One run of the command: what it printed, and the file it wrote."""

    rows: list[dict[str, Any]]
    written: Sample


@pytest.fixture(scope="module", params=[True, False], ids=["centred", "uncentred"])
def centre(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(scope="module")
def printed(centre: bool, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("misp")
    path = folder / "after.safetensors"
    out = folder / "rows.json"
    with out.open("w", encoding="utf-8") as file, contextlib.redirect_stdout(file):
        options = [*(["--centre"] if centre else []), "--no-chance", "--format", "json", "-q"]
        assert run(["misp", *options, "-o", str(path)]) == 0
    return Run(json.loads(out.read_text(encoding="utf-8"))["rows"], _read(path))


@pytest.fixture(scope="module")
def fitted(sample: Sample, names: Any, centre: bool) -> tuple[Any, Any]:
    """Return the components of the sample, and their shares."""
    return _fit(sample, names, centre)


def _fit(vectors: Sample, names: tuple[list[str], list[str]], centre: bool) -> tuple[Any, Any]:
    f, m = (vectors.of(group) for group in names)
    differences = np.array([a - b for a in f for b in m])
    delta = f.mean(0) - m.mean(0)
    if centre:
        with np.errstate(all="ignore"):
            pca = PCA(4, svd_solver="full").fit(differences)
        g, a = pca.components_, pca.explained_variance_ratio_
    else:
        values, columns = np.linalg.eigh(differences.T @ differences)
        g, a = columns[:, ::-1].T[:4], values[::-1][:4] / values.sum()
    return g * np.sign(g @ delta)[:, None], a


def _value(rows: list[dict[str, Any]], measure: str, stage: str, reference: str | None) -> float:
    (value,) = (
        row["value"]
        for row in rows
        if (row["measure"], row.get("stage"), row.get("reference")) == (measure, stage, reference)
    )
    return float(value)


def _measures(x: Matrix, g: Matrix, a: Matrix, direction: Matrix) -> dict[str, float]:
    parts = (x @ g.T) * a
    cosine = x @ direction / np.linalg.norm(x, axis=1) / np.linalg.norm(direction)
    return {
        "midb": parts.sum(1).mean(),
        "midb-abs": np.abs(parts.sum(1)).mean(),
        "midb-rms": np.sqrt((parts**2).sum(1).mean()),
        "direct-bias": np.abs(cosine).mean(),
    }


def _axis(vectors: Sample) -> Matrix:
    she, he = vectors.of(["she", "he"])
    return she - he


def test_explained_variance(fitted: Any, printed: Run) -> None:
    got = [row["value"] for row in printed.rows if row["measure"] == "explained-variance"]
    np.testing.assert_allclose(got, fitted[1], rtol=DOUBLE)


def test_difference_in_span(sample: Sample, names: Any, fitted: Any, printed: Run) -> None:
    g, _ = fitted
    f, m = (sample.of(group) for group in names)
    delta = f.mean(0) - m.mean(0)
    (got,) = (row["value"] for row in printed.rows if row["measure"] == "difference-in-span")
    assert got == pytest.approx(sum((g @ delta) ** 2) / sum(delta**2), rel=DOUBLE)


def test_bias_before(sample: Sample, neutral: list[str], fitted: Any, printed: Run) -> None:
    g, a = fitted
    for measure, value in _measures(sample.of(neutral), g, a, _axis(sample)).items():
        assert _value(printed.rows, measure, "before", None) == pytest.approx(value, rel=DOUBLE)
    counts = {row["n"] for row in printed.rows if row["measure"] == "midb"}
    assert counts == {len(neutral)}


def test_bias_after_along_what_was_fitted_before(
    sample: Sample, neutral: list[str], fitted: Any, printed: Run
) -> None:
    """By the theorem: after one pass, component i carries a_i(1 − a_i)⟨g_i, x⟩."""
    g, a = fitted
    x = sample.of(neutral)
    after = x - (x @ g.T * a) @ g
    expected = _measures(after, g, a, _axis(sample))
    assert expected["midb"] == pytest.approx((x @ g.T @ (a * (1 - a))).mean(), rel=1e-9)
    for measure, value in expected.items():
        got = _value(printed.rows, measure, "after", "before")
        assert got == pytest.approx(value, rel=SINGLE), measure


def test_bias_after_along_what_is_fitted_on_the_written_file(
    names: Any, neutral: list[str], centre: bool, printed: Run
) -> None:
    """The report measures the very numbers that are written, but for the order of float32 sums."""
    g, a = _fit(printed.written, names, centre)
    expected = _measures(printed.written.of(neutral), g, a, _axis(printed.written))
    for measure, value in expected.items():
        got = _value(printed.rows, measure, "after", "self")
        assert got == pytest.approx(value, rel=SINGLE), measure


def test_the_written_file_is_equation_4(sample: Sample, fitted: Any, printed: Run) -> None:
    g, a = fitted
    expected = sample.vectors - (sample.vectors @ g.T * a) @ g
    assert printed.written.words == sample.words
    length = np.linalg.norm(sample.vectors, axis=1, keepdims=True)
    assert (np.abs(printed.written.vectors - expected) <= SINGLE * length).all()
