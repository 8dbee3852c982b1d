"""Arms of a study as arguments: an embedding for all seeds, or a file or embedding for each."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import Any, cast

from wordbias.draws import CONTROLS, LISTS, NULL
from wordbias.embedding import EmbeddingLike, as_embedding
from wordbias.errors import UsageError, WordbiasError
from wordbias.formats import VectorFile
from wordbias.formats.source import Source
from wordbias.functions.inputs import (
    EmbeddingsLike,
    NamedPath,
    ReadOptions,
    Subject,
    as_list,
    open_subject,
    path_of,
)
from wordbias.methods.methods import fit_methods
from wordbias.methods.settings import METHODS
from wordbias.resources import located
from wordbias.resources.hub import is_address
from wordbias.settings import Configured, read_chain, text_of
from wordbias.wordlists import Attribute

ArmsLike = EmbeddingsLike | Mapping[str, EmbeddingLike | Mapping[int, EmbeddingLike]]
"""Embeddings, or a mapping from names to embeddings, or to those of each seed."""
_SEED = "{seed}"
_JOINED = re.compile(r"(?:[._-]+seed)?[._-]*\{seed\}")
"""The placeholder, and what joins it to a name."""
_BRACES = re.compile(r"\{[^{}]*\}")
DRAWN = re.compile(rf"({NULL}|{LISTS}):([1-9]\d*)")
"""What is drawn behind an ``@``, random removals or redraws of the word lists, and how many."""
MOST_DRAWS = 100
"""Largest number of draws of a kind in an audit; each is a column."""
_NO_NAME = re.compile(r"[^\w.,=@-]+")
"""Characters that the name of a file should not have."""


def open_arms(
    embeddings: ArmsLike,
    seeds: Sequence[int],
    read_options: ReadOptions,
    attribute: Attribute | None = None,
) -> list[tuple[str, dict[int, Subject]]]:
    """Open the vectors of each arm by seed: one embedding for all, or one for each."""
    # Files that a name stands for are looked at before anything is loaded. Methods behind an @ are
    # fitted to the groups of `attribute`; without a file before it they are applied to the first
    # arm.
    texts = [divided(source) for source in _sources(embeddings)]
    (first, after), *_ = texts
    if isinstance(first, str) and not first:
        raise WordbiasError(f"@{after}: the first arm has no embedding; name one before the @")
    sources = [first if isinstance(source, str) and not source else source for source, _ in texts]
    chains = [read_chain(done, METHODS) if done else [] for _, done in texts]
    arms = [_by_seed(source, seeds) for source in sources]
    opened = []
    for (name, given), chain in zip(arms, chains, strict=True):
        subjects = {seed: open_subject(source, read_options) for seed, source in given.items()}
        if name is None:
            (subject,) = subjects.values()
            name, subjects = subject.embedding.name, dict.fromkeys(seeds, subject)
        if chain:
            name = _after(name, chain)
            subjects = _debiased(chain, subjects, attribute)
        opened.append((name, subjects))
    return opened


def without_drawn(embeddings: ArmsLike) -> tuple[ArmsLike, dict[str, int]]:
    """Take texts such as ``@null:3`` out of several; return the number of draws by their kind."""
    if not isinstance(embeddings, (list, tuple)):
        return embeddings, {}
    matches = {
        i: match
        for i, source in enumerate(embeddings)
        if isinstance(source, str) and source[:1] == "@" and (match := DRAWN.fullmatch(source[1:]))
    }
    if not matches:
        return embeddings, {}
    sources = [source for i, source in enumerate(embeddings) if i not in matches]
    return sources, draws_of([match[0] for match in matches.values()])


def draws_of(words: Sequence[str]) -> dict[str, int]:
    """Return the number of draws by their kind, of words such as ``null:3``."""
    counts: dict[str, int] = {}
    for kind, _, count in (word.partition(":") for word in words):
        if kind in counts:
            raise UsageError(f"{kind} is given twice, as {kind}:{counts[kind]} and {kind}:{count}")
        counts[kind] = int(count)
    return counts


def is_drawn(word: str) -> bool:
    """Return whether a method of an audit is a number of draws (null:3); refuse a wrong one."""
    names = (part.partition(":")[0].strip() for part in word.split(","))
    if not any(name in CONTROLS for name in names):
        return False
    if not DRAWN.fullmatch(word):
        raise UsageError(
            f"--methods: {word}: expected a number of draws from 1, alone between spaces, as in "
            "null:3"
        )
    return True


def each_draw(words: Sequence[str]) -> list[tuple[str, int]]:
    """Return the kind and number of each draw, a column of an audit, of words like ``null:3``."""
    counts = draws_of(words)
    if (count := max(counts.values(), default=0)) > MOST_DRAWS:
        raise UsageError(
            f"--methods: each draw is a column; {count} are too many, give {MOST_DRAWS} or less"
        )
    return [(kind, draw) for kind, count in counts.items() for draw in range(count)]


def divided(text: Any) -> tuple[Any, str]:
    """Divide a text into the embedding and what is done to it; addresses have an @ as well."""
    if not isinstance(text, str) or os.path.exists(text):
        return text, ""
    for at in (match.start() for match in re.finditer("@", text)):
        done = text[at + 1 :]
        first = re.split(r"[\s,:]", done, maxsplit=1)[0].lower().replace("_", "-")
        if at == 0 or first in (*METHODS, NULL, LISTS):
            return text[:at], done
    return text, ""


def _debiased(
    chain: Sequence[Configured], subjects: Mapping[int, Subject], attribute: Attribute | None
) -> dict[int, Subject]:
    """Apply methods to the embedding of each seed, to one of several seeds once."""
    by_id = {}
    for subject in {id(seed_subject): seed_subject for seed_subject in subjects.values()}.values():
        after = fit_methods(chain, subject.embedding, attribute)[1]
        name = _after(subject.embedding.name, chain)
        by_id[id(subject)] = replace(subject, embedding=replace(after, name=name, info=None))
    return {seed: by_id[id(subject)] for seed, subject in subjects.items()}


def _after(name: str, chain: Sequence[Configured]) -> str:
    """Return the name of an embedding after methods; files are named after it."""
    return _NO_NAME.sub("-", f"{name}@{text_of(chain)}")


def _sources(embeddings: ArmsLike) -> list[Any]:
    """Return what each arm is given as: an embedding, or a name with a mapping from seeds."""
    if not (isinstance(embeddings, Mapping) and any(map(_is_by_seed, embeddings.values()))):
        return list(as_list(cast("EmbeddingsLike", embeddings)))
    sources: list[Any] = []
    for name, source in embeddings.items():
        sources += (
            [(str(name), source)] if _is_by_seed(source) else as_list(cast("Any", {name: source}))
        )
    return sources


def _is_by_seed(given: object) -> bool:
    """Return whether an argument is a mapping from seeds."""
    return isinstance(given, Mapping) and all(isinstance(key, Integral) for key in given)


def _by_seed(
    source: Any, seeds: Sequence[int]
) -> tuple[str | None, dict[int, EmbeddingLike | None]]:
    """Return the name of an arm with what each seed reads; or no name, and what all read."""
    if isinstance(source, tuple) and len(source) == 2 and _is_by_seed(source[1]):
        name, given = source
        return name, _of_mapping(name, given, seeds)
    path = path_of(source)
    if path is None or os.path.exists(path) or not _BRACES.search(path):
        return None, {seeds[0]: source}
    if _BRACES.search(path.replace(_SEED, "")):
        raise WordbiasError(
            f"{path}: there is no such file; a name for the files of all seeds has {_SEED}, and no "
            "other braces"
        )
    stem: str = source.name if isinstance(source, NamedPath) else _stem(path)
    bare = _JOINED.sub("", stem).lstrip("._-")
    if not bare:
        raise WordbiasError(f"{path}: has no name beside {_SEED}; name the files NAME{_SEED}")
    return bare, _of_files(path, stem if _SEED in stem else stem + _SEED, seeds)


def _stem(path: str) -> str:
    """Return the name that an embedding has by default: of a file, a member or a repository."""
    stem = Source(Path(path.rpartition("::")[2])).stem
    return stem.partition("@")[0] if is_address(path) else stem


def _of_mapping(
    name: str, given: Mapping[int, EmbeddingLike], seeds: Sequence[int]
) -> dict[int, EmbeddingLike | None]:
    """Return the embedding of each seed, named after the arm and the seed."""
    lacking = [seed for seed in seeds if seed not in given]
    if lacking:
        there = ", ".join(map(str, given)) or "none"
        raise WordbiasError(
            f"{name}: has no embedding for seed {lacking[0]}; it has those for: {there}; give one "
            "for each of --seed"
        )
    return {
        seed: as_embedding(given[seed]).renamed(f"{name}{seed}")
        if (path := path_of(given[seed])) is None
        else NamedPath(path, f"{name}{seed}")
        for seed in seeds
    }


def _of_files(path: str, name: str, seeds: Sequence[int]) -> dict[int, EmbeddingLike | None]:
    """Return the file of each seed, named by a name with the placeholder."""
    files: dict[int, EmbeddingLike | None] = {}
    for seed in seeds:
        file = path.replace(_SEED, str(seed))
        try:
            VectorFile.open(located(file))
        except WordbiasError as error:
            raise WordbiasError(f"{error} (for seed {seed} of {path})") from None
        files[seed] = NamedPath(file, name.replace(_SEED, str(seed)))
    return files
