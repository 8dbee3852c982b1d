"""Fitted methods on disk, with what they were fitted on: one safetensors file, no pickle."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from dataclasses import field as dataclass_field
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordbias import __version__
from wordbias.arrays import frozen
from wordbias.embedding import Embedding
from wordbias.errors import WordbiasError
from wordbias.formats.stored import TRANSFORM, reading, write
from wordbias.methods.fitted import Chain, Fitted, Replaced, refuse_mixed_centring
from wordbias.methods.transform import Step
from wordbias.resources.hub import METHOD_FILE, local
from wordbias.results import Row
from wordbias.subspace import Subspace

Tensors = dict[str, Any]
KINDS = {
    "projection": "transform.Projection",
    "normalise": "transform.Normalise",
    "shift": "transform.Shift",
    "linear": "transform.Linear",
    "erasure": "leace.Erasure",
    "last-coordinate": "gn_glove.LastCoordinate",
    "tanh-encoder": "gender_preserving.networks.TanhEncoder",
    "graded-rotation": "transform.GradedRotation",
}
"""Module and class of every kind of step."""


def save_chain(path: str | os.PathLike[str], chain: Chain, origin: Origin) -> None:
    """Write fitted methods and their origin."""
    tensors: Tensors = {"origin": origin.vectors.astype(np.float32)}
    about = {key: getattr(origin, key) for key in ("name", "sha256", "size", "dim", "words")}
    parts = [_pack(part, f"{i}", tensors) for i, part in enumerate(chain.parts)]
    header = {"wordbias": __version__, "origin": about, "parts": parts}
    write(path, TRANSFORM, tensors, header, default=str)


def load_chain(path: str | os.PathLike[str]) -> tuple[Chain, Origin]:
    """Read what `save_chain` wrote, from a path or an address on the hub."""
    with (
        local(os.fspath(path), wanted=METHOD_FILE) as file,
        reading(file, TRANSFORM) as (tensors, stored),
    ):
        about = stored["origin"]
        words = tuple(about.pop("words"))
        origin = Origin(**about, words=words, vectors=tensors["origin"])
        chain = Chain(
            tuple(_unpack(part, f"{i}", tensors) for i, part in enumerate(stored["parts"]))
        )
        check_chain(chain, origin)
        return chain, origin


def check_chain(chain: Chain, origin: Origin) -> None:
    """Refuse a chain that could not have been fitted on the origin."""
    if not isinstance(origin.size, int) or not all(
        isinstance(text, str) for text in (origin.name, origin.sha256, *origin.words)
    ):
        raise WordbiasError("what it was fitted on is not described by texts and numbers")
    if not chain.parts:
        raise WordbiasError("it holds no method")
    refuse_mixed_centring({part.centred for part in chain.parts})
    width = origin.dim
    for part in chain.parts:
        with np.errstate(all="ignore"):
            mapped = part(np.eye(1, width, dtype=np.float32))
        if mapped.ndim != 2 or not 0 < mapped.shape[1] <= width:
            raise WordbiasError(f"{part.name} maps rows of {width} values to shape {mapped.shape}")
        width = mapped.shape[1]
        if len(part.replaced) and part.replaced.vectors.shape[1] != width:
            raise WordbiasError(f"{part.name} gives words vectors that do not have {width} values")
        if not (np.isfinite(mapped).all() and np.isfinite(part.replaced.vectors).all()):
            raise WordbiasError(f"{part.name} maps numbers to what is no number")


def _pack(fitted: Fitted, at: str, tensors: Tensors) -> dict[str, Any]:
    if len(fitted.replaced):
        tensors[f"{at}.replaced"] = fitted.replaced.vectors
    return {
        "name": fitted.name,
        "settings": dict(fitted.settings),
        "warnings": list(fitted.warnings),
        "found": [row.to_dict() for row in fitted.found],
        "exempt": sorted(fitted.exempt),
        "replaced": list(fitted.replaced.words),
        "steps": _pack_steps(fitted.steps, f"{at}.step", tensors),
        "exempt_steps": _pack_steps(fitted.exempt_steps, f"{at}.exempt", tensors),
    }


def _unpack(stored: Mapping[str, Any], at: str, tensors: Mapping[str, Any]) -> Fitted:
    for key in ("exempt", "replaced"):
        if not isinstance(stored[key], list) or not all(isinstance(x, str) for x in stored[key]):
            raise WordbiasError(f"its {key} words are no list of words")
    if not isinstance(stored["name"], str) or not stored["name"].isprintable():
        raise WordbiasError(f"its name is {stored['name']!r}")
    replaced = Replaced()
    if stored["replaced"]:
        replaced = Replaced(stored["replaced"], tensors[f"{at}.replaced"])
    return Fitted(
        stored["name"],
        _unpack_steps(stored["steps"], f"{at}.step", tensors),
        frozenset(stored["exempt"]),
        _unpack_steps(stored["exempt_steps"], f"{at}.exempt", tensors),
        replaced,
        tuple(Row.from_dict(row) for row in stored["found"]),
        stored["settings"],
        tuple(stored["warnings"]),
    )


def _pack_steps(steps: tuple[Step, ...], at: str, tensors: Tensors) -> list[dict[str, Any]]:
    packed = []
    for i, step in enumerate(steps):
        about: dict[str, Any] = {"kind": step.kind}
        for field in fields(step):  # type: ignore[arg-type]
            value, key = getattr(step, field.name), f"{at}.{i}.{field.name}"
            if isinstance(value, Subspace):
                tensors[f"{key}.basis"], tensors[f"{key}.weights"] = value.basis, value.weights
            elif isinstance(value, np.ndarray):
                tensors[key] = value
            else:
                about[field.name] = value
        packed.append(about)
    return packed


def _unpack_steps(
    stored: list[dict[str, Any]], at: str, tensors: Mapping[str, Any]
) -> tuple[Step, ...]:
    steps = []
    for i, about in enumerate(stored):
        settings = dict(about)
        step_class = _class_of(settings.pop("kind"))
        for field in fields(step_class):  # type: ignore[arg-type]
            key = f"{at}.{i}.{field.name}"
            if f"{key}.basis" in tensors:
                settings[field.name] = Subspace(tensors[f"{key}.basis"], tensors[f"{key}.weights"])
            elif key in tensors:
                settings[field.name] = tensors[key]
        steps.append(step_class(**settings))
    return tuple(steps)


def _class_of(kind: str) -> type[Step]:
    if kind not in KINDS:
        raise WordbiasError(
            f"holds a step of the kind {kind!r}, expected one of {', '.join(KINDS)}; was it saved "
            "by a newer version?"
        )
    module, _, name = KINDS[kind].rpartition(".")
    step_class: type[Step] = getattr(import_module(f"wordbias.methods.{module}"), name)
    return step_class


# origin


_FIRST = 64
_SPREAD = 192
_ALIKE = 0.99
"""Cosine, and ratio of lengths; what rounding to float16 or four decimals leaves far above it."""


@dataclass(frozen=True, eq=False)
class Origin:
    """The embedding that a saved transform was fitted on."""

    name: str
    sha256: str
    size: int
    dim: int
    # a few words with their vectors, shape `(n, d)`, by which it is recognised
    words: tuple[str, ...] = dataclass_field(repr=False)
    vectors: Any = dataclass_field(repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "vectors", frozen(self.vectors))
        if not np.isfinite(self.vectors).all():
            raise WordbiasError("a stored vector of a word is no number")
        if self.vectors.shape != (len(self.words), self.dim):
            raise WordbiasError(
                f"{len(self.words)} words of {self.dim} dimensions do not fit vectors of shape "
                f"{self.vectors.shape}"
            )

    @classmethod
    def of(cls, embedding: Embedding, size: int | None = None, sha256: str = "") -> Origin:
        """Describe an embedding, or the part of one of `size` words."""
        n = len(embedding)  # spaced ever wider: a part of a file is most often its beginning
        spread = np.geomspace(1, n, _SPREAD).astype(int) - 1
        rows = list(dict.fromkeys([*range(min(_FIRST, n)), *spread.tolist()]))
        words = tuple(embedding.words[i] for i in rows)
        known = embedding.info.sha256 if embedding.info else ""
        return cls(
            embedding.name,
            sha256 or known,
            size or n,
            embedding.dim,
            words,
            embedding.vectors[rows],
        )

    def check(
        self, embedding: Embedding, what: str, *, by_length: bool = True, force: bool = False
    ) -> None:
        """Refuse vectors of other dimensions, and others that have the same words."""
        # `by_length` also refuses the same directions at other lengths; `force` compares dimensions
        # only.
        if embedding.dim != self.dim:
            raise WordbiasError(
                f"{what}: fitted on {self.name}, whose vectors have {self.dim} dimensions; "
                f"{embedding.name} has {embedding.dim}; fit it anew on {embedding.name}"
            )
        if force:
            return
        if not self.words:
            raise WordbiasError(
                f"{what}: fitted on {self.name} of an array, which have no words to recognise "
                f"vectors by; if {embedding.name} is of the same space, --force"
            )
        shared = [i for i, word in enumerate(self.words) if word in embedding]
        if not shared:
            raise WordbiasError(
                f"{what}: {embedding.name} has none of the {len(self.words)} words that "
                f"{self.name} is recognised by; if these are the same vectors, --force"
            )
        words = [self.words[i] for i in shared]
        x, y = self.vectors[shared], embedding.take(words).astype(float)
        cosine = _cosines(x, y)
        if not np.median(cosine) >= _ALIKE:
            worst = int(cosine.argmin())
            raise WordbiasError(
                f"{what}: fitted on other vectors than {embedding.name}: its {words[worst]!r} has "
                f"the cosine {cosine[worst]:.2f} with that of {self.name}; fit it anew on "
                f"{embedding.name}, or apply it all the same with --force"
            )
        ratio = np.median(_ratios(y, x))
        if by_length and not _ALIKE <= ratio <= 1 / _ALIKE:
            raise WordbiasError(
                f"{what}: fitted on {self.name}, whose vectors are {1 / ratio:.3g} times as long "
                f"as those of {embedding.name}, and what it does depends on lengths; fit it anew "
                f"on {embedding.name}, or apply it all the same with --force"
            )


def _ratios(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    a, b = (np.linalg.norm(rows, axis=1) for rows in (x, y))
    return np.where((a == 0) | (b == 0), 1, a / np.where(b == 0, 1, b))


def _cosines(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    lengths = np.linalg.norm(x, axis=1) * np.linalg.norm(y, axis=1)
    inner: NDArray[np.float64] = np.einsum("nd,nd->n", x, y)
    return np.where(lengths == 0, 1, inner / np.where(lengths == 0, 1, lengths))
