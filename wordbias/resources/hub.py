"""Files on the Hugging Face hub, by addresses such as ``hf://owner/name@revision/path``.

huggingface_hub does every transfer: its cache, its retries, HF_TOKEN, HF_ENDPOINT, HF_HUB_CACHE and
HF_HUB_OFFLINE mean what they mean elsewhere. Only the files that are needed are fetched.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import time
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from glob import escape
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

from wordbias.calls import note
from wordbias.errors import WordbiasError, first_line, listed, need, without_secrets
from wordbias.model_folder import CARD, MODULES, PICKLED, WEIGHTS, module_folders
from wordbias.progress import has_screen, in_notebook, is_quiet

SCHEME = "hf://"
_SCHEME = re.compile("hf://?")
METHOD_FILE = "method.safetensors"
ADAPTER_FILE = "adapter.safetensors"
SECONDS = 10
"""Longest wait for an answer about a repository."""
_FORM = "hf://owner/name, or hf://owner/name@revision/path; of data hf://datasets/owner/name/path"
_ADDRESS = re.compile(
    r"(?:(?P<kind>models|datasets)/)?(?P<repo>[\w.-]+(?:/[\w.-]+|(?=@|$)))"
    r"(?:@(?P<revision>refs/pr/\d+|refs/convert/[\w.-]+|[^/@]+))?(?:/(?P<path>[^@]+))?"
)
_OTHER_KINDS = ("spaces", "buckets", "kernels", "models", "datasets")
_NAME = re.compile(r"\w[\w.-]*/\w[\w.-]*")
_SUFFIX = re.compile(r"\.[A-Za-z]\w*$")
_MODEL_SUFFIXES = (".json", ".txt", ".model", ".jinja", ".codes")
"""Configs and tokenizers."""
_NO_DATA = re.compile(
    r"(.*/)?(\..*|README(\..*)?|LICENSE(\..*)?|[^/]*\.(md|png|jpe?g|svg|py|html))", re.IGNORECASE
)


class NotOnHub(WordbiasError):
    """The error for a repository that is not to be had."""

    def __init__(self, message: str, reason: str, asked: bool) -> None:
        super().__init__(message)
        self.reason: str = reason
        self.asked: bool = asked


@dataclass(frozen=True)
class Address:
    """A repository on the hub, or a file or folder in it."""

    text: str
    kind: str
    repo: str
    revision: str | None = None  # branch, tag or commit; None is the default branch
    path: str = ""  # path in the repository; empty is all of it

    @classmethod
    def parse(cls, text: str) -> Address:
        """Read an address, with or without ``hf://``."""
        match = _ADDRESS.fullmatch(_SCHEME.sub("", text).rstrip("/"))
        path = PurePosixPath(match["path"] or "") if match else PurePosixPath()
        revision = unquote(match["revision"] or "") if match else ""
        parts = {*path.parts, *PurePosixPath(revision).parts}
        leaves = ".." in parts or path.is_absolute() or revision.startswith("/")
        if match is None or leaves or not f"{text}{revision}".isprintable():
            raise WordbiasError(f"{text}: is not an address on the hub; expected {_FORM}")
        if match["repo"].split("/")[0] in _OTHER_KINDS:
            raise WordbiasError(
                f"{text}: expected the owner and the name of a model or of a data set, {_FORM}"
            )
        kind = "dataset" if match["kind"] == "datasets" else "model"
        inner = "" if path == PurePosixPath() else str(path)
        return cls(text, kind, match["repo"], revision or None, inner)

    def to(self, file: str) -> str:
        """Return the address of a file of the same repository and revision."""
        kind = "datasets/" * (self.kind == "dataset")
        at = f"@{self.revision.replace('/', '%2F')}" if self.revision else ""
        return f"{SCHEME}{kind}{self.repo}{at}{'/' * bool(file)}{file}"


def is_address(name: object) -> bool:
    """Return whether a name begins with ``hf://``, or with ``hf:/``, as a `Path` writes it."""
    return isinstance(name, str) and _SCHEME.match(name) is not None


