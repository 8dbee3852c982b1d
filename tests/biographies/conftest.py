"""What the tests of the experiment share: one thread, and a tiny encoder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from small_bios import encoder_folder, small_bios


@pytest.fixture(autouse=True)
def _one_thread(one_thread: None) -> None:
    pytest.importorskip("torch")


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write an encoder that knows the words of the small biographies; return its folder."""
    pytest.importorskip("transformers")
    return encoder_folder(tmp_path_factory.mktemp("encoder") / "bert")


@pytest.fixture
def plan(folder: str, tmp_path: Path) -> Any:
    """A frozen study of small data."""
    from wordbias.biographies.encoding import EncodingSettings
    from wordbias.biographies.plan import Plan, Recipe

    layer = Recipe(epochs=4, batch=16, rate=0.05)
    return Plan(
        small_bios(),
        folder,
        tmp_path / "study",
        strategies=("none", "subsample", "scrub"),
        seeds=(0, 1),
        frozen=True,
        recipe=layer,
        retraining=layer,
        encoding=EncodingSettings(20, device="cpu"),
        draws=20,
    )
