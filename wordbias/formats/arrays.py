"""Arrays of numbers in files: .npy, .npz and safetensors; Python objects are never loaded."""

from __future__ import annotations

import errno
import math
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from wordbias.errors import WordbiasError
from wordbias.formats.source import ZIP_ERRORS
from wordbias.text_files import check_regular

Array = NDArray[Any]
_DENSEST = 1_100
"""Largest ratio of a file in a zip to its compressed size; deflate reaches 1,032."""
NUMPY, ZIP = b"\x93NUMPY", b"PK"
"""First bytes of .npy and .npz."""


def beginning(path: Path) -> bytes:
    """Return the first bytes of a file, from which its format is recognised."""
    check_regular(path)
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


def is_safetensors(start: bytes) -> bool:
    """Return whether a file that begins so is safetensors."""
    return len(start) == 9 and start[8:] == b"{" and start[4:8] == bytes(4)


def is_npz(path: Path) -> bool:
    """Return whether a zip archive holds arrays."""
    try:
        with zipfile.ZipFile(path) as archive:
            return any(name.endswith(".npy") for name in archive.namelist())
    except ZIP_ERRORS:
        raise WordbiasError(f"{path}: is a damaged zip file; write it again") from None


@contextmanager
def reading_numpy(path: Path) -> Iterator[None]:
    """Turn whatever numpy makes of a damaged file into a `WordbiasError`."""
    try:
        yield
    except WordbiasError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise  # a disk that is full, or fails; zip seeks to where its directory says
        if any(sign in str(error) for sign in ("pickle", "Object arrays", "Python objects")):
            raise WordbiasError(
                f"{path}: holds Python objects, which are never loaded because they can run any "
                "code; save the vectors as an array of numbers"
            ) from None
        reason = str(error).partition("\n")[0]
        raise WordbiasError(
            f"{path}: cannot be read as an array: {reason}; write it again"
        ) from None


def map_npy(path: Path) -> Array:
    """Memory-map a .npy file."""
    with reading_numpy(path):
        mapped: Array = np.load(path, mmap_mode="r", allow_pickle=False)
        return mapped


def npz_names(path: Path) -> list[str]:
    """Return the names of the arrays in a .npz file."""
    with reading_numpy(path), path.open("rb") as file, np.load(file) as archive:
        return list(archive.files)


def load_npz(path: Path, name: str) -> Array:
    """Load one array of a .npz file."""
    with reading_numpy(path), path.open("rb") as file, np.load(file) as archive:
        check_member(path, archive.zip, name)
        return np.asarray(archive[name])


def npz_shapes(path: Path) -> dict[str, tuple[tuple[int, ...], np.dtype[Any]]]:
    """Return shape and type of each array in a .npz file, from its header."""
    with reading_numpy(path), zipfile.ZipFile(path) as archive:
        headers = {name: npz_header(archive, name) for name in npz_names(path)}
        return {name: (shape, dtype) for name, (shape, _, dtype, _) in headers.items()}


def npz_header(
    archive: zipfile.ZipFile, name: str
) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """Return shape, Fortran order and type of an array in a .npz file, and its first byte."""
    with archive.open(member_of(archive, name)) as member:
        version = np.lib.format.read_magic(member)
        read = np.lib.format.read_array_header_1_0
        if version != (1, 0):
            read = np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(member)
        return shape, fortran, dtype, member.tell()


def member_of(archive: zipfile.ZipFile, name: str) -> zipfile.ZipInfo:
    """Return the entry of an array."""
    return archive.getinfo(name if name in archive.namelist() else f"{name}.npy")


def check_member(path: Path, archive: zipfile.ZipFile, name: str) -> None:
    """Refuse an array whose header names more numbers than there are: numpy allocates them."""
    info = member_of(archive, name)
    shape, _, dtype, _ = npz_header(archive, name)
    needed, most = math.prod(shape) * dtype.itemsize, _DENSEST * info.compress_size
    if dtype.hasobject:
        return  # refused by numpy
    if needed > info.file_size or info.file_size > most or info.compress_size > path.stat().st_size:
        raise WordbiasError(
            f"{path}: the array {name!r} is said to have the shape {shape}, but so much is not "
            "there; write the file again"
        )


def read_rows(file: IO[bytes], rows: int, dim: int, dtype: np.dtype[Any], path: Path) -> Array:
    """Read rows of a matrix from an open file."""
    data = file.read(rows * dim * dtype.itemsize)
    if len(data) != rows * dim * dtype.itemsize:
        raise WordbiasError(f"{path}: is cut off; write it again")
    return np.frombuffer(data, dtype).reshape(rows, dim)
