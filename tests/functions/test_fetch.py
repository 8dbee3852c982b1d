"""`wordbias.fetch` as a user of Python calls it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from resource_server import Server, serving

from wordbias import WordbiasError
from wordbias.functions.fetch import fetch
from wordbias.functions.inputs import Written
from wordbias.reports import Report
from wordbias.resources import catalogue


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    pytest.importorskip("pooch")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("WORDBIAS_MIRROR", raising=False)
    with serving() as running:
        (url,) = catalogue()["rg-65"].urls
        running.put("/" + url.split("/", 3)[3], b"gem\tjewel\t3.94\n")
        yield running


def test_without_names_it_is_the_list() -> None:
    report = fetch()
    assert isinstance(report, Report)
    assert {"rg-65", "men"} <= {row.subject for row in report}
    assert "about=True" in report.closing[0]
    assert max(map(len, report.render("table", 80).splitlines())) <= 80


def test_what_is_fetched_is_a_path_with_a_report(server: Server) -> None:
    written = fetch("rg-65", mirror=server.url)
    assert isinstance(written, Written)
    assert Path(written).read_bytes() == b"gem\tjewel\t3.94\n"
    assert written.report.inputs["rg-65"]["path"] == os.fspath(written)
    cached = fetch("rg-65", paths=True)
    assert isinstance(cached, Written)
    assert cached.path == written.path
    assert len(server.requests) == 1


def test_the_mirror_of_the_environment_and_none(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORDBIAS_MIRROR", "no mirror")
    with pytest.raises(WordbiasError, match="no mirror: is no mirror"):
        fetch("rg-65")
    assert isinstance(fetch("rg-65", mirror=server.url), Written)
    assert isinstance(fetch("rg-65", mirror=""), Written)


def test_several_are_a_list_with_one_report(shared_data: Path) -> None:
    pytest.importorskip("pooch")
    paths = fetch("men", "simlex-999", source=shared_data / "wordsim")
    assert isinstance(paths, list)
    assert [Path(path).parent.name for path in paths] == ["men", "simlex-999"]
    assert [row.subject for row in paths.report["download-bytes"]] == ["men", "simlex-999"]


def test_about_is_a_report() -> None:
    assert isinstance(fetch("men", about=True), Report)


@pytest.mark.parametrize(
    ("names", "given", "said"),
    [
        ((), {"about": True}, "about=True: give a name"),
        ((), {"source": "x"}, 'source="x": give the names to take from there'),
        (("men",), {"source": "/no/folder"}, 'source="/no/folder": there is no such folder'),
        (("men",), {"about": True, "paths": True}, "choose one of about=True and paths=True"),
        (("men",), {"timeout": 0}, "timeout=: expected seconds, more than 0, got 0"),
        (("SNLI",), {}, "did you mean"),
    ],
)
def test_bad_arguments(names: tuple[str, ...], given: dict[str, Any], said: str) -> None:
    with pytest.raises(WordbiasError, match=said):
        fetch(*names, **given)