def named(name: str) -> str:
    """Return the address that a name such as ``owner/name`` stands for, if no such path exists."""
    # A name with the suffix of a file stays a path.
    looks = _NAME.fullmatch(name) is not None and _SUFFIX.search(name) is None
    return f"{SCHEME}{name}" if looks and not os.path.exists(name) else name


def title(name: str) -> str:
    """Return the name of a file at an address, else that of its repository, for results."""
    place = Address.parse(name.partition("::")[0])
    return place.path.rpartition("/")[2] or place.repo.rpartition("/")[2]


def library(purpose: str) -> Any:
    """Import huggingface_hub with the modules that are used of it; see `wordbias.errors.need`."""
    hub = need("huggingface_hub", extra="data", purpose=purpose)
    for module in ("constants", "errors", "utils"):  # it imports them on first use only
        need(f"huggingface_hub.{module}", extra="data", purpose=purpose)
    return hub


# Fetching


def fetched(name: str, *, wanted: str = "") -> str:
    """Return the local path of what an address names; other names as they are."""
    # The hub is asked for the newest commit of the revision. Where it cannot be reached, the path
    # is that of the commit in the cache, and a note says so. `wanted` is the usual name of a single
    # file; by default the result is a file, or the folder of a model or of several files of data.
    if not is_address(name):
        return name
    outer, colons, member = name.partition("::")
    place = Address.parse(outer)
    hub = library(f"{outer}: fetching from the hub")
    repository = _Repository(hub, place)
    files = repository.files
    if place.path in files:
        return str(repository.get([place.path]) / place.path) + colons + member
    below = f"{place.path}/" if place.path else ""
    inside = [file.removeprefix(below) for file in files if file.startswith(below)]
    if not inside:
        raise WordbiasError(
            f"{outer}: {place.repo} has no file or folder {place.path!r}"
            f"{_at_revision(place)}; {_holds(files)}"
        )
    if wanted:
        chosen = [_the_file(place, inside, wanted)]
    elif _is_model(inside):
        return str(_model_folder(repository, below, inside))
    else:
        chosen = [file for file in inside if not _NO_DATA.fullmatch(file)]
    if not chosen:
        raise WordbiasError(f"{outer}: holds nothing that can be used; {_holds(inside)}")
    if len(chosen) > 1 and not place.path:
        raise WordbiasError(f"{outer}: holds {len(chosen)} files; {_choice(place, chosen)}")
    folder = repository.get([below + file for file in chosen]) / below
    return str(folder / chosen[0] if len(chosen) == 1 else folder) + colons + member


@contextmanager
def local(name: str, *, wanted: str = "") -> Iterator[str]:
    """Yield the path that a name is `fetched` to; errors in the block name what was given."""
    path = fetched(name, wanted=wanted)
    with renamed(path, name):
        yield path


@contextmanager
def renamed(path: str, name: str) -> Iterator[None]:
    """Make errors in the block name what was given instead of the path it was found at."""
    try:
        yield
    except WordbiasError as error:
        if path != name:
            error.args = (str(error).replace(path, name),)
        raise


def _is_model(files: Sequence[str]) -> bool:
    return bool({"config.json", "modules.json"} & {*files})


def _the_file(place: Address, files: Sequence[str], wanted: str) -> str:
    """Return the file of the usual name, or else the only one of its suffix."""
    suffix = PurePosixPath(wanted).suffix
    alike = [file for file in files if file.endswith(suffix) and not WEIGHTS.fullmatch(file)]
    if wanted in files or len(alike) == 1:
        return wanted if wanted in files else alike[0]
    if not alike:
        raise WordbiasError(f"{place.text}: has no {wanted}; {_holds(files)}")
    raise WordbiasError(f"{place.text}: has no {wanted}; {_choice(place, alike)}")


def _holds(files: Sequence[str]) -> str:
    return f"it holds {listed(sorted(files)) if files else 'no file'}"


def _choice(place: Address, files: Sequence[str]) -> str:
    below = f"{place.path}/" if place.path else ""
    return f"name one of: {listed((place.to(below + file) for file in sorted(files)), 200)}"


