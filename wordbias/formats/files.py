"""Atomic writing of files and folders, checks of outputs before work begins, and file locks."""

from __future__ import annotations

import bz2
import errno
import glob
import gzip
import lzma
import os
import secrets
import shutil
import time
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import IO, Any, cast

from wordbias.arguments import named_file
from wordbias.calls import path_of
from wordbias.errors import WordbiasError


@contextmanager
def replacing(path: str | os.PathLike[str], *, follow: bool = True) -> Iterator[IO[bytes]]:
    """Write a file atomically: it takes its name only when it is complete."""
    # Where the system can, the file has no name while it is written: not even a killed process then
    # leaves a part of it. Elsewhere it is a hidden file in the same folder, removed on any error.
    # An existing file keeps its permissions. The bytes are on the disk before the file gets its
    # name, and the name is on the disk when the block has ended. `follow` replaces the file that a
    # link names.
    target = Path(named_file(path))
    folder = Path(os.path.realpath(target.parent))
    target = Path(os.path.realpath(target)) if follow else folder / target.name
    check_writable(target)
    hidden = _unfinished(target)
    try:
        with _nameless(target.parent, hidden) as file:
            # on Windows, where a handle has no permissions, folders rule
            if follow and target.exists() and os.chmod in os.supports_fd:
                os.chmod(file.fileno(), target.stat().st_mode & 0o7777)
            yield file
        rename(hidden, target)
    except OSError as error:
        raise _write_error(error, target) from None
    finally:
        hidden.unlink(missing_ok=True)


def _unfinished(target: Path) -> Path:
    """Return a hidden name for what becomes `target`, which nobody can know before."""
    return target.with_name(f".{target.name}.{os.getpid()}.{secrets.token_hex(4)}.part")


@contextmanager
def _nameless(folder: Path, name: Path) -> Iterator[IO[bytes]]:
    """Open a file in `folder` that gets its `name` if the block ends without an error."""
    try:
        handle = os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o666)
    except (AttributeError, OSError):  # not Linux, or a file system without nameless files
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | _NO_LINK
        with os.fdopen(os.open(name, flags, 0o666), "w+b") as file:
            yield file
            sync_file(file)
        return
    with os.fdopen(handle, "w+b") as file:
        yield file
        sync_file(file)
        # naming a folder makes Python call linkat, which alone can follow this link
        os.link(f"/proc/self/fd/{handle}", name, src_dir_fd=handle)


_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


def _write_error(error: OSError, target: Path) -> WordbiasError:
    reason = error.strerror or str(error)
    return WordbiasError(
        f"{target}: could not be written: {reason}; nothing was changed, "
        "mend that or name another place"
    )


_OPENERS: dict[str, Any] = {".bz2": bz2.BZ2File, ".xz": lzma.LZMAFile}


