"""Rotation in a plane by an angle that depends on the vector: the step that OSCaR ends in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordbias.casting import like
from wordbias.errors import WordbiasError
from wordbias.methods.steps import Arrays, Rows, check_width

Float = NDArray[np.float64]

_LEAST = 16 * float(np.finfo(np.float32).eps)


@dataclass(frozen=True, eq=False)
class GradedRotation(Arrays):
    r"""Rotation in the plane of two directions that leaves one and takes the other to 90°.

    In the plane, let ``α`` be the angle of a vector from ``v1`` on the side of ``v2``, and ``Θ``
    that of ``v2``. A vector turns by

    .. math:: r(\alpha) = (\pi/2 - \Theta)
              \min\left(\frac{\alpha}{\Theta}, \frac{\pi - \alpha}{\pi - \Theta}\right),
              \quad 0 \le \alpha \le \pi

    and ``-x`` to where minus the image of ``x`` is. So the circle is stretched evenly on both
    sides of ``v2``: the map is continuous and one-to-one, keeps lengths, leaves ``v1`` and all
    that is orthogonal to the plane, and takes ``v2`` to 90°, exactly. It depends on the two lines
    alone, not on the signs of their directions.

    Parameters
    ----------
    v1, v2
        Shape ``(d,)``, of any length but zero.

    Raises
    ------
    WordbiasError
        If they have different shapes, one is zero or not finite, or they are parallel or already
        orthogonal (within what changes a float32 vector).

    Notes
    -----
    Dev et al. (2021) give the four cases of this formula. Their released code swaps Θ and
    ``π/2 − Θ`` in them, which takes 30° to 45° and 72° to 120°; AllenNLP's, in addition, has a
    Gram-Schmidt that does not orthogonalise. Neither is offered.
    """

    kind: ClassVar[str] = "graded-rotation"
    v1: Any
    v2: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.v1.ndim != 1 or self.v1.shape != self.v2.shape:
            raise WordbiasError(
                f"expected two directions of one shape (d,), got {self.v1.shape}, {self.v2.shape}"
            )
        if not all(np.isfinite(v).all() and v.any() for v in (self.v1, self.v2)):
            raise WordbiasError("a direction must be finite and not zero")
        if min(self.angle, np.pi - self.angle) < _LEAST:
            raise WordbiasError("the directions are parallel: they span no plane to rotate in")
        if abs(np.pi / 2 - self.angle) < _LEAST:
            raise WordbiasError("the directions are orthogonal already: there is nothing to rotate")

    @cached_property
    def angle(self) -> float:
        """Angle ``Θ`` between the directions, in radians."""
        return angle_between(self.v1, self.v2)

    @cached_property
    def basis(self) -> Float:
        """Orthonormal basis of the plane, ``v1`` first, ``v2`` on the positive side, ``(2, d)``."""
        u, v = _unit(self.v1), _unit(self.v2)
        for _ in range(2):  # once more, for nearly parallel directions
            v = _unit(v - (u @ v) * u)
        return np.stack([u, v])

    def __call__(self, x: Rows) -> Rows:
        """Rotate rows ``(…, d)``."""
        check_width(x, len(self.v1))
        basis = like(self.basis, x)
        turned: Rows = x + self._moved(x @ basis.T) @ basis
        return turned

    def _moved(self, plane: Rows) -> Rows:
        """By how much coordinates in the plane, ``(…, 2)``, move."""
        a, b = plane[..., 0], plane[..., 1]
        alpha = np.arctan2(np.abs(b), np.where(b < 0, -a, a))
        stretched = np.minimum(alpha / self.angle, (np.pi - alpha) / (np.pi - self.angle))
        r = (np.pi / 2 - self.angle) * stretched
        sine, less = np.sin(r), np.cos(r) - 1
        return np.stack([less * a - sine * b, sine * a + less * b], axis=-1)


def angle_between(v: ArrayLike, w: ArrayLike) -> float:
    """Angle between two vectors, shape ``(d,)``, in radians, exact for small ones too."""
    a, b = _unit(np.asarray(v, float)), _unit(np.asarray(w, float))
    return float(2 * np.arctan2(np.linalg.norm(a - b), np.linalg.norm(a + b)))


def _unit(v: Float) -> Float:
    scaled = v / np.abs(v).max()
    unit: Float = scaled / np.linalg.norm(scaled)
    return unit
