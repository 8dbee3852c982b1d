"""Folders of static models: model2vec (potion), and `StaticEmbedding` of sentence-transformers.

Such a model has one vector for each token of a tokenizer. Its vector of a text is the mean over the
text's tokens, which may then be brought to length one. A token with the number t contributes

    v_t = weights[t] · embeddings[mapping[t]],

where a folder without `weights` has 1 and one without `mapping` has t; that is the vector here. It
is what `StaticModel.encode` of model2vec returns for a text of that token alone, before
normalisation. Its length is its weight in the mean: frequent words have short vectors.

Words and parts of words are told apart by `wordbias.formats.tokens`. Only words are the vocabulary;
all tokens are written. The order of tokens is by frequency as far as tokenizers have one: single
characters come first, then words by their rank in the text that the tokenizer was made of.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from wordbias import __version__
from wordbias.devices import ordered_map
from wordbias.errors import WordbiasError
from wordbias.formats.files import check_new, new_folder, refuse_inside
from wordbias.formats.source import hash_of
from wordbias.formats.tensors import map_tensors
from wordbias.formats.tokens import Tokens, read_json, read_tokens
from wordbias.model_folder import copy_files, others_text, own_files

KIND: Final = "static-model"
"""Name of the format in results."""
WEIGHTS, TOKENIZER, CONFIG, MODULES = (
    "model.safetensors",
    "tokenizer.json",
    "config.json",
    "modules.json",
)
_NAMES = ("embeddings", "embedding.weight")
"""Name of the tensor of vectors: by model2vec, and by sentence-transformers."""
_NESTED = "0_StaticEmbedding"
_TYPES = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "I8": np.int8}
_ROWS = 4096
_PICKLE = "pytorch_model.bin"
Rows = NDArray[Any]
Change = Callable[[Sequence[str], NDArray[np.float32]], NDArray[np.float32]]
"""Function from the words of tokens, empty for what is no word, and their rows to new rows."""


def is_static_model(name: str | os.PathLike[str]) -> bool:
    """Return whether a path is the folder of a static model, by its content."""
    return _place(Path(name)) is not None


def is_loaded_static(source: object) -> bool:
    """Return whether a caller has loaded a static model."""
    # It is a `StaticModel` of model2vec, or a `SentenceTransformer` with a `StaticEmbedding`.
    kinds = {f"{kind.__module__}.{kind.__qualname__}" for kind in type(source).__mro__}
    if any(kind.endswith(".SentenceTransformer") for kind in kinds):
        return type(next(iter(source), None)).__name__ == "StaticEmbedding"  # type: ignore[call-overload]
    return "model2vec.model.StaticModel" in kinds


def refuse_loaded_static(source: object) -> None:
    """Refuse a static model that the caller has loaded: its folder is what is read and written."""
    if is_loaded_static(source):
        raise WordbiasError(
            f"expected the folder of a static model, got a loaded {type(source).__name__}; save it "
            "with model.save_pretrained(folder), and give the folder"
        )


def _place(folder: Path) -> PurePosixPath | None:
    """Return the place of weights and tokenizer in a folder; None if it is not a static model."""
    # The list of modules decides, if there is one; else the names of the tensors.
    if not os.path.isdir(folder):  # also where no file can have that name
        return None
    listed = _static_module(folder / MODULES)
    if listed is not None:
        return listed
    for inner in ("", _NESTED):
        weights = folder / inner / WEIGHTS
        if not (weights.is_file() and (folder / inner / TOKENIZER).is_file()):
            continue
        try:
            tensors = map_tensors(weights)[0]
        except (OSError, WordbiasError):
            continue
        if any(name in tensors for name in _NAMES):
            return PurePosixPath(inner)
    return None


def _static_module(file: Path) -> PurePosixPath | None:
    """Return the place of the first module of a list, if that is a `StaticEmbedding`."""
    try:
        first = json.loads(file.read_bytes())[0]
        kind, place = first["type"], PurePosixPath(first.get("path") or "")
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    is_static = isinstance(kind, str) and kind.rpartition(".")[2] == "StaticEmbedding"
    return place if is_static and not place.is_absolute() and ".." not in place.parts else None


@dataclass(frozen=True, eq=False)
class StaticModel:
    """A folder of a static model."""

    folder: Path
    place: PurePosixPath  # folder in it of the weights and the tokenizer; most often itself
    tokens: Tokens
    name: str  # name of the tensor of vectors
    arrays: Mapping[str, Rows] = field(repr=False)
    # texts that the file has in addition to its tensors
    metadata: Mapping[str, str] = field(repr=False)

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> StaticModel:
        """Read a folder."""
        folder = Path(folder)
        place = _place(folder)
        if place is None:
            raise WordbiasError(
                f"{folder}: is no static model: expected {WEIGHTS}, with the tensor "
                f"{' or '.join(_NAMES)}, and {TOKENIZER}"
            )
        weights = folder / place / WEIGHTS
        if not weights.is_file():
            pickled = (folder / place / _PICKLE).is_file()
            why = ", only a pickle, which is not run" if pickled else ""
            raise WordbiasError(
                f"{weights}: there is no such file{why}; write the model again with: "
                "model.save_pretrained(folder, safe_serialization=True)"
            )
        arrays, metadata = _read(weights)
        name = next((name for name in _NAMES if name in arrays), None)
        if name is None:
            raise WordbiasError(
                f"{weights}: expected the tensor {' or '.join(_NAMES)}, found "
                f"{', '.join(sorted(arrays))[:200] or 'none'}"
            )
        model = cls(folder, place, read_tokens(folder / place / TOKENIZER), name, arrays, metadata)
        model._check(weights)
        return model

    def _check(self, file: Path) -> None:
        """Refuse tensors that do not fit the tokenizer or each other."""
        x, size = self.arrays[self.name], self.tokens.size
        if x.ndim != 2 or not x.shape[1]:
            raise WordbiasError(f"{file}: expected vectors of shape (n, d), found {x.shape}")
        mapping, weights = self.mapping, self.weights
        if mapping is not None:
            if mapping.ndim != 1 or mapping.dtype.kind not in "iu":
                raise WordbiasError(f"{file}: 'mapping' holds no row numbers, shape (n,)")
            if len(mapping) and not 0 <= mapping.min() <= mapping.max() < len(x):
                raise WordbiasError(
                    f"{file}: 'mapping' names rows {mapping.min()} to {mapping.max()} of {len(x)}"
                )
        if weights is not None and (
            weights.shape != (self.count,)
            or weights.dtype.kind != "f"
            or not np.isfinite(weights).all()
        ):
            raise WordbiasError(
                f"{file}: 'weights' are not {self.count} finite numbers, one for each token, but "
                f"of shape {weights.shape} ({weights.dtype})"
            )
        if self.count < size:
            raise WordbiasError(
                f"{file}: has vectors for {self.count} tokens, and {TOKENIZER} has {size}; give a "
                "folder whose files belong together"
            )
        for start in range(0, self.count, _ROWS):
            ids = np.arange(start, min(start + _ROWS, self.count))
            with np.errstate(over="ignore", invalid="ignore"):
                bad = ~np.isfinite(self.vectors(ids)).all(axis=1)
            if bad.any():
                number = int(ids[bad.argmax()])
                raise WordbiasError(
                    f"{file}: the vector of token {number}, {self.tokens.names.get(number)!r}, has "
                    "a nan, an infinity, or a value too large for float32; mend or fetch the file"
                )

    @property
    def mapping(self) -> Rows | None:
        """Row of each token; None if that is its number."""
        return self.arrays.get("mapping") if self.name == _NAMES[0] else None

    @property
    def weights(self) -> Rows | None:
        """Weight of each token; None for 1."""
        return self.arrays.get("weights") if self.name == _NAMES[0] else None

    @property
    def count(self) -> int:
        """Number of tokens that have a vector."""
        return len(self.arrays[self.name] if self.mapping is None else self.mapping)

    def vectors(self, ids: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return the vectors of tokens by their numbers, float32, shape ``(n, d)``."""
        # They are those that `StaticModel` of model2vec takes the mean of: a row times a weight.
        rows = self.arrays[self.name][ids if self.mapping is None else self.mapping[ids]]
        if self.weights is None:
            return rows.astype(np.float32)
        kind = np.result_type(rows, self.weights, np.float32)
        return (rows.astype(kind) * self.weights[ids, None]).astype(np.float32)

    def sha256(self) -> str:
        """Return a hash of the weights' and the tokenizer's hashes."""
        files = (self.folder / self.place / name for name in (WEIGHTS, TOKENIZER))
        return hashlib.sha256(
            "".join(hash_of(file, "sha256") for file in files).encode()
        ).hexdigest()

    def write(
        self,
        output: str | os.PathLike[str],
        change: Change,
        *,
        method: str,
        shared: bool,
        keep_lengths: bool,
    ) -> list[str]:
        """Write a folder like this one, with the vectors of all tokens changed; return notes."""
        # The model's other files are copied; a note names the rest, such as exports to ONNX, which
        # hold the original vectors. The type of the numbers is kept, except int8, whose values
        # become float32. A `shared` change is linear and the same for all tokens: it commutes with
        # `weights`, and rows that tokens share are changed once; otherwise each token gets a row of
        # its own, which `weights` is multiplied into. `keep_lengths`: a method that normalises
        # vectors would lose the weights of tokens.
        check_static_output(self.folder, output)
        apart = not shared and (self.mapping is not None or self.weights is not None)
        old = self.arrays[self.name]
        kind = np.dtype(np.float32) if old.dtype == np.int8 else old.dtype
        count = len(old) if shared else self.count
        parts = ordered_map(
            lambda start: self._changed(start, count, change, kind, shared, keep_lengths),
            range(0, count, _ROWS),
        )
        vectors = np.concatenate(list(parts))
        arrays = {name: x for name, x in self.arrays.items() if name != self.name}
        if apart:
            arrays = {key: x for key, x in arrays.items() if key not in ("mapping", "weights")}
            if self.mapping is not None and self.count != len(self.tokens.names):
                arrays["mapping"] = np.arange(self.count, dtype=np.int64)  # tokens without names
        files, others = own_files(self.folder, self.place)
        del files[(self.place / WEIGHTS).as_posix()]
        with new_folder(output) as folder:
            copy_files(files, folder)
            weights = folder / self.place / WEIGHTS
            _save(weights, {self.name: vectors, **arrays}, self.metadata)
            shutil.copymode(self.folder / self.place / WEIGHTS, weights)
            self._write_config(folder / CONFIG, vectors, apart=apart)
            self._write_readme(folder / "README.md", method)
        left = [others_text(self.folder, others, "copied")] if others else []
        return [*self._notes(kind, apart=apart, keep_lengths=keep_lengths), *left]

    def _changed(
        self,
        start: int,
        count: int,
        change: Change,
        kind: np.dtype[Any],
        shared: bool,
        keep_lengths: bool,
    ) -> Rows:
        """Return a block of new rows."""
        ids = np.arange(start, min(start + _ROWS, count))
        x = self.arrays[self.name][ids].astype(np.float32) if shared else self.vectors(ids)
        words = [""] * len(ids) if shared else [self._words.get(i, "") for i in ids.tolist()]
        with np.errstate(all="ignore"):  # refused with its token
            y = np.asarray(change(words, x))
            if keep_lengths:
                before, after = (np.linalg.norm(rows.astype(float), axis=1) for rows in (x, y))
                y = y * (before / np.where(after == 0, 1, after))[:, None]
            done = y.astype(kind)
        if not np.isfinite(done).all():
            number = start + int(np.isfinite(done).all(axis=1).argmin())
            what = f"row {number}" if shared else f"the token {self.tokens.names.get(number)!r}"
            raise WordbiasError(
                f"{self.folder}: {what} gets a value that is not finite, or too large for {kind}"
            )
        return done

    @cached_property
    def _words(self) -> dict[int, str]:
        """Word of each token that is one, by its number."""
        return dict(zip(self.tokens.ids.tolist(), self.tokens.words, strict=True))

    def _write_config(self, file: Path, vectors: Rows, *, apart: bool) -> None:
        """Correct what the settings say about the vectors."""
        if not file.is_file():
            return
        settings = read_json(self.folder / CONFIG)  # the same, by the name that the user knows
        new = dict(settings)
        if apart:
            new.pop("vocabulary_quantization", None)
        for key, value in (
            ("embedding_dtype", vectors.dtype.name),
            ("hidden_dim", vectors.shape[1]),
        ):
            if key in new:
                new[key] = value
        if new != settings:
            file.write_text(json.dumps(new, indent=4), encoding="utf-8")

    def _write_readme(self, file: Path, method: str) -> None:
        """Say in the card that the vectors are not those of the model that it describes."""
        if not file.is_file() or not method:
            return
        text = file.read_bytes().decode("utf-8", "surrogateescape").rstrip("\n")
        about = (
            f"## Changed by wordbias\n\nThe vectors of all tokens were changed by wordbias "
            f"{__version__} ({method}). Figures above are those of the original model.\n"
        )
        file.write_bytes(f"{text}\n\n{about}".encode("utf-8", "surrogateescape"))

    def _notes(self, kind: np.dtype[Any], *, apart: bool, keep_lengths: bool) -> list[str]:
        notes = []
        if apart:
            notes.append(
                f"{self.folder}: tokens shared rows or had weights; in the output each has a row "
                "of its own, since the method is not one linear map for all tokens"
            )
        if kind != self.arrays[self.name].dtype:
            notes.append(f"{self.folder}: its vectors are int8, and those of the output {kind}")
        if keep_lengths:
            notes.append(
                "the method normalises vectors to length one; in the output each token keeps its "
                "original length, which is its weight in the vector of a text"
            )
        return notes