def _at_revision(place: Address) -> str:
    return f" at {place.revision}" if place.revision else ""


def _model_folder(repository: _Repository, below: str, files: Sequence[str]) -> Path:
    """Fetch the files of a model, those of `model_files`."""
    folders: set[str] = set()
    if MODULES in files:
        folders = module_folders(repository.get([below + MODULES]) / below / MODULES)
    return repository.get([below + file for file in model_files(files, folders)]) / below


def model_files(files: Sequence[str], folders: Collection[str] = ()) -> list[str]:
    """Return which files are of a model: configs, tokenizer, weights, and those of its modules."""
    # The card is one of them, for the licence of what is made from the model. Weights are
    # safetensors; a pickle is one only where a module has no others. Weights for other programs,
    # such as ONNX, and code are none.
    wanted = []
    for folder in sorted({"", *folders}):
        names = [file for file in files if file.rpartition("/")[0] == folder.rstrip("/")]
        names = [name.removeprefix(folder) for name in names]
        weights = [name for name in names if WEIGHTS.fullmatch(name)]
        weights = weights or [name for name in names if PICKLED.fullmatch(name)]
        others = [
            name
            for name in names
            if (name.endswith(_MODEL_SUFFIXES) and not name.endswith(".index.json"))
            or (name == CARD and not folder)
        ]
        wanted += [folder + name for name in (*weights, *others)]
    return wanted


class _Repository:
    """The files of a repository at one revision, on the hub or in the cache."""

    def __init__(self, hub: Any, place: Address) -> None:
        self._hub, self._place = hub, place
        self._cached: Path | None = None
        try:
            info = hub.HfApi().repo_info(
                place.repo, repo_type=place.kind, revision=place.revision, timeout=SECONDS
            )
        except Exception as error:  # of httpx, requests, or huggingface_hub's own
            self._cached = None if _has_no_revision(hub, error) else self._in_cache()
            if self._cached is None:
                raise refused(hub, place, error) from None
            if not _is_offline(hub, error):
                note(
                    f"{place.text}: taken from the cache, commit {self._cached.name[:12]}; the hub "
                    f"was not to be asked ({first_line(error)[:120]})"
                )
            self.files = sorted(
                file.relative_to(self._cached).as_posix()
                for file in self._cached.rglob("*")
                if file.is_file()
            )
        else:
            self.files = [file.rfilename for file in info.siblings or ()]
            if not all(isinstance(file, str) for file in self.files):
                raise WordbiasError(f"{place.text}: the hub lists files without names")

    def _in_cache(self) -> Path | None:
        """Return the folder in the cache, whatever files it has; None if there is none."""
        try:
            return Path(self._snapshot([], local_files_only=True))
        except Exception:
            return None

    def get(self, files: Sequence[str]) -> Path:
        """Fetch files that are not in the cache yet; return the folder that they are in."""
        # New ones are compared with the hash that the hub states, by which the cache names them.
        if self._cached is not None:
            return self._cached
        begin = time.time()
        try:
            with _quietly(self._hub):
                folder = Path(self._snapshot([escape(file) for file in files]))
        except Exception as error:  # of httpx, requests, the disk, or huggingface_hub's own
            raise refused(self._hub, self._place, error, " while fetching") from None
        for file in files:
            real = (folder / file).resolve()
            if folder.resolve().parents[1] not in real.parents:
                raise WordbiasError(
                    f"{self._place.to(file)}: the hub names a place outside the cache, {real}; "
                    "remove that file, and use no such hub"
                )
            if real.parent.name == "blobs" and real.stat().st_mtime >= begin - 1:
                _check_stated(real, self._place.to(file))
        return folder

    def _snapshot(self, patterns: Sequence[str], **how: Any) -> str:
        place = self._place
        folder: str = self._hub.snapshot_download(
            place.repo,
            repo_type=place.kind,
            revision=place.revision,
            allow_patterns=list(patterns),
            **how,
        )
        return folder


