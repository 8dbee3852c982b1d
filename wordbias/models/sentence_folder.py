"""Sentence-transformers folders with a further linear module, which removes what was fitted.

The new modules are the library's own: `Dense` with the identity as activation computes
``x Wᵀ + b``. They stand before a Normalize that is last, so that vectors keep length one. The
folder loads in sentence-transformers from version 3.1 on, without wordbias.
"""

from __future__ import annotations

import copy
import importlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from wordbias.calls import note
from wordbias.errors import WordbiasError, need
from wordbias.formats.files import check_new, refuse_inside
from wordbias.methods.transform import Step as MethodStep
from wordbias.model_folder import CARD, MODULES, copy_files, others_text, own_files
from wordbias.models.encoder import Encoder
from wordbias.models.encoding import BATCH_TOKENS, EncodingJob, Settings
from wordbias.models.model_like import PURPOSE
from wordbias.models.sentence_transformers import SentenceModules

OLDEST = "3.1"
"""First version of sentence-transformers that reads the weights of Dense from safetensors."""
ORIGINAL_CARD = "README.original.md"
_OF_LIBRARY = "sentence_transformers.models."
"""Where every version of the library finds its modules."""
_IDENTITY = "torch.nn.modules.linear.Identity"
_AFFINE = ("projection", "shift", "linear", "erasure")
_LAST = ("Normalize", "Dropout")
_DOCUMENTS = ("document", "passage", "corpus")
"""Prompts of the library's `encode_document`, of which the first that a model has counts."""
Floats = NDArray[np.float64]
Float32 = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Dense:
    """The affine map ``x Wᵀ + b`` as a module."""

    weight: Floats = field(repr=False)  # `W`, shape `(d, d)`
    bias: Floats = field(repr=False)  # `b`, shape `(d,)`


@dataclass(frozen=True)
class Normalize:
    """Division of a vector by its length as a module."""


Module = Dense | Normalize


def modules_of(steps: Sequence[MethodStep], d: int) -> tuple[Module, ...]:
    """Return the modules that compute the steps of a method on vectors of `d` values."""
    # Affine steps that follow each other become one `Dense`.
    modules: list[Module] = []
    weight, bias, affine = np.eye(d), np.zeros(d), False
    for step in steps:
        if step.kind == "normalise":
            modules += [Dense(weight, bias)] if affine else []
            modules.append(Normalize())
            weight, bias, affine = np.eye(d), np.zeros(d), False
        elif step.kind in _AFFINE:
            offset = step(np.zeros((1, d)))[0]
            linear = step(np.eye(d)) - offset  # row i is the image of unit vector i
            weight, bias, affine = linear.T @ weight, bias @ linear + offset, True
        else:
            raise WordbiasError(
                f"a step of the kind {step.kind!r} is no module of sentence-transformers; expected "
                f"{', '.join((*_AFFINE, 'normalise'))}"
            )
    return (*modules, Dense(weight, bias)) if affine else tuple(modules)


@dataclass(frozen=True, eq=False)
class SentenceVectors:
    """A sentence model in two parts: up to a Normalize that stands last, and from there on."""

    # A cut of the vectors, which the library does at the very end, belongs to the second part.

    encoder: Encoder  # encoder with the modules of the first part
    last: SentenceModules  # the second part, which may be without modules

    @classmethod
    def of(cls, encoder: Encoder) -> Self:
        """Divide a sentence-transformers model."""
        sentence = encoder.sentence
        if sentence is None:
            raise WordbiasError(
                f"{encoder.name}: is no sentence-transformers model, which says how a text's "
                "vector is made and can take a further module; give such a folder, or write "
                "vectors with wordbias encode and give these"
            )
        place = len(sentence.steps)
        while place and sentence.steps[place - 1].name.startswith(("Normalize", "truncate_dim")):
            place -= 1
        first = replace(sentence, steps=sentence.steps[:place])
        last = replace(sentence, steps=sentence.steps[place:])
        return cls(replace(encoder, sentence=first), last)

    @property
    def normalizes(self) -> bool:
        """True if vectors are brought to length one at the end."""
        return any(step.name == "Normalize" for step in self.last.steps)

    @property
    def similarity(self) -> str:
        """Function that compares two vectors: ``cosine``, ``dot`` or another."""
        return self.last.similarity

    @property
    def width(self) -> int:
        """Number of values of a vector of the first part."""
        sentence = self.encoder.sentence
        assert sentence is not None
        return sentence.width(self.encoder.dim * len(sentence.pooling))

    def job(self, texts: Sequence[str], prompt: str | None = None) -> EncodingJob:
        """Tokenise texts for the first part, after a prompt, by default the model's own."""
        encoder, sentence = self.encoder, self.encoder.sentence
        if prompt is not None and sentence is not None:
            encoder = replace(encoder, sentence=replace(sentence, prompt=prompt))
        return EncodingJob.of(encoder, texts, settings=Settings((encoder.layers,)))

    def sides(
        self, first: Sequence[str], second: Sequence[str], batch_tokens: int = BATCH_TOKENS
    ) -> tuple[Float32, Float32]:
        """Return the vectors of the first part of texts to compare, each of shape ``(n, d)``."""
        # Prompts for queries and documents are used where the model has them, as by the library's
        # `encode_query` and `encode_document`.
        prompts = {} if self.encoder.sentence is None else self.encoder.sentence.prompts
        document = next((prompts[name] for name in _DOCUMENTS if name in prompts), None)
        return (
            self.job(first, prompts.get("query")).vectors(batch_tokens)[0],
            self.job(second, document).vectors(batch_tokens)[0],
        )

    def without_last(self) -> SentenceVectors:
        """Return the first part alone."""
        return replace(self, last=replace(self.last, steps=()))

    def outputs(self, x: Float32) -> Float32:
        """Put vectors of the first part, shape ``(n, d)``, through the second."""
        if not self.last.steps:
            return x
        torch = need("torch", extra="contextual", purpose=PURPOSE)
        with torch.inference_mode():
            vectors: Float32 = self.last.apply(torch.tensor(x, dtype=torch.float32)).numpy()
        return vectors


