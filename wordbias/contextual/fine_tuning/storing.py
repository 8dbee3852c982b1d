"""The folder of a fine-tuned model: for transformers alone to load, and where it came from."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wordbias.contextual.fine_tuning.heads import Headed
from wordbias.errors import WordbiasError
from wordbias.formats.atomic import check_new, new_folder
from wordbias.pretrained import need_transformers, silent

ABOUT = "training.json"


def store(headed: Headed, folder: str | Path, about: Mapping[str, Any]) -> None:
    """Write a model's folder, which takes its name only when it is complete.

    Parameters
    ----------
    about
        Goes into the file ``training.json``.

    Raises
    ------
    WordbiasError
        If there is such a folder already, or it cannot be written.
    """
    text = json.dumps(about, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    with new_folder(folder) as part, silent(need_transformers()):
        headed.model.save_pretrained(part)
        headed.tokenizer.save_pretrained(part)
        (part / ABOUT).write_text(text, "utf-8")


def is_finished(folder: str | Path) -> bool:
    """Whether a folder holds a model that was fine-tuned here."""
    return (Path(folder) / ABOUT).is_file()


def check_folder(folder: str | Path) -> None:
    """Refuse early a folder that can neither be made nor holds a finished model.

    Raises
    ------
    WordbiasError
        As `wordbias.formats.atomic.check_new` does.
    """
    if not is_finished(folder):
        check_new(folder)


def finished(folder: str | Path, about: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is told of a finished model, if it came about as `about` says.

    Where files lie does not count, only what is in them.

    Raises
    ------
    WordbiasError
        If it came about in another way, or what is told of it cannot be read.
    """
    try:
        found = json.loads((Path(folder) / ABOUT).read_text("utf-8"))
        _ = found["dev_accuracy"], found["best_round"], found["rounds"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise WordbiasError(
            f"{folder}: exists already, and its {ABOUT} cannot be read; name a new folder"
        ) from None
    wanted, known = (_flat(json.loads(json.dumps(one))) for one in (about, found))
    for key, value in wanted.items():
        if known.get(key) != value:
            raise WordbiasError(
                f"{folder}: exists already, and holds another training: its {key} is "
                f"{known.get(key)!r:.80}, not {value!r:.80}; name a new folder"
            )
    return dict(found)


def _flat(value: Any, name: str = "") -> dict[str, Any]:
    """Return the leaves of nested tables by their path; those that say where a file lies not."""
    if not isinstance(value, dict):
        return {name: value}
    parts = ((f"{name} {key}".strip(), part) for key, part in value.items() if key != "path")
    return {key: leaf for path, part in parts for key, leaf in _flat(part, path).items()}


def beside(folder: str | Path, suffix: str) -> Path:
    """Return a file beside a folder: its checkpoint, its log."""
    path = Path(os.path.realpath(folder))
    return path.with_name(f"{path.name}.{suffix}")