def _check_stated(blob: Path, address: str) -> None:
    """Refuse, and remove, a file whose content has another hash than its name in the cache."""
    with blob.open("rb") as file:
        if len(blob.name) == 64:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        else:  # git's hash of a file
            head = b"blob %d\0" % blob.stat().st_size
            digest = hashlib.sha1(head + file.read(), usedforsecurity=False).hexdigest()
    if digest != blob.name:
        blob.unlink()
        raise WordbiasError(
            f"{address}: is not the file that the hub states: expected the hash "
            f"{blob.name[:16]}…, found {digest[:16]}…; repeat the call to fetch it again"
        )


@contextmanager
def _quietly(hub: Any) -> Iterator[None]:
    """Show progress bars of huggingface_hub only where those of wordbias are shown."""
    # Its deprecation warnings about other libraries are for its developers.
    has_bars = has_screen() if in_notebook() else sys.stderr.isatty()
    hide = (is_quiet() or not has_bars) and not hub.utils.are_progress_bars_disabled()
    if hide:
        hub.utils.disable_progress_bars()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            yield
    finally:
        if hide:
            hub.utils.enable_progress_bars()


# Errors


def _is_offline(hub: Any, error: BaseException) -> bool:
    return isinstance(error, hub.errors.OfflineModeIsEnabled)


def _has_no_revision(hub: Any, error: Exception) -> bool:
    return isinstance(error, hub.errors.RevisionNotFoundError)


def refused(hub: Any, place: Address, error: Exception, when: str = "") -> WordbiasError:
    """Return the error, with its remedy, for what huggingface_hub raised about a repository."""
    what = f"{place.text}:"
    if any(
        _is_offline(hub, cause) for cause in (error, error.__cause__, error.__context__) if cause
    ):
        if "publish" in when:
            return WordbiasError(
                f"{what} nothing is published while HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE is set; "
                "unset it"
            )
        options = " --repo-type dataset" * (place.kind == "dataset")
        options += f" --revision {place.revision}" if place.revision else ""
        offline = "HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE is set"
        return NotOnHub(
            f"{what} is not in the cache of the hub, and {offline}; unset it, or fetch the files "
            f"first with: hf download {place.repo}{options}",
            f"the hub is not asked, for {offline}",
            asked=False,
        )
    if getattr(error, "response", None) is not None:
        message = f"{what} {_answered(hub, place, error, when)}"
        if isinstance(error, hub.errors.RepositoryNotFoundError) and not isinstance(
            error, hub.errors.GatedRepoError
        ):
            without = "" if hub.get_token() else ", or it is private and you have no token"
            return NotOnHub(message, f"none on {hub.constants.ENDPOINT}{without}", asked=True)
        return WordbiasError(message)
    if isinstance(error, hub.errors.HFValidationError):
        return WordbiasError(
            f"{what} is not a name on the hub ({first_line(error)}); expected {_FORM}"
        )
    if isinstance(error, ValueError):  # what it checks itself, such as the header of a README.md
        return WordbiasError(f"{what} {str(error).strip()[:400]}")
    if isinstance(error, OSError) and error.errno is not None and error.filename is not None:
        return WordbiasError(
            f"{what} cannot be written to the cache of the hub, {error.filename}: {error.strerror};"
            " mend that, or set HF_HUB_CACHE to a folder elsewhere"
        )
    reason = (
        f"{hub.constants.ENDPOINT} cannot be reached, or broke off{when} "
        f"({first_line(error.__cause__ or error)[:200]})"
    )
    message = f"{what} {reason}; repeat the call to fetch what is missing, or give a local path"
    return WordbiasError(message) if when else NotOnHub(message, reason, asked=False)