def check_static_output(folder: Path, output: str | os.PathLike[str]) -> None:
    """Raise an error now for a folder that cannot be written."""
    check_new(output)
    refuse_inside(output, folder)
    own_files(folder)


def _read(file: Path) -> tuple[dict[str, Rows], dict[str, str]]:
    """Read all tensors of a file and its metadata."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, "numpy") as opened:
            for name in opened.keys():  # noqa: SIM118
                kind = opened.get_slice(name).get_dtype()
                if name in (*_NAMES, "weights") and kind not in _TYPES:
                    raise WordbiasError(
                        f"{file}: the tensor '{name}' holds {kind}; expected one of "
                        f"{', '.join(_TYPES)}: convert it to float32 and save the model again"
                    )
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
            return tensors, dict(opened.metadata() or {})
    except (OSError, SafetensorError, TypeError, AttributeError) as error:
        reason = str(error).partition("\n")[0]
        raise WordbiasError(f"{file}: cannot be read: {reason}; fetch it again") from None


def _save(file: Path, arrays: Mapping[str, Rows], metadata: Mapping[str, str]) -> None:
    from safetensors.numpy import save_file

    ready = {name: np.ascontiguousarray(x) for name, x in arrays.items()}
    save_file(ready, file, dict(metadata) or None)
