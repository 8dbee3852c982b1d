"""Files of tensors with a JSON header: equal bytes, and one set of errors for every kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from wordbias import Embedding, WordbiasError, __version__
from wordbias.formats import stored
from wordbias.formats.stored import read_header, reading, write

TENSORS = {"b": np.arange(6.0).reshape(2, 3), "a": np.ones(2, np.float32)}
HEADER = {"wordbias": __version__, "about": {"name": "é"}}
KINDS = {
    stored.ADAPTER: ("an adapter", "wordbias project"),
    stored.CHECKPOINT: ("a checkpoint", "remove it"),
    stored.NLI_MODEL: ("an NLI model", "wordbias nli-train"),
    stored.REPRESENTATIONS: ("representations", "wordbias encode"),
    stored.TRANSFORM: ("a transform", "wordbias debias"),
}


def refused(path: Path, kind: str) -> str:
    """Return the error of reading a file, the same for all of it and for its header."""
    with pytest.raises(WordbiasError) as raised, reading(path, kind):
        pass
    with pytest.raises(WordbiasError) as header_error:
        read_header(path, kind)
    assert str(raised.value) == str(header_error.value)
    return str(raised.value).removeprefix(f"{path}: ")


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_comes_back(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    write(path, kind, TENSORS, HEADER)
    for framework in ("numpy", "pt", "mapped"):
        if framework == "pt":
            pytest.importorskip("torch")
        with reading(path, kind, framework) as (tensors, header):  # type: ignore[arg-type]
            assert header == HEADER
            assert set(tensors) == set(TENSORS)
            for name, expected in TENSORS.items():
                np.testing.assert_array_equal(np.asarray(tensors[name]), expected)
        assert isinstance(tensors["b"], np.memmap) is (framework == "mapped")
    assert read_header(path, kind) == HEADER


def test_equal_content_gives_equal_bytes_also_from_torch(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    write(tmp_path / "a", stored.CHECKPOINT, TENSORS, {"done": 1})
    turned = {name: torch.from_numpy(x.copy("F")) for name, x in reversed(TENSORS.items())}
    write(tmp_path / "b", stored.CHECKPOINT, turned, {"done": 1}, "pt")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("kind", [*KINDS, stored.SUBSPACE])
def test_what_is_no_such_file(kind: str, tmp_path: Path) -> None:
    name, remedy = KINDS.get(kind, ("a subspace", "Subspace.save"))
    path = tmp_path / "x"

    def check(reason: str) -> None:
        message = refused(path, kind)
        assert message.startswith(f"cannot be read as {name}: {reason}; ")
        assert remedy in message

    check("No such file or directory")
    for content in (b"", b"she 0.1 0.2\n", b"\xff" * 99):
        path.write_bytes(content)
        check("is no safetensors file")
    write(path, stored.NLI_MODEL, TENSORS, HEADER)
    path.write_bytes(path.read_bytes()[:30])
    check("is cut off inside its header")


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_cut_off_inside_its_tensors(kind: str, tmp_path: Path) -> None:
    write(tmp_path / "x", kind, TENSORS, HEADER)
    (tmp_path / "x").write_bytes((tmp_path / "x").read_bytes()[:-1])
    with (
        pytest.raises(WordbiasError, match=f"cannot be read as {KINDS[kind][0]}: "),
        reading(tmp_path / "x", kind),
    ):
        pass
    with (
        pytest.raises(WordbiasError, match=r"damaged .*is cut off or damaged inside the tensor"),
        reading(tmp_path / "x", kind, "mapped") as (tensors, _),
    ):
        assert tensors["b"] is tensors["a"]


def test_a_file_of_another_kind_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x"
    write(path, stored.TRANSFORM, TENSORS, HEADER)
    assert refused(path, stored.NLI_MODEL) == (
        "holds a transform, but no NLI model; train one with: wordbias nli-train"
    )
    Embedding(["a"], [[1.0, 2.0]]).save(tmp_path / "x.safetensors")
    assert refused(tmp_path / "x.safetensors", stored.ADAPTER).startswith(
        "holds an embedding, but no adapter; make one with: wordbias project"
    )
    save_file(TENSORS, path, {"wordbias adapter 9": "{}"})
    assert refused(path, stored.ADAPTER).startswith(
        "holds the tensors a, b and the header wordbias adapter 9, but no adapter; "
    )


@pytest.mark.parametrize(
    ("header", "said"),
    [
        (HEADER, "holds a damaged NLI model: KeyError: 'dim'; train one"),
        (
            HEADER | {"wordbias": "99.0"},
            "holds a damaged NLI model (written by wordbias 99.0): KeyError: 'dim'; train one",
        ),
        ([], "holds a damaged NLI model: TypeError: list indices must be"),
    ],
)
def test_what_the_reader_cannot_use_is_damage(header: Any, said: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    write(path, stored.NLI_MODEL, TENSORS, header)
    with (
        pytest.raises(WordbiasError) as raised,
        reading(path, stored.NLI_MODEL) as (_, known),
    ):
        known["dim"]
    assert str(raised.value).startswith(f"{path}: {said}")


def test_a_header_that_is_no_json(tmp_path: Path) -> None:
    path = tmp_path / "x"
    for text in ("{", "[" * 100_000):
        save_file(TENSORS, path, {stored.NLI_MODEL: text})
        with (
            pytest.raises(WordbiasError, match="holds a damaged NLI model: "),
            reading(path, stored.NLI_MODEL),
        ):
            pass
        with pytest.raises(WordbiasError, match="cannot be read as an NLI model: "):
            read_header(path, stored.NLI_MODEL)


def test_the_options_of_json(tmp_path: Path) -> None:
    write(tmp_path / "x", stored.ADAPTER, TENSORS, HEADER, ensure_ascii=False)
    assert "é".encode() in (tmp_path / "x").read_bytes()
    with pytest.raises(ValueError, match="JSON compliant"):
        write(tmp_path / "y", stored.ADAPTER, TENSORS, {"x": float("nan")}, allow_nan=False)
    assert not (tmp_path / "y").exists()
