"""Torch's device and its threads.

The core may use it: torch is found when it is called, and importing this loads nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from wordbias.errors import WordbiasError
from wordbias.optional import need


def find_device(name: str | None = None) -> Any:
    """Return the torch device of a name; by default cuda if there is one, else mps, else cpu.

    Computation in float64 falls back to the CPU on mps, which lacks it.

    Parameters
    ----------
    name
        ``cpu``, ``cuda``, ``cuda:1``, ``mps``, or None for the default.

    Returns
    -------
    torch.device

    Raises
    ------
    WordbiasError
        If torch cannot compute there; the message names the devices of this machine.
    """
    torch = need("torch", extra="torch", purpose="A device")
    here = [
        kind
        for kind, is_here in (
            ("cuda", torch.cuda.is_available()),
            ("mps", torch.backends.mps.is_available()),
            ("cpu", True),
        )
        if is_here
    ]
    if name is None:
        return torch.device(here[0])
    try:
        device = torch.device(name)
        torch.ones(1, device=device).sum().item()
    except (RuntimeError, AssertionError, TypeError) as error:
        reason = str(error).strip().partition("\n")[0].rstrip(".")
        raise WordbiasError(
            f"device {name!r}: torch cannot compute there ({reason}); use {' or '.join(here[::-1])}"
        ) from None
    return device


@contextmanager
def torch_threads(count: int = 1) -> Iterator[None]:
    """Let torch use `count` threads inside the block; by default one.

    One is right for small matrices: on a busy machine threads wait for each other longer than they
    compute.
    """
    torch = need("torch", extra="torch", purpose="Bounding its threads")
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
