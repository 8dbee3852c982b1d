"""What tells models apart: their shape, and a hash of a sample of their weights."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from wordbias.errors import need
from wordbias.models.families import base_of, family_of, head_count, layer_count, width
from wordbias.models.model_like import check_in_memory

PURPOSE = "telling models apart"
_SAMPLE = 4096
_OTHER = "other weights in the same shape"


@dataclass(frozen=True)
class Fingerprint:
    """Identity of a model: its class, its shape and a hash of a sample of its weights."""

    architecture: str
    layers: int
    width: int
    heads: int
    # SHA-256 of the parameters' names and shapes and of at most 4,096 values of each, evenly spaced
    # and rounded to bfloat16: the same for a model in float32 and in bfloat16
    weights: str
    # the same hash of the parameters of the encoder alone, without head and pooler, which may be
    # random where no file holds them; empty in adapters of earlier versions
    encoder: str = ""

    @classmethod
    def of(cls, model: Any) -> Fingerprint:
        """Return the fingerprint of a model."""
        check_in_memory(model, type(model).__name__)
        return cls(
            type(model).__name__,
            layer_count(model),
            width(model),
            head_count(model),
            sampled_sha256(model.named_parameters()),
            sampled_sha256(_inner_parameters(model)),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the fields."""
        return asdict(self)

    def difference(self, other: Fingerprint) -> str:
        """Return the differences from another one, this one first; empty if there are none."""
        shape = self._shape(other)
        if self.architecture != other.architecture:
            return ", ".join([f"a {self.architecture} for a {other.architecture}", *shape])
        if shape:
            return ", ".join(shape)
        return _OTHER if self.weights != other.weights else ""

    def encoder_difference(self, other: Fingerprint) -> str:
        """Return the differences of the encoders, whatever heads are on them."""
        if not (self.encoder and other.encoder):
            return self.difference(other)
        return ", ".join(self._shape(other)) or (_OTHER if self.encoder != other.encoder else "")

    def _shape(self, other: Fingerprint) -> list[str]:
        return [
            f"{mine:,} {name} for {theirs:,}"
            for name, mine, theirs in (
                ("layers", self.layers, other.layers),
                ("dimensions", self.width, other.width),
                ("heads", self.heads, other.heads),
            )
            if mine != theirs
        ]


def _inner_parameters(model: Any) -> Iterator[tuple[str, Any]]:
    """Yield the parameters that the layers need, without a head or pooler."""
    pooler = family_of(model).pooler
    for name, parameter in base_of(model).named_parameters():
        if not any(part.startswith(pooler) for part in name.split(".")):
            yield name, parameter


def sampled_sha256(parameters: Iterable[tuple[str, Any]]) -> str:
    """Return the hash of a sample of parameters, by their names; see `Fingerprint`."""
    torch = need("torch", extra="contextual", purpose=PURPOSE)
    digest = hashlib.sha256()
    for name, parameter in sorted(parameters, key=lambda item: item[0]):
        values = parameter.detach().reshape(-1)
        sample = values[:: max(1, -(-len(values) // _SAMPLE))].to("cpu", torch.bfloat16)
        digest.update(f"{name} {tuple(parameter.shape)}\n".encode())
        digest.update(sample.contiguous().view(torch.int16).numpy().tobytes())
    return digest.hexdigest()
