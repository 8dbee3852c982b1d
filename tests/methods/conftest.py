"""Fixtures for the tests of methods: the attribute gender."""

from __future__ import annotations

import pytest

from wordbias.wordlists import Attribute


@pytest.fixture(scope="session")
def gender() -> Attribute:
    return Attribute.load()
