"""What a file of representations says of itself, and whether that is what is wanted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wordbias.errors import WordbiasError
from wordbias.formats.stored import REPRESENTATIONS, read_header
from wordbias.probes.representations import Representations
from wordbias.probes.storage import header
from wordbias.probes.work import Work

_REMEDY = "remove it, or name another output"


def provenance(work: Work, texts: str, sha256: str) -> dict[str, Any]:
    """Return what a file of representations says of itself.

    Parameters
    ----------
    texts
        What the texts are called.
    sha256
        Their hash.
    """
    encoder = work.encoder
    return {
        "model": encoder.name,
        "random_init": encoder.random_init,
        "precision": encoder.precision,
        "device": encoder.device,
        "weights_sha256": encoder.sha256(),
        **work.settings.to_dict(),
        "texts": texts,
        "texts_sha256": sha256,
        "truncated": work.truncated,
        "versions": _versions(),
    }


def stored_provenance(path: Path) -> dict[str, Any]:
    """Return what a file says of itself.

    Raises
    ------
    WordbiasError
        If it holds no representations: it is not overwritten.
    """
    try:
        return dict(read_header(path, REPRESENTATIONS)["about"])
    except (WordbiasError, ValueError, KeyError, TypeError):
        raise WordbiasError(
            f"{path}: is there already and holds no representations; {_REMEDY}"
        ) from None


def check_same(path: Path, wanted: Representations) -> None:
    """Refuse a file that does not begin as that of `wanted` does.

    Raises
    ------
    WordbiasError
        Naming the difference.
    """
    known = stored_provenance(path)
    head = header(wanted)
    with path.open("rb") as file:
        if file.read(len(head)) != head:
            raise WordbiasError(
                f"{path}: is of another run: {_difference(known, wanted.about)}; {_REMEDY}"
            )


def _difference(known: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    there, here = (json.loads(json.dumps(dict(value))) for value in (known, wanted))
    for key in dict.fromkeys([*here, *there]):
        if there.get(key) != here.get(key):
            return f"its {key} is {there.get(key)!r}, not {here.get(key)!r}"
    return "its columns are others"


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    return {package: version(package) for package in ("torch", "transformers", "tokenizers")}
