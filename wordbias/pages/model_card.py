"""Card of a sentence model that was changed: README.md with the header that the Hub reads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wordbias import __version__
from wordbias.errors import need
from wordbias.models.model_like import PURPOSE
from wordbias.rendering import Table, as_markdown
from wordbias.results import NO_PROOF

_KEPT = ("license", "license_name", "license_link", "language", "pipeline_tag")
"""Keys of the original card that hold for the changed model too."""
_TASK = "sentence-similarity"


def model_card(
    title: str,
    *,
    base: str | None,
    original: str,
    header: dict[str, Any],
    summary: Sequence[str],
    oldest: str,
    fitted: Sequence[str],
    tables: Sequence[Table],
    limits: Sequence[str],
    certificate: Sequence[Table] = (),
) -> str:
    """Return the card of a changed sentence-transformers model."""
    # `base` is the original's name on the Hub, `original` its name for people, `oldest` the first
    # version of sentence-transformers that loads the folder.
    hub = need("huggingface_hub", extra="contextual", purpose=PURPOSE)
    tags = dict.fromkeys(
        [*_listed(header.get("tags")), "sentence-transformers", "wordbias", "bias"]
    )
    inherited = {key: header[key] for key in _KEPT if header.get(key)}
    about = {"pipeline_tag": _TASK, **inherited, "library_name": "sentence-transformers"}
    about |= {"tags": list(tags)} | ({} if base is None else {"base_model": base})
    licence = header.get("license_name") or header.get("license")
    terms = f"Licence of the original: {licence}." if licence else "The original names no licence."
    parts = [
        f"---\n{hub.ModelCardData(**about).to_yaml()}\n---",
        f"# {title}",
        *summary,
        "## Use",
        f"It loads like any other model, with sentence-transformers {oldest} or newer:",
        "```python\nfrom sentence_transformers import SentenceTransformer\n\n"
        'model = SentenceTransformer("path/of/this/folder")\nmodel.encode(["A text."])\n```',
        "## How it was made",
        "\n".join(f"- {line}" for line in fitted),
        *(["## Certificate"] if certificate else []),
        *map(as_markdown, certificate),
        "## Before and after",
        *map(as_markdown, tables),
        "## Limits",
        "\n".join(f"- {line}" for line in (*limits, NO_PROOF)),
        "## Original",
        f"All other parts are those of {original}, whose card is in this folder too if it had one. "
        f"{terms} Made with wordbias {__version__}.",
    ]
    return "\n\n".join(parts) + "\n"


def card_header(card: Path) -> dict[str, Any]:
    """Return the header of a card; empty if there is no card, or none that can be read."""
    if not card.is_file():
        return {}
    hub = need("huggingface_hub", extra="contextual", purpose=PURPOSE)
    try:
        return dict(hub.metadata_load(card) or {})
    except Exception:  # whatever YAML raises: the original's header is only copied from
        return {}


def _listed(value: object) -> list[str]:
    return [value] if isinstance(value, str) else [str(tag) for tag in value or ()]  # type: ignore[attr-defined]
