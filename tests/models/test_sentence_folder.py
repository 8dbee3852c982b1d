"""Folders with a further module: the library computes what the fitted method does."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sentence_models import TEXTS, encoded, load, sentence_folder

from wordbias import WordbiasError
from wordbias.methods.leace import fit_erasure
from wordbias.methods.transform import Linear, Normalise, Projection, Shift, Step
from wordbias.models.encoder import Encoder
from wordbias.models.sentence_folder import (
    Dense,
    Normalize,
    SentenceVectors,
    check_output,
    modules_of,
    with_modules,
    write_modules,
)
from wordbias.subspace import Subspace

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytestmark = pytest.mark.usefixtures("one_thread")

FEMALE = np.array([text.startswith("She") or "her" in text for text in TEXTS]).astype(np.intp)
TOLERANCE = 1e-6
"""What single precision may change of a vector of length one."""


def vectors(folder: Path | Any) -> tuple[SentenceVectors, Any]:
    model = SentenceVectors.of(Encoder.load(folder, device="cpu"))
    return model, model.job(TEXTS).vectors()[0]


def added(folder: Path, part: Path, steps: tuple[Step, ...]) -> Path:
    part.mkdir()
    write_modules(folder, part, modules_of(steps, 16))
    return part


def same(found: Any, expected: Any) -> None:
    length = np.linalg.norm(expected, axis=1).max()
    np.testing.assert_allclose(found / length, expected / length, rtol=0, atol=TOLERANCE)


KINDS = [(), ("Normalize",), ("Dropout", "Normalize"), ("Normalize", "Dropout")]


@pytest.mark.parametrize("kinds", KINDS, ids="-".join)
def test_the_library_puts_out_what_is_computed_here(tmp_path: Path, kinds: tuple[str, ...]) -> None:
    folder = sentence_folder(tmp_path / "tiny", *kinds)
    model, x = vectors(folder)
    erasure = fit_erasure(x.astype(float), FEMALE)
    written = added(folder, tmp_path / "written", (erasure,))
    expected = model.outputs(erasure(x))
    same(encoded(written), expected)
    written_model, y = vectors(written)
    same(written_model.outputs(y), expected)
    assert np.abs(expected - model.outputs(x)).max() > 0.01
    assert model.normalizes is written_model.normalizes is ("Normalize" in kinds)
    if "Normalize" in kinds:
        np.testing.assert_allclose(np.linalg.norm(encoded(written), axis=1), 1, atol=TOLERANCE)


def test_the_means_are_equal_before_the_last_normalize(tmp_path: Path) -> None:
    folder = sentence_folder(tmp_path / "tiny", "Normalize")
    _, x = vectors(folder)
    written = added(folder, tmp_path / "written", (fit_erasure(x.astype(float), FEMALE),))
    _, y = vectors(written)
    gap = y[FEMALE == 1].mean(0) - y[FEMALE == 0].mean(0)
    assert np.abs(gap).max() < 1e-6 * np.abs(x).max()


def test_a_method_that_normalises_is_written_with_normalize(tmp_path: Path) -> None:
    folder = sentence_folder(tmp_path / "tiny")
    _, x = vectors(folder)
    steps = (
        Normalise(),
        Projection(Subspace.from_direction(np.arange(16.0) + 1), hard=True),
        Normalise(),
        Shift(np.full(16, 0.1)),
    )
    written = added(folder, tmp_path / "written", steps)
    expected: Any = x
    for step in steps:
        expected = step(expected)
    same(encoded(written), expected)
    kinds = [module["type"].rpartition(".")[2] for module in json.loads(
        (written / "modules.json").read_text())]  # fmt: skip
    assert kinds == ["Transformer", "Pooling", "Normalize", "Dense", "Normalize", "Dense"]


def test_a_cut_of_the_vectors_comes_after_the_map(tmp_path: Path) -> None:
    folder = sentence_folder(tmp_path / "tiny", "Normalize", truncate_dim=5)
    model, x = vectors(folder)
    erasure = fit_erasure(x.astype(float), FEMALE)
    written = added(folder, tmp_path / "written", (erasure,))
    assert encoded(written).shape == (len(TEXTS), 5)
    same(encoded(written), model.outputs(erasure(x)))


def test_the_files_of_the_model_are_kept(tmp_path: Path) -> None:
    folder = sentence_folder(tmp_path / "tiny", "Normalize", prompts={"query": "Q: "})
    (folder / "LICENSE").write_text("MIT")
    before = {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in folder.rglob("*") if file.is_file()
    }  # fmt: skip
    steps = (Linear(np.eye(16)),)
    (folder / "onnx").mkdir()
    for other in (".gitattributes", "license_key.pem", "secret.model", "onnx/model.onnx", "a.txt"):
        (folder / other).write_text("secret")
    (folder / "loop").symlink_to(".")
    written = added(folder, tmp_path / "written", steps)
    after = {
        str(file.relative_to(written)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in written.rglob("*") if file.is_file()
    }  # fmt: skip
    del before["modules.json"], after["modules.json"]
    before["README.original.md"] = before.pop("README.md")
    assert set(after) - set(before) == {"2_Dense/config.json", "2_Dense/model.safetensors"}
    assert {name: after[name] for name in before} == before
    listed = json.loads((written / "modules.json").read_text())
    assert [module["path"] for module in listed] == ["", "1_Pooling", "2_Dense", "2_Normalize"]
    assert [(module["idx"], module["name"]) for module in listed] == [(i, str(i)) for i in range(4)]
    assert load(written).prompts["query"] == "Q: "


@pytest.mark.slow
def test_a_second_map_gets_a_folder_of_its_own(tmp_path: Path) -> None:
    folder = sentence_folder(tmp_path / "tiny", "Normalize")
    model, x = vectors(folder)
    first, second = (Projection(Subspace.from_direction(np.eye(16)[i]), hard=True) for i in (0, 1))
    once = added(folder, tmp_path / "once", (first,))
    (once / "3_Dense").mkdir()
    twice = added(once, tmp_path / "twice", (second,))
    same(encoded(twice), model.outputs(second(first(x))))


@pytest.mark.parametrize("kinds", KINDS, ids="-".join)
def test_a_loaded_model_gets_the_map_in_a_copy(tmp_path: Path, kinds: tuple[str, ...]) -> None:
    folder = sentence_folder(tmp_path / "tiny", *kinds, prompts={"query": "she "})
    loaded = load(folder)
    before = encoded(loaded)
    parts, x = vectors(loaded)
    erasure = fit_erasure(x.astype(float), FEMALE)
    copy = with_modules(loaded, modules_of((erasure,), 16))
    same(encoded(copy), parts.outputs(erasure(x)))
    np.testing.assert_array_equal(encoded(loaded), before)
    assert len(copy) == len(loaded) + 1
    assert copy.prompts == loaded.prompts
    copy.save(str(tmp_path / "saved"), create_model_card=False)
    same(encoded(tmp_path / "saved"), encoded(copy))


@given(st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_affine_steps_become_one_module(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    steps: list[Step] = []
    for i in rng.integers(0, 3, count):
        drawn = (Linear(rng.normal(size=(4, 4))), Shift(rng.normal(size=4)),
                 Projection(Subspace.from_direction(rng.normal(size=4), 0.5)))  # fmt: skip
        steps.append(drawn[i])
    x = rng.normal(size=(5, 4))
    (module,) = modules_of(steps, 4)
    assert isinstance(module, Dense)
    expected: Any = x
    for step in steps:
        expected = step(expected)
    np.testing.assert_allclose(x @ module.weight.T + module.bias, expected, rtol=0, atol=1e-9)


def test_a_step_that_is_no_module_is_refused() -> None:
    class Bent:
        kind = "tanh-encoder"

    with pytest.raises(WordbiasError, match="'tanh-encoder' is no module"):
        modules_of((Bent(),), 4)  # type: ignore[arg-type]
    assert modules_of((), 4) == ()
    assert modules_of((Normalise(),), 4) == (Normalize(),)


def test_outputs_are_checked_before_work(tmp_path: Path) -> None:
    folder = sentence_folder(tmp_path / "tiny")
    with pytest.raises(WordbiasError, match="is inside of"):
        check_output(str(folder), str(folder / "clean"))
    with pytest.raises(WordbiasError, match="exists already"):
        check_output(str(folder), str(folder))
    check_output(str(folder), str(tmp_path / "clean"))


def test_an_encoder_without_modules_is_refused(tmp_path: Path) -> None:
    folder = sentence_folder(tmp_path / "tiny")
    (folder / "modules.json").unlink()
    with pytest.raises(WordbiasError, match="is no sentence-transformers model"):
        SentenceVectors.of(Encoder.load(folder, device="cpu"))
