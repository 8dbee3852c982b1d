"""Fine-tuned models that are kept: a folder for transformers, with the last layer in it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import nn

from wordbias.biographies.encoding import plain_model
from wordbias.checkpoints import difference, write_checkpoint
from wordbias.contextual.fine_tuning.storing import ABOUT
from wordbias.errors import WordbiasError
from wordbias.formats.atomic import new_folder
from wordbias.pretrained import need_transformers, silent
from wordbias.probes.encoder import Encoder
from wordbias.rendering import as_json

HEAD = "head.safetensors"


def keep_model(
    folder: Path,
    encoder: Encoder,
    head: nn.Linear,
    classes: Sequence[str],
    about: Mapping[str, Any],
) -> None:
    """Write an encoder's folder; in it lie its last layer and ``training.json``.

    Parameters
    ----------
    about
        What it depends on; a model of the same is not written again.

    Raises
    ------
    WordbiasError
        If there is a model of something else, or the folder cannot be written.
    """
    wanted = {**about, "classes": list(classes)}
    if folder.exists():
        _check_same(folder, wanted)
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    model = plain_model(encoder)
    layer = {name: one.detach() for name, one in head.named_parameters()}
    with new_folder(folder) as part, silent(need_transformers()):
        model.save_pretrained(part)
        encoder.tokenizer.save_pretrained(part)
        write_checkpoint(part / HEAD, {"head": layer}, wanted)
        (part / ABOUT).write_text(as_json(wanted, indent=2) + "\n", "utf-8")


def _check_same(folder: Path, wanted: Mapping[str, Any]) -> None:
    try:
        known = json.loads((folder / ABOUT).read_text("utf-8"))
    except (OSError, ValueError):
        known = {}
    if (different := difference(known, dict(wanted))) is not None:
        raise WordbiasError(
            f"{folder}: holds another model: its {different}; remove it, or name another folder"
        )
