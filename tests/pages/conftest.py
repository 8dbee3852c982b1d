"""Matplotlib's own arithmetic, for the tests of plots."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest


@pytest.fixture
def usual_numerics() -> Iterator[None]:
    """Let numpy warn where the other tests let it fail: matplotlib divides by zero."""
    with np.errstate(all="warn"):
        yield