def _answered(hub: Any, place: Address, error: Any, when: str) -> str:
    """Say what an answer of the hub means, and what to do."""
    known, endpoint, status = hub.errors, hub.constants.ENDPOINT, error.response.status_code
    with_token = hub.get_token() is not None
    log_in = "log in with: hf auth login (or set HF_TOKEN)"
    if isinstance(error, known.GatedRepoError):
        return (
            f"is gated, and you have no access; accept its terms on {endpoint}/{place.repo}, and "
            f"{log_in}"
        )
    if isinstance(error, known.RevisionNotFoundError):
        return (
            f"{place.repo} has no revision {place.revision or 'main'}; name one of its branches or "
            "tags, or a commit"
        )
    if isinstance(error, known.RepositoryNotFoundError):
        kinds = {"model": "model", "dataset": "data set"}
        other = "dataset" if place.kind == "model" else "model"
        there = replace(place, kind=other, revision=None).to("")
        why = "your token gives no access" if with_token else "you have no token"
        return (
            f"there is no such {kinds[place.kind]} on {endpoint}, or it is private and {why}; "
            f"check the name{'' if with_token else f', {log_in}'}, or if it is a {kinds[other]}: "
            f"{there}"
        )
    if status in (401, 403):
        why = "your token is not allowed to do that" if with_token else "you have no token"
        return f"the hub refused it{when} ({status}): {why}; {log_in}"
    reason = error.server_message or first_line(error)
    return f"the hub answered {status}{when}: {reason[:200]}; try again later"


# Publishing


@dataclass(frozen=True)
class Published:
    """What a call of `publish` did."""

    place: Address
    url: str
    commit: str  # the commit; where nothing was new, the one that was there
    files: Mapping[str, int]  # size in bytes of each file by its path in the repository
    new: bool  # True if there was something to commit
    card: bool  # True if the card was written, False if there was one already


def publish(
    files: Mapping[str, Path], place: Address, card: str, *, private: bool, message: str
) -> Published:
    """Upload files in one commit; repository and branch are created if they do not exist."""
    # The card is the README.md of a repository that has none. `private` makes a new repository
    # private, and refuses one that is public.
    hub = library(f"{place.text}: publishing on the hub")
    if hub.get_token() is None:
        raise WordbiasError(
            f"{place.text}: publishing needs a token with write access; log in with: "
            "hf auth login (or set HF_TOKEN)"
        )
    api = hub.HfApi()
    branch = place.revision if place.revision and not place.revision.startswith("refs/") else None
    try:
        with _quietly(hub):
            known = _repository_info(hub, api, place)
            if private and known is not None and not known.private:
                raise WordbiasError(
                    f"{place.text}: is public already; leave out --private, or change it on "
                    f"{hub.constants.ENDPOINT}/{place.repo}/settings"
                )
            repo_url = api.create_repo(
                place.repo, repo_type=place.kind, private=private or None, exist_ok=True
            )
            if branch:
                api.create_branch(place.repo, branch=branch, repo_type=place.kind, exist_ok=True)
            about = {"repo_type": place.kind, "revision": place.revision}
            before = api.repo_info(place.repo, timeout=SECONDS, **about)
            own = CARD in files
            make_card = not own and CARD not in {
                sibling.rfilename for sibling in before.siblings or ()
            }
            below = f"{place.path}/" if place.path else ""
            added: dict[str, Path | bytes] = {below + name: path for name, path in files.items()}
            if make_card:
                added[CARD] = card.encode()
            operations = [hub.CommitOperationAdd(name, content) for name, content in added.items()]
            note(f"{place.text}: to publish: {', '.join(added)}", reported=True)
            done = api.create_commit(place.repo, operations, commit_message=message, **about)
    except WordbiasError:
        raise
    except Exception as error:  # of httpx, requests, or huggingface_hub's own
        raise refused(hub, place, error, " while publishing") from None
    sizes = {
        name: len(content) if isinstance(content, bytes) else content.stat().st_size
        for name, content in added.items()
    }
    return Published(
        place,
        without_secrets(str(repo_url)),
        str(done.oid),
        sizes,
        done.oid != before.sha,
        make_card,
    )


def _repository_info(hub: Any, api: Any, place: Address) -> Any:
    """Return what the hub says about a repository; None if there is none."""
    try:
        return api.repo_info(place.repo, repo_type=place.kind, timeout=SECONDS)
    except hub.errors.RepositoryNotFoundError:
        return None
