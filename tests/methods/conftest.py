"""What debiasing is tried on: the sample, along gender."""

from __future__ import annotations

import pytest

from wordbias import Embedding
from wordbias.wordlists import Attribute


@pytest.fixture(scope="session")
def sample() -> Embedding:
    return Embedding.sample()


@pytest.fixture(scope="session")
def gender() -> Attribute:
    return Attribute.load()
