"""A data folder of its own for every test, and a server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from resource_server import Server, serving


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep fetched data in an empty folder, and away from any mirror or proxy of the machine."""
    pytest.importorskip("pooch", reason='fetching needs pooch: pip install "wordbias[data]"')
    folder = tmp_path / "data"
    monkeypatch.setenv("WORDBIAS_DATA", str(folder))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("WORDBIAS_MIRROR", raising=False)
    return folder


@pytest.fixture
def server() -> Iterator[Server]:
    """Serve on this machine."""
    with serving() as running:
        yield running
