"""Vectors of texts by a static model: the mean of the vectors of a text's tokens.

As the library does whose folder it is. model2vec leaves out tokens that are not known and cuts long
texts; `StaticEmbedding` of sentence-transformers does neither. A last Normalize is followed. The
tokens are those of the library `tokenizers`, which the extra `contextual` brings.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias.arrays import normalise
from wordbias.errors import WordbiasError, first_line, need
from wordbias.formats.static_models import CONFIG, MODULES, TOKENIZER, StaticModel
from wordbias.formats.tokens import read_json
from wordbias.models.sentence_transformers import LIBRARY_CONFIG
from wordbias.progress import counted

PURPOSE = "Encoding texts with a static model"
_TEXTS = 1024
_LONGEST = 512
"""Tokens that model2vec cuts texts to where a folder does not say."""


@dataclass(frozen=True, eq=False)
class StaticEncoder:
    """Static model with its tokenizer."""

    model: StaticModel
    tokenizer: Any = field(repr=False)  # tokenizer of the library `tokenizers`
    # number of the token for what is not known, which is left out; None if it is not
    unknown: int | None
    max_length: int | None  # tokens that a text is cut to; None for all
    normalised: bool  # the mean is brought to length one

    @classmethod
    def load(cls, folder: str | os.PathLike[str], max_length: int | None = None) -> StaticEncoder:
        """Read a folder."""
        tokenizers = need("tokenizers", extra="contextual", purpose=PURPOSE)
        model = StaticModel.open(folder)
        file = model.folder / model.place / TOKENIZER
        try:
            tokenizer = tokenizers.Tokenizer.from_file(str(file))
        except Exception as error:  # the library raises nothing narrower
            raise WordbiasError(f"{file}: is no tokenizer: {first_line(error)}") from None
        if model.name == "embeddings":  # of model2vec
            settings = model.folder / CONFIG
            config = read_json(settings) if settings.is_file() else {}
            longest = max_length or config.get("max_length", _LONGEST)
            normalised = bool(config.get("normalize", False))
            unknown = _unknown(tokenizer, read_json(file))
        else:
            longest, unknown = max_length, None
            normalised = _is_normalised(model.folder)
        tokenizer.no_padding()
        if longest is not None:
            tokenizer.enable_truncation(longest)
        return cls(model, tokenizer, unknown, longest, normalised)

    @property
    def modules(self) -> tuple[str, ...]:
        """Names of what makes a text's vector, in results."""
        return ("StaticEmbedding", *(["Normalize"] if self.normalised else []))

    def tokenise(self, texts: Sequence[str]) -> tuple[list[NDArray[np.intp]], int]:
        """Return the numbers of the tokens of texts, and how many texts were cut."""
        most = self._most_characters()
        tokens: list[NDArray[np.intp]] = []
        cut = 0
        starts = range(0, len(texts), _TEXTS)
        for start in counted(starts, "tokenising", len(starts)):
            part = texts[start : start + _TEXTS]
            encoded = self.tokenizer.encode_batch_fast(
                [text[:most] for text in part], add_special_tokens=False
            )
            for text, encoding in zip(part, encoded, strict=True):
                ids = np.array(encoding.ids, np.intp)
                tokens.append(ids if self.unknown is None else ids[ids != self.unknown])
                full = self.max_length is not None and len(encoding) >= self.max_length
                cut += (full and bool(encoding.overflowing)) or (
                    most is not None and len(text) > most
                )
        return tokens, cut

    def _most_characters(self) -> int | None:
        """Return the number of characters that model2vec cuts texts to first."""
        if self.model.name != "embeddings" or self.max_length is None:
            return None
        lengths = [len(name) for name in self.model.tokens.names.values()]
        return self.max_length * int(np.median(lengths))

    def vectors(self, tokens: Sequence[NDArray[np.intp]]) -> NDArray[np.float32]:
        """Return the vectors of texts by their tokens, at least one each, shape ``(n, d)``."""
        from scipy.sparse import csr_array

        out = np.empty((len(tokens), self.model.arrays[self.model.name].shape[1]), np.float32)
        rows = self.model.vectors(np.arange(self.model.count))
        starts = range(0, len(tokens), _TEXTS)
        for start in counted(starts, "encoding", len(starts)):
            part = tokens[start : start + _TEXTS]
            ends = np.cumsum([0, *map(len, part)])
            ids = np.concatenate(part)
            counts = csr_array((np.ones(len(ids)), ids, ends), (len(part), len(rows)))
            means = counts @ rows / np.diff(ends)[:, None]
            out[start : start + len(part)] = normalise(means) if self.normalised else means
        return out


def _unknown(tokenizer: Any, stored: dict[str, Any]) -> int | None:
    """Return the number of the token for what is not known."""
    model = stored["model"]
    if isinstance(model.get("unk_id"), int):
        return int(model["unk_id"])
    token = model.get("unk_token")
    return None if token is None else tokenizer.token_to_id(token)


def _is_normalised(folder: Path) -> bool:
    """Return whether the last module is a Normalize; refuse others and prompts."""
    settings = folder / LIBRARY_CONFIG
    config = read_json(settings) if settings.is_file() else {}
    name = config.get("default_prompt_name")
    if config.get("truncate_dim") is not None or (name and (config.get("prompts") or {}).get(name)):
        raise WordbiasError(
            f"{settings}: a prompt or truncate_dim is not understood for a static model; encode "
            "with sentence-transformers, and give the vectors"
        )
    listed = folder / MODULES
    kinds = [kind.rpartition(".")[2] for kind in _kinds(listed)][1:] if listed.is_file() else []
    if kinds not in ([], ["Normalize"]):
        raise WordbiasError(
            f"{listed}: expected StaticEmbedding, perhaps then Normalize; found "
            f"{', '.join(['StaticEmbedding', *kinds])}; encode with sentence-transformers, and "
            "give the vectors"
        )
    return bool(kinds)


def _kinds(file: Path) -> list[str]:
    try:
        return [str(module["type"]) for module in json.loads(file.read_bytes())]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        raise WordbiasError(f"{file}: lists no modules; fetch or write it again") from None
