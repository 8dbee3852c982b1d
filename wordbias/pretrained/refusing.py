"""What cannot be loaded: said early, in one line, and with a remedy."""

from __future__ import annotations

import re
from pathlib import Path

from wordbias.errors import WordbiasError
from wordbias.optional import need
from wordbias.pretrained.computing import PURPOSE, first_line

HUB_SECONDS = 10
_HUB_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")


def check_name(name: str) -> None:
    """Refuse what can be neither a folder nor a name on the hub."""
    path, remedy = Path(name), "give a folder, or a model's name on the hub"
    if not name.strip():
        raise WordbiasError(f"expected a model, found an empty name; {remedy}")
    if path.is_file():
        raise WordbiasError(f"{name}: is a file, and a model is a folder; {remedy}")
    if path.is_dir() and not (path / "config.json").is_file():
        raise WordbiasError(f"{name}: is a folder without a config.json, so no model; {remedy}")
    if not path.is_dir() and not _HUB_NAME.fullmatch(name):
        raise WordbiasError(f"{name}: no such folder; {remedy}")


def check_hub(name: str) -> None:
    """Say at once what transformers would say after half a minute of attempts."""
    hub = need("huggingface_hub", extra="contextual", purpose=PURPOSE)
    try:
        hub.model_info(name, timeout=HUB_SECONDS)
    except Exception as error:  # no network, no such model, no leave to read it
        raise WordbiasError(
            f"{name}: no such folder, not in the cache of the hub, and not to be had from it "
            f"({first_line(error)[:200]}); name a model's folder, or fetch it once with: "
            f"hf download {name}"
        ) from None


def unloadable(name: str, what: str, error: Exception) -> WordbiasError:
    """Say what a folder or a name should have been, and why it could not be loaded."""
    said = str(error)
    reason = next((why for sign, why in _REASONS.items() if sign in said), first_line(error))
    return WordbiasError(f"{name}: cannot be loaded as {what}: {reason}")


_REASONS = {
    "Weights only load failed": "its weights are a damaged pickle, or one that asks to run code, "
    "which is never done; give a folder with a model.safetensors",
    "ignore_mismatched_sizes": "its weights have other shapes than its config says; give a folder "
    "whose files belong together",
    "no file named model.safetensors": "it has no weights (no model.safetensors); give a folder "
    "with all of a model's files",
    "must be a mapping": "its config.json holds no settings; fetch or write it again",
    "backend tokenizer": "it has no tokenizer that can be read (a tokenizer.json)",
    "Error while deserializing header": "its weights are damaged; fetch or write them again",
    "contains custom code": "it needs code that comes with it, which is never run; give a model of "
    "an architecture that transformers has",
}
"""What transformers says at length, or with a remedy that is none here."""
