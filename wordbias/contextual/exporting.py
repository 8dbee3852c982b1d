"""A model folder with interventions in its weights, for transformers alone to load."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from wordbias.contextual.folding import Folded
from wordbias.errors import WordbiasError
from wordbias.formats.atomic import new_folder
from wordbias.pretrained import need_transformers, silent

NOTE = "wordbias.json"


def export(folded: Folded, tokenizer: Any, folder: str | Path, setting: str) -> None:
    """Write a folder that takes its name only when it is complete.

    Beside what transformers writes there is a file ``wordbias.json``, which says what was folded
    into the weights and what could not be.

    Raises
    ------
    WordbiasError
        If nothing was folded, there is such a folder already, or it cannot be written.
    """
    if not folded.folded:
        reasons = "; ".join(f"{it.site}: {reason}" for it, reason in folded.left)
        raise WordbiasError(
            f"{folder}: not written, for nothing of {setting} can be folded into the weights "
            f"({reasons}); use the adapter, with -o"
        )
    about = {
        "setting": setting,
        "folded": [str(it) for it in folded.folded],
        "not_folded": {str(it): reason for it, reason in folded.left},
    }
    with new_folder(folder) as part, silent(need_transformers()):
        folded.model.save_pretrained(part)
        tokenizer.save_pretrained(part)
        (part / NOTE).write_text(json.dumps(about, indent=2, ensure_ascii=False) + "\n", "utf-8")
