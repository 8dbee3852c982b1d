"""Which model an adapter belongs to."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import Any

from wordbias.contextual.families import head_count, layer_count, width
from wordbias.optional import need

PURPOSE = "telling models apart"
_SAMPLE = 4096


@dataclass(frozen=True)
class Fingerprint:
    """A model's class, its shape and a hash of a sample of its weights.

    Attributes
    ----------
    weights
        SHA-256 of the parameters' names and shapes and of at most 4,096 values of each, evenly
        spaced and rounded to bfloat16: the same for a model loaded as float32 and as bfloat16.
    """

    architecture: str
    layers: int
    width: int
    heads: int
    weights: str

    @classmethod
    def of(cls, model: Any) -> Fingerprint:
        """Take a model's."""
        return cls(
            type(model).__name__,
            layer_count(model),
            width(model),
            head_count(model),
            _weights(model),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the fields."""
        return asdict(self)

    def difference(self, other: Fingerprint) -> str:
        """Say in what another one differs, this one first; empty if in nothing."""
        shape = [
            f"{mine:,} {name} for {theirs:,}"
            for name, mine, theirs in (
                ("layers", self.layers, other.layers),
                ("dimensions", self.width, other.width),
                ("heads", self.heads, other.heads),
            )
            if mine != theirs
        ]
        if self.architecture != other.architecture:
            return ", ".join([f"a {self.architecture} for a {other.architecture}", *shape])
        if shape:
            return ", ".join(shape)
        return "other weights in the same shape" if self.weights != other.weights else ""


def _weights(model: Any) -> str:
    torch = need("torch", extra="contextual", purpose=PURPOSE)
    digest = hashlib.sha256()
    for name, parameter in sorted(model.named_parameters()):
        values = parameter.detach().reshape(-1)
        sample = values[:: max(1, -(-len(values) // _SAMPLE))].to("cpu", torch.bfloat16)
        digest.update(f"{name} {tuple(parameter.shape)}\n".encode())
        digest.update(sample.contiguous().view(torch.int16).numpy().tobytes())
    return digest.hexdigest()
