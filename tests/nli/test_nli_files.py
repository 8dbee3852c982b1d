"""Model files: what was saved comes back, and what is no such file is named."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save

from wordbias import Embedding, __version__
from wordbias.errors import WordbiasError
from wordbias.nli.files import Model, shapes
from wordbias.nli.pairs import LABELS

ABOUT = {"seed": 3, "recipe": {"rate": 0.1}, "embedding": {"name": "glove"}}


def model(dim: int = 5, hidden: int = 4, intra: bool = True) -> Model:
    rng = np.random.default_rng(0)
    weights = {
        name: rng.normal(size=shape).astype(np.float32)
        for name, shape in shapes(dim, hidden, intra).items()
    }
    return Model(weights, dim, hidden, intra, about=ABOUT)


@pytest.mark.parametrize(("intra", "count"), [(True, 582_214), (False, 381_803)])
def test_the_shapes_have_the_published_number_of_parameters(intra: bool, count: int) -> None:
    assert sum(int(np.prod(shape)) for shape in shapes(300, 200, intra).values()) == count
    small = model(intra=intra)
    assert small.parameters == sum(x.size for x in small.weights.values())


@pytest.mark.parametrize("intra", [True, False])
def test_a_saved_model_is_loaded_unchanged(intra: bool, tmp_path: Path) -> None:
    saved = model(intra=intra)
    saved.save(tmp_path / "m")
    loaded = Model.load(tmp_path / "m")
    assert (loaded.dim, loaded.hidden, loaded.intra) == (5, 4, intra)
    assert loaded.labels == LABELS == ("neutral", "entailment", "contradiction")
    assert loaded.about == ABOUT
    assert loaded.weights.keys() == saved.weights.keys()
    for name, x in saved.weights.items():
        np.testing.assert_array_equal(loaded.weights[name], x)


def test_half_the_size_costs_half_the_digits(tmp_path: Path) -> None:
    saved = model(50, 40)
    saved.save(tmp_path / "whole")
    saved.save(tmp_path / "half", dtype="float16")
    halved = Model.load(tmp_path / "half")
    for name, x in saved.weights.items():
        assert halved.weights[name].dtype == np.float32
        np.testing.assert_allclose(halved.weights[name], x, rtol=2**-11, atol=2**-25)
    sizes = [(tmp_path / name).stat().st_size for name in ("half", "whole")]
    assert sizes[1] - sizes[0] == pytest.approx(2 * saved.parameters, abs=64)


def test_the_header_describes_the_model(tmp_path: Path) -> None:
    """In JSON, for those who read it without this package."""
    model().save(tmp_path / "m")
    raw = (tmp_path / "m").read_bytes()
    header = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])
    stored = json.loads(header["__metadata__"]["nli"])
    assert stored == {
        "wordbias": __version__,
        "dim": 5,
        "hidden": 4,
        "intra": True,
        "labels": ["neutral", "entailment", "contradiction"],
        "about": ABOUT,
    }


def test_equal_models_are_equal_files(tmp_path: Path) -> None:
    for name in "ab":
        model().save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_reading_a_model_needs_no_torch(tmp_path: Path) -> None:
    model().save(tmp_path / "m")
    code = (
        "import sys; sys.modules['torch'] = None; import wordbias.nli.scoring; "
        "from wordbias.nli.files import Model; print(Model.load(sys.argv[1]).dim)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "m"], capture_output=True, check=True
    )
    assert done.stdout == b"5\n"


Change = Callable[[dict[str, Any], dict[str, Any]], None]


def _damaged(path: Path, change: Change) -> None:
    """Write a model file after a change to its tensors and settings."""
    model().save(path)
    tensors = load_file(path)
    raw = path.read_bytes()
    header = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])
    stored = json.loads(header["__metadata__"]["nli"])
    change(tensors, stored)
    path.write_bytes(save(tensors, {"nli": json.dumps(stored)}))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t, s: t.pop("distance"), r"distance has the shape None, expected \(11,\)"),
        (lambda t, s: s.update(intra=False), "has the shape .*, expected"),
        (lambda t, s: s.update(dim=6), r"project.weight has the shape \(5, 4\), expected \(6, 4\)"),
        (lambda t, s: s.update(hidden="many"), "invalid literal"),
        (lambda t, s: s.update(dim=None), "NoneType"),
        (lambda t, s: s.pop("about"), "KeyError"),
        (lambda t, s: s.update(about=3), "TypeError"),
        (lambda t, s: t.update(more=np.zeros(2)), r"more has the shape \(2,\), expected None"),
        (lambda t, s: t["distance"].fill(np.nan), "a weight is no number"),
    ],
)
def test_damaged_models_are_named(change: Change, said: str, tmp_path: Path) -> None:
    path = tmp_path / "m"
    _damaged(path, change)
    with pytest.raises(WordbiasError, match=f"^{path}: holds a damaged NLI model: .*{said}"):
        Model.load(path)


def test_other_labels_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "m"
    _damaged(path, lambda t, s: s.update(labels=["contradiction", "entailment", "neutral"]))
    with pytest.raises(WordbiasError, match="its labels are contradiction, entailment, neutral, "):
        Model.load(path)


def test_other_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "m"
    with pytest.raises(WordbiasError, match=f"^{path}: cannot be read as an NLI model: No such"):
        Model.load(path)
    for content in (b"", b"no model", b"\xff" * 100):
        path.write_bytes(content)
        with pytest.raises(WordbiasError, match=f"^{path}: cannot be read as an NLI model: "):
            Model.load(path)
    model().save(path)
    path.write_bytes(path.read_bytes()[:-7])
    with pytest.raises(WordbiasError, match=f"^{path}: cannot be read as an NLI model: "):
        Model.load(path)
    vectors = tmp_path / "v.safetensors"
    Embedding(["a"], [[1.0, 2.0]]).save(vectors)
    with pytest.raises(
        WordbiasError, match="holds an embedding, but no NLI model; train one with: wordbias nli-t"
    ):
        Model.load(vectors)
    with pytest.raises(WordbiasError, match="cannot be read as an NLI model"):
        Model.load(tmp_path)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(WordbiasError, match=r"does not exist|could not be written"):
        replace(model()).save(tmp_path / "none" / "m")
