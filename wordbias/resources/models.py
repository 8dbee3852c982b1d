"""Models by name: a folder, an address such as ``hf://owner/name``, or a name on the hub."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from wordbias.errors import WordbiasError, first_line, need
from wordbias.model_folder import MODULES, PICKLED, WEIGHTS, module_folders
from wordbias.resources.catalogue import catalogue, resembling
from wordbias.resources.hub import (
    SCHEME,
    SECONDS,
    Address,
    NotOnHub,
    fetched,
    is_address,
    library,
    renamed,
)

OWNER = "sentence-transformers"
"""Owner of the models that people name without one, such as all-MiniLM-L6-v2."""
CONFIG = "config.json"
_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")
_IN_CACHE = re.compile(r"models--([\w.-]+?)(?:--([\w.-]+))?/snapshots/")
_TOKENIZER = re.compile(r"(tokenizer|vocab|spiece|sentencepiece).*|.*\.model")
_SIMILARITY = 0.75


def model_folder(name: str, *, or_vectors: bool = False) -> str:
    """Return the folder that a model's name means; an existing path is returned as it is."""
    # A name without an owner is also looked up among the models of sentence-transformers.
    if os.path.exists(name):
        return name
    if is_address(name):
        return fetched(name)
    if not name.strip():
        raise WordbiasError(
            "expected a model, found an empty name; give a folder, or a model's name on the hub"
        )
    if not _NAME.fullmatch(name):
        raise WordbiasError(
            f"{name}: no such folder; give a folder, or a model's name on the hub, such as "
            f"{OWNER}/all-MiniLM-L6-v2"
        )
    cached = cached_model(name)
    if cached is not None and _is_whole(Path(cached)):
        return cached
    known = None if cached is None else hub_name(cached)
    for repo in repositories(name) if known is None else (known,):
        try:
            with renamed(f"{SCHEME}{repo}", repo):
                return fetched(f"{SCHEME}{repo}")
        except NotOnHub as error:
            reason = error.reason
            if not error.asked:
                break
    raise _absent(name, reason, or_vectors)


def encoder_folder(name: str, notes: list[str]) -> str:
    """Return the folder of an encoder, with the modules of one of sentence-transformers."""
    # A line is added to `notes` where it cannot be known whether a name on the hub is such a model.
    folder = model_folder(name)
    if os.path.exists(name) or is_address(name) or (Path(folder) / MODULES).is_file():
        return folder
    hub, repo = _hub(name), hub_name(folder) or name
    if hub.try_to_load_from_cache(repo, MODULES) is not None:
        return folder  # the cache notes that the hub has no such file
    try:
        hub.hf_hub_download(repo, MODULES)
    except OSError as error:
        if isinstance(error, hub.errors.EntryNotFoundError) and not isinstance(
            error, hub.errors.LocalEntryNotFoundError
        ):
            return folder
        notes.append(
            f"{name}: read as a plain encoder, for its {MODULES} is not in the cache and cannot be "
            f"downloaded ({first_line(error)[:80]}); if it is a sentence-transformers model, fetch "
            f"all of it once with: hf download {repo}"
        )
        return folder
    return fetched(f"{SCHEME}{repo}")


@contextmanager
def local_model(name: str, notes: list[str] | None = None) -> Iterator[str]:
    """Yield the folder of a model; errors in the block name what was given."""
    folder = model_folder(name) if notes is None else encoder_folder(name, notes)
    with renamed(folder, name):
        yield folder


def could_be_model(name: str) -> bool:
    """Return whether a name that is no path could be a model's on the hub, and is not of data."""
    known = catalogue()
    taken = name in known or any(resource.group == name for resource in known.values())
    looks_like_file = re.search(r"\.[A-Za-z]\w*$", name) is not None
    return _NAME.fullmatch(name) is not None and not taken and not looks_like_file


def may_be_on_hub(name: str) -> bool:
    """Return whether a model's name is an address or a name on the hub, rather than a path."""
    return not os.path.exists(name) and (is_address(name) or _NAME.fullmatch(name) is not None)


