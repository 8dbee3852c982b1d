"""What remains of the autoencoder when it is trained: one layer, in numpy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from wordbias.arrays import like
from wordbias.errors import WordbiasError
from wordbias.methods.transform import Arrays, Rows, check_width


@dataclass(frozen=True, eq=False)
class TanhEncoder(Arrays):
    """One layer with tanh: ``tanh(x @ weight + bias)``, every value in (−1, 1).

    Parameters
    ----------
    weight, bias
        Shapes ``(d, k)`` and ``(k,)``.

    Raises
    ------
    WordbiasError
        If the shapes do not fit.
    """

    kind: ClassVar[str] = "tanh-encoder"
    weight: Any
    bias: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.weight.ndim != 2 or self.bias.shape != self.weight.shape[1:]:
            raise WordbiasError(
                "expected a weight of shape (d, k) and k biases, "
                f"got {self.weight.shape} and {self.bias.shape}"
            )

    def __call__(self, x: Rows) -> Rows:
        """Encode."""
        check_width(x, len(self.weight))
        encoded: Rows = np.tanh(x @ like(self.weight, x) + like(self.bias, x))
        return encoded
