"""Torch's threads inside a block, and after it, however it ends."""

from __future__ import annotations

import subprocess
import sys

import pytest

from wordbias.torch_threads import torch_threads

torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")


@pytest.mark.parametrize("count", [1, 2, 3])
def test_as_many_inside_and_as_many_as_before_afterwards(count: int) -> None:
    before = torch.get_num_threads()
    with torch_threads(count):
        assert torch.get_num_threads() == count
        with torch_threads():
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == count
    assert torch.get_num_threads() == before


def test_an_error_passes_and_the_threads_are_put_back() -> None:
    before = torch.get_num_threads()
    with pytest.raises(KeyboardInterrupt), torch_threads(before + 1):
        raise KeyboardInterrupt
    assert torch.get_num_threads() == before


def test_importing_it_loads_no_torch() -> None:
    code = "import sys, wordbias.torch_threads; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