def repositories(name: str) -> tuple[str, ...]:
    """Return the repositories that a name on the hub may mean, in the order of looking."""
    return (name,) if "/" in name else (name, f"{OWNER}/{name}")


def cached_model(name: str) -> str | None:
    """Return the folder in the cache of the hub that holds a model; None if it holds none."""
    if _NAME.fullmatch(name) is None:
        return None
    hub = _hub(name)
    for repo in repositories(name):
        for file in (CONFIG, MODULES):
            try:
                cached = hub.try_to_load_from_cache(repo, file)
            except ValueError:  # no name that the hub could have
                return None
            if isinstance(cached, str):
                return str(Path(cached).parent)
    return None


def known_folder(name: str) -> Path | None:
    """Return the folder of a model that is here already, also in the cache; None without one."""
    # An address is fetched.
    folder = fetched(name) if os.path.isdir(name) or is_address(name) else cached_model(name)
    return None if folder is None else Path(folder)


def hub_name(folder: str) -> str | None:
    """Return the name on the hub of a model whose folder lies in the cache; None for others."""
    match = _IN_CACHE.search(f"{Path(folder).absolute().as_posix()}/")
    return None if match is None else "/".join(part for part in match.groups() if part)


def model_on_hub(name: str) -> tuple[str, str | None] | None:
    """Return a model's owner and name, and the licence that its card states; None if unknown."""
    if not may_be_on_hub(name):
        return None
    hub = library("Publishing on the hub")
    for repo in (Address.parse(name).repo,) if is_address(name) else repositories(name):
        try:
            info = hub.HfApi().model_info(repo, timeout=SECONDS)
        except Exception:  # without a network, too, the card is only less complete
            continue
        licence = getattr(info.card_data, "license", None)
        return info.id, licence if isinstance(licence, str) else None
    return None


def _is_whole(folder: Path) -> bool:
    """Return whether a folder in the cache has weights, a tokenizer, and the modules it lists."""
    modules = module_folders(folder / MODULES)
    places = [folder, *(folder / place for place in modules if (folder / place).is_dir())]
    files = [file for place in places for file in place.iterdir()]
    names = {file.name for file in files}
    complete = len(places) > len(
        [module for module in modules if not module.endswith("_Normalize/")]
    )
    weights = any(WEIGHTS.fullmatch(name) or PICKLED.fullmatch(name) for name in names)
    for index in (file for file in files if file.name.endswith(".index.json")):
        try:
            weights &= {*json.loads(index.read_bytes())["weight_map"].values()} <= names
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return False
    return complete and weights and any(map(_TOKENIZER.fullmatch, names))


def _absent(name: str, reason: str, or_vectors: bool) -> WordbiasError:
    """Return the error for a name that means no model, and no vectors if it might have."""
    hub = _hub(name)
    near = resembling(name, catalogue(), _SIMILARITY) if or_vectors else ""
    here = (
        "there is no such file or folder, no fetched data of that name"
        if or_vectors
        else ("no such folder")
    )
    repo = name if "/" in name else "OWNER/NAME"
    owner = "" if "/" in name else f", also not as {OWNER}/{name}"
    what = (
        "a path, a name that wordbias fetch lists, or a model's"
        if or_vectors
        else ("a model's folder, or its")
    )
    return WordbiasError(
        f"{name}: {here}, no such model in the cache of the hub ({hub.constants.HF_HUB_CACHE}), "
        f"and {reason}{owner}{near}; give {what} name on the hub, or fetch it once with: "
        f"hf download {repo}"
    )


def _hub(name: str) -> Any:
    """Return the library of the hub; without it, refuse a name that is not here."""
    purpose = f"{name}: there is no such file or folder; a model by its name on the hub"
    hub = need("huggingface_hub", extra="contextual", purpose=purpose)
    for module in ("constants", "errors"):  # it imports them on first use only
        need(f"huggingface_hub.{module}", extra="contextual", purpose=purpose)
    return hub
