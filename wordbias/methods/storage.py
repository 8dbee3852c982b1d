"""Fitted methods on disk: one safetensors file, its settings as JSON in the header. No pickle."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields
from importlib import import_module
from typing import Any

import numpy as np

from wordbias import __version__
from wordbias.errors import WordbiasError
from wordbias.formats.stored import TRANSFORM, reading, write
from wordbias.methods.checking import check_chain
from wordbias.methods.fitted import Chain, Fitted, Replaced
from wordbias.methods.origin import Origin
from wordbias.methods.steps import Step
from wordbias.results import Row
from wordbias.subspace import Subspace

Tensors = dict[str, Any]

KINDS = {
    "projection": "projection.Projection",
    "normalise": "steps.Normalise",
    "shift": "steps.Shift",
    "linear": "steps.Linear",
    "erasure": "leace.Erasure",
    "last-coordinate": "gn_glove.LastCoordinate",
    "tanh-encoder": "gender_preserving.TanhEncoder",
    "graded-rotation": "rotation.GradedRotation",
}
"""Where the class of every kind of step is."""


def save_chain(path: str | os.PathLike[str], chain: Chain, origin: Origin) -> None:
    """Write fitted methods and what they were fitted on.

    Raises
    ------
    WordbiasError
        If the file cannot be written.
    """
    tensors: Tensors = {"origin": origin.vectors.astype(np.float32)}
    about = {key: getattr(origin, key) for key in ("name", "sha256", "size", "dim", "words")}
    parts = [_pack(part, f"{i}", tensors) for i, part in enumerate(chain.parts)]
    header = {"wordbias": __version__, "origin": about, "parts": parts}
    write(path, TRANSFORM, tensors, header, default=str)


def load_chain(path: str | os.PathLike[str]) -> tuple[Chain, Origin]:
    """Read what `save_chain` wrote.

    Raises
    ------
    WordbiasError
        If there is no such file, or it holds something else or is damaged.
    """
    with reading(path, TRANSFORM) as (tensors, stored):
        about = stored["origin"]
        words = tuple(about.pop("words"))
        origin = Origin(**about, words=words, vectors=tensors["origin"])
        parts = tuple(_unpack(part, f"{i}", tensors) for i, part in enumerate(stored["parts"]))
        chain = Chain(parts)
        check_chain(chain, origin)
        return chain, origin


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
        tuple(_row(row) for row in stored["found"]),
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
    return tuple(_unpack_step(dict(about), f"{at}.{i}", tensors) for i, about in enumerate(stored))


def _unpack_step(about: dict[str, Any], at: str, tensors: Mapping[str, Any]) -> Step:
    made: type[Step] = _class_of(about.pop("kind"))
    for field in fields(made):  # type: ignore[arg-type]
        key = f"{at}.{field.name}"
        if f"{key}.basis" in tensors:
            about[field.name] = Subspace(tensors[f"{key}.basis"], tensors[f"{key}.weights"])
        elif key in tensors:
            about[field.name] = tensors[key]
    return made(**about)


def _class_of(kind: str) -> type[Step]:
    if kind not in KINDS:
        raise WordbiasError(
            f"holds a step of the kind {kind!r}, expected one of {', '.join(KINDS)}; was it saved "
            "by a newer version?"
        )
    module, _, name = KINDS[kind].partition(".")
    found: type[Step] = getattr(import_module(f"wordbias.methods.{module}"), name)
    return found


def _row(stored: dict[str, Any]) -> Row:
    return Row(stored.pop("subject"), stored.pop("measure"), stored.pop("value"), stored)
