"""Torch and transformers: there, silent, and on a device."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from wordbias.errors import WordbiasError
from wordbias.optional import need
from wordbias.torch_threads import find_device

PURPOSE = "a Hugging Face model"


def need_transformers() -> Any:
    """Import transformers, or say how to install it and torch."""
    need("torch", extra="contextual", purpose=PURPOSE)
    with warnings.catch_warnings():
        # by tqdm, in a notebook without ipywidgets
        warnings.filterwarnings("ignore", "IProgress not found")
        return need("transformers", extra="contextual", purpose=PURPOSE)


def to_device(model: Any, device: str | None, precision: str | None = None) -> tuple[Any, str]:
    """Make a model ready to compute; return it and where it is.

    Parameters
    ----------
    device
        See `wordbias.torch_threads.find_device`.
    precision
        A type of torch; by default as the model is.

    Raises
    ------
    WordbiasError
        If there is no such device.
    """
    torch = need("torch", extra="contextual", purpose=PURPOSE)
    dtype = None if precision is None else getattr(torch, precision)
    chosen = find_device(device or None)
    try:
        return model.eval().to(device=chosen, dtype=dtype), str(chosen)
    except (RuntimeError, TypeError) as error:
        raise WordbiasError(f"device {str(chosen)!r}: {first_line(error)}; use cpu") from None


def to_float64(x: Any) -> Any:
    """Return a tensor in float64, on the CPU if it is on mps, which lacks that type."""
    return (x.cpu() if x.device.type == "mps" else x).double()


@contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """Let a model compute without dropout, and be afterwards in the mode in which it was."""
    training = [module for module in model.modules() if module.training]
    if training:
        model.eval()
    try:
        yield
    finally:
        for module in training:
            module.training = True


@contextmanager
def silent(transformers: Any) -> Iterator[None]:
    """Keep the notes and bars of transformers from stderr."""
    logging = transformers.utils.logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def first_line(error: BaseException) -> str:
    """Return what a foreign error says, without what follows its first line."""
    return (str(error).strip() or type(error).__name__).split("\n")[0]
