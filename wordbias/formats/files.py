"""Writing a file or a folder so that nobody ever sees half of it.

One process at a time at a file: a second one is told so instead of taking part.

Which files an argument makes a command read: its own, and those whose lists it names.
"""

from __future__ import annotations

import bz2
import errno
import glob
import gzip
import lzma
import os
import shutil
import time
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, cast

from wordbias.arguments import named_file
from wordbias.errors import WordbiasError


@contextmanager
def locked(path: str | os.PathLike[str]) -> Iterator[None]:
    """Keep other processes from a file as long as the block lasts.

    A file ``PATH.lock`` beside it is locked and removed at the end. The lock is the system's: that
    of a killed process is gone with it, and what is left of its file keeps nobody out. Where the
    system has no such locks nothing is kept from anyone.

    Raises
    ------
    WordbiasError
        If another process is inside such a block.
    """
    try:
        import fcntl
    except ModuleNotFoundError:  # Windows
        yield
        return
    lock = Path(f"{os.fspath(path)}.lock")
    handle = _opened(lock)
    try:
        while not _locked(fcntl, handle, path, lock):
            os.close(handle)
            handle = _opened(lock)
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)
    finally:
        os.close(handle)


def _opened(lock: Path) -> int:
    return os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)


def _locked(fcntl: Any, handle: int, path: str | os.PathLike[str], lock: Path) -> bool:
    """Lock an open file; False if it was removed before, and is no longer what others open."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise WordbiasError(
            f"{path}: another process is writing it; wait for that one, or name another output"
        ) from None
    except OSError:  # a file system without locks
        return True
    try:
        return os.path.samestat(os.fstat(handle), lock.stat())
    except FileNotFoundError:
        return False


_LARGEST = 1 << 20


def files_of(argument: str) -> list[str]:
    """Return the file that an argument means, and the files that its word lists are in.

    Parameters
    ----------
    argument
        A path, which may be followed by ``::member`` or ``:group,group``. Where it is a TOML file,
        ``"FILE#key"`` in it is a list in another file beside it; see
        `wordbias.wordlists.WordGroups.load`.
    """
    forms = (argument, argument.partition("::")[0], argument.rpartition(":")[0])
    file = next((form for form in forms if form and os.path.exists(form)), argument)
    return [file, *(str(Path(file).parent / name) for name in _named_in(Path(file)))]


def _named_in(file: Path) -> list[str]:
    try:
        if not file.is_file() or file.stat().st_size > _LARGEST:
            return []
        tables = tomllib.loads(file.read_bytes().decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError):  # whoever reads it says what is wrong with it
        return []
    return [name for name, hash_, _ in (text.partition("#") for text in _texts(tables)) if hash_]


def _texts(tables: Any) -> Iterator[str]:
    """Yield every text in tables in tables, however deep."""
    left = [tables]
    while left:
        value = left.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            left += reversed(value.values())


ABANDONED = 86_400
"""Seconds after which nobody is writing a half file any more."""
_OPENERS: dict[str, Any] = {".bz2": bz2.BZ2File, ".xz": lzma.LZMAFile}
_NO_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EBADF)
"""What a file system says that cannot sync a file or a folder, as opposed to a disk that fails."""


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Write a file that takes its name only when it is complete.

    Where the system can, the file has no name at all while it is written, so that not even a
    killed process leaves a part of it behind; elsewhere it is a hidden neighbour, removed on any
    error. An existing file keeps its permissions and is replaced in one step at the end. The bytes
    are on the disk before the name is given, and the name before this returns.

    Raises
    ------
    WordbiasError
        If the folder is missing or may not be written to, or the disk is full.
    """
    target = Path(os.path.realpath(named_file(path)))
    check_writable(target)
    hidden = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with _nameless(target.parent, hidden) as file:
            if target.exists():
                os.chmod(file.fileno(), target.stat().st_mode & 0o7777)
            yield file
        rename(hidden, target)
    except OSError as error:
        raise _explained(error, target) from None
    finally:
        hidden.unlink(missing_ok=True)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Refuse early, before hours of work, an output that cannot be written."""
    target = Path(named_file(path))
    folder = Path(os.path.realpath(target)).parent
    try:
        target.lstat()
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise _explained(error, target) from None
    if target.is_dir():
        raise WordbiasError(f"{target}: is a folder; name the file to write")
    if target.exists() and not target.is_file():
        raise WordbiasError(f"{target}: is not a regular file, and is not replaced by one")
    if str(target) == "-":
        raise WordbiasError("-: a file is not written to standard output; name one")
    if not folder.is_dir():
        raise WordbiasError(f"{target}: cannot be written, the folder {folder} does not exist")
    if not os.access(folder, os.W_OK):
        raise WordbiasError(f"{target}: cannot be written, the folder {folder} is read-only to you")


@contextmanager
def new_folder(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """Fill a folder that takes its name only when it is complete; yield where to write.

    On any error nothing of it is left.

    Raises
    ------
    WordbiasError
        If it exists, cannot be made, or the disk is full.
    """
    check_new(folder)
    target = Path(os.path.realpath(folder))
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    remove_abandoned(target.parent, target.name)
    try:
        part.mkdir()
        yield part
        sync_folder(part)
        part.rename(target)
        _sync_path(target.parent)
    except OSError as error:
        raise WordbiasError(f"{folder}: could not be written: {error.strerror or error}") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)


def rename(old: Path, new: Path) -> None:
    """Give a file or folder, whose content is on the disk, another name; bring that there, too."""
    os.replace(old, new)
    _sync_path(new.parent)


def sync_file(file: IO[bytes]) -> None:
    """Bring what was written to the disk, where the file system can."""
    file.flush()
    _sync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Bring all files in a folder to the disk, and the folders that name them."""
    for home, _, names in os.walk(folder, topdown=False):
        for name in names:
            _sync_path(Path(home, name))
        _sync_path(Path(home))


