"""Fixtures of tiny models: one of every family, a tokenizer, folders to load them from."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import tiny_tasks
from encoder_folders import make_encoder
from tiny_encoders import FAMILIES, build, make_tokenizer, words_of

import wordbias as wb
from wordbias.models.sentence_pairs import sentence_pairs


@pytest.fixture(params=FAMILIES)
def family(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def classifier(family: str) -> Any:
    """Return a three-way classifier of each family in turn, the same one for all tests."""
    return shared(family)


shared = cache(build)


@pytest.fixture
def inputs() -> dict[str, Any]:
    """Return three texts of different lengths, padded."""
    torch = pytest.importorskip("torch")
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(5, 400, (3, 9), generator=generator)
    mask = torch.tensor([[1] * 9, [1] * 6 + [0] * 3, [1] * 4 + [0] * 5])
    return {"input_ids": ids * mask + (1 - mask), "attention_mask": mask}


@pytest.fixture(scope="session")
def tokenizer() -> Any:
    """Return a tokenizer that knows every word of the built-in pairs."""
    return make_tokenizer(words_of(*(text for pair in sentence_pairs() for text in pair)))


@pytest.fixture(scope="session")
def encoder_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return the folder of a tiny encoder of a family, which is not to be changed."""
    folders: dict[str, Path] = {}

    def find(family: str = "bert") -> Path:
        if family not in folders:
            folders[family] = make_encoder(family, tmp_path_factory.mktemp("encoder") / family)
        return folders[family]

    return find


@pytest.fixture(scope="session")
def job_classifier(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the folder of a tiny classifier of occupations, which is not to be changed."""
    return tiny_tasks.folder(tmp_path_factory.mktemp("classifier") / "model")


@pytest.fixture(scope="session")
def job_adapter(job_classifier: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of the removals that `project` fits to it."""
    path = tmp_path_factory.mktemp("adapter") / "a.st"
    wb.project(job_classifier, output=path)
    return path
