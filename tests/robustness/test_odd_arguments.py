"""Arguments that no function can use: one error that names the argument, from every function."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordbias as wb
from wordbias.errors import WordbiasError

LOOP: list[Any] = ["she"]
LOOP.append(LOOP)
RING: dict[str, Any] = {}
RING["female"] = [RING]
MASKED = np.ma.masked_array(np.eye(6), np.eye(6, dtype=bool))
LABELS = np.array([0, 1] * 3)
DIGITS = np.eye(6).astype(str)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: wb.measure(groups=RING), "groups="),
        (lambda: wb.measure(LOOP), "embeddings="),
        (lambda: wb.measure(groups={}), "groups="),
        (lambda: wb.quality(LOOP), "embeddings="),
        (lambda: wb.erase(MASKED, LABELS), "vectors="),
        (lambda: wb.erase(np.eye(6), np.ma.masked_array(LABELS, LABELS)), "labels="),
        (lambda: wb.erase(np.array(3.0), LABELS), "vectors="),
        (lambda: wb.probe({}, LABELS), "vectors="),
        (lambda: wb.fairness(np.ma.masked_array(LABELS, LABELS), LABELS, LABELS), "predictions="),
        (lambda: wb.LEACE().fit(MASKED, LABELS), "X"),
        (lambda: wb.LEACE().fit(DIGITS, LABELS), "X"),
        (lambda: wb.LEACE().fit(DIGITS.astype(object), LABELS), "X"),
        (lambda: wb.erase(DIGITS.astype(object), LABELS), "vectors"),
        (lambda: wb.load({"she": ["1", "2"], "he": ["3", "4"]}), "embedding"),
        (lambda: wb.Embedding(["she", "he"], DIGITS[:2]), "embedding"),
        (lambda: wb.Embedding(["she", "he"], np.zeros((2, 0))), "embedding"),
        (lambda: wb.measure((["she", "he"], np.zeros((2, 0)))), "embedding"),
        (lambda: wb.measure(only=[]), "only="),
        (lambda: wb.debias(None, "hard", measure=True, only=[]), "only="),
        (lambda: wb.config(precision="x"), "precision="),
        (lambda: wb.Attribute.load("a\0b.toml"), "expected a path, got 'a\\x00b.toml'"),
        (lambda: wb.compare(["a\0b"]), "expected a path, got 'a\\x00b'"),
        (lambda: wb.audit(nli_model=LABELS), "nli_model="),
        (lambda: wb.LEACE().fit(np.eye(6), np.ma.masked_array(LABELS, LABELS)), "y"),
        (lambda: wb.LEACE(groups=np.eye(3)).fit(np.eye(6), LABELS), "LEACE: groups="),
        (lambda: wb.Hard(groups=RING).fit(wb.Embedding.sample()), "groups="),
        (lambda: wb.erase(object(), LABELS), "vectors"),
        (lambda: wb.erase({"x": None}, LABELS), "column 'x'"),
        (lambda: wb.erase(np.eye(6), " "), "labels="),
        (lambda: wb.fairness(LABELS, LABELS, LABELS, costs=np.full((2, 2), 1j)), "costs="),
        (lambda: wb.probe(np.eye(6), LABELS, adapter=np.eye(3)), "adapter="),
        (lambda: wb.push(wb.MHD(), "me/x", report=5), "report="),
        (lambda: wb.report(""), "rows="),
        (lambda: wb.rewrite("scrub", {"she": "a text"}), "DATA"),
    ],
)
def test_it_is_named(call: Any, name: str) -> None:
    with pytest.raises((WordbiasError, TypeError)) as error:
        call()
    assert str(error.value).startswith((name, f"{name}:")) or f"{name}: " in str(error.value)
    assert "\n" not in str(error.value)


def test_labels_may_be_digits_in_texts() -> None:
    fitted = wb.LEACE().fit(np.eye(6)[:, :2] + np.arange(6)[:, None], LABELS.astype(str))
    assert fitted.transform(np.eye(6)[:, :2]).shape == (6, 2)


@pytest.mark.parametrize("kind", ["Series", "DataFrame"])
@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda given: wb.audit(nli_model=given), "nli_model="),
        (lambda given: wb.probe(np.eye(6), LABELS, adapter=given), "adapter="),
        (lambda given: wb.project("bert", labels=given), "labels="),
        (lambda given: wb.fairness(LABELS, LABELS, LABELS[::-1], costs=given), "costs="),
        (lambda given: wb.likelihood("gpt2", pairs=given), "pairs"),
    ],
)
def test_pandas_where_something_else_is_meant(call: Any, name: str, kind: str) -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(WordbiasError, match=f"^{name}"):
        call(getattr(pandas, kind)([1, 2, 3]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("method", ["leace", "inlp", "hard"])
def test_rows_of_tiny_values_are_refused(method: str, dtype: type) -> None:
    x = np.random.default_rng(0).normal(size=(100, 4)) * 1e-40
    with pytest.raises(WordbiasError, match=r"^vectors: no value is above .*e-40, with which"):
        wb.erase(x.astype(dtype), x[:, 0] > 0, methods=method)


@pytest.mark.parametrize("name", ["x.npy.gz", "x.npy.zip", "x.gz"])
def test_an_output_is_what_its_name_says(name: str, tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", x := np.eye(6) + np.arange(6)[:, None])
    with pytest.raises(WordbiasError, match="rows keep their format, npy, not packed"):
        wb.apply(wb.LEACE().fit(x, LABELS), tmp_path / "rows.npy", output=tmp_path / name)


def test_a_text_that_is_too_long_for_a_name_of_a_file() -> None:
    with pytest.raises(WordbiasError, match="File name too long"):
        wb.Hard(groups="z" * 100_000).fit(wb.Embedding.sample())


def test_a_fraction_is_a_number() -> None:
    words = ["nurse", "doctor", "she", "he", "her", "him", "woman", "man"]
    small = wb.Embedding.sample().subset(words)
    first, second = (
        wb.RAN(words=["nurse", "doctor"], theta=theta, iterations=2).fit(small).transform(small)
        for theta in (Fraction(1, 20), 0.05)
    )
    np.testing.assert_array_equal(first.vectors, second.vectors)


def test_options_without_effect_are_refused(tmp_path: Path) -> None:
    with pytest.raises(WordbiasError, match=r"^mirror=: give the names"):
        wb.fetch(mirror="https://example.org")
    (tmp_path / "pro_stereotyped_type1.txt.dev").write_text("1 [The cook] saw [he].\n")
    with pytest.raises(WordbiasError, match=r"^shares=: is for the scores of a system"):
        wb.winobias(tmp_path, shares={"cook": 40.0})
