"""Vectors of an encoder that stays as it is, kept in files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wordbias.biographies.biographies import Biographies
from wordbias.biographies.encoding import Live, Reading, Vectors, distinct, numbered
from wordbias.errors import WordbiasError
from wordbias.probes.encoder import Encoder
from wordbias.probes.encoding import Work
from wordbias.probes.in_context.sentences import Sentences
from wordbias.probes.representations import Representations
from wordbias.probes.storage import load_representations, save_representations
from wordbias.probes.unfinished import encode_to

_SHORT = 16


@dataclass(frozen=True, eq=False)
class Stored:
    """What an encoder that stays as it is gave: read from files, or encoded and written there.

    Attributes
    ----------
    folder
        Of the files, each named after what it holds.
    about
        Model and reading, for these names.
    load
        Loads the encoder; not called where there is nothing to encode.
    """

    folder: Path
    about: Mapping[str, Any]
    load: Callable[[], Encoder] = field(repr=False)
    reading: Reading

    def vectors(self, parts: Iterable[Biographies]) -> Vectors:
        """Return the vectors of all texts; after an interruption encoding goes on."""
        texts = distinct(parts)
        about = {**self.about, "texts_sha256": _hash(texts)}
        file = self._file("texts", about)
        if not file.exists():
            encoder = self.load()
            work = Work.of(encoder, texts, settings=self.reading.settings(encoder))
            self._make_folder()
            encode_to(file, work, {}, about)
        return numbered(_loaded(file).vectors[0], texts)

    def contexts(self, sentences: Sentences) -> Representations:
        """Return the vectors of words in sentences."""
        contexts = {word: list(found) for word, found in sentences.contexts.items()}
        file = self._file("words", {**self.about, "contexts_sha256": _hash(contexts)})
        if not file.exists():
            found = Live(self.load(), self.reading).contexts(sentences)
            self._make_folder()
            save_representations(found, file)
        return _loaded(file)

    def _make_folder(self) -> None:
        try:
            self.folder.mkdir(exist_ok=True)
        except OSError as error:
            reason = error.strerror or error
            raise WordbiasError(f"{self.folder}: cannot be made a folder: {reason}") from None

    def _file(self, what: str, about: Mapping[str, Any]) -> Path:
        return self.folder / f"{what}-{_hash(about)[:_SHORT]}.safetensors"


def _loaded(file: Path) -> Representations:
    try:
        return load_representations(file)
    except WordbiasError as error:
        raise WordbiasError(f"{error}; remove it, and it is made again") from None


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
