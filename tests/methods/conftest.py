"""What debiasing is tried on: the sample, along gender."""

from __future__ import annotations

import pytest

from wordbias.wordlists import Attribute


@pytest.fixture(scope="session")
def gender() -> Attribute:
    return Attribute.load()
