"""What the tests of the experiment share: one thread, and a tiny encoder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from small_bios import encoder_folder

from wordbias.threads import set_threads


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Matrices this small wait longer for threads than they gain by them."""
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    set_threads(1)
    yield
    set_threads(None)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write an encoder that knows the words of the small biographies; return its folder."""
    pytest.importorskip("transformers")
    return encoder_folder(tmp_path_factory.mktemp("encoder") / "bert")
