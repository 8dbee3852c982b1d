"""What the tests of the experiment share: one thread, and a tiny encoder."""

from __future__ import annotations

import pytest
from small_bios import encoder_folder


@pytest.fixture(autouse=True)
def _one_thread(one_thread: None) -> None:
    pytest.importorskip("torch")


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write an encoder that knows the words of the small biographies; return its folder."""
    pytest.importorskip("transformers")
    return encoder_folder(tmp_path_factory.mktemp("encoder") / "bert")
