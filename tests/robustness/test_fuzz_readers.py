"""Whatever a file holds, a reader reads it or refuses it in one line that names it.

``WORDBIAS_FUZZ=N`` tries N random examples of each property and reader, in place of a few fixed
ones.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from fuzz_guard import check
from fuzz_mutations import Mutation, contents, mutations
from fuzz_readers import READERS, Reader
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="needs SIGALRM and rlimits"),
]
ASKED = int(os.environ.get("WORDBIAS_FUZZ", "0"))
NAMES = [reader.name for reader in READERS]


def examples(few: int) -> settings:
    return settings(
        max_examples=ASKED or few,
        derandomize=not ASKED,
        database=None,
        deadline=None,  # `check` has its own, which also ends a hang
        phases=[Phase.explicit, Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )


@pytest.fixture(scope="module", params=READERS, ids=NAMES)
def reader(request: pytest.FixtureRequest) -> Reader:
    return request.param


@pytest.fixture(scope="module")
def path(reader: Reader, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz") / reader.file


@pytest.fixture(scope="module")
def seed(reader: Reader, path: Path) -> bytes:
    """Return a valid file's content, which has been read."""
    if reader.slow:
        pytest.importorskip("transformers")
    content = reader.make(path)
    if reader.name != "gensim":  # whose files are refused unread
        reader.read(path)
    return content


def attempt(reader: Reader, path: Path, content: bytes) -> None:
    path.unlink(missing_ok=True)  # what is mapped into memory must not change
    path.write_bytes(content)
    check(reader.read, path)


def test_a_spoiled_file_is_read_or_refused(reader: Reader, path: Path, seed: bytes) -> None:
    @examples(4 if reader.slow else 25)
    @given(mutations)
    def spoil(changes: list[Mutation]) -> None:
        content = seed
        for change in changes:
            content = change(content)
        attempt(reader, path, content)

    spoil()


def test_any_bytes_are_read_or_refused(reader: Reader, path: Path, seed: bytes) -> None:
    @examples(2 if reader.slow else 12)
    @given(contents)
    def try_bytes(content: bytes) -> None:
        attempt(reader, path, content)

    try_bytes()


@pytest.mark.parametrize(
    "reader", [reader for reader in READERS if reader.real], ids=lambda r: r.name
)
def test_a_spoiled_real_file_is_read_or_refused(
    reader: Reader, shared_data: Path, tmp_path: Path
) -> None:
    path = tmp_path / reader.file
    path.parent.mkdir(parents=True, exist_ok=True)
    head = reader.head(shared_data)
    path.write_bytes(head)
    reader.read(path)

    @examples(10)
    @given(mutations)
    def spoil(changes: list[Mutation]) -> None:
        content = head
        for change in changes:
            content = change(content)
        attempt(reader, path, content)

    spoil()


@given(st.binary(max_size=300), mutations)
@examples(50)
def test_a_mutation_always_gives_bytes(content: bytes, changes: list[Mutation]) -> None:
    for change in changes:
        content = change(content)
    assert isinstance(content, bytes)
