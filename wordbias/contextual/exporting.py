"""A model folder with interventions in its weights, for transformers alone to load."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wordbias.contextual.families import base_of
from wordbias.contextual.folding import Folded
from wordbias.contextual.sites import Site
from wordbias.errors import WordbiasError
from wordbias.formats.atomic import new_folder
from wordbias.pretrained import need_transformers, silent
from wordbias.probes.sentence_transformers import module_files

NOTE = "wordbias.json"


def nothing_folded(
    folder: str | Path, setting: str, left: Sequence[tuple[Site, str]]
) -> WordbiasError:
    """Return the refusal of a folder in whose weights nothing would be folded."""
    reasons = "; ".join(f"{site}: {reason}" for site, reason in left)
    return WordbiasError(
        f"{folder}: not written, for nothing of {setting} can be folded into the weights "
        f"({reasons}); write the adapter alone, with -o and without --export"
    )


def export(
    folded: Folded, tokenizer: Any, folder: str | Path, setting: str, *, source: str = ""
) -> None:
    """Write a folder that takes its name only when it is complete.

    Beside what transformers writes there is a file ``wordbias.json``, which says what was folded
    into the weights and what could not be.

    Parameters
    ----------
    source
        Where the model is from. If that is a sentence-transformers folder and the model has no
        head, the new one is such a folder too, with the same modules.

    Raises
    ------
    WordbiasError
        If nothing was folded, there is such a folder already, or it cannot be written.
    """
    if not folded.folded:
        raise nothing_folded(folder, setting, [(it.site, reason) for it, reason in folded.left])
    about = {
        "setting": setting,
        "folded": [str(it) for it in folded.folded],
        "not_folded": {str(it): reason for it, reason in folded.left},
    }
    beside = {} if base_of(folded.model) is not folded.model else module_files(source)
    with new_folder(folder) as part, silent(need_transformers()):
        folded.model.save_pretrained(part)
        tokenizer.save_pretrained(part)
        for name, file in beside.items():
            (part / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, part / name)
        (part / NOTE).write_text(json.dumps(about, indent=2, ensure_ascii=False) + "\n", "utf-8")
