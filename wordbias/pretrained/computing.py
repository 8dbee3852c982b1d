"""Torch and transformers: there, silent, and on a device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from wordbias.errors import WordbiasError
from wordbias.optional import need

PURPOSE = "a Hugging Face model"


def need_transformers() -> Any:
    """Import transformers, or say how to install it and torch."""
    need("torch", extra="contextual", purpose=PURPOSE)
    return need("transformers", extra="contextual", purpose=PURPOSE)


def to_device(model: Any, device: str | None, precision: str | None = None) -> tuple[Any, str]:
    """Make a model ready to compute; return it and where it is.

    Parameters
    ----------
    device
        By default cuda if there is one.
    precision
        A type of torch; by default as the model is.

    Raises
    ------
    WordbiasError
        If there is no such device.
    """
    torch = need("torch", extra="contextual", purpose=PURPOSE)
    chosen = device or ("cuda" if torch.cuda.is_available() else "cpu")
    dtype = None if precision is None else getattr(torch, precision)
    try:
        return model.eval().to(device=chosen, dtype=dtype), chosen
    except (RuntimeError, AssertionError) as error:
        raise WordbiasError(
            f"device {chosen!r}: {first_line(error)}; use cpu, or cuda with a GPU"
        ) from None


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
