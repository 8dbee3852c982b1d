"""Files of a model in its folder: the only ones that are copied to another folder, or published.

They have the names that transformers, sentence-transformers and model2vec write, at the top and in
the folders that ``modules.json`` names; the card, other Markdown and the licence count at the top,
and pictures that the card names. Whatever else lies in a folder, hidden or not, stays there.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from wordbias.errors import WordbiasError, listed

CARD = "README.md"
MODULES = "modules.json"
WEIGHTS = re.compile(r"(model|coreference)(-\d+-of-\d+)?\.safetensors(\.index\.json)?")
PICKLED = re.compile(r"pytorch_model(-\d+-of-\d+)?\.bin(\.index\.json)?")
_SETTINGS = re.compile(
    r"(config|modules|wordbias|coreference|tokenizer|special_tokens_map|added_tokens|vocab"
    r"|(generation|tokenizer|processor|preprocessor|router|cnn|lstm)_config"
    r"|config_sentence_transformers|sentence_(bert|roberta|distilbert|camembert|albert|xlnet"
    r"|xlm-roberta)_config|(wordembedding|whitespacetokenizer|phrasetokenizer)_config)\.json"
    r"|(vocab|merges|dict)\.txt|bpe\.codes|chat_template\.jinja"
    r"|(tokenizer|spiece|spm|sentencepiece(\.bpe)?)\.model|(source|target)\.spm"
)
"""Settings and tokenizers."""
_ABOUT = re.compile(
    r"[^/]+\.md|(LICEN[CS]E|NOTICE|COPYING|CITATION|ATTRIBUTION)(\.(txt|md|rst|cff|bib))?",
    re.IGNORECASE,
)
"""Card and licence, at the top."""
_PICTURE = re.compile(r".*\.(png|jpe?g|svg)", re.IGNORECASE)


def own_files(
    folder: str | os.PathLike[str], place: PurePosixPath | None = None
) -> tuple[dict[str, Path], list[str]]:
    """Return the files of a model by their paths in its folder, and the paths of all others."""
    # Hidden files are neither. Of weights, a pickle is one only where a module has no safetensors.
    # `place` is a module's folder that may be missing in modules.json.
    top = Path(folder)
    paths = _visible(top)
    modules = {"", *module_folders(top / MODULES)}
    modules |= {f"{place}/"} if place is not None and place.parts else set()
    own = set()
    for module in modules:
        names = [
            path[len(module) :] for path in paths if "".join(path.rpartition("/")[:2]) == module
        ]
        weights = {name for name in names if WEIGHTS.fullmatch(name)}
        weights = weights or {name for name in names if PICKLED.fullmatch(name)}
        own |= {module + name for name in names if name in weights or _SETTINGS.fullmatch(name)}
    own |= {path for path in paths if _ABOUT.fullmatch(path)}
    pictures = [path for path in paths if _PICTURE.fullmatch(path)]
    if pictures and CARD in paths:
        card = (top / CARD).read_bytes().decode("utf-8", "replace")
        own |= {path for path in pictures if path in card}
    files = {path: top / path for path in paths if path in own}
    for file in files.values():
        if not file.is_file():
            raise WordbiasError(f"{file}: is no regular file; put the file itself in its place")
    return files, [path for path in paths if path not in own]


def _visible(top: Path) -> list[str]:
    """List the visible files of a folder, whose links must not lead elsewhere."""
    inside = top.resolve()
    homes = [inside]
    if inside.parent.name == "snapshots":  # of the hub's cache, whose files are links to blobs
        homes.append(inside.parent.parent / "blobs")
    paths = []
    for parent, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if name[0] != ".")
        for name in [*folders, *sorted(name for name in names if name[0] != ".")]:
            path = Path(parent, name)
            if path.is_symlink():
                real = Path(os.path.realpath(path))
                home = next((folder for folder in homes if real.is_relative_to(folder)), None)
                if home is None or any(part[0] == "." for part in real.relative_to(home).parts):
                    raise WordbiasError(
                        f"{path}: is a link to {real}, outside of the folder or hidden in it; "
                        "remove it, or put a copy in its place"
                    )
            if name not in folders:
                paths.append(path.relative_to(top).as_posix())
    return paths


def module_folders(file: Path) -> set[str]:
    """Return the folders that a ``modules.json`` names; a damaged one is reported elsewhere."""
    # An odd one among them is harmless, for only files that are listed elsewhere are chosen.
    try:
        listed = json.loads(file.read_text("utf-8"))
        paths = {PurePosixPath(str(module["path"])) for module in listed}
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return set()
    return {f"{path}/" for path in paths if path.parts}


def others_text(folder: object, others: Iterable[str], done: str) -> str:
    """Say which files of a folder were not copied or published; empty if there are none."""
    named = list(others)
    return f"{folder}: not {done}, as no part of the model: {listed(named)}" if named else ""


def copy_files(files: Mapping[str, Path], folder: Path) -> None:
    """Copy files into a folder, by their paths in it."""
    for name, file in files.items():
        try:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, folder / name)
        except OSError as error:
            raise WordbiasError(f"{file}: cannot be copied: {error.strerror or error}") from None
