"""Vectors of biographies: how they are read, and that every distinct text is encoded once.

Vectors of an encoder that stays as it is, kept in files.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from wordbias.biographies.data import Biographies
from wordbias.errors import WordbiasError
from wordbias.probes.ceat.contexts import ContextSettings, encode_contexts
from wordbias.probes.ceat.sentences import Sentences
from wordbias.probes.encoder import Encoder
from wordbias.probes.encoding import EncodingJob, Settings, encode
from wordbias.probes.representations import (
    Representations,
    load_representations,
    save_representations,
)
from wordbias.probes.resume import encode_to

Float32 = NDArray[np.float32]


@dataclass(frozen=True)
class Reading:
    """How an encoder reads biographies.

    Attributes
    ----------
    max_tokens
        Tokens that a text is cut to, special ones included.
    pooling
        ``first``, as published, ``mean`` or, of a causal model, ``last``: which tokens of the last
        layer are the text's vector.
    half
        Multiply matrices in bfloat16; parameters stay as they are.
    device
        By default the first of cuda, mps and cpu that is there.
    """

    max_tokens: int = 128
    pooling: str = "first"
    half: bool = False
    device: str | None = None

    def load(self, model: str, random_init: int | None = None) -> Encoder:
        """Load an encoder, its own layers alone; errors are those of `Encoder.load`."""
        encoder = Encoder.load(model, device=self.device, random_init=random_init)
        encoder = replace(encoder, sentence=None)
        return replace(encoder, model=Casting(encoder.model)) if self.half else encoder

    def settings(self, encoder: Encoder) -> Settings:
        """Return what a vector of a text is: of the last layer."""
        return Settings((encoder.layers,), self.pooling, max_length=self.max_tokens)

    def to_dict(self) -> dict[str, Any]:
        """Return what results depend on."""
        precision = "bfloat16" if self.half else "float32"
        return {"max_tokens": self.max_tokens, "pooling": self.pooling, "precision": precision}


class Casting(nn.Module):
    """A model whose matrix products are of bfloat16."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.inner = model

    def forward(self, **inputs: Any) -> Any:
        """Call the model."""
        kind = next(self.inner.parameters()).device.type
        with torch.autocast(kind, dtype=torch.bfloat16):
            return self.inner(**inputs)


def plain_model(encoder: Encoder) -> Any:
    """Return the model of an encoder, without what casts its products."""
    return encoder.model.inner if isinstance(encoder.model, Casting) else encoder.model


def sha256_of(encoder: Encoder) -> str:
    """Return a hash of the weights that vectors depend on, whatever they are computed in."""
    return replace(encoder, model=plain_model(encoder)).sha256()


@dataclass(frozen=True, eq=False)
class Vectors:
    """Vectors of distinct texts, shape ``(u, d)``, and the place of each text."""

    vectors: Float32 = field(repr=False)
    places: Mapping[str, int] = field(repr=False)

    def of(self, bios: Biographies) -> Float32:
        """Return the vectors of biographies, shape ``(n, d)``."""
        found: Float32 = self.vectors[[self.places[text] for text in bios.texts]]
        return found


class Source(Protocol):
    """What gives vectors."""

    def vectors(self, parts: Iterable[Biographies]) -> Vectors:
        """Return the vectors of all texts."""

    def contexts(self, sentences: Sentences) -> Representations:
        """Return the vectors of words in sentences."""


@dataclass(frozen=True, eq=False)
class Live:
    """An encoder that is at hand."""

    encoder: Encoder
    reading: Reading

    def vectors(self, parts: Iterable[Biographies]) -> Vectors:
        """Encode all texts, each once."""
        texts = distinct(parts)
        settings = self.reading.settings(self.encoder)
        return numbered(encode(self.encoder, texts, settings=settings)[0], texts)

    def contexts(self, sentences: Sentences) -> Representations:
        """Encode words in sentences."""
        reading = ContextSettings(max_length=self.reading.max_tokens)
        return encode_contexts(self.encoder, sentences, reading).representations


def distinct(parts: Iterable[Biographies]) -> tuple[str, ...]:
    """Return all texts, each once, sorted."""
    return tuple(sorted({text for part in parts for text in part.texts}))


def numbered(vectors: Float32, texts: Sequence[str]) -> Vectors:
    """Say which text each of the vectors, in their order, is of."""
    return Vectors(vectors, {text: i for i, text in enumerate(texts)})


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
            work = EncodingJob.of(encoder, texts, settings=self.reading.settings(encoder))
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
