"""Vectors to be probed: what `encode` wrote, or arrays of numpy and safetensors."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.formats.source import ZIP_ERRORS
from wordbias.formats.stored import REPRESENTATIONS
from wordbias.formats.tensors import Tensors, map_tensors
from wordbias.probes.representations import Representations
from wordbias.probes.storage import load_representations

Array = NDArray[Any]

_DENSEST = 1_100
"""Times that a byte of a zip can stand for; deflate reaches 1,032."""
_NUMPY, _ZIP = b"\x93NUMPY", b"PK"


def is_arrays(path: str | Path) -> bool:
    """Say whether a file holds representations or arrays, rather than words and vectors."""
    start = _start(Path(path))
    if start.startswith((_NUMPY, _ZIP)):
        return start.startswith(_NUMPY) or _is_npz(Path(path))
    if not _is_safetensors(start):
        return False
    tensors, metadata = map_tensors(Path(path))
    return REPRESENTATIONS in metadata or not {"vectors", "words"} <= tensors.keys()


def is_representations(path: str | Path) -> bool:
    """Say whether a file holds what `encode` writes, columns beside vectors."""
    return _is_safetensors(_start(Path(path))) and REPRESENTATIONS in map_tensors(Path(path))[1]


def load_vectors(path: str | Path, array: str | None = None) -> Representations:
    """Map vectors: those that `encode` wrote, or an array of a .npy, .npz or safetensors file.

    Parameters
    ----------
    path
        Recognised by its content.
    array
        Name of the array where there are several; it has shape ``(n, d)``, or ``(L, n, d)`` for
        several layers.

    Raises
    ------
    WordbiasError
        If the file holds no such array, or Python objects, which are never loaded.
    """
    path = Path(path)
    start = _start(path)
    if _is_safetensors(start):
        tensors, metadata = map_tensors(path)
        if REPRESENTATIONS in metadata:
            return load_representations(path)
        return of_array(_chosen(path, tensors, array), path.stem, str(path))
    return of_array(_numpy(path, start, array), path.stem, str(path))


def _start(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            start = file.read(9)
    except IsADirectoryError:
        raise WordbiasError(
            f"{path}: is a folder; give a file of vectors (a model's are written with: wordbias "
            "encode)"
        ) from None
    except FileNotFoundError:
        raise WordbiasError(
            f"{path}: there is no such file; vectors of a model are written with: wordbias encode"
        ) from None
    except OSError as error:
        raise WordbiasError(f"{path}: cannot be read: {error.strerror or error}") from None
    if not start:
        raise WordbiasError(f"{path}: is empty; write it again")
    return start


def _is_safetensors(start: bytes) -> bool:
    return len(start) == 9 and start[8:] == b"{" and start[4:8] == bytes(4)


def _is_npz(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return any(name.endswith(".npy") for name in archive.namelist())
    except ZIP_ERRORS:
        raise WordbiasError(f"{path}: is a damaged zip file; write it again") from None


def _numpy(path: Path, start: bytes, array: str | None) -> Array:
    try:
        if start.startswith(_NUMPY):
            mapped: Array = np.load(path, mmap_mode="r", allow_pickle=False)
            return np.asarray(mapped)
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            name = _name(path, archive.files, array)
            _check_member(path, archive.zip, name)
            return np.asarray(archive[name])
    except WordbiasError:
        raise
    except Exception as error:  # whatever numpy makes of a damaged header
        if (
            "pickle" in str(error)
            or "Object arrays" in str(error)
            or "Python objects" in str(error)
        ):
            raise WordbiasError(
                f"{path}: holds Python objects, which are never loaded because they can run any "
                "code; save the vectors as an array of numbers"
            ) from None
        reason = str(error).partition("\n")[0]
        raise WordbiasError(
            f"{path}: cannot be read as an array: {reason}; write it again"
        ) from None


def _check_member(path: Path, archive: zipfile.ZipFile, name: str) -> None:
    """Refuse an array whose header names more numbers than there are: numpy makes room for them."""
    info = archive.getinfo(name if name in archive.namelist() else f"{name}.npy")
    with archive.open(info) as member:
        version = np.lib.format.read_magic(member)
        read = np.lib.format.read_array_header_1_0
        if version != (1, 0):
            read = np.lib.format.read_array_header_2_0
        shape, _, dtype = read(member)
    needed, most = math.prod(shape) * dtype.itemsize, _DENSEST * info.compress_size
    if dtype.hasobject:
        return  # refused by numpy
    if needed > info.file_size or info.file_size > most or info.compress_size > path.stat().st_size:
        raise WordbiasError(
            f"{path}: the array {name!r} is said to have the shape {shape}, but so much is not "
            "there; write the file again"
        )


def _chosen(path: Path, arrays: Tensors, array: str | None) -> Array:
    """Return the array of a name, or the only one that can be vectors, whatever is beside it."""
    if array is not None:
        return arrays[_name(path, list(arrays), array)]
    usable = [name for name in arrays.known() if arrays[name].ndim in (2, 3)]
    return arrays[_name(path, usable or list(arrays), None)]


def _name(path: Path, known: list[str], array: str | None) -> str:
    listed = ", ".join(known) or "none"
    if array is not None and array not in known:
        raise WordbiasError(f"{path}: no array {array!r}; it holds {listed[:200]}")
    if array is None and len(known) != 1:
        raise WordbiasError(
            f"{path}: expected one array of vectors, found {listed[:200]}; choose with --array NAME"
        )
    return array or known[0]


def of_array(found: Array, name: str, what: str = "") -> Representations:
    """Take an array of shape ``(n, d)``, or ``(L, n, d)`` for several layers, as representations.

    Parameters
    ----------
    name
        What results call it.
    what
        What messages call it, by default the same.

    Raises
    ------
    WordbiasError
        If it has another shape, or holds no numbers.
    """
    if found.ndim not in (2, 3) or found.dtype.kind not in "fiu":
        raise WordbiasError(
            f"{what or name}: expected numbers of shape (examples, dimensions) or (layers, "
            f"examples, dimensions), found {found.dtype} of shape {found.shape}"
        )
    vectors = found[None] if found.ndim == 2 else found
    return Representations(vectors, tuple(range(len(vectors))), name=name)
