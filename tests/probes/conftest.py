"""Fixtures of the tests of probes: tiny encoders, and torch in one thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from encoder_folders import make_encoder

from wordbias import threads


@pytest.fixture(scope="session")
def encoder_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return the folder of a tiny encoder of a family, which is not to be changed."""
    made: dict[str, Path] = {}

    def find(family: str = "bert") -> Path:
        if family not in made:
            made[family] = make_encoder(family, tmp_path_factory.mktemp("encoder") / family)
        return made[family]

    return find


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Let torch compute in one thread, so that equal calls give equal bits."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    threads.set_threads(1)
    torch.set_num_threads(1)
    yield
    threads.set_threads(None)
    torch.set_num_threads(before)
