"""Checkpoints to resume a training from: tensors as safetensors, settings as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from wordbias.errors import WordbiasError
from wordbias.formats.stored import CHECKPOINT, read_header, reading, write

State = dict[str, Tensor]
_HASH = re.compile(r"'[0-9a-f]{40,}'")


def write_checkpoint(
    path: Path, parts: Mapping[str, Mapping[str, Tensor]], known: Mapping[str, Any]
) -> None:
    """Write a checkpoint: parts, each some named tensors, and `known`, which JSON can hold.

    ``known["about"]`` holds the settings and data that a later call must share to resume. The file
    takes its name only when it is complete.
    """
    tensors = {
        f"{part}.{name}": value for part, state in parts.items() for name, value in state.items()
    }
    write(path, CHECKPOINT, tensors, known, "pt")


@contextmanager
def read_checkpoint(
    path: Path, about: Mapping[str, Any], what: str = "training"
) -> Iterator[tuple[dict[str, State], dict[str, Any]]]:
    """Read the parts and `known` of a checkpoint, for a block that resumes from them.

    Parameters
    ----------
    path
        The file.
    about
        Settings and data; a file with others is refused.
    what
        Kind of work that was interrupted, for messages.

    Raises
    ------
    WordbiasError
        If the file is no checkpoint, is about another, or does not fit into the block.
    """
    with reading(path, CHECKPOINT, "pt") as (tensors, known):
        different = difference(known["about"], about)
        if different is None:
            yield _parts(tensors), known
            return
    raise WordbiasError(
        f"{path}: is of another {what}: its {different}; remove it, or name another output"
    )


def checkpoint_about(path: Path) -> Any:
    """Return the settings and data of a checkpoint as JSON holds them, None if it is unreadable."""
    try:
        return read_header(path, CHECKPOINT)["about"]
    except (KeyError, TypeError, WordbiasError):
        return None


def difference(known: Any, wanted: Any, name: str = "") -> str | None:
    """Say where two settings differ, as JSON holds them: ``rate is 0.1, not 0.2``."""
    known, wanted = (json.loads(json.dumps(value)) for value in (known, wanted))
    if isinstance(known, list) and isinstance(wanted, list) and len(known) == len(wanted):
        known, wanted = (dict(enumerate(value, 1)) for value in (known, wanted))
    if isinstance(known, list) and isinstance(wanted, list):
        return f"{name} has {len(known)} entries, not {len(wanted)}"
    if known == wanted:
        return None
    if not (isinstance(known, dict) and isinstance(wanted, dict)):
        plain = not isinstance(known, dict | list) and not isinstance(wanted, dict | list)
        return f"{name} is {_short(known)}, not {_short(wanted)}" if plain else f"{name} is another"
    keys = dict.fromkeys([*wanted, *known])
    found = (
        difference(known.get(key), wanted.get(key), f"{name}.{key}".lstrip(".")) for key in keys
    )
    return next((one for one in found if one is not None), None)


def _short(value: Any) -> str:
    """Show a value, of a hash its beginning."""
    text = repr(value)
    return f"{text[:13]}…'" if _HASH.fullmatch(text) else text


def optimizer_state(optimizer: torch.optim.Optimizer) -> State:
    """Return the state of an optimizer as named tensors."""
    return {
        f"{i}.{key}": torch.as_tensor(value)
        for i, state in optimizer.state_dict()["state"].items()
        for key, value in state.items()
    }


def load_optimizer(optimizer: torch.optim.Optimizer, tensors: State) -> None:
    """Give an optimizer of the same parameters the state of another."""
    state: dict[int, State] = {}
    for name, value in tensors.items():
        i, _, key = name.partition(".")
        state.setdefault(int(i), {})[key] = value
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})


def _parts(tensors: Mapping[str, Tensor]) -> dict[str, State]:
    parts: dict[str, State] = {"optimizer": {}}  # plain gradient descent has no state
    for name, value in tensors.items():
        part, _, key = name.partition(".")
        parts.setdefault(part, {})[key] = value
    return parts