@contextmanager
def compressing(file: IO[bytes], name: str) -> Iterator[IO[bytes]]:
    """Compress what is written by the suffix of `name`: .gz, .bz2, .xz, .zip or not at all."""
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
def new_folder(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """Fill a new folder atomically: it takes its name only when it is complete."""
    check_new(folder)
    target = Path(os.path.realpath(folder))
    part = _unfinished(target)
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


@contextmanager
def output_folder(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """Make a folder, or open one to resume what was written there."""
    # On an error a new folder is removed if it is still empty.
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
        with suppress(OSError):  # it is not empty
            if is_new:
                target.rmdir()
        raise


# Checks of outputs, before work begins


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise an error now, before hours of work, for an output that cannot be written."""
    target = Path(named_file(path))
    _refuse_address(path)
    real = Path(os.path.realpath(target))
    folder = real.parent
    try:
        os.lstat(
            folder / f".{real.name}.{1 << 22}.{0:08}.part"
        )  # the longest name while it is written
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise _write_error(error, target) from None
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


def _refuse_address(path: str | os.PathLike[str]) -> None:
    text = os.fspath(path)
    if text.startswith(("hf:/", "hf:\\")):  # a Path has one slash, on Windows another
        raise WordbiasError(
            f"{text}: is a place on the hub; write to a path here, then: wordbias push PATH "
            "OWNER/NAME"
        )


def check_new(folder: str | os.PathLike[str]) -> None:
    """Raise an error now, before hours of work, for a new folder that cannot be made."""
    _refuse_address(folder)
    target = Path(folder)
    if target.exists():
        raise WordbiasError(f"{target}: exists already; name a new folder")
    parent = Path(os.path.realpath(target)).parent
    if not parent.is_dir():
        raise WordbiasError(f"{target}: cannot be made, the folder {parent} does not exist")
    if not os.access(parent, os.W_OK):
        raise WordbiasError(f"{target}: cannot be made, the folder {parent} is read-only to you")


def refuse_inside(output: str | os.PathLike[str], folder: str | os.PathLike[str]) -> None:
    """Refuse to write into a folder that is read."""
    if Path(os.path.realpath(output)).is_relative_to(os.path.realpath(folder)):
        raise WordbiasError(f"{output}: is inside of {folder}, which is read; name another folder")


def check_output_folder(folder: str | os.PathLike[str]) -> None:
    """Raise an error now, before hours of work, for an output folder that cannot be used."""
    _refuse_address(folder)
    target = Path(folder)
    if target.is_dir() and not os.access(target, os.W_OK):
        raise WordbiasError(f"{target}: is read-only to you; name another folder")
    if target.exists() and not target.is_dir():
        raise WordbiasError(f"{target}: is a file; name a folder")
    if not target.exists():
        check_new(target)


def check_outputs(written: Mapping[str, object], read: Mapping[str, object]) -> None:
    """Refuse files that cannot be written, and those that `refuse_same` refuses."""
    for path in filter(None, map(path_of, written.values())):
        check_writable(path)
    refuse_same(written, read)


def refuse_same(written: Mapping[str, object], read: Mapping[str, object]) -> None:
    """Refuse to write two outputs to one file, or over a file that is read."""
    # What is no path, such as None for an option that is not given, is none. Files that an input
    # refers to count as read; see `files_of`.
    known = {
        os.path.realpath(file): what
        for what, given in read.items()
        if (path := path_of(given)) is not None
        for file in files_of(path)
    }
    for what, given in written.items():
        if (path := path_of(given)) is None:
            continue
        real = os.path.realpath(path)
        if real in known:
            raise WordbiasError(f"{path}: is both {known[real]} and {what}; name two files")
        known[real] = what


_LARGEST_LIST_FILE = 1 << 20


def files_of(argument: str) -> list[str]:
    """Return the file that an argument names, and the files that hold its word lists."""
    # "FILE#key" in a TOML file is a list in another file beside it.
    forms = (argument, argument.partition("::")[0], argument.rpartition(":")[0])
    file = next((form for form in forms if form and os.path.exists(form)), argument)
    return [file, *(str(Path(file).parent / name) for name in _list_files(Path(file)))]


def _list_files(file: Path) -> list[str]:
    """Return the names of the files in the references ``"FILE#key"`` of a TOML file."""
    try:
        if not file.is_file() or file.stat().st_size > _LARGEST_LIST_FILE:
            return []
        tables = tomllib.loads(file.read_bytes().decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError):  # the reader reports what is wrong
        return []
    return [name for name, hash_, _ in (text.partition("#") for text in _texts(tables)) if hash_]


def _texts(tables: Any) -> Iterator[str]:
    """Yield every string in nested tables, at any depth."""
    remaining = [tables]
    while remaining:
        value = remaining.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            remaining += reversed(value.values())


# Owners


def is_trusted(status: os.stat_result) -> bool:
    """Return whether a file's owner is this user, root, or named in ``WORDBIAS_TRUSTED_OWNERS``."""
    # That variable holds names or numbers of users, separated by commas. Systems without owners
    # trust every file.
    if not hasattr(os, "geteuid") or status.st_uid in (0, os.geteuid()):
        return True
    owner = str(status.st_uid)
    with suppress(ImportError, KeyError):
        owner = import_module("pwd").getpwuid(status.st_uid).pw_name
    named = [user.strip() for user in os.environ.get("WORDBIAS_TRUSTED_OWNERS", "").split(",")]
    return bool({owner, str(status.st_uid)} & set(named))


# Locks


@contextmanager
def locked(path: str | os.PathLike[str]) -> Iterator[None]:
    """Lock a file against other processes while the block runs."""
    # The lock on PATH.lock is the operating system's: a killed process loses it, and a lock file
    # that it leaves behind locks nothing. On a file system without locks nothing is locked.
    lock = Path(f"{os.fspath(path)}.lock")
    is_done = False
    while not is_done:
        try:
            handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
        except PermissionError:
            raise WordbiasError(
                f"{lock}: may not be opened; if a killed process of another user left it, have it "
                "removed, or name another output"
            ) from None
        try:
            if os.fstat(handle).st_size:
                raise WordbiasError(
                    f"{lock}: has content, and would be removed as a lock of {path}; rename it, or "
                    "name another output"
                )
            if _acquire(handle, path, lock):
                is_done = True
                try:
                    yield
                finally:
                    if not _WINDOWS:  # which removes no open file
                        lock.unlink(missing_ok=True)
        finally:
            os.close(handle)
            if is_done and _WINDOWS:
                with suppress(OSError):  # another process has opened it since, and removes it
                    lock.unlink()


_WINDOWS = os.name == "nt"


def _acquire(handle: int, path: str | os.PathLike[str], lock: Path) -> bool:
    """Lock an open file; False if it was removed meanwhile: others then open another one."""
    try:
        if _WINDOWS:
            msvcrt: Any = import_module("msvcrt")
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            return True
        fcntl: Any = import_module("fcntl")
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):  # the second one is that of Windows
        raise WordbiasError(
            f"{path}: another process is writing it; wait for that one, or name another output"
        ) from None
    except OSError:  # a file system without locks
        return True
    try:
        return os.path.samestat(os.fstat(handle), lock.stat())
    except FileNotFoundError:
        return False


# Syncing and cleaning up

_NO_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EBADF)
"""Errors of a file system that cannot sync, as opposed to those of a disk that fails."""


def rename(old: Path, new: Path) -> None:
    """Rename a file or folder whose content is on the disk, and sync the new name."""
    os.replace(old, new)
    _sync_path(new.parent)


def sync_file(file: IO[bytes]) -> None:
    """Sync what was written to the disk, where the file system can."""
    file.flush()
    _sync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Sync all files in a folder to the disk, and the folders that hold them."""
    for parent, _, names in os.walk(folder, topdown=False):
        for name in names:
            _sync_path(Path(parent, name))
        _sync_path(Path(parent))


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


ABANDONED = 86_400
"""Age in seconds at which an unfinished file counts as left by a killed process."""


def remove_abandoned(folder: Path, name: str, age: float = ABANDONED) -> None:
    """Remove the unfinished files of a name (or ``*``) that killed processes left a day ago."""
    # The least age is 0 where a lock says that no process is writing them.
    pattern = name if name == "*" else glob.escape(name)
    for part in folder.glob(f".{pattern}.*.part"):
        with suppress(OSError):
            if time.time() - part.lstat().st_mtime >= age:
                remove = shutil.rmtree if part.is_dir() else os.unlink
                remove(part)