# folders


def check_output(name: str, folder: str) -> None:
    """Refuse, before work begins, a folder that exists or lies in the model's own."""
    check_new(folder)
    if name.strip() and Path(name).is_dir():
        refuse_inside(folder, name)
        own_files(name)


def write_modules(
    source: Path, part: Path, modules: Sequence[Module], place: int | None = None
) -> None:
    """Fill an empty folder with the files of a model and further modules, after `place` others."""
    # They stand before a Normalize that is last. The card of the original, which describes another
    # model now, gets another name. A note names the files that are not copied.
    files, others = own_files(source)
    copy_files(files, part)
    if others:
        note(others_text(source, others, "copied"))
    if (part / CARD).is_file():
        (part / CARD).replace(part / ORIGINAL_CARD)
    listed = json.loads((part / MODULES).read_text("utf-8"))
    if place is None:
        place = place_of_modules([str(record["type"]).rpartition(".")[2] for record in listed])
    for i, module in enumerate(modules, place):
        path = _write_module(part, i, module)
        listed.insert(i, {"path": path, "type": f"{_OF_LIBRARY}{type(module).__name__}"})
    listed = [{**record, "idx": i, "name": str(i)} for i, record in enumerate(listed)]
    (part / MODULES).unlink()
    (part / MODULES).write_text(json.dumps(listed, indent=2) + "\n", "utf-8")


def with_modules(model: Any, modules: Sequence[Module]) -> Any:
    """Return a copy of a loaded ``SentenceTransformer`` with further modules."""
    # They stand before a Normalize that is last. The model itself is not changed.
    torch = need("torch", extra="contextual", purpose=PURPOSE)
    library = importlib.import_module("sentence_transformers.models")
    copied = copy.deepcopy(model)
    children = list(copied.named_children())
    added = []
    for module in modules:
        child: Any = library.Normalize()
        if isinstance(module, Dense):
            d = len(module.bias)
            child = library.Dense(d, d, activation_function=torch.nn.Identity())
            with torch.no_grad():
                child.linear.weight.copy_(torch.from_numpy(module.weight))
                child.linear.bias.copy_(torch.from_numpy(module.bias))
        added.append(("", child.to(copied.device)))
    place = place_of_modules([type(existing).__name__ for _, existing in children])
    children[place:place] = added
    arguments = getattr(copied, "module_kwargs", None) or {}
    for name in [name for name, _ in copied.named_children()]:
        delattr(copied, name)
    for i, (_, child) in enumerate(children):
        copied.add_module(str(i), child)
    if arguments:
        copied.module_kwargs = {
            str(i): arguments.get(name, []) for i, (name, _) in enumerate(children)
        }
    return copied


def place_of_modules(kinds: Sequence[str]) -> int:
    """Return the place of new modules among modules of these classes."""
    place = len(kinds)
    while place and kinds[place - 1] in _LAST:
        place -= 1
    return place


def _write_module(part: Path, i: int, module: Module) -> str:
    """Write a module to a folder of its own; return its path."""
    path = f"{i}_{type(module).__name__}"
    while (part / path).exists():
        path += "_added"
    (part / path).mkdir()
    config: dict[str, object] = {}
    if isinstance(module, Dense):
        from safetensors.numpy import save_file

        d = len(module.bias)
        config = {"in_features": d, "out_features": d, "bias": True}
        config["activation_function"] = _IDENTITY
        weights = {"linear.weight": module.weight, "linear.bias": module.bias}
        save_file(
            {name: np.ascontiguousarray(value, np.float32) for name, value in weights.items()},
            part / path / "model.safetensors",
        )
    (part / path / "config.json").write_text(json.dumps(config, indent=2) + "\n", "utf-8")
    return path
