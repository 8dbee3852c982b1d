"""A server in a thread that speaks as much of the hub's protocol as huggingface_hub needs here.

It holds repositories in memory: their commits, branches, and who may read them. Files of 1 kB and
more go by LFS, so that both ways of uploading are used. Nothing leaves this machine.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from local_server import running

TOKEN = "hf_of_the_owner"
LARGE = 1000
"""Bytes from which on a file goes by LFS."""
Files = dict[str, bytes]


@dataclass
class Repository:
    """Commits by their hash, and branches and tags by their names."""

    private: bool = False
    gated: bool = False
    card: dict[str, Any] = field(default_factory=dict)
    commits: dict[str, Files] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)

    def commit(self, files: Files, branch: str = "main", message: str = "") -> str:
        """Add a commit with all of `files`; return its hash."""
        fingerprint = repr((len(self.commits), sorted(files.items()))).encode()
        sha = hashlib.sha1(fingerprint, usedforsecurity=False).hexdigest()
        self.commits[sha] = dict(files)
        self.refs[branch] = sha
        self.messages.append(message)
        return sha

    def sha(self, revision: str) -> str | None:
        """Return the commit of a branch, a tag or a commit; None if there is none."""
        return revision if revision in self.commits else self.refs.get(revision)

    @property
    def files(self) -> Files:
        """The files of the newest commit of the default branch."""
        return self.commits[self.refs["main"]]


class Hub:
    """The repositories, and all requests so far."""

    def __init__(self) -> None:
        self.repositories: dict[tuple[str, str], Repository] = {}
        self.requests: list[tuple[str, str]] = []
        self.ranges: list[str] = []
        self.stops: dict[str, list[int]] = {}
        self.replaced: dict[str, bytes] = {}
        self.broken: int | None = None
        self.told: dict[str, tuple[int, bytes]] = {}
        """Status and body of what is answered to paths that have a text in them."""
        self.headers: dict[str, str] = {}
        """Headers of files, in place of the true ones."""
        self.blobs: Files = {}
        self.url = ""

    def put(
        self, repo: str, files: Mapping[str, bytes], kind: str = "model", **how: Any
    ) -> Repository:
        """Make a repository with one commit, or add a commit to it."""
        repository = self.repositories.setdefault((kind, repo), Repository(**how))
        repository.commit(dict(files))
        return repository

    def put_folder(self, repo: str, folder: Path, **how: Any) -> Repository:
        """Make a repository of the files of a folder."""
        paths = (file for file in sorted(folder.rglob("*")) if file.is_file())
        files = {file.relative_to(folder).as_posix(): file.read_bytes() for file in paths}
        return self.put(repo, files, **how)

    def stop(self, file: str, *after: int) -> None:
        """Break off the next downloads of a file, one after each number of bytes sent."""
        self.stops[file] = list(after)

    def asked(self, method: str, part: str) -> list[str]:
        """Return the paths of the requests of a method that have a text in them."""
        return [path for verb, path in self.requests if verb == method and part in path]


@contextmanager
def serving() -> Iterator[Hub]:
    """Run a hub as long as the block lasts."""
    hub = Hub()
    with running(_Handler, hub=hub) as hub.url:
        yield hub


def environment(url: str, home: Path, token: str = "") -> dict[str, str]:
    """Return the variables that point huggingface_hub of another process to a server."""
    variables = {
        "HF_ENDPOINT": url,
        "HF_HOME": str(home),
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "NO_PROXY": "127.0.0.1",
    }
    return {**variables, "HF_TOKEN": token} if token else variables


def point(monkeypatch: pytest.MonkeyPatch, url: str, home: Path, token: str = TOKEN) -> None:
    """Point huggingface_hub of this process to a server, with an empty cache and a token."""
    constants = pytest.importorskip("huggingface_hub.constants")
    values = {
        "ENDPOINT": url,
        "HUGGINGFACE_CO_URL_TEMPLATE": url + "/{repo_id}/resolve/{revision}/{filename}",
        "HF_HUB_CACHE": str(home / "hub"),
        "HF_HUB_DISABLE_XET": True,
        "HF_HUB_OFFLINE": False,
        "HF_TOKEN_PATH": str(home / "token"),
    }
    for name, value in values.items():
        monkeypatch.setattr(constants, name, value)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("HF_TOKEN", token)


@pytest.fixture
def hub(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """Run a hub, to which huggingface_hub of this process goes, with an empty cache."""
    with serving() as running:
        point(monkeypatch, running.url, tmp_path_factory.mktemp("hub"))
        yield running


_KINDS = r"(?P<kind>models|datasets)"
_REPO = r"(?P<repo>[^/]+(?:/[^/]+?)?)"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: Hub
    routes = (
        ("GET", rf"/api/{_KINDS}/{_REPO}(/revision/(?P<revision>[^/]+))?", "info"),
        ("GET", rf"/api/{_KINDS}/{_REPO}/tree/(?P<revision>[^/]+)", "tree"),
        ("POST", r"/api/repos/create", "create"),
        ("POST", r"/api/validate-yaml", "validate"),
        ("POST", rf"/api/{_KINDS}/{_REPO}/branch/(?P<branch>[^/]+)", "branch"),
        ("POST", rf"/api/{_KINDS}/{_REPO}/preupload/(?P<revision>[^/]+)", "preupload"),
        ("POST", rf"/api/{_KINDS}/{_REPO}/commit/(?P<revision>[^/]+)", "commit"),
        ("POST", rf"/((?P<kind>datasets)/)?{_REPO}\.git/info/lfs/objects/batch", "batch"),
        ("PUT", r"/blobs/(?P<oid>\w+)", "blob"),
        (
            "GET",
            rf"/((?P<kind>datasets)/)?{_REPO}/resolve/(?P<revision>[^/]+)/(?P<file>.+)",
            "file",
        ),
    )

    def _answer(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        self.body = self.rfile.read(size)
        path = urlsplit(self.path).path
        self.hub.requests.append((self.command, unquote(path)))
        method = "GET" if self.command == "HEAD" else self.command
        if self.hub.broken is not None:
            self._send(self.hub.broken, {"error": "out of order"})
            return
        for part, (status, body) in self.hub.told.items():
            if part in path:
                self._send_bytes(status, body, {"Content-Type": "application/json"})
                return
        for verb, pattern, name in self.routes:
            match = re.fullmatch(pattern, path)
            if verb == method and match:
                parts = {key: unquote(part) for key, part in match.groupdict().items() if part}
                getattr(self, f"_{name}")(parts)
                return
        self._send(404, {"error": f"the test server has no {method} {path}"})

    do_GET = do_HEAD = do_POST = do_PUT = _answer

    # who may read what

    @property
    def _is_owner(self) -> bool:
        return self.headers.get("Authorization") == f"Bearer {TOKEN}"

    def _repository(self, parts: dict[str, str]) -> Repository | None:
        kind = parts.get("kind", "models").removesuffix("s")
        repository = self.hub.repositories.get((kind, parts["repo"]))
        if repository is None or (repository.private and not self._is_owner):
            self._refuse(404 if self._is_owner else 401, "RepoNotFound", "Repository not found")
            return None
        return repository

    def _commit_of(self, found: Repository, parts: dict[str, str]) -> str | None:
        sha = found.sha(parts.get("revision", "main"))
        if sha is None:
            self._refuse(404, "RevisionNotFound", "Invalid rev id")
        return sha

    # reading

    def _info(self, parts: dict[str, str]) -> None:
        repository = self._repository(parts)
        sha = repository and self._commit_of(repository, parts)
        if not repository or not sha:
            return
        info: dict[str, Any] = {
            "id": parts["repo"],
            "sha": sha,
            "private": repository.private,
            "gated": "manual" if repository.gated else False,
            "siblings": [{"rfilename": name} for name in repository.commits[sha]],
            "tags": [],
        }
        if repository.card:
            info["cardData"] = repository.card
        self._send(200, info)

    def _tree(self, parts: dict[str, str]) -> None:
        repository = self._repository(parts)
        sha = repository and self._commit_of(repository, parts)
        if not repository or not sha:
            return
        listed = []
        for name, content in repository.commits[sha].items():
            blob: dict[str, Any] = {
                "type": "file",
                "path": name,
                "size": len(content),
                "oid": _git_oid(content),
            }
            if len(content) >= LARGE:
                oid = hashlib.sha256(content).hexdigest()
                blob["lfs"] = {"oid": oid, "size": len(content), "pointerSize": 130}
            listed.append(blob)
        self._send(200, listed)

    def _file(self, parts: dict[str, str]) -> None:
        repository = self._repository(parts)
        sha = repository and self._commit_of(repository, parts)
        if not repository or not sha:
            return
        if repository.gated and not self._is_owner:
            self._refuse(403, "GatedRepo", "Access to this repository is restricted")
            return
        content = repository.commits[sha].get(parts["file"])
        headers = {"X-Repo-Commit": sha}
        if content is None:
            self._refuse(404, "EntryNotFound", "Entry not found", headers)
            return
        large = len(content) >= LARGE
        oid = hashlib.sha256(content).hexdigest() if large else _git_oid(content)
        headers |= {"ETag": f'"{oid}"', "Accept-Ranges": "bytes", **self.hub.headers}
        begin, status = 0, 200
        if (byte_range := self.headers.get("Range")) and self.command == "GET":
            self.hub.ranges.append(byte_range)
            begin, status = int(byte_range.removeprefix("bytes=").partition("-")[0]), 206
            headers["Content-Range"] = f"bytes {begin}-{len(content) - 1}/{len(content)}"
        stops = self.hub.stops.get(parts["file"], []) if self.command == "GET" else []
        content = self.hub.replaced.get(parts["file"], content)
        self._send_bytes(status, content[begin:], headers, stops.pop(0) if stops else None)

    # writing

    def _may_write(self) -> bool:
        if not self._is_owner:
            self._refuse(403, "", "You don't have the rights to do that")
        return self._is_owner

    def _create(self, parts: dict[str, str]) -> None:
        request = json.loads(self.body)
        repo, kind = f"{request['organization']}/{request['name']}", request.get("type", "model")
        if not self._may_write():
            return
        url = {"url": f"{self.hub.url}/{'datasets/' * (kind == 'dataset')}{repo}"}
        if (kind, repo) in self.hub.repositories:
            self._send(409, {"error": "You already created this repo", **url})
            return
        private = request.get("private") or request.get("visibility") == "private"
        self.hub.repositories[kind, repo] = repository = Repository(private=bool(private))
        repository.commit({".gitattributes": b""}, message="initial commit")
        self._send(200, url)

    def _validate(self, parts: dict[str, str]) -> None:
        text = json.loads(self.body)["content"]
        head = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
        warnings = [] if head else [{"message": "empty or missing yaml metadata in repo card"}]
        bad = (
            [{"message": '"license" must be a string'}] if head and "license: [" in head[1] else []
        )
        self._send(400 if bad else 200, {"errors": bad, "warnings": warnings})

    def _branch(self, parts: dict[str, str]) -> None:
        repository = self._repository(parts)
        if repository is None or not self._may_write():
            return
        if parts["branch"] in repository.refs:
            self._send(409, {"error": "Reference already exists"})
            return
        repository.refs[parts["branch"]] = repository.refs["main"]
        self._send(200, {})

    def _preupload(self, parts: dict[str, str]) -> None:
        repository = self._repository(parts)
        sha = repository and self._commit_of(repository, parts)
        if not repository or not sha or not self._may_write():
            return
        modes = []
        for file in json.loads(self.body)["files"]:
            large = file["size"] >= LARGE
            known = repository.commits[sha].get(file["path"])
            mode = {"path": file["path"], "shouldIgnore": False}
            mode["uploadMode"] = "lfs" if large else "regular"
            if known is not None:
                mode["oid"] = hashlib.sha256(known).hexdigest() if large else _git_oid(known)
            modes.append(mode)
        self._send(200, {"files": modes})

    def _batch(self, parts: dict[str, str]) -> None:
        objects = [
            {
                "oid": blob["oid"],
                "size": blob["size"],
                "actions": {"upload": {"href": f"{self.hub.url}/blobs/{blob['oid']}"}},
            }
            for blob in json.loads(self.body)["objects"]
        ]
        self._send(200, {"transfer": "basic", "objects": objects})

    def _blob(self, parts: dict[str, str]) -> None:
        if hashlib.sha256(self.body).hexdigest() != parts["oid"]:
            self._send(400, {"error": "not the bytes that were announced"})
            return
        self.hub.blobs[parts["oid"]] = self.body
        self._send(200, {})

    def _commit(self, parts: dict[str, str]) -> None:
        repository = self._repository(parts)
        sha = repository and self._commit_of(repository, parts)
        if not repository or not sha or not self._may_write():
            return
        header, *lines = [json.loads(line) for line in self.body.splitlines()]
        files = dict(repository.commits[sha])
        for line in lines:
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            else:
                files[value["path"]] = self.hub.blobs[value["oid"]]
        commit = repository.commit(files, parts["revision"], header["value"]["summary"])
        url = f"{self.hub.url}/{parts['repo']}/commit/{commit}"
        self._send(200, {"success": True, "commitOid": commit, "commitUrl": url})

    # sending

    def _refuse(
        self, status: int, code: str, message: str, headers: dict[str, str] | None = None
    ) -> None:
        error_headers = {"X-Error-Message": message, **({"X-Error-Code": code} if code else {})}
        self._send(status, {"error": message}, {**error_headers, **(headers or {})})

    def _send(self, status: int, told: Any, headers: dict[str, str] | None = None) -> None:
        about = {"Content-Type": "application/json", **(headers or {})}
        self._send_bytes(status, json.dumps(told).encode(), about)

    def _send_bytes(
        self, status: int, body: bytes, headers: dict[str, str], stop: int | None = None
    ) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body if stop is None else body[:stop])
        if stop is not None:
            self.close_connection = True

    def log_message(self, *arguments: Any) -> None:
        """Say nothing."""


def _git_oid(content: bytes) -> str:
    """Return the name that git gives to a file."""
    head = b"blob %d\x00" % len(content)
    return hashlib.sha1(head + content, usedforsecurity=False).hexdigest()