def _sync_path(path: Path) -> None:
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:  # Windows opens no folders; a file that may not be read is the user's own
        return
    try:
        _sync(handle)
    finally:
        os.close(handle)


def _sync(handle: int) -> None:
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise


def remove_abandoned(folder: Path, name: str) -> None:
    """Remove what killed processes left half-written under a hidden name, a day ago or earlier.

    Parameters
    ----------
    name
        Of what was written; ``*`` is anything.
    """
    pattern = name if name == "*" else glob.escape(name)
    for part in folder.glob(f".{pattern}.*.part"):
        with suppress(OSError):
            if time.time() - part.lstat().st_mtime > ABANDONED:
                remove = shutil.rmtree if part.is_dir() else os.unlink
                remove(part)


def check_new(folder: str | os.PathLike[str]) -> None:
    """Refuse early, before hours of work, a folder that cannot be made.

    Raises
    ------
    WordbiasError
        If it exists, or the folder that it is to be in does not or is read-only.
    """
    target = Path(folder)
    if target.exists():
        raise WordbiasError(f"{target}: exists already; name a new folder")
    parent = Path(os.path.realpath(target)).parent
    if not parent.is_dir():
        raise WordbiasError(f"{target}: cannot be made, the folder {parent} does not exist")
    if not os.access(parent, os.W_OK):
        raise WordbiasError(f"{target}: cannot be made, the folder {parent} is read-only to you")


def check_output_folder(folder: str | os.PathLike[str]) -> None:
    """Refuse early, before hours of work, a folder that cannot be made or written to.

    Raises
    ------
    WordbiasError
        If it is a file or read-only, or the folder that it is to be in is not there or read-only.
    """
    target = Path(folder)
    if target.is_dir() and not os.access(target, os.W_OK):
        raise WordbiasError(f"{target}: is read-only to you; name another folder")
    if target.exists() and not target.is_dir():
        raise WordbiasError(f"{target}: is a file; name a folder")
    if not target.exists():
        check_new(target)


@contextmanager
def output_folder(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """Make a folder unless it is there; where it is new and stays empty, an error removes it.

    Raises
    ------
    WordbiasError
        As `check_output_folder`, or if it cannot be made all the same.
    """
    check_output_folder(folder)
    target = Path(folder)
    is_new = not target.exists()
    try:
        target.mkdir(exist_ok=True)
    except OSError as error:
        raise WordbiasError(f"{target}: cannot be made: {error.strerror or error}") from None
    try:
        yield target
    except BaseException:
        with suppress(OSError):  # it holds something
            if is_new:
                target.rmdir()
        raise


def refuse_same(written: Mapping[str, str | None], read: Mapping[str, str | None]) -> None:
    """Refuse to write two things to one file, or over a file that is read.

    Parameters
    ----------
    written, read
        Files by what they are called on the command line; None is none. Of one that is read, see
        `wordbias.formats.files.files_of`.

    Raises
    ------
    WordbiasError
        Naming both.
    """
    known = {
        os.path.realpath(file): what
        for what, path in read.items()
        if path is not None
        for file in files_of(path)
    }
    for what, path in written.items():
        if path is None:
            continue
        real = os.path.realpath(path)
        if real in known:
            raise WordbiasError(f"{path}: is both {known[real]} and {what}; name two files")
        known[real] = what


@contextmanager
def compressing(file: IO[bytes], name: str) -> Iterator[IO[bytes]]:
    """Compress what is written as the suffix of `name` says: .gz, .bz2, .xz, .zip or not at all."""
    suffix = Path(name).suffix.lower()
    with ExitStack() as stack:
        if suffix == ".gz":  # without a time stamp, so that equal content gives equal files
            packed = gzip.GzipFile("", "wb", 6, file, mtime=0)
        elif suffix == ".zip":
            archive = stack.enter_context(zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED))
            member = zipfile.ZipInfo(Path(name).stem)
            member.compress_type = zipfile.ZIP_DEFLATED
            packed = archive.open(member, "w", force_zip64=True)  # type: ignore[assignment]
        elif suffix in _OPENERS:
            packed = _OPENERS[suffix](file, "wb")
        else:
            yield file
            return
        yield cast(IO[bytes], stack.enter_context(packed))


@contextmanager
def _nameless(folder: Path, name: Path) -> Iterator[IO[bytes]]:
    """Open a file in `folder` that gets its `name` when the block ends without an error."""
    try:
        handle = os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o666)
    except (AttributeError, OSError):  # not Linux, or a file system without nameless files
        with name.open("w+b") as file:
            yield file
            sync_file(file)
        return
    with os.fdopen(handle, "w+b") as file:
        yield file
        sync_file(file)
        # naming a folder makes Python call linkat, which alone can follow this link
        os.link(f"/proc/self/fd/{handle}", name, src_dir_fd=handle)


def _explained(error: OSError, target: Path) -> WordbiasError:
    reason = error.strerror or str(error)
    return WordbiasError(
        f"{target}: could not be written: {reason}; nothing was changed, "
        "mend that or name another place"
    )
