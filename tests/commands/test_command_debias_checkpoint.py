"""A long training of `wordbias debias` is kept until what it came to is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from wordbias import Attribute, Embedding
from wordbias.methods.words import listed_words

pytest.importorskip("torch")

pytestmark = pytest.mark.slow

Run = Callable[..., Any]
METHOD = "gender-preserving:pretrain-epochs=2:epochs=1"
QUICK = ("--device", "cpu", "-q")


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    sample = Embedding.sample()
    words = [*sample.words[:1500], *sorted(listed_words(Attribute.load()))]
    sample.subset(words).save(tmp_path / "v.txt")
    return tmp_path / "v.txt"


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_between_training_and_writing_nothing_is_lost(
    cli: Run,
    vectors: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: type[BaseException],
) -> None:
    whole, output, checkpoint = (tmp_path / name for name in ("whole.txt", "output.txt", "kept"))
    resumed = f"{METHOD}:checkpoint='{checkpoint}'"
    assert cli("debias", METHOD, vectors, *QUICK, "-o", whole).code == 0

    def stopped(*_: object, **__: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(Embedding, "save", stopped)
        assert cli("debias", resumed, vectors, *QUICK, "-o", output).code in (1, 130)
    assert checkpoint.is_file()
    assert not output.exists()
    with monkeypatch.context() as patch:
        patch.setattr(
            "torch.optim.Optimizer.zero_grad", lambda *_: pytest.fail("it is trained again")
        )
        done = cli("debias", resumed, vectors, *QUICK, "-o", output)
    assert done.code == 0, done.err
    assert output.read_bytes() == whole.read_bytes()
    assert not checkpoint.exists()


def test_without_an_output_it_is_removed_at_the_end(
    cli: Run, vectors: Path, tmp_path: Path
) -> None:
    checkpoint = tmp_path / "kept"
    done = cli("debias", f"{METHOD}:checkpoint='{checkpoint}'", vectors, *QUICK)
    assert done.code == 0, done.err
    assert not checkpoint.exists()
