"""Cases of which the quick run takes the first, and the whole run all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def first_quick(cases: Iterable[Any]) -> list[Any]:
    """Return cases for `parametrize`; all behind the first are slow."""
    first, *others = cases
    return [
        first,
        *(
            pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)
            for case in others
        ),
    ]
