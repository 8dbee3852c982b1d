"""A tiny encoder of each family, for the tests of probes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from encoder_folders import make_encoder


@pytest.fixture(scope="session")
def encoder_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return the folder of a tiny encoder of a family, which is not to be changed."""
    made: dict[str, Path] = {}

    def find(family: str = "bert") -> Path:
        if family not in made:
            made[family] = make_encoder(family, tmp_path_factory.mktemp("encoder") / family)
        return made[family]

    return find
