"""Tests of models need torch, and one thread."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _one_thread(one_thread: None) -> None:
    pytest.importorskip("torch")
