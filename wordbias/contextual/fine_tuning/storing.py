"""The folder of a fine-tuned model: for transformers alone to load, and where it came from."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wordbias.contextual.fine_tuning.heads import Headed
from wordbias.formats.atomic import new_folder
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


def beside(folder: str | Path, suffix: str) -> Path:
    """Return a file beside a folder: its checkpoint, its log."""
    path = Path(os.path.realpath(folder))
    return path.with_name(f"{path.name}.{suffix}")
