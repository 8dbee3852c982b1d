"""Vectors of biographies, each distinct text encoded once, and a cache of them in files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from torch import nn

from wordbias.biographies.data import Biographies
from wordbias.errors import WordbiasError
from wordbias.models.encoder import Encoder
from wordbias.models.encoding import EncodingJob, Settings, encode
from wordbias.models.representations import (
    Representations,
    load_representations,
    save_representations,
)
from wordbias.models.resume import encode_to
from wordbias.probes.ceat.sentences import ContextSettings as WordSettings
from wordbias.probes.ceat.sentences import Sentences, encode_contexts
from wordbias.products import products

Float32 = NDArray[np.float32]
_SHORT = 16


@dataclass(frozen=True)
class EncodingSettings:
    """Settings with which an encoder encodes biographies."""

    max_tokens: int = 128  # tokens that a text is cut to, special ones included
    # `first`, as published, `mean` or, of a causal model, `last`: which tokens of the last layer
    # are the text's vector
    pooling: str = "first"
    half: bool = False  # multiply matrices in bfloat16; parameters stay as they are
    device: str | None = None

    def load(self, model: str, random_init: int | None = None) -> Encoder:
        """Load an encoder without further modules; errors are those of `Encoder.load`."""
        encoder = Encoder.load(model, device=self.device, random_init=random_init)
        encoder = replace(encoder, sentence=None)
        return replace(encoder, model=HalfPrecision(encoder.model)) if self.half else encoder

    def for_encoder(self, encoder: Encoder) -> Settings:
        """Return the settings for the vectors of an encoder's last layer."""
        return Settings((encoder.layers,), self.pooling, max_length=self.max_tokens)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings that results depend on."""
        precision = "bfloat16" if self.half else "float32"
        return {"max_tokens": self.max_tokens, "pooling": self.pooling, "precision": precision}


class HalfPrecision(nn.Module):
    """Model whose matrix products are computed in bfloat16."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.inner = model

    def forward(self, **inputs: Any) -> Any:
        """Call the model."""
        with products(next(self.inner.parameters()).device, half=True):
            return self.inner(**inputs)


def unwrapped(encoder: Encoder) -> Any:
    """Return the model of an encoder without `HalfPrecision`."""
    return encoder.model.inner if isinstance(encoder.model, HalfPrecision) else encoder.model


def sha256_of(encoder: Encoder) -> str:
    """Return a hash of the weights that vectors depend on, the same for every precision."""
    return replace(encoder, model=unwrapped(encoder)).sha256()


@dataclass(frozen=True, eq=False)
class Vectors:
    """Vectors of distinct texts, shape ``(u, d)``, and the row of each text."""

    vectors: Float32 = field(repr=False)
    rows: Mapping[str, int] = field(repr=False)

    @classmethod
    def by_text(cls, vectors: Float32, texts: Sequence[str]) -> Vectors:
        """Take vectors of distinct texts, in the same order."""
        return cls(vectors, {text: i for i, text in enumerate(texts)})

    def of(self, bios: Biographies) -> Float32:
        """Return the vectors of biographies, shape ``(n, d)``."""
        vectors: Float32 = self.vectors[[self.rows[text] for text in bios.texts]]
        return vectors


class VectorSource(Protocol):
    """An encoder, or the cache of one."""

    def vectors(self, parts: Iterable[Biographies]) -> Vectors:
        """Return the vectors of all texts, each encoded once."""

    def contexts(self, sentences: Sentences) -> Representations:
        """Return the vectors of words in sentences."""


@dataclass(frozen=True, eq=False)
class LiveEncoder:
    """A loaded encoder, such as one that was just fine-tuned."""

    encoder: Encoder
    settings: EncodingSettings

    def vectors(self, parts: Iterable[Biographies]) -> Vectors:
        """Encode all texts, each once."""
        texts = distinct_texts(parts)
        settings = self.settings.for_encoder(self.encoder)
        return Vectors.by_text(encode(self.encoder, texts, settings=settings)[0], texts)

    def contexts(self, sentences: Sentences) -> Representations:
        """Encode words in sentences."""
        settings = WordSettings(max_length=self.settings.max_tokens)
        return encode_contexts(self.encoder, sentences, settings).representations


@dataclass(frozen=True, eq=False)
class VectorCache:
    """Files with the vectors of an encoder that is not trained; missing ones are encoded."""

    folder: Path  # folder of the files, whose names are hashes of what they depend on
    about: Mapping[str, Any]  # model and settings, for these hashes
    # loads the encoder; not called if nothing has to be encoded
    load: Callable[[], Encoder] = field(repr=False)
    settings: EncodingSettings

    def vectors(self, parts: Iterable[Biographies]) -> Vectors:
        """Return the vectors of all texts; an interrupted encoding is resumed."""
        texts = distinct_texts(parts)
        about = {**self.about, "texts_sha256": _hash(texts)}
        file = self._file("texts", about)
        if not file.exists():
            encoder = self.load()
            work = EncodingJob.of(encoder, texts, settings=self.settings.for_encoder(encoder))
            self._make_folder()
            encode_to(file, work, {}, about)
        return Vectors.by_text(_loaded(file).vectors[0], texts)

    def contexts(self, sentences: Sentences) -> Representations:
        """Return the vectors of words in sentences."""
        contexts = {word: list(word_contexts) for word, word_contexts in sentences.contexts.items()}
        file = self._file("words", {**self.about, "contexts_sha256": _hash(contexts)})
        if not file.exists():
            representations = LiveEncoder(self.load(), self.settings).contexts(sentences)
            self._make_folder()
            save_representations(representations, file)
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


def distinct_texts(parts: Iterable[Biographies]) -> tuple[str, ...]:
    """Return all texts, each once, sorted."""
    return tuple(sorted({text for part in parts for text in part.texts}))
