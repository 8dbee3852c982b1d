"""How a probe is trained, and how it did."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from wordbias.errors import WordbiasError

PROBES = ("linear", "mlp")


@dataclass(frozen=True)
class Recipe:
    """How a probe is trained; the defaults are those of Orgad et al. (2022).

    Attributes
    ----------
    probe
        ``linear``, or ``mlp``: half as many hidden units as dimensions, tanh.
    epochs
        At most.
    batch
        Examples in a batch; the batches keep their order in every epoch. The loss of a batch is
        the sum of those of its examples.
    rate, decay
        Of AdamW; its other settings are torch's defaults.
    patience, tolerance
        A training ends when its loss on dev, summed, in nats, has not fallen by `tolerance` in
        more than `patience` epochs.
    last
        Use a probe's last weights instead of its best on dev, as the released code does: it keeps
        a reference to the live weights, which go on changing. Wrong, and off by default.
    """

    probe: str = "linear"
    epochs: int = 50
    batch: int = 16
    rate: float = 1e-3
    decay: float = 0.01
    patience: int = 4
    tolerance: float = 1e-3
    last: bool = False

    def __post_init__(self) -> None:
        if self.probe not in PROBES:
            raise WordbiasError(f"probe {self.probe!r}: expected one of {', '.join(PROBES)}")
        if self.epochs < 1 or self.batch < 1:
            raise WordbiasError(
                f"{self.epochs} epochs in batches of {self.batch}: expected at least 1 of each"
            )
        if not 0 < self.rate <= 1:
            raise WordbiasError(f"rate {self.rate}: expected a number above 0 and at most 1")

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as a dictionary."""
        return asdict(self)


@dataclass(frozen=True)
class Result:
    """How one probe did on the examples it was tested on.

    Attributes
    ----------
    loss
        Their cross-entropy, summed, in nats.
    right, n
        How many it named rightly, of how many.
    epochs
        Epochs it was trained.
    best
        The epoch whose weights were tested.
    """

    loss: float
    right: int
    n: int
    epochs: int
    best: int

    @property
    def accuracy(self) -> float:
        """Share of the examples that it named rightly."""
        return self.right / self.n
